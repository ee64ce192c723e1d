/**
 * Other processes for tests: temporary folders and stores, and the programs in `programs/`, which run the built
 * output, bundled by `suite-setup.ts`, as a process group of their own.
 *
 * Promise: a program is given one line of JSON and answers in lines; `kill` ends its whole group by
 * SIGKILL and returns after the last line it got out; `cleanUp` leaves neither a process nor a folder.
 * Tests of programs are skipped where core is not built; see `testing/lacking.ts`.
 *
 * A run of the suite tries a few of the moments at which a process can be killed, by a seed that it prints;
 * `CORTEX_SEED` gives another one, and the commands of `tools/reliability` do the many.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { hubIn } from "../src/testing/fixtures.js";
import { isLacking } from "../src/testing/lacking.js";

const cleanups: (() => unknown)[] = [];

/** Ends every program and removes every folder of the test. */
export async function cleanUp(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

/** Does something when the test is over. */
export function atCleanUp(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

/** An empty folder that lives as long as the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cortex-test-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Where stores of a test may be: an empty folder, or a hub of its own in the database that tests are run on. */
export function temporaryStore(): string {
  const database = process.env.CORTEX_TEST_POSTGRES ?? "";
  return database === "" ? temporaryFolder() : hubIn(database);
}

/** A folder like `prepared`, whose stores are closed, for as long as the test lives. */
export function copyOfFolder(prepared: string): string {
  const folder = temporaryFolder();
  cpSync(prepared, folder, { recursive: true });
  return folder;
}

/** The seed of this run of a test file, printed. */
export function seedOfRun(what: string): number {
  const seed = Number(process.env.CORTEX_SEED ?? 20_300_101);
  console.log(`${what}: CORTEX_SEED=${seed}`);
  return seed;
}

/** Whether the output that programs import is not there, so that tests of them must be skipped. */
export function isUnbuilt(): boolean {
  const entry = fileURLToPath(new URL("../dist/index.js", import.meta.url));
  return isLacking(existsSync(entry), "core is not built, so no other process can run it");
}

/** A running program. */
export interface Program {
  /** Every line it has printed so far. */
  readonly lines: readonly string[];
  /** The next line; `undefined` when it has ended. */
  next(): Promise<string | undefined>;
  /** Reads lines until one starts with `start`; throws when the program ends before. */
  until(start: string): Promise<string>;
  /** Sends a line of JSON. */
  send(message: unknown): void;
  /** Ends the whole group at once, then reads what it still got out. */
  kill(): Promise<void>;
  /** Says that no message follows, reads everything until it ends; throws unless it ended well. */
  finish(): Promise<readonly string[]>;
}

/** Starts a program of `programs/`; `wrap` puts another command before it. */
export function startProgram(
  name: string,
  options: { readonly wrap?: readonly string[] } = {},
): Program {
  const bundled = process.env.CORTEX_TEST_PROGRAMS;
  const path =
    bundled === undefined
      ? fileURLToPath(new URL(`programs/${name}`, import.meta.url))
      : join(bundled, name);
  const [command = process.execPath, ...args] = [...(options.wrap ?? []), process.execPath, path];
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], detached: true });
  const ended = once(child, "close") as Promise<[number | null]>;
  // A program that was killed does not read its input any more.
  child.stdin.on("error", () => undefined);
  const iterator = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const lines: string[] = [];
  const next = async (): Promise<string | undefined> => {
    const line = await iterator.next();
    if (line.done === true) return undefined;
    lines.push(line.value);
    return line.value;
  };
  const kill = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid, "SIGKILL");
    }
    while ((await next()) !== undefined);
    await ended;
  };
  cleanups.push(kill);
  return {
    lines,
    next,
    kill,
    async until(start) {
      for (;;) {
        const line = await next();
        if (line === undefined) throw new Error(`${name} ended before it said ${start}`);
        if (line.startsWith(start)) return line;
      }
    },
    send: (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    async finish() {
      child.stdin.end();
      while ((await next()) !== undefined);
      const [code] = await ended;
      if (code !== 0) throw new Error(`${name} ended with ${code}`);
      return lines;
    },
  };
}
