/**
 * What a caller typed, as words and phrases to look for.
 *
 * Any text is legal: there are no operators but one. Words are alternatives, the more of them the
 * better; a phrase in double quotes must be there as it stands. A quote without its partner is a
 * separator like any other. Words that say nothing are left out unless nothing else is left.
 *
 * The index does not know places. So for a phrase the text of candidates is read and taken apart again, in batches, the
 * best candidates first.
 */

import type { FoundMemory, Reader } from "../history/reader.js";
import { LIMITS } from "../limits.js";
import type { Analyser } from "./analyse.js";
import { documentTexts, sourcesOf } from "./document.js";
import { UNSPACED_QUESTIONS } from "./languages.js";
import type { Accept } from "./text-rank.js";

/** A query, taken apart. */
export interface TextQuery {
  /** Different words in the order in which they were first met: all that count for the score. */
  readonly words: readonly string[];
  /** Words that a document must hold: those of the phrases. */
  readonly required: readonly string[];
  /** Words that must follow each other. */
  readonly phrases: readonly (readonly string[])[];
}

/** Takes a query apart. */
export function parseQuery(analyser: Analyser, text: string): TextQuery {
  const phrases: (readonly string[])[] = [];
  let loose = "";
  let end = 0;
  for (const found of text.matchAll(QUOTED)) {
    loose += `${text.slice(end, found.index)} `;
    end = found.index + found[0].length;
    const words = analyser.tokens(found[1] ?? "").map(({ word }) => word);
    if (words.length > 0) phrases.push(words);
  }
  loose += text.slice(end);
  const required = distinct(phrases.flat()).slice(0, LIMITS.queryWords);
  const words = distinct([...required, ...looseWords(analyser, loose, required.length > 0)]);
  return { words: words.slice(0, LIMITS.queryWords), required, phrases };
}

/** Every different word of a text, however little it says: for questions that ask for all of them. */
export function everyWord(analyser: Analyser, text: string): readonly string[] {
  const words = analyser.tokens(text).map(({ word }) => word);
  return distinct(words).slice(0, LIMITS.queryWords);
}

const QUOTED = /["“”„]([^"“”„]*)["“”„]/g;

function looseWords(analyser: Analyser, text: string, others: boolean): readonly string[] {
  const asked = text.replace(UNSPACED_QUESTIONS, " ");
  const telling = analyser
    .tokens(asked)
    .filter(({ start, end }) => !analyser.isStopWord(asked.slice(start, end)));
  const kept = telling.length > 0 || others ? telling : analyser.tokens(text);
  return kept.map(({ word }) => word);
}

function distinct(words: readonly string[]): readonly string[] {
  return [...new Set(words)];
}

/** Whether a phrase stands in a text whose words are given. */
export function holdsPhrase(words: readonly string[], phrase: readonly string[]): boolean {
  const last = words.length - phrase.length;
  for (let at = 0; at <= last; at += 1) {
    if (phrase.every((word, index) => words[at + index] === word)) return true;
  }
  return false;
}

/** Accepts memories that hold every phrase, and that `accept` lets pass. */
export function acceptPhrases(
  reader: Reader,
  analyser: Analyser,
  phrases: readonly (readonly string[])[],
  accept: Accept | undefined,
): Accept {
  return async (found: readonly FoundMemory[]) => {
    const passed = (await accept?.(found)) ?? found.map(() => true);
    const sources = await sourcesOf(reader, found);
    return sources.map((source, at) => {
      if (passed[at] !== true) return false;
      const texts = documentTexts(source).map((text) =>
        analyser.tokens(text).map(({ word }) => word),
      );
      return phrases.every((phrase) => texts.some((words) => holdsPhrase(words, phrase)));
    });
  };
}
