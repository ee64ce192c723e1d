/**
 * Vectors in memory: few are all compared, of many nearly all of the nearest are found, what has no owner never
 * comes out.
 */
import { describe, expect, test } from "vitest";
import { seededRandom } from "../testing/seeded-random.js";
import { distance, unitVector } from "./distance.js";
import { type NearText, VectorSet } from "./vector-set.js";

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_303);
const DIMENSIONS = 64;

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

const textsOf = (set: VectorSet, query: Float32Array, most: number, each = false): NearText[] => [
  ...set.search(query, most, each).texts,
];

const idsOf = (set: VectorSet, query: Float32Array, k: number): readonly string[] =>
  textsOf(set, query, k)
    .flatMap(({ ids }) => ids)
    .slice(0, k);

describe(`vectors in memory (seed ${SEED})`, () => {
  test("distances are those of the vectors, but for rounding", () => {
    const vectors = clustered(300, 10, SEED);
    const set = filled(vectors);
    for (const query of clustered(20, 10, SEED + 1)) {
      const texts = textsOf(set, query, 300);
      expect(texts).toHaveLength(300);
      for (const { ids, distance: far } of texts) {
        const vector = vectors[Number(ids[0]?.slice(2))] ?? new Float32Array(DIMENSIONS);
        expect(Math.abs(far - distance(query, vector))).toBeLessThan(4e-3);
      }
    }
    const [query = new Float32Array(0)] = vectors;
    expect(set.search(query, 299).all).toBe(false);
    expect(set.search(query, 300).all).toBe(true);
  });

  test("memories that say the same share a slot and come out together", () => {
    const [one = new Float32Array(0), other = new Float32Array(0)] = clustered(2, 2, SEED);
    const set = new VectorSet(DIMENSIONS);
    set.add(hashOf(1), one);
    set.add(hashOf(2), other);
    for (const at of [3, 1, 2]) set.link(idOf(at), hashOf(1));
    set.link(idOf(9), hashOf(2));
    expect(textsOf(set, one, 1)).toMatchObject([{ ids: [idOf(1), idOf(2), idOf(3)] }]);
    set.unlink(idOf(2));
    expect(textsOf(set, one, 1)[0]?.ids).toEqual([idOf(1), idOf(3)]);
    set.link(idOf(1), hashOf(2));
    set.unlink(idOf(3));
    expect(textsOf(set, one, 5)).toMatchObject([{ ids: [idOf(1), idOf(9)] }]);
    expect({ slots: set.slots, holes: set.holes, memories: set.memories }).toEqual({
      slots: 2,
      holes: 1,
      memories: 2,
    });
    set.link(idOf(5), hashOf(1));
    expect(textsOf(set, one, 1)[0]?.ids).toEqual([idOf(5)]);
    expect(() => set.link(idOf(5), hashOf(7))).toThrow(/not here/);
  });

  test("among 9,500 clustered vectors at least 97 of the 100 nearest are found, and all if each is compared", () => {
    const all = clustered(9520, 100, SEED);
    const [vectors, queries] = [all.slice(0, 9500), all.slice(9500)];
    const set = filled(vectors);
    let hits = 0;
    for (const query of queries) {
      const exact = new Set(nearestByHand(vectors, query, 100));
      hits += idsOf(set, query, 100).filter((id) => exact.has(id)).length;
      const each = textsOf(set, query, 120, true).flatMap(({ ids }) => ids);
      expect([...exact].filter((id) => !each.includes(id))).toEqual([]);
    }
    expect(hits / (100 * queries.length)).toBeGreaterThanOrEqual(0.97);
  });

  test("slots without owners never come out, and do not take the place of others", () => {
    const vectors = clustered(9000, 20, SEED);
    const set = filled(vectors);
    for (let at = 0; at < vectors.length; at += 1) if (at % 50 !== 0) set.unlink(idOf(at));
    const living = vectors.flatMap((_, at) => (at % 50 === 0 ? [idOf(at)] : []));
    const query = vectors[7] ?? new Float32Array(DIMENSIONS);
    const found = textsOf(set, query, vectors.length).flatMap(({ ids }) => ids);
    expect(found.toSorted()).toEqual(living);
    expect(idsOf(set, query, 5).every((id) => living.includes(id))).toBe(true);
  });
});
