/**
 * ULIDs: 16 bytes, of which the first six are milliseconds and the other ten are random, so that ids
 * sort by the time they were made. Inside the engine an id is these bytes; towards people and programs
 * it is 26 characters of Crockford's base 32.
 *
 * Promises: bytes and text order alike; `parseUlid(ulidText(id))` is `id`; anything that is not exactly
 * a ULID parses to `undefined`. Clock and randomness are arguments. Which code a bad id gets, and what
 * the zero id means, is left to the callers.
 */
import { invalid } from "../errors.js";
import { cutBytes } from "./slab.js";

/** Length of an id in bytes. */
export const ULID_BYTES = 16;

/** Length of an id as text. */
const ULID_CHARS = 26;

/** The last millisecond six bytes can say; the year 10889. */
export const ULID_TIME_MAX_MS = 2 ** 48 - 1;

const RANDOM_BYTES = 10;
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Character codes of the alphabet, by value. */
const CODE_OF = Uint8Array.from(ALPHABET, (letter) => letter.charCodeAt(0));

/** Value by ASCII code, `NOT_A_DIGIT` elsewhere. Lower case reads like upper case. */
const NOT_A_DIGIT = 0xff;
const VALUE_OF = new Uint8Array(128).fill(NOT_A_DIGIT);
for (let value = 0; value < ALPHABET.length; value++) {
  VALUE_OF[ALPHABET.charCodeAt(value)] = value;
  VALUE_OF[ALPHABET.toLowerCase().charCodeAt(value)] = value;
}

/** A new id for the time `atMs`, with ten bytes from `random`. 0 <= atMs <= ULID_TIME_MAX_MS. */
export function newUlid(atMs: number, random: (byteCount: number) => Uint8Array): Uint8Array {
  if (!Number.isInteger(atMs) || atMs < 0 || atMs > ULID_TIME_MAX_MS) {
    throw invalid("atMs", "whole milliseconds that fit 48 bits", atMs);
  }
  const tail = random(RANDOM_BYTES);
  if (tail.length !== RANDOM_BYTES) {
    throw new Error(`the source of randomness gave ${tail.length} bytes for ${RANDOM_BYTES}`);
  }
  const id = cutBytes(ULID_BYTES);
  const high = Math.floor(atMs / 2 ** 32);
  id[0] = high >>> 8;
  id[1] = high;
  id[2] = atMs >>> 24;
  id[3] = atMs >>> 16;
  id[4] = atMs >>> 8;
  id[5] = atMs;
  for (let at = 0; at < RANDOM_BYTES; at += 1) id[6 + at] = tail[at] as number;
  return id;
}

/**
 * The id as 26 upper-case characters. `id.length` is 16.
 *
 * 128 bits are two short of 26 x 5, so the first character carries three bits only; behind the first byte, five bytes
 * are eight characters. Spelled out: with a loop and a list of codes it takes twice as long, and every answer has ids.
 */
export function ulidText(id: Uint8Array): string {
  assertIdLength(id);
  const b0 = id[0] as number;
  const b1 = id[1] as number;
  const b2 = id[2] as number;
  const b3 = id[3] as number;
  const b4 = id[4] as number;
  const b5 = id[5] as number;
  const b6 = id[6] as number;
  const b7 = id[7] as number;
  const b8 = id[8] as number;
  const b9 = id[9] as number;
  const b10 = id[10] as number;
  const b11 = id[11] as number;
  const b12 = id[12] as number;
  const b13 = id[13] as number;
  const b14 = id[14] as number;
  const b15 = id[15] as number;
  return String.fromCharCode(
    codeOf(b0 >>> 5),
    codeOf(b0),
    codeOf(b1 >>> 3),
    codeOf((b1 << 2) | (b2 >>> 6)),
    codeOf(b2 >>> 1),
    codeOf((b2 << 4) | (b3 >>> 4)),
    codeOf((b3 << 1) | (b4 >>> 7)),
    codeOf(b4 >>> 2),
    codeOf((b4 << 3) | (b5 >>> 5)),
    codeOf(b5),
    codeOf(b6 >>> 3),
    codeOf((b6 << 2) | (b7 >>> 6)),
    codeOf(b7 >>> 1),
    codeOf((b7 << 4) | (b8 >>> 4)),
    codeOf((b8 << 1) | (b9 >>> 7)),
    codeOf(b9 >>> 2),
    codeOf((b9 << 3) | (b10 >>> 5)),
    codeOf(b10),
    codeOf(b11 >>> 3),
    codeOf((b11 << 2) | (b12 >>> 6)),
    codeOf(b12 >>> 1),
    codeOf((b12 << 4) | (b13 >>> 4)),
    codeOf((b13 << 1) | (b14 >>> 7)),
    codeOf(b14 >>> 2),
    codeOf((b14 << 3) | (b15 >>> 5)),
    codeOf(b15),
  );
}

/**
 * The id that `text` names, or `undefined`: exactly 26 characters of the alphabet in either case, and
 * no more than 128 bits (the first character is at most `7`). I, L, O and U are not read as look-alikes.
 */
export function parseUlid(text: string): Uint8Array | undefined {
  if (text.length !== ULID_CHARS || text.charCodeAt(0) > 0x37) return undefined;
  const id = new Uint8Array(ULID_BYTES);
  let bits = 0;
  let bitCount = -2;
  let at = 0;
  for (let i = 0; i < ULID_CHARS; i++) {
    const value = VALUE_OF[text.charCodeAt(i)] ?? NOT_A_DIGIT;
    if (value === NOT_A_DIGIT) return undefined;
    bits = ((bits << 5) | value) & 0xfff;
    bitCount += 5;
    if (bitCount >= 8) {
      bitCount -= 8;
      id[at++] = bits >>> bitCount;
    }
  }
  return id;
}

/** True for the id of sixteen zero bytes, which names nothing. */
export function isZeroUlid(id: Uint8Array): boolean {
  assertIdLength(id);
  for (let i = 0; i < ULID_BYTES; i++) if (id[i] !== 0) return false;
  return true;
}

/** The character code of the lower five bits. */
function codeOf(bits: number): number {
  return CODE_OF[bits & 31] as number;
}

function assertIdLength(id: Uint8Array): void {
  if (id.length !== ULID_BYTES) throw new Error(`an id has ${ULID_BYTES} bytes, not ${id.length}`);
}
