/**
 * Names that are mostly no slots: passing by gives what reading each of them gives, and a store without slots costs one
 * look.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { INDEX, indexPrefix } from "../kv/keyspace.js";
import { compareBytes, type KvRange, type KvRow } from "../kv/kv.js";
import { LIFECYCLES } from "../records/types.js";
import { fewRows, slotRanges } from "./slot-rows.js";

const NONE = new Uint8Array(0);

/** A reader over the rows of some slots, so many of each, that counts what it is asked. */
function readerOf(slots: ReadonlyMap<string, number>, isAtHand: boolean) {
  const rows = [...slots].flatMap(([name, count]): KvRow[] => {
    const prefix = indexPrefix("index", INDEX.slot, LIFECYCLES.active.code, Buffer.from(name));
    return Array.from({ length: count }, (_, at) => ({
      key: Uint8Array.of(...prefix, at),
      value: NONE,
    }));
  });
  rows.sort((a, b) => compareBytes(a.key, b.key));
  const reader = {
    isAtHand,
    asked: 0,
    async ranges(ranges: readonly KvRange[]): Promise<KvRow[][]> {
      reader.asked += ranges.length;
      return ranges.map(({ gte, lt, limit }) =>
        rows
          .filter(({ key }) => compareBytes(key, gte) >= 0 && compareBytes(key, lt) < 0)
          .slice(0, limit),
      );
    },
  };
  return reader;
}

const rangesOf = (question: string): readonly KvRange[] =>
  slotRanges(question, ["active"], () => false);

describe("slots that a question may name", () => {
  test("are found as reading each of them finds them", async () => {
    const word = fc.constantFrom("home", "city", "blue", "münze", "zebra", "azure", "𝒳𝒳𝒳𝒳", "work");
    const name = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join("_"));
    const slots = fc.dictionary(name, fc.integer({ min: 1, max: 6 }), { noNullPrototype: true });
    await fc.assert(
      fc.asyncProperty(slots, fc.uniqueArray(word, { maxLength: 6 }), async (held, words) => {
        const all = new Map(Object.entries(held));
        const ranges = rangesOf(words.join(" "));
        const plain = await readerOf(all, false).ranges(ranges);
        const reader = readerOf(all, true);
        expect(await fewRows(reader, ranges)).toEqual(plain);
        expect(reader.asked).toBeLessThanOrEqual(ranges.length);
      }),
    );
  });

  test("one look tells that there are none, and rows far away are read by the batch", async () => {
    const ranges = rangesOf("where is the blue house of my old friend");
    expect(ranges.length).toBeGreaterThan(20);
    const reader = readerOf(new Map(), true);
    expect((await fewRows(reader, ranges)).flat()).toEqual([]);
    expect(reader.asked).toBe(1);
    const far = readerOf(new Map([["blue_house", 2]]), false);
    expect((await fewRows(far, ranges)).flat()).toHaveLength(2);
    expect(far.asked).toBe(ranges.length);
  });
});
