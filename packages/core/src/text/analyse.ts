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
import { PIECES_MAX } from "./word-log.js";

const PLACES_AT_START = 4096;
/** Places for each piece: looking up is one step or two. */
const PLACES_PER_PIECE = 3;
/** A longer run is rarely met twice. */
const KEPT_RUN_UNITS = 32;
/** Bits of a place for the length of its piece. */
const LENGTH_BITS = 6;
const LENGTH_MASK = 2 ** LENGTH_BITS - 1;

/** The hash of a piece, unit by unit; it starts from 0. */
function hashStep(hash: number, unit: number): number {
  return (Math.imul(hash ^ unit, 0x01000193) + 0x9e3779b9) | 0;
}

/**
 * See the file header. Numbers alone, so that looking up meets two lines of the processor's cache: the place, and the
 * units of the piece, which have a line to themselves. A table of objects met five, and took twice as long.
 */
class RunTable {
  /** Two numbers a place: the hash; the number of the piece plus one, over its length. 0 is empty. */
  #places = new Int32Array(2 * PLACES_AT_START);
  #units = new Uint16Array((PLACES_AT_START / 4) * KEPT_RUN_UNITS);
  readonly #words: Words[] = [];
  /** The number of the first piece. Numbers are not given twice, not by a table that started over either. */
  #first = 0;

  /** The number of `units[start..end)`, whose hash the caller has; -1 where it is not known. */
  find(units: Uint16Array, start: number, end: number, hash: number): number {
    const places = this.#places;
    const mask = places.length / 2 - 1;
    for (let place = spread(hash) & mask; ; place = (place + 1) & mask) {
      const piece = places[2 * place + 1] as number;
      if (piece === 0) return -1;
      if (places[2 * place] !== hash || (piece & LENGTH_MASK) !== end - start) continue;
      const at = (piece >>> LENGTH_BITS) - 1;
      if (this.#isAt(at, units, start, end)) return this.#first + at;
    }
  }

  /** The words of a piece that was found. */
  words(number: number): Words {
    return this.#words[number - this.#first] as Words;
  }

  /** Keeps the words of a piece that is not there yet, see `KEPT_RUN_UNITS`. */
  keep(piece: string, hash: number, words: Words): void {
    const known = this.#words;
    if (known.length >= PIECES_MAX) {
      this.#first += PIECES_MAX;
      known.length = 0;
      this.#places = new Int32Array(2 * PLACES_AT_START);
    } else if (2 * known.length * PLACES_PER_PIECE >= this.#places.length) {
      this.#growPlaces();
    }
    const at = known.push(words) - 1;
    const from = at * KEPT_RUN_UNITS;
    if (from >= this.#units.length) {
      const larger = new Uint16Array(2 * this.#units.length);
      larger.set(this.#units);
      this.#units = larger;
    }
    for (let unit = 0; unit < piece.length; unit += 1) {
      this.#units[from + unit] = piece.charCodeAt(unit);
    }
    this.#put(hash, ((at + 1) << LENGTH_BITS) | piece.length);
  }

  #growPlaces(): void {
    const before = this.#places;
    this.#places = new Int32Array(2 * before.length);
    for (let at = 0; at < before.length; at += 2) {
      if (before[at + 1] !== 0) this.#put(before[at] as number, before[at + 1] as number);
    }
  }

  #put(hash: number, piece: number): void {
    const places = this.#places;
    const mask = places.length / 2 - 1;
    let place = spread(hash) & mask;
    while (places[2 * place + 1] !== 0) place = (place + 1) & mask;
    places[2 * place] = hash;
    places[2 * place + 1] = piece;
  }

  #isAt(at: number, units: Uint16Array, start: number, end: number): boolean {
    const kept = this.#units;
    const from = at * KEPT_RUN_UNITS - start;
    for (let unit = start; unit < end; unit += 1) {
      if (kept[from + unit] !== units[unit]) return false;
    }
    return true;
  }
}

function spread(hash: number): number {
  return (hash >>> 15) ^ hash;
}

/** The units of a text as numbers, a space behind the last, and the same memory as bytes. */
interface TextUnits {
  readonly units: Uint16Array;
  readonly bytes: Uint8Array;
}

/** Units of memory that is used again; a longer text gets memory of its own. */
const UNITS_KEPT = 16_384;

/** Absent while a text is gone through, so that another may be looked at meanwhile. */
let idleUnits: TextUnits | undefined = roomFor(UNITS_KEPT);

function roomFor(units: number): TextUnits {
  const room = new Uint16Array(units);
  return { units: room, bytes: new Uint8Array(room.buffer) };
}

const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

const { ucs2Write } = Buffer.prototype as unknown as {
  readonly ucs2Write: (this: Uint8Array, text: string, offset: number, length: number) => number;
};

/** Asked of the string one by one, the units take a third longer to go through. */
function unitsOf(text: string): TextUnits {
  const { length } = text;
  const room = (length < UNITS_KEPT ? idleUnits : undefined) ?? roomFor(length + 1);
  if (room === idleUnits) idleUnits = undefined;
  if (isLittleEndian) ucs2Write.call(room.bytes, text, 0, 2 * length);
  else for (let at = 0; at < length; at += 1) room.units[at] = text.charCodeAt(at);
  room.units[length] = SPACE;
  return room;
}

/** Counted up when the same text would give other words: indexes of older versions are dropped. */
const ANALYSER_VERSION = 3;

/**
 * Takes one word, and where it stands in the text: units of the string, end not included. A word that is kept here
 * comes with the number of its piece, for those who number words.
 */
type EachWord = (word: string, start: number, end: number, piece?: number) => void;

/** A word in its place. */
export interface Token {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

/** What one run of letters becomes: most often a single word. */
type Words = string | readonly string[];

const LOADED = new Map<Language, Promise<Analyser>>();

/** Words of one language. It holds the words it has met, since finding an ending takes 10 µs. */
export class Analyser {
  /** Two analysers of one id give the same words. */
  readonly id: string;
  readonly #rules: LanguageRules;
  readonly #kept = new RunTable();
  #forms: ReadonlyMap<string, ReadonlySet<string>> | undefined;

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
    const room = unitsOf(text);
    try {
      this.#eachOf(text, room.units, each);
    } finally {
      if (room.units.length === UNITS_KEPT) idleUnits = room;
    }
  }

  #eachOf(text: string, units: Uint16Array, each: EachWord): void {
    const kept = this.#kept;
    const end = text.length;
    let start = -1;
    let kinds = 0;
    let hash = 0;
    for (let at = 0; at <= end; at += 1) {
      const unit = units[at] as number;
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
          const piece = kept.find(units, start, at, hash);
          const words = piece < 0 ? NO_WORDS : kept.words(piece);
          if (typeof words === "string") each(words, start, at, piece);
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

  /** The other forms of a word that no ending tells: "wrote" and "written" of "write", each as it stands in an index. */
  formsOf(word: string): readonly string[] {
    this.#forms ??= this.#irregular();
    const forms = new Set(this.#forms.get(word) ?? this.#ofFamily(word));
    forms.delete(word);
    return [...forms];
  }

  /** Words of the same family, whether there are such words or not. */
  #ofFamily(word: string): readonly string[] {
    // A word of digits, or of pairs of characters, has no family.
    if (!SPELLED.test(word)) return [];
    return this.#rules.families.flatMap(({ shapes, least }) => {
      const part = sharedPart(word, shapes, least);
      const words = part === undefined ? [] : shapes.map((shape) => shape.replace("…", part));
      return words.filter((one) => !this.isPlainStopWord(one));
    });
  }

  #irregular(): ReadonlyMap<string, ReadonlySet<string>> {
    const forms = new Map<string, Set<string>>();
    for (const line of this.#rules.irregular) {
      const words = this.tokens(line).map(({ word }) => word);
      const telling = words.filter((word) => !this.isPlainStopWord(word));
      for (const word of telling) {
        forms.set(word, new Set([...(forms.get(word) ?? []), ...telling]));
      }
    }
    return forms;
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
    for (let at = 0; at < run.length; at += 1) {
      const unit = run.charCodeAt(at);
      RUN_UNITS[at] = unit;
      hash = hashStep(hash, unit);
    }
    const known = this.#kept.find(RUN_UNITS, 0, run.length, hash);
    if (known >= 0) return this.#kept.words(known);
    const words = makeWords(run, this.#rules);
    this.#kept.keep(run, hash, words);
    return words;
  }
}

const NO_WORDS: readonly string[] = [];
const SPELLED = /^[a-z]+$/;

/** What stands for `…` in a word, by the longest of the shapes it has; `undefined` where it has none, or too little is left. */
function sharedPart(word: string, shapes: readonly string[], least: number): string | undefined {
  let shortest: string | undefined;
  for (const shape of shapes) {
    const [before = "", behind = ""] = shape.split("…");
    const length = word.length - before.length - behind.length;
    if (length < least || length >= (shortest?.length ?? Number.POSITIVE_INFINITY)) continue;
    if (word.startsWith(before) && word.endsWith(behind))
      shortest = word.slice(before.length, before.length + length);
  }
  return shortest;
}

const RUN_UNITS = new Uint16Array(KEPT_RUN_UNITS);

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
/** Scripts that write no spaces, for a class of characters in a pattern. */
export const UNSPACED_CLASS = SCRIPTS.map((name) => `\\p{scx=${name}}`).join("");
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
