/**
 * Joining lanes into one order, and showing once what several memories say.
 */
import { describe, expect, test } from "vitest";
import type { LaneScores } from "../contract/recall.js";
import {
  type Contender,
  collapse,
  fuse,
  meaningLane,
  meaningWeight,
  type OwnFactors,
} from "./fuse.js";

const PLAIN: OwnFactors = { trust: 1, salience: 0.5, speaker: false };

function contender(key: string, lanes: LaneScores, more: Partial<Contender> = {}): Contender {
  return { key, lanes, factors: PLAIN, seq: 1, ...more };
}

function order(...contenders: readonly Contender[]): string[] {
  return fuse(contenders).map(({ key }) => key);
}

describe("fusing lanes", () => {
  test("lanes add up, and silence is left out", () => {
    expect(
      order(
        contender("words", { lexical: 0.9 }),
        contender("both", { lexical: 0.6, names: 0.5 }),
        contender("nothing", {}),
        contender("only the date", { time: 1 }),
      ),
    ).toEqual(["both", "words"]);
  });

  test("a score is the same to the bit, whichever lane came first", () => {
    const lanes = { lexical: 1, vector: 0.35, slot: 1, names: 0.1, graph: 0.7, standing: 0.3 };
    const [score] = fuse([contender("a", lanes)]).map((one) => one.score);
    const names = Object.entries(lanes);
    for (let first = 0; first < names.length; first += 1) {
      const turned = Object.fromEntries([...names.slice(first), ...names.slice(0, first)]);
      expect(fuse([contender("a", turned)])[0]?.score).toBe(score);
    }
  });

  test("the date decides between equals", () => {
    expect(
      order(
        contender("other day", { lexical: 0.8 }),
        contender("that day", { lexical: 0.7, time: 1 }),
      ),
    ).toEqual(["that day", "other day"]);
  });

  test("a document never stands above the owner for saying it better", () => {
    const document = { factors: { ...PLAIN, trust: 0.6 } };
    expect(
      order(contender("document", { lexical: 1 }, document), contender("owner", { lexical: 0.7 })),
    ).toEqual(["owner", "document"]);
  });

  test("use moves neighbours, not a clear difference", () => {
    const used = { factors: { ...PLAIN, salience: 1 } };
    const unused = { factors: { ...PLAIN, salience: 0 } };
    expect(
      order(contender("a", { lexical: 0.8 }, unused), contender("b", { lexical: 0.75 }, used)),
    ).toEqual(["b", "a"]);
    expect(
      order(contender("a", { lexical: 0.8 }, unused), contender("b", { lexical: 0.6 }, used)),
    ).toEqual(["a", "b"]);
  });

  test("who spoke counts when the question names them", () => {
    const spoke = { factors: { ...PLAIN, speaker: true } };
    expect(
      order(contender("about", { lexical: 0.7 }), contender("by", { lexical: 0.65 }, spoke)),
    ).toEqual(["by", "about"]);
  });

  test("equals: the newer first, then by id", () => {
    expect(
      order(
        contender("b", { lexical: 0.5 }),
        contender("a", { lexical: 0.5 }),
        contender("c", { lexical: 0.5 }, { seq: 2 }),
      ),
    ).toEqual(["c", "a", "b"]);
  });
});

describe("collapsing", () => {
  const set = (key: string, text: string) => ({ key, words: new Set(text.split(" ")) });

  test("the same words are one", () => {
    const groups = collapse([set("a", "ada lives in porto"), set("b", "in porto lives ada")]);
    expect([...groups]).toEqual([["a", ["b"]]]);
  });

  test("another word in its place is another answer", () => {
    const first = "the team deploys every service to production only on fridays after lunch";
    const groups = collapse([set("a", first), set("b", first.replace("fridays", "mondays"))]);
    expect([...groups.keys()]).toEqual(["a", "b"]);
  });

  test("a long one with a word more is the same", () => {
    const first = "the team deploys every service to production only on fridays";
    expect([...collapse([set("a", first), set("b", `${first} lunchtime`)])]).toEqual([
      ["a", ["b"]],
    ]);
    expect(collapse([set("a", "red car"), set("b", "red car fast")]).size).toBe(2);
  });

  test("memories without words are never one", () => {
    expect(
      collapse([
        { key: "a", words: new Set() },
        { key: "b", words: new Set() },
      ]).size,
    ).toBe(2);
  });
});

describe("how much meaning counts", () => {
  const SIZES = [1, 10, 50, 100, 200, 1000, 1_000_000];
  const SHARES = [0, 0.25, 0.5, 0.75, 1];

  test("beside words, falls with the number of texts and is never nothing", () => {
    const weights = SIZES.map(meaningWeight);
    expect(weights).toEqual([...weights].sort((a, b) => b - a));
    expect(Math.min(...weights)).toBeGreaterThan(0);
    expect(meaningWeight(40)).toBeGreaterThan(2);
    expect(meaningWeight(1000)).toBeLessThan(0.5);
  });

  test("grows with how near it is and with what words leave open, and never takes from a memory", () => {
    for (const weight of SIZES.map(meaningWeight)) {
      for (const lexical of SHARES) {
        const byOpen = SHARES.map((open) =>
          SHARES.map((near) => meaningLane({ weight, open }, near, lexical)),
        );
        for (const lane of byOpen) {
          expect(lane).toEqual([...lane].sort((a, b) => a - b));
          expect(lane[0]).toBe(0);
        }
        for (const at of SHARES.keys()) {
          const lane = byOpen.map((one) => one[at] ?? 0);
          expect(lane).toEqual([...lane].sort((a, b) => a - b));
        }
      }
    }
  });

  test("the nearest stands where the best by words would, if words leave all open, and adds a share if they leave nothing", () => {
    const weight = meaningWeight(500);
    const best = 1 + weight;
    expect(meaningLane({ weight, open: 1 }, 1, 0)).toBe(best);
    expect(meaningLane({ weight, open: 1 }, 1, 0.6) + 0.6).toBeCloseTo(best, 10);
    expect(meaningLane({ weight, open: 0 }, 1, 0.6)).toBe(weight);
    // Half as near is far less than half of it: nothing that is only somewhat near stands above what was asked for.
    expect(meaningLane({ weight, open: 1 }, 0.5, 0)).toBeLessThan(best / 3);
  });
});
