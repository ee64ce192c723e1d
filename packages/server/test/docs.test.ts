/**
 * The reference pages are what the tables say. When one is stale, write them anew with
 * `CORTEX_WRITE_REFERENCE=1 npx vitest run packages/server/test/docs.test.ts`.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ERROR_CODES } from "@cortex-memory/core";
import { describe, expect, test } from "vitest";
import { referencePages } from "../../../tools/make-reference.js";
import { commandsOf } from "../src/cli/program.js";
import { ERROR_STATUS } from "../src/error-status.js";
import { STANDARD_TOOLS } from "../src/mcp/tools-standard.js";
import { OPERATIONS } from "../src/operations.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const pages = referencePages();
const textOf = (path: string): string => pages.find((page) => page.path === path)?.text ?? "";
const isUpdate = process.env.CORTEX_WRITE_REFERENCE === "1";

describe("the reference", () => {
  test.each(pages)("$path is fresh", ({ path, text }) => {
    if (isUpdate) writeFileSync(root + path, text);
    const written = existsSync(root + path) ? readFileSync(root + path, "utf8") : "";
    expect(written === text, "stale: run this file with CORTEX_WRITE_REFERENCE=1").toBe(true);
  });

  test("has every command of every operation", () => {
    const headings = new Set(textOf("docs/reference/cli.md").match(/^### .+$/gm));
    const missing = [...commandsOf(OPERATIONS).keys()].filter(
      (command) => !headings.has(`### cortex ${command}`),
    );
    expect([...missing, ...(headings.has("### cortex demo") ? [] : ["demo"])]).toEqual([]);
  });

  test("has every error code, each with a family and an exit code", () => {
    const text = textOf("docs/reference/errors.md");
    const codes = Object.keys(ERROR_CODES);
    expect(codes.filter((code) => !text.includes(`| \`${code}\` |`))).toEqual([]);
    expect(Object.keys(ERROR_STATUS).sort()).toEqual(codes.sort());
  });
});

test("the page on connecting an agent lists exactly the tools of the standard profile", () => {
  const page = readFileSync(`${root}docs/mcp.md`, "utf8");
  const listed = [...page.matchAll(/^\| `(memory_[a-z_]+)` \|/gm)].map(([, name]) => name);
  expect(listed.sort()).toEqual(STANDARD_TOOLS.map(({ name }) => name).sort());
});
