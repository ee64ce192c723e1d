/**
 * When two sentences say nearly the same: by their words alone, without a model.
 *
 * Two measures. *Overlap* is the share of words in common, of all words of both, after endings are cut
 * and words that carry nothing are left out. It cannot tell a restatement from a change of a value
 * ("on Fridays", "on Mondays"), so by itself it is a hint. *Restating* is the rule that can: one
 * sentence holds all that the other says, in the same order, and what it says beyond that is plain
 * words. A word in the place of another is a change, and so is one more number, name or symbol, and any
 * word that turns the sense.
 *
 * Promise: pure, and careful: where it errs, two sentences that say the same are taken for two claims.
 */
import { normaliseClaim } from "../codec/text.js";
import { type Analyser, withoutAccents } from "./analyse.js";

/** From this overlap on, sentences are worth comparing. */
export const OVERLAP_MIN = 0.6;

/** Sentences of fewer words are alike by chance. */
export const WORDS_MIN = 3;

/** The different words of a text, endings cut, without those that say nothing by themselves. */
export function tellingWords(analyser: Analyser, text: string): ReadonlySet<string> {
  const telling = analyser
    .tokens(text)
    .filter(({ start, end }) => !analyser.isStopWord(text.slice(start, end)));
  return new Set(telling.map(({ word }) => word));
}

/** Words in common, of all words of both: 0 to 1. */
export function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const word of a) if (b.has(word)) common += 1;
  return common === 0 ? 0 : common / (a.size + b.size - common);
}

/** A claim as its words, without what makes no difference to it: quotes, commas and "the". */
export function claimWords(text: string): readonly string[] {
  return normaliseClaim(text)
    .split(" ")
    .map((word) => word.replace(/^["“”„(]+|["“”,;:)]+$/gu, ""))
    .filter((word) => word !== "" && word !== "the");
}

/** A sentence made ready to be compared. */
export interface Saying {
  readonly telling: ReadonlySet<string>;
  /** Every word in its place, endings cut; numbers and symbols as they stand. */
  readonly words: readonly SaidWord[];
}

interface SaidWord {
  readonly word: string;
  /** Whether having it or not is another claim. */
  readonly weighs: boolean;
}

/** Makes a sentence ready. */
export function sayingOf(analyser: Analyser, text: string): Saying {
  const names = new Set(
    text
      .split(/\s+/u)
      .slice(1)
      .filter((word) => NAME.test(word))
      .flatMap(claimWords),
  );
  const words = claimWords(text).flatMap((raw): readonly SaidWord[] => {
    const word = raw.replace(/[.!]+$/u, "");
    if (word === "" || ARTICLES.has(word)) return [];
    // "C++" is not "C#" and "-5" is not "5": what holds more than letters is not reduced.
    if (!PLAIN.test(word)) return [{ word, weighs: true }];
    const weighs = names.has(raw) || turnsSense(word) || [...word].length === 1;
    return analyser.tokens(word).map((token) => ({ word: token.word, weighs }));
  });
  return { telling: tellingWords(analyser, text), words };
}

/**
 * Whether two sentences say nearly the same: see the file header. `shorter` is the one with fewer
 * words; of two with as many, either.
 */
export function restates(shorter: Saying, longer: Saying): boolean {
  if (shorter.telling.size < WORDS_MIN) return false;
  if (overlap(shorter.telling, longer.telling) < OVERLAP_MIN) return false;
  let next = 0;
  for (const { word, weighs } of longer.words) {
    if (shorter.words[next]?.word === word) next += 1;
    else if (weighs) return false;
  }
  return next === shorter.words.length;
}

/** A word with a capital, behind whatever opens it. */
const NAME = /^[^\p{L}\p{N}]*\p{Lu}/u;
const PLAIN = /^[\p{L}\p{M}'’-]+$/u;
const ARTICLES: ReadonlySet<string> = new Set(["the", "a", "an"]);

function turnsSense(word: string): boolean {
  return TURNS.has(withoutAccents(word)) || /n['’]t$/u.test(word);
}

/**
 * Words that turn a sentence round or end what it says, of every language that has a list of stop
 * words, and in every language: taking a harmless word for one of these only leaves a pair out.
 */
const TURNS: ReadonlySet<string> = new Set(
  (
    "no not nor never none neither nobody nothing nowhere cannot dont doesnt didnt isnt arent wasnt " +
    "werent cant couldnt wont wouldnt shouldnt hasnt havent hadnt mustnt without except unless until " +
    "only hardly barely longer anymore former formerly previously ex stop stops stopped quit quits " +
    "nicht kein keine keinen keinem keiner keines nie niemals ohne nur bis mehr " +
    "ne pas jamais sans sauf plus non mai senza nessun nessuno solo nunca ningun ninguno sin ni salvo " +
    "nao nem sem nenhum nenhuma apenas niet geen nooit zonder inte ingen aldrig utan ikke aldri uten " +
    "uden ei en et emme ette eivat nem sem nincs soha nu fara niciodata не нет ни без никогда degil yok"
  ).split(" "),
);
