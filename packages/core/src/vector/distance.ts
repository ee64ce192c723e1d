/**
 * Arithmetic on vectors: lengths, products, and the nearest of many by looking at every one.
 *
 * Promise: the scan is exact and its answer depends on the vectors alone: smaller distance first, and
 * of equal distances the lower number first. Vectors have unit length wherever a distance is taken,
 * so the cosine is the dot product and a distance is `1 - dot`, from 0 (the same direction) to 2.
 *
 * Pure. Which vectors there are, and whose, is left to the callers.
 */

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

/** Negative when `a` is nearer than `b`; of the equally near, when its number is lower. */
export function byDistance(a: Neighbour, b: Neighbour): number {
  return a.distance - b.distance || a.slot - b.slot;
}

/** Keeps the `k` nearest of everything it is offered: a heap whose top is the farthest kept. */
export class Nearest {
  readonly #most: number;
  readonly #heap: Neighbour[] = [];

  constructor(k: number) {
    this.#most = k;
  }

  /** Takes a candidate, if it is among the nearest so far. */
  offer(slot: number, distance: number): void {
    const heap = this.#heap;
    const last = heap[0];
    if (heap.length < this.#most) {
      heap.push({ slot, distance });
      this.#rise(heap.length - 1);
    } else if (last !== undefined && byDistance({ slot, distance }, last) < 0) {
      heap[0] = { slot, distance };
      this.#sink();
    }
  }

  /** What was kept, nearest first. */
  inOrder(): readonly Neighbour[] {
    return this.#heap.toSorted(byDistance);
  }

  #rise(from: number): void {
    let at = from;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (!this.#isFarther(at, above)) return;
      this.#swap(at, above);
      at = above;
    }
  }

  #sink(): void {
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      const child = this.#isFarther(right, left) ? right : left;
      if (!this.#isFarther(child, at)) return;
      this.#swap(child, at);
      at = child;
    }
  }

  #isFarther(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    return one !== undefined && other !== undefined && byDistance(one, other) > 0;
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return;
    this.#heap[a] = other;
    this.#heap[b] = one;
  }
}
