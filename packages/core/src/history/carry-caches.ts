/**
 * Caches that come along when a store is written anew.
 *
 * Vectors always do: making them again would ask a model, perhaps one that has to be paid; so does the row
 * that says which turns a model has distilled. What else
 * is a cache comes along in a vacuum, where nothing changes, and is left behind where everything
 * derived is to be made again. Vectors of erased memories stay behind, whoever failed to take them
 * away: the new store says which memories those are, and its file never holds their bytes.
 *
 * Every change of a model's rows changes its cursor row (`records/vector-rows.ts`). So vectors that were
 * carried before, while others still wrote, are left alone when the cursor rows agree: writers wait for
 * the last copy, and a hundred thousand vectors take seconds to compare.
 */
import { EXTRACT_QUEUE_KEY, idKey, KEYSPACE, keyString, vectorKey } from "../kv/keyspace.js";
import { type Bytes, type Kv, type KvRow, type KvSnapshot, sameBytes } from "../kv/kv.js";
import {
  decodeVectorMemory,
  encodeEmbedCursor,
  idOfKey,
  isEmbedCursorKey,
  type StoredModel,
  storedModels,
  storedModelsRange,
} from "../records/vector-rows.js";
import { alignRows } from "./compare-stores.js";
import { decodeMemoryRow } from "./pointers.js";
import { scan } from "./reader.js";

/** Which caches come along. */
export type CarriedCaches = "all" | "vectors";

/** Makes the caches of a store that is being built equal to those of its source; see the header. */
export async function carryCaches(
  source: KvSnapshot,
  target: Kv,
  carried: CarriedCaches,
): Promise<void> {
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
