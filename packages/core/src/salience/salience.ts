/**
 * Salience: how much a memory matters now, from how it was used and how old it is; how its weights learn; and what
 * entries say about its use.
 *
 * Five factors, each from 0 to 1, stand under five weights that sum to 1. Similarity counts where a query has one;
 * without it the other four weights are scaled to sum to 1. Age then takes its share: a table gives each of the eleven
 * types a half-life and a floor. What says who somebody is, or what is never to be done, does not age; what happened,
 * and what was noted in passing, ages soonest. An important memory ages more slowly: at importance 10 its half-life is
 * twice that of importance 0. The numbers of the table are choices, not measurements.
 *
 * Weights learn from outcomes by an exponential moving average toward, or away from, the factors of the memories that were
 * cited. They sum to 1 and none falls below `WEIGHT_FLOOR`, however many steps are taken. A step moves the four factors that
 * a memory has of its own and leaves the weight of similarity alone: the profile of the cited memories is scaled to what
 * those four share, so that no weight drains away by rounding. A failure that says nothing about the memories moves nothing:
 * weights never go toward what misled.
 *
 * An `attest` entry holds one part for every memory that was cited; the part belongs to that memory, so that
 * forgetting the memory takes the words with it: which task it was, and why it ended so. The part names what it
 * adds to the counters; the fold only adds. The record of a compacted context holds no content: memories are
 * named by URIs, the task and its step by a hash of their names, so of a memory that was forgotten since it
 * shows only that the memory was there.
 *
 * Promise: pure, the same numbers for the same input. A score is rounded to a millionth, so that two machines whose
 * logarithms differ in the last bit still order memories alike. No score is stored: counters come from the journal,
 * scores are made on reading and are part of no root. No memory is archived, hidden or forgotten because of its age.
 *
 * Left to others: where counters and weights are read from (`engine/salience-reader.ts`).
 */
import { type CborValue, decode, encode, fields } from "../codec/cbor.js";
import { readIntegerOr, readList, readMap, readText, readTexts } from "../codec/cbor-value.js";
import { domainHash, type Sha256 } from "../codec/hash.js";
import { CortexError, unreachable } from "../errors.js";
import { type EntryKind, partRecord } from "../journal/entry.js";
import { LIMITS } from "../limits.js";
import type { MemoryType } from "../records/types.js";

/** The five factors by name, in the order in which weights are stored. */
export const FACTORS = ["recency", "access", "citations", "importance", "similarity"] as const;

/** The name of a factor. */
type FactorName = (typeof FACTORS)[number];

/** How much each factor counts; the five sum to 1. */
export type Weights = { readonly [name in FactorName]: number };

/** What holds until something was learned. */
export const COLD_WEIGHTS: Weights = {
  recency: 0.25,
  access: 0.15,
  citations: 0.3,
  importance: 0.2,
  similarity: 0.1,
};

/** After this long without use, recency has fallen to 1/e. */
export const RECENCY_MS = 90 * 24 * 60 * 60 * 1000;

/** The number of uses, or citations, at which their factor reaches 1. */
export const SATURATION = 1000;

/** No memory that the caller pins scores less. */
export const PINNED_FLOOR = 0.7;

/** What the factors of a memory are made from. */
export interface Use {
  /** When it was last used or changed. */
  readonly lastUsedAt: number;
  readonly accessed: number;
  readonly cited: number;
  /** 0 to 10, as its head says. */
  readonly importance: number;
}

/** The factors of one memory, each from 0 to 1. */
export interface Factors {
  readonly recency: number;
  readonly access: number;
  readonly citations: number;
  readonly importance: number;
  /** Present where a query was compared with the memory. */
  readonly similarity?: number;
}

/** How much a memory matters, and why. */
export interface Salience {
  /** 0 to 1, to a millionth. */
  readonly score: number;
  readonly factors: Factors;
  /** The weights behind the score. */
  readonly weights: Weights;
  /** What age leaves of the weighted sum: the factor by which the type of the memory has decayed. */
  readonly decay: number;
  /** True when the floor for pinned memories was in force. */
  readonly pinned: boolean;
}

/** The factors at `nowMs`; `cosine` is that of memory and query, from −1 to 1. */
export function factorsOf(use: Use, nowMs: number, cosine?: number): Factors {
  const idleMs = Math.max(0, nowMs - use.lastUsedAt);
  return {
    recency: Math.exp(-idleMs / RECENCY_MS),
    access: saturating(use.accessed),
    citations: saturating(use.cited),
    importance: unit(use.importance / LIMITS.importanceMax),
    ...(cosine === undefined ? {} : { similarity: unit((1 + cosine) / 2) }),
  };
}

/** What a score depends on beside its factors. */
interface Circumstances {
  readonly pinned?: boolean;
  /** Tombstoned: it ranks last, whatever its factors say. */
  readonly hidden?: boolean;
  /** What age leaves of the score, 0 to 1: see `decayOf`. */
  readonly decay?: number;
}

/** The salience that factors give under weights; a pinned memory has a floor, whatever its age. */
export function salience(
  factors: Factors,
  weights: Weights,
  { pinned = false, hidden = false, decay = 1 }: Circumstances = {},
): Salience {
  const { similarity } = factors;
  const own =
    weights.recency * factors.recency +
    weights.access * factors.access +
    weights.citations * factors.citations +
    weights.importance * factors.importance;
  const weighed =
    similarity === undefined
      ? own / (1 - weights.similarity)
      : own + weights.similarity * similarity;
  const aged = decay * weighed;
  const floored = pinned ? Math.max(PINNED_FLOOR, aged) : aged;
  const score = hidden ? 0 : Math.round(unit(floored) * 1e6) / 1e6;
  return { score, factors, weights, decay, pinned: pinned && !hidden };
}

/** ln(1 + n) on a scale that ends at 1 for `SATURATION`. */
function saturating(count: number): number {
  return unit(Math.log1p(count) / Math.log1p(SATURATION));
}

function unit(value: number): number {
  return Math.min(1, Math.max(0, value));
}

/** How a type ages. */
export interface Decay {
  /** Days after which half of what can be lost is lost, at importance 0; infinite for what stays. */
  readonly halfLifeDays: number;
  /** What is kept in any case, 0 to 1. */
  readonly floor: number;
}

/** The decay of every type. */
export const DECAY: { readonly [type in MemoryType]: Decay } = {
  identity: { halfLifeDays: Number.POSITIVE_INFINITY, floor: 1 },
  constraint: { halfLifeDays: Number.POSITIVE_INFINITY, floor: 1 },
  preference: { halfLifeDays: 730, floor: 0.8 },
  capability: { halfLifeDays: 365, floor: 0.7 },
  fact: { halfLifeDays: 365, floor: 0.7 },
  pattern: { halfLifeDays: 365, floor: 0.7 },
  artifact: { halfLifeDays: 365, floor: 0.6 },
  belief: { halfLifeDays: 180, floor: 0.6 },
  goal: { halfLifeDays: 180, floor: 0.6 },
  note: { halfLifeDays: 120, floor: 0.5 },
  event: { halfLifeDays: 90, floor: 0.5 },
};

const DAY_MS = 24 * 60 * 60 * 1000;

/** The factor that a memory of this type keeps after so long without use; 1 for a fresh one. */
export function decayOf(type: MemoryType, ageMs: number, importance: number): number {
  const { halfLifeDays, floor } = DECAY[type];
  const halfLifeMs = halfLifeDays * DAY_MS * (1 + importance / LIMITS.importanceMax);
  return floor + (1 - floor) * 2 ** (-Math.max(0, ageMs) / halfLifeMs);
}

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

/** What use has made of a memory. */
export interface Counter {
  readonly reinforced: number;
  readonly accessed: number;
  readonly cited: number;
  readonly lastUsedAt: number;
}

/** The counters of a memory that nobody used yet. */
export const UNUSED: Counter = { reinforced: 0, accessed: 0, cited: 0, lastUsedAt: 0 };

/** What an attestation says about one memory. */
export interface AttestRecord {
  readonly outcome: AttestOutcome;
  /** Added to the citations, which never fall below 0. */
  readonly cited: number;
  readonly accessed: number;
  readonly intentId: string;
  readonly reason?: string;
}

const OUTCOMES: readonly AttestOutcome[] = ["success", "failure"];

/** What an outcome adds to the counters of each memory cited. */
export function attestRecord(
  outcome: AttestOutcome,
  intentId: string,
  reason: string | undefined,
): AttestRecord {
  const direction = directionOf(outcome, reason);
  const cited = direction === "toward" ? 1 : direction === "away" ? -1 : 0;
  const accessed = outcome === "success" ? 1 : 0;
  return { outcome, cited, accessed, intentId, ...(reason === undefined ? {} : { reason }) };
}

/** The bytes of an attestation's part. */
export function encodeAttestRecord(record: AttestRecord): Uint8Array {
  const { outcome, cited, accessed, intentId, reason } = record;
  return encode(fields([undefined, OUTCOMES.indexOf(outcome), cited, accessed, intentId, reason]));
}

/** Reads an attestation's part. */
export function decodeAttestRecord(bytes: Uint8Array): AttestRecord {
  const at = readMap(decode(bytes), "attestation");
  const outcome = OUTCOMES[readIntegerOr(at[1], 0)];
  if (outcome === undefined) {
    throw new CortexError("ERR_CORRUPT", "attestation: expected the outcome 0 or 1");
  }
  return {
    outcome,
    cited: readIntegerOr(at[2], 0),
    accessed: readIntegerOr(at[3], 0),
    intentId: readText(at[4]),
    ...(at[5] === undefined ? {} : { reason: readText(at[5]) }),
  };
}

/** The kinds of entries whose attached parts count as use of a memory. */
type UseKind = "reinforce" | "find_late" | "attest";

/** An entry whose attached parts count. */
interface UseEntry {
  readonly kind: UseKind;
  readonly at: number;
}

/** Whether the attached parts of an entry count as use. */
export function isUse<E extends { readonly kind: EntryKind }>(
  entry: E,
): entry is E & { readonly kind: UseKind } {
  return entry.kind === "reinforce" || entry.kind === "find_late" || entry.kind === "attest";
}

/** A memory's counters after one of its attached parts. */
export function countUse(counter: Counter, entry: UseEntry, part: Uint8Array): Counter {
  const used = { ...counter, lastUsedAt: entry.at };
  switch (entry.kind) {
    case "reinforce":
      return { ...used, reinforced: counter.reinforced + 1 };
    case "find_late":
      return { ...used, accessed: counter.accessed + 1 };
    case "attest": {
      const { cited, accessed } = decodeAttestRecord(partRecord(part));
      return {
        ...used,
        cited: Math.max(0, counter.cited + cited),
        accessed: counter.accessed + accessed,
      };
    }
    default:
      return unreachable(entry.kind);
  }
}

/** A memory that was kept in brief. */
interface CompactedUri {
  readonly uri: string;
  /** Its score when the context was compacted. */
  readonly salience: number;
}

/** What a `context` entry says. */
export interface ContextRecord {
  /** Hash of the names of task and step: 16 bytes. */
  readonly name: Uint8Array;
  readonly budgetTokens: number;
  readonly kept: readonly string[];
  readonly compacted: readonly CompactedUri[];
}

const NAME_BYTES = 16;

/** What a task and its step are known by. */
export function contextName(sha256: Sha256, intentId: string, stepId: string): Uint8Array {
  return domainHash(sha256, "contextRecord", encode([intentId, stepId])).slice(0, NAME_BYTES);
}

/** The bytes of a context record. */
export function encodeContextRecord(record: ContextRecord): Uint8Array {
  const { name, budgetTokens, kept, compacted } = record;
  const brief = compacted.map(({ uri, salience }) => [uri, salience]);
  return encode(fields([undefined, name, budgetTokens, kept, brief]));
}

/** Reads a context record. */
export function decodeContextRecord(bytes: Uint8Array): ContextRecord {
  const at = readMap(decode(bytes), "context record");
  const name = at[1];
  if (!(name instanceof Uint8Array) || name.length !== NAME_BYTES) {
    throw new CortexError("ERR_CORRUPT", `context record: expected a name of ${NAME_BYTES} bytes`);
  }
  return {
    name,
    budgetTokens: readIntegerOr(at[2], 0),
    kept: readTexts(at[3]),
    compacted: readList(at[4]).map(decodeCompacted),
  };
}

function decodeCompacted(value: CborValue): CompactedUri {
  const [uri, salience] = readList(value);
  if (typeof salience === "number") return { uri: readText(uri), salience };
  throw new CortexError("ERR_CORRUPT", "context record: expected a salience");
}
