/** The local embedder against another implementation, its promise of equal bits, and files that are none. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { LOCAL_MODEL, local } from "../src/index.js";
import { piecesOf, readModel } from "../src/static-model.js";
import reference from "./reference.json" with { type: "json" };

const FILE = readFileSync(new URL("../model/static-1.bin", import.meta.url));
const words = FILE.subarray(FILE.length - FILE.readUInt32LE(20))
  .toString("utf8")
  .split("\n");
const rowOf = new Map(words.map((word, row) => [word, row]));

test("the model is the file that NOTICE names by its hash, and small", () => {
  const notice = readFileSync(new URL("../NOTICE", import.meta.url), "utf8");
  expect(notice).toContain(createHash("sha256").update(FILE).digest("hex"));
  expect(FILE.length).toBeLessThan(10_000_000);
});

test.each(reference)("pieces and vector of $text are those of the reference", async (one) => {
  expect(piecesOf(one.text, rowOf, 1000)).toEqual(one.pieces);
  const [vector] = await local().embed([one.text]);
  for (const [at, value] of one.vector.entries()) expect(vector?.[at]).toBeCloseTo(value, 6);
});

test("the bits of vectors are pinned: another machine that differs fails here", async () => {
  const hash = createHash("sha256");
  for (const vector of await local().embed(reference.map(({ text }) => text))) {
    hash.update(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength));
  }
  expect(hash.digest("hex")).toMatchInlineSnapshot(
    `"d0171b516352f4a2ee403e7a225209079a89bd9b70bc3d2b1f0dcc67f12ba80d"`,
  );
});

test("any text has a finite vector of length one, at any length, and its pieces are bounded", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary", maxLength: 300 }), async (text) => {
      const [vector] = await local().embed([text]);
      const square = vector?.reduce((sum, value) => sum + value * value, 0);
      expect(square).toBeCloseTo(1, 5);
      expect(piecesOf(text, rowOf, 7).length).toBeLessThanOrEqual(7);
    }),
    { seed: 7, numRuns: 300 },
  );
});

test("other words for the same are nearer than the same words for something else", async () => {
  const embedder = local();
  expect([embedder.model, embedder.dimensions]).toEqual([LOCAL_MODEL, 384]);
  const texts = [
    "Do I have any allergies?",
    "I can't eat peanuts, they make me ill",
    "The train leaves at nine",
  ];
  const [question = [], answer = [], other = []] = (await embedder.embed(texts)).map((one) => [
    ...one,
  ]);
  const near = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
  expect(near(question, answer)).toBeGreaterThan(near(question, other) + 0.2);
});

test("the languages that it knows are said by the embedder and by the page of the package", () => {
  const { languages } = local();
  expect(languages).toEqual(["en"]);
  const page = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const names = new Intl.DisplayNames("en", { type: "language" });
  for (const language of languages) expect(page).toContain(`It knows ${names.of(language)}`);
  expect(page).toContain("local().languages");
});

test("a file that is cut, or another, is refused by what it is", () => {
  expect(() => readModel(FILE.subarray(0, 4000))).toThrow(/expected a file of \d+ bytes, got 4000/);
  expect(() => readModel(new TextEncoder().encode("something else entirely, yes"))).toThrow(
    /begins with cortexe1/,
  );
});

test("its inputs are pinned where the page and NOTICE say, and its vocabulary is the pinned one", () => {
  const read = (path: string): string =>
    readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
  const hashes = (text: string): readonly string[] => text.match(/\b[0-9a-f]{64}\b/g) ?? [];
  const pinned = read("tools/distill/inputs.py");
  const model = createHash("sha256").update(FILE).digest("hex");
  const told = [
    ...hashes(read("tools/distill/README.md")),
    ...hashes(read("packages/embed/NOTICE")),
  ];
  expect(told).toContain(model);
  for (const hash of told) if (hash !== model) expect(pinned).toContain(hash);
  const [, vocabulary] = /"vocab\.txt": "([0-9a-f]{64})"/.exec(pinned) ?? [];
  const text = `${words.join("\n")}\n`;
  expect(createHash("sha256").update(text).digest("hex")).toBe(vocabulary);
});
