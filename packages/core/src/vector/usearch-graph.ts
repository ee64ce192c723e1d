/**
 * The door to usearch, which finds near vectors by walking a graph instead of looking at all of them.
 *
 * It is an optional dependency with prebuilt binaries: where it is missing, `loadUsearch` gives
 * `undefined` and callers go on without it. Only three of its functions are used, because the others
 * were seen to harm: `remove` loses keys after some two thousand removals and then never returns, and
 * loading a file that is cut short ends the process. So slots are never taken out of a graph, each is
 * added once, and a file is checked against its hash before it comes here.
 *
 * Settings, at 20,000 vectors of 384 numbers in clusters: numbers of 16 bits build twice as fast as
 * those of 32, in half the memory, and find the same; 8 bits find 90 of 100. Distances that people
 * see are computed from the stored vectors, not taken from the graph.
 */
import type { Neighbour } from "./distance.js";

/** Numbered vectors in a graph. */
export interface VectorGraph {
  /** How many vectors were added. */
  readonly size: number;
  /** Adds vectors, one after the other in `matrix`; a slot is added at most once. */
  add(slots: readonly number[], matrix: Float32Array): void;
  /** About the `k` nearest, nearest first. */
  search(query: Float32Array, k: number): readonly Neighbour[];
  /** Writes the graph to a new file. */
  save(path: string): void;
}

/** Makes graphs of one width. */
export interface GraphMaker {
  create(dimensions: number): VectorGraph;
  /** Reads a file that `save` wrote; the caller has made sure that it is whole. */
  load(dimensions: number, path: string): VectorGraph;
}

/** Links of a vector on the lowest level are twice this. */
const CONNECTIVITY = 16;
/** Candidates looked at for each vector that is added. */
const EXPANSION_ADD = 128;
/** Candidates looked at for each search. */
const EXPANSION_SEARCH = 256;

/** The library, or `undefined` where it is not installed or has no binary for this machine. */
export async function loadUsearch(): Promise<GraphMaker | undefined> {
  let usearch: typeof import("usearch");
  try {
    usearch = await import("usearch");
  } catch {
    return undefined;
  }
  const { Index, MetricKind, ScalarKind } = usearch;
  const empty = (dimensions: number): InstanceType<typeof Index> =>
    new Index({
      dimensions,
      metric: MetricKind.IP,
      quantization: ScalarKind.F16,
      connectivity: CONNECTIVITY,
      expansion_add: EXPANSION_ADD,
      expansion_search: EXPANSION_SEARCH,
      multi: false,
    });
  return {
    create: (dimensions) => graphOver(empty(dimensions)),
    load(dimensions, path) {
      const index = empty(dimensions);
      index.load(path);
      return graphOver(index);
    },
  };
}

type Usearch = InstanceType<typeof import("usearch")["Index"]>;

function graphOver(index: Usearch): VectorGraph {
  return {
    get size() {
      return index.size();
    },
    add(slots, matrix) {
      // One thread: a build then gives the same graph every time.
      index.add(BigUint64Array.from(slots, BigInt), matrix, 1);
    },
    search(query, k) {
      if (index.size() === 0) return [];
      const { keys, distances } = index.search(query, k, 1);
      return Array.from(keys, (key, at) => ({
        slot: Number(key),
        distance: distances[at] ?? Number.POSITIVE_INFINITY,
      }));
    },
    save: (path) => index.save(path),
  };
}
