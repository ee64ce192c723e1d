/**
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
import { ByteReader, type ByteWriter } from "./bytes.js";
import { type Postings, readPostings } from "./postings.js";

/** A row should have about so many bytes: two fit a page, and few pages are read for one word. */
const BUCKET_BYTES = 1200;
const BITS_MAX = 24;

/** How many bits of the hash tell buckets apart, for words that take so many bytes together. */
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
export interface BucketWord {
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
export function findInBucket(row: Uint8Array, word: string): Postings | undefined {
  const wanted = encoder.encode(word);
  const reader = new ByteReader(row);
  while (!reader.isDone) {
    const length = reader.varint();
    const isWanted = length === wanted.length && startsAt(row, reader.at, wanted);
    reader.at += length;
    const bytes = reader.varint();
    if (isWanted) return readPostings(row, reader.at, reader.at + bytes);
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

const encoder = new TextEncoder();
const decoder = new TextDecoder();
