/**
 * The page on reacting to changes shows two programs. What they print is compared with the page by
 * `tools/docs-code.test.ts`; this shows that the second one goes on where it stopped.
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

const PROGRAMS = [...PAGE.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text]) => text);

test.skipIf(UNBUILT)("the second program goes on where it stopped", async () => {
  const folder = temporaryFolder();
  const memory = await open(join(folder, "memory"), { actor: "ada" });
  for (const text of ["Ada lives in Lyon", "Ada lives in Porto"]) {
    await memory.write({ type: "fact", slot: "home city", text });
  }
  await memory.close();
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "seen.txt"), "2");
  // `await using` is younger than the oldest Node that Cortex supports: spelled out, it is the same.
  const program = (PROGRAMS[1] ?? "").replace("await using memory", "const memory");
  writeFileSync(join(folder, "program.mjs"), `${program}\nawait memory.close();\n`);
  const { status, stdout, stderr } = spawnSync(process.execPath, ["program.mjs"], {
    cwd: folder,
    encoding: "utf8",
  });
  expect([status, stderr, stdout]).toEqual([0, "", "dealing with 2 write\n"]);
  expect(readFileSync(join(folder, "seen.txt"), "utf8")).toBe("3");
});
