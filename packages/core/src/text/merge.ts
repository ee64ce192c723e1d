/**
 * Several segments of one lifecycle, made one.
 *
 * Documents keep their order; the numbers of forgotten ones are closed. Ended documents stay, because
 * a search of the past needs them. Dictionaries are read side by side, a stretch of hashes at a time,
 * so what is held of them at once is small; what is held in full is the result, which the limit on a
 * segment's documents bounds.
 */
import type { KvRow } from "../kv/kv.js";
import type { SegmentInfo } from "./manifest.js";
import { allDocuments, readPostings } from "./postings.js";
import { type Breathe, type BuiltSegment, type SegmentWord, writeSegment } from "./segment.js";
import { bucketWords, type DocumentEnd, type DocumentEntry } from "./segment-rows.js";

/** A segment to be merged, without its dictionary. */
export interface MergeSource {
  readonly info: SegmentInfo;
  readonly documents: readonly (DocumentEntry | undefined)[];
  readonly lengths: ArrayLike<number>;
  readonly ends: readonly DocumentEnd[];
}

/** How a merge reads and rests. */
export interface MergeParts {
  /** The rows of a segment's dictionary in the buckets `from` up to but not including `to`. */
  readonly buckets: (segment: number, from: number, to: number) => Promise<readonly KvRow[]>;
  readonly breathe: Breathe;
}

/** Merges segments that follow each other into one with the given number. */
export async function mergeSegments(
  number: number,
  sources: readonly MergeSource[],
  parts: MergeParts,
): Promise<BuiltSegment> {
  const [first, last] = [sources[0], sources.at(-1)];
  if (first === undefined || last === undefined) throw new Error("nothing to merge");
  const documents: DocumentEntry[] = [];
  const lengths: number[] = [];
  const ends: DocumentEnd[] = [];
  const numbers = sources.map((source) => {
    const renumbered = new Int32Array(source.documents.length).fill(-1);
    for (const [at, entry] of source.documents.entries()) {
      if (entry === undefined) continue;
      renumbered[at] = documents.length;
      documents.push(entry);
      lengths.push(source.lengths[at] ?? 0);
    }
    for (const { document, end } of source.ends) {
      const now = renumbered[document] ?? -1;
      if (now >= 0) ends.push({ document: now, end });
    }
    return renumbered;
  });
  const { lifecycle, from } = first.info;
  return writeSegment(
    { number, lifecycle, from, to: last.info.to },
    {
      documents,
      lengths,
      ends: ends.sort((a, b) => a.document - b.document),
      endedDocuments: total(sources, "endedDocuments"),
      endedWords: total(sources, "endedWords"),
      words: mergedWords(sources, numbers, parts),
    },
  );
}

async function* mergedWords(
  sources: readonly MergeSource[],
  numbers: readonly Int32Array[],
  parts: MergeParts,
): AsyncGenerator<readonly SegmentWord[]> {
  const bits = Math.min(...sources.map(({ info }) => info.bits));
  for (let stretch = 0; stretch < 2 ** bits; stretch += 1) {
    const words = new Map<string, { documents: number[]; times: number[]; ended: number }>();
    for (const [at, { info }] of sources.entries()) {
      const width = 2 ** (info.bits - bits);
      const rows = await parts.buckets(info.number, stretch * width, (stretch + 1) * width);
      for (const { value } of rows) addWords(words, value, numbers[at] ?? new Int32Array(0));
    }
    yield [...words].map(([word, held]) => ({ word, ...held }));
    await parts.breathe();
  }
}

function addWords(
  words: Map<string, { documents: number[]; times: number[]; ended: number }>,
  row: Uint8Array,
  numbers: Int32Array,
): void {
  for (const { word, documents: bytes } of bucketWords(row)) {
    const postings = readPostings(bytes, 0, bytes.length);
    const held = words.get(word) ?? { documents: [], times: [], ended: 0 };
    held.ended += postings.ended;
    const { documents, times } = allDocuments(postings);
    for (const [at, document] of documents.entries()) {
      const now = numbers[document] ?? -1;
      if (now < 0) throw new Error("a word names a document that was taken out");
      held.documents.push(now);
      held.times.push(times[at] ?? 0);
    }
    words.set(word, held);
  }
}

function total(sources: readonly MergeSource[], field: "endedDocuments" | "endedWords"): number {
  return sources.reduce((sum, { info }) => sum + info[field], 0);
}
