/**
 * How much of a batched write goes into keeping the Merkle trees?
 *
 * The engine writes batches into a copy of the prepared store, as users do, with a clock around its
 * tree functions (see `lib/timed-trees.mjs`). What it costs to store the rows of the trees is not in
 * that clock; so the commits of some batches are then replayed into two raw copies of the store,
 * once whole and once without those rows, and the difference is shown beside.
 */
import { copyFile, rm } from "node:fs/promises";
import { register } from "node:module";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { collectGarbage, median, sum, timeMs } from "../lib/clock.mjs";
import { RAW } from "../lib/contest.mjs";
import { engineRow } from "../lib/passes.mjs";
import { openRaw } from "../lib/raw-lmdb.mjs";
import { packChange, recordingKv, unpackChange } from "../lib/recording.mjs";
import { startWorkload } from "../lib/workload.mjs";

/** @typedef {import("../lib/settings.mjs").Settings} Settings */

const WARM_UP_BATCHES = 3;

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
  const about = { question: "trees", sync, memories };
  const percent = (/** @type {(run: RunTimes) => number} */ part) =>
    runs.map((run) => (100 * part(run)) / run.batchMs);
  const update = engineRow(
    about,
    "updating the trees, share of a batch",
    "%",
    percent((run) => run.updateMs),
  );
  const stored = raw.whole.map((whole, at) => whole - (raw.without[at] ?? 0));
  return {
    rows: [
      engineRow(
        about,
        `batch of ${settings.batchItems}`,
        "ms",
        runs.map(({ batchMs }) => batchMs),
      ),
      update,
      engineRow(
        about,
        "the same with reading their rows",
        "%",
        percent((run) => run.stretchMs),
      ),
      engineRow(
        about,
        "the same with storing them too",
        "%",
        percent((run) => run.stretchMs + median(stored)),
      ),
      { ...engineRow(about, "commit of a batch", "ms", raw.whole), store: RAW },
      { ...engineRow(about, "the same without rows of trees", "ms", raw.without), store: RAW },
    ],
    figures: { treesShare: { value: update.value, memories } },
    notes: [],
  };
}

/**
 * Milliseconds of the mean batch of a run.
 * @typedef {{
 *   readonly batchMs: number,
 *   readonly updateMs: number,
 *   readonly stretchMs: number,
 * }} RunTimes
 */

/**
 * Writes batches under the clocks, then some more whose commits are kept.
 * @param {Settings} settings
 * @param {string} path
 */
async function measure(settings, path) {
  const { open } = await import("@cortex-memory/core");
  const { openLmdbKv } = await import("../../packages/core/dist/kv/lmdb-backend.js");
  const { writeBatch } = await import("../lib/stores.mjs");
  const { takeSpent } = await import("../lib/timed-trees.mjs");
  const recorder = recordingKv(await openLmdbKv(join(path, "default")));
  const engine = await open(path, { kv: recorder.kv });
  const workload = startWorkload(settings.seed + 1);
  const { batchItems } = settings;
  const write = () => {
    const items = workload.take(batchItems);
    return timeMs(() => writeBatch(engine, items));
  };
  try {
    for (let at = 0; at < WARM_UP_BATCHES; at += 1) await write();
    const runs = /** @type {RunTimes[]} */ ([]);
    for (let run = 0; run < settings.runs; run += 1) {
      settings.progress(`trees: run ${run + 1} of ${settings.runs}`);
      collectGarbage();
      takeSpent();
      const count = settings.rounds.batch;
      const times = [];
      for (let at = 0; at < count; at += 1) times.push(await write());
      const { updateMs, stretchMs } = takeSpent();
      if (updateMs === 0) throw new Error("the clock around the trees saw nothing");
      const mean = (/** @type {number} */ ms) => ms / count;
      const batchMs = mean(sum(times));
      runs.push({ batchMs, updateMs: mean(updateMs), stretchMs: mean(stretchMs) });
    }
    const changes = /** @type {Buffer[]} */ ([]);
    for (let at = 0; at < settings.rounds.batch; at += 1) {
      await recorder.commitsOf(write, (change) => changes.push(packChange(change)));
    }
    return { runs, changes, sync: engine.manifest.syncMode };
  } finally {
    await engine.close();
  }
}

/**
 * Milliseconds of the mean commit, whole and without the rows of the trees, run by run.
 * @param {Settings} settings
 * @param {string} dataFile
 * @param {readonly Buffer[]} changes
 */
async function replay(settings, dataFile, changes) {
  const { KEYSPACE } = await import("../../packages/core/dist/kv/keyspace.js");
  const { logTile, memoryPage, edgePage } = KEYSPACE;
  const treeBytes = new Set([logTile, memoryPage, edgePage].map(({ byte }) => byte));
  const ofTree = (/** @type {Uint8Array} */ key) => treeBytes.has(key[0] ?? -1);
  const found = {
    whole: /** @type {number[]} */ ([]),
    without: /** @type {number[]} */ ([]),
  };
  for (let run = 0; run < settings.runs; run += 1) {
    settings.progress(`trees: raw run ${run + 1} of ${settings.runs}`);
    const files = [0, 1].map((side) => join(settings.folder, `trees-raw-${side}.mdb`));
    for (const file of files) await copyFile(dataFile, file);
    const [whole, without] = files.map((file) => openRaw(file));
    if (whole === undefined || without === undefined) throw new Error("no raw store");
    let wholeMs = 0;
    let withoutMs = 0;
    for (const packed of changes) {
      const change = unpackChange(packed);
      const puts = change.puts.filter(({ key }) => !ofTree(key));
      const deletes = change.deletes.filter((key) => !ofTree(key));
      const start = performance.now();
      whole.commit(change);
      const between = performance.now();
      without.commit({ head: change.head, puts, deletes });
      wholeMs += between - start;
      withoutMs += performance.now() - between;
    }
    await whole.close();
    await without.close();
    for (const file of files)
      for (const end of ["", "-lock"]) await rm(file + end, { force: true });
    found.whole.push(wholeMs / changes.length);
    found.without.push(withoutMs / changes.length);
  }
  return found;
}
