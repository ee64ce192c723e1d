/**
 * Measuring several stores against each other: they take turns, round by round and each time in
 * another order, so that whatever else the machine does meanwhile falls on all of them alike. What
 * is reported are ratios within a run, and the median run.
 */
import { collectGarbage, median, sum } from "./clock.mjs";

/** What the raw skeleton is called in tables. */
export const RAW = "raw lmdb";

/**
 * A row of the table.
 * @typedef {{
 *   question: string,
 *   what: string,
 *   store: string,
 *   sync: string,
 *   memories: number,
 *   value: number,
 *   unit: string,
 *   runs: number[],
 *   overRaw?: number,
 *   overSqlite?: number,
 * }} Row
 */

/**
 * One side of a contest. `round` does the work of one round and returns its milliseconds, so that
 * it can prepare outside the clock.
 * @typedef {{
 *   readonly store: string,
 *   readonly sync: string,
 *   round(index: number): Promise<number> | number,
 * }} Contender
 */

/**
 * Milliseconds per contender over all rounds of one run, by store.
 * @param {readonly Contender[]} contenders
 * @param {number} rounds
 * @returns {Promise<Map<string, number>>}
 */
export async function takeTurns(contenders, rounds) {
  const times = new Map(contenders.map(({ store }) => [store, /** @type {number[]} */ ([])]));
  collectGarbage();
  for (let index = 0; index < rounds; index += 1) {
    for (let turn = 0; turn < contenders.length; turn += 1) {
      const contender = contenders[(index + turn) % contenders.length];
      if (contender === undefined) continue;
      times.get(contender.store)?.push(await contender.round(index));
    }
  }
  return new Map([...times].map(([store, list]) => [store, sum(list)]));
}

/**
 * The rows of a contest that ran several times: rates per second, and the engine's rate over the
 * others' as the median of the ratios within each run.
 * @param {{
 *   readonly question: string,
 *   readonly what: string,
 *   readonly unit: string,
 *   readonly memories: number,
 *   readonly operations: number,
 * }} about operations: how many of the unit one run does
 * @param {readonly Pick<Contender, "store" | "sync">[]} stores the engine first
 * @param {readonly ReadonlyMap<string, number>[]} runs milliseconds by store
 * @returns {Row[]}
 */
export function contestRows(about, stores, runs) {
  const { question, what, unit, memories, operations } = about;
  const rates = stores.map(({ store }) =>
    runs.map((times) => (1000 * operations) / (times.get(store) ?? Number.NaN)),
  );
  const raw = stores.findIndex(({ store }) => store === RAW);
  const sqlite = stores.findIndex(({ store }) => store.startsWith("SQLite"));
  const over = (/** @type {number} */ other) =>
    median(runs.map((_, run) => (rates[0]?.[run] ?? 0) / (rates[other]?.[run] ?? 0)));
  return stores.map(({ store, sync }, at) => ({
    question,
    what,
    store,
    sync,
    memories,
    value: median(rates[at] ?? []),
    unit,
    runs: rates[at] ?? [],
    ...(at === 0 && raw > 0 ? { overRaw: over(raw) } : {}),
    ...(at === 0 && sqlite > 0 ? { overSqlite: over(sqlite) } : {}),
  }));
}
