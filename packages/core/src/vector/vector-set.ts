/**
 * The vectors of one model in memory, by text, with the memories that say it.
 *
 * A slot is one text: what many memories repeat stands here once. A slot whose memories have all gone stays where
 * it is, without owners, and never comes out; `holes` counts them, so that the owner can load anew in time.
 * Distances are rounded (`coarse-vectors.ts`): whoever needs them exact reads the rows of what comes out.
 *
 * Pure; where vectors come from is left to `loaded-vectors.ts`.
 */
import { CoarseVectors } from "./coarse-vectors.js";
import { dot, type Neighbour } from "./distance.js";

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

/** See the file header. Hashes and ids are key strings. */
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
