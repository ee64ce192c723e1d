/**
 * Objects are found in a document whatever they hold and wherever it is cut: compared with what a
 * parser of whole documents finds.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { jsonElements } from "./lines.js";
import { isUnusable } from "./records.js";

const SEED = 20_261_115;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "cortex-elements-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function found(text: string): Promise<readonly (readonly [string, unknown])[]> {
  const path = join(folder, "document.json");
  writeFileSync(path, text);
  const all: (readonly [string, unknown])[] = [];
  for await (const { section, element, at } of jsonElements(path, ["results", "relations"])) {
    all.push([section, isUnusable(element) ? `bad at ${at}` : element.value]);
  }
  return all;
}

/** Objects with any JSON inside: brackets and quotes in texts are what a scanner trips over. */
const objects = fc.array(
  fc.dictionary(
    fc.string().filter((name) => name !== "results" && name !== "relations"),
    fc.jsonValue(),
  ),
  { maxLength: 6 },
);
const indent = fc.constantFrom(undefined, 1, "\t");

test("a list, an object of lists and objects in a row give each object once, in order", async () => {
  await fc.assert(
    fc.asyncProperty(objects, objects, indent, async (results, relations, space) => {
      const plain = JSON.parse(JSON.stringify({ results, relations })) as {
        readonly results: readonly unknown[];
        readonly relations: readonly unknown[];
      };
      const list = plain.results.map((value) => ["", value] as const);
      expect(await found(JSON.stringify(results, undefined, space))).toEqual(list);
      const rows = results.map((one) => JSON.stringify(one)).join("\n");
      expect(await found(rows)).toEqual(list);
      const both = { note: "x [ { y", relations, other: [{ a: 1 }], results };
      expect(await found(JSON.stringify(both, undefined, space))).toEqual([
        ...plain.relations.map((value) => ["relations", value] as const),
        ...plain.results.map((value) => ["results", value] as const),
      ]);
    }),
    { seed: SEED, numRuns: 60 },
  );
});

test("a document that is cut anywhere says so, and keeps what was whole before", async () => {
  const whole = JSON.stringify({ results: [{ a: "}" }, { b: ['\\"', {}] }, { c: 3 }] });
  const all = await found(whole);
  for (let end = 1; end < whole.length; end += 1) {
    const some = await found(whole.slice(0, end));
    expect(some.at(-1)).toEqual(["", "bad at line 1"]);
    expect(some.slice(0, -1)).toEqual(all.slice(0, some.length - 1));
  }
});
