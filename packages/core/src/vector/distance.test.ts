/** Lengths, products and the exact scan, against the plain way of doing it. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { distance, dot, Nearest, unitVector } from "./distance.js";

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_301);
const settings = { seed: SEED, numRuns: 200 };

const number = fc.double({ min: -1e30, max: 1e30, noNaN: true });
const vector = fc
  .array(number, { minLength: 1, maxLength: 40 })
  .map((values) => Float32Array.from(values));

describe(`vectors (seed ${SEED})`, () => {
  test("the product is the sum of the products, at any length", () => {
    const member = fc.float({ noNaN: true, min: -8, max: 8 });
    fc.assert(
      fc.property(fc.array(fc.tuple(member, member), { maxLength: 30 }), (pairs) => {
        const a = Float32Array.from(pairs, ([x]) => x);
        const b = Float32Array.from(pairs, ([, y]) => y);
        const plain = a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
        expect(dot(a, b)).toBeCloseTo(plain, 6);
      }),
      settings,
    );
  });

  test("a unit vector has length one and the same direction, whatever the scale", () => {
    fc.assert(
      fc.property(vector, (values) => {
        const unit = unitVector(values);
        if (values.every((value) => value === 0)) {
          expect(unit).toBeUndefined();
          return;
        }
        if (unit === undefined) throw new Error("a vector lost its direction");
        expect(dot(unit, unit)).toBeCloseTo(1, 5);
        const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
        const at = values.findIndex((value) => Math.abs(value) === largest);
        expect(Math.sign(unit[at] ?? 0)).toBe(Math.sign(values[at] ?? 0));
        expect(distance(unit, unit)).toBeCloseTo(0, 5);
      }),
      settings,
    );
  });

  test("there is no direction in zeros, infinities and what is no number", () => {
    for (const values of [[0, 0], [0, Number.NaN], [1, Number.POSITIVE_INFINITY], []]) {
      expect(unitVector(values)).toBeUndefined();
    }
    expect(unitVector([3e38, -3e38])?.every(Number.isFinite)).toBe(true);
    expect(unitVector([1e-40, 0])?.[0]).toBe(1);
  });

  test("the nearest are those that sorting would give, ties by number", () => {
    const offers = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 60 });
    fc.assert(
      fc.property(offers, fc.integer({ min: 1, max: 20 }), (distances, k) => {
        const nearest = new Nearest(k, distances.length);
        const all = distances.map((value, slot) => ({ slot, distance: value }));
        const sorted = all.toSorted((a, b) => a.distance - b.distance || a.slot - b.slot);
        for (const { slot, distance: far } of all.toReversed()) nearest.offer(slot, far);
        expect([...nearest.inOrder()]).toEqual(sorted.slice(0, k));
      }),
      settings,
    );
  });
});
