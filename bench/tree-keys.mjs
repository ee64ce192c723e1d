/**
 * What should the keys of the state tree look like? `node bench/tree-keys.mjs` after a build.
 *
 * Builds the pages of the tree of memories in an LMDB store, 1,000 keys to a durable commit, once
 * with keys that keep the order of ids (id, then half a hash) and once with keys that are a hash
 * alone, and prints what a batch costs at 10,000, 100,000 and 1,000,000 keys. Then the two keys
 * again at 100,000 with pages of 4 and of 6 bits, single inserts included. Nothing else is stored:
 * the figures are of the tree, not of a write.
 *
 * Pages are read as the writer reads them: 8,192 rows stay cached between commits, and what is
 * missing is named whole and read in one call. Keys by hash are also measured in rounds, one level
 * of pages at a time, because naming everything is the worse way for them. Each case runs in a
 * process of its own. On a machine that others use, the time of the processor says more than the
 * time on the wall. The decision that rests on this is docs/decisions/0006-two-trees.md.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { domainHash } from "../packages/core/dist/codec/hash.js";
import { sha256Node } from "../packages/core/dist/codec/node-crypto.js";
import { newUlid } from "../packages/core/dist/codec/ulid.js";
import { keyString, pageKey } from "../packages/core/dist/kv/keyspace.js";
import { openLmdbKv } from "../packages/core/dist/kv/lmdb-backend.js";
import { unknownPages, updateState } from "../packages/core/dist/merkle/state-tree.js";
import { memoryTreeKey } from "../packages/core/dist/records/edge-record.js";
import { seededRandom } from "../packages/core/dist/testing/seeded-random.js";
import { median } from "./lib/clock.mjs";
import { describeMachine, loadOf } from "./lib/machine.mjs";
import { watchMemory } from "./lib/memory-sampler.mjs";

const BATCH_KEYS = 1000;
/** Batches whose median stands for one size: those that follow it. */
const WINDOW_BATCHES = 20;
const SINGLE_INSERTS = 200;
/** As many rows as the writer keeps between commits. */
const CACHED_ROWS = 8192;
/** Both kinds of key differ within their first 16 bytes. */
const SIGNIFICANT_BYTES = 16;
const KEYS_PER_MS = 10;
const START_MS = Date.UTC(2030, 0, 1);

/**
 * @typedef {{
 *   readonly keys: "ordered" | "hashed",
 *   readonly reads: "whole" | "rounds",
 *   readonly pageBits: number,
 *   readonly size: number,
 *   readonly singles: boolean,
 * }} Case
 * @typedef {{ ms: number, cpuMs: number, readMs: number, treeMs: number, commitMs: number,
 *   rows: number, bytes: number, rowsRead: number }} Step
 * @typedef {{ size: number, batch: Step }} At
 * @typedef {{
 *   at: At[], pagesPerKey: number, bytesPerKey: number, fileBytesPerKey: number,
 *   single: Step | undefined, anonPeakMb: number | undefined, anonFlat: number | undefined,
 *   loadAtEnd: number,
 * }} Result
 */

/** The tree of one case: its store, its cache, its counts. Opened by `open`, ended by `close`. */
class PageTree {
  /** @type {Case} */ #what;
  /** @type {import("../packages/core/dist/kv/kv.js").Kv} */ #kv;
  /** @type {Map<string, Uint8Array | undefined>} */ #cache = new Map();
  /** @type {Uint8Array | undefined} */ #head;
  #commits = 0;
  totals = { pages: 0, bytes: 0 };

  /**
   * @param {Case} what
   * @param {import("../packages/core/dist/kv/kv.js").Kv} kv
   */
  constructor(what, kv) {
    this.#what = what;
    this.#kv = kv;
  }

  /**
   * @param {Case} what
   * @param {string} folder
   */
  static async open(what, folder) {
    return new PageTree(what, await openLmdbKv(folder));
  }

  sizeBytes() {
    return this.#kv.sizeBytes();
  }

  close() {
    return this.#kv.close();
  }

  /**
   * Adds keys in one durable commit.
   * @param {readonly { key: Uint8Array, value: Uint8Array }[]} updates
   * @returns {Promise<Step>}
   */
  async add(updates) {
    const start = performance.now();
    const cpuStart = process.cpuUsage();
    const rowsRead = await this.#readMissing(updates.map(({ key }) => key));
    const read = performance.now();
    const { pages } = updateState({
      sha256: sha256Node,
      significantBytes: SIGNIFICANT_BYTES,
      pageBits: this.#what.pageBits,
      readPage: (name) => this.#cache.get(keyString(name)),
      updates,
    });
    const puts = pages.map(({ name, bytes }) => {
      if (bytes === undefined) throw new Error("adding keys removed a page");
      return { key: pageKey("memories", name), value: bytes };
    });
    const folded = performance.now();
    await this.#commit(puts);
    const end = performance.now();
    const { user, system } = process.cpuUsage(cpuStart);
    this.#keep(pages);
    return {
      ms: end - start,
      cpuMs: (user + system) / 1000,
      readMs: read - start,
      treeMs: folded - read,
      commitMs: end - folded,
      rows: puts.length,
      bytes: puts.reduce((sum, { value }) => sum + value.length, 0),
      rowsRead,
    };
  }

  /** Reads what the cache lacks; returns how many rows were asked for. */
  async #readMissing(/** @type {Uint8Array[]} */ keys) {
    const snapshot = await this.#kv.snapshot();
    let rows = 0;
    for (;;) {
      const names = unknownPages({
        significantBytes: SIGNIFICANT_BYTES,
        pageBits: this.#what.pageBits,
        keys,
        known: (name) => this.#known(keyString(name)),
        ...(this.#what.reads === "rounds" ? { lookAheadPages: 0 } : {}),
      });
      if (names.length === 0) break;
      rows += names.length;
      const values = await snapshot.getMany(names.map((name) => pageKey("memories", name)));
      for (const [at, name] of names.entries()) this.#cache.set(keyString(name), values[at]);
    }
    snapshot.close();
    return rows;
  }

  #known(/** @type {string} */ id) {
    return this.#cache.has(id) ? (this.#cache.get(id) ?? "absent") : "unknown";
  }

  async #commit(/** @type {{ key: Uint8Array, value: Uint8Array }[]} */ puts) {
    this.#commits += 1;
    const next = Uint8Array.of(1, this.#commits >> 16, this.#commits >> 8, this.#commits);
    const change = { expectHead: this.#head, head: next, puts, deletes: [] };
    const result = await this.#kv.commit(change);
    if (!result.ok) throw new Error("the commit lost a race against nobody");
    this.#head = next;
  }

  /** Counts the pages a commit wrote, and keeps them as the writer does. */
  #keep(/** @type {readonly { name: Uint8Array, bytes: Uint8Array | undefined }[]} */ pages) {
    const cache = this.#cache;
    for (const { name, bytes } of pages) {
      const id = keyString(name);
      const before = cache.get(id);
      this.totals.pages += Number(bytes !== undefined) - Number(before !== undefined);
      this.totals.bytes += (bytes?.length ?? 0) - (before?.length ?? 0);
      cache.delete(id);
      cache.set(id, bytes?.slice());
    }
    for (const id of cache.keys()) {
      if (cache.size <= CACHED_ROWS) break;
      cache.delete(id);
    }
  }
}

/** Keys and values in the order in which they are written. */
function startKeys(/** @type {Case["keys"]} */ kind) {
  const random = seededRandom(1);
  let made = 0;
  return (/** @type {number} */ count) =>
    Array.from({ length: count }, () => {
      const id = newUlid(START_MS + Math.floor(made / KEYS_PER_MS), random.bytes);
      made += 1;
      const key =
        kind === "ordered"
          ? memoryTreeKey(sha256Node, id)
          : domainHash(sha256Node, "memoryKey", id);
      return { key, value: domainHash(sha256Node, "part", id) };
    });
}

/**
 * The middle of each figure over several steps.
 * @param {readonly Step[]} steps
 * @returns {Step}
 */
function middle(steps) {
  const of = (/** @type {keyof Step} */ name) => median(steps.map((step) => step[name]));
  return {
    ms: of("ms"),
    cpuMs: of("cpuMs"),
    readMs: of("readMs"),
    treeMs: of("treeMs"),
    commitMs: of("commitMs"),
    rows: of("rows"),
    bytes: of("bytes"),
    rowsRead: of("rowsRead"),
  };
}

/**
 * Runs one case, in this process.
 * @param {Case} what
 * @param {string} folder
 * @returns {Promise<Result>}
 */
async function run(what, folder) {
  const tree = await PageTree.open(what, folder);
  const next = startKeys(what.keys);
  const sizes = [10_000, 100_000, 1_000_000].filter((size) => size <= what.size);
  const at = /** @type {At[]} */ ([]);
  let keys = 0;
  let single = /** @type {Step | undefined} */ (undefined);
  const grow = async () => {
    for (const size of sizes) {
      while (keys < size) {
        await tree.add(next(BATCH_KEYS));
        keys += BATCH_KEYS;
      }
      const window = /** @type {Step[]} */ ([]);
      for (let i = 0; i < WINDOW_BATCHES; i++) window.push(await tree.add(next(BATCH_KEYS)));
      keys += WINDOW_BATCHES * BATCH_KEYS;
      at.push({ size, batch: middle(window) });
    }
    if (!what.singles) return;
    const steps = /** @type {Step[]} */ ([]);
    for (let i = 0; i < SINGLE_INSERTS; i++) steps.push(await tree.add(next(1)));
    keys += SINGLE_INSERTS;
    single = middle(steps);
  };
  const memory = await watchMemory(grow);
  const fileBytes = await tree.sizeBytes();
  await tree.close();
  return {
    at,
    pagesPerKey: tree.totals.pages / keys,
    bytesPerKey: tree.totals.bytes / keys,
    fileBytesPerKey: fileBytes / keys,
    single,
    anonPeakMb: memory?.peakMb,
    anonFlat: memory?.secondHalfOverFirst,
    loadAtEnd: loadOf(),
  };
}

/**
 * Runs one case in a process and a folder of its own.
 * @param {Case} what
 * @param {string} parent
 * @returns {Result}
 */
function runApart(what, parent) {
  const folder = mkdtempSync(join(parent, "cortex-tree-keys-"));
  try {
    const args = [fileURLToPath(import.meta.url), "--case", JSON.stringify(what), folder];
    const { status, stdout } = spawnSync(process.execPath, args, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (status !== 0) throw new Error(`the case ${JSON.stringify(what)} failed`);
    return JSON.parse(stdout);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * One case as lines of text.
 * @param {Case} what
 * @param {Result} result
 */
function render(what, result) {
  const show = (/** @type {number | undefined} */ value, digits = 1) =>
    value === undefined ? "–" : value.toFixed(digits);
  const name = `${what.keys} keys, ${what.pageBits} bits, read ${what.reads}`;
  const first = result.at[0];
  const step = (/** @type {string} */ label, /** @type {Step} */ one) =>
    `  ${label}: ${show(one.ms)} ms (read ${show(one.readMs)}, tree ${show(one.treeMs)}, ` +
    `commit ${show(one.commitMs)}), ${show(one.cpuMs)} ms of processor; ${one.rows} pages and ${show(one.bytes / 1000)} KB written, ` +
    `${one.rowsRead} rows asked for`;
  const lines = result.at.map(({ size, batch }) => {
    const ratio = first === undefined ? 1 : batch.ms / first.batch.ms;
    const cpuRatio = first === undefined ? 1 : batch.cpuMs / first.batch.cpuMs;
    const growth = `×${show(ratio, 2)}, processor ×${show(cpuRatio, 2)}`;
    return `${step(`a batch at ${size}`, batch)}; ${growth}`;
  });
  if (result.single !== undefined) lines.push(step("one insert", result.single));
  lines.push(
    `  a key: ${show(result.pagesPerKey, 3)} pages, ${show(result.bytesPerKey)} bytes of pages, ` +
      `${show(result.fileBytesPerKey)} bytes of file`,
    `  RssAnon: peak ${show(result.anonPeakMb)} MB, second half over first ` +
      `×${show(result.anonFlat, 2)}; load at the end ${result.loadAtEnd}`,
  );
  return [name, ...lines].join("\n");
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      case: { type: "string" },
      size: { type: "string", default: "1000000" },
      folder: { type: "string", default: tmpdir() },
    },
  });
  if (values.case !== undefined) {
    const result = await run(JSON.parse(values.case), positionals[0] ?? values.folder);
    process.stdout.write(JSON.stringify(result));
    return;
  }
  const size = Number(values.size);
  const small = Math.min(size, 100_000);
  const grown = { pageBits: 4, size, singles: false };
  const cut = { reads: "whole", size: small, singles: true };
  const cases = /** @type {Case[]} */ ([
    { ...grown, keys: "ordered", reads: "whole" },
    { ...grown, keys: "hashed", reads: "whole" },
    { ...grown, keys: "hashed", reads: "rounds" },
    { ...cut, keys: "ordered", pageBits: 4 },
    { ...cut, keys: "ordered", pageBits: 6 },
    { ...cut, keys: "hashed", pageBits: 4 },
    { ...cut, keys: "hashed", pageBits: 6 },
  ]);
  process.stdout.write(`${JSON.stringify(describeMachine(values.folder))}\n`);
  for (const what of cases) {
    process.stdout.write(`\n${render(what, runApart(what, values.folder))}\n`);
  }
}

await main();
