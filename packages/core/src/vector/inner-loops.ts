/**
 * The inner loops of the vector search: which sketches are near, products of whole numbers, and the turn that a
 * sketch is made by. Here in plain arithmetic; sixteen bytes at a time in `wide-loops.ts`, where the platform can.
 *
 * Promise: pure, and the same to the bit whichever are used. 100,000 sketches of 384 bits are looked through in a
 * fifth of the time by the wide ones, and 1,024 products of 384 numbers take a third.
 */

/** Slots that are stored and sketched together. */
export const CHUNK_SLOTS = 1024;
/** Numbers that are mixed with each other in one round of turning; a power of two. */
export const MIXED = 128;
const WORD_BITS = 32;

/** One round of a turn of the space: where each number comes from, in bytes, and with which sign. */
export interface Turn {
  readonly places: Int32Array;
  readonly signs: Float32Array;
}

/** What a search is made of. Chunks hold `CHUNK_SLOTS` each. */
export interface InnerLoops {
  /** The slots with about the `most` sketches nearest to the one wanted, ascending; words come in fours. */
  nearSketches(sketches: readonly Int32Array[], wanted: Int32Array, most: number): Int32Array;
  /** The products of the numbers asked for with those of slots; sixteen divides how many there are. */
  products(asked: Int16Array, rows: readonly Int8Array[], slots: Int32Array): Int32Array;
  /** Writes the sketch of numbers into the words from `at` on: on which side of the middle they lie once turned. */
  sketch(numbers: ArrayLike<number>, turns: readonly Turn[], into: Int32Array, at: number): void;
}

/** The loops in plain arithmetic. */
export const plainLoops: InnerLoops = {
  nearSketches(sketches, wanted, most) {
    const apart = new Uint16Array(CHUNK_SLOTS * sketches.length);
    for (const [at, some] of sketches.entries()) countApart(some, wanted, apart, CHUNK_SLOTS * at);
    const limit = smallestLimit(apart, wanted.length * WORD_BITS, most);
    const slots: number[] = [];
    for (let slot = 0; slot < apart.length; slot += 1) {
      if ((apart[slot] as number) < limit) slots.push(slot);
    }
    return Int32Array.from(slots);
  },
  products(asked, rows, slots) {
    return slots.map((slot) => {
      const numbers = rows[Math.floor(slot / CHUNK_SLOTS)] as Int8Array;
      return productAt(asked, numbers, (slot % CHUNK_SLOTS) * asked.length);
    });
  },
  sketch(numbers, turns, into, at) {
    let now = new Float32Array(turns[0]?.places.length ?? 0);
    now.set(numbers);
    for (const turn of turns) now = turned(now, turn);
    for (let word = 0; word < now.length / WORD_BITS; word += 1) {
      let bits = 0;
      for (let bit = 0; bit < WORD_BITS; bit += 1) {
        if ((now[word * WORD_BITS + bit] as number) > 0) bits |= 1 << bit;
      }
      into[at + word] = bits;
    }
  },
};

/** One round: numbers change places and signs, then mix by sums and differences, block by block. */
function turned(now: Float32Array, { places, signs }: Turn): Float32Array<ArrayBuffer> {
  const next = new Float32Array(now.length);
  for (let at = 0; at < now.length; at += 1) {
    next[at] = (now[(places[at] as number) / 4] as number) * (signs[at] as number);
  }
  for (let half = 1; half < MIXED; half *= 2) {
    for (let start = 0; start < next.length; start += 2 * half) {
      for (let at = start; at < start + half; at += 1) {
        const [one, other] = [next[at] as number, next[at + half] as number];
        next[at] = one + other;
        next[at + half] = one - other;
      }
    }
  }
  return next;
}

/** The product of two vectors in whole numbers: four chains, so that additions overlap. */
function productAt(asked: Int16Array, numbers: Int8Array, from: number): number {
  let [first, second, third, fourth] = [0, 0, 0, 0];
  for (let at = 0, own = from; at < asked.length; at += 4, own += 4) {
    first = (first + Math.imul(asked[at] as number, numbers[own] as number)) | 0;
    second = (second + Math.imul(asked[at + 1] as number, numbers[own + 1] as number)) | 0;
    third = (third + Math.imul(asked[at + 2] as number, numbers[own + 2] as number)) | 0;
    fourth = (fourth + Math.imul(asked[at + 3] as number, numbers[own + 3] as number)) | 0;
  }
  return first + second + third + fourth;
}

/** In how many bits each sketch differs from the one that is looked for. */
function countApart(
  sketches: Int32Array,
  wanted: Int32Array,
  apart: Uint16Array,
  from: number,
): void {
  for (let slot = from, at = 0; at < sketches.length; slot += 1) {
    let bits = 0;
    for (let word = 0; word < wanted.length; word += 1, at += 1) {
      bits += bitsIn((sketches[at] as number) ^ (wanted[word] as number));
    }
    apart[slot] = bits;
  }
}

/** The smallest number that at least `most` lie below. */
function smallestLimit(apart: Uint16Array, largest: number, most: number): number {
  const counts = new Int32Array(largest + 1);
  for (const bits of apart) counts[bits] = (counts[bits] as number) + 1;
  let limit = 0;
  for (let below = 0; limit <= largest && below < most; limit += 1) {
    below += counts[limit] as number;
  }
  return limit;
}

function bitsIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
