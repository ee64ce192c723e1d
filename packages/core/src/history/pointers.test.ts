/** Adjacency rows, which are read by hand: the same as the decoder would read, and nothing else. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encode } from "../codec/cbor.js";
import { adjacencySeq, decodeAdjacency, encodeAdjacency } from "./pointers.js";

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
