/** Completion scripts: complete for the program they are made from, and working in a real bash. */
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { OPERATIONS } from "../operations.js";
import { completionScript, SHELLS } from "./completion.js";
import { buildProgram, type Runner } from "./program.js";

const nothing = async (): Promise<void> => {};
const runner: Runner = {
  operation: nothing,
  demo: nothing,
  bench: nothing,
  mcp: nothing,
  mcpConfig: nothing,
  serve: nothing,
};
const program = buildProgram(OPERATIONS, runner, { out: () => {}, err: () => {} });

/** What bash would offer for a line whose last word is being typed. */
function offered(line: readonly string[]): string[] {
  const script = `${completionScript("bash", program)}
COMP_WORDS=(${line.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${line.length - 1}
_cortex
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const run = spawnSync("bash", ["-c", script], { encoding: "utf8" });
  expect(run.stderr).toBe("");
  return run.stdout.split("\n").filter((word) => word !== "");
}

describe("completion", () => {
  test.each(SHELLS)("the script for %s names every command", (shell) => {
    const script = completionScript(shell, program);
    const names = OPERATIONS.flatMap(({ cli }) => cli.command.split(" "));
    expect(names.filter((name) => !script.includes(name))).toEqual([]);
  });

  test("bash offers commands, words behind them, and flags", () => {
    expect(offered(["cortex", "reca"])).toEqual(["recall"]);
    expect(offered(["cortex", "edge", "a"])).toEqual(["add"]);
    expect(offered(["cortex", "--json", "recall", "--budg"])).toEqual(["--budget"]);
    expect(offered(["cortex", "edge", "add", "--reas"])).toEqual(["--reason"]);
    expect(offered(["cortex", "find", "some-word", "--lim"])).toEqual(["--limit"]);
    expect(offered(["cortex", "nonsense"])).toEqual([]);
  });
});
