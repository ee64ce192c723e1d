/**
 * What a text names: runs of capitalised words, such as people, places, products and works.
 *
 * Promise: pure and without lists of names. A run is found by its capitals alone, small joining words
 * inside it ("of", "de", "van") kept; a leading stop word ("The", "What") is not part of a name.
 * Scripts without capitals name nothing here; titles and subjects still do. Names are compared in
 * lower case, without accents and possessive endings.
 */
import { truncateUtf8 } from "../codec/text.js";

/** One name as its words, lower case. */
export type NameWords = readonly string[];

/** Longest name that is looked at, in words. */
const NAME_WORDS = 6;
/** Most names taken from one text, so that a table of contents costs no more than a page. */
const NAMES = 64;

const RUN =
  /\p{Lu}[\p{L}\p{N}'’-]*(?: (?:(?:of|the|de|la|von|van|del|der|di) )*\p{Lu}[\p{L}\p{N}'’-]*| \d{4}(?![\p{L}\p{N}]))*/gu;

const JOINING: ReadonlySet<string> = new Set("of the de la von van del der di".split(" "));

/** A name and where in the text it stands. */
export interface PlacedName {
  readonly words: NameWords;
  /** Units of the string, end not included, of each place. */
  readonly places: readonly { readonly start: number; readonly end: number }[];
}

/** A stretch of capitals, and where it begins. */
interface Run {
  readonly run: string;
  readonly at: number;
}

/** The names in a text, each once, in the order in which they come. */
export function namesIn(text: string, isCommon: (word: string) => boolean): readonly NameWords[] {
  const runs = runsIn(text);
  if (runs.length === 0) return NO_NAMES;
  // One name, or none, is usual: nothing to look it up in.
  const [first] = runs;
  if (first !== undefined && runs.length === 1) {
    const words = trimmed(nameWords(first.run), isCommon);
    return isName(words.join(" ")) ? [words] : NO_NAMES;
  }
  const found = new Map<string, NameWords>();
  eachName(runs, isCommon, found, (key, words) => {
    if (!found.has(key)) found.set(key, words);
  });
  return [...found.values()];
}

/** Whether a run is long enough to be a name. */
function isName(key: string): boolean {
  return key.length >= 3;
}

const NO_NAMES: readonly NameWords[] = [];

/** The names in a text with every place they stand in. */
export function placedNames(
  text: string,
  isCommon: (word: string) => boolean,
): readonly PlacedName[] {
  const found = new Map<string, PlacedName & { places: { start: number; end: number }[] }>();
  eachName(runsIn(text), isCommon, found, (key, words, { run, at }) => {
    const known = found.get(key);
    const place = { start: at, end: at + run.length };
    if (known !== undefined) known.places.push(place);
    else found.set(key, { words, places: [place] });
  });
  return [...found.values()];
}

/** Gives what runs name, as often as they do, until one comes that is beyond the most names of a text. */
function eachName(
  runs: readonly Run[],
  isCommon: (word: string) => boolean,
  found: ReadonlyMap<string, unknown>,
  give: (key: string, words: NameWords, run: Run) => void,
): void {
  for (const run of runs) {
    const words = trimmed(nameWords(run.run), isCommon);
    const key = words.join(" ");
    if (!isName(key)) continue;
    if (found.size === NAMES && !found.has(key)) return;
    give(key, words, run);
  }
}

/** Stretches of text that begin with a capital and go on with capitals. */
function runsIn(text: string): readonly Run[] {
  const runs: Run[] = [];
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at);
    // Beyond ASCII the slow way knows which letters are capitals: everything is looked at again.
    if (unit >= 128) {
      return [...text.matchAll(RUN)].map(({ 0: run, index }) => ({ run, at: index }));
    }
    if (!isLetterOrDigit(unit)) {
      at += 1;
      continue;
    }
    const end = isCapital(unit) ? runEnd(text, at) : wordEnd(text, at);
    if (isCapital(unit)) runs.push({ run: text.slice(at, end), at });
    at = end;
  }
  return runs;
}

/** Where a run that begins at `start` ends. */
function runEnd(text: string, start: number): number {
  let end = wordEnd(text, start);
  for (;;) {
    let next = end;
    let word: string;
    do {
      if (text.charCodeAt(next) !== SPACE) return end;
      const from = next + 1;
      next = wordEnd(text, from);
      word = text.slice(from, next);
    } while (JOINING.has(word));
    if (!isCapital(word.charCodeAt(0)) && !/^\d{4}$/.test(word)) return end;
    end = next;
  }
}

function wordEnd(text: string, start: number): number {
  let end = start;
  for (; end < text.length; end += 1) {
    const unit = text.charCodeAt(end);
    if (unit < 128 && KIND_OF[unit] === BETWEEN) break;
  }
  return end;
}

const SPACE = 0x20;
const [BETWEEN, INSIDE, PLAIN_UNIT, CAPITAL] = [0, 1, 2, 3] as const;

/** What an ASCII character is to a name: between words, a sign that stands inside, a small letter or digit, a capital. */
const KIND_OF: Uint8Array = (() => {
  const kinds = new Uint8Array(128);
  for (let unit = 0; unit < 128; unit += 1) {
    const character = String.fromCharCode(unit);
    if (/['-]/.test(character)) kinds[unit] = INSIDE;
    if (/[a-z0-9]/.test(character)) kinds[unit] = PLAIN_UNIT;
    if (/[A-Z]/.test(character)) kinds[unit] = CAPITAL;
  }
  return kinds;
})();

function isCapital(unit: number): boolean {
  return KIND_OF[unit] === CAPITAL;
}

function isLetterOrDigit(unit: number): boolean {
  return (KIND_OF[unit] ?? BETWEEN) >= PLAIN_UNIT;
}

/** A title or subject as a name; a remark in brackets is left out. */
export function nameOfTitle(title: string): NameWords {
  const bare = title.includes("(") ? title.replace(/\(.*?\)/g, " ") : title;
  return nameWords(bare).slice(0, 2 * NAME_WORDS);
}

/** The words of a text, as names are compared. */
export function nameWords(text: string): NameWords {
  if (PLAIN.test(text)) return text.toLowerCase().split(" ");
  const plain = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/['’]s(?![\p{L}\p{N}])/gu, "");
  return (
    plain
      .normalize("NFD")
      .replace(/\p{M}+/gu, "")
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/** Nothing but ASCII words with one space between them: most names. */
const PLAIN = /^[0-9A-Za-z]+(?: [0-9A-Za-z]+)*$/;

/** Every stretch of words that could be a name of its own; a single short or common word is none. */
export function stretches(
  words: NameWords,
  isCommon: (word: string) => boolean,
): readonly string[] {
  const found: string[] = [];
  for (let start = 0; start < words.length; start += 1) {
    for (let length = 1; length <= NAME_WORDS && start + length <= words.length; length += 1) {
      const stretch = words.slice(start, start + length).join(" ");
      if (length === 1 && (stretch.length < 4 || isCommon(stretch))) continue;
      found.push(stretch);
    }
  }
  return found;
}

function trimmed(words: NameWords, isCommon: (word: string) => boolean): NameWords {
  const from = words.findIndex((word) => !isCommon(word));
  return from < 0 ? [] : words.slice(from, from + 2 * NAME_WORDS);
}

/**
 * Index terms that are no words: what a memory is titled, and what it names. They stand in the same
 * index as words, under a first character that no word has, so that "who else names this" is one
 * lookup and a forget takes them along.
 */
const MARK = { title: "\u0002", name: "\u0001", standing: "\u0000" } as const;

/** The term under which memories stand that say what shall hold for every answer. */
export const STANDING_MARK = `${MARK.standing}standing`;

/** Longest name under a mark; the rest of a longer one is cut. */
const NAME_BYTES = 256;

/** The term under which memories with this title stand. */
export function titleMark(name: string): string {
  return MARK.title + truncateUtf8(name, NAME_BYTES);
}

/** The term under which memories that name this stand. */
export function nameMark(name: string): string {
  return MARK.name + truncateUtf8(name, NAME_BYTES);
}

/** Whether a term of the index is a mark rather than a word: it counts for no length. */
export function isMark(term: string): boolean {
  return term.charCodeAt(0) <= 2;
}
