/**
 * Which documents of a segment hold a word, and how often: the bytes, and reading them.
 *
 * Documents are numbered from 0 in the order in which they began. 64 consecutive numbers are a block;
 * a block that no document of the word falls into is not there. Each block says the most that one of
 * its documents can get from the word, rounded up, so that a search may pass over it unread:
 *
 *     count, count of ended documents, then for each block:
 *     blocks left out since the last, bytes that follow, bound, then for each document
 *     one byte: number in its block (6 bits), times - 1 (2 bits); 3 there means that times - 4 follows
 *
 * Counts and lengths are varints. The bound is in 255ths of `IMPACT_MAX`, for the average length that
 * the segment had when it was written. Pure; which rows hold the bytes is left to `segment-rows.ts`.
 *
 * A growing array of bytes with the few writers that the rows of the text index need, and their
 * readers. Numbers of variable length take seven bits a byte, the lowest first.
 */
import { CortexError } from "../errors.js";
import { IMPACT_MAX, impactOf } from "./score.js";

/** Bytes being written. */
export class ByteWriter {
  #bytes: Uint8Array;
  #length = 0;

  constructor(room = 4096) {
    this.#bytes = new Uint8Array(room);
  }

  get length(): number {
    return this.#length;
  }

  u8(value: number): void {
    this.#room(1);
    this.#bytes[this.#length++] = value;
  }

  varint(value: number): void {
    this.#room(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest & 0x7f) | 0x80;
      // Numbers may pass 32 bits: a seq does in the end.
      rest = rest < 0x80000000 ? rest >>> 7 : Math.floor(rest / 128);
    }
    this.#bytes[this.#length++] = rest;
  }

  raw(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Everything another writer has. */
  append(other: ByteWriter): void {
    const { length } = other;
    this.#room(length);
    copyInto(this.#bytes, this.#length, { bytes: other.#bytes, start: 0, end: length });
    this.#length += length;
  }

  /** A text in UTF-8, behind its length. */
  word(word: string): void {
    this.#room(1 + word.length);
    const start = this.#length;
    const bytes = this.#bytes;
    for (let at = 0; at < word.length; at += 1) {
      const unit = word.charCodeAt(at);
      // Short ASCII goes straight in; anything else by way of its encoding.
      if (unit > 0x7f || word.length > 0x7f) {
        const encoded = utf8Bytes.encode(word);
        this.varint(encoded.length);
        this.raw(encoded);
        return;
      }
      bytes[start + 1 + at] = unit;
    }
    bytes[start] = word.length;
    this.#length = start + 1 + word.length;
  }

  /** A copy of what was written from `start` on. */
  take(start = 0, end = this.#length): Uint8Array {
    return this.#bytes.slice(start, end);
  }

  /** Starts over in the same memory. */
  clear(): void {
    this.#length = 0;
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * (this.#length + bytes));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

const utf8Bytes = new TextEncoder();

/** Most words take a few bytes: up to so many, a loop is quicker than a view to copy from. */
const LOOP_BYTES = 64;

/** Copies `bytes[start..end)`. */
export function copyInto(
  target: Uint8Array,
  at: number,
  from: { readonly bytes: Uint8Array; readonly start: number; readonly end: number },
): void {
  const { bytes, start, end } = from;
  if (end - start > LOOP_BYTES) target.set(bytes.subarray(start, end), at);
  else {
    for (let byte = start; byte < end; byte += 1) target[at + byte - start] = bytes[byte] as number;
  }
}

/** Reads what a `ByteWriter` wrote, one piece after another; bytes that end early are corrupt. */
export class ByteReader {
  readonly bytes: Uint8Array;
  at: number;
  readonly end: number;

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  get isDone(): boolean {
    return this.at >= this.end;
  }

  u8(): number {
    if (this.at >= this.end) throw endsEarly();
    return this.bytes[this.at++] as number;
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  }

  /** The bytes of a word, behind its length. */
  word(): Uint8Array {
    return this.skip(this.varint());
  }

  /** A view of the next bytes. */
  skip(length: number): Uint8Array {
    const start = this.at;
    this.pass(length);
    return this.bytes.subarray(start, this.at);
  }

  /** Leaves the next bytes out. */
  pass(length: number): void {
    if (this.at + length > this.end) throw endsEarly();
    this.at += length;
  }
}

/** The failure of whoever meets the end of a row inside of something. */
export function endsEarly(): CortexError {
  return new CortexError("ERR_CORRUPT", "a row of the text index ends in the middle");
}

/** Documents of a block. */
export const BLOCK_DOCUMENTS = 64;

/** The documents of a word, ascending, and how often each holds it. */
export interface WordDocuments {
  readonly documents: readonly number[];
  readonly times: readonly number[];
}

/** The same, in lists that other words stand in as well: a stretch of them, or all. */
export interface PassingDocuments {
  readonly documents: ArrayLike<number>;
  readonly times: ArrayLike<number>;
  readonly from?: number;
  readonly to?: number;
}

/** What bounds are computed from. */
export interface Lengths {
  readonly lengths: ArrayLike<number>;
  readonly averageLength: number;
}

/** The documents of a word as stored. Of a word that most hold the count is all that is asked for. */
export class Postings {
  /** Documents that hold the word, ended ones included. */
  readonly count: number;
  /** Documents of this segment or of older ones that held it and ended in the segment's interval. */
  readonly ended: number;
  /** Where its blocks stand in the row. */
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;

  constructor(bytes: Uint8Array, start: number, end: number) {
    const reader = new ByteReader(bytes, start, end);
    this.count = reader.varint();
    this.ended = reader.varint();
    this.bytes = bytes;
    this.start = reader.at;
    this.end = end;
  }
}

/** Writes the documents of a word. */
export function writePostings(
  writer: ByteWriter,
  word: PassingDocuments,
  ended: number,
  lengths: Lengths,
): void {
  const { documents, times, from: first = 0, to: end = documents.length } = word;
  writer.varint(end - first);
  writer.varint(ended);
  let last = -1;
  for (let from = first; from < end; ) {
    const block = blockOf(documents[from] as number);
    let to = from;
    let bytes = 0;
    let impact = 0;
    while (to < end && blockOf(documents[to] as number) === block) {
      const document = documents[to] as number;
      const count = times[to] as number;
      bytes += count < 4 ? 1 : 1 + varintBytes(count - 4);
      const length = lengths.lengths[document] as number;
      impact = Math.max(impact, impactOf(count, length, lengths.averageLength));
      to += 1;
    }
    writer.varint(block - last - 1);
    writer.varint(bytes);
    writer.u8(Math.min(255, Math.ceil((impact / IMPACT_MAX) * 255)));
    for (; from < to; from += 1) {
      const count = times[from] as number;
      const inBlock = (documents[from] as number) & (BLOCK_DOCUMENTS - 1);
      writer.u8((inBlock << 2) | Math.min(count - 1, 3));
      if (count >= 4) writer.varint(count - 4);
    }
    last = block;
  }
}

function blockOf(document: number): number {
  return document >>> 6;
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) bytes += 1;
  return bytes;
}

/** A block of a word: its number, its bound, and where its documents stand in the row. */
interface Block {
  readonly number: number;
  readonly bound: number;
  readonly start: number;
  readonly end: number;
}

/** The blocks of a word, ascending. */
export function* blocksOf({ bytes, start, end }: Postings): Generator<Block, void> {
  const reader = new ByteReader(bytes, start, end);
  for (let number = -1; !reader.isDone; ) {
    number += 1 + reader.varint();
    const length = reader.varint();
    const bound = reader.u8();
    const from = reader.at;
    reader.pass(length);
    yield { number, bound, start: from, end: reader.at };
  }
}

/** All documents of a word. */
export function allDocuments(postings: Postings): WordDocuments {
  const documents: number[] = [];
  const times: number[] = [];
  for (const { number, start, end } of blocksOf(postings)) {
    const reader = new ByteReader(postings.bytes, start, end);
    while (!reader.isDone) {
      const byte = reader.u8();
      documents.push(number * BLOCK_DOCUMENTS + (byte >>> 2));
      times.push((byte & 3) === 3 ? 4 + reader.varint() : (byte & 3) + 1);
    }
  }
  return { documents, times };
}

/** How often each of some documents, ascending, holds a word; 0 where it does not. Other blocks are passed by. */
export function timesAmong(
  { bytes, start, end }: Postings,
  documents: readonly number[],
): readonly number[] {
  const times = documents.map(() => 0);
  const reader = new ByteReader(bytes, start, end);
  let next = 0;
  for (let block = -1; !reader.isDone; ) {
    block += 1 + reader.varint();
    const length = reader.varint();
    while (next < documents.length && blockOf(documents[next] as number) < block) next += 1;
    if (next === documents.length) break;
    const to = reader.at + 1 + length;
    reader.pass(1 + length);
    if (blockOf(documents[next] as number) > block) continue;
    for (reader.at = to - length; reader.at < to; ) {
      const byte = reader.u8();
      const count = (byte & 3) === 3 ? 4 + reader.varint() : (byte & 3) + 1;
      const document = block * BLOCK_DOCUMENTS + (byte >>> 2);
      while ((documents[next] as number) < document) next += 1;
      if (documents[next] === document) times[next] = count;
    }
  }
  return times;
}
