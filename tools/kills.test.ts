/**
 * The command that kills processes: two rounds of the kinds of work that `crash.test.ts` does not kill, the first
 * after a piece of work and the second somewhere in it, from new seeds that it prints.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

test.each([
  ["vacuum", "import"],
  ["remove", "follow"],
  ["promote", "repair"],
])("processes killed in %s and others leave sound stores", (...works) => {
  const args = ["tools/reliability/kills.mjs", "--rounds", "2", "--only", works.join(",")];
  const ran = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  expect(ran.status, `${ran.stdout}${ran.stderr}`).toBe(0);
  for (const work of works) expect(ran.stdout).toContain(`kills: ${work} {"rounds":2`);
});

test("a kind of work that there is not is refused", () => {
  const ran = spawnSync(process.execPath, ["tools/reliability/kills.mjs", "--only", "nothing"], {
    cwd: root,
    encoding: "utf8",
  });
  expect(ran.status).toBe(2);
  expect(ran.stderr).toContain("--only: expected one of single");
});
