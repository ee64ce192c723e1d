/**
 * A growing array of bytes with the few writers that the rows of the text index need, and their
 * readers. Numbers of variable length take seven bits a byte, the lowest first.
 */
import { CortexError } from "../errors.js";

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
    this.raw(other.#bytes.subarray(0, other.#length));
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

function endsEarly(): CortexError {
  return new CortexError("ERR_CORRUPT", "a row of the text index ends in the middle");
}
