/**
 * Keys that sort like the tuples they hold, and the byte helpers that go with them.
 *
 * Promise: for two keys built by the same sequence of components, unsigned byte order is the order of
 * the tuples, component by component: numbers by value, byte strings bytewise, texts by code point. No
 * component can be mistaken for what follows it, and each reads back as it was written. What a prefix
 * byte means is left to the keyspace.
 *
 * Components of variable length: every byte is stored one higher and a zero ends the component, so the
 * end sorts before any further byte. Only 0xFE and 0xFF, which UTF-8 never uses, have no room above
 * and take two bytes (FF 01, FF 02). The usual escape (00 as 00 FF, then 00 01 as the end) doubles the
 * zeros instead, and a caller's text may consist of zeros: here a text of n bytes takes n + 1, always,
 * and limits on texts bound the keys.
 *
 * A number out of range is a mistake of the calling code, a `RangeError`. Bytes that no builder wrote
 * are `ERR_CORRUPT`.
 */

import { CortexError } from "../errors.js";
import { INTEGER_MAX, LIMITS } from "../limits.js";
import { cutBytes } from "./slab.js";
import { fromUtf8, utf8 } from "./text.js";

/** Appends components and then gives the key. Every call but `end` returns the builder itself. */
interface KeyBuilder {
  /** One byte. */
  u8(value: number): KeyBuilder;
  /** Two bytes, big-endian. */
  u16(value: number): KeyBuilder;
  /** Four bytes, big-endian. */
  u32(value: number): KeyBuilder;
  /** Eight bytes, big-endian, for 0 <= value <= 2^53 - 1. */
  u64(value: number): KeyBuilder;
  /** Bytes as they are; only for components whose length the layout fixes, or the last one. */
  raw(bytes: Uint8Array): KeyBuilder;
  /** A text of any length, ended; `ERR_ILL_FORMED` for a lone surrogate. */
  text(value: string): KeyBuilder;
  /** A text left open: the prefix of every `text` component that starts with it. */
  textStart(value: string): KeyBuilder;
  /** Bytes of any length, ended. */
  bytes(value: Uint8Array): KeyBuilder;
  /** The key, in an array that shares no byte with another; the builder is spent. `ERR_TOO_LARGE` above `keyBytes`. */
  end(): Uint8Array;
}

/** Starts a key with its prefix byte: `keyOf(0x20).raw(id).u64(seq).end()`. */
export function keyOf(prefixByte: number): KeyBuilder {
  return (idle.pop() ?? new Builder()).begin(prefixByte);
}

const END = 0x00;
/** Introduces the two bytes that have no room above themselves. */
const HIGH = 0xff;
const TWO_32 = 2 ** 32;
/** Holds any legal key; only keys that `end` will refuse make a buffer grow. */
const BUFFER_BYTES = 2 * LIMITS.keyBytes;

/** A key being built: opened by `keyOf`, closed by `end`. */
class Builder implements KeyBuilder {
  private buffer = new Uint8Array(BUFFER_BYTES);
  /** Bytes written so far; 0 while nobody builds with it. */
  private at = 0;

  begin(prefixByte: number): KeyBuilder {
    this.at = 0;
    return this.u8(prefixByte);
  }

  u8(value: number): KeyBuilder {
    assertRange(value, 0xff);
    this.room(1);
    this.buffer[this.at++] = value;
    return this;
  }

  u16(value: number): KeyBuilder {
    assertRange(value, 0xffff);
    this.room(2);
    this.buffer[this.at++] = value >>> 8;
    this.buffer[this.at++] = value;
    return this;
  }

  u32(value: number): KeyBuilder {
    assertRange(value, 0xffffffff);
    this.room(4);
    this.put32(value);
    return this;
  }

  u64(value: number): KeyBuilder {
    assertRange(value, INTEGER_MAX);
    this.room(8);
    this.put32(Math.floor(value / TWO_32));
    this.put32(value);
    return this;
  }

  raw(bytes: Uint8Array): KeyBuilder {
    this.room(bytes.length);
    const { buffer, at } = this;
    // Ids and hashes are so short that the loop beats the call of `set`.
    for (let i = 0; i < bytes.length; i++) buffer[at + i] = bytes[i] as number;
    this.at = at + bytes.length;
    return this;
  }

  text(value: string): KeyBuilder {
    this.textStart(value);
    return this.u8(END);
  }

  textStart(value: string): KeyBuilder {
    this.room(value.length);
    const { buffer, at } = this;
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      // ASCII goes straight in, anything else by way of its UTF-8.
      if (unit > 0x7f) return this.shifted(utf8(value));
      buffer[at + i] = unit + 1;
    }
    this.at = at + value.length;
    return this;
  }

  bytes(value: Uint8Array): KeyBuilder {
    this.shifted(value);
    return this.u8(END);
  }

  end(): Uint8Array {
    const length = this.at;
    if (length === 0) throw new Error("this key was ended before");
    const key = cutBytes(length);
    for (let i = 0; i < length; i++) key[i] = this.buffer[i] as number;
    this.at = 0;
    if (idle.length < IDLE_MAX) idle.push(this);
    if (length <= LIMITS.keyBytes) return key;
    throw new CortexError("ERR_TOO_LARGE", `a key of ${length} bytes is over ${LIMITS.keyBytes}`, {
      expected: `at most ${LIMITS.keyBytes} bytes`,
      got: `${length} bytes`,
    });
  }

  private shifted(value: Uint8Array): KeyBuilder {
    this.room(2 * value.length);
    for (let i = 0; i < value.length; i++) {
      const byte = value[i] as number;
      if (byte < HIGH - 1) {
        this.buffer[this.at++] = byte + 1;
      } else {
        this.buffer[this.at++] = HIGH;
        this.buffer[this.at++] = byte - (HIGH - 2);
      }
    }
    return this;
  }

  private put32(value: number): void {
    const { buffer, at } = this;
    buffer[at] = value >>> 24;
    buffer[at + 1] = value >>> 16;
    buffer[at + 2] = value >>> 8;
    buffer[at + 3] = value;
    this.at = at + 4;
  }

  private room(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return;
    const larger = new Uint8Array(2 * (this.at + bytes));
    larger.set(this.buffer.subarray(0, this.at));
    this.buffer = larger;
  }
}

/**
 * Builders that wait to be used again, because making one costs more than a key. A key begun while
 * another is open takes a second builder; one abandoned by an exception is left to the collector.
 */
const idle: Builder[] = [];
const IDLE_MAX = 4;

/** The smallest key greater than every key that starts with `prefix`, the end of its range. */
export function prefixEnd(prefix: Uint8Array): Uint8Array {
  let length = prefix.length;
  while (length > 0 && prefix[length - 1] === 0xff) length -= 1;
  if (length === 0) throw new RangeError("no key is greater than every key with this prefix");
  const end = new Uint8Array(length);
  for (let i = 0; i < length; i++) end[i] = prefix[i] as number;
  end[length - 1] = (prefix[length - 1] as number) + 1;
  return end;
}

/** The number in the two bytes at `offset`. */
export function readU16(bytes: Uint8Array, offset: number): number {
  assertWithin(bytes, offset, 2);
  return ((bytes[offset] as number) << 8) | (bytes[offset + 1] as number);
}

/** The number in the four bytes at `offset`. */
export function readU32(bytes: Uint8Array, offset: number): number {
  assertWithin(bytes, offset, 4);
  let value = 0;
  for (let i = 0; i < 4; i++) value = value * 256 + (bytes[offset + i] as number);
  return value;
}

/** The number in the eight bytes at `offset`; at most 2^53 - 1. */
export function readU64(bytes: Uint8Array, offset: number): number {
  const value = readU32(bytes, offset) * TWO_32 + readU32(bytes, offset + 4);
  if (value > INTEGER_MAX) throw corrupt("a number beyond 2^53 - 1", offset);
  return value;
}

/** The text of the component at `offset`; the next component starts at `skipVariable`. */
export function textInKey(bytes: Uint8Array, offset: number): string {
  return fromUtf8(readBytes(bytes, offset));
}

/** The bytes of the variable component at `offset`; the next one starts at `skipVariable`. */
export function readBytes(bytes: Uint8Array, offset: number): Uint8Array {
  const end = skipVariable(bytes, offset) - 1;
  const value = new Uint8Array(end - offset);
  let length = 0;
  for (let i = offset; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte !== HIGH) {
      value[length++] = byte - 1;
      continue;
    }
    i += 1;
    const low = bytes[i] as number;
    if (low !== 1 && low !== 2) throw corrupt("a variable component nobody wrote", offset);
    value[length++] = low + (HIGH - 2);
  }
  return value.subarray(0, length);
}

/** The offset after the text or bytes component at `offset`. */
export function skipVariable(bytes: Uint8Array, offset: number): number {
  for (let i = offset; i < bytes.length; i++) if (bytes[i] === END) return i + 1;
  throw corrupt("a variable component without an end", offset);
}

/** Negative, zero or positive, as `a` sorts before, with or after `b` by unsigned bytes. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const order = (a[i] as number) - (b[i] as number);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** True when both are absent or hold the same bytes. Not for secrets: it stops at the first difference. */
export function equalBytes(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** All `parts` in one array of their own. */
export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Two lower-case digits per byte. */
export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += HEX_OF[bytes[i] as number];
  return text;
}

/**
 * The bytes that `text` spells, or `undefined`: lower-case digits, two per byte, nothing else, so that
 * one value has one spelling. Who wants to be lenient lower-cases first.
 */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0) return undefined;
  const bytes = new Uint8Array(text.length / 2);
  for (let i = 0; i < bytes.length; i++) {
    const high = hexDigit(text.charCodeAt(2 * i));
    const low = hexDigit(text.charCodeAt(2 * i + 1));
    if (high < 0 || low < 0) return undefined;
    bytes[i] = high * 16 + low;
  }
  return bytes;
}

const HEX_OF: readonly string[] = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, "0"),
);

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  if (code >= 0x61 && code <= 0x66) return code - 0x61 + 10;
  return -1;
}

function assertRange(value: number, max: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= max) return;
  throw new RangeError(`expected an integer from 0 to ${max}, got ${value}`);
}

function assertWithin(bytes: Uint8Array, offset: number, length: number): void {
  if (offset + length > bytes.length) throw corrupt(`fewer than ${length} bytes`, offset);
}

function corrupt(what: string, offset: number): CortexError {
  return new CortexError("ERR_CORRUPT", `a key holds ${what} at byte ${offset}`);
}
