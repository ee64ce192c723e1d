/** Lists of erased parts against a plain set, and the document they travel in. */
import { describe, expect, test } from "vitest";
import { seededRandom } from "../testing/index.js";
import { gatherErasures, NO_ERASURES, parseErasures, unionErasures } from "./erasure-list.js";

const SEED = 11;

function listOf(places: readonly (readonly [number, number])[]) {
  const list = gatherErasures();
  for (const [seq, part] of places) expect(list.add(seq, part)).toBe(true);
  return list.end();
}

/** Different places in ascending order. */
function randomPlaces(count: number, seed: number): readonly (readonly [number, number])[] {
  const random = seededRandom(seed);
  const places = new Map<string, readonly [number, number]>();
  while (places.size < count) {
    const place = [random.below(500), random.below(4)] as const;
    places.set(place.join(), place);
  }
  return [...places.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

describe("a list", () => {
  test(`finds what it holds and nothing else, seed ${SEED}`, () => {
    const places = randomPlaces(300, SEED);
    const list = listOf(places);
    expect(list.length).toBe(300);
    expect(Array.from(list, ({ seq, part }) => [seq, part])).toEqual(places);
    const held = new Set(places.map((place) => place.join()));
    for (let seq = 0; seq < 501; seq += 1) {
      for (let part = 0; part < 5; part += 1) {
        expect(list.has(seq, part)).toBe(held.has(`${seq},${part}`));
      }
    }
    expect(NO_ERASURES.has(0, 0)).toBe(false);
  });

  test("takes places in ascending order only, and none that cannot be", () => {
    const list = gatherErasures();
    expect(list.add(3, 1)).toBe(true);
    const refused = [
      [3, 1],
      [3, 0],
      [2, 9],
      [4, -1],
      [4, 65_536],
      [4.5, 0],
      [2 ** 37, 0],
    ] as const;
    for (const [seq, part] of refused) expect(list.add(seq, part)).toBe(false);
    expect(list.add(2 ** 37 - 1, 65_535)).toBe(true);
    expect([...list.end()]).toEqual([
      { seq: 3, part: 1 },
      { seq: 2 ** 37 - 1, part: 65_535 },
    ]);
  });

  test("unites with others", () => {
    const [a, b, c] = [SEED, SEED + 1, SEED + 2].map((seed) => randomPlaces(50, seed));
    const expected = new Set(
      [...(a ?? []), ...(b ?? []), ...(c ?? [])].map((place) => place.join()),
    );
    const united = unionErasures([NO_ERASURES, ...[a, b, c].map((places) => listOf(places ?? []))]);
    expect(united.length).toBe(expected.size);
    for (const { seq, part } of united) expect(expected.has(`${seq},${part}`)).toBe(true);
  });
});

describe("the document", () => {
  const good = { cortex: "erasures", format: 1, actor: "ada", storeId: "00", size: 9 };

  test("is read as an object or as JSON", () => {
    const document = {
      ...good,
      erased: [
        [1, 0],
        [8, 2],
      ],
    };
    for (const input of [document, JSON.stringify(document)]) {
      expect([...parseErasures(input).list]).toEqual([
        { seq: 1, part: 0 },
        { seq: 8, part: 2 },
      ]);
    }
  });

  test.each([
    ["nothing", undefined],
    ["no JSON", "{"],
    ["something else", { ...good, cortex: "export", erased: [] }],
    ["another format", { ...good, format: 2, erased: [] }],
    ["no list", good],
    ["a place behind the end", { ...good, erased: [[9, 0]] }],
    [
      "a place twice",
      {
        ...good,
        erased: [
          [1, 0],
          [1, 0],
        ],
      },
    ],
    ["a place of three", { ...good, erased: [[1, 0, 0]] }],
    ["text for a seq", { ...good, erased: [["1", 0]] }],
  ])("is refused: %s", (_, input) => {
    expect(() => parseErasures(input)).toThrow(expect.objectContaining({ code: "ERR_INVALID" }));
  });
});
