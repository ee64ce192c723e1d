/**
 * Building the state tree: which pages to read, and many updates at once. Pure: pages come from the caller,
 * changed pages go back to it.
 *
 * Promises: the root and the pages depend on the keys and values alone, not on the order or
 * grouping of updates. One call visits each page once, hashes each new leaf once and each inner
 * node of a changed page once; pages that end as they were are not returned.
 *
 * Precondition on keys: within one tree, keys that differ do so in their first `significantBytes`
 * bytes. A stored leaf keeps no more than those, so a stranger with the same ones replaces it.
 *
 * `unknownPages` names what to read beforehand, given a cache: after the named pages are read, `updateState` on
 * the same keys asks for no other; with every page of the keys' paths in the cache nothing is named. What is
 * kept in a cache, and for how long, is left to the caller; it should keep absences too.
 *
 * The hash rules are in `state-proof.ts`, page bytes in `state-page.ts`, proving in `state-prove.ts`.
 */
import { HASH_BYTES, type Sha256 } from "../codec/hash.js";
import { equalBytes } from "../codec/keys.js";
import { invalid } from "../errors.js";
import {
  checkKey,
  compareKeys,
  decodePage,
  differsAt,
  encodePage,
  firstDifference,
  foldSlots,
  LEAF,
  missingPage,
  type NodeRef,
  nodeAt,
  nodePath,
  PAGE_BITS,
  type Page,
  type PageShape,
  pageDepth,
  pageName,
  pageShape,
  partSlots,
  slotOfKey,
  slotOfNode,
} from "./state-page.js";
import { STATE_KEY_BYTES, stateEmptyHash, stateLeafHash } from "./state-proof.js";

/** A key and its new value, or `undefined` to remove it. */
export interface StateUpdate {
  readonly key: Uint8Array;
  readonly value: Uint8Array | undefined;
}

/** A page that changed; `bytes` is `undefined` when it is gone. */
export interface PageChange {
  readonly name: Uint8Array;
  readonly bytes: Uint8Array | undefined;
}

/** What `updateState` works on. */
interface StateUpdateInput {
  readonly sha256: Sha256;
  readonly significantBytes: number;
  /** Gives a page, `undefined` when there is none; throws when the caller did not load it. */
  readonly readPage: (name: Uint8Array) => Uint8Array | undefined;
  /** Of several updates to one key the last one counts. Removing an absent key is no error. */
  readonly updates: readonly StateUpdate[];
  /** Only to measure other page sizes. */
  readonly pageBits?: number;
}

/** Applies updates; gives the new root and the pages that changed, each once. */
export function updateState(input: StateUpdateInput): {
  readonly root: Uint8Array;
  readonly pages: PageChange[];
} {
  const shape = pageShape(input.significantBytes, input.pageBits ?? PAGE_BITS);
  const run: Run = {
    sha256: input.sha256,
    shape,
    readPage: input.readPage,
    updates: inOrder(input.updates, shape),
    pages: [],
  };
  const bytes = input.readPage(pageName(NO_KEY, 0, shape.pageBits));
  const all = { from: 0, to: run.updates.length };
  const root = applyPage(run, { depth: 0, bytes, node: undefined }, all);
  const hash = root === undefined ? stateEmptyHash(input.sha256) : new Uint8Array(root.hash);
  return { root: hash, pages: run.pages };
}

/** The root of a tree, given its root page; `undefined` stands for the empty tree. */
export function stateRoot(
  sha256: Sha256,
  rootPage: Uint8Array | undefined,
  significantBytes: number,
  pageBits: number = PAGE_BITS,
): Uint8Array {
  if (rootPage === undefined) return stateEmptyHash(sha256);
  const page = decodePage(rootPage, 0, pageShape(significantBytes, pageBits));
  return new Uint8Array(foldSlots(sha256, page, 0, page.nodes.length));
}

/** One call of `updateState`: its input in order, and the changes so far. */
interface Run {
  readonly sha256: Sha256;
  readonly shape: PageShape;
  readonly readPage: (name: Uint8Array) => Uint8Array | undefined;
  readonly updates: readonly StateUpdate[];
  readonly pages: PageChange[];
}

/** The updates, or the keys, number `from <= i < to`. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * A page to be updated: stored as `bytes`, with `node` as its parent's slot says (`undefined` for
 * the root page); or new, and then begun with `node` as its only slot, or empty.
 */
interface OpenPage {
  readonly depth: number;
  readonly bytes: Uint8Array | undefined;
  readonly node: NodeRef | undefined;
}

const NO_KEY = new Uint8Array(STATE_KEY_BYTES);

/**
 * Applies updates that share the first `depth` bits to one page. Gives the node that now stands for
 * everything below: `open.node` itself when nothing changed, `undefined` when nothing is left.
 */
function applyPage(run: Run, open: OpenPage, range: Range): NodeRef | undefined {
  const { shape, updates } = run;
  const { depth } = open;
  const before = slotsBefore(open, shape);
  const slots: number[] = [];
  const nodes: NodeRef[] = [];
  let changed = false;
  let old = 0;
  const keepBelow = (slot: number): void => {
    for (; old < before.slots.length && (before.slots[old] ?? 0) < slot; old++) {
      slots.push(before.slots[old] ?? 0);
      nodes.push(nodeAt(before, old));
    }
  };
  for (let from = range.from, to = from; from < range.to; from = to) {
    const slot = slotOfKey(updateAt(updates, from).key, depth, shape);
    while (to < range.to && slotOfKey(updateAt(updates, to).key, depth, shape) === slot) to += 1;
    keepBelow(slot);
    const node = before.slots[old] === slot ? nodeAt(before, old++) : undefined;
    const next = applyNode(run, node, { from, to });
    if (next !== node) changed = true;
    if (next !== undefined) {
      slots.push(slot);
      nodes.push(next);
    }
  }
  keepBelow(1 << shape.pageBits);
  if (!changed && open.node !== undefined) return open.node;
  const page: Page = { depth, pageBits: shape.pageBits, slots, nodes };
  const key = updates[range.from]?.key ?? NO_KEY;
  if (changed) writePage(run, page, { key, before: open.bytes });
  return nodeOfPage(run, page, key);
}

function slotsBefore({ depth, bytes, node }: OpenPage, shape: PageShape): Page {
  if (bytes !== undefined) return decodePage(bytes, depth, shape);
  const { pageBits } = shape;
  if (node === undefined) return { depth, pageBits, slots: [], nodes: [] };
  return { depth, pageBits, slots: [slotOfNode(node, depth, shape)], nodes: [node] };
}

/** Notes a page as changed or gone. Only the root page may have a single slot. */
function writePage(
  run: Run,
  page: Page,
  place: { readonly key: Uint8Array; readonly before: Uint8Array | undefined },
): void {
  const stored = page.nodes.length >= (page.depth === 0 ? 1 : 2);
  const bytes = stored ? encodePage(page, run.shape) : undefined;
  if (equalBytes(bytes, place.before)) return;
  run.pages.push({ name: pageName(place.key, page.depth, page.pageBits), bytes });
}

/** The node that stands for a page in the page above; `key` shares the page's first bits. */
function nodeOfPage(run: Run, page: Page, key: Uint8Array): NodeRef | undefined {
  const count = page.nodes.length;
  if (count === 0) return undefined;
  const first = movedOut(nodeAt(page, 0), key, run.shape);
  if (count === 1) return first;
  const top = partSlots(page, 0, count).bit;
  const hash = foldSlots(run.sha256, page, 0, count);
  return { top, source: first.source, shift: first.shift, from: 0, hash };
}

/** Applies updates that fall into one slot to the node in it. */
function applyNode(run: Run, node: NodeRef | undefined, range: Range): NodeRef | undefined {
  if (node === undefined) return plant(run, range);
  return node.top === LEAF ? applyLeaf(run, node, range) : branchOff(run, node, range);
}

/** Builds a subtree of the updates alone. */
function plant(run: Run, range: Range): NodeRef | undefined {
  const { from, to } = trim(run, range);
  if (from === to) return undefined;
  const { key, value } = updateAt(run.updates, from);
  if (to - from === 1 && value !== undefined) {
    const hash = stateLeafHash(run.sha256, key, value);
    return { top: LEAF, source: key, shift: 0, from: 0, hash };
  }
  const top = firstDifference(key, updateAt(run.updates, to - 1).key, run.shape);
  const depth = pageDepth(top, run.shape.pageBits);
  return applyPage(run, { depth, bytes: undefined, node: undefined }, { from, to });
}

function applyLeaf(run: Run, leaf: NodeRef, range: Range): NodeRef | undefined {
  const whole = wholeBits(run.shape);
  for (let i = range.from; i < range.to; i++) {
    if (differsAt(leaf, updateAt(run.updates, i).key, run.shape) < whole) continue;
    const next = plant(run, range);
    return equalBytes(next?.hash, leaf.hash) ? leaf : next;
  }
  return branchOff(run, leaf, trim(run, range));
}

/** Applies updates to a node that is there: in its own page, or in a new one above it. */
function branchOff(run: Run, node: NodeRef, range: Range): NodeRef | undefined {
  if (range.from === range.to) return node;
  const { shape, updates } = run;
  const { key } = updateAt(updates, range.from);
  // Updates are in order, so one of the outermost two leaves the node's path first.
  const leaves = Math.min(
    differsAt(node, key, shape),
    differsAt(node, updateAt(updates, range.to - 1).key, shape),
  );
  const depth = pageDepth(leaves, shape.pageBits);
  if (node.top === LEAF || depth < pageDepth(node.top, shape.pageBits)) {
    const moved = movedOut(node, key, shape);
    const next = applyPage(run, { depth, bytes: undefined, node: moved }, range);
    // Removals of keys that are not there lead here too, and leave the node as it was.
    return next === moved ? node : next;
  }
  const bytes = run.readPage(pageName(key, depth, shape.pageBits));
  if (bytes === undefined) throw missingPage(depth);
  return applyPage(run, { depth, bytes, node }, range);
}

/** Narrows a range until neither end is a removal. */
function trim(run: Run, range: Range): Range {
  const removes = (i: number): boolean => updateAt(run.updates, i).value === undefined;
  let { from, to } = range;
  while (from < to && removes(from)) from += 1;
  while (from < to && removes(to - 1)) to -= 1;
  return { from, to };
}

/** The same node with its path from byte 0, so that a page higher up can hold it. */
function movedOut(node: NodeRef, key: Uint8Array, shape: PageShape): NodeRef {
  if (node.from === 0) return node;
  return { ...node, source: nodePath(node, key, shape), shift: 0, from: 0 };
}

/** Updates by ascending key, the last one for each key. */
function inOrder(updates: readonly StateUpdate[], shape: PageShape): readonly StateUpdate[] {
  for (const { key, value } of updates) {
    checkKey(key);
    if (value !== undefined && value.length !== HASH_BYTES) {
      throw invalid("value", `${HASH_BYTES} bytes`, value);
    }
  }
  if (updates.length === 1) return updates;
  const kept: StateUpdate[] = [];
  // The sort is stable, so later updates of a key follow earlier ones.
  for (const update of updates.toSorted((a, b) => compareKeys(a.key, b.key))) {
    const last = kept.at(-1);
    if (last === undefined || firstDifference(last.key, update.key, shape) < wholeBits(shape)) {
      kept.push(update);
      continue;
    }
    if (compareKeys(last.key, update.key) !== 0) {
      throw invalid("key", `keys that differ in ${shape.significantBytes} bytes`, update.key);
    }
    kept[kept.length - 1] = update;
  }
  return kept;
}

function wholeBits(shape: PageShape): number {
  return shape.significantBytes * 8;
}

function updateAt(updates: readonly StateUpdate[], i: number): StateUpdate {
  const update = updates[i];
  if (update === undefined) throw new Error(`there is no update number ${i}`);
  return update;
}

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
