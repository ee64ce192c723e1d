/**
 * What is the most that this machine gives, whoever asks? The disk alone: a page and a wait for it.
 * The processor alone: hashes. The storage engine alone: the rows of our own writes and the keys of our own reads, with nothing
 * above them. Asked in the same run, they are what figures of Cortex and of other programs are to be held against: no
 * durable write of one caller can be quicker than the wait for the disk.
 */
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { median } from "../lib/clock.mjs";
import { RAW } from "../lib/contest.mjs";
import { hashesPerSecond, syncsPerSecond } from "../lib/limits.mjs";
import { packChange, unpackChange } from "../lib/recording.mjs";
import { fillStores, openStores } from "../lib/stores.mjs";
import { asWrite, seededNumbers, startWorkload, writeBatch } from "../lib/workload.mjs";

/**
 * @typedef {import("../lib/contest.mjs").Row} Row
 * @typedef {import("../lib/stores.mjs").Stores} Stores
 */

const GROUP_CALLS = 64;
/** Bytes that a memory is hashed from are mostly of these two sizes: nodes of a tree, and parts of an entry. */
const HASHED_BYTES = [64, 300];

/**
 * Answers the question.
 * @param {import("../lib/settings.mjs").Settings} settings
 * @returns {Promise<import("../lib/settings.mjs").Answer>}
 */
export async function answer(settings) {
  const { folder, quick, runs: count } = settings;
  const runs = (/** @type {() => number} */ measure) => Array.from({ length: count }, measure);
  const forMs = quick ? 20 : 500;
  settings.progress("limits: disk and processor");
  const alone = [
    limitRow("4 KB written, then fdatasync", "disk", {
      unit: "syncs/s",
      sync: "fdatasync on every write",
      runs: runs(() => syncsPerSecond(folder, forMs)),
    }),
    ...HASHED_BYTES.map((bytes) =>
      limitRow(`SHA-256 of ${bytes} bytes`, "processor", {
        unit: "hashes/s",
        runs: runs(() => hashesPerSecond(bytes, forMs)),
      }),
    ),
  ];
  settings.progress("limits: rows and keys in the storage engine");
  return { rows: [...alone, ...(await storageRows(settings))], figures: {}, notes: [] };
}

/**
 * Our rows and keys through the bare storage engine.
 * @param {import("../lib/settings.mjs").Settings} settings
 */
async function storageRows(settings) {
  const { base: memories, batchItems, rounds, runs } = settings;
  const stores = await openStores(join(settings.folder, "limits"), { sqlite: false });
  try {
    const workload = startWorkload(settings.seed);
    const { engineIds } = await fillStores(stores, workload, { count: memories, batchItems });
    const ways = [
      { items: 1, rounds: rounds.single },
      { items: GROUP_CALLS, rounds: rounds.group },
      { items: batchItems, rounds: rounds.batch },
    ];
    const rows = [];
    for (const way of ways) {
      const rates = [];
      for (let run = 0; run < runs; run += 1) rates.push(await committed(stores, workload, way));
      const whose =
        way.items === 1 ? "of one write" : `of ${way.items.toLocaleString("en")} writes at once`;
      rows.push(
        limitRow(`the rows ${whose}, committed`, RAW, {
          unit: "writes/s",
          sync: stores.raw.syncMode,
          memories,
          runs: rates,
        }),
      );
    }
    const next = seededNumbers(settings.seed);
    const picked = Array.from(
      { length: settings.reads },
      () => engineIds[next(engineIds.length)] ?? "",
    );
    const keys = await stores.recorder.readsOf(async () => {
      for (const id of picked) await stores.engine.get(id);
    });
    const rates = Array.from({ length: runs }, () => {
      const startMs = performance.now();
      for (const wanted of keys) stores.raw.read(wanted);
      return (1000 * picked.length) / (performance.now() - startMs);
    });
    rows.push(
      limitRow("the keys of one get, read", RAW, { unit: "gets/s", memories, runs: rates }),
    );
    return rows;
  } finally {
    await stores.close();
  }
}

/**
 * Writes a second whose rows the bare engine commits: Cortex writes and its commits are kept, then they are replayed.
 * @param {Stores} stores
 * @param {{ take(count: number): import("../lib/workload.mjs").Item[] }} workload
 * @param {{ readonly items: number, readonly rounds: number }} way
 */
async function committed({ engine, recorder, raw }, workload, { items, rounds }) {
  const packed = [];
  for (let round = 0; round < rounds; round += 1) {
    const taken = workload.take(items);
    // A batch is one call; calls at once share a commit.
    const changes = await recorder.commitsOf(() =>
      items > GROUP_CALLS
        ? writeBatch(engine, taken)
        : Promise.all(taken.map((item) => engine.write(asWrite(item)))),
    );
    packed.push(changes.map(packChange));
  }
  let ms = 0;
  for (const buffers of packed) {
    const changes = buffers.map(unpackChange);
    const startMs = performance.now();
    for (const change of changes) raw.commit(change);
    ms += performance.now() - startMs;
  }
  return (1000 * items * rounds) / ms;
}

/**
 * @param {string} what
 * @param {string} store
 * @param {{ readonly unit: string, readonly runs: readonly number[], readonly sync?: string, readonly memories?: number }} found
 * @returns {Row}
 */
function limitRow(what, store, { unit, runs, sync = "none", memories = 1 }) {
  const value = median(runs);
  return { question: "limits", what, store, sync, memories, value, unit, runs: [...runs] };
}
