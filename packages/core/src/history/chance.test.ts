/** What was drawn and taken back is drawn again, byte for byte, and nothing is drawn twice beyond that. */
import { expect, test } from "vitest";
import { Chance } from "./chance.js";

/** Bytes that count up, so that each is known by its value. */
function counting(): (bytes: number) => Uint8Array {
  let next = 0;
  return (bytes) => Uint8Array.from({ length: bytes }, () => next++);
}

test("what is taken back is drawn again, then the source goes on", () => {
  const chance = new Chance(counting());
  const { draw } = chance;
  expect([...draw(2)]).toEqual([0, 1]);
  chance.begin();
  expect([...draw(2)]).toEqual([2, 3]);
  expect([...draw(3)]).toEqual([4, 5, 6]);
  chance.end(true);
  chance.begin();
  expect([...draw(2)]).toEqual([2, 3]);
  chance.end(true);
  // Of other lengths it is the same stream of bytes.
  expect([...draw(1)]).toEqual([2]);
  expect([...draw(6)]).toEqual([3, 4, 5, 6, 7, 8]);
  expect([...draw(1)]).toEqual([9]);
});

test("what is not taken back is gone", () => {
  const chance = new Chance(counting());
  const { draw } = chance;
  chance.begin();
  expect([...draw(2)]).toEqual([0, 1]);
  chance.end(false);
  expect([...draw(2)]).toEqual([2, 3]);
});
