/** What the learner keeps, whatever it is shown: the sum, the floors, the weight of similarity. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encode, fields } from "../codec/cbor.js";
import { isCortexError } from "../errors.js";
import { seededRandom } from "../testing/seeded-random.js";
import {
  COLD_WEIGHTS,
  type Direction,
  decodeLearnRecord,
  directionOf,
  encodeLearnRecord,
  FACTORS,
  type Factors,
  LEARNING_RATE,
  learn,
  WEIGHT_FLOOR,
  type Weights,
} from "./salience.js";

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_119);
const OWN = ["recency", "access", "citations", "importance"] as const;

const unit = fc.double({ min: 0, max: 1, noNaN: true });
const anyFactors: fc.Arbitrary<Factors> = fc.record({
  recency: unit,
  access: unit,
  citations: unit,
  importance: unit,
});
const anyDirection = fc.constantFrom<Direction>("toward", "away", "none");
const anySteps = fc.array(
  fc.record({ cited: fc.array(anyFactors, { maxLength: 4 }), direction: anyDirection }),
  { maxLength: 60 },
);

function sum(weights: Weights): number {
  return FACTORS.reduce((total, name) => total + weights[name], 0);
}

function holds(weights: Weights): void {
  expect(Math.abs(sum(weights) - 1)).toBeLessThan(1e-9);
  expect(weights.similarity).toBe(COLD_WEIGHTS.similarity);
  for (const name of OWN) expect(weights[name]).toBeGreaterThanOrEqual(WEIGHT_FLOOR - 1e-12);
}

describe("the laws of the learner", () => {
  test("any steps keep the sum, the floors and the weight of similarity", () => {
    console.log(`learner: seed ${SEED}`);
    fc.assert(
      fc.property(anySteps, (steps) => {
        let weights = COLD_WEIGHTS;
        for (const { cited, direction } of steps) {
          weights = learn(weights, cited, direction);
          holds(weights);
        }
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  test("a hundred thousand steps keep them as well", () => {
    console.log(`learner, many steps: seed ${SEED}`);
    const random = seededRandom(SEED);
    const one = (): number => random.below(1001) / 1000;
    let weights = COLD_WEIGHTS;
    for (let step = 0; step < 100_000; step += 1) {
      const factors = { recency: one(), access: one(), citations: one(), importance: one() };
      weights = learn(weights, [factors], random.pick(["toward", "away"] as const));
    }
    holds(weights);
  });

  test("a hundred thousand successes that show one factor alone stop at the floors", () => {
    const alone = { recency: 1, access: 0, citations: 0, importance: 0 };
    let weights = COLD_WEIGHTS;
    for (let step = 0; step < 100_000; step += 1) weights = learn(weights, [alone], "toward");
    holds(weights);
    expect(weights.recency).toBeCloseTo(0.9 - 3 * WEIGHT_FLOOR, 9);
    // A factor at its floor comes back.
    const other = { recency: 0, access: 1, citations: 0, importance: 0 };
    for (let step = 0; step < 200; step += 1) weights = learn(weights, [other], "toward");
    expect(weights.access).toBeGreaterThan(0.8);
  });

  test("toward comes nearer to the profile of what was cited, away goes farther", () => {
    console.log(`learner, direction: seed ${SEED}`);
    fc.assert(
      fc.property(anyFactors, (factors) => {
        const total = OWN.reduce((all, name) => all + factors[name], 0);
        fc.pre(total > 0.01);
        const distance = (weights: Weights): number =>
          OWN.reduce((all, name) => all + (weights[name] - (0.9 * factors[name]) / total) ** 2, 0);
        const before = distance(COLD_WEIGHTS);
        fc.pre(before > 1e-6);
        expect(distance(learn(COLD_WEIGHTS, [factors], "toward"))).toBeLessThan(before);
        expect(distance(learn(COLD_WEIGHTS, [factors], "away"))).toBeGreaterThan(before);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  test("nothing to learn from gives back the very weights", () => {
    const nothing = { recency: 0, access: 0, citations: 0, importance: 0 };
    const some = { recency: 1, access: 0, citations: 0, importance: 0.5 };
    expect(learn(COLD_WEIGHTS, [], "toward")).toBe(COLD_WEIGHTS);
    expect(learn(COLD_WEIGHTS, [nothing], "away")).toBe(COLD_WEIGHTS);
    expect(learn(COLD_WEIGHTS, [some], "none")).toBe(COLD_WEIGHTS);
    expect(learn(COLD_WEIGHTS, [some], "toward", 0)).toBe(COLD_WEIGHTS);
  });

  test("one success with one fresh memory of importance 7, by hand", () => {
    const fresh = { recency: 1, access: 0, citations: 0, importance: 0.7 };
    const learned = learn(COLD_WEIGHTS, [fresh], "toward");
    const step = (weight: number, target: number): number =>
      weight + LEARNING_RATE * (target - weight);
    expect(learned.recency).toBeCloseTo(step(0.25, 0.9 / 1.7), 12);
    expect(learned.access).toBeCloseTo(step(0.15, 0), 12);
    expect(learned.citations).toBeCloseTo(step(0.3, 0), 12);
    expect(learned.importance).toBeCloseTo(step(0.2, (0.9 * 0.7) / 1.7), 12);
  });
});

describe("what an outcome teaches", () => {
  test.each([
    ["success", undefined, "toward"],
    ["success", "factual_error", "toward"],
    ["failure", "factual_error", "away"],
    ["failure", "wrong_assumption", "away"],
    ["failure", undefined, "none"],
    ["failure", "the network was down", "none"],
  ] as const)("%s, %s: %s", (outcome, reason, direction) => {
    expect(directionOf(outcome, reason)).toBe(direction);
  });
});

describe("the record", () => {
  test("reads back what was written", () => {
    const record = { weights: COLD_WEIGHTS, direction: "away" as const };
    expect(decodeLearnRecord(encodeLearnRecord(record))).toEqual(record);
  });

  test.each([
    ["four weights", fields([undefined, [0.5, 0.5, 0, 0], 1])],
    ["a weight above 1", fields([undefined, [2, 0, 0, 0, 0], 1])],
    ["a text among them", fields([undefined, [1, 0, 0, 0, "0"], 1])],
    ["an unknown direction", fields([undefined, [1, 0, 0, 0, 0], 3])],
  ])("%s is corrupt", (_, value) => {
    expect(() => decodeLearnRecord(encode(value))).toThrow(
      expect.toSatisfy((error) => isCortexError(error, "ERR_CORRUPT")),
    );
  });
});
