/**
 * Typed reads of decoded CBOR, for readers that trust no byte: each takes a value and a name for it,
 * and gives the value in the type asked for, or throws `ERR_CORRUPT` with the name and what came
 * instead. Also the one JSON text of open data.
 *
 * What the fields of a record mean is left to the callers.
 */
import { describe, invalid } from "../errors.js";
import { asFields, type CborValue, isFields } from "./cbor-value.js";

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
export function readList(value: Value, what: string): readonly CborValue[] {
  if (Array.isArray(value)) return value as readonly CborValue[];
  throw wrong(what, "a list", value);
}

/** A list of texts; an absent one is empty. */
export function readTexts(value: Value, what: string): readonly string[] {
  return value === undefined ? [] : readList(value, what).map((item) => readText(item, what));
}

/** A text. */
export function readText(value: Value, what: string): string {
  if (typeof value === "string") return value;
  throw wrong(what, "text", value);
}

/** A whole number. */
export function readInteger(value: Value, what: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  throw wrong(what, "an integer", value);
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

function isObject(value: Value): value is { readonly [name: string]: CborValue } {
  if (typeof value !== "object" || value === null) return false;
  return !Array.isArray(value) && !(value instanceof Uint8Array) && !isFields(value);
}

function wrong(what: string, expected: string, value: Value): Error {
  // Kinds only, never the value itself: it may be content.
  const got = typeof value === "string" ? "text" : describe(value);
  return invalid(what, expected, got, "ERR_CORRUPT");
}
