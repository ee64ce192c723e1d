/**
 * The vectors of one model in memory, and the search among them.
 *
 * A slot is one text, with the memories that say it: texts that many memories repeat stand here once,
 * which also keeps them from crowding a graph. New slots form the *tail*, where every vector is looked
 * at; a graph, if there is one, takes slots over from the tail, oldest first. So an answer is always
 * about every vector, and exact as far as the tail reaches.
 *
 * A slot whose memories have all gone stays where it is, without owners, and never comes out; the
 * graph cannot give one back. `holes` counts them, so that the owner can build anew in time. Pure but
 * for the graph; where vectors come from is left to `vector-index.ts`.
 */
import { byDistance, dot, Nearest, type Neighbour } from "./distance.js";
import type { VectorGraph } from "./usearch-graph.js";

/** A text near a query, and the memories that say it. */
export interface NearText {
  /** The memories, as key strings, in the order of their ids. */
  readonly ids: readonly string[];
  readonly distance: number;
}

/** What a search found. */
export interface Found {
  /** Nearest first. */
  readonly texts: readonly NearText[];
  /** Whether there is nothing beyond them; a graph never knows. */
  readonly all: boolean;
}

/** A graph and the texts of its slots, in order: what another process can go on with. */
export interface KeptGraph {
  readonly graph: VectorGraph;
  readonly hashes: readonly string[];
}

/** Texts whose cosines stand for those of all: the median of so many is off by a twentieth of the spread. */
const SAMPLE = 256;

/** Of fewer texts the median says nothing: of one it would be that text itself. */
const SAMPLE_LEAST = 8;

/** No text has this hash: it marks a slot that a graph was never given. */
export const NO_HASH = "\0".repeat(16);

/** See the file header. Hashes and ids are key strings. */
export class VectorSet {
  readonly dimensions: number;
  #graph: VectorGraph | undefined;
  /** Slots below this were given to the graph. */
  #graphed = 0;
  readonly #hashes: string[] = [];
  readonly #slots = new Map<string, number>();
  readonly #owners: (string | Set<string> | undefined)[] = [];
  readonly #slotOfId = new Map<string, number>();
  /** Vectors of the tail, by slot. */
  readonly #tail: (Float32Array | undefined)[] = [];
  /** The vectors of the first slots, kept when a graph takes the slots over. */
  readonly #sample: Float32Array[] = [];
  #holes = 0;

  constructor(dimensions: number, kept?: KeptGraph) {
    this.dimensions = dimensions;
    this.#graph = kept?.graph;
    for (const hash of kept?.hashes ?? []) this.#newSlot(hash, undefined);
    this.#graphed = this.#hashes.length;
  }

  /** Memories that have a vector here. */
  get memories(): number {
    return this.#slotOfId.size;
  }

  /** Slots, those without owners included. */
  get slots(): number {
    return this.#hashes.length;
  }

  /** Slots that the graph holds. */
  get graphed(): number {
    return this.#graph === undefined ? 0 : this.#graphed;
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
    if (!this.#slots.has(hash)) this.#newSlot(hash, vector);
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

  /** About the `most` nearest texts; exact among those of the tail. */
  search(query: Float32Array, most: number): Found {
    const nearest = new Nearest(most);
    for (let slot = this.#graphed; slot < this.#tail.length; slot += 1) {
      const vector = this.#tail[slot];
      if (vector === undefined || this.#owners[slot] === undefined) continue;
      nearest.offer(slot, Math.max(0, 1 - dot(query, vector)));
    }
    const walked = this.#graph?.search(query, Math.min(most, this.#graphed)) ?? [];
    const living = walked.filter(({ slot }) => this.#owners[slot] !== undefined);
    const found = [...living, ...nearest.inOrder()].sort(byDistance).slice(0, most);
    return {
      texts: found.map((neighbour) => this.#textAt(neighbour)),
      all: this.#graph === undefined && most >= this.slots,
    };
  }

  /** The median cosine between a vector and the texts; `undefined` when too few are known. */
  usualCosine(query: Float32Array): number | undefined {
    if (this.#sample.length < SAMPLE_LEAST) return undefined;
    const cosines = Float64Array.from(this.#sample, (vector) => dot(query, vector)).sort();
    return cosines[cosines.length >> 1];
  }

  /** How many slots wait to be given to a graph. */
  get waiting(): number {
    return this.#hashes.length - this.#graphed;
  }

  /** Gives the oldest slots of the tail to the graph, at most so many; `make` makes it if need be. */
  grow(most: number, make: () => VectorGraph): void {
    this.#graph ??= make();
    const end = Math.min(this.#graphed + most, this.#hashes.length);
    const slots: number[] = [];
    const vectors: Float32Array[] = [];
    for (let slot = this.#graphed; slot < end; slot += 1) {
      const vector = this.#tail[slot];
      if (vector !== undefined && this.#owners[slot] !== undefined) {
        slots.push(slot);
        vectors.push(vector);
      } else {
        // Not worth a place in the graph: should the text come back, it gets another slot.
        this.#slots.delete(this.#hashes[slot] ?? NO_HASH);
        this.#hashes[slot] = NO_HASH;
      }
    }
    const matrix = new Float32Array(vectors.length * this.dimensions);
    for (const [at, vector] of vectors.entries()) matrix.set(vector, at * this.dimensions);
    if (slots.length > 0) this.#graph.add(slots, matrix);
    for (let slot = this.#graphed; slot < end; slot += 1) this.#tail[slot] = undefined;
    this.#graphed = end;
  }

  /** What another process can go on with. */
  kept(): KeptGraph | undefined {
    if (this.#graph === undefined || this.#graphed === 0) return undefined;
    return { graph: this.#graph, hashes: this.#hashes.slice(0, this.#graphed) };
  }

  #newSlot(hash: string, vector: Float32Array | undefined): void {
    const slot = this.#hashes.length;
    this.#hashes.push(hash);
    if (hash !== NO_HASH) this.#slots.set(hash, slot);
    this.#owners.push(undefined);
    this.#tail.push(vector);
    if (vector !== undefined && this.#sample.length < SAMPLE) this.#sample.push(vector);
    this.#holes += 1;
  }

  #textAt({ slot, distance }: Neighbour): NearText {
    const owners = this.#owners[slot];
    const ids = owners instanceof Set ? [...owners].sort() : owners === undefined ? [] : [owners];
    return { ids, distance };
  }
}
