/**
 * What the text index is asked word by word, where a ranked list of hits is not enough.
 *
 * A question: recall weighs words and passes evidence along, so it needs the share of each. Quotes mean nothing here: a
 * question that quotes something is still a question. A word with irregular forms is looked for in all of them. Hits come with the memory they stand for, loaded once and judged
 * by the caller. Marks: which memories stand under a name.
 *
 * Texts that are near to another, at a cost that does not grow with the text: of a long one a sample of words is looked
 * up, and of those the rarest few are followed. The sample is taken by hash, so that two texts which share most of their
 * words share most of their samples, wherever in the text the words stand. Who is near enough is left to the callers.
 */
import type { FoundMemory, Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { Lifecycle } from "../records/types.js";
import type { Analyser } from "./analyse.js";
import { parseQuery } from "./query.js";
import { IMPACT_MAX, impactOf, weightOf } from "./score.js";
import { hashOf } from "./segment-rows.js";
import type { TextIndex } from "./text-index.js";
import {
  type Accept,
  holdersOf,
  narrowed,
  type Prepared,
  prepare,
  rankPrepared,
  sharesOf,
} from "./text-rank.js";

/** A question to the index. */
interface EvidenceQuery {
  readonly text: string;
  readonly limit: number;
  readonly lifecycles: readonly Lifecycle[];
  /** Whether whole conversations are asked for: long enough to hold most words in some form. */
  readonly bySession?: boolean;
  readonly accept: (found: readonly FoundMemory[]) => Promise<readonly boolean[]>;
}

/**
 * What another form of a word counts beside the word itself. LoCoMo's turns without a model, R@10: 0 gives .803, .7
 * and 1 .808 and .806. Conversations are ranked without other forms, which cost them .001.
 */
const FORM_SHARE = 0.7;

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
  const forms = query.bySession === true ? [] : otherForms(analyser, words);
  const every = [...words, ...forms.map(({ form }) => form)];
  const prepared = await prepare(view, { words: every, required: [], scored: true });
  // Those that pass are the hits, in the same order.
  const passed: FoundMemory[] = [];
  const accept = async (found: readonly FoundMemory[]): Promise<readonly boolean[]> => {
    const verdicts = await query.accept(found);
    passed.push(...found.filter((_, at) => verdicts[at] === true));
    return verdicts;
  };
  const ranked =
    words.length === 0 ? [] : await rankPrepared(prepared, { limit: query.limit, accept });
  const shares = sharesOf(
    prepared,
    ranked.map(({ place }) => place),
  );
  const counts = prepared.counts.slice(0, words.length);
  for (const [at, { of }] of forms.entries()) {
    counts[of] = (counts[of] ?? 0) + (prepared.counts[words.length + at] ?? 0);
  }
  return {
    analyser,
    terms: words.map((term, at) => ({
      term,
      weight: weightOf(prepared.total, Math.min(prepared.total, counts[at] ?? 0)),
    })),
    hits: ranked.map(({ id }, at) => ({
      key: keyString(id),
      memory: passed[at] as FoundMemory,
      shares: withForms(shares[at] as Float64Array, words.length, forms),
    })),
    sharesOf: (text) =>
      withForms(textShares(analyser, every, text, prepared.averageLength), words.length, forms),
  };
}

/** Another form of a word of the question, and the place of that word. */
interface OtherForm {
  readonly form: string;
  readonly of: number;
}

/** The forms of words that are not asked for already. */
function otherForms(analyser: Analyser, words: readonly string[]): readonly OtherForm[] {
  const known = new Set(words);
  return words.flatMap((word, of) =>
    analyser.formsOf(word).flatMap((form) => {
      if (known.has(form) || known.size >= LIMITS.queryWords) return [];
      known.add(form);
      return [{ form, of }];
    }),
  );
}

/** Shares of words and of their other forms, as those of the words alone: of each the greater. */
function withForms(shares: Float64Array, width: number, forms: readonly OtherForm[]): Float64Array {
  if (forms.length === 0) return shares;
  const own = shares.slice(0, width);
  for (const [at, { of }] of forms.entries()) {
    own[of] = Math.max(own[of] as number, FORM_SHARE * (shares[width + at] as number));
  }
  return own;
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

/** Words of a text whose rarity is looked up, and how many of them are followed. */
const SAMPLED_MAX = 48;
const FOLLOWED_MAX = 12;
/** Words of which the rarest is followed, where any word will do. */
const ANY_MAX = 32;

/** What shares words with a text, and how much of it is wanted. */
interface SharingQuery {
  readonly words: ReadonlySet<string>;
  readonly limit: number;
  /** How many documents the text itself is: words that only those hold lead nowhere. */
  readonly own: number;
}

/** Live memories that share the rarest words of a text, the best first. */
export async function sharingWords(
  index: TextIndex,
  reader: Reader,
  { words, limit, own }: SharingQuery,
): Promise<readonly Bytes[]> {
  const { view } = await index.view(reader);
  const asked = { words: sampleOf(words), required: [], scored: true };
  const prepared = await prepare(view, asked);
  const telling = asked.words
    .map((_, at) => at)
    .filter((at) => countAt(prepared, at) > own)
    .sort((a, b) => countAt(prepared, a) - countAt(prepared, b) || a - b)
    .slice(0, FOLLOWED_MAX);
  if (telling.length === 0) return [];
  const ranked = await rankPrepared(narrowed(prepared, telling), { limit });
  return ranked.map(({ id }) => id);
}

/** Words in the order of their hashes, of many the first ones; of equal hashes by the word. */
function sampleOf(words: ReadonlySet<string>): readonly string[] {
  const hashed = [...words].map((word) => ({ word, hash: hashOf(word) }));
  hashed.sort((a, b) => a.hash - b.hash || (a.word < b.word ? -1 : 1));
  return hashed.slice(0, SAMPLED_MAX).map(({ word }) => word);
}

function countAt({ counts }: Prepared, at: number): number {
  return counts[at] ?? 0;
}

/** How many holders of all words of a text are named, and who may be. */
interface HoldersQuery {
  /** A rarest word that no more documents hold is believed: its holders are the answer. */
  readonly few: number;
  /** Where more hold it, so many that hold all words are named, the last written first. */
  readonly most: number;
  readonly accept: Accept;
}

/** Who may hold all words of a text. */
interface Holders {
  /** By `keyString`. */
  readonly keys: readonly string[];
  /** Whether it took a search of its own. */
  readonly searched: boolean;
}

/** For each set of words the live memories that may hold them all, in order; the caller looks closer. */
export async function holdersOfAll(
  index: TextIndex,
  reader: Reader,
  sets: readonly ReadonlySet<string>[],
  query: HoldersQuery,
): Promise<readonly Holders[]> {
  const wanted = sets.map((words) => [...words].slice(0, ANY_MAX));
  const words = [...new Set(wanted.flat())];
  if (words.length === 0) return sets.map(() => ({ keys: [], searched: false }));
  const { view } = await index.view(reader);
  const prepared = await prepare(view, { words, required: [], scored: false });
  const placeOf = new Map(words.map((word, at) => [word, at]));
  const rarest = wanted.map((own) =>
    own
      .map((word) => placeOf.get(word) ?? 0)
      .reduce<number | undefined>((best, at) => {
        const isRarer = best === undefined || countAt(prepared, at) < countAt(prepared, best);
        return isRarer ? at : best;
      }, undefined),
  );
  const rare = [...new Set(rarest.filter((at) => at !== undefined))].filter(
    (at) => countAt(prepared, at) <= query.few,
  );
  const holders = await holdersOf(narrowed(prepared, rare), query.few);
  const byPlace = new Map(
    rare.map((at, number) => [at, (holders[number] ?? []).map(({ id }) => keyString(id))]),
  );
  return Promise.all(
    wanted.map(async (own, number): Promise<Holders> => {
      const at = rarest[number];
      const known = at === undefined ? [] : byPlace.get(at);
      if (known !== undefined) return { keys: [...new Set(known)], searched: false };
      const places = own.map((word) => placeOf.get(word) ?? 0);
      const every = narrowed(prepared, places, true);
      const found = await rankPrepared(every, { limit: query.most, accept: query.accept });
      return { keys: found.map(({ id }) => keyString(id)), searched: true };
    }),
  );
}
