/**
 * The small values of exact rows: where in the journal a record lies, and the little that listings
 * need without opening it. Bodies are stored once, in the journal; these rows point at (seq, part).
 *
 * Records as the journal holds them: read by pointers, each journal row once.
 */
import { decode, encode, uintAt, uintBytes } from "../codec/cbor.js";
import { readIntegerOr, readList } from "../codec/cbor-value.js";
import { CortexError, isCortexError } from "../errors.js";
import {
  corruptEntry,
  decodeHeader,
  type EntryHeader,
  type PartContext,
  partContext,
  partRecord,
  splitEntry,
} from "../journal/entry.js";
import type { EntryLine } from "../journal/entry-part.js";
import { journalKey } from "../kv/keyspace.js";
import type { Bytes, KvSnapshot } from "../kv/kv.js";
import {
  LIFECYCLES,
  type Lifecycle,
  MEMORY_TYPES,
  type MemoryType,
  nameOf,
} from "../records/types.js";
import { type Counter, UNUSED } from "../salience/salience.js";

/** A part of an entry. */
export interface PartPointer {
  readonly seq: number;
  readonly part: number;
}

/** The row of a memory: its state in brief, where its Head lies, and where its Version lies. */
export interface MemoryRow extends PartPointer {
  readonly type: MemoryType;
  readonly lifecycle: Lifecycle;
  readonly version: number;
  /** Since which seq it stands in each of its index rows, in the order of its terms. */
  readonly since: readonly number[];
  /** What its text says, in brief: a memory that says the same has the same. */
  readonly fingerprint?: Uint8Array | undefined;
  /** Where the current Version was written, when that is not the part at (seq, part). */
  readonly body?: PartPointer;
  /** The highest number that a version ever had; there once a revert has set a version aside. */
  readonly highest?: number;
}

/** The bytes of a memory's row. `since` is `null` when it is `seq` throughout, as after a birth. */
export function encodeMemoryRow(row: MemoryRow): Uint8Array {
  const { since, seq, body, highest } = row;
  const plain = [
    MEMORY_TYPES[row.type].code,
    LIFECYCLES[row.lifecycle].code,
    row.version,
    seq,
    row.part,
    since.every((from) => from === seq) ? null : since,
    row.fingerprint ?? null,
  ];
  if (body === undefined && highest === undefined) return encode(plain);
  const place = body === undefined ? [null, null] : [body.seq, body.part];
  return encode([...plain, ...place, ...(highest === undefined ? [] : [highest])]);
}

/** Reads a memory's row. */
export function decodeMemoryRow(bytes: Uint8Array): MemoryRow {
  return plainMemoryRow(bytes, true) ?? anyMemoryRow(bytes);
}

/**
 * The row of a memory that was written once, of bytes that are lent: without its fingerprint, which only writers look
 * at, it holds none of them. `undefined` for any other row.
 */
export function lentMemoryRow(bytes: Uint8Array): MemoryRow | undefined {
  return plainMemoryRow(bytes, false);
}

/**
 * The row of a memory that was written once, read by hand: five numbers, nothing, and a fingerprint or nothing.
 * `undefined` for any other, which is for the decoder to read or to refuse.
 */
function plainMemoryRow(bytes: Uint8Array, isKept: boolean): MemoryRow | undefined {
  if (bytes[0] !== LIST_OF_SEVEN) return undefined;
  const versionAt = 1 + uintBytes(bytes, 1) + uintBytes(bytes, 1 + uintBytes(bytes, 1));
  const seqAt = versionAt + uintBytes(bytes, versionAt);
  const partAt = seqAt + uintBytes(bytes, seqAt);
  const sinceAt = partAt + uintBytes(bytes, partAt);
  const last = bytes[sinceAt + 1] ?? 0;
  const length = last === NULL ? 0 : last - BYTE_STRING;
  const isUsual =
    bytes[1] !== undefined &&
    versionAt === 3 &&
    bytes[sinceAt] === NULL &&
    length >= 0 &&
    length <= SHORT_MOST &&
    bytes.length === sinceAt + 2 + length;
  if (!isUsual) return undefined;
  return {
    type: nameOf(MEMORY_TYPES, bytes[1], "type"),
    lifecycle: nameOf(LIFECYCLES, bytes[2], "lifecycle"),
    version: uintAt(bytes, versionAt),
    seq: uintAt(bytes, seqAt),
    part: uintAt(bytes, partAt),
    since: NO_SEQS,
    fingerprint:
      last === NULL || !isKept
        ? undefined
        : new Uint8Array(bytes.buffer, bytes.byteOffset + sinceAt + 2, length),
  };
}

/** How CBOR opens a list of seven and a byte string of up to 23, and nothing. */
const LIST_OF_SEVEN = 0x87;
const BYTE_STRING = 0x40;
const SHORT_MOST = 23;
const NULL = 0xf6;

function anyMemoryRow(bytes: Uint8Array): MemoryRow {
  const at = readList(decode(bytes));
  const since = at[5];
  const fingerprint = at[6];
  return {
    type: nameOf(MEMORY_TYPES, at[0], "type"),
    lifecycle: nameOf(LIFECYCLES, at[1], "lifecycle"),
    version: readIntegerOr(at[2], 0),
    seq: readIntegerOr(at[3], 0),
    part: readIntegerOr(at[4], 0),
    since: since === null ? NO_SEQS : (readList(since) as readonly number[]),
    fingerprint: fingerprint instanceof Uint8Array ? fingerprint : undefined,
    ...(typeof at[7] === "number" ? { body: { seq: at[7], part: readIntegerOr(at[8], 0) } } : {}),
    ...(at[9] === undefined ? {} : { highest: readIntegerOr(at[9], 0) }),
  };
}

const NO_SEQS: readonly number[] = [];

/** Since which seq a memory stands in the index row of its term number `at`. */
export function sinceOf(row: MemoryRow, at: number): number {
  return row.since[at] ?? row.seq;
}

/** Where the current Version of a memory lies. */
export function bodyPointer(row: MemoryRow): PartPointer {
  return row.body ?? { seq: row.seq, part: row.part };
}

/** The highest number that a version of a memory ever had; numbers are never given twice. */
export function highestVersion({ highest, version }: MemoryRow): number {
  return highest ?? version;
}

/** The bytes of a plain pointer. */
export function encodePointer(pointer: PartPointer): Uint8Array {
  return encode([pointer.seq, pointer.part]);
}

/** Reads a plain pointer. */
export function decodePointer(bytes: Uint8Array): PartPointer {
  const [seq, part] = readList(decode(bytes));
  return { seq: readIntegerOr(seq, 0), part: readIntegerOr(part, 0) };
}

/** The row of an edge: its state, where its record lies, and its place in the adjacency ranges. */
export interface EdgeRow extends PartPointer {
  readonly state: number;
  readonly from: Uint8Array;
  readonly code: number;
  readonly far: Uint8Array;
  readonly n: number;
}

/** The bytes of an edge's row. */
export function encodeEdgeRow(row: EdgeRow): Uint8Array {
  return encode([row.state, row.seq, row.part, row.from, row.code, row.far, row.n]);
}

/** Reads an edge's row. */
export function decodeEdgeRow(bytes: Uint8Array): EdgeRow {
  const [state, seq, part, from, code, far, n] = readList(decode(bytes));
  return {
    state: readIntegerOr(state, 0),
    seq: readIntegerOr(seq, 0),
    part: readIntegerOr(part, 0),
    from: from as Uint8Array,
    code: readIntegerOr(code, 0),
    far: far as Uint8Array,
    n: readIntegerOr(n, 0),
  };
}

/** The value of an adjacency row: where the edge's record lies, and its id. */
interface AdjacencyRow extends PartPointer {
  readonly id: Uint8Array;
}

/** The bytes of an adjacency row's value. */
export function encodeAdjacency(row: AdjacencyRow): Uint8Array {
  return encode([row.seq, row.part, row.id]);
}

/** Reads an adjacency row's value: by hand, because a walk reads thousands. */
export function decodeAdjacency(bytes: Uint8Array): AdjacencyRow {
  const idAt = bytes.length - ID_BYTES;
  const partAt = 1 + uintBytes(bytes, 1);
  const isUsual =
    bytes[0] === LIST_OF_THREE &&
    bytes[idAt - 1] === SIXTEEN_BYTES &&
    partAt + uintBytes(bytes, partAt) === idAt - 1;
  if (isUsual) {
    return { seq: uintAt(bytes, 1), part: uintAt(bytes, partAt), id: bytes.subarray(idAt) };
  }
  const [seq, part, id] = readList(decode(bytes));
  return { seq: readIntegerOr(seq, 0), part: readIntegerOr(part, 0), id: id as Uint8Array };
}

/** The seq in an adjacency row's value, without the rest. */
export function adjacencySeq(bytes: Uint8Array): number {
  return bytes[0] === LIST_OF_THREE ? uintAt(bytes, 1) : decodeAdjacency(bytes).seq;
}

const ID_BYTES = 16;
/** How CBOR opens a list of three, and a byte string of sixteen. */
const LIST_OF_THREE = 0x83;
const SIXTEEN_BYTES = 0x50;
/** The bytes of a counter row. */
export function encodeCounter(counter: Counter): Uint8Array {
  return encode([counter.reinforced, counter.accessed, counter.cited, counter.lastUsedAt]);
}

/** Reads a counter row; an absent one is all zeros. */
export function decodeCounter(bytes: Uint8Array | undefined): Counter {
  if (bytes === undefined) return UNUSED;
  const [reinforced, accessed, cited, lastUsedAt] = readList(decode(bytes));
  return {
    reinforced: readIntegerOr(reinforced, 0),
    accessed: readIntegerOr(accessed, 0),
    cited: readIntegerOr(cited, 0),
    lastUsedAt: readIntegerOr(lastUsedAt, 0),
  };
}

/** A record, and what the header says of the entry that holds it. */
export interface Read<T> {
  readonly record: T;
  readonly header: EntryLine;
}

/** The records at pointers, each journal row read once; `undefined` where erased. */
export async function readRecords<T>(
  snapshot: Pick<KvSnapshot, "getMany">,
  pointers: readonly PartPointer[],
  decode: (bytes: Bytes, context: PartContext) => T,
): Promise<(Read<T> | undefined)[]> {
  const seqs = [...new Set(pointers.map(({ seq }) => seq))];
  const rows = seqs.length === 0 ? [] : await snapshot.getMany(seqs.map(journalKey));
  const entries = new Map<number, ReturnType<typeof openEntry>>();
  for (const [at, seq] of seqs.entries()) entries.set(seq, openEntry(rows[at], seq));
  return pointers.map(({ seq, part }) => {
    const entry = entries.get(seq);
    const bytes = entry?.parts[part];
    if (entry === undefined || bytes === undefined) return undefined;
    const { header } = entry;
    return { record: decode(partRecord(bytes), partContext(header, part)), header };
  });
}

/** The header and the parts of a journal row; a row that is missing is `ERR_JOURNAL_GAP`. */
export function openEntry(
  row: Bytes | undefined,
  seq: number,
): { readonly header: EntryHeader; readonly parts: readonly (Bytes | undefined)[] } {
  if (row === undefined) throw missingEntry(seq);
  return readingEntry(seq, () => {
    const { headerBytes, parts } = splitEntry(row);
    return { header: decodeHeader(headerBytes), parts };
  });
}

/** Reads of an entry; bytes that are no encoding at all are damage, and it is said where. */
export function readingEntry<T>(seq: number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!isCortexError(error, "ERR_NOT_CANONICAL")) throw error;
    throw corruptEntry(error.message, seq);
  }
}

/** The failure of a read that needs an entry which is not there. */
export function missingEntry(seq: number): CortexError {
  return new CortexError("ERR_JOURNAL_GAP", `journal entry ${seq} is missing`, { seq });
}
