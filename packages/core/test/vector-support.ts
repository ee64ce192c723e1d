/**
 * What the tests of vectors share: embedders that count what they are asked, a graph with its engine
 * over a storage of the test's choice, and near by text the plain way.
 */
import { toHex } from "../src/codec/keys.js";
import { parseUlid } from "../src/codec/ulid.js";
import { memoryId } from "../src/engine/engine.js";
import { Reader } from "../src/history/reader.js";
import { KEYSPACE } from "../src/kv/keyspace.js";
import type { Bytes, Kv, KvRow } from "../src/kv/kv.js";
import { openMemoryKv } from "../src/kv/memory-backend.js";
import { type OpenedGraph, openGraph } from "../src/open.js";
import {
  decodeVectorMemory,
  type EmbedCursor,
  idOfKey,
  isEmbedCursorKey,
  storedModels,
} from "../src/records/vector-rows.js";
import { seededRandom } from "../src/testing/seeded-random.js";
import { distance, unitVector } from "../src/vector/distance.js";
import { type Embedder, hashEmbedder } from "../src/vector/embedder.js";
import type { Accept } from "../src/vector/vector-index.js";
import { atCleanUp } from "./other-process.js";

/** An embedder that counts. */
export interface CountingEmbedder extends Embedder {
  /** Every text it was asked for, in order. */
  readonly asked: string[];
  /** Thrown by the next calls, one each. */
  readonly failures: unknown[];
}

/**
 * Texts with words in common are near each other: the vector of a text is the sum of its words'.
 * Deterministic, and as wide as the test wants.
 */
export function wordEmbedder(dimensions = 32, salt = ""): CountingEmbedder {
  const words = hashEmbedder({ dimensions, salt });
  const asked: string[] = [];
  const failures: unknown[] = [];
  return {
    model: `words@${words.model.slice(-8)}`,
    dimensions,
    asked,
    failures,
    async embed(texts) {
      const [failure] = failures.splice(0, 1);
      if (failure !== undefined) throw failure;
      asked.push(...texts);
      return Promise.all(
        texts.map(async (text) => {
          const sum = new Float32Array(dimensions);
          const vectors = await words.embed(text.toLowerCase().split(/\W+/));
          for (const vector of vectors)
            for (const [at, value] of vector.entries()) sum[at] = (sum[at] ?? 0) + value;
          return sum;
        }),
      );
    },
  };
}

/** Opens a graph with its engine; closed when the test is over. */
export async function graphWith(
  embedder: Embedder | undefined,
  kv: Kv = openMemoryKv(),
  seed = 1,
): Promise<OpenedGraph> {
  const random = seededRandom(seed);
  let now = Date.UTC(2030, 0, 1);
  const opened = await openGraph("memory:", {
    actor: "ada",
    kv,
    random: random.bytes,
    clock: () => {
      now += 1;
      return now;
    },
    ...(embedder === undefined ? {} : { embedder }),
  });
  atCleanUp(() => opened.memory.close());
  return opened;
}

/** A memory near a text, as tests read it. */
export interface Hit {
  readonly id: string;
  readonly distance: number;
}

/** The memories nearest to a text, through the index. */
export function nearText(
  { engine }: OpenedGraph,
  text: string,
  k: number,
  accept?: Accept,
): Promise<readonly Hit[]> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const vector = await engine.vectors.embedQuery(text);
    const found = await engine.vectors.near(reader, vector, k, accept);
    return found.map(({ id, distance: far }) => ({ id: memoryId(id), distance: far }));
  });
}

/** The same by looking at every text: what the index must answer while it is exact. */
export async function nearByHand(
  embedder: Embedder,
  texts: ReadonlyMap<string, string>,
  query: string,
  k: number,
): Promise<readonly Hit[]> {
  const unitOf = async (text: string): Promise<Float32Array> => {
    const [vector = new Float32Array(0)] = await embedder.embed([text]);
    const unit = unitVector(vector);
    if (unit === undefined) throw new Error("a text without a direction");
    return unit;
  };
  const wanted = await unitOf(query);
  const all = await Promise.all(
    [...texts].map(async ([id, text]) => ({ id, distance: distance(wanted, await unitOf(text)) })),
  );
  return all.sort((a, b) => a.distance - b.distance || (a.id < b.id ? -1 : 1)).slice(0, k);
}

/** The bytes of an id. */
export function idOf(text: string): Bytes {
  const id = parseUlid(text);
  if (id === undefined) throw new Error(`not an id: ${text}`);
  return id;
}

/** Every row of a store whose key or value holds the bytes. */
export async function rowsHolding(kv: Kv, bytes: Bytes): Promise<readonly KvRow[]> {
  const snapshot = await kv.snapshot();
  try {
    const all = { gte: new Uint8Array(0), lt: Uint8Array.of(0xff), limit: 1_000_000 };
    const [rows = []] = await snapshot.ranges([all]);
    const holds = (piece: Bytes): boolean => Buffer.from(piece).includes(Buffer.from(bytes));
    return rows.filter(({ key, value }) => holds(key) || holds(value));
  } finally {
    snapshot.close();
  }
}

/** All rows under one prefix. */
export async function rowsUnder(kv: Kv, byte: number): Promise<readonly KvRow[]> {
  const snapshot = await kv.snapshot();
  try {
    const range = { gte: Uint8Array.of(byte), lt: Uint8Array.of(byte + 1), limit: 1_000_000 };
    return (await snapshot.ranges([range]))[0] ?? [];
  } finally {
    snapshot.close();
  }
}

/** What the rows of vectors hold, after making sure that they agree with each other. */
export interface VectorRows {
  /** The ids that have a vector, by the tag of the model, in hex. */
  readonly owners: ReadonlyMap<string, readonly string[]>;
  /** Distinct vectors over all models. */
  readonly vectors: number;
  readonly cursors: ReadonlyMap<string, EmbedCursor>;
}

/**
 * Reads the rows of vectors and checks what `vector-rows.ts` promises: a memory's row has its owner
 * row and its vector, an owner row its memory's row, a vector an owner, and cursors count the memories.
 */
export async function readVectorRows(kv: Kv): Promise<VectorRows> {
  const names = (rows: readonly KvRow[]) => new Set(rows.map(({ key }) => toHex(key.subarray(1))));
  const [vectors, memories, owners] = await Promise.all([
    rowsUnder(kv, KEYSPACE.vector.byte).then(names),
    rowsUnder(kv, KEYSPACE.vectorMemory.byte),
    rowsUnder(kv, KEYSPACE.vectorOwner.byte).then(names),
  ]);
  const ids = new Map<string, string[]>();
  const owned = new Set<string>();
  for (const { key, value } of memories) {
    const tag = toHex(key.subarray(1, 9));
    const id = idOfKey(key);
    const text = `${tag}${toHex(decodeVectorMemory(value).hash)}`;
    if (!owners.delete(text + toHex(id))) throw new Error("a memory's row without its owner row");
    if (!vectors.has(text)) throw new Error("a memory's row without its vector");
    owned.add(text);
    ids.set(tag, [...(ids.get(tag) ?? []), memoryId(id)]);
  }
  if (owners.size > 0) throw new Error("an owner row without its memory's row");
  for (const name of vectors) if (!owned.has(name)) throw new Error("a vector nobody owns");
  const cursors = new Map<string, EmbedCursor>();
  for (const { tag, cursor } of storedModels(
    (await rowsUnder(kv, KEYSPACE.cursor.byte)).filter(({ key }) => isEmbedCursorKey(key)),
  )) {
    cursors.set(toHex(tag), cursor);
    const counted = ids.get(toHex(tag))?.length ?? 0;
    if (cursor.memories !== counted) {
      throw new Error(`a cursor counts ${cursor.memories} memories where ${counted} are`);
    }
  }
  return { owners: ids, vectors: vectors.size, cursors };
}
