/**
 * BM25 and the best hits so far.
 *
 * Promise: scores are plain doubles, the words' shares added in the order of the query, so that every
 * way of finding a document gives it the same score to the last bit. Of equal scores the one that was
 * offered first stays; whoever offers goes from the newest document to the oldest.
 */

/** How soon repeating a word stops helping. */
export const K1 = 1.2;
/** How much a document loses by its length. */
export const B = 0.75;

/** The most one word of weight 1 can add. */
export const IMPACT_MAX = K1 + 1;

/** How telling a word is: `documents` hold it, of `total`. */
export function weightOf(total: number, documents: number): number {
  return Math.log(1 + (total - documents + 0.5) / (documents + 0.5));
}

/** The share of a word of weight 1 that stands `times` in a document of `length` words. */
export function impactOf(times: number, length: number, averageLength: number): number {
  return (times * (K1 + 1)) / (times + K1 * (1 - B + (B * length) / averageLength));
}

/** A document that was found: which source it lies in, and its number there. */
interface ScoredDocument {
  readonly source: number;
  readonly document: number;
  readonly score: number;
}

/** Room for hits at the start; it doubles. */
const ROOM = 256;

/** The best so many of all documents that are offered. */
export class BestHits {
  readonly #most: number;
  /** A heap, the worst first; members of one place stand under one index. */
  #scores = new Float64Array(ROOM);
  #order = new Float64Array(ROOM);
  #sources = new Int32Array(ROOM);
  #documents = new Int32Array(ROOM);
  #size = 0;
  #offered = 0;
  /** What a score must pass to be kept; below everything while there is room. */
  threshold = Number.NEGATIVE_INFINITY;

  constructor(most: number) {
    this.#most = most;
  }

  /** Keeps a document if it is among the best. */
  offer(source: number, document: number, score: number): void {
    const order = this.#offered++;
    if (this.#size < this.#most) {
      if (this.#size === this.#scores.length) this.#grow();
      this.#size += 1;
      this.#set(this.#size - 1, score, order, source, document);
      this.#rise(this.#size - 1);
    } else if (score > this.threshold) {
      this.#set(0, score, order, source, document);
      this.#sink();
    }
    if (this.#size === this.#most) this.threshold = this.#scores[0] as number;
  }

  /** All that was kept, the best first. */
  sorted(): readonly ScoredDocument[] {
    const places = Array.from({ length: this.#size }, (_, at) => at);
    places.sort((a, b) => (this.#isWorse(a, b) ? 1 : -1));
    return places.map((at) => ({
      source: this.#sources[at] as number,
      document: this.#documents[at] as number,
      score: this.#scores[at] as number,
    }));
  }

  #isWorse(a: number, b: number): boolean {
    const left = this.#scores[a] as number;
    const right = this.#scores[b] as number;
    return left !== right ? left < right : (this.#order[a] as number) > (this.#order[b] as number);
  }

  #set(at: number, score: number, order: number, source: number, document: number): void {
    this.#scores[at] = score;
    this.#order[at] = order;
    this.#sources[at] = source;
    this.#documents[at] = document;
  }

  #grow(): void {
    const room = 2 * this.#size;
    const wider = <List extends Float64Array | Int32Array>(from: List, to: List): List => {
      to.set(from);
      return to;
    };
    this.#scores = wider(this.#scores, new Float64Array(room));
    this.#order = wider(this.#order, new Float64Array(room));
    this.#sources = wider(this.#sources, new Int32Array(room));
    this.#documents = wider(this.#documents, new Int32Array(room));
  }

  #rise(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.#isWorse(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(): void {
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let worst = at;
      if (left < this.#size && this.#isWorse(left, worst)) worst = left;
      if (right < this.#size && this.#isWorse(right, worst)) worst = right;
      if (worst === at) return;
      this.#swap(at, worst);
      at = worst;
    }
  }

  #swap(a: number, b: number): void {
    const score = this.#scores[a] as number;
    const order = this.#order[a] as number;
    const source = this.#sources[a] as number;
    const document = this.#documents[a] as number;
    this.#scores[a] = this.#scores[b] as number;
    this.#order[a] = this.#order[b] as number;
    this.#sources[a] = this.#sources[b] as number;
    this.#documents[a] = this.#documents[b] as number;
    this.#set(b, score, order, source, document);
  }
}
