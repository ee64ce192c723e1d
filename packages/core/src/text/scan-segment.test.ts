/** A segment that is gone through with bounds gives the hits that scoring every document gives. */
import { describe, expect, test } from "vitest";
import { seededRandom } from "../testing/index.js";
import { ByteWriter, Postings, type WordDocuments, writePostings } from "./postings.js";
import { type QueryWord, type ScanParts, scanSegment } from "./scan-segment.js";
import { BestHits, impactOf } from "./score.js";

const SEED = 20_261_119;
const random = seededRandom(SEED);
const below = (most: number): number => {
  const [a = 0, b = 0] = random.bytes(2);
  return (256 * a + b) % most;
};

interface Word {
  readonly documents: WordDocuments;
  readonly weight: number;
  readonly isRequired: boolean;
}

interface Segment {
  readonly lengths: Uint16Array;
  readonly words: readonly Word[];
}

/** A word in one of `oneIn` documents. */
function documentsOf(size: number, oneIn: number): WordDocuments {
  const documents = Array.from({ length: size }, (_, at) => at).filter(() => below(oneIn) === 0);
  return { documents, times: documents.map(() => (below(9) === 0 ? 1 + below(600) : 1)) };
}

function makeSegment(words: readonly Omit<Word, "documents">[], oneIn: readonly number[]): Segment {
  const size = 1 + below(4000);
  return {
    lengths: Uint16Array.from({ length: size }, () => 1 + below(60)),
    words: words.map((word, at) => ({ ...word, documents: documentsOf(size, oneIn[at] ?? 1) })),
  };
}

/** Every document that may be a hit, with its score: the words' shares added in their order. */
function allScores(source: number, { lengths, words }: Segment, average: number) {
  const needed = words.filter(({ isRequired }) => isRequired).length;
  return Array.from(lengths, (length, document) => {
    const held = words.flatMap(({ documents, weight, isRequired }) => {
      const at = documents.documents.indexOf(document);
      const times = documents.times[at];
      return times === undefined ? [] : [{ times, weight, isRequired }];
    });
    let score = 0;
    for (const { times, weight } of held) score += weight * impactOf(times, length, average);
    const isHit = held.length > 0 && held.filter((one) => one.isRequired).length >= needed;
    return { source, document, score, isHit };
  }).filter(({ isHit, document }) => isHit && isVisible(document));
}

const isVisible = (document: number): boolean => document % 11 !== 0;

describe("scanning segments", () => {
  test.each([
    { name: "rare words", oneIn: [200, 300, 50, 100, 150], weights: [5, 6, 3, 4, 4], required: 0 },
    { name: "common words", oneIn: [2, 3, 2, 4, 9], weights: [1, 1.2, 0.5, 2, 3], required: 0 },
    { name: "rare and common", oneIn: [2, 900, 3, 50, 4], weights: [0.5, 8, 1, 4, 2], required: 0 },
    { name: "required words", oneIn: [3, 4, 50], weights: [1, 2, 4], required: 2 },
    { name: "words without scores", oneIn: [3, 40], weights: [0, 0], required: 0 },
    { name: "required words without scores", oneIn: [3, 4], weights: [0, 0], required: 2 },
  ])("$name: the best, the last written first of equals (seed 20261119)", (query) => {
    for (let round = 0; round < 12; round += 1) {
      const words = query.weights.map((weight, at) => ({
        weight,
        isRequired: at < query.required,
      }));
      const segments = Array.from({ length: 3 }, () => makeSegment(words, query.oneIn));
      const [then, now] = [10 + below(30), 10 + below(30)];
      const most = 1 + below(40);
      const best = new BestHits(most);
      const expected = [];
      for (let source = segments.length - 1; source >= 0; source -= 1) {
        const segment = segments[source] as Segment;
        const held = segment.words.map(({ documents, weight, isRequired }) => {
          const writer = new ByteWriter();
          writePostings(writer, documents, 0, { lengths: segment.lengths, averageLength: then });
          const bytes = writer.take();
          const isThere = documents.documents.length > 0;
          const postings = isThere ? new Postings(bytes, 0, bytes.length) : undefined;
          return { held: postings, weight, isRequired };
        });
        const parts = { source, lengths: segment.lengths, averageLength: now, isVisible, best };
        scanSegment(held, then, { ...parts, requiredCount: query.required });
        expected.push(...allScores(source, segment, now).reverse());
      }
      // Sorting is stable: of equals the one offered first stays first.
      const wanted = expected.sort((a, b) => b.score - a.score).slice(0, most);
      const found = best.sorted().map(({ source, document, score }) => [source, document, score]);
      expect(found).toEqual(wanted.map(({ source, document, score }) => [source, document, score]));
    }
  });

  test("documents that end in the middle are refused, and the next search does not feel it", () => {
    const writer = new ByteWriter();
    const lengths = new Uint16Array(64).fill(9);
    const documents = { documents: [1, 2, 3], times: [1, 9, 1] };
    writePostings(writer, documents, 0, { lengths, averageLength: 9 });
    const bytes = writer.take();
    for (let end = 3; end < bytes.length; end += 1) {
      const word = { held: new Postings(bytes, 0, end), weight: 1, isRequired: false };
      const parts = { source: 0, lengths, averageLength: 9, requiredCount: 0, isVisible };
      const scan = () => scanSegment([word], 9, { ...parts, best: new BestHits(4) });
      expect(scan).toThrow("ends in the middle");
    }
    const best = new BestHits(4);
    const other = new ByteWriter();
    writePostings(other, { documents: [2], times: [1] }, 0, { lengths, averageLength: 9 });
    const word = {
      held: new Postings(other.take(), 0, other.length),
      weight: 1,
      isRequired: false,
    };
    const parts = { source: 0, lengths, averageLength: 9, requiredCount: 0, isVisible };
    scanSegment([word], 9, { ...parts, best });
    expect(best.sorted()).toEqual([{ source: 0, document: 2, score: impactOf(1, 9, 9) }]);
  });

  test("what fails in one search is not felt by the next, whatever failed", () => {
    const lengths = new Uint16Array(4096).fill(9);
    const wordOf = (documents: readonly number[]): QueryWord<Postings> => {
      const writer = new ByteWriter();
      const held = { documents, times: documents.map(() => 1) };
      writePostings(writer, held, 0, { lengths, averageLength: 9 });
      const bytes = writer.take();
      return { held: new Postings(bytes, 0, bytes.length), weight: 1, isRequired: false };
    };
    const scan = (words: readonly QueryWord<Postings>[], parts: Partial<ScanParts>) => {
      const best = new BestHits(4);
      const usual = {
        source: 0,
        lengths,
        averageLength: 9,
        requiredCount: 0,
        isVisible: () => true,
      };
      scanSegment(words, 9, { ...usual, best, ...parts });
      return best.sorted().map(({ document }) => document);
    };
    const sound = [wordOf([2, 100, 4000])];
    expect(scan(sound, {})).toEqual([4000, 100, 2]);
    // A row whose documents lie beyond those of the segment, whose lists are longer than it needs.
    const short = { lengths: lengths.subarray(0, 64) };
    expect(() => scan([wordOf([1, 3000])], short)).toThrow("documents of no segment");
    expect(scan(sound, {})).toEqual([4000, 100, 2]);
    const isVisible = (document: number): boolean => {
      if (document === 2000) throw new Error("a damaged row of a document");
      return true;
    };
    expect(() => scan([wordOf([1, 2000, 3000])], { isVisible })).toThrow("a damaged row");
    expect(scan(sound, {})).toEqual([4000, 100, 2]);
  });
});
