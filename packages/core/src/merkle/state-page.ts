/**
 * The pages in which the state tree is stored, and their names.
 *
 * A page covers PAGE_BITS bits of the key from depth d on, d a multiple of PAGE_BITS, for all keys
 * that share the first d bits. It has one slot for each value of those bits that is in use, in
 * ascending order; a slot is the node that hangs there: a leaf, or a subtree whose first branching
 * bit lies below the page. Inner nodes inside the page follow from which slots are in use and are
 * not stored. The root page (d = 0) exists when the tree has a key, any other when two slots are in
 * use; bits that do not branch have no page, a slot skips them. So pages are a function of the keys
 * and values alone.
 *
 * Slot bytes: top (1 byte; 0 for a leaf, else the position of the subtree's first branching bit,
 * which is never 0, for that bit is the root page's own), the key bytes from byte floor(d/8) up to
 * the significant length for a leaf or up to bit `top` for a subtree (the rest of the last byte
 * zero), the hash.
 *
 * A tree's `significantBytes` says after how many bytes its keys always differ; leaf slots store no
 * more than that. The leaf's hash covers the whole key all the same.
 *
 * Promise: reading refuses bytes that this file would not have written (`ERR_CORRUPT`), as far as
 * one page can tell. Whether hashes are right is left to the tree.
 */

import { HASH_BYTES, type Sha256 } from "../codec/hash.js";
import { cutBytes } from "../codec/slab.js";
import { CortexError, invalid } from "../errors.js";
import { STATE_KEY_BYTES, stateNodeHash } from "./state-proof.js";

/**
 * Levels of the tree in a page, fixed by the format. A page of k slots costs k-1 hashes when one
 * slot changes. Measured on 100,000 time-ordered keys, 10 in a millisecond, one insert takes 30
 * hashes and writes 1.2 KB at 4 bits, 41 and 1.6 KB at 5, 87 and 3.2 KB at 6, 117 and 4.2 KB at 8;
 * changing a random key 54, 92, 132 and 299 hashes. Batches of 1,000 take 2.0 to 2.1 hashes a key
 * at all four. Wider pages save rows (0.31 a key at 4 bits, 0.12 at 8) and bytes (56, 48 a key),
 * not enough for it.
 */
export const PAGE_BITS = 4;

/** How the pages of one tree are cut. */
export interface PageShape {
  /** Keys differ within their first so many bytes; 1..32. */
  readonly significantBytes: number;
  /** Levels in a page, 1..8; other than `PAGE_BITS` only to measure. */
  readonly pageBits: number;
}

/** `top` of a leaf. */
export const LEAF = 0;

/** A node as its parent page knows it. */
export interface NodeRef {
  /** Position of the first branching bit, or `LEAF`. */
  readonly top: number;
  /**
   * Key byte i is `source[shift + i]`, for i >= `from`; valid up to bit `top`, or for a whole leaf.
   */
  readonly source: Uint8Array;
  readonly shift: number;
  readonly from: number;
  readonly hash: Uint8Array;
}

/** A decoded page: parallel lists, ascending by slot. */
export interface Page {
  readonly depth: number;
  readonly pageBits: number;
  readonly slots: readonly number[];
  readonly nodes: readonly NodeRef[];
}

/** Builds the shape from what callers give, and checks it. */
export function pageShape(significantBytes: number, pageBits: number = PAGE_BITS): PageShape {
  if (!(Number.isInteger(significantBytes) && significantBytes >= 1 && significantBytes <= 32)) {
    throw invalid("significantBytes", "an integer from 1 to 32", significantBytes);
  }
  if (!(Number.isInteger(pageBits) && pageBits >= 1 && pageBits <= 8)) {
    throw invalid("pageBits", "an integer from 1 to 8", pageBits);
  }
  return { significantBytes, pageBits };
}

/** The depth of the page in which bit `bit` branches. */
export function pageDepth(bit: number, pageBits: number): number {
  return bit - (bit % pageBits);
}

/**
 * The name of the page at `depth` on a key's path: the key's bytes up to that depth, the unused
 * bits zero, and the depth in pages. Sorts next to the names of neighbouring keys.
 */
export function pageName(key: Uint8Array, depth: number, pageBits: number = PAGE_BITS): Uint8Array {
  const bytes = (depth + 7) >> 3;
  const name = new Uint8Array(bytes + 1);
  for (let i = 0; i < bytes; i++) name[i] = key[i] ?? 0;
  if ((depth & 7) !== 0) name[bytes - 1] = (name[bytes - 1] ?? 0) & highBits(depth);
  name[bytes] = depth / pageBits;
  return name;
}

/** The names of all pages that could lie on the path of a key, from the root page on. */
export function candidatePages(key: Uint8Array, significantBytes: number): Uint8Array[] {
  const names: Uint8Array[] = [];
  const shape = pageShape(significantBytes);
  for (let depth = 0; depth < shape.significantBytes * 8; depth += PAGE_BITS) {
    names.push(pageName(key, depth));
  }
  return names;
}

/** Which slot of the page at `depth` a whole key falls into. */
export function slotOfKey(key: Uint8Array, depth: number, shape: PageShape): number {
  return slotAt(key, 0, depth, shape);
}

/** Which slot of the page at `depth` a node hangs in. */
export function slotOfNode(node: NodeRef, depth: number, shape: PageShape): number {
  return slotAt(node.source, node.shift, depth, shape);
}

/** Orders keys by their bytes. */
export function compareKeys(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < STATE_KEY_BYTES; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Refuses what is not a key. */
export function checkKey(key: Uint8Array): void {
  if (key.length !== STATE_KEY_BYTES) throw invalid("key", `${STATE_KEY_BYTES} bytes`, key);
}

/** The failure of a page that its parent names and the caller does not have. */
export function missingPage(depth: number): CortexError {
  return corrupt(depth, "the page above names it, and it is not there");
}

/** The first bit in which two whole keys differ; all significant bits when in none. */
export function firstDifference(a: Uint8Array, b: Uint8Array, shape: PageShape): number {
  const bytes = shape.significantBytes;
  for (let i = 0; i < bytes; i++) {
    const difference = (a[i] ?? 0) ^ (b[i] ?? 0);
    if (difference !== 0) return i * 8 + Math.clz32(difference) - 24;
  }
  return bytes * 8;
}

/**
 * The first bit in which a key differs from what all keys below a node share; `top`, or all
 * significant bits of a leaf, when in none. The key must share the bytes before `node.from`.
 */
export function differsAt(node: NodeRef, key: Uint8Array, shape: PageShape): number {
  const limit = node.top === LEAF ? shape.significantBytes * 8 : node.top;
  for (let i = node.from; i * 8 < limit; i++) {
    const difference = (node.source[node.shift + i] ?? 0) ^ (key[i] ?? 0);
    if (difference !== 0) return Math.min(limit, i * 8 + Math.clz32(difference) - 24);
  }
  return limit;
}

/** The key bytes that a node stands for, from byte 0; `key` supplies those its page leaves out. */
export function nodePath(node: NodeRef, key: Uint8Array, shape: PageShape): Uint8Array {
  const end = node.top === LEAF ? shape.significantBytes : (node.top + 7) >> 3;
  const path = new Uint8Array(STATE_KEY_BYTES);
  for (let i = 0; i < node.from; i++) path[i] = key[i] ?? 0;
  for (let i = node.from; i < end; i++) path[i] = node.source[node.shift + i] ?? 0;
  if (node.top !== LEAF && (node.top & 7) !== 0) {
    path[end - 1] = (path[end - 1] ?? 0) & highBits(node.top);
  }
  return path;
}

/** The hash of the subtree over the slots `from <= i < to` of a page; at least one. */
export function foldSlots(sha256: Sha256, page: Page, from: number, to: number): Uint8Array {
  if (to - from === 1) return nodeAt(page, from).hash;
  const { bit, middle } = partSlots(page, from, to);
  const left = foldSlots(sha256, page, from, middle);
  return stateNodeHash(sha256, bit, left, foldSlots(sha256, page, middle, to));
}

/**
 * How the slots `from <= i < to` of a page part, of which there are at least two: the position of
 * the branching bit, and the first slot on its right side.
 */
export function partSlots(
  page: Page,
  from: number,
  to: number,
): { readonly bit: number; readonly middle: number } {
  const difference = (page.slots[from] ?? 0) ^ (page.slots[to - 1] ?? 0);
  const weight = 31 - Math.clz32(difference);
  let middle = from + 1;
  while ((((page.slots[middle] ?? 0) >> weight) & 1) === 0) middle += 1;
  return { bit: page.depth + page.pageBits - 1 - weight, middle };
}

/** Node number `i` of a page. Precondition: 0 <= i < count. */
export function nodeAt(page: Page, i: number): NodeRef {
  const node = page.nodes[i];
  if (node === undefined) throw new Error(`page has no slot number ${i}`);
  return node;
}

/** The bytes of a page. */
export function encodePage(page: Page, shape: PageShape): Uint8Array {
  const first = page.depth >> 3;
  let total = 0;
  for (const node of page.nodes) total += slotBytes(node.top, first, shape);
  const bytes = cutBytes(total);
  let at = 0;
  for (const node of page.nodes) {
    const { top, source, shift } = node;
    const end = top === LEAF ? shape.significantBytes : (top + 7) >> 3;
    bytes[at++] = top;
    for (let i = first; i < end; i++) bytes[at++] = source[shift + i] ?? 0;
    if (top !== LEAF && (top & 7) !== 0) bytes[at - 1] = (bytes[at - 1] ?? 0) & highBits(top);
    bytes.set(node.hash, at);
    at += HASH_BYTES;
  }
  return bytes;
}

/** Reads the page at `depth`. */
export function decodePage(bytes: Uint8Array, depth: number, shape: PageShape): Page {
  const first = depth >> 3;
  const slots: number[] = [];
  const nodes: NodeRef[] = [];
  let last = -1;
  for (let at = 0; at < bytes.length; ) {
    const top = bytes[at] ?? 0;
    const end = at + slotBytes(top, first, shape);
    if (end > bytes.length) throw corrupt(depth, "it ends within a slot");
    if (top !== LEAF && (top < depth + shape.pageBits || top >= shape.significantBytes * 8)) {
      throw corrupt(depth, `a subtree cannot branch on bit ${top}`);
    }
    const shift = at + 1 - first;
    const tail = bytes[end - HASH_BYTES - 1] ?? 0;
    if (top !== LEAF && (top & 7) !== 0 && (tail & ~highBits(top)) !== 0) {
      throw corrupt(depth, `bits after ${top} are not zero`);
    }
    const slot = slotAt(bytes, shift, depth, shape);
    if (slot <= last) throw corrupt(depth, `slot ${slot} follows slot ${last}`);
    last = slot;
    slots.push(slot);
    // A plain view: a subarray of a Node buffer costs several times as much.
    const hash = new Uint8Array(bytes.buffer, bytes.byteOffset + end - HASH_BYTES, HASH_BYTES);
    nodes.push({ top, source: bytes, shift, from: first, hash });
    at = end;
  }
  if (nodes.length < (depth === 0 ? 1 : 2)) throw corrupt(depth, `it has ${nodes.length} slots`);
  return { depth, pageBits: shape.pageBits, slots, nodes };
}

function slotBytes(top: number, first: number, shape: PageShape): number {
  return 1 + (top === LEAF ? shape.significantBytes : (top + 7) >> 3) - first + HASH_BYTES;
}

/**
 * The `pageBits` bits from `depth` on, read through a window of two bytes; zeros beyond the key.
 */
function slotAt(source: Uint8Array, shift: number, depth: number, shape: PageShape): number {
  const i = depth >> 3;
  const low = i + 1 < shape.significantBytes ? (source[shift + i + 1] ?? 0) : 0;
  const window = ((source[shift + i] ?? 0) << 8) | low;
  return (window >> (16 - (depth & 7) - shape.pageBits)) & ((1 << shape.pageBits) - 1);
}

/** A mask for the part of a byte that lies before bit `bit`; `bit` is not a multiple of 8. */
function highBits(bit: number): number {
  return (0xff00 >> (bit & 7)) & 0xff;
}

function corrupt(depth: number, what: string): CortexError {
  return new CortexError("ERR_CORRUPT", `state page at depth ${depth}: ${what}`);
}
