/** The bytes of words and their documents: they read back, and their bounds hold. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { utf8 } from "../codec/text.js";
import {
  allDocuments,
  ByteReader,
  ByteWriter,
  blocksOf,
  Postings,
  timesAmong,
  type WordDocuments,
  writePostings,
} from "./postings.js";
import { IMPACT_MAX, impactOf } from "./score.js";
import {
  bucketBits,
  bucketOf,
  bucketWords,
  findInBucket,
  hashOf,
  writeBucketWord,
} from "./segment-rows.js";

const SEED = 511;

/** Documents of a word: ascending numbers, and how often each holds it. */
const wordDocuments = fc
  .uniqueArray(
    fc.record({
      document: fc.oneof(fc.nat(200), fc.nat(20_000)),
      times: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 60_000 })),
    }),
    { selector: ({ document }) => document, maxLength: 200 },
  )
  .map((list) => list.sort((a, b) => a.document - b.document))
  .map((list) => ({
    documents: list.map(({ document }) => document),
    times: list.map(({ times }) => times),
  }));

function written(word: WordDocuments, ended: number, lengths: ArrayLike<number>): Uint8Array {
  const writer = new ByteWriter(1);
  writePostings(writer, word, ended, { lengths, averageLength: 20 });
  return writer.take();
}

describe("documents of a word", () => {
  test(`read back as they were, seed ${SEED}`, () => {
    fc.assert(
      fc.property(wordDocuments, fc.nat(100_000), (word, ended) => {
        const lengths = new Uint16Array(20_001).fill(20);
        const bytes = written(word, ended, lengths);
        const postings = new Postings(bytes, 0, bytes.length);
        expect(postings.count).toBe(word.documents.length);
        expect(postings.ended).toBe(ended);
        expect(allDocuments(postings)).toEqual(word);
        // Some that hold it, and their neighbours, which mostly do not.
        const near = word.documents.filter((document) => document % 3 === 0);
        const asked = [...new Set([0, ...near.flatMap((one) => [one, one + 1])])].sort(
          (a, b) => a - b,
        );
        const times = asked.map((one) => word.times[word.documents.indexOf(one)] ?? 0);
        expect(timesAmong(postings, asked)).toEqual(times);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  test("no document of a block gets more than its bound", () => {
    const lengths = Uint16Array.from({ length: 20_001 }, (_, at) => 1 + ((at * 7919) % 300));
    fc.assert(
      fc.property(wordDocuments, (word) => {
        const bytes = written(word, 0, lengths);
        const blocks = [...blocksOf(new Postings(bytes, 0, bytes.length))];
        for (const [at, document] of word.documents.entries()) {
          const block = blocks.find(({ number }) => number === document >>> 6);
          const bound = (block?.bound ?? 0) / 255;
          const impact = impactOf(word.times[at] ?? 0, lengths[document] ?? 0, 20);
          expect(impact).toBeLessThanOrEqual(bound * IMPACT_MAX);
        }
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  test("when documents have grown longer, the stretched bound still holds", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 5000 }),
        fc.integer({ min: 1, max: 2000 }),
        fc.integer({ min: 1, max: 2000 }),
        (times, length, then, now) => {
          const bound = impactOf(times, length, then) * Math.max(1, now / then);
          expect(impactOf(times, length, now)).toBeLessThanOrEqual(bound * (1 + 1e-12));
        },
      ),
      { seed: SEED, numRuns: 1000 },
    );
  });

  test("bytes that end in the middle are refused", () => {
    const bytes = written({ documents: [1, 2, 3], times: [1, 9, 1] }, 0, new Uint16Array(8));
    expect(() => new Postings(bytes, 0, 1)).toThrow("ends in the middle");
    for (let end = 2; end < bytes.length; end += 1) {
      // Cut right behind the counts there are no blocks, and what is left is no damage that shows here.
      if (end === 2) continue;
      const cut = new Postings(bytes, 0, end);
      expect(() => allDocuments(cut)).toThrow("ends in the middle");
      expect(() => timesAmong(cut, [3])).toThrow("ends in the middle");
    }
  });
});

describe("rows of words", () => {
  test("every word of a row is found, and no other", () => {
    const words = ["a", "naïve", "x".repeat(64), "東京", "y".repeat(300)];
    const writer = new ByteWriter(1);
    for (const [at, word] of words.entries()) {
      const documents = { documents: [at], times: [at + 1] };
      writeBucketWord(writer, word, written(documents, at, new Uint16Array(8)));
    }
    const row = writer.take();
    expect(bucketWords(row).map(({ word }) => word)).toEqual(words);
    for (const [at, word] of words.entries()) {
      const found = findInBucket(row, utf8(word));
      expect(found?.ended).toBe(at);
      expect(found && allDocuments(found)).toEqual({ documents: [at], times: [at + 1] });
    }
    expect(findInBucket(row, utf8("b"))).toBeUndefined();
    expect(findInBucket(row, utf8("x".repeat(63)))).toBeUndefined();
  });

  test("buckets of more bits lie within buckets of fewer, and fill evenly", () => {
    const hashes = Array.from({ length: 4096 }, (_, at) => hashOf(`word${at}`));
    for (const hash of hashes) {
      expect(bucketOf(hash, 0)).toBe(0);
      expect(bucketOf(hash, 9) >>> 3).toBe(bucketOf(hash, 6));
    }
    const counts = new Array<number>(64).fill(0);
    for (const hash of hashes) counts[bucketOf(hash, 6)] = (counts[bucketOf(hash, 6)] ?? 0) + 1;
    expect(Math.min(...counts)).toBeGreaterThan(32);
    expect(Math.max(...counts)).toBeLessThan(128);
  });

  test("a small dictionary is one row, a large one has many", () => {
    expect(bucketBits(0)).toBe(0);
    expect(bucketBits(1000)).toBe(0);
    expect(bucketBits(1_000_000)).toBe(10);
  });
});

describe("numbers of variable length", () => {
  test("read back, also beyond 32 bits", () => {
    const numbers = [0, 1, 127, 128, 16_383, 16_384, 2 ** 31, 2 ** 32 + 5, Number.MAX_SAFE_INTEGER];
    const writer = new ByteWriter(1);
    for (const number of numbers) writer.varint(number);
    const reader = new ByteReader(writer.take());
    expect(numbers.map(() => reader.varint())).toEqual(numbers);
    expect(reader.isDone).toBe(true);
  });
});
