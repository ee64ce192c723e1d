/**
 * Segments as searches use them: the lengths of documents, where chunks begin and what has ended, kept in memory
 * from one search to the next; once a search has asked for it, also which memory each document is of. Four bytes
 * a document or so, and two dozen more with its memory; dictionaries stay in the store.
 *
 * A segment's rows change only when a memory is forgotten, and then its edition changes, so what is kept is
 * looked up by the edition that the manifest names. Ends are only added to; a reader of the past passes over an
 * end whose seq lies after its position.
 *
 * Whoever does not see everything sees some of the documents alone: scores, counts and averages are then made of
 * those. In the present, the caller sees the documents that are the current text of memories it sees. At a
 * position in the past, it sees those of memories that it could see by then and still can. For the present the
 * documents of a segment are kept for each caller and corrected by what has changed since, for a segment never
 * gets new ones.
 */

import type { Reader } from "../history/reader.js";
import type { Seen } from "../history/seen-view.js";
import { keyBytes, keyString, segmentKey } from "../kv/keyspace.js";
import { ALL_ROWS, type Bytes, type KvRow, type KvSnapshot } from "../kv/kv.js";
import type { SegmentInfo } from "./manifest.js";
import {
  DOCUMENTS_PER_ROW,
  type DocumentEntry,
  decodeEnds,
  documentAt,
  documentsIn,
  LENGTH_GONE,
  lengthKeys,
  readFences,
  readLengths,
} from "./segment-rows.js";

/** What reading needs of a snapshot. */
export type Rows = Pick<KvSnapshot, "getMany" | "ranges">;

/** A segment with what is kept of it in memory. */
export interface LoadedSegment {
  readonly info: SegmentInfo;
  readonly lengths: Uint16Array;
  /** The begin of the first document of each chunk. */
  readonly fences: Float64Array;
  /** The end of each document, 0 while it stands; absent while all stand. */
  readonly ends: Float64Array | undefined;
  /** Chunks of documents that were read, by number. */
  readonly chunks: Map<number, Bytes>;
}

/** Chunks that are kept of one segment: some megabytes. */
const CHUNKS_KEPT = 2048;
/** More chunks than a segment has. */
const SEGMENT_CHUNKS = 2 ** 32;

/** The segments that searches have used. */
export class SegmentCache {
  #loaded = new Map<string, LoadedSegment>();

  /** The segments asked for, read where they are not known; all others are let go. */
  async load(rows: Rows, infos: readonly SegmentInfo[]): Promise<readonly LoadedSegment[]> {
    const known = infos.map((info) => this.#loaded.get(segmentName(info)));
    const loaded = await Promise.all(
      infos.map((info, at) => {
        const one = known[at];
        if (one === undefined) return loadSegment(rows, info);
        return hasEndsOf(one.info, info) ? { ...one, info } : withEnds(rows, info, one);
      }),
    );
    for (const segment of loaded) this.#loaded.set(segmentName(segment.info), segment);
    return loaded;
  }

  /** Lets go of every segment that is not among these. */
  keepOnly(infos: readonly SegmentInfo[]): void {
    const names = new Set(infos.map(segmentName));
    for (const name of this.#loaded.keys()) if (!names.has(name)) this.#loaded.delete(name);
  }
}

/**
 * What tells the content of segments apart. The number alone does not: an index that was dropped and
 * built again gives the same numbers to other intervals.
 */
function segmentName(info: SegmentInfo): string {
  const { number, lifecycle, from, to, size, words, bits, edition } = info;
  return [number, lifecycle, from, to, size, words, bits, edition].join(":");
}

function hasEndsOf(held: SegmentInfo, info: SegmentInfo): boolean {
  return held.endsFlush === info.endsFlush && held.endsCount === info.endsCount;
}

async function loadSegment(rows: Rows, info: SegmentInfo): Promise<LoadedSegment> {
  const values = await rows.getMany(lengthKeys(info.number, info.size));
  const [fences] =
    info.size === 0 ? [] : await rows.getMany([segmentKey("textFences", info.number)]);
  const lengths = readLengths(values, info.size);
  const bare = {
    info,
    lengths,
    fences: info.size === 0 ? new Float64Array(0) : readFences(fences),
    ends: undefined,
    chunks: new Map<number, Bytes>(),
  };
  return info.endsCount === 0 ? bare : withEnds(rows, info, bare);
}

async function withEnds(
  rows: Rows,
  info: SegmentInfo,
  bare: LoadedSegment,
): Promise<LoadedSegment> {
  const ends = new Float64Array(info.size);
  for (const { value } of await endRows(rows, info)) {
    for (const { document, end } of decodeEnds(value)) ends[document] = end;
  }
  return { ...bare, info, ends };
}

/** All rows that say which documents of a segment have ended. */
export async function endRows(rows: Rows, { number }: SegmentInfo): Promise<readonly KvRow[]> {
  const gte = segmentKey("textEnds", number, 0);
  const lt = segmentKey("textEnds", number + 1, 0);
  const [found = []] = await rows.ranges([{ gte, lt, limit: ALL_ROWS }]);
  return found;
}

/** Which document of which segment. */
export interface DocumentPlace {
  readonly segment: LoadedSegment;
  readonly document: number;
}

/** Who the documents are, in order; `undefined` for those of forgotten memories. */
export async function documentsAt(
  rows: Rows,
  places: readonly DocumentPlace[],
): Promise<readonly (DocumentEntry | undefined)[]> {
  const missing = new Map<number, DocumentPlace>();
  const chunks = places.map((place) => {
    const kept = place.segment.chunks.get(chunkOf(place.document));
    if (kept === undefined) missing.set(chunkName(place), place);
    return kept;
  });
  const fresh = new Map<number, Bytes | undefined>();
  const keys = [...missing.values()].map(({ segment, document }) =>
    segmentKey("textDocuments", segment.info.number, chunkOf(document)),
  );
  const values = keys.length === 0 ? [] : await rows.getMany(keys);
  for (const [at, [name, { segment, document }]] of [...missing].entries()) {
    const value = values[at];
    fresh.set(name, value);
    if (value !== undefined && segment.chunks.size < CHUNKS_KEPT) {
      // Copied: a row may be part of something larger that would stay with it.
      segment.chunks.set(chunkOf(document), new Uint8Array(value));
    }
  }
  return places.map((place, at) =>
    documentAt(chunks[at] ?? fresh.get(chunkName(place)), place.document % DOCUMENTS_PER_ROW),
  );
}

/** A number for the chunk of a document that no other chunk of any segment has. */
function chunkName({ segment, document }: DocumentPlace): number {
  return segment.info.number * SEGMENT_CHUNKS + chunkOf(document);
}

function chunkOf(document: number): number {
  return Math.floor(document / DOCUMENTS_PER_ROW);
}

/** A document by whose it is and when it began. */
export interface WantedDocument {
  readonly lifecycle: number;
  readonly id: Bytes;
  readonly begin: number;
}

/** Where documents lie, in order; `undefined` for those that no segment holds. */
export async function findDocuments(
  rows: Rows,
  segments: readonly LoadedSegment[],
  wanted: readonly WantedDocument[],
): Promise<readonly (DocumentPlace | undefined)[]> {
  const candidates = wanted.map(({ lifecycle, begin }) => {
    const segment = segments.find(
      ({ info }) => info.lifecycle === lifecycle && info.from <= begin && begin < info.to,
    );
    return segment === undefined || segment.info.size === 0
      ? undefined
      : { segment, chunks: chunksOf(segment.fences, begin) };
  });
  const asked = candidates.flatMap((one) =>
    one === undefined
      ? []
      : one.chunks.map((chunk) => segmentKey("textDocuments", one.segment.info.number, chunk)),
  );
  const values = await rows.getMany(asked);
  let next = 0;
  return candidates.map((one, at) => {
    const { id, begin } = wanted[at] as WantedDocument;
    let found: DocumentPlace | undefined;
    for (const chunk of one?.chunks ?? []) {
      const entries = documentsIn(values[next++]);
      const place = entries.findIndex(
        (entry) => entry?.begin === begin && keyString(entry.id) === keyString(id),
      );
      if (one !== undefined && place >= 0) {
        found = { segment: one.segment, document: chunk * DOCUMENTS_PER_ROW + place };
      }
    }
    return found;
  });
}

/** The chunks that may hold a document of a begin: one entry may begin several, across two chunks. */
function chunksOf(fences: Float64Array, begin: number): readonly number[] {
  let low = 0;
  let high = fences.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((fences[middle] as number) <= begin) low = middle + 1;
    else high = middle;
  }
  const chunks: number[] = [];
  for (let chunk = low - 1; chunk >= 0; chunk -= 1) {
    chunks.push(chunk);
    if ((fences[chunk] as number) < begin) break;
  }
  return chunks;
}

/** How many documents of a segment had begun by a position. */
export async function begunBy(rows: Rows, segment: LoadedSegment, seq: number): Promise<number> {
  const { info, fences } = segment;
  if (info.to <= seq + 1) return info.size;
  if (info.from > seq || info.size === 0) return 0;
  const [chunk = -1] = chunksOf(fences, seq);
  if (chunk < 0) return 0;
  const [row] = await rows.getMany([segmentKey("textDocuments", info.number, chunk)]);
  return chunk * DOCUMENTS_PER_ROW + begunIn(row, seq);
}

function begunIn(row: Bytes | undefined, seq: number): number {
  const begins = documentsIn(row).map((entry) => entry?.begin);
  const first = begins.findIndex((begin) => begin !== undefined && begin > seq);
  return first < 0 ? begins.length : first;
}

/** The documents of one segment that a caller sees. */
export interface SeenDocuments {
  has(document: number): boolean;
  /** How many there are and how many words they hold; only of the present. */
  readonly sums: { readonly documents: number; readonly held: number } | undefined;
}

/** Whether a document is seen. */
export type IsSeen = (document: DocumentEntry) => boolean;

/** What is kept of one segment for one caller. */
interface SeenInSegment {
  /** Changes of what the caller sees that are counted in. */
  changes: number;
  readonly bits: Uint8Array;
  /** The documents that are seen, by the name of the memory. */
  readonly places: Map<string, { readonly document: number; readonly begin: number }>;
  documents: number;
  held: number;
}

const KEPT = new WeakMap<object, Map<string, SeenInSegment>>();

/** Judges documents for the caller of a reader that does not see everything. */
export async function seenFrom(reader: Reader): Promise<IsSeen> {
  const { seen } = reader;
  if (seen === undefined) return () => true;
  if (reader.live) return ({ id, begin }) => seen.get(keyString(id))?.seq === begin;
  const names = [...seen.names()];
  const since = await seen.since(names.map(keyBytes));
  const from = new Map(names.map((name, at) => [name, since[at]?.seq]));
  return ({ id, begin }) => begin >= (from.get(keyString(id)) ?? Number.POSITIVE_INFINITY);
}

/** The documents of segments that the caller of a reader sees; `undefined` where it sees everything. */
export async function seenDocuments(
  reader: Reader,
  segments: readonly LoadedSegment[],
): Promise<readonly SeenDocuments[] | undefined> {
  const { seen } = reader;
  if (seen === undefined) return undefined;
  const isSeen = await seenFrom(reader);
  if (!reader.live) {
    return Promise.all(
      segments.map(async (segment) => {
        const { bits } = await build(reader, segment, isSeen, seen.changes);
        return { has: (document: number) => bits[document] === 1, sums: undefined };
      }),
    );
  }
  const kept = KEPT.get(seen.keptWith) ?? new Map<string, SeenInSegment>();
  KEPT.set(seen.keptWith, kept);
  const built = await Promise.all(
    segments.map(async (segment) => {
      const name = segmentName(segment.info);
      const known = kept.get(name);
      // Somebody has gone on meanwhile: what is kept is of a later time than this snapshot.
      const fits = known !== undefined && known.changes <= seen.changes;
      const one = fits ? known : await build(reader, segment, isSeen, seen.changes);
      if (known === undefined) kept.set(name, one);
      correct(one, seen, segment);
      return { name, one };
    }),
  );
  for (const name of kept.keys()) if (kept.size > SEGMENTS_KEPT) kept.delete(name);
  return built.map(({ one }) => ({ has: (document) => one.bits[document] === 1, sums: one }));
}

/** Segments kept for one caller: more than a store has. */
const SEGMENTS_KEPT = 256;

async function build(
  reader: Reader,
  { info, lengths }: LoadedSegment,
  isSeen: IsSeen,
  changes: number,
): Promise<SeenInSegment> {
  const kept: SeenInSegment = {
    changes,
    bits: new Uint8Array(info.size),
    places: new Map(),
    documents: 0,
    held: 0,
  };
  const rows = Math.ceil(info.size / DOCUMENTS_PER_ROW);
  const keys = Array.from({ length: rows }, (_, row) =>
    segmentKey("textDocuments", info.number, row),
  );
  const values = await reader.getMany(keys);
  for (let document = 0; document < info.size; document += 1) {
    const length = lengths[document] ?? LENGTH_GONE;
    const value = values[Math.floor(document / DOCUMENTS_PER_ROW)];
    const entry = documentAt(value, document % DOCUMENTS_PER_ROW);
    if (length === LENGTH_GONE || entry === undefined || !isSeen(entry)) continue;
    kept.bits[document] = 1;
    kept.places.set(keyString(entry.id), { document, begin: entry.begin });
    kept.documents += 1;
    kept.held += length;
  }
  return kept;
}

/** Takes out what is no longer what a memory says, or no longer seen. */
function correct(kept: SeenInSegment, seen: Seen, { lengths }: LoadedSegment): void {
  for (const name of seen.changedSince(kept.changes)) {
    const place = kept.places.get(name);
    if (place === undefined || seen.get(name)?.seq === place.begin) continue;
    kept.places.delete(name);
    kept.bits[place.document] = 0;
    kept.documents -= 1;
    kept.held -= lengths[place.document] ?? 0;
  }
  kept.changes = seen.changes;
}
