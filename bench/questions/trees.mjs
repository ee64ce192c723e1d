/**
 * How much of a batched write goes into keeping the Merkle trees?
 *
 * The engine writes batches into a copy of the prepared store, as users do, with a clock around its
 * tree functions (see `lib/timed-trees.mjs`). What it costs to store the rows of the trees is not in
 * that clock; so the commits of some batches are then replayed into two raw copies of the store,
 * once whole and once without those rows, and the difference is shown beside.
 *
 * The bar goes by processor time, which other work on the machine bends least. Waiting for the disk
 * is not in it; by the wall clock of a quiet machine the share is therefore smaller.
 */
import { copyFile, rm } from "node:fs/promises";
import { register } from "node:module";
import { join } from "node:path";
import { collectGarbage, median, processorMs, timeMs } from "../lib/clock.mjs";
import { RAW } from "../lib/contest.mjs";
import { engineRow } from "../lib/passes.mjs";
import { openRaw } from "../lib/raw-lmdb.mjs";
import { packChange, recordingKv, unpackChange } from "../lib/recording.mjs";
import { startWorkload, writeBatch } from "../lib/workload.mjs";

/**
 * @typedef {import("../lib/settings.mjs").Settings} Settings
 * @typedef {import("../lib/timed-trees.mjs").Spent} Spent
 *
 * Milliseconds of all batches of a run.
 * @typedef {{ readonly batch: Spent, readonly update: Spent, readonly whole: Spent }} RunTimes
 */

const WARM_UP_BATCHES = 3;

/** What the key of an entry of the journal begins with. */
const JOURNAL_BYTE = 0x01;

/**
 * Answers the question.
 * @param {Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  register("../lib/tree-hooks.mjs", import.meta.url);
  // Only now: what is loaded before the hooks are registered has no clock in it.
  const { copyPrepared, dataFileOf, preparedStore } = await import("../lib/prepared.mjs");
  const prepared = await preparedStore(settings);
  const path = await copyPrepared(settings, prepared, "trees");
  const { runs, changes, sync } = await measure(settings, path);
  await rm(path, { recursive: true });
  const raw = await replay(settings, dataFileOf(prepared.path), changes);
  const memories = prepared.entries;
  const rows = rowsOf(settings, { question: "trees", sync, memories }, runs, raw);
  return {
    rows,
    figures: { treesShare: { value: rows[2]?.value ?? Number.NaN, memories } },
    notes: [],
  };
}

/**
 * @param {Settings} settings
 * @param {Parameters<typeof engineRow>[0]} about
 * @param {readonly RunTimes[]} runs
 * @param {Awaited<ReturnType<typeof replay>>} raw
 */
function rowsOf(settings, about, runs, raw) {
  const { batch: batches } = settings.rounds;
  const batchMs = (/** @type {keyof Spent} */ clock) =>
    runs.map(({ batch }) => batch[clock] / batches);
  const percent = (
    /** @type {"wall" | "processor"} */ clock,
    /** @type {(run: RunTimes) => number} */ part,
  ) => runs.map((run) => (100 * part(run)) / run.batch[clock]);
  const row = (/** @type {string} */ what, /** @type {readonly number[]} */ values, unit = "%") =>
    engineRow(about, what, unit, values);
  const storedMs = median(raw.whole.map((whole, at) => whole - (raw.without[at] ?? 0)));
  return [
    row(`batch of ${settings.batchItems}`, batchMs("wall"), "ms"),
    row("the same, processor time", batchMs("processor"), "ms"),
    row(
      "updating the trees, processor time",
      percent("processor", ({ update }) => update.processor),
    ),
    row(
      "the same with reading their rows",
      percent("processor", ({ whole }) => whole.processor),
    ),
    row(
      "the same with storing them too",
      percent("processor", ({ whole }) => whole.processor + batches * storedMs),
    ),
    row(
      "updating the trees, wall clock",
      percent("wall", ({ update }) => update.wall),
    ),
    { ...row("commit of a batch, processor time", raw.whole, "ms"), store: RAW },
    { ...row("the same without rows of trees", raw.without, "ms"), store: RAW },
  ];
}

/**
 * Writes batches under the clocks, then some more whose commits are kept.
 * @param {Settings} settings
 * @param {string} path
 */
async function measure(settings, path) {
  const { open } = await import("@cortex-memory/core");
  const { openLmdbKv } = await import("../../packages/core/dist/kv/lmdb-backend.js");
  const { takeSpent } = await import("../lib/timed-trees.mjs");
  const recorder = recordingKv(await openLmdbKv(join(path, "default")));
  const engine = await open(path, { kv: recorder.kv });
  const workload = startWorkload(settings.seed + 1);
  const write = async () => {
    const items = workload.take(settings.batchItems);
    const before = processorMs();
    const wall = await timeMs(() => writeBatch(engine, items));
    return { wall, processor: processorMs() - before };
  };
  try {
    for (let at = 0; at < WARM_UP_BATCHES; at += 1) await write();
    const runs = /** @type {RunTimes[]} */ ([]);
    for (let run = 0; run < settings.runs; run += 1) {
      settings.progress(`trees: run ${run + 1} of ${settings.runs}`);
      collectGarbage();
      takeSpent();
      const batch = { wall: 0, processor: 0 };
      for (let at = 0; at < settings.rounds.batch; at += 1) {
        const { wall, processor } = await write();
        batch.wall += wall;
        batch.processor += processor;
      }
      const { update, whole } = takeSpent();
      if (update.wall === 0) throw new Error("the clock around the trees saw nothing");
      runs.push({ batch, update, whole });
    }
    const changes = /** @type {Buffer[]} */ ([]);
    for (let at = 0; at < settings.rounds.batch; at += 1) {
      // Commits of caches, which the text index makes beside, have no row of a tree.
      await recorder.commitsOf(write, (change) => {
        if (change.puts.some(({ key }) => key[0] === JOURNAL_BYTE))
          changes.push(packChange(change));
      });
    }
    return { runs, changes, sync: engine.manifest.syncMode };
  } finally {
    await engine.close();
  }
}

/**
 * Processor milliseconds of the mean commit, whole and without the rows of the trees, run by run.
 * @param {Settings} settings
 * @param {string} dataFile
 * @param {readonly Buffer[]} changes
 */
async function replay(settings, dataFile, changes) {
  const { KEYSPACE } = await import("../../packages/core/dist/kv/keyspace.js");
  const { logTile, memoryPage, edgePage } = KEYSPACE;
  const treeBytes = new Set([logTile, memoryPage, edgePage].map(({ byte }) => byte));
  const ofTree = (/** @type {Uint8Array} */ key) => treeBytes.has(key[0] ?? -1);
  const side = async (/** @type {(key: Uint8Array) => boolean} */ kept) => {
    const file = join(settings.folder, "trees-raw.mdb");
    await copyFile(dataFile, file);
    const raw = openRaw(file);
    let busyMs = 0;
    for (const packed of changes) {
      const { head, puts, deletes } = unpackChange(packed);
      const change = {
        head,
        puts: puts.filter(({ key }) => kept(key)),
        deletes: deletes.filter(kept),
      };
      const before = processorMs();
      raw.commit(change);
      busyMs += processorMs() - before;
    }
    await raw.close();
    for (const end of ["", "-lock"]) await rm(file + end, { force: true });
    return busyMs / changes.length;
  };
  const whole = [];
  const without = [];
  for (let run = 0; run < settings.runs; run += 1) {
    settings.progress(`trees: raw run ${run + 1} of ${settings.runs}`);
    whole.push(await side(() => true));
    without.push(await side((key) => !ofTree(key)));
  }
  return { whole, without };
}
