/**
 * Which texts a model can read: those whose words are mostly in a script that one of its languages is written in. A
 * model that knows English has pieces for single Chinese characters and Japanese syllables as well, and vectors for
 * them that mean nothing: it would put any Chinese text near any other.
 *
 * The script is looked at, not the language: the letters alone show it, so it is never a guess. So a text in
 * another language of the same script counts as readable here; for questions, a model may recognise those itself
 * (`Embedder.readsQuestion`). Of a text in several scripts the words are counted; where words are not spaced,
 * two characters are one, as in the index of words. A text without letters is readable.
 *
 * Promise: pure; the same answer on every machine that knows the letters.
 */
import { UNSPACED_CLASS } from "../text/analyse.js";

/** The share of a text's words that have to be in known scripts. */
const READABLE_LEAST = 0.5;
/** Characters of an unspaced script that are one word. */
const WORD_CHARACTERS = 2;

/** What several scripts are called together, by its code. */
const WRITTEN_IN: { readonly [code: string]: readonly string[] } = {
  Hans: ["Hani"],
  Hant: ["Hani"],
  Hanb: ["Hani", "Bopo"],
  Jpan: ["Hani", "Hira", "Kana"],
  Hrkt: ["Hira", "Kana"],
  Kore: ["Hang", "Hani"],
};

/** Stretches of one way of writing: characters that are not spaced, or one word. */
const STRETCHES = new RegExp(
  `(?:(?=\\p{L})[${UNSPACED_CLASS}])+|(?:(?![${UNSPACED_CLASS}])\\p{L}\\p{M}*)+`,
  "gu",
);
const UNSPACED_FIRST = new RegExp(`^[${UNSPACED_CLASS}]`, "u");
/** Nothing beyond it, and all letters are Latin. */
const BEYOND_LATIN = /[\u0250-\uffff]/;

/** Tells of a text whether a model reads it that knows these languages. One that names none reads everything. */
export function readerOf(languages: readonly string[] | undefined): (text: string) => boolean {
  const scripts = languages?.map((language) => new Intl.Locale(language).maximize().script);
  // "mul" and the like have no script: such a model is taken to know all.
  if (scripts === undefined || scripts.includes(undefined)) return () => true;
  const codes = new Set(scripts.flatMap((code = "") => WRITTEN_IN[code] ?? [code]));
  const known = new RegExp(`^[${[...codes].map((code) => `\\p{scx=${code}}`).join("")}]`, "u");
  return (text) => (codes.has("Latn") && !BEYOND_LATIN.test(text)) || isMostly(known, text);
}

function isMostly(known: RegExp, text: string): boolean {
  let [read, all] = [0, 0];
  for (const [stretch] of text.matchAll(STRETCHES)) {
    const words = UNSPACED_FIRST.test(stretch)
      ? Math.max(1, [...stretch].length / WORD_CHARACTERS)
      : 1;
    all += words;
    if (known.test(stretch)) read += words;
  }
  return read >= READABLE_LEAST * all;
}
