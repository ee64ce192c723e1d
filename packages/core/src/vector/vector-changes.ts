/**
 * Changes of the rows that keep vectors, each computed from one snapshot: which memory gets which
 * text, which loses its own, and which vectors nobody needs any more.
 *
 * Promise: a vector is there exactly as long as a memory owns it. A plan holds only if the cursor row
 * of its model is still the one of the snapshot, so whoever commits it expects that row and plans
 * anew when the race is lost.
 */
import { CortexError } from "../errors.js";
import { withSnapshot } from "../history/build-beside.js";
import { keyString, prefixRange, vectorKey } from "../kv/keyspace.js";
import type { Bytes, Kv, KvCacheCommit, KvRow, KvSnapshot } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import {
  decodeVectorMemory,
  type EmbedCursor,
  encodeEmbedCursor,
  encodeVector,
  encodeVectorMemory,
  idOfKey,
  type StoredModel,
  storedModels,
  storedModelsRange,
  type VectorMemory,
} from "../records/vector-rows.js";

/** What shall become of one memory: the text it has now, or nothing. An id is named once. */
export interface VectorChange {
  readonly id: Bytes;
  readonly to: VectorMemory | undefined;
}

/** The rows of a change. */
interface VectorPlan extends Pick<KvCacheCommit, "puts" | "deletes"> {
  /** Memories with a vector that the change adds; negative when it takes some away. */
  readonly memories: number;
}

/** Plans changes of one model's rows; `vectors` are those not stored yet, by the hash of the text. */
export async function planVectors(
  snapshot: KvSnapshot,
  tag: Bytes,
  changes: readonly VectorChange[],
  vectors: ReadonlyMap<string, Float32Array>,
): Promise<VectorPlan> {
  const keys = changes.map(({ id }) => vectorKey("vectorMemory", tag, id));
  const rows = await snapshot.getMany(keys);
  const puts: KvRow[] = [];
  const deletes: Bytes[] = [];
  const left = new Map<string, Bytes[]>();
  const entered = new Map<string, Bytes>();
  let memories = 0;
  for (const [at, { id, to }] of changes.entries()) {
    const key = keys[at];
    const row = rows[at];
    if (key === undefined || (row === undefined && to === undefined)) continue;
    const before = row === undefined ? undefined : decodeVectorMemory(row);
    const same = before !== undefined && to !== undefined && isSame(before.hash, to.hash);
    memories += (to === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
    if (to === undefined) deletes.push(key);
    else puts.push({ key, value: encodeVectorMemory(to) });
    if (before !== undefined && !same) {
      deletes.push(vectorKey("vectorOwner", tag, before.hash, id));
      addTo(left, before.hash, id);
    }
    if (to !== undefined && !same) {
      puts.push({ key: vectorKey("vectorOwner", tag, to.hash, id), value: EMPTY });
      entered.set(keyString(to.hash), to.hash);
    }
  }
  for (const [name, hash] of entered) {
    const vector = vectors.get(name);
    if (vector === undefined) continue;
    puts.push({ key: vectorKey("vector", tag, hash), value: encodeVector(vector) });
  }
  const abandoned = [...left].filter(([name]) => !entered.has(name));
  for (const hash of await ownerless(snapshot, tag, abandoned)) {
    deletes.push(vectorKey("vector", tag, hash));
  }
  return { puts, deletes, memories };
}

const EMPTY = new Uint8Array(0);

function isSame(a: Bytes, b: Bytes): boolean {
  return keyString(a) === keyString(b);
}

function addTo(lists: Map<string, Bytes[]>, hash: Bytes, id: Bytes): void {
  const known = lists.get(keyString(hash));
  if (known === undefined) lists.set(keyString(hash), [hash, id]);
  else known.push(id);
}

/** Of texts that memories leave, those that no other memory has; each list is the hash, then ids. */
async function ownerless(
  snapshot: KvSnapshot,
  tag: Bytes,
  left: readonly (readonly [string, readonly Bytes[]])[],
): Promise<readonly Bytes[]> {
  if (left.length === 0) return [];
  const hashes = left.map(([, [hash = EMPTY]]) => hash);
  const owners = await snapshot.ranges(
    left.map(([, list], at) => ({
      // One more than leave: if all of them are among those who leave, nobody stays.
      ...prefixRange(vectorKey("vectorOwner", tag, hashes[at] ?? EMPTY), list.length),
      keysOnly: true,
    })),
  );
  return hashes.filter((_, at) => {
    const leaving = new Set(left[at]?.[1].slice(1).map(keyString));
    return (owners[at] ?? []).every(({ key }) => leaving.has(keyString(idOfKey(key))));
  });
}

/** The cursor row after a plan; `purged` are the memories that were forgotten. */
export function cursorRow(
  { cursor, row }: { readonly cursor: EmbedCursor; readonly row: Pick<KvRow, "key"> },
  plan: Pick<VectorPlan, "memories">,
  moved: { readonly seq?: number; readonly purged?: number } = {},
): KvRow {
  const value = encodeEmbedCursor({
    ...cursor,
    seq: moved.seq ?? cursor.seq,
    memories: cursor.memories + plan.memories,
    purged: cursor.purged + (moved.purged ?? 0),
    changes: cursor.changes + 1,
  });
  return { key: row.key, value };
}

/** What a purge did. */
interface Purged {
  /** Memories that had a vector, counted once for each model. */
  readonly memories: number;
  /** Models the store has vectors of. */
  readonly models: number;
}

/**
 * Takes the vectors of forgotten memories away, of every model the store has. Each cursor row then
 * says that more was forgotten, also where a memory had no vector just now: an older text of it may
 * have one in a file that a process kept.
 */
export async function purgeVectors(kv: Kv, ids: readonly Bytes[]): Promise<Purged> {
  if (ids.length === 0) return { memories: 0, models: 0 };
  for (let attempt = 0; attempt < LIMITS.commitAttempts; attempt += 1) {
    const { purged, ...change } = await withSnapshot(kv, (snapshot) => planPurge(snapshot, ids));
    if (purged.models === 0 || (await kv.commitCaches(change))) return purged;
  }
  throw contended("vectors of what was forgotten could not be removed");
}

/** The rows of a purge. */
async function planPurge(
  snapshot: KvSnapshot,
  ids: readonly Bytes[],
): Promise<KvCacheCommit & { readonly purged: Purged }> {
  const [rows = []] = await snapshot.ranges([storedModelsRange()]);
  const models = storedModels(rows);
  const changes = ids.map((id) => ({ id, to: undefined }));
  const puts: KvRow[] = [];
  const deletes: Bytes[] = [];
  let memories = 0;
  for (const model of models) {
    const plan = await planVectors(snapshot, model.tag, changes, new Map());
    memories -= plan.memories;
    puts.push(cursorRow(model, plan, { purged: ids.length }));
    for (const key of plan.deletes) deletes.push(key);
  }
  const expect = models.map(({ row }) => row);
  return { expect, puts, deletes, purged: { memories, models: models.length } };
}

/** How far a removal went. */
interface DropReport {
  readonly done: number;
  /** Rows that are still there, counted up to a bound. */
  readonly left: number;
}

/** Rows that one commit of a removal takes away. */
const DROPPED_ROWS = 1000;
/** How far rows that are left are counted. */
const COUNTED_ROWS = 100_000;

/**
 * Removes the rows of every model but one, about `limit` of them. A removal that was stopped goes
 * on at the next call: the cursor row of a model goes last, and stands at the start meanwhile.
 */
export async function dropOtherModels(
  kv: Kv,
  keep: Bytes,
  options: { readonly limit: number; readonly dryRun?: boolean },
): Promise<DropReport> {
  let done = 0;
  while (options.dryRun !== true && done < options.limit) {
    const change = await withSnapshot(kv, (snapshot) =>
      planDrop(snapshot, keep, Math.min(DROPPED_ROWS, options.limit - done)),
    );
    if (change === undefined) break;
    if (await kv.commitCaches(change)) done += change.deletes.length;
  }
  return { done, left: await withSnapshot(kv, (snapshot) => countOthers(snapshot, keep)) };
}

const ROW_NAMES = ["vectorMemory", "vectorOwner", "vector"] as const;

/**
 * Memory by memory, so that a vector is there exactly as long as a memory owns it: a forget that comes
 * in between finds what is left, and so does a process that takes the model up again.
 */
async function planDrop(
  snapshot: KvSnapshot,
  keep: Bytes,
  limit: number,
): Promise<KvCacheCommit | undefined> {
  const [model] = await otherModels(snapshot, keep);
  if (model === undefined) return undefined;
  const found = await snapshot.ranges(
    ROW_NAMES.map((name) => ({
      ...prefixRange(vectorKey(name, model.tag), Math.ceil(limit / ROW_NAMES.length)),
      keysOnly: true,
    })),
  );
  const [memories = [], ...others] = found;
  const expect = [model.row];
  if (memories.length > 0) {
    const changes = memories.map(({ key }) => ({ id: idOfKey(key), to: undefined }));
    const plan = await planVectors(snapshot, model.tag, changes, new Map());
    return { expect, puts: [cursorRow(model, plan, { seq: 0 })], deletes: plan.deletes };
  }
  const rest = others.flat().map(({ key }) => key);
  if (rest.length === 0) return { expect, puts: [], deletes: [model.row.key] };
  return { expect, puts: [cursorRow(model, { memories: 0 }, { seq: 0 })], deletes: rest };
}

async function countOthers(snapshot: KvSnapshot, keep: Bytes): Promise<number> {
  const models = await otherModels(snapshot, keep);
  const counts = await snapshot.ranges(
    models.flatMap(({ tag }) =>
      ROW_NAMES.map((name) => ({
        ...prefixRange(vectorKey(name, tag), COUNTED_ROWS),
        keysOnly: true,
      })),
    ),
  );
  return counts.reduce((sum, rows) => sum + rows.length, models.length);
}

async function otherModels(snapshot: KvSnapshot, keep: Bytes): Promise<readonly StoredModel[]> {
  const [rows = []] = await snapshot.ranges([storedModelsRange()]);
  return storedModels(rows).filter(({ tag }) => !isSame(tag, keep));
}

/** The failure of work that lost every race. */
export function contended(what: string): CortexError {
  return new CortexError(
    "ERR_CONTENDED",
    `${what}: others won the race ${LIMITS.commitAttempts} times in a row`,
  );
}
