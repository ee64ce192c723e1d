/**
 * A segment while it is in memory: documents of one lifecycle with their words, gathered from the
 * journal. It can be searched as it is, and written out as rows.
 *
 * Promise: what is gathered is only added to, except that a forgotten memory is taken out whole. So a
 * search that began before an addition sees the documents it knew, in the same places.
 */
import { keyString, segmentKey } from "../kv/keyspace.js";
import type { Bytes, KvRow } from "../kv/kv.js";
import type { TakeWord } from "./document.js";
import type { SegmentInfo } from "./manifest.js";
import { isMark } from "./names.js";
import {
  ByteWriter,
  copyInto,
  type Lengths,
  type PassingDocuments,
  writePostings,
} from "./postings.js";
import {
  bucketBits,
  bucketOf,
  type DocumentEntry,
  documentRows,
  encodeEnds,
  hashOf,
  LENGTH_MAX,
  writeBucketWord,
} from "./segment-rows.js";
import { WordLog } from "./word-log.js";

/** A document of an older segment that ended while this one was gathered. */
interface OlderEnd {
  readonly id: Bytes;
  readonly begin: number;
  readonly end: number;
  readonly length: number;
  readonly words: ReadonlySet<string>;
}

/** Documents of one lifecycle, being gathered. */
export class DraftSegment {
  /** By document number; `undefined` where the memory was forgotten. */
  readonly documents: (DocumentEntry | undefined)[] = [];
  readonly lengths: number[] = [];
  /** The seq at which a document ended; 0 while it stands. */
  readonly ends: number[] = [];
  readonly words = new WordLog();
  olderEnds: OlderEnd[] = [];
  /** The document being said, and its words so far. */
  #number = -1;
  #length = 0;
  readonly #take: TakeWord = (word, _start, _end, piece) => {
    // What the analyser keeps is a word: only others may be marks.
    if (piece !== undefined || !isMark(word)) this.#length += 1;
    this.words.add(word, this.#number, piece);
  };

  /** Begins a document; `say` gives its words one by one. Returns its number. */
  begin(entry: DocumentEntry, say: (take: TakeWord) => void): number {
    this.#number = this.documents.length;
    this.#length = 0;
    say(this.#take);
    this.documents.push(entry);
    this.lengths.push(Math.min(this.#length, LENGTH_MAX));
    this.ends.push(0);
    return this.#number;
  }

  /** Takes a memory out as if it had never been there. */
  forget(id: Bytes): void {
    const name = keyString(id);
    this.olderEnds = this.olderEnds.filter((end) => keyString(end.id) !== name);
    const gone = new Set<number>();
    for (const [number, entry] of this.documents.entries()) {
      if (entry === undefined || keyString(entry.id) !== name) continue;
      gone.add(number);
      this.documents[number] = undefined;
      this.lengths[number] = 0;
    }
    if (gone.size > 0) this.words.forget(gone);
  }
}

/** What a segment will be called, and where it stands. */
interface SegmentPlace {
  readonly number: number;
  readonly lifecycle: number;
  readonly from: number;
  readonly to: number;
}

/** A segment ready to be written. */
export interface BuiltSegment {
  readonly info: SegmentInfo;
  readonly rows: readonly KvRow[];
}

/**
 * Turns what was gathered of the entries before `place.to` into rows. Later ones may come in meanwhile:
 * they stand behind, and are left out.
 */
export function buildSegment(
  draft: DraftSegment,
  place: SegmentPlace,
  yieldTurn: YieldTurn,
): Promise<BuiltSegment> {
  const { kept, ends, olderEnds } = cutDraft(draft, place.to);
  const ended = endedWords(draft, ends, olderEnds);
  const gone = [
    ...[...ends.keys()].map((document) => draft.lengths[document] ?? 0),
    ...olderEnds.map(({ length }) => length),
  ];
  const content = {
    documents: kept.flatMap((at) => draft.documents[at] ?? []),
    lengths: kept.map((at) => draft.lengths[at] ?? 0),
    ends: kept.flatMap((at, document) => {
      const end = ends.get(at);
      return end === undefined ? [] : [{ document, end }];
    }),
    endedDocuments: gone.length,
    endedWords: sum(gone),
    words: inPortions(wordsOf(draft, kept, ended), draft.words.size, yieldTurn),
  };
  return writeSegment(place, content, yieldTurn);
}

/** How many of the documents that ended held each word. */
function endedWords(
  draft: DraftSegment,
  ends: ReadonlyMap<number, number>,
  olderEnds: readonly OlderEnd[],
): ReadonlyMap<string, number> {
  const ended = new Map<string, number>();
  for (const { words } of olderEnds) {
    for (const word of words) ended.set(word, (ended.get(word) ?? 0) + 1);
  }
  // Mostly none has: then no word need be looked at.
  if (ends.size === 0) return ended;
  const isEnded = new Uint8Array(draft.documents.length);
  for (const document of ends.keys()) isEnded[document] = 1;
  for (const { word, documents, from, to } of draft.words) {
    let gone = 0;
    for (let at = from; at < to; at += 1) gone += isEnded[documents[at] as number] ?? 0;
    if (gone > 0) ended.set(word, (ended.get(word) ?? 0) + gone);
  }
  return ended;
}

/** Whether the entries before a seq left anything to write. */
export function hasContent(draft: DraftSegment, to: number): boolean {
  const { kept, olderEnds } = cutDraft(draft, to);
  return kept.length > 0 || olderEnds.length > 0;
}

/** The numbers of documents that began before a seq, and what had ended by then. */
function cutDraft(
  draft: DraftSegment,
  to: number,
): {
  readonly kept: readonly number[];
  readonly ends: ReadonlyMap<number, number>;
  readonly olderEnds: readonly OlderEnd[];
} {
  const kept = draft.documents.flatMap((entry, at) =>
    entry !== undefined && entry.begin < to ? [at] : [],
  );
  const ends = new Map<number, number>();
  for (const at of kept) {
    const end = draft.ends[at] ?? 0;
    if (end > 0 && end < to) ends.set(at, end);
  }
  return { kept, ends, olderEnds: draft.olderEnds.filter(({ end }) => end < to) };
}

/** Lets the process do something else for a moment. */
export type YieldTurn = () => Promise<void>;

/** Words that are written before others get a turn: a few milliseconds of work. */
const PORTION_WORDS = 1024;
/** A dictionary is cut into no more portions than this: where turns come seldom, it would else take very long. */
const PORTIONS = 64;
/** Rows that are made before others get a turn. */
const PORTION_ROWS = 256;

async function* inPortions(
  words: Iterator<SegmentWord>,
  count: number,
  yieldTurn: YieldTurn,
): AsyncGenerator<Iterable<SegmentWord>> {
  const most = Math.max(PORTION_WORDS, Math.ceil(count / PORTIONS));
  let isOver = false;
  function* portion(): Iterable<SegmentWord> {
    for (let taken = 0; taken < most; taken += 1) {
      const next = words.next();
      if (next.done === true) {
        isOver = true;
        return;
      }
      yield next.value;
    }
  }
  for (;;) {
    yield portion();
    if (isOver) return;
    await yieldTurn();
  }
}

/** The words of the documents that are kept, numbered without gaps; each is good until the next is asked for. */
function* wordsOf(
  draft: DraftSegment,
  kept: readonly number[],
  ended: ReadonlyMap<string, number>,
): Generator<SegmentWord, void> {
  const numbers = new Int32Array(draft.documents.length).fill(-1);
  for (const [number, at] of kept.entries()) numbers[at] = number;
  for (const { word, documents, times, from, to: end } of draft.words) {
    let to = from;
    for (let at = from; at < end; at += 1) {
      // Documents that are left out stand behind, or were forgotten.
      const number = numbers[documents[at] as number] ?? -1;
      if (number < 0) continue;
      documents[to] = number;
      times[to] = times[at] as number;
      to += 1;
    }
    const gone = ended.get(word) ?? 0;
    if (to > from || gone > 0) yield { word, documents, times, from, to, ended: gone };
  }
  for (const [word, count] of ended) {
    if (!draft.words.has(word)) yield { word, documents: [], times: [], ended: count };
  }
}

/** A word of a segment on its way into a row. */
export interface SegmentWord extends PassingDocuments {
  readonly word: string;
  readonly ended: number;
}

/** Everything a segment consists of. */
interface SegmentContent {
  readonly documents: readonly DocumentEntry[];
  readonly lengths: ArrayLike<number>;
  readonly ends: readonly { readonly document: number; readonly end: number }[];
  readonly endedDocuments: number;
  readonly endedWords: number;
  /** In any order, each once, and good until the next is asked for; in portions, so that other work comes between. */
  readonly words: AsyncIterable<Iterable<SegmentWord>>;
}

/** The rows of a segment and what the manifest says of it. */
export async function writeSegment(
  place: SegmentPlace,
  content: SegmentContent,
  yieldTurn: YieldTurn,
): Promise<BuiltSegment> {
  const { documents, lengths } = content;
  const words = sum(Array.from(lengths));
  const averageMilli = Math.max(1, Math.round((1000 * words) / Math.max(1, documents.length)));
  const average = { lengths, averageLength: averageMilli / 1000 };
  const written = await writeDictionary(content.words, average);
  await yieldTurn();
  const dictionary = await bucketRows(place.number, written, yieldTurn);
  const rows = [...dictionary.rows, ...documentRows(place.number, documents, lengths)];
  const { ends } = content;
  if (ends.length > 0) {
    const key = segmentKey("textEnds", place.number, place.number);
    rows.push({ key, value: encodeEnds(ends) });
  }
  const info: SegmentInfo = {
    ...place,
    size: documents.length,
    documents: documents.length,
    words,
    endedDocuments: content.endedDocuments,
    endedWords: content.endedWords,
    averageMilli,
    bits: dictionary.bits,
    edition: 0,
    endsFlush: ends.length > 0 ? place.number : 0,
    endsCount: ends.length,
  };
  return { info, rows };
}

/** The words of a dictionary, each behind the one before, and where they lie: in the order of their hashes. */
interface Dictionary {
  readonly bytes: Uint8Array;
  readonly entries: readonly DictionaryEntry[];
}

/** Writes every word once, and puts them in order. */
async function writeDictionary(
  words: AsyncIterable<Iterable<SegmentWord>>,
  lengths: Lengths,
): Promise<Dictionary> {
  const all = new ByteWriter(256 * 1024);
  const postings = new ByteWriter();
  const entries: DictionaryEntry[] = [];
  for await (const portion of words) {
    for (const word of portion) {
      postings.clear();
      writePostings(postings, word, word.ended, lengths);
      const start = all.length;
      writeBucketWord(all, word.word, postings);
      entries.push({ hash: hashOf(word.word), word: word.word, start, end: all.length });
    }
  }
  return { bytes: all.take(), entries: inOrder(entries) };
}

/** A word among the bytes of a dictionary. */
interface DictionaryEntry {
  readonly hash: number;
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

/** Places that fit into a number beside a hash of 32 bits. */
const WORDS_MOST = 2 ** 21;

/**
 * By hash, and by word where hashes are equal, so that equal segments have equal bytes. Numbers are sorted, each of a
 * hash and a place: sorting the entries themselves took ten times as long.
 */
function inOrder(entries: readonly DictionaryEntry[]): readonly DictionaryEntry[] {
  const byHash = (a: DictionaryEntry, b: DictionaryEntry): number =>
    a.hash - b.hash || (a.word < b.word ? -1 : 1);
  if (entries.length > WORDS_MOST) return [...entries].sort(byHash);
  const places = new Float64Array(entries.length);
  for (let at = 0; at < places.length; at += 1) {
    places[at] = (entries[at] as DictionaryEntry).hash * WORDS_MOST + at;
  }
  const sorted = Array.from(
    places.sort(),
    (place) => entries[place % WORDS_MOST],
  ) as DictionaryEntry[];
  const isTie = sorted.some((entry, at) => entry.hash === sorted[at + 1]?.hash);
  return isTie ? sorted.sort(byHash) : sorted;
}

/** Cuts a dictionary into rows. */
async function bucketRows(
  segment: number,
  { bytes, entries }: Dictionary,
  yieldTurn: YieldTurn,
): Promise<{ readonly rows: readonly KvRow[]; readonly bits: number }> {
  const bits = bucketBits(bytes.length);
  const rows: KvRow[] = [];
  for (let from = 0; from < entries.length; ) {
    const bucket = bucketOf(entries[from]?.hash ?? 0, bits);
    let to = from;
    let length = 0;
    for (let one = entries[to]; one !== undefined && bucketOf(one.hash, bits) === bucket; ) {
      length += one.end - one.start;
      to += 1;
      one = entries[to];
    }
    const value = new Uint8Array(length);
    let at = 0;
    for (; from < to; from += 1) {
      const { start, end } = entries[from] as DictionaryEntry;
      copyInto(value, at, { bytes, start, end });
      at += end - start;
    }
    rows.push({ key: segmentKey("textWords", segment, bucket), value });
    if (rows.length % PORTION_ROWS === 0) await yieldTurn();
  }
  return { rows, bits };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
