/**
 * Which pages of the state tree to read before an update, given a cache. Pure.
 *
 * Promise: after the named pages are read, `updateState` on the same keys asks for no other; with
 * every page of the keys' paths in the cache nothing is named. What is kept in a cache, and for how
 * long, is left to the caller; it should keep absences too.
 */
import {
  checkKey,
  compareKeys,
  decodePage,
  differsAt,
  firstDifference,
  LEAF,
  missingPage,
  type NodeRef,
  PAGE_BITS,
  type PageShape,
  pageDepth,
  pageName,
  pageShape,
  slotOfKey,
} from "./state-page.js";

/** What a cache knows of a page: its bytes, that there is none, or nothing. */
export type KnownPage = Uint8Array | "absent" | "unknown";

/** What `unknownPages` works on. */
interface UnknownPagesInput {
  readonly significantBytes: number;
  readonly keys: readonly Uint8Array[];
  readonly known: (name: Uint8Array) => KnownPage;
  /**
   * How many deeper candidates to name below each unknown page. All by default: one read is enough,
   * and most of the names will turn out absent. 0 names only pages that surely exist (but for the
   * root page), so that reading goes in rounds, one level of pages each.
   */
  readonly lookAheadPages?: number;
  /** Only to measure other page sizes. */
  readonly pageBits?: number;
}

/**
 * The pages to read before updating `keys`: follows known pages from the root, and below the first
 * unknown one names whatever may be there.
 */
export function unknownPages(input: UnknownPagesInput): Uint8Array[] {
  input.keys.forEach(checkKey);
  const search: Search = {
    shape: pageShape(input.significantBytes, input.pageBits ?? PAGE_BITS),
    keys: input.keys.toSorted(compareKeys),
    known: input.known,
    lookAheadPages: input.lookAheadPages ?? Number.POSITIVE_INFINITY,
    names: [],
  };
  if (search.keys.length > 0) visitPage(search, 0, { from: 0, to: search.keys.length });
  return search.names;
}

interface Search {
  readonly shape: PageShape;
  /** In ascending order, so that keys which share a page stand together. */
  readonly keys: readonly Uint8Array[];
  readonly known: (name: Uint8Array) => KnownPage;
  readonly lookAheadPages: number;
  readonly names: Uint8Array[];
}

/** Follows the page at `depth` that all keys of the range share. */
function visitPage(search: Search, depth: number, range: Range): void {
  const { shape } = search;
  const page = search.known(pageName(keyAt(search, range.from), depth, shape.pageBits));
  if (page === "unknown") {
    nameFrom(search, depth, range);
    return;
  }
  if (page === "absent") {
    if (depth > 0) throw missingPage(depth);
    return;
  }
  const { slots, nodes } = decodePage(page, depth, shape);
  for (let from = range.from, to = from; from < range.to; from = to) {
    const slot = slotOfKey(keyAt(search, from), depth, shape);
    while (to < range.to && slotOfKey(keyAt(search, to), depth, shape) === slot) to += 1;
    const node = nodes[slots.indexOf(slot)];
    if (node !== undefined && node.top !== LEAF) visitChild(search, node, { from, to });
  }
}

/** Follows the page below a slot with the keys that share its name; others never reach it. */
function visitChild(search: Search, node: NodeRef, range: Range): void {
  const depth = pageDepth(node.top, search.shape.pageBits);
  const leads = (i: number): boolean => differsAt(node, keyAt(search, i), search.shape) >= depth;
  let { from, to } = range;
  while (from < to && !leads(from)) from += 1;
  while (from < to && !leads(to - 1)) to -= 1;
  if (from < to) visitPage(search, depth, { from, to });
}

/** Names the unknown page at `depth` and the candidates below it, each once. */
function nameFrom(search: Search, depth: number, range: Range): void {
  const { pageBits, significantBytes } = search.shape;
  const end = Math.min(significantBytes * 8, depth + search.lookAheadPages * pageBits + 1);
  for (let i = range.from; i < range.to; i++) {
    const key = keyAt(search, i);
    // Pages above the bit where a key leaves its predecessor were named for that one.
    const shared = i === range.from ? -1 : firstDifference(keyAt(search, i - 1), key, search.shape);
    for (let at = depth; at < end; at += pageBits) {
      if (at > shared) search.names.push(pageName(key, at, pageBits));
    }
  }
}

function keyAt(search: Search, i: number): Uint8Array {
  const key = search.keys[i];
  if (key === undefined) throw new Error(`there is no key number ${i}`);
  return key;
}
