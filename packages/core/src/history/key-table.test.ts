/** A table of keys finds what a map of their texts would. */
import { describe, expect, test } from "vitest";
import { keyString } from "../kv/keyspace.js";
import { KeyTable } from "./key-table.js";

const SEED = 0x811c9dc5;

/** Keys of which many share a start, or an end, or all but one byte. */
function keyAt(number: number): Uint8Array {
  const length = 1 + (number % 40);
  return Uint8Array.from({ length }, (_, at) =>
    at === number % length ? number : at === length - 1 ? number >>> 8 : 7,
  );
}

describe("a table of keys", () => {
  test("finds every item by another array of the same bytes, and nothing else", () => {
    const table = new KeyTable<{ readonly key: Uint8Array; readonly number: number }>();
    const expected = new Map<string, number>();
    for (let number = 0; number < 20_000; number += 1) {
      const key = keyAt(number);
      const known = expected.get(keyString(key));
      expect(table.find(keyAt(number))?.number).toBe(known);
      if (known !== undefined) continue;
      expected.set(keyString(key), number);
      table.add({ key, number });
    }
    expect(table.items.map(({ key, number }) => [keyString(key), number])).toEqual([...expected]);
    for (const { key, number } of table.items) {
      expect(table.find(key.slice())?.number).toBe(number);
      expect(table.find(Uint8Array.of(...key, 1))?.number).toBe(
        expected.get(keyString(Uint8Array.of(...key, 1))),
      );
    }
    expect(table.find(new Uint8Array(0))).toBeUndefined();
  });

  test("tells keys apart whose hashes are equal", () => {
    const [one, other] = collidingKeys();
    const table = new KeyTable<{ readonly key: Uint8Array; readonly name: string }>(SEED);
    table.add({ key: one, name: "one" });
    expect(table.find(other)).toBeUndefined();
    table.add({ key: other, name: "other" });
    expect([one, other].map((key) => table.find(key)?.name)).toEqual(["one", "other"]);
  });
});

/** Two keys of one hash, found by trying: of so many keys some two have one. */
function collidingKeys(): readonly [Uint8Array, Uint8Array] {
  const seen = new Map<number, Uint8Array>();
  let state = 1;
  for (;;) {
    const key = Uint8Array.from({ length: 8 }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return state >>> 16;
    });
    let hash = SEED | 0;
    for (const byte of key) hash = Math.imul(hash ^ byte, 0x01000193);
    const before = seen.get(hash);
    if (before !== undefined) return [before, key];
    seen.set(hash, key);
  }
}
