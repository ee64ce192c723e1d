/**
 * The process around a command line, as an interface, so that tests can stand in for it.
 */
import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { performance } from "node:perf_hooks";
import type { Surroundings } from "../config.js";
import type { ProgressTarget } from "../progress.js";

/** A stream that takes text. */
export type Sink = ProgressTarget;

/** Everything a command line needs from its process. */
export interface Host extends Surroundings {
  /** The words after the program's name. */
  readonly args: readonly string[];
  readonly out: Sink;
  readonly err: Sink;
  readonly stdinIsTerminal: boolean;
  readStdin(): Promise<string>;
  readFile(path: string): string;
  /** A clock that only goes forward. */
  nowMs(): number;
}

/** The running process as a host. */
export function processHost(): Host {
  return {
    args: process.argv.slice(2),
    env: process.env,
    cwd: process.cwd(),
    home: homedir(),
    platform: process.platform,
    isFolder: (path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true,
    out: sinkOf(process.stdout),
    err: sinkOf(process.stderr),
    stdinIsTerminal: process.stdin.isTTY === true,
    readStdin,
    readFile: (path) => readFileSync(path, "utf8"),
    nowMs: () => performance.now(),
  };
}

function sinkOf(stream: NodeJS.WriteStream): Sink {
  return {
    write: (text) => {
      stream.write(text);
    },
    isTerminal: stream.isTTY === true,
    columns: stream.columns ?? 80,
  };
}

async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString("utf8");
}
