/** Ctrl-C in the middle of work: what is kept and how to go on are said, for every operation. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Operation } from "../operations/define.js";
import { OPERATIONS } from "../operations.js";
import { type Host, processHost } from "./host.js";
import { runCli } from "./run.js";

/** The words that a person reads who breaks an operation off while it works. */
async function brokenOff(operation: Operation): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "cortex-break-"));
  const sink = { write: () => {}, isTerminal: false, columns: 80 };
  let interrupt = (): void => {};
  let said = "";
  let exit: number | undefined;
  const host: Host = {
    ...processHost(),
    args: ["probe", "--data", folder],
    // A check works in a process of its own; this one is that process.
    env: { ...process.env, CORTEX_CHECK_APART: "1" },
    out: sink,
    err: {
      ...sink,
      write: (text) => {
        said += text;
      },
    },
    exit: (code) => {
      exit = code;
    },
    onInterrupt: (stop) => {
      interrupt = stop;
      return () => {
        interrupt = () => {};
      };
    },
  };
  const { arguments: _, when: _when, whenBackups: _backups, ...cli } = operation.cli;
  const probe: Operation = {
    ...operation,
    cli: { ...cli, command: "probe", store: "none" },
    input: OPERATIONS.find(({ name }) => name === "stats")?.input ?? operation.input,
    run: async () => {
      interrupt();
      return {};
    },
  };
  try {
    await runCli(host, [probe]);
    expect([operation.name, said, exit]).toEqual([operation.name, said, 130]);
    return said;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const WORKING = OPERATIONS.filter(
  ({ stream, place }) => stream === undefined && place !== "follow",
);

test("every operation that works for one answer says it in one line", async () => {
  for (const operation of WORKING) {
    const said = await brokenOff(operation);
    expect([operation.name, said]).toEqual([
      operation.name,
      expect.stringMatching(/broken off\. [A-Z].*\.\n/),
    ]);
    const about =
      /kept|as it was|finished when|Nothing was being changed|No store was put in place/;
    expect([operation.name, said]).toEqual([operation.name, expect.stringMatching(about)]);
  }
});
