/**
 * Work on the segments that no search does: writing the tail out, choosing what to merge, merging, dropping
 * everything, and when a writer waits for it. Each function computes a change from one snapshot; whether it is committed,
 * `text-index.ts` says.
 *
 * In a merge, documents keep their order, and the numbers of forgotten ones are closed. Ended documents stay,
 * because a search of the past needs them. Dictionaries are read side by side, a stretch of hashes at a time,
 * so what is held of them at once is small; what is held in full is the result, which the limit on a
 * segment's documents bounds.
 */
import { CortexError } from "../errors.js";
import { KEYSPACE, keyBytes, keyString, segmentKey } from "../kv/keyspace.js";
import type { Bytes, KvRow } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { Manifest, SegmentInfo } from "./manifest.js";
import { allDocuments, Postings } from "./postings.js";
import {
  type BuiltSegment,
  buildSegment,
  hasContent,
  type SegmentWord,
  writeSegment,
  type YieldTurn,
} from "./segment.js";
import {
  bucketWords,
  type DocumentEnd,
  type DocumentEntry,
  documentKeys,
  documentsIn,
  encodeEnds,
} from "./segment-rows.js";
import {
  endRows,
  findDocuments,
  type LoadedSegment,
  type Rows,
  type SegmentCache,
} from "./text-segments.js";
import type { TextTail } from "./text-tail.js";

const SEGMENT_PREFIXES = [
  KEYSPACE.textWords,
  KEYSPACE.textLengths,
  KEYSPACE.textDocuments,
  KEYSPACE.textEnds,
  KEYSPACE.textFences,
];

/** Rows read at a time when keys are collected. */
const PAGE_ROWS = 10_000;

/** Documents of the smallest tier of segments. */
const FIRST_TIER = 512;

/** Entries of a commit for each of which the work gets a turn before the next: it reads twice as fast as is written. */
const ENTRIES_PER_TURN = 64;

/**
 * How a process that writes lets its text index follow. Commits give the work turns in proportion to what they
 * wrote: a loop of awaited writes leaves none to anybody, and the whole flush would come when it has to be waited
 * for, as a pause of a second for whoever writes then. Small commits save up for a turn: one of each would charge a
 * caller who awaits a single write with the work of a hundred. A writer that is far ahead all the same waits for a flush.
 */
export class FlushPace {
  readonly #turn: YieldTurn;
  /** Entries that this process has written since its last flush, and who waits for the next. */
  #unflushed = 0;
  /** Entries of commits for which no turn was given yet. */
  #owed = 0;
  #onFlush: (() => void)[] = [];

  constructor(turn: YieldTurn) {
    this.#turn = turn;
  }

  wrote(entries: number): void {
    this.#unflushed += entries;
  }

  /** A flush is done, or none is possible: an index that cannot be written must not slow every write down. */
  flushed(): void {
    this.#unflushed = 0;
    for (const resolve of this.#onFlush.splice(0)) resolve();
  }

  /** What the next commit waits for after one of so many entries, while there is work. */
  letWork(work: Promise<void>, entries: number): Promise<void> | undefined {
    if (this.#unflushed > LIMITS.textUnflushedEntries) {
      return Promise.race([work, new Promise<void>((resolve) => this.#onFlush.push(resolve))]);
    }
    this.#owed += entries;
    return this.#owed < ENTRIES_PER_TURN ? undefined : this.#giveTurns(work);
  }

  async #giveTurns(work: Promise<void>): Promise<void> {
    let isOver = false;
    void work.then(() => {
      isOver = true;
    });
    for (; this.#owed >= ENTRIES_PER_TURN && !isOver; this.#owed -= ENTRIES_PER_TURN) {
      await this.#turn();
    }
    if (isOver) this.#owed = 0;
  }
}

/** Segments that follow each other and are of similar size: the next to be merged, if any. */
export function nextMerge(segments: readonly SegmentInfo[]): readonly SegmentInfo[] {
  const lifecycles = new Set(segments.map(({ lifecycle }) => lifecycle));
  for (let tier = 0; tier <= tierOf(LIMITS.textSegmentDocs); tier += 1) {
    for (const lifecycle of lifecycles) {
      const run = runOf(
        segments.filter((one) => one.lifecycle === lifecycle),
        tier,
      );
      if (run.length > 1) return run;
    }
  }
  return [];
}

/** The first stretch of enough segments of at most a tier, as many as one segment may hold. */
function runOf(segments: readonly SegmentInfo[], tier: number): readonly SegmentInfo[] {
  let stretch: SegmentInfo[] = [];
  for (const one of segments) {
    const isFull = one.size > LIMITS.textSegmentDocs / 2;
    if (isFull || tierOf(one.size) > tier) stretch = [];
    else stretch.push(one);
    if (stretch.length >= LIMITS.textMergeFactor) break;
  }
  if (stretch.length < LIMITS.textMergeFactor) return [];
  let size = 0;
  return stretch.filter((one) => {
    size += one.size;
    return size <= LIMITS.textSegmentDocs;
  });
}

function tierOf(size: number): number {
  const tier = Math.log2(Math.max(size, 1) / FIRST_TIER) / Math.log2(LIMITS.textMergeFactor);
  return Math.max(0, Math.floor(tier));
}

/** Rows to write and to delete, and the manifest that goes with them. */
export interface IndexChange {
  readonly puts: readonly KvRow[];
  readonly deletes: readonly Bytes[];
  readonly manifest: Manifest;
}

/** What is to be written out: the tail that goes with a manifest, up to a seq. */
export interface Flush {
  readonly manifest: Manifest;
  readonly tail: TextTail;
  readonly to: number;
}

/** The segments of a flush: one of each lifecycle that the tail has documents of. */
export async function buildSegments(
  { manifest, tail, to }: Flush,
  yieldTurn: YieldTurn,
): Promise<readonly BuiltSegment[]> {
  const built: BuiltSegment[] = [];
  for (const [lifecycle, draft] of tail.drafts) {
    if (!hasContent(draft, to)) continue;
    const place = { number: manifest.next + built.length, lifecycle, from: manifest.cursor, to };
    built.push(await buildSegment(draft, place, yieldTurn));
  }
  return built;
}

/** A flush as a change, once its segments are built. */
export async function planFlush(
  rows: Rows,
  { manifest, tail, to }: Flush,
  built: readonly BuiltSegment[],
  cache: SegmentCache,
): Promise<IndexChange> {
  const flush = manifest.next + built.length;
  const ended = await olderEnds(rows, { manifest, tail, to }, cache, flush);
  const segments = [...ended.segments, ...built.map(({ info }) => info)];
  const purgedTo = Math.max(manifest.purgedTo, to);
  return {
    puts: [...ended.puts, ...built.flatMap(({ rows: own }) => own)],
    deletes: [],
    manifest: { ...manifest, cursor: to, purgedTo, next: flush + 1, segments },
  };
}

/** Which documents of older segments ended before `to`: a row for each segment that has some. */
async function olderEnds(
  rows: Rows,
  { manifest, tail, to }: Flush,
  cache: SegmentCache,
  flush: number,
): Promise<{ readonly puts: readonly KvRow[]; readonly segments: readonly SegmentInfo[] }> {
  const wanted = [...tail.drafts].flatMap(([lifecycle, draft]) =>
    draft.olderEnds.filter(({ end }) => end < to).map((one) => ({ ...one, lifecycle })),
  );
  if (wanted.length === 0) return { puts: [], segments: manifest.segments };
  const loaded = await cache.load(rows, manifest.segments);
  const places = await findDocuments(rows, loaded, wanted);
  const bySegment = new Map<number, DocumentEnd[]>();
  for (const [at, place] of places.entries()) {
    const end = wanted[at]?.end;
    if (place === undefined || end === undefined) throw lostDocument(end);
    const { number } = place.segment.info;
    const list = bySegment.get(number) ?? [];
    list.push({ document: place.document, end });
    bySegment.set(number, list);
  }
  const puts = [...bySegment].map(([segment, ends]) => ({
    key: segmentKey("textEnds", segment, flush),
    value: encodeEnds(ends.sort((a, b) => a.document - b.document)),
  }));
  const segments = manifest.segments.map((info) => {
    const ends = bySegment.get(info.number)?.length ?? 0;
    return ends === 0 ? info : { ...info, endsFlush: flush, endsCount: info.endsCount + ends };
  });
  return { puts, segments };
}

function lostDocument(seq: number | undefined): CortexError {
  return new CortexError(
    "ERR_CORRUPT",
    `text index: entry ${seq} ends a document that no segment holds; rebuild the store`,
    seq === undefined ? {} : { seq },
  );
}

/** Reads from a snapshot of its own; `undefined` once the index is another than at the beginning of the work. */
export type ReadRows = <T>(use: (rows: Rows) => Promise<T>) => Promise<T | undefined>;

/** Merges segments into one; `undefined` when somebody changed the index meanwhile. */
export async function planMerge(
  read: ReadRows,
  manifest: Manifest,
  run: readonly LoadedSegment[],
  yieldTurn: YieldTurn,
): Promise<IndexChange | undefined> {
  const sources: MergeSource[] = [];
  for (const { info, lengths, ends } of run) {
    const chunks = await read((rows) => rows.getMany(documentKeys(info.number, info.size)));
    if (chunks === undefined) return undefined;
    const documents = chunks.flatMap((row) => documentsIn(row));
    const ended = Array.from(ends ?? []).flatMap((end, document) =>
      end > 0 ? [{ document, end }] : [],
    );
    sources.push({ info, documents, lengths, ends: ended });
    await yieldTurn();
  }
  const { next } = manifest;
  const parts = { read, yieldTurn, isLost: false };
  const merged = await mergeSegments(next, sources, parts);
  if (parts.isLost) return undefined;
  const gone = new Set(run.map(({ info }) => info.number));
  const first = run[0]?.info.number;
  const segments = manifest.segments.flatMap((one) =>
    one.number === first ? [merged.info] : gone.has(one.number) ? [] : [one],
  );
  const deletes: Bytes[] = [];
  for (const { info } of run) {
    const keys = await read((rows) => segmentRowKeys(rows, info));
    if (keys === undefined) return undefined;
    for (const key of keys) deletes.push(key);
  }
  return { puts: merged.rows, deletes, manifest: { ...manifest, next: next + 1, segments } };
}

/** The keys of all rows of a segment. */
async function segmentRowKeys(rows: Rows, info: SegmentInfo): Promise<readonly Bytes[]> {
  const words = await rows.ranges([
    {
      gte: segmentKey("textWords", info.number, 0),
      lt: segmentKey("textWords", info.number + 1, 0),
      limit: 2 ** info.bits,
      keysOnly: true,
    },
  ]);
  const lengths = await rows.ranges([
    {
      gte: segmentKey("textLengths", info.number, 0),
      lt: segmentKey("textLengths", info.number + 1, 0),
      limit: Math.max(1, info.size),
      keysOnly: true,
    },
  ]);
  const ends = await endRows(rows, info);
  return [
    ...words.flat().map(({ key }) => key),
    ...lengths.flat().map(({ key }) => key),
    ...documentKeys(info.number, info.size),
    ...ends.map(({ key }) => key),
    ...(info.size === 0 ? [] : [segmentKey("textFences", info.number)]),
  ];
}

/** The keys of every row of the index but the manifest, whoever wrote them. */
export async function allRowKeys(rows: Rows): Promise<readonly Bytes[]> {
  const keys: Bytes[] = [];
  for (const { byte } of SEGMENT_PREFIXES) {
    const lt = Uint8Array.of(byte + 1);
    for (let gte = Uint8Array.of(byte); ; ) {
      const [page = []] = await rows.ranges([{ gte, lt, limit: PAGE_ROWS, keysOnly: true }]);
      for (const { key } of page) keys.push(key);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_ROWS) break;
      gte = Uint8Array.from(keyBytes(`${keyString(last.key)}\0`));
    }
  }
  return keys;
}

/** A segment to be merged, without its dictionary. */
interface MergeSource {
  readonly info: SegmentInfo;
  readonly documents: readonly (DocumentEntry | undefined)[];
  readonly lengths: ArrayLike<number>;
  readonly ends: readonly DocumentEnd[];
}

/** How a merge reads and rests. */
interface MergeParts {
  readonly read: ReadRows;
  readonly yieldTurn: YieldTurn;
  /** Set when the index was changed by others: what is put together then is good for nothing. */
  isLost: boolean;
}

/** Merges segments that follow each other into one with the given number. */
async function mergeSegments(
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
    parts.yieldTurn,
  );
}

/** Buckets of the smallest dictionary that are read at once, as a power of two: a few milliseconds of work. */
const STRETCH_BITS = 2;

async function* mergedWords(
  sources: readonly MergeSource[],
  numbers: readonly Int32Array[],
  parts: MergeParts,
): AsyncGenerator<readonly SegmentWord[]> {
  const bits = Math.max(0, Math.min(...sources.map(({ info }) => info.bits)) - STRETCH_BITS);
  for (let stretch = 0; stretch < 2 ** bits; stretch += 1) {
    const words = new Map<string, { documents: number[]; times: number[]; ended: number }>();
    const ranges = sources.map(({ info: { number, bits: own } }) => {
      const width = 2 ** (own - bits);
      const gte = segmentKey("textWords", number, stretch * width);
      const lt = segmentKey("textWords", number, (stretch + 1) * width);
      return { gte, lt, limit: width };
    });
    const pages = await parts.read((rows) => rows.ranges(ranges));
    if (pages === undefined) {
      parts.isLost = true;
      return;
    }
    for (const [at, page] of pages.entries()) {
      for (const { value } of page) addWords(words, value, numbers[at] ?? new Int32Array(0));
    }
    yield [...words].map(([word, held]) => ({ word, ...held }));
    await parts.yieldTurn();
  }
}

function addWords(
  words: Map<string, { documents: number[]; times: number[]; ended: number }>,
  row: Uint8Array,
  numbers: Int32Array,
): void {
  for (const { word, documents: bytes } of bucketWords(row)) {
    const postings = new Postings(bytes, 0, bytes.length);
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
