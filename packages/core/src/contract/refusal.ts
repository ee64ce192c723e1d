/**
 * From a schema's complaint to the one error class, in the words of the house: the field, what was
 * expected, what came. A door that calls a field otherwise (a flag, an argument of a tool) puts its own
 * name in place of the field's: see `renamed`.
 */
import type * as z from "zod";
import { CortexError, type ErrorCode, shortName } from "../errors.js";
import { fieldPath, firstIssue, fromZod, isListLength } from "../records/fields.js";
import { noteOf } from "./fields.js";

/** An input checked against a schema and completed by it. */
export function checkInput<S extends z.ZodObject>(schema: S, given: unknown): z.output<S> {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  throw refusalOf(schema, result.error, given);
}

/** The failure that names the first thing wrong with an input. */
export function refusalOf(schema: z.ZodObject, error: z.ZodError, input: unknown): CortexError {
  const issue = firstIssue(error);
  if (issue.code === "unrecognized_keys" && issue.path.length === 0) {
    const [key = ""] = issue.keys;
    const field = shortName(key);
    const expected = `one of the fields ${Object.keys(schema.shape).join(", ")}`;
    const message = `${field}: expected ${expected}, got an unknown field`;
    return new CortexError("ERR_UNKNOWN_FIELD", message, {
      field,
      expected,
      got: "an unknown field",
    });
  }
  const refusal = fromZod(error, "", { input });
  const isOwn = refusal.code !== "ERR_INVALID" || isListLength(issue);
  const code = isOwn ? undefined : codeAt(schema, issue.path);
  if (code === undefined) return refusal;
  return new CortexError(code, refusal.message, refusal.details);
}

/** The code that a field carries for its refusals, or one of the fields around it. */
function codeAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): ErrorCode | undefined {
  let inner: z.core.$ZodType | undefined = schema;
  let code: ErrorCode | undefined;
  for (const step of path) {
    inner = inner === undefined ? undefined : insideOf(inner, step);
    if (inner === undefined) break;
    code = codeIn(inner) ?? code;
  }
  return code;
}

/** The code that a schema carries, or one of its forms: of a list or one item, that of the item. */
export function codeIn(schema: z.core.$ZodType): ErrorCode | undefined {
  const { code } = noteOf(schema);
  if (code !== undefined) return code;
  const { options = [] } = unwrapped(schema)._zod.def as {
    readonly options?: readonly z.core.$ZodType[];
  };
  return options.map(codeIn).find((found) => found !== undefined);
}

function insideOf(schema: z.core.$ZodType, step: PropertyKey): z.core.$ZodType | undefined {
  const { shape, element, options } = unwrapped(schema)._zod.def as {
    readonly shape?: { readonly [name: string]: z.core.$ZodType };
    readonly element?: z.core.$ZodType;
    readonly options?: readonly z.core.$ZodType[];
  };
  if (options !== undefined) {
    return options.map((form) => insideOf(form, step)).find((found) => found !== undefined);
  }
  return typeof step === "number" ? element : shape?.[String(step)];
}

/** The schema inside optional, default and read-only wrappers. */
export function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  const { innerType } = schema._zod.def as { readonly innerType?: z.core.$ZodType };
  return innerType === undefined ? schema : unwrapped(innerType);
}

/** The same failure with its field called as a door calls it. */
export function renamed(error: CortexError, nameOf: (field: string) => string): CortexError {
  const { field } = error.details;
  if (field === undefined) return error;
  const [head = ""] = /^[^.[]*/.exec(field) ?? [];
  const own = nameOf(head);
  if (own === head || !error.message.startsWith(field)) return error;
  const name = own + field.slice(head.length);
  const message = name + error.message.slice(field.length);
  return new CortexError(error.code, message, { ...error.details, field: name }, error.cause);
}

/** A path as messages show it. */
export const shownPath = fieldPath;
