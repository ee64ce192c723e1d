/** The page on search: its program prints what it says, its tables name every option and language. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LANGUAGES, LIMITS } from "../src/index.js";
import { pagePath, runPage } from "./page-program.js";

test("the program prints what the page says", async () => {
  const { expected, said } = await runPage("search.md");
  expect(expected.length).toBeGreaterThan(4);
  expect(said).toEqual(expected);
});

test("every language and every limit is on the page", () => {
  const page = readFileSync(pagePath("search.md"), "utf8");
  for (const language of LANGUAGES) expect(page).toMatch(new RegExp(`\\b${language}\\b`));
  const figures = [
    LIMITS.phraseCandidates,
    LIMITS.queryWords,
    LIMITS.searchLimitDefault,
    LIMITS.listLimit,
    LIMITS.searchBatchEach,
    LIMITS.searchBatchTotal,
  ];
  for (const figure of figures) expect(page).toContain(figure.toLocaleString("en"));
  expect(page).toContain(`${LIMITS.queryBytes / 1024} KB of text`);
});
