/**
 * Words of one family: "allergies" and "allergic" have different stems, and speak of the same.
 *
 * Promise: pure. Two words are kin when they begin alike, with five letters or more, and that is most of both.
 * It is looked at where an answer would be called weak otherwise, in the texts of its first hits alone: it
 * ranks nothing and finds nothing. Words of scripts without spaces are pairs of characters, too short to
 * be kin; numbers are never kin. How the numbers were found is written in docs/evaluation.md.
 */
import type { QuestionTerm } from "../text/text-evidence.js";

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
  let [covered, total] = [0, 0];
  for (const { term, weight } of terms) {
    total += weight;
    if (words.has(term)) covered += weight;
    else if (hasKin(term, words)) covered += KIN_SHARE * weight;
  }
  return total === 0 ? 0 : covered / total;
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
