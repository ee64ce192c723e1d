/**
 * Schemas as MCP announces them: JSON Schema, without what a model would pay tokens for and learn
 * nothing from. Checking is not done by these: the tool checks with the schema they were made from.
 */
import { ISO_PATTERN } from "@cortex-memory/core/contract";
import * as z from "zod";

/** A JSON Schema. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** What our schemas say about themselves for other doors, and what JSON Schema knows by itself. */
const LEFT_OUT = ["readOnly", "code", "file", "standard", "time"] as const;

/** The JSON Schema of an object schema. Answers stay open: members may be added later. */
export function announced(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const own: { [keyword: string]: unknown } = jsonSchema;
      if (own.time === true) own.type = ["integer", "string"];
      for (const keyword of LEFT_OUT) delete own[keyword];
      // The forms of a choice belong to the schema, which other doors show as well: what is spared is a copy.
      const forms = ((own.anyOf as (typeof own)[] | undefined) ?? []).map((form) => ({ ...form }));
      if (own.anyOf !== undefined) own.anyOf = forms;
      for (const form of [own, ...forms]) spare(form);
      // Every name is a string.
      if (zodSchema._zod.def.type === "record") delete own.propertyNames;
    },
  });
  return json;
}

/** Leaves out bounds that every number keeps, and patterns: models know a time by its format, and write no marks into names. */
function spare(form: { [keyword: string]: unknown }): void {
  if (Math.abs(Number(form.minimum)) >= TIME_MAX_MS) delete form.minimum;
  if (Number(form.maximum) >= TIME_MAX_MS) delete form.maximum;
  if (form.pattern === undefined || form.type !== "string") return;
  if (form.pattern === ISO_PATTERN) form.format = "date-time";
  delete form.pattern;
}

/** The furthest time from 1970, in milliseconds: a bound that far is none. */
const TIME_MAX_MS = 8.64e15;

/**
 * An answer in outline: its members and theirs, and of what lies deeper only that it is there. Whoever reads
 * an answer sees the rest; whoever reads the list of tools pays for every word of it.
 */
export function outlined(json: JsonSchema, levels = OUTLINE_LEVELS): JsonSchema {
  const { properties, required, additionalProperties, items, anyOf, ...own } = json as Nested;
  if (levels === 0) return own;
  const inside = (one: JsonSchema): JsonSchema => outlined(one, levels - 1);
  return {
    ...own,
    ...(properties === undefined ? {} : { properties: mapped(properties, inside) }),
    ...(required === undefined ? {} : { required }),
    // A list and a choice are no levels of their own.
    ...(items === undefined ? {} : { items: outlined(items, levels) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map((one) => outlined(one, levels)) }),
    ...(additionalProperties === undefined ? {} : { additionalProperties }),
  };
}

const OUTLINE_LEVELS = 2;

interface Nested extends JsonSchema {
  readonly properties?: { readonly [name: string]: JsonSchema };
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

function mapped<T, U>(
  members: { readonly [name: string]: T },
  of: (value: T) => U,
): { readonly [name: string]: U } {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, of(value)]));
}

/** The announced form of a schema, made when first asked for: a server starts sooner without it. */
export function announcedLater(
  schema: z.ZodType,
  told: (json: JsonSchema) => JsonSchema = (json) => json,
): () => JsonSchema {
  let made: JsonSchema | undefined;
  return () => {
    made ??= told(announced(schema));
    return made;
  };
}
