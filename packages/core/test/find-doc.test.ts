/**
 * The tables on the page on find name every operator, order and field. When the table of fields is
 * stale, write it anew with `CORTEX_WRITE_DOCS=1 npx vitest run packages/core/test/find-doc.test.ts`.
 * The program on the page is run by `tools/docs-code.test.ts`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { OPERATORS } from "../src/contract/find.js";
import { allFields, type Field } from "../src/find/find-fields.js";
import { ORDERS } from "../src/find/order.js";
import { LIMITS } from "../src/index.js";
import { pagePath } from "./doc-page.js";

const PAGE = pagePath("find.md");
const read = (): string => readFileSync(PAGE, "utf8");

test("every operator, every order and every limit is on the page", () => {
  const page = read();
  for (const operator of OPERATORS) expect(page).toMatch(new RegExp(`(\`|\\{ )${operator}(\`|:)`));
  for (const order of ORDERS) expect(page).toContain(`\`${order}\``);
  const figures = [
    LIMITS.predicateNodes,
    LIMITS.predicateDepth,
    LIMITS.predicateValues,
    LIMITS.patternBytes,
    LIMITS.patternProgram,
    LIMITS.findCandidates,
    LIMITS.findRows,
    LIMITS.findLateHits,
  ];
  for (const figure of figures) expect(page).toContain(figure.toLocaleString("en"));
  expect(page).toContain(`${LIMITS.matchSteps / 1_000_000} million steps`);
});

const KINDS: { readonly [kind in Field["kinds"][number]]: string } = {
  text: "text",
  word: "one of ",
  id: "an id",
  number: "a number",
  time: "a time",
  flag: "true or false",
  amount: "an amount",
  json: "JSON",
};

function fieldRow({ name, kinds, words, many, types }: Field): string {
  const held = kinds.map((kind) =>
    kind === "word" ? `${KINDS.word}${words.map((word) => `\`${word}\``).join(" ")}` : KINDS[kind],
  );
  const value = `${many ? "several: " : ""}${held.join(", or ")}`;
  return `| \`${name}\` | ${value} | ${types.length === 0 ? "every type" : types.join(", ")} |`;
}

test("the table of fields is that of the program", () => {
  const rows = allFields().map(fieldRow);
  const table = ["| field | holds | types |", "|---|---|---|", ...rows].join("\n");
  const page = read();
  const fresh = page.replace(
    /(<!-- fields -->\n)[\s\S]*?(<!-- \/fields -->)/,
    (_, start: string, end: string) => `${start}\n${table}\n\n${end}`,
  );
  if (process.env.CORTEX_WRITE_DOCS === "1") writeFileSync(PAGE, fresh);
  expect(read() === fresh, "stale: run this file with CORTEX_WRITE_DOCS=1").toBe(true);
});
