/**
 * What the built program loads before it answers, module by module, before it is bundled. Loading is most of what a short command costs, so what
 * needs neither the engine nor the table of operations must not load them; and a command must not load the
 * door of another. Modules are counted and named; nothing is timed.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildProgram } from "../src/cli/program.js";
import { frontPage, type ProgramOutput } from "../src/cli/root.js";
import { OPERATIONS } from "../src/operations.js";
import { makePlace, type Place } from "./cortex-process.js";

const dist = new URL("../dist/", import.meta.url).href;
const main = fileURLToPath(new URL("main.js", dist));

let place: Place;
beforeAll(() => {
  place = makePlace();
  writeFileSync(join(place.folder, "hook.mjs"), HOOK);
  writeFileSync(join(place.folder, "register.mjs"), REGISTER);
});
afterAll(() => place.remove());

/** A loader that writes down what it is asked for. */
const HOOK = `import { appendFileSync } from "node:fs";
export async function load(url, context, next) {
  appendFileSync(process.env.LOADED_LIST, url + "\\n");
  return next(url, context);
}
`;

const REGISTER = `import { register } from "node:module";
register("./hook.mjs", import.meta.url);
`;

/** The modules that a command loads: ours by their path in `dist`, of libraries only the name. */
function loadedBy(args: readonly string[], input = ""): readonly string[] {
  const list = join(place.folder, "loaded.txt");
  rmSync(list, { force: true });
  const hook = pathToFileURL(join(place.folder, "register.mjs")).href;
  const env = { PATH: process.env.PATH, HOME: place.home, LOADED_LIST: list };
  const words = ["--import", hook, main, ...args];
  const { status, stderr } = spawnSync(process.execPath, words, { env, input, encoding: "utf8" });
  expect(status, stderr).toBe(0);
  expect(existsSync(list)).toBe(true);
  const urls = readFileSync(list, "utf8").trim().split("\n");
  const files = urls.filter((url) => url.startsWith("file:") && !url.endsWith("/register.mjs"));
  return [...new Set(files.map(nameOf))].sort();
}

function nameOf(url: string): string {
  const library = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  return library ?? url.replace(dist, "");
}

/** Everything below a folder of `dist`. */
const below = (names: readonly string[], folder: string): readonly string[] =>
  names.filter((name) => name.startsWith(folder));

/** The help of a program on a terminal of that width. */
function printedBy(make: (output: ProgramOutput) => Command, width: number): string {
  let text = "";
  const out = (more: string): void => {
    text += more;
  };
  make({ out, err: () => {} })
    .configureOutput({ getOutHelpWidth: () => width })
    .outputHelp();
  return text;
}

/** What a client of MCP says first. */
const HANDSHAKE = `${JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
})}\n`;

describe("before it answers, the binary loads", () => {
  test("for the version: itself, the process around it and the version", () => {
    const three = ["cli/host.js", "main.js", "version.js"];
    for (const flag of ["--version", "-V"]) expect(loadedBy([flag])).toEqual(three);
  });

  test("for the front page: a list of the commands and the library that prints it", () => {
    const eight = [
      "cli/command-list.js",
      "cli/host.js",
      "cli/root.js",
      "commander",
      "error-status.js",
      "main.js",
      "version.js",
    ];
    for (const word of ["--help", "-h", "help"]) expect(loadedBy([word])).toEqual(eight);
  });

  test("for a command: no door of another one, and no reader of other programs' files", () => {
    const names = loadedBy(["config", "--data", place.data]);
    expect(names).toContain("operations.js");
    const doors = ["serve", "mcp", "demo", "bench"];
    expect(names.filter((name) => doors.includes(name.replace(/^cli\/|\.js$/g, "")))).toEqual([]);
    expect(below(names, "import/")).toEqual([]);
    expect(below(names, "http/")).toEqual([]);
    expect(below(names, "mcp/")).toEqual([]);
    expect(names.filter((name) => /hono|modelcontextprotocol|sqlite/.test(name))).toEqual([]);
  });

  test("for an agent: its own tools, not the tables of other doors, and no engine that no call asked for", () => {
    const names = loadedBy(["mcp", "--data", place.data], HANDSHAKE);
    expect(names).toContain("mcp/tools-standard.js");
    const tables = ["operations.js", "mcp/tools.js", "memgraph/table.js", "memgraph/call.js"];
    expect(names.filter((name) => tables.includes(name))).toEqual([]);
    expect(names.filter((name) => /^(re2js|hono|pg|.*sqlite.*)$/.test(name))).toEqual([]);
    expect(below(names, "http/")).toEqual([]);
    const full = loadedBy(["mcp", "--data", place.data, "--profile", "full"], HANDSHAKE);
    expect(full).toContain("operations.js");
  });

  test("and the list of commands says what the whole program says, however wide the terminal", () => {
    const nothing = async (): Promise<void> => {};
    const runner = {
      operation: nothing,
      demo: nothing,
      bench: nothing,
      mcp: nothing,
      mcpConfig: nothing,
      serve: nothing,
    };
    const whole = (output: ProgramOutput) => buildProgram(OPERATIONS, runner, output);
    for (const width of [40, 80, 133]) {
      const page = printedBy(frontPage, width);
      expect(page).toBe(printedBy(whole, width));
      expect(page).toContain("-V, --version");
    }
  });

  test("and the version wins over whatever else stands on the line", async () => {
    const version = place.process(["--version", "--bogus"]);
    expect(version).toEqual(place.process(["-V", "stats"]));
    // The whole program agrees with the short way.
    for (const args of [
      ["--version", "--bogus"],
      ["-V", "stats"],
      ["--json", "--version"],
    ]) {
      expect(await place.bare(args)).toMatchObject(version);
    }
  });

  test("and a reader that goes away early is no failure", () => {
    for (const flag of ["--version", "--help"]) {
      const { exit, err } = place.shell(`cortex ${flag} | true`);
      expect([exit, err]).toEqual([0, ""]);
    }
  });
});
