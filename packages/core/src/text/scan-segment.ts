/**
 * The inner loop of a search: the documents of one segment, or of one draft, that hold words of a
 * query, offered with their scores from the newest to the oldest.
 *
 * A segment is gone through word by word, in the order in which its bytes stand. Once there are enough hits, a document
 * that one word alone holds mostly cannot be among the best: the bound of its block says so. So the documents are marked
 * first, a bit for each, and scored only where two words met or one word may do. Where words are common, blocks whose
 * bounds together are too low are passed over. The result is the same as that of scoring all: bounds are rounded up.
 *
 * Nothing here waits, so the lists that a segment needs are kept for the next.
 */
import { CortexError } from "../errors.js";
import {
  BLOCK_DOCUMENTS,
  ByteReader,
  endsEarly,
  type Postings,
  type WordDocuments,
} from "./postings.js";
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

/** A word that the segment holds. */
interface HeldWord extends QueryWord<Postings> {
  readonly held: Postings;
  /** What a bound of 1 is worth. */
  readonly scale: number;
}

/** Offers the documents of a segment; its bounds were computed with `segmentAverage`. */
export function scanSegment(
  words: readonly QueryWord<Postings>[],
  segmentAverage: number,
  parts: ScanParts,
): void {
  // If documents are longer now than they were, the same length weighs less: bounds stretch.
  const stretch = Math.max(1, parts.averageLength / segmentAverage);
  const held: HeldWord[] = [];
  let most = 0;
  let places = 0;
  for (const { held: own, weight, isRequired } of words) {
    if (own === undefined) continue;
    const scale = (weight * IMPACT_MAX * stretch * ROUNDING) / 255;
    held.push({ held: own, weight, isRequired, scale });
    most += 255 * scale;
    places += own.count;
  }
  const { best, requiredCount, lengths } = parts;
  if (held.length === 0 || most <= best.threshold) return;
  const blocks = Math.ceil(lengths.length / BLOCK_DOCUMENTS);
  const halves = 2 * blocks;
  makeRoom(halves);
  const isDense = places > DENSE * blocks && best.threshold > Number.NEGATIVE_INFINITY;
  try {
    if (isDense) for (const word of held) addBounds(word);
    for (const word of held) markHolders(word, { threshold: best.threshold, isDense, blocks });
    if (most > 0 || requiredCount > 0) for (const word of held) addShares(word, parts);
    offerWanted(halves, parts);
  } catch (error) {
    // A damaged row must not be felt by the next search.
    for (const list of [holders, wanted, sums, scores, requiredHeld]) list.fill(0);
    throw error;
  }
  if (isDense) sums.fill(0, 0, blocks);
}

/** Where words stand in so many places of a block, its bounds are added up before they are looked at. */
const DENSE = 4;
/** Documents that one number has bits for. */
const HALF = 32;
const HALF_MASK = HALF - 1;

/** Which documents of the segment hold a word, and which of them may be among the best: a bit each. */
let holders = new Int32Array(0);
/** Of each block, where words are common: the most that a document of it can have. */
let sums = new Float64Array(0);
let wanted = new Int32Array(0);
/** Of each document: its score, and how many required words it holds. All of these are 0 between two segments. */
let scores = new Float64Array(0);
let requiredHeld = new Uint16Array(0);

function makeRoom(halves: number): void {
  if (halves <= holders.length) return;
  holders = new Int32Array(halves);
  wanted = new Int32Array(halves);
  sums = new Float64Array(halves / 2);
  scores = new Float64Array(HALF * halves);
  requiredHeld = new Uint16Array(HALF * halves);
}

/** Adds a word's bounds to those of its blocks. */
function addBounds({ held: { bytes, start, end }, scale }: HeldWord): void {
  let block = -1;
  for (let at = start; at < end; ) {
    let gap = bytes[at++] as number;
    if (gap >= 0x80) {
      gap = varintAt(bytes, at - 1, end);
      at = afterVarint;
    }
    let length = bytes[at++] as number;
    if (length >= 0x80) {
      length = varintAt(bytes, at - 1, end);
      at = afterVarint;
    }
    block += 1 + gap;
    (sums[block] as number) += (bytes[at] as number) * scale;
    at += 1 + length;
  }
}

/** What is so of a whole segment while its documents are marked. */
interface Marking {
  readonly threshold: number;
  readonly isDense: boolean;
  /** Blocks that the segment has; a row that names one beyond them is damaged. */
  readonly blocks: number;
}

/** Marks the documents of a word, those as wanted that another word has as well or whose block may do with this one. */
function markHolders({ held, scale }: HeldWord, marking: Marking): void {
  const { bytes, start, end } = held;
  const { threshold, isDense, blocks } = marking;
  let block = -1;
  for (let at = start; at < end; ) {
    let gap = bytes[at++] as number;
    if (gap >= 0x80) {
      gap = varintAt(bytes, at - 1, end);
      at = afterVarint;
    }
    let length = bytes[at++] as number;
    if (length >= 0x80) {
      length = varintAt(bytes, at - 1, end);
      at = afterVarint;
    }
    block += 1 + gap;
    const enough = (bytes[at++] as number) * scale > threshold ? -1 : 0;
    const blockEnd = at + length;
    if (blockEnd > end) throw endsEarly();
    if (block >= blocks) throw namesOthers();
    if (isDense && (sums[block] as number) <= threshold) at = blockEnd;
    while (at < blockEnd) {
      const byte = bytes[at++] as number;
      if ((byte & 3) === 3) while ((bytes[at++] as number) >= 0x80);
      const half = 2 * block + (byte >>> 7);
      const bit = 1 << ((byte >>> 2) & HALF_MASK);
      const known = holders[half] as number;
      (wanted[half] as number) |= bit & (known | enough);
      holders[half] = known | bit;
    }
  }
}

/** The failure of a row that has documents which its segment has not: marks of them would stay for the next search. */
function namesOthers(): CortexError {
  return new CortexError("ERR_CORRUPT", "a row of the text index names documents of no segment");
}

/** Adds a word's shares to the scores of documents that are wanted. */
function addShares({ held, weight, isRequired }: HeldWord, parts: ScanParts): void {
  const { bytes, start, end } = held;
  const { lengths, averageLength } = parts;
  let block = -1;
  for (let at = start; at < end; ) {
    let gap = bytes[at++] as number;
    if (gap >= 0x80) {
      gap = varintAt(bytes, at - 1, end);
      at = afterVarint;
    }
    let length = bytes[at++] as number;
    if (length >= 0x80) {
      length = varintAt(bytes, at - 1, end);
      at = afterVarint;
    }
    block += 1 + gap;
    const blockEnd = at + 1 + length;
    const first = wanted[2 * block] as number;
    const last = wanted[2 * block + 1] as number;
    if ((first | last) === 0) {
      at = blockEnd;
      continue;
    }
    for (at += 1; at < blockEnd; ) {
      const byte = bytes[at++] as number;
      let times = (byte & 3) + 1;
      if (times === 4) {
        times += varintAt(bytes, at, end);
        at = afterVarint;
      }
      const isWanted = (byte < 0x80 ? first : last) & (1 << ((byte >>> 2) & HALF_MASK));
      if (isWanted === 0) continue;
      const document = BLOCK_DOCUMENTS * block + (byte >>> 2);
      const share =
        (times * (K1 + 1)) /
        (times + K1 * (1 - B + (B * (lengths[document] as number)) / averageLength));
      (scores[document] as number) += weight * share;
      if (isRequired) (requiredHeld[document] as number) += 1;
    }
  }
}

/** Offers the documents that are wanted, the last first, and forgets all of them. */
function offerWanted(halves: number, parts: ScanParts): void {
  const { best, requiredCount, source, isVisible } = parts;
  for (let half = halves - 1; half >= 0; half -= 1) {
    for (let left = wanted[half] as number; left !== 0; ) {
      const bit = HALF_MASK - Math.clz32(left);
      left ^= 1 << bit;
      const document = HALF * half + bit;
      const score = scores[document] as number;
      const isGood = score > best.threshold && (requiredHeld[document] as number) >= requiredCount;
      scores[document] = 0;
      requiredHeld[document] = 0;
      if (isGood && isVisible(document)) best.offer(source, document, score);
    }
  }
  holders.fill(0, 0, halves);
  wanted.fill(0, 0, halves);
}

/** Where the number ended that was read last. */
let afterVarint = 0;

function varintAt(bytes: Uint8Array, at: number, end: number): number {
  const reader = new ByteReader(bytes, at, end);
  const value = reader.varint();
  afterVarint = reader.at;
  return value;
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
