/**
 * Running a checked predicate on a memory.
 *
 * A field that the memory does not have, or whose value is of another kind than the literal, compares
 * as absent: `ne` holds, everything else does not. A field with several values holds a comparison when
 * one of them does; `ne` then means that none is equal. Text is ordered by its UTF-8 bytes, numbers and
 * times by size, amounts by their decimal value.
 */
import { unreachable } from "../errors.js";
import type { Frame } from "../records/frames.js";
import type { Subject } from "./find-fields.js";
import { type MatchBudget, matchBudget } from "./pattern.js";
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
      return ({ head }) => head.record.head.frames.some((frame) => sameFrame(frame, node.frame));
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

function sameFrame(a: Frame, b: Frame): boolean {
  return a.verb === b.verb && a.object === b.object && a.ref === b.ref;
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
