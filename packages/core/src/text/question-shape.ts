/**
 * What a sentence is for: a question that asks for all of something, one that asks for an order, or a wish of
 * the user that holds for every answer.
 *
 * Promise: pure, and without a word of its own: the words are data per language (`asking-words.ts`). A
 * sentence none of them fits is an ordinary one.
 */
import { withoutAccents } from "./analyse.js";
import { ASKING_WORDS, type AskingWords } from "./asking-words.js";

/** What a question wants. */
interface QuestionShape {
  /** All of something: several memories answer together. */
  readonly gathers: boolean;
  /** What came first and what then. */
  readonly inOrder: boolean;
}

/** Text as the patterns of asking words are read against it. */
export function plainText(text: string): string {
  return withoutAccents(text.normalize("NFKC").toLowerCase());
}

/** One pattern of every language's words of a kind. */
export function anyOf(words: (language: AskingWords) => readonly string[]): RegExp {
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
  const text = plainText(question);
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
