/**
 * From lanes to one order: what each lane says of a memory, joined into a score that explains itself.
 *
 * Promise: pure. Lanes are on one scale: 1 is what the best lexical hit has. Relevance is the sum of
 * the lanes; trust, use and age are factors of it, narrow ones, so that neither a well-read memory
 * nor an old one overturns a clear difference in what was asked; only trust may halve a score, because
 * what a document says must not stand above what the owner said. Ties go to the newer, then by id.
 */

import type { LaneScores } from "../contract/recall.js";

/** How much each lane counts. */
export const LANE_WEIGHTS: { readonly [lane in keyof LaneScores]-?: number } = {
  lexical: 1,
  vector: 1,
  slot: 0.8,
  names: 1,
  graph: 1,
  time: 0.4,
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
