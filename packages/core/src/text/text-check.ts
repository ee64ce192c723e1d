/**
 * Checking the text index against the journal it was made from. The index is a cache, so a fault in it endangers
 * no memory; but a word that a forgotten memory left behind is a breach.
 *
 * Counts of documents and words, and of every word the documents that hold it, are compared with an
 * index gathered anew in memory. Above a number of entries that would take too long; then it is only
 * looked whether a document of a forgotten memory is left.
 */
import type { Problem } from "../contract/upkeep.js";
import type { Reader } from "../history/reader.js";
import { segmentKey } from "../kv/keyspace.js";
import type { Analyser } from "./analyse.js";
import type { Manifest } from "./manifest.js";
import { blocksOf, Postings } from "./postings.js";
import { bucketWords, documentKeys, documentsIn } from "./segment-rows.js";
import type { LoadedSegment } from "./text-segments.js";
import { TextTail } from "./text-tail.js";

/** Entries up to which the index is gathered anew to compare with. */
const GATHERED_ENTRIES = 50_000;

/** Rows read at a time. */
const PAGE_ROWS = 512;

/** Problems that are named before the rest is only counted. */
const NAMED = 10;

/** What is alive in an index. */
interface Living {
  documents: number;
  words: number;
  /** For each word, how many documents hold it. */
  readonly holders: Map<string, number>;
}

/** What is wrong with the segments as a reader sees them. */
export async function checkSegments(
  reader: Reader,
  index: {
    readonly manifest: Manifest;
    readonly segments: readonly LoadedSegment[];
    readonly analyser: Analyser;
  },
): Promise<readonly Problem[]> {
  const { manifest, segments, analyser } = index;
  if (segments.length === 0) return [];
  const problems = await erasedDocuments(reader, manifest, segments);
  if (manifest.cursor > GATHERED_ENTRIES) return shortened(problems);
  const gathered = new TextTail(analyser, 0);
  await gathered.extend(reader, manifest.cursor);
  const lifecycles = new Set([
    ...segments.map(({ info }) => info.lifecycle),
    ...gathered.drafts.keys(),
  ]);
  for (const lifecycle of lifecycles) {
    const own = segments.filter(({ info }) => info.lifecycle === lifecycle);
    const stored = await livingIn(reader, own);
    for (const message of differences(stored, expected(gathered, lifecycle))) {
      problems.push(problem(`lifecycle ${lifecycle}: ${message}`));
    }
  }
  return shortened(problems);
}

/** Documents of memories that were forgotten before everything forgotten was taken out. */
async function erasedDocuments(
  reader: Reader,
  { purgedTo }: Manifest,
  segments: readonly LoadedSegment[],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { info } of segments) {
    const keys = documentKeys(info.number, info.size);
    for (let from = 0; from < keys.length; from += PAGE_ROWS) {
      const rows = await reader.getMany(keys.slice(from, from + PAGE_ROWS));
      const entries = rows.flatMap((row) => documentsIn(row).flatMap((entry) => entry ?? []));
      const memories = await reader.memoryRows(entries.map(({ id }) => id));
      for (const [at, row] of memories.entries()) {
        const isGone = row === undefined || (row.lifecycle === "erased" && row.seq < purgedTo);
        if (!isGone) continue;
        const begin = entries[at]?.begin;
        problems.push(problem(`segment ${info.number} holds entry ${begin}, which is gone`));
      }
    }
  }
  return problems;
}

async function livingIn(reader: Reader, segments: readonly LoadedSegment[]): Promise<Living> {
  const living: Living = { documents: 0, words: 0, holders: new Map() };
  for (const { info } of segments) {
    living.documents += info.documents - info.endedDocuments;
    living.words += info.words - info.endedWords;
    for (let from = 0; from < 2 ** info.bits; from += PAGE_ROWS) {
      const gte = segmentKey("textWords", info.number, from);
      const lt = segmentKey("textWords", info.number, from + PAGE_ROWS);
      const [rows = []] = await reader.ranges([{ gte, lt, limit: PAGE_ROWS }]);
      for (const { word, documents } of rows.flatMap(({ value }) => bucketWords(value))) {
        const postings = new Postings(documents, 0, documents.length);
        const { count, ended } = postings;
        const held = [...blocksOf(postings)].length === 0 ? 0 : count;
        living.holders.set(word, (living.holders.get(word) ?? 0) + held - ended);
      }
    }
  }
  return living;
}

function expected(gathered: TextTail, lifecycle: number): Living {
  const living: Living = { documents: 0, words: 0, holders: new Map() };
  const draft = gathered.drafts.get(lifecycle);
  if (draft === undefined) return living;
  const stands = (at: number): boolean =>
    draft.documents[at] !== undefined && (draft.ends[at] ?? 0) === 0;
  for (const [at, length] of draft.lengths.entries()) {
    if (!stands(at)) continue;
    living.documents += 1;
    living.words += length;
  }
  for (const { word, documents, from, to } of draft.words) {
    living.holders.set(word, documents.subarray(from, to).filter(stands).length);
  }
  return living;
}

function differences(stored: Living, right: Living): readonly string[] {
  const found: string[] = [];
  for (const what of ["documents", "words"] as const) {
    if (stored[what] === right[what]) continue;
    found.push(`${what}: expected ${right[what]}, the segments count ${stored[what]}`);
  }
  // Words are content: a check says how many are wrong, not which.
  const words = new Set([...stored.holders.keys(), ...right.holders.keys()]);
  let wrong = 0;
  for (const word of words) {
    if ((stored.holders.get(word) ?? 0) !== (right.holders.get(word) ?? 0)) wrong += 1;
  }
  if (wrong > 0) found.push(`${wrong} words are not held by as many documents as they should`);
  return found;
}

function problem(message: string): Problem {
  return { code: "ERR_CORRUPT", message: `text index: ${message}` };
}

function shortened(problems: readonly Problem[]): readonly Problem[] {
  if (problems.length <= NAMED) return problems;
  const rest = problems.length - NAMED;
  return [...problems.slice(0, NAMED), problem(`and ${rest} problems more`)];
}
