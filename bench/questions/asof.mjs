/**
 * What does reading the past cost over reading the present? `get` of random ids, and the first page
 * of lists by type and by tag, newest and oldest first, each as of the middle of a history and
 * without `asOf`, in turns.
 *
 * Asked of two histories of the same length: one of writes alone, where the past is the first half
 * of the present, and one with updates, changed tags and tombstones, where it is not.
 */
import { open } from "@cortex-memory/core";
import { collectGarbage, median, timeMs } from "../lib/clock.mjs";
import { engineRow, NO_SYNC } from "../lib/passes.mjs";
import { pickDifferent, preparedStore } from "../lib/prepared.mjs";
import { TAG_COUNT } from "../lib/workload.mjs";

/**
 * @typedef {import("../lib/contest.mjs").Row} Row
 * @typedef {import("../lib/prepared.mjs").History} History
 * @typedef {import("@cortex-memory/core").Cortex} Cortex
 * @typedef {{ readonly asOf?: number }} When
 * @typedef {{
 *   readonly what: string,
 *   readonly calls: number,
 *   call(at: number, when: When): Promise<void>,
 * }} Way
 */

const PAGE_ITEMS = 50;
const READS_PER_GET = 5;
const READS_PER_PAGE = 100;
const NOW = "engine, now";
const THEN = "engine, as of the middle";

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const writes = await compare(settings, "writes");
  const changes = await compare(settings, "changes");
  return {
    rows: [...writes.rows, ...changes.rows],
    figures: {
      asOfGet: writes.get,
      asOfList: writes.list,
      asOfGetChanges: changes.get,
      asOfListChanges: changes.list,
    },
    notes: [],
  };
}

/**
 * All ways of reading in one history; the figures are times in the past over times now.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @param {History} history
 */
async function compare(settings, history) {
  const { path, entries, middle, early } = await preparedStore(settings, history);
  const engine = await open(path);
  try {
    const gets = pickDifferent(early, settings.reads / READS_PER_GET, settings.seed);
    const about = { question: "asof", sync: NO_SYNC, memories: entries };
    const rows = /** @type {Row[]} */ ([]);
    const ratios = [];
    for (const way of waysToRead(settings, engine, gets)) {
      const what = `${way.what}, ${history}`;
      settings.progress(`asof: ${what}`);
      const runs = await takeTurns(settings.runs, way, middle);
      const now = runs.map((run) => median(run.now));
      const then = runs.map((run) => median(run.then));
      rows.push({ ...engineRow(about, what, "ms", now), store: NOW });
      rows.push({ ...engineRow(about, what, "ms", then), store: THEN });
      ratios.push(median(then.map((ms, run) => ms / (now[run] ?? Number.NaN))));
    }
    const [get = Number.NaN, ...lists] = ratios;
    const figure = (/** @type {number} */ value) => ({ value, memories: entries });
    return { rows, get: figure(get), list: figure(Math.max(...lists)) };
  } finally {
    await engine.close();
  }
}

/**
 * @param {import("../lib/settings.mjs").Settings} settings
 * @param {Cortex} engine
 * @param {readonly string[]} ids
 * @returns {readonly Way[]}
 */
function waysToRead(settings, engine, ids) {
  const pages = Math.ceil(settings.reads / READS_PER_PAGE);
  const orders = /** @type {const} */ (["newest", "oldest"]);
  const list = async (
    /** @type {import("@cortex-memory/core").ListOptions} */ options,
    /** @type {number} */ least,
  ) => {
    const { memories } = await engine.list({ ...options, limit: PAGE_ITEMS });
    if (memories.length < least) throw new Error("a page that should be full is not");
  };
  // A quick run has fewer memories under a tag than fill a page.
  const byTag = settings.quick ? 1 : PAGE_ITEMS;
  return [
    {
      what: "get",
      calls: ids.length,
      call: async (at, when) => {
        if ((await engine.get(ids[at] ?? "", when)) === undefined) {
          throw new Error("a memory that was written is not there");
        }
      },
    },
    ...orders.map((order) => ({
      what: `page of ${PAGE_ITEMS} by type, ${order}`,
      calls: pages,
      call: (/** @type {number} */ _, /** @type {When} */ when) =>
        list({ type: "fact", order, ...when }, PAGE_ITEMS),
    })),
    ...orders.map((order) => ({
      what: `page of ${PAGE_ITEMS} by tag, ${order}`,
      calls: pages,
      call: (/** @type {number} */ at, /** @type {When} */ when) =>
        list({ tag: `tag-${at % TAG_COUNT}`, order, ...when }, byTag),
    })),
  ];
}

/**
 * Milliseconds of each call, now and then in turns, run by run; one run ahead does not count.
 * @param {number} runs
 * @param {Way} way
 * @param {number} middle
 */
async function takeTurns(runs, way, middle) {
  const found = [];
  for (let run = -1; run < runs; run += 1) {
    collectGarbage();
    const now = /** @type {number[]} */ ([]);
    const then = /** @type {number[]} */ ([]);
    const sides = [
      { times: now, when: {} },
      { times: then, when: { asOf: middle } },
    ];
    for (let at = 0; at < way.calls; at += 1) {
      for (const { times, when } of at % 2 === 0 ? sides : sides.toReversed()) {
        times.push(await timeMs(() => way.call(at, when)));
      }
    }
    if (run >= 0) found.push({ now, then });
  }
  return found;
}
