/**
 * Canonical CBOR: the core deterministic encoding of RFC 8949 §4.2.1 over a closed set of values.
 *
 * Promises:
 * - One value, one encoding. `encode` gives shortest integers, lengths and floats, map keys in the
 *   order of their encoded bytes, definite lengths, no tags. A number that is whole is an integer.
 * - `decode` takes exactly what `encode` can give: for all b, if `decode(b)` returns, then
 *   `encode(decode(b))` equals b. Everything else is `ERR_NOT_CANONICAL` with the byte offset.
 * - No value and no input makes either run out of stack (`LIMITS.cborDepth`).
 *
 * Records use maps with small integer keys (`Fields`), open data uses maps with text keys. What the
 * fields mean, and how large a value may be, is left to the callers.
 *
 * Writing is here, reading in `cbor-decode.ts`, the values in `cbor-value.ts`; callers take all three from here.
 * The cursor of writing is a module variable: encoding never waits, so one slab serves all. A short result stays where it
 * was written, and the next one is written behind it; copying each out was a view and a copy for six results of a
 * memory. Texts of up to 23 units are moved by hand, longer ones by the platform; at 16 bytes the loop took 48 ns
 * and the call 106, at 64 bytes 169 and 88.
 */
import { CortexError, invalid } from "../errors.js";
import { INTEGER_MAX, LIMITS } from "../limits.js";
import { type CborValue, FIELD_KEY_MAX, FieldMap, type Fields, halfBits } from "./cbor-value.js";
import { isWellFormed, utf8Length } from "./text.js";

export {
  byteStringAt,
  byteStringEnd,
  decode,
  decodeNext,
  decodeWithin,
  isKeyAfter,
  nameWithin,
  nextKey,
  numberAt,
  openFields,
  readFieldsInto,
  readWithin,
  textAt,
  textWithin,
  uintAt,
  uintBytes,
} from "./cbor-decode.js";
export {
  type CborValue,
  type Fields,
  fields,
  isFields,
} from "./cbor-value.js";

const SLAB_BYTES = 16 * 1024;
/** A longer result gets memory of its own, so that it keeps no slab. */
const IN_SLAB_BYTES_MAX = 2048;
/** What no slab has room for is written into one wide buffer; one that grew beyond this is given back after use. */
const WIDE_KEPT_BYTES = 1024 * 1024;
/** The longest text moved by hand; ASCII of this length still has a head of one byte. */
const HAND_UNITS = 23;

const TWO_32 = 2 ** 32;

/** Results stand before `outFrom`, and what is being written behind it, up to `outAt`. */
let out = new Uint8Array(SLAB_BYTES);
let outFrom = 0;
let outAt = 0;
let wide = new Uint8Array(0);
/** The slab that the next value is written into, while this one is written into the wide buffer. */
let left = { slab: out, from: 0 };
/** The key of the member being written, per depth: the path, should it have to be named. */
const trail: (string | number)[] = [];
const encoder = new TextEncoder();
const floatView = new DataView(new ArrayBuffer(8));

/**
 * The canonical bytes of `value`, in an array of its own: no later result changes it, though several may lie in one slab.
 * `ERR_INVALID` names the path of a value outside the set (`undefined`, a class instance, NaN, an infinity, an
 * integer beyond 2^53 - 1), `ERR_ILL_FORMED` that of a lone surrogate, `ERR_TOO_LARGE` that of too deep a nesting.
 */
export function encode(value: CborValue): Uint8Array {
  // Not 0 while another value is being written: then this is an encode inside a caller's getter.
  const before = outAt - outFrom;
  try {
    writeValue(value, 0);
    return before === 0 ? takeResult() : out.slice(outFrom + before, outAt);
  } finally {
    outAt = outFrom + before;
    if (before === 0 && out.length > SLAB_BYTES) leaveWide();
  }
}

/** What was written, left where it is if it is short. */
function takeResult(): Uint8Array {
  const length = outAt - outFrom;
  if (length > IN_SLAB_BYTES_MAX || out.length > SLAB_BYTES) return out.slice(outFrom, outAt);
  const result = new Uint8Array(out.buffer, outFrom, length);
  outFrom = outAt;
  return result;
}

function writeValue(value: CborValue | undefined, depth: number): void {
  if (typeof value === "string") writeText(value, depth);
  else if (typeof value === "number") writeNumber(value, depth);
  else if (value === null) writeByte(0xf6);
  else if (typeof value === "boolean") writeByte(value ? 0xf5 : 0xf4);
  else if (typeof value !== "object") throw outsider(value, depth);
  else if (value instanceof FieldMap) writeFields(value, depth);
  else if (isArray(value)) writeArray(value, depth);
  else if (value instanceof Uint8Array) writeBytes(value);
  else writeObject(value as { readonly [key: string]: CborValue }, depth);
}

function outsider(value: unknown, depth: number): CortexError {
  return invalid(pathTo(depth), "a value that canonical CBOR can hold", value);
}

function writeFields(value: Fields, depth: number): void {
  const { at } = value;
  if (at.length > FIELD_KEY_MAX + 1) {
    throw invalid(pathTo(depth), `at most ${FIELD_KEY_MAX + 1} fields`, at);
  }
  enter(depth);
  let count = 0;
  for (let key = 0; key < at.length; key++) if (at[key] !== undefined) count += 1;
  writeHead(0xa0, count);
  for (let key = 0; key < at.length; key++) {
    const member = at[key];
    if (member === undefined) continue;
    trail[depth] = key;
    writeHead(0x00, key);
    writeValue(member, depth + 1);
  }
}

function writeArray(value: readonly CborValue[], depth: number): void {
  enter(depth);
  writeHead(0x80, value.length);
  for (let i = 0; i < value.length; i++) {
    trail[depth] = i;
    writeValue(value[i], depth + 1);
  }
}

function writeObject(value: { readonly [key: string]: CborValue }, depth: number): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw outsider(value, depth);
  }
  enter(depth);
  const keys = Object.keys(value);
  putInOrder(keys);
  writeHead(0xa0, keys.length);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    trail[depth] = key;
    writeText(key, depth + 1);
    writeValue(value[key], depth + 1);
  }
}

/** Keys up to so many are moved into place one by one: sorting copies the list, a thirtieth of a batch's garbage. */
const FEW_KEYS = 16;

function putInOrder(keys: string[]): void {
  if (keys.length > FEW_KEYS) {
    keys.sort(compareKeys);
    return;
  }
  for (let next = 1; next < keys.length; next++) {
    const key = keys[next] as string;
    let at = next;
    for (; at > 0 && compareKeys(keys[at - 1] as string, key) > 0; at--) {
      keys[at] = keys[at - 1] as string;
    }
    keys[at] = key;
  }
}

/** The order of encoded keys: the head says the length, so shorter comes first, then the bytes. */
function compareKeys(a: string, b: string): number {
  const lengths = utf8Length(a) - utf8Length(b);
  if (lengths !== 0) return lengths;
  for (let i = 0; i < a.length && i < b.length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    // UTF-8 orders by code point, where what surrogates stand for comes after all single units.
    if (x !== y) return x >= 0xd800 && y >= 0xd800 ? unitRank(x) - unitRank(y) : x - y;
  }
  return 0;
}

function unitRank(unit: number): number {
  return unit < 0xe000 ? unit + 0x2800 : unit;
}

function writeBytes(value: Uint8Array): void {
  room(9 + value.length);
  writeHead(0x40, value.length);
  out.set(value, outAt);
  outAt += value.length;
}

function writeText(text: string, depth: number): void {
  if (!writeShortAscii(text)) writeLongText(text, depth);
}

function writeShortAscii(text: string): boolean {
  const units = text.length;
  if (units > HAND_UNITS) return false;
  room(1 + units);
  const bodyAt = outAt + 1;
  for (let i = 0; i < units; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) return false;
    out[bodyAt + i] = unit;
  }
  out[outAt] = 0x60 | units;
  outAt = bodyAt + units;
  return true;
}

function writeLongText(text: string, depth: number): void {
  const units = text.length;
  room(9 + 3 * units);
  // The length in bytes is known only afterwards: leave the head that ASCII would need, and move the
  // body in the rare case that its head turns out longer.
  const bodyAt = outAt + headBytes(units);
  const written = writeUtf8(text, bodyAt);
  // A lone surrogate would have been replaced by three bytes, which shows in the length.
  if (written !== units && !isWellFormed(text)) {
    throw new CortexError("ERR_ILL_FORMED", `${pathTo(depth)}: text with a lone surrogate`, {
      field: pathTo(depth),
      expected: "well-formed text",
    });
  }
  const shift = headBytes(written) - headBytes(units);
  if (shift !== 0) out.copyWithin(bodyAt + shift, bodyAt, bodyAt + written);
  writeHead(0x60, written);
  outAt += written;
}

/** Writes at a place with room for it; returns how many bytes. Node's own function needs no view of the place. */
function writeUtf8(text: string, at: number): number {
  if (utf8Write !== undefined) return utf8Write.call(out, text, at);
  return encoder.encodeInto(text, out.subarray(at)).written;
}

const utf8Write = (
  globalThis as unknown as {
    readonly Buffer?: {
      readonly prototype: {
        readonly utf8Write?: (this: Uint8Array, text: string, at: number) => number;
      };
    };
  }
).Buffer?.prototype.utf8Write;

function writeNumber(value: number, depth: number): void {
  if (Number.isSafeInteger(value)) {
    if (value >= 0) writeHead(0x00, value);
    else writeHead(0x20, -1 - value);
  } else if (Math.abs(value) <= INTEGER_MAX) {
    writeFloat(value);
  } else {
    throw invalid(pathTo(depth), "a finite number within ±(2^53 - 1)", value);
  }
}

/** The shortest of the three float formats that holds `value`, a fraction, without loss. */
function writeFloat(value: number): void {
  room(9);
  if (Math.fround(value) === value) {
    floatView.setFloat32(0, value);
    const bits = floatView.getUint32(0);
    const half = halfBits(bits);
    if (half >= 0) {
      out[outAt++] = 0xf9;
      out[outAt++] = half >>> 8;
      out[outAt++] = half;
    } else {
      out[outAt++] = 0xfa;
      writeUint32(bits);
    }
  } else {
    floatView.setFloat64(0, value);
    out[outAt++] = 0xfb;
    writeUint32(floatView.getUint32(0));
    writeUint32(floatView.getUint32(4));
  }
}

/** The initial byte of `major` (in its upper three bits) and the shortest form of `value`. */
function writeHead(major: number, value: number): void {
  room(9);
  if (value < 24) {
    out[outAt++] = major | value;
  } else if (value < 0x100) {
    out[outAt++] = major | 24;
    out[outAt++] = value;
  } else if (value < 0x10000) {
    out[outAt++] = major | 25;
    out[outAt++] = value >>> 8;
    out[outAt++] = value;
  } else if (value < TWO_32) {
    out[outAt++] = major | 26;
    writeUint32(value);
  } else {
    out[outAt++] = major | 27;
    writeUint32(Math.floor(value / TWO_32));
    writeUint32(value >>> 0);
  }
}

function headBytes(value: number): number {
  if (value < 24) return 1;
  if (value < 0x100) return 2;
  if (value < 0x10000) return 3;
  return value < TWO_32 ? 5 : 9;
}

function writeUint32(value: number): void {
  out[outAt++] = value >>> 24;
  out[outAt++] = value >>> 16;
  out[outAt++] = value >>> 8;
  out[outAt++] = value;
}

function writeByte(value: number): void {
  room(1);
  out[outAt++] = value;
}

function room(bytes: number): void {
  if (outAt + bytes > out.length) moveOn(bytes);
}

/** Goes on in a new slab or in the wide buffer, with what is being written at its beginning. */
function moveOn(bytes: number): void {
  const written = outAt - outFrom;
  const needed = written + bytes;
  let next = wide;
  if (needed <= SLAB_BYTES) next = new Uint8Array(SLAB_BYTES);
  else if (needed > wide.length) next = new Uint8Array(2 * needed);
  next.set(out.subarray(outFrom, outAt));
  if (next.length > SLAB_BYTES) {
    if (out.length === SLAB_BYTES) left = { slab: out, from: outFrom };
    wide = next;
  }
  out = next;
  outFrom = 0;
  outAt = written;
}

function leaveWide(): void {
  if (wide.length > WIDE_KEPT_BYTES) wide = new Uint8Array(0);
  out = left.slab;
  outFrom = left.from;
  outAt = outFrom;
}

function enter(depth: number): void {
  if (depth < LIMITS.cborDepth) return;
  const field = pathTo(depth);
  throw new CortexError("ERR_TOO_LARGE", `${field}: nested deeper than ${LIMITS.cborDepth}`, {
    field,
    expected: `at most ${LIMITS.cborDepth} levels`,
  });
}

function pathTo(depth: number): string {
  let path = "value";
  for (let i = 0; i < depth; i++) {
    const step = trail[i];
    if (typeof step !== "string") path += `[${step}]`;
    else path += /^[A-Za-z_$][\w$]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  }
  return path;
}

/** `Array.isArray` forgets `readonly`; this keeps it. */
function isArray(value: CborValue): value is readonly CborValue[] {
  return Array.isArray(value);
}
