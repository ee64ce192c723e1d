/**
 * The flags of a command: which fields of an input have one, how help shows its value, and the value that
 * its text gives. A value is checked by its own field, so that a bad one is named by its flag. What a text
 * stands for is decided in `operations/text-input.ts`, for every door.
 */
import { codeIn, describe, expectedOf } from "@cortex-memory/core/contract";
import { UsageError } from "../error-status.js";
import type { Operation } from "../operations/define.js";
import { type Field, fieldsOf, parseValue } from "../operations/text-input.js";

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
  const expected = issue === undefined ? "another value" : expectedOf(issue);
  // Of a list the item that is wrong is told, as it was typed.
  const [at] = issue?.path ?? [];
  const wrong = Array.isArray(raw) && typeof at === "number" ? raw[at] : raw;
  throw new UsageError(
    `${shown}: expected ${expected}, got ${describe(wrong)}`,
    codeIn(field.schema),
  );
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
        `--${flag}: expected key=value with one of ${known}, got ${describe(text)}`,
        at < 0 ? "ERR_INVALID" : "ERR_UNKNOWN_FIELD",
      );
    }
    const raw = text.slice(at + 1);
    const list = raw === "" ? [] : raw.split(",").map((item) => item.trim());
    found[field.name] = readValue(field, field.syntax === "list" ? list : raw, `--${flag} ${key}`);
  }
  return found;
}
