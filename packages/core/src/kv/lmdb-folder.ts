/**
 * The folder of an LMDB store: which of its files is the store, and which are waste.
 *
 * The store is one file `g<number>.mdb`; a construction is `g<number>.building-….mdb`. Three marks
 * decide, whatever a kill or a power cut left behind:
 *
 * - `confirmed`, in a file: it is or was the store. A file without it is not looked at.
 * - a head row starting with 0xff, in a file: the store has moved on from here.
 * - `successor`, written with that head: the file it moved to, which thereby counts as confirmed.
 *
 * So the store is the confirmed file that has not moved, found by taking the highest confirmed one
 * and following successors. A promotion (in `lmdb-backend.ts`) runs: (1) sync and close the
 * construction; (2) in ONE write transaction of the old file, which keeps out every other writer
 * and promoter: compare the head, rename the construction to an unused number, sync the folder, put
 * the moved head and the successor; (3) confirm the new file; (4) remove the files below it. Killed
 * before (2) commits, the old file is the store and the renamed one is waste without a mark; killed
 * after it, the new file is, and whoever opens next does (3) and (4). A lost race shows before
 * anything is renamed. A writer of another process meets the moved head inside its own transaction,
 * follows, and compares again.
 *
 * Numbers are never used twice, so that nobody who read an old list of files can meet another file
 * of the same name. Somebody who opens a file at the moment it is removed creates it anew, empty
 * and unconfirmed; only a file that is alone in its folder is ever turned into a new store.
 * Constructions carry the pid of their process and are removed when that process is gone.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { CortexError } from "../errors.js";
import { fsyncFolder, fsyncPath, LmdbFile, type LmdbFileMode, storageError } from "./lmdb-file.js";

/** A folder and how its files are opened. */
export interface LmdbPlace {
  readonly folder: string;
  readonly mode: LmdbFileMode;
  readonly create: boolean;
}

/** Moves and leftovers met on the way to the store before giving up. */
export const FIND_ATTEMPTS = 100;

const COMPLETE_NAME = /^g(\d{6,})\.mdb$/;
const BUILDING_NAME = /^g\d{6,}\.building-(\d+)-([0-9a-f]{8})-\d+\.mdb$/;
/** Tells this process from an earlier one with the same pid, as containers often have. */
const PROCESS_TOKEN = randomBytes(4).toString("hex");
let constructionsStarted = 0;
/** Files this process is building, whatever their names are at the moment. */
const underConstruction = new Set<string>();

/** Finds the file that is the store; see the file header. */
export function findStore(place: LmdbPlace): LmdbFile {
  if (place.create) createFolder(place.folder);
  for (let attempt = 0; attempt < FIND_ATTEMPTS; attempt++) {
    const numbers = completeNumbers(place.folder);
    if (numbers.length === 0 && !place.create) throw noStore(place.folder);
    const candidates = numbers.length === 0 ? [1] : numbers;
    for (const number of candidates.toReversed()) {
      const file = storeBehind(place, nameOf(number));
      if (file === undefined) continue;
      if (numbers.length === 0) fsyncFolder(place.folder);
      if (numbers.length > 1 && !place.mode.readOnly) removeBelow(place.folder, file);
      return file;
    }
  }
  throw noStore(place.folder);
}

/** Opens the named file if it is confirmed, or alone, and follows successors from there. */
function storeBehind(place: LmdbPlace, name: string): LmdbFile | undefined {
  let next: string | undefined = name;
  let pointedAt = false;
  while (next !== undefined) {
    const path = join(place.folder, next);
    if (!pointedAt && underConstruction.has(path)) return undefined;
    if (!place.create && !exists(path)) return undefined;
    const file = new LmdbFile(path, place.mode);
    const standing = standingOf(place, file, pointedAt);
    if (standing === "store") return file;
    if (standing === "removed") {
      void file.close();
      throw noStore(place.folder);
    }
    next = standing === "moved" ? file.successor() : undefined;
    pointedAt = true;
    void file.close();
  }
  return undefined;
}

/** What an open file is; a file that turns out to be foreign is closed again. */
function standingOf(
  place: LmdbPlace,
  file: LmdbFile,
  pointedAt: boolean,
): "store" | "moved" | "removed" | "unconfirmed" {
  try {
    if (!file.isConfirmed() && !confirm(place, file, pointedAt)) return "unconfirmed";
    const read = file.beginRead();
    const moved = file.isMoved(read);
    file.endRead(read);
    if (!moved) return "store";
    return file.isRemoved() ? "removed" : "moved";
  } catch (error) {
    void file.close();
    throw error;
  }
}

/** Whether an unconfirmed file is the store all the same; says so in it, if it may. */
function confirm(place: LmdbPlace, file: LmdbFile, pointedAt: boolean): boolean {
  // Listed only now, after the file was opened: if the file of this name was removed meanwhile, its
  // successor is in the list already.
  const alone = completeNumbers(place.folder).length <= 1;
  if (!pointedAt && !alone) return false;
  if (!file.isFurnished && !(alone && place.create)) return false;
  if (place.mode.readOnly) return true;
  file.furnish(true);
  fsyncPath(file.path);
  return true;
}

function createFolder(folder: string): void {
  try {
    if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) {
      fsyncFolder(dirname(folder));
    }
  } catch (error) {
    throw storageError(error, `cannot create ${folder}`);
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (!exists(folder)) throw noStore(folder);
    throw storageError(error, `cannot list ${folder}`);
  }
}

/** Numbers of the files that are not under construction, ascending. */
export function completeNumbers(folder: string): number[] {
  const numbers: number[] = [];
  for (const name of namesIn(folder)) {
    const digits = COMPLETE_NAME.exec(name)?.[1];
    if (digits !== undefined) numbers.push(Number(digits));
  }
  return numbers.sort((a, b) => a - b);
}

function highestNumber(folder: string): number {
  return completeNumbers(folder).at(-1) ?? 0;
}

/** A name that no file of the store ever had. */
export function unusedName(folder: string): string {
  return nameOf(highestNumber(folder) + 1);
}

/** The path of a new construction, known to this process as its own. */
export function claimConstruction(folder: string): string {
  constructionsStarted += 1;
  const stem = unusedName(folder).slice(0, -".mdb".length);
  const owner = `${process.pid}-${PROCESS_TOKEN}-${constructionsStarted}`;
  const path = join(folder, `${stem}.building-${owner}.mdb`);
  underConstruction.add(path);
  return path;
}

/** Renames a closed construction; who opens it under the new name makes a new lock file. */
export function renameConstruction(from: string, to: string): void {
  rmSync(`${from}-lock`, { force: true });
  renameSync(from, to);
  underConstruction.delete(from);
  underConstruction.add(to);
}

/** Says that a path is no construction of this process any more. */
export function releaseConstruction(path: string): void {
  underConstruction.delete(path);
}

/** The name of the file of a number. */
export function nameOf(number: number): string {
  return `g${String(number).padStart(6, "0")}.mdb`;
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Removes what came before the store; others may still have it open and will follow. */
function removeBelow(folder: string, store: LmdbFile): void {
  for (const number of completeNumbers(folder)) {
    const path = join(folder, nameOf(number));
    if (path === store.path) return;
    removeFile(path);
  }
}

/** Removes the constructions of processes that are gone. */
export function removeDeadConstructions(folder: string): void {
  for (const name of namesIn(folder)) {
    const [, pid, token] = BUILDING_NAME.exec(name) ?? [];
    if (pid === undefined || token === undefined) continue;
    const alive = Number(pid) === process.pid ? token === PROCESS_TOKEN : isAlive(Number(pid));
    if (!alive) removeFile(join(folder, name));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, as somebody else.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Removes a file and its lock file, if they are there. */
export function removeFile(path: string): void {
  rmSync(path, { force: true });
  rmSync(`${path}-lock`, { force: true });
}

function noStore(folder: string): CortexError {
  return new CortexError("ERR_FORMAT_UNKNOWN", `${folder} holds no Cortex store`);
}
