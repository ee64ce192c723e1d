/**
 * Memories that share words with a text, found at a cost that does not grow with the text: of a long one
 * a sample of words is looked up, and of those the rarest few are followed.
 *
 * The sample is taken by hash, so that two texts which share most of their words share most of their
 * samples, wherever in the text the words stand. Who is near enough is left to the callers.
 */
import type { Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { hashOf } from "./segment-rows.js";
import type { TextIndex } from "./text-index.js";
import {
  type Accept,
  holdersOf,
  narrowed,
  type Prepared,
  prepare,
  rankPrepared,
} from "./text-rank.js";

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
