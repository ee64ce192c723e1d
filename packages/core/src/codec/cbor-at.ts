/**
 * Numbers, texts and byte strings of canonical CBOR, read where they stand: for rows that are read so often that taking
 * them apart first would cost as much as all the rest.
 *
 * Promise: what is given is what `decode` would give. Whatever is not there in its usual form is -1 or `undefined`, and
 * left to the decoder, which reads it or says what is wrong.
 */
import { INTEGER_MAX } from "../limits.js";

/** Where the byte string that begins at `at` has its first byte; -1 where there is none in its shortest form. */
export function byteStringAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) >>> 5 === 2 ? bodyAt(bytes, at) : -1;
}

/** The same of a text. */
export function textAt(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) >>> 5 === 3 ? bodyAt(bytes, at) : -1;
}

function bodyAt(bytes: Uint8Array, at: number): number {
  const info = (bytes[at] ?? 0) & 0x1f;
  if (info < LONG_UINT) return at + 1;
  const second = bytes[at + 1] ?? 0;
  if (info === LONG_UINT) return second >= LONG_UINT ? at + 2 : -1;
  if (info === LONG_UINT + 1) return second > 0 ? at + 3 : -1;
  return info === LONG_UINT + 2 && (second > 0 || (bytes[at + 2] ?? 0) > 0) ? at + 5 : -1;
}

/** Where a byte string or a text ends, its first byte being at `from`; it may be beyond the bytes. */
export function byteStringEnd(bytes: Uint8Array, at: number, from: number): number {
  if (from === at + 1) return from + ((bytes[at] ?? 0) & 0x1f);
  let length = 0;
  for (let next = at + 1; next < from; next += 1) length = length * 256 + (bytes[next] ?? 0);
  return from + length;
}

/** First bytes below it are numbers themselves; from it on they say how many bytes follow. */
const LONG_UINT = 24;

/** Bytes that the unsigned number at `at` takes; what is none takes all the rest, and is left to the decoder. */
export function uintBytes(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? LONG_UINT + 8;
  if (first < LONG_UINT) return 1;
  return first <= LONG_UINT + 3 ? 1 + (1 << (first - LONG_UINT)) : bytes.length;
}

/** The unsigned number at `at`, of which `uintBytes` says that it is one. */
export function uintAt(bytes: Uint8Array, at: number): number {
  const length = uintBytes(bytes, at);
  if (length === 1) return bytes[at] as number;
  let value = 0;
  for (let i = 1; i < length; i += 1) value = value * 256 + (bytes[at + i] as number);
  return value;
}

/** The least that each longer way to write a number is for. */
const LEAST = [LONG_UINT, 0x100, 0x10000, 2 ** 32] as const;

/** The unsigned number at a place; -1 where there is none in its shortest form. */
export function numberAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0xff;
  if (first < LONG_UINT) return first;
  const least = LEAST[first - LONG_UINT] ?? Number.NaN;
  const value = first < LONG_UINT + LEAST.length ? uintAt(bytes, at) : -1;
  return value >= least && value <= INTEGER_MAX ? value : -1;
}

/** The longest text read by hand; above, the call into the platform is cheaper than the loop. */
const HAND_BYTES = 23;
/** One reused list of character codes per length of a short text; `fromCharCode` copies it at once. */
const CODES: readonly number[][] = Array.from({ length: HAND_BYTES + 1 }, (_, length) =>
  new Array<number>(length).fill(0),
);

/** The text of bytes that are all there; `undefined` where they may be no UTF-8. */
export function textWithin(bytes: Uint8Array, from: number, to: number): string | undefined {
  const length = to - from;
  if (length <= HAND_BYTES) {
    const codes = CODES[length] as number[];
    let i = 0;
    for (; i < length; i += 1) {
      const byte = bytes[from + i] as number;
      if (byte > 0x7f) break;
      codes[i] = byte;
    }
    if (i === length) return String.fromCharCode.apply(null, codes);
  }
  // Half the time of the decoder, but it puts a mark where bytes are none: then the decoder says whether they are.
  const text = utf8Slice?.call(bytes, from, to);
  return text?.includes(NO_CHARACTER) === true ? undefined : text;
}

/** What Node has for it; elsewhere the decoder does all. */
const utf8Slice = (
  globalThis as unknown as {
    readonly Buffer?: {
      readonly prototype: {
        readonly utf8Slice?: (this: Uint8Array, start: number, end: number) => string;
      };
    };
  }
).Buffer?.prototype.utf8Slice;
const NO_CHARACTER = "\ufffd";

/** Names of members that were read, by their length, first and last byte: a store has few, and each is made once. */
const NAMES: (string | undefined)[] = new Array<string | undefined>(1024).fill(undefined);

/** The name of a member of an object, of bytes that are all there; `undefined` where it is empty, long or no UTF-8. */
export function nameWithin(bytes: Uint8Array, from: number, to: number): string | undefined {
  const length = to - from;
  if (length <= 0 || length > HAND_BYTES) return undefined;
  const [first, last] = [bytes[from] as number, bytes[to - 1] as number];
  const place = ((first * 31 + last) * 31 + length) & (NAMES.length - 1);
  const known = NAMES[place];
  if (known?.length === length) {
    let same = 0;
    while (same < length && bytes[from + same] === known.charCodeAt(same)) same += 1;
    if (same === length) return known;
  }
  const name = textWithin(bytes, from, to);
  // A name of other characters than ASCII has fewer units than bytes, and is never found here.
  if (name?.length === length) NAMES[place] = name;
  return name;
}

/** Whether the short name at `at` comes after the one at `before`, as the names of an object have to. */
export function isKeyAfter(bytes: Uint8Array, before: number, at: number): boolean {
  // The first byte says the length, so that neither name can be the start of the other.
  const length = (bytes[at] ?? 0) & 0x1f;
  for (let i = 0; i <= length; i += 1) {
    const order = (bytes[at + i] ?? 0) - (bytes[before + i] ?? 0);
    if (order !== 0) return order > 0;
  }
  return false;
}
