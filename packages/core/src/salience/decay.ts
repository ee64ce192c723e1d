/**
 * Decay: how much of its rank a memory keeps while nobody uses or changes it.
 *
 * A table gives each of the eleven types a half-life and a floor. What says who somebody is, or what is
 * never to be done, does not age; what happened, and what was noted in passing, ages soonest. An
 * important memory ages more slowly: at importance 10 its half-life is twice that of importance 0.
 *
 * Promise: pure. Decay is a factor of a rank, between the floor of the type and 1, and nothing else: no
 * memory is archived, hidden or forgotten because of it, however old it is. The numbers are choices, not
 * measurements.
 */
import { LIMITS } from "../limits.js";
import type { MemoryType } from "../records/types.js";

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
