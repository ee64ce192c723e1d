/** Comparisons: text by bytes, amounts by value, patterns in linear time and within a budget. */
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { isCortexError } from "../errors.js";
import { LIMITS } from "../limits.js";
import {
  compareAmounts,
  compareText,
  compilePattern,
  matchBudget,
  readyPatterns,
} from "./evaluate.js";

const SEED = 20_301;

test("text is ordered by its UTF-8 bytes, beyond the basic plane as well", () => {
  const texts = fc.string({
    unit: fc.constantFrom("a", "b", "é", "\uffee", "\u{1f600}", "\u{10000}"),
  });
  const property = fc.property(texts, texts, (a, b) => {
    const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b));
    expect(Math.sign(compareText(a, b))).toBe(bytes);
  });
  fc.assert(property, { seed: SEED, numRuns: 2000 });
});

test("amounts are ordered by value, however many digits they are written with", () => {
  const amounts = fc
    .tuple(fc.integer({ min: 0, max: 1200 }), fc.integer({ min: 0, max: 99 }), fc.nat({ max: 3 }))
    .map(([whole, part, zeros]) =>
      part === 0 ? String(whole) : `${whole}.${String(part).padStart(2, "0")}${"0".repeat(zeros)}`,
    );
  const property = fc.property(amounts, amounts, (a, b) => {
    expect(Math.sign(compareAmounts(a, b))).toBe(Math.sign(Number(a) - Number(b)));
  });
  fc.assert(property, { seed: SEED, numRuns: 2000 });
});

describe("patterns", () => {
  beforeAll(readyPatterns);
  const long = `${"a".repeat(LIMITS.contentBytes - 1)}b`;

  test.each(["(a+)+$", "(a|aa)+$", "(a*)*c", "(a?){30}a{30}$", "^(([a-z])+.)+[A-Z]([a-z])+$"])(
    "%s ends on the largest text there is",
    (source) => {
      expect(compilePattern(source, "where").matches(long, matchBudget())).toBe(false);
    },
  );

  test("match anywhere, unless they are anchored", () => {
    const matches = (source: string, text: string) =>
      compilePattern(source, "where").matches(text, matchBudget());
    expect(matches("red", "a red-eye")).toBe(true);
    expect(matches("^red", "a red-eye")).toBe(false);
    expect(matches("(?i)RED", "a red-eye")).toBe(true);
    expect(matches("\\p{Lu}", "a red-eye")).toBe(false);
    expect(matches("", "")).toBe(true);
  });

  test("a query that would look through too much is stopped", () => {
    const pattern = compilePattern("[ab]{400}c", "where.matches");
    const budget = matchBudget();
    let looked = 0;
    const lookOn = () => {
      for (; looked < 1000; looked += 1) pattern.matches(long, budget);
    };
    expect(lookOn).toThrow(/where\.matches: expected less text/);
    expect(looked).toBeGreaterThan(5);
    try {
      lookOn();
    } catch (error) {
      expect(isCortexError(error, "ERR_TOO_BROAD")).toBe(true);
    }
  });
});
