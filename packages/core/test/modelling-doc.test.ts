/** The page on modelling shows one program; this runs it against the sources and compares what it prints. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import * as core from "../src/index.js";

const PAGE = readFileSync(
  fileURLToPath(new URL("../../../docs/modelling.md", import.meta.url)),
  "utf8",
);

function block(language: string): string {
  const [, text = ""] =
    new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(PAGE) ?? [];
  return text;
}

test("its program prints what the page says", async () => {
  const lines: string[] = [];
  const log = (...said: readonly unknown[]): void => {
    lines.push(said.map((one) => (typeof one === "string" ? one : inspect(one))).join(" "));
  };
  // Imports become members of the module, so that the program runs without a build.
  const body = block("js").replaceAll(
    /^import (\{[^}]*\}) from "@cortex-memory\/core";$/gm,
    "const $1 = core;",
  );
  expect(body).toContain("openHub");
  const program = new Function("core", "console", `return (async () => {${body}})()`);
  await program(core, { log });
  expect(`${lines.join("\n")}\n`).toBe(block("text"));
});
