/** What a score is made of: known values, and the laws every score keeps. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  COLD_WEIGHTS,
  factorsOf,
  PINNED_FLOOR,
  RECENCY_MS,
  SATURATION,
  salience,
  type Use,
} from "./salience.js";

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_118);
const NOW = Date.UTC(2030, 0, 1);
const fresh: Use = { lastUsedAt: NOW, accessed: 0, cited: 0, importance: 7 };

const anyUse = fc.record({
  lastUsedAt: fc.integer({ min: 0, max: 2 * NOW }),
  accessed: fc.nat({ max: 10_000_000 }),
  cited: fc.nat({ max: 10_000_000 }),
  importance: fc.integer({ min: 0, max: 10 }),
});

function check<T>(what: string, arbitrary: fc.Arbitrary<T>, law: (value: T) => void): void {
  console.log(`salience, ${what}: seed ${SEED}`);
  fc.assert(fc.property(arbitrary, law), { seed: SEED, numRuns: 500 });
}

const score = (use: Use, cosine?: number, pinned = false): number =>
  salience(factorsOf(use, NOW, cosine), COLD_WEIGHTS, { pinned }).score;

describe("known values", () => {
  test("a fresh memory of importance 7 scores (0.25 + 0.14) / 0.9", () => {
    expect(score(fresh)).toBe(0.433333);
  });

  test("after 90 days recency is 1/e", () => {
    const { recency } = factorsOf({ ...fresh, lastUsedAt: NOW - RECENCY_MS }, NOW);
    expect(recency).toBeCloseTo(Math.exp(-1), 12);
  });

  test("a thousand uses are as many as there can be", () => {
    const many = factorsOf({ ...fresh, accessed: SATURATION, cited: 5 * SATURATION }, NOW);
    expect(many).toMatchObject({ access: 1, citations: 1 });
    expect(factorsOf({ ...fresh, accessed: 30 }, NOW).access).toBeCloseTo(0.497, 4);
  });

  test("a clock that went back makes nothing older than now", () => {
    expect(factorsOf({ ...fresh, lastUsedAt: NOW + 5000 }, NOW).recency).toBe(1);
  });

  test("similarity counts only where there is one, and maps -1 to 1 onto 0 to 1", () => {
    expect(factorsOf(fresh, NOW)).not.toHaveProperty("similarity");
    expect(factorsOf(fresh, NOW, -1).similarity).toBe(0);
    expect(factorsOf(fresh, NOW, 0).similarity).toBe(0.5);
    expect(factorsOf(fresh, NOW, 1).similarity).toBe(1);
    expect(score(fresh, 1)).toBe(0.49);
    expect(score(fresh, -1)).toBe(0.39);
  });

  test("a pinned memory has a floor, and keeps a score above it", () => {
    expect(score(fresh, undefined, true)).toBe(PINNED_FLOOR);
    const best = { lastUsedAt: NOW, accessed: 1000, cited: 1000, importance: 10 };
    expect(score(best, undefined, true)).toBe(1);
    expect(salience(factorsOf(fresh, NOW), COLD_WEIGHTS, { pinned: true }).pinned).toBe(true);
  });
});

describe("laws", () => {
  test("every score and factor lies between 0 and 1", () => {
    const input = fc.tuple(anyUse, fc.option(fc.double({ min: -2, max: 2, noNaN: true })));
    check("bounds", input, ([use, cosine]) => {
      const factors = factorsOf(use, NOW, cosine ?? undefined);
      const found = salience(factors, COLD_WEIGHTS);
      for (const value of [found.score, ...Object.values(factors)]) {
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1);
      }
    });
  });

  test("more use, more importance, a later use or a nearer query never lower a score", () => {
    const input = fc.tuple(anyUse, anyUse, fc.double({ min: -1, max: 1, noNaN: true }));
    check("order", input, ([a, b, cosine]) => {
      const better: Use = {
        lastUsedAt: Math.max(a.lastUsedAt, b.lastUsedAt),
        accessed: Math.max(a.accessed, b.accessed),
        cited: Math.max(a.cited, b.cited),
        importance: Math.max(a.importance, b.importance),
      };
      expect(score(better)).toBeGreaterThanOrEqual(Math.max(score(a), score(b)));
      expect(score(a, 1)).toBeGreaterThanOrEqual(score(a, cosine));
    });
  });

  test("without a query, the weight of similarity has no say in the order", () => {
    check("order without a query", fc.tuple(anyUse, anyUse), ([a, b]) => {
      const none = { recency: 0.25, access: 0.15, citations: 0.3, importance: 0.3, similarity: 0 };
      const with30 = {
        recency: 0.175,
        access: 0.105,
        citations: 0.21,
        importance: 0.21,
        similarity: 0.3,
      };
      for (const use of [a, b]) {
        const factors = factorsOf(use, NOW);
        expect(salience(factors, none).score).toBeCloseTo(salience(factors, with30).score, 5);
      }
    });
  });
});
