/**
 * From the arguments of a call to one object: the arguments that stand by themselves take their names,
 * and the objects after them are joined. Shared by the library and the remote client, so it knows the
 * names of arguments and no schema.
 *
 * An object where an argument is expected gives that argument, and others, by name: `get({ id })` is
 * `get(id)`, and `forget({ session }, reason)` names what is forgotten by another field than the id.
 */
import { isPlainObject } from "../codec/cbor-value.js";
import { CortexError, invalid } from "../errors.js";

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
