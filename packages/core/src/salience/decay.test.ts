/** How memories age: known values, and the laws that hold for every type. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MEMORY_TYPES, type MemoryType, namesOf } from "../records/types.js";
import { DECAY, decayOf } from "./salience.js";

const DAY_MS = 24 * 60 * 60 * 1000;
const SEED = 20_301;
const TYPES = namesOf(MEMORY_TYPES) as readonly MemoryType[];

describe("known values", () => {
  test("after one half-life half of what can be lost is lost", () => {
    expect(decayOf("fact", 365 * DAY_MS, 0)).toBeCloseTo(0.85, 12);
    expect(decayOf("event", 90 * DAY_MS, 0)).toBeCloseTo(0.75, 12);
    expect(decayOf("note", 240 * DAY_MS, 0)).toBeCloseTo(0.625, 12);
  });

  test("importance 10 doubles the half-life", () => {
    expect(decayOf("event", 180 * DAY_MS, 10)).toBeCloseTo(decayOf("event", 90 * DAY_MS, 0), 12);
  });

  test("identity and constraint do not age, whatever the years", () => {
    for (const type of ["identity", "constraint"] as const) {
      expect(decayOf(type, 100 * 365 * DAY_MS, 0)).toBe(1);
    }
  });
});

test("every type: 1 when fresh, never rising with age, never below its floor", () => {
  console.log(`decay: seed ${SEED}`);
  const ages = fc.integer({ min: 0, max: 200 * 365 }).map((days) => days * DAY_MS);
  fc.assert(
    fc.property(
      fc.constantFrom(...TYPES),
      ages,
      ages,
      fc.integer({ min: 0, max: 10 }),
      (type, a, b, importance) => {
        const [young, old] = [Math.min(a, b), Math.max(a, b)];
        expect(decayOf(type, 0, importance)).toBe(1);
        expect(decayOf(type, -old, importance)).toBe(1);
        expect(decayOf(type, old, importance)).toBeLessThanOrEqual(
          decayOf(type, young, importance),
        );
        expect(decayOf(type, old, importance)).toBeGreaterThanOrEqual(DECAY[type].floor);
        expect(DECAY[type].floor).toBeGreaterThanOrEqual(0.5);
      },
    ),
    { seed: SEED },
  );
});
