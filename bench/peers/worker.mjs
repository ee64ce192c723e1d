/**
 * One program in a process of its own, so that no program inherits the heap of another and the memory
 * that is read is its own. Started with a job as JSON; prints its findings as JSON, line by line.
 *
 * Jobs: `measure` fills a store step by step and times each workload at each size; `start` opens a store
 * and reads one memory; `write` writes until it has written enough or is killed, and prints each id that was
 * acknowledged; `count` opens a store and says how many of the ids it is given are there, and how many of those no longer
 * say what was written.
 */
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { seededNumbers, startWorkload, TAG_COUNT } from "../lib/workload.mjs";
import { PEERS } from "./peers.mjs";

/**
 * @typedef {import("./peers.mjs").Store} Store
 * @typedef {import("./peers.mjs").Item} Item
 * @typedef {{
 *   readonly peer: string,
 *   readonly place: string,
 *   readonly seed: number,
 *   readonly job: "measure" | "start" | "write" | "count",
 *   readonly sizes: readonly number[],
 *   readonly limitMs: number,
 *   readonly readMs: number,
 *   readonly fillLimitMs: number,
 *   readonly calls: number,
 *   readonly skip: number,
 *   readonly ids: readonly string[],
 * }} Job
 * place: the folder or the address of the store; limitMs: the longest a kind of write is timed; readMs: how long a kind of read is;
 * fillLimitMs: the longest a store is filled; calls: the most writes of a kind that are timed; skip: how many memories of the workload other processes write
 */

const BATCH = 1000;
/**
 * The share of calls, or of the time for them, that goes by before the clock starts: what is measured is a process that has been in use for
 * a moment.
 */
const WARMING = { writes: 0.2, reads: 0.5 };
const AT_ONCE = 64;
const PAGE = 50;
const HITS = 10;
/** Levels go round from 0 to 9, so a fifth of all memories has at least this one. */
const LEAST_LEVEL = 8;

const job = /** @type {Job} */ (JSON.parse(readFileSync(0, "utf8")));
const peer = PEERS.find(({ name }) => name === job.peer);
if (peer === undefined) throw new Error(`no such peer: ${job.peer}`);
const { openStore } = await import(`./${peer.file}`);
const store = /** @type {Store} */ (await openStore(job.place));

/** @param {object} found */
function say(found) {
  process.stdout.write(`${JSON.stringify(found)}\n`);
}

await { measure, start, write, count }[job.job]();
await store.close();
// Some of these programs leave timers or sockets behind.
process.exit(0);

async function start() {
  const found = await store.get?.(job.ids[0] ?? "");
  if (found === undefined || found === null) throw new Error("the memory is not there");
  say({ started: true });
}

async function write() {
  const workload = startLeveled();
  workload.take(job.skip);
  for (const item of workload.take(job.calls)) say({ id: await store.write(item) });
}

async function count() {
  const workload = startLeveled();
  workload.take(job.skip);
  let [there, torn] = [0, 0];
  for (const id of job.ids) {
    const [item] = workload.take(1);
    try {
      const found = await store.get?.(id);
      if (found === undefined || found === null) continue;
      if (Array.isArray(found) && found.length === 0) continue;
      there += 1;
      if (!JSON.stringify(found).includes(item?.text ?? id)) torn += 1;
    } catch {
      // Some programs throw for what is not there.
    }
  }
  say({ there, torn });
}

async function measure() {
  const workload = startLeveled();
  /** @type {string[]} */
  const ids = [];
  const next = seededNumbers(job.seed);
  const any = () => ids[next(ids.length)] ?? "";
  for (const size of job.sizes) {
    const filled = await fill(workload, ids, size);
    if (filled === undefined) {
      say({ size, stopped: `filling took more than ${job.fillLimitMs / 1000} s` });
      return;
    }
    say({ size, what: "batch", perSecond: filled });
    await store.settle?.();
    const { write, get, page, filter, search, recall, link, near, update, history } = store;
    await timeWrites(size, "write", async () => {
      const [item] = workload.take(1);
      if (item !== undefined) ids.push(await write(item));
      return 1;
    });
    await timeWrites(size, "writes at once", async () => {
      const items = workload.take(AT_ONCE);
      ids.push(...(await Promise.all(items.map((item) => write(item)))));
      return AT_ONCE;
    });
    await timeReads(size, "get", get && (() => get(any())));
    await timeReads(size, "page", page && (() => page(`tag-${next(TAG_COUNT)}`, PAGE)));
    if (filter !== undefined) await timeFilter(size, filter, next);
    await timeReads(size, "search", search && (() => search(words(workload), HITS)));
    await timeReads(size, "recall", recall && (() => recall(words(workload).join(" "), HITS)));
    if (link !== undefined && near !== undefined) {
      const hub = any();
      for (let at = 0; at < 10; at += 1) {
        const spoke = any();
        if (spoke !== hub) await link(hub, spoke);
        for (let leaf = 0; leaf < 5; leaf += 1) {
          const end = any();
          if (end !== spoke) await link(spoke, end);
        }
      }
      await timeReads(size, "near", () => near(hub));
    }
    if (update !== undefined && history !== undefined) {
      const changed = any();
      for (const item of workload.take(10)) await update(changed, item);
      await timeReads(size, "history", () => history(changed));
    }
    say({ size, memory: memoryMb() });
  }
}

/** The workload of all questions, each memory with a level. */
function startLeveled() {
  const workload = startWorkload(job.seed);
  let made = 0;
  return {
    take: (/** @type {number} */ count) =>
      workload.take(count).map((item) => ({ ...item, level: made++ % 10 })),
  };
}

/**
 * A filter finds nothing for some tags of a small store, but not for all of them.
 * @param {number} size
 * @param {NonNullable<Store["filter"]>} filter
 * @param {(below: number) => number} next
 */
async function timeFilter(size, filter, next) {
  let hits = 0;
  await timeReads(size, "filter", async () => {
    const tag = `tag-${next(TAG_COUNT)}`;
    const all = await filter({ tag, leastLevel: LEAST_LEVEL, limit: HITS });
    hits += all.length;
    return all;
  });
  if (hits === 0) throw new Error("no filter found anything");
}

/**
 * Fills the store up to a size; the rate of batches, or nothing when it took too long.
 * @param {{ take(count: number): Item[] }} workload
 * @param {string[]} ids
 * @param {number} size
 */
async function fill(workload, ids, size) {
  const wanted = Math.max(0, size - ids.length);
  const fromMs = performance.now();
  let done = 0;
  while (done < wanted) {
    if (performance.now() - fromMs > job.fillLimitMs) return undefined;
    const items = workload.take(Math.min(BATCH, wanted - done));
    if (store.batch !== undefined) ids.push(...(await store.batch(items)));
    else for (const item of items) ids.push(await store.write(item));
    done += items.length;
  }
  return (1000 * done) / (performance.now() - fromMs);
}

/**
 * Repeats a write until enough were made or the time is up, after some that do not count. Their number is bounded, so that a store does not
 * grow by more for being quick.
 * @param {number} size
 * @param {string} what
 * @param {() => Promise<number>} call the number it counts for
 */
async function timeWrites(size, what, call) {
  const { calls, limitMs } = job;
  await repeat(call, { calls: WARMING.writes * calls, ms: WARMING.writes * limitMs });
  say({ size, what, perSecond: await repeat(call, { calls, ms: limitMs }) });
}

/**
 * Repeats a read for the same time whatever it takes, after some that do not count. A number of calls would time programs that
 * are quick for some hundredths of a second.
 * @param {number} size
 * @param {string} what
 * @param {(() => unknown) | undefined} call
 */
async function timeReads(size, what, call) {
  if (call === undefined) return;
  const counted = async () => {
    found(await call());
    return 1;
  };
  const calls = Number.POSITIVE_INFINITY;
  await repeat(counted, { calls, ms: WARMING.reads * job.readMs });
  say({ size, what, perSecond: await repeat(counted, { calls, ms: job.readMs }) });
}

/**
 * Calls a second.
 * @param {() => Promise<number>} call
 * @param {{ readonly calls: number, readonly ms: number }} most
 */
async function repeat(call, most) {
  const fromMs = performance.now();
  let [done, ms] = [0, 0];
  while (done < most.calls && ms < most.ms) {
    done += await call();
    ms = performance.now() - fromMs;
  }
  return (1000 * done) / ms;
}

/**
 * Words of a text that is not in the store, as a question.
 * @param {{ take(count: number): Item[] }} workload
 */
function words(workload) {
  const [item] = workload.take(1);
  return (item?.text ?? "").split(" ").slice(2, 5);
}

/**
 * A read that finds nothing would be quick, and wrong.
 * @param {unknown} value
 */
function found(value) {
  if (value === undefined || value === null) throw new Error("nothing was found");
}

/**
 * Resident memory of the program, of the server where there is one; and how much of it is its own, without pages of files that it has mapped,
 * which the system takes back when it likes.
 */
function memoryMb() {
  const status = readFileSync(`/proc/${store.pid ?? process.pid}/status`, "utf8");
  const megabytes = (/** @type {string} */ name) =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) / 1024;
  return { resident: megabytes("VmRSS"), anonymous: megabytes("RssAnon") };
}
