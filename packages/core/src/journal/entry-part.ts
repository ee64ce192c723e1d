/**
 * One part of a stored row, read where it stands: every read of a memory passes here, and taking header, parts and
 * record apart with objects of their own cost as much as all the rest of a `get`.
 *
 * Promise: says what the whole row says, and refuses what taking it apart refuses. Whatever is unusual is left to the
 * decoder, which reads it or says what is wrong.
 *
 * Pure, like `entry.ts`, which has the format.
 */
import { byteStringAt, byteStringEnd, numberAt, uintAt, uintBytes } from "../codec/cbor.js";
import { HASH_BYTES } from "../codec/hash.js";
import {
  decodeHeader,
  ENTRY_KINDS,
  type EntryHeader,
  type EntryKind,
  type PartContext,
  partContext,
  partRecord,
  SALT_BYTES,
  splitEntry,
} from "./entry.js";

/** What a header says of its entry as a whole. */
export type EntryLine = Pick<EntryHeader, "seq" | "kind" | "at" | "by">;

/** Reads the record that stands in `bytes` from `start` to `end`, with what the entry says that first held it. */
export type ReadRecord<T> = (
  bytes: Uint8Array,
  start: number,
  end: number,
  context: PartContext,
) => T;

/** One part of a stored row. */
export interface OpenedPart<T> {
  readonly header: EntryLine;
  /** Where its subject begins in the row, and how long it is; none where the header does not name the part. */
  readonly subjectAt: number;
  readonly subjectBytes: number;
  /** `undefined` where it is erased or was never there. */
  readonly record: T | undefined;
}

/** Reads one part of a stored row. */
export function openPart<T>(
  row: Uint8Array,
  index: number,
  readRecord: ReadRecord<T>,
): OpenedPart<T> {
  const place = placeOf(row, index);
  const line =
    place === undefined ? undefined : lineOf(row, place.headerAt, place.headerEnd, index);
  if (place === undefined || line === undefined) return openSplit(row, index, readRecord);
  const { recordAt, recordEnd } = place;
  const { header, subjectAt, subjectBytes } = line;
  const record = recordAt < 0 ? undefined : readRecord(row, recordAt, recordEnd, header);
  return { header, subjectAt, subjectBytes, record };
}

function openSplit<T>(row: Uint8Array, index: number, readRecord: ReadRecord<T>): OpenedPart<T> {
  const { headerBytes, parts } = splitEntry(row);
  const header = decodeHeader(headerBytes);
  const part = parts[index];
  const record = part === undefined ? undefined : partRecord(part);
  const subject = header.parts[index]?.subject;
  return {
    header: { seq: header.seq, kind: header.kind, at: header.at, by: header.by },
    // What was taken apart are views of the row.
    subjectAt: subject === undefined ? -1 : subject.byteOffset - row.byteOffset,
    subjectBytes: subject?.length ?? 0,
    record:
      record === undefined
        ? undefined
        : readRecord(record, 0, record.length, partContext(header, index)),
  };
}

/** Whether a part is about a subject of this kind and id. */
export function isAbout(row: Uint8Array, part: OpenedLine, kind: number, id: Uint8Array): boolean {
  const { subjectAt, subjectBytes } = part;
  if (subjectBytes !== id.length + 1 || row[subjectAt] !== kind) return false;
  for (let at = 0; at < id.length; at += 1) if (row[subjectAt + 1 + at] !== id[at]) return false;
  return true;
}

/** Where the header of a stored row and the record of one of its parts stand. */
interface PartPlace {
  readonly headerAt: number;
  readonly headerEnd: number;
  /** -1 where the part is erased or was never there. */
  readonly recordAt: number;
  readonly recordEnd: number;
}

function placeOf(row: Uint8Array, index: number): PartPlace | undefined {
  const headerAt = row[0] === PAIR ? byteStringAt(row, 1) : -1;
  const headerEnd = headerAt < 0 ? -1 : byteStringEnd(row, 1, headerAt);
  const count = headerEnd < 0 ? -1 : (row[headerEnd] ?? 0) - LIST;
  let recordAt = -1;
  let recordEnd = -1;
  let at = headerEnd + 1;
  for (let part = 0; part < count && at > 0; part += 1) {
    if (row[at] === NULL) {
      at += 1;
      continue;
    }
    const start = byteStringAt(row, at);
    const end = start < 0 ? -1 : byteStringEnd(row, at, start);
    if (part === index) {
      recordAt = start + SALT_BYTES;
      recordEnd = end;
    }
    at = end - start > SALT_BYTES ? end : -1;
  }
  if (count < 0 || count > SHORT || at !== row.length) return undefined;
  return { headerAt, headerEnd, recordAt, recordEnd };
}

/** What a header says of its entry and of one part. */
type OpenedLine = Pick<OpenedPart<unknown>, "header" | "subjectAt" | "subjectBytes">;

/** Where reading a header goes on; -1 once something was unusual. */
let next = 0;

/**
 * Reads a header by hand. Nothing for one of another shape than most have, such as that of a revert, which carries
 * parts again, or for one that the decoder would refuse.
 */
function lineOf(
  row: Uint8Array,
  start: number,
  end: number,
  index: number,
): OpenedLine | undefined {
  next = start + 1;
  const seq = numberUnder(row, 0);
  const kind = kindUnder(row);
  const at = numberUnder(row, 2);
  const by = principalUnder(row);
  let subjectAt = -1;
  let subjectBytes = 0;
  const count = next > 0 && row[next] === 4 ? (row[next + 1] ?? 0) - LIST : -1;
  if (count < 0 || count > SHORT || kind === undefined || by === undefined) return undefined;
  next += 2;
  for (let part = 0; part < count; part += 1) {
    const from = row[next] === PAIR ? byteStringAt(row, next + 1) : -1;
    const to = from < 0 ? -1 : byteStringEnd(row, next + 1, from);
    if (to <= from) return undefined;
    if (part === index) {
      subjectAt = from;
      subjectBytes = to - from;
    }
    next = row[to] === NULL ? to + 1 : afterHash(row, to);
    if (next < 0) return undefined;
  }
  const members = 5 + skipBatch(row, seq) + skipRequest(row);
  if (next !== end || row[start] !== MAP + members) return undefined;
  return { header: { seq, kind, at, by }, subjectAt, subjectBytes };
}

/** The number under a key of the header; what comes instead ends the reading. */
function numberUnder(row: Uint8Array, key: number): number {
  const value = next > 0 && row[next] === key ? numberAt(row, next + 1) : -1;
  next = value < 0 ? -1 : next + 1 + uintBytes(row, next + 1);
  return value;
}

/** The kind of the entry, the last two first: most entries of a store are of one kind, and a walk meets two in turns. */
let lastKind: EntryKind = "write";
let kindBefore: EntryKind = "write";

function kindUnder(row: Uint8Array): EntryKind | undefined {
  const length = next > 0 && row[next] === 1 ? (row[next + 1] ?? 0) - TEXT : -1;
  if (length < 0 || length > SHORT) return undefined;
  const at = next + 2;
  next = at + length;
  if (isTextAt(row, at, length, lastKind)) return lastKind;
  const kind = isTextAt(row, at, length, kindBefore)
    ? kindBefore
    : ENTRY_KINDS.find((one) => isTextAt(row, at, length, one));
  if (kind === undefined) return undefined;
  kindBefore = lastKind;
  lastKind = kind;
  return kind;
}

/** The principal of the entry, of ASCII alone: the one read last is most often the next one, too. */
let lastPrincipal = "";

function principalUnder(row: Uint8Array): string | undefined {
  if (next <= 0 || row[next] !== 3) return undefined;
  const first = row[next + 1] ?? 0;
  const isLong = first === LONG_TEXT;
  const length = isLong ? (row[next + 2] ?? 0) : first - TEXT;
  if (length < (isLong ? LONG_UINT : 0) || (!isLong && length > SHORT)) return undefined;
  const at = next + (isLong ? 3 : 2);
  next = at + length;
  if (isTextAt(row, at, length, lastPrincipal)) return lastPrincipal;
  const text = String.fromCharCode(...row.subarray(at, next));
  if (text.length !== length || !/^[\0-\x7f]*$/.test(text)) return undefined;
  lastPrincipal = text;
  return text;
}

function isTextAt(row: Uint8Array, at: number, length: number, text: string): boolean {
  if (text.length !== length) return false;
  for (let i = 0; i < length; i += 1) if (row[at + i] !== text.charCodeAt(i)) return false;
  return true;
}

function afterHash(row: Uint8Array, at: number): number {
  return row[at] === LONG_BYTES && row[at + 1] === HASH_BYTES ? at + 2 + HASH_BYTES : -1;
}

/** Passes by the batch of an entry, if it is one; gives how many members it passed. */
function skipBatch(row: Uint8Array, seq: number): number {
  if (row[next] !== 5) return 0;
  const first = row[next + 1] === PAIR ? numberAt(row, next + 2) : -1;
  const lengthAt = next + 2 + uintBytes(row, next + 2);
  const length = numberAt(row, lengthAt);
  const isOne = first >= 0 && length >= 0 && seq >= first && seq < first + length;
  next = isOne ? lengthAt + uintBytes(row, lengthAt) : -1;
  return 1;
}

/** The same of the mark of a request. */
function skipRequest(row: Uint8Array): number {
  if (row[next] !== 6) return 0;
  next = afterHash(row, next + 1);
  return 1;
}

/**
 * What shows of a part at a glance: the time of its entry, and where its record begins in the row. Nothing
 * where the part is not there or anything is unusual: then the row is to be opened.
 */
export function glanceAt(
  row: Uint8Array,
  index: number,
): { readonly at: number; readonly recordAt: number } | undefined {
  const { headerAt = 0, recordAt = -1 } = placeOf(row, index) ?? {};
  if (recordAt < 0) return undefined;
  // A header opens with its map and the keys 0 to 2: seq, kind, time.
  const kindAt = headerAt + 2 + uintBytes(row, headerAt + 2);
  const kindBytes = (row[kindAt + 1] ?? 0) - TEXT;
  const timeAt = kindAt + 2 + kindBytes;
  const isUsual =
    row[headerAt + 1] === 0 &&
    row[kindAt] === 1 &&
    kindBytes >= 0 &&
    kindBytes <= SHORT &&
    row[timeAt] === 2 &&
    timeAt + 1 + uintBytes(row, timeAt + 1) < row.length;
  return isUsual ? { at: uintAt(row, timeAt + 1), recordAt } : undefined;
}

/** How CBOR opens a list of two, lists, texts and maps of up to 23, and nothing. */
const PAIR = 0x82;
const LIST = 0x80;
const TEXT = 0x60;
const MAP = 0xa0;
const SHORT = 23;
const NULL = 0xf6;
/** A text and a byte string whose length takes a byte of its own. */
const LONG_TEXT = 0x78;
const LONG_BYTES = 0x58;
/** The least length that takes a byte of its own. */
const LONG_UINT = 24;
