/**
 * The page on reacting to changes shows two programs; this runs them one after the other in one empty
 * folder, and compares what they print with what the page says.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { open } from "../src/index.js";
import { cleanUp, isUnbuilt, temporaryFolder } from "./other-process.js";

const UNBUILT = isUnbuilt();

afterEach(cleanUp);

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const PAGE = readFileSync(join(ROOT, "docs/subscribe.md"), "utf8");

function blocks(language: string): readonly string[] {
  const found = PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"));
  return [...found].map(([, text = ""]) => text);
}

test.skipIf(UNBUILT)(
  "its programs do what it says, and the second goes on where it stopped",
  async () => {
    const folder = temporaryFolder();
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const run = (program: string): string => {
      // `await using` is younger than the oldest Node that Cortex supports: spelled out, it is the same.
      const plain = program.replace("await using memory", "const memory");
      const file = join(folder, "program.mjs");
      writeFileSync(file, `${plain}\nawait memory.close();\n`);
      const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
        cwd: folder,
        encoding: "utf8",
      });
      expect([status, stderr]).toEqual([0, ""]);
      return stdout;
    };
    const [follow = "", resume = ""] = blocks("js");
    const [printed] = blocks("text");
    expect(run(follow)).toBe(printed);
    const said = ["genesis", "write", "write"].map((kind, seq) => `dealing with ${seq} ${kind}\n`);
    expect(run(resume)).toBe(said.join(""));
    const memory = await open(join(folder, "memory"), { actor: "ada" });
    await memory.configure({ conflictPolicy: "manual" });
    await memory.close();
    expect(run(resume)).toBe("dealing with 3 config\n");
    expect(readFileSync(join(folder, "seen.txt"), "utf8")).toBe("4");
  },
);
