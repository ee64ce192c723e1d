/**
 * The words people ask with, as data per language: how they speak of time, of the past, of all of something, of
 * an order, and how they give an assistant an instruction that always holds. They show what a sentence is for: a
 * question for all of something, a question for an order, or an instruction of the user for every answer. A
 * sentence that fits none of them is an ordinary one.
 *
 * Promise: what reads the data, here and in `recall/time-words.ts`, knows no word of its own; a language is added
 * by one more row (`asking-language.ts`). Patterns are read against text in lower case without accents, all languages
 * at once, because people mix them.
 */
import { withoutAccents } from "./analyse.js";
import type { AskingLanguage } from "./asking-language.js";
import { ENGLISH, FRENCH, GERMAN, SPANISH } from "./asking-spaced.js";
import { CHINESE, JAPANESE } from "./asking-unspaced.js";

/** Every language whose asking words are known. */
export const ASKING_WORDS = {
  english: ENGLISH,
  german: GERMAN,
  spanish: SPANISH,
  french: FRENCH,
  chinese: CHINESE,
  japanese: JAPANESE,
} as const satisfies { readonly [language: string]: AskingLanguage };

/** What a question wants. */
interface QuestionShape {
  /** All of something: several memories answer together. */
  readonly gathers: boolean;
  /** What came first and what then. */
  readonly inOrder: boolean;
}

/** What is asked is said in so many units at the begin or the end of a longer text: patterns look at no more. */
const ASKING_UNITS = 1000;

/** What of a question is looked at for how it asks. */
export function askingPart(question: string): string {
  if (question.length <= 2 * ASKING_UNITS) return question;
  return `${question.slice(0, ASKING_UNITS)}\n${question.slice(-ASKING_UNITS)}`;
}

/** Text as the patterns of asking words are read against it. */
export function plainText(text: string): string {
  return withoutAccents(text.normalize("NFKC").toLowerCase());
}

/** One pattern of every language's words of a kind. */
export function anyOf(words: (language: AskingLanguage) => readonly string[]): RegExp {
  return new RegExp(Object.values(ASKING_WORDS).flatMap(words).join("|"), "u");
}

const GATHERING = anyOf(({ gathering, order }) => [...gathering, ...order]);
const ORDER = anyOf(({ order }) => order);
const STANDING = new RegExp(
  `(?:^|[.!?\\n。！？;])\\s*(?:${anyOf(({ standing }) => standing).source})`,
  "u",
);

/** What a question wants. */
export function questionShape(question: string): QuestionShape {
  const text = plainText(askingPart(question));
  return { gathers: GATHERING.test(text), inOrder: ORDER.test(text) };
}

/** Words about the telling, in every language. */
export const TELLING = Object.values(ASKING_WORDS)
  .map(({ telling }) => telling)
  .join(" ");

/** A longer text is material that was handed over, not a wish. */
const STANDING_UNITS = 2000;

/** Whether somebody says what shall hold for every answer: a sentence of theirs begins so. */
export function isStanding(text: string): boolean {
  if (text.length > STANDING_UNITS) return false;
  return STANDING.test(plainText(text));
}
