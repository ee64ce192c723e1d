/**
 * Checking an input, and saying no: from a schema's complaint to the one error class, in the words of
 * the house: the field, what was expected, what came. A door that calls a field otherwise (a flag, an
 * argument of a tool) puts its own name in place of the field's: see `renamed`.
 *
 * From the arguments of a call to one object: the arguments that stand by themselves take their names,
 * and the objects after them are joined. Shared by the library and the remote client, so it knows the
 * names of arguments and no schema.
 *
 * An object where an argument is expected gives that argument, and others, by name: `get({ id })` is
 * `get(id)`, and `forget({ session }, reason)` names what is forgotten by another field than the id.
 */
import type * as z from "zod";
import { CortexError, type ErrorCode, invalid, shortName } from "../errors.js";
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
  const refusal = fromZod(error, "", { input });
  const isOwn = refusal.code !== "ERR_INVALID" || isListLength(issue);
  const code = isOwn ? undefined : codeAt(schema, issue.path);
  if (code === undefined) return refusal;
  return new CortexError(code, refusal.message, refusal.details);
}

function unknownField(schema: z.ZodObject, name: string): CortexError {
  const field = shortName(name);
  const expected = `one of the fields ${Object.keys(schema.shape).join(", ")}`;
  const got = "an unknown field";
  const message = `${field}: expected ${expected}, got ${got}`;
  return new CortexError("ERR_UNKNOWN_FIELD", message, { field, expected, got });
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

/** What a call gave, by name. */
export type Given = { readonly [field: string]: unknown };

/** The names of a verb's arguments, and which of them are objects themselves. */
export interface ArgumentNames {
  readonly names: readonly string[];
  readonly objects: ReadonlySet<string>;
  /** What messages call the object after the arguments. */
  readonly rest: "input" | "options";
}

/** Everything that the arguments of a call say, by name; what is `undefined` is not there. */
export function gather({ names, objects, rest }: ArgumentNames, args: readonly unknown[]): Given {
  const all: { [field: string]: unknown } = {};
  let at = 0;
  for (const name of names) {
    const value = args[at];
    if (isPlainObject(value) && !objects.has(name)) {
      if (areObjects(args, at + 1)) break;
      addAll(all, value, rest);
    } else if (value !== undefined) all[name] = value;
    at += 1;
  }
  for (; at < args.length; at++) addAll(all, args[at], rest);
  return all;
}

/** Whether nothing but options follows: then an object in the place of an argument begins them. */
function areObjects(args: readonly unknown[], from: number): boolean {
  for (let at = from; at < args.length; at++) {
    if (args[at] !== undefined && !isPlainObject(args[at])) return false;
  }
  return true;
}

function addAll(all: { [field: string]: unknown }, more: unknown, rest: string): void {
  if (more === undefined) return;
  if (typeof more !== "object" || more === null || Array.isArray(more)) {
    throw invalid(rest, "an object", more);
  }
  for (const field of Object.keys(more)) {
    const value = (more as Given)[field];
    if (value === undefined) continue;
    if (Object.hasOwn(all, field)) {
      const message = `${field}: expected it in one place, got it twice`;
      throw new CortexError("ERR_UNKNOWN_FIELD", message, { field });
    }
    // Assigned, it would change the object instead of a member.
    if (field === "__proto__") Object.defineProperty(all, field, { value, enumerable: true });
    else all[field] = value;
  }
}

function isPlainObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
