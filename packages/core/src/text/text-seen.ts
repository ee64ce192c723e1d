/**
 * Which documents of the index a caller sees who does not see everything: scores, counts and averages are
 * then made of those alone.
 *
 * Now, a document is seen when it is what a memory that is seen says now. Of a position in the past, when
 * the memory was seen by then and is seen to this day. For the present the documents of a segment are kept
 * for each caller and corrected by what has changed since, for a segment never gets new ones.
 */
import type { Reader } from "../history/reader.js";
import type { Seen } from "../history/seen-view.js";
import { keyBytes, keyString, segmentKey } from "../kv/keyspace.js";
import { DOCUMENTS_PER_ROW, type DocumentEntry, documentAt, LENGTH_GONE } from "./segment-rows.js";
import { type LoadedSegment, segmentName } from "./text-segments.js";

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
