/** Rows that point into the journal, adjacency rows among them, which are read by hand. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decode, encode } from "../codec/cbor.js";
import {
  adjacencySeq,
  bodyPointer,
  decodeAdjacency,
  decodeMemoryRow,
  encodeAdjacency,
  encodeMemoryRow,
  highestVersion,
  type MemoryRow,
} from "./pointers.js";

const SEED = 77_041;
const id = fc.uint8Array({ minLength: 16, maxLength: 16 });
/** Numbers around every length that CBOR has for them. */
const number = fc.oneof(
  fc.integer({ min: 0, max: 30 }),
  fc.integer({ min: 250, max: 260 }),
  fc.integer({ min: 65_530, max: 65_540 }),
  fc.integer({ min: 2 ** 32 - 3, max: 2 ** 32 + 3 }),
  fc.constant(Number.MAX_SAFE_INTEGER),
);

describe("a memory row", () => {
  const place = fc.record({ seq: number, part: number });
  const row = fc
    .record({
      type: fc.constantFrom("fact" as const, "note" as const),
      lifecycle: fc.constantFrom("active" as const, "archived" as const),
      version: fc.integer({ min: 1, max: 300 }),
      since: fc.array(number, { minLength: 1, maxLength: 3 }),
      place,
      fingerprint: fc.constantFrom(undefined, new Uint8Array(10).fill(3)),
      more: fc.record({ body: place, highest: fc.integer({ min: 300 }) }, { requiredKeys: [] }),
    })
    .map(({ place: own, more, ...rest }): MemoryRow => ({ ...rest, ...own, ...more }));

  test(`reads back as it was written, whatever of it is there (seed ${SEED})`, () => {
    fc.assert(
      fc.property(row, (given) => {
        const read = decodeMemoryRow(encodeMemoryRow(given));
        const isPlain = given.since.every((from) => from === given.seq);
        expect(read).toEqual({ ...given, since: isPlain ? [] : given.since });
        expect(highestVersion(read)).toBe(given.highest ?? given.version);
        expect(bodyPointer(read)).toEqual(given.body ?? { seq: given.seq, part: given.part });
      }),
      { seed: SEED },
    );
  });

  test("is as long as what it has to say", () => {
    const plain = {
      type: "fact",
      lifecycle: "active",
      version: 1,
      since: [],
      seq: 5,
      part: 0,
    } as const;
    const body = { seq: 2, part: 1 };
    const items = (more: Partial<MemoryRow>) =>
      (decode(encodeMemoryRow({ ...plain, ...more })) as readonly unknown[]).slice(7);
    expect(items({})).toEqual([]);
    expect(items({ body })).toEqual([2, 1]);
    expect(items({ body, highest: 3 })).toEqual([2, 1, 3]);
    expect(items({ highest: 3 })).toEqual([null, null, 3]);
  });
});

describe("an adjacency row", () => {
  test(`reads back as it was written (seed ${SEED})`, () => {
    fc.assert(
      fc.property(number, number, id, (seq, part, edge) => {
        const bytes = encodeAdjacency({ seq, part, id: edge });
        expect(decodeAdjacency(bytes)).toEqual({ seq, part, id: edge });
        expect(adjacencySeq(bytes)).toBe(seq);
      }),
      { seed: SEED },
    );
  });

  test.each([
    ["nothing", new Uint8Array(0)],
    ["a cut row", encodeAdjacency({ seq: 5, part: 0, id: new Uint8Array(16) }).subarray(0, 10)],
    ["a text for a number", encode(["x", 0, new Uint8Array(16)])],
    ["a row with more behind it", Buffer.concat([encode([1, 2, new Uint8Array(16)]), encode(0)])],
  ])("%s is refused", (_, bytes) => {
    expect(() => decodeAdjacency(bytes)).toThrow();
  });
});
