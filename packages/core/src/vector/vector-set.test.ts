/**
 * Vectors in memory: the tail is exact, a graph finds nearly the same, what has no owner never comes
 * out. The graph is the real library; where it has no binary the tests of it say so.
 */
import { describe, expect, test } from "vitest";
import { isLacking } from "../testing/lacking.js";
import { seededRandom } from "../testing/seeded-random.js";
import { distance, unitVector } from "./distance.js";
import { type GraphMaker, loadUsearch } from "./usearch-graph.js";
import { NO_HASH, VectorSet } from "./vector-set.js";

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_303);
const DIMENSIONS = 64;

const usearch = await loadUsearch();
const NO_GRAPHS = isLacking(usearch !== undefined, "usearch has no binary for this machine");

/** The real library; asked for by tests that are skipped without it. */
function graphs(): GraphMaker {
  if (usearch === undefined) throw new Error("usearch is missing");
  return usearch;
}

/** Unit vectors around centres, as texts about the same things are. */
function clustered(count: number, centres: number, seed: number): readonly Float32Array[] {
  const random = seededRandom(seed);
  const gauss = (): number =>
    Math.sqrt(-2 * Math.log(1 - random.unit())) * Math.cos(2 * Math.PI * random.unit());
  const vectorOf = (from: (at: number) => number): Float32Array => {
    const unit = unitVector(Array.from({ length: DIMENSIONS }, (_, at) => from(at)));
    if (unit === undefined) throw new Error("no direction");
    return unit;
  };
  const middle = Array.from({ length: centres }, () => vectorOf(gauss));
  return Array.from({ length: count }, () => {
    const centre = random.pick(middle);
    return vectorOf((at) => (centre[at] ?? 0) + 0.1 * gauss());
  });
}

const hashOf = (at: number): string => `hash${String(at).padStart(12, "0")}`;
const idOf = (at: number): string => `id${String(at).padStart(14, "0")}`;

function filled(vectors: readonly Float32Array[]): VectorSet {
  const set = new VectorSet(DIMENSIONS);
  for (const [at, vector] of vectors.entries()) {
    set.add(hashOf(at), vector);
    set.link(idOf(at), hashOf(at));
  }
  return set;
}

function nearestByHand(
  vectors: readonly Float32Array[],
  query: Float32Array,
  k: number,
): readonly string[] {
  return vectors
    .map((vector, at) => ({ id: idOf(at), far: distance(query, vector) }))
    .sort((a, b) => a.far - b.far)
    .slice(0, k)
    .map(({ id }) => id);
}

const idsOf = (set: VectorSet, query: Float32Array, k: number): readonly string[] =>
  set
    .search(query, k)
    .texts.flatMap(({ ids }) => ids)
    .slice(0, k);

describe(`vectors in memory (seed ${SEED})`, () => {
  test("the tail gives exactly the nearest", () => {
    const vectors = clustered(300, 10, SEED);
    const set = filled(vectors);
    for (const query of clustered(20, 10, SEED + 1)) {
      expect(idsOf(set, query, 7)).toEqual(nearestByHand(vectors, query, 7));
    }
    const [query = new Float32Array(0)] = vectors;
    expect(set.search(query, 299).all).toBe(false);
    expect(set.search(query, 300)).toMatchObject({ all: true, texts: { length: 300 } });
  });

  test("memories that say the same share a slot and come out together", () => {
    const [one = new Float32Array(0), other = new Float32Array(0)] = clustered(2, 2, SEED);
    const set = new VectorSet(DIMENSIONS);
    set.add(hashOf(1), one);
    set.add(hashOf(2), other);
    for (const at of [3, 1, 2]) set.link(idOf(at), hashOf(1));
    set.link(idOf(9), hashOf(2));
    expect(set.search(one, 1).texts).toMatchObject([{ ids: [idOf(1), idOf(2), idOf(3)] }]);
    set.unlink(idOf(2));
    expect(set.search(one, 1).texts[0]?.ids).toEqual([idOf(1), idOf(3)]);
    set.link(idOf(1), hashOf(2));
    set.unlink(idOf(3));
    expect(set.search(one, 5).texts).toMatchObject([{ ids: [idOf(1), idOf(9)] }]);
    expect({ slots: set.slots, holes: set.holes, memories: set.memories }).toEqual({
      slots: 2,
      holes: 1,
      memories: 2,
    });
    set.link(idOf(5), hashOf(1));
    expect(set.search(one, 1).texts[0]?.ids).toEqual([idOf(5)]);
    expect(() => set.link(idOf(5), hashOf(7))).toThrow(/not here/);
  });

  test.skipIf(NO_GRAPHS)("a graph over 5,000 clustered vectors finds at least 97 of 100", () => {
    const maker = graphs();
    const all = clustered(5100, 60, SEED);
    const [vectors, queries] = [all.slice(0, 5000), all.slice(5000)];
    const set = filled(vectors);
    while (set.waiting > 0) set.grow(500, () => maker.create(DIMENSIONS));
    expect({ graphed: set.graphed, waiting: set.waiting }).toEqual({ graphed: 5000, waiting: 0 });
    let hits = 0;
    for (const query of queries) {
      const exact = new Set(nearestByHand(vectors, query, 10));
      hits += idsOf(set, query, 10).filter((id) => exact.has(id)).length;
    }
    expect(hits / (10 * queries.length)).toBeGreaterThanOrEqual(0.97);
  });

  test.skipIf(NO_GRAPHS)(
    "graph and tail answer together, and slots without owners never come out",
    () => {
      const maker = graphs();
      const vectors = clustered(600, 20, SEED);
      const set = filled(vectors);
      for (let at = 0; at < 600; at += 3) set.unlink(idOf(at));
      set.grow(300, () => maker.create(DIMENSIONS));
      const living = new Set(vectors.flatMap((_, at) => (at % 3 === 0 ? [] : [idOf(at)])));
      const byHand = (query: Float32Array): readonly string[] =>
        nearestByHand(vectors, query, 600)
          .filter((id) => living.has(id))
          .slice(0, 5);
      for (const query of vectors.slice(0, 50)) expect(idsOf(set, query, 5)).toEqual(byHand(query));
      // A text that comes back after its slot was given away gets another, and is found.
      set.add(hashOf(0), vectors[0] ?? new Float32Array(DIMENSIONS));
      set.link(idOf(0), hashOf(0));
      expect(idsOf(set, vectors[0] ?? new Float32Array(DIMENSIONS), 1)).toEqual([idOf(0)]);
    },
  );

  test.skipIf(NO_GRAPHS)(
    "a kept graph goes on in another set; what it was never given is no slot",
    () => {
      const maker = graphs();
      const vectors = clustered(200, 5, SEED);
      const first = filled(vectors);
      first.unlink(idOf(7));
      while (first.waiting > 0) first.grow(64, () => maker.create(DIMENSIONS));
      const kept = first.kept();
      expect(kept?.hashes).toHaveLength(200);
      expect(kept?.hashes[7]).toBe(NO_HASH);
      expect(kept?.graph.size).toBe(199);
      const second = new VectorSet(DIMENSIONS, kept);
      expect({ has7: second.has(hashOf(7)), has8: second.has(hashOf(8)) }).toEqual({
        has7: false,
        has8: true,
      });
      expect(second.search(vectors[8] ?? new Float32Array(DIMENSIONS), 9).texts).toEqual([]);
      second.link(idOf(8), hashOf(8));
      expect(second.search(vectors[8] ?? new Float32Array(DIMENSIONS), 1).texts).toMatchObject([
        { ids: [idOf(8)] },
      ]);
    },
  );
});
