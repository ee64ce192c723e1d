/**
 * Building a store from the journal of another, while others go on writing that one, and putting it
 * in its place.
 *
 * The journal is read in pages, each from a snapshot of its own, so nothing old is kept alive; the
 * last stretch is read from one snapshot, at whose position the two stores must agree. A forget that
 * lands meanwhile takes parts out of entries: rows read before it still have them, rows read after it
 * do not. That is no harm: pages are read in order of seq and of time, so of every subject a first
 * stretch of its parts is there and the rest is not; the forget itself comes later in the journal,
 * and folding it removes whatever was there. The result is the same rows, byte for byte.
 *
 * Taking over: catch up, make the writers wait, catch up with what came last, copy what the journal
 * does not hold, and move. A writer that got in between makes the move fail, and it starts over.
 *
 * Caches that come along: vectors always do, because making them again would ask a model, perhaps one that
 * has to be paid; so does the row that says which turns a model has distilled. What else is a cache comes
 * along in a vacuum, where nothing changes, and is left behind where everything derived is to be made again.
 * Vectors of erased memories stay behind, whoever failed to take them away: the new store says which
 * memories those are, and its file never holds their bytes. Every change of a model's rows changes its
 * cursor row (`records/vector-rows.ts`). So vectors that were carried before, while others still wrote, are
 * left alone when the cursor rows agree: writers wait for the last copy, and a hundred thousand vectors take
 * seconds to compare.
 */
import type { Sha256 } from "../codec/hash.js";
import { toHex } from "../codec/keys.js";
import { CortexError } from "../errors.js";
import {
  EXTRACT_QUEUE_KEY,
  idKey,
  journalKey,
  KEYSPACE,
  keyString,
  vectorKey,
} from "../kv/keyspace.js";
import {
  type Bytes,
  type Kv,
  type KvGeneration,
  type KvRow,
  type KvSnapshot,
  type KvSnapshotOptions,
  MOVED_HEAD_BYTE,
  sameBytes,
} from "../kv/kv.js";
import {
  decodeVectorMemory,
  encodeEmbedCursor,
  idOfKey,
  isEmbedCursorKey,
  type StoredModel,
  storedModels,
  storedModelsRange,
} from "../records/vector-rows.js";
import { alignRows, headBytesAt } from "./compare-stores.js";
import { decodeAnyHeadRow, decodeHeadRow, type HeadRow } from "./head-row.js";
import { type Manifest, manifestKey, readManifests } from "./manifest.js";
import { decodeMemoryRow } from "./pointers.js";
import { scan } from "./reader.js";
import { type ReplayOptions, replay } from "./replay.js";
import { journalRootAt, readRoots } from "./trees.js";

/** What building needs. */
export interface BuildParts {
  readonly kv: Kv;
  readonly sha256: Sha256;
  readonly onProgress?: (done: number, total: number) => void;
  /** Sees every entry before it is folded; may give another in its place. */
  readonly admit?: ReplayOptions["admit"];
  /** Whether the building counts under the next epoch, because its history may go another way. */
  readonly newEpoch?: boolean;
}

/** A store being built, and what was checked of it so far. */
export interface Building {
  readonly target: Kv;
  /** The snapshots whose root the journal was seen to give, by their keys. */
  readonly checked: Set<string>;
}

/** Where both stores stand. */
export interface Level {
  readonly head: HeadRow;
  readonly headBytes: Bytes | undefined;
  /** The root over everything, in hex, as the built store gives it. */
  readonly root: string;
}

/** How often a takeover starts over because somebody wrote in between. */
const TAKEOVERS = 1000;

/** Rows of the journal read from one snapshot. */
const PAGE_ROWS = 512;

/** Starts a building in an empty store. */
export function startBuilding(target: Kv): Building {
  return { target, checked: new Set() };
}

/** Replays what the target lacks, page by page; it ends near the end of the journal. */
export async function catchUp(parts: BuildParts, building: Building): Promise<void> {
  const { head, manifests } = await withSnapshot(parts.kv, async (snapshot) => ({
    head: decodeAnyHeadRow(await headBytesAt(snapshot)),
    manifests: await readManifests(snapshot),
  }));
  const from = (await headOf(building.target)).size;
  await replay(
    building.target,
    journalRows(parts.kv, from),
    replayOptions(parts, building, head, manifests),
  );
}

/** Brings the target to the very position of a snapshot of the source, snapshots included. */
export async function levelWith(
  parts: BuildParts,
  building: Building,
  source: KvSnapshot,
): Promise<Level> {
  const { target } = building;
  const headBytes = await headBytesAt(source);
  const head = decodeAnyHeadRow(headBytes);
  const manifests = await readManifests(source);
  const from = (await headOf(target)).size;
  const rows = rowsAt(source, from, head.size);
  await replay(target, rows, replayOptions(parts, building, head, manifests));
  await checkLate(parts.sha256, building, head, manifests);
  await alignRows(source, target, ["snapshot"]);
  const roots = await withSnapshot(target, (snapshot) => readRoots(parts.sha256, snapshot, head));
  return { head, headBytes, root: toHex(roots.overall) };
}

/**
 * Puts the building in the place of the store; see the file header. `carried` says which
 * caches come along; `finish` runs last, while everybody else waits. If it writes
 * into the building, there is one attempt only: `ERR_CONTENDED` then means to build anew.
 */
export async function takeOver(
  parts: BuildParts,
  generation: KvGeneration,
  building: Building,
  options: {
    readonly carried: CarriedCaches;
    readonly attempts?: number;
    readonly finish?: (level: Level, source: KvSnapshot) => Promise<void>;
  },
): Promise<Level> {
  const { attempts = TAKEOVERS, carried } = options;
  const carry = (source: KvSnapshot): Promise<void> =>
    carryCaches(source, building.target, carried);
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    await catchUp(parts, building);
    // Most of them before anybody has to wait.
    await withSnapshot(parts.kv, carry, { untilIdle: true });
    await generation.hold?.();
    const level = await withSnapshot(parts.kv, async (source) => {
      const reached = await levelWith(parts, building, source);
      await carry(source);
      await options.finish?.(reached, source);
      return reached;
    });
    const result = await generation.promote(level.headBytes, Uint8Array.of(MOVED_HEAD_BYTE));
    if (result.ok) return level;
  }
  throw new CortexError("ERR_CONTENDED", "writers moved the store on too often to take its place");
}

function replayOptions(
  parts: BuildParts,
  building: Building,
  head: HeadRow,
  manifests: readonly Manifest[],
): ReplayOptions {
  const { admit } = parts;
  return {
    sha256: parts.sha256,
    epoch: head.epoch + (parts.newEpoch === true ? 1 : 0),
    ...(admit === undefined ? {} : { admit }),
    stops: manifests.map(({ size }) => size),
    onCommit: async (size) => {
      parts.onProgress?.(size, Math.max(size, head.size));
      for (const manifest of manifests) {
        if (manifest.size !== size) continue;
        await checkManifest(parts.sha256, building.target, manifest);
        building.checked.add(keyOfManifest(manifest));
      }
    },
  };
}

/**
 * Checks the snapshots that were taken of positions the building had passed already: of the end as a
 * whole, of earlier ones the journal root, which all others follow from.
 */
export async function checkLate(
  sha256: Sha256,
  building: Building,
  head: HeadRow,
  manifests: readonly Manifest[],
): Promise<void> {
  const { target, checked } = building;
  for (const manifest of manifests) {
    if (checked.has(keyOfManifest(manifest))) continue;
    if (manifest.size === head.size) await checkManifest(sha256, target, manifest);
    else if (manifest.size > head.size) throw beyondTheEnd(manifest);
    else {
      const root = await withSnapshot(target, (s) => journalRootAt(sha256, s, manifest.size));
      requireRoot(manifest, manifest.roots.journal, root);
    }
    checked.add(keyOfManifest(manifest));
  }
}

/** Numbers may repeat; keys do not. */
function keyOfManifest(manifest: Manifest): string {
  return keyString(manifestKey(manifest));
}

/** Checks that a store stands where a snapshot was taken, with the root it names. */
export async function checkManifest(
  sha256: Sha256,
  target: Kv,
  manifest: Pick<Manifest, "size" | "overall" | "number">,
): Promise<void> {
  const overall = await withSnapshot(target, async (snapshot) => {
    const head = decodeHeadRow(await headBytesAt(snapshot));
    return (await readRoots(sha256, snapshot, head)).overall;
  });
  requireRoot(manifest, manifest.overall, overall);
}

function requireRoot(
  manifest: Pick<Manifest, "size" | "number">,
  expected: Uint8Array,
  got: Uint8Array,
): void {
  if (keyString(expected) === keyString(got)) return;
  const seq = manifest.size - 1;
  throw new CortexError(
    "ERR_ROOT_MISMATCH",
    `snapshot ${manifest.number} at seq ${seq}: expected root ${toHex(expected)}, the journal gives ${toHex(got)}`,
    { seq, expected: toHex(expected), got: toHex(got) },
  );
}

function beyondTheEnd({ number, size }: Manifest): CortexError {
  return new CortexError(
    "ERR_ROLLED_BACK",
    `snapshot ${number} was taken at seq ${size - 1}, which the journal does not reach`,
    { seq: size - 1 },
  );
}

/** The rows of the journal from `from` on, in order; a missing one stops with its seq. */
async function* journalRows(source: Kv, from: number): AsyncGenerator<Bytes> {
  for (let seq = from; ; ) {
    const { rows, size } = await withSnapshot(source, async (snapshot) => {
      const head = decodeAnyHeadRow(await headBytesAt(snapshot));
      const end = Math.min(seq + PAGE_ROWS, head.size);
      return { rows: await journalPage(snapshot, seq, end), size: head.size };
    });
    yield* rows;
    seq += rows.length;
    if (seq >= size) return;
  }
}

/** The rows of the journal from `from` up to `to`, all from one snapshot. */
export async function* rowsAt(
  snapshot: KvSnapshot,
  from: number,
  to: number,
): AsyncGenerator<Bytes> {
  for (let seq = from; seq < to; seq += PAGE_ROWS) {
    yield* await journalPage(snapshot, seq, Math.min(seq + PAGE_ROWS, to));
  }
}

async function journalPage(
  snapshot: KvSnapshot,
  from: number,
  to: number,
): Promise<readonly Bytes[]> {
  if (from >= to) return [];
  const range = { gte: journalKey(from), lt: journalKey(to), limit: to - from };
  const [rows = []] = await snapshot.ranges([range]);
  if (rows.length === to - from) return rows.map(({ value }) => value);
  const missing = rows.findIndex(
    ({ key }, at) => keyString(key) !== keyString(journalKey(from + at)),
  );
  const seq = from + (missing < 0 ? rows.length : missing);
  throw new CortexError("ERR_JOURNAL_GAP", `journal entry ${seq} is missing`, { seq });
}

/** Where a store stands. */
export async function headOf(kv: Kv): Promise<HeadRow> {
  return decodeAnyHeadRow(await withSnapshot(kv, headBytesAt));
}

/** Opens a snapshot for one step and closes it. */
export async function withSnapshot<T>(
  kv: Pick<Kv, "snapshot">,
  use: (snapshot: KvSnapshot) => Promise<T>,
  options: KvSnapshotOptions = {},
): Promise<T> {
  const snapshot = await kv.snapshot(options);
  try {
    return await use(snapshot);
  } finally {
    snapshot.close();
  }
}

/** Which caches come along. */
type CarriedCaches = "all" | "vectors";

/** Makes the caches of a store that is being built equal to those of its source; see the header. */
async function carryCaches(source: KvSnapshot, target: Kv, carried: CarriedCaches): Promise<void> {
  const [rows = []] = await source.ranges([storedModelsRange()]);
  const models = storedModels(rows);
  const built = await target.snapshot();
  try {
    const isDone = await agrees(built, rows);
    const dead = isDone ? NOTHING : await deadVectors(source, built, models);
    await alignRows(source, target, ["cache"], {
      skip: isDone ? VECTOR_PREFIXES : [],
      rowOf: (row) => carriedRow(row, carried, dead),
    });
  } finally {
    built.close();
  }
}

const VECTOR_PREFIXES = [KEYSPACE.vector, KEYSPACE.vectorMemory, KEYSPACE.vectorOwner].map(
  ({ byte }) => byte,
);

/** Whether the target has the very cursor rows of the source. */
async function agrees(built: KvSnapshot, rows: readonly KvRow[]): Promise<boolean> {
  const [own = []] = await built.ranges([storedModelsRange()]);
  const nameOf = ({ key, value }: KvRow): string => `${keyString(key)}=${keyString(value)}`;
  return (
    own.length === rows.length && own.every((row, at) => nameOf(row) === nameOf(rows[at] ?? row))
  );
}

/** What must stay behind: keys without their prefix byte, and cursor rows that count otherwise. */
interface Dead {
  readonly memories: ReadonlySet<string>;
  readonly owners: ReadonlySet<string>;
  readonly vectors: ReadonlySet<string>;
  readonly cursors: ReadonlyMap<string, Bytes>;
}

const NOTHING: Dead = {
  memories: new Set(),
  owners: new Set(),
  vectors: new Set(),
  cursors: new Map(),
};

/** The vectors of memories that are erased in the store being built. */
async function deadVectors(
  source: KvSnapshot,
  built: KvSnapshot,
  models: readonly StoredModel[],
): Promise<Dead> {
  const dead = {
    memories: new Set<string>(),
    owners: new Set<string>(),
    vectors: new Set<string>(),
    cursors: new Map<string, Bytes>(),
  };
  for (const model of models) {
    const gone = await goneMemories(source, built, model.tag);
    if (gone.length === 0) continue;
    for (const { key, value } of gone) {
      const { hash } = decodeVectorMemory(value);
      dead.memories.add(nameOf(key));
      dead.owners.add(nameOf(vectorKey("vectorOwner", model.tag, hash, idOfKey(key))));
    }
    for (const { value } of gone) {
      const { hash } = decodeVectorMemory(value);
      const isShared = await hasOtherOwner(source, model.tag, hash, dead.owners);
      if (!isShared) dead.vectors.add(nameOf(vectorKey("vector", model.tag, hash)));
    }
    const memories = model.cursor.memories - gone.length;
    const cursor = encodeEmbedCursor({ ...model.cursor, memories });
    dead.cursors.set(keyString(model.row.key), cursor);
  }
  return dead;
}

async function goneMemories(
  source: KvSnapshot,
  built: KvSnapshot,
  tag: Bytes,
): Promise<readonly KvRow[]> {
  const gone: KvRow[] = [];
  let page: KvRow[] = [];
  const look = async (): Promise<void> => {
    const rows = await built.getMany(page.map(({ key }) => idKey("memory", idOfKey(key))));
    for (const [at, own] of page.entries()) {
      const row = rows[at];
      if (row === undefined || decodeMemoryRow(row).lifecycle === "erased") gone.push(own);
    }
    page = [];
  };
  for await (const row of scan(source, vectorKey("vectorMemory", tag))) {
    page.push(row);
    if (page.length >= 1000) await look();
  }
  if (page.length > 0) await look();
  return gone;
}

async function hasOtherOwner(
  source: KvSnapshot,
  tag: Bytes,
  hash: Bytes,
  deadOwners: ReadonlySet<string>,
): Promise<boolean> {
  for await (const { key } of scan(source, vectorKey("vectorOwner", tag, hash), 100)) {
    if (!deadOwners.has(nameOf(key))) return true;
  }
  return false;
}

/** A key without its first byte, which says only which of the sets it belongs to. */
function nameOf(key: Bytes): string {
  return keyString(key.subarray(1));
}

/** Whether a cursor says what a model was asked already: without it, it would be asked again. */
function isPaidFor(key: Bytes): boolean {
  return isEmbedCursorKey(key) || sameBytes(key, EXTRACT_QUEUE_KEY);
}

/** The row as it comes along; `undefined` when it stays behind. */
function carriedRow(row: KvRow, carried: CarriedCaches, dead: Dead): KvRow | undefined {
  switch (row.key[0]) {
    case KEYSPACE.vectorMemory.byte:
      return dead.memories.has(nameOf(row.key)) ? undefined : row;
    case KEYSPACE.vectorOwner.byte:
      return dead.owners.has(nameOf(row.key)) ? undefined : row;
    case KEYSPACE.vector.byte:
      return dead.vectors.has(nameOf(row.key)) ? undefined : row;
    default: {
      const value = dead.cursors.get(keyString(row.key));
      if (value !== undefined) return { key: row.key, value };
      return carried === "all" || isPaidFor(row.key) ? row : undefined;
    }
  }
}
