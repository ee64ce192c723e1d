/**
 * Arithmetic on vectors: lengths, products, and the nearest of many by looking at every one.
 *
 * Promise: the scan is exact and its answer depends on the vectors alone: smaller distance first, and
 * of equal distances the lower number first. Vectors have unit length wherever a distance is taken,
 * so the cosine is the dot product and a distance is `1 - dot`, from 0 (the same direction) to 2.
 *
 * Pure. Which vectors there are, and whose, is left to the callers.
 *
 * What a model's cosines mean: how near it puts texts that speak of the same in other words, and texts
 * that have nothing to do with each other.
 *
 * Every model has a scale of its own: one puts unrelated texts at 0.05, another at 0.7. So nothing above
 * compares a cosine with a constant; it asks `closenessOf`, which is 0 at what is usual between unrelated texts
 * and 1 at what is usual between a question and its answer. Measured once for a model, when it is first asked,
 * on the pairs below. The cosines of a model that puts both kinds of pairs equally near (a stub for tests, a
 * model of another language) are used as they are.
 */
import type { Embedder } from "./embedder.js";

/** The sum of the products, in 64-bit arithmetic: four chains, so that additions overlap. */
export function dot(a: Float32Array, b: Float32Array): number {
  const { length } = a;
  let first = 0;
  let second = 0;
  let third = 0;
  let fourth = 0;
  let at = 0;
  for (; at + 3 < length; at += 4) {
    first += (a[at] as number) * (b[at] as number);
    second += (a[at + 1] as number) * (b[at + 1] as number);
    third += (a[at + 2] as number) * (b[at + 2] as number);
    fourth += (a[at + 3] as number) * (b[at + 3] as number);
  }
  for (; at < length; at += 1) first += (a[at] as number) * (b[at] as number);
  return first + second + (third + fourth);
}

/** The distance of two vectors of unit length; rounding never makes it negative. */
export function distance(a: Float32Array, b: Float32Array): number {
  return Math.max(0, 1 - dot(a, b));
}

/**
 * The vector of the same direction and unit length, as a copy; `undefined` where there is no
 * direction: a zero vector, or one that holds something other than finite numbers.
 */
export function unitVector(vector: ArrayLike<number>): Float32Array | undefined {
  let largest = 0;
  for (let at = 0; at < vector.length; at += 1) {
    const value = vector[at] as number;
    if (!Number.isFinite(value)) return undefined;
    largest = Math.max(largest, Math.abs(value));
  }
  if (largest === 0) return undefined;
  // Scaled by the largest member first: squares of tiny members would vanish, of huge ones overflow.
  let sum = 0;
  for (let at = 0; at < vector.length; at += 1) sum += ((vector[at] as number) / largest) ** 2;
  const length = Math.sqrt(sum);
  const unit = new Float32Array(vector.length);
  for (let at = 0; at < unit.length; at += 1) unit[at] = (vector[at] as number) / largest / length;
  return unit;
}

/** A numbered thing and how near it is. */
export interface Neighbour {
  readonly slot: number;
  readonly distance: number;
}

/**
 * Gives the nearest of everything it is offered: a heap whose top is the nearest, in two lists of numbers, because an
 * object for each candidate took as long as comparing the vectors. It is put in order as it is taken from, because
 * who asks for many mostly needs a few.
 */
export class Nearest {
  readonly #most: number;
  readonly #distances: Float64Array;
  readonly #slots: Int32Array;
  #count = 0;

  /** `most` are given; `offered` is how many candidates there are at the most. */
  constructor(most: number, offered: number) {
    this.#most = most;
    this.#distances = new Float64Array(offered);
    this.#slots = new Int32Array(offered);
  }

  /** Takes a candidate; all of them come before the first is given. */
  offer(slot: number, distance: number): void {
    this.#put(this.#count, slot, distance);
    this.#count += 1;
  }

  /** The nearest first; of the equally near the lower number first. Each is given once. */
  *inOrder(): Generator<Neighbour, void> {
    for (let at = (this.#count >> 1) - 1; at >= 0; at -= 1) {
      this.#sink(at, this.#slots[at] as number, this.#distances[at] as number);
    }
    for (let given = 0; given < this.#most && this.#count > 0; given += 1) {
      const nearest = { slot: this.#slots[0] as number, distance: this.#distances[0] as number };
      this.#count -= 1;
      const last = this.#count;
      this.#sink(0, this.#slots[last] as number, this.#distances[last] as number);
      yield nearest;
    }
  }

  /** Puts a candidate in at a place or below it, moving what comes before it up. */
  #sink(from: number, slot: number, distance: number): void {
    let at = from;
    for (let child = 2 * at + 1; child < this.#count; child = 2 * at + 1) {
      const right = child + 1;
      const isRight =
        right < this.#count &&
        this.#isBefore(right, this.#slots[child] as number, this.#distances[child] as number);
      const nearer = isRight ? right : child;
      if (!this.#isBefore(nearer, slot, distance)) break;
      this.#put(at, this.#slots[nearer] as number, this.#distances[nearer] as number);
      at = nearer;
    }
    this.#put(at, slot, distance);
  }

  /** Whether what stands at a place comes before a candidate. */
  #isBefore(at: number, slot: number, distance: number): boolean {
    const own = this.#distances[at] as number;
    return own < distance || (own === distance && (this.#slots[at] as number) < slot);
  }

  #put(at: number, slot: number, distance: number): void {
    this.#slots[at] = slot;
    this.#distances[at] = distance;
  }
}

/** The usual cosines of a model. */
export interface Calibration {
  readonly unrelated: number;
  readonly related: number;
}

/** A model whose two usual cosines are nearer than this puts related and unrelated texts equally near. */
const APART_LEAST = 0.05;
/** Cosines as they are. */
export const UNCALIBRATED: Calibration = { unrelated: 0, related: 1 };

/** Questions with an answer in other words; each answer is unrelated to every other question. */
export const PAIRS: readonly (readonly [question: string, answer: string])[] = [
  ["What do I do for a living?", "Since May I have been a welder at the shipyard"],
  ["Which pet lives with us?", "The kitten shredded the curtains again"],
  ["Where is my apartment?", "Our home is on the fourth floor near the harbour in Bergen"],
  ["What am I allergic to?", "Walnuts give me hives and a swollen tongue"],
  ["When was I born?", "My birthday is the second of August"],
  ["Which sport do I practise?", "Tennis on Tuesdays is the best part of my week"],
  ["How do I get to the office?", "I take the 42 bus every morning"],
  ["What medicine do I need?", "The doctor prescribed two tablets of ibuprofen a day"],
  ["Who is my spouse?", "Henrik and I got married nine years ago"],
  ["What musical instrument can I play?", "I have been taking cello lessons since I was six"],
  ["How much money do I make?", "They pay me 3,200 euros a month before tax"],
  ["Which language am I studying?", "Portuguese verbs still confuse me after a year of classes"],
  ["What was wrong with the car?", "The mechanic replaced the alternator and the brake pads"],
  ["Where did we go on holiday?", "Two weeks in Crete, mostly on the beach"],
  ["What did I cook for the guests?", "Everyone asked for a second plate of the lasagna"],
  ["Why did the build fail?", "The compiler stopped at a missing semicolon"],
  ["Which book am I reading?", "I am halfway through a novel about a lighthouse keeper"],
  ["What are my children called?", "My son Milo and my daughter Freya start school soon"],
  ["How is my father's health?", "Dad came out of hospital after the heart operation"],
  ["What do I drink in the morning?", "No day begins without a double espresso"],
  ["What phone do I use?", "I dropped my new Pixel and cracked the screen"],
  ["Which university did I attend?", "I studied physics in Uppsala and graduated in 2011"],
  ["What is growing in the garden?", "The tomatoes and beans are finally ripe"],
  ["When is the meeting with the client?", "We see the customer on Friday at ten"],
];

/** Measures a model. */
export async function calibrate(embedder: Embedder): Promise<Calibration> {
  const vectors = await embedder.embed(PAIRS.flat());
  let related = 0;
  let unrelated = 0;
  for (let question = 0; question < PAIRS.length; question += 1) {
    for (let answer = 0; answer < PAIRS.length; answer += 1) {
      const [a, b] = [vectors[2 * question], vectors[2 * answer + 1]];
      if (a === undefined || b === undefined) return UNCALIBRATED;
      if (question === answer) related += dot(a, b);
      else unrelated += dot(a, b);
    }
  }
  related /= PAIRS.length;
  unrelated /= PAIRS.length * (PAIRS.length - 1);
  return related - unrelated < APART_LEAST ? UNCALIBRATED : { related, unrelated };
}

/** A cosine on the model's own scale: 0 is unrelated, 1 is a question and its answer; it may be beyond. */
export function closenessOf({ unrelated, related }: Calibration, cosine: number): number {
  return (cosine - unrelated) / (related - unrelated);
}
