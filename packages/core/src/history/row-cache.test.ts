/** Tree rows that are kept from one commit to the next. */
import { expect, test } from "vitest";
import { GENERATION_ROWS, RowCache } from "./row-cache.js";

const row = (value: number): Uint8Array => Uint8Array.of(value);

test("gives what was kept last, and nothing of what was dropped", () => {
  const cache = new RowCache();
  expect(cache.isEmpty).toBe(true);
  cache.keep("a", row(1));
  for (let at = 0; at < GENERATION_ROWS; at += 1) cache.keep(`first ${at}`, row(2));
  expect(cache.get("a")).toEqual(row(1));
  cache.keep("a", row(3));
  expect(cache.get("a")).toEqual(row(3));
  cache.drop("a");
  expect(cache.get("a")).toBeUndefined();
  cache.clear();
  expect(cache.isEmpty).toBe(true);
  expect(cache.get("first 0")).toBeUndefined();
});

test("what is kept again and again stays, and what was kept once makes room", () => {
  const cache = new RowCache();
  cache.keep("once", row(1));
  for (let at = 0; at < 3 * GENERATION_ROWS; at += 1) {
    cache.keep("root", row(2));
    cache.keep(`page ${at}`, row(3));
  }
  expect(cache.get("root")).toEqual(row(2));
  expect(cache.get(`page ${2 * GENERATION_ROWS + 2}`)).toEqual(row(3));
  expect(cache.get("once")).toBeUndefined();
});
