/**
 * How much does a durable write cost over the storage below it?
 *
 * Three ways to write: a batch, 64 calls at once, one call after another. For each, the engine
 * first writes a few rounds while its commits are recorded; then the engine goes on with new
 * rounds, the raw skeleton replays the recorded ones, SQLite inserts as many, in turns and all on
 * stores of the same size. Then a store grows to its full size beside its raw twin; see
 * `lib/growth.mjs`.
 */
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { timeMs } from "../lib/clock.mjs";
import { contestRows, RAW, takeTurns } from "../lib/contest.mjs";
import { measureGrowth } from "../lib/growth.mjs";
import { packChange, unpackChange } from "../lib/recording.mjs";
import { fillStores, openStores } from "../lib/stores.mjs";
import { asWrite, startWorkload, writeBatch } from "../lib/workload.mjs";

/**
 * @typedef {import("../lib/stores.mjs").Stores} Stores
 * @typedef {import("../lib/workload.mjs").Item} Item
 * @typedef {import("../lib/contest.mjs").Contender} Contender
 * @typedef {{ readonly what: string, readonly items: number, readonly rounds: number,
 *   readonly name: string, engine(stores: Stores, items: readonly Item[]): Promise<unknown>,
 *   sqlite(stores: Stores, items: readonly Item[]): void }} Way
 */

const GROUP_CALLS = 64;

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const ways = waysToWrite(settings);
  const results = /** @type {Awaited<ReturnType<typeof runOnce>>[]} */ ([]);
  for (let run = 0; run < settings.runs; run += 1) {
    settings.progress(`write: run ${run + 1} of ${settings.runs}`);
    results.push(await runOnce(settings, ways, run));
  }
  const figures = /** @type {Record<string, import("../lib/bars.mjs").Figure>} */ ({});
  const notes = new Set(results.flatMap(({ missing }) => (missing === undefined ? [] : [missing])));
  const rows = ways.flatMap((way, at) => {
    const about = {
      question: "write",
      what: way.what,
      unit: "writes/s",
      memories: settings.base,
      operations: way.items * way.rounds,
    };
    const made = contestRows(
      about,
      results[0]?.stores ?? [],
      results.map(({ times }) => times[at] ?? new Map()),
    );
    const { overRaw, overSqlite } = made[0] ?? {};
    const memories = settings.base;
    if (overRaw !== undefined) figures[`${way.name}OverRaw`] = { value: overRaw, memories };
    if (overSqlite !== undefined)
      figures[`${way.name}OverSqlite`] = { value: overSqlite, memories };
    return made;
  });
  const grown = await measureGrowth(settings);
  return {
    rows: [...rows, ...grown.rows],
    figures: { ...figures, ...grown.figures },
    notes: [
      ...[...notes].map((why) => `The comparison with SQLite is missing: ${why}.`),
      ...grown.notes,
    ],
  };
}

/**
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {readonly Way[]}
 */
function waysToWrite(settings) {
  const { batchItems, rounds } = settings;
  return [
    {
      name: "batch",
      what: `batch of ${batchItems}`,
      items: batchItems,
      rounds: rounds.batch,
      engine: ({ engine }, items) => writeBatch(engine, items),
      sqlite: ({ sqlite }, items) => sqlite?.write(items),
    },
    {
      name: "group",
      what: `${GROUP_CALLS} concurrent writes`,
      items: GROUP_CALLS,
      rounds: rounds.group,
      engine: ({ engine }, items) => Promise.all(items.map((item) => engine.write(asWrite(item)))),
      // No group commit there: each call is a transaction of its own.
      sqlite: ({ sqlite }, items) => {
        for (const item of items) sqlite?.write([item]);
      },
    },
    {
      name: "single",
      what: "one awaited write",
      items: 1,
      rounds: rounds.single,
      engine: async ({ engine }, items) => {
        for (const item of items) await engine.write(asWrite(item));
      },
      sqlite: ({ sqlite }, items) => sqlite?.write(items),
    },
  ];
}

/**
 * One run on new stores: milliseconds by way and store.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @param {readonly Way[]} ways
 * @param {number} run
 */
async function runOnce(settings, ways, run) {
  const stores = await openStores(join(settings.folder, `write-${run}`));
  try {
    const workload = startWorkload(settings.seed + run);
    const { base: count, batchItems } = settings;
    await fillStores(stores, workload, { count, batchItems });
    // All of it is recorded before anything is timed: the skeleton replays commits in the order in
    // which they were made, and the timed rounds of the engine are not recorded.
    const recorded = /** @type {Buffer[][][]} */ ([]);
    for (const way of ways) recorded.push(await record(stores, workload, way));
    const times = [];
    for (const [at, way] of ways.entries()) {
      const contenders = contendersOf(stores, workload, way, recorded[at] ?? []);
      times.push(await takeTurns(contenders, way.rounds));
    }
    const names = contendersOf(stores, workload, ways[0] ?? nothing(), []);
    return {
      times,
      stores: names.map(({ store, sync }) => ({ store, sync })),
      missing: stores.sqliteMissing,
    };
  } finally {
    await stores.close();
  }
}

/** @returns {never} */
function nothing() {
  throw new Error("there is no way to write");
}

/**
 * Does all rounds of one way and keeps the commits of each.
 * @param {Stores} stores
 * @param {{ take(count: number): Item[] }} workload
 * @param {Way} way
 */
async function record(stores, workload, way) {
  const rounds = [];
  for (let round = 0; round < way.rounds; round += 1) {
    const items = workload.take(way.items);
    const changes = await stores.recorder.commitsOf(() => way.engine(stores, items));
    rounds.push(changes.map(packChange));
  }
  return rounds;
}

/**
 * @param {Stores} stores
 * @param {{ take(count: number): Item[] }} workload
 * @param {Way} way
 * @param {readonly (readonly Buffer[])[]} recorded
 * @returns {Contender[]}
 */
function contendersOf(stores, workload, way, recorded) {
  const { engine, raw, sqlite } = stores;
  const ours = {
    store: "engine",
    sync: engine.manifest.syncMode,
    round: () => {
      const items = workload.take(way.items);
      return timeMs(() => way.engine(stores, items));
    },
  };
  const skeleton = {
    store: RAW,
    sync: raw.syncMode,
    round: (/** @type {number} */ index) => {
      const changes = (recorded[index] ?? []).map(unpackChange);
      const start = performance.now();
      for (const change of changes) raw.commit(change);
      return performance.now() - start;
    },
  };
  if (sqlite === undefined) return [ours, skeleton];
  const handRolled = {
    store: sqlite.name,
    sync: sqlite.syncMode,
    round: () => {
      const items = workload.take(way.items);
      const start = performance.now();
      way.sqlite(stores, items);
      return performance.now() - start;
    },
  };
  return [ours, skeleton, handRolled];
}
