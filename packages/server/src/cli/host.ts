/**
 * The process around a command line, as an interface, so that tests can stand in for it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { performance } from "node:perf_hooks";
import type { Surroundings } from "../config.js";
import type { ProgressTarget } from "../progress.js";

/** A stream that takes text. */
type Sink = ProgressTarget;

/** Everything a command line needs from its process. */
export interface Host extends Surroundings {
  /** The words after the program's name. */
  readonly args: readonly string[];
  readonly out: Sink;
  readonly err: Sink;
  readonly stdinIsTerminal: boolean;
  readStdin(): Promise<string>;
  /** Stdin as bytes. */
  readChunks(): AsyncIterable<Uint8Array>;
  /** Writes bytes to stdout; the next may follow when the promise has resolved. */
  writeChunk(chunk: Uint8Array): Promise<void>;
  /** Resolves when what was written to `out` is on its way. */
  drained(): Promise<void>;
  readFile(path: string): string;
  /** The first bytes of a file; `undefined` when there is no such file. */
  startOf(path: string, bytes: number): string | undefined;
  /**
   * From now on a reader of stdout that goes away does not end the process, which has accepted work to
   * finish. The result takes no more from stdin, so that the process can end.
   */
  beginServing(): () => void;
  /** A clock that only goes forward. */
  nowMs(): number;
  /**
   * Runs the same command line in a process of its own, with these variables more; the exit code, or the
   * signal that ended it. Absent where there is no process to start.
   */
  again?(variables: Readonly<Record<string, string>>): Promise<number | NodeJS.Signals>;
  /** Ends the process at once. */
  exit(code: number): void;
  /** Calls back when somebody wants the process to end; until the returned function is called. */
  onInterrupt(stop: () => void): () => void;
}

/** The running process as a host. */
export function processHost(): Host {
  let isServing = false;
  // A reader that has seen enough, such as `head`, closes the pipe: that is no failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    if (!isServing) process.exit(0);
  });
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
    readChunks: () => process.stdin as AsyncIterable<Uint8Array>,
    writeChunk,
    drained,
    readFile: (path) => readFileSync(path, "utf8"),
    startOf,
    nowMs: () => performance.now(),
    beginServing: () => {
      isServing = true;
      return () => process.stdin.destroy();
    },
    again,
    exit: (code) => process.exit(code),
    onInterrupt,
  };
}

async function again(
  variables: Readonly<Record<string, string>>,
): Promise<number | NodeJS.Signals> {
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    env: { ...process.env, ...variables },
    stdio: "inherit",
  });
  // Whoever asks this process to end asks for the work, which says what became of it.
  const forget = onInterrupt(() => child.kill("SIGTERM"));
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  forget();
  return signal ?? code ?? 1;
}

/** The signals by which terminals and supervisors ask a process to end. */
const INTERRUPTS = ["SIGINT", "SIGTERM"] as const;

function onInterrupt(stop: () => void): () => void {
  for (const signal of INTERRUPTS) process.on(signal, stop);
  return () => {
    for (const signal of INTERRUPTS) process.off(signal, stop);
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

function writeChunk(chunk: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}

async function drained(): Promise<void> {
  if (process.stdout.writableNeedDrain) await once(process.stdout, "drain");
}

/** The first bytes of a regular file as Latin-1; a pipe is left alone, for it can be read only once. */
export function startOf(path: string, bytes: number): string | undefined {
  try {
    if (!statSync(path).isFile()) return undefined;
    const file = openSync(path, "r");
    try {
      const start = Buffer.alloc(bytes);
      return start.subarray(0, readSync(file, start, 0, bytes, 0)).toString("latin1");
    } finally {
      closeSync(file);
    }
  } catch {
    // Not there, not ours to read, or not even a possible name: no file as far as we can tell.
    return undefined;
  }
}
