/**
 * An open store for tests: a Cortex over a chosen backend with a clock that moves by a known step
 * and a seeded source of randomness, so a test sees the same ids and times on every run.
 *
 * Promise: `dispose` runs the full check of the store, fails if it finds anything, and leaves no
 * handle and no folder behind. `reopen` closes the store and opens the same data again, as a new
 * process would. Nothing here knows a test runner.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Cortex } from "../cortex.js";
import { type CortexError, isCortexError } from "../errors.js";
import type { Kv } from "../kv/kv.js";
import { openLmdbKv } from "../kv/lmdb-backend.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { openPostgresKv, removePostgresStore } from "../kv/postgres-backend.js";
import type { Model } from "../model/model.js";
import { open } from "../open.js";
import { type CountingKv, countingKv } from "./counting-kv.js";
import { seededRandom } from "./seeded-random.js";

/** When the clock of a test store starts, unless told otherwise: 2030-01-01. */
export const TEST_EPOCH_MS = Date.UTC(2030, 0, 1);

/** How a test store is opened. */
export interface TestStoreOptions {
  /**
   * `memory` unless told otherwise; `lmdb` lives in a temporary folder. Where `CORTEX_TEST_POSTGRES` is
   * the address of a database, both live there instead.
   */
  readonly backend?: "memory" | "lmdb";
  readonly actor?: string;
  readonly principal?: string;
  readonly seed?: number;
  readonly startMs?: number;
  /** How far the clock moves each time it is read. */
  readonly stepMs?: number;
  /** False leaves the full check out, for tests of size alone: it costs as much as the writes. */
  readonly check?: boolean;
  /** What `extract` asks. */
  readonly model?: Model;
  /** Puts something between the store and its storage, for instance a counter. */
  readonly wrap?: (kv: Kv) => Kv;
}

/** A clock that moves by a known step each time it is read. */
export interface TestClock {
  /** Reads the clock, which moves it. */
  readonly read: () => number;
  /** The last reading, without moving it. */
  last(): number;
  /** Moves it ahead. */
  advance(ms: number): void;
}

/** An open store for one test. */
export interface TestStore extends AsyncDisposable {
  /** The open graph; another object after `reopen`. */
  readonly memory: Cortex;
  readonly clock: TestClock;
  /** Closes the store and opens the same data again. */
  reopen(): Promise<Cortex>;
  /** Runs the full check, closes the store and removes its folder; idempotent. */
  dispose(): Promise<void>;
}

/** Opens an empty store. */
export async function openTestStore(options: TestStoreOptions = {}): Promise<TestStore> {
  const actor = options.actor ?? "ada";
  const clock = testClock(options.startMs ?? TEST_EPOCH_MS, options.stepMs ?? 1);
  const random = seededRandom(options.seed ?? 1);
  const storage = await openStorage(options.backend ?? "memory", actor);
  const { principal, model, wrap = (kv: Kv) => kv } = options;
  const openAgain = async (): Promise<Cortex> =>
    open("memory:", {
      actor,
      clock: clock.read,
      random: random.bytes,
      kv: wrap(await storage.open()),
      ...(principal === undefined ? {} : { principal }),
      ...(model === undefined ? {} : { model }),
    });
  let memory: Cortex;
  try {
    memory = await openAgain();
  } catch (error) {
    await storage.remove();
    throw error;
  }
  let disposed = false;
  const dispose = async (): Promise<void> => {
    if (disposed) return;
    disposed = true;
    try {
      if (options.check !== false) await assertSound(memory);
    } finally {
      await memory.close();
      await storage.remove();
    }
  };
  return {
    get memory() {
      return memory;
    },
    clock,
    async reopen() {
      await memory.close();
      memory = await openAgain();
      return memory;
    },
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}

/** A store whose calls to its storage are counted; see `countingKv`. */
export interface CountedStore extends TestStore {
  /** The counter of the storage as it is open now. */
  readonly calls: CountingKv;
}

/** Opens an empty store whose calls to its storage are counted. */
export async function openCountedStore(options: TestStoreOptions = {}): Promise<CountedStore> {
  const opened: CountingKv[] = [];
  const wrap = (kv: Kv): Kv => {
    const counting = countingKv(kv);
    opened.push(counting);
    return counting;
  };
  const store = await openTestStore({ ...options, wrap });
  return {
    get memory() {
      return store.memory;
    },
    get calls() {
      const last = opened.at(-1);
      if (last === undefined) throw new Error("the store was not opened");
      return last;
    },
    clock: store.clock,
    reopen: () => store.reopen(),
    dispose: () => store.dispose(),
    [Symbol.asyncDispose]: () => store.dispose(),
  };
}

interface Storage {
  readonly open: () => Promise<Kv>;
  readonly remove: () => Promise<void>;
}

async function openStorage(backend: "memory" | "lmdb", actor: string): Promise<Storage> {
  const database = process.env.CORTEX_TEST_POSTGRES;
  if (database !== undefined && database !== "") return databaseStorage(database, actor);
  if (backend === "memory") {
    const store = new MemoryStore();
    return { open: async () => openMemoryKv(store), remove: async () => {} };
  }
  const folder = await mkdtemp(join(tmpdir(), "cortex-test-"));
  return {
    // Relaxed: a test asks what a reopened store holds, not what a power cut leaves.
    open: () => openLmdbKv(join(folder, actor), { relaxed: true }),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The storage of one actor in a hub of its own. */
async function databaseStorage(database: string, actor: string): Promise<Storage> {
  const location = hubIn(database);
  return {
    open: () => openPostgresKv(location, actor, { relaxed: true }),
    remove: () => removePostgresStore(location, actor),
  };
}

/** The address of a new hub in a database. */
export function hubIn(database: string): string {
  return `${database}${database.includes("?") ? "&" : "?"}hub=${randomUUID()}`;
}

/** A clock that starts at a time and moves by a step each time it is read. */
export function testClock(startMs: number, stepMs: number): TestClock {
  let now = startMs;
  return {
    read: () => {
      now += stepMs;
      return now;
    },
    last: () => now,
    advance: (ms) => {
      now += ms;
    },
  };
}

/** A store that can check itself in full. */
interface Checkable {
  check(): Promise<{ readonly ok: boolean }>;
}

function isCheckable(memory: object): memory is Checkable {
  return "check" in memory && typeof memory.check === "function";
}

async function assertSound(memory: Cortex): Promise<void> {
  if (!isCheckable(memory)) return;
  const report = await memory.check();
  if (!report.ok) throw new Error(`the store does not pass its check: ${JSON.stringify(report)}`);
}

/**
 * The failure of a call that must be refused: a `CortexError`, and a journal that did not grow.
 * Anything else is a plain error, which fails the test.
 */
export async function refusalOf(
  memory: Cortex,
  call: () => Promise<unknown>,
): Promise<CortexError> {
  const { entries } = await memory.stats();
  const failure = await call().then(
    () => new Error("the call was not refused"),
    (error: unknown) => error,
  );
  const after = (await memory.stats()).entries;
  if (after !== entries) throw new Error(`a refused call left ${after - entries} entries`);
  if (isCortexError(failure)) return failure;
  throw failure;
}
