/**
 * The reading half of canonical CBOR, strict: `cbor.ts` says what canonical means here.
 *
 * Every refusal is `ERR_NOT_CANONICAL`, says what stands in the bytes and at which offset. No length is
 * believed before the bytes are there, and nesting is bounded, so hostile input costs no more memory
 * than its own size times a constant.
 *
 * Numbers, texts and byte strings are also read where they stand, for rows that are read so often that taking
 * them apart first would cost as much as all the rest. What is given then is what `decode` would give. Whatever is not
 * there in its usual form is -1 or `undefined`, and left to the decoder, which reads it or says what is wrong.
 */
import { CortexError } from "../errors.js";
import { INTEGER_MAX, LIMITS } from "../limits.js";
import {
  type CborValue,
  FIELD_KEY_MAX,
  FieldMap,
  type Fields,
  halfBits,
  halfValue,
} from "./cbor-value.js";

const TWO_32 = 2 ** 32;
const floatView = new DataView(new ArrayBuffer(8));
const NO_BYTES = new Uint8Array(0);
let input: Uint8Array = NO_BYTES;
let inputAt = 0;
let inputEnd = 0;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/**
 * The value whose canonical encoding is `bytes`; `ERR_NOT_CANONICAL` if there is none. Byte strings
 * come back as views of `bytes`: they hold its memory, and nobody may write to either. Maps with
 * integer keys come back as `Fields`, all others, the empty one included, as objects without prototype.
 */
export function decode(bytes: Uint8Array): CborValue {
  return decodeWithin(bytes, 0, bytes.length);
}

/**
 * The value whose canonical encoding is `bytes[start..end)`, as `decode` gives it: for a value that lies inside
 * another, without a view of it.
 */
export function decodeWithin(bytes: Uint8Array, start: number, end: number): CborValue {
  return readWithin(bytes, start, end, decodeNext, 0);
}

/**
 * The same of a record that is read member by member, without a list of them: `read` takes its members in order, by
 * `openFields`, `nextKey`, `readFieldsInto` and `decodeNext`, and `context` is for it alone. It decodes nothing else.
 */
export function readWithin<T, C>(
  bytes: Uint8Array,
  start: number,
  end: number,
  read: (context: C) => T,
  context: C,
): T {
  input = bytes;
  inputAt = start;
  inputEnd = end;
  try {
    const value = read(context);
    if (inputAt !== inputEnd) throw refused("bytes after the value", inputAt);
    return value;
  } finally {
    input = NO_BYTES;
  }
}

/** The value that comes next; `depth` is how many maps and lists stand around it. */
export function decodeNext(depth: number): CborValue {
  return readValue(depth);
}

/** How many members the map with integer keys has that comes next; -1 where something else comes. */
export function openFields(depth: number): number {
  const start = inputAt;
  const initial = nextByte();
  if (initial >>> 5 !== 5) return -1;
  const count = readLength(initial & 0x1f, start, 2);
  descend(depth, start);
  return count > 0 && byteAt(inputAt) >>> 5 !== 0 ? -1 : count;
}

/** The key of the next member of such a map, `before` being the one before it, or -1. */
export function nextKey(before: number): number {
  const start = inputAt;
  const initial = nextByte();
  if (initial >>> 5 !== 0) throw refused("a key of another kind among integer keys", start);
  const key = readArgument(initial & 0x1f, start);
  if (key > FIELD_KEY_MAX) throw refused(`an integer key above ${FIELD_KEY_MAX}`, start);
  if (key <= before)
    throw refused(key === before ? "a duplicate key" : "a key out of order", start);
  return key;
}

/**
 * Reads such a map into a list that is used again and again, by key; keys beyond its end are passed by. False where
 * something else comes.
 */
export function readFieldsInto(into: (CborValue | undefined)[], depth: number): boolean {
  into.fill(undefined);
  let key = -1;
  let left = openFields(depth);
  if (left < 0) return false;
  for (; left > 0; left -= 1) {
    key = nextKey(key);
    const value = readValue(depth + 1);
    if (key < into.length) into[key] = value;
  }
  return true;
}

function readValue(depth: number): CborValue {
  const start = inputAt;
  const initial = nextByte();
  const info = initial & 0x1f;
  switch (initial >>> 5) {
    case 0:
      return readArgument(info, start);
    case 1: {
      const value = -1 - readArgument(info, start);
      if (value < -INTEGER_MAX) throw refused("an integer beyond ±(2^53 - 1)", start);
      return value;
    }
    case 2: {
      const length = readLength(info, start, 1);
      inputAt += length;
      return viewOf(inputAt - length, length);
    }
    case 3:
      return readText(info, start);
    case 4:
      return readArray(info, start, depth);
    case 5:
      return readMap(info, start, depth);
    case 6:
      throw refused("a tag", start);
    default:
      return readSimple(info, start);
  }
}

function readArray(info: number, start: number, depth: number): readonly CborValue[] {
  const count = readLength(info, start, 1);
  descend(depth, start);
  const items: CborValue[] = [];
  for (let i = 0; i < count; i++) items.push(readValue(depth + 1));
  return items;
}

function readMap(info: number, start: number, depth: number): CborValue {
  const count = readLength(info, start, 2);
  descend(depth, start);
  if (count === 0) return Object.create(null) as { readonly [key: string]: CborValue };
  const major = byteAt(inputAt) >>> 5;
  if (major === 0) return readFields(count, depth);
  if (major === 3) return readObject(count, depth);
  throw refused("a map key that is neither text nor an integer from 0 to 255", inputAt);
}

function readFields(count: number, depth: number): Fields {
  const at: (CborValue | undefined)[] = [];
  let key = -1;
  for (let i = 0; i < count; i++) {
    key = nextKey(key);
    while (at.length < key) at.push(undefined);
    at.push(readValue(depth + 1));
  }
  return new FieldMap(at);
}

function readObject(count: number, depth: number): { readonly [key: string]: CborValue } {
  const object = Object.create(null) as Record<string, CborValue>;
  let previousStart = inputAt;
  let previousEnd = inputAt;
  for (let i = 0; i < count; i++) {
    const start = inputAt;
    const initial = nextByte();
    if (initial >>> 5 !== 3) throw refused("a key of another kind among text keys", start);
    const key = readName(initial & 0x1f, start);
    if (i > 0) assertAfter(previousStart, previousEnd, start);
    previousStart = start;
    previousEnd = inputAt;
    object[key] = readValue(depth + 1);
  }
  return object;
}

/** Compares the encoded keys where they stand; `inputAt` is the end of the later one. */
function assertAfter(previousStart: number, previousEnd: number, start: number): void {
  const length = Math.min(previousEnd - previousStart, inputAt - start);
  for (let i = 0; i < length; i++) {
    const order = byteAt(start + i) - byteAt(previousStart + i);
    if (order > 0) return;
    if (order < 0) throw refused("a key out of order", start);
  }
  // Neither can be the start of the other, because the head says the length: they are equal.
  throw refused("a duplicate key", start);
}

function readText(info: number, start: number): string {
  const length = readLength(info, start, 1);
  const bodyAt = inputAt;
  inputAt = bodyAt + length;
  const text = textWithin(input, bodyAt, inputAt);
  if (text !== undefined) return text;
  try {
    return decoder.decode(viewOf(bodyAt, length));
  } catch {
    throw refused("text that is not UTF-8", start);
  }
}

/** The name of a member of an object. */
function readName(info: number, start: number): string {
  const from = inputAt;
  const name = from + info > inputEnd ? undefined : nameWithin(input, from, from + info);
  if (name === undefined) return readText(info, start);
  inputAt = from + info;
  return name;
}

function readSimple(info: number, start: number): CborValue {
  switch (info) {
    case 20:
      return false;
    case 21:
      return true;
    case 22:
      return null;
    case 25:
      return fraction(halfValue(readUint(2)), start);
    case 26: {
      floatView.setUint32(0, readUint(4));
      const value = fraction(floatView.getFloat32(0), start);
      if (halfBits(floatView.getUint32(0)) >= 0) throw tooLong("a float", start);
      return value;
    }
    case 27: {
      floatView.setUint32(0, readUint(4));
      floatView.setUint32(4, readUint(4));
      const value = fraction(floatView.getFloat64(0), start);
      if (Math.fround(value) === value) throw tooLong("a float", start);
      return value;
    }
    case 23:
      throw refused("undefined", start);
    case 31:
      throw refused("a break without an indefinite length", start);
    default:
      throw refused("a simple value other than false, true and null", start);
  }
}

/** Passes a float on if it may be one: whole numbers are integers, the rest is not in the set. */
function fraction(value: number, start: number): number {
  if (!Number.isFinite(value)) throw refused("NaN or an infinity", start);
  if (Number.isInteger(value)) throw refused("a float that holds an integer", start);
  return value;
}

/** A length that the rest of the input can hold, at `itemBytes` or more for each item. */
function readLength(info: number, start: number, itemBytes: number): number {
  const length = readArgument(info, start);
  if (length * itemBytes > inputEnd - inputAt) throw refused("a length beyond the input", start);
  return length;
}

function readArgument(info: number, start: number): number {
  if (info < 24) return info;
  let value: number;
  let least: number;
  if (info === 24) {
    value = nextByte();
    least = 24;
  } else if (info === 25) {
    value = readUint(2);
    least = 0x100;
  } else if (info === 26) {
    value = readUint(4);
    least = 0x10000;
  } else if (info === 27) {
    value = readUint(4) * TWO_32 + readUint(4);
    least = TWO_32;
    if (value > INTEGER_MAX) throw refused("an integer beyond ±(2^53 - 1)", start);
  } else {
    throw refused(info === 31 ? "an indefinite length" : "a reserved initial byte", start);
  }
  if (value < least) throw tooLong("an integer or a length", start);
  return value;
}

function readUint(bytes: number): number {
  let value = 0;
  for (let i = 0; i < bytes; i++) value = value * 256 + nextByte();
  return value;
}

function nextByte(): number {
  if (inputAt >= inputEnd) throw refused("the end of the input inside a value", inputEnd);
  return byteAt(inputAt++);
}

/** `index` was checked against `inputEnd` by the caller. */
function byteAt(index: number): number {
  return input[index] as number;
}

/** A plain `Uint8Array` even over a `Buffer`, whose `slice` would behave differently. */
function viewOf(start: number, length: number): Uint8Array {
  return new Uint8Array(input.buffer, input.byteOffset + start, length);
}

function descend(depth: number, start: number): void {
  if (depth >= LIMITS.cborDepth) throw refused(`nesting deeper than ${LIMITS.cborDepth}`, start);
}

function refused(what: string, offset: number): CortexError {
  return new CortexError("ERR_NOT_CANONICAL", `not canonical CBOR: ${what} at byte ${offset}`);
}

function tooLong(what: string, offset: number): CortexError {
  return refused(`${what} not in its shortest form`, offset);
}

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
