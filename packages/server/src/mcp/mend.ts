/**
 * What a model means by its arguments: from an input that is nearly right to the one that its schema takes.
 * Models write one word where a list is wanted, "3" for 3, "a,b" for two tags, `Fact` for `fact`, `query` for
 * `questions`, null for nothing, JSON inside a string. The schema says what is wanted, so one function does it
 * for every tool.
 *
 * Promise: what a schema takes already is left as it is, and a value is only ever changed into one that its
 * schema takes. A guess is made where one meaning is left: a field that is not there stands for the one free
 * field that means the same. Words that are no date are never read as one.
 *
 * Left to others: refusing. What cannot be mended goes on as it came, and the check says what to send instead.
 */

import { isoTimeMs, kebab, noteOf, unwrapped } from "@cortex-memory/core/contract";
import type * as z from "zod";

type Schema = z.core.$ZodType;
type Members = { readonly [name: string]: unknown };

/** The input as its schema wants it, as far as that can be told. */
export function mended(schema: z.ZodObject, input: unknown): unknown {
  return mend(schema, input);
}

/** The same, checked: what is right as it came, as most is, is checked once. */
export function mendedAndChecked<I extends z.ZodObject>(
  schema: I,
  input: unknown,
): { readonly asked: unknown; readonly result: z.ZodSafeParseResult<z.output<I>> } {
  const result = isOpen(schema) ? undefined : schema.safeParse(input);
  if (result?.success === true) return { asked: input, result };
  const asked = mend(schema, input);
  return { asked, result: schema.safeParse(asked) };
}

function mend(schema: Schema, given: unknown): unknown {
  if (takes(schema, given) && !isOpen(schema)) return given;
  const value = fromJson(given);
  const { def } = unwrapped(schema)._zod as { readonly def: z.core.$ZodTypeDef };
  switch (def.type) {
    case "object":
      return isObject(value) ? mendObject(unwrapped(schema) as z.ZodObject, value) : given;
    case "array":
      return mendList(schema, (def as z.core.$ZodArrayDef).element, value);
    case "record":
      return isObject(value) ? mendRecord((def as z.core.$ZodRecordDef).valueType, value) : given;
    case "union":
      return mendUnion(schema, (def as z.core.$ZodUnionDef).options, given);
    default:
      return (
        readings(given, value).find((reading) => takes(schema, reading)) ?? mendWord(def, given)
      );
  }
}

/** Whether an object takes members that it does not name; a field spelled otherwise would be one of them. */
function isOpen(schema: Schema): boolean {
  const { catchall } = unwrapped(schema)._zod.def as { readonly catchall?: Schema };
  return catchall !== undefined && catchall._zod.def.type !== "never";
}

function takes(schema: Schema, value: unknown): boolean {
  return (schema as z.ZodType).safeParse(value).success;
}

/** What else one value may stand for, the likeliest first. */
function readings(given: unknown, parsed: unknown): readonly unknown[] {
  if (Array.isArray(given)) return given.length === 1 ? given : [];
  if (typeof given === "number") return [isoOf(given)];
  if (typeof given !== "string") return [];
  const text = given.trim();
  const isNumber = NUMBER.test(text);
  const truth = TRUTHS[text.toLowerCase()];
  return [
    ...(isNumber ? [Number(text), isoOf(Number(text))] : []),
    ...(truth === undefined ? [] : [truth]),
    isoTimeMs(text),
    text.replace(/^(\d{4}-\d{2}-\d{2}) (\d)/, "$1T$2"),
    parsed,
  ].filter((reading) => reading !== undefined && reading !== given);
}

const NUMBER = /^-?\d+(\.\d+)?$/;

const TRUTHS: { readonly [word: string]: boolean } = {
  true: true,
  yes: true,
  false: false,
  no: false,
};

/** A time given in milliseconds where a date is wanted; small numbers are no times. */
function isoOf(ms: number): string | undefined {
  const isTime = Number.isInteger(ms) && Math.abs(ms) > 1e9 && Math.abs(ms) <= 8.64e15;
  return isTime ? new Date(ms).toISOString() : undefined;
}

/** One word of a vocabulary, however it was written: `Fact`, `facts`, `tool output`. */
function mendWord(def: z.core.$ZodTypeDef, given: unknown): unknown {
  if (typeof given !== "string") return given;
  // A number out of bounds is refused as a number, so that the refusal speaks of the bounds.
  if (def.type === "number") return NUMBER.test(given.trim()) ? Number(given) : given;
  if (def.type !== "enum") return given;
  const words = Object.values((def as z.core.$ZodEnumDef).entries).map(String);
  const same = words.filter((word) => plain(word) === plain(given));
  return same.length === 1 ? same[0] : given;
}

/** A list of its items, of its one item, or of words with commas between them, which separate nothing in a sentence. */
function mendList(schema: Schema, item: Schema, given: unknown): unknown {
  if (Array.isArray(given)) return given.map((one) => mend(item, one));
  const isProse = noteOf(item).prose === true || takesObjects(item);
  const words = typeof given === "string" && !isProse ? given.split(",") : [given];
  const items = words.map((one) => (typeof one === "string" ? one.trim() : one));
  const list = items.filter((one) => one !== "").map((one) => mend(item, one));
  return list.length > 0 && takes(schema, list) ? list : given;
}

function takesObjects(item: Schema): boolean {
  const { def } = unwrapped(item)._zod as { readonly def: z.core.$ZodTypeDef };
  if (def.type === "union") return (def as z.core.$ZodUnionDef).options.some(takesObjects);
  return def.type === "object" || def.type === "record";
}

function mendRecord(item: Schema, given: Members): unknown {
  return Object.fromEntries(Object.entries(given).map(([name, one]) => [name, mend(item, one)]));
}

/** Of several forms, the first that takes the value once it is mended. */
function mendUnion(schema: Schema, forms: readonly Schema[], given: unknown): unknown {
  const tried = forms.map((form) => mend(form, given));
  return tried.find((one) => takes(schema, one)) ?? given;
}

function mendObject(schema: z.ZodObject, given: Members): unknown {
  const { shape } = schema;
  const told = Object.entries(given).filter(([name, value]) => !isNothing(shape[name], value));
  const taken = new Set(told.map(([name]) => name));
  const named = told.map(([name, value]) => {
    if (Object.hasOwn(shape, name)) return [name, value] as const;
    const free = Object.keys(shape).filter((field) => !taken.has(field));
    const meant = spelledAs(name, free) ?? (isOpen(schema) ? undefined : meantBy(name, free));
    if (meant === undefined) return [name, value] as const;
    taken.add(meant);
    return [meant, value] as const;
  });
  return Object.fromEntries(
    named.map(([name, value]) => {
      const field: Schema | undefined = Object.hasOwn(shape, name) ? shape[name] : undefined;
      return [name, field === undefined ? value : mend(field, value)];
    }),
  );
}

/** Null in a field that need not be given: some models name every field of a schema. */
function isNothing(field: Schema | undefined, value: unknown): boolean {
  return value === null && field?._zod.optin === "optional" && !takes(field, value);
}

/** Names for the same thing, in the forms that `plain` makes; a tool has one of each line, or asks for it. */
const SAME: readonly (readonly string[])[] = [
  ["question", "query", "q", "search", "text", "prompt", "input", "phrase", "phrasing", "keyword"],
  [
    "text",
    "content",
    "memory",
    "sentence",
    "statement",
    "fact",
    "note",
    "message",
    "body",
    "value",
  ],
  ["id", "memoryid", "memory", "ref", "uri", "nodeid", "lineageid"],
  ["reason", "why", "because", "rationale", "comment"],
  ["limit", "max", "count", "topk", "k", "n", "maxresult", "num", "numresult", "pagesize"],
  ["tag", "label", "topic"],
  ["kind", "relation", "relationship", "edgekind", "linkkind", "linktype", "edgetype", "type"],
  ["from", "fromid", "source", "sourceid", "subject", "start"],
  ["to", "toid", "targetid", "target", "object", "end"],
  ["when", "date", "since", "validfrom", "time", "timestamp", "at"],
  ["now", "date", "time", "asof"],
  ["changedsince", "since", "after", "updatedsince", "start", "startdate", "from"],
  ["changeduntil", "until", "before", "updateduntil", "end", "enddate", "to"],
  [
    "session",
    "sessionid",
    "conversation",
    "conversationid",
    "thread",
    "threadid",
    "chat",
    "chatid",
  ],
  ["turn", "message", "conversation", "history"],
  ["role", "author", "sender"],
  ["speaker", "name"],
  ["slot", "attribute", "key", "subjectkey"],
  ["supersede", "replace", "replaced"],
  ["basedonversion", "version", "expectedversion"],
  ["budgettoken", "maxtoken", "token", "budget"],
  ["hop", "depth", "maxhop", "maxdepth"],
  ["task", "taskid", "intentid", "goal"],
  ["helped", "helpful", "useful", "cited"],
  ["misled", "misleading", "wrong", "harmful"],
];

/** The field whose name is written otherwise. */
function spelledAs(name: string, fields: readonly string[]): string | undefined {
  const same = fields.filter((field) => plain(field) === plain(name));
  return same.length === 1 ? same[0] : undefined;
}

/** The only field that means the same. */
function meantBy(name: string, fields: readonly string[]): string | undefined {
  const lines = SAME.filter((line) => line.includes(plain(name)));
  const meant = fields.filter((field) => lines.some((line) => line.includes(plain(field))));
  return meant.length === 1 ? meant[0] : undefined;
}

/** A word without case, separators and the s of a plural. */
function plain(word: string): string {
  return kebab(word.trim())
    .toLowerCase()
    .replace(/[-_\s]+/g, "")
    .replace(/s$/, "");
}

/** The object or list that a text holds as JSON; anything else as it is. */
function fromJson(given: unknown): unknown {
  if (typeof given !== "string" || !/^\s*[[{]/.test(given)) return given;
  try {
    return JSON.parse(given) as unknown;
  } catch {
    return given;
  }
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
