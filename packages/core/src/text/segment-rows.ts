/**
 * The rows of a segment beside its dictionary: lengths of documents, who they are, where chunks begin
 * and what ended. Fixed widths, so that a document's number is its place.
 *
 * Rows that hold several words each: the dictionary of a segment.
 *
 * A word belongs to the bucket that the first bits of its hash name, so a search reads one known key
 * for each word and segment, no key ever spells a word, and rare words share rows: a row for each
 * word of a few bytes cost three times as many puts as there were memories. In a row the words stand
 * in order, each behind its length, followed by the length of its documents and these.
 *
 * Segments have a power of two of buckets. Buckets stand in the order of hashes, so merging segments
 * of different sizes goes through all of them once, side by side.
 */
import { readU64 } from "../codec/keys.js";
import { copyBytes } from "../codec/slab.js";
import { CortexError } from "../errors.js";
import { segmentKey } from "../kv/keyspace.js";
import type { Bytes, KvRow } from "../kv/kv.js";
import { ByteReader, ByteWriter, Postings } from "./postings.js";

/** Documents of one row of lengths. */
export const LENGTHS_PER_ROW = 8192;
/** Documents of one row that says who they are. */
export const DOCUMENTS_PER_ROW = 128;
/** The largest length that a row can hold; a longer document counts as this long. */
export const LENGTH_MAX = 0xfffe;
/** In the place of a length: the document was taken out. */
export const LENGTH_GONE = 0xffff;

const ENTRY_BYTES = 24;

/** A document: whose it is, and the entry that it began with. */
export interface DocumentEntry {
  readonly id: Bytes;
  readonly begin: number;
}

/** A document that ended, and the entry that ended it. */
export interface DocumentEnd {
  readonly document: number;
  readonly end: number;
}

/** The rows for the documents of a segment. */
export function documentRows(
  segment: number,
  documents: readonly DocumentEntry[],
  lengths: ArrayLike<number>,
): readonly KvRow[] {
  const rows: KvRow[] = [];
  const fences = new Uint8Array(8 * Math.ceil(documents.length / DOCUMENTS_PER_ROW));
  for (let from = 0; from < documents.length; from += DOCUMENTS_PER_ROW) {
    const chunk = documents.slice(from, from + DOCUMENTS_PER_ROW);
    const value = new Uint8Array(chunk.length * ENTRY_BYTES);
    for (let at = 0; at < chunk.length; at += 1) {
      const { id, begin } = chunk[at] as DocumentEntry;
      value.set(id, at * ENTRY_BYTES);
      putU64(value, at * ENTRY_BYTES + 16, begin);
    }
    const number = from / DOCUMENTS_PER_ROW;
    putU64(fences, 8 * number, chunk[0]?.begin ?? 0);
    rows.push({ key: segmentKey("textDocuments", segment, number), value });
  }
  for (let from = 0; from < documents.length; from += LENGTHS_PER_ROW) {
    const count = Math.min(LENGTHS_PER_ROW, documents.length - from);
    const value = new Uint8Array(2 * count);
    for (let at = 0; at < count; at += 1) putLength(value, at, lengths[from + at] as number);
    rows.push({ key: segmentKey("textLengths", segment, from / LENGTHS_PER_ROW), value });
  }
  if (fences.length > 0) rows.push({ key: segmentKey("textFences", segment), value: fences });
  return rows;
}

/** The keys of all rows of lengths of a segment. */
export function lengthKeys(segment: number, size: number): readonly Bytes[] {
  return Array.from({ length: Math.ceil(size / LENGTHS_PER_ROW) }, (_, at) =>
    segmentKey("textLengths", segment, at),
  );
}

/** The keys of all rows that say who the documents of a segment are. */
export function documentKeys(segment: number, size: number): readonly Bytes[] {
  return Array.from({ length: Math.ceil(size / DOCUMENTS_PER_ROW) }, (_, at) =>
    segmentKey("textDocuments", segment, at),
  );
}

/** The lengths that rows hold, put together. */
export function readLengths(rows: readonly (Bytes | undefined)[], size: number): Uint16Array {
  const lengths = new Uint16Array(size);
  for (const [number, row] of rows.entries()) {
    if (row === undefined) throw missing("lengths");
    const from = number * LENGTHS_PER_ROW;
    for (let at = 0; 2 * at < row.length; at += 1) {
      lengths[from + at] = ((row[2 * at] as number) << 8) | (row[2 * at + 1] as number);
    }
  }
  return lengths;
}

/** A row of lengths without the length of one document. */
export function withoutLength(row: Bytes, at: number): Bytes {
  const copy = row.slice();
  putLength(copy, at, LENGTH_GONE);
  return copy;
}

function putLength(row: Uint8Array, at: number, length: number): void {
  row[2 * at] = length >>> 8;
  row[2 * at + 1] = length;
}

/** The document at a place of its row; `undefined` where it was taken out. */
export function documentAt(row: Bytes | undefined, at: number): DocumentEntry | undefined {
  if (row === undefined || row.length < (at + 1) * ENTRY_BYTES) throw missing("documents");
  const start = at * ENTRY_BYTES;
  const id = copyBytes(row, start, start + 16);
  for (let byte = 0; byte < 16; byte += 1) {
    if (id[byte] !== 0) return { id, begin: readU64(row, start + 16) };
  }
  return undefined;
}

/** Every document of a row, by place. */
export function documentsIn(row: Bytes | undefined): readonly (DocumentEntry | undefined)[] {
  if (row === undefined) throw missing("documents");
  return Array.from({ length: row.length / ENTRY_BYTES }, (_, at) => documentAt(row, at));
}

/** A row of documents without one of them. */
export function withoutDocument(row: Bytes, at: number): Bytes {
  const copy = row.slice();
  // The seq stays: documents stand in its order, and it says nothing that the journal does not.
  copy.fill(0, at * ENTRY_BYTES, at * ENTRY_BYTES + 16);
  return copy;
}

/** The begin of the first document of each chunk. */
export function readFences(row: Bytes | undefined): Float64Array {
  if (row === undefined) throw missing("fences");
  return Float64Array.from({ length: row.length / 8 }, (_, at) => readU64(row, 8 * at));
}

/** The row of documents that ended, ascending by number. */
export function encodeEnds(ends: readonly DocumentEnd[]): Bytes {
  const writer = new ByteWriter(16 + 8 * ends.length);
  let last = -1;
  for (const { document, end } of ends) {
    writer.varint(document - last - 1);
    writer.varint(end);
    last = document;
  }
  return writer.take();
}

/** Reads a row of documents that ended. */
export function decodeEnds(row: Bytes): readonly DocumentEnd[] {
  const reader = new ByteReader(row);
  const ends: DocumentEnd[] = [];
  let last = -1;
  while (!reader.isDone) {
    last += 1 + reader.varint();
    ends.push({ document: last, end: reader.varint() });
  }
  return ends;
}

function putU64(bytes: Uint8Array, at: number, value: number): void {
  const high = Math.floor(value / 2 ** 32);
  for (let byte = 0; byte < 4; byte += 1) {
    bytes[at + byte] = high >>> (24 - 8 * byte);
    bytes[at + 4 + byte] = value >>> (24 - 8 * byte);
  }
}

function missing(what: string): CortexError {
  return new CortexError("ERR_CORRUPT", `text index: a row of ${what} is missing or cut short`);
}

/** A row should have about so many bytes: two fit a page, and few pages are read for one word. */
const BUCKET_BYTES = 1200;
const BITS_MAX = 24;

/** How many bits of the hash name a bucket, for words that take so many bytes together. */
export function bucketBits(totalBytes: number): number {
  return Math.max(0, Math.min(BITS_MAX, Math.ceil(Math.log2(totalBytes / BUCKET_BYTES))));
}

/** The hash of a word: FNV-1a over its UTF-16 units, then mixed so that the first bits are even. */
export function hashOf(word: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at += 1) {
    hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The bucket of a hash among 2^bits. */
export function bucketOf(hash: number, bits: number): number {
  return bits === 0 ? 0 : hash >>> (32 - bits);
}

/** One word of a row, its documents still as bytes. */
interface BucketWord {
  readonly word: string;
  readonly documents: Uint8Array;
}

/** Appends a word to a row; its documents as bytes, or in a writer of their own. */
export function writeBucketWord(
  writer: ByteWriter,
  word: string,
  documents: Uint8Array | ByteWriter,
): void {
  writer.word(word);
  writer.varint(documents.length);
  if (documents instanceof Uint8Array) writer.raw(documents);
  else writer.append(documents);
}

/** Every word of a row. */
export function bucketWords(row: Uint8Array): readonly BucketWord[] {
  const reader = new ByteReader(row);
  const words: BucketWord[] = [];
  while (!reader.isDone) {
    const word = decoder.decode(reader.word());
    words.push({ word, documents: reader.skip(reader.varint()) });
  }
  return words;
}

/** The documents of one word in a row; `undefined` when it is not there. */
export function findInBucket(row: Uint8Array, wanted: Uint8Array): Postings | undefined {
  const reader = new ByteReader(row);
  while (!reader.isDone) {
    const length = reader.varint();
    const isWanted = length === wanted.length && startsAt(row, reader.at, wanted);
    reader.at += length;
    const bytes = reader.varint();
    if (isWanted) return new Postings(row, reader.at, reader.at + bytes);
    reader.at += bytes;
  }
  return undefined;
}

/** Compared in place: a row has dozens of words, and a view of each would cost more than reading. */
function startsAt(row: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let index = 0; index < wanted.length; index += 1) {
    if (row[at + index] !== wanted[index]) return false;
  }
  return true;
}

const decoder = new TextDecoder();
