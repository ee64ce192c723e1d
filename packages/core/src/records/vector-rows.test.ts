/** Rows of vectors read back as they were written, and their names depend on what they should. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sha256Node } from "../codec/node-crypto.js";
import { textKey } from "../kv/keyspace.js";
import {
  decodeEmbedCursor,
  decodeVector,
  decodeVectorMemory,
  embedCursorKey,
  encodeEmbedCursor,
  encodeVector,
  encodeVectorMemory,
  isEmbedCursorKey,
  modelTag,
  storedModels,
  textHash,
} from "./vector-rows.js";

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_302);
const settings = { seed: SEED, numRuns: 100 };

describe(`rows of vectors (seed ${SEED})`, () => {
  test("a vector is its numbers, little-endian, and reads back from any offset", () => {
    expect([...encodeVector(Float32Array.of(1, -2))]).toEqual([0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
    fc.assert(
      fc.property(fc.float32Array({ maxLength: 50 }), fc.nat(7), (vector, offset) => {
        const bytes = encodeVector(vector);
        const moved = new Uint8Array(offset + bytes.length);
        moved.set(bytes, offset);
        expect(decodeVector(moved.subarray(offset), vector.length)).toEqual(vector);
      }),
      settings,
    );
    expect(() => decodeVector(new Uint8Array(7), 2)).toThrow(/expected 8 bytes, got 7/);
  });

  test("cursor and memory rows read back, and a cursor row is told from another job's", () => {
    const tag = modelTag(sha256Node, { model: "m@here", dimensions: 3 });
    const cursor = { model: "m@here", dimensions: 3, seq: 7, memories: 2, purged: 1, changes: 9 };
    const row = { key: embedCursorKey(tag), value: encodeEmbedCursor(cursor) };
    expect(decodeEmbedCursor(row.value)).toEqual(cursor);
    expect(storedModels([row])).toEqual([{ tag, cursor, row }]);
    expect(isEmbedCursorKey(row.key)).toBe(true);
    expect(isEmbedCursorKey(textKey("cursor", "extract"))).toBe(false);
    const memory = { hash: textHash(sha256Node, "x"), bodySeq: 12 };
    expect(decodeVectorMemory(encodeVectorMemory(memory))).toEqual(memory);
  });

  test("another model, another width and another text have names of their own", () => {
    const tags = [
      { model: "m@here", dimensions: 3 },
      { model: "m@there", dimensions: 3 },
      { model: "m@here", dimensions: 4 },
    ].map((model) => String(modelTag(sha256Node, model)));
    expect(new Set(tags).size).toBe(3);
    expect(textHash(sha256Node, "a")).toHaveLength(16);
    expect(textHash(sha256Node, "a")).not.toEqual(textHash(sha256Node, "b"));
  });
});
