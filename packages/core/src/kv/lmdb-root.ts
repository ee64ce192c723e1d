/**
 * A file of the storage engine as the engine itself gives it: the part of the `lmdb` package that is used, opened
 * with the settings that matter. `lmdb-file.ts` makes a file of a store of it.
 *
 * Promise: whoever writes builds on the newest commit, also while other processes open the file; the engine alone does
 * not see to that.
 */
import { ABORT, open } from "lmdb";
import { cutBytes } from "../codec/slab.js";
import { CortexError } from "../errors.js";
import type { Bytes } from "./kv.js";

/** How a file is opened. */
export interface LmdbFileMode {
  /** Commits do not wait for the disk. */
  readonly relaxed: boolean;
  readonly readOnly: boolean;
}

/** A read transaction of one file: hand it back to `endRead`. */
export interface LmdbRead {
  readonly transaction: LmdbTransaction;
}

/** Returned from the body of `write` to leave nothing behind. */
export const ROLL_BACK = Symbol("roll back");

interface LmdbTransaction {
  /** Set by the engine once a newer read transaction has taken the place of this one. */
  readonly notCurrent?: boolean;
  done(): void;
}

/** What a range of a table is asked with. */
export interface RangeOptions {
  readonly start: Bytes;
  readonly end: Bytes;
  readonly reverse: boolean;
  readonly exclusiveStart: boolean;
  readonly inclusiveEnd: boolean;
  readonly transaction?: LmdbTransaction;
  readonly values?: boolean;
}

/** The part of a database of the `lmdb` package that is used here; its own types lack options. */
export interface Table {
  get(key: Bytes, read?: LmdbRead): Uint8Array | undefined;
  getBinaryFast(key: Bytes, read?: LmdbRead): Uint8Array | undefined;
  getRange(options: RangeOptions): Iterable<{ readonly key: Bytes; readonly value: Bytes }>;
  getKeys(options: RangeOptions): Iterable<Bytes>;
  putSync(key: Bytes, value: Bytes, options?: { readonly append: boolean }): boolean;
  removeSync(key: Bytes): boolean;
}

/** The file as a whole: its own table, and all that is asked of it. */
export interface Root extends Table {
  /** The number of the write transaction that goes on: one more than that of the commit it builds on. */
  getWriteTxnId(): number;
  /** `lastTxnId` is the number of the newest commit that the file itself names. */
  getStats(): { readonly lastTxnId: number };
  openDB(name: string, options: object): Table | undefined;
  transactionSync<T>(body: () => T): T;
  useReadTransaction(): LmdbTransaction;
  resetReadTxn(): void;
  readerCheck(): number;
  close(): Promise<void>;
}

/**
 * Keys and values are stored as they are. The codecs are there to copy what a read found out of the
 * engine's one volatile buffer, straight into the arrays that callers get: left to itself, the
 * engine makes `Buffer`s (whose `slice` is no copy), at 1.5 instead of 0.6 microseconds for a small
 * value.
 */
export const PLAIN = {
  encoding: "binary",
  encoder: {
    encode: (value: Bytes): Bytes => value,
    // The engine shortens its buffer by a property of its own: `length` is the value's.
    decode: (buffer: Uint8Array): Bytes => copied(buffer, 0, buffer.length),
  },
  keyEncoder: {
    writeKey(key: Bytes, target: Uint8Array, start: number): number {
      target.set(key, start);
      return start + key.length;
    },
    readKey: copied,
  },
  cache: false,
} as const;

/** Room in the lock file for read transactions of different age, over all processes. */
const READERS_MAX = 254;
/** Where the map starts; it doubles as the file grows. */
const MAP_BYTES_AT_START = 16 * 1024 * 1024;

/** So often, a millisecond apart, a writer looks whether the newest commit is the one to build on, before it gives up. */
const NEWEST_WAITS = 2000;

/**
 * Opens a file that is not open in this process, so that its newest commit is the one that everybody builds on.
 *
 * Whoever opens a file notes in its lock file the number of the newest commit, as it was read a moment ago (lmdb 3.5.6,
 * `mdb_env_open2`). A commit of another process in that moment was noted before and is now forgotten: reads would not
 * see it, and the next commit would build on the one before it, in the pages that it took. So the two numbers are
 * compared, and where the file names a newer commit, opening it again mends what opening it did. Until then no
 * write transaction goes on (`transactOnNewest`). Who may only read cannot compare, and leaves it to the next who opens.
 */
export function openAtNewest(path: string, mode: LmdbFileMode): Root {
  for (;;) {
    const root = openRoot(path, mode);
    let isSetBack = false;
    if (!mode.readOnly) {
      root.transactionSync(() => {
        isSetBack = buildsOnOlder(root);
        return ABORT;
      });
    }
    if (!isSetBack) return root;
    // Nothing was written through it, so it is closed when this returns.
    void root.close();
  }
}

/** Runs the body in the one write transaction, which builds on the newest commit; see `openAtNewest`. */
export function transactOnNewest<T>(
  root: Root,
  path: string,
  body: () => T | typeof ROLL_BACK,
): T | typeof ROLL_BACK {
  for (let waits = 0; waits < NEWEST_WAITS; waits += 1) {
    let [rolledBack, isSetBack] = [false, false];
    const result = root.transactionSync(() => {
      isSetBack = buildsOnOlder(root);
      if (isSetBack) return ABORT;
      const outcome = body();
      rolledBack = outcome === ROLL_BACK;
      return rolledBack ? ABORT : outcome;
    });
    if (!isSetBack) return rolledBack ? ROLL_BACK : (result as T);
    pause();
  }
  const cause = "a process was ended while it opened the store, or opened it for reading alone";
  throw new CortexError(
    "ERR_CONTENDED",
    `the lock file of ${path} names an older commit than the file: ${cause}; open the store once more, by any command`,
  );
}

/** Whether the write transaction that goes on builds on another commit than the newest. Nobody else commits meanwhile. */
function buildsOnOlder(root: Root): boolean {
  return root.getWriteTxnId() - 1 < root.getStats().lastTxnId;
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));

/** Waits a millisecond, in the middle of a turn: the engine's transactions are of one turn. */
function pause(): void {
  Atomics.wait(PAUSE, 0, 0, 1);
}

/** Opens a file with the settings that matter; see `lmdb-file.ts`. */
export function openRoot(path: string, mode: LmdbFileMode): Root {
  const options = {
    ...PLAIN,
    noSubdir: true,
    overlappingSync: false,
    noSync: mode.relaxed,
    readOnly: mode.readOnly,
    permissionsMode: 0o600,
    maxDbs: 4,
    maxReaders: READERS_MAX,
    mapSize: MAP_BYTES_AT_START,
  };
  return open(path, options) as unknown as Root;
}

/** Copies up to this length byte by byte: a view of the source would cost more than the bytes. */
const LOOP_BYTES_MAX = 64;

/** A copy of `source[start..end)`; the source is the engine's volatile buffer. */
export function copied(source: Uint8Array, start: number, end: number): Bytes {
  const length = end - start;
  const copy = cutBytes(length);
  if (length <= LOOP_BYTES_MAX) {
    for (let at = 0; at < length; at += 1) copy[at] = source[start + at] ?? 0;
  } else {
    // Not `subarray`: the source is a `Buffer`, whose views take several times as long to make.
    copy.set(new Uint8Array(source.buffer, source.byteOffset + start, length));
  }
  return copy;
}
