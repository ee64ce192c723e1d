/**
 * The commitments as rows: tiles of the journal tree, pages of the two state trees.
 *
 * The algorithms are pure and live in `merkle/`; this file says which rows they need, hands them
 * over, and puts what they give back. A commit updates each tree once, however many entries it holds.
 */
import type { Sha256 } from "../codec/hash.js";
import { pageKey, tileKey } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { appendLeaves, tilesForAppend } from "../merkle/log-tree.js";
import { candidatePages } from "../merkle/state-page.js";
import { unknownPages } from "../merkle/state-reads.js";
import { stateRoot, updateState } from "../merkle/state-tree.js";
import type { LeafChanges, TreeName } from "./fold-state.js";
import type { WriteView } from "./write-view.js";

/** Keys of `memories` differ in the id, their first 16 bytes; keys of `edges` may not. */
export const SIGNIFICANT_BYTES: Readonly<Record<TreeName, number>> = { memories: 16, edges: 32 };

/** The trees in the order their roots are hashed: by name. */
export const TREES: readonly TreeName[] = ["edges", "memories"];

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

/** Rows that `appendTiles` and `updateTrees` will want and the view does not have. */
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
    known: (name) => {
      const key = pageKey(tree, name);
      if (!view.has(key)) return "unknown";
      return view.get(key) ?? "absent";
    },
  });
  return names.map((name) => pageKey(tree, name)).filter((key) => !view.has(key));
}

/** Appends the leaves of new entries to the journal tree. */
export function appendTiles(
  sha256: Sha256,
  view: WriteView,
  size: number,
  leafHashes: readonly Uint8Array[],
): void {
  const readTile = (level: number, index: number) => view.get(tileKey(level, index));
  const { tiles } = appendLeaves(sha256, size, readTile, leafHashes);
  for (const { level, index, bytes } of tiles) view.put(tileKey(level, index), bytes);
}

/** Updates both state trees from the leaves a commit changes. */
export function updateTrees(sha256: Sha256, view: WriteView, leaves: LeafChanges): void {
  for (const tree of TREES) {
    const updates = leaves.of(tree);
    if (updates.length === 0) continue;
    const { pages } = updateState({
      sha256,
      significantBytes: SIGNIFICANT_BYTES[tree],
      readPage: (name) => view.get(pageKey(tree, name)),
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
