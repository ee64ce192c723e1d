/** The page on vectors shows a program and what it prints; this runs it in an empty folder. */
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { cleanUp, isUnbuilt, temporaryFolder } from "./other-process.js";

const UNBUILT = isUnbuilt();

afterEach(cleanUp);

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const PAGE = readFileSync(join(ROOT, "docs/vectors.md"), "utf8");

function block(language: string): string {
  const [, text] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(PAGE) ?? [];
  if (text === undefined) throw new Error(`the page has no block of ${language}`);
  return text;
}

test.skipIf(UNBUILT)("its program prints what it says", () => {
  const folder = temporaryFolder();
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  // `await using` is younger than the oldest Node that Cortex supports: spelled out, it is the same.
  const program = block("js").replace("await using memory", "const memory");
  writeFileSync(join(folder, "program.mjs"), `${program}\nawait memory.close();\n`);
  const { status, stdout, stderr } = spawnSync(process.execPath, ["program.mjs"], {
    cwd: folder,
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toBe(block("text"));
});
