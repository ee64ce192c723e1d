/**
 * Bad inputs made from a contract: for every field of a verb, that it is missing, that it is of another
 * type, and that it is one beyond each of its bounds. Everything else in the input is as plain as the
 * contract allows, so that the one thing wrong is the one that is refused.
 */
import { noteOf } from "@cortex-memory/core/contract";
import * as z from "zod";

/** One bad input, and the field that is wrong with it. */
export interface BadInput {
  readonly what: string;
  readonly field: string;
  readonly input: { readonly [field: string]: unknown };
}

type Json = { readonly [keyword: string]: unknown };

/** Every bad input of a verb, or of an operation. */
export function badInputs({ input }: { readonly input: z.ZodObject }): readonly BadInput[] {
  const shape = input.shape as { readonly [field: string]: z.ZodType };
  const plain = plainInput(shape);
  return Object.entries(shape).flatMap(([field, schema]) => {
    const bad = (what: string, value: unknown): BadInput => ({
      what: `${field} ${what}`,
      field,
      input: { ...plain, [field]: value },
    });
    const { [field]: _, ...without } = plain;
    const missing = isOptional(schema)
      ? []
      : [{ what: `${field} missing`, field, input: without } satisfies BadInput];
    const values = [...wrongTypes(schema), ...beyond(jsonOf(schema))];
    return [...missing, ...values.map(([what, value]) => bad(what, value))];
  });
}

/** The plainest input that the schema takes. */
export function plainInput(shape: { readonly [field: string]: z.ZodType }): {
  readonly [field: string]: unknown;
} {
  const required = Object.entries(shape).filter(([, schema]) => !isOptional(schema));
  return Object.fromEntries(required.map(([name, schema]) => [name, sampleOf(schema)]));
}

function isOptional(schema: z.ZodType): boolean {
  return schema._zod.optin === "optional";
}

function jsonOf(schema: z.ZodType): Json {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as Json;
}

function sampleOf(schema: z.ZodType): unknown {
  const { time, position } = noteOf(schema);
  return time === true || position === true ? 0 : sample(jsonOf(schema));
}

function sample(json: Json): unknown {
  const { type, enum: words, anyOf, minimum, properties, required, items } = json;
  if (Array.isArray(words)) return words[0];
  if (Array.isArray(anyOf)) return sample(anyOf[0] as Json);
  switch (type) {
    case "string":
      return "x";
    case "integer":
    case "number":
      return Math.max(1, Number(minimum ?? 1));
    case "boolean":
      return true;
    case "array":
      return [sample((items ?? { type: "string" }) as Json)];
    default:
      return Object.fromEntries(
        ((required ?? []) as readonly string[]).map((name) => [
          name,
          sample(((properties ?? {}) as { readonly [name: string]: Json })[name] ?? {}),
        ]),
      );
  }
}

/** Of values of every kind that JSON has, the first few that the field does not take. */
function wrongTypes(schema: z.ZodType): readonly (readonly [string, unknown])[] {
  const kinds: readonly (readonly [string, unknown])[] = [
    ["an object", { a: { b: 1 } }],
    ["a number", 0.5],
    ["true", true],
    ["null", null],
    ["a list of lists", [[[]]]],
  ];
  return kinds.filter(([, value]) => !schema.safeParse(value).success).slice(0, 3);
}

/** Longest text and list that are worth sending. */
const LONGEST = 70_000;
const MOST = 1100;

/** One beyond each bound. */
function beyond(json: Json): readonly (readonly [string, unknown])[] {
  const found: (readonly [string, unknown])[] = [];
  const number = (name: string, by: number): void => {
    const bound = json[name];
    if (typeof bound === "number" && Math.abs(bound) < Number.MAX_SAFE_INTEGER) {
      found.push([`${name} passed by one`, bound + by]);
    }
  };
  number("minimum", -1);
  number("maximum", 1);
  const { maxLength, minLength, maxItems, items } = json;
  if (typeof minLength === "number" && minLength > 0) found.push(["too short", ""]);
  if (typeof maxLength === "number" && maxLength < LONGEST) {
    found.push(["too long by one", "x".repeat(maxLength + 1)]);
  }
  if (typeof maxItems === "number" && maxItems < MOST) {
    const item = sample((items ?? {}) as Json);
    found.push(["too many by one", Array.from({ length: maxItems + 1 }, () => item)]);
  }
  return found;
}
