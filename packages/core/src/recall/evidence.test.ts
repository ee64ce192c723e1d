/**
 * How evidence travels: from a turn to its neighbours, from a conversation to its turns, no word twice.
 */
import { describe, expect, test } from "vitest";
import { open } from "../open.js";
import { type Candidate, coverageOf, coverageWithKin, SPREAD, spread } from "./evidence.js";

const TERMS = [
  { term: "porto", weight: 4 },
  { term: "flight", weight: 2 },
];

function candidate(
  key: string,
  own: readonly number[],
  place?: readonly [string, number],
): Candidate {
  return {
    key,
    own: Float64Array.from(own),
    voice: 1,
    ...(place === undefined ? {} : { place: { session: place[0], index: place[1] } }),
  };
}

function scores(candidates: readonly Candidate[], settings = SPREAD): Record<string, number> {
  return Object.fromEntries(
    spread(TERMS, candidates, settings).map(({ key, score }) => [key, score]),
  );
}

describe("evidence", () => {
  test("without conversations is the weighted sum", () => {
    expect(scores([candidate("a", [0.5, 0.5]), candidate("b", [0, 0.5])])).toEqual({ a: 3, b: 1 });
  });

  test("passes half to the next turn and a quarter to the one after, within the session", () => {
    const settings = { ...SPREAD, session: 0 };
    const found = scores(
      [
        candidate("hit", [0.8, 0], ["s", 5]),
        candidate("next", [0, 0], ["s", 6]),
        candidate("later", [0, 0], ["s", 7]),
        candidate("far", [0, 0], ["s", 8]),
        candidate("other", [0, 0], ["t", 6]),
      ],
      settings,
    );
    expect(found).toEqual({ hit: 3.2, next: 1.6, later: 0.8, far: 0, other: 0 });
  });

  test("of what a person asks goes to the answer nearly whole, and before it as usual", () => {
    const found = scores(
      [
        candidate("before", [0, 0], ["s", 4]),
        { ...candidate("asks", [0.8, 0], ["s", 5]), asks: true },
        candidate("answer", [0, 0], ["s", 6]),
        candidate("later", [0, 0], ["s", 7]),
      ],
      { ...SPREAD, session: 0 },
    );
    expect(found.answer).toBeCloseTo(SPREAD.reply * 3.2);
    expect([found.before, found.later]).toEqual([1.6, 0.8]);
  });

  test("does not count one word twice: two sides that say the same add a part only", () => {
    const settings = { ...SPREAD, session: 0 };
    const both = scores(
      [candidate("a", [0.8, 0], ["s", 0]), candidate("b", [0.8, 0], ["s", 1])],
      settings,
    );
    expect(both.a).toBeCloseTo(4 * (0.8 + 0.3 * 0.4));
    const complement = scores(
      [candidate("a", [0.8, 0], ["s", 0]), candidate("b", [0, 0.8], ["s", 1])],
      settings,
    );
    expect(complement.a).toBeCloseTo(4 * 0.8 + 2 * 0.4);
  });

  test("a turn of the conversation that speaks of all of it stands above the same turn elsewhere", () => {
    const found = scores([
      candidate("rich", [0.5, 0], ["s", 0]),
      candidate("around", [0, 0.9], ["s", 9]),
      candidate("poor", [0.5, 0], ["t", 0]),
    ]);
    expect(found.rich).toBeGreaterThan(found.poor ?? 0);
  });

  test("an assistant's own words weigh less", () => {
    const quiet = { ...candidate("a", [0.6, 0]), voice: 0.5 };
    expect(scores([quiet, candidate("b", [0.6, 0])])).toEqual({ a: 1.2, b: 2.4 });
  });

  test("coverage is the share of the question that is spoken of, by weight", () => {
    const [hit, next] = spread(TERMS, [
      candidate("hit", [0.1, 0], ["s", 0]),
      candidate("next", [0, 0.1], ["s", 1]),
    ]);
    expect(hit?.coverage).toBeCloseTo((4 + 1) / 6);
    expect(next?.coverage).toBeCloseTo((2 + 2) / 6);
  });
});

function coverage(term: string, ...words: readonly string[]): number {
  return coverageWithKin([{ term, weight: 1 }], new Set(words));
}

describe("a word of the question and its family", () => {
  test.each<readonly [string, string, number]>([
    ["allergi", "allergi", 1],
    ["allergi", "allerg", 0.5],
    ["himalayan", "himalaya", 0.5],
    ["allergi", "alleg", 0],
    ["interest", "internet", 0],
    ["pain", "paint", 0],
    ["202511", "202512", 0],
    ["过敏", "过敏", 1],
    ["过敏", "过去", 0],
  ])("%s is covered by %s with %d", (term, word, expected) => {
    expect(coverage(term, "user", word)).toBe(expected);
  });

  test("counts by its weight", () => {
    const terms = [
      { term: "allergi", weight: 3 },
      { term: "food", weight: 1 },
    ];
    expect(coverageWithKin(terms, new Set(["allerg"]))).toBe(0.375);
    expect(coverageWithKin([], new Set(["allerg"]))).toBe(0);
  });
});

describe("an answer by words of one family", () => {
  async function weakness(question: string, text: string): Promise<boolean> {
    await using memory = await open("memory:", { actor: "ada", embedder: fixed });
    await memory.write({ type: "fact", text });
    const { hits, weak } = await memory.recall(question);
    expect(hits).toHaveLength(1);
    return weak;
  }
  /** Finds everything, and is sure of nothing. */
  const fixed = {
    model: "fixed@1",
    dimensions: 2,
    isQuick: true,
    embed: async (texts: readonly string[]) => texts.map(() => new Float32Array([1, 1])),
  };

  test.each([
    "I'm allergic to peanuts",
    "User is allergic to peanuts",
    "Sam is allergic to peanuts",
    "I'm vegetarian and allergic to peanuts",
  ])("in a word of the same family is sure: %s", async (text) => {
    expect(await weakness("Do I have any allergies?", text)).toBe(false);
  });

  test("in words that only begin a little alike is weak", async () => {
    expect(await weakness("Do I have any allergies?", "Sam moved to Algeria")).toBe(true);
    expect(await weakness("我有过敏吗？", "我过去住在北京")).toBe(true);
  });
});

test("what words are of a question goes by weight, and is all of one that asks for nothing", () => {
  expect(coverageOf(TERMS, new Set(["porto", "harbour"]))).toBeCloseTo(2 / 3, 12);
  expect(coverageOf(TERMS, new Set())).toBe(0);
  expect(coverageOf([], new Set())).toBe(1);
});
