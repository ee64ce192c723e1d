/** The codes on the page on scopes. Its program is run by `tools/docs-code.test.ts`. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../src/errors.js";

const PAGE = readFileSync(
  fileURLToPath(new URL("../../../docs/scopes.md", import.meta.url)),
  "utf8",
);

test("every code on the page is one, and every code of a scope is on the page", () => {
  const named = new Set(PAGE.match(/ERR_[A-Z_]+/g) ?? []);
  expect([...named].filter((code) => !Object.hasOwn(ERROR_CODES, code))).toEqual([]);
  const own = Object.keys(ERROR_CODES).filter((code) => code.startsWith("ERR_SCOPE_"));
  expect(own.filter((code) => !named.has(code) && code !== "ERR_SCOPE_HANDLE")).toEqual([]);
});
