/**
 * The clock of the benchmark `trees` stands between a commit and its trees, so it has to know every function that a
 * commit calls there. The benchmark itself runs in `tools/bench.test.ts`, which takes longer than people wait.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

function read(path: string): string {
  return readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
}

test("the clock around the trees has every function that a commit calls", () => {
  const commit = read("packages/core/src/history/commit.ts");
  const imported = /import \{([^}]*)\} from "\.\/trees\.js"/.exec(commit)?.[1] ?? "";
  const names = imported.split(",").map((name) => name.trim());
  const clock = read("bench/lib/timed-trees.mjs");
  const given = [...clock.matchAll(/^export function (\w+)/gm)].map(([, name]) => name);
  expect(names).toContain("updateTrees");
  expect(given).toEqual(expect.arrayContaining(names));
});
