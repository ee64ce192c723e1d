/** Neighbourhoods in prompts: every pair is seen, no prompt is too large, none is asked for in vain. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Neighbourhood, Packer } from "./relink.js";

function pack(groups: readonly Neighbourhood[], size: number): readonly (readonly string[])[] {
  const packer = new Packer(size);
  const prompts = groups.flatMap((group) => {
    const full = packer.add(group);
    return full === undefined ? [] : [full];
  });
  const last = packer.take();
  return last === undefined ? prompts : [...prompts, last];
}

describe("packing", () => {
  test("fills a prompt before it begins another, and shows a memory as often as it is near", () => {
    const groups = [
      { focus: "a", near: ["b"] },
      { focus: "c", near: ["d"] },
      { focus: "e", near: ["a"] },
    ];
    expect(pack(groups, 4)).toEqual([
      ["a", "b", "c", "d"],
      ["e", "a"],
    ]);
  });

  test("asks for nothing where every pair was shown, or nothing is near", () => {
    const groups = [
      { focus: "a", near: ["b", "c"] },
      { focus: "x", near: ["y", "z"] },
      { focus: "b", near: ["a"] },
      { focus: "c", near: ["b"] },
      { focus: "lonely", near: [] },
    ];
    expect(pack(groups, 3)).toEqual([
      ["a", "b", "c"],
      ["x", "y", "z"],
    ]);
  });

  test("shows every memory with each of its neighbours, within the size", () => {
    const seed = 20_302;
    const graph = fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 7 }), {
      minLength: 1,
      maxLength: 41,
    });
    fc.assert(
      fc.property(graph, fc.integer({ min: 8, max: 20 }), (nears, size) => {
        const groups = nears.map((near, at) => ({
          focus: String(at),
          near: near.filter((other) => other !== at).map(String),
        }));
        const prompts = pack(groups, size);
        for (const prompt of prompts) {
          expect(prompt.length).toBeLessThanOrEqual(size);
          expect(new Set(prompt).size).toBe(prompt.length);
        }
        for (const { focus, near } of groups) {
          for (const other of near) {
            const together = prompts.some((ids) => ids.includes(focus) && ids.includes(other));
            expect(together).toBe(true);
          }
        }
      }),
      { seed, numRuns: 200 },
    );
  });
});
