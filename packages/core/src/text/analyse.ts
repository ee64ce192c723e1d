/**
 * From text to words: what an index holds and a query looks for.
 *
 * Promises: the same text gives the same words on every machine, and any text is legal. Words are
 * compatibility-composed, lower case, without accents and without the ending of the language.
 * Anything that is neither letter, mark nor digit separates, so `auth-service` is two words. A
 * possessive 's goes, other apostrophes join (`don't` is `dont`), `c++`, `c#` and `f#` stay whole.
 * Scripts that write no spaces become pairs of neighbouring characters. A word has 64 bytes at most.
 *
 * Which ending goes is left to `languages.ts`, which text of a memory counts to `document.ts`.
 *
 * A table from pieces of texts to what is known of them, asked without cutting the piece out first: a
 * string made only to be looked up costs more than the looking up, and garbage on top.
 *
 * It grows with what it holds, so that few words stay within the processor's cache, up to a number of
 * pieces; a full one starts over, since what is common comes back at once.
 */
import { truncateUtf8 } from "../codec/text.js";
import type { Language } from "../contract/config.js";
import { LIMITS } from "../limits.js";
import { type LanguageRules, loadLanguage } from "./languages.js";
import type { WordMemo } from "./word-log.js";

/** Pieces there is room for. */
const PIECES_MAX = 32_768;
const PLACES_AT_START = 4096;
/** Places for each piece: looking up is one step or two. */
const PLACES_PER_PIECE = 3;

/** The hash of a piece, unit by unit; it starts from 0. */
function hashStep(hash: number, unit: number): number {
  return (Math.imul(hash ^ unit, 0x01000193) + 0x9e3779b9) | 0;
}

interface Entry<Value> {
  readonly hash: number;
  readonly piece: string;
  readonly value: Value;
}

/** See the file header. */
class RunTable<Value> {
  #places: (Entry<Value> | undefined)[] = emptyPlaces(PLACES_AT_START);
  #size = 0;

  /** What is known of `text[start..end)`, whose hash the caller has. */
  find(text: string, start: number, end: number, hash: number): Value | undefined {
    const places = this.#places;
    const mask = places.length - 1;
    for (let place = spread(hash) & mask; ; place = (place + 1) & mask) {
      const entry = places[place];
      if (entry === undefined) return undefined;
      if (entry.hash === hash && isAt(entry.piece, text, start, end)) return entry.value;
    }
  }

  /** Keeps what is known of a piece that is not there yet. */
  keep(piece: string, hash: number, value: Value): void {
    if (this.#size >= PIECES_MAX) {
      this.#places = emptyPlaces(PLACES_AT_START);
      this.#size = 0;
    } else if (this.#size * PLACES_PER_PIECE >= this.#places.length) {
      const before = this.#places;
      this.#places = emptyPlaces(2 * before.length);
      for (const entry of before) if (entry !== undefined) this.#put(entry);
    }
    this.#put({ hash, piece, value });
    this.#size += 1;
  }

  #put(entry: Entry<Value>): void {
    const mask = this.#places.length - 1;
    let place = spread(entry.hash) & mask;
    while (this.#places[place] !== undefined) place = (place + 1) & mask;
    this.#places[place] = entry;
  }
}

function emptyPlaces<Value>(length: number): (Entry<Value> | undefined)[] {
  return new Array<Entry<Value> | undefined>(length).fill(undefined);
}

function spread(hash: number): number {
  return (hash >>> 15) ^ hash;
}

function isAt(piece: string, text: string, start: number, end: number): boolean {
  if (piece.length !== end - start) return false;
  for (let at = 0; at < piece.length; at += 1) {
    if (piece.charCodeAt(at) !== text.charCodeAt(start + at)) return false;
  }
  return true;
}

/** Counted up when the same text would give other words: indexes of older versions are dropped. */
const ANALYSER_VERSION = 2;

/**
 * Takes one word, and where it stands in the text: units of the string, end not included. A word that is kept here
 * comes with a memo for those who number words.
 */
type EachWord = (word: string, start: number, end: number, memo?: WordMemo) => void;

/** A word in its place. */
export interface Token {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

/** What one run of letters becomes: most often a single word. */
type Words = string | readonly string[];

/** What is kept of a run. */
interface KeptWords extends WordMemo {
  readonly words: Words;
}

/** A longer run is rarely met twice. */
const KEPT_RUN_UNITS = 32;

const LOADED = new Map<Language, Promise<Analyser>>();

/** Words of one language. It holds the words it has met, since finding an ending takes 10 µs. */
export class Analyser {
  /** Two analysers of one id give the same words. */
  readonly id: string;
  readonly #rules: LanguageRules;
  readonly #kept = new RunTable<KeptWords>();

  private constructor(language: Language, rules: LanguageRules) {
    this.id = analyserId(language);
    this.#rules = rules;
  }

  /** The analyser of a language: one for all graphs of the process, as each takes 2 MB. */
  static load(language: Language): Promise<Analyser> {
    const known =
      LOADED.get(language) ?? loadLanguage(language).then((rules) => new Analyser(language, rules));
    LOADED.set(language, known);
    return known;
  }

  /** Calls `each` with every word of the text, in order. */
  eachWord(text: string, each: EachWord): void {
    const end = text.length;
    let start = -1;
    let kinds = 0;
    let hash = 0;
    for (let at = 0; at <= end; at += 1) {
      const unit = at === end ? SPACE : text.charCodeAt(at);
      const kind = unit < 128 ? (KIND_OF[unit] as number) : kindOfWide(unit);
      if (kind === LETTER || kind === DIGIT) {
        if (start < 0) {
          start = at;
          kinds = 0;
          hash = 0;
        }
        kinds |= kind;
        hash = hashStep(hash, unit);
      } else if (kind === OTHER) {
        // Beyond ASCII from here on: the slow way knows every script.
        this.#eachWideWord(text, start < 0 ? at : start, each);
        return;
      } else if (start >= 0) {
        const isLong = at - start > KEPT_RUN_UNITS;
        if (kind === SEPARATOR && kinds !== DIGIT && !isLong) {
          // The usual case: no string is made of a run that was met before.
          const kept = this.#kept.find(text, start, at, hash);
          if (typeof kept?.words === "string") each(kept.words, start, at, kept);
          else this.#give(text.slice(start, at), start, at, each);
          start = -1;
        } else if (kind === APOSTROPHE && joins(text, at)) {
          kinds |= kind;
          hash = hashStep(hash, unit);
        } else {
          at += this.#giveOdd(text, start, at, { kind, kinds, each });
          start = -1;
        }
      }
    }
  }

  /** Numbers, long runs, and what an apostrophe or a sign follows; returns the units of the sign. */
  #giveOdd(
    text: string,
    start: number,
    end: number,
    { kind, kinds, each }: { kind: number; kinds: number; each: EachWord },
  ): number {
    const sign = kind === SIGN && end - start === 1 ? signAt(text, end) : 0;
    const run = text.slice(start, end + sign);
    // Numbers are words as they stand, and too many are met once to be kept.
    if (kinds === DIGIT && run.length <= LIMITS.wordBytes) each(run, start, end);
    else this.#give(run, start, end + sign, each);
    return Math.max(0, sign - 1);
  }

  /** The words of a text in their places. */
  tokens(text: string): readonly Token[] {
    const tokens: Token[] = [];
    this.eachWord(text, (word, start, end) => {
      tokens.push({ word, start, end });
    });
    return tokens;
  }

  /** Whether a word, as it stands in a query, says nothing by itself. */
  isStopWord(text: string): boolean {
    const word = withoutAccents(text.normalize("NFKC").toLowerCase());
    return this.#rules.stopWords.has(word) || this.#rules.questionWords.has(word);
  }

  /** The same for a word that is in lower case and without accents already. */
  isPlainStopWord(word: string): boolean {
    return this.#rules.stopWords.has(word);
  }

  #eachWideWord(text: string, from: number, each: EachWord): void {
    const runs = new RegExp(WIDE_RUN);
    runs.lastIndex = from;
    for (let found = runs.exec(text); found !== null; found = runs.exec(text)) {
      const [run] = found;
      const start = found.index;
      if (UNSPACED.test(run)) this.#givePieces(run, start, each);
      else this.#give(run, start, start + run.length, each);
    }
  }

  /** A run that holds unspaced script: cut where the script changes, then into pairs. */
  #givePieces(run: string, start: number, each: EachWord): void {
    const composed = run.normalize("NFKC");
    // Where composing moved things, the words stand for the run as a whole.
    const moved = composed !== run;
    for (const found of composed.matchAll(PIECES)) {
      const [piece] = found;
      const at = moved ? start : start + found.index;
      const end = moved ? start + run.length : at + piece.length;
      if (!UNSPACED.test(piece)) this.#give(piece, at, end, each);
      else eachPair(piece.toLowerCase(), at, moved ? end : undefined, each);
    }
  }

  #give(run: string, start: number, end: number, each: EachWord): void {
    const words = this.#wordsOf(run);
    if (typeof words === "string") {
      if (words !== "") each(words, start, end);
      return;
    }
    for (const word of words) each(word, start, end);
  }

  #wordsOf(run: string): Words {
    if (run.length > KEPT_RUN_UNITS) return makeWords(run, this.#rules);
    let hash = 0;
    for (let at = 0; at < run.length; at += 1) hash = hashStep(hash, run.charCodeAt(at));
    const known = this.#kept.find(run, 0, run.length, hash);
    if (known !== undefined) return known.words;
    const words = makeWords(run, this.#rules);
    this.#kept.keep(run, hash, { words, log: 0, number: 0 });
    return words;
  }
}

/** The id of the analyser of a language. */
export function analyserId(language: Language): string {
  return `${ANALYSER_VERSION}:${language}`;
}

const [SEPARATOR, DIGIT, LETTER, APOSTROPHE, SIGN, OTHER] = [0, 1, 2, 4, 5, 6] as const;
const SPACE = 0x20;
const PLUS = 0x2b;
const HASH = 0x23;

/** What an ASCII character is to a word. */
const KIND_OF: Uint8Array = (() => {
  const kinds = new Uint8Array(128);
  for (let unit = 0; unit < 128; unit += 1) {
    const character = String.fromCharCode(unit);
    if (/[A-Za-z]/.test(character)) kinds[unit] = LETTER;
    if (/[0-9]/.test(character)) kinds[unit] = DIGIT;
  }
  kinds[0x27] = APOSTROPHE;
  kinds[PLUS] = SIGN;
  kinds[HASH] = SIGN;
  return kinds;
})();

/** The typographic signs that stand in otherwise plain text; everything else is for the slow way. */
function kindOfWide(unit: number): number {
  if (unit === 0x2019) return APOSTROPHE;
  const separates = unit === 0xa0 || (unit >= 0x2010 && unit <= 0x2027);
  return separates ? SEPARATOR : OTHER;
}

/** Whether a letter or digit follows the apostrophe; in scripts other than ASCII it may well. */
function joins(text: string, at: number): boolean {
  const next = text.charCodeAt(at + 1);
  return next >= 128 ? kindOfWide(next) === OTHER : isWordKind(KIND_OF[next]);
}

/** Units of the sign that belongs to a single letter: `++` or `#`, and nothing of a word behind. */
function signAt(text: string, at: number): number {
  if (!/[A-Za-z]/.test(text.charAt(at - 1))) return 0;
  const length = text.charCodeAt(at) === HASH ? 1 : text.charCodeAt(at + 1) === PLUS ? 2 : 0;
  return isWordKind(KIND_OF[text.charCodeAt(at + length)]) ? 0 : length;
}

function isWordKind(kind: number | undefined): boolean {
  return kind === LETTER || kind === DIGIT;
}

const SCRIPTS = ["Han", "Hiragana", "Katakana", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"];
const UNSPACED_CLASS = SCRIPTS.map((name) => `\\p{scx=${name}}`).join("");
const WORD_CLASS = "\\p{L}\\p{M}\\p{N}";
/** A run of word characters, apostrophes inside it, and the sign behind a single letter. */
const WIDE_RUN = new RegExp(
  `(?<![${WORD_CLASS}])[A-Za-z](?:\\+\\+|#)(?![${WORD_CLASS}])|` +
    `[${WORD_CLASS}]+(?:['\u2019\uff07][${WORD_CLASS}]+)*`,
  "gu",
);
const UNSPACED = new RegExp(`[${UNSPACED_CLASS}]`, "u");
const PIECES = new RegExp(
  `(?:(?=[${WORD_CLASS}])[${UNSPACED_CLASS}])+|(?:(?![${UNSPACED_CLASS}])[${WORD_CLASS}])+`,
  "gu",
);
/** One character as people see it: a base and the marks on it. */
const CHARACTERS = /\P{M}\p{M}*|\p{M}+/gu;

/** Overlapping pairs of characters; one character alone stays alone. */
function eachPair(piece: string, start: number, wholeEnd: number | undefined, each: EachWord) {
  const characters = piece.match(CHARACTERS) ?? [];
  let at = start;
  for (const [index, first] of characters.entries()) {
    const second = characters[index + 1];
    if (second === undefined && index > 0) return;
    const pair = first + (second ?? "");
    const word = truncateUtf8(pair, LIMITS.wordBytes);
    if (wholeEnd === undefined) each(word, at, at + pair.length);
    else each(word, start, wholeEnd);
    at += first.length;
  }
}

function makeWords(run: string, rules: LanguageRules): Words {
  const sign = run.endsWith("#") || run.endsWith("+");
  if (sign) return run.toLowerCase();
  const folded = run.normalize("NFKC").toLowerCase().normalize("NFKC");
  const plain = folded.replace(/[\u2019\uff07\u02bc]/g, "'");
  const parts = rules.splitsApostrophes ? plain.split("'") : [joined(plain)];
  const words = parts
    .flatMap((part) => part.match(WORD_PIECES) ?? [])
    .map((part) => reduced(part, rules))
    .filter((word) => word !== "");
  return words.length === 1 ? (words[0] ?? "") : words;
}

/** What composing may have put between letters, such as the stroke of a fraction, separates. */
const WORD_PIECES = new RegExp(`[${WORD_CLASS}]+`, "gu");

function joined(word: string): string {
  return word.replace(/'s$/, "").replaceAll("'", "");
}

function reduced(word: string, rules: LanguageRules): string {
  // Numbers and names with digits have no ending, and there are endlessly many of them.
  if (/[0-9]/.test(word)) return truncateUtf8(withoutAccents(word), LIMITS.wordBytes);
  const seen = rules.accentsFirst ? withoutAccents(word) : word;
  const stem = rules.stem(seen) || seen;
  return truncateUtf8(withoutAccents(stem), LIMITS.wordBytes);
}

/**
 * Marks go from Latin and Greek letters, where they are accents, and from Hebrew and Arabic, where
 * they are vowels that are rarely written. Elsewhere they tell letters apart and stay: without them
 * Russian й would be и, and words of Hindi would fall together. Russian ё is written е as a rule.
 */
export function withoutAccents(word: string): string {
  if (ASCII.test(word)) return word;
  return word
    .normalize("NFD")
    .replace(LETTER_WITH_MARKS, "$1")
    .replace(OPTIONAL_MARKS, "")
    .replace(UNDECOMPOSED, (letter) => PLAIN_LETTERS[letter] ?? letter)
    .normalize("NFC");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is meant
const ASCII = /^[\u0000-\u007f]*$/;
const LETTER_WITH_MARKS = /([\p{Script=Latin}\p{Script=Greek}])\p{Mn}+/gu;
/** Hebrew points, Arabic vowel signs and the stroke that lengthens a word, and the dots of ё. */
const OPTIONAL_MARKS = /[\u0591-\u05bd\u05bf-\u05c7\u0640\u064b-\u065f\u0670]|(?<=е)\u0308/gu;
const PLAIN_LETTERS: { readonly [letter: string]: string } = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  ł: "l",
  đ: "d",
  ð: "d",
  þ: "th",
  ı: "i",
  ς: "σ",
};
const UNDECOMPOSED = new RegExp(`[${Object.keys(PLAIN_LETTERS).join("")}]`, "gu");
