/**
 * How fast is reading back? Random ids of one store, one awaited `get` after another; then 64 at a
 * time. Nothing decoded is kept between calls, and the file is in the
 * system's memory, as it is for all three stores.
 *
 * The raw skeleton reads the very keys that each `get` reads, in a read transaction of its own;
 * SQLite selects the row by its key.
 */
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { timeMs } from "../lib/clock.mjs";
import { contestRows, RAW, takeTurns } from "../lib/contest.mjs";
import { fillStores, openStores } from "../lib/stores.mjs";
import { seededNumbers, startWorkload } from "../lib/workload.mjs";

/**
 * @typedef {import("../lib/stores.mjs").Stores} Stores
 * @typedef {import("../lib/contest.mjs").Contender} Contender
 */

const READ_MEMORIES = 100_000;
const ROUNDS = 5;
const AT_ONCE = 64;
const NO_SYNC = "none: reads only";

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const memories = Math.min(settings.size, READ_MEMORIES);
  const stores = await openStores(join(settings.folder, "read"));
  try {
    settings.progress(`read: filling ${memories}`);
    const workload = startWorkload(settings.seed);
    const { batchItems } = settings;
    const ids = await fillStores(stores, workload, { count: memories, batchItems });
    const gets = await contest(settings, memories, {
      what: "get of random ids",
      unit: "gets/s",
      each: settings.reads,
      contenders: () => getters(stores, pickIds(settings, ids)),
    });
    const crowds = await contest(settings, memories, {
      what: `${AT_ONCE} concurrent gets`,
      unit: "gets/s",
      each: settings.reads,
      contenders: () => crowdGetters(stores, pickIds(settings, ids).engine),
    });
    return {
      rows: [...gets, ...crowds],
      figures: {
        getPerSecond: { value: gets[0]?.value ?? Number.NaN, memories },
        ...overSqlite("getOverSqlite", gets, memories),
      },
      notes:
        stores.sqliteMissing === undefined
          ? []
          : [`The comparison with SQLite is missing: ${stores.sqliteMissing}.`],
    };
  } finally {
    await stores.close();
  }
}

/**
 * The engine's pace over SQLite's, where there is one.
 * @param {string} name
 * @param {Awaited<ReturnType<typeof contest>>} rows
 * @param {number} memories
 * @returns {Record<string, import("../lib/bars.mjs").Figure>}
 */
function overSqlite(name, rows, memories) {
  const value = rows[0]?.overSqlite;
  return value === undefined ? {} : { [name]: { value, memories } };
}

/**
 * Runs one contest the asked number of times, with one round ahead that does not count.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @param {number} memories
 * @param {{ readonly what: string, readonly unit: string, readonly each: number,
 *   contenders(): Promise<Contender[]> | Contender[] }} one
 */
async function contest(settings, memories, one) {
  const { what, unit, each } = one;
  settings.progress(`read: ${what}`);
  await takeTurns(await one.contenders(), 1);
  const runs = [];
  let contenders = /** @type {Contender[]} */ ([]);
  for (let run = 0; run < settings.runs; run += 1) {
    contenders = await one.contenders();
    runs.push(await takeTurns(contenders, ROUNDS));
  }
  const about = { question: "read", what, unit, memories, operations: each * ROUNDS };
  return contestRows(about, contenders, runs);
}

let picks = 0;

/**
 * Random ids, other ones at every call: the same places of both stores.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @param {{ readonly engineIds: readonly string[], readonly sqliteIds: readonly string[] }} ids
 */
function pickIds(settings, { engineIds, sqliteIds }) {
  picks += 1;
  const next = seededNumbers(settings.seed + picks);
  const places = Array.from({ length: settings.reads }, () => next(engineIds.length));
  return {
    engine: places.map((at) => engineIds[at] ?? ""),
    sqlite: places.map((at) => sqliteIds[at] ?? ""),
  };
}

/**
 * @param {Stores} stores
 * @param {{ readonly engine: readonly string[], readonly sqlite: readonly string[] }} ids
 * @returns {Promise<Contender[]>}
 */
async function getters({ engine, recorder, raw, sqlite }, ids) {
  const ours = {
    store: "engine",
    sync: NO_SYNC,
    round: () =>
      timeMs(async () => {
        for (const id of ids.engine) found(await engine.get(id));
      }),
  };
  const keys = await recorder.readsOf(async () => {
    for (const id of ids.engine) await engine.get(id);
  });
  const skeleton = {
    store: RAW,
    sync: NO_SYNC,
    round: () => {
      const start = performance.now();
      for (const wanted of keys) found(raw.read(wanted) || undefined);
      return performance.now() - start;
    },
  };
  if (sqlite === undefined) return [ours, skeleton];
  const handRolled = {
    store: sqlite.name,
    sync: NO_SYNC,
    round: () => {
      const start = performance.now();
      for (const id of ids.sqlite) found(sqlite.get(id));
      return performance.now() - start;
    },
  };
  return [ours, skeleton, handRolled];
}

/**
 * @param {Stores} stores
 * @param {readonly string[]} ids
 * @returns {Contender[]}
 */
function crowdGetters({ engine }, ids) {
  const round = () =>
    timeMs(async () => {
      for (let at = 0; at < ids.length; at += AT_ONCE) {
        const crowd = ids.slice(at, at + AT_ONCE);
        for (const memory of await Promise.all(crowd.map((id) => engine.get(id)))) found(memory);
      }
    });
  return [{ store: "engine", sync: NO_SYNC, round }];
}

/**
 * A read that finds nothing would be quick, and wrong.
 * @param {unknown} value
 */
function found(value) {
  if (value === undefined) throw new Error("a memory that was written is not there");
}
