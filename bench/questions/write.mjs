/**
 * How much does a durable write cost over the storage below it?
 *
 * Three ways to write: a batch, 64 calls at once, one call after another. The engine writes a round
 * while its commits are recorded, the raw skeleton replays those of the engine's round before, SQLite
 * inserts as many, in turns and on stores that never differ by more than a round. What one way leaves of the text
 * index is written before the next begins; for batches, within the clock. Then a store grows to its full size beside its raw
 * twin; see `lib/growth.mjs`.
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
 * @typedef {{ readonly what: string, readonly items: number, readonly rounds: number,
 *   readonly name: string, readonly settles?: boolean, engine(stores: Stores, items: readonly Item[]): Promise<unknown>,
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
      // What the batches left undone counts. The other ways leave less than a segment, which no call would write.
      settles: true,
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
    await stores.settle();
    const times = [];
    for (const way of ways) {
      const contest = await contestOf(stores, workload, way);
      const spent = await takeTurns(contest.contenders, way.rounds);
      const left = await contest.end();
      for (const [store, ms] of way.settles ? left : [])
        spent.set(store, (spent.get(store) ?? 0) + ms);
      times.push(spent);
    }
    return {
      times,
      stores: namesOf(stores),
      missing: stores.sqliteMissing,
    };
  } finally {
    await stores.close();
  }
}

/**
 * The stores and how each waits for the disk, the engine first.
 * @param {Stores} stores
 */
function namesOf({ engine, raw, sqlite }) {
  const ours = [
    { store: "engine", sync: engine.manifest.syncMode },
    { store: RAW, sync: raw.syncMode },
  ];
  return sqlite === undefined ? ours : [...ours, { store: sqlite.name, sync: sqlite.syncMode }];
}

/**
 * The sides of one way. All but the skeleton begin with a round outside the clock, which is the first that the skeleton
 * replays. The end writes the text index out and brings the skeleton level; it tells the milliseconds of the index.
 * @param {Stores} stores
 * @param {{ take(count: number): Item[] }} workload
 * @param {Way} way
 */
async function contestOf(stores, workload, way) {
  const { raw, recorder, text } = stores;
  /** Rounds that the engine did and the skeleton did not, each as its commits. */
  const waiting = /** @type {Buffer[][]} */ ([]);
  const replay = () => {
    const changes = (waiting.shift() ?? []).map(unpackChange);
    const start = performance.now();
    for (const change of changes) raw.commit(change);
    return performance.now() - start;
  };
  /** @type {Record<string, () => Promise<number> | number>} */
  const rounds = {
    engine: async () => {
      const items = workload.take(way.items);
      let ms = 0;
      const changes = await recorder.commitsOf(async () => {
        ms = await timeMs(() => way.engine(stores, items));
      });
      waiting.push(changes.map(packChange));
      return ms;
    },
    [RAW]: replay,
  };
  const handRolled = () => {
    const items = workload.take(way.items);
    const start = performance.now();
    way.sqlite(stores, items);
    return performance.now() - start;
  };
  const contenders = namesOf(stores).map(({ store, sync }) => ({
    store,
    sync,
    round: rounds[store] ?? handRolled,
  }));
  for (const { store, round } of contenders) if (store !== RAW) await round();
  return {
    contenders,
    async end() {
      let engineMs = 0;
      const changes = await recorder.commitsOf(async () => {
        engineMs = await timeMs(() => text.flush());
      });
      waiting.push(changes.map(packChange));
      let rawMs = 0;
      while (waiting.length > 0) rawMs = replay();
      return new Map([
        ["engine", engineMs],
        [RAW, rawMs],
      ]);
    },
  };
}
