/** Rivals below what they dispute: the same order as by looking again after every one, at less work. */
import { expect, test } from "vitest";
import type { FoundMemory } from "../history/reader.js";
import { keyBytes } from "../kv/keyspace.js";
import { seededRandom } from "../testing/seeded-random.js";
import { belowDisputed, type Disputes } from "./rivals.js";

/** Disputes by key; nothing of a memory is looked at here but its id. */
function disputesOf(above: ReadonlyMap<string, readonly string[]>): Disputes {
  const memory = (key: string) => ({ id: keyBytes(key) }) as unknown as FoundMemory;
  return new Map([...above].map(([key, others]) => [key, others.map(memory)]));
}

/** The rule as it is said: after everyone who is placed, the first of the waiting who may follow. */
function asSaid(
  list: readonly string[],
  above: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const order: string[] = [];
  const waits = (key: string) =>
    (above.get(key) ?? []).some((other) => list.includes(other) && !order.includes(other));
  let waiting: string[] = [];
  for (const key of list) {
    if (waits(key)) {
      waiting.push(key);
      continue;
    }
    order.push(key);
    for (;;) {
      const next = waiting.find((one) => !waits(one));
      if (next === undefined) break;
      order.push(next);
      waiting = waiting.filter((one) => one !== next);
    }
  }
  return [...order, ...waiting];
}

test("random disputes give the order that the rule says, rings at the end", () => {
  const random = seededRandom(9);
  for (let round = 0; round < 500; round += 1) {
    const keys = Array.from({ length: random.between(1, 12) }, (_, at) => `k${at}`);
    const share = random.pick([5, 15, 40]);
    const above = new Map(
      keys.flatMap((key) => {
        const others = [...keys, "not there"].filter(() => random.chance(share));
        return others.length === 0 ? [] : [[key, others] as const];
      }),
    );
    const list = random.shuffled(keys);
    expect(belowDisputed(list, (key) => key, disputesOf(above))).toEqual(asSaid(list, above));
  }
});

test.each([
  ["all dispute the last", (at: number, last: number) => (at === last ? [] : [`k${last}`])],
  ["each disputes the next", (at: number, last: number) => (at === last ? [] : [`k${at + 1}`])],
])("where %s, nobody is looked at again for everyone who is placed", (_, aboveOf) => {
  const looksFor = (count: number): number => {
    const list = Array.from({ length: count }, (_, at) => `k${at}`);
    const above = new Map(list.map((key, at) => [key, aboveOf(at, count - 1)]));
    let looks = 0;
    const keyOf = (key: string): string => {
      looks += 1;
      return key;
    };
    const order = belowDisputed(list, keyOf, disputesOf(above));
    expect(order[0]).toBe(`k${count - 1}`);
    expect(new Set(order).size).toBe(count);
    return looks;
  };
  expect(looksFor(8000)).toBeLessThanOrEqual(8 * looksFor(1000));
  expect(looksFor(8000)).toBeLessThan(8 * 8000);
});
