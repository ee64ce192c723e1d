/**
 * Files on a command line: a path is relative to the working folder, `-` is stdin or stdout. Once
 * stdout has been given away as a file, the answer of the command has to go elsewhere.
 */
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { resolve } from "node:path";
import { CortexError } from "@cortex-memory/core";
import type { Files } from "../operations/define.js";
import { UsageError } from "../usage.js";
import type { Host } from "./host.js";

/** The files of one command. */
export interface CommandFiles extends Files {
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
