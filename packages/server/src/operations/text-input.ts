/**
 * Inputs written as text: from the fields of an operation's schema to a syntax for each, and from a text
 * to the value it stands for. The schema decides both: a list is repeated, a switch is there or not, a
 * time may be given in ISO form, an object of texts pair by pair, any other as JSON. Every door that
 * reads text, flags of a command line or parameters of an address, reads it by these rules.
 *
 * Whether a value is right is left to the field's own schema.
 */
import { describe, ISO_EXAMPLE, isoTimeMs, kebab, unwrapped } from "@cortex-memory/core/contract";
import type * as z from "zod";
import { UsageError } from "../error-status.js";
import type { CommandSpec, Operation } from "./define.js";
import { type FieldMeta, metaOf } from "./fields.js";

/** How a field is written as text. */
type Syntax =
  | "text"
  | "number"
  | "switch"
  | "choice"
  | "list"
  | "position"
  | "either"
  | "pairs"
  | "json"
  | "time"
  | "file";

/** One field of an operation's input. */
export interface Field {
  readonly name: string;
  /** The flag without its dashes. */
  readonly flag: string;
  readonly required: boolean;
  /** What the value says. */
  readonly description: string;
  /** What its flag or argument does on the command line. */
  readonly about: string;
  readonly syntax: Syntax;
  /** What a switch is set to when its flag is given. */
  readonly sets: boolean;
  readonly choices: readonly string[];
  /** A list of numbers. */
  readonly numbers: boolean;
  readonly schema: z.ZodType;
}

/** Every field of an operation, in the order of its schema. */
export function fieldsOf(operation: Operation): readonly Field[] {
  return Object.entries(operation.input.shape).map(([name, schema]) =>
    fieldOf(name, schema as z.ZodType, operation.cli),
  );
}

function fieldOf(name: string, schema: z.ZodType, cli: CommandSpec): Field {
  const meta = metaOf(schema);
  const declared = unwrapped(schema);
  const inner = listForm(declared);
  return {
    name,
    flag: cli.flags?.[name] ?? kebab(name),
    required: schema._zod.optin !== "optional",
    description: meta.description ?? "",
    about: meta.flag ?? meta.description ?? "",
    syntax: syntaxNoted(meta) ?? syntaxOf(inner),
    sets: meta.standard !== true,
    choices: choicesOf(inner),
    numbers: inner._zod.def.type === "array" && elementType(inner) === "number",
    schema: inner === declared ? schema : (inner as z.ZodType),
  };
}

/** The syntax of a field that says itself what its text stands for. */
function syntaxNoted({ time, position, file }: FieldMeta): Syntax | undefined {
  if (time === true) return "time";
  if (position === true) return "position";
  return file === true ? "file" : undefined;
}

/** Of a field that takes a list or one item, the list: a flag can be repeated. */
function listForm(schema: z.core.$ZodType): z.core.$ZodType {
  const { def } = schema._zod;
  if (def.type !== "union") return schema;
  const forms = (def as z.core.$ZodUnionDef).options.map(unwrapped);
  return forms.find((form) => form._zod.def.type === "array") ?? schema;
}

function syntaxOf(schema: z.core.$ZodType): Syntax {
  const { def } = schema._zod;
  switch (def.type) {
    case "string":
      return "text";
    case "number":
      return "number";
    case "boolean":
      return "switch";
    case "enum":
      return "choice";
    case "union":
      return hasObject(schema) ? "either" : "position";
    case "array":
      return SCALARS.includes(elementType(schema)) ? "list" : "json";
    case "record":
      return (def as z.core.$ZodRecordDef).valueType._zod.def.type === "string" ? "pairs" : "json";
    default:
      return "json";
  }
}

/** A choice of which one form is an object: it is written as JSON, and the other form as it is. */
function hasObject(schema: z.core.$ZodType): boolean {
  const forms = (schema._zod.def as z.core.$ZodUnionDef).options.map(unwrapped);
  return forms.some((form) => form._zod.def.type === "object");
}

/** Lists whose items one word can give; of a union, the word is the form that is text. */
const SCALARS: readonly string[] = ["string", "enum", "number", "union"];

function elementType(schema: z.core.$ZodType): string {
  return unwrapped(elementOf(schema))._zod.def.type;
}

function elementOf(schema: z.core.$ZodType): z.core.$ZodType {
  return (schema._zod.def as unknown as { readonly element: z.core.$ZodType }).element;
}

function choicesOf(schema: z.core.$ZodType): readonly string[] {
  const { def } = schema._zod;
  if (def.type === "array") return choicesOf(unwrapped(elementOf(schema)));
  if (def.type !== "enum") return [];
  return Object.values((def as z.core.$ZodEnumDef).entries).map(String);
}

/** The value that a text stands for, before the field's own schema has judged it. */
export function parseValue(field: Field, raw: unknown, shown: string): unknown {
  if (field.syntax === "switch") return field.sets;
  if (field.syntax === "list") {
    // An argument that does not take all words that are left gives one item.
    const items: readonly unknown[] = Array.isArray(raw) ? raw : [raw];
    return field.numbers ? items.map((text) => numberOf(String(text), shown)) : items;
  }
  if (field.syntax === "pairs" && Array.isArray(raw)) return pairsOf(raw.map(String), shown);
  const text = String(raw);
  switch (field.syntax) {
    case "number":
      return numberOf(text, shown);
    case "position":
      // Digits are a number only where the field takes one.
      return /^\d+$/.test(text) && takesNumber(field) ? Number(text) : text;
    case "either":
      return objectIn(text) ?? text;
    case "time":
      return timeOf(text, shown);
    case "json":
    case "pairs":
      return jsonOf(text, shown);
    default:
      return text;
  }
}

/** The object that a text is, as JSON; any other text stands for itself. */
function objectIn(text: string): object | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

function takesNumber({ schema }: Field): boolean {
  return metaOf(schema).position === true || schema.safeParse(0).success;
}

function numberOf(text: string, shown: string): number {
  if (/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Number(text);
  throw new UsageError(`${shown}: expected a number, got ${describe(text)}`);
}

/** Milliseconds from digits, or from a full ISO date or time. */
function timeOf(text: string, shown: string): number {
  if (/^-?\d+$/.test(text)) return Number(text);
  const ms = isoTimeMs(text);
  if (ms !== undefined) return ms;
  const expected = `${ISO_EXAMPLE}, or milliseconds`;
  throw new UsageError(`${shown}: expected ${expected}, got ${describe(text)}`);
}

/** An object from `key=value` texts, each key once. */
function pairsOf(texts: readonly string[], shown: string): Record<string, string> {
  const pairs = texts.map((text) => {
    const at = text.indexOf("=");
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)] as const;
    throw new UsageError(`${shown}: expected key=value, got ${describe(text)}`);
  });
  const found = Object.fromEntries(pairs);
  if (Object.keys(found).length === pairs.length) return found;
  throw new UsageError(`${shown}: expected each key once, got one twice`);
}

/** JSON from text. */
export function jsonOf(text: string, shown: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${shown}: expected JSON: ${why}`);
  }
}
