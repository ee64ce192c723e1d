/**
 * A store that grows to its full size beside its raw twin: what a batch costs early and late, what
 * memory the writer holds, what the disk pays, how long the full store takes to open.
 *
 * Engine and skeleton take turns batch by batch under separate clocks, and the commits of one batch
 * at most are held in between. Memory is that of another process, which does nothing but write as much: the skeleton and the
 * recorder would be part of it here.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { open } from "@cortex-memory/core";
import { openLmdbKv } from "../../packages/core/dist/kv/lmdb-backend.js";
import { median, sum, timeMs } from "./clock.mjs";
import { RAW } from "./contest.mjs";
import { watchProgram } from "./memory-sampler.mjs";
import { folderBytes, openStores } from "./stores.mjs";
import { startWorkload, writeBatch } from "./workload.mjs";

/**
 * @typedef {import("./settings.mjs").Settings} Settings
 * @typedef {import("./contest.mjs").Row} Row
 */

/** Batches whose median time stands for one size. */
const WINDOW_BATCHES = 20;
const OPENINGS = 5;
/** Batches between two lines of progress. */
const PROGRESS_BATCHES = 100;

/**
 * Grows a store once and reports.
 * @param {Settings} settings
 */
export async function measureGrowth(settings) {
  const { size: memories, batchItems } = settings;
  const folder = join(settings.folder, "growth");
  const stores = await openStores(folder, { sqlite: false });
  const sync = stores.engine.manifest.syncMode;
  const times = await grow(settings, stores);
  await stores.close();
  const bytes = folderBytes(stores.enginePath);
  const openMs = await timeOpenings(stores.enginePath);
  await rm(folder, { recursive: true, force: true });
  settings.progress(`write: ${memories} memories in a process of its own`);
  const memory = await watchProgram(
    "./writing-process.mjs",
    [folder, memories, batchItems, settings.seed].map(String),
  );
  await rm(folder, { recursive: true, force: true });

  const early = Math.min(Math.floor(settings.base / batchItems), times.engine.length - 1);
  const engine = growthOf(times.engine, early);
  const raw = growthOf(times.raw, early);
  const row = rowsAt(memories);
  const earlyRow = rowsAt(early * batchItems);
  const rate = (/** @type {readonly number[]} */ list) => (1000 * memories) / sum(list);
  const rows = [
    row(`growing to ${memories}`, "engine", sync, rate(times.engine), "writes/s"),
    row(`growing to ${memories}`, RAW, stores.raw.syncMode, rate(times.raw), "writes/s"),
    earlyRow("a batch, early", "engine", sync, engine.early, "ms"),
    earlyRow("a batch, early", RAW, stores.raw.syncMode, raw.early, "ms"),
    row("a batch, late", "engine", sync, engine.late, "ms"),
    row("a batch, late", RAW, stores.raw.syncMode, raw.late, "ms"),
    row("disk per memory", "engine", sync, bytes / memories, "bytes"),
    row("open", "engine", "reads only", median(openMs), "ms", openMs),
    ...(memory === undefined
      ? []
      : [row("anonymous memory, peak", "engine", sync, memory.peakMb, "MB")]),
  ];
  const figure = (/** @type {number} */ value) => ({ value, memories });
  return {
    rows,
    figures: {
      growth: figure(engine.late / engine.early),
      growthOverRaw: figure(engine.late / engine.early / (raw.late / raw.early)),
      diskPerMemory: figure(bytes / memories),
      open: figure(median(openMs)),
      ...(memory === undefined
        ? {}
        : { anonPeak: figure(memory.peakMb), anonFlat: figure(memory.secondHalfOverFirst) }),
    },
    notes:
      memory === undefined ? ["Memory is not measured: this system has no /proc/self/status."] : [],
  };
}

/**
 * @param {Settings} settings
 * @param {import("./stores.mjs").Stores} stores
 */
async function grow(settings, { engine, recorder, raw }) {
  const { size, batchItems } = settings;
  const workload = startWorkload(settings.seed);
  const times = { engine: /** @type {number[]} */ ([]), raw: /** @type {number[]} */ ([]) };
  for (let done = 0; done < size; done += batchItems) {
    const items = workload.take(Math.min(batchItems, size - done));
    let engineMs = 0;
    const changes = await recorder.commitsOf(async () => {
      engineMs = await timeMs(() => writeBatch(engine, items));
    });
    const start = performance.now();
    for (const change of changes) raw.commit(change);
    times.raw.push(performance.now() - start);
    times.engine.push(engineMs);
    if (times.engine.length % PROGRESS_BATCHES === 0) {
      settings.progress(`write: ${done + items.length} of ${size} memories`);
    }
  }
  return times;
}

/**
 * The median time of a batch in the window that starts at `early`, and in the last one.
 * @param {readonly number[]} times
 * @param {number} early
 */
function growthOf(times, early) {
  return {
    early: median(times.slice(early, early + WINDOW_BATCHES)),
    late: median(times.slice(-WINDOW_BATCHES)),
  };
}

/**
 * Opening a store that the system still holds in memory, and reading one row of it.
 * @param {string} path
 */
async function timeOpenings(path) {
  const times = [];
  for (let index = 0; index < OPENINGS; index += 1) {
    const start = performance.now();
    const engine = await open(path, { kv: await openLmdbKv(path) });
    await engine.log({ limit: 1 });
    times.push(performance.now() - start);
    await engine.close();
  }
  return times;
}

/**
 * Makes rows about a store of one size.
 * @param {number} memories
 * @returns {(what: string, store: string, sync: string, value: number, unit: string, runs?: number[]) => Row}
 */
function rowsAt(memories) {
  return (what, store, sync, value, unit, runs = [value]) => ({
    question: "write",
    what,
    store,
    sync,
    memories,
    value,
    unit,
    runs,
  });
}
