/**
 * How weights learn from outcomes: an exponential moving average toward, or away from, the factors of
 * the memories that were cited.
 *
 * Promise: the five weights sum to 1 and none falls below `WEIGHT_FLOOR`, however many steps are
 * taken. A step moves the four factors that a memory has of its own and leaves the weight of
 * similarity alone: the profile of the cited memories is scaled to what those four share, so that no
 * weight drains away by rounding. A failure that says nothing about the memories moves nothing:
 * weights never go toward what misled. Pure.
 */
import { type CborValue, decode, encode, fields } from "../codec/cbor.js";
import { readIntegerOr, readList, readMap } from "../codec/cbor-value.js";
import { CortexError } from "../errors.js";
import { FACTORS, type Factors, type Weights } from "./salience.js";

/** The share of the way that one step goes. */
export const LEARNING_RATE = 0.05;

/** No weight is learned below this: a factor that counts for nothing could never come back. */
export const WEIGHT_FLOOR = 0.02;

/** How a task ended that used memories. */
export type AttestOutcome = "success" | "failure";

/** The reasons of a failure that blame the memories cited. */
export const MISLED_REASONS: readonly string[] = ["factual_error", "wrong_assumption"];

/** Which way a step goes; `none` leaves the weights as they are. */
export type Direction = "toward" | "away" | "none";

/** Where an outcome moves the weights. */
export function directionOf(outcome: AttestOutcome, reason: string | undefined): Direction {
  if (outcome === "success") return "toward";
  return reason !== undefined && MISLED_REASONS.includes(reason) ? "away" : "none";
}

const LEARNED = ["recency", "access", "citations", "importance"] as const;

/** The weights after one step; the same object when there is nothing to learn from. */
export function learn(
  weights: Weights,
  cited: readonly Factors[],
  direction: Direction,
  rate = LEARNING_RATE,
): Weights {
  if (direction === "none" || rate <= 0) return weights;
  const means = LEARNED.map((name) => cited.reduce((sum, factors) => sum + factors[name], 0));
  const total = means.reduce((sum, mean) => sum + mean, 0);
  if (total <= 0) return weights;
  const share = 1 - weights.similarity;
  const signed = direction === "toward" ? rate : -rate;
  const moved = LEARNED.map((name, at) => {
    const target = ((means[at] ?? 0) / total) * share;
    return weights[name] + signed * (target - weights[name]);
  });
  // What stands above the floor is scaled to what is left above it: the sum is exact by
  // construction, and a step that meets no floor is scaled by 1.
  const above = moved.map((weight) => Math.max(0, weight - WEIGHT_FLOOR));
  const room = share - LEARNED.length * WEIGHT_FLOOR;
  const scale = room / above.reduce((sum, part) => sum + part, 0);
  const [recency, access, citations, importance] = above.map((part) => WEIGHT_FLOOR + part * scale);
  return { ...weights, recency, access, citations, importance } as Weights;
}

/** What a `learn_weights` entry says: the weights it left, and which way it went. */
interface LearnRecord {
  readonly weights: Weights;
  readonly direction: Direction;
}

const DIRECTIONS: readonly Direction[] = ["none", "toward", "away"];

/** The bytes of the record: the five weights in the order of `FACTORS`, and the direction. */
export function encodeLearnRecord({ weights, direction }: LearnRecord): Uint8Array {
  return encode(
    fields([undefined, FACTORS.map((name) => weights[name]), DIRECTIONS.indexOf(direction)]),
  );
}

/** Reads the record of a `learn_weights` entry. */
export function decodeLearnRecord(bytes: Uint8Array): LearnRecord {
  const at = readMap(decode(bytes), "learned weights");
  const values = readList(at[1]);
  const direction = DIRECTIONS[readIntegerOr(at[2], 0)];
  if (values.length !== FACTORS.length || !values.every(isWeight) || direction === undefined) {
    throw new CortexError("ERR_CORRUPT", "learned weights: expected five weights and a direction");
  }
  const weights = Object.fromEntries(FACTORS.map((name, at) => [name, values[at]]));
  return { weights: weights as unknown as Weights, direction };
}

function isWeight(value: CborValue): boolean {
  return typeof value === "number" && value >= 0 && value <= 1;
}
