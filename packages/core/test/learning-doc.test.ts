/**
 * The pages on context, recall, salience and trust show programs, and beside every line they print
 * what it prints. This runs each page from top to bottom and compares.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { cleanUp, isUnbuilt, temporaryFolder } from "./other-process.js";

const UNBUILT = isUnbuilt();

afterEach(cleanUp);

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

test.skipIf(UNBUILT).each(["context", "recall", "salience", "trust"])(
  "docs/%s.md prints what it says",
  (name) => {
    const page = readFileSync(join(ROOT, `docs/${name}.md`), "utf8");
    const program = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)]
      .map(([, text = ""]) => text)
      .join("\n");
    const expected = [...program.matchAll(/^console\.log\(.*\); \/\/ ([^:\n]*)/gm)].map(
      ([, said = ""]) => said.trim(),
    );
    expect(expected.length).toBeGreaterThan(3);
    const folder = temporaryFolder();
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    // Types, and `await using`, are younger than the oldest Node that Cortex supports.
    const plain = program.replaceAll(" as const", "").replace("await using memory", "const memory");
    writeFileSync(join(folder, "program.mjs"), `${plain}\nawait memory.close();\n`);
    const ran = spawnSync(process.execPath, ["program.mjs"], { cwd: folder, encoding: "utf8" });
    expect([ran.status, ran.stderr]).toEqual([0, ""]);
    expect(ran.stdout.trimEnd().split("\n")).toEqual(expected);
  },
);
