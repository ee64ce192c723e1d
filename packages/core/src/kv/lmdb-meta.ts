/**
 * The two meta pages at the beginning of an LMDB file, read without the engine: how they are laid out, what the newer
 * one says, and which commit is the newest. A commit is durable and visible when one of them has been written, with the
 * number of its transaction.
 *
 * Layout (data version 2, little-endian, 64 bits), as the engine writes it:
 * - behind the header of pages 0 and 1: magic u32, version u32, address u64, map size u64, two trees, last page u64,
 *   transaction u64. The newer transaction counts. The first tree lists free pages, and its pad is the size of a page; the
 *   second names the tables;
 * - tree, 48 bytes: pad u32, flags u16, depth u16, branch, leaf and long pages, entries, root, u64 each. What
 *   the other pages hold is in `lmdb-pages.ts`.
 *
 * For the number of the newest commit the engine goes by the lock file, which may be set back while another process opens
 * the store; `lmdb-root.ts` says how, and never lets a write transaction build on that. The file is read here without the
 * engine, whose own answer takes four times as long (13 microseconds) and is wanted at every commit. All that is written
 * is the number in the lock file.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  type Stats,
  statSync,
  writeSync,
} from "node:fs";
import { CortexError } from "../errors.js";
import { foreign, reading } from "./lmdb-failures.js";
import type { Root } from "./lmdb-root.js";

/** The magic number of a meta page, right behind the header of the page; a lock file begins with it too. */
export const META_MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
/** Bytes before what a page holds. */
export const PAGE_HEADER_BYTES = 24;
/** Of a tree, in a meta page or in the row of a table. */
export const TREE_BYTES = 48;
const PAGE_BYTES_MIN = 256;
const PAGE_BYTES_MAX = 65_536;
/** The flag in the header of a meta page, and where flags stand. */
const META_FLAG = 0x08;
const FLAGS_AT = 18;
/** The root of a tree without entries. */
const NO_PAGE = 0xffff_ffff_ffff_ffffn;

/** Where a meta page holds what, from the beginning of the page. */
const VERSION_AT = PAGE_HEADER_BYTES + 4;
const FREE_TREE_AT = VERSION_AT + 4 + 8 + 8;
const TABLES_TREE_AT = FREE_TREE_AT + TREE_BYTES;
const LAST_PAGE_AT = TABLES_TREE_AT + TREE_BYTES;
/** The size of a page, in the pad of the first tree. */
export const PAGE_SIZE_AT = FREE_TREE_AT;
/** The number of the commit. */
const TRANSACTION_AT = LAST_PAGE_AT + 8;
/** From the beginning of a meta page to the end of what is read of it. */
const META_BYTES = TRANSACTION_AT + 8;

/** A tree of the file, as a meta page or a row names it. */
export interface Tree {
  readonly name: string;
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly longPages: number;
  readonly entries: number;
  /** `undefined` for a tree without entries. */
  readonly root: number | undefined;
}

/** What the newest meta page says. */
export interface Meta {
  readonly pageBytes: number;
  readonly lastPage: number;
  readonly transaction: number;
  readonly trees: readonly [Tree, Tree];
}

/** The newest meta page. */
export function readMeta(path: string, file: number): Meta {
  const start = bytesAt(file, 0, META_BYTES);
  const other = USUAL_PAGE_BYTES.map((size) => bytesAt(file, size, META_BYTES)).find(hasMagic);
  if (!hasMagic(start)) {
    if (other !== undefined) throw damaged(path, "meta page 0 is gone");
    // The engine makes its lock file when it first opens a file: with one beside it, this was a store.
    if (existsSync(`${path}-lock`)) throw damaged(path, "both of its meta pages are gone");
    throw foreign(path);
  }
  const version = versionOf(start);
  // One page alone that says so is damaged.
  if (version !== DATA_VERSION && other !== undefined && versionOf(other) === version)
    throw foreign(path, undefined, `has data version ${version} of its engine`);
  const first = metaIn(path, start, 0);
  const second = metaIn(path, bytesAt(file, first.pageBytes, META_BYTES), 1, first.pageBytes);
  const [older, newer] = first.transaction > second.transaction ? [second, first] : [first, second];
  // Commits take turns with the two pages, and a file never has fewer pages than before.
  const isPair = newer.transaction - older.transaction === (newer.transaction === 0 ? 0 : 1);
  if (!isPair || newer.lastPage < older.lastPage) {
    throw damaged(path, "its two meta pages contradict each other");
  }
  return newer;
}

/** Sizes of a page on machines that are about. */
const USUAL_PAGE_BYTES = [4096, 16_384, 65_536] as const;

/** Bytes of a file from a place on; fewer where it ends before. */
export function bytesAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  const read = reading(() => readSync(file, bytes, 0, length, at));
  return bytes.subarray(0, read);
}

function hasMagic(page: Buffer): boolean {
  const end = PAGE_HEADER_BYTES + 4;
  return page.length >= end && page.readUInt32LE(PAGE_HEADER_BYTES) === META_MAGIC;
}

function versionOf(page: Buffer): number {
  return page.length < META_BYTES ? 0 : page.readUInt32LE(VERSION_AT) & 0xffff;
}

function metaIn(path: string, page: Buffer, number: number, sizeOfFirst?: number): Meta {
  if (!hasMagic(page) || page.length < META_BYTES) {
    throw damaged(
      path,
      `meta page ${number} is ${page.length < META_BYTES ? "cut short" : "gone"}`,
    );
  }
  const pageBytes = page.readUInt32LE(PAGE_SIZE_AT);
  const isSize =
    pageBytes >= PAGE_BYTES_MIN &&
    pageBytes <= PAGE_BYTES_MAX &&
    (pageBytes & (pageBytes - 1)) === 0 &&
    (sizeOfFirst ?? pageBytes) === pageBytes;
  const isMeta = (page.readUInt16LE(FLAGS_AT) & META_FLAG) !== 0;
  const lastPage = numberAt(page, LAST_PAGE_AT);
  const transaction = numberAt(page, TRANSACTION_AT);
  const isReadable = isSize && isMeta && versionOf(page) === DATA_VERSION;
  const isWhole = isReadable && lastPage !== undefined && lastPage >= 1;
  if (!isWhole || transaction === undefined || (transaction !== 0 && transaction % 2 !== number)) {
    throw damaged(path, `meta page ${number} makes no sense`);
  }
  return {
    pageBytes,
    lastPage,
    transaction,
    trees: [treeIn(page, FREE_TREE_AT, "free pages"), treeIn(page, TABLES_TREE_AT, "tables")],
  };
}

/** The tree that a meta page, or the row of a table, describes from a place on. */
export function treeIn(bytes: Buffer, at: number, name: string): Tree {
  const root = bytes.readBigUInt64LE(at + 40);
  const count = (offset: number): number => numberAt(bytes, at + offset) ?? -1;
  return {
    name,
    depth: bytes.readUInt16LE(at + 6),
    branchPages: count(8),
    leafPages: count(16),
    longPages: count(24),
    entries: count(32),
    root: root === NO_PAGE ? undefined : Number(root),
  };
}

/** A u64 that is a number one can count with. */
export function numberAt(bytes: Buffer, at: number): number | undefined {
  const value = Number(bytes.readBigUInt64LE(at));
  return Number.isSafeInteger(value) ? value : undefined;
}

/** The error for a file that is not as the engine writes it. */
export function damaged(path: string, what: string): CortexError {
  return new CortexError("ERR_CORRUPT", `${path} is damaged: ${what}`, { subject: path });
}

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
  readonly #identity: string | undefined;
  readonly #number = new BigUint64Array(1);
  readonly #bytes = new Uint8Array(this.#number.buffer);
  /** From the number in the first meta page to that in the second. */
  readonly #both: Uint8Array;
  readonly #numbers: BigUint64Array;

  /** Of a file that the engine has just opened; `identity` is what was at this path before, if anything was. */
  constructor(path: string, root: Root, identity: string | undefined) {
    this.path = path;
    this.#root = root;
    this.#file = openSame(path, identity);
    this.#identity = this.#file === undefined ? undefined : identityIn(fstatSync(this.#file));
    const pageBytes = Buffer.alloc(4);
    if (this.#file !== undefined)
      readSync(this.#file, pageBytes, 0, pageBytes.length, PAGE_SIZE_AT);
    this.#numbers = new BigUint64Array(pageBytes.readUInt32LE() / 8 + 1);
    this.#both = new Uint8Array(this.#numbers.buffer);
  }

  /** Whether the file is still what its path names: a store that moves on removes the file that it leaves. */
  isInPlace(): boolean {
    return this.#identity !== undefined && identityOf(this.path) === this.#identity;
  }

  /** The number of the newest commit that the file names. */
  newest(): number {
    if (this.#file === undefined) return this.#root.getStats().lastTxnId;
    // Both with one call, which takes less than reading the page in between costs.
    readSync(this.#file, this.#both, 0, this.#both.length, TRANSACTION_AT);
    const first = Number(this.#numbers[0]);
    const second = Number(this.#numbers[this.#numbers.length - 1]);
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
  return stats === undefined ? undefined : identityIn(stats);
}

function identityIn({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

function openSame(path: string, identity: string | undefined): number | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (identityOf(path) === undefined) return undefined;
    throw error;
  }
  if (identity === undefined || identity === identityIn(fstatSync(file))) return file;
  closeSync(file);
  return undefined;
}
