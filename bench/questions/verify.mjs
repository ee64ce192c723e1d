/**
 * How long does it take to check a proof against a checkpoint that is trusted, without the store?
 * Measured with the file that browsers use: its hashing is plain JavaScript.
 */
import { open } from "@cortex-memory/core";
import { verify } from "@cortex-memory/core/verify";
import { proofBytes } from "../../packages/core/dist/journal/proof.js";
import { callRows, timeEach } from "../lib/passes.mjs";
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
  const one = /** @type {Proof[]} */ ([]);
  const many = /** @type {Proof[]} */ ([]);
  const { checkpoint } = await engine.checkpoint();
  try {
    settings.progress("verify: making proofs");
    for (const id of pickDifferent(ids, settings.reads / READS_PER_PROOF, settings.seed)) {
      one.push(await engine.prove([id]));
    }
    for (let at = 0; at < settings.reads / READS_PER_MULTIPROOF; at += 1) {
      many.push(await engine.prove(pickDifferent(ids, MANY, settings.seed + at)));
    }
  } finally {
    await engine.close();
  }
  const about = { question: "verify", sync: "none: no store", memories };
  const check = (/** @type {Proof | Uint8Array} */ proof) => {
    const result = verify(proof, checkpoint);
    if (!result.ok || !result.anchored) throw new Error("a proof of the store's own was refused");
  };
  const rowsOf = async (
    /** @type {string} */ what,
    /** @type {readonly (Proof | Uint8Array)[]} */ proofs,
  ) => {
    settings.progress(`verify: ${what}`);
    await timeEach(proofs, check);
    const runs = [];
    for (let run = 0; run < settings.runs; run += 1) runs.push(await timeEach(proofs, check));
    return callRows(about, what, runs);
  };
  const binary = await rowsOf("proof of one memory, binary", one.map(proofBytes));
  const text = await rowsOf("the same, in base64", one);
  const hundred = await rowsOf(`proof of ${MANY} memories, binary`, many.map(proofBytes));
  return {
    rows: [...binary, ...text, ...hundred],
    figures: { verifyMs: { value: binary[0].value, memories } },
    notes: [],
  };
}
