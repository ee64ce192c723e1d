/**
 * What the page about benchmarks says of other programs and of the bars is what the kept results say: no figure is typed in.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

test("the page about benchmarks and its pictures follow the results that are kept", () => {
  const page = join(root, "bench", "page.mjs");
  const ran = spawnSync(process.execPath, [page, "--check"], { encoding: "utf8" });
  expect(ran.stderr).toBe("");
  expect(ran.status).toBe(0);
});

test("a bar that was missed stands in the page as missed", () => {
  const page = readFileSync(join(root, "docs", "benchmarks.md"), "utf8");
  const kept = JSON.parse(readFileSync(join(root, "bench/results/bars.json"), "utf8"));
  const rows = page.split("\n").filter((line) => / (met|\*\*missed\*\*) \| \d{4}-/.test(line));
  expect(rows.length).toBe(Object.keys(kept).length);
  expect(rows.length).toBeGreaterThan(0);
});
