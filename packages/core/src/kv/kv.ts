/**
 * The storage contract: an ordered map from bytes to bytes that a backend must offer.
 *
 * Promises a backend makes:
 * - Keys order by unsigned bytes. Keys are 1..512 bytes; values 0..32 MiB.
 * - A snapshot sees one committed state, whole, however many commits follow; two reads of one
 *   snapshot never disagree. Snapshots are short-lived: one operation, then `close`.
 * - `commit` is compare-and-commit on the head row: it applies everything or nothing, and only if
 *   the bytes under `HEAD_KEY` are still `expectHead`. A lost race is a result, not an exception.
 * - When `commit` resolves with `ok`, the data is durable as far as the manifest says; nothing is
 *   visible to any reader before it is durable.
 * - Failures are `CortexError` (`ERR_DISK_FULL`, `ERR_STORAGE`, `ERR_CLOSED`) and leave the last
 *   committed state readable.
 *
 * Everything is asynchronous and batch-first, because the next backend is across a network. What the
 * bytes mean is left to `keyspace.ts`; backends know only `HEAD_KEY`.
 */

/** A key or a value. Callers never change one after handing it over, nor one they were given. */
export type Bytes = Uint8Array;

/** The one key every backend knows: the row that `commit` compares. */
export const HEAD_KEY: Bytes = Uint8Array.of(0x00);

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
}

/** A bounded read of consecutive keys: `gte <= key < lt`. */
export interface KvRange {
  readonly gte: Bytes;
  readonly lt: Bytes;
  readonly reverse?: boolean;
  /** Most rows to return; at least 1. */
  readonly limit: number;
  /** Leave the values out: they come back empty. */
  readonly keysOnly?: boolean;
}

/** One row of a range. */
export interface KvRow {
  readonly key: Bytes;
  readonly value: Bytes;
}

/** One state of the store, for the length of one operation. */
export interface KvSnapshot {
  /** The values in the order of the keys; `undefined` where there is none. */
  getMany(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]>;
  /** The rows of each range, in the order asked for. */
  ranges(ranges: readonly KvRange[]): Promise<KvRow[][]>;
  /** Gives the snapshot back; idempotent. Reading afterwards is `ERR_CLOSED`. */
  close(): void;
}

/** One atomic change. A key is named at most once over `puts` and `deletes`, and never `HEAD_KEY`. */
export interface KvCommit {
  /** The head bytes the changes were computed from; `undefined` for a store not yet born. */
  readonly expectHead: Bytes | undefined;
  /** The head bytes afterwards; equal to `expectHead` for a change of caches alone. */
  readonly head: Bytes;
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
   * Makes the new generation the store, if the old head is still `expectHead`; the old head row then
   * reads as `movedHead`, and every open handle in every process follows at its next snapshot or commit.
   */
  promote(expectHead: Bytes | undefined, movedHead: Bytes): Promise<KvCommitResult>;
  /** Throws the construction away; idempotent, harmless after `promote`. */
  abandon(): Promise<void>;
}

/** An open store. */
export interface Kv {
  readonly manifest: KvManifest;
  snapshot(): Promise<KvSnapshot>;
  commit(change: KvCommit): Promise<KvCommitResult>;
  /** Starts the next generation; only where the manifest says so, else `ERR_UNSUPPORTED`. */
  nextGeneration(): Promise<KvGeneration>;
  /** Bytes on disk, or in memory, that the store occupies now. */
  sizeBytes(): Promise<number>;
  /** Ends the handle; idempotent. */
  close(): Promise<void>;
}
