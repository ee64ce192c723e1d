/**
 * What is known of keys, looked up by their bytes. A `Map` wants a text of every key: for a batch of a thousand memories that
 * was eleven thousand texts, half of which lived until the commit.
 *
 * Promise: items are listed in the order in which they came. Keys are not copied: nobody may change one that was
 * added. Callers choose tags and names, and with them keys: a secret seed keeps them from choosing many keys
 * that lie in one place.
 */
import type { Bytes } from "../kv/kv.js";

/** Small enough for the heap of objects; most commits have a few dozen keys, and the table grows by four. */
const PLACES_AT_START = 16;
const GROWTH = 4;

const USUAL_SEED = 0x811c9dc5;

/** A table of items that have a key. */
export class KeyTable<Item extends { readonly key: Bytes }> {
  readonly items: Item[] = [];
  readonly #seed: number;
  /** The number of an item plus one; 0 is empty. */
  #places = new Int32Array(PLACES_AT_START);
  /** By item: there are twice as many places as items at least. */
  #hashes = new Int32Array(PLACES_AT_START / 2);

  constructor(seed = USUAL_SEED) {
    this.#seed = seed;
  }

  /** The item of a key. */
  find(key: Bytes): Item | undefined {
    const places = this.#places;
    const mask = places.length - 1;
    const hash = hashOf(key, this.#seed);
    for (let place = spread(hash) & mask; ; place = (place + 1) & mask) {
      const number = (places[place] as number) - 1;
      if (number < 0) return undefined;
      if (this.#hashes[number] !== hash) continue;
      const item = this.items[number] as Item;
      if (isSame(item.key, key)) return item;
    }
  }

  /** Adds an item whose key is not there. */
  add(item: Item): Item {
    if (2 * this.items.length >= this.#places.length) this.#grow();
    const hash = hashOf(item.key, this.#seed);
    this.#hashes[this.items.length] = hash;
    this.#put(hash, this.items.push(item));
    return item;
  }

  #grow(): void {
    const before = this.#hashes;
    this.#hashes = new Int32Array(GROWTH * before.length);
    this.#hashes.set(before);
    this.#places = new Int32Array(GROWTH * this.#places.length);
    for (let at = 0; at < this.items.length; at += 1) this.#put(before[at] as number, at + 1);
  }

  #put(hash: number, number: number): void {
    const places = this.#places;
    const mask = places.length - 1;
    let place = spread(hash) & mask;
    while (places[place] !== 0) place = (place + 1) & mask;
    places[place] = number;
  }
}

function hashOf(key: Bytes, seed: number): number {
  let hash = seed | 0;
  for (let at = 0; at < key.length; at += 1) {
    hash = Math.imul(hash ^ (key[at] as number), 0x01000193);
  }
  return hash;
}

function spread(hash: number): number {
  return (hash >>> 15) ^ hash;
}

function isSame(a: Bytes, b: Bytes): boolean {
  if (a.length !== b.length) return false;
  // Keys of one kind differ towards their end.
  for (let at = a.length - 1; at >= 0; at -= 1) if (a[at] !== b[at]) return false;
  return true;
}
