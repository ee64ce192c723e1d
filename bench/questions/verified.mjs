/**
 * What do verified reads cost? The same store is open twice, once with `verifyReads: false`, and the same
 * `get`, `find` and `recall` is asked of both in turns, so that what else the machine does hurts both. The
 * entries have been read before, as in a process that has run for a while; how much dearer the first read
 * of an entry is, when it is hashed, is a row of its own.
 */
import { performance } from "node:perf_hooks";
import { open } from "@cortex-memory/core";
import { median } from "../lib/clock.mjs";
import { engineRow, NO_SYNC } from "../lib/passes.mjs";
import { pickDifferent, preparedStore } from "../lib/prepared.mjs";
import { TAG_COUNT } from "../lib/workload.mjs";

/**
 * @typedef {import("@cortex-memory/core").Cortex} Cortex
 * @typedef {import("../lib/contest.mjs").Row} Row
 * @typedef {{ readonly what: string, readonly calls: number,
 *   call(engine: Cortex, at: number): Promise<unknown> }} Way
 */

const READS_PER_FIND = 20;
const READS_PER_RECALL = 100;
const HITS = 20;

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const { path, entries, ids } = await preparedStore(settings);
  const verified = await open(path);
  const believed = await open(path, { verifyReads: false });
  try {
    const asked = pickDifferent(ids, settings.reads, settings.seed);
    const about = { question: "verified", sync: NO_SYNC, memories: entries };
    const first = await inTurns(verified, believed, getOf(asked));
    const rows = [...rowsOf(about, "first get of an entry", [first])];
    const figures = /** @type {Record<string, { value: number, memories: number }>} */ ({});
    for (const { name, way } of await waysToAsk(settings, verified, asked)) {
      settings.progress(`verified: ${way.what}`);
      await inTurns(verified, believed, way);
      const runs = [];
      for (let run = 0; run < settings.runs; run += 1) {
        runs.push(await inTurns(verified, believed, way));
      }
      rows.push(...rowsOf(about, way.what, runs));
      const value = median(runs.map((run) => run.verified / run.believed));
      figures[name] = { value, memories: entries };
    }
    return { rows, figures, notes: [] };
  } finally {
    await verified.close();
    await believed.close();
  }
}

/**
 * @param {readonly string[]} ids
 * @returns {Way}
 */
function getOf(ids) {
  return {
    what: "get",
    calls: ids.length,
    call: async (engine, at) => {
      if ((await engine.get(ids[at] ?? "")) === undefined) throw new Error("a memory is missing");
    },
  };
}

/**
 * @param {import("../lib/settings.mjs").Settings} settings
 * @param {Cortex} engine
 * @param {readonly string[]} ids
 * @returns {Promise<readonly { readonly name: string, readonly way: Way }[]>}
 */
async function waysToAsk({ reads }, engine, ids) {
  const questions = [];
  for (const id of ids.slice(0, Math.ceil(reads / READS_PER_RECALL))) {
    questions.push((await engine.get(id))?.text.split(" ").slice(0, 6).join(" ") ?? "");
  }
  const find = (/** @type {Cortex} */ asked, /** @type {number} */ at) =>
    asked.find({ type: "fact", tags: [`tag-${at % TAG_COUNT}`], limit: HITS });
  const recall = (/** @type {Cortex} */ asked, /** @type {number} */ at) =>
    asked.recall(questions[at] ?? "");
  return [
    { name: "verifiedGet", way: getOf(ids) },
    {
      name: "verifiedFind",
      way: { what: `find of ${HITS}`, calls: Math.ceil(reads / READS_PER_FIND), call: find },
    },
    { name: "verifiedRecall", way: { what: "recall", calls: questions.length, call: recall } },
  ];
}

/**
 * The middle time of a call in milliseconds, of both; who goes first changes with every call.
 * @param {Cortex} verified
 * @param {Cortex} believed
 * @param {Way} way
 */
async function inTurns(verified, believed, { calls, call }) {
  const times = { verified: /** @type {number[]} */ ([]), believed: /** @type {number[]} */ ([]) };
  const both = /** @type {const} */ ([
    { engine: verified, list: times.verified },
    { engine: believed, list: times.believed },
  ]);
  for (let at = 0; at < calls; at += 1) {
    for (const { engine, list } of at % 2 === 0 ? both : [both[1], both[0]]) {
      const from = performance.now();
      await call(engine, at);
      list.push(performance.now() - from);
    }
  }
  return { verified: median(times.verified), believed: median(times.believed) };
}

/**
 * @param {Parameters<typeof engineRow>[0]} about
 * @param {string} what
 * @param {readonly { readonly verified: number, readonly believed: number }[]} runs
 * @returns {readonly Row[]}
 */
function rowsOf(about, what, runs) {
  const row = (/** @type {string} */ store, /** @type {readonly number[]} */ ms) => ({
    ...engineRow(about, what, "ms", [...ms]),
    store,
  });
  return [
    row(
      "engine, verified",
      runs.map((run) => run.verified),
    ),
    row(
      "engine, believed",
      runs.map((run) => run.believed),
    ),
  ];
}
