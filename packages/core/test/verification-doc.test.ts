/**
 * The page on verification tells readers to type commands; this types them, and compares what they
 * print with what the page says, so that the page stays a program that works.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { lacksTools } from "../src/testing/lacking.js";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const NO_TOOLS = lacksTools("bash", "base64", "xxd", "sha256sum", "sed");

/** The fenced blocks of one language below a heading, in order. */
function blocks(page: string, heading: string, language: string): string {
  const section = page.slice(page.indexOf(`\n## ${heading}\n`));
  const found = section.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"));
  return [...found].map(([, text = ""]) => text).join("");
}

test.skipIf(NO_TOOLS)("the worked example prints what the page says", () => {
  const page = readFileSync(`${ROOT}/docs/verification.md`, "utf8");
  const script = blocks(page, "By hand", "sh");
  expect(script).toContain("sha256sum");
  const folder = mkdtempSync(join(tmpdir(), "cortex-by-hand-"));
  const ran = spawnSync("bash", ["-euo", "pipefail"], {
    cwd: ROOT,
    env: { ...process.env, TMPDIR: folder },
    input: script,
    encoding: "utf8",
  });
  rmSync(folder, { recursive: true, force: true });
  expect(ran.stderr).toBe("");
  expect(ran.stdout).toBe(blocks(page, "By hand", "text"));
});

test("its figures are what its claims need: each computed value stands there twice", () => {
  const page = readFileSync(`${ROOT}/docs/verification.md`, "utf8");
  const printed = blocks(page, "By hand", "text");
  const hashes = printed.match(/[0-9a-f]{64}|[A-Za-z0-9+/]{43}=/g) ?? [];
  for (const [label, wanted] of [
    ["sum", /^sum (.*)$/m],
    ["memories", /^memories (.*)$/m],
    ["overall", /^overall (.*)$/m],
  ] as const) {
    const [, hash = ""] = wanted.exec(printed) ?? [];
    expect(hashes.filter((one) => one === hash).length, label).toBeGreaterThanOrEqual(2);
  }
});
