/**
 * What the stores of one pool of connections remember together: a table of fixed size.
 *
 * Promise: 1.5 MB at most, however many marks come, and nothing before the first one.
 */

import type { KvNumbers } from "./kv.js";

/** Places of a table: a power of two. */
const PLACES = 1 << 17;

/** See the file header. */
export class NumberTable implements KvNumbers {
  #marks: Uint32Array | undefined;
  #numbers: Float64Array | undefined;

  of(mark: number): number | undefined {
    if (this.#marks === undefined) return undefined;
    return this.#marks[mark % PLACES] === mark ? this.#numbers?.[mark % PLACES] : undefined;
  }

  keep(mark: number, number: number): void {
    this.#marks ??= new Uint32Array(PLACES);
    this.#numbers ??= new Float64Array(PLACES);
    this.#marks[mark % PLACES] = mark;
    this.#numbers[mark % PLACES] = number;
  }
}
