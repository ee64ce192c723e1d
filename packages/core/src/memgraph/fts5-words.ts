/**
 * Words as SQLite's FTS5 takes them from a text with `porter unicode61`, which is how memgraph's store is searched: runs
 * of letters and digits in small letters and without accents, and without the endings that Porter took off.
 *
 * These differ from the words of our index: `c++` is `c`, `don't` is `don` and `t`, whatever the language of the
 * graph.
 */
import { loadLanguage } from "../text/languages.js";

/** A word in its text. */
export interface Spoken {
  /** Without its ending. */
  readonly word: string;
  /** With it. */
  readonly plain: string;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A word, and what stands around it without a space between, as it is written. */
export function runAround({ text, start, end }: Spoken): string {
  let [from, to] = [start, end];
  while (from > 0 && start - from < AROUND_UNITS && /\S/.test(text[from - 1] ?? " ")) from -= 1;
  while (to < text.length && to - end < AROUND_UNITS && /\S/.test(text[to] ?? " ")) to += 1;
  return text.slice(from, to);
}

/** Letters and digits begin a word; marks go on with it. */
const WORD = /[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{Co}\p{M}]*/gu;

/** Whether a text has a word. */
export function hasWords(text: string): boolean {
  return text.search(WORD) >= 0;
}

/** Porter's endings are those of words of so many bytes. */
const STEMMED_MIN = 3;
const STEMMED_MAX = 64;
/** More of what stands around a word would not be one word. */
const AROUND_UNITS = 64;
/** Stems that are remembered; then they are forgotten together. */
const KEPT = 50_000;

let loaded: Promise<Fts5Words> | undefined;

/** See the file header. */
export class Fts5Words {
  readonly #stem: (word: string) => string;
  readonly #known = new Map<string, string>();

  private constructor(stem: (word: string) => string) {
    this.#stem = stem;
  }

  /** One for all graphs of the process. */
  static load(): Promise<Fts5Words> {
    loaded ??= loadLanguage("porter").then(({ stem }) => new Fts5Words(stem));
    return loaded;
  }

  /** The words of a text, in order. */
  of(text: string): readonly Spoken[] {
    return Array.from(text.matchAll(WORD), ({ 0: run, index: start }) => {
      const plain = run.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
      return { word: this.#stemOf(plain), plain, text, start, end: start + run.length };
    });
  }

  #stemOf(plain: string): string {
    const known = this.#known.get(plain);
    if (known !== undefined) return known;
    const bytes = Buffer.byteLength(plain);
    const stem = bytes < STEMMED_MIN || bytes > STEMMED_MAX ? plain : this.#stem(plain);
    if (this.#known.size >= KEPT) this.#known.clear();
    this.#known.set(plain, stem);
    return stem;
  }
}
