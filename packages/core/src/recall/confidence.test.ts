/** When an answer is more than a guess, and whom a question asks about. */
import { describe, expect, test } from "vitest";
import { askedSpeaker } from "./asked-names.js";
import { type Grounds, isConfident } from "./fuse.js";

function hit(coverage: number, more: Partial<Grounds> = {}): Grounds {
  return { lanes: {}, closeness: 0, coverage, voice: 1, aside: false, ...more };
}

describe("an answer", () => {
  test.each<readonly [string, readonly Grounds[], boolean]>([
    ["that is empty", [], false],
    ["that covers the question", [hit(0.4)], true],
    ["that covers too little of it", [hit(0.3), hit(0.35)], false],
    ["whose third hit covers it", [hit(0.1), hit(0.1), hit(0.9)], true],
    ["whose fourth hit covers it", [hit(0.1), hit(0.1), hit(0.1), hit(0.9)], false],
    ["of an assistant alone", [hit(0.5, { voice: 2 / 3 })], false],
    ["of an assistant that says nearly all of it", [hit(0.6, { voice: 2 / 3 })], true],
    ["that holds the slot", [hit(0, { lanes: { slot: 1 } })], true],
    ["that means the same", [hit(0, { closeness: 1.2 })], true],
    ["that is a little alike", [hit(0, { closeness: 1, lanes: { vector: 1, names: 0.4 } })], false],
  ])("%s", (_, hits, expected) => {
    expect(isConfident(hits)).toBe(expected);
  });

  test.each<readonly [string, readonly Grounds[], boolean]>([
    ["is theirs", [hit(0.6), hit(0.7, { aside: true })], true],
    ["is somebody else's", [hit(0.9, { aside: true }), hit(0.6)], false],
    ["is nobody's but somebody else's", [hit(0.9, { aside: true })], false],
    ["is known by its slot", [hit(0.9, { aside: true, lanes: { slot: 1 } })], true],
    ["means the same", [hit(0.3), hit(0, { closeness: 1.2 })], true],
    ["means the same and is somebody else's", [hit(0, { closeness: 1.2, aside: true })], false],
    ["was hidden far down", [...Array(10).fill(hit(0.5)), hit(0.9, { aside: true })], true],
  ])("to a question about one of those who speak, which %s", (_, hits, expected) => {
    expect(isConfident(hits)).toBe(expected);
  });
});

describe("the one asked about", () => {
  const speakers = new Map([
    ["Ada Lovelace", ["ada", "lovelac"]],
    ["Bo", ["bo"]],
  ]);

  test.each<readonly [readonly string[], string | undefined]>([
    [["ada", "move"], "Ada Lovelace"],
    [["lovelac"], "Ada Lovelace"],
    [["ada", "lovelac"], "Ada Lovelace"],
    [["ada", "bo"], undefined],
    [["cy"], undefined],
    [[], undefined],
  ])("of %j", (words, speaker) => {
    expect(askedSpeaker(new Set(words), speakers)?.speaker).toBe(speaker);
  });

  test("is known by the words of the question alone", () => {
    const asked = askedSpeaker(new Set(["ada", "move"]), speakers);
    expect([...(asked?.words ?? [])]).toEqual(["ada"]);
  });
});
