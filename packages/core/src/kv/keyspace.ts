/**
 * The map of all keys: the only place where a prefix is spelled.
 *
 * One byte opens every key. Numbers are big-endian and of fixed width, ids are 16 raw bytes, so byte
 * order is time order wherever an id or a seq stands. A text inside a key keeps its order and ends
 * where it ends (`codec/keys.ts`). `KEYSPACE` says of each prefix whether its rows are *journal*, *exact* (a fold of the
 * journal, byte for byte), *snapshot*, or *cache* (anything that may be dropped); commits are checked
 * against it, and `docs/data-format.md` is tested against it.
 */
import { keyOf, prefixEnd, readU64 } from "../codec/keys.js";
import { cutBytes } from "../codec/slab.js";
import { CortexError } from "../errors.js";
import { INTEGER_MAX } from "../limits.js";
import type { Bytes, KvRange, KvRow } from "./kv.js";

/** How a row is kept: see the file header. */
export type KeyClass = "head" | "journal" | "exact" | "snapshot" | "cache";

/** One prefix of the keyspace. */
export interface KeyPrefix {
  readonly byte: number;
  readonly name: string;
  readonly class: KeyClass;
  readonly key: string;
  readonly value: string;
}

const row = (
  byte: number,
  name: string,
  keyClass: KeyClass,
  key: string,
  value: string,
): KeyPrefix => ({ byte, name, class: keyClass, key, value });

/** Every prefix in use. */
export const KEYSPACE = {
  head: row(0x00, "head", "head", "–", "[format, fold version, size, at, epoch, counts]"),
  journal: row(0x01, "journal", "journal", "seq 8", "[header, [part | null, …]]"),
  logTile: row(0x02, "log tile", "exact", "level 1, index 8", "up to 16 hashes of 32 bytes"),
  time: row(0x03, "time", "exact", "at 8, seq 8", "empty; one row for every 16th entry"),
  memory: row(0x10, "memory", "exact", "id 16", "[type, lifecycle, version, seq, part, since, …]"),
  history: row(0x11, "history", "exact", "id 16, seq 8", "the memory row that held from seq on"),
  version: row(0x12, "version", "exact", "id 16, number 4", "[seq, part]; numbers from 2"),
  externalId: row(0x13, "external id", "exact", "text", "id 16"),
  fingerprint: row(0x14, "fingerprint", "exact", "hash 10", "id 16, …"),
  counter: row(0x15, "counter", "exact", "id 16", "[reinforced, accessed, cited, last used at]"),
  goalState: row(0x16, "goal state", "exact", "id 16", "[seq, part]"),
  attachment: row(0x17, "attachment", "exact", "id 16, seq 8, part 2", "empty"),
  index: row(
    0x18,
    "index",
    "exact",
    "index 1, lifecycle 1, term, member",
    "empty; from seq 8 for turns",
  ),
  indexClosed: row(
    0x19,
    "closed index",
    "exact",
    "index 1, lifecycle 1, term, to seq 8, member",
    "empty; from seq 8 for turns",
  ),
  indexBegun: row(
    0x1a,
    "closed index by begin",
    "exact",
    "index 1, lifecycle 1, term, from seq 8, id 16, to seq 8",
    "empty; none for turns",
  ),
  edge: row(0x20, "edge", "exact", "edge id 16", "[state, seq, part, from, code, far, n]"),
  edgeOut: row(
    0x21,
    "edge out",
    "exact",
    "from 16, state 1, code 2, far 16, n 4",
    "[seq, part, id]",
  ),
  edgeIn: row(0x22, "edge in", "exact", "far 16, state 1, code 2, from 16, n 4", "[seq, part, id]"),
  edgeOutClosed: row(
    0x23,
    "closed edge out",
    "exact",
    "from 16, state 1, to seq 8, code 2, far 16, n 4",
    "[seq, part, id]",
  ),
  edgeInClosed: row(
    0x24,
    "closed edge in",
    "exact",
    "far 16, state 1, to seq 8, code 2, from 16, n 4",
    "[seq, part, id]",
  ),
  edgeKind: row(0x28, "edge kind", "exact", "name", "code 2"),
  contested: row(0x29, "contested", "exact", "edge id 16", "empty"),
  proposal: row(0x2a, "proposal", "exact", "id 16, mark 16", "[seq, part]; open ones alone"),
  memoryPage: row(0x30, "memories page", "exact", "page name", "tree page"),
  edgePage: row(0x31, "edges page", "exact", "page name", "tree page"),
  idempotency: row(0x38, "idempotency", "exact", "key hash 16", "[seq, request hash 16]"),
  contextRecord: row(0x39, "context record", "exact", "hash 16", "[seq, part]"),
  config: row(0x3a, "config", "exact", "–", "[seq, part]"),
  weights: row(0x3b, "weights", "exact", "–", "[seq, part]"),
  weightsFormer: row(
    0x3c,
    "former weights",
    "exact",
    "seq 8",
    "the weights row that held from seq on",
  ),
  revokedScope: row(0x3d, "revoked scope", "exact", "scope hash 32", "[seq, part]"),
  snapshot: row(0x40, "snapshot", "snapshot", "number 8, mark 8", "manifest"),
  replica: row(0x41, "replica", "snapshot", "–", "[source]; only in a store that follows another"),
  cursor: row(0x80, "cursor", "cache", "name", "where a background job stands"),
  textManifest: row(0x81, "text manifest", "cache", "–", "[analyser, cursor, …, segments]"),
  textWords: row(
    0x82,
    "text words",
    "cache",
    "segment 4, bucket 4",
    "words, each with its documents",
  ),
  textLengths: row(
    0x83,
    "text lengths",
    "cache",
    "segment 4, chunk 4",
    "2 bytes for each of 8,192 documents",
  ),
  textDocuments: row(
    0x84,
    "text documents",
    "cache",
    "segment 4, chunk 4",
    "id 16, begin seq 8 for each of 128 documents",
  ),
  textEnds: row(
    0x85,
    "text ends",
    "cache",
    "segment 4, flush 4",
    "documents that ended, each with its end seq",
  ),
  textFences: row(
    0x86,
    "text fences",
    "cache",
    "segment 4",
    "begin seq 8 of the first document of each chunk",
  ),
  vector: row(
    0x88,
    "vector",
    "cache",
    "model 8, text hash 16",
    "numbers of 32 bits, little-endian",
  ),
  vectorMemory: row(0x89, "vector of a memory", "cache", "model 8, id 16", "[text hash, body seq]"),
  vectorOwner: row(0x8a, "vector owner", "cache", "model 8, text hash 16, id 16", "empty"),
  postedScope: row(0x8b, "posted scope", "cache", "scope hash 32", "the scope without its proof"),
  lease: row(0x90, "lease", "cache", "job", "[owner, expires at, last run, last failure]"),
} as const satisfies Record<string, KeyPrefix>;

/** A name of a prefix. */
export type PrefixName = keyof typeof KEYSPACE;

/** What a memory can be looked up by; the byte after the index prefix. */
export const INDEX = {
  type: 1,
  tag: 2,
  kind: 3,
  frame: 4,
  slot: 5,
  session: 6,
  /** By type, those that a cold start needs: see `memory/pinned.ts`. */
  pinned: 7,
  /** By what is open about it, active memories that wait for a decision: see `REVIEW_TERM`. */
  review: 8,
  /** Values of slots that were given for a time to come, all under one term: see `memory/members.ts`. */
  waiting: 9,
} as const;

/** What may be open about a memory; the terms of the review index. */
export const REVIEW_TERM = { siblings: 1, disputed: 2, provisional: 3 } as const;

/** Live and removed edges stand in ranges of their own. */
export const EDGE_STATE = { live: 1, removed: 2 } as const;

/** One time row per this many entries. */
export const TIME_STRIDE = 16;

const CLASS_OF: readonly (KeyClass | undefined)[] = (() => {
  const table: (KeyClass | undefined)[] = [];
  for (const prefix of Object.values(KEYSPACE)) {
    if (table[prefix.byte] !== undefined) throw new Error(`prefix ${prefix.byte} is used twice`);
    table[prefix.byte] = prefix.class;
  }
  return table;
})();

/** The class of a key; an unknown prefix is `ERR_CORRUPT`. */
export function classOfKey(key: Bytes): KeyClass {
  const found = CLASS_OF[key[0] ?? -1];
  if (found !== undefined) return found;
  throw new CortexError("ERR_CORRUPT", `key with unknown prefix ${key[0]}`);
}

/** Reads a seq or a time: 8 bytes, big-endian. */
export const getU64: (bytes: Bytes, at: number) => number = readU64;

/** A seq as a value. */
export function seqValue(seq: number): Bytes {
  // A key of a prefix byte and a u64, without the prefix: the same eight bytes.
  return keyOf(0).u64(seq).end().subarray(1);
}

/** The row of an entry. */
export function journalKey(seq: number): Bytes {
  return keyOf(KEYSPACE.journal.byte).u64(seq).end();
}

/** The key of an entry in an array that is used again: for reads that keep no key, which is most of them. */
export function passingJournalKey(seq: number): Bytes {
  // Refused there.
  if (seq > INTEGER_MAX) return journalKey(seq);
  const high = Math.floor(seq / 2 ** 32);
  for (let at = 0; at < 4; at += 1) {
    PASSING_ENTRY[1 + at] = high >>> (24 - 8 * at);
    PASSING_ENTRY[5 + at] = seq >>> (24 - 8 * at);
  }
  return PASSING_ENTRY;
}

/** The same of a memory's row. */
export function passingMemoryKey(id: Bytes): Bytes {
  for (let at = 0; at < 16; at += 1) PASSING_MEMORY[1 + at] = id[at] as number;
  return PASSING_MEMORY;
}

const PASSING_ENTRY = Uint8Array.of(KEYSPACE.journal.byte, 0, 0, 0, 0, 0, 0, 0, 0);
const PASSING_MEMORY = new Uint8Array(17);
PASSING_MEMORY[0] = KEYSPACE.memory.byte;

/** The row of a tile of the journal tree. */
export function tileKey(level: number, index: number): Bytes {
  return keyOf(KEYSPACE.logTile.byte).u8(level).u64(index).end();
}

/** The sparse row that finds a seq by its time. */
export function timeKey(at: number, seq: number): Bytes {
  return keyOf(KEYSPACE.time.byte).u64(at).u64(seq).end();
}

/** A row whose key is a prefix and an id, or another fixed piece of bytes. */
export function idKey(
  name:
    | "memory"
    | "counter"
    | "goalState"
    | "edge"
    | "contested"
    | "proposal"
    | "fingerprint"
    | "idempotency"
    | "contextRecord"
    | "revokedScope"
    | "postedScope",
  id: Bytes,
): Bytes {
  // Asked for half a dozen times a write, and always short: written without a builder.
  const key = cutBytes(1 + id.length);
  key[0] = KEYSPACE[name].byte;
  for (let at = 0; at < id.length; at += 1) key[1 + at] = id[at] as number;
  return key;
}

/** What a memory's row was from `seq` on, until the next. */
export function historyKey(id: Bytes, seq: number): Bytes {
  return keyOf(KEYSPACE.history.byte).raw(id).u64(seq).end();
}

/** Where version `number` of a memory lies. */
export function versionKey(id: Bytes, number: number): Bytes {
  return keyOf(KEYSPACE.version.byte).raw(id).u32(number).end();
}

/** That entry `seq` holds a part attached to a memory. */
export function attachmentKey(id: Bytes, seq: number, part: number): Bytes {
  return keyOf(KEYSPACE.attachment.byte).raw(id).u64(seq).u16(part).end();
}

/** Where the part lies that an attachment row names. */
export function attachedPart(key: Bytes): { readonly seq: number; readonly part: number } {
  return { seq: readU64(key, 17), part: ((key[25] ?? 0) << 8) | (key[26] ?? 0) };
}

/** What all rows about one memory have in common under a prefix. */
export function ownedPrefix(
  name: "history" | "version" | "attachment" | "proposal",
  id: Bytes,
): Bytes {
  return keyOf(KEYSPACE[name].byte).raw(id).end();
}

/** A row whose key is a prefix and a text. */
export function textKey(name: "externalId" | "edgeKind" | "cursor" | "lease", text: string): Bytes {
  return keyOf(KEYSPACE[name].byte).text(text).end();
}

/** A row about vectors of one model: what they all have in common, and its last piece if given. */
export function vectorKey(
  name: "vector" | "vectorMemory" | "vectorOwner",
  modelTag: Bytes,
  ...pieces: readonly Bytes[]
): Bytes {
  const key = keyOf(KEYSPACE[name].byte).raw(modelTag);
  for (const piece of pieces) key.raw(piece);
  return key.end();
}

/** The one row that says which segments the text index has, and how far it has come. */
export const TEXT_MANIFEST_KEY: Bytes = Uint8Array.of(KEYSPACE.textManifest.byte);

/** A row of a segment of the text index; without `piece` the fences, or what all rows share. */
export function segmentKey(
  name: "textWords" | "textLengths" | "textDocuments" | "textEnds" | "textFences",
  segment: number,
  piece?: number,
): Bytes {
  const key = keyOf(KEYSPACE[name].byte).u32(segment);
  return piece === undefined ? key.end() : key.u32(piece).end();
}

/** The row that says which turns wait to be distilled: `extract/window.ts`. */
export const EXTRACT_QUEUE_KEY: Bytes = textKey("cursor", "extract");

/** The one row that makes a store a replica: it says what the store follows, and forbids writes. */
export const REPLICA_KEY: Bytes = Uint8Array.of(KEYSPACE.replica.byte);

/** The row in which whoever follows a source keeps how far that went. */
export const FOLLOW_KEY: Bytes = textKey("cursor", "follow");

/** The one row that says where the graph's configuration lies. */
export const CONFIG_KEY: Bytes = Uint8Array.of(KEYSPACE.config.byte);

/** The one row that says where the weights of salience lie; absent until something was learned. */
export const WEIGHTS_KEY: Bytes = Uint8Array.of(KEYSPACE.weights.byte);

/** What the row of the weights was from `seq` on, until the next. */
export function formerWeightsKey(seq: number): Bytes {
  return keyOf(KEYSPACE.weightsFormer.byte).u64(seq).end();
}

/** The row of a stored snapshot; the mark tells those of one number apart. */
export function snapshotKey(number: number, mark: Bytes): Bytes {
  return keyOf(KEYSPACE.snapshot.byte).u64(number).raw(mark).end();
}

/** The row of a page of a state tree. */
export function pageKey(tree: "memories" | "edges", name: Bytes): Bytes {
  const prefix = tree === "memories" ? KEYSPACE.memoryPage : KEYSPACE.edgePage;
  return keyOf(prefix.byte).raw(name).end();
}

/** Where a memory stands in an index: which one, in which lifecycle, under what. */
export interface IndexTerm {
  readonly index: number;
  readonly lifecycle: number;
  /** UTF-8, or bytes below 0xFE: then it takes one byte more in a key. */
  readonly term: Bytes;
  readonly id: Bytes;
  /** What orders the rows of the term instead of the seq at which they came: a turn's place. */
  readonly place?: Bytes;
}

/** Where the member starts in a live row; a closed row has the seq of its end before it. */
export function memberOffset(term: Bytes): number {
  return 3 + term.length + 1;
}

/** What all rows of one index, lifecycle and term have in common. */
export function indexPrefix(
  name: "index" | "indexClosed" | "indexBegun",
  index: number,
  lifecycle: number,
  term: Bytes,
): Bytes {
  return keyOf(KEYSPACE[name].byte).u8(index).u8(lifecycle).bytes(term).end();
}

/**
 * The live row of a term: its rows stand in the order in which they came, so that the past is the
 * start of the range; turns stand in the order of their places.
 */
export function indexRow(term: IndexTerm, fromSeq: number): KvRow {
  const key = keyOf(KEYSPACE.index.byte).u8(term.index).u8(term.lifecycle).bytes(term.term);
  if (term.place === undefined) return { key: key.u64(fromSeq).raw(term.id).end(), value: NONE };
  return { key: key.raw(term.place).raw(term.id).end(), value: seqValue(fromSeq) };
}

/**
 * The rows a term leaves when it ends at `toSeq`: one in the order of ends, for what has ended since a
 * position, and one in the order of begins, for a page of what was there. Neither order alone bounds
 * what a list of the past reads. Turns are few to a session and need the first only.
 */
export function indexClosedRows(term: IndexTerm, fromSeq: number, toSeq: number): readonly KvRow[] {
  const start = (prefix: KeyPrefix) =>
    keyOf(prefix.byte).u8(term.index).u8(term.lifecycle).bytes(term.term);
  const byEnd = start(KEYSPACE.indexClosed).u64(toSeq);
  if (term.place !== undefined) {
    return [{ key: byEnd.raw(term.place).raw(term.id).end(), value: seqValue(fromSeq) }];
  }
  const first = { key: byEnd.u64(fromSeq).raw(term.id).end(), value: NONE };
  const byBegin = start(KEYSPACE.indexBegun).u64(fromSeq).raw(term.id).u64(toSeq);
  return [first, { key: byBegin.end(), value: NONE }];
}

/** Since which seq a member of a live or closed row has stood there. */
export function memberSince(member: Bytes, value: Bytes): number {
  return readU64(value.length === 0 ? member : value, 0);
}

const NONE = new Uint8Array(0);

/** The place of an edge in an adjacency range. */
export interface EdgePlace {
  readonly from: Bytes;
  readonly code: number;
  readonly far: Bytes;
  readonly n: number;
}

/** Bytes of an adjacency member: code 2, other end 16, n 4. */
export const EDGE_MEMBER_BYTES = 22;

/** The live or removed row of an edge, as seen from one end. */
export function edgeKey(side: "out" | "in", place: EdgePlace, state: number): Bytes {
  const [near, other] = side === "out" ? [place.from, place.far] : [place.far, place.from];
  const prefix = side === "out" ? KEYSPACE.edgeOut : KEYSPACE.edgeIn;
  return keyOf(prefix.byte).raw(near).u8(state).u16(place.code).raw(other).u32(place.n).end();
}

/** The row that an edge's former state leaves, seen from one end. */
export function edgeClosedKey(
  side: "out" | "in",
  place: EdgePlace,
  state: number,
  toSeq: number,
): Bytes {
  const [near, other] = side === "out" ? [place.from, place.far] : [place.far, place.from];
  const prefix = side === "out" ? KEYSPACE.edgeOutClosed : KEYSPACE.edgeInClosed;
  return keyOf(prefix.byte)
    .raw(near)
    .u8(state)
    .u64(toSeq)
    .u16(place.code)
    .raw(other)
    .u32(place.n)
    .end();
}

/** What all adjacency rows of one memory and state have in common. */
export function edgePrefix(
  name: "edgeOut" | "edgeIn" | "edgeOutClosed" | "edgeInClosed",
  near: Bytes,
  state?: number,
  code?: number,
): Bytes {
  const key = keyOf(KEYSPACE[name].byte).raw(near);
  if (state !== undefined) key.u8(state);
  if (code !== undefined) key.u16(code);
  return key.end();
}

/** Everything that starts with `prefix`, as a range. */
export function prefixRange(prefix: Bytes, limit: number, reverse = false): KvRange {
  return { gte: prefix, lt: afterPrefix(prefix), limit, reverse };
}

/** The smallest key above everything that starts with `prefix`. */
export const afterPrefix: (prefix: Bytes) => Bytes = prefixEnd;

/** A key as a string of one character a byte, to use it in a Map. */
export function keyString(key: Bytes): string {
  return latin1Slice.call(key, 0, key.length);
}

/**
 * Node's own conversion, called on any byte array. Going through `Buffer.from(key.buffer, …)` would
 * first move the bytes of a small array out of the heap: it cost a third of a batched write.
 */
const { latin1Slice } = Buffer.prototype as unknown as {
  readonly latin1Slice: (this: Uint8Array, start: number, end: number) => string;
};

/** The bytes of a `keyString`. */
export function keyBytes(text: string): Bytes {
  return Buffer.from(text, "latin1");
}
