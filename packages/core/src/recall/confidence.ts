/**
 * Whether an answer can be relied on: what `weak` says of it, the other way round.
 *
 * Confident is a hit that holds the slot the question names, means the same, or covers enough of the
 * question's words. What an assistant said counts less, as it does in the ranking. A question that asks
 * about one of those who speak is answered by what that person said, or by words that name them: where
 * somebody else's words cover it clearly better, the question has mixed up two people, and nothing is
 * sure. Pure; how the numbers were found is written in docs/evaluation.md.
 */
import type { LaneScores } from "../contract/recall.js";

/** What speaks for a hit. */
export interface Grounds {
  readonly lanes: LaneScores;
  /** How near its meaning is: 1 is what is usual between a question and its answer. */
  readonly closeness: number;
  /** Share of the question that it and its neighbours cover. */
  readonly coverage: number;
  /** How much its words count, 0 to 1. */
  readonly voice: number;
  /** Whether these are the words of somebody else than the question asks about. */
  readonly aside: boolean;
}

/** One of those who speak, whom a question names. */
export interface AskedSpeaker {
  readonly speaker: string;
  /** The words of the question that are their name. */
  readonly words: ReadonlySet<string>;
}

/** Hits of which one has to be good enough. */
const BEST = 3;
/** Below this share of the question's words even the best hit is a guess. */
const COVERAGE_MIN = 0.36;
/** A name that leads somewhere, this close, is no accident. */
const CLOSE = 0.5;
/** Nor is a meaning as near as this. */
const CLOSE_BY_MEANING = 1.1;
/** Hits among which those of the person asked about are compared with those of others. */
const COMPARED = 10;
/** By how much others may cover a question better that asks about somebody else. */
const ASIDE_MOST = 0.15;

/** Whether an answer, best first, is more than a guess. */
export function isConfident(hits: readonly Grounds[]): boolean {
  const best = hits.slice(0, BEST);
  if (best.some(isCertain)) return true;
  if (!best.some((hit) => weightOf(hit) >= COVERAGE_MIN)) return false;
  const heaviest = (aside: boolean): number => {
    const some = hits.slice(0, COMPARED).filter((hit) => hit.aside === aside);
    return Math.max(0, ...some.map(weightOf));
  };
  return heaviest(true) - heaviest(false) <= ASIDE_MOST;
}

function isCertain({ lanes: { slot = 0, names = 0 }, closeness }: Grounds): boolean {
  return slot > 0 || closeness >= CLOSE_BY_MEANING || names >= CLOSE;
}

function weightOf({ coverage, voice }: Grounds): number {
  return coverage * voice;
}

/** The one speaker whom a question names; `undefined` when it names none, or several. */
export function askedSpeaker(
  question: ReadonlySet<string>,
  speakers: ReadonlyMap<string, readonly string[]>,
): AskedSpeaker | undefined {
  const named = [...speakers].flatMap(([speaker, name]): AskedSpeaker[] => {
    const words = new Set(name.filter((word) => question.has(word)));
    return words.size === 0 ? [] : [{ speaker, words }];
  });
  return named.length === 1 ? named[0] : undefined;
}
