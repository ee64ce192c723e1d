/** Words of one family, and answers that are sure because of them. */
import { describe, expect, test } from "vitest";
import { open } from "../open.js";
import { coverageWithKin } from "./kin-words.js";

function coverage(term: string, ...words: readonly string[]): number {
  return coverageWithKin([{ term, weight: 1 }], new Set(words));
}

describe("a word of the question", () => {
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

describe("an answer", () => {
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
