/**
 * The command that kills processes: a round of the kinds of work that `crash.test.ts` does not kill, from new
 * seeds that it prints.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

test.each(["vacuum", "import"])("a process killed in %s leaves a sound store", (work) => {
  const args = ["tools/reliability/kills.mjs", "--rounds", "1", "--only", work];
  const ran = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  expect(ran.status, `${ran.stdout}${ran.stderr}`).toBe(0);
  expect(ran.stdout).toMatch(new RegExp(`^kills: seed \\d+\nkills: ${work} \\{"rounds":1`));
});

test("a kind of work that there is not is refused", () => {
  const ran = spawnSync(process.execPath, ["tools/reliability/kills.mjs", "--only", "nothing"], {
    cwd: root,
    encoding: "utf8",
  });
  expect(ran.status).toBe(2);
  expect(ran.stderr).toContain("--only: expected one of single");
});
