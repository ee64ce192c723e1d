/**
 * A file of the storage engine as the engine itself gives it: the part of the `lmdb` package that is used, opened
 * with the settings that matter. `lmdb-file.ts` makes a file of a store of it.
 *
 * Promise: whoever writes builds on the newest commit, also while other processes open the file; the engine alone does
 * not see to that.
 */
import { dirname } from "node:path";
import * as engine from "lmdb";
import { cutBytes } from "../codec/slab.js";
import { CortexError } from "../errors.js";
import type { Bytes } from "./kv.js";
import type { CommitNumbers } from "./lmdb-meta.js";
import { assertDescriptors, pause, whileOpening } from "./lmdb-openings.js";

/** The row of the root database that a file has once it was the store at some time. */
export const CONFIRMED_KEY = new TextEncoder().encode("confirmed");

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

/** What `write` gives instead of running its body in a file that the store has left, and that has no name any more. */
export const GONE = Symbol("gone");

interface LmdbTransaction {
  /** What the engine knows it by. */
  readonly address: number;
  /** Set by the engine once a newer read transaction has taken the place of this one. */
  readonly notCurrent?: boolean;
  /** Set by the engine once it has ended. */
  readonly isDone?: boolean;
  readonly isCommitted?: boolean;
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
      const { length } = key;
      if (length > LOOP_BYTES_MAX) target.set(key, start);
      else for (let at = 0; at < length; at += 1) target[start + at] = key[at] as number;
      return start + length;
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
/** After so many, whoever should have mended it was ended, and the writer mends it. */
const WAITS_FOR_OTHERS = 20;
/** So often, a millisecond apart, a reader looks again: a commit is noted in the lock file right after the file has it. */
const READS_TO_CATCH_UP = 5;

/**
 * Opens a file that is not open in this process, so that its newest commit is the one that everybody builds on.
 *
 * Whoever opens a file notes in its lock file the number of the newest commit, as it was read a moment ago (lmdb 3.5.6,
 * `mdb_env_open2`). A commit of another process in that moment was noted before and is now forgotten: reads would not
 * see it, and the next commit would build on the one before it, in the pages that it took. So the two numbers are
 * compared, and where the file names a newer commit, opening it again mends what opening it did. Until then no
 * write transaction goes on (`transactOnNewest`). Whoever is killed in that moment leaves it to the next who writes
 * or opens; readers see the commit from then on.
 *
 * Where the forgotten commit is the one by which the store moved on, the file may be removed before anybody could mend
 * it. Nobody who has it open sees the move then; that the file is not in its place any more tells them.
 */
export function openAtNewest(path: string, mode: LmdbFileMode): Root {
  for (;;) {
    const root = openRoot(path, mode);
    if (mode.readOnly ? !readsOlder(root) : !wouldBuildOnOlder(root)) return root;
    // Nothing was written through it, so it is closed when this returns.
    void root.close();
  }
}

/** Under the lock that writers share: nobody commits between the two numbers. */
function wouldBuildOnOlder(root: Root): boolean {
  let isSetBack = false;
  root.transactionSync(() => {
    isSetBack = root.getWriteTxnId() - 1 < root.getStats().lastTxnId;
    return engine.ABORT;
  });
  return isSetBack;
}

/**
 * The same for who may not take that lock. Every commit writes the page that names the tables, and a read of a row of
 * that page tells whose it is; a file without such a row was not made whole, and nobody commits to it.
 */
function readsOlder(root: Root): boolean {
  for (let looks = 0; looks < READS_TO_CATCH_UP; looks += 1) {
    const newest = root.getStats().lastTxnId % 2 ** 32;
    root.resetReadTxn();
    if (root.get(CONFIRMED_KEY) === undefined || lastTxnId() >= newest) return false;
    pause();
  }
  return true;
}

/** Runs the body in the one write transaction, which builds on the newest commit; see `openAtNewest`. */
export function transactOnNewest<T>(
  root: Root,
  commits: CommitNumbers,
  body: () => T | typeof ROLL_BACK,
): T | typeof ROLL_BACK | typeof GONE {
  for (let waits = 0; waits < NEWEST_WAITS; waits += 1) {
    let [rolledBack, isSetBack] = [false, false];
    const result = root.transactionSync(() => {
      const noted = root.getWriteTxnId() - 1;
      isSetBack = noted < commits.newest();
      if (isSetBack) {
        if (waits >= WAITS_FOR_OTHERS) commits.noteNewest(noted);
        return engine.ABORT;
      }
      const outcome = body();
      rolledBack = outcome === ROLL_BACK;
      return rolledBack ? engine.ABORT : outcome;
    });
    if (!isSetBack) return rolledBack ? ROLL_BACK : (result as T);
    if (!commits.isInPlace()) return GONE;
    pause();
  }
  throw new CortexError(
    "ERR_CONTENDED",
    `the lock file of ${commits.path} names an older commit than the file; open the store once more, by any command`,
  );
}

/** The number of the commit that wrote the page of the row that was read last, its lower 32 bits; the types lack it. */
const lastTxnId = (engine as unknown as { readonly getLastTxnId: () => number }).getLastTxnId;

const { nativeAddon } = engine as unknown as {
  readonly nativeAddon: { readonly resetTxn: (address: number) => void };
};

/**
 * Lets the transaction of a read that has ended begin anew at the newest commit when it is used next; false where it
 * is gone. `resetReadTxn` does the same and forgets the timer that ends the transaction with the turn, so that every
 * read of a turn left one behind.
 */
export function resetAlone(last: LmdbRead | undefined): boolean {
  if (last === undefined) return false;
  const { address, notCurrent, isDone, isCommitted } = last.transaction;
  if (notCurrent === true || isDone === true || isCommitted === true) return false;
  nativeAddon.resetTxn(address);
  return true;
}

/** So often opening is tried where the locks are gone, some milliseconds apart: five seconds or so. */
const OPEN_ATTEMPTS = 300;
const OPEN_PAUSE_MS = 30;

/**
 * Opens a file with the settings that matter; see `lmdb-file.ts`.
 *
 * The last process to close a file destroys the locks in its lock file. A process that waits to open the file meanwhile
 * does not see that, and makes no new ones (lmdb 3.5.6, `mdb_env_close0` and `mdb_env_excl_lock`): none that has the
 * file open then can begin a transaction. Once all of them have closed it, the next to open it makes new locks.
 */
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
  for (let attempt = 1; ; attempt += 1) {
    environment = undefined;
    assertDescriptors(path);
    try {
      return whileOpening(dirname(path), () => engine.open(path, options)) as unknown as Root;
    } catch (error) {
      if (!isWithoutLocks(error) || attempt >= OPEN_ATTEMPTS) throw error;
      closeForgotten();
      // Of several that close and open at once, one has to find itself alone.
      pause(1 + OPEN_PAUSE_MS * Math.random());
    }
  }
}

function isWithoutLocks(error: unknown): boolean {
  return error instanceof Error && error.message.includes("No transaction to renew");
}

interface Environment {
  close(): void;
}

/**
 * What the engine opened last. Where opening fails half-way, the engine forgets the environment, which then stays open
 * until the process ends. The engine sets the path of every environment, and that is where it is caught here.
 */
let environment: Environment | undefined;

Object.defineProperty(
  (engine as unknown as { readonly nativeAddon: { readonly Env: { readonly prototype: object } } })
    .nativeAddon.Env.prototype,
  "path",
  {
    set(this: Environment, value: string) {
      environment = this;
      Object.defineProperty(this, "path", { value, writable: true, configurable: true });
    },
    configurable: true,
  },
);

function closeForgotten(): void {
  environment?.close();
  environment = undefined;
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

/** Views of the engine's volatile buffer by their length, each made once: a view is garbage of a hundred bytes. */
const LENT: (Bytes | undefined)[] = new Array<Bytes | undefined>(2049).fill(undefined);
/** The buffer that they are views of, and where in it the engine begins. */
let lentFrom: ArrayBufferLike | undefined;
let lentOffset = 0;

/** What a read found, where it stands: in the engine's volatile buffer, or, if it is large, elsewhere. */
export function lent(source: Uint8Array): Bytes {
  const { buffer, byteOffset, length } = source;
  if (length >= LENT.length) return new Uint8Array(buffer, byteOffset, length);
  if (buffer !== lentFrom || byteOffset !== lentOffset) {
    LENT.fill(undefined);
    lentFrom = buffer;
    lentOffset = byteOffset;
  }
  LENT[length] ??= new Uint8Array(buffer, byteOffset, length);
  return LENT[length];
}
