/**
 * From lanes to one order: what each lane says of a memory, joined into a score that explains itself.
 *
 * Promise: pure. Lanes are on one scale: 1 is what the best lexical hit has. Relevance is the sum of
 * the lanes; trust, use and age are factors of it, narrow ones, so that neither a well-read memory
 * nor an old one overturns a clear difference in what was asked; only trust may halve a score, because
 * what a document says must not stand above what the owner said. Ties go to the newer, then by id.
 *
 * A factor alone would not do: one rare word that a question happens to share with a document outweighs
 * it. So `belowTrusted` holds such a hit below what a higher source says in nearly the same words.
 */

import type { LaneScores } from "../contract/recall.js";
import type { Source } from "../records/types.js";
import { outranks } from "../trust/gate.js";

/** How much each lane counts. */
export const LANE_WEIGHTS: { readonly [lane in keyof LaneScores]-?: number } = {
  lexical: 1,
  vector: 1,
  slot: 0.8,
  names: 1,
  graph: 1,
  time: 0.4,
  standing: 1,
};

/** The factors of a memory itself. */
export interface OwnFactors {
  /** Trust of its source and confidence of its version, 0 to 1. */
  readonly trust: number;
  /** Salience, 0 to 1. */
  readonly salience: number;
  /** Whether its speaker is whom the question names. */
  readonly speaker: boolean;
}

/** A memory to be ranked. */
export interface Contender {
  readonly key: string;
  readonly lanes: LaneScores;
  readonly factors: OwnFactors;
  /** The seq that brought it: newer stands first among equals. */
  readonly seq: number;
}

/** A ranked memory. */
export interface Ranked extends Contender {
  readonly score: number;
}

/** A turn by whom the question names says more about that person than a turn that mentions them. */
const SPEAKER_FACTOR = 1.2;
/** The most that use can lift a memory, and the least it leaves. */
const SALIENCE_SPAN = 0.2;

/** Ranks contenders, best first; those no lane speaks for are left out. */
export function fuse(contenders: readonly Contender[]): Ranked[] {
  const ranked = contenders.flatMap((contender): Ranked[] => {
    const { trust, salience, speaker } = contender.factors;
    const relevance = relevanceOf(contender.lanes, speaker);
    if (relevance <= 0) return [];
    const factor = trust * (1 - SALIENCE_SPAN / 2 + SALIENCE_SPAN * salience);
    return [{ ...contender, score: relevance * factor }];
  });
  return ranked.sort(
    (a, b) => b.score - a.score || b.seq - a.seq || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0),
  );
}

function relevanceOf(lanes: LaneScores, speaker: boolean): number {
  const { time = 0, lexical = 0, ...others } = lanes;
  let sum = LANE_WEIGHTS.lexical * lexical * (speaker ? SPEAKER_FACTOR : 1);
  for (const [lane, value = 0] of Object.entries(others)) {
    sum += LANE_WEIGHTS[lane as keyof LaneScores] * value;
  }
  // Time alone says nothing: every memory of that day has it.
  return sum === 0 ? 0 : sum + LANE_WEIGHTS.time * time;
}

/** What a hit says of the words of a question, and how high its source stands. */
export interface Voiced {
  /** Own evidence, one value a word of the question. */
  readonly own: Float64Array;
  /** How much each word of the question says. */
  readonly weights: readonly number[];
  readonly source: Source;
}

/** Words of the question that a lower source may have beyond those of a higher one, and stay below it. */
const ADDED_WORDS = 1;
/** Words that two hits must share to speak of the same thing, unless the question has fewer. */
const SHARED_WORDS = 2;

/**
 * Ranked hits, each below every hit of a higher source that speaks of the same words of the question but
 * for one: more words than that are another answer. A hit that is held back gets the score of the one it
 * stands below.
 */
export function belowTrusted(
  ranked: readonly Ranked[],
  voiceOf: (key: string) => Voiced | undefined,
): readonly Ranked[] {
  const voiced = ranked.map((one) => ({ one, voice: voiceOf(one.key) }));
  const held = voiced.map(({ one, voice }) => {
    const above = voiced.filter(
      (other) =>
        voice !== undefined &&
        other.voice !== undefined &&
        outranks(other.voice.source, voice.source) &&
        saysNearly(other.voice.own, voice),
    );
    return { one, above: above.map((other) => other.one.key) };
  });
  const placed = new Map<string, Ranked>();
  const byKey = new Map(held.map((item) => [item.one.key, item]));
  // What stands above stands higher as a source, so no two wait for each other.
  const place = (key: string): number => {
    const known = placed.get(key);
    if (known !== undefined) return known.score;
    const item = byKey.get(key);
    if (item === undefined) return Number.POSITIVE_INFINITY;
    const scores = item.above.map(place);
    const score = Math.min(item.one.score, ...scores);
    placed.set(key, { ...item.one, score });
    return score;
  };
  for (const { one } of held) place(one.key);
  // Sorting is stable: what was held back to a score stands behind whoever has it by right.
  const order = [...placed.values()].sort((a, b) => b.score - a.score);
  return order;
}

/**
 * Whether the words of one hit hold all that another has of the question, but for one at the most, which
 * says less than those they share: a rare word is what was asked for, and makes another answer.
 */
function saysNearly(own: Float64Array, { own: other, weights }: Voiced): boolean {
  let [shared, added, asked, sharedWeight, addedWeight] = [0, 0, 0, 0, 0];
  for (const [at, value] of other.entries()) {
    if (value <= 0) continue;
    asked += 1;
    const weight = weights[at] ?? 0;
    if ((own[at] ?? 0) > 0) {
      shared += 1;
      sharedWeight += weight;
    } else {
      added += 1;
      addedWeight += weight;
    }
  }
  const isSame = shared >= Math.min(SHARED_WORDS, asked) && shared > 0;
  return isSame && added <= ADDED_WORDS && addedWeight <= sharedWeight;
}
