/**
 * From the fields of an input to flags, and from a flag's text to a field's value. The schema decides
 * both: a list can be repeated, a switch takes no value, a time may be given in ISO form, an object of
 * texts is given pair by pair, any other as JSON. A value is checked by its own field, so that a bad one is named by its flag.
 */
import type * as z from "zod";
import type { CommandSpec, Operation } from "../operations/define.js";
import {
  codeIn,
  expectedBy,
  type FieldMeta,
  innerSchema,
  metaOf,
  shortly,
} from "../operations/input-error.js";
import { ISO_EXAMPLE, isoTimeMs } from "../operations/times.js";
import { UsageError } from "./usage.js";

/** How a field is written on a command line. */
export type Syntax =
  | "text"
  | "number"
  | "switch"
  | "choice"
  | "list"
  | "position"
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
  readonly description: string;
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
  const declared = innerSchema(schema);
  const inner = listForm(declared);
  return {
    name,
    flag: cli.flags?.[name] ?? kebab(name),
    required: schema._zod.optin !== "optional",
    description: meta.description ?? "",
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
  const forms = (def as z.core.$ZodUnionDef).options.map(innerSchema);
  return forms.find((form) => form._zod.def.type === "array") ?? schema;
}

/** The fields that have flags: those that are neither required arguments nor bodies. */
export function flagFields(operation: Operation): readonly Field[] {
  const { arguments: positional = [], assign } = operation.cli;
  if (assign !== undefined) return [];
  const taken = new Set(
    positional.flatMap((one) =>
      "body" in one ? (BODY_FIELDS[one.body] ?? []) : one.optional === true ? [] : [one.field],
    ),
  );
  return fieldsOf(operation).filter(({ name }) => !taken.has(name));
}

/** Fields that only a body can give. */
const BODY_FIELDS: { readonly [body: string]: readonly string[] } = {
  turns: ["turns"],
  items: ["items"],
  state: ["state"],
};

/** `basedOnVersion` as a flag: `based-on-version`. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
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
      return "position";
    case "array":
      return SCALARS.includes(elementType(schema)) ? "list" : "json";
    case "record":
      return (def as z.core.$ZodRecordDef).valueType._zod.def.type === "string" ? "pairs" : "json";
    default:
      return "json";
  }
}

/** Lists whose items one word can give; of a union, the word is the form that is text. */
const SCALARS: readonly string[] = ["string", "enum", "number", "union"];

function elementType(schema: z.core.$ZodType): string {
  return innerSchema(elementOf(schema))._zod.def.type;
}

function elementOf(schema: z.core.$ZodType): z.core.$ZodType {
  return (schema._zod.def as unknown as { readonly element: z.core.$ZodType }).element;
}

function choicesOf(schema: z.core.$ZodType): readonly string[] {
  const { def } = schema._zod;
  if (def.type === "array") return choicesOf(innerSchema(elementOf(schema)));
  if (def.type !== "enum") return [];
  return Object.values((def as z.core.$ZodEnumDef).entries).map(String);
}

/** The label of a flag's value in help. */
export function placeholder(field: Field): string {
  switch (field.syntax) {
    case "number":
      return "N";
    case "position":
      return "T";
    case "time":
      return "TIME";
    case "json":
      return "JSON";
    case "pairs":
      return "KEY=VALUE";
    case "file":
      return "FILE";
    case "list":
      return field.numbers ? "N" : "TEXT";
    case "choice":
      return "WORD";
    default:
      return "TEXT";
  }
}

/** The value that a flag's or argument's text stands for; `shown` is how messages call it. */
export function readValue(field: Field, raw: unknown, shown: string): unknown {
  const value = parseValue(field, raw, shown);
  const parsed = field.schema.safeParse(value);
  if (parsed.success) return value;
  const [issue] = parsed.error.issues;
  const expected = issue === undefined ? "another value" : expectedBy(issue);
  // Of a list the item that is wrong is told, as it was typed.
  const [at] = issue?.path ?? [];
  const wrong = Array.isArray(raw) && typeof at === "number" ? raw[at] : raw;
  throw new UsageError(
    `${shown}: expected ${expected}, got ${shortly(wrong)}`,
    codeIn(field.schema),
  );
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
      return /^\d+$/.test(text) ? Number(text) : text;
    case "time":
      return timeOf(text, shown);
    case "json":
    case "pairs":
      return jsonOf(text, shown);
    default:
      return text;
  }
}

function numberOf(text: string, shown: string): number {
  if (/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Number(text);
  throw new UsageError(`${shown}: expected a number, got ${shortly(text)}`);
}

/** Milliseconds from digits, or from a full ISO date or time. */
function timeOf(text: string, shown: string): number {
  if (/^-?\d+$/.test(text)) return Number(text);
  const ms = isoTimeMs(text);
  if (ms !== undefined) return ms;
  const expected = `${ISO_EXAMPLE}, or milliseconds`;
  throw new UsageError(`${shown}: expected ${expected}, got ${shortly(text)}`);
}

/** An object from `key=value` texts, each key once. */
function pairsOf(texts: readonly string[], shown: string): Record<string, string> {
  const pairs = texts.map((text) => {
    const at = text.indexOf("=");
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)] as const;
    throw new UsageError(`${shown}: expected key=value, got ${shortly(text)}`);
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

/** `key=value` texts as fields; lists are separated by commas. */
export function readAssignments(
  fields: readonly Field[],
  texts: readonly string[],
  flag: string,
): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const text of texts) {
    const at = text.indexOf("=");
    const key = at < 0 ? text : text.slice(0, at);
    const field = fields.find(({ name, flag: own }) => name === key || own === key);
    if (at < 0 || field === undefined) {
      const known = fields.map(({ name }) => name).join(", ");
      throw new UsageError(
        `--${flag}: expected key=value with one of ${known}, got ${shortly(text)}`,
        at < 0 ? "ERR_INVALID" : "ERR_UNKNOWN_FIELD",
      );
    }
    const raw = text.slice(at + 1);
    const list = raw === "" ? [] : raw.split(",").map((item) => item.trim());
    found[field.name] = readValue(field, field.syntax === "list" ? list : raw, `--${flag} ${key}`);
  }
  return found;
}
