/**
 * Base64 as RFC 4648 §4 has it: the standard alphabet, padded, no line breaks.
 *
 * Promise: one value, one spelling. `fromBase64` takes exactly what `toBase64` gives; other
 * alphabets, missing or wrong padding, white space and stray bits in the last character are
 * `undefined`. Written out, because the platform's own decoders accept all of these, and verifiers
 * may have no platform but the language.
 */

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
