/**
 * The commitments as rows: tiles of the journal tree, pages of the two state trees, and the roots over them.
 *
 * The algorithms are pure and live in `merkle/`; this file says which rows they need, hands them
 * over, and puts what they give back. A commit updates each tree once, however many entries it holds
 * (`commit.ts`). The roots of a store at its current position are read from tiles and root pages in one batch.
 */
import type { Sha256 } from "../codec/hash.js";
import { CortexError } from "../errors.js";
import { entryLeaf, splitEntry } from "../journal/entry.js";
import { journalKey, keyString, pageKey, tileKey } from "../kv/keyspace.js";
import type { Bytes, KvSnapshot } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { appendLeaves, logRoot, tilesForAppend, tilesForRoot } from "../merkle/log-tree.js";
import { overallRoot, type Roots } from "../merkle/state-keys.js";
import { candidatePages } from "../merkle/state-page.js";
import { stateRoot, unknownPages, updateState } from "../merkle/state-tree.js";
import type { LeafChanges, TreeName } from "./fold-state.js";
import type { HeadRow } from "./head-row.js";
import type { WriteView } from "./write-view.js";

/** Keys of `memories` differ in the id, their first 16 bytes; keys of `edges` may not. */
export const SIGNIFICANT_BYTES: Readonly<Record<TreeName, number>> = { memories: 16, edges: 32 };

/** The trees in the order their roots are hashed: by name. */
export const TREES: readonly TreeName[] = ["edges", "memories"];

/**
 * Up to so many leaves, which is more than a batch changes, all pages that may lie on their ways are named
 * at once: one read, and most of the names are of no page. Beyond, names alone would be the most work of a
 * commit (28 for each of 20,000 links of one memory), so reading goes in rounds, each a few pages down.
 */
const LEAVES_AT_ONCE = LIMITS.batchItems;
const PAGES_A_ROUND = 3;

/** A leaf by its tree and key. */
export interface LeafRef {
  readonly tree: TreeName;
  readonly key: Bytes;
}

/** Rows of all pages that may lie on the way to the given leaves and are not in the view. */
export function likelyPages(leaves: readonly LeafRef[], view: WriteView): Bytes[] {
  if (leaves.length === 0) return [];
  return TREES.flatMap((tree) => {
    const keys = leaves.filter((leaf) => leaf.tree === tree).map((leaf) => leaf.key);
    return missingPages(tree, keys, view);
  });
}

/** Reads one row of the store at once. */
export type ReadNow = (key: Bytes) => Bytes | undefined;

/** A row of a tree: one that is not loaded is read now, or thrown as `Unread` where that would mean to wait. */
function treeRow(view: WriteView, key: Bytes, readNow: ReadNow | undefined): Bytes | undefined {
  if (readNow !== undefined && !view.has(key)) view.load([key], [readNow(key)]);
  return view.get(key);
}

/**
 * Rows that `appendTiles` and `updateTrees` will want and the view does not have; where leaves are very
 * many, more may be missing once these are read.
 */
export function missingRows(leaves: LeafChanges, view: WriteView, size: number): Bytes[] {
  const tiles = tilesForAppend(size)
    .map(({ level, index }) => tileKey(level, index))
    .filter((key) => !view.has(key));
  const pages = TREES.flatMap((tree) =>
    missingPages(
      tree,
      leaves.of(tree).map(({ key }) => key),
      view,
    ),
  );
  return [...tiles, ...pages];
}

function missingPages(tree: TreeName, keys: readonly Bytes[], view: WriteView): Bytes[] {
  if (keys.length === 0) return [];
  const names = unknownPages({
    significantBytes: SIGNIFICANT_BYTES[tree],
    keys,
    ...(keys.length > LEAVES_AT_ONCE ? { lookAheadPages: PAGES_A_ROUND } : {}),
    known: (name) => {
      const key = pageKey(tree, name);
      return view.has(key) ? (view.get(key) ?? "absent") : "unknown";
    },
  });
  return names.map((name) => pageKey(tree, name)).filter((key) => !view.has(key));
}

/** Appends the leaves of new entries to the journal tree. Done twice, it leaves the same. */
export function appendTiles(
  sha256: Sha256,
  view: WriteView,
  { size, leafHashes }: { readonly size: number; readonly leafHashes: readonly Uint8Array[] },
  readNow?: ReadNow,
): void {
  const readTile = (level: number, index: number) => treeRow(view, tileKey(level, index), readNow);
  const { tiles } = appendLeaves(sha256, size, readTile, leafHashes);
  for (const { level, index, bytes } of tiles) view.put(tileKey(level, index), bytes);
}

/**
 * Updates both state trees from the leaves a commit changes. Done twice, it leaves the same. Pages are read as each names
 * the next: nothing is read that is not there. Naming whatever might be took 50 rows for an edge, and their
 * absences drove pages out of the cache.
 */
export function updateTrees(
  sha256: Sha256,
  view: WriteView,
  leaves: LeafChanges,
  readNow?: ReadNow,
): void {
  for (const tree of TREES) {
    const updates = leaves.of(tree);
    if (updates.length === 0) continue;
    const { pages } = updateState({
      sha256,
      significantBytes: SIGNIFICANT_BYTES[tree],
      readPage: (name) => treeRow(view, pageKey(tree, name), readNow),
      updates,
    });
    for (const { name, bytes } of pages) {
      const key = pageKey(tree, name);
      if (bytes === undefined) view.delete(key);
      else view.put(key, bytes);
    }
  }
}

/** The row of a tree's root page. */
export function rootPageKey(tree: TreeName): Bytes {
  const [root] = candidatePages(new Uint8Array(32), SIGNIFICANT_BYTES[tree]);
  return pageKey(tree, root ?? new Uint8Array(0));
}

/** The root of a state tree from the row of its root page. */
export function treeRoot(sha256: Sha256, tree: TreeName, page: Bytes | undefined): Uint8Array {
  return stateRoot(sha256, page, SIGNIFICANT_BYTES[tree]);
}

/** The roots and the one root over them. */
export interface StoreRoots extends Roots {
  readonly overall: Uint8Array;
  /** Number of entries the journal root covers. */
  readonly size: number;
}

/** Computes the roots that a snapshot of the store commits to. */
export async function readRoots(
  sha256: Sha256,
  snapshot: Pick<KvSnapshot, "getMany">,
  head: HeadRow,
): Promise<StoreRoots> {
  const tiles = tilesForRoot(head.size).map(({ level, index }) => tileKey(level, index));
  const [genesisRow, edgesPage, memoriesPage, ...tileRows] = await snapshot.getMany([
    journalKey(0),
    rootPageKey("edges"),
    rootPageKey("memories"),
    ...tiles,
  ]);
  if (genesisRow === undefined) {
    throw new CortexError("ERR_JOURNAL_GAP", "journal entry 0 is missing", { seq: 0 });
  }
  const byKey = new Map(tiles.map((key, at) => [keyString(key), tileRows[at]]));
  const roots: Roots = {
    genesis: entryLeaf(sha256, splitEntry(genesisRow).headerBytes),
    journal: logRoot(sha256, head.size, (level, index) =>
      byKey.get(keyString(tileKey(level, index))),
    ),
    trees: {
      edges: treeRoot(sha256, "edges", edgesPage),
      memories: treeRoot(sha256, "memories", memoriesPage),
    },
  };
  return { ...roots, overall: overallRoot(sha256, roots), size: head.size };
}

/** The root of the journal's first `size` entries; the store must have at least so many. */
export async function journalRootAt(
  sha256: Sha256,
  snapshot: Pick<KvSnapshot, "getMany">,
  size: number,
): Promise<Uint8Array> {
  const keys = tilesForRoot(size).map(({ level, index }) => tileKey(level, index));
  const rows = keys.length === 0 ? [] : await snapshot.getMany(keys);
  const byKey = new Map(keys.map((key, at) => [keyString(key), rows[at]]));
  return logRoot(sha256, size, (level, index) => byKey.get(keyString(tileKey(level, index))));
}
