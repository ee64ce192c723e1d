/**
 * An LMDB file read page by page, without the engine.
 *
 * The engine maps its file and believes it: a page that is not there ends the process with SIGBUS, one that
 * makes no sense with SIGSEGV or an abort, and in a server with it every other store. So before a file is mapped
 * its length is compared with its meta pages (`assertWhole`), and a file that is suspected is walked by plain
 * reads (`walkPages`), which cannot hurt anybody.
 *
 * Promises: nothing is written, mapped or locked. Every page that the engine could reach from the newest
 * meta page is looked at: its number, kind and bounds, the order of its keys and that they lie between
 * those of the pages above, long values, and the counts that the trees state. A page is reached once.
 * What the rows say is left to `check`.
 *
 * Layout (data version 2, little-endian, 64 bits), as the engine writes it:
 * - pages 0 and 1, and the trees that they and rows name: see `lmdb-meta.ts`;
 * - page header, 24 bytes: number u64, transaction u64, pad u16, flags u16, then lower u16 and upper u16
 *   (branch and leaf pages) or the count of pages u32 (the first page of a long value);
 * - node: u16 low, u16 high, u16 flags, u16 key size, key, then value. In a branch low, high and flags
 *   are the page below; in a leaf low and high are the size of the value.
 * Offsets of nodes, and lower and upper, count from the end of the header.
 */
import { closeSync, fstatSync, openSync } from "node:fs";
import { basename } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { CortexError } from "../errors.js";
import { type Bytes, compareBytes, type KvRow, type Salvaged } from "./kv.js";
import { storageError } from "./lmdb-failures.js";
import {
  bytesAt,
  damaged,
  type Meta,
  numberAt,
  PAGE_HEADER_BYTES,
  readMeta,
  TREE_BYTES,
  type Tree,
  treeIn,
} from "./lmdb-meta.js";

const NODE_BYTES = 8;
/** As deep as the engine's cursors go. */
const DEPTH_MAX = 32;

const FLAG = { branch: 0x01, leaf: 0x02, long: 0x04 } as const;
const NODE_FLAG = { long: 0x01, table: 0x02 } as const;

/** What a walk found. */
interface PageReport {
  /** Pages that were looked at. */
  readonly pages: number;
  /** What is wrong, each with the number of its page. */
  readonly problems: readonly string[];
}

/** Problems that are told: naming all would tell no more. */
const PROBLEMS_TOLD = 20;
/** Times a file is read again that another process was writing meanwhile. */
const ATTEMPTS = 20;

/**
 * Throws unless the engine can map the file without reaching beyond its end: `ERR_FORMAT_UNKNOWN` where
 * it is something else, `ERR_CORRUPT` where it is damaged. A file that is not there is no trouble, an
 * empty one is left to the caller: the result is its length.
 */
export function assertWhole(path: string): number {
  for (let attempt = 1; ; attempt += 1) {
    const file = openFile(path);
    if (file === undefined) return 0;
    try {
      return wholeLength(path, file);
    } catch (error) {
      // Another process may be in the middle of a commit, or of making the file.
      if (attempt >= ATTEMPTS) throw error;
    } finally {
      closeSync(file);
    }
  }
}

function wholeLength(path: string, file: number): number {
  if (fstatSync(file).size === 0) return 0;
  const meta = readMeta(path, file);
  // Asked after the meta pages were read: pages are written before the meta page that names them.
  const { size } = fstatSync(file);
  const pages = Math.floor(size / meta.pageBytes);
  if (pages > meta.lastPage) return size;
  // Pages at the end that were freed before they were ever written need not be there.
  const [first] = atOnce(new PageWalk(path, file, meta, pages).steps()).problems;
  if (first === undefined) return size;
  const whole = (meta.lastPage + 1) * meta.pageBytes;
  const message = `has ${size} bytes of the ${whole} that its last commit needs`;
  throw damaged(path, `${message}; ${first}`);
}

/**
 * Walks every page of a file. While another process writes, pages of an old commit are used again: such a
 * walk starts over, unless `isHeld` says that a reader of the engine keeps them.
 */
export async function walkPages(path: string, isHeld = false): Promise<PageReport> {
  for (let attempt = 1; ; attempt += 1) {
    const file = openFile(path);
    if (file === undefined) return { pages: 0, problems: [] };
    try {
      const meta = readMeta(path, file);
      const pages = Math.floor(fstatSync(file).size / meta.pageBytes);
      const report = await inTurns(new PageWalk(path, file, meta, pages).steps());
      const isStill = isHeld || readMeta(path, file).transaction === meta.transaction;
      if (report.problems.length === 0 || isStill) return report;
      // Nothing can be said of a file that does not keep still; whoever asks may hold it.
      if (attempt >= ATTEMPTS) return { pages: report.pages, problems: [] };
    } catch (error) {
      if (!(error instanceof CortexError)) throw error;
      if (attempt >= ATTEMPTS) return { pages: 0, problems: [error.message] };
    } finally {
      closeSync(file);
    }
  }
}

/**
 * The rows that can still be read from a file, by plain reads: of pages that make no sense, none. For a
 * repair, which compares every row with its hash; nobody may write the file meanwhile.
 */
export async function salvageRows(path: string, wants: (key: Bytes) => boolean): Promise<Salvaged> {
  const file = openFile(path);
  const rows: KvRow[] = [];
  const hidden: Between[] = [];
  const hides = (key: Bytes): boolean => hidden.some((between) => isBetween(key, between));
  if (file === undefined) return { rows, hides };
  try {
    const meta = readMeta(path, file);
    const pages = Math.floor(fstatSync(file).size / meta.pageBytes);
    const onRow = ({ key, value }: KvRow): void => {
      if (wants(key)) rows.push({ key: key.slice(), value: value.slice() });
    };
    const reader = { onRow, onHidden: (between: Between) => void hidden.push(between) };
    await inTurns(new PageWalk(path, file, meta, pages, reader).steps());
  } catch (error) {
    // Without a meta page nothing can be found.
    if (!(error instanceof CortexError)) throw error;
  } finally {
    closeSync(file);
  }
  return { rows, hides };
}

function isBetween(key: Bytes, { from = key, to }: Between): boolean {
  return compareBytes(key, from) >= 0 && (to === undefined || compareBytes(key, to) < 0);
}

/** Pages after which the event loop gets its turn. */
const PAGES_PER_TURN = 256;

async function inTurns(steps: Generator<undefined, PageReport>): Promise<PageReport> {
  for (let count = 1; ; count += 1) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (count % PAGES_PER_TURN === 0) await turn();
  }
}

function atOnce(steps: Generator<undefined, PageReport>): PageReport {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

function openFile(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw storageError(error, `cannot read ${path}`);
  }
}

/** What a tree turned out to hold. */
interface Counted {
  branchPages: number;
  leafPages: number;
  longPages: number;
  entries: number;
}

/** Keys that a page may hold: from the first up to, not including, the second. */
interface Between {
  readonly from: Bytes | undefined;
  readonly to: Bytes | undefined;
}

/** Thrown to leave a page that makes no sense; what is below it is not looked at. */
class BadPage extends Error {}

/** Gets every row that is read, and the range of keys of every page that cannot be. */
interface RowReader {
  readonly onRow: (row: KvRow) => void;
  readonly onHidden: (between: Between) => void;
}

/** The tree of the journal's own table, which holds no other keys. */
const JOURNAL_TREE = "table journal";
/** One walk over the trees of a meta page. */
class PageWalk {
  readonly #file: number;
  readonly #meta: Meta;
  /** Pages that the file holds in full. */
  readonly #there: number;
  readonly #seen: Uint8Array;
  readonly #problems: string[] = [];
  readonly #name: string;
  readonly #reader: RowReader | undefined;
  #pages = 0;

  constructor(path: string, file: number, meta: Meta, pagesThere: number, reader?: RowReader) {
    this.#reader = reader;
    this.#name = basename(path);
    this.#file = file;
    this.#meta = meta;
    this.#there = pagesThere;
    this.#seen = new Uint8Array(Math.min(meta.lastPage + 1, pagesThere));
  }

  /** Goes on page by page, for whoever has something else to do in between. */
  *steps(): Generator<undefined, PageReport> {
    const [free, tables] = this.#meta.trees;
    yield* this.#walkTree(tables);
    // Last, so that it is known by then what is in use.
    yield* this.#walkTree(free);
    return { pages: this.#pages, problems: this.#problems };
  }

  *#walkTree(tree: Tree): Generator<undefined, void> {
    const counted: Counted = { branchPages: 0, leafPages: 0, longPages: 0, entries: 0 };
    if (tree.root !== undefined) {
      const told = this.#problems.length;
      yield* this.#walkPage(tree, tree.root, 1, { from: undefined, to: undefined }, counted);
      // What was not reached was not counted either.
      if (this.#problems.length > told) return;
    }
    for (const name of ["branchPages", "leafPages", "longPages", "entries"] as const) {
      if (counted[name] === tree[name]) continue;
      const message = `${tree.name}: ${counted[name]} ${WORDS[name]}, the tree states ${tree[name]}`;
      this.#tell(tree.root ?? 0, message);
      return;
    }
  }

  *#walkPage(
    tree: Tree,
    number: number,
    depth: number,
    between: Between,
    counted: Counted,
  ): Generator<undefined, void> {
    yield undefined;
    try {
      const page = this.#take(number, 1);
      const flags = page.readUInt16LE(18);
      const isLeaf = flags === FLAG.leaf;
      if (!isLeaf && flags !== FLAG.branch) throw new BadPage(`is no page of ${tree.name}`);
      if (isLeaf !== (depth === tree.depth) || depth > DEPTH_MAX) {
        throw new BadPage(`stands at a level of ${tree.name} where it does not belong`);
      }
      const nodes = this.#nodesOf(page, isLeaf);
      checkOrder(nodes, isLeaf, between, this.#isFree(tree) ? compareNumbers : compareBytes);
      if (isLeaf) yield* this.#walkLeaf(tree, nodes, counted);
      else yield* this.#walkBranch(tree, nodes, depth, between, counted);
    } catch (error) {
      if (!(error instanceof BadPage)) throw error;
      this.#tell(number, `${tree.name}: ${error.message}`);
      if (tree.name !== JOURNAL_TREE) this.#reader?.onHidden(between);
    }
  }

  *#walkBranch(
    tree: Tree,
    nodes: readonly Node[],
    depth: number,
    between: Between,
    counted: Counted,
  ): Generator<undefined, void> {
    counted.branchPages += 1;
    for (const [at, node] of nodes.entries()) {
      if (this.#problems.length >= PROBLEMS_TOLD && this.#reader === undefined) return;
      const from = at === 0 ? between.from : node.key;
      const to = nodes[at + 1]?.key ?? between.to;
      yield* this.#walkPage(tree, node.below, depth + 1, { from, to }, counted);
    }
  }

  *#walkLeaf(tree: Tree, nodes: readonly Node[], counted: Counted): Generator<undefined, void> {
    counted.leafPages += 1;
    counted.entries += nodes.length;
    let bad: BadPage | undefined;
    for (const node of nodes) {
      try {
        if ((node.flags & NODE_FLAG.long) !== 0) counted.longPages += this.#takeLong(node);
        if ((node.flags & NODE_FLAG.table) !== 0) yield* this.#walkTable(tree, node);
        else if (this.#isFree(tree)) this.#checkFree(this.#valueOf(node));
        else this.#reader?.onRow({ key: node.key, value: this.#valueOf(node) });
      } catch (error) {
        // The rows beside it may be sound.
        if (!(error instanceof BadPage)) throw error;
        bad ??= error;
      }
    }
    if (bad !== undefined) throw bad;
  }

  #isFree(tree: Tree): boolean {
    return tree === this.#meta.trees[0];
  }

  /** A list of free pages: their count, then pages; a negative number is the length of the run that follows. */
  #checkFree(list: Buffer): void {
    const count = list.length < 8 ? undefined : numberAt(list, 0);
    if (count === undefined || (count + 1) * 8 > list.length) {
      throw new BadPage("has a list of free pages that does not fit it");
    }
    for (let at = 1; at <= count; at += 1) {
      const said = Number(list.readBigInt64LE(at * 8));
      if (said === 0) continue;
      if (said < 0) at += 1;
      const first = said > 0 ? said : at > count ? -1 : Number(list.readBigInt64LE(at * 8));
      const last = said > 0 ? said : first - said - 1;
      if (first < 2 || last > this.#meta.lastPage) {
        throw new BadPage(`lists page ${first} as free, which the file never had`);
      }
      for (let page = first; page <= last; page += 1) this.#free(page);
    }
  }

  #free(page: number): void {
    // Pages beyond the end may be free: they were never written.
    if (page >= this.#seen.length) return;
    if (this.#seen[page] !== 0) throw new BadPage(`lists page ${page} as free, which is in use`);
    this.#seen[page] = 1;
  }

  #valueOf({ flags, value, valueBytes }: Node): Buffer {
    if ((flags & NODE_FLAG.long) === 0) return value;
    const at = (numberAt(value, 0) ?? 0) * this.#meta.pageBytes + PAGE_HEADER_BYTES;
    return bytesAt(this.#file, at, valueBytes);
  }

  /** The pages of a value that does not fit its leaf; how many they are. */
  #takeLong({ value, valueBytes }: Node): number {
    const first = numberAt(value, 0) ?? -1;
    const count = Math.floor((PAGE_HEADER_BYTES - 1 + valueBytes) / this.#meta.pageBytes) + 1;
    const page = this.#take(first, count);
    if (page.readUInt16LE(18) !== FLAG.long || page.readUInt32LE(20) !== count) {
      throw new BadPage(`names page ${first} for a long value, which is none of ${count} pages`);
    }
    return count;
  }

  *#walkTable(tree: Tree, { key, value }: Node): Generator<undefined, void> {
    if (tree !== this.#meta.trees[1] || value.length !== TREE_BYTES) {
      throw new BadPage("names a table where none can be");
    }
    const name = Buffer.from(key)
      .toString("latin1")
      .replace(/[^a-z]/g, "");
    yield* this.#walkTree(treeIn(value, 0, `table ${name}`));
  }

  /** Reads a page, whose number it must have, once; `count` pages from it on belong to it. */
  #take(number: number, count: number): Buffer {
    const last = number + count - 1;
    if (number < 2 || last > this.#meta.lastPage) {
      throw new BadPage(`names page ${number}, which the file never had`);
    }
    if (last >= this.#there) throw new BadPage(`needs page ${last}, which is beyond the end`);
    for (let at = number; at <= last; at += 1) {
      if (this.#seen[at] !== 0) throw new BadPage(`needs page ${at}, which is used twice`);
      this.#seen[at] = 1;
    }
    const { pageBytes } = this.#meta;
    const page = bytesAt(this.#file, number * pageBytes, pageBytes);
    this.#pages += count;
    if (numberAt(page, 0) !== number) {
      const is = page.every((byte) => byte === 0) ? "is all zeros" : "is another page";
      throw new BadPage(`page ${number} ${is}`);
    }
    if ((numberAt(page, 8) ?? Number.POSITIVE_INFINITY) > this.#meta.transaction) {
      throw new BadPage(`page ${number} is of a commit that never was`);
    }
    return page;
  }

  #nodesOf(page: Buffer, isLeaf: boolean): readonly Node[] {
    const lower = page.readUInt16LE(20);
    const upper = page.readUInt16LE(22);
    const room = this.#meta.pageBytes - PAGE_HEADER_BYTES;
    if (lower % 2 !== 0 || lower > upper || upper > room || lower < 2) {
      throw new BadPage("has bounds that make no sense");
    }
    const nodes: Node[] = [];
    for (let at = 0; at < lower; at += 2) {
      const offset = page.readUInt16LE(PAGE_HEADER_BYTES + at);
      if (offset < upper || offset % 2 !== 0) throw new BadPage("has a row outside its bounds");
      nodes.push(nodeAt(page, PAGE_HEADER_BYTES + offset, isLeaf));
    }
    return nodes;
  }

  #tell(page: number, message: string): void {
    if (this.#problems.length < PROBLEMS_TOLD)
      this.#problems.push(`page ${page} of ${this.#name}: ${message}`);
  }
}

/** Throws unless keys ascend and lie between those of the pages above. */
function checkOrder(
  nodes: readonly Node[],
  isLeaf: boolean,
  between: Between,
  compare: (a: Bytes, b: Bytes) => number,
): void {
  // The first key of a branch stands for everything below the second.
  const keys = (isLeaf ? nodes : nodes.slice(1)).map(({ key }) => key);
  let last = between.from;
  for (const [at, key] of keys.entries()) {
    const isAfter = last === undefined || compare(key, last) > (isLeaf && at === 0 ? -1 : 0);
    if (!isAfter) throw new BadPage("has keys out of order");
    last = key;
  }
  if (last !== undefined && between.to !== undefined && compare(last, between.to) >= 0) {
    throw new BadPage("has a key that belongs to another page");
  }
}

const WORDS = {
  branchPages: "branch pages",
  leafPages: "leaf pages",
  longPages: "pages of long values",
  entries: "rows",
} as const;

/** A node of a page: of a branch, `below` is the page it leads to. */
interface Node {
  readonly key: Bytes;
  readonly flags: number;
  readonly below: number;
  /** What stands in the page: of a long value, where it begins. */
  readonly value: Buffer;
  readonly valueBytes: number;
}

/** Bytes that a leaf holds of a long value: page, transaction, pages. */
const LONG_VALUE_BYTES = 24;

function nodeAt(page: Buffer, at: number, isLeaf: boolean): Node {
  if (at + NODE_BYTES > page.length) throw new BadPage("has a row outside its bounds");
  const low = page.readUInt32LE(at);
  const flags = page.readUInt16LE(at + 4);
  const keyBytes = page.readUInt16LE(at + 6);
  const valueAt = at + NODE_BYTES + keyBytes;
  const inPage = !isLeaf ? 0 : (flags & NODE_FLAG.long) === 0 ? low : LONG_VALUE_BYTES;
  if (valueAt + inPage > page.length) throw new BadPage("has a row that does not fit it");
  if (isLeaf && (flags & ~(NODE_FLAG.long | NODE_FLAG.table)) !== 0) {
    throw new BadPage("has a row of a kind that is not used");
  }
  return {
    key: page.subarray(at + NODE_BYTES, valueAt),
    flags: isLeaf ? flags : 0,
    below: low + flags * 2 ** 32,
    value: page.subarray(valueAt, valueAt + inPage),
    valueBytes: low,
  };
}

/** Keys of the tree of free pages are numbers of transactions. */
function compareNumbers(a: Bytes, b: Bytes): number {
  if (a.length !== 8 || b.length !== 8) throw new BadPage("has a key that is no number");
  const [left, right] = [a, b].map((key) => Buffer.from(key).readBigUInt64LE(0));
  return left === right ? 0 : (left as bigint) < (right as bigint) ? -1 : 1;
}
