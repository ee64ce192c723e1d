/**
 * Text as Cortex needs it: strict UTF-8 both ways, lengths in bytes, cutting without breaking a
 * character, the two normal forms by which sentences and slot names are compared, and base64.
 *
 * Promises: nothing here replaces a character silently; a string with a lone surrogate, or bytes that
 * are not UTF-8, are `ERR_ILL_FORMED`. A byte order mark is an ordinary character and survives. The
 * normal forms are for comparing only: content itself is stored as it came. Limits on length are left
 * to the callers.
 *
 * Base64 as RFC 4648 §4 has it: the standard alphabet, padded, no line breaks.
 *
 * Promise: one value, one spelling. `fromBase64` takes exactly what `toBase64` gives; other
 * alphabets, missing or wrong padding, white space and stray bits in the last character are
 * `undefined`. Written out, because the platform's own decoders accept all of these, and verifiers
 * may have no platform but the language.
 */
import { CortexError } from "../errors.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The one ES2024 method used here; the compiler's library stops a year earlier. */
interface WellFormedCheck {
  isWellFormed(): boolean;
}

/** True when every surrogate in `text` has its partner, so that UTF-8 can express it. */
export function isWellFormed(text: string): boolean {
  return (text as unknown as WellFormedCheck).isWellFormed();
}

/** What Node has for it, of use from some length on: 200 units take 70 instead of 600 ns on a busy machine. */
const byteLength = (
  globalThis as unknown as { readonly Buffer?: { readonly byteLength: (text: string) => number } }
).Buffer?.byteLength;
const COUNTED_UNITS = 16;

/**
 * Length of `text` in UTF-8, counted without encoding it. A lone surrogate counts three bytes, as the
 * replacement character would; callers that care ask `isWellFormed`.
 */
export function utf8Length(text: string): number {
  const units = text.length;
  if (byteLength !== undefined && units > COUNTED_UNITS) return byteLength(text);
  let bytes = units;
  for (let i = 0; i < units; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) {
      bytes += 1;
    } else {
      bytes += 2;
      // A pair is two units and four bytes: the second unit adds nothing more.
      if (isPairAt(text, i, unit)) i += 1;
    }
  }
  return bytes;
}

/** `text` as UTF-8; `ERR_ILL_FORMED` for a lone surrogate. */
export function utf8(text: string): Uint8Array {
  if (!isWellFormed(text)) {
    throw new CortexError("ERR_ILL_FORMED", "text: expected no lone surrogate", { field: "text" });
  }
  return encoder.encode(text);
}

/** The text that `bytes` hold; `ERR_ILL_FORMED` unless they are UTF-8 to the last byte. */
export function fromUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new CortexError(
      "ERR_ILL_FORMED",
      `expected UTF-8, got ${bytes.length} bytes that are not`,
      { expected: "UTF-8", got: `${bytes.length} bytes` },
      cause,
    );
  }
}

/** The longest start of `text` that takes at most `maxBytes` in UTF-8 and ends between characters. */
export function truncateUtf8(text: string, maxBytes: number): string {
  // Three bytes per unit is the most UTF-8 can need: a short text is not even looked at.
  if (text.length * 3 <= maxBytes) return text;
  let bytes = 0;
  let i = 0;
  while (i < text.length) {
    const unit = text.charCodeAt(i);
    const pair = unit >= 0x800 && isPairAt(text, i, unit);
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : pair ? 4 : 3;
    if (bytes > maxBytes) return text.slice(0, i);
    i += pair ? 2 : 1;
  }
  return text;
}

const ELLIPSIS = "…";
const ELLIPSIS_BYTES = 3;

/** `text` if it takes at most `maxBytes` in UTF-8, else the longest start of it that fits with "…". */
export function cutToBytes(text: string, maxBytes: number): string {
  // A unit takes one to three bytes: most texts are decided without counting.
  const fits = text.length * 3 <= maxBytes;
  if (fits || (text.length <= maxBytes && utf8Length(text) <= maxBytes)) return text;
  return truncateUtf8(text, maxBytes - ELLIPSIS_BYTES) + ELLIPSIS;
}

/**
 * The name under which a slot is known: lower case, every run of anything but letters, marks and
 * digits turned into one `_`, none at the edges ("Home City" = "home-city" = "home_city"). Composed
 * (NFC), so that the two spellings of "é" name one slot. Empty for a name without letters or digits,
 * which callers refuse.
 */
export function normaliseSlot(name: string): string {
  // Lower-casing can undo composition, hence the second pass; it makes the form idempotent.
  const folded = name.normalize("NFC").toLowerCase().normalize("NFC");
  return folded.replace(SEPARATORS, "_").replace(EDGE_UNDERSCORES, "");
}

/** The name under which a kind of edge is known: as slots are, and one without letters or digits as it is. */
export function normaliseKind(name: string): string {
  return normaliseSlot(name) || name;
}

/** Replacement runs are one character long already, so the edges hold at most one each. */
const SEPARATORS = /[^\p{L}\p{M}\p{N}]+/gu;
const EDGE_UNDERSCORES = /^_|_$/g;

function isPairAt(text: string, index: number, unit: number): boolean {
  if ((unit & 0xfc00) !== 0xd800) return false;
  return (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00;
}

/**
 * The form in which two sentences are compared to find a restatement: case, spacing and a final full
 * stop do not count, but every symbol does, since "C++" is not "C#" and "-5" is not "5".
 */
export function normaliseClaim(text: string): string {
  // Most sentences are plain: testing for what would change them is cheaper than changing them.
  const isAscii = ASCII_ONLY.test(text);
  const folded = isAscii ? text.toLowerCase() : text.normalize("NFKC").toLowerCase();
  const isOdd = (isAscii ? ODD_ASCII_SPACE : ODD_SPACE).test(folded);
  const plain = (isOdd ? folded.replace(/\s+/gu, " ") : folded).trim();
  let end = plain.length;
  while (end > 0 && isFullStop(plain.charCodeAt(end - 1))) end -= 1;
  return end === plain.length ? plain : plain.slice(0, end).trimEnd() || plain;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is meant
const ASCII_ONLY = /^[\u0000-\u007f]*$/;
const ODD_SPACE = /[^\S ]| {2}/u;
const ODD_ASCII_SPACE = /[\t-\r]| {2}/;

/** `.`, `!` and `。`. */
function isFullStop(unit: number): boolean {
  return unit === 0x2e || unit === 0x21 || unit === 0x3002;
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const PAD = 0x3d;

/** Value by ASCII code, `NOT_A_DIGIT` elsewhere. */
const NOT_A_DIGIT = 0xff;
const VALUE_OF = new Uint8Array(128).fill(NOT_A_DIGIT);
for (let value = 0; value < ALPHABET.length; value++) VALUE_OF[ALPHABET.charCodeAt(value)] = value;

/** The base64 text of `bytes`. */
export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const left = bytes.length - i;
    const group =
      ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (left > 2 ? (bytes[i + 2] ?? 0) : 0);
    text += ALPHABET[group >>> 18];
    text += ALPHABET[(group >>> 12) & 63];
    text += left > 1 ? ALPHABET[(group >>> 6) & 63] : "=";
    text += left > 2 ? ALPHABET[group & 63] : "=";
  }
  return text;
}

/** How many bytes `text` stands for if it is base64; to bound it before it is decoded. */
export function base64Bytes(text: string): number {
  return Math.ceil(text.length / 4) * 3;
}

/** The bytes that `text` spells, or `undefined`; see the file header. */
export function fromBase64(text: string): Uint8Array | undefined {
  const { length } = text;
  if (length % 4 !== 0) return undefined;
  if (length === 0) return new Uint8Array(0);
  const pads =
    text.charCodeAt(length - 1) !== PAD ? 0 : text.charCodeAt(length - 2) !== PAD ? 1 : 2;
  const bytes = new Uint8Array((length / 4) * 3 - pads);
  const digits = length - pads;
  let bits = 0;
  let bitCount = 0;
  let at = 0;
  for (let i = 0; i < digits; i++) {
    const value = VALUE_OF[text.charCodeAt(i)] ?? NOT_A_DIGIT;
    if (value === NOT_A_DIGIT) return undefined;
    bits = ((bits << 6) | value) & 0x3fff;
    bitCount += 6;
    if (bitCount < 8) continue;
    bitCount -= 8;
    bytes[at++] = bits >>> bitCount;
  }
  // What is left over in the last character must be zero, or two texts would spell one value.
  return (bits & ((1 << bitCount) - 1)) === 0 ? bytes : undefined;
}

/**
 * What no name has: C0, DEL and C1 controls, the two line separators that some readers take for line
 * ends, the marks that turn the direction of text round, and the mark of byte order. With them two names
 * could look the same, or one look like another.
 */
export const CONTROLS =
  "\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff";
