/**
 * Tiles and pages of the trees as a commit left them, by `keyString`, kept for the next one.
 *
 * Promise: it gives what was kept last under a name, or nothing. It keeps the rows that were kept last, `GENERATION_ROWS` at
 * least and twice as many at most: once the younger of two tables is full, the older is let go as a whole. One `Map` in which
 * what is used again is put behind all others tells the order as well; that took a twentieth of a write. Whether rows are
 * still those of the store is left to the owner.
 */
import type { Bytes } from "../kv/kv.js";

/** Rows of one table: about 2 MB, and the slabs they were cut from. */
export const GENERATION_ROWS = 4608;

/** The cache; see the file header. */
export class RowCache {
  #younger = new Map<string, Bytes>();
  #older = new Map<string, Bytes>();

  get isEmpty(): boolean {
    return this.#younger.size + this.#older.size === 0;
  }

  get(name: string): Bytes | undefined {
    return this.#younger.get(name) ?? this.#older.get(name);
  }

  keep(name: string, value: Bytes): void {
    this.#younger.set(name, value);
    if (this.#younger.size < GENERATION_ROWS) return;
    this.#older = this.#younger;
    this.#younger = new Map();
  }

  drop(name: string): void {
    this.#younger.delete(name);
    this.#older.delete(name);
  }

  clear(): void {
    this.#younger.clear();
    this.#older.clear();
  }
}
