/**
 * Searching the text index at one position: statistics, scores, and the hits that hold.
 *
 * At the end of the journal the counts of the manifest are exact, so a search reads the rows of its
 * words and nothing else. For the past they are counted again from the same rows: which documents had
 * begun by then and not ended. The formula and the ties are the same everywhere, so a search gives
 * the same hits and scores before and after a flush, a merge or a rebuild.
 *
 * A hit holds if the memory's row at the position names the entry that the document began with. The
 * index is therefore never believed about what is there, only about where to look; and filters see
 * whole memories, in batches, until enough have passed.
 */
import { copyBytes } from "../codec/slab.js";
import { utf8 } from "../codec/text.js";
import type { FoundMemory, Reader } from "../history/reader.js";
import { journalKey, segmentKey } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import type { SegmentInfo } from "./manifest.js";
import { allDocuments, type Postings, timesAmong, type WordDocuments } from "./postings.js";
import { type QueryWord, type ScanParts, scanDraft, scanSegment } from "./scan-segment.js";
import { BestHits, IMPACT_MAX, impactOf, weightOf } from "./score.js";
import type { DraftSegment } from "./segment.js";
import { bucketOf, type DocumentEntry, findInBucket, hashOf, LENGTH_GONE } from "./segment-rows.js";
import {
  begunBy,
  documentsAt,
  type IsSeen,
  type LoadedSegment,
  type SeenDocuments,
  seenDocuments,
  seenFrom,
} from "./text-segments.js";
import type { TextTail } from "./text-tail.js";

/** The index as one reader sees it: the documents of some lifecycles up to its position. */
export interface IndexView {
  readonly reader: Reader;
  /** In the order of their intervals. */
  readonly segments: readonly LoadedSegment[];
  /** Absent where the position lies before it. */
  readonly tail: TextTail | undefined;
  /** Codes of the lifecycles that are searched. */
  readonly lifecycles: readonly number[];
}

/** What is looked for. */
interface WordsWanted {
  readonly words: readonly string[];
  readonly required: readonly string[];
  /** False leaves scores at 0: what was written last comes first. */
  readonly scored: boolean;
}

/** Judges whole memories; a `false` takes one out. */
export type Accept = (
  found: readonly FoundMemory[],
) => Promise<readonly boolean[]> | readonly boolean[];

/** How many hits, and which pass. */
interface RankOptions {
  readonly limit: number;
  readonly accept?: Accept;
  /** Candidates that are looked at before giving up; without it all of them. */
  readonly examineMost?: number;
}

/** A memory that was found. */
export interface RankedMemory {
  readonly id: Bytes;
  /** The entry that the memory stood as. */
  readonly seq: number;
  readonly score: number;
  readonly place: HitPlace;
}

/** Where a hit lies among what was searched. */
interface HitPlace {
  /** The code of its lifecycle. */
  readonly lifecycle: number;
  /** The number of its segment among those of the lifecycle; below 0 for the tail. */
  readonly source: number;
  readonly document: number;
}

/** A segment with the documents of the words that are looked for. */
interface SegmentWords {
  readonly segment: LoadedSegment;
  /** By the words asked for; `undefined` where it holds none. */
  readonly postings: readonly (Postings | undefined)[];
  /** Documents that had begun by the position. */
  readonly begun: number;
  /** Which documents the caller sees; absent for whoever sees all. */
  readonly seen: SeenDocuments | undefined;
}

/** A query made ready: everything read that scoring needs. */
export interface Prepared {
  readonly view: IndexView;
  readonly wanted: WordsWanted;
  readonly segments: readonly SegmentWords[];
  /** Whether the caller sees a document of the tail; absent for whoever sees all. */
  readonly isSeen: IsSeen | undefined;
  /** How many documents hold each word, at the position. */
  readonly counts: readonly number[];
  readonly total: number;
  readonly averageLength: number;
}

/** The rows in which words stand, segment by segment. */
export function wordKeys(infos: readonly SegmentInfo[], words: readonly string[]): Bytes[] {
  const hashes = words.map(hashOf);
  return infos.flatMap(({ number, bits }) =>
    hashes.map((hash) => segmentKey("textWords", number, bucketOf(hash, bits))),
  );
}

/** Reads what the words need and counts. */
export async function prepare(view: IndexView, wanted: WordsWanted): Promise<Prepared> {
  const { reader } = view;
  const infos = view.segments.map(({ info }) => info);
  const keys = wordKeys(infos, wanted.words);
  // Once for all segments: making the bytes of a word takes longer than looking for them.
  const spelled = wanted.words.map((word) => utf8(word));
  const [postings, begun, seen] = await Promise.all([
    postingsIn(reader, keys, spelled),
    Promise.all(view.segments.map((segment) => begunBy(reader, segment, reader.seq))),
    seenDocuments(reader, view.segments),
  ]);
  const isSeen = reader.seen === undefined ? undefined : await seenFrom(reader);
  const width = wanted.words.length;
  const segments = view.segments.map((segment, number) => ({
    segment,
    begun: begun[number] ?? 0,
    seen: seen?.[number],
    postings: postings.slice(number * width, (number + 1) * width),
  }));
  const prepared = { view, wanted, segments, isSeen };
  return { ...prepared, ...statistics(prepared) };
}

/**
 * The documents of the words, again and again in their order, in the rows of keys. A row holds dozens of words, and
 * mostly not the one that is looked for: it is copied where it does.
 */
async function postingsIn(
  reader: Reader,
  keys: readonly Bytes[],
  words: readonly Uint8Array[],
): Promise<readonly (Postings | undefined)[]> {
  const wordOf = (at: number): Uint8Array => words[at % words.length] as Uint8Array;
  const { snapshot } = reader;
  if (snapshot.lookNow === undefined) {
    const rows = await reader.getMany(keys);
    return rows.map((row, at) => (row === undefined ? undefined : findInBucket(row, wordOf(at))));
  }
  let word = wordOf(0);
  const look = (row: Bytes): Postings | undefined =>
    findInBucket(row, word) === undefined ? undefined : findInBucket(copyBytes(row), word);
  return keys.map((key, at) => {
    word = wordOf(at);
    return snapshot.lookNow?.(key, look);
  });
}

/**
 * The same query with some of its words alone, all of them required where `every` says so: nothing is
 * read again.
 */
export function narrowed(prepared: Prepared, places: readonly number[], every = false): Prepared {
  const pick = <T>(list: readonly T[]): T[] => places.map((at) => list[at] as T);
  const words = pick(prepared.wanted.words);
  return {
    ...prepared,
    wanted: { ...prepared.wanted, words, required: every ? words : [] },
    segments: prepared.segments.map((one) => ({ ...one, postings: pick(one.postings) })),
    counts: pick(prepared.counts),
  };
}

interface Statistics {
  readonly counts: readonly number[];
  readonly total: number;
  readonly averageLength: number;
}

function statistics({
  view,
  wanted: { words },
  segments,
  isSeen,
}: Omit<Prepared, keyof Statistics>): Statistics {
  const counts = words.map(() => 0);
  let total = 0;
  let length = 0;
  const add = (documents: number, held: number, each: (at: number) => number): void => {
    total += documents;
    length += held;
    for (let at = 0; at < counts.length; at += 1) counts[at] = (counts[at] ?? 0) + each(at);
  };
  for (const one of segments) {
    const { info } = one.segment;
    if (one.seen !== undefined || view.tail === undefined) {
      const { documents, held } = standingIn(one, view.reader.seq);
      add(documents, held, (at) => countStanding(one, one.postings[at], view.reader.seq));
    } else {
      add(info.documents - info.endedDocuments, info.words - info.endedWords, (at) => {
        const postings = one.postings[at];
        return postings === undefined ? 0 : postings.count - postings.ended;
      });
    }
  }
  for (const draft of draftsOf(view)) {
    const at = { seq: view.reader.seq, isSeen };
    const { documents, held } = standingInDraft(draft, at);
    add(documents, held, (word) => countInDraft(draft, words[word] ?? "", at));
  }
  return { counts, total, averageLength: total === 0 ? 1 : Math.max(length, 1) / total };
}

function draftsOf({ tail, lifecycles }: IndexView): readonly DraftSegment[] {
  return lifecycles.flatMap((lifecycle) => tail?.drafts.get(lifecycle) ?? []);
}

/** Whether a document of a segment stands at a position. */
function stands({ segment, begun, seen }: SegmentWords, document: number, seq: number): boolean {
  if (seen !== undefined && !seen.has(document)) return false;
  const end = segment.ends?.[document] ?? 0;
  return document < begun && (end === 0 || end > seq);
}

function standingIn(one: SegmentWords, seq: number): { documents: number; held: number } {
  const { lengths } = one.segment;
  if (one.seen?.sums !== undefined) return one.seen.sums;
  let documents = 0;
  let held = 0;
  for (let document = 0; document < one.begun; document += 1) {
    const length = lengths[document] as number;
    if (length === LENGTH_GONE || !stands(one, document, seq)) continue;
    documents += 1;
    held += length;
  }
  return { documents, held };
}

function countStanding(one: SegmentWords, postings: Postings | undefined, seq: number): number {
  if (postings === undefined) return 0;
  return allDocuments(postings).documents.filter((document) => stands(one, document, seq)).length;
}

/** A position, and who looks. */
interface DraftPlace {
  readonly seq: number;
  readonly isSeen: IsSeen | undefined;
}

/** Whether a document of a draft stands at a position, for whoever looks. */
function standsInDraft(draft: DraftSegment, document: number, at: DraftPlace): boolean {
  const entry = draft.documents[document];
  const end = draft.ends[document] ?? 0;
  if (entry === undefined || entry.begin > at.seq || (end !== 0 && end <= at.seq)) return false;
  return at.isSeen === undefined || at.isSeen(entry);
}

function standingInDraft(draft: DraftSegment, at: DraftPlace): { documents: number; held: number } {
  const { seq } = at;
  let documents = 0;
  let held = 0;
  for (let document = 0; document < draft.documents.length; document += 1) {
    if (!standsInDraft(draft, document, at)) continue;
    documents += 1;
    held += draft.lengths[document] ?? 0;
  }
  // Documents of segments that are seen were counted one by one: none that has ended is among them.
  if (at.isSeen !== undefined) return { documents, held };
  for (const { end, length } of draft.olderEnds) {
    if (end > seq) continue;
    documents -= 1;
    held -= length;
  }
  return { documents, held };
}

function countInDraft(draft: DraftSegment, word: string, at: DraftPlace): number {
  const { seq } = at;
  let count = 0;
  for (const document of draft.words.get(word)?.documents ?? []) {
    if (standsInDraft(draft, document, at)) count += 1;
  }
  if (at.isSeen !== undefined) return count;
  for (const { end, words } of draft.olderEnds) if (end <= seq && words.has(word)) count -= 1;
  return count;
}

/** The best hits that hold and pass, the best first; of equal ones the last written first. */
export async function rankPrepared(
  prepared: Prepared,
  options: RankOptions,
): Promise<readonly RankedMemory[]> {
  const { limit, accept, examineMost = Number.POSITIVE_INFINITY } = options;
  const { reader } = prepared.view;
  const kept: RankedMemory[] = [];
  let examined = 0;
  // Asking for a few more than wanted is cheap; going through the segments again is not.
  let most = accept === undefined ? limit : limit + Math.max(16, limit >> 2);
  for (;;) {
    const asked = Math.min(most, examineMost);
    const { candidates, isAll } = await bestCandidates(prepared, asked);
    while (examined < candidates.length) {
      const batch = candidates.slice(examined, examined + Math.max(limit - kept.length, 64));
      // Whoever goes on reads by the batch, which lets others have a turn.
      const isFirst = examined === 0 && reader.isAtHand;
      const held =
        isFirst && accept !== undefined
          ? await holdingNow(reader, batch, accept)
          : await holding(reader, batch, accept);
      for (const hit of held) {
        kept.push(hit);
        if (kept.length === limit) return kept;
      }
      examined += batch.length;
    }
    if (isAll || asked >= examineMost) return kept;
    most *= 4;
  }
}

/** Of candidates those that are there at the position, as the index says, and pass. */
async function holding(
  reader: Reader,
  candidates: readonly RankedMemory[],
  accept: Accept | undefined,
): Promise<readonly RankedMemory[]> {
  reader.soon(() => ({ keys: candidates.map(({ seq }) => journalKey(seq)) }));
  const rows = await reader.memoryRows(candidates.map(({ id }) => id));
  const there = candidates.flatMap((hit, at) => {
    const row = rows[at];
    const holds = row !== undefined && row.lifecycle !== "erased" && row.seq === hit.seq;
    return holds ? [{ hit, row }] : [];
  });
  if (accept === undefined) return there.map(({ hit }) => hit);
  const found = await reader.memories(
    there.map(({ hit }) => hit.id),
    there.map(({ row }) => row),
  );
  const whole = found.flatMap((memory, at) =>
    memory === undefined ? [] : [{ memory, hit: there[at]?.hit }],
  );
  const verdicts = await accept(whole.map(({ memory }) => memory));
  return whole.flatMap(({ hit }, at) => (verdicts[at] === true && hit !== undefined ? [hit] : []));
}

/** The same where reading waits for nobody: memory by memory, what is read for one is gone before the next. */
async function holdingNow(
  reader: Reader,
  candidates: readonly RankedMemory[],
  accept: Accept,
): Promise<readonly RankedMemory[]> {
  const memories: FoundMemory[] = [];
  const hits: RankedMemory[] = [];
  for (const hit of candidates) {
    const row = reader.rowNow(hit.id);
    const memory = row?.seq === hit.seq ? reader.memoryNow(hit.id, row) : undefined;
    if (memory === undefined) continue;
    memories.push(memory);
    hits.push(hit);
  }
  const verdicts = await accept(memories);
  return hits.filter((_, at) => verdicts[at] === true);
}

/** The best so many documents, with whose they are, and whether there are no more. */
async function bestCandidates(
  prepared: Prepared,
  most: number,
): Promise<{ readonly candidates: readonly RankedMemory[]; readonly isAll: boolean }> {
  const { view } = prepared;
  let isAll = true;
  const lists = await Promise.all(
    view.lifecycles.map(async (lifecycle) => {
      const segments = prepared.segments.filter(
        ({ segment }) => segment.info.lifecycle === lifecycle,
      );
      const draft = view.tail?.drafts.get(lifecycle);
      const scored = scan(prepared, segments, draft, most).sorted();
      if (scored.length === most) isAll = false;
      const inSegments = scored.filter(({ source }) => source >= 0);
      const entries = await documentsAt(
        view.reader,
        inSegments.map(({ source, document }) => ({
          segment: (segments[source] as SegmentWords).segment,
          document,
        })),
      );
      let next = 0;
      const found: RankedMemory[] = [];
      for (const { source, document, score } of scored) {
        const entry = source < 0 ? draft?.documents[document] : entries[next++];
        if (entry === undefined) continue;
        const place = { lifecycle, source, document };
        found.push({ id: entry.id, seq: entry.begin, score, place });
      }
      return found;
    }),
  );
  // Each list is exact, so what is best of all of them is among them.
  const candidates =
    lists.length === 1
      ? (lists[0] ?? [])
      : lists.flat().sort((a, b) => b.score - a.score || b.seq - a.seq);
  return { candidates: candidates.slice(0, most), isAll };
}

/** Marks hits of the draft; segments are numbered from 0. */
const DRAFT = -1;

/** Scores one lifecycle, the newest documents first. */
function scan(
  prepared: Prepared,
  segments: readonly SegmentWords[],
  draft: DraftSegment | undefined,
  most: number,
): BestHits {
  const { wanted, counts, total, averageLength, view, isSeen } = prepared;
  const { seq } = view.reader;
  const best = new BestHits(most);
  const requiredWords = new Set(wanted.required);
  const wordsOf = <Held>(heldBy: (word: string, at: number) => Held | undefined) =>
    wanted.words.map(
      (word, at): QueryWord<Held> => ({
        held: heldBy(word, at),
        weight: wanted.scored ? weightOf(total, counts[at] ?? 0) : 0,
        isRequired: requiredWords.has(word),
      }),
    );
  const shared = { averageLength, requiredCount: requiredWords.size, best };
  if (draft !== undefined) {
    const isVisible = (document: number): boolean =>
      standsInDraft(draft, document, { seq, isSeen });
    const parts: ScanParts = { ...shared, source: DRAFT, lengths: draft.lengths, isVisible };
    scanDraft(
      wordsOf((word) => draft.words.get(word)),
      parts,
    );
  }
  for (let number = segments.length - 1; number >= 0; number -= 1) {
    const one = segments[number] as SegmentWords;
    const { lengths, info } = one.segment;
    const isVisible = (document: number): boolean => stands(one, document, seq);
    scanSegment(
      wordsOf((_, at) => one.postings[at]),
      info.averageMilli / 1000,
      { ...shared, source: number, lengths, isVisible },
    );
  }
  return best;
}

/**
 * How much of each document each word of a query is, 0 to 1, in the order of the words: what repeating it
 * has brought it to, its length considered. Scores are sums of these. The documents of a segment are looked up
 * together, in one walk along each word.
 */
export function sharesOf(prepared: Prepared, places: readonly HitPlace[]): readonly Float64Array[] {
  const { words } = prepared.wanted;
  const shares = places.map(() => new Float64Array(words.length));
  const ascending = places.map((_, at) => at);
  ascending.sort((a, b) => (places[a]?.document ?? 0) - (places[b]?.document ?? 0));
  const bySource = new Map<string, number[]>();
  for (const at of ascending) {
    const { lifecycle, source } = places[at] as HitPlace;
    const name = `${lifecycle} ${source}`;
    const own = bySource.get(name);
    if (own === undefined) bySource.set(name, [at]);
    else own.push(at);
  }
  for (const own of bySource.values()) {
    const { lifecycle, source } = places[own[0] as number] as HitPlace;
    const documents = own.map((at) => (places[at] as HitPlace).document);
    addShares(prepared, { lifecycle, source, documents }, (at, word, share) => {
      (shares[own[at] as number] as Float64Array)[word] = share;
    });
  }
  return shares;
}

/** Some documents of one segment or draft, ascending. */
interface SourcePlaces extends Omit<HitPlace, "document"> {
  readonly documents: readonly number[];
}

function addShares(
  { view, wanted, segments, averageLength }: Prepared,
  { lifecycle, source, documents }: SourcePlaces,
  put: (at: number, word: number, share: number) => void,
): void {
  const draft = source < 0 ? view.tail?.drafts.get(lifecycle) : undefined;
  const one = source < 0 ? undefined : segmentAt(segments, lifecycle, source);
  const lengths = draft?.lengths ?? one?.segment.lengths ?? [];
  for (const [word, name] of wanted.words.entries()) {
    const fresh = draft?.words.get(name);
    const postings = one?.postings[word];
    if (fresh === undefined && postings === undefined) continue;
    const times = postings && timesAmong(postings, documents);
    for (const [at, document] of documents.entries()) {
      const count = times?.[at] ?? (fresh === undefined ? 0 : timesAt(fresh, document));
      const length = lengths[document] ?? 0;
      if (count > 0) put(at, word, impactOf(count, length, averageLength) / IMPACT_MAX);
    }
  }
}

/** A segment by its number among those of its lifecycle. */
function segmentAt(
  segments: readonly SegmentWords[],
  lifecycle: number,
  number: number,
): SegmentWords | undefined {
  let before = 0;
  for (const one of segments) {
    if (one.segment.info.lifecycle !== lifecycle) continue;
    if (before === number) return one;
    before += 1;
  }
  return undefined;
}

/**
 * The documents that stand at the position and hold a word of the query, the newest first; none of a
 * word that more than `most` hold.
 */
export async function holdersOf(
  prepared: Prepared,
  most: number,
): Promise<readonly (readonly DocumentEntry[])[]> {
  const { view, wanted, segments, counts, isSeen } = prepared;
  const { seq } = view.reader;
  const isRare = (at: number): boolean => (counts[at] ?? 0) <= most;
  const inSegments = wanted.words.map((_, at) =>
    segments.flatMap((one) => {
      const postings = isRare(at) ? one.postings[at] : undefined;
      if (postings === undefined) return [];
      const numbers = allDocuments(postings).documents;
      return numbers.flatMap((document) =>
        stands(one, document, seq) ? [{ segment: one.segment, document }] : [],
      );
    }),
  );
  const entries = await documentsAt(view.reader, inSegments.flat());
  let next = 0;
  return wanted.words.map((word, at) => {
    const stored = (inSegments[at] ?? []).flatMap(() => entries[next++] ?? []);
    if (!isRare(at)) return [];
    const fresh = draftsOf(view).flatMap((draft) =>
      (draft.words.get(word)?.documents ?? []).flatMap((document) =>
        standsInDraft(draft, document, { seq, isSeen }) ? (draft.documents[document] ?? []) : [],
      ),
    );
    return [...stored, ...fresh].reverse();
  });
}

function timesAt({ documents, times }: WordDocuments, document: number): number {
  return times[placeOf(documents, document)] ?? 0;
}

/** Where a number stands in an ascending list; -1 where it does not. */
function placeOf(ascending: readonly number[], wanted: number): number {
  let low = 0;
  let high = ascending.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const here = ascending[middle] as number;
    if (here === wanted) return middle;
    if (here < wanted) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
