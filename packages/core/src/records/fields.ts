/**
 * The building blocks of every input check: bounded text, numbers, times, lists, JSON values,
 * strict objects, and the one translation from a schema's complaint to a `CortexError`.
 *
 * Promise: a failure names the field as the caller wrote it ("data.objects[2].ref"), what was
 * expected and what came. An unknown member is refused with the known ones listed; a member given
 * as `undefined` counts as absent and never appears in a result. Text is checked, never changed.
 * JSON values are copied, so a caller's later change cannot reach a record.
 *
 * Left to others: which fields a type has (`data.ts`, `frames.ts`), and which a verb takes (`contract/`).
 */

import * as z from "zod";
import { isPlainObject } from "../codec/cbor-value.js";
import { CONTROLS, isWellFormed, utf8Length } from "../codec/text.js";
import { CortexError, describe, type ErrorCode, invalid, refusal, shortName } from "../errors.js";
import { INTEGER_MAX, LIMITS } from "../limits.js";
import { namesOf, type WordTable } from "./types.js";

/** A value that JSON can say. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

/** An object that JSON can say. */
export type JsonObject = { readonly [key: string]: Json };

/** The type of a parsed value: read-only, and an absent member is absent, never `undefined`. */
export type Exact<T> = [Json] extends [T]
  ? Json
  : T extends readonly (infer U)[]
    ? readonly Exact<U>[]
    : T extends object
      ? { readonly [K in keyof T]: Exact<Exclude<T[K], undefined>> }
      : T;

/** What a text field allows. */
export interface TextRule {
  readonly maxBytes: number;
  /** Empty or white text is allowed. */
  readonly blank?: boolean;
  /** Line breaks, tabs and other control characters are allowed. */
  readonly control?: boolean;
}

/** A sentence or body of a memory. */
export const CONTENT: TextRule = { maxBytes: LIMITS.contentBytes, control: true };
/** A body that may be empty. */
export const CONTENT_OR_EMPTY: TextRule = { ...CONTENT, blank: true };
/** A short text inside data: a topic, a name, a reference. */
export const LABEL: TextRule = { maxBytes: LIMITS.labelBytes, control: true };

/** Furthest time from 1970 that a date can show, in milliseconds. */
export const TIME_MAX_MS = 8.64e15;

/** A refusal: its code, what was expected and what came. */
interface Problem {
  readonly code: ErrorCode;
  readonly expected: string;
  readonly got: string;
}

/** Checks one text that is not part of a schema. */
export function checkText(value: unknown, field: string, rule: TextRule): string {
  if (typeof value !== "string") throw invalid(field, "a string", value);
  const problem = textProblem(value, rule);
  if (problem !== undefined) throw refusal(problem.code, field, problem.expected, problem.got);
  return value;
}

/** A schema for a bounded, well-formed text; the bound is counted in bytes. */
export function textField(rule: TextRule) {
  const schema = z.string().check((payload) => {
    const problem = textProblem(payload.value, rule);
    if (problem !== undefined) complain(payload, problem, []);
  });
  const pattern = patternOf(rule);
  return schema.meta({
    ...(rule.blank === true ? {} : { minLength: 1 }),
    maxLength: rule.maxBytes,
    ...(pattern === undefined ? {} : { pattern }),
  });
}

/**
 * What a rule asks of the characters of a text, as JSON Schema says it. Each is said so that tools leave it
 * as it is: some work the greatest length into a plain class of characters, and then take seconds to read
 * the pattern of a text of 64 KiB, in every place.
 */
export function patternOf({ blank, control }: TextRule): string | undefined {
  // The first character that is no space begins the text or follows a space.
  if (control === true) return blank === true ? undefined : "(^|[\\s\\ufeff])[^\\s\\ufeff]";
  return blank === true
    ? `^[^${CONTROLS}]*$`
    : `^([^${CONTROLS}]*[^\\s${CONTROLS}])[^${CONTROLS}]*$`;
}

/** A schema for a text of a fixed pattern; `expected` describes it to people. */
export function patternField(pattern: RegExp, expected: string, maxBytes: number = LABEL.maxBytes) {
  const schema = z.string().check((payload) => {
    const { value } = payload;
    const problem = textProblem(value, { maxBytes });
    if (problem !== undefined) complain(payload, problem, []);
    else if (!pattern.test(value)) {
      complain(payload, { code: "ERR_INVALID", expected, got: describe(value) }, []);
    }
  });
  return schema.meta({ minLength: 1, maxLength: maxBytes, pattern: pattern.source });
}

/** A schema for one word of a closed vocabulary. */
export function wordField<T extends WordTable>(table: T) {
  return z.enum(namesOf(table));
}

/**
 * The schema of a list that nobody changes, given or received. Zod's own `readonly` freezes every
 * list, which costs more than checking it.
 */
export type ListSchema<S extends z.ZodType> = z.ZodType<
  readonly z.output<S>[],
  readonly z.input<S>[]
>;

/** A schema for a list of at most `max` items; one of more is `ERR_TOO_LARGE`. */
export function listField<S extends z.ZodType>(item: S): ListSchema<S> {
  const max = LIMITS.listItems;
  const schema = z.array(item).check((payload) => {
    const got = payload.value.length;
    if (got <= max) return;
    const problem = { expected: `at most ${max} items`, got: `an array of ${got}` };
    complain(payload, { code: "ERR_TOO_LARGE", ...problem }, []);
  });
  return schema.meta({ maxItems: max }) as unknown as ListSchema<S>;
}

/** A schema for a share between 0 and 1. */
export const unitField = z.number().min(0).max(1);
/** A schema for a count: a whole number from 0. */
export const countField = z.int().min(0).max(INTEGER_MAX);
const ISO =
  /^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?)?$/;

/** The form of a full ISO date, or a date with a time. */
export const ISO_PATTERN = ISO.source;

/** The example that messages give. */
export const ISO_EXAMPLE = "an ISO time such as 2026-03-01T12:00:00Z";

/**
 * Milliseconds since 1970 of an ISO date or time; `undefined` when the text is neither. Without an offset it is UTC:
 * JavaScript would take it for the time of whichever machine reads it.
 */
export function isoTimeMs(text: string): number | undefined {
  const [, , day, clock, , , , zone] = ISO.exec(text) ?? [];
  if (day === undefined) return undefined;
  // The 30th of February would be taken for the 2nd of March.
  const date = new Date(Date.parse(text.slice(0, DATE_CHARS)));
  if (date.getUTCDate() !== Number(day)) return undefined;
  return Date.parse(clock !== undefined && zone === undefined ? `${text}Z` : text);
}

const DATE_CHARS = "2026-03-01".length;

/** A time as callers may give it: milliseconds since 1970, a `Date`, or an ISO text. */
export type Time = number | Date | string;

/** A schema for a time, before 1970 or after, in any of its three forms; it is kept in milliseconds. */
export const timeField = z
  .custom<Time>()
  .meta({
    anyOf: [
      { type: "integer", minimum: -TIME_MAX_MS, maximum: TIME_MAX_MS },
      { type: "string", pattern: ISO_PATTERN },
    ],
  })
  .transform((value, payload): number => {
    const ms = timeMs(value);
    if (ms !== undefined) return ms;
    const expected = `milliseconds since 1970, a Date or ${ISO_EXAMPLE}`;
    const params = { code: "ERR_INVALID", expected, got: describe(value) };
    payload.issues.push({ code: "custom", input: value, params });
    return z.NEVER;
  });

function timeMs(value: unknown): number | undefined {
  if (typeof value === "string") return isoTimeMs(value);
  const ms = value instanceof Date ? value.getTime() : value;
  const isTime = typeof ms === "number" && Number.isInteger(ms) && Math.abs(ms) <= TIME_MAX_MS;
  return isTime ? ms + 0 : undefined;
}

/** A schema for a label of one line or more. */
export const labelField = textField(LABEL);
/** A schema for an amount: digits with an optional fraction, no sign, no exponent. */
export const amountField = patternField(
  /^(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/,
  'a decimal amount such as "12.50"',
  96,
);

/** A schema for any JSON value up to `LIMITS.metadataBytes`, copied. */
export const jsonField = z
  .custom<Json>()
  .check((payload) => {
    payload.value = copyInto(payload, payload.value);
  })
  .meta({ form: "Json" }) as unknown as z.ZodType<Json, unknown>;

/** A schema for any JSON value, however large; what is passed over or only compared need not be small. */
export const anyJsonField = z
  .custom<unknown>()
  .check((payload) => {
    const state = anySize();
    copyJson(payload.value, 0, state);
    if (state.problem !== undefined) complain(payload, state.problem, state.path.reverse());
  })
  .meta({ form: "Json" });

/** A schema for a JSON object up to `LIMITS.metadataBytes`, copied. */
export const jsonObjectField = z
  .custom<JsonObject>()
  .check((payload) => {
    const value: unknown = payload.value;
    if (isPlainObject(value)) payload.value = copyInto(payload, value) as JsonObject;
    else
      complain(payload, { code: "ERR_INVALID", expected: "an object", got: describe(value) }, []);
  })
  .meta({ type: "object", form: "JsonObject" }) as unknown as z.ZodType<
  JsonObject,
  { readonly [member: string]: unknown }
>;

/** A schema for an object with these members and no others. */
export function strictFields<S extends z.ZodRawShape>(shape: S) {
  const { error: known } = saying(`one of the fields ${Object.keys(shape).join(", ")}`);
  return z
    .strictObject(shape, {
      error: (issue) => (issue.code === "unrecognized_keys" ? known() : undefined),
    })
    .overwrite(withoutUndefined);
}

const SAYING = "expected ";

/** Lets a schema say in words of its own what it expects: `z.string(saying("a ULID"))`. */
export function saying(expected: string): { readonly error: () => string } {
  return { error: () => SAYING + expected };
}

/** Parses `input`; the failure names the field under `prefix`. */
export function parseWith<S extends z.ZodType>(
  schema: S,
  input: unknown,
  prefix: string,
): Exact<z.output<S>> {
  const result = schema.safeParse(input);
  if (!result.success) throw fromZod(result.error, prefix, { input });
  return result.data as Exact<z.output<S>>;
}

/**
 * The first complaint of a schema as a `CortexError`. `prefix` is what the caller called the parsed
 * value ("data", "" for an input as a whole). Schemas do not keep what they refused: give `source`,
 * and the message can say what came.
 */
export function fromZod(
  error: z.ZodError,
  prefix: string,
  source?: { readonly input: unknown },
): CortexError {
  const issue = firstIssue(error);
  const field = fieldPath(prefix, issue.path);
  if (issue.code === "unrecognized_keys") {
    const [key = ""] = issue.keys;
    const name = fieldPath(prefix, [...issue.path, key]);
    const expected = ownWords(issue) ?? "no such field";
    return refusal("ERR_UNKNOWN_FIELD", name, expected, "an unknown field");
  }
  if (issue.code === "invalid_key") return badMemberName(prefix, issue);
  const params = issue.code === "custom" ? issue.params : undefined;
  if (isProblem(params)) return refusal(params.code, field, params.expected, params.got);
  const expected = expectedOf(issue);
  const isLong = issue.code === "too_big" && isListLength(issue);
  const code = isLong ? "ERR_TOO_LARGE" : "ERR_INVALID";
  if (source !== undefined)
    return invalid(field, expected, valueAt(source.input, issue.path), code);
  return new CortexError(code, `${field}: expected ${expected}`, { field, expected });
}

/** The failure of an object whose members are named by a rule, and one of them is not. */
function badMemberName(prefix: string, { path, issues }: z.core.$ZodIssueInvalidKey): CortexError {
  const owner = fieldPath(prefix, path.slice(0, -1));
  const [inner] = issues;
  const params = inner?.code === "custom" ? inner.params : undefined;
  const name = String(path.at(-1));
  return invalid(owner, `members named by ${isProblem(params) ? params.expected : "a rule"}`, name);
}

/**
 * The first thing that a schema has to say. Of a value that takes one of several forms, and is nearly
 * one of them, it is what that form has to say.
 */
export function firstIssue(error: z.core.$ZodError): z.core.$ZodIssue {
  const [issue] = error.issues;
  if (issue === undefined) throw new Error("a schema failed without an issue");
  return nearestForm(issue);
}

function nearestForm(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") return issue;
  const first = issue.errors.flatMap(([one]) => one ?? []);
  const inside = first.filter((one) => one.path.length > 0 || isListLength(one));
  const outside = first.filter(({ code }) => code !== "invalid_type");
  const [only] = inside.length === 1 ? inside : outside.length === 1 ? outside : [];
  if (only === undefined) return issue;
  return nearestForm({ ...only, path: [...issue.path, ...only.path] } as z.core.$ZodIssue);
}

/** Whether it is the number of a list's items that is wrong, rather than an item. */
export function isListLength(issue: z.core.$ZodIssue): boolean {
  return (issue.code === "too_small" || issue.code === "too_big") && issue.origin === "array";
}

/** Checks metadata that stands outside a schema, and copies it. */
export function checkMetadata(value: unknown, field: string): JsonObject {
  return parseWith(jsonObjectField, value, field) as JsonObject;
}

/**
 * Most bytes that a JSON value takes as CBOR: exact but for floats, which may be stored shorter.
 */
export function jsonBytes(value: unknown): number {
  if (Array.isArray(value)) {
    let bytes = headBytes(value.length);
    for (const item of value) bytes += jsonBytes(item);
    return bytes;
  }
  if (typeof value !== "object" || value === null) return scalarBytes(value);
  const entries = Object.entries(value);
  let bytes = headBytes(entries.length);
  for (const [key, member] of entries) bytes += scalarBytes(key) + jsonBytes(member);
  return bytes;
}

const CONTROL = new RegExp(`[${CONTROLS}]`);
const NON_BLANK = /\S/;

/** What is wrong with a text by a rule; `undefined` when nothing is. */
function textProblem(value: string, rule: TextRule): Problem | undefined {
  if (!isWellFormed(value)) {
    return {
      code: "ERR_ILL_FORMED",
      expected: "well-formed text",
      got: "a string with a lone surrogate",
    };
  }
  // No text is longer in bytes than three times its units: short ones need no counting.
  if (value.length * 3 > rule.maxBytes) {
    const bytes = utf8Length(value);
    if (bytes > rule.maxBytes) {
      const expected = `at most ${rule.maxBytes} bytes of text`;
      return { code: "ERR_TOO_LARGE", expected, got: `${bytes} bytes` };
    }
  }
  if (rule.blank !== true && !NON_BLANK.test(value)) {
    const got = value === "" ? "an empty string" : "a blank string";
    return { code: "ERR_INVALID", expected: "text that is not blank", got };
  }
  if (rule.control !== true && CONTROL.test(value)) {
    const expected = "text without control characters";
    return { code: "ERR_INVALID", expected, got: describe(value) };
  }
  return undefined;
}

/** What a failing JSON copy found, and where; the walk stops at the first. */
interface CopyState {
  bytes: number;
  problem?: Problem;
  path: PropertyKey[];
}

/** The state of a walk that counts no bytes. */
function anySize(): CopyState {
  return { bytes: Number.NEGATIVE_INFINITY, path: [] };
}

function copyInto(payload: z.core.ParsePayload, value: unknown): Json {
  const state: CopyState = { bytes: 0, path: [] };
  const copy = copyJson(value, 0, state);
  if (state.problem !== undefined) complain(payload, state.problem, state.path.reverse());
  return copy;
}

function copyJson(value: unknown, depth: number, state: CopyState): Json {
  if (typeof value !== "object" || value === null) {
    const problem = scalarProblem(value);
    if (problem !== undefined) return stop(state, problem);
    return count(state, scalarBytes(value), Object.is(value, -0) ? 0 : (value as Json));
  }
  if (depth >= LIMITS.metadataDepth) {
    const expected = `at most ${LIMITS.metadataDepth} levels of nesting`;
    return stop(state, { code: "ERR_TOO_LARGE", expected, got: "more" });
  }
  if (Array.isArray(value)) return copyArray(value, depth, state);
  if (isPlainObject(value)) return copyObject(value, depth, state);
  return stop(state, { code: "ERR_INVALID", expected: "a JSON value", got: describe(value) });
}

function copyArray(value: readonly unknown[], depth: number, state: CopyState): Json {
  const copy: Json[] = [];
  count(state, headBytes(value.length), null);
  for (let at = 0; at < value.length && state.problem === undefined; at++) {
    copy.push(copyJson(value[at], depth + 1, state));
    if (state.problem !== undefined) state.path.push(at);
  }
  return copy;
}

function copyObject(value: object, depth: number, state: CopyState): Json {
  const copy: { [key: string]: Json } = {};
  const entries = Object.entries(value);
  count(state, headBytes(entries.length), null);
  for (const [key, member] of entries) {
    if (state.problem !== undefined) break;
    const problem = scalarProblem(key);
    if (problem !== undefined) return stop(state, problem);
    count(state, scalarBytes(key), null);
    const held = state.problem === undefined ? copyJson(member, depth + 1, state) : null;
    // Plain assignment to "__proto__" would set the prototype instead of a member.
    const own = { value: held, enumerable: true, writable: true, configurable: true };
    if (key === "__proto__") Object.defineProperty(copy, key, own);
    else copy[key] = held;
    if (state.problem !== undefined) state.path.push(key);
  }
  return copy;
}

function scalarProblem(value: unknown): Problem | undefined {
  switch (typeof value) {
    case "string":
      return textProblem(value, { maxBytes: LIMITS.metadataBytes, blank: true, control: true });
    case "number":
      if (Number.isInteger(value) ? Math.abs(value) <= INTEGER_MAX : Number.isFinite(value)) return;
      return {
        code: "ERR_INVALID",
        expected: "a finite number, and no integer beyond 2^53 - 1",
        got: String(value),
      };
    case "boolean":
      return undefined;
    default:
      if (value === null) return undefined;
      return { code: "ERR_INVALID", expected: "a JSON value", got: describe(value) };
  }
}

function scalarBytes(value: unknown): number {
  if (typeof value === "string") {
    const bytes = utf8Length(value);
    return headBytes(bytes) + bytes;
  }
  if (typeof value !== "number") return 1;
  return Number.isInteger(value) ? headBytes(value < 0 ? -1 - value : value) : 9;
}

function headBytes(argument: number): number {
  if (argument < 24) return 1;
  if (argument < 0x100) return 2;
  if (argument < 0x10000) return 3;
  return argument < 0x100000000 ? 5 : 9;
}

function count(state: CopyState, bytes: number, value: Json): Json {
  state.bytes += bytes;
  if (state.bytes <= LIMITS.metadataBytes) return value;
  const expected = `at most ${LIMITS.metadataBytes} bytes`;
  return stop(state, { code: "ERR_TOO_LARGE", expected, got: "more" });
}

function stop(state: CopyState, problem: Problem): null {
  state.problem ??= problem;
  return null;
}

/** Puts a refusal among the issues of a schema. */
export function complain(
  payload: z.core.ParsePayload,
  problem: Problem,
  path: PropertyKey[],
): void {
  payload.issues.push({ code: "custom", input: payload.value, path, params: { ...problem } });
}

function withoutUndefined<T extends object>(value: T): T {
  for (const key in value) {
    if (value[key] === undefined) delete value[key];
  }
  return value;
}

function isProblem(params: unknown): params is Problem {
  return typeof params === "object" && params !== null && "expected" in params && "got" in params;
}

/** A path as messages show it: `tags[0]`. */
export function fieldPath(prefix: string, path: readonly PropertyKey[]): string {
  let text = prefix;
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else text += `${text === "" ? "" : "."}${shortName(String(step))}`;
  }
  return text === "" ? "input" : text;
}

/** What an input holds at a path. */
function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const step of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as { readonly [key: PropertyKey]: unknown })[step];
  }
  return value;
}

const TYPE_WORDS: { readonly [type: string]: string } = {
  string: "a string",
  number: "a finite number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  array: "an array",
  record: "an object",
};

/** What a schema expects, where it says so itself. */
function ownWords({ message }: z.core.$ZodIssue): string | undefined {
  return message.startsWith(SAYING) ? message.slice(SAYING.length) : undefined;
}

/** What a schema wanted, in words. */
export function expectedOf(issue: z.core.$ZodIssue): string {
  const own = ownWords(issue);
  if (own !== undefined) return own;
  switch (issue.code) {
    case "invalid_type":
      return TYPE_WORDS[issue.expected] ?? issue.expected;
    case "invalid_value":
      return issue.values.length === 1
        ? describe(issue.values[0])
        : `one of ${issue.values.map(String).join(", ")}`;
    case "too_small":
      if (issue.origin === "array") return `a list of at least ${issue.minimum}`;
      return `${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}`;
    case "too_big":
      if (issue.origin === "array") return `a list of at most ${issue.maximum}`;
      return `${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}`;
    case "invalid_union":
      return expectedOfForms(issue);
    case "custom":
      return isProblem(issue.params) ? issue.params.expected : issue.message;
    default:
      return issue.message;
  }
}

/** What a field of several forms takes: the words of a vocabulary say most, else every form is told. */
function expectedOfForms(issue: z.core.$ZodIssueInvalidUnion): string {
  const first = issue.errors.flatMap(([one]) => one ?? []);
  const words = first.find(({ code }) => code === "invalid_value");
  if (words !== undefined) return expectedOf(words);
  return [...new Set(first.map(expectedOf))].join(", or ");
}
