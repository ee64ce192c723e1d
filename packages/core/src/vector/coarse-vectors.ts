/**
 * Many vectors in little memory, and which of them are worth a closer look.
 *
 * A vector is kept in numbers of 8 bits: 388 bytes for 384 numbers, a quarter of what its row takes, with
 * cosines that are off by some thousandths. Whoever needs exact ones reads the rows. Beside them stands a
 * *sketch*: a bit for each direction of the space after it was turned at random, saying on which side of
 * the middle the vector lies. The more bits two sketches share, the smaller the angle between their vectors,
 * whatever the model; without turning, a model whose first numbers say most would have its last ones count as
 * much. A scan over the sketches takes a fifteenth of one over the vectors, and only what it puts first is
 * compared number by number.
 *
 * How good that is: 100,000 turns and sentences by the local model, 84 questions, the 10, 48 and 96 nearest.
 * Among the 1,024 nearest sketches are 1.00, .97 and .94 of them; among 2,048 are 1.00, .99 and .98; among
 * 4,096 are 1.00, 1.00 and .99. Not turned at all, .65 of the 48 are among 1,024. Each further comparison costs
 * more than thirty sketches, because it waits for the memory.
 *
 * Pure. Slots are numbers from 0 on, in the order in which vectors come; storing them in chunks keeps growing
 * from copying.
 */
import { Nearest, type Neighbour } from "./distance.js";

/** Slots that are stored and sketched together. */
const CHUNK_SLOTS = 1024;
/** Vectors up to which each is compared. */
const COMPARED_ALL = 8192;
/** Sketches that are followed by a comparison: so many for each vector wanted, and so many at least. */
const FOLLOWED_EACH = 3;
const FOLLOWED_LEAST = 1024;
/** Numbers that are mixed with each other in one round of turning; a power of two. */
const MIXED = 128;
const ROUNDS = 2;
const WORD_BITS = 32;
/** The largest number of 8 bits with a sign. */
const LARGEST = 127;
/** So large that the products of a few thousand numbers still add up below 2 to the 31st. */
const LARGEST_ASKED = 2047;

interface Chunk {
  readonly numbers: Int8Array;
  /** What a number of 8 bits stands for, by slot. */
  readonly scales: Float32Array;
  /** Once the chunk is full. */
  sketches: Int32Array | undefined;
}

/** See the file header. */
export class CoarseVectors {
  readonly #dimensions: number;
  readonly #turning: Turning;
  readonly #chunks: Chunk[] = [];
  #count = 0;

  constructor(dimensions: number) {
    this.#dimensions = dimensions;
    this.#turning = new Turning(dimensions);
  }

  /** Keeps a vector of unit length in the next slot. */
  add(vector: Float32Array): void {
    const chunk = this.#chunks[chunkOf(this.#count)] ?? this.#newChunk();
    const at = this.#count % CHUNK_SLOTS;
    const scale = largestOf(vector) / LARGEST;
    const from = at * this.#dimensions;
    for (let one = 0; one < this.#dimensions; one += 1) {
      chunk.numbers[from + one] = Math.round((vector[one] ?? 0) / scale);
    }
    chunk.scales[at] = scale;
    this.#count += 1;
    if (at === CHUNK_SLOTS - 1) chunk.sketches = this.#sketch(chunk);
  }

  /**
   * The `most` nearest of the slots that are wanted, nearest first. They are exact but for rounding where all
   * were compared: up to some thousand, and whenever `each` asks for it.
   */
  nearest(
    query: Float32Array,
    most: number,
    isWanted: (slot: number) => boolean,
    each: boolean,
  ): { readonly found: readonly Neighbour[]; readonly comparedAll: boolean } {
    const found = new Nearest(most);
    const asked = wholeNumbers(query);
    const compare = (slot: number): void => {
      if (!isWanted(slot)) return;
      const { numbers, scales } = this.#chunks[chunkOf(slot)] as Chunk;
      const at = slot % CHUNK_SLOTS;
      const product = productAt(asked.numbers, numbers, at * this.#dimensions);
      found.offer(slot, Math.max(0, 1 - product * asked.scale * (scales[at] as number)));
    };
    const followed = Math.max(FOLLOWED_LEAST, FOLLOWED_EACH * most);
    const comparedAll = each || this.#count <= Math.max(COMPARED_ALL, followed);
    if (comparedAll) {
      for (let slot = 0; slot < this.#count; slot += 1) compare(slot);
    } else {
      this.#eachNearSketch(query, followed, compare);
    }
    return { found: found.inOrder(), comparedAll };
  }

  /** Names the slots with about the `most` nearest sketches, and those that have none yet. */
  #eachNearSketch(query: Float32Array, most: number, name: (slot: number) => void): void {
    const { words } = this.#turning;
    const wanted = new Int32Array(words);
    this.#turning.sketch(query, wanted, 0);
    const apart = new Uint16Array(this.#count);
    let sketched = 0;
    for (const { sketches } of this.#chunks) {
      if (sketches === undefined) break;
      countApart(sketches, wanted, apart, sketched);
      sketched += CHUNK_SLOTS;
    }
    const limit = smallestLimit(apart, sketched, words * WORD_BITS, most);
    for (let slot = 0; slot < sketched; slot += 1) if ((apart[slot] as number) < limit) name(slot);
    for (let slot = sketched; slot < this.#count; slot += 1) name(slot);
  }

  #sketch(chunk: Chunk): Int32Array {
    const { words } = this.#turning;
    const sketches = new Int32Array(CHUNK_SLOTS * words);
    for (let at = 0; at < CHUNK_SLOTS; at += 1) {
      const from = at * this.#dimensions;
      const numbers = chunk.numbers.subarray(from, from + this.#dimensions);
      this.#turning.sketch(numbers, sketches, at * words);
    }
    return sketches;
  }

  #newChunk(): Chunk {
    const chunk: Chunk = {
      numbers: new Int8Array(CHUNK_SLOTS * this.#dimensions),
      scales: new Float32Array(CHUNK_SLOTS),
      sketches: undefined,
    };
    this.#chunks.push(chunk);
    return chunk;
  }
}

/** The largest of the numbers, whatever their signs. */
function largestOf(vector: Float32Array): number {
  let largest = 0;
  for (const value of vector) largest = Math.max(largest, Math.abs(value));
  return largest;
}

/** A vector in numbers of 16 bits, and what one of them stands for. */
function wholeNumbers(vector: Float32Array): {
  readonly numbers: Int16Array;
  readonly scale: number;
} {
  const scale = largestOf(vector) / LARGEST_ASKED;
  return { numbers: Int16Array.from(vector, (value) => Math.round(value / scale)), scale };
}

/**
 * The product of two vectors in whole numbers: a third of the time that it takes with fractions, most of which
 * goes into turning one kind of number into the other. Four chains, so that additions overlap.
 */
function productAt(asked: Int16Array, numbers: Int8Array, from: number): number {
  const { length } = asked;
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  let at = 0;
  for (let own = from; at + 3 < length; at += 4, own += 4) {
    first = (first + Math.imul(asked[at] as number, numbers[own] as number)) | 0;
    second = (second + Math.imul(asked[at + 1] as number, numbers[own + 1] as number)) | 0;
    third = (third + Math.imul(asked[at + 2] as number, numbers[own + 2] as number)) | 0;
    fourth = (fourth + Math.imul(asked[at + 3] as number, numbers[own + 3] as number)) | 0;
  }
  for (; at < length; at += 1)
    first += Math.imul(asked[at] as number, numbers[from + at] as number);
  return first + second + third + fourth;
}

function chunkOf(slot: number): number {
  return Math.floor(slot / CHUNK_SLOTS);
}

/**
 * A turn of the space that is the same in every process: in each round the numbers change places and signs, and
 * then mix with each other by sums and differences (Hadamard's matrix, block by block).
 */
class Turning {
  /** Words of 32 bits in a sketch; a multiple of four. */
  readonly words: number;
  readonly #places: readonly Int32Array[];
  readonly #signs: readonly Float32Array[];
  #now: Float32Array;
  #next: Float32Array;

  constructor(dimensions: number) {
    const length = Math.ceil(dimensions / MIXED) * MIXED;
    const next = fixedNumbers();
    this.words = length / WORD_BITS;
    this.#places = Array.from({ length: ROUNDS }, () => shuffled(length, next));
    this.#signs = Array.from({ length: ROUNDS }, () =>
      Float32Array.from({ length }, () => (next() % 2 === 0 ? 1 : -1)),
    );
    this.#now = new Float32Array(length);
    this.#next = new Float32Array(length);
  }

  /** Writes the sketch of a vector of any length into the words from `at` on. */
  sketch(vector: ArrayLike<number>, into: Int32Array, at: number): void {
    this.#now.fill(0);
    for (let one = 0; one < vector.length; one += 1) this.#now[one] = vector[one] as number;
    for (let round = 0; round < ROUNDS; round += 1) this.#turn(round);
    for (let word = 0; word < this.words; word += 1) {
      let bits = 0;
      for (let bit = 0; bit < WORD_BITS; bit += 1) {
        if ((this.#now[word * WORD_BITS + bit] as number) > 0) bits |= 1 << bit;
      }
      into[at + word] = bits;
    }
  }

  #turn(round: number): void {
    const [now, next] = [this.#now, this.#next];
    const places = this.#places[round] as Int32Array;
    const signs = this.#signs[round] as Float32Array;
    for (let at = 0; at < now.length; at += 1) {
      next[at] = (now[places[at] as number] as number) * (signs[at] as number);
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
    this.#now = next;
    this.#next = now;
  }
}

/** Numbers that look drawn at random and are the same everywhere. */
function fixedNumbers(): () => number {
  let state = 0x2545f491;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

function shuffled(length: number, next: () => number): Int32Array {
  const places = Int32Array.from({ length }, (_, at) => at);
  for (let at = length - 1; at > 0; at -= 1) {
    const other = next() % (at + 1);
    const held = places[at] as number;
    places[at] = places[other] as number;
    places[other] = held;
  }
  return places;
}

/**
 * In how many bits each sketch differs from the one that is looked for. Bits of four words at a time are added
 * up in ones, twos and fours, so that one word in four has its bits counted instead of each.
 */
function countApart(
  sketches: Int32Array,
  wanted: Int32Array,
  apart: Uint16Array,
  from: number,
): void {
  const words = wanted.length;
  for (let slot = from, at = 0; at < sketches.length; slot += 1) {
    let ones = 0;
    let twos = 0;
    let fours = 0;
    for (let word = 0; word < words; word += 4, at += 4) {
      const a = (sketches[at] as number) ^ (wanted[word] as number);
      const b = (sketches[at + 1] as number) ^ (wanted[word + 1] as number);
      const c = (sketches[at + 2] as number) ^ (wanted[word + 2] as number);
      const d = (sketches[at + 3] as number) ^ (wanted[word + 3] as number);
      let either = ones ^ a;
      const carried = (ones & a) | (either & b);
      ones = either ^ b;
      either = ones ^ c;
      const more = (ones & c) | (either & d);
      ones = either ^ d;
      either = twos ^ carried;
      fours += bitsIn((twos & carried) | (either & more));
      twos = either ^ more;
    }
    apart[slot] = 4 * fours + 2 * bitsIn(twos) + bitsIn(ones);
  }
}

/** The smallest number that at least `most` of the first `count` lie below. */
function smallestLimit(apart: Uint16Array, count: number, largest: number, most: number): number {
  const counts = new Int32Array(largest + 1);
  for (let at = 0; at < count; at += 1) {
    const bits = apart[at] as number;
    counts[bits] = (counts[bits] as number) + 1;
  }
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
