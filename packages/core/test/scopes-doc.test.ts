/**
 * The page on scopes shows one program; this runs it against the sources and compares what it prints
 * with what the page says, and the codes on the page with the order in which the checks are made.
 */
import * as crypto from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../src/errors.js";
import * as core from "../src/index.js";

const PAGE = readFileSync(
  fileURLToPath(new URL("../../../docs/scopes.md", import.meta.url)),
  "utf8",
);

function block(language: string): string {
  const [, text = ""] =
    new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(PAGE) ?? [];
  return text;
}

const modules: Readonly<Record<string, object>> = {
  "node:crypto": crypto,
  "@cortex-memory/core": core,
};

test("its program prints what the page says", async () => {
  const lines: string[] = [];
  const log = (said: unknown): void => {
    lines.push(typeof said === "string" ? said : inspect(said));
  };
  // Imports become members of the modules, so that the program runs without a build.
  const body = block("js").replaceAll(
    /^import (\{[^}]*\}) from "([^"]+)";$/gm,
    'const $1 = modules["$2"];',
  );
  expect(body).toContain("scopeAccess");
  const program = new Function("modules", "console", `return (async () => {${body}})()`);
  await program(modules, { log });
  expect(`${lines.join("\n")}\n`).toBe(block("text"));
});

test("every code on the page is one, and every code of a scope is on the page", () => {
  const named = new Set(PAGE.match(/ERR_[A-Z_]+/g) ?? []);
  expect([...named].filter((code) => !Object.hasOwn(ERROR_CODES, code))).toEqual([]);
  const own = Object.keys(ERROR_CODES).filter((code) => code.startsWith("ERR_SCOPE_"));
  expect(own.filter((code) => !named.has(code) && code !== "ERR_SCOPE_HANDLE")).toEqual([]);
});
