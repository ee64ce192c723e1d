/**
 * Building the log tree of RFC 9162 §2.1 over the journal: appending leaves, the root of any size
 * reached so far, inclusion and consistency proofs. Pure: hashes come from tiles the caller loaded.
 *
 * Storage shape: tile (level L, index i) is the concatenation of hashes number 16i .. 16i+15 of
 * level L, where hash number k of level L is the root of the perfect subtree over the 16^L leaves
 * from k·16^L on. A tile only ever grows at its end, and the last of a level may be partial, so
 * tiles of a longer log serve every shorter one.
 *
 * Promises: each `tilesFor…` names exactly the tiles its partner reads (`tilesForAppend` those it may
 * read), O(log n) of them, before anything is read; an append changes each tile at most once.
 * Checking is `log-proof.ts`; where tiles are kept is the caller's affair.
 */
import { HASH_BYTES, logNodeHash, type Sha256 } from "../codec/hash.js";
import { cutBytes } from "../codec/slab.js";
import { CortexError, invalid } from "../errors.js";

/** Names one tile. */
export interface TileRef {
  readonly level: number;
  readonly index: number;
}

/** A tile with its bytes: 1 to 16 hashes. */
export interface Tile extends TileRef {
  readonly bytes: Uint8Array;
}

/** Gives a loaded tile, `undefined` when there is none. */
export type TileReader = (level: number, index: number) => Uint8Array | undefined;

/** Hashes in a full tile. */
export const TILE_HASHES = 16;
/** Binary levels of the tree that one level of tiles spans. */
const TILE_HEIGHT = 4;

/** The partial tiles that appending to a log of `size` leaves goes on from. */
export function tilesForAppend(size: number): TileRef[] {
  checkSize("size", size);
  const tiles: TileRef[] = [];
  for (let level = 0, rest = size; rest > 0; level++, rest = Math.floor(rest / TILE_HASHES)) {
    if (rest % TILE_HASHES !== 0) tiles.push({ level, index: Math.floor(rest / TILE_HASHES) });
  }
  return tiles;
}

/** Appends leaf hashes to a log of `size` leaves; gives the new size and the changed tiles. */
export function appendLeaves(
  sha256: Sha256,
  size: number,
  readTile: TileReader,
  leafHashes: readonly Uint8Array[],
): { readonly size: number; readonly tiles: Tile[] } {
  checkSize("size + leafHashes", size + leafHashes.length);
  const open = new Map<number, { index: number; count: number; bytes: Uint8Array }>();
  /** Tiles to go on from, until a hash comes for them: most often it is one of several. */
  const partial = new Map(tilesForAppend(size).map(({ level, index }) => [level, index]));
  let pushed = size;
  const changed = new Set<number>();
  const tiles: Tile[] = [];

  const push = (level: number, hash: Uint8Array): void => {
    let tile = open.get(level);
    if (tile === undefined) {
      const begun = partial.get(level);
      const index = begun ?? Math.floor(pushed / TILE_HASHES ** (level + 1));
      const count = begun === undefined ? 0 : Math.floor(size / TILE_HASHES ** level) % TILE_HASHES;
      const bytes = cutBytes(TILE_HASHES * HASH_BYTES);
      if (begun !== undefined) bytes.set(tileHashes(readTile, { level, index }, 0, count));
      partial.delete(level);
      tile = { index, count, bytes };
      open.set(level, tile);
    }
    tile.bytes.set(hash, tile.count * HASH_BYTES);
    tile.count += 1;
    changed.add(level);
    if (tile.count < TILE_HASHES) return;
    tiles.push({ level, index: tile.index, bytes: tile.bytes });
    open.delete(level);
    changed.delete(level);
    push(level + 1, perfectRoot(sha256, tile.bytes));
  };

  for (const [position, hash] of leafHashes.entries()) {
    if (hash.length !== HASH_BYTES) throw invalid(`leafHashes[${position}]`, "32 bytes", hash);
    push(0, hash);
    pushed += 1;
  }
  for (const level of changed) {
    const tile = open.get(level);
    if (tile === undefined) throw new Error("a changed tile is neither full nor open");
    const bytes = tile.bytes.subarray(0, tile.count * HASH_BYTES);
    tiles.push({ level, index: tile.index, bytes });
  }
  return { size: pushed, tiles: tiles.sort(byPlace) };
}

/** The tiles that `logRoot` reads. */
export function tilesForRoot(size: number): TileRef[] {
  checkSize("size", size);
  return tilesOf([{ start: 0, end: size }]);
}

/** The root over the first `size` leaves; of none, the hash of nothing. */
export function logRoot(sha256: Sha256, size: number, readTile: TileReader): Uint8Array {
  checkSize("size", size);
  if (size === 0) return sha256(new Uint8Array(0));
  return spanHash(sha256, readTile, { start: 0, end: size });
}

/** The path of the leaf at `index` in the log of the first `size` leaves, from the leaf upward. */
export function inclusionProof(
  sha256: Sha256,
  size: number,
  index: number,
  readTile: TileReader,
): Uint8Array[] {
  return inclusionSpans(size, index).map((span) => spanHash(sha256, readTile, span));
}

/** The tiles that `inclusionProofs` reads, each once. Precondition: 0 <= index < size of each. */
export function tilesForInclusions(size: number, indexes: readonly number[]): TileRef[] {
  return tilesOf(indexes.flatMap((index) => inclusionSpans(size, index)));
}

/** The paths of many leaves at one size; a hash that several paths need is computed once. */
export function inclusionProofs(
  sha256: Sha256,
  size: number,
  indexes: readonly number[],
  readTile: TileReader,
): Uint8Array[][] {
  const seen = new Map<string, Uint8Array>();
  const once = (span: Span): Uint8Array => {
    const key = `${span.start}-${span.end}`;
    const hash = seen.get(key) ?? spanHash(sha256, readTile, span);
    seen.set(key, hash);
    return hash;
  };
  return indexes.map((index) => inclusionSpans(size, index).map(once));
}

/** The tiles that `consistencyProof` reads. Precondition: 0 <= oldSize <= newSize. */
export function tilesForConsistency(oldSize: number, newSize: number): TileRef[] {
  return tilesOf(consistencySpans(oldSize, newSize));
}

/** The proof that the first `oldSize` leaves are a prefix of the first `newSize`. */
export function consistencyProof(
  sha256: Sha256,
  oldSize: number,
  newSize: number,
  readTile: TileReader,
): Uint8Array[] {
  return consistencySpans(oldSize, newSize).map((span) => spanHash(sha256, readTile, span));
}

/**
 * The leaves from `start` up to but not including `end`, as a subtree of the log: `start` is a
 * multiple of a power of two not below the length.
 */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** A perfect subtree: number `index` among those of 2^height leaves. */
interface Perfect {
  readonly height: number;
  readonly index: number;
}

/** PATH of RFC 9162 §2.1.3.1, as spans: halve towards the leaf, keep the half left aside. */
function inclusionSpans(size: number, index: number): Span[] {
  checkSize("size", size);
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) {
    throw invalid("index", `an integer from 0 to ${size - 1}`, index);
  }
  const spans: Span[] = [];
  let start = 0;
  let end = size;
  while (end - start > 1) {
    const middle = start + splitOf(end - start);
    if (index < middle) {
      spans.push({ start: middle, end });
      end = middle;
    } else {
      spans.push({ start, end: middle });
      start = middle;
    }
  }
  return spans.reverse();
}

/** PROOF of RFC 9162 §2.1.4.1, as spans: halve towards the end of the old log. */
function consistencySpans(oldSize: number, newSize: number): Span[] {
  checkSize("newSize", newSize);
  if (!Number.isSafeInteger(oldSize) || oldSize < 0 || oldSize > newSize) {
    throw invalid("oldSize", `an integer from 0 to ${newSize}`, oldSize);
  }
  if (oldSize === 0) return [];
  const spans: Span[] = [];
  let start = 0;
  let end = newSize;
  while (oldSize < end) {
    const middle = start + splitOf(end - start);
    if (oldSize <= middle) {
      spans.push({ start: middle, end });
      end = middle;
    } else {
      spans.push({ start, end: middle });
      start = middle;
    }
  }
  // A subtree that is not the whole old log is unknown to the verifier, so it is named.
  if (start > 0) spans.push({ start, end });
  return spans.reverse();
}

/** The perfect subtrees a span consists of, largest first. */
function perfectsOf({ start, end }: Span): Perfect[] {
  const parts: Perfect[] = [];
  let height = 0;
  while (2 ** (height + 1) <= end - start) height += 1;
  for (let at = start; at < end; height--) {
    const leaves = 2 ** height;
    if (leaves > end - at) continue;
    parts.push({ height, index: at / leaves });
    at += leaves;
  }
  return parts;
}

/** The tile that holds a perfect subtree, and which of its hashes make it up. */
function placeOf({ height, index }: Perfect): TileRef & { from: number; count: number } {
  const count = 2 ** (height % TILE_HEIGHT);
  const first = index * count;
  return {
    level: Math.floor(height / TILE_HEIGHT),
    index: Math.floor(first / TILE_HASHES),
    from: first % TILE_HASHES,
    count,
  };
}

function tilesOf(spans: readonly Span[]): TileRef[] {
  const tiles = new Map<string, TileRef>();
  for (const part of spans.flatMap(perfectsOf)) {
    const { level, index } = placeOf(part);
    tiles.set(tileKey({ level, index }), { level, index });
  }
  return [...tiles.values()].sort(byPlace);
}

function spanHash(sha256: Sha256, readTile: TileReader, span: Span): Uint8Array {
  return perfectsOf(span)
    .map((part) => {
      const place = placeOf(part);
      return perfectRoot(sha256, tileHashes(readTile, place, place.from, place.count));
    })
    .reduceRight((right, left) => logNodeHash(sha256, left, right));
}

/** The root over 2^k concatenated hashes. */
function perfectRoot(sha256: Sha256, hashes: Uint8Array): Uint8Array {
  if (hashes.length === HASH_BYTES) return new Uint8Array(hashes);
  return foldHashes(sha256, hashes, 0, hashes.length);
}

/** The root over the hashes in `hashes[from..to)`; of one, a view of it. */
function foldHashes(sha256: Sha256, hashes: Uint8Array, from: number, to: number): Uint8Array {
  if (to - from === HASH_BYTES) return hashes.subarray(from, to);
  const middle = (from + to) / 2;
  const left = foldHashes(sha256, hashes, from, middle);
  return logNodeHash(sha256, left, foldHashes(sha256, hashes, middle, to));
}

function tileHashes(readTile: TileReader, tile: TileRef, from: number, count: number): Uint8Array {
  const bytes = readTile(tile.level, tile.index);
  const end = (from + count) * HASH_BYTES;
  if (bytes === undefined || bytes.length < end || bytes.length % HASH_BYTES !== 0) {
    throw new CortexError(
      "ERR_CORRUPT",
      `log tile ${tile.level}/${tile.index}: expected at least ${end} bytes in whole hashes, ` +
        `got ${bytes?.length ?? "none"}`,
      { subject: `log tile ${tile.level}/${tile.index}` },
    );
  }
  return bytes.subarray(from * HASH_BYTES, end);
}

/** The largest power of two below `count`; `count` >= 2. */
function splitOf(count: number): number {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
}

function checkSize(field: string, size: number): void {
  if (Number.isSafeInteger(size) && size >= 0) return;
  throw invalid(field, "an integer from 0 to 2^53-1", size);
}

function tileKey({ level, index }: TileRef): string {
  return `${level}/${index}`;
}

function byPlace(a: TileRef, b: TileRef): number {
  return a.level - b.level || a.index - b.index;
}
