/**
 * How rows of the catalogue come and go.
 *
 * They come from the journal of a graph, entry by entry: which memories and lineages it has, and which edges
 * lead to names rather than memories. The fold is a function of the entries and of the rows it asks for, so folding a journal in
 * pieces or at once gives the same rows; `check` of the hub relies on it. Only rows of the graph's own number
 * are read and written.
 *
 * They go when the graph is gone: every row about it, and the bytes that freed pages of the file would keep.
 * A graph is gone when its number names no graph any more, so nobody has to say which one is meant, and
 * whoever is interrupted can be followed by anybody. First the rows go, in commits of their own; the row of
 * the number goes last. Then the catalogue is written anew beside itself and put in its place, because a
 * page that the engine freed keeps its bytes until it is used again.
 */
import { type CborValue, decode, encode } from "../codec/cbor.js";
import { readList, readText } from "../codec/cbor-value.js";
import { sha256Node } from "../codec/node-crypto.js";
import { withSnapshot } from "../history/build-beside.js";
import { scan } from "../history/reader.js";
import { type Entry, partContext, partRecord, SUBJECT } from "../journal/entry.js";
import { keyString } from "../kv/keyspace.js";
import {
  type Bytes,
  HEAD_KEY,
  type Kv,
  type KvGeneration,
  type KvRow,
  type KvSnapshot,
  MOVED_HEAD_BYTE,
  sameBytes,
} from "../kv/kv.js";
import { decodeEdgeRecord, type EdgeRecord, farKey } from "../records/edge-record.js";
import { decodeMemoryRecord } from "../records/memory-record.js";
import {
  allRows,
  CATALOGUE,
  decodeCount,
  decodeGraphRow,
  edgeOriginKey,
  encodeCount,
  graphKey,
  inboundKey,
  inCountKey,
  lineageHash,
  lineageKey,
  memoryRowKey,
  numberKey,
  numberOf,
  ordinalKey,
  originHash,
  originKey,
  outCountKey,
  symlinkKey,
} from "./catalogue-rows.js";

/** What a fold of entries changes. */
interface CatalogueChanges {
  readonly puts: readonly KvRow[];
  readonly deletes: readonly Bytes[];
}

type Get = (keys: readonly Bytes[]) => Promise<(Bytes | undefined)[]>;

const EMPTY = new Uint8Array(0);
const HASH_BYTES = 16;

/** Folds entries of the graph with this number, in order. */
export async function foldCatalogue(
  number: number,
  entries: readonly Entry[],
  get: Get,
): Promise<CatalogueChanges> {
  const rows = new Rows(get);
  await rows.load(entries.flatMap((entry) => ownKeys(number, entry)));
  const counts = new Map<string, number>();
  for (const { header, parts } of entries) {
    for (const [at, ref] of header.parts.entries()) {
      const id = ref.subject.subarray(1);
      const part = parts[at];
      const context = partContext(header, at);
      if (ref.subject[0] === SUBJECT.memory && part !== undefined) {
        foldMemory(rows, number, id, decodeMemoryRecord(partRecord(part), context));
      } else if (ref.subject[0] === SUBJECT.edge) {
        // A part that is gone was erased: then so was the edge.
        const record = part === undefined ? undefined : decodeEdgeRecord(partRecord(part), context);
        foldEdge(rows, number, { key: id, record }, counts);
        foldEdgeOrigin(rows, number, id, record);
        if (record === undefined) rows.delete(ordinalKey(number, id));
        else if (record.ordinal !== undefined) rows.put(ordinalKey(number, id), EMPTY);
      }
    }
  }
  await foldCounts(rows, number, counts);
  return rows.changes();
}

/** The rows that an entry may change, as far as its header tells. */
function ownKeys(number: number, { header, parts }: Entry): Bytes[] {
  return header.parts.flatMap(({ subject }, at) => {
    const id = subject.subarray(1);
    if (subject[0] === SUBJECT.memory) return [memoryRowKey(id, number)];
    if (subject[0] !== SUBJECT.edge) return [];
    const own = symlinkKey(number, id);
    return parts[at] === undefined ? [own, edgeOriginKey(number, id)] : [own];
  });
}

function foldMemory(
  rows: Rows,
  number: number,
  id: Bytes,
  { head, version }: ReturnType<typeof decodeMemoryRecord>,
): void {
  const key = memoryRowKey(id, number);
  const [known, ...origins] = hashesIn(rows.get(key));
  if (head.lifecycle === "erased") {
    if (known !== undefined) rows.delete(lineageKey(known, number));
    for (const origin of origins) rows.delete(originKey(origin, number));
    rows.delete(key);
    return;
  }
  const hash = head.externalId === undefined ? EMPTY : lineageHash(head.externalId);
  if (version?.origin !== undefined && hash.length > 0) {
    const own = originHash("node", version.origin.id);
    if (!origins.some((one) => sameBytes(one, own))) origins.push(own);
    rows.put(originKey(own, number), encode([id, version.number]));
  }
  rows.put(key, origins.length === 0 ? hash : Buffer.concat([hash, ...origins]));
  if (hash.length > 0) rows.put(lineageKey(hash, number), id);
}

/** The hashes that a memory's row holds: of its external id, then of its origins. */
function hashesIn(row: Bytes = EMPTY): Bytes[] {
  return Array.from({ length: row.length / HASH_BYTES }, (_, at) =>
    row.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );
}

/** The id that another program gave to an edge leads to it until the edge is erased. */
function foldEdgeOrigin(
  rows: Rows,
  number: number,
  key: Bytes,
  record: EdgeRecord | undefined,
): void {
  if (record === undefined) {
    const hash = rows.get(edgeOriginKey(number, key));
    if (hash !== undefined) rows.delete(originKey(hash, number));
    rows.delete(edgeOriginKey(number, key));
  } else if (record.origin !== undefined) {
    const hash = originHash("edge", record.origin.id);
    rows.put(edgeOriginKey(number, key), hash);
    rows.put(originKey(hash, number), encode([record.id]));
  }
}

/**
 * An edge to a name keeps its rows when it is removed: reads of the past start from them. Only live ones that lead
 * into another graph count.
 */
function foldEdge(
  rows: Rows,
  number: number,
  edge: { readonly key: Bytes; readonly record: EdgeRecord | undefined },
  counts: Map<string, number>,
): void {
  const { key, record } = edge;
  const rowKey = symlinkKey(number, key);
  const bytes = rows.get(rowKey);
  const before = bytes === undefined ? undefined : decodeSymlink(bytes);
  const after = namedEnd(record);
  const graph = after?.graph ?? before?.graph;
  if (graph === undefined) return;
  const change = (after?.isLive === true ? 1 : 0) - (before?.isLive === true ? 1 : 0);
  if (graph !== "") counts.set(graph, (counts.get(graph) ?? 0) + change);
  if (after !== undefined) {
    rows.put(rowKey, encode([after.name, after.graph, after.isLive]));
    rows.put(inboundKey(after.name, number, key), after.far);
  } else if (before !== undefined) {
    rows.delete(rowKey);
    rows.delete(inboundKey(before.name, number, key));
  }
}

/** The far end of an edge that is a name. */
interface NamedEnd {
  /** Stands for the name, whichever graph it is said to be in. */
  readonly name: Bytes;
  /** The graph that is said; empty for the edge's own. */
  readonly graph: string;
  readonly isLive: boolean;
}

function namedEnd(
  record: EdgeRecord | undefined,
): (NamedEnd & { readonly far: Bytes }) | undefined {
  const to = record?.to;
  if (to === undefined || to instanceof Uint8Array) return undefined;
  const isLive = record?.tombstone === undefined;
  return { name: lineageHash(to.name), far: farKey(sha256Node, to), graph: to.graph, isLive };
}

/** Reads the row of an edge to a name. */
export function decodeSymlink(bytes: Bytes): NamedEnd {
  const [name, graph, isLive] = readList(decode(bytes)) as readonly CborValue[];
  return { name: name as Uint8Array, graph: readText(graph), isLive: isLive === true };
}

async function foldCounts(
  rows: Rows,
  number: number,
  changes: ReadonlyMap<string, number>,
): Promise<void> {
  await rows.load([...changes.keys()].map((graph) => outCountKey(number, graph)));
  for (const [graph, change] of changes) {
    const count = decodeCount(rows.get(outCountKey(number, graph))) + change;
    for (const key of [outCountKey(number, graph), inCountKey(graph, number)]) {
      if (count > 0) rows.put(key, encodeCount(count));
      else rows.delete(key);
    }
  }
}

/** Rows as a fold leaves them, over those that were read. */
class Rows {
  readonly #get: Get;
  readonly #known = new Map<string, Bytes | undefined>();
  readonly #changed = new Map<string, { readonly key: Bytes; readonly value: Bytes | undefined }>();

  constructor(get: Get) {
    this.#get = get;
  }

  async load(keys: readonly Bytes[]): Promise<void> {
    const unique = [...new Map(keys.map((key) => [keyString(key), key])).values()];
    const values = unique.length === 0 ? [] : await this.#get(unique);
    for (const [at, key] of unique.entries()) this.#known.set(keyString(key), values[at]);
  }

  get(key: Bytes): Bytes | undefined {
    const name = keyString(key);
    const changed = this.#changed.get(name);
    return changed === undefined ? this.#known.get(name) : changed.value;
  }

  put(key: Bytes, value: Bytes): void {
    this.#changed.set(keyString(key), { key, value });
  }

  delete(key: Bytes): void {
    this.#changed.set(keyString(key), { key, value: undefined });
  }

  changes(): CatalogueChanges {
    const puts: KvRow[] = [];
    const deletes: Bytes[] = [];
    for (const { key, value } of this.#changed.values()) {
      if (value !== undefined) puts.push({ key, value });
      else deletes.push(key);
    }
    return { puts, deletes };
  }
}

/** What a catalogue asks of its store. */
export type CatalogueKv = Pick<Kv, "snapshot" | "commit" | "commitCaches" | "nextGeneration">;

/** It may take longer than a snapshot lives that nobody reads from. */
const LONG = { untilIdle: true } as const;
/** Rows removed or copied in one commit. */
const ROWS_AT_ONCE = 10_000;
/** How often the rewriting starts over because somebody wrote meanwhile. */
const REWRITES = 5;

/** Erases whatever is known of graphs that are gone; see the file header. */
export async function eraseGone(kv: CatalogueKv): Promise<void> {
  const gone = await withSnapshot(kv, numbersGone);
  if (gone.size > 0) {
    const keys = await withSnapshot(kv, (snapshot) => keysAbout(snapshot, gone), LONG);
    for (let at = 0; at < keys.length; at += ROWS_AT_ONCE) {
      await kv.commitCaches({ expect: [], puts: [], deletes: keys.slice(at, at + ROWS_AT_ONCE) });
    }
    await kv.commitCaches({ expect: [], puts: [], deletes: [...gone].map(numberKey) });
  }
  await rewrite(kv);
}

/** Numbers that name no graph, or one that has another number by now. */
async function numbersGone(snapshot: KvSnapshot): Promise<ReadonlySet<number>> {
  const named: { readonly number: number; readonly name: string }[] = [];
  for await (const { key, value } of scan(snapshot, Uint8Array.of(CATALOGUE.number))) {
    named.push({ number: decodeCount(key.subarray(1)), name: Buffer.from(value).toString("utf8") });
  }
  const rows = await snapshot.getMany(named.map(({ name }) => graphKey(name)));
  return new Set(
    named.flatMap(({ number }, at) => {
      const row = rows[at];
      return row !== undefined && decodeGraphRow(row).number === number ? [] : [number];
    }),
  );
}

async function keysAbout(snapshot: KvSnapshot, gone: ReadonlySet<number>): Promise<Bytes[]> {
  const keys: Bytes[] = [];
  for await (const { key, value } of allRows(snapshot)) {
    const number = numberOf(key, value);
    if (number !== undefined && gone.has(number)) keys.push(key);
  }
  return keys;
}

/** Puts a copy in the place of the catalogue; where writers never rest, its free pages stay as they are. */
async function rewrite(kv: CatalogueKv): Promise<void> {
  for (let attempt = 0; attempt < REWRITES; attempt += 1) {
    const generation = await kv.nextGeneration();
    try {
      await generation.hold?.();
      const head = await withSnapshot(kv, (snapshot) => copyInto(generation, snapshot), LONG);
      if ((await generation.promote(head, Uint8Array.of(MOVED_HEAD_BYTE))).ok) return;
    } finally {
      await generation.abandon();
    }
  }
}

async function copyInto({ kv }: KvGeneration, snapshot: KvSnapshot): Promise<Bytes> {
  const [head] = await snapshot.getMany([HEAD_KEY]);
  if (head === undefined) throw new Error("an open catalogue has no head");
  let rows: KvRow[] = [];
  let expectHead: Bytes | undefined;
  const put = async (): Promise<void> => {
    await kv.commit({ expectHead, head, puts: rows, deletes: [] });
    expectHead = head;
    rows = [];
  };
  for await (const row of allRows(snapshot)) {
    rows.push(row);
    if (rows.length === ROWS_AT_ONCE) await put();
  }
  await put();
  return head;
}
