/**
 * How long does it take to make a store again from its journal, compare it row by row with the old
 * one and take its place? And does the memory this needs stay the same however far it has come?
 *
 * The raw skeleton replays the very commits of one rebuild into a new file: no reading of the
 * journal, no folding, no comparing. SQLite makes its two indexes and its full-text index anew.
 */
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { collectGarbage, median, timeMs } from "../lib/clock.mjs";
import { RAW } from "../lib/contest.mjs";
import { watchMemory } from "../lib/memory-sampler.mjs";
import { openRaw } from "../lib/raw-lmdb.mjs";
import { packChange, unpackChange } from "../lib/recording.mjs";
import { fillStores, openStores } from "../lib/stores.mjs";
import { startWorkload } from "../lib/workload.mjs";

/** @typedef {import("../lib/stores.mjs").Stores} Stores */

const REBUILD_MEMORIES = 100_000;
/** A store under construction is not waited for; it is on the disk before it takes over. */
const SYNC = "one fsync at the end";

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const memories = Math.min(settings.size, REBUILD_MEMORIES);
  const stores = await openStores(join(settings.folder, "rebuild"));
  try {
    settings.progress(`rebuild: filling ${memories}`);
    const { batchItems } = settings;
    await fillStores(stores, startWorkload(settings.seed), { count: memories, batchItems });
    const replaced = await measure(settings, stores, false);
    const verified = await measure(settings, stores, true);
    settings.progress("rebuild: the raw skeleton");
    const raw = await measureRaw(settings, stores);
    const rows = [
      { what: "rebuild", store: "engine", sync: SYNC, rates: replaced },
      {
        what: "rebuild, verify only",
        store: "engine",
        sync: "none: nothing kept",
        rates: verified,
      },
      { what: "rebuild", store: RAW, sync: SYNC, rates: raw },
      ...sqliteRates(settings, stores, memories),
    ].map(({ what, store, sync, rates: { rates } }) => ({
      question: "rebuild",
      what,
      store,
      sync,
      memories,
      value: median(rates),
      unit: "entries/s",
      runs: rates,
      ...(store === "engine" && what === "rebuild"
        ? { overRaw: median(rates) / median(raw.rates) }
        : {}),
    }));
    const flat = replaced.halves.length === 0 ? undefined : median(replaced.halves);
    const peak = median(replaced.peaksMb);
    return {
      rows: [
        ...rows,
        {
          question: "rebuild",
          what: "anonymous memory, peak",
          store: "engine",
          sync: SYNC,
          memories,
          value: peak,
          unit: "MB",
          runs: replaced.peaksMb,
        },
      ],
      figures: {
        rebuildPerSecond: { value: median(replaced.rates), memories },
        ...(flat === undefined ? {} : { rebuildFlat: { value: flat, memories } }),
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
 * Entries per second and memory of each run.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @param {Stores} stores
 * @param {boolean} verifyOnly
 */
async function measure(settings, { engine }, verifyOnly) {
  const rates = [];
  const halves = [];
  const peaksMb = [];
  for (let run = 0; run < settings.runs; run += 1) {
    settings.progress(`rebuild: run ${run + 1} of ${settings.runs}`);
    collectGarbage();
    let entries = 0;
    let ms = 0;
    const memory = await watchMemory(async () => {
      ms = await timeMs(async () => {
        const report = await engine.rebuild({ verifyOnly });
        if (!report.ok) throw new Error(`the rebuilt store differs: ${report.differences[0]}`);
        ({ entries } = report);
      });
    });
    rates.push((1000 * entries) / ms);
    if (memory !== undefined) halves.push(memory.secondHalfOverFirst);
    if (memory !== undefined) peaksMb.push(memory.peakMb);
  }
  return { rates, halves, peaksMb };
}

/**
 * The commits of one rebuild, into new raw files.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @param {Stores} stores
 */
async function measureRaw(settings, { engine, recorder }) {
  let entries = 0;
  const packed = /** @type {Buffer[]} */ ([]);
  // Packed as they come: a whole store of small arrays would keep the collector busy later.
  await recorder.commitsOf(
    async () => {
      ({ entries } = await engine.rebuild());
    },
    (change) => packed.push(packChange(change)),
  );
  const rates = [];
  for (let run = 0; run < settings.runs; run += 1) {
    const raw = openRaw(join(settings.folder, "rebuild", `raw-${run}.mdb`), { relaxed: true });
    let ms = 0;
    for (const one of packed) {
      const change = unpackChange(one);
      const start = performance.now();
      raw.commit(change);
      ms += performance.now() - start;
    }
    ms += await timeMs(() => raw.sync());
    await raw.close();
    rates.push((1000 * entries) / ms);
  }
  return { rates };
}

/**
 * @param {import("../lib/settings.mjs").Settings} settings
 * @param {Stores} stores
 * @param {number} memories
 */
function sqliteRates(settings, { sqlite }, memories) {
  if (sqlite === undefined) return [];
  const rates = Array.from({ length: settings.runs }, () => {
    const start = performance.now();
    sqlite.rebuild();
    return (1000 * memories) / (performance.now() - start);
  });
  const what = "rebuild of indexes and words";
  return [{ what, store: sqlite.name, sync: sqlite.syncMode, rates: { rates } }];
}
