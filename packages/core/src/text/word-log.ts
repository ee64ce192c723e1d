/**
 * The words of documents that are being gathered: which documents hold a word, and how often.
 *
 * A log of occurrences in three arrays of numbers, in which each occurrence names the one before it of the same word.
 * Lists of each word's documents, two arrays for a word, took three times as long to add to as it takes to find the
 * words: every word met cost half a dozen looks at far places, and growing lists were garbage.
 *
 * Promise: documents come in ascending order, and what was given out is not changed.
 */
import type { WordDocuments } from "./postings.js";

/**
 * Who finds the words of texts keeps here which number a log has given to one, so that it is not looked up again. Logs
 * are named by a number, for a memo outlives them.
 */
export interface WordMemo {
  log: number;
  number: number;
}

/** Logs of this process so far. */
let logs = 0;

const ROOM_AT_START = 1024;
/** Words whose lists are kept for the next search. */
const LISTS_KEPT = 256;
const NONE = -1;

/** See the file header. */
export class WordLog {
  readonly #name = ++logs;
  readonly #numbers = new Map<string, number>();
  readonly #words: string[] = [];
  /** By the number of a word: its last occurrence, the document of that, and how many documents hold it. */
  #ends = numbers();
  #lasts = numbers();
  #counts = numbers();
  /** By occurrence: the document, how often it holds the word, and the occurrence before. */
  #documents = numbers();
  #times = numbers();
  #before = numbers();
  #length = 0;
  #lists = new Map<number, WordDocuments>();

  /** How many different words there are. */
  get size(): number {
    return this.#words.length;
  }

  /** Adds a word of a document. No document before the last one gets more. */
  add(word: string, document: number, memo?: WordMemo): void {
    const number = memo?.log === this.#name ? memo.number : this.#number(word, memo);
    const last = this.#ends[number] as number;
    if (this.#lasts[number] === document) {
      (this.#times[last] as number) += 1;
      return;
    }
    const at = this.#length++;
    if (at === this.#documents.length) this.#growLog();
    this.#documents[at] = document;
    this.#times[at] = 1;
    this.#before[at] = last;
    this.#ends[number] = at;
    this.#lasts[number] = document;
    (this.#counts[number] as number) += 1;
  }

  has(word: string): boolean {
    const number = this.#numbers.get(word);
    return number !== undefined && (this.#counts[number] as number) > 0;
  }

  /** The documents of a word. */
  get(word: string): WordDocuments | undefined {
    const number = this.#numbers.get(word);
    if (number === undefined || this.#counts[number] === 0) return undefined;
    const kept = this.#lists.get(number);
    // The last document may have got the word once more since.
    if (kept !== undefined && this.#isWhole(number, kept)) return kept;
    const list = this.#list(number);
    if (this.#lists.size >= LISTS_KEPT) this.#lists.clear();
    this.#lists.set(number, list);
    return list;
  }

  /** Every word with its documents. */
  *[Symbol.iterator](): Iterator<readonly [string, WordDocuments]> {
    for (let number = 0; number < this.#words.length; number += 1) {
      if (this.#counts[number] === 0) continue;
      yield [this.#words[number] as string, this.#list(number)];
    }
  }

  /** Takes documents out. */
  forget(gone: ReadonlySet<number>): void {
    this.#lists.clear();
    for (let number = 0; number < this.#words.length; number += 1) {
      let after = NONE;
      for (let at = this.#ends[number] as number; at !== NONE; at = this.#before[at] as number) {
        if (!gone.has(this.#documents[at] as number)) {
          after = at;
          continue;
        }
        const before = this.#before[at] as number;
        if (after === NONE) this.#ends[number] = before;
        else this.#before[after] = before;
        (this.#counts[number] as number) -= 1;
      }
    }
  }

  #isWhole(number: number, { documents, times }: WordDocuments): boolean {
    const last = this.#times[this.#ends[number] as number];
    return documents.length === this.#counts[number] && times.at(-1) === last;
  }

  #list(number: number): WordDocuments {
    const count = this.#counts[number] as number;
    const documents = new Array<number>(count);
    const times = new Array<number>(count);
    let at = this.#ends[number] as number;
    for (let place = count - 1; place >= 0; place -= 1) {
      documents[place] = this.#documents[at] as number;
      times[place] = this.#times[at] as number;
      at = this.#before[at] as number;
    }
    return { documents, times };
  }

  #number(word: string, memo: WordMemo | undefined): number {
    const number = this.#numbers.get(word) ?? this.#begin(word);
    if (memo !== undefined) {
      memo.log = this.#name;
      memo.number = number;
    }
    return number;
  }

  #begin(word: string): number {
    const number = this.#words.push(word) - 1;
    this.#numbers.set(word, number);
    if (number === this.#ends.length) {
      this.#ends = twice(this.#ends);
      this.#lasts = twice(this.#lasts);
      this.#counts = twice(this.#counts);
    }
    this.#ends[number] = NONE;
    this.#lasts[number] = NONE;
    return number;
  }

  #growLog(): void {
    this.#documents = twice(this.#documents);
    this.#times = twice(this.#times);
    this.#before = twice(this.#before);
  }
}

function numbers(): Int32Array {
  return new Int32Array(ROOM_AT_START);
}

function twice(list: Int32Array): Int32Array {
  const larger = new Int32Array(2 * list.length);
  larger.set(list);
  return larger;
}
