/**
 * Putting the journal of a damaged store together again, from what is left of it and from others that
 * hold the same history.
 *
 * Promise: an entry is taken only if its parts have the hashes that its header names and its header is the
 * leaf that the damaged store's own tree has for that place; an entry of the store itself also where the
 * tree has lost its leaf. So nobody can slip another history in, and what one source lacks comes from the
 * next. Everything derived is then built by replaying: the store that comes out is what its journal
 * gives, with every stored snapshot's root seen to come out at its position.
 *
 * A journal with a gap is no journal: where one entry cannot be had, nothing is built, and the caller is
 * told which. Forgotten parts that an old backup still holds go again, when the forget is replayed.
 *
 * What is left is held in memory. Where it comes from is `kv/`'s affair; folders are `moves.ts`'s.
 */
import { HASH_BYTES, type Sha256 } from "../codec/hash.js";
import { equalBytes } from "../codec/keys.js";
import { CortexError, isCortexError } from "../errors.js";
import { checkManifest, withSnapshot } from "../history/build-beside.js";
import { headBytesAt } from "../history/compare-stores.js";
import { decodeAnyHeadRow } from "../history/head-row.js";
import { decodeManifest, type Manifest } from "../history/manifest.js";
import { checkedEntry, replay } from "../history/replay.js";
import { replicaRowOf } from "../history/replica-mark.js";
import { entryLeaf } from "../journal/entry.js";
import {
  getU64,
  journalKey,
  KEYSPACE,
  keyBytes,
  keyString,
  REPLICA_KEY,
  tileKey,
} from "../kv/keyspace.js";
import { type Bytes, HEAD_KEY, type Kv, type KvRow, type Salvaged } from "../kv/kv.js";
import { appendLeaves, TILE_HASHES } from "../merkle/log-tree.js";

/** What is left of a damaged store. */
export interface Remains {
  /** Entries by their seq, as they lie there. */
  readonly entries: ReadonlyMap<number, Bytes>;
  /** Leaves of the journal's tree, sixteen a tile, by the key of the tile. */
  readonly tiles: ReadonlyMap<string, Bytes>;
  /** Rows that are neither in the journal nor derived from it: snapshots, and the mark of a replica. */
  readonly kept: readonly KvRow[];
  /** Whether the store followed another; `undefined` where the page that would tell is gone. */
  readonly isReplica: boolean | undefined;
  readonly epoch: number;
  /** How many entries there were, as far as anything that is left can tell. */
  readonly size: number;
}

/** The journal of a store, put together. */
interface Mended {
  /** Every entry that was had, in order. */
  readonly rows: readonly Bytes[];
  /** How many of them came from elsewhere. */
  readonly taken: number;
  /** The entries that nobody has. */
  readonly lost: readonly number[];
}

/** Whether a row is of those that a repair wants. */
export function isWanted(key: Bytes): boolean {
  return WANTED.has(key[0] ?? -1);
}

const WANTED: ReadonlySet<number> = new Set(
  [KEYSPACE.head, KEYSPACE.journal, KEYSPACE.logTile, KEYSPACE.snapshot, KEYSPACE.replica].map(
    ({ byte }) => byte,
  ),
);

/** Sorts the rows that were read from the pages of a damaged store. */
export function remainsOf(sha256: Sha256, { rows, hides }: Salvaged): Remains {
  const entries = new Map<number, Bytes>();
  const tiles = new Map<string, Bytes>();
  const kept: KvRow[] = [];
  let size = 0;
  let epoch = 0;
  let isReplica: boolean | undefined = hides(REPLICA_KEY) ? undefined : false;
  for (const { key, value } of rows) {
    const [first] = key;
    if (first === KEYSPACE.journal.byte && key.length === 9) {
      entries.set(getU64(key, 1), value);
      size = Math.max(size, getU64(key, 1) + 1);
    } else if (first === KEYSPACE.logTile.byte) {
      tiles.set(keyString(key), value);
      if (key[1] !== 0) continue;
      const leaves = Math.floor(value.length / HASH_BYTES);
      size = Math.max(size, getU64(key, 2) * TILE_HASHES + leaves);
    } else if (key.length === 1 && first === HEAD_KEY[0]) {
      const head = readable(() => decodeAnyHeadRow(value));
      size = Math.max(size, head?.size ?? 0);
      epoch = Math.max(epoch, head?.epoch ?? 0);
    } else if (first === KEYSPACE.snapshot.byte) {
      const manifest = readable(() => decodeManifest(value));
      if (manifest === undefined) continue;
      kept.push({ key, value });
      size = Math.max(size, manifest.size);
      epoch = Math.max(epoch, manifest.epoch);
    } else if (first === KEYSPACE.replica.byte) {
      isReplica = true;
      kept.push(replicaRowOf(value));
    }
  }
  return { entries, tiles: agreeing(sha256, tiles), kept, isReplica, epoch, size };
}

/** The lowest tiles, less those that the level above contradicts: of such a pair nobody knows which is right. */
function agreeing(sha256: Sha256, tiles: ReadonlyMap<string, Bytes>): ReadonlyMap<string, Bytes> {
  const lowest = [...tiles].filter(([key]) => key.charCodeAt(1) === 0);
  return new Map(
    lowest.filter(([key, tile]) => {
      if (tile.length !== TILE_HASHES * HASH_BYTES) return true;
      const hashes = Array.from({ length: TILE_HASHES }, (_, at) => hashAt(tile, at) ?? tile);
      const above = appendLeaves(sha256, 0, () => undefined, hashes).tiles.at(-1)?.bytes;
      const index = getU64(keyBytes(key), 2);
      const parent = tiles.get(keyString(tileKey(1, Math.floor(index / TILE_HASHES))));
      const said = parent === undefined ? undefined : hashAt(parent, index % TILE_HASHES);
      return said === undefined || (above !== undefined && equalBytes(said, above));
    }),
  );
}

/** The same, where somebody who knows says whether the store followed another. */
export function withStanding(remains: Remains, was: "store" | "replica"): Remains {
  if (remains.isReplica !== undefined) return remains;
  const isReplica = was === "replica";
  const kept = isReplica ? [...remains.kept, replicaRowOf(undefined)] : remains.kept;
  return { ...remains, kept, isReplica };
}

function hashAt(tile: Bytes, at: number): Bytes | undefined {
  const hash = tile.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES);
  return hash.length === HASH_BYTES ? hash : undefined;
}

/** Puts the journal together; `sources` are asked in order for what is not left, or not sound. */
export async function mendJournal(
  sha256: Sha256,
  remains: Remains,
  sources: readonly Kv[],
): Promise<Mended> {
  const rows: Bytes[] = [];
  const lost: number[] = [];
  let taken = 0;
  let lastAt = -1;
  for (let seq = 0; seq < remains.size; seq += 1) {
    const leaf = leafOf(remains, seq);
    const own = soundAt(sha256, remains.entries.get(seq), { seq, leaf, lastAt });
    const found = own ?? (leaf && (await fromOthers(sha256, sources, { seq, leaf, lastAt })));
    if (found === undefined) {
      lost.push(seq);
      continue;
    }
    if (own === undefined) taken += 1;
    lastAt = found.at;
    rows.push(found.row);
  }
  return { rows, taken, lost };
}

/** An entry that is to be had: its place, the hash that it must have, the time before it. */
interface Wanted {
  readonly seq: number;
  readonly leaf: Bytes | undefined;
  readonly lastAt: number;
}

interface Sound {
  readonly row: Bytes;
  readonly at: number;
}

async function fromOthers(
  sha256: Sha256,
  sources: readonly Kv[],
  wanted: Wanted,
): Promise<Sound | undefined> {
  for (const source of sources) {
    const row = await withSnapshot(source, async (snapshot) => {
      const [value] = await snapshot.getMany([journalKey(wanted.seq)]);
      return value;
    });
    const sound = soundAt(sha256, row, wanted);
    if (sound !== undefined) return sound;
  }
  return undefined;
}

function leafOf({ tiles }: Remains, seq: number): Bytes | undefined {
  const tile = tiles.get(keyString(tileKey(0, Math.floor(seq / TILE_HASHES))));
  return tile === undefined ? undefined : hashAt(tile, seq % TILE_HASHES);
}

function soundAt(sha256: Sha256, row: Bytes | undefined, wanted: Wanted): Sound | undefined {
  if (row === undefined) return undefined;
  return readable(() => {
    const { header, headerBytes } = checkedEntry(sha256, row, wanted.seq, wanted.lastAt);
    const isLeaf =
      wanted.leaf === undefined || equalBytes(entryLeaf(sha256, headerBytes), wanted.leaf);
    return isLeaf ? { row, at: header.at } : undefined;
  });
}

/** What reading gives; `undefined` where the bytes make no sense. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isCortexError(error) || error instanceof TypeError || error instanceof RangeError) {
      return undefined;
    }
    throw error;
  }
}

/** Builds a store from a whole journal in an empty one, and keeps what is not derived. */
export async function buildMended(
  sha256: Sha256,
  target: Kv,
  remains: Remains,
  rows: readonly Bytes[],
  onProgress?: (done: number, total: number) => void,
): Promise<void> {
  const manifests: Manifest[] = remains.kept
    .filter(({ key }) => key[0] === KEYSPACE.snapshot.byte)
    .map(({ value }) => decodeManifest(value));
  await replay(target, each(rows), {
    sha256,
    epoch: remains.epoch,
    stops: manifests.map(({ size }) => size),
    onCommit: async (size) => {
      onProgress?.(size, rows.length);
      for (const manifest of manifests) {
        if (manifest.size === size) await checkManifest(sha256, target, manifest);
      }
    },
  });
  const head = await withSnapshot(target, headBytesAt);
  if (head === undefined || remains.kept.length === 0) return;
  const done = await target.commit({ expectHead: head, head, puts: remains.kept, deletes: [] });
  if (!done.ok)
    throw new CortexError("ERR_CONTENDED", "somebody writes into the store being built");
}

async function* each(rows: readonly Bytes[]): AsyncGenerator<Bytes> {
  yield* rows;
}
