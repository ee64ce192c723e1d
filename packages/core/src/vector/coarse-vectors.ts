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
import { CHUNK_SLOTS, MIXED, type Turn } from "./inner-loops.js";
import { innerLoops } from "./wide-loops.js";

/** Vectors up to which each is compared. */
const COMPARED_ALL = 8192;
/** Sketches that are followed by a comparison: so many for each vector wanted, and so many at least. */
const FOLLOWED_EACH = 3;
const FOLLOWED_LEAST = 1024;
/** Bytes that the inner loops take at a time. */
const STRIDE = 16;
const ROUNDS = 2;
const WORD_BITS = 32;
/** The largest number of 8 bits with a sign. */
const LARGEST = 127;
/** So large that the products of a few thousand numbers still add up below 2 to the 31st. */
const LARGEST_ASKED = 2047;

/** See the file header. */
export class CoarseVectors {
  readonly #dimensions: number;
  /** Numbers of a vector as it is stored: those beyond its dimensions are 0. */
  readonly #stride: number;
  readonly #turns: readonly Turn[];
  readonly #words: number;
  readonly #numbers: Int8Array[] = [];
  /** What a number of 8 bits stands for, by slot. */
  readonly #scales: Float32Array[] = [];
  /** Of the chunks that are full. */
  readonly #sketches: Int32Array[] = [];
  #count = 0;

  constructor(dimensions: number) {
    this.#dimensions = dimensions;
    this.#stride = Math.ceil(dimensions / STRIDE) * STRIDE;
    this.#turns = turnsOf(dimensions);
    this.#words = (Math.ceil(dimensions / MIXED) * MIXED) / WORD_BITS;
  }

  /** Keeps a vector of unit length in the next slot. */
  add(vector: Float32Array): void {
    const at = this.#count % CHUNK_SLOTS;
    if (at === 0) {
      this.#numbers.push(new Int8Array(CHUNK_SLOTS * this.#stride));
      this.#scales.push(new Float32Array(CHUNK_SLOTS));
    }
    const numbers = this.#numbers.at(-1) as Int8Array;
    const scale = largestOf(vector) / LARGEST;
    const from = at * this.#stride;
    for (let one = 0; one < this.#dimensions; one += 1) {
      // A fifth of the time of `Math.round`.
      numbers[from + one] = Math.floor((vector[one] as number) / scale + 0.5);
    }
    (this.#scales.at(-1) as Float32Array)[at] = scale;
    this.#count += 1;
    if (at === CHUNK_SLOTS - 1) this.#sketches.push(this.#sketchesOf(numbers));
  }

  /**
   * The `most` nearest of the slots that are wanted, of all where nothing says which, nearest first. They are exact but for
   * rounding where all were compared: up to some thousand, and whenever `each` asks for it. They can be gone through once.
   */
  nearest(
    query: Float32Array,
    most: number,
    isWanted: ((slot: number) => boolean) | undefined,
    each: boolean,
  ): { readonly found: Iterable<Neighbour>; readonly comparedAll: boolean } {
    const followed = Math.max(FOLLOWED_LEAST, FOLLOWED_EACH * most);
    const comparedAll = each || this.#count <= Math.max(COMPARED_ALL, followed);
    const all = comparedAll ? numbersFrom(0, this.#count) : this.#nearSketches(query, followed);
    const slots = isWanted === undefined ? all : all.filter(isWanted);
    const asked = wholeNumbers(query, this.#stride);
    const products = innerLoops().products(asked.numbers, this.#numbers, slots);
    const found = new Nearest(most, slots.length);
    for (let at = 0; at < slots.length; at += 1) {
      const slot = slots[at] as number;
      const scales = this.#scales[Math.floor(slot / CHUNK_SLOTS)] as Float32Array;
      const cosine =
        (products[at] as number) * asked.scale * (scales[slot % CHUNK_SLOTS] as number);
      found.offer(slot, Math.max(0, 1 - cosine));
    }
    return { found: found.inOrder(), comparedAll };
  }

  /** The slots with about the `most` nearest sketches, and those that have none yet. */
  #nearSketches(query: Float32Array, most: number): Int32Array {
    const wanted = new Int32Array(this.#words);
    innerLoops().sketch(query, this.#turns, wanted, 0);
    const near = innerLoops().nearSketches(this.#sketches, wanted, most);
    const fresh = numbersFrom(CHUNK_SLOTS * this.#sketches.length, this.#count);
    const slots = new Int32Array(near.length + fresh.length);
    slots.set(near);
    slots.set(fresh, near.length);
    return slots;
  }

  #sketchesOf(numbers: Int8Array): Int32Array {
    const sketches = new Int32Array(CHUNK_SLOTS * this.#words);
    for (let at = 0; at < CHUNK_SLOTS; at += 1) {
      const from = at * this.#stride;
      const own = numbers.subarray(from, from + this.#dimensions);
      innerLoops().sketch(own, this.#turns, sketches, at * this.#words);
    }
    return sketches;
  }
}

function numbersFrom(from: number, end: number): Int32Array {
  return Int32Array.from({ length: end - from }, (_, at) => from + at);
}

/** The largest of the numbers, whatever their signs. */
function largestOf(vector: Float32Array): number {
  let largest = 0;
  for (let at = 0; at < vector.length; at += 1) {
    const value = vector[at] as number;
    if (value > largest) largest = value;
    else if (-value > largest) largest = -value;
  }
  return largest;
}

/** A vector in numbers of 16 bits, filled up to a length, and what one of them stands for. */
function wholeNumbers(
  vector: Float32Array,
  length: number,
): { readonly numbers: Int16Array; readonly scale: number } {
  const scale = largestOf(vector) / LARGEST_ASKED;
  const numbers = new Int16Array(length);
  for (let at = 0; at < vector.length; at += 1) {
    numbers[at] = Math.round((vector[at] as number) / scale);
  }
  return { numbers, scale };
}

/**
 * A turn of the space that is the same in every process: in each round the numbers change places and signs, and
 * then mix with each other by sums and differences (Hadamard's matrix, block by block).
 */
function turnsOf(dimensions: number): readonly Turn[] {
  const length = Math.ceil(dimensions / MIXED) * MIXED;
  const next = fixedNumbers();
  const places = Array.from({ length: ROUNDS }, () => shuffled(length, next));
  const signs = Array.from({ length: ROUNDS }, () =>
    Float32Array.from({ length }, () => (next() % 2 === 0 ? 1 : -1)),
  );
  return places.map((own, at) => ({
    places: own.map((place) => place * Float32Array.BYTES_PER_ELEMENT),
    signs: signs[at] as Float32Array,
  }));
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
