/**
 * What a write of memgraph's costs below both programs: the commit alone. The rows of our own commits are put
 * into a copy of the graph's file by the bare storage engine, one durable transaction each, and the same nodes
 * and edges into a copy of the hand-written store by its own statements, in this process, without MCP.
 *
 * The ratio of the two is the part of every contest of writes that no code of ours can take away: LMDB syncs
 * its pages and then the page that names them, where a log is synced once.
 */
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { throughDoor } from "@cortex-memory/core/doors";
import { openLmdbKv } from "../../packages/core/dist/kv/lmdb-backend.js";
import { median, timeMs } from "./clock.mjs";
import { openMemgraphFile } from "./memgraph-sqlite.mjs";
import { openRaw } from "./raw-lmdb.mjs";

/** Commits of one store before it is the other's turn. */
const SLICE = 10;

/**
 * A write, as either store is asked for it.
 * @typedef {{
 *   ours(memory: import("@cortex-memory/core").Cortex, access: import("@cortex-memory/core").Access): Promise<unknown>,
 *   theirs(file: import("./memgraph-sqlite.mjs").MemgraphFile): unknown,
 * }} Write
 */

/**
 * Milliseconds of a commit of each kind of write, in the bare storage engine and in SQLite.
 * @param {string} folder where the closed stores of the contest lie
 * @param {string} graph
 * @param {Readonly<Record<string, readonly Write[]>>} kinds
 */
export async function commitFloor(folder, graph, kinds) {
  const [file, copy] = [join(folder, "memgraph.db"), join(folder, "floor.db")];
  for (const end of ["", "-wal"]) {
    if (existsSync(file + end)) copyFileSync(file + end, copy + end);
  }
  const place = join(folder, "cortex", graph);
  copyFileSync(join(place, "g000001.mdb"), join(folder, "floor.mdb"));
  const recorded = await commitsOf(folder, graph, kinds);
  const raw = openRaw(join(folder, "floor.mdb"));
  const sqlite = await openMemgraphFile(copy);
  if (sqlite === undefined) throw new Error("there is no SQLite");
  const floor = [];
  for (const [what, writes] of Object.entries(kinds)) {
    const changes = recorded.get(what) ?? [];
    const times = { raw: /** @type {number[]} */ ([]), sqlite: /** @type {number[]} */ ([]) };
    for (let at = 0; at < changes.length; at += SLICE) {
      for (const change of changes.slice(at, at + SLICE)) {
        times.raw.push(await timeMs(async () => raw.commit(change)));
      }
      for (const write of writes.slice(at, at + SLICE)) {
        times.sqlite.push(await timeMs(async () => sqlite.all(() => write.theirs(sqlite))));
      }
    }
    floor.push({ what, raw: median(times.raw), sqlite: median(times.sqlite) });
  }
  await raw.close();
  sqlite.close();
  return floor;
}

/**
 * The commits that our store makes for each kind of write.
 * @param {string} folder
 * @param {string} graph
 * @param {Readonly<Record<string, readonly Write[]>>} kinds
 */
async function commitsOf(folder, graph, kinds) {
  const kv = await openLmdbKv(join(folder, "cortex", graph));
  const commit = kv.commit.bind(kv);
  /** @type {import("./recording.mjs").Change[]} */
  let kept = [];
  kv.commit = (change) => {
    kept.push(change);
    return commit(change);
  };
  const memory = await open(join(folder, "cortex"), { actor: graph, kv });
  const access = throughDoor("mcp", "mcp:bench");
  /** @type {Map<string, typeof kept>} */
  const recorded = new Map();
  for (const [what, writes] of Object.entries(kinds)) {
    kept = [];
    for (const write of writes) await write.ours(memory, access);
    recorded.set(what, kept);
  }
  await memory.close();
  return recorded;
}
