/** The counting store counts what was asked, and the generator repeats itself. */
import { expect, test } from "vitest";
import { openMemoryKv } from "../kv/memory-backend.js";
import { countingKv } from "./counting-kv.js";
import { bytes, row, write } from "./kv-suite-basics.js";
import { seededRandom } from "./seeded-random.js";

test("counts snapshots, batches, keys, ranges, rows and commits until reset", async () => {
  const kv = countingKv(openMemoryKv());
  await write(kv, [row(bytes(5), "a"), row(bytes(6), "b")]);
  expect(kv.counts()).toMatchObject({ snapshots: 1, batches: 1, keys: 1, commits: 1 });
  kv.reset();
  const snapshot = await kv.snapshot();
  await snapshot.getMany([bytes(5), bytes(7), bytes(8)]);
  const range = { gte: bytes(5), lt: bytes(9), limit: 9 };
  await snapshot.ranges([range, range, { ...range, limit: 1 }]);
  const counts = { snapshots: 1, batches: 2, keys: 3, ranges: 3, rows: 5, commits: 0 };
  expect(kv.counts()).toEqual({ ...counts, openSnapshots: 1 });
  snapshot.close();
  snapshot.close();
  await kv.commit({ expectHead: bytes(0), head: bytes(1), puts: [], deletes: [] });
  expect(kv.counts()).toEqual({ ...counts, commits: 1, openSnapshots: 0 });
  await kv.close();
  await expect(kv.snapshot()).rejects.toMatchObject({ code: "ERR_CLOSED" });
});

test("a seed gives one sequence on every machine, another seed another", () => {
  const first = seededRandom(1);
  expect([first.u32(), first.u32(), first.below(10), first.between(5, 6)]).toMatchInlineSnapshot(`
    [
      2442144158,
      3238099751,
      1,
      6,
    ]
  `);
  expect(seededRandom(1).bytes(64)).toEqual(seededRandom(1).bytes(64));
  expect(seededRandom(1).bytes(64)).not.toEqual(seededRandom(2).bytes(64));
});

test("below is even, shuffled keeps every item", () => {
  const random = seededRandom(3);
  const counts = [0, 0, 0, 0, 0];
  for (let i = 0; i < 50_000; i++) {
    const value = random.below(5);
    counts[value] = (counts[value] ?? 0) + 1;
  }
  for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
  const items = Array.from({ length: 30 }, (_, i) => i);
  const shuffled = random.shuffled(items);
  expect(shuffled).not.toEqual(items);
  expect([...shuffled].sort((a, b) => a - b)).toEqual(items);
  expect(() => random.below(0)).toThrow(RangeError);
  expect(() => random.pick([])).toThrow(RangeError);
});
