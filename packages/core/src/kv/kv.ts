/**
 * The storage contract: an ordered map from bytes to bytes that a backend must offer.
 *
 * Promises a backend makes:
 * - Keys order by unsigned bytes. Keys are 1..512 bytes; values 0..32 MiB.
 * - A snapshot sees one committed state, whole, however many commits follow; two reads of one
 *   snapshot never disagree. The state was the newest at some moment between the call and the first
 *   read: over a network one round trip serves both. Snapshots are short-lived: one operation, then
 *   `close`.
 * - `commitCaches` compares the rows it names instead, and leaves the head alone: caches follow the
 *   journal and must not lose every race against a busy writer.
 * - `commit` is compare-and-commit on the head row: it applies everything or nothing, and only if
 *   the bytes under `HEAD_KEY` are still `expectHead`. A lost race is a result, not an exception.
 * - When `commit` resolves with `ok`, the data is durable as far as the manifest says; nothing is
 *   visible to any reader before it is durable.
 * - Failures are `CortexError` (`ERR_DISK_FULL`, `ERR_STORAGE`, `ERR_CLOSED`) and leave the last
 *   committed state readable.
 *
 * Everything is asynchronous and batch-first, because the next backend is across a network. What
 * the bytes mean is left to `keyspace.ts`; backends know only `HEAD_KEY` and, of its row, one byte:
 * `MOVED_HEAD_BYTE`. Broken preconditions (a key of 0 bytes, a limit of 0) are plain `RangeError`s.
 */
import { compareBytes } from "../codec/keys.js";
import { CortexError } from "../errors.js";
import { LIMITS } from "../limits.js";

/** The order of keys: unsigned bytes, a prefix before what it begins. */
export { compareBytes };

/** A key or a value. Callers never change one after handing it over, nor one they were given. */
export type Bytes = Uint8Array;

/** The one key every backend knows: the row that `commit` compares. */
export const HEAD_KEY: Bytes = Uint8Array.of(0x00);

/** Whether a key is that of the head row. */
export function isHeadKey(key: Bytes): boolean {
  return key.length === 1 && key[0] === HEAD_KEY[0];
}

/**
 * A head row that starts with this byte says "the store has moved to its next generation"; it is
 * written by `promote` alone. The head of a living store never starts with it, so a backend can
 * tell without knowing the record format.
 */
export const MOVED_HEAD_BYTE = 0xff;

/** What a backend can and cannot do; docs and suites read it instead of guessing. */
export interface KvManifest {
  readonly name: string;
  /** A resolved commit survives the end of the process and of the power. */
  readonly durable: boolean;
  /** The sync mode in words, as benchmarks print it. */
  readonly syncMode: string;
  /** Several processes may open the same store. */
  readonly multiProcess: boolean;
  /** `nextGeneration` is offered. */
  readonly generations: boolean;
  /** Every read is a round trip: a commit that checks what it took for granted saves one. */
  readonly isRemote?: boolean;
}

/**
 * A bounded read of consecutive keys: `gte <= key < lt`; empty when `gte >= lt`. A bound need not
 * be a key: it has 0 to 513 bytes (a longest key and one more byte), and an empty `gte` is the
 * start.
 */
export interface KvRange {
  readonly gte: Bytes;
  readonly lt: Bytes;
  readonly reverse?: boolean;
  /** Most rows to return; at least 1. */
  readonly limit: number;
  /** Leave the values out: they come back empty. */
  readonly keysOnly?: boolean;
}

/** As the limit of a range, all of its rows: the largest number that every backend takes. */
export const ALL_ROWS = 0x7fff_ffff;

/** One row of a range. */
export interface KvRow {
  readonly key: Bytes;
  readonly value: Bytes;
}

/** What is left of the rows of a damaged store. */
export interface Salvaged {
  readonly rows: readonly KvRow[];
  /** Whether a row of this key, not of the journal, may have stood in a page that cannot be read. */
  readonly hides: (key: Bytes) => boolean;
}

/** How a snapshot is held. */
export interface KvSnapshotOptions {
  /** For work that takes long, an export: forgotten when it is idle, not when it is old. */
  readonly untilIdle?: boolean;
  /**
   * Most likely one read is all there is. Storage that has to do something to hold a state may leave it, and look at a second
   * read whether the state is still there: where it is not, that read fails with `stateGone`.
   */
  readonly brief?: boolean;
  /**
   * Is shown every row of the journal (keys that begin with 0x01) before it is given out, and throws to
   * refuse it; rows of which the keys alone were asked for are not shown. Called at once, not in a turn
   * of its own: a wrapper around each read would cost a `get` a tenth.
   */
  readonly onEntry?: OnEntry;
}

/** Looks at a row of the journal that is about to be given out. */
export type OnEntry = (key: Bytes, value: Bytes) => void;

/** First byte of the keys of journal rows. */
export const JOURNAL_KEY_BYTE = 0x01;

/** Shows the rows that were found to whoever wants to see those of the journal. */
export function showEntries(
  onEntry: OnEntry | undefined,
  ranges: readonly KvRange[],
  found: readonly (readonly KvRow[])[],
): void {
  if (onEntry === undefined) return;
  for (const [at, { gte, lt, keysOnly }] of ranges.entries()) {
    const mayHold = (gte[0] ?? 0) <= JOURNAL_KEY_BYTE && (lt[0] ?? 0) >= JOURNAL_KEY_BYTE;
    if (!mayHold || keysOnly === true) continue;
    for (const { key, value } of found[at] ?? []) {
      if (key[0] === JOURNAL_KEY_BYTE) onEntry(key, value);
    }
  }
}

/** The same of rows that were asked for one by one. */
export function showFound(
  onEntry: OnEntry | undefined,
  keys: readonly Bytes[],
  values: readonly (Bytes | undefined)[],
): void {
  if (onEntry === undefined) return;
  for (let at = 0; at < keys.length; at += 1) {
    const key = keys[at];
    const value = values[at];
    if (value !== undefined && key?.[0] === JOURNAL_KEY_BYTE) onEntry(key, value);
  }
}

const GONE = new WeakSet<object>();

/** The failure of a snapshot whose state could not be held. Nothing was written: whoever only reads may begin anew. */
export function stateGone(message: string): CortexError {
  const error = new CortexError("ERR_UNREACHABLE", message);
  GONE.add(error);
  return error;
}

/** Whether a failure is that one. */
export function isStateGone(error: unknown): boolean {
  return error instanceof CortexError && GONE.has(error);
}

/** Rows that will be read soon. */
export interface KvSoon {
  readonly keys?: readonly Bytes[];
  readonly ranges?: readonly KvRange[];
}

/** One state of the store, for the length of one operation. */
export interface KvSnapshot {
  /** The values in the order of the keys; `undefined` where there is none. */
  getMany(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]>;
  /** The rows of each range, in the order asked for. */
  ranges(ranges: readonly KvRange[]): Promise<KvRow[][]>;
  /**
   * Names what will be read soon, so that it comes along with the next read. Only where a read is a
   * round trip; what is named and never read costs a little, and changes no answer.
   */
  soon?(what: KvSoon): void;
  /**
   * One value at once, as `getMany` would give it. Only where a read waits for nobody: whoever follows rows from one to
   * the next then reads those that are there, where others name all that might be.
   */
  getNow?(key: Bytes): Bytes | undefined;
  /**
   * What `look` makes of one value where it stands, at once; `undefined` where there is none. Only beside `getNow`. The
   * bytes are lent for the length of the call, in which nothing else is read, and no view of them may be kept. Nor does
   * anybody keep the key, which the caller may use again.
   */
  lookNow?<T>(key: Bytes, look: (value: Bytes) => T): T | undefined;
  /** The rows of one range at once, as `ranges` would give them. Only beside `getNow`. */
  rangeNow?(range: KvRange): readonly KvRow[];
  /** Gives the snapshot back; idempotent. Reading afterwards is `ERR_CLOSED`. */
  close(): void;
}

/** Rows of one state that are at hand, one by one. */
export type KvNow = Required<Pick<KvSnapshot, "getNow" | "lookNow">>;

/** What `Kv.readNow` reads from: rows one by one, and ranges as `ranges` gives them. */
export interface KvAtOnce extends KvNow {
  rangeNow(range: KvRange): readonly KvRow[];
}

/** One atomic change. A key is named at most once over `puts` and `deletes`, and never `HEAD_KEY`. */
export interface KvCommit {
  /** The head bytes the changes were computed from; `undefined` for a store not yet born. */
  readonly expectHead: Bytes | undefined;
  /** The head bytes afterwards; equal to `expectHead` for a change of caches alone. */
  readonly head: Bytes;
  readonly puts: readonly KvRow[];
  readonly deletes: readonly Bytes[];
  /**
   * Rows that must not be there; only rows that never change but with the head. Where one is, nothing is applied, as
   * after a lost race. Whoever names some has read nothing and begins anew by reading: the head is not told then.
   */
  readonly absent?: readonly Bytes[];
  /**
   * Whether a row of `puts` is most likely not there yet: a hint, for backends to which adding a row is
   * less work than replacing one. It may be wrong, and changes no outcome.
   */
  readonly isNew?: (key: Bytes) => boolean;
  /** What was begun for it, on top of the same head. `puts` holds what was handed over there as well: the same objects. */
  readonly begun?: KvBegun;
}

/** A commit that is on its way while the rest of it is still being reckoned; nobody sees anything of it before `commit`. */
export interface KvBegun {
  /** Hands over rows that the commit will put and that are most likely not there yet; as a hint, it may be wrong. */
  add(rows: readonly KvRow[]): void;
  /** Gives it up, where `commit` has not taken it; idempotent. */
  end(): Promise<void>;
}

/** A row that must be as it was read: `undefined` where there was none. */
export interface KvExpectation {
  readonly key: Bytes;
  readonly value: Bytes | undefined;
}

/** One atomic change of rows that no head speaks for, made only if `expect` holds. */
export interface KvCacheCommit {
  readonly expect: readonly KvExpectation[];
  readonly puts: readonly KvRow[];
  readonly deletes: readonly Bytes[];
}

/** `ok: false` is a lost race: nothing was applied, `head` is what is there now. */
export type KvCommitResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly head: Bytes | undefined };

/** A store being built beside the current one; see `Kv.nextGeneration`. */
export interface KvGeneration {
  /** The store under construction; plain commits, invisible to everybody else. */
  readonly kv: Kv;
  /**
   * Makes the new generation the store, if the old head is still `expectHead`; the old head row
   * then reads as `movedHead`, and every open handle in every process follows at its next snapshot
   * or commit.
   */
  promote(expectHead: Bytes | undefined, movedHead: Bytes): Promise<KvCommitResult>;
  /**
   * Makes every commit of the store wait, in every process, until `promote` or `abandon`; a few
   * seconds after the last call writers go on all the same, so that nobody waits for the dead. From
   * here on `promote` succeeds only if nothing at all was committed since, caches included.
   * Without it a construction that has to catch up may never win against a busy writer.
   */
  readonly hold?: () => Promise<void>;
  /** Throws the construction away; idempotent, harmless after `promote`. */
  abandon(): Promise<void>;
}

/** What a store across a network has to tell of its server and of the way there. */
export interface KvReport {
  readonly commits: number;
  readonly commitMs: number;
  readonly lostRaces: number;
  readonly heldWaits: number;
  readonly connections: number;
  readonly busy: number;
  readonly most: number;
  readonly waiting: number;
  readonly lockWaits?: number;
  readonly lagSeconds?: number;
}

/** Numbers by marks, for whoever may forget them: a later mark takes the place of another. */
export interface KvNumbers {
  /** The number of a mark, which is never 0; `undefined` where it is not known, or no more. */
  of(mark: number): number | undefined;
  keep(mark: number, number: number): void;
}

/** An open store. */
export interface Kv {
  readonly manifest: KvManifest;
  snapshot(options?: KvSnapshotOptions): Promise<KvSnapshot>;
  /**
   * Reads from a snapshot that lasts for one call of `read`, without a promise: only where a read waits for nobody.
   * `undefined`, and nothing read, where this one has to wait all the same: then `snapshot` gives what there is.
   */
  readNow?<T>(
    read: (rows: KvAtOnce) => T,
    options?: Pick<KvSnapshotOptions, "onEntry">,
  ): T | undefined;
  commit(change: KvCommit): Promise<KvCommitResult>;
  /**
   * Begins a commit on top of a head, so that its rows can travel while further ones are reckoned; others that write wait
   * meanwhile. Whoever begins one commits it or ends it at once, and waits for nothing else. Only where a commit is a round
   * trip; `undefined` where it cannot be now.
   */
  begin?(expectHead: Bytes): Promise<KvBegun | undefined>;
  /** Changes caches if the rows named are still so; false is a lost race, nothing was applied. */
  commitCaches(change: KvCacheCommit): Promise<boolean>;
  /** Starts the next generation; only where the manifest says so, else `ERR_UNSUPPORTED`. */
  nextGeneration(): Promise<KvGeneration>;
  /**
   * A generation that holds what a construction had which was broken off, as it stood after one of its commits;
   * `undefined` where there is none. Only where constructions outlive their process, and for a store not yet born.
   */
  leftGeneration?(): Promise<KvGeneration | undefined>;
  /** Bytes on disk, or in memory, that the store occupies now. */
  sizeBytes(): Promise<number>;
  /** Only where there is a server. */
  report?(): Promise<KvReport>;
  /** What all stores of one pool of connections may remember together, for as long as the pool lasts. */
  readonly shared?: KvNumbers;
  /**
   * What is wrong with the stored bytes below the rows, each with its place, found without the engine,
   * which damage may take down. Absent where a backend has no such level.
   */
  examine?(): Promise<readonly string[]>;
  /** Ends the handle; idempotent. */
  close(): Promise<void>;
}

/**
 * The same store with some of its calls done otherwise; all others go to `kv`. `readNow` does not: whoever changes
 * what snapshots show would be passed by.
 */
export function around(kv: Kv, changed: Partial<Kv>): Kv {
  const report = kv.report?.bind(kv);
  return {
    manifest: kv.manifest,
    snapshot: (options) => kv.snapshot(options),
    commit: (change) => kv.commit(change),
    ...(kv.begin === undefined ? {} : { begin: async (head) => kv.begin?.(head) }),
    commitCaches: (change) => kv.commitCaches(change),
    nextGeneration: () => kv.nextGeneration(),
    ...(kv.leftGeneration === undefined
      ? {}
      : { leftGeneration: async () => kv.leftGeneration?.() }),
    sizeBytes: () => kv.sizeBytes(),
    ...(kv.examine === undefined ? {} : { examine: () => kv.examine?.() ?? Promise.resolve([]) }),
    close: () => kv.close(),
    ...(report === undefined ? {} : { report }),
    ...(kv.shared === undefined ? {} : { shared: kv.shared }),
    ...changed,
  };
}

/** True when both are absent or both hold the same bytes. */
export function sameBytes(a: Bytes | undefined, b: Bytes | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.length === b.length && compareBytes(a, b) === 0;
}

/** True for the head row of a store that has moved; see `MOVED_HEAD_BYTE`. */
export function isMovedHead(head: Bytes | undefined): boolean {
  return head !== undefined && head.length > 0 && head[0] === MOVED_HEAD_BYTE;
}

/** The head row of a store that was removed: it has moved, to nowhere. */
export const REMOVED_HEAD: Bytes = Uint8Array.of(MOVED_HEAD_BYTE, 0x00);

/** The failure of a handle whose store was removed under it; every later call fails the same way. */
export function removedStore(): CortexError {
  return new CortexError("ERR_NOT_FOUND", "the store of this graph was removed");
}

/** Throws `RangeError` unless the change keeps the rules of `KvCommit` (repeated keys aside). */
export function assertCommit(change: KvCommit): void {
  if (isMovedHead(change.head)) throw new RangeError("head: must not start with 0xff");
  assertRows(change);
}

/** Throws `RangeError` unless every key of a change is one a caller may write. */
export function assertRows(change: Pick<KvCommit, "puts" | "deletes">): void {
  for (const row of change.puts) assertRowKey(row.key);
  for (const key of change.deletes) assertRowKey(key);
}

/** Throws `RangeError` unless the bounds and the limit keep the rules of `KvRange`. */
export function assertRange(range: KvRange): void {
  if (!Number.isInteger(range.limit) || range.limit < 1) {
    throw new RangeError(`limit: expected an integer of at least 1, got ${range.limit}`);
  }
  if (Math.max(range.gte.length, range.lt.length) > LIMITS.keyBytes + 1) {
    throw new RangeError(`range: a bound has more than ${LIMITS.keyBytes + 1} bytes`);
  }
}

/** Throws `RangeError` unless `movedHead` says "moved" to every backend. */
export function assertMovedHead(movedHead: Bytes): void {
  if (!isMovedHead(movedHead)) throw new RangeError("movedHead: must start with 0xff");
}

function assertRowKey(key: Bytes): void {
  if (key.length < 1 || key.length > LIMITS.keyBytes) {
    throw new RangeError(`key: expected 1 to ${LIMITS.keyBytes} bytes, got ${key.length}`);
  }
  if (key.length === 1 && key[0] === 0) throw new RangeError("key: the head row is not a put");
}
