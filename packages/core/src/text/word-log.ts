/**
 * The words of documents that are being gathered: which documents hold a word, and how often.
 *
 * A log of occurrences in one array of numbers, in which each occurrence names the one before it of the same word.
 * Lists of each word's documents, two arrays for a word, took three times as long to add to as it takes to find the
 * words: every word met cost half a dozen looks at far places, and growing lists were garbage.
 *
 * Promise: documents come in ascending order, and what was given out is not changed.
 */
import type { WordDocuments } from "./postings.js";

/**
 * Pieces of texts that are numbered at a time. Who finds the words of texts numbers the pieces that it keeps, so that a
 * log looks a word up once. When it starts over, it goes on with the next multiple of this.
 */
export const PIECES_MAX = 32_768;

const ROOM_AT_START = 1024;
/** Words whose lists are kept for the next search. */
const LISTS_KEPT = 256;
const NONE = -1;

/** What is known of a word lies side by side: its last occurrence, the document of that, how many documents hold it. */
const WORD = 4;
const [END, LAST, COUNT] = [0, 1, 2] as const;

/** An occurrence: the document, how often it holds the word, the occurrence before, and the number of the word. */
const ENTRY = 4;
const [DOCUMENT, TIMES, BEFORE, OF_WORD] = [0, 1, 2, 3] as const;

/** A word with the documents that hold it, in a stretch of either list. */
interface PassingWord {
  readonly word: string;
  readonly documents: Int32Array;
  readonly times: Int32Array;
  readonly from: number;
  readonly to: number;
}

function numbers(room = ROOM_AT_START): Int32Array<ArrayBuffer> {
  return new Int32Array(room);
}

/** See the file header. */
export class WordLog {
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];
  /** By the number of a word. */
  #words = numbers(WORD * ROOM_AT_START);
  #entries = numbers(ENTRY * ROOM_AT_START);
  /** Where the next occurrence goes. */
  #next = 0;
  /** By the number of a piece, the number of its word plus one, and of which stretch of pieces that holds. */
  #ofPiece = numbers();
  #pieces = 0;
  #lists = new Map<number, WordDocuments>();

  /** How many different words there are. */
  get size(): number {
    return this.#texts.length;
  }

  /** Adds a word of a document. No document before the last one gets more. All pieces are numbered by one analyser. */
  add(word: string, document: number, piece?: number): void {
    const number = piece === undefined ? this.#number(word) : this.#numberOf(word, piece);
    const at = WORD * number;
    const words = this.#words;
    const last = words[at + END] as number;
    if (words[at + LAST] === document) {
      (this.#entries[last + TIMES] as number) += 1;
      return;
    }
    const next = this.#next;
    if (next === this.#entries.length) this.#entries = twice(this.#entries);
    const entries = this.#entries;
    entries[next + DOCUMENT] = document;
    entries[next + TIMES] = 1;
    entries[next + BEFORE] = last;
    entries[next + OF_WORD] = number;
    this.#next = next + ENTRY;
    words[at + END] = next;
    words[at + LAST] = document;
    (words[at + COUNT] as number) += 1;
  }

  has(word: string): boolean {
    const number = this.#numbers.get(word);
    return number !== undefined && this.#count(number) > 0;
  }

  /** The documents of a word. */
  get(word: string): WordDocuments | undefined {
    const number = this.#numbers.get(word);
    if (number === undefined || this.#count(number) === 0) return undefined;
    const kept = this.#lists.get(number);
    // The last document may have got the word once more since.
    if (kept !== undefined && this.#isWhole(number, kept)) return kept;
    const list = this.#list(number);
    if (this.#lists.size >= LISTS_KEPT) this.#lists.clear();
    this.#lists.set(number, list);
    return list;
  }

  /**
   * Every word with its documents as they are when the first is asked for, in one object that holds until the next is. The
   * log is gone through once from its start: going back from occurrence to occurrence waited for memory at each.
   */
  *[Symbol.iterator](): Iterator<PassingWord> {
    const size = this.#texts.length;
    const ends = new Int32Array(size);
    let total = 0;
    for (let number = 0; number < size; number += 1) {
      ends[number] = total;
      total += this.#count(number);
    }
    const documents = new Int32Array(total);
    const times = new Int32Array(total);
    const entries = this.#entries;
    for (let at = 0; at < this.#next; at += ENTRY) {
      const number = entries[at + OF_WORD] as number;
      if (number === NONE) continue;
      const place = ends[number] as number;
      documents[place] = entries[at + DOCUMENT] as number;
      times[place] = entries[at + TIMES] as number;
      ends[number] = place + 1;
    }
    const passing = { word: "", documents, times, from: 0, to: 0 };
    for (let number = 0; number < size; number += 1) {
      passing.from = passing.to;
      passing.to = ends[number] as number;
      if (passing.from === passing.to) continue;
      passing.word = this.#texts[number] as string;
      yield passing;
    }
  }

  /** Takes documents out. */
  forget(gone: ReadonlySet<number>): void {
    this.#lists.clear();
    const [words, entries] = [this.#words, this.#entries];
    for (let number = 0; number < this.#texts.length; number += 1) {
      const word = WORD * number;
      let after = NONE;
      for (let at = words[word + END] as number; at !== NONE; at = entries[at + BEFORE] as number) {
        if (!gone.has(entries[at + DOCUMENT] as number)) {
          after = at;
          continue;
        }
        entries[at + OF_WORD] = NONE;
        const before = entries[at + BEFORE] as number;
        if (after === NONE) words[word + END] = before;
        else entries[after + BEFORE] = before;
        (words[word + COUNT] as number) -= 1;
      }
    }
  }

  #count(number: number): number {
    return this.#words[WORD * number + COUNT] as number;
  }

  #isWhole(number: number, { documents, times }: WordDocuments): boolean {
    const end = this.#words[WORD * number + END] as number;
    const last = this.#entries[end + TIMES];
    return documents.length === this.#count(number) && times.at(-1) === last;
  }

  #list(number: number): WordDocuments {
    const count = this.#count(number);
    const entries = this.#entries;
    const documents = new Array<number>(count);
    const times = new Array<number>(count);
    let at = this.#words[WORD * number + END] as number;
    for (let place = count - 1; place >= 0; place -= 1) {
      documents[place] = entries[at + DOCUMENT] as number;
      times[place] = entries[at + TIMES] as number;
      at = entries[at + BEFORE] as number;
    }
    return { documents, times };
  }

  #numberOf(word: string, piece: number): number {
    const at = piece % PIECES_MAX;
    if (piece - at !== this.#pieces) {
      this.#ofPiece.fill(0);
      this.#pieces = piece - at;
    }
    while (at >= this.#ofPiece.length) this.#ofPiece = twice(this.#ofPiece);
    const known = this.#ofPiece[at] as number;
    if (known > 0) return known - 1;
    const number = this.#number(word);
    this.#ofPiece[at] = number + 1;
    return number;
  }

  #number(word: string): number {
    return this.#numbers.get(word) ?? this.#begin(word);
  }

  #begin(word: string): number {
    const number = this.#texts.push(word) - 1;
    this.#numbers.set(word, number);
    const at = WORD * number;
    if (at === this.#words.length) this.#words = twice(this.#words);
    this.#words[at + END] = NONE;
    this.#words[at + LAST] = NONE;
    return number;
  }
}

function twice(list: Int32Array): Int32Array<ArrayBuffer> {
  const larger = numbers(2 * list.length);
  larger.set(list);
  return larger;
}
