/**
 * The two meta pages at the beginning of an LMDB file, read without the engine: how they are laid out, and what the newer
 * one says. A commit is durable and visible when one of them has been written, with the number of its transaction.
 *
 * Layout (data version 2, little-endian, 64 bits), as the engine writes it:
 * - behind the header of pages 0 and 1: magic u32, version u32, address u64, map size u64, two trees, last page u64,
 *   transaction u64. The newer transaction counts. The first tree lists free pages, and its pad is the size of a page; the
 *   second names the tables;
 * - tree, 48 bytes: pad u32, flags u16, depth u16, branch, leaf and long pages, entries, root, u64 each.
 * What the other pages hold is told in `lmdb-pages.ts`.
 */
import { existsSync, readSync } from "node:fs";
import { CortexError } from "../errors.js";
import { foreign, reading } from "./lmdb-failures.js";

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
export const TRANSACTION_AT = LAST_PAGE_AT + 8;
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
