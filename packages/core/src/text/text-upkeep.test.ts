/**
 * Which segments are merged next: neighbours of similar size, of one lifecycle, up to a limit. And how many turns
 * commits give the work on them.
 */
import { describe, expect, test } from "vitest";
import { LIMITS } from "../limits.js";
import type { SegmentInfo } from "./manifest.js";
import { FlushPace, nextMerge } from "./text-upkeep.js";

function segments(sizes: readonly number[], lifecycle = 1, first = 1): SegmentInfo[] {
  return sizes.map((size, at) => ({
    number: first + at,
    lifecycle,
    from: 1000 * at,
    to: 1000 * (at + 1),
    size,
    documents: size,
    words: size,
    endedDocuments: 0,
    endedWords: 0,
    averageMilli: 1000,
    bits: 0,
    edition: 0,
    endsFlush: 0,
    endsCount: 0,
  }));
}

const numbers = (run: readonly SegmentInfo[]): number[] => run.map(({ number }) => number);

describe("the next merge", () => {
  test("waits until there are enough of them", () => {
    expect(nextMerge([])).toEqual([]);
    expect(nextMerge(segments([4096, 4096, 4096, 4096, 4096, 4096, 4096]))).toEqual([]);
  });

  test("takes eight neighbours of one size, the oldest first", () => {
    const run = nextMerge(segments(new Array<number>(11).fill(4096)));
    expect(numbers(run)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test("takes small ones before large ones, and small ones that stand between", () => {
    const large = new Array<number>(8).fill(4096);
    const small = new Array<number>(8).fill(10);
    expect(numbers(nextMerge(segments([...large, ...small])))).toEqual([
      9, 10, 11, 12, 13, 14, 15, 16,
    ]);
    expect(numbers(nextMerge(segments([4096, 3, 4096, 0, 4096, 4096, 4096, 4096])))).toHaveLength(
      8,
    );
  });

  test("never mixes lifecycles", () => {
    const active = segments(new Array<number>(5).fill(4096));
    const archived = segments(new Array<number>(5).fill(4096), 2, 6);
    const mixed = [...active, ...archived].sort((a, b) => a.from - b.from);
    expect(nextMerge(mixed)).toEqual([]);
    const more = [...active, ...segments(new Array<number>(8).fill(4096), 2, 6)];
    expect(new Set(nextMerge(more).map(({ lifecycle }) => lifecycle))).toEqual(new Set([2]));
  });

  test("keeps within the limit, and leaves full ones alone", () => {
    const run = nextMerge(segments(new Array<number>(8).fill(32_768)));
    expect(run.reduce((sum, { size }) => sum + size, 0)).toBe(LIMITS.textSegmentDocs);
    const full = new Array<number>(20).fill(LIMITS.textSegmentDocs);
    expect(nextMerge(segments(full))).toEqual([]);
    const behind = segments([...full, ...new Array<number>(8).fill(100)]);
    expect(numbers(nextMerge(behind))).toEqual([21, 22, 23, 24, 25, 26, 27, 28]);
  });

  test("comes to an end", () => {
    let left = segments(new Array<number>(500).fill(4096));
    let merges = 0;
    for (let run = nextMerge(left); run.length > 0; run = nextMerge(left)) {
      const size = run.reduce((sum, one) => sum + one.size, 0);
      const [first] = run;
      left = left.flatMap((one) =>
        one.number === first?.number ? [{ ...one, size }] : run.includes(one) ? [] : [one],
      );
      merges += 1;
      expect(merges).toBeLessThan(500);
    }
    expect(left.length).toBeLessThan(LIMITS.textSegments);
    expect(left.reduce((sum, { size }) => sum + size, 0)).toBe(500 * 4096);
  });
});

describe("the turns that commits give", () => {
  const endless = new Promise<void>(() => undefined);
  function pace() {
    const given = { turns: 0 };
    const counted = new FlushPace(async () => {
      given.turns += 1;
    });
    return { counted, given };
  }

  test("are saved up by small commits: none pays for the work of many", async () => {
    const { counted, given } = pace();
    for (let write = 1; write < 64; write += 1) {
      expect(counted.letWork(endless, 1)).toBeUndefined();
    }
    await counted.letWork(endless, 1);
    expect(given.turns).toBe(1);
    for (let write = 0; write < 640; write += 1) await counted.letWork(endless, 1);
    expect(given.turns).toBe(11);
  });

  test("follow from what a large commit wrote, and end with the work", async () => {
    const { counted, given } = pace();
    await counted.letWork(endless, 1000);
    expect(given.turns).toBe(15);
    await counted.letWork(Promise.resolve(), 1000);
    expect(given.turns).toBeLessThan(20);
    expect(counted.letWork(endless, 1)).toBeUndefined();
  });
});
