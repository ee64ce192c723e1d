/** Token buckets: burst, refill, independence, room; and what `open` accepts. */
import { describe, expect, test } from "vitest";
import { LIMITS } from "../limits.js";
import {
  checkRateLimits,
  DEFAULT_RATE_LIMITS,
  RateLimiter,
  type RateLimits,
} from "./rate-limits.js";

function limiter(limits: Partial<RateLimits> | false = {}) {
  let now = 1_000_000;
  const found = new RateLimiter(checkRateLimits(limits), () => now);
  const intent = (key: string): boolean => {
    try {
      found.pass("attest", [
        { gate: "attestPerIntent", key },
        { gate: "attestPerPrincipal", key: "ada" },
      ]);
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: "ERR_RATE_LIMITED" });
      return false;
    }
  };
  const wait = (ms: number): void => {
    now += ms;
  };
  return { found, intent, wait };
}

const allowed = (times: number, call: () => boolean): number =>
  Array.from({ length: times }, call).filter(Boolean).length;

describe("buckets", () => {
  test("give the burst at once, then one a second", () => {
    const { intent, wait } = limiter();
    expect(allowed(20, () => intent("a"))).toBe(5);
    wait(999);
    expect(intent("a")).toBe(false);
    wait(1);
    expect(allowed(3, () => intent("a"))).toBe(1);
    wait(60_000);
    expect(allowed(20, () => intent("a"))).toBe(5);
  });

  test("of one task say nothing about another, but all tasks share one of the principal", () => {
    const { intent, wait } = limiter();
    expect(allowed(5, () => intent("a"))).toBe(5);
    expect(intent("b")).toBe(true);
    let task = 0;
    expect(allowed(500, () => intent(`task ${task++}`))).toBe(100 - 6);
    wait(1000);
    expect(allowed(500, () => intent(`task ${task++}`))).toBe(20);
  });

  test("a refused call takes nothing from any of them", () => {
    const { found, intent } = limiter({ attestPerPrincipal: { perSecond: 1, burst: 6 } });
    expect(allowed(50, () => intent("a"))).toBe(5);
    // Had the refused calls cost the principal, nothing would be left for this one.
    expect(intent("b")).toBe(true);
    expect(intent("c")).toBe(false);
    expect(found.size).toBe(3);
  });

  test("the message says how long to wait, and the clock going back refills nothing", () => {
    const { found, intent, wait } = limiter();
    allowed(5, () => intent("a"));
    wait(-5000);
    expect(() => found.pass("attest", [{ gate: "attestPerIntent", key: "a" }])).toThrow(
      /at most 1 a second, 5 at once \(attestPerIntent\).*again in 1000 ms/,
    );
  });

  test("are bounded: full ones make room, then the oldest", () => {
    const { found, wait } = limiter();
    const pass = (key: string) => found.pass("attest", [{ gate: "attestPerIntent", key }]);
    for (let n = 0; n < LIMITS.rateBuckets; n += 1) pass(`task ${n}`);
    expect(found.size).toBe(LIMITS.rateBuckets);
    // Nothing is full yet: a tenth of the oldest goes.
    for (let n = 0; n < 5; n += 1) pass("busy");
    expect(found.size).toBeLessThanOrEqual(LIMITS.rateBuckets);
    expect(() => pass("busy")).toThrow();
    wait(1000);
    for (let n = 0; n < LIMITS.rateBuckets; n += 1) pass(`later ${n}`);
    expect(found.size).toBeLessThanOrEqual(LIMITS.rateBuckets);
  });
});

describe("what open accepts", () => {
  test("nothing, parts, or false", () => {
    expect(checkRateLimits(undefined)).toBe(DEFAULT_RATE_LIMITS);
    expect(checkRateLimits({ attestPerIntent: false })).toEqual({
      ...DEFAULT_RATE_LIMITS,
      attestPerIntent: false,
    });
    const { intent } = limiter(false);
    expect(allowed(1000, () => intent("a"))).toBe(1000);
  });

  test.each([
    [{ perMinute: 1 }, "ERR_UNKNOWN_FIELD"],
    [{ attestPerIntent: { perSecond: 0, burst: 1 } }, "ERR_INVALID"],
    [{ attestPerIntent: { perSecond: 1, burst: 0.5 } }, "ERR_INVALID"],
    [{ attestPerIntent: { perSecond: Number.NaN, burst: 5 } }, "ERR_INVALID"],
    [{ attestPerIntent: true }, "ERR_INVALID"],
    [{ attestPerIntent: { perSecond: 1, burst: 5, size: 3 } }, "ERR_UNKNOWN_FIELD"],
    ["none", "ERR_INVALID"],
  ])("%j is refused with %s", (input, code) => {
    expect(() => checkRateLimits(input as never)).toThrow(expect.objectContaining({ code }));
  });
});
