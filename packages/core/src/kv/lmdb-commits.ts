/**
 * Which commit of an LMDB file is the newest: what the file says in its two meta pages, and what its lock file says.
 *
 * The engine goes by the lock file, which may be set back while another process opens the store; `lmdb-root.ts` says how,
 * and never lets a write transaction build on that. The file is read here without the engine, whose own answer takes
 * four times as long (13 microseconds) and is wanted at every commit. All that is written is the number in the lock file.
 */
import { closeSync, fstatSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { META_MAGIC, PAGE_SIZE_AT, TRANSACTION_AT } from "./lmdb-meta.js";
import type { Root } from "./lmdb-root.js";

/** In the lock file: magic u32, format u32, number of the newest commit u64; in the byte order of the machine. */
const NOTED_AT = 8;
/** More than others commit while a process opens a file; a greater difference is damage, and is left as it is. */
const COMMITS_FORGOTTEN_MAX = 10_000;

/**
 * Lock files that were mended, by device and inode. They stay open: closing one would drop the locks that the engine
 * holds on it for this whole process.
 */
const mendedLocks = new Map<string, number>();

/** The commits of one open file. */
export class CommitNumbers {
  readonly path: string;
  readonly #root: Root;
  /** `undefined` where the file was removed or replaced while the engine opened it: it has no name any more. */
  readonly #file: number | undefined;
  readonly #pageBytes: number;
  readonly #number = new BigUint64Array(1);
  readonly #bytes = new Uint8Array(this.#number.buffer);

  /** Of a file that the engine has just opened; `identity` is what was at this path before, if anything was. */
  constructor(path: string, root: Root, identity: string | undefined) {
    this.path = path;
    this.#root = root;
    this.#file = openSame(path, identity);
    const pageBytes = Buffer.alloc(4);
    if (this.#file !== undefined)
      readSync(this.#file, pageBytes, 0, pageBytes.length, PAGE_SIZE_AT);
    this.#pageBytes = pageBytes.readUInt32LE();
  }

  /** The number of the newest commit that the file names. */
  newest(): number {
    if (this.#file === undefined) return this.#root.getStats().lastTxnId;
    const first = this.#readAt(this.#file, TRANSACTION_AT);
    const second = this.#readAt(this.#file, this.#pageBytes + TRANSACTION_AT);
    return Math.max(first, second);
  }

  /**
   * Notes that number in the lock file, where `noted` stands; inside a write transaction, so that nobody commits
   * meanwhile. Where something else stands it is another kind of lock file, or was mended: nothing is written.
   */
  noteNewest(noted: number): void {
    const newest = this.newest();
    if (this.#file === undefined || newest - noted > COMMITS_FORGOTTEN_MAX) return;
    const path = `${this.path}-lock`;
    const identity = identityOf(path);
    if (identity === undefined) return;
    const lock = mendedLocks.get(identity) ?? openSync(path, "r+");
    mendedLocks.set(identity, lock);
    this.#readAt(lock, 0);
    if (new Uint32Array(this.#number.buffer)[0] !== META_MAGIC) return;
    if (this.#readAt(lock, NOTED_AT) !== noted) return;
    this.#number[0] = BigInt(newest);
    writeSync(lock, this.#bytes, 0, this.#bytes.length, NOTED_AT);
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }

  #readAt(file: number, at: number): number {
    readSync(file, this.#bytes, 0, this.#bytes.length, at);
    return Number(this.#number[0]);
  }
}

/** Device and inode of a file; `undefined` where there is none. */
export function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
}

function openSame(path: string, identity: string | undefined): number | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (identityOf(path) === undefined) return undefined;
    throw error;
  }
  const { dev, ino } = fstatSync(file);
  if (identity === undefined || identity === `${dev}:${ino}`) return file;
  closeSync(file);
  return undefined;
}
