/**
 * From a schema's complaint to the one error class, in the words of the house: field, what was
 * expected, what came. A schema may carry the code of its failure as metadata, so that an input
 * refused here fails with the code the library would have used.
 */
import { CortexError, type ErrorCode, shortName } from "@cortex-memory/core";
import { type FieldNote, noteOf } from "@cortex-memory/core/contract";
import type * as z from "zod";

/** The failure that names the first thing wrong with an input. */
export function inputError(schema: z.ZodObject, error: z.ZodError, input: unknown): CortexError {
  const [issue] = error.issues;
  if (issue === undefined) throw new Error("a failed parse named no issue");
  if (issue.code === "unrecognized_keys") {
    const field = showPath([...issue.path, issue.keys[0] ?? ""]);
    const known = issue.path.length === 0 ? Object.keys(schema.shape).join(", ") : "a known field";
    return new CortexError("ERR_UNKNOWN_FIELD", `${field}: expected one of ${known}`, { field });
  }
  const field = showPath(issue.path);
  const expected = expectedBy(issue);
  const got = shortly(valueAt(input, issue.path));
  const code = codeOf(schema, issue.path[0]);
  const message = `${field === "" ? "input" : field}: expected ${expected}, got ${got}`;
  return new CortexError(code, message, { field, expected, got });
}

/** What a schema wanted, in words. */
export function expectedBy(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "int" ? "an integer" : `${article(issue.expected)}`;
    case "invalid_value":
      return `one of ${issue.values.join(", ")}`;
    case "too_small":
      return `${issue.origin === "array" ? "a length of " : ""}at least ${issue.minimum}`;
    case "too_big":
      return `${issue.origin === "array" ? "a length of " : ""}at most ${issue.maximum}`;
    case "unrecognized_keys":
      return `keys other than ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}`;
    case "invalid_union": {
      // Where one of the forms is a word of a vocabulary, its words say most.
      const words = issue.errors.flat().find(({ code }) => code === "invalid_value");
      return words === undefined ? "one of the forms that the reference lists" : expectedBy(words);
    }
    case "custom": {
      const { expected } = (issue.params ?? {}) as { readonly expected?: unknown };
      return typeof expected === "string" ? expected : issue.message;
    }
    default:
      return issue.message;
  }
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function codeOf(schema: z.ZodObject, field: PropertyKey | undefined): ErrorCode {
  const declared = typeof field === "string" ? schema.shape[field] : undefined;
  return (declared === undefined ? undefined : codeIn(declared)) ?? "ERR_INVALID";
}

/** The code that a schema carries, or its items, or one of its forms. */
export function codeIn(schema: z.core.$ZodType): ErrorCode | undefined {
  const { code } = metaOf(schema);
  if (code !== undefined) return code;
  const { element, options = [] } = innerSchema(schema)._zod.def as {
    readonly element?: z.core.$ZodType;
    readonly options?: readonly z.core.$ZodType[];
  };
  const inside = element === undefined ? options : [element];
  return inside.map(codeIn).find((found) => found !== undefined);
}

/** What a schema says about itself beside its rules. */
export interface FieldMeta extends FieldNote {
  readonly description?: string;
}

/** The schema inside optional, default and read-only wrappers. */
export function innerSchema(schema: z.core.$ZodType): z.core.$ZodType {
  const def = schema._zod.def as { readonly innerType?: z.core.$ZodType };
  return def.innerType === undefined ? schema : innerSchema(def.innerType);
}

/** What a schema says about itself, wherever among its wrappers it was given; notes of the contract win. */
export function metaOf(schema: z.core.$ZodType): FieldMeta {
  return { ...ownMeta(schema), ...noteOf(schema) };
}

function ownMeta(schema: z.core.$ZodType): FieldMeta {
  const own = (schema as z.ZodType).meta?.() as FieldMeta | undefined;
  if (own !== undefined) return own;
  const { innerType } = schema._zod.def as { readonly innerType?: z.core.$ZodType };
  return innerType === undefined ? {} : ownMeta(innerType);
}

function showPath(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${shortName(String(part))}`))
    .join("")
    .replace(/^\./, "");
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const part of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Readonly<Record<PropertyKey, unknown>>)[part];
  }
  return value;
}

/** A short description that never shows the content of a memory at length. */
export function shortly(value: unknown): string {
  if (typeof value === "string") {
    return value.length <= 64 ? JSON.stringify(value) : `a string of ${value.length} characters`;
  }
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value === undefined) return "nothing";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
