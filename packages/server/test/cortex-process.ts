/**
 * A home and a store for the command line, and two ways to run it there: inside the test, which is
 * quick, and as the built binary in a process of its own, which is what people have. The store is a
 * folder, or a hub of its own in the database that tests are run on (`CORTEX_TEST_POSTGRES`).
 */
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { hubIn } from "../../core/src/testing/fixtures.js";
import { type Host, startOf } from "../src/cli/host.js";
import { runCli } from "../src/cli/run.js";
import { shownLocation } from "../src/config.js";

/** Answers of a process must not depend on how far its background jobs are: what tests meaning sets its own. */
export const NO_EMBEDDER = { CORTEX_EMBEDDER_ENDPOINT: "none" };

/** The command as npm links it: bundled, which starts in half the time of the modules that it is made of. */
export const MAIN = fileURLToPath(new URL("../bin/cortex.js", import.meta.url));

/** How a command ended. */
export interface Ended {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
  /** What a command that runs inside the test wrote to stdout as a file. */
  readonly bytes?: Uint8Array;
}

/** How a command is started. */
export interface Start {
  readonly input?: string | Uint8Array;
  readonly cwd?: string;
  readonly env?: { readonly [name: string]: string | undefined };
}

/** A place of its own for commands. */
export interface Place {
  readonly folder: string;
  readonly home: string;
  /** The store that `cortex` and `json` work on: a folder, or an address. */
  readonly data: string;
  /** The same as commands tell it: without a password. */
  readonly shown: string;
  /** Runs a command line inside the test, as it is. */
  bare(args: readonly string[], start?: Start): Promise<Ended>;
  /** Runs a command line inside the test, on the store. */
  cortex(args: readonly string[], start?: Start): Promise<Ended>;
  /** The same with `--json`: the answer, of a command that must succeed. */
  json(args: readonly string[], start?: Start): Promise<Record<string, unknown>>;
  /** Runs the built binary as a process, as it is. */
  process(args: readonly string[], start?: Start): Ended;
  /** The same while the test goes on: for commands that ask a server of the test. */
  apart(args: readonly string[], start?: Start): Promise<Ended>;
  /** Runs a shell line that may call the built binary as `cortex`. */
  shell(line: string, start?: Start): Ended;
  /** What a shell line would give to `cortex`: its arguments, then its stdin. */
  parse(line: string, start?: Start): { readonly args: readonly string[]; readonly input: string };
  remove(): void;
}

/** Prints what it was given, so that a test sees what a shell made of a line. */
const ECHO =
  '#!/bin/sh\nprintf \'%s\\0\' "$#"\nfor word in "$@"; do printf \'%s\\0\' "$word"; done\ncat\n';

/** Makes a place. */
export function makePlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), "cortex-server-"));
  const [home, bin, echo, empty] = ["home", "bin", "echo", "empty"].map((name) => {
    mkdirSync(join(folder, name));
    return join(folder, name);
  }) as [string, string, string, string];
  const database = process.env.CORTEX_TEST_POSTGRES ?? "";
  const data = database === "" ? join(folder, "data") : hubIn(database);
  const script = `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`;
  writeFileSync(join(bin, "cortex"), script, { mode: 0o755 });
  writeFileSync(join(echo, "cortex"), ECHO, { mode: 0o755 });

  const spawn = (
    tools: string,
    words: readonly [string, ...string[]],
    start: Start = {},
  ): Ended => {
    const [command, ...args] = words;
    const { status, signal, stdout, stderr, error } = spawnSync(command, args, {
      cwd: start.cwd ?? empty,
      encoding: "utf8",
      input: start.input ?? "",
      env: { PATH: `${tools}:${process.env.PATH ?? ""}`, HOME: home, ...NO_EMBEDDER, ...start.env },
    });
    if (error !== undefined) throw error;
    if (status === null) throw new Error(`ended by ${signal}: ${stderr}`);
    return { exit: status, out: stdout, err: stderr };
  };
  const bare: Place["bare"] = (args, start) => runHere(args, { home, cwd: empty }, start);
  const cortex: Place["cortex"] = (args, start) => bare([...args, "--data", data], start);
  return {
    folder,
    home,
    data,
    shown: shownLocation(data),
    bare,
    cortex,
    async json(args, start) {
      const { exit, out, err } = await cortex([...args, "--json"], start);
      if (exit !== 0) throw new Error(`${args.join(" ")} exited with ${exit}: ${err}`);
      return JSON.parse(out) as Record<string, unknown>;
    },
    process: (args, start) => spawn(bin, [process.execPath, MAIN, ...args], start),
    apart: (args, start = {}) =>
      new Promise((resolve, reject) => {
        const env = { PATH: process.env.PATH, HOME: home, ...NO_EMBEDDER, ...start.env };
        const options = { cwd: start.cwd ?? empty, env };
        const child = execFile(process.execPath, [MAIN, ...args], options, (error, out, err) => {
          const exit = child.exitCode;
          if (exit === null) reject(error ?? new Error(`ended by ${child.signalCode}`));
          else resolve({ exit, out, err });
        });
        child.stdin?.end(start.input ?? "");
      }),
    shell: (line, start) => spawn(bin, ["sh", "-c", line], start),
    parse(line, start) {
      const [count = "0", ...rest] = spawn(echo, ["sh", "-c", line], start).out.split("\0");
      return { args: rest.slice(0, Number(count)), input: rest.slice(Number(count)).join("\0") };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function runHere(
  args: readonly string[],
  place: { readonly home: string; readonly cwd: string },
  start: Start = {},
): Promise<Ended> {
  const { host, ended } = makeHost(args, place, start);
  return ended(await runCli(host));
}

/** A host inside the test, and what was written to it. */
export function makeHost(
  args: readonly string[],
  place: { readonly home: string; readonly cwd: string },
  start: Start = {},
): { readonly host: Host; readonly ended: (exit: number) => Ended } {
  const written = { out: "", err: "", bytes: Buffer.alloc(0) };
  const cwd = start.cwd ?? place.cwd;
  const sink = (name: "out" | "err") => ({
    write: (text: string) => {
      written[name] += text;
    },
    isTerminal: false,
    columns: 80,
  });
  const host: Host = {
    args,
    env: { HOME: place.home, ...NO_EMBEDDER, ...start.env },
    cwd,
    home: place.home,
    platform: process.platform,
    isFolder: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
    out: sink("out"),
    err: sink("err"),
    stdinIsTerminal: false,
    readStdin: async () => Buffer.from(start.input ?? "").toString(),
    async *readChunks() {
      yield Buffer.from(start.input ?? "");
    },
    writeChunk: async (chunk) => {
      written.bytes = Buffer.concat([written.bytes, chunk]);
    },
    drained: async () => undefined,
    readFile: (path) => readFileSync(resolve(cwd, path), "utf8"),
    startOf,
    nowMs: () => performance.now(),
    beginServing: () => () => {},
    exit: () => undefined,
    onInterrupt: () => () => undefined,
  };
  return { host, ended: (exit) => ({ exit, ...written }) };
}
