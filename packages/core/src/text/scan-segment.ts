/**
 * The inner loop of a search: the documents of one segment, or of one draft, that hold words of a
 * query, offered with their scores from the newest to the oldest.
 *
 * A segment is gone through in windows of 64 documents. A window whose bounds together cannot beat
 * the worst of the best hits so far is passed over unread: the result is the same, since bounds are
 * rounded up, and most windows of common words fall. Where no word alone can beat it, a window is scored only if one
 * of its documents holds two words.
 */
import { BLOCK_DOCUMENTS, type Postings, type WordDocuments } from "./postings.js";
import { B, type BestHits, IMPACT_MAX, K1 } from "./score.js";

/** A word of the query, as far as one source goes. */
export interface QueryWord<Held> {
  /** `undefined` where the source does not hold the word. */
  readonly held: Held | undefined;
  readonly weight: number;
  readonly isRequired: boolean;
}

/** How documents of a source are scored. */
export interface ScanParts {
  /** What hits of this source are marked with. */
  readonly source: number;
  readonly lengths: ArrayLike<number>;
  /** Over everything that is searched, now. */
  readonly averageLength: number;
  /** Words that a document must hold. */
  readonly requiredCount: number;
  readonly isVisible: (document: number) => boolean;
  readonly best: BestHits;
}

/** More than the sum of bounds can err by rounding. */
const ROUNDING = 1 + 1e-9;

/** A word's way through the blocks of a segment, from the last to the first. */
interface Cursor extends Readonly<Postings["blocks"]> {
  readonly bytes: Uint8Array;
  readonly weight: number;
  readonly isRequired: boolean;
  /** What a bound of 1 is worth. */
  readonly scale: number;
  place: number;
  /** The number of the block at `place`; -1 when there is none left. */
  block: number;
}

/** Offers the documents of a segment; its bounds were computed with `segmentAverage`. */
export function scanSegment(
  words: readonly QueryWord<Postings>[],
  segmentAverage: number,
  parts: ScanParts,
): void {
  // If documents are longer now than they were, the same length weighs less: bounds stretch.
  const stretch = Math.max(1, parts.averageLength / segmentAverage);
  const cursors = words.flatMap(({ held, weight, isRequired }): Cursor[] => {
    if (held === undefined) return [];
    const { bytes, blocks } = held;
    const place = blocks.numbers.length - 1;
    if (place < 0) return [];
    const scale = (weight * IMPACT_MAX * stretch * ROUNDING) / 255;
    const block = blocks.numbers[place] ?? -1;
    return [{ bytes, ...blocks, weight, isRequired, scale, place, block }];
  });
  const window = newWindow();
  for (let block = lastBlock(cursors); block >= 0; ) {
    let next = -1;
    let bound = 0;
    let largest = 0;
    let required = 0;
    for (const cursor of cursors) {
      if (cursor.block !== block) continue;
      const most = (cursor.bounds[cursor.place] as number) * cursor.scale;
      bound += most;
      if (most > largest) largest = most;
      if (cursor.isRequired) required += 1;
    }
    const { threshold } = parts.best;
    const isHopeful =
      bound > threshold &&
      required >= parts.requiredCount &&
      (largest > threshold || isAnyShared(cursors, block));
    for (const cursor of cursors) {
      if (cursor.block === block) {
        if (isHopeful) addBlock(window, cursor, parts);
        cursor.place -= 1;
        cursor.block = cursor.place < 0 ? -1 : (cursor.numbers[cursor.place] as number);
      }
      if (cursor.block > next) next = cursor.block;
    }
    if (isHopeful) offerWindow(window, block * BLOCK_DOCUMENTS, parts);
    block = next;
  }
}

/** Whether one document of the block holds two of the words: mostly each word is in another. */
function isAnyShared(cursors: readonly Cursor[], block: number): boolean {
  let first = 0;
  let last = 0;
  for (const cursor of cursors) {
    if (cursor.block !== block) continue;
    const { bytes, place } = cursor;
    const end = cursor.ends[place] as number;
    for (let at = cursor.starts[place] as number; at < end; ) {
      const byte = bytes[at++] as number;
      if ((byte & 3) === 3) while ((bytes[at++] as number) >= 0x80);
      const document = byte >>> 2;
      const bit = 1 << (document % HALF);
      const seen = document < HALF ? first : last;
      if ((seen & bit) !== 0) return true;
      if (document < HALF) first |= bit;
      else last |= bit;
    }
  }
  return false;
}

function lastBlock(cursors: readonly Cursor[]): number {
  let last = -1;
  for (const { block } of cursors) if (block > last) last = block;
  return last;
}

/** The documents of one block while they are scored. */
interface Window {
  readonly scores: Float64Array;
  /** Required words held. */
  readonly required: Uint16Array;
  /** Which documents hold words, a bit each: the first 32, and the others. Mostly they are two or three of 64. */
  first: number;
  last: number;
}

const HALF = BLOCK_DOCUMENTS / 2;

function newWindow(): Window {
  return {
    scores: new Float64Array(BLOCK_DOCUMENTS),
    required: new Uint16Array(BLOCK_DOCUMENTS),
    first: 0,
    last: 0,
  };
}

/** Spelled out rather than built on `eachInBlock`: it is where a search spends its time. */
function addBlock(window: Window, cursor: Cursor, { lengths, averageLength }: ScanParts): void {
  const { bytes, weight, isRequired, place } = cursor;
  const first = cursor.block * BLOCK_DOCUMENTS;
  const end = cursor.ends[place] as number;
  for (let at = cursor.starts[place] as number; at < end; ) {
    const byte = bytes[at++] as number;
    let times = (byte & 3) + 1;
    if (times === 4) {
      for (let scale = 1; ; scale *= 128) {
        const more = bytes[at++] as number;
        times += (more & 0x7f) * scale;
        if (more < 0x80) break;
      }
    }
    const document = byte >>> 2;
    const length = lengths[first + document] as number;
    const share = (times * (K1 + 1)) / (times + K1 * (1 - B + (B * length) / averageLength));
    (window.scores[document] as number) += weight * share;
    if (isRequired) (window.required[document] as number) += 1;
    if (document < HALF) window.first |= 1 << document;
    else window.last |= 1 << (document - HALF);
  }
}

/** Offers what a window holds, the last document first, and empties it. */
function offerWindow(window: Window, first: number, parts: ScanParts): void {
  for (let left = window.last; left !== 0; ) {
    const bit = 31 - Math.clz32(left);
    left ^= 1 << bit;
    offerDocument(window, first, HALF + bit, parts);
  }
  for (let left = window.first; left !== 0; ) {
    const bit = 31 - Math.clz32(left);
    left ^= 1 << bit;
    offerDocument(window, first, bit, parts);
  }
  window.first = 0;
  window.last = 0;
}

function offerDocument(window: Window, first: number, at: number, parts: ScanParts): void {
  const { scores, required } = window;
  const score = scores[at] as number;
  const isWanted = score > parts.best.threshold && (required[at] as number) >= parts.requiredCount;
  if (isWanted && parts.isVisible(first + at)) parts.best.offer(parts.source, first + at, score);
  scores[at] = 0;
  required[at] = 0;
}

/** Offers the documents of a draft, all of which are in memory. */
export function scanDraft(words: readonly QueryWord<WordDocuments>[], parts: ScanParts): void {
  const { lengths, averageLength, best } = parts;
  const scores = new Float64Array(lengths.length);
  const heldWords = new Uint16Array(lengths.length);
  const required = new Uint16Array(lengths.length);
  for (const { held, weight, isRequired } of words) {
    if (held === undefined) continue;
    for (let at = 0; at < held.documents.length; at += 1) {
      const document = held.documents[at] as number;
      const times = held.times[at] as number;
      const length = lengths[document] as number;
      const share = (times * (K1 + 1)) / (times + K1 * (1 - B + (B * length) / averageLength));
      (scores[document] as number) += weight * share;
      (heldWords[document] as number) += 1;
      if (isRequired) (required[document] as number) += 1;
    }
  }
  for (let document = lengths.length - 1; document >= 0; document -= 1) {
    if (heldWords[document] === 0 || (required[document] as number) < parts.requiredCount) continue;
    const score = scores[document] as number;
    const isWanted = score > best.threshold && parts.isVisible(document);
    if (isWanted) best.offer(parts.source, document, score);
  }
}
