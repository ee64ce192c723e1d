/**
 * Work on the segments that no search does: writing the tail out, choosing what to merge, merging,
 * dropping everything.
 * Each function computes a change from one snapshot; whether it is committed, `text-index.ts` says.
 */
import { CortexError } from "../errors.js";
import { KEYSPACE, keyBytes, keyString, segmentKey } from "../kv/keyspace.js";
import type { Bytes, KvRow } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { Manifest, SegmentInfo } from "./manifest.js";
import { type MergeSource, mergeSegments } from "./merge.js";
import { type Breathe, type BuiltSegment, buildSegment, hasContent } from "./segment.js";
import { type DocumentEnd, documentKeys, documentsIn, encodeEnds } from "./segment-rows.js";
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

/** The tail of the index as a change: a segment of each lifecycle that it has documents of, up to `to`. */
export async function planFlush(
  rows: Rows,
  { manifest, tail, to }: Flush,
  cache: SegmentCache,
  breathe: Breathe,
): Promise<IndexChange> {
  let { next } = manifest;
  const built: BuiltSegment[] = [];
  for (const [lifecycle, draft] of tail.drafts) {
    if (!hasContent(draft, to)) continue;
    const place = { number: next++, lifecycle, from: manifest.cursor, to };
    built.push(await buildSegment(draft, place, breathe));
  }
  const flush = next++;
  const ended = await olderEnds(rows, { manifest, tail, to }, cache, flush);
  const segments = [...ended.segments, ...built.map(({ info }) => info)];
  const purgedTo = Math.max(manifest.purgedTo, to);
  return {
    puts: [...ended.puts, ...built.flatMap(({ rows: own }) => own)],
    deletes: [],
    manifest: { ...manifest, cursor: to, purgedTo, next, segments },
  };
}

/** What is to be written out: the tail that goes with a manifest, up to a seq. */
export interface Flush {
  readonly manifest: Manifest;
  readonly tail: TextTail;
  readonly to: number;
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

/** Merges segments into one. */
export async function planMerge(
  rows: Rows,
  manifest: Manifest,
  run: readonly LoadedSegment[],
  breathe: Breathe,
): Promise<IndexChange> {
  const sources: MergeSource[] = [];
  for (const { info, lengths, ends } of run) {
    const chunks = await rows.getMany(documentKeys(info.number, info.size));
    const documents = chunks.flatMap((row) => documentsIn(row));
    const ended = Array.from(ends ?? []).flatMap((end, document) =>
      end > 0 ? [{ document, end }] : [],
    );
    sources.push({ info, documents, lengths, ends: ended });
    await breathe();
  }
  const buckets = async (segment: number, from: number, to: number): Promise<readonly KvRow[]> => {
    const gte = segmentKey("textWords", segment, from);
    const lt = segmentKey("textWords", segment, to);
    const [page = []] = await rows.ranges([{ gte, lt, limit: to - from }]);
    return page;
  };
  const { next } = manifest;
  const merged = await mergeSegments(next, sources, { buckets, breathe });
  const gone = new Set(run.map(({ info }) => info.number));
  const first = run[0]?.info.number;
  const segments = manifest.segments.flatMap((one) =>
    one.number === first ? [merged.info] : gone.has(one.number) ? [] : [one],
  );
  const deletes: Bytes[] = [];
  for (const { info } of run) for (const key of await segmentRowKeys(rows, info)) deletes.push(key);
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
