/**
 * Files on a command line: a path is relative to the working folder, `-` is stdin or stdout. Once
 * stdout has been given away as a file, the answer of the command has to go elsewhere.
 *
 * Printing an operation that goes on answering: each item as it comes, under `--json` one document a
 * line. It ends when the items end or when somebody interrupts the process, and both are no failure.
 * What is printed leaves the process before the next item is asked for.
 *
 * A folder for as long as some work takes. It is removed whatever happens, also when somebody
 * interrupts the process.
 */
import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Cortex, CortexError } from "@cortex-memory/core";
import { UsageError } from "../error-status.js";
import type { CallContext, Files, Operation } from "../operations/define.js";
import { makeInk, outline, wantsColour } from "../render/ink.js";
import type { Host } from "./host.js";

/** The files of one command. */
interface CommandFiles extends Files {
  /** Whether stdout holds a file, and nothing else may be written there. */
  tookOut(): boolean;
}

type Around = Pick<Host, "cwd" | "out" | "readChunks" | "writeChunk">;

/** The files of a command that runs in a process. */
export function commandFiles(host: Around): CommandFiles {
  let taken = false;
  const takeOut = (): void => {
    if (host.out.isTerminal) throw new UsageError("-: stdout is a terminal; name a file");
    taken = true;
  };
  return {
    tookOut: () => taken,
    source: (name) => (name === "-" ? host.readChunks() : resolve(host.cwd, name)),
    target(name) {
      if (name !== "-") return resolve(host.cwd, name);
      takeOut();
      return (chunk) => host.writeChunk(chunk);
    },
    secret: (name) => secretText(resolve(host.cwd, name)),
    async save(name, text, mayReplace) {
      if (name !== "-") {
        saveWhole(resolve(host.cwd, name), text, mayReplace);
        return;
      }
      // A document is fit for a terminal, unlike an export.
      taken = true;
      await host.writeChunk(Buffer.from(text));
    },
  };
}

/** Writes a private file under another name first, so that the name always holds a whole document. */
function saveWhole(path: string, text: string, mayReplace: (before: string) => boolean): void {
  const partial = `${path}.partial-${process.pid}`;
  try {
    const before = textAt(path);
    if (before !== undefined && !mayReplace(before)) {
      const message = `${path} is there already, and replacing it would lose what it says`;
      throw new CortexError("ERR_EXISTS", message, { field: "file" });
    }
    const file = openSync(partial, "w", 0o600);
    try {
      const bytes = Buffer.from(text);
      for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(partial, path);
  } catch (error) {
    rmSync(partial, { force: true });
    if (error instanceof CortexError || !(error instanceof Error)) throw error;
    const isFull = "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
    const code = isFull ? "ERR_DISK_FULL" : "ERR_STORAGE";
    throw new CortexError(code, `cannot write ${path}: ${error.message}`, {}, error);
  }
}

/** A key that others can read is theirs as well, so it is refused. */
function secretText(path: string): string {
  try {
    const { mode } = statSync(path);
    // Where there are no modes, the folder of the user has to do.
    if (process.platform !== "win32" && (mode & 0o077) !== 0) {
      const got = `0${(mode & 0o777).toString(8)}`;
      const message = `${path}: expected a file of mode 0600, got ${got}; try chmod 600`;
      throw new CortexError("ERR_DENIED", message, { field: "file", expected: "0600", got });
    }
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof CortexError || !(error instanceof Error)) throw error;
    throw new CortexError("ERR_STORAGE", `cannot read ${path}: ${error.message}`, {}, error);
  }
}

function textAt(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** How every export and backup starts. */
const BACKUP_START = "cortex-journal ";

/** Whether a word names a file that an export or a backup made. */
export function namesBackup(word: string, host: Pick<Host, "cwd" | "startOf">): boolean {
  return host.startOf(resolve(host.cwd, word), BACKUP_START.length) === BACKUP_START;
}

/** What a stream is printed from. */
interface StreamTask {
  readonly memory: Cortex;
  readonly input: unknown;
  readonly context: CallContext;
  readonly json: boolean;
  /** Called before an item is printed. */
  readonly onItem: () => void;
}

/** Prints items until there are no more. */
export async function printStream(
  host: Host,
  { cli }: Pick<Operation, "cli">,
  stream: NonNullable<Operation["stream"]>,
  { memory, input, context, json, onItem }: StreamTask,
): Promise<void> {
  const ink = makeInk(wantsColour(host.out, host.env));
  const show = (item: unknown): string =>
    json ? JSON.stringify(item) : (cli.human?.(item, ink) ?? outline(item, ink));
  const stop = new AbortController();
  const off = host.onInterrupt(() => stop.abort());
  try {
    for await (const item of stream(memory, input, { ...context, signal: stop.signal })) {
      onItem();
      host.out.write(`${show(item)}\n`);
      await host.drained();
    }
  } finally {
    off();
  }
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Runs work with a folder of its own. */
export async function withTemporaryFolder<T>(
  prefix: string,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  const stop = (): void => process.exit(130);
  for (const signal of SIGNALS) process.once(signal, stop);
  try {
    return await work(folder);
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
    process.off("exit", remove);
    remove();
  }
}
