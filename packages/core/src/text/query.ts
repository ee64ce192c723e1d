/**
 * What a caller typed: as words and phrases to look for, and as the few words of a memory that answer it.
 *
 * Any text is legal: there are no operators but one. Words are alternatives, the more of them the
 * better; a phrase in double quotes must be there as it stands. A quote without its partner is a
 * separator like any other. Words that say nothing are left out unless nothing else is left.
 *
 * The index does not know places. So for a phrase the text of candidates is read and taken apart again, in batches, the
 * best candidates first.
 *
 * A snippet shows the found words in square brackets. It is cut from the original text between words, never inside a
 * character; what was cut is an ellipsis. Nothing is changed but white space, which becomes one space.
 */
import type { FoundMemory, Reader } from "../history/reader.js";
import { LIMITS } from "../limits.js";
import type { Analyser, Token } from "./analyse.js";
import { documentTexts, sourcesOf } from "./document.js";
import { UNSPACED_QUESTIONS, UNSPACED_STOP } from "./languages.js";
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

const APOSTROPHE = /['\u2019\uff07]/u;

function looseWords(analyser: Analyser, text: string, others: boolean): readonly string[] {
  const asked = text.replace(UNSPACED_QUESTIONS, " ");
  const telling = analyser.tokens(asked).filter(({ word, start, end }) => {
    const run = asked.slice(start, end);
    if (analyser.isStopWord(run) || UNSPACED_STOP.test(word)) return false;
    // "What's", "d'Anne": an apostrophe hides a word that says nothing behind or before another.
    return !APOSTROPHE.test(run) || !analyser.isPlainStopWord(word);
  });
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

/** Words of a snippet. */
const SNIPPET_WORDS = 12;
/** The longest snippet; a text without spaces may be one long word. */
const SNIPPET_UNITS = 400;

/**
 * The best piece of the first text that holds most of the words. When none holds any, the start of
 * the first text: a memory may have been found by a tag.
 */
export function snippetOf(
  analyser: Analyser,
  texts: readonly string[],
  words: ReadonlySet<string>,
): string {
  let best = { text: texts[0] ?? "", tokens: analyser.tokens(texts[0] ?? ""), found: 0 };
  best = { ...best, found: distinctFound(best.tokens, words) };
  for (const text of texts.slice(1)) {
    const tokens = analyser.tokens(text);
    const found = distinctFound(tokens, words);
    if (found > best.found) best = { text, tokens, found };
  }
  const [from, to] = bestWindow(best.tokens, words);
  return marked(best.text, best.tokens.slice(from, to), words);
}

function distinctFound(tokens: readonly Token[], words: ReadonlySet<string>): number {
  return new Set(tokens.flatMap(({ word }) => (words.has(word) ? [word] : []))).size;
}

/** The window of words with the most different found ones; of equal ones the first, with some lead. */
function bestWindow(tokens: readonly Token[], words: ReadonlySet<string>): [number, number] {
  const counts = new Map<string, number>();
  let best = 0;
  let bestStart = 0;
  for (let at = 0; at < tokens.length; at += 1) {
    const entering = tokens[at]?.word ?? "";
    if (words.has(entering)) counts.set(entering, (counts.get(entering) ?? 0) + 1);
    const leaving = tokens[at - SNIPPET_WORDS]?.word;
    if (leaving !== undefined && words.has(leaving)) {
      const left = (counts.get(leaving) ?? 1) - 1;
      if (left === 0) counts.delete(leaving);
      else counts.set(leaving, left);
    }
    if (counts.size > best) {
      best = counts.size;
      bestStart = Math.max(0, at - SNIPPET_WORDS + 1);
    }
  }
  const first = tokens.findIndex(({ word }, at) => at >= bestStart && words.has(word));
  // The window ends at its last found word: what it has too much in front goes behind it.
  const spare = best === 0 ? 0 : Math.max(0, Math.floor((first - bestStart) / 2));
  const start = Math.max(0, Math.min(bestStart + spare, tokens.length - SNIPPET_WORDS));
  return [start, start + SNIPPET_WORDS];
}

function marked(text: string, tokens: readonly Token[], words: ReadonlySet<string>): string {
  const from = tokens[0]?.start ?? 0;
  const last = tokens.at(-1)?.end ?? Math.min(text.length, SNIPPET_UNITS);
  // A sentence keeps its last sign; anything longer behind the last word is cut.
  const rest = text.slice(last);
  const end = /^\S{0,2}\s*$/.test(rest) ? text.length : last;
  const start = /^\S{0,2}$/.test(text.slice(0, from)) ? 0 : from;
  let shown = "";
  let at = start;
  for (const { start: open, end: close } of mergedMarks(tokens, words)) {
    shown += `${text.slice(at, open)}[${text.slice(open, close)}]`;
    at = close;
  }
  shown += text.slice(at, end);
  const plain = shortened(shown.replace(/\s+/g, " ").trim());
  return `${start > 0 ? "…" : ""}${plain}${end < text.length && !plain.endsWith("…") ? "…" : ""}`;
}

/** The places of found words; those that overlap, as pairs of characters do, become one. */
function mergedMarks(
  tokens: readonly Token[],
  words: ReadonlySet<string>,
): readonly { readonly start: number; readonly end: number }[] {
  const marks: { start: number; end: number }[] = [];
  for (const { word, start, end } of tokens) {
    if (!words.has(word)) continue;
    const last = marks.at(-1);
    if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
    else marks.push({ start, end });
  }
  return marks;
}

function shortened(text: string): string {
  if (text.length <= SNIPPET_UNITS) return text;
  const cut = text.slice(0, SNIPPET_UNITS);
  // Not between the two halves of a pair, and not inside an open mark.
  const whole = /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
  const open = whole.lastIndexOf("[") > whole.lastIndexOf("]");
  return `${whole}${open ? "]" : ""}…`;
}
