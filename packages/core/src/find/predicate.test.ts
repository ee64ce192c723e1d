/** Predicates: what is accepted, what is refused before anything runs, and their text. */
import { beforeAll, describe, expect, test } from "vitest";
import { OPERATORS } from "../contract/find.js";
import { type CortexError, isCortexError } from "../errors.js";
import { LIMITS } from "../limits.js";
import { readyPatterns } from "./evaluate.js";
import { checkPredicate, predicateText } from "./predicate.js";

beforeAll(readyPatterns);

function refusal(input: unknown): CortexError {
  try {
    checkPredicate(input);
  } catch (error) {
    if (isCortexError(error)) return error;
    throw error;
  }
  throw new Error("the predicate was not refused");
}

const nested = (depth: number): unknown =>
  depth === 0 ? { hasTag: "t" } : { not: nested(depth - 1) };

describe("refused before anything runs", () => {
  test.each([
    ["no object", "x", "ERR_PREDICATE", "where: expected an object with one of eq, ne"],
    ["nothing in it", {}, "ERR_PREDICATE", "an object with 0 members"],
    ["two operators", { eq: ["text", "a"], ne: ["text", "b"] }, "ERR_PREDICATE", "2 members"],
    ["an unknown operator", { like: ["text", "a"] }, "ERR_PREDICATE", 'got "like"'],
    ["no pair", { eq: ["text"] }, "ERR_PREDICATE", "where.eq: expected a list of two"],
    ["a field that is no name", { eq: [1, "a"] }, "ERR_PREDICATE", "the name of a field"],
    ["an unknown field", { eq: ["data.nope", "a"] }, "ERR_UNKNOWN_FIELD", 'got "data.nope"'],
    [
      "a field of another record",
      { eq: ["versionRecord.confidence", 1] },
      "ERR_UNKNOWN_FIELD",
      "such as version.confidence",
    ],
    [
      "a path into plain text",
      { eq: ["data.statement.x", "a"] },
      "ERR_UNKNOWN_FIELD",
      "data.statement.x",
    ],
    [
      "an inherited name",
      { eq: ["head.constructor", "a"] },
      "ERR_UNKNOWN_FIELD",
      "head.constructor",
    ],
    [
      "text for a number",
      { gt: ["head.importance", "5"] },
      "ERR_PREDICATE",
      "a finite number to compare head.importance with",
    ],
    [
      "a number for text",
      { eq: ["head.kind", 5] },
      "ERR_PREDICATE",
      "text to compare head.kind with",
    ],
    ["a boolean for a number", { eq: ["head.importance", true] }, "ERR_PREDICATE", "got true"],
    [
      "infinity",
      { gt: ["head.importance", Number.POSITIVE_INFINITY] },
      "ERR_PREDICATE",
      "a finite number",
    ],
    ["null", { eq: ["head.kind", null] }, "ERR_PREDICATE", "got null"],
    ["half a millisecond", { gt: ["head.createdAt", 1.5] }, "ERR_PREDICATE", "ISO 8601"],
    ["a day by name", { gt: ["head.createdAt", "yesterday"] }, "ERR_PREDICATE", "ISO 8601"],
    [
      "an order of booleans",
      { gt: ["head.tombstoned", true] },
      "ERR_PREDICATE",
      "true and false have no order",
    ],
    [
      "an unknown word",
      { eq: ["head.status", "sure"] },
      "ERR_PREDICATE",
      "one of asserted, provisional",
    ],
    [
      "an unknown word in a list",
      { in: ["head.type", ["fact", "rumour"]] },
      "ERR_PREDICATE",
      "where.in[1][1]",
    ],
    ["no id", { eq: ["head.id", "x"] }, "ERR_PREDICATE", "an id of 26 characters"],
    ["no amount", { eq: ["data.cost.amount", "1e3"] }, "ERR_PREDICATE", "decimal amount"],
    ["no list", { in: ["head.type", "fact"] }, "ERR_PREDICATE", "a list of values"],
    ["a blank tag", { hasTag: "" }, "ERR_INVALID", "where.hasTag"],
    [
      "a pattern on numbers",
      { matches: ["head.importance", "1"] },
      "ERR_PREDICATE",
      "a field of text",
    ],
    ["a pattern that is none", { matches: ["text", "("] }, "ERR_PREDICATE", "RE2 syntax"],
    ["a backreference", { matches: ["text", "(a)\\1"] }, "ERR_PREDICATE", "no backreferences"],
    ["a pattern that is no text", { matches: ["text", 1] }, "ERR_PREDICATE", "as text"],
    [
      "a long pattern",
      { matches: ["text", "a".repeat(LIMITS.patternBytes + 1)] },
      "ERR_TOO_LARGE",
      "bytes",
    ],
    [
      "a large program",
      { matches: ["text", "(?:[ab]{20}|[cd]{20}){30}"] },
      "ERR_TOO_LARGE",
      "instructions",
    ],
    ["children that are none", { and: {} }, "ERR_PREDICATE", "where.and: expected a list"],
    ["a child that is none", { and: [{ hasTag: "t" }, 1] }, "ERR_PREDICATE", "where.and[1]"],
    ["too deep", nested(LIMITS.predicateDepth), "ERR_TOO_LARGE", "levels"],
    [
      "too many nodes",
      { or: Array.from({ length: LIMITS.predicateNodes }, () => ({ hasTag: "t" })) },
      "ERR_TOO_LARGE",
      "nodes",
    ],
    [
      "too many values",
      { in: ["head.importance", Array.from({ length: LIMITS.predicateValues + 1 }, () => 1)] },
      "ERR_TOO_LARGE",
      "values",
    ],
    ["a lone surrogate", { eq: ["text", "\ud800"] }, "ERR_ILL_FORMED", "well-formed"],
  ])("%s", (_, input, code, said) => {
    const error = refusal(input);
    expect(error.code).toBe(code);
    expect(error.message).toContain(said);
  });
});

describe("accepted", () => {
  test.each([
    ["every operator alone", { and: [] }],
    ["the last level and the last node", nested(LIMITS.predicateDepth - 1)],
    ["a time as text", { lt: ["version.validTo", "2030-01-01"] }],
    [
      "either kind of a field that has two",
      { or: [{ gt: ["data.strength", 0.5] }, { eq: ["data.strength", "hard"] }] },
    ],
    ["a word as a mark in an order", { gt: ["head.status", "b"] }],
    ["a path into JSON", { eq: ["data.metadata.ticket.open", true] }],
    ["null in JSON", { eq: ["data.object", null] }],
    ["an empty list of values", { in: ["head.kind", []] }],
  ])("%s", (_, input) => {
    expect(() => checkPredicate(input)).not.toThrow();
  });
});

test("the text of a predicate names every operator", () => {
  const all = checkPredicate({
    and: [
      { eq: ["head.type", "fact"] },
      { ne: ["head.kind", 'a "b"'] },
      { gt: ["head.importance", 1] },
      { gte: ["head.importance", 2] },
      { lt: ["head.createdAt", "2030-01-01"] },
      { lte: ["version.confidence", 0.5] },
      { in: ["head.slot", ["a", "b"]] },
      { hasTag: "t" },
      { matches: ["text", "^a+"] },
      { or: [] },
      { not: { and: [] } },
    ],
  });
  expect(predicateText(all)).toBe(
    '(and (head.type = "fact") (head.kind != "a \\"b\\"") (head.importance > 1) ' +
      '(head.importance >= 2) (head.createdAt < "2030-01-01") (version.confidence <= 0.5) ' +
      '(head.slot IN ["a", "b"]) (has_tag "t") (text ~ /^a+/) (or) (not (and)))',
  );
  expect(OPERATORS).toHaveLength(12);
});
