/**
 * How fast is a page of fifty by a tag? A store as its users open it beside the hand-rolled SQLite, which holds the same
 * memories. Nothing decoded is kept between calls, and both files are in the system's memory.
 *
 * The skeleton has no pages, so nothing here is recorded for it, and the process holds these two stores alone.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { open } from "@cortex-memory/core";
import { timeMs } from "../lib/clock.mjs";
import { contestRows, takeTurns } from "../lib/contest.mjs";
import { NO_SYNC } from "../lib/passes.mjs";
import { openSqlite, SqliteStore } from "../lib/sqlite.mjs";
import { startWorkload, TAG_COUNT, writeBatch } from "../lib/workload.mjs";

/** @typedef {import("../lib/contest.mjs").Contender} Contender */

const MEMORIES = 100_000;
const PAGE_ITEMS = 50;
const ROUNDS = 5;
/** Pages of a round: a tenth of the reads, which is some tenths of a second. */
const READS_A_PAGE = 10;

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const memories = Math.min(settings.size, MEMORIES);
  const folder = join(settings.folder, "page");
  await mkdir(folder, { recursive: true });
  const engine = await open(join(folder, "engine"));
  const opened = await openSqlite(join(folder, "hand-rolled.db"));
  const sqlite = opened instanceof SqliteStore ? opened : undefined;
  try {
    settings.progress(`page: filling ${memories}`);
    await fill(settings, memories, { engine, sqlite });
    const pages = Math.ceil(settings.reads / READS_A_PAGE);
    const contenders = listers({ engine, sqlite }, pages);
    settings.progress("page: reading");
    // The first round warms both up.
    await takeTurns(contenders, 1);
    const runs = [];
    for (let run = 0; run < settings.runs; run += 1) runs.push(await takeTurns(contenders, ROUNDS));
    const what = `page of ${PAGE_ITEMS} by tag`;
    const about = { question: "page", what, unit: "pages/s", memories, operations: pages * ROUNDS };
    const rows = contestRows(about, contenders, runs);
    const value = rows[0]?.overSqlite;
    return {
      rows,
      figures: value === undefined ? {} : { pageOverSqlite: { value, memories } },
      notes:
        opened instanceof SqliteStore
          ? []
          : [`The comparison with SQLite is missing: ${opened.missing}.`],
    };
  } finally {
    await engine.close();
    sqlite?.close();
  }
}

/**
 * The same memories for both.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @param {number} memories
 * @param {{ readonly engine: import("@cortex-memory/core").Cortex, readonly sqlite: SqliteStore | undefined }} stores
 */
async function fill({ seed, batchItems }, memories, { engine, sqlite }) {
  const workload = startWorkload(seed);
  for (let done = 0; done < memories; done += batchItems) {
    const items = workload.take(Math.min(batchItems, memories - done));
    await writeBatch(engine, items);
    sqlite?.write(items);
  }
}

/**
 * @param {{ readonly engine: import("@cortex-memory/core").Cortex, readonly sqlite: SqliteStore | undefined }} stores
 * @param {number} pages
 * @returns {Contender[]}
 */
function listers({ engine, sqlite }, pages) {
  const tags = Array.from({ length: pages }, (_, at) => `tag-${at % TAG_COUNT}`);
  const ours = {
    store: "engine",
    sync: NO_SYNC,
    round: () =>
      timeMs(async () => {
        for (const tag of tags) found((await engine.list({ tag, limit: PAGE_ITEMS })).memories[0]);
      }),
  };
  if (sqlite === undefined) return [ours];
  const handRolled = {
    store: sqlite.name,
    sync: NO_SYNC,
    round: () => {
      const start = performance.now();
      for (const tag of tags) found(sqlite.list(tag, PAGE_ITEMS)[0]);
      return performance.now() - start;
    },
  };
  return [ours, handRolled];
}

/**
 * A page without anything would be quick, and wrong.
 * @param {unknown} value
 */
function found(value) {
  if (value === undefined) throw new Error("a memory that was written is not there");
}
