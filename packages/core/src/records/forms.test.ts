/** Forms: golden sentences for every type, token counts and cuts, and budgets that are kept. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isWellFormed, utf8Length } from "../codec/text.js";
import { LIMITS } from "../limits.js";
import { type Data, parseData, turnData } from "./data.js";
import { parseWith } from "./fields.js";
import { countTokens, renderForms, renderFull, truncateToTokens } from "./forms.js";
import {
  EVENT_KINDS,
  GOAL_STATUSES,
  MEMORY_TYPES,
  type MemoryType,
  namesOf,
  OUTCOMES,
  POLARITIES,
  STANCES,
  STRENGTHS,
} from "./types.js";

const SEED = 20_240_501;
console.info(`forms.test seed ${SEED}`);

/** One golden case: the input of a write (or a turn), and the sentences it must give. */
interface Golden {
  readonly type: MemoryType;
  readonly text?: string;
  readonly data?: { readonly [name: string]: unknown };
  readonly turn?: unknown;
  readonly short: string;
  /** Absent where it equals `short`. */
  readonly medium?: string;
}

const GOLDEN = JSON.parse(
  readFileSync(new URL("../../test/vectors/forms.json", import.meta.url), "utf8"),
) as readonly Golden[];

function dataOf(golden: Golden): Data {
  if (golden.turn !== undefined) return parseWith(turnData, golden.turn, "turn");
  const { text, data } = golden;
  return parseData(golden.type, { text, data }, "ada");
}

describe("golden sentences", () => {
  it.each(GOLDEN.map((golden, at) => [at, golden.type, golden.short, golden] as const))(
    "%i %s: %s",
    (_, type, short, golden) => {
      const data = dataOf(golden);
      const medium = golden.medium ?? short;
      expect(renderForms(type, data)).toEqual({ short, medium });
      expect(renderFull(type, data)).toBe(medium);
    },
  );

  it.each([
    ["types", namesOf(MEMORY_TYPES), (g: Golden) => g.type],
    ["preference polarities", namesOf(POLARITIES), of("preference", "polarity")],
    ["constraint polarities", namesOf(POLARITIES), of("constraint", "polarity")],
    ["stances", namesOf(STANCES), of("belief", "stance")],
    ["goal statuses", namesOf(GOAL_STATUSES), of("goal", "status")],
    ["strengths", namesOf(STRENGTHS), of("constraint", "strength")],
    ["event kinds", namesOf(EVENT_KINDS), of("event", "kind")],
    ["outcomes", namesOf(OUTCOMES), of("event", "outcome")],
  ])("cover all %s", (_, names, nameIn) => {
    const seen = new Set(GOLDEN.map(nameIn));
    expect(names.filter((name) => !seen.has(name))).toEqual([]);
  });

  function of(type: MemoryType, field: string): (golden: Golden) => unknown {
    return (golden) => (golden.type === type ? golden.data?.[field] : undefined);
  }

  it("never say the opposite of a polarity or a stance", () => {
    const short = (type: MemoryType, text: string | undefined, data: object) =>
      renderForms(type, parseData(type, { text, data }, "ada")).short;
    expect(short("preference", undefined, { topic: "X", polarity: "avoid" })).not.toMatch(/prefer/);
    expect(short("belief", "X", { stance: "doubt" })).not.toMatch(/believe/);
    expect(short("constraint", "pay cash", { polarity: "dont" })).toMatch(/not/);
    expect(short("constraint", "Pay cash", { polarity: "dont" })).toMatch(/not/);
    expect(short("constraint", "Pay those who never ask", { polarity: "dont" })).toMatch(/not/);
  });
});

describe("tokens", () => {
  it.each([
    ["", 0],
    ["a", 1],
    ["abcd", 1],
    ["abcde", 2],
    ["é", 1],
    ["😀", 1],
    ["😀a", 2],
  ])("%j is %i", (text, tokens) => {
    expect(countTokens(text)).toBe(tokens);
  });

  it.each([
    ["anything", 0, ""],
    ["anything", -1, ""],
    ["", 5, ""],
    ["abcd", 1, "abcd"],
    ["abcde", 1, "a…"],
    ["ébcde", 1, "…"],
    ["abcdefghi", 2, "abcde…"],
    ["abcd😀xyz", 2, "abcd…"],
    ["😀😀", 2, "😀😀"],
    ["😀😀😀", 2, "😀…"],
  ])("%j cut to %i is %j", (text, max, cut) => {
    expect(truncateToTokens(text, max)).toBe(cut);
  });

  it("a cut text fits, is well-formed, and is the longest that does", () => {
    const text = fc.string({ unit: "binary", maxLength: 60 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 12 }), (whole, max) => {
        const cut = truncateToTokens(whole, max);
        expect(countTokens(cut)).toBeLessThanOrEqual(max);
        expect(isWellFormed(cut)).toBe(true);
        if (cut === whole) return;
        const kept = cut.slice(0, -1);
        expect(whole.startsWith(kept) && cut.endsWith("…")).toBe(true);
        const next = String.fromCodePoint(whole.codePointAt(kept.length) ?? 0);
        expect(utf8Length(kept + next)).toBeGreaterThan(max * 4 - 3);
      }),
      { seed: SEED, numRuns: 300 },
    );
  });
});

describe("budgets", () => {
  it.each(namesOf(MEMORY_TYPES))("%s: forms of a long memory fit, full holds it all", (type) => {
    const text = "é".repeat(type === "artifact" ? 512 : 2000);
    const data = parseData(type, { text }, "ada");
    const { short, medium } = renderForms(type, data);
    expect(countTokens(short)).toBe(LIMITS.formShortTokens);
    expect(countTokens(medium)).toBe(LIMITS.formMediumTokens);
    expect(short.endsWith("…") && medium.endsWith("…")).toBe(true);
    expect(renderFull(type, data)).toContain(text);
  });

  it("a text of full size is rendered without trouble, whatever it is made of", () => {
    for (const unit of ["://", ". ", "not ", '."', "a:// "]) {
      const statement = unit.repeat(LIMITS.contentBytes / unit.length - 1) + "x".repeat(1);
      const data = parseData(
        "constraint",
        { data: { statement, polarity: "dont", strength: "firm" } },
        "ada",
      );
      expect(renderFull("constraint", data)).toContain(statement);
    }
  });

  it("the order of members does not matter", () => {
    const one = parseData("fact", { data: { predicate: "p", object: { a: 1, b: 2 } } }, "ada");
    const two = parseData("fact", { data: { object: { b: 2, a: 1 }, predicate: "p" } }, "ada");
    expect(renderForms("fact", one)).toEqual(renderForms("fact", two));
  });
});
