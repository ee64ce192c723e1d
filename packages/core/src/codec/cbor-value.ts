/**
 * The values that canonical CBOR carries here, and what is done with them outside the codec: typed reads, the one
 * JSON text of open data, where two values differ.
 *
 * The set is closed on purpose: no tags, no dates, no big integers, no `undefined`. What has no place in it is
 * turned into something that has by the owner of the record. The codec takes its carrier of maps with integer keys
 * and the arithmetic of half-precision floats from here; others import both from `cbor.ts`.
 *
 * A typed read trusts no byte: it takes a value and a name for it, and gives the value in the type asked for, or
 * throws `ERR_CORRUPT` with the name and what came instead. What the fields of a record mean is left to the callers.
 */
import { describe, invalid } from "../errors.js";

/** Every value that has an encoding. Members of objects and arrays are never `undefined`. */
export type CborValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | readonly CborValue[]
  | Fields
  | { readonly [key: string]: CborValue };

/** A map with integer keys: the index in `at` is the key, `undefined` members are absent. */
export interface Fields {
  readonly at: readonly (CborValue | undefined)[];
}

/** The largest integer key; the array behind a map stays small whatever the bytes say. */
export const FIELD_KEY_MAX = 255;

/**
 * The one class here, and only a tag: one prototype comparison tells it from arrays and from objects
 * with text keys, where a marker property would cost a lookup and could be forged by open data.
 */
export class FieldMap implements Fields {
  readonly at: readonly (CborValue | undefined)[];
  constructor(at: readonly (CborValue | undefined)[]) {
    this.at = at;
  }
}
Object.freeze(FieldMap.prototype);

/** A map with integer keys out of an array of at most 256 members. The array is not copied. */
export function fields(at: readonly (CborValue | undefined)[]): Fields {
  return new FieldMap(at);
}

/** True for what `fields` builds and what `decode` makes of a map with integer keys. */
export function isFields(value: unknown): value is Fields {
  return value instanceof FieldMap;
}

/**
 * `value` as `Fields`, else `undefined`. Bytes cannot tell which kind an empty map was meant to be and
 * `decode` gives an empty object; a reader of records asks here and gets empty fields.
 */
export function asFields(value: CborValue): Fields | undefined {
  if (isFields(value)) return value;
  if (value === null || typeof value !== "object") return undefined;
  if (Array.isArray(value) || value instanceof Uint8Array) return undefined;
  return Object.keys(value).length === 0 ? NO_FIELDS : undefined;
}

const NO_FIELDS: Fields = new FieldMap(Object.freeze([]));

/** The half-precision bits equal to single-precision `bits` of a finite non-zero value, else -1. */
export function halfBits(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 0xff) - 127;
  const fraction = bits & 0x7fffff;
  if (exponent >= -14 && exponent <= 15) {
    if ((fraction & 0x1fff) !== 0) return -1;
    return sign | ((exponent + 15) << 10) | (fraction >>> 13);
  }
  if (exponent < -14 && exponent >= -24) {
    const significand = fraction | 0x800000;
    const shift = -1 - exponent;
    if ((significand & ((1 << shift) - 1)) !== 0) return -1;
    return sign | (significand >>> shift);
  }
  return -1;
}

/** The value of half-precision `bits`. */
export function halfValue(bits: number): number {
  const exponent = (bits >>> 10) & 0x1f;
  const significand = bits & 0x3ff;
  let size: number;
  if (exponent === 0) size = significand * 2 ** -24;
  else if (exponent === 31) size = significand === 0 ? Number.POSITIVE_INFINITY : Number.NaN;
  else size = (significand + 1024) * 2 ** (exponent - 25);
  return bits >= 0x8000 ? -size : size;
}

type Value = CborValue | undefined;

/** The members of a map with integer keys, by key. */
export function readMap(value: Value, what: string): readonly Value[] {
  const read = value === undefined ? undefined : asFields(value);
  if (read !== undefined) return read.at;
  throw wrong(what, "a map with integer keys", value);
}

/** A map with text keys: open data. */
export function readObject(value: Value, what: string): { readonly [name: string]: CborValue } {
  if (isObject(value)) return value;
  throw wrong(what, "a map with text keys", value);
}

/** A list. */
export function readList(value: Value, what = "record"): readonly CborValue[] {
  if (Array.isArray(value)) return value as readonly CborValue[];
  throw wrong(what, "a list", value);
}

/** A list of texts; an absent one is empty. */
export function readTexts(value: Value, what?: string): readonly string[] {
  if (value === undefined) return [];
  const items = readList(value, what);
  for (const item of items) readText(item, what);
  return items as readonly string[];
}

/** A text. */
export function readText(value: Value, what = "record"): string {
  if (typeof value === "string") return value;
  throw wrong(what, "text", value);
}

/** A whole number. */
export function readInteger(value: Value, what = "record"): number {
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  throw wrong(what, "an integer", value);
}

/** A whole number, or the default where it is absent. */
export function readIntegerOr(value: Value, fallback: number): number {
  return value === undefined ? fallback : readInteger(value);
}

/** Exactly so many bytes. */
export function readBytesOf(value: Value, length: number, what: string): Uint8Array {
  if (value instanceof Uint8Array && value.length === length) return value;
  throw wrong(what, `${length} bytes`, value);
}

/** A value as JSON with its members in order of their names, so that one value has one text. */
export function stableText(value: CborValue): string {
  if (Array.isArray(value)) return `[${value.map(stableText).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const texts = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${stableText(value[name] ?? null)}`);
  return `{${texts.join(",")}}`;
}

function isObject(value: unknown): value is { readonly [name: string]: CborValue } {
  if (typeof value !== "object" || value === null) return false;
  return !Array.isArray(value) && !(value instanceof Uint8Array) && !isFields(value);
}

function wrong(what: string, expected: string, value: Value): Error {
  // Kinds only, never the value itself: it may be content.
  const got = typeof value === "string" ? "text" : describe(value);
  return invalid(what, expected, got, "ERR_CORRUPT");
}

/** Where two values differ first; `undefined` when they say the same. */
export function differenceOf(shown: unknown, said: unknown, path: string): string | undefined {
  if (Array.isArray(shown)) {
    if (!Array.isArray(said) || said.length !== shown.length) return path;
    return firstOf(shown, (one, at) => differenceOf(one, said[at], `${path}[${at}]`));
  }
  if (!isObject(shown)) return Object.is(shown, said) ? undefined : path;
  if (!isObject(said)) return path;
  const names = [...new Set([...Object.keys(shown), ...Object.keys(said)])];
  return firstOf(names, (name) => {
    const at = `${path}.${name}`;
    const own = Object.hasOwn(shown, name) ? shown[name] : undefined;
    const theirs = Object.hasOwn(said, name) ? said[name] : undefined;
    if (own === undefined) return theirs === undefined ? undefined : at;
    return differenceOf(own, theirs, at);
  });
}

function firstOf<T, R>(items: readonly T[], find: (item: T, at: number) => R | undefined) {
  for (const [at, item] of items.entries()) {
    const found = find(item, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** An object that is nothing but its members: no list, no bytes, nothing with a prototype of its own. */
export function isPlainObject(value: unknown): value is { readonly [name: string]: unknown } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** A whole number of at least 0. */
export function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
