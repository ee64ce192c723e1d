/** Rings: what stands above comes first, whoever stands in a circle together, and the work is linear. */
import { expect, test } from "vitest";
import { seededRandom } from "../testing/seeded-random.js";
import { ringsOf } from "./context.js";

/** The rings of a graph, and how often somebody's neighbours were asked for. */
function rings(above: ReadonlyMap<string, readonly string[]>) {
  let asked = 0;
  const found = ringsOf([...above.keys()], (key) => {
    asked += 1;
    return above.get(key) ?? [];
  });
  return { found, asked };
}

function reachable(above: ReadonlyMap<string, readonly string[]>, from: string): Set<string> {
  const seen = new Set<string>();
  const open = [...(above.get(from) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...(above.get(next) ?? []));
  }
  return seen;
}

test("a chain comes from its top, a ring together, a key above itself alone", () => {
  const above = new Map([
    ["low", ["middle"]],
    ["middle", ["high"]],
    ["high", []],
    ["a", ["b"]],
    ["b", ["c", "high"]],
    ["c", ["a"]],
    ["self", ["self"]],
  ]);
  const sorted = rings(above).found.map((ring) => [...ring].sort());
  expect(sorted).toEqual([["high"], ["middle"], ["low"], ["a", "b", "c"], ["self"]]);
});

test("random graphs: each key once, rings are circles, and what is above is placed before", () => {
  const random = seededRandom(5);
  for (let round = 0; round < 200; round += 1) {
    const keys = Array.from({ length: random.between(1, 9) }, (_, at) => `k${at}`);
    const above = new Map(keys.map((key) => [key, keys.filter(() => random.chance(20))]));
    const { found, asked } = rings(above);
    expect(found.flat().sort()).toEqual([...keys].sort());
    expect(asked).toBe(keys.length);
    const placed = new Set<string>();
    for (const ring of found) {
      for (const key of ring) placed.add(key);
      for (const key of ring) {
        const reached = reachable(above, key);
        expect([...reached].every((other) => placed.has(other))).toBe(true);
        const circle = keys.filter(
          (other) => reached.has(other) && reachable(above, other).has(key),
        );
        expect([...ring].sort()).toEqual([...new Set([...circle, key])].sort());
      }
    }
  }
});

test("layers that all stand below each other are asked about once, not once for every path", () => {
  const [layers, width] = [12, 20];
  const layer = (at: number) => Array.from({ length: width }, (_, n) => `${at}-${n}`);
  const above = new Map(
    Array.from({ length: layers }, (_, at) =>
      layer(at).map((key) => [key, at === 0 ? [] : layer(at - 1)] as const),
    )
      .reverse()
      .flat(),
  );
  const { found, asked } = rings(above);
  expect(asked).toBe(layers * width);
  expect(found).toHaveLength(layers * width);
  expect(found.flat().map((key) => Number(key.split("-")[0]))).toEqual(
    Array.from({ length: layers * width }, (_, at) => Math.floor(at / width)),
  );
});
