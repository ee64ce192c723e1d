/**
 * How large is a proof, and how long does it take to make one? For one memory among many, and for a
 * hundred of them in one proof.
 *
 * Sizes are of the binary form. The record is what the reader asked for, so a proof is also counted
 * without the records it shows; their salts stay counted.
 */
import { open } from "@cortex-memory/core";
import { SALT_BYTES } from "../../packages/core/dist/journal/entry.js";
import { decodeProof, proofBytes } from "../../packages/core/dist/journal/proof.js";
import { median } from "../lib/clock.mjs";
import { callRows, engineRow, NO_SYNC, timeEach } from "../lib/passes.mjs";
import { pickDifferent, preparedStore } from "../lib/prepared.mjs";

/** @typedef {import("@cortex-memory/core").Proof} Proof */

const MANY = 100;
const READS_PER_PROOF = 10;
const READS_PER_MULTIPROOF = 200;

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const { path, entries: memories, ids } = await preparedStore(settings);
  const engine = await open(path);
  try {
    const prove = (/** @type {readonly string[]} */ wanted) => engine.prove(wanted);
    const draw = (/** @type {number} */ members, /** @type {number} */ share) => ({
      members,
      proofs: Math.ceil(settings.reads / share),
    });
    settings.progress("prove: one memory");
    const one = await measure(settings, ids, draw(1, READS_PER_PROOF), prove);
    settings.progress(`prove: ${MANY} memories`);
    const many = await measure(settings, ids, draw(MANY, READS_PER_MULTIPROOF), prove);
    const about = { question: "prove", sync: NO_SYNC, memories };
    const single = callRows(about, "proof of one memory", one.times);
    const figure = (/** @type {number} */ value) => ({ value, memories });
    return {
      rows: [
        ...single,
        ...sizeRows(about, "its size", one.sizes),
        ...callRows(about, `proof of ${MANY} memories`, many.times),
        ...sizeRows(about, `size of one of ${MANY}`, many.sizes),
      ],
      figures: {
        proveMs: figure(single[0].value),
        proofBytes: figure(Math.max(...one.sizes.map(({ apart }) => apart))),
        multiproofBytes: figure(Math.max(...many.sizes.map(({ apart }) => apart))),
      },
      notes: [],
    };
  } finally {
    await engine.close();
  }
}

/**
 * Makes proofs of random memories, run by run; one run ahead does not count.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @param {readonly string[]} ids
 * @param {{ readonly members: number, readonly proofs: number }} draw
 * @param {(wanted: readonly string[]) => Promise<Proof>} prove
 */
async function measure(settings, ids, { members, proofs }, prove) {
  const times = [];
  const sizes = [];
  for (let run = -1; run < settings.runs; run += 1) {
    const questions = Array.from({ length: proofs }, (_, at) =>
      pickDifferent(ids, members, settings.seed + (run + 2) * proofs + at),
    );
    const made = /** @type {Proof[]} */ ([]);
    const runTimes = await timeEach(questions, async (wanted) => {
      made.push(await prove(wanted));
    });
    if (run < 0) continue;
    times.push(runTimes);
    sizes.push(sizesOf(made));
  }
  return { times, sizes };
}

/**
 * The largest of some proofs without the records, and the median with them.
 * @param {readonly Proof[]} proofs
 */
function sizesOf(proofs) {
  const apart = [];
  const whole = [];
  for (const proof of proofs) {
    const bytes = proofBytes(proof);
    const items = decodeProof(bytes).memories?.items ?? [];
    let records = 0;
    for (const { part, versionPart } of items) {
      if (part === undefined) throw new Error("a memory that was written is not in its proof");
      records += part.length - SALT_BYTES;
      if (versionPart !== undefined) records += versionPart.length - SALT_BYTES;
    }
    apart.push(bytes.length - records);
    whole.push(bytes.length);
  }
  return { apart: Math.max(...apart), apartMedian: median(apart), whole: median(whole) };
}

/**
 * @param {Parameters<typeof engineRow>[0]} about
 * @param {string} what
 * @param {readonly ReturnType<typeof sizesOf>[]} runs
 */
function sizeRows(about, what, runs) {
  const row = (/** @type {string} */ more, /** @type {number[]} */ values) =>
    engineRow(about, `${what}, ${more}`, "bytes", values);
  return [
    row(
      "without records",
      runs.map(({ apartMedian }) => apartMedian),
    ),
    row(
      "the largest seen",
      runs.map(({ apart }) => apart),
    ),
    row(
      "with records",
      runs.map(({ whole }) => whole),
    ),
  ];
}
