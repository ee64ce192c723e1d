/**
 * Schemas as MCP announces them: JSON Schema, without what a model would pay tokens for and learn
 * nothing from. Checking is not done by these: the tool checks with the schema they were made from.
 */
import * as z from "zod";
import { metaOf } from "../operations/input-error.js";
import { isoTimeMs } from "../operations/times.js";

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
      if (own.minimum === Number.MIN_SAFE_INTEGER) delete own.minimum;
      if (own.maximum === Number.MAX_SAFE_INTEGER) delete own.maximum;
      // Every name is a string.
      if (zodSchema._zod.def.type === "record") delete own.propertyNames;
    },
  });
  return json;
}

/** The announced form of a schema, made when first asked for: a server starts sooner without it. */
export function announcedLater(schema: z.ZodType): () => JsonSchema {
  let made: JsonSchema | undefined;
  return () => {
    made ??= announced(schema);
    return made;
  };
}

/** An input whose times, which a model writes in ISO form, are milliseconds. */
export function withTimes(schema: z.ZodObject, input: unknown): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const given = Object.entries(input).map(([name, value]) => {
    const field = schema.shape[name];
    const isTime = field !== undefined && metaOf(field).time === true;
    return [name, isTime && typeof value === "string" ? (isoTimeMs(value) ?? value) : value];
  });
  return Object.fromEntries(given);
}
