/**
 * How fast is a search, and what does keeping its index cost?
 *
 * Three common words, ten hits with snippets, in a store of small memories; in the same run, turn by
 * turn, the same words as alternatives for SQLite's full-text index, ranked by its own bm25 and joined
 * with the rows they stand for. SQLite cuts no endings and makes no snippets here.
 *
 * Upkeep: two new stores take turns with the same durable batches, one as users open it and one whose
 * index is switched off; the first is also told to write its index out to the end, so that nothing is
 * left undone outside the clock. Judged is the share by processor time, which other work on the machine
 * bends least. The growth of a search is asked of a larger store when there is one.
 */
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { openGraph } from "../../packages/core/dist/open.js";
import { collectGarbage, median, processorMs, quantile, timeMs } from "../lib/clock.mjs";
import { callRows, engineRow, NO_SYNC, timeEach } from "../lib/passes.mjs";
import { SEARCH_HITS, SEARCH_WORDS, searchesOf } from "../lib/queries.mjs";
import { openSqlite, SqliteStore } from "../lib/sqlite.mjs";
import { startWorkload, writeBatch } from "../lib/workload.mjs";

/**
 * @typedef {import("../lib/settings.mjs").Settings} Settings
 * @typedef {import("../lib/contest.mjs").Row} Row
 */

const SEARCHED_MEMORIES = 100_000;
/** One search in so many reads. */
const READS_PER_SEARCH = 20;

/**
 * Answers the question.
 * @param {Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const memories = Math.min(settings.size, SEARCHED_MEMORIES);
  const base = await searchIn(settings, memories, true);
  // A run of a smaller size still says how a search grows: from a tenth of it.
  const isLarge = settings.size > memories;
  const other = await searchIn(settings, isLarge ? settings.size : Math.ceil(memories / 10), false);
  const upkeep = await upkeepOf(settings);
  const [p50 = Number.NaN, p95 = Number.NaN] = base.rows.map(({ value }) => value);
  const [small, large] = isLarge ? [base, other] : [other, base];
  const growth = (large.rows[0]?.value ?? Number.NaN) / (small.rows[0]?.value ?? Number.NaN);
  const sqlite = base.rows.find(({ store }) => store.startsWith("SQLite"))?.value;
  const growthRow = engineRow(
    { question: "search", sync: NO_SYNC, memories: settings.size },
    "a search there over one in the smaller store",
    "x",
    [growth],
  );
  return {
    rows: [...base.rows, ...other.rows, growthRow, ...upkeep.rows],
    figures: {
      searchMs: { value: p50, memories },
      searchP95Ms: { value: p95, memories },
      ...(sqlite === undefined ? {} : { searchOverSqlite: { value: sqlite / p50, memories } }),
      searchGrowth: { value: growth, memories: settings.size },
      searchUpkeep: { value: upkeep.share, memories },
    },
    notes:
      base.missing === undefined ? [] : [`The comparison with SQLite is missing: ${base.missing}.`],
  };
}

/**
 * Searches in a store of so many memories, and beside it in SQLite.
 * @param {Settings} settings
 * @param {number} memories
 * @param {boolean} withSqlite
 */
async function searchIn(settings, memories, withSqlite) {
  const folder = join(settings.folder, `search-${memories}`);
  settings.progress(`search: filling ${memories}`);
  const engine = await open(folder, { relaxedDurability: true });
  const sqlite = withSqlite ? await openSqlite(`${folder}.db`) : { missing: "not asked for" };
  const beside = sqlite instanceof SqliteStore ? sqlite : undefined;
  try {
    const workload = startWorkload(settings.seed);
    for (let done = 0; done < memories; done += settings.batchItems) {
      const items = workload.take(Math.min(settings.batchItems, memories - done));
      await writeBatch(engine, items);
      beside?.write(items);
    }
    await engine.maintain();
    const questions = searchesOf(settings, Math.ceil(settings.reads / READS_PER_SEARCH));
    const own = /** @type {number[][]} */ ([]);
    const theirs = /** @type {number[][]} */ ([]);
    for (let run = 0; run <= settings.runs; run += 1) {
      settings.progress(`search: ${memories}, run ${run} of ${settings.runs}`);
      const ours = await timeEach(questions, async (words) => {
        found((await engine.search(words.join(" "), { limit: SEARCH_HITS })).hits.length);
      });
      const other =
        beside === undefined
          ? []
          : await timeEach(questions, (words) => found(beside.search(words, SEARCH_HITS).length));
      // The first round warms both up.
      if (run > 0) own.push(ours);
      if (run > 0 && beside !== undefined) theirs.push(other);
    }
    const about = { question: "search", sync: NO_SYNC, memories };
    const what = `${SEARCH_WORDS} words, ${SEARCH_HITS} hits`;
    return {
      missing: "missing" in sqlite && withSqlite ? sqlite.missing : undefined,
      rows: [
        ...callRows95(about, what, own),
        ...(beside === undefined
          ? []
          : callRows95(about, what, theirs).map((row) => ({ ...row, store: beside.name }))),
      ],
    };
  } finally {
    await engine.close();
    beside?.close();
  }
}

/**
 * What a call takes in the middle, and what five in a hundred exceed.
 * @param {Pick<Row, "question" | "sync" | "memories">} about
 * @param {string} what
 * @param {readonly (readonly number[])[]} runs
 * @returns {Row[]}
 */
function callRows95(about, what, runs) {
  const p95 = runs.map((times) => quantile(times, 0.95));
  return [callRows(about, what, runs)[0], engineRow(about, `${what}, 95th of 100`, "ms", p95)];
}

/**
 * The share of the text index in durable batches.
 * @param {Settings} settings
 */
async function upkeepOf(settings) {
  const { batchItems, rounds, base } = settings;
  const sides = await Promise.all(
    ["with", "without"].map(async (name) => {
      const { memory, engine } = await openGraph(join(settings.folder, `search-${name}`));
      const isOff = name === "without";
      if (isOff) await engine.text.close();
      return { memory, engine, isOff, workload: startWorkload(settings.seed) };
    }),
  );
  const share = { processor: /** @type {number[]} */ ([]), wall: /** @type {number[]} */ ([]) };
  const batchMs = /** @type {number[]} */ ([]);
  for (let run = -1; run < settings.runs; run += 1) {
    settings.progress(`search: upkeep, run ${run + 1} of ${settings.runs}`);
    const spent = [];
    for (const { memory, engine, isOff, workload } of sides) {
      collectGarbage();
      const batches = run < 0 ? Math.ceil(base / batchItems) : rounds.batch;
      const items = Array.from({ length: batches }, () => workload.take(batchItems));
      const before = processorMs();
      const wall = await timeMs(async () => {
        for (const batch of items) await writeBatch(memory, batch);
        if (!isOff) await engine.text.flush();
      });
      spent.push({ wall: wall / batches, processor: (processorMs() - before) / batches });
    }
    const [on = { wall: 0, processor: 0 }, off = on] = spent;
    // The first round fills the stores and meets every word for the first time.
    if (run < 0) continue;
    share.processor.push((100 * (on.processor - off.processor)) / on.processor);
    share.wall.push((100 * (on.wall - off.wall)) / on.wall);
    batchMs.push(on.wall);
  }
  const sync = sides[0]?.memory.manifest.syncMode ?? "";
  for (const { memory } of sides) await memory.close();
  const about = { question: "search", sync, memories: base };
  return {
    share: median(share.processor),
    rows: [
      engineRow(about, `batch of ${batchItems} with its text index`, "ms", batchMs),
      engineRow(about, "text index, share of the processor time", "%", share.processor),
      engineRow(about, "text index, share of the wall clock", "%", share.wall),
    ],
  };
}

/**
 * A search that finds nothing would be quick, and wrong.
 * @param {number} hits
 */
function found(hits) {
  if (hits === 0) throw new Error("words of a memory that was written find nothing");
}
