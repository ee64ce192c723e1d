/**
 * Taking forgotten memories out of the segments: no word that only they held stays in any row, and
 * the counts are as if they had never been written.
 *
 * Usually `forget` knows the words, because it read the memory before it erased it; then only the rows
 * of those words are written anew. When it does not, because the process died in between or another
 * one forgot, the segment's whole dictionary is read to find them: slower, with the same result.
 *
 * What the text index holds of a memory that is about to be forgotten: each of its documents with its
 * words, read inside the very operation that erases them, so that no later write comes in between.
 */

import { ownedRanges } from "../history/fold-erasure.js";
import { decodeMemoryRow, type MemoryRow } from "../history/pointers.js";
import type { WriteTx } from "../history/writer.js";
import { journalKey, keyString, segmentKey } from "../kv/keyspace.js";
import type { Bytes, KvRow } from "../kv/kv.js";
import type { Version } from "../records/memory-record.js";
import { LIFECYCLES } from "../records/types.js";
import type { Analyser } from "./analyse.js";
import { eachDocumentWord } from "./document.js";
import type { SegmentInfo } from "./manifest.js";
import { allDocuments, ByteWriter, Postings, writePostings } from "./postings.js";
import {
  bucketOf,
  bucketWords,
  DOCUMENTS_PER_ROW,
  documentKeys,
  documentsIn,
  hashOf,
  LENGTHS_PER_ROW,
  withoutDocument,
  withoutLength,
  writeBucketWord,
} from "./segment-rows.js";
import {
  type DocumentPlace,
  findDocuments,
  type LoadedSegment,
  type Rows,
  type WantedDocument,
} from "./text-segments.js";

/** A document of a memory that was forgotten, as it was before. */
export interface ErasedDocument extends WantedDocument {
  readonly words: ReadonlySet<string>;
}

/** What a purge writes. */
interface PurgeChange {
  readonly puts: readonly KvRow[];
  readonly deletes: readonly Bytes[];
  /** All segments, with counts as they are afterwards. */
  readonly segments: readonly SegmentInfo[];
}

/** A document to take out, and its words. */
interface Target extends DocumentPlace {
  readonly words: ReadonlySet<string>;
}

/** What is to be done to one segment. */
interface Edit {
  readonly segment: LoadedSegment;
  readonly documents: Set<number>;
  /** Words whose documents change, and how many ended ones each of them loses. */
  readonly words: Map<string, number>;
  endedDocuments: number;
  endedWords: number;
}

/** Most rows of a dictionary read at a time. */
const PAGE_ROWS = 256;

/** Takes every document of the given memories out. `known` are those whose words are at hand. */
export async function planPurge(
  rows: Rows,
  segments: readonly LoadedSegment[],
  ids: readonly Bytes[],
  known: readonly ErasedDocument[],
): Promise<PurgeChange> {
  const quick = await knownTargets(rows, segments, known);
  const unknown = ids.filter((id) => !known.some((one) => keyString(one.id) === keyString(id)));
  const slow = await unknownTargets(rows, segments, unknown);
  const plan = await editRows(rows, segments, [...quick, ...slow]);
  if (plan !== undefined) return plan;
  // Some word was not where it should have been: believe the segments alone.
  const all = await unknownTargets(rows, segments, [...ids, ...known.map(({ id }) => id)]);
  const second = await editRows(rows, segments, all);
  if (second === undefined) throw new Error("a segment contradicts itself");
  return second;
}

async function knownTargets(
  rows: Rows,
  segments: readonly LoadedSegment[],
  known: readonly ErasedDocument[],
): Promise<readonly Target[]> {
  const places = await findDocuments(rows, segments, known);
  return places.flatMap((place, at) =>
    place === undefined ? [] : [{ ...place, words: known[at]?.words ?? new Set<string>() }],
  );
}

/** Finds documents by whose they are, and their words by reading every one of the segment. */
async function unknownTargets(
  rows: Rows,
  segments: readonly LoadedSegment[],
  ids: readonly Bytes[],
): Promise<readonly Target[]> {
  if (ids.length === 0) return [];
  const names = new Set(ids.map(keyString));
  const targets: Target[] = [];
  for (const segment of segments) {
    const { number, size } = segment.info;
    const wanted = new Map<number, Set<string>>();
    const chunks = await rows.getMany(documentKeys(number, size));
    for (const [chunk, row] of chunks.entries()) {
      for (const [at, entry] of documentsIn(row).entries()) {
        if (entry === undefined || !names.has(keyString(entry.id))) continue;
        wanted.set(chunk * DOCUMENTS_PER_ROW + at, new Set());
      }
    }
    if (wanted.size === 0) continue;
    await learnWords(rows, segment, wanted);
    for (const [document, words] of wanted) targets.push({ segment, document, words });
  }
  return targets;
}

async function learnWords(
  rows: Rows,
  { info }: LoadedSegment,
  wanted: ReadonlyMap<number, Set<string>>,
): Promise<void> {
  for (let from = 0; from < 2 ** info.bits; from += PAGE_ROWS) {
    const gte = segmentKey("textWords", info.number, from);
    const to = Math.min(from + PAGE_ROWS, 2 ** info.bits);
    const [page = []] = await rows.ranges([
      { gte, lt: segmentKey("textWords", info.number, to), limit: PAGE_ROWS },
    ]);
    for (const { word, documents } of page.flatMap(({ value }) => bucketWords(value))) {
      for (const document of allDocuments(new Postings(documents, 0, documents.length)).documents) {
        wanted.get(document)?.add(word);
      }
    }
  }
}

/** The rows without the targets; `undefined` when a word did not name a document that it should. */
async function editRows(
  rows: Rows,
  segments: readonly LoadedSegment[],
  targets: readonly Target[],
): Promise<PurgeChange | undefined> {
  const edits = editsOf(segments, targets);
  const puts: KvRow[] = [];
  const deletes: Bytes[] = [];
  for (const edit of edits.values()) {
    const rewritten = await rewriteWords(rows, edit, targets);
    if (rewritten === undefined) return undefined;
    for (const { key, value } of rewritten) {
      if (value === undefined) deletes.push(key);
      else puts.push({ key, value });
    }
    for (const row of await rewriteDocuments(rows, edit)) puts.push(row);
  }
  const infos = segments.map((segment) => {
    const edit = edits.get(segment.info.number);
    return edit === undefined ? segment.info : editedInfo(edit);
  });
  return { puts, deletes, segments: infos };
}

function editsOf(
  segments: readonly LoadedSegment[],
  targets: readonly Target[],
): ReadonlyMap<number, Edit> {
  const edits = new Map<number, Edit>();
  const editOf = (segment: LoadedSegment): Edit => {
    const { number } = segment.info;
    const edit = edits.get(number) ?? {
      segment,
      documents: new Set(),
      words: new Map(),
      endedDocuments: 0,
      endedWords: 0,
    };
    edits.set(number, edit);
    return edit;
  };
  for (const { segment, document, words } of targets) {
    const edit = editOf(segment);
    edit.documents.add(document);
    for (const word of words) edit.words.set(word, edit.words.get(word) ?? 0);
    const end = segment.ends?.[document] ?? 0;
    if (end === 0) continue;
    // The end was counted by the segment in whose interval it fell.
    const counted = segments.find(
      ({ info }) => info.lifecycle === segment.info.lifecycle && info.from <= end && end < info.to,
    );
    if (counted === undefined) continue;
    const ended = editOf(counted);
    ended.endedDocuments += 1;
    ended.endedWords += segment.lengths[document] ?? 0;
    for (const word of words) ended.words.set(word, (ended.words.get(word) ?? 0) + 1);
  }
  return edits;
}

interface RewrittenRow {
  readonly key: Bytes;
  /** `undefined` when nothing is left in it. */
  readonly value: Bytes | undefined;
}

async function rewriteWords(
  rows: Rows,
  edit: Edit,
  targets: readonly Target[],
): Promise<readonly RewrittenRow[] | undefined> {
  const { info } = edit.segment;
  const buckets = new Set([...edit.words.keys()].map((word) => bucketOf(hashOf(word), info.bits)));
  const keys = [...buckets].map((bucket) => segmentKey("textWords", info.number, bucket));
  const values = await rows.getMany(keys);
  const own = targets.filter(({ segment }) => segment.info.number === info.number);
  let expected = own.reduce((sum, { words }) => sum + words.size, 0);
  const rewritten = keys.map((key, at) => {
    const { value, removed } = withoutTargets(edit, values[at] ?? new Uint8Array(0));
    expected -= removed;
    return { key, value };
  });
  return expected === 0 ? rewritten : undefined;
}

function withoutTargets(
  edit: Edit,
  row: Bytes,
): { readonly value: Bytes | undefined; readonly removed: number } {
  const { info, lengths } = edit.segment;
  const writer = new ByteWriter(row.length);
  let removed = 0;
  for (const { word, documents: bytes } of bucketWords(row)) {
    const ended = edit.words.get(word);
    if (ended === undefined) {
      writeBucketWord(writer, word, bytes);
      continue;
    }
    const before = new Postings(bytes, 0, bytes.length);
    const { documents, times } = allDocuments(before);
    const kept = documents.flatMap((document, at) => (edit.documents.has(document) ? [] : [at]));
    removed += documents.length - kept.length;
    if (kept.length === 0 && before.ended === ended) continue;
    const left = {
      documents: kept.map((at) => documents[at] ?? 0),
      times: kept.map((at) => times[at] ?? 0),
    };
    const postings = new ByteWriter();
    const averageLength = info.averageMilli / 1000;
    writePostings(postings, left, before.ended - ended, { lengths, averageLength });
    writeBucketWord(writer, word, postings);
  }
  return { value: writer.length === 0 ? undefined : writer.take(), removed };
}

async function rewriteDocuments(rows: Rows, edit: Edit): Promise<readonly KvRow[]> {
  const { number } = edit.segment.info;
  const change = async (
    name: "textDocuments" | "textLengths",
    perRow: number,
    without: (row: Bytes, at: number) => Bytes,
  ): Promise<readonly KvRow[]> => {
    const chunks = new Set([...edit.documents].map((document) => Math.floor(document / perRow)));
    const keys = [...chunks].map((chunk) => segmentKey(name, number, chunk));
    const values = await rows.getMany(keys);
    return [...chunks].map((chunk, at) => {
      const inChunk = [...edit.documents].filter((one) => Math.floor(one / perRow) === chunk);
      const value = inChunk.reduce(
        (row, document) => without(row, document % perRow),
        values[at] ?? new Uint8Array(0),
      );
      return { key: keys[at] as Bytes, value };
    });
  };
  return [
    ...(await change("textDocuments", DOCUMENTS_PER_ROW, withoutDocument)),
    ...(await change("textLengths", LENGTHS_PER_ROW, withoutLength)),
  ];
}

function editedInfo(edit: Edit): SegmentInfo {
  const { info, lengths } = edit.segment;
  let words = 0;
  for (const document of edit.documents) words += lengths[document] ?? 0;
  return {
    ...info,
    documents: info.documents - edit.documents.size,
    words: info.words - words,
    endedDocuments: info.endedDocuments - edit.endedDocuments,
    endedWords: info.endedWords - edit.endedWords,
    edition: info.edition + 1,
  };
}

/** The documents of a memory, one for each state it ever had. */
export function documentsOf(
  tx: WriteTx,
  analyser: Analyser,
  memory: { readonly id: Bytes; readonly row: MemoryRow },
): readonly ErasedDocument[] {
  const { id, row } = memory;
  const { history } = ownedRanges(id);
  tx.view.need([], [history]);
  const before = tx.view.range(history).map(({ value }) => decodeMemoryRow(value));
  const states = [...before, row];
  tx.view.need(states.map(({ seq }) => journalKey(seq)));
  // Every version came with one of the states.
  const versions = new Map<number, Version>();
  const records = states.map((state) => tx.fold.records.memory(state));
  for (const { version } of records)
    if (version !== undefined) versions.set(version.number, version);
  return records.map(({ head }, at) => {
    const bodies = [head.version, ...head.siblings].flatMap((number) => versions.get(number) ?? []);
    const words = new Set<string>();
    eachDocumentWord(analyser, { head, bodies }, (word) => words.add(word));
    const begin = states[at]?.seq ?? row.seq;
    return { lifecycle: LIFECYCLES[head.lifecycle].code, id, begin, words };
  });
}
