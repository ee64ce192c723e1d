/**
 * Checking an input, and saying no: from a schema's complaint to the one error class, in the words of
 * the house: the field, what was expected, what came. A door that calls a field otherwise (a flag, an
 * argument of a tool) puts its own name in place of the field's: see `renamed`.
 */
import type * as z from "zod";
import { CortexError, type ErrorCode, refusal, shortName } from "../errors.js";
import { fieldPath, firstIssue, fromZod, isListLength } from "../records/fields.js";
import { noteOf } from "./fields.js";

/**
 * An input checked against a schema and completed by it; the caller's object is left as it is. What is
 * `undefined` is not there.
 */
export function checkInput<S extends z.ZodObject>(schema: S, given: unknown): z.output<S> {
  const checked = checkGiven(schema, given);
  if (checked !== undefined) return checked as z.output<S>;
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  throw refusalOf(schema, result.error, given);
}

/** What checking an object field by field needs of its schema. */
interface FieldChecks {
  readonly fields: ReadonlyMap<string, z.core.$ZodType>;
  /** Fields that are checked also when they are not given: they are required, or have a default. */
  readonly always: readonly string[];
  /** Other fields are passed on. */
  readonly isOpen: boolean;
}

const FIELD_CHECKS = new WeakMap<z.ZodObject, FieldChecks>();

function fieldChecks(schema: z.ZodObject): FieldChecks {
  const known = FIELD_CHECKS.get(schema);
  if (known !== undefined) return known;
  const fields = new Map<string, z.core.$ZodType>(Object.entries(schema.shape));
  const made = {
    fields,
    always: [...fields.keys()].filter((name) => fields.get(name)?._zod.optin !== "optional"),
    isOpen: schema._zod.def.catchall?._zod.def.type === "unknown",
  };
  FIELD_CHECKS.set(schema, made);
  return made;
}

const NOT_ASYNC = { async: false } as const;

/**
 * The input, checked field by field; `undefined` when something is wrong, which the schema as a whole
 * then says. A schema goes through all its fields, of which a write has thirty and gives three; here
 * only those are run that are there.
 */
function checkGiven(schema: z.ZodObject, given: unknown): object | undefined {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return undefined;
  const { fields, always, isOpen } = fieldChecks(schema);
  const checked: { [name: string]: unknown } = {};
  for (const name of Object.keys(given)) {
    const value = (given as { readonly [name: string]: unknown })[name];
    const field = fields.get(name);
    // Assigned, it would change the object instead of a member; schemas pass over it.
    if (name === "__proto__") throw unknownField(schema, name);
    if (field === undefined && !isOpen) return undefined;
    if (value === undefined) continue;
    const result = field?._zod.run({ value, issues: [] }, NOT_ASYNC) ?? { value, issues: [] };
    if (result instanceof Promise || result.issues.length > 0) return undefined;
    checked[name] = result.value;
  }
  for (const name of always) {
    if (Object.hasOwn(checked, name)) continue;
    const result = fields.get(name)?._zod.run({ value: undefined, issues: [] }, NOT_ASYNC);
    if (result === undefined || result instanceof Promise || result.issues.length > 0) return;
    checked[name] = result.value;
  }
  return checked;
}

/** The failure that names the first thing wrong with an input. */
export function refusalOf(schema: z.ZodObject, error: z.ZodError, input: unknown): CortexError {
  const issue = firstIssue(error);
  if (issue.code === "unrecognized_keys" && issue.path.length === 0) {
    return unknownField(schema, issue.keys[0] ?? "");
  }
  const said = fromZod(error, "", { input });
  const isOwn = said.code !== "ERR_INVALID" || isListLength(issue);
  const code = isOwn ? undefined : codeAt(schema, issue.path);
  if (code === undefined) return said;
  return new CortexError(code, said.message, said.details);
}

function unknownField(schema: z.ZodObject, name: string): CortexError {
  const field = shortName(name);
  const known = Object.keys(schema.shape);
  const expected = known.length === 0 ? "no fields" : `one of the fields ${known.join(", ")}`;
  return refusal("ERR_UNKNOWN_FIELD", field, expected, "an unknown field");
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

/** Names by a table; a field that is not in it keeps its own, also one called `constructor`. */
export function namesIn(
  words: { readonly [field: string]: string } = {},
): (field: string) => string {
  return (field) => (Object.hasOwn(words, field) ? (words[field] ?? field) : field);
}

/** A path as messages show it. */
export const shownPath = fieldPath;
