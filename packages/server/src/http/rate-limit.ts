/**
 * A token bucket per caller: a burst at once, a rate in the long run. Callers that have been quiet for
 * long enough are forgotten, because their bucket is full again; so the table stays as small as the
 * number of callers of the last moments.
 */

/** How much a caller may ask for. */
export interface RateLimit {
  /** 0 for any number. */
  readonly ratePerSecond: number;
  readonly rateBurst: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Callers beyond this are looked through for full buckets before another is added. */
const CALLERS_MAX = 10_000;

/** Answers how many seconds a caller has to wait: 0 when it may go on. */
export type Limiter = (caller: string) => number;

/** Makes the limiter; `nowMs` is a clock that only goes forward. */
export function makeLimiter(limit: RateLimit, nowMs: () => number): Limiter {
  const { ratePerSecond, rateBurst } = limit;
  if (ratePerSecond === 0) return () => 0;
  const buckets = new Map<string, Bucket>();
  const refilled = ({ tokens, atMs }: Bucket, now: number): number =>
    Math.min(rateBurst, tokens + ((now - atMs) * ratePerSecond) / 1000);
  const makeRoom = (now: number): void => {
    for (const [caller, bucket] of buckets) {
      if (refilled(bucket, now) >= rateBurst) buckets.delete(caller);
    }
    // All of them are busy: whoever was quiet longest starts anew.
    const [oldest] = buckets.keys();
    if (buckets.size >= CALLERS_MAX && oldest !== undefined) buckets.delete(oldest);
  };
  return (caller) => {
    const now = nowMs();
    const before = buckets.get(caller);
    if (before === undefined && buckets.size >= CALLERS_MAX) makeRoom(now);
    const tokens = before === undefined ? rateBurst : refilled(before, now);
    const isAllowed = tokens >= 1;
    // Deleted first, so that the map stays in the order of last use.
    buckets.delete(caller);
    buckets.set(caller, { tokens: isAllowed ? tokens - 1 : tokens, atMs: now });
    return isAllowed ? 0 : Math.ceil((1 - tokens) / ratePerSecond);
  };
}
