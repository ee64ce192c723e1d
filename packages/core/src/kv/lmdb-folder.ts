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
 * A new store is built and confirmed under the name of a construction and then linked to its number, so
 * that a kill never leaves an empty file of a store. One that is empty all the same, or gone while its
 * lock file or its caches are there, was lost: it is refused (`ERR_CORRUPT`), never taken for new. Where
 * the disk knows no hard links the file is made in place.
 *
 * Numbers are never used twice, so that nobody who read an old list of files can meet another file
 * of the same name. Somebody who opens a file at the moment it is removed creates it anew, without
 * tables and unconfirmed; only a file that is alone in its folder is ever turned into a new store.
 * Constructions carry the pid of their process and are removed when that process is gone.
 *
 * The engine maps its file and locks it for this machine alone. On a file system that other machines share, no
 * store is created, and one that is there is opened with a warning.
 */
import {
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from "node:fs";
import { constants } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { CortexError, isCortexError } from "../errors.js";
import { type Bytes, HEAD_KEY, isMovedHead, JOURNAL_KEY_BYTE, type Salvaged } from "./kv.js";
import { storageError } from "./lmdb-failures.js";
import { fsyncFolder, fsyncPath, LmdbFile, type LmdbFileMode } from "./lmdb-file.js";
import { isGone, PROCESS_TOKEN, whileRemoving } from "./lmdb-openings.js";
import { salvageRows, walkPages } from "./lmdb-pages.js";

/** A folder and how its files are opened. */
export interface LmdbPlace {
  readonly folder: string;
  readonly mode: LmdbFileMode;
  readonly create: boolean;
  /** The number by which the system names the kind of the file system, where a test has one of its own. */
  readonly diskType?: number | undefined;
}

/** A kind of file system that other machines may share. */
interface SharedDisk {
  readonly name: string;
  /** False for those that may as well be of this machine alone, as FUSE's are. */
  readonly isNetwork: boolean;
}

/** By the numbers that Linux gives them. */
const SHARED_DISKS: ReadonlyMap<number, SharedDisk> = new Map([
  [0x6969, { name: "NFS", isNetwork: true }],
  [0x517b, { name: "SMB", isNetwork: true }],
  [0xff534d42, { name: "CIFS", isNetwork: true }],
  [0xfe534d42, { name: "SMB", isNetwork: true }],
  [0x5346414f, { name: "AFS", isNetwork: true }],
  [0x00c36400, { name: "Ceph", isNetwork: true }],
  [0x0bd00bd0, { name: "Lustre", isNetwork: true }],
  [0x47504653, { name: "GPFS", isNetwork: true }],
  [0x01021997, { name: "9P", isNetwork: false }],
  [0x65735546, { name: "FUSE", isNetwork: false }],
]);

function sharedDisk({ folder, diskType }: LmdbPlace): SharedDisk | undefined {
  if (diskType === undefined && process.platform !== "linux") return undefined;
  try {
    return SHARED_DISKS.get((diskType ?? statfsSync(folder).type) >>> 0);
  } catch {
    // Who cannot be asked is found out by the first write.
    return undefined;
  }
}

const DISK_WAY =
  "locks hold on one machine only, so a second one would damage it: use a local disk and `cortex serve`, or Postgres";

function refuseNetwork(place: LmdbPlace): void {
  const shared = sharedDisk(place);
  if (shared?.isNetwork !== true) return;
  const where = `${place.folder} is on a network file system (${shared.name})`;
  const message = `${where}, where no store is created: ${DISK_WAY}`;
  throw new CortexError("ERR_UNSUPPORTED", message, { field: "location", subject: place.folder });
}

/** Folders of which a warning was given. */
const warnedOf = new Set<string>();

/** Warns, once, of a store on a disk that other machines may share. */
export function warnOfSharedDisk(place: LmdbPlace): void {
  const shared = sharedDisk(place);
  if (shared === undefined || warnedOf.has(place.folder)) return;
  warnedOf.add(place.folder);
  const where = `${place.folder} is on a file system that other machines may share (${shared.name})`;
  const message = `${where}: ${DISK_WAY}`;
  process.emitWarning(message, { type: "CortexWarning", code: "CORTEX_SHARED_DISK" });
}

/** Moves and leftovers met on the way to the store before giving up. */
export const FIND_ATTEMPTS = 100;

const COMPLETE_NAME = /^g(\d{6,})\.mdb$/;
const BUILDING_NAME = /^g\d{6,}\.building-(\d+)-([0-9a-f]{8})-\d+\.mdb$/;
let constructionsStarted = 0;
/** Files this process is building, whatever their names are at the moment. */
const underConstruction = new Set<string>();

/** Makes the store where the folder has none; see the file header. */
export async function createStore(place: LmdbPlace): Promise<void> {
  createFolder(place.folder);
  if (completeNumbers(place.folder).length > 0) return;
  refuseLost(place.folder);
  refuseNetwork(place);
  removeDeadConstructions(place.folder);
  const path = claimConstruction(place.folder);
  try {
    const file = new LmdbFile(path, place.mode);
    file.furnish(true);
    await file.close();
    fsyncPath(path);
    linkSync(path, join(place.folder, nameOf(1)));
    fsyncFolder(place.folder);
  } catch (error) {
    // Somebody else was first, or there are no links: `findStore` goes on from there.
    if (!LINK_REFUSED.has(codeOf(error))) throw storageError(error, `cannot create ${path}`);
  } finally {
    releaseConstruction(path);
    removeFile(path);
  }
}

const LINK_REFUSED: ReadonlySet<unknown> = new Set([
  "EEXIST",
  "EPERM",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
]);

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** Where releases before this one kept graphs of vectors: nobody reads them, and they hold what is forgotten later. */
const OLD_CACHES = "caches";

/** Removes what an earlier release left beside the store. */
export function removeOldCaches(folder: string): void {
  const path = join(folder, OLD_CACHES);
  if (exists(path)) rmSync(path, { recursive: true, force: true });
}

/** What tells that a folder without a store had one. */
function traceIn(folder: string): string | undefined {
  return namesIn(folder).find((name) => name === OLD_CACHES || TRACE_NAME.test(name));
}

/** Whether a folder has the traces of a store, and none. */
export function isLost(folder: string): boolean {
  // Listed again: while a store moves, one list may have missed both of its files.
  return traceIn(folder) !== undefined && completeNumbers(folder).length === 0;
}

/** Throws when a folder without a store has the traces of one. */
function refuseLost(folder: string): void {
  if (!isLost(folder)) return;
  throw lost(folder, `the file of its store is gone, ${traceIn(folder)} is still there`);
}

/** What is wrong with the files of a store that nobody opens for it; see `lmdb-pages.ts`. */
export async function examineFolder(folder: string): Promise<readonly string[]> {
  if (!exists(folder)) return [];
  try {
    const numbers = completeNumbers(folder);
    if (numbers.length === 0) refuseLost(folder);
    const found: string[] = [];
    for (const name of numbers.map(nameOf)) {
      const path = join(folder, name);
      if (statSync(path, { throwIfNoEntry: false })?.size !== 0) {
        found.push(...(await walkPages(path)).problems);
      } else if (numbers.length === 1) {
        found.push(`${name} is empty`);
      }
    }
    return found;
  } catch (error) {
    if (!isCortexError(error, "ERR_CORRUPT")) throw error;
    return [error.message];
  }
}

/** The rows that can still be read of a damaged store that nobody has open; see `lmdb-pages.ts`. */
export async function salvageFolder(
  folder: string,
  wants: (key: Bytes) => boolean,
): Promise<Salvaged> {
  for (const number of completeNumbers(folder).toReversed()) {
    const salvaged = await salvageRows(join(folder, nameOf(number)), wants);
    const { rows } = salvaged;
    const head = rows.find(({ key }) => key.length === 1 && key[0] === HEAD_KEY[0])?.value;
    // A file without an entry, or one that the store has moved away from, is not the store.
    const isStore = rows.some(({ key }) => key[0] === JOURNAL_KEY_BYTE) && !isMovedHead(head);
    if (isStore) return salvaged;
  }
  return { rows: [], hides: () => true };
}

/** The lock file of a store. */
const TRACE_NAME = /^g\d{6,}\.mdb-lock$/;

function lost(folder: string, what: string): CortexError {
  const way = "restore a backup (cortex restore); to begin anew, remove the folder";
  return new CortexError("ERR_CORRUPT", `${folder}: ${what}; ${way}`, { subject: folder });
}

/** Finds the file that is the store; see the file header. */
export function findStore(place: LmdbPlace): LmdbFile {
  let gone: string | undefined;
  for (let attempt = 0; attempt < FIND_ATTEMPTS; attempt++) {
    const numbers = completeNumbers(place.folder);
    if (numbers.length === 0) refuseLost(place.folder);
    if (numbers.length === 0 && !place.create) throw noStore(place.folder);
    const candidates = numbers.length === 0 ? [1] : numbers;
    for (const number of candidates.toReversed()) {
      const found = storeBehind(place, nameOf(number));
      if (typeof found === "string") gone = found;
      if (!(found instanceof LmdbFile)) continue;
      if (numbers.length === 0) fsyncFolder(place.folder);
      if (numbers.length > 1 && !place.mode.readOnly)
        removeBelow(place.folder, numberOf(found.path));
      return found;
    }
  }
  if (gone === undefined) throw noStore(place.folder);
  throw lost(place.folder, `${gone}, which its store has moved to, is gone`);
}

/**
 * Opens the named file if it is confirmed, or alone, and follows successors from there; the name of a
 * successor that is not there, which may have moved on itself in the meantime.
 */
function storeBehind(place: LmdbPlace, name: string): LmdbFile | string | undefined {
  let next: string | undefined = name;
  let pointedAt = false;
  while (next !== undefined) {
    const path = join(place.folder, next);
    if (!pointedAt && underConstruction.has(path)) return undefined;
    const size = statSync(path, { throwIfNoEntry: false })?.size;
    if (size === undefined && (pointedAt || !place.create)) return pointedAt ? next : undefined;
    if (size === 0) {
      // Beside others it may be what somebody left who opened a file that was being removed.
      if (!pointedAt && completeNumbers(place.folder).length > 1) return undefined;
      throw lost(place.folder, `${next} is empty`);
    }
    const file = openedFile(path, place.mode);
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

/** Opens a file; of a disk or folder that takes no writes it is said what that means. */
function openedFile(path: string, mode: LmdbFileMode): LmdbFile {
  try {
    return new LmdbFile(path, mode);
  } catch (error) {
    const { cause } = error instanceof Error ? error : { cause: undefined };
    if (mode.readOnly || !TAKES_NO_WRITES.has(codeOf(cause))) throw error;
    const way =
      "a store is opened for writing: copy its folder to where you may write, or allow it";
    const message = `${dirname(path)} cannot be written to; ${way}`;
    throw new CortexError("ERR_STORAGE", message, { subject: dirname(path) }, error);
  }
}

const { EROFS, EACCES, EPERM } = constants.errno;
/** As the engine and as Node say it. */
const TAKES_NO_WRITES: ReadonlySet<unknown> = new Set([EROFS, EACCES, EPERM, "EROFS", "EACCES"]);

/** What an open file is; a file that turns out to be foreign is closed again. */
function standingOf(
  place: LmdbPlace,
  file: LmdbFile,
  pointedAt: boolean,
): "store" | "moved" | "removed" | "unconfirmed" {
  try {
    if (!file.isConfirmed() && !confirm(place, file, pointedAt)) return "unconfirmed";
    const read = file.beginRead();
    const moved = isMovedHead(file.head(read, undefined));
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
  try {
    fsyncPath(file.path);
  } catch (error) {
    // The store has moved on from it meanwhile, and it was removed.
    if (codeOf(error) !== "ENOENT") throw error;
    return false;
  }
  return true;
}

function createFolder(given: string): void {
  const folder = resolve(given);
  try {
    const first = firstMissing(folder);
    if (first !== undefined) createOne(first);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (first === undefined) return;
    // Every name that was made must be on the disk, or a power cut takes all that stands below it.
    for (let made = folder; ; made = dirname(made)) {
      fsyncFolder(dirname(made));
      if (made === first || dirname(made) === made) return;
    }
  } catch (error) {
    throw storageError(error, `cannot create ${folder}`);
  }
}

/** The highest folder on the way to this one that is not there. */
function firstMissing(folder: string): string | undefined {
  if (exists(folder)) return undefined;
  let missing = folder;
  while (!exists(dirname(missing))) missing = dirname(missing);
  return missing;
}

/** Makes one folder: where none can be made, as in /proc, Node tries for ever to make it with those below it. */
function createOne(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process was first.
    if (codeOf(error) !== "EEXIST") throw error;
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

/** The number in the name of a file that is not under construction. */
function numberOf(path: string): number {
  return Number(COMPLETE_NAME.exec(basename(path))?.[1] ?? 0);
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
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw storageError(error, `cannot look at ${path}`);
  }
}

/**
 * Removes what came before the file of a number; others may still have it open and will follow. That file itself may
 * have been left and removed meanwhile: whatever has a higher number stays. What cannot be removed, because a process stands still
 * while it opens it, is removed by whoever opens the store next.
 */
export function removeBelow(folder: string, store: number): void {
  const older = completeNumbers(folder).filter((number) => number < store);
  if (older.length === 0) return;
  whileRemoving(folder, () => {
    for (const number of older) removeFile(join(folder, nameOf(number)));
    return undefined;
  });
}

/** Removes the constructions of processes that are gone. */
export function removeDeadConstructions(folder: string): void {
  for (const name of namesIn(folder)) {
    const [, pid, token] = BUILDING_NAME.exec(name) ?? [];
    if (pid === undefined || token === undefined) continue;
    if (isGone(Number(pid), token)) removeFile(join(folder, name));
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
