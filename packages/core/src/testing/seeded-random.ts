/**
 * A small seeded generator for tests: the same seed gives the same sequence on every machine.
 *
 * Promise: statistically plain (the xoshiro128** recurrence, seeded through a 32-bit mixer), and
 * nothing more: it is not a source of secrets.
 */

/** A stream of reproducible values. */
export interface SeededRandom {
  /** An integer of 0 <= n < 2^32. */
  u32(): number;
  /** An integer of 0 <= n < bound, every one equally likely; 1 <= bound <= 2^32. */
  below(bound: number): number;
  /** An integer of low <= n <= high. */
  between(low: number, high: number): number;
  /** A number of 0 <= n < 1. */
  unit(): number;
  /** True in about `percent` of 100 calls. */
  chance(percent: number): boolean;
  bytes(length: number): Uint8Array;
  /** One of the items; there must be one. */
  pick<T>(items: readonly T[]): T;
  /** The items in another order, as a new array. */
  shuffled<T>(items: readonly T[]): T[];
}

const TWO_32 = 2 ** 32;

/** Starts a stream; seeds are taken modulo 2^32. */
export function seededRandom(seed: number): SeededRandom {
  const u32 = xoshiro(seed);
  const below = (bound: number): number => {
    if (!Number.isInteger(bound) || bound < 1 || bound > TWO_32) {
      throw new RangeError(`bound: expected an integer from 1 to 2^32, got ${bound}`);
    }
    // Values above the last full multiple would make small results likelier: draw again.
    const usable = TWO_32 - (TWO_32 % bound);
    let value = u32();
    while (value >= usable) value = u32();
    return value % bound;
  };
  const shuffled = <T>(items: readonly T[]): T[] => {
    const rest = [...items];
    const result: T[] = [];
    while (rest.length > 0) result.push(...rest.splice(below(rest.length), 1));
    return result;
  };
  return {
    u32,
    below,
    between: (low, high) => low + below(high - low + 1),
    unit: () => u32() / TWO_32,
    chance: (percent) => below(100) < percent,
    bytes: (length) => Uint8Array.from({ length }, () => u32() >>> 24),
    pick: (items) => {
      const index = below(items.length);
      for (const item of items.slice(index, index + 1)) return item;
      throw new RangeError("pick: nothing to pick from");
    },
    shuffled,
  };
}

function rotateLeft(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function xoshiro(seed: number): () => number {
  let mixed = seed >>> 0;
  const word = (): number => {
    mixed = (mixed + 0x9e3779b9) >>> 0;
    let z = mixed;
    z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return (z ^ (z >>> 16)) >>> 0;
  };
  let a = word();
  let b = word();
  let c = word();
  let d = word() | 1;
  return () => {
    const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotateLeft(d, 11);
    return result;
  };
}
