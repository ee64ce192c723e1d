/**
 * BM25 and the best hits so far.
 *
 * Promise: scores are plain doubles, the words' shares added in the order of the query, so that every
 * way of finding a document gives it the same score to the last bit. Of equal scores the one that was
 * offered first stays; whoever offers goes from the newest document to the oldest.
 */

/** How soon repeating a word stops helping. */
export const K1 = 1.2;
/** How far a long document is held against it. */
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

/** The best so many of all documents that are offered. */
export class BestHits {
  readonly #most: number;
  /** A heap, the worst first; members of one place stand under one index. */
  readonly #scores: number[] = [];
  readonly #order: number[] = [];
  readonly #sources: number[] = [];
  readonly #documents: number[] = [];
  #offered = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** What a score must pass to be kept; below everything while there is room. */
  get threshold(): number {
    return this.#scores.length < this.#most ? Number.NEGATIVE_INFINITY : (this.#scores[0] ?? 0);
  }

  /** Keeps a document if it is among the best. */
  offer(source: number, document: number, score: number): void {
    const order = this.#offered++;
    if (this.#scores.length < this.#most) {
      this.#set(this.#scores.length, score, order, source, document);
      this.#rise(this.#scores.length - 1);
    } else if (score > (this.#scores[0] ?? 0)) {
      this.#set(0, score, order, source, document);
      this.#sink();
    }
  }

  /** All that was kept, the best first. */
  sorted(): readonly ScoredDocument[] {
    const places = this.#scores.map((_, at) => at);
    places.sort((a, b) => (this.#isWorse(a, b) ? 1 : -1));
    return places.map((at) => ({
      source: this.#sources[at] ?? 0,
      document: this.#documents[at] ?? 0,
      score: this.#scores[at] ?? 0,
    }));
  }

  #isWorse(a: number, b: number): boolean {
    const [left, right] = [this.#scores[a] ?? 0, this.#scores[b] ?? 0];
    return left !== right ? left < right : (this.#order[a] ?? 0) > (this.#order[b] ?? 0);
  }

  #set(at: number, score: number, order: number, source: number, document: number): void {
    this.#scores[at] = score;
    this.#order[at] = order;
    this.#sources[at] = source;
    this.#documents[at] = document;
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
    const size = this.#scores.length;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let worst = at;
      if (left < size && this.#isWorse(left, worst)) worst = left;
      if (right < size && this.#isWorse(right, worst)) worst = right;
      if (worst === at) return;
      this.#swap(at, worst);
      at = worst;
    }
  }

  #swap(a: number, b: number): void {
    for (const list of [this.#scores, this.#order, this.#sources, this.#documents]) {
      const kept = list[a] ?? 0;
      list[a] = list[b] ?? 0;
      list[b] = kept;
    }
  }
}
