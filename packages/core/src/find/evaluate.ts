/**
 * Running a checked predicate on a memory.
 *
 * A field that the memory does not have, or whose value is of another kind than the literal, compares
 * as absent: `ne` holds, everything else does not. A field with several values holds a comparison when
 * one of them does; `ne` then means that none is equal. Text is ordered by its UTF-8 bytes, numbers and
 * times by size, amounts by their decimal value.
 *
 * Regular expressions cannot hang the process: this is the only door to their engine, which matches in time linear
 * in the text for every pattern. Linear is not short: a large pattern over a large text takes a second for each
 * hundred thousand characters. So pattern and program are bounded, and a query has a bound on what it may spend in
 * all: a step is one instruction looking at one character. Measured at the worst, a step takes 14 nanoseconds;
 * patterns that people write take a hundredth of that.
 */

import type { RE2JS } from "re2js";
import { isWellFormed, utf8Length } from "../codec/text.js";
import { CortexError, invalid, unreachable } from "../errors.js";
import { LIMITS } from "../limits.js";
import { isSameFrame } from "../scope/selector.js";
import type { Subject } from "./find-fields.js";
import type { Checked, Comparison, Literal } from "./predicate.js";

/** Whether a predicate holds for a memory. */
type Test = (subject: Subject) => boolean;

/** Makes a predicate runnable; one test has one budget for patterns, so make one for each query. */
export function testOf(node: Checked): Test {
  return compile(node, matchBudget());
}

function compile(node: Checked, budget: MatchBudget): Test {
  switch (node.op) {
    case "eq":
    case "gt":
    case "gte":
    case "lt":
    case "lte": {
      const holds = comparisonOf(node.op, node.literal);
      return valueTest(node.field.read, holds);
    }
    case "ne": {
      const equal = valueTest(node.field.read, comparisonOf("eq", node.literal));
      return (subject) => !equal(subject);
    }
    case "in": {
      const equals = node.literals.map((literal) => comparisonOf("eq", literal));
      return valueTest(node.field.read, (value) => equals.some((equal) => equal(value)));
    }
    case "hasTag":
      return ({ head }) => head.record.head.tags.includes(node.tag);
    case "matches": {
      const { pattern } = node;
      const holds = (value: unknown) => typeof value === "string" && pattern.matches(value, budget);
      return valueTest(node.field.read, holds);
    }
    case "and": {
      const children = node.children.map((child) => compile(child, budget));
      return (subject) => children.every((child) => child(subject));
    }
    case "or": {
      const children = node.children.map((child) => compile(child, budget));
      return (subject) => children.some((child) => child(subject));
    }
    case "not": {
      const child = compile(node.child, budget);
      return (subject) => !child(subject);
    }
    case "frame":
      return ({ head }) => head.record.head.frames.some((frame) => isSameFrame(frame, node.frame));
    case "session":
      return ({ head }) => head.record.head.turn?.session === node.session;
    default:
      return unreachable(node);
  }
}

function valueTest(read: (subject: Subject) => unknown, holds: (value: unknown) => boolean): Test {
  return (subject) => {
    const value = read(subject);
    return Array.isArray(value) ? value.some(holds) : holds(value);
  };
}

function comparisonOf(
  op: Exclude<Comparison, "ne">,
  literal: Literal,
): (value: unknown) => boolean {
  const { text, number, flag, given } = literal;
  const compareTexts = literal.amount === true ? compareAmounts : compareText;
  return (value) => {
    if (typeof value === "string") {
      return text !== undefined && accepts(op, compareTexts(value, text));
    }
    if (typeof value === "number") return number !== undefined && accepts(op, value - number);
    if (typeof value === "boolean") return op === "eq" && value === flag;
    return value === null && op === "eq" && given === null;
  };
}

function accepts(op: Exclude<Comparison, "ne">, order: number): boolean {
  switch (op) {
    case "eq":
      return order === 0;
    case "gt":
      return order > 0;
    case "gte":
      return order >= 0;
    case "lt":
      return order < 0;
    case "lte":
      return order <= 0;
    default:
      return unreachable(op);
  }
}

/** The order of two texts by their UTF-8 bytes, without encoding them. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const shorter = Math.min(a.length, b.length);
  for (let at = 0; at < shorter; at += 1) {
    const [one, other] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (one !== other) return rank(one) - rank(other);
  }
  return a.length - b.length;
}

/** Halves of a pair stand for characters beyond all others, though their codes do not. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}

/** The order of two amounts: digits with an optional fraction, no sign. */
export function compareAmounts(a: string, b: string): number {
  const [wholeA = "", partA = ""] = a.split(".");
  const [wholeB = "", partB = ""] = b.split(".");
  if (wholeA.length !== wholeB.length) return wholeA.length - wholeB.length;
  const whole = compareText(wholeA, wholeB);
  if (whole !== 0) return whole;
  const digits = Math.max(partA.length, partB.length);
  return compareText(partA.padEnd(digits, "0"), partB.padEnd(digits, "0"));
}

/** What the matches of one query may still spend. */
interface MatchBudget {
  steps: number;
}

/** The budget that a query starts with. */
export function matchBudget(): MatchBudget {
  return { steps: LIMITS.matchSteps };
}

/** A pattern that is ready to be used. */
export interface Pattern {
  readonly source: string;
  /** Whether the pattern occurs anywhere in a text; `ERR_TOO_BROAD` when the budget is spent. */
  matches(text: string, budget: MatchBudget): boolean;
}

/** The engine of patterns, a quarter of a megabyte of tables: loaded for the first query that may hold one. */
let loaded: typeof import("re2js") | undefined;

/** Makes patterns ready to be compiled; cheap when they are. */
export async function readyPatterns(): Promise<void> {
  loaded ??= await import("re2js");
}

/** Compiles a pattern, after `readyPatterns`; `field` is how messages call it. */
export function compilePattern(source: unknown, field: string): Pattern {
  if (typeof source !== "string") {
    throw invalid(field, "a regular expression as text", source, "ERR_PREDICATE");
  }
  if (!isWellFormed(source)) {
    throw invalid(field, "well-formed text", "a string with a lone surrogate", "ERR_ILL_FORMED");
  }
  if (utf8Length(source) > LIMITS.patternBytes) {
    const expected = `a pattern of at most ${LIMITS.patternBytes} bytes`;
    throw invalid(field, expected, source, "ERR_TOO_LARGE");
  }
  const compiled = programOf(source, field);
  const program = compiled.programSize();
  if (program > LIMITS.patternProgram) {
    const expected = `a pattern of at most ${LIMITS.patternProgram} instructions`;
    throw invalid(field, expected, program, "ERR_TOO_LARGE");
  }
  return {
    source,
    matches(text, budget) {
      budget.steps -= program * text.length;
      if (budget.steps < 0) throw tooMuch(field);
      return compiled.test(text);
    },
  };
}

/**
 * The last few patterns: compiling one, and warming its automaton up, costs more than most queries that
 * use it. A pattern may hold megabytes of states, so they are few.
 */
const KEPT = new Map<string, RE2JS>();
const KEPT_MOST = 16;

function programOf(source: string, field: string): RE2JS {
  const known = KEPT.get(source);
  if (known !== undefined) return known;
  if (loaded === undefined) throw new Error("patterns are not ready");
  try {
    const compiled = loaded.RE2JS.compile(source);
    const [oldest] = KEPT.keys();
    if (KEPT.size >= KEPT_MOST && oldest !== undefined) KEPT.delete(oldest);
    KEPT.set(source, compiled);
    return compiled;
  } catch (cause) {
    if (!(cause instanceof loaded.RE2JSException)) throw cause;
    const expected = "a regular expression in RE2 syntax, which has no backreferences";
    throw new CortexError(
      "ERR_PREDICATE",
      `${field}: expected ${expected}: ${cause.message}`,
      { field, expected, got: "a pattern that does not compile" },
      cause,
    );
  }
}

function tooMuch(field: string): CortexError {
  const expected = "less text to look through";
  return new CortexError(
    "ERR_TOO_BROAD",
    `${field}: expected ${expected}: add a type, a tag or words that leave fewer memories, ` +
      "or use a shorter pattern",
    { field, expected, got: `more than ${LIMITS.matchSteps} steps` },
  );
}
