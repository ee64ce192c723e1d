/**
 * Evidence: for one memory and each word of a question, how strongly the memory speaks of it, 0 to 1.
 *
 * Promise: pure. Lexical scores are sums of evidence weighted by how rare each word is, so evidence can be
 * passed along (from a turn to its neighbours, from a conversation to its turns) without counting the same word
 * twice: the evidence that two sources have for one word is combined, not added.
 *
 * Words of one family: "allergies" and "allergic" have different stems, and speak of the same. Two words are kin when
 * they begin alike, with five letters or more, and that is most of both. It is looked at where an answer would be
 * called weak otherwise, in the texts of its first hits alone: it ranks nothing and finds nothing. Words of scripts without
 * spaces are pairs of characters, too short to be kin; numbers are never kin. How the numbers were found is written in
 * docs/evaluation.md.
 */

import { weightOf } from "../text/score.js";
import type { QuestionTerm } from "../text/text-evidence.js";

/** A memory under consideration. */
export interface Candidate {
  /** `keyString` of the id. */
  readonly key: string;
  /** Own evidence, one value a term; all zero for one that was reached otherwise. */
  readonly own: Float64Array;
  /** Where it stands in a conversation, if it is a turn. */
  readonly place?: TurnPlaceOf | undefined;
  /** Factor of its own words: an assistant's repeat what others said. */
  readonly voice: number;
  /** Whether it asks another person something. */
  readonly asks?: boolean;
}

/** A turn's place. */
interface TurnPlaceOf {
  readonly session: string;
  readonly index: number;
}

/** How evidence travels; one configuration for every store. */
interface SpreadSettings {
  /** Share of a turn's evidence that the turn one place away takes, then two, … */
  readonly neighbours: readonly number[];
  /** Share of what a turn asks that the turn after it takes. */
  readonly reply: number;
  /** Of evidence a memory has from two sides, how much the weaker side adds. */
  readonly second: number;
  /** Share of the best score that a turn gets for its whole conversation. */
  readonly session: number;
}

/**
 * What a person's answer has of the question before it, by words and by meaning: nearly all, because an answer seldom
 * repeats what was asked. How flat it is stands in docs/evaluation.md.
 */
export const REPLY_SHARE = 0.9;

/** The settings that recall uses; how they were found is written in docs/evaluation.md. */
export const SPREAD: SpreadSettings = {
  neighbours: [0.5, 0.25],
  reply: REPLY_SHARE,
  second: 0.3,
  session: 0.3,
};

/** A scored memory. */
export interface Scored {
  readonly key: string;
  readonly score: number;
  /** Its own words alone. */
  readonly own: number;
  /** Share of the question, by weight, that it and its neighbours cover. */
  readonly coverage: number;
}

/**
 * Scores candidates by their own evidence, that of the turns around them and that of their
 * conversation. Turns around a candidate must be candidates themselves, with no evidence if they
 * have none.
 */
export function spread(
  terms: readonly QuestionTerm[],
  candidates: readonly Candidate[],
  settings: SpreadSettings = SPREAD,
): Scored[] {
  const borrowed = fromNeighbours(candidates, terms.length, settings);
  const scores = new Float64Array(candidates.length);
  const owns = new Float64Array(candidates.length);
  const coverages = new Float64Array(candidates.length);
  for (let place = 0; place < candidates.length; place += 1) {
    const candidate = candidates[place] as Candidate;
    const near = borrowed[place];
    let score = 0;
    let own = 0;
    let covered = 0;
    let total = 0;
    for (let at = 0; at < terms.length; at += 1) {
      const weight = terms[at]?.weight ?? 0;
      const mine = candidate.own[at] ?? 0;
      const theirs = near?.[at] ?? 0;
      const voiced = mine * candidate.voice;
      own += weight * voiced;
      score += weight * (Math.max(voiced, theirs) + settings.second * Math.min(voiced, theirs));
      covered += weight * (mine > 0 ? 1 : theirs > 0 ? 0.5 : 0);
      total += weight;
    }
    scores[place] = score;
    owns[place] = own;
    coverages[place] = total === 0 ? 0 : covered / total;
  }
  addSessions(terms, candidates, scores, settings);
  // One record each, at the end: records that were made anew for every step were a tenth of a recall's garbage.
  return candidates.map(({ key }, place) => ({
    key,
    score: scores[place] as number,
    own: owns[place] as number,
    coverage: coverages[place] as number,
  }));
}

/** What each candidate has from the turns around it, by its place; nothing where they say nothing. */
function fromNeighbours(
  candidates: readonly Candidate[],
  width: number,
  { neighbours, reply }: SpreadSettings,
): readonly (Float64Array | undefined)[] {
  const bySession = new Map<string, Map<number, number>>();
  for (let at = 0; at < candidates.length; at += 1) {
    const place = candidates[at]?.place;
    if (place === undefined) continue;
    const turns = bySession.get(place.session) ?? new Map<number, number>();
    if (turns.size === 0) bySession.set(place.session, turns);
    turns.set(place.index, at);
  }
  const borrowed = new Array<Float64Array | undefined>(candidates.length).fill(undefined);
  const lend = (other: number | undefined, own: Float64Array, share: number): void => {
    if (other === undefined) return;
    const known = borrowed[other];
    const evidence = known ?? new Float64Array(width);
    for (let term = 0; term < width; term += 1) {
      evidence[term] = Math.max(evidence[term] ?? 0, share * (own[term] ?? 0));
    }
    if (known === undefined) borrowed[other] = evidence;
  };
  for (const { place, own, asks = false } of candidates) {
    if (place === undefined || saysNothing(own)) continue;
    const turns = bySession.get(place.session);
    for (let at = 0; at < neighbours.length; at += 1) {
      const usual = neighbours[at] ?? 0;
      lend(turns?.get(place.index - at - 1), own, usual);
      lend(turns?.get(place.index + at + 1), own, asks && at === 0 ? reply : usual);
    }
  }
  return borrowed;
}

function saysNothing(own: Float64Array): boolean {
  for (let term = 0; term < own.length; term += 1) if ((own[term] as number) > 0) return false;
  return true;
}

/** Adds what the whole conversation says: of each word, the chance that some turn speaks of it. */
function addSessions(
  terms: readonly QuestionTerm[],
  candidates: readonly Candidate[],
  scores: Float64Array,
  settings: SpreadSettings,
): void {
  const sessions = new Map<string, Float64Array>();
  for (const { place, own } of candidates) {
    if (place === undefined || saysNothing(own)) continue;
    const known = sessions.get(place.session);
    const joint = known ?? new Float64Array(terms.length);
    for (let at = 0; at < own.length; at += 1) {
      const before = joint[at] ?? 0;
      const value = own[at] ?? 0;
      joint[at] = before + value - before * value;
    }
    if (known === undefined) sessions.set(place.session, joint);
  }
  const sums = new Map<string, number>();
  let bestSession = 0;
  for (const [session, joint] of sessions) {
    const sum = terms.reduce((before, { weight }, at) => before + weight * (joint[at] ?? 0), 0);
    sums.set(session, sum);
    bestSession = Math.max(bestSession, sum);
  }
  if (bestSession === 0) return;
  const best = scores.reduce((most, score) => Math.max(most, score), 0);
  for (let at = 0; at < scores.length; at += 1) {
    const session = candidates[at]?.place?.session;
    if (session === undefined || scores[at] === 0) continue;
    (scores[at] as number) += (settings.session * best * (sums.get(session) ?? 0)) / bestSession;
  }
}

/** A session that says a word as often as this, for its length, says half of what can be said of it. */
const HALF_SAID = 8;

/**
 * What each conversation says of a question as a whole, 1 for the one that says most: of each word as much
 * as its turns say together, and a word the more, the fewer conversations speak of it. From 4 to 8 `HALF_SAID`
 * is level; joining turns as chances, as `spread` does, lost .02 of LongMemEval's all@5.
 */
export function sessionEvidence(
  width: number,
  candidates: readonly Pick<Candidate, "own" | "place">[],
): ReadonlyMap<string, number> {
  const sessions = new Map<string, Float64Array>();
  for (const { place, own } of candidates) {
    if (place === undefined) continue;
    const said = sessions.get(place.session) ?? new Float64Array(width);
    for (let term = 0; term < width; term += 1) {
      // A share is times / (times + something): this is how many times, in units of that something.
      const share = Math.min(own[term] ?? 0, SHARE_MOST);
      said[term] = (said[term] ?? 0) + share / (1 - share);
    }
    sessions.set(place.session, said);
  }
  const speaking = new Float64Array(width);
  for (const said of sessions.values()) {
    for (const [term, value] of said.entries()) {
      if (value > 0) speaking[term] = (speaking[term] ?? 0) + 1;
    }
  }
  const sums = new Map<string, number>();
  for (const [session, said] of sessions) {
    let sum = 0;
    for (const [term, value] of said.entries()) {
      sum += (weightOf(sessions.size, speaking[term] ?? 0) * value) / (value + HALF_SAID);
    }
    sums.set(session, sum);
  }
  const most = Math.max(0, ...sums.values());
  return new Map([...sums].map(([session, sum]) => [session, most === 0 ? 0 : sum / most]));
}

/** No share is whole: a word would be said endlessly often. */
const SHARE_MOST = 0.99;

/** Share of a question, by weight, that words are; all of it where nothing is asked. */
export function coverageOf(terms: readonly QuestionTerm[], words: ReadonlySet<string>): number {
  return shareOf(terms, (term) => (words.has(term) ? 1 : 0)) ?? 1;
}

/** Share of a question that is covered, by weight; `undefined` where nothing is asked. */
function shareOf(
  terms: readonly QuestionTerm[],
  covers: (term: string) => number,
): number | undefined {
  let [covered, total] = [0, 0];
  for (const { term, weight } of terms) {
    total += weight;
    covered += covers(term) * weight;
  }
  return total === 0 ? undefined : covered / total;
}

/** Letters that kin begin with, and which part of the longer word they are. */
const BEGINNING_LEAST = 5;
const BEGINNING_PART = 0.75;
/** What a word counts whose kin is there, beside one that is there itself. */
const KIN_SHARE = 0.5;

/** Share of a question, by weight, that the words of a text cover: a word whose kin is there counts half. */
export function coverageWithKin(
  terms: readonly QuestionTerm[],
  words: ReadonlySet<string>,
): number {
  const covers = (term: string): number => (hasKin(term, words) ? KIN_SHARE : 0);
  return shareOf(terms, (term) => (words.has(term) ? 1 : covers(term))) ?? 0;
}

function hasKin(term: string, words: ReadonlySet<string>): boolean {
  if (term.length < BEGINNING_LEAST || /\d/.test(term)) return false;
  for (const word of words) {
    const shared = sharedBeginning(term, word);
    const isMost = shared >= BEGINNING_PART * Math.max(term.length, word.length);
    if (shared >= BEGINNING_LEAST && isMost) return true;
  }
  return false;
}

function sharedBeginning(a: string, b: string): number {
  let at = 0;
  while (at < a.length && at < b.length && a[at] === b[at]) at += 1;
  return at;
}
