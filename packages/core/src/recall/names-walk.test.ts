/**
 * The walk along names: what is asked for, what it leads to, what links nobody.
 */
import { describe, expect, test } from "vitest";
import { nameMark, titleMark } from "../text/names.js";
import type { MarkedMemories } from "../text/text-evidence.js";
import { askedByTitle, linksOf, marksOf, type NamedHit, walkNames } from "./names-walk.js";

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
