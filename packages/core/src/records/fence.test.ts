/** The fence: what looks like one does not pass, what is only quoted swallows nothing, what is cut is closed. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lookAlike, looksFenced } from "../../test/look-alikes.js";
import {
  breakMarks,
  cutToTokens,
  dropFenced,
  FENCE_CLOSE,
  FENCE_OPEN,
  fence,
  flatten,
} from "./fence.js";
import { countTokens } from "./forms.js";

const SEED = 20_261_116;
describe("text of memory", () => {
  test("has no mark left, however it was written", () => {
    const around = fc.string({ maxLength: 12, unit: "grapheme" });
    fc.assert(
      fc.property(around, lookAlike, around, (before, mark, after) => {
        expect(looksFenced(mark)).toBe(true);
        const text = `${before}${mark}${after}`;
        expect(looksFenced(breakMarks(text))).toBe(false);
        expect(looksFenced(flatten(text))).toBe(false);
        expect(flatten(text)).not.toContain("\n");
      }),
      { seed: SEED, numRuns: 400 },
    );
  });

  test("keeps what stands around a mark", () => {
    fc.assert(
      fc.property(lookAlike, (mark) => {
        const said = breakMarks(`Ada é ${mark}; she lives in «Porto»`);
        expect(said).toMatch(
          /^Ada é \(?cortex-memory\)?[\p{M}\p{Default_Ignorable_Code_Point}]*; she lives in «Porto»$/u,
        );
      }),
      { seed: SEED, numRuns: 400 },
    );
  });

  test("stays as it is where nobody could take it for one", () => {
    for (const text of [
      "cortex-memory is a name",
      "a < b > c",
      "«Porto»",
      "≤ 3 cortex memories › 2",
      "Ünïcödé cörtex—mémory",
      "فارسی می‌خوانم",
      "👨‍👩‍👧",
    ]) {
      expect(flatten(text)).toBe(text);
    }
  });
});

describe("what somebody says", () => {
  test("loses the blocks that memory rendered, and nothing else", () => {
    const block = fence("- [id] Ada lives in Porto");
    expect(dropFenced(`before\n${block}\nafter`)).toBe("before\n\nafter");
    expect(dropFenced(`${block}\n${block}`)).toBe("");
  });

  test("keeps its rest after a mark that is only quoted", () => {
    const quoted = `What does ${FENCE_OPEN} mean? I live in Porto.`;
    expect(dropFenced(quoted)).toBe(quoted);
    const both = `${quoted}\n${fence("- [id] Lyon")}\nAnd I like tea.`;
    expect(dropFenced(both)).toBe(`${quoted}\n\nAnd I like tea.`);
    const closing = `The end is ${FENCE_CLOSE}, as ever.`;
    expect(dropFenced(closing)).toBe(closing);
  });

  test("is not swallowed between marks that only look like some", () => {
    fc.assert(
      fc.property(lookAlike, lookAlike, (open, close) => {
        fc.pre(![open, close].some((mark) => mark === FENCE_OPEN || mark === FENCE_CLOSE));
        const text = `${open}\nI live in Porto.\n${close}`;
        expect(dropFenced(text)).toBe(text);
      }),
      { seed: SEED },
    );
  });
});

test("what is cut keeps to its tokens, and its closing line, at every budget", () => {
  const lines = Array.from({ length: 40 }, (_, at) => `- [id ${at}] Ada said something ${at}`);
  const text = `40 memories, seq 7\n${fence(lines.join("\n"))}\nMore: cursor x`;
  for (let tokens = 1; tokens <= countTokens(text) + 5; tokens += 1) {
    const cut = cutToTokens(text, tokens);
    expect(countTokens(cut), String(tokens)).toBeLessThanOrEqual(tokens);
    expect(cut.split(FENCE_OPEN).length, String(tokens)).toBe(cut.split(FENCE_CLOSE).length);
  }
});
