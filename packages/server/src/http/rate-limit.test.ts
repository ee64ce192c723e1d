/** A burst at once, a rate in the long run, each caller for itself. */
import { expect, test } from "vitest";
import { makeLimiter } from "./guard.js";

function limiter(ratePerSecond: number, rateBurst: number) {
  let now = 0;
  const wait = makeLimiter({ ratePerSecond, rateBurst }, () => now);
  return {
    wait,
    pass: (ms: number) => {
      now += ms;
    },
  };
}

test("no rate is no limit", () => {
  const { wait } = limiter(0, 1);
  expect(Array.from({ length: 1000 }, () => wait("a"))).toEqual(Array(1000).fill(0));
});

test("the burst goes through, then one at a time as the bucket fills", () => {
  const { wait, pass } = limiter(2, 3);
  expect([wait("a"), wait("a"), wait("a")]).toEqual([0, 0, 0]);
  expect(wait("a")).toBe(1);
  pass(499);
  expect(wait("a")).toBe(1);
  pass(1);
  expect([wait("a"), wait("a")]).toEqual([0, 1]);
  pass(60_000);
  expect([wait("a"), wait("a"), wait("a"), wait("a")]).toEqual([0, 0, 0, 1]);
});

test("a refused call costs nothing, and says how long to wait", () => {
  const { wait, pass } = limiter(0.1, 1);
  expect(wait("a")).toBe(0);
  for (let at = 0; at < 50; at += 1) expect(wait("a")).toBe(10);
  pass(10_000);
  expect(wait("a")).toBe(0);
});

test("callers do not share a bucket, however many there are", () => {
  const { wait, pass } = limiter(1, 1);
  for (let at = 0; at < 25_000; at += 1) expect(wait(`caller ${at}`)).toBe(0);
  expect(wait("caller 24999")).toBe(1);
  pass(1000);
  expect(wait("caller 24999")).toBe(0);
});
