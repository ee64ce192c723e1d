/**
 * Rate limits: token buckets that refill all the time, up to a burst.
 *
 * Promise: a call that is refused takes nothing from any bucket and has no other effect. Time is the
 * injected clock; one that goes back refills nothing. Buckets live in this process alone, and their
 * number is bounded: full ones are dropped first, because a full bucket means the same as none; then
 * those that were used longest ago.
 */
import { CortexError, invalid } from "../errors.js";
import { LIMITS } from "../limits.js";
import { checkObject, checkOptions } from "./engine.js";

/** How often something may happen. */
export interface RateLimit {
  /** Calls that come back every second. */
  readonly perSecond: number;
  /** Calls that may come at once. */
  readonly burst: number;
}

/** Every limit by name; `false` switches one off. */
export interface RateLimits {
  /** `attest` for one task. */
  readonly attestPerIntent: RateLimit | false;
  /** `attest` over all tasks, so that giving tasks other names does not get around the first limit. */
  readonly attestPerPrincipal: RateLimit | false;
  /** Entries about what a scope did not allow, for one holder and issuer; more go unrecorded. */
  readonly scopeViolations: RateLimit | false;
  /** Proposals of one speaker; of more, the wish is refused and not kept. */
  readonly proposals: RateLimit | false;
}

/** The name of a limit. */
type Gate = keyof RateLimits;

/** The limits unless `open` is given others. */
export const DEFAULT_RATE_LIMITS: RateLimits = {
  attestPerIntent: { perSecond: 1, burst: 5 },
  attestPerPrincipal: { perSecond: 20, burst: 100 },
  scopeViolations: { perSecond: 10, burst: 20 },
  proposals: { perSecond: 1, burst: 100 },
};

const NO_LIMITS: RateLimits = {
  attestPerIntent: false,
  attestPerPrincipal: false,
  scopeViolations: false,
  proposals: false,
};

/** Checks the limits given to `open`; what is left out keeps its default, `false` ends them all. */
export function checkRateLimits(input: Partial<RateLimits> | false | undefined): RateLimits {
  if (input === undefined) return DEFAULT_RATE_LIMITS;
  if (input === false) return NO_LIMITS;
  checkOptions(input, Object.keys(DEFAULT_RATE_LIMITS), "rateLimits");
  const given = Object.entries(input).filter(([, limit]) => limit !== undefined);
  for (const [name, limit] of given) checkRateLimit(limit, `rateLimits.${name}`);
  return { ...DEFAULT_RATE_LIMITS, ...Object.fromEntries(given) };
}

function checkRateLimit(limit: unknown, field: string): void {
  if (limit === false) return;
  checkOptions(limit, ["perSecond", "burst"], field);
  const { perSecond, burst } = checkObject(limit, field) as Partial<RateLimit>;
  if (typeof perSecond !== "number" || !Number.isFinite(perSecond) || perSecond <= 0) {
    throw invalid(`${field}.perSecond`, "a number above 0", perSecond);
  }
  if (typeof burst !== "number" || !Number.isSafeInteger(burst) || burst < 1) {
    throw invalid(`${field}.burst`, "an integer of at least 1", burst);
  }
}

interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** One call that must pass a gate. */
interface Passage {
  readonly gate: Gate;
  /** Whose bucket it is. */
  readonly key: string;
}

/** The buckets of an open store; see the file header. */
export class RateLimiter {
  readonly #limits: RateLimits;
  readonly #clock: () => number;
  /** By gate and key, in the order of use. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(limits: RateLimits, clock: () => number) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** How many buckets are kept. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Takes one token for every passage, or none and fails with `ERR_RATE_LIMITED`. */
  pass(operation: string, passages: readonly Passage[]): void {
    const nowMs = this.#clock();
    const taken = passages.flatMap(({ gate, key }) => {
      const limit = this.#limits[gate];
      if (limit === false) return [];
      const name = `${gate} ${key}`;
      const tokens = this.#tokensOf(name, limit, nowMs);
      if (tokens < 1) throw limited(operation, gate, limit, (1 - tokens) / limit.perSecond);
      return [{ name, bucket: { tokens: tokens - 1, atMs: nowMs } }];
    });
    for (const { name, bucket } of taken) {
      this.#buckets.delete(name);
      this.#makeRoom(nowMs);
      this.#buckets.set(name, bucket);
    }
  }

  #tokensOf(name: string, { perSecond, burst }: RateLimit, nowMs: number): number {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return burst;
    const elapsedMs = Math.max(0, nowMs - bucket.atMs);
    return Math.min(burst, bucket.tokens + (elapsedMs / 1000) * perSecond);
  }

  #makeRoom(nowMs: number): void {
    if (this.#buckets.size < LIMITS.rateBuckets) return;
    for (const name of [...this.#buckets.keys()]) {
      const limit = this.#limits[name.slice(0, name.indexOf(" ")) as Gate];
      const isFull = limit === false || this.#tokensOf(name, limit, nowMs) >= limit.burst;
      if (isFull) this.#buckets.delete(name);
    }
    if (this.#buckets.size < LIMITS.rateBuckets) return;
    // A tenth at a time: looking through all of them for every call would cost more than the call.
    const oldest = [...this.#buckets.keys()].slice(0, Math.ceil(LIMITS.rateBuckets / 10));
    for (const name of oldest) this.#buckets.delete(name);
  }
}

function limited(operation: string, gate: Gate, limit: RateLimit, seconds: number): CortexError {
  const expected = `at most ${limit.perSecond} a second, ${limit.burst} at once`;
  const wait = `again in ${Math.ceil(seconds * 1000)} ms`;
  return new CortexError(
    "ERR_RATE_LIMITED",
    `${operation}: expected ${expected} (${gate}), got one more; nothing was done, ${wait}`,
    { field: gate, expected, got: "one more" },
  );
}
