/** The tables on the page on extraction name every rule. `tools/docs-code.test.ts` runs its program. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DROP_RULES } from "../src/contract/entry.js";
import { DEBOUNCE_MS } from "../src/extract/extract.js";
import { LIMITS } from "../src/index.js";
import { pagePath } from "./doc-page.js";

const page = readFileSync(pagePath("extraction.md"), "utf8");

test("the tables name every rule by which an entry is dropped", () => {
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));
  const named = rows.flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`(\w+)`/g)]);
  const names = new Set(named.map(([, name]) => name));
  for (const rule of Object.keys(DROP_RULES)) expect(names).toContain(rule);
});

test("the numbers are those of the limits", () => {
  expect(page).toContain(`silent for ${DEBOUNCE_MS / 1000} seconds`);
  expect(page).toContain(`${LIMITS.extractTurns}, or ${LIMITS.extractBytes / 1024} KiB`);
  expect(page).toContain(
    `facts beyond ${LIMITS.extractFacts}, links beyond ${LIMITS.extractLinks}`,
  );
});
