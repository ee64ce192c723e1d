/**
 * What the text index knows of a question, word by word: for recall, which weighs words and passes
 * evidence along, a sum of scores is not enough.
 *
 * Quotes mean nothing here: a question that quotes something is still a question. Hits come with the
 * memory they stand for, loaded once and judged by the caller.
 */
import type { FoundMemory, Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { Lifecycle } from "../records/types.js";
import type { Analyser } from "./analyse.js";
import { parseQuery } from "./query.js";
import { IMPACT_MAX, impactOf, weightOf } from "./score.js";
import type { TextIndex } from "./text-index.js";
import { holdersOf, prepare, rankPrepared, sharesOf } from "./text-rank.js";

/** A question to the index. */
interface EvidenceQuery {
  readonly text: string;
  readonly limit: number;
  readonly lifecycles: readonly Lifecycle[];
  readonly accept: (found: readonly FoundMemory[]) => Promise<readonly boolean[]>;
}

/** A word of the question as the index knows it. */
export interface QuestionTerm {
  readonly term: string;
  /** How much the word tells: rare words tell more. */
  readonly weight: number;
}

/** A memory that words found. */
interface EvidenceHit {
  /** `keyString` of its id. */
  readonly key: string;
  readonly memory: FoundMemory;
  /** Of each word, how much of the memory it is, 0 to 1. */
  readonly shares: Float64Array;
}

/** What the index knows of a question. */
export interface QuestionEvidence {
  readonly analyser: Analyser;
  readonly terms: readonly QuestionTerm[];
  /** The best first. */
  readonly hits: readonly EvidenceHit[];
  /** The same shares for a text that is no hit. */
  readonly sharesOf: (text: string) => Float64Array;
}

/** Asks the index about a question at a reader's position. */
export async function questionEvidence(
  index: TextIndex,
  reader: Reader,
  query: EvidenceQuery,
): Promise<QuestionEvidence> {
  const { view, analyser } = await index.view(reader, query.lifecycles);
  const { words } = parseQuery(analyser, query.text.replace(/["“”„]/g, " "));
  const prepared = await prepare(view, { words, required: [], scored: true });
  // Those that pass are the hits, in the same order.
  const passed: FoundMemory[] = [];
  const accept = async (found: readonly FoundMemory[]): Promise<readonly boolean[]> => {
    const verdicts = await query.accept(found);
    passed.push(...found.filter((_, at) => verdicts[at] === true));
    return verdicts;
  };
  const ranked =
    words.length === 0 ? [] : await rankPrepared(prepared, { limit: query.limit, accept });
  return {
    analyser,
    terms: words.map((term, at) => ({
      term,
      weight: weightOf(prepared.total, prepared.counts[at] ?? 0),
    })),
    hits: ranked.map(({ id, place }, at) => ({
      key: keyString(id),
      memory: passed[at] as FoundMemory,
      shares: sharesOf(prepared, place),
    })),
    sharesOf: (text) => textShares(analyser, words, text, prepared.averageLength),
  };
}

function textShares(
  analyser: Analyser,
  words: readonly string[],
  text: string,
  averageLength: number,
): Float64Array {
  const times = new Map(words.map((word) => [word, 0]));
  let length = 0;
  analyser.eachWord(text, (word) => {
    length += 1;
    const count = times.get(word);
    if (count !== undefined) times.set(word, count + 1);
  });
  return Float64Array.from(words, (word) => {
    const count = times.get(word) ?? 0;
    return count === 0 ? 0 : impactOf(count, length, averageLength) / IMPACT_MAX;
  });
}

/** What stands under a mark: how many memories, and which; none are named of too many. */
export interface MarkedMemories {
  readonly count: number;
  /** `keyString` of the ids. */
  readonly keys: readonly string[];
}

/** Looks up which memories stand under marks (`text/names.ts`); marks nobody stands under are left out. */
export async function markedMemories(
  index: TextIndex,
  reader: Reader,
  marks: readonly string[],
  options: { readonly lifecycles: readonly Lifecycle[]; readonly most: number },
): Promise<ReadonlyMap<string, MarkedMemories>> {
  const found = new Map<string, MarkedMemories>();
  if (marks.length === 0) return found;
  const { view } = await index.view(reader, options.lifecycles);
  const prepared = await prepare(view, { words: marks, required: [], scored: false });
  const holders = await holdersOf(prepared, options.most);
  for (const [at, mark] of marks.entries()) {
    const count = prepared.counts[at] ?? 0;
    const keys = [...new Set((holders[at] ?? []).map(({ id }) => keyString(id)))];
    if (count > 0) found.set(mark, { count, keys });
  }
  return found;
}
