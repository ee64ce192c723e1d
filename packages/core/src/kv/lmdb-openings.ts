/**
 * Who opens a file of a store, and who removes or renames one, keep out of each other's way, in all processes.
 *
 * The engine opens a file by its path several times. Where the path is gone at a later time, it gives the same memory back
 * twice, which ends the process (lmdb 3.5.6, `EnvWrap::openEnv`). So each leaves a mark in the folder of the
 * store for as long as it takes. Who opens waits while somebody removes; who removes meets the mark of one who opens,
 * takes its own back and tries again. Each looks for the other's mark after it has left its own, so that one of them
 * sees the other. A mark names its process and means nothing once that is gone, or after a minute: another process may have
 * got its number.
 *
 * Promise: while the body of `whileOpening` runs, no other process that keeps to this takes a file of the folder, or the
 * folder, out of its place. Where no mark can be left, because the folder is not there or takes no writes, nobody
 * removes anything either.
 */
import { randomBytes } from "node:crypto";
import { closeSync, openSync, readdirSync, rmSync, statSync, unlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { CortexError } from "../errors.js";

/** Tells this process from an earlier one with the same pid, as containers often have. */
export const PROCESS_TOKEN = randomBytes(4).toString("hex");

const MARK_NAME = /^\.(opens|removes)-(\d+)-([0-9a-f]{8})$/;
type Kind = "opens" | "removes";

/** Opening and removing take milliseconds. */
const MARK_MAX_AGE_MS = 60_000;

/** So often, a millisecond or so apart, each looks again; who does not get on in that time is held up by a process that stands still. */
const LOOKS = 3000;

/** Runs the body, which opens a file of the folder, while nobody removes one. */
export function whileOpening<T>(folder: string, body: () => T): T {
  const mark = leaveMark(folder, "opens");
  if (mark === undefined) return body();
  try {
    for (let looks = 0; looks < LOOKS && isMarked(folder, "removes"); looks += 1) pause();
    return body();
  } finally {
    removeMark(mark);
  }
}

/**
 * Runs the body, which takes files of the folder or the folder itself out of their place, while nobody opens one; false
 * where somebody opens for so long that it was not run. The body names the folder it has become, if it renames it.
 */
export function whileRemoving(folder: string, body: () => string | undefined): boolean {
  for (let looks = 0; looks < LOOKS; looks += 1) {
    const mark = leaveMark(folder, "removes");
    let place: string | undefined;
    try {
      if (mark === undefined || !isMarked(folder, "opens")) {
        place = body();
        return true;
      }
    } finally {
      if (mark !== undefined) removeMark(join(place ?? folder, basename(mark)));
    }
    // Without the mark for that long, so that those who open get by.
    pause();
  }
  return false;
}

/** Removes the folder of a store that can be made again, with all that is in it. */
export function removeFolder(folder: string): void {
  whileRemoving(folder, () => {
    rmSync(folder, { recursive: true, force: true });
    return undefined;
  });
}

/** The engine takes three descriptors for a file, and up to two more while it opens it. */
const DESCRIPTORS = 6;

/**
 * Throws where the process may not open as many files as the engine opens for one of a store: meeting the limit half-way
 * ends the process, as a path that goes does.
 */
export function assertDescriptors(path: string): void {
  const descriptors: number[] = [];
  try {
    while (descriptors.length < DESCRIPTORS) descriptors.push(openSync(process.execPath, "r"));
  } catch (error) {
    const way = "raise the limit of open files (ulimit -n), or keep fewer stores open";
    throw new CortexError(
      "ERR_STORAGE",
      `${path} was not opened: too many files are open; ${way}`,
      {},
      error,
    );
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

/** Leaves a mark of this process; its path, or `undefined` where none can be left. */
function leaveMark(folder: string, kind: Kind): string | undefined {
  const path = `${folder}/.${kind}-${process.pid}-${PROCESS_TOKEN}`;
  try {
    closeSync(openSync(path, "w", 0o600));
    return path;
  } catch {
    return undefined;
  }
}

function removeMark(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone with its folder.
  }
}

/** Whether another process has left a mark of this kind; those of processes that are gone are taken away. */
function isMarked(folder: string, kind: Kind): boolean {
  let found = false;
  for (const name of namesIn(folder)) {
    const [, marked, pid, token = ""] = MARK_NAME.exec(name) ?? [];
    if (marked !== kind || token === PROCESS_TOKEN) continue;
    const path = join(folder, name);
    if (isGone(Number(pid), token) || isOld(path)) removeMark(path);
    else found = true;
  }
  return found;
}

function isOld(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined || Date.now() - stats.mtimeMs > MARK_MAX_AGE_MS;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Not there any more: whoever works in it says so.
    return [];
  }
}

/** Whether a process is gone: one of the same number is another if it has another token. */
export function isGone(pid: number, token: string): boolean {
  return pid === process.pid ? token !== PROCESS_TOKEN : !isAlive(pid);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process is there, under another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));

/** Waits in the middle of a turn: the engine's transactions are of one turn. */
export function pause(ms = 1): void {
  Atomics.wait(PAUSE, 0, 0, ms);
}
