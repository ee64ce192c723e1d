/**
 * Predicates: the JSON tree a caller gives, checked before anything is read, and its text for logs.
 *
 * Every node has one member, named after its operator. The check settles all that can be settled
 * without a memory: operators, names of fields, whether a literal can be compared with its field,
 * patterns, depth and size. What is left cannot fail while it runs, but for a pattern that finds too
 * much to look through.
 *
 * Left to others: running it (`evaluate.ts`), which parts of it an index can serve (`find-plan.ts`).
 */
import { isWellFormed, utf8Length } from "../codec/text.js";
import { parseUlid, ulidText } from "../codec/ulid.js";
import { type COMPARISONS, OPERATORS, type Scalar } from "../contract/find.js";
import { CortexError, describe, invalid, unreachable } from "../errors.js";
import { LIMITS } from "../limits.js";
import { amountField, checkText, isoTimeMs, TIME_MAX_MS } from "../records/fields.js";
import type { Frame } from "../records/frames.js";
import { compilePattern, type Pattern } from "./evaluate.js";
import { type Field, fieldOf, similarField } from "./find-fields.js";

/** The name of a comparison. */
export type Comparison = (typeof COMPARISONS)[number];

/** A literal in each of the forms its field may want it in. */
export interface Literal {
  readonly given: Scalar;
  readonly text?: string;
  readonly number?: number;
  readonly flag?: boolean;
  /** Compare texts as decimal amounts. */
  readonly amount?: true;
}

/** A predicate that was checked. The last two operators stand for options of a query. */
export type Checked =
  | { readonly op: Comparison; readonly field: Field; readonly literal: Literal }
  | { readonly op: "in"; readonly field: Field; readonly literals: readonly Literal[] }
  | { readonly op: "hasTag"; readonly tag: string }
  | { readonly op: "matches"; readonly field: Field; readonly pattern: Pattern }
  | { readonly op: "and" | "or"; readonly children: readonly Checked[] }
  | { readonly op: "not"; readonly child: Checked }
  | { readonly op: "frame"; readonly frame: Frame }
  | { readonly op: "session"; readonly session: string };

/** Checks a caller's predicate; `field` is how messages call it. */
export function checkPredicate(input: unknown): Checked {
  return checkNode(input, "where", { nodes: 0, depth: 1 });
}

interface Size {
  nodes: number;
  readonly depth: number;
}

function checkNode(input: unknown, path: string, size: Size): Checked {
  size.nodes += 1;
  if (size.nodes > LIMITS.predicateNodes) {
    throw invalid("where", `at most ${LIMITS.predicateNodes} nodes`, "more", "ERR_TOO_LARGE");
  }
  if (size.depth > LIMITS.predicateDepth) {
    const expected = `at most ${LIMITS.predicateDepth} levels`;
    throw invalid("where", expected, "more", "ERR_TOO_LARGE");
  }
  const [operator, argument] = onlyMember(input, path);
  const at = `${path}.${operator}`;
  switch (operator) {
    case "eq":
    case "ne":
    case "gt":
    case "gte":
    case "lt":
    case "lte": {
      const [name, value] = pairOf(argument, at, "a field and a value");
      const field = checkField(name, at);
      return { op: operator, field, literal: literalFor(operator, field, value, at) };
    }
    case "in":
      return checkIn(argument, at);
    case "hasTag":
      return { op: "hasTag", tag: checkText(argument, at, { maxBytes: LIMITS.tagBytes }) };
    case "matches": {
      const [name, pattern] = pairOf(argument, at, "a field and a regular expression");
      return {
        op: "matches",
        field: checkTextField(checkField(name, at), at),
        pattern: compilePattern(pattern, at),
      };
    }
    case "and":
    case "or":
      return { op: operator, children: checkChildren(argument, at, size) };
    case "not":
      return { op: "not", child: checkChild(argument, at, size) };
    default:
      return unreachable(operator);
  }
}

function checkChild(input: unknown, path: string, size: Size): Checked {
  const inner = { nodes: size.nodes, depth: size.depth + 1 };
  const child = checkNode(input, path, inner);
  size.nodes = inner.nodes;
  return child;
}

function checkChildren(input: unknown, path: string, size: Size): readonly Checked[] {
  if (!Array.isArray(input)) throw invalid(path, "a list of predicates", input, "ERR_PREDICATE");
  return input.map((child, at) => checkChild(child, `${path}[${at}]`, size));
}

function onlyMember(input: unknown, path: string): readonly [(typeof OPERATORS)[number], unknown] {
  const expected = `an object with one of ${OPERATORS.join(", ")}`;
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw invalid(path, expected, input, "ERR_PREDICATE");
  }
  const entries = Object.entries(input);
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) {
    throw invalid(path, expected, `an object with ${entries.length} members`, "ERR_PREDICATE");
  }
  const operator = OPERATORS.find((name) => name === entry[0]);
  if (operator === undefined) throw invalid(path, expected, entry[0], "ERR_PREDICATE");
  return [operator, entry[1]];
}

function pairOf(input: unknown, path: string, what: string): readonly [unknown, unknown] {
  if (Array.isArray(input) && input.length === 2) return [input[0], input[1]];
  throw invalid(path, `a list of two: ${what}`, input, "ERR_PREDICATE");
}

function checkField(name: unknown, path: string): Field {
  if (typeof name !== "string") throw invalid(path, "the name of a field", name, "ERR_PREDICATE");
  const field = fieldOf(name);
  if (field !== undefined) return field;
  const similar = similarField(name);
  const hint = similar === undefined ? "" : `, such as ${similar}`;
  throw invalid(
    path,
    `text, or a field of head., version. or data. that some type has${hint}`,
    name,
    "ERR_UNKNOWN_FIELD",
  );
}

function checkIn(argument: unknown, path: string): Checked {
  const [name, values] = pairOf(argument, path, "a field and a list of values");
  const field = checkField(name, path);
  if (!Array.isArray(values)) throw invalid(path, "a list of values", values, "ERR_PREDICATE");
  if (values.length > LIMITS.predicateValues) {
    const expected = `at most ${LIMITS.predicateValues} values`;
    throw invalid(path, expected, values, "ERR_TOO_LARGE");
  }
  const literals = values.map((value, at) => literalFor("in", field, value, `${path}[1][${at}]`));
  return { op: "in", field, literals };
}

function checkTextField(field: Field, path: string): Field {
  const kinds: readonly string[] = ["text", "word", "id", "json"];
  if (field.kinds.some((kind) => kinds.includes(kind))) return field;
  throw mismatch(path, field, "a field of text", `${field.name}, which holds no text`);
}

function literalFor(op: Comparison | "in", field: Field, value: unknown, path: string): Literal {
  const has = (kind: Field["kinds"][number]) => field.kinds.includes(kind);
  const ordered = op !== "eq" && op !== "ne" && op !== "in";
  switch (typeof value) {
    case "string":
      return textLiteral(field, value, ordered, path);
    case "number":
      if (!Number.isFinite(value)) break;
      if (has("number") || has("json")) return { given: value, number: value };
      if (has("time") && Number.isInteger(value)) return { given: value, number: value };
      break;
    case "boolean":
      if (ordered) break;
      if (has("flag") || has("json")) return { given: value, flag: value };
      break;
    case "object":
      if (value === null && has("json") && !ordered) return { given: null };
      break;
    default:
      break;
  }
  throw mismatch(path, field, expectedFor(field, ordered), describe(value));
}

function textLiteral(field: Field, value: string, ordered: boolean, path: string): Literal {
  if (!isWellFormed(value)) {
    throw invalid(path, "well-formed text", "a string with a lone surrogate", "ERR_ILL_FORMED");
  }
  if (utf8Length(value) > LIMITS.contentBytes) {
    throw invalid(path, `at most ${LIMITS.contentBytes} bytes`, value, "ERR_TOO_LARGE");
  }
  const has = (kind: Field["kinds"][number]) => field.kinds.includes(kind);
  if (has("text") || has("json")) return { given: value, text: value };
  // A word that no memory can hold is a slip of the pen, unless it only marks a place in an order.
  if (has("word") && (ordered || field.words.includes(value))) return { given: value, text: value };
  if (has("id")) {
    const id = parseUlid(value);
    if (id !== undefined) return { given: value, text: ulidText(id) };
  }
  if (has("time")) {
    const ms = isoTimeMs(value);
    if (ms !== undefined && Math.abs(ms) <= TIME_MAX_MS) return { given: value, number: ms };
  }
  if (has("amount") && amountField.safeParse(value).success) {
    return { given: value, text: value, amount: true };
  }
  throw mismatch(path, field, expectedFor(field, ordered), describe(value));
}

const LITERALS: { readonly [kind in Field["kinds"][number]]: string } = {
  text: "text",
  word: "text",
  id: "an id of 26 characters",
  number: "a finite number",
  time: "milliseconds or an ISO 8601 time",
  flag: "true or false",
  amount: 'a decimal amount such as "12.50"',
  json: "text, a number, true, false or null",
};

function expectedFor(field: Field, ordered: boolean): string {
  const { kinds, words } = field;
  if (ordered && kinds.length === 1 && kinds[0] === "flag") {
    return "eq, ne or in: true and false have no order";
  }
  const said = kinds.map((kind) =>
    kind === "word" && !ordered ? `one of ${words.join(", ")}` : LITERALS[kind],
  );
  return `${said.join(", or ")} to compare ${field.name} with`;
}

function mismatch(path: string, field: Field, expected: string, got: string): CortexError {
  const message = `${path}: expected ${expected}, got ${got}`;
  return new CortexError("ERR_PREDICATE", message, { field: path, subject: field.name, expected });
}

const SIGNS: { readonly [op in Comparison]: string } = {
  eq: "=",
  ne: "!=",
  gt: ">",
  gte: ">=",
  lt: "<",
  lte: "<=",
};

/** A predicate as text, for people and logs; it is not meant to be read back. */
export function predicateText(node: Checked): string {
  switch (node.op) {
    case "in":
      return `(${node.field.name} IN [${node.literals.map(literalText).join(", ")}])`;
    case "hasTag":
      return `(has_tag ${JSON.stringify(node.tag)})`;
    case "matches":
      return `(${node.field.name} ~ /${node.pattern.source}/)`;
    case "and":
    case "or":
      return `(${[node.op, ...node.children.map(predicateText)].join(" ")})`;
    case "not":
      return `(not ${predicateText(node.child)})`;
    case "frame": {
      const { verb, object, ref } = node.frame;
      return `(frame ${verb} ${object} ${JSON.stringify(ref)})`;
    }
    case "session":
      return `(session ${JSON.stringify(node.session)})`;
    default:
      return `(${node.field.name} ${SIGNS[node.op]} ${literalText(node.literal)})`;
  }
}

function literalText({ given }: Literal): string {
  return JSON.stringify(given);
}
