/**
 * The roots of a store at its current position, read from tiles and root pages in one batch.
 */
import type { Sha256 } from "../codec/hash.js";
import { CortexError } from "../errors.js";
import { entryLeaf, splitEntry } from "../journal/entry.js";
import { journalKey, keyString, tileKey } from "../kv/keyspace.js";
import type { KvSnapshot } from "../kv/kv.js";
import { logRoot, tilesForRoot } from "../merkle/log-tree.js";
import { overallRoot, type Roots } from "../merkle/overall-root.js";
import type { HeadRow } from "./head-row.js";
import { rootPageKey, treeRoot } from "./trees.js";

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
