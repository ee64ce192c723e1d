/**
 * A table from pieces of texts to what is known of them, asked without cutting the piece out first: a
 * string made only to be looked up costs more than the looking up, and garbage on top.
 *
 * It grows with what it holds, so that few words stay within the processor's cache, up to a number of
 * pieces; a full one starts over, since what is common comes back at once.
 */

/** Pieces there is room for. */
const PIECES_MAX = 32_768;
const PLACES_AT_START = 4096;
/** Places for each piece: looking up is one step or two. */
const PLACES_PER_PIECE = 3;

/** The hash of a piece, unit by unit; it starts from 0. */
export function hashStep(hash: number, unit: number): number {
  return (Math.imul(hash ^ unit, 0x01000193) + 0x9e3779b9) | 0;
}

interface Entry<Value> {
  readonly hash: number;
  readonly piece: string;
  readonly value: Value;
}

/** See the file header. */
export class RunTable<Value> {
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
