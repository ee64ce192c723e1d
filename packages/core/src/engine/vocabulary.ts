/**
 * How often each word of a graph is in use: types, tags, kinds and slots of active memories, kinds of
 * live edges.
 *
 * Counts are exact at the position of the reader. The first count reads every key of the indexes
 * once, without values, and is kept. The next one reads only the entries since: for every memory that
 * they touch it subtracts the words the memory had and adds those it has. It starts from nothing again
 * after a forget, because the words to subtract are gone, and when there are so many entries that
 * counting the indexes is quicker.
 *
 * No index says what a guest or the holder of a scope may see, so their counts read every head; they
 * are kept until the journal grows.
 *
 * At 100,000 memories with two tags each, over LMDB: 180 ms the first time, 1 ms when nothing was
 * written since, 7 ms after 200 entries; 720 ms for a guest.
 */

import { readBytes, readU16, skipVariable } from "../codec/keys.js";
import { indexTerms } from "../history/fold-state.js";
import type { Pause } from "../history/growth.js";
import { decodeAdjacency, decodeEdgeRow } from "../history/pointers.js";
import type { Reader } from "../history/reader.js";
import { decodeEntry, partContext, partRecord, SUBJECT } from "../journal/entry.js";
import {
  afterPrefix,
  EDGE_MEMBER_BYTES,
  EDGE_STATE,
  edgePrefix,
  INDEX,
  idKey,
  indexPrefix,
  journalKey,
  KEYSPACE,
  keyBytes,
  keyString,
  seqValue,
} from "../kv/keyspace.js";
import type { Bytes, KvRow } from "../kv/kv.js";
import { decodeEdgeRecord } from "../records/edge-record.js";
import { decodeMemoryRecord, type Head } from "../records/memory-record.js";
import { LIFECYCLES } from "../records/types.js";
import { type Access, maySee } from "../scope/access.js";

/** The indexes whose terms are counted. */
type CountedIndex = "type" | "tag" | "kind" | "slot";

/** Counts at one position; terms are the `keyString` of their bytes, edge kinds are codes. */
export interface Tally {
  /** Entries of the journal that are counted. */
  readonly size: number;
  readonly terms: Readonly<Record<CountedIndex, ReadonlyMap<string, number>>>;
  readonly edges: ReadonlyMap<number, number>;
}

interface Counts {
  size: number;
  readonly terms: Record<CountedIndex, Map<string, number>>;
  readonly edges: Map<number, number>;
}

const ALL: readonly CountedIndex[] = ["type", "tag", "kind", "slot"];

/** Keys read at a time, and pages after which other work gets its turn. */
const PAGE_KEYS = 2000;
const PAGES_PER_TURN = 16;
/** Memories whose heads are read at a time. */
const PAGE_HEADS = 500;

/** So many entries are always read rather than counting anew; with many memories, a share of them. */
const EXTEND_ENTRIES = 1000;
const EXTEND_SHARE = 0.2;

/** The counts of one open store, kept from call to call. Calls take turns. */
export class Vocabulary {
  readonly #pause: Pause;
  #kept: Counts | undefined;
  #keptTypes: Counts | undefined;
  #guest: Counts | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(pause: Pause) {
    this.#pause = pause;
  }

  /** Runs what asks for counts when nobody else does; readers are opened inside. */
  inTurn<T>(run: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(run, run);
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  /** The counts of what a caller may see, at the end of the journal; valid until the turn is over. */
  async tally(reader: Reader, access: Access): Promise<Tally> {
    if (access.kind === "owner") {
      this.#kept = await this.#current(reader, this.#kept, ALL);
      return this.#kept;
    }
    // Guests all see the same. Whoever sees something else needs a count of their own.
    const isGuest = access.kind === "guest";
    if (isGuest && this.#guest?.size === reader.head.size) return this.#guest;
    const counts = await this.#countSeen(reader, access);
    if (isGuest) this.#guest = counts;
    return counts;
  }

  /** Active memories by type alone: a quarter of the reading. */
  async types(reader: Reader): Promise<ReadonlyMap<string, number>> {
    const isKept = this.#kept?.size === reader.head.size;
    if (isKept && this.#kept !== undefined) return this.#kept.terms.type;
    this.#keptTypes = await this.#current(reader, this.#keptTypes, ["type"]);
    return this.#keptTypes.terms.type;
  }

  async #current(
    reader: Reader,
    kept: Counts | undefined,
    indexes: readonly CountedIndex[],
  ): Promise<Counts> {
    const { size, counts } = reader.head;
    if (kept?.size === size) return kept;
    const worth = EXTEND_ENTRIES + EXTEND_SHARE * counts.active;
    if (kept !== undefined && kept.size < size && size - kept.size <= worth) {
      const touched = await touchedSince(reader, kept.size);
      if (touched !== undefined) return extend(reader, kept, touched, indexes);
    }
    return this.#countAll(reader, indexes);
  }

  /** Counts every key of the indexes. */
  async #countAll(reader: Reader, indexes: readonly CountedIndex[]): Promise<Counts> {
    const counts = noCounts(reader.head.size);
    for (const index of indexes) {
      const prefix = activePrefix(index);
      const terms = new TermCounter(counts.terms[index]);
      for await (const keys of this.#pages(reader, prefix)) for (const key of keys) terms.add(key);
      terms.end();
    }
    if (!indexes.includes("kind")) return counts;
    for await (const keys of this.#pages(reader, Uint8Array.of(KEYSPACE.edgeOut.byte))) {
      for (const key of keys) if (isLive(key)) add(counts.edges, codeOf(key), 1);
    }
    return counts;
  }

  /** Counts what a caller may see: every head is looked at. */
  async #countSeen(reader: Reader, access: Access): Promise<Counts> {
    const counts = noCounts(reader.head.size);
    const seen = new Set<string>();
    for await (const keys of this.#pages(reader, Uint8Array.of(KEYSPACE.memory.byte))) {
      for (let at = 0; at < keys.length; at += PAGE_HEADS) {
        const ids = keys.slice(at, at + PAGE_HEADS).map((key) => key.subarray(1));
        for (const [index, head] of (await headsOf(reader, ids)).entries()) {
          const id = ids[index];
          if (head === undefined || id === undefined || !maySee(access, head, id)) continue;
          seen.add(keyString(id));
          addHead(counts, id, head, 1, ALL);
        }
      }
    }
    for await (const keys of this.#pages(reader, Uint8Array.of(KEYSPACE.edgeOut.byte))) {
      for (const key of keys) {
        const ends = [key.subarray(1, 17), key.subarray(20, 36)].map(keyString);
        if (isLive(key) && ends.every((end) => seen.has(end))) add(counts.edges, codeOf(key), 1);
      }
    }
    return counts;
  }

  /** Every key of a prefix, in pages; between some of them others get their turn. */
  async *#pages(reader: Reader, prefix: Bytes): AsyncGenerator<readonly Bytes[]> {
    const lt = afterPrefix(prefix);
    let gte = prefix;
    for (let page = 1; ; page += 1) {
      const [rows = []] = await reader.ranges([{ gte, lt, limit: PAGE_KEYS, keysOnly: true }]);
      yield rows.map(({ key }) => key);
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE_KEYS) return;
      gte = Buffer.concat([last.key, Uint8Array.of(0)]);
      if (page % PAGES_PER_TURN === 0) await this.#pause(0);
    }
  }
}

/** Counts the terms of index keys that come in order: equal ones stand together. */
class TermCounter {
  readonly #counts: Map<string, number>;
  #term: Bytes = new Uint8Array(0);
  #count = 0;

  constructor(counts: Map<string, number>) {
    this.#counts = counts;
  }

  add(key: Bytes): void {
    if (!startsWith(key, this.#term) || this.#count === 0) {
      this.end();
      this.#term = key.subarray(0, skipVariable(key, TERM_AT));
    }
    this.#count += 1;
  }

  end(): void {
    if (this.#count === 0) return;
    add(this.#counts, keyString(readBytes(this.#term, TERM_AT)), this.#count);
    this.#count = 0;
  }
}

/** Where the term starts in a key of an index: after prefix, index and lifecycle. */
const TERM_AT = 3;

function startsWith(key: Bytes, start: Bytes): boolean {
  // From the end: terms that follow each other mostly begin alike.
  for (let at = start.length - 1; at >= 0; at -= 1) if (key[at] !== start[at]) return false;
  return true;
}

function activePrefix(index: CountedIndex): Bytes {
  return Uint8Array.of(KEYSPACE.index.byte, INDEX[index], LIFECYCLES.active.code);
}

function isLive(edgeOutKey: Bytes): boolean {
  return edgeOutKey[17] === EDGE_STATE.live;
}

function codeOf(edgeKey: Bytes): number {
  return readU16(edgeKey, edgeKey.length - EDGE_MEMBER_BYTES);
}

/** What entries since a position are about. */
interface Touched {
  readonly memories: readonly Bytes[];
  readonly edges: readonly Bytes[];
  /** Where those edges begin. */
  readonly froms: readonly Bytes[];
  /** Most changes of edges among them. */
  readonly edgeParts: number;
}

/** Entries read at a time. */
const PAGE_ENTRIES = 256;

/** The memories and edges that entries from `size` on touched; `undefined` when one was forgotten. */
async function touchedSince(reader: Reader, size: number): Promise<Touched | undefined> {
  const memories = new Map<string, Bytes>();
  const edges = new Map<string, Bytes>();
  const froms = new Map<string, Bytes>();
  let edgeParts = 0;
  for (let from = size; from < reader.head.size; from += PAGE_ENTRIES) {
    const [rows = []] = await reader.ranges([
      { gte: journalKey(from), lt: journalKey(from + PAGE_ENTRIES), limit: PAGE_ENTRIES },
    ]);
    for (const { header, parts } of rows.map(({ value }) => decodeEntry(value))) {
      if (header.kind === "forget") return undefined;
      for (const [at, { subject }] of header.parts.entries()) {
        const bytes = parts[at];
        if (subject[0] === SUBJECT.memory) {
          memories.set(keyString(subject), subject.subarray(1));
        } else if (subject[0] === SUBJECT.edge && bytes !== undefined) {
          const edge = decodeEdgeRecord(partRecord(bytes), partContext(header, at));
          edges.set(keyString(edge.id), edge.id);
          froms.set(keyString(edge.from), edge.from);
          edgeParts += 1;
        }
      }
    }
  }
  return {
    memories: [...memories.values()],
    edges: [...edges.values()],
    froms: [...froms.values()],
    edgeParts,
  };
}

/** Moves kept counts to the reader's position. Changes them only when everything is read. */
async function extend(
  reader: Reader,
  kept: Counts,
  touched: Touched,
  indexes: readonly CountedIndex[],
): Promise<Counts> {
  const { memories } = touched;
  const before = await headsOf(reader.before(kept.size - 1), memories);
  const after = await headsOf(reader, memories);
  const edges = indexes.includes("kind") ? await edgeChanges(reader, kept.size, touched) : [];
  for (const [at, id] of memories.entries()) {
    const [was, is] = [before[at], after[at]];
    if (was !== undefined) addHead(kept, id, was, -1, indexes);
    if (is !== undefined) addHead(kept, id, is, 1, indexes);
  }
  for (const { code, by } of edges) add(kept.edges, code, by);
  kept.size = reader.head.size;
  return kept;
}

/** The heads of memories at the reader's position; `undefined` where there was none. */
async function headsOf(reader: Reader, ids: readonly Bytes[]): Promise<(Head | undefined)[]> {
  const rows = await reader.memoryRows(ids);
  const there = rows.flatMap((row) =>
    row === undefined || row.lifecycle === "erased" ? [] : [row],
  );
  const records = await reader.records(there, decodeMemoryRecord);
  const heads = new Map(there.map((row, at) => [row, records[at]?.record.head]));
  return rows.map((row) => (row === undefined ? undefined : heads.get(row)));
}

/**
 * What became of live edges since a position: one less for each that was live before, which its
 * closed row tells, and one more for each that is live now.
 */
async function edgeChanges(
  reader: Reader,
  size: number,
  { edges, froms, edgeParts }: Touched,
): Promise<{ readonly code: number; readonly by: number }[]> {
  const closed = await reader.ranges(
    froms.map((from) => {
      const prefix = edgePrefix("edgeOutClosed", from, EDGE_STATE.live);
      const gte = Buffer.concat([prefix, seqValue(size)]);
      return { gte, lt: afterPrefix(prefix), limit: edgeParts };
    }),
  );
  const was = closed.flat().filter((row: KvRow) => decodeAdjacency(row.value).seq < size);
  const rows = await reader.getMany(edges.map((id) => idKey("edge", id)));
  const is = rows.flatMap((row) => (row === undefined ? [] : [decodeEdgeRow(row)]));
  return [
    ...was.map(({ key }) => ({ code: codeOf(key), by: -1 })),
    ...is.filter(({ state }) => state === EDGE_STATE.live).map(({ code }) => ({ code, by: 1 })),
  ];
}

/** The ids that stand under a term among active memories, newest first, page by page. */
export async function* newestOf(
  reader: Reader,
  index: CountedIndex,
  term: string,
  pageRows: number,
): AsyncGenerator<readonly Bytes[]> {
  const prefix = indexPrefix("index", INDEX[index], LIFECYCLES.active.code, keyBytes(term));
  let lt = afterPrefix(prefix);
  for (;;) {
    const [rows = []] = await reader.ranges([
      { gte: prefix, lt, limit: pageRows, reverse: true, keysOnly: true },
    ]);
    yield rows.map(({ key }) => key.subarray(-16));
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    lt = last.key;
  }
}

function noCounts(size: number): Counts {
  const terms = { type: new Map(), tag: new Map(), kind: new Map(), slot: new Map() };
  return { size, terms, edges: new Map() };
}

const NAME_OF = new Map<number, CountedIndex>(ALL.map((name) => [INDEX[name], name]));

/** Adds or takes out the words of one memory; only active ones have any. */
function addHead(
  counts: Counts,
  id: Bytes,
  head: Head,
  by: 1 | -1,
  indexes: readonly CountedIndex[],
): void {
  if (head.lifecycle !== "active") return;
  for (const { index, term } of indexTerms(id, head, false)) {
    const name = NAME_OF.get(index);
    if (name !== undefined && indexes.includes(name)) {
      add(counts.terms[name], keyString(term), by);
    }
  }
}

/** Adds to a count; one that comes to nothing is not kept. */
function add<K>(counts: Map<K, number>, key: K, by: number): void {
  const next = (counts.get(key) ?? 0) + by;
  if (next === 0) counts.delete(key);
  else counts.set(key, next);
}
