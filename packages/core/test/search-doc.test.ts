/** The page on search names every limit and language. `tools/docs-code.test.ts` runs its program. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LANGUAGES } from "../src/contract/entry.js";
import { LIMITS } from "../src/index.js";
import { pagePath } from "./doc-page.js";

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
