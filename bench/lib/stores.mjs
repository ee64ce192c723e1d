/**
 * The three stores of a run, side by side and fed the same: the engine as users open it, the raw
 * skeleton with the very commits the engine made, and the hand-rolled SQLite.
 */
import { readdirSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { openLmdbKv } from "../../packages/core/dist/kv/lmdb-backend.js";
import { openGraph } from "../../packages/core/dist/open.js";
import { openRaw } from "./raw-lmdb.mjs";
import { recordingKv } from "./recording.mjs";
import { openSqlite, SqliteStore } from "./sqlite.mjs";
import { writeBatch } from "./workload.mjs";

/**
 * @typedef {import("./workload.mjs").Item} Item
 * @typedef {Awaited<ReturnType<typeof openStores>>} Stores
 */

/**
 * Opens three new stores in a folder of their own.
 * @param {string} folder
 * @param {{ readonly sqlite?: boolean }} [options] sqlite: false leaves that one out
 */
export async function openStores(folder, options = {}) {
  await mkdir(folder, { recursive: true });
  const enginePath = join(folder, "engine");
  const recorder = recordingKv(await openLmdbKv(enginePath));
  const raw = openRaw(join(folder, "raw.mdb"));
  const sqlite =
    options.sqlite === false
      ? { missing: "not asked for" }
      : await openSqlite(join(folder, "hand-rolled.db"));
  const birth = /** @type {Awaited<ReturnType<typeof openGraph>>[]} */ ([]);
  // The first commit is the birth of the store; the skeleton needs it like any other.
  const first = await recorder.commitsOf(async () => {
    birth.push(await openGraph(enginePath, { kv: recorder.kv }));
  });
  for (const change of first) raw.commit(change);
  const [born] = birth;
  if (born === undefined) throw new Error("the store did not open");
  const { memory: engine } = born;
  return {
    engine,
    text: born.engine.text,
    /** Writes the text index out, here and in the skeleton. */
    async settle() {
      for (const change of await recorder.commitsOf(() => born.engine.text.flush())) {
        raw.commit(change);
      }
    },
    recorder,
    raw,
    sqlite: sqlite instanceof SqliteStore ? sqlite : undefined,
    sqliteMissing: sqlite instanceof SqliteStore ? undefined : sqlite.missing,
    enginePath,
    async close() {
      const { failure } = await born.engine.text.status();
      await engine.close();
      if (failure !== undefined) throw new Error(`the text index was not written: ${failure}`);
      await raw.close();
      if (sqlite instanceof SqliteStore) sqlite.close();
    },
  };
}

/**
 * Fills the stores with the same memories, batch by batch; nothing is timed.
 * @param {Stores} stores
 * @param {{ take(count: number): Item[] }} workload
 * @param {{ readonly count: number, readonly batchItems: number }} size
 * @returns the ids of the engine and of SQLite, in the order written
 */
export async function fillStores(stores, workload, { count, batchItems }) {
  const { engine, recorder, raw, sqlite } = stores;
  const engineIds = /** @type {string[]} */ ([]);
  const sqliteIds = /** @type {string[]} */ ([]);
  for (let done = 0; done < count; done += batchItems) {
    const items = workload.take(Math.min(batchItems, count - done));
    const changes = await recorder.commitsOf(async () => {
      for (const id of await writeBatch(engine, items)) engineIds.push(id);
    });
    for (const change of changes) raw.commit(change);
    for (const id of sqlite?.write(items) ?? []) sqliteIds.push(id);
  }
  return { engineIds, sqliteIds };
}

/**
 * Bytes of all files below a folder.
 * @param {string} folder
 * @returns {number}
 */
export function folderBytes(folder) {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    bytes += entry.isDirectory() ? folderBytes(path) : statSync(path).size;
  }
  return bytes;
}
