/**
 * What a question names. The walk along names: what is asked for, what it leads to, what links nobody. Names that are
 * mostly no slots: passing by gives what reading each of them gives, and a store without slots costs one look.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { INDEX, indexPrefix } from "../kv/keyspace.js";
import { compareBytes, type KvRange, type KvRow } from "../kv/kv.js";
import { LIFECYCLES } from "../records/types.js";
import { nameMark, titleMark } from "../text/names.js";
import type { MarkedMemories } from "../text/text-evidence.js";
import {
  askedByTitle,
  fewRows,
  linksOf,
  marksOf,
  type NamedHit,
  slotRanges,
  walkNames,
} from "./asked-names.js";

const isCommon = (word: string): boolean => word === "the" || word === "born";

const TERMS = [
  { term: "born", weight: 1 },
  { term: "mayor", weight: 3 },
];

/** The page of a person, which speaks of birth and names a town. */
const PERSON: NamedHit = {
  key: "person",
  score: 1,
  own: Float64Array.of(0.5, 0),
  names: [
    ["ana", "silva"],
    ["vila", "nova", "town"],
  ],
  title: ["ana", "silva"],
};

function marked(
  rows: Readonly<Record<string, readonly string[]>>,
): ReadonlyMap<string, MarkedMemories> {
  return new Map(Object.entries(rows).map(([mark, keys]) => [mark, { count: keys.length, keys }]));
}

describe("the walk along names", () => {
  test("asks for titles inside names, for the names, and for who names the hit", () => {
    const marks = marksOf(["born", "vila"], [PERSON], isCommon);
    expect(marks).toContain(titleMark("vila nova"));
    expect(marks).toContain(nameMark("vila nova town"));
    expect(marks).toContain(nameMark("ana silva"));
    expect(marks).toContain(titleMark("vila"));
    expect(marks).not.toContain(titleMark("born"));
  });

  test("reaches the page a hit names, more strongly if that answers what was left open", () => {
    const rows = marked({ [titleMark("vila nova")]: ["town", "namesake"] });
    const links = linksOf(PERSON, rows, isCommon);
    expect([...links.keys()]).toEqual(["town", "namesake"]);
    const gained = walkNames(TERMS, [PERSON], [links], (key) =>
      key === "town" ? Float64Array.of(0, 0.9) : undefined,
    );
    expect(gained.get("town")).toBeGreaterThan(2 * (gained.get("namesake") ?? 0));
    expect(gained.get("namesake")).toBeGreaterThan(0);
  });

  test("a name that everybody shares links nobody", () => {
    const many = Array.from({ length: 13 }, (_, at) => `m${at}`);
    const few = many.slice(0, 3);
    expect(linksOf(PERSON, marked({ [nameMark("vila nova town")]: many }), isCommon).size).toBe(0);
    expect(linksOf(PERSON, marked({ [nameMark("vila nova town")]: few }), isCommon).size).toBe(3);
  });

  test("finds who names the hit, less strongly the more there are", () => {
    const one = linksOf(PERSON, marked({ [nameMark("ana silva")]: ["x"] }), isCommon);
    const four = linksOf(
      PERSON,
      marked({ [nameMark("ana silva")]: ["x", "y", "z", "w"] }),
      isCommon,
    );
    expect(one.get("x")).toBeGreaterThan(four.get("x") ?? 1);
    const crowd = Array.from({ length: 101 }, (_, at) => `m${at}`);
    expect(linksOf(PERSON, marked({ [nameMark("ana silva")]: crowd }), isCommon).size).toBe(0);
  });

  test("never links a hit to itself", () => {
    expect(linksOf(PERSON, marked({ [titleMark("ana silva")]: ["person"] }), isCommon).size).toBe(
      0,
    );
  });

  test("a question that names a title asks for it", () => {
    const rows = marked({ [titleMark("vila nova")]: ["town"] });
    expect([...askedByTitle(["who", "runs", "vila", "nova"], rows, isCommon).keys()]).toEqual([
      "town",
    ]);
  });
});

const NONE = new Uint8Array(0);

/** A reader over the rows of some slots, so many of each, that counts what it is asked. */
function readerOf(slots: ReadonlyMap<string, number>, isAtHand: boolean) {
  const rows = [...slots].flatMap(([name, count]): KvRow[] => {
    const prefix = indexPrefix("index", INDEX.slot, LIFECYCLES.active.code, Buffer.from(name));
    return Array.from({ length: count }, (_, at) => ({
      key: Uint8Array.of(...prefix, at),
      value: NONE,
    }));
  });
  rows.sort((a, b) => compareBytes(a.key, b.key));
  const reader = {
    isAtHand,
    asked: 0,
    async ranges(ranges: readonly KvRange[]): Promise<KvRow[][]> {
      reader.asked += ranges.length;
      return ranges.map(({ gte, lt, limit }) =>
        rows
          .filter(({ key }) => compareBytes(key, gte) >= 0 && compareBytes(key, lt) < 0)
          .slice(0, limit),
      );
    },
  };
  return reader;
}

const rangesOf = (question: string): readonly KvRange[] =>
  slotRanges(question, ["active"], () => false);

describe("slots that a question may name", () => {
  test("are found as reading each of them finds them", async () => {
    const word = fc.constantFrom("home", "city", "blue", "münze", "zebra", "azure", "𝒳𝒳𝒳𝒳", "work");
    const name = fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join("_"));
    const slots = fc.dictionary(name, fc.integer({ min: 1, max: 6 }), { noNullPrototype: true });
    await fc.assert(
      fc.asyncProperty(slots, fc.uniqueArray(word, { maxLength: 6 }), async (held, words) => {
        const all = new Map(Object.entries(held));
        const ranges = rangesOf(words.join(" "));
        const plain = await readerOf(all, false).ranges(ranges);
        const reader = readerOf(all, true);
        expect(await fewRows(reader, ranges)).toEqual(plain);
        expect(reader.asked).toBeLessThanOrEqual(ranges.length);
      }),
    );
  });

  test("one look tells that there are none, and rows far away are read by the batch", async () => {
    const ranges = rangesOf("where is the blue house of my old friend");
    expect(ranges.length).toBeGreaterThan(20);
    const reader = readerOf(new Map(), true);
    expect((await fewRows(reader, ranges)).flat()).toEqual([]);
    expect(reader.asked).toBe(1);
    const far = readerOf(new Map([["blue_house", 2]]), false);
    expect((await fewRows(far, ranges)).flat()).toHaveLength(2);
    expect(far.asked).toBe(ranges.length);
  });
});
