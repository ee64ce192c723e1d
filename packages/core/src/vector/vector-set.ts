/**
 * The vectors of one model in memory, by text, with the memories that say it; and which of many are worth a closer look.
 *
 * A slot is one text: what many memories repeat stands here once. A slot whose memories have all gone stays where
 * it is, without owners, and never comes out; `holes` counts them, so that the owner can load anew in time.
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
 * Pure; where vectors come from is left to `loaded-vectors.ts`. Slots are numbers from 0 on, in the order in which vectors
 * come; storing them in chunks keeps growing from copying.
 */
import { dot, Nearest, type Neighbour } from "./distance.js";
import { CHUNK_SLOTS, GATHERED_SLOTS, innerLoops, MIXED, type Turn } from "./inner-loops.js";

/** A text near a query, and the memories that say it. */
export interface NearText {
  /** The memories, as key strings, in the order of their ids. */
  readonly ids: readonly string[];
  /** The hash of the text, as a key string. */
  readonly hash: string;
  readonly distance: number;
}

/** What a search found. */
export interface Found {
  /** Nearest first, to be gone through once; each is looked up when it is asked for, as the set is then. */
  readonly texts: Iterable<NearText>;
  /** Whether there is nothing beyond them. */
  readonly all: boolean;
  /** Whether every vector was compared, so that nothing nearer was missed. */
  readonly comparedAll: boolean;
}

/** Texts whose cosines stand for those of all: the median of so many is off by a twentieth of the spread. */
const SAMPLE = 256;

/** Of fewer texts the median says nothing: of one it would be that text itself. */
const SAMPLE_LEAST = 8;

/** Texts with their vectors and owners. Hashes and ids are key strings. */
export class VectorSet {
  readonly #vectors: CoarseVectors;
  readonly #slots = new Map<string, number>();
  /** The text of each slot. */
  readonly #hashes: string[] = [];
  readonly #owners: (string | Set<string> | undefined)[] = [];
  readonly #slotOfId = new Map<string, number>();
  /** The vectors of the first slots as they came. */
  readonly #sample: Float32Array[] = [];
  #holes = 0;

  constructor(dimensions: number) {
    this.#vectors = new CoarseVectors(dimensions);
  }

  /** Memories that have a vector here. */
  get memories(): number {
    return this.#slotOfId.size;
  }

  /** Slots, those without owners included. */
  get slots(): number {
    return this.#owners.length;
  }

  /** Slots without owners. */
  get holes(): number {
    return this.#holes;
  }

  /** Whether the vector of a text is here. */
  has(hash: string): boolean {
    return this.#slots.has(hash);
  }

  /** Brings the vector of a text; it comes out once a memory has it. */
  add(hash: string, vector: Float32Array): void {
    if (this.#slots.has(hash)) return;
    this.#slots.set(hash, this.slots);
    this.#hashes.push(hash);
    this.#owners.push(undefined);
    this.#holes += 1;
    this.#vectors.add(vector);
    if (this.#sample.length < SAMPLE) this.#sample.push(vector);
  }

  /** Says that a memory has a text whose vector is here. */
  link(id: string, hash: string): void {
    const slot = this.#slots.get(hash);
    if (slot === undefined) throw new Error("a memory is linked to a vector that is not here");
    if (this.#slotOfId.get(id) === slot) return;
    this.unlink(id);
    this.#slotOfId.set(id, slot);
    const owners = this.#owners[slot];
    if (owners === undefined) {
      this.#owners[slot] = id;
      this.#holes -= 1;
    } else if (typeof owners === "string") {
      this.#owners[slot] = new Set([owners, id]);
    } else {
      owners.add(id);
    }
  }

  /** Says that a memory has no vector any more. */
  unlink(id: string): void {
    const slot = this.#slotOfId.get(id);
    if (slot === undefined) return;
    this.#slotOfId.delete(id);
    const owners = this.#owners[slot];
    if (owners instanceof Set && owners.size > 1) {
      owners.delete(id);
    } else {
      this.#owners[slot] = undefined;
      this.#holes += 1;
    }
  }

  /** About the `most` nearest texts, nearest first; `each` compares every vector. */
  search(query: Float32Array, most: number, each = false): Found {
    // Mostly every slot has owners, and asking for those of slots all over the list takes longer than it seems.
    const isOwned =
      this.#holes === 0 ? undefined : (slot: number) => this.#owners[slot] !== undefined;
    const { found, comparedAll } = this.#vectors.nearest(query, most, isOwned, each);
    return { texts: this.#textsAt(found), all: most >= this.slots, comparedAll };
  }

  /** The median cosine between a vector and the texts; `undefined` when too few are known. */
  usualCosine(query: Float32Array): number | undefined {
    if (this.#sample.length < SAMPLE_LEAST) return undefined;
    const cosines = new Float64Array(this.#sample.length);
    for (let at = 0; at < cosines.length; at += 1) {
      cosines[at] = dot(query, this.#sample[at] as Float32Array);
    }
    return cosines.sort()[cosines.length >> 1];
  }

  *#textsAt(found: Iterable<Neighbour>): Generator<NearText, void> {
    for (const one of found) yield this.#textAt(one);
  }

  #textAt({ slot, distance }: Neighbour): NearText {
    const owners = this.#owners[slot];
    const ids = owners instanceof Set ? [...owners].sort() : owners === undefined ? [] : [owners];
    return { ids, hash: this.#hashes[slot] as string, distance };
  }
}

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

/** Vectors by slot, rounded, with their sketches. */
class CoarseVectors {
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
      this.#numbers.push(new Int8Array((CHUNK_SLOTS + GATHERED_SLOTS) * this.#stride));
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
