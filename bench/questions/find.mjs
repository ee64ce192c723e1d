/**
 * How fast is a find, and how much does it read? A type, a tag and a pattern that keeps half of what is
 * left, twenty hits: the index to read is to be chosen, candidates are tested, hits are scored.
 *
 * In the same run, what one would do without it: list the tag page by page and keep what is wanted in
 * the program; it neither chooses nor scores. Beside both stands an order for which every candidate is
 * needed.
 */
import { open } from "@cortex-memory/core";
import { median } from "../lib/clock.mjs";
import { callRows, engineRow, NO_SYNC, timeEach } from "../lib/passes.mjs";
import { preparedStore } from "../lib/prepared.mjs";
import { EVEN, FIND_HITS, findQueryAt } from "../lib/queries.mjs";
import { TAG_COUNT } from "../lib/workload.mjs";

/**
 * @typedef {import("@cortex-memory/core").Cortex} Cortex
 * @typedef {import("@cortex-memory/core").Options<"find">} FindQuery
 */

const NAIVE = "list, filtered in the program";

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const { path, entries } = await preparedStore(settings);
  const engine = await open(path);
  try {
    const about = { question: "find", sync: NO_SYNC, memories: entries };
    const calls = Array.from({ length: Math.ceil(settings.reads / 20) }, (_, at) => at);
    const few = calls.slice(0, Math.ceil(calls.length / 20));
    // A quick run has fewer memories under a tag than fill a page.
    const least = settings.quick ? 1 : FIND_HITS;
    const ways = [
      { calls, ask: (/** @type {number} */ at) => found(engine, findQueryAt(at), least) },
      { calls, ask: (/** @type {number} */ at) => byHand(engine, at, least) },
      { calls: few, ask: (/** @type {number} */ at) => found(engine, sortedAt(at), least) },
    ];
    const times = ways.map(() => /** @type {number[][]} */ ([]));
    for (let run = 0; run <= settings.runs; run += 1) {
      settings.progress(`find: run ${run} of ${settings.runs}`);
      for (const [way, { calls: own, ask }] of ways.entries()) {
        const each = await timeEach(own, ask);
        // The first round warms everything up.
        if (run > 0) times[way]?.push(each);
      }
    }
    const [own = [], naive = [], sorted = []] = times;
    const what = `type, tag and a pattern that keeps half, ${FIND_HITS} hits`;
    const rows = callRows(about, what, own);
    const read = await rowsPerHit(engine, calls);
    return {
      rows: [
        ...rows,
        { ...callRows(about, what, naive)[0], store: NAIVE },
        ...callRows(about, "the same, the most important of all first", sorted).slice(0, 1),
        engineRow(about, "rows read for each hit", "rows", read),
      ],
      figures: {
        findMs: { value: rows[0]?.value ?? Number.NaN, memories: entries },
        findRowsPerHit: { value: median(read), memories: entries },
      },
      notes: [],
    };
  } finally {
    await engine.close();
  }
}

/**
 * @param {number} at
 * @returns {FindQuery}
 */
function sortedAt(at) {
  return { ...findQueryAt(at), orderBy: [{ field: "head.importance" }] };
}

/**
 * A find that finds too little would be quick, and wrong.
 * @param {Cortex} engine
 * @param {FindQuery} query
 * @param {number} least
 */
async function found(engine, query, least) {
  const { hits } = await engine.find(query);
  if (hits.length < least) throw new Error("a page that should be full is not");
}

/**
 * @param {Cortex} engine
 * @param {number} at
 * @param {number} least
 */
async function byHand(engine, at, least) {
  const even = new RegExp(EVEN);
  const kept = [];
  for (let cursor = /** @type {string | undefined} */ (undefined); ; ) {
    const page = await engine.list({
      tag: `tag-${at % TAG_COUNT}`,
      limit: 2 * FIND_HITS,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const memory of page.memories) {
      if (memory.type === "fact" && even.test(memory.text)) kept.push(memory);
    }
    ({ cursor } = page);
    if (kept.length >= FIND_HITS || cursor === undefined) break;
  }
  if (kept.length < least) throw new Error("a page that should be full is not");
}

/**
 * Rows that the store gave for each hit, call by call.
 * @param {Cortex} engine
 * @param {readonly number[]} calls
 */
async function rowsPerHit(engine, calls) {
  const each = [];
  for (const at of calls.slice(0, TAG_COUNT)) {
    const { hits, explain } = await engine.find({ ...findQueryAt(at), explain: true });
    each.push((explain?.rowsRead ?? Number.NaN) / Math.max(1, hits.length));
  }
  return each;
}
