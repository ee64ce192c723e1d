/**
 * The embedded backend: one folder, one LMDB file at a time. The engine itself is in `lmdb-file.ts`.
 *
 * Promises: what `kv.ts` asks, for any number of processes. A resolved commit is on the disk, unless
 * the handle was opened `relaxed`. A snapshot starts at the newest commit of whichever process; one
 * that was forgotten is closed after a minute, because the pages it sees cannot be reused meanwhile
 * (a held one let a 1.4 MB file grow to 152 MB). Folders are created 0700, files 0600.
 *
 * Generations. The store is one file `g<number>.mdb`; a construction is `g<number>.building-….mdb`.
 * Three marks decide which file is the store, whatever a kill or a power cut left behind:
 *
 * - `confirmed`, in a file: it is or was the store. A file without it is not looked at.
 * - head row starting with 0xff, in a file: the store has moved on from here.
 * - `successor`, written with that head: the file it moved to, which thereby counts as confirmed.
 *
 * So the store is the confirmed file that has not moved, found by taking the highest confirmed one
 * and following successors. `promote` runs: (1) sync and close the construction; (2) in ONE write
 * transaction of the old file, which also keeps out every other writer and promoter: compare the
 * head, rename the construction to an unused number, sync the folder, put the moved head and the
 * successor; (3) confirm the new file; (4) remove the files below it. Killed before (2) commits, the
 * old file is the store and the renamed one is waste without a mark; after it, the new file is, and
 * whoever opens next does (3) and (4). A lost race shows before anything is renamed. A writer of
 * another process meets the moved head inside its own transaction, follows, and compares again.
 *
 * Numbers are never used twice, so that nobody who read an old list of files can meet another file
 * of the same name. Somebody who does open a file at the moment it is removed creates it anew,
 * empty and unconfirmed; only a file that is alone in its folder is ever turned into a new store.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { CortexError } from "../errors.js";
import {
  assertCommit,
  assertMovedHead,
  assertRange,
  type Bytes,
  HEAD_KEY,
  isMovedHead,
  type Kv,
  type KvCommit,
  type KvCommitResult,
  type KvGeneration,
  type KvManifest,
  type KvRange,
  type KvRow,
  type KvSnapshot,
  sameBytes,
} from "./kv.js";
import {
  fsyncFolder,
  fsyncPath,
  LmdbFile,
  type LmdbFileMode,
  type LmdbRead,
  ROLL_BACK,
  storageError,
} from "./lmdb-file.js";

/** How to open an LMDB store. */
export interface LmdbKvOptions {
  /** Commits do not wait for the disk: a power cut may lose the last ones or damage the file. */
  readonly relaxed?: boolean;
  /** Most bytes the file may grow to (a commit is weighed before it starts); unlimited if absent. */
  readonly mapSizeBytes?: number;
  /** Create the folder and the store where there is none; true by default. */
  readonly create?: boolean;
  readonly readOnly?: boolean;
  /** Age at which a forgotten snapshot is closed; a minute by default. */
  readonly snapshotMaxAgeMs?: number;
}

const SNAPSHOT_MAX_AGE_MS = 60_000;
/** Moves and leftovers met while looking for the store before giving up. */
const FIND_ATTEMPTS = 100;
const COMPLETE_NAME = /^g(\d{6,})\.mdb$/;
const BUILDING_NAME = /^g\d{6,}\.building-(\d+)-([0-9a-f]{8})-\d+\.mdb$/;
/** Tells this process from an earlier one with the same pid, as containers often have. */
const PROCESS_TOKEN = randomBytes(4).toString("hex");
let constructionsStarted = 0;
/** Files this process is building, whatever their names are at the moment. */
const underConstruction = new Set<string>();

/** Opens, or creates, the store in a folder of its own. */
export async function openLmdbKv(folder: string, options: LmdbKvOptions = {}): Promise<Kv> {
  const place: Place = {
    folder: resolve(folder),
    mode: { relaxed: options.relaxed === true, readOnly: options.readOnly === true },
    create: options.create !== false && options.readOnly !== true,
    limitBytes: options.mapSizeBytes ?? Number.POSITIVE_INFINITY,
    snapshotMaxAgeMs: options.snapshotMaxAgeMs ?? SNAPSHOT_MAX_AGE_MS,
  };
  return new LmdbKv(place, findStore(place), true);
}

/** Where a handle lives, and how it was opened. */
interface Place {
  readonly folder: string;
  readonly mode: LmdbFileMode;
  readonly create: boolean;
  readonly limitBytes: number;
  readonly snapshotMaxAgeMs: number;
}

class LmdbKv implements Kv {
  readonly manifest: KvManifest;
  readonly #place: Place;
  readonly #snapshots = new Set<LmdbSnapshot>();
  readonly #constructions = new Set<Construction>();
  #file: LmdbFile | undefined;
  #sweep: NodeJS.Timeout | undefined;

  constructor(place: Place, file: LmdbFile, generations: boolean) {
    this.#place = place;
    this.#file = file;
    this.manifest = {
      name: "lmdb",
      durable: !place.mode.relaxed,
      syncMode: place.mode.relaxed ? "relaxed: no sync" : "fsync on every commit",
      multiProcess: true,
      generations: generations && !place.mode.readOnly,
    };
  }

  async snapshot(): Promise<KvSnapshot> {
    for (let attempt = 0; attempt < FIND_ATTEMPTS; attempt++) {
      const file = this.#current();
      const read = file.beginRead();
      if (!file.isMoved(read)) {
        const snapshot = new LmdbSnapshot(file, read, this.#snapshots);
        this.#sweep ??= this.#armSweep();
        return snapshot;
      }
      file.endRead(read);
      this.#follow(file);
    }
    throw lostChain(this.#place.folder);
  }

  async commit(change: KvCommit): Promise<KvCommitResult> {
    assertCommit(change);
    for (let attempt = 0; attempt < FIND_ATTEMPTS; attempt++) {
      const file = this.#writable();
      this.#assertRoom(file, change);
      const met = writeIfHead(file, change.expectHead, () => {
        if (!sameBytes(change.expectHead, change.head)) file.putHead(change.head);
        file.change(change.puts, change.deletes);
      });
      if (met.outcome === "written") return { ok: true };
      if (met.outcome === "lost") return { ok: false, head: met.head };
      this.#follow(file);
    }
    throw lostChain(this.#place.folder);
  }

  async nextGeneration(): Promise<KvGeneration> {
    this.#writable();
    if (!this.manifest.generations) {
      throw new CortexError("ERR_UNSUPPORTED", "this handle cannot start a generation");
    }
    const { folder } = this.#place;
    removeDeadConstructions(folder);
    const construction = new Construction(this.#place);
    this.#constructions.add(construction);
    return {
      kv: construction.kv,
      promote: (expectHead, movedHead) => this.#promote(construction, expectHead, movedHead),
      abandon: () => this.#abandon(construction),
    };
  }

  async sizeBytes(): Promise<number> {
    return statSync(this.#current().path).size;
  }

  async close(): Promise<void> {
    for (const construction of [...this.#constructions]) await this.#abandon(construction);
    const file = this.detach();
    await file?.close();
  }

  /** Ends every snapshot and gives the file away; the handle is closed from here on. */
  detach(): LmdbFile | undefined {
    const file = this.#file;
    this.#file = undefined;
    clearTimeout(this.#sweep);
    this.#sweep = undefined;
    for (const snapshot of [...this.#snapshots]) snapshot.close();
    return file;
  }

  /** Takes a file in again after `detach`. */
  attach(file: LmdbFile): void {
    this.#file = file;
  }

  #current(): LmdbFile {
    if (this.#file === undefined) throw new CortexError("ERR_CLOSED", "the store is closed");
    return this.#file;
  }

  #writable(): LmdbFile {
    const file = this.#current();
    if (file.mode.readOnly) throw new CortexError("ERR_UNSUPPORTED", "the store is read-only");
    return file;
  }

  /** Goes on in the newest generation; snapshots of the old one keep it open until they end. */
  #follow(from: LmdbFile): void {
    this.#file = findStore({ ...this.#place, create: false });
    from.retire();
  }

  /** The engine grows its map without bound, so a limit is weighed here, a little generously. */
  #assertRoom(file: LmdbFile, change: KvCommit): void {
    if (this.#place.limitBytes === Number.POSITIVE_INFINITY || change.puts.length === 0) return;
    let bytes = statSync(file.path).size + change.head.length;
    for (const row of change.puts) bytes += row.key.length + row.value.length + 16;
    if (bytes <= this.#place.limitBytes) return;
    const message = `the store would pass its limit of ${this.#place.limitBytes} bytes`;
    throw new CortexError("ERR_DISK_FULL", `${message}; nothing was written`);
  }

  async #promote(
    construction: Construction,
    expectHead: Bytes | undefined,
    movedHead: Bytes,
  ): Promise<KvCommitResult> {
    assertMovedHead(movedHead);
    this.#writable();
    await construction.seal();
    try {
      const result = this.#moveTo(construction, expectHead, movedHead);
      if (result.ok) this.#constructions.delete(construction);
      return result;
    } finally {
      // Lost or failed: the caller may catch up and try again.
      if (this.#constructions.has(construction)) construction.unseal();
    }
  }

  #moveTo(
    construction: Construction,
    expectHead: Bytes | undefined,
    movedHead: Bytes,
  ): KvCommitResult {
    const { folder } = this.#place;
    for (let attempt = 0; attempt < FIND_ATTEMPTS; attempt++) {
      const file = this.#writable();
      try {
        const met = writeIfHead(file, expectHead, () => {
          const name = nameOf(highestNumber(folder) + 1);
          construction.renameTo(join(folder, name));
          fsyncFolder(folder);
          file.putMoved(movedHead, name);
        });
        if (met.outcome === "lost") return { ok: false, head: met.head };
        if (met.outcome === "written") fsyncPath(file.path);
      } catch (error) {
        // A commit can fail after it took effect; the file itself says whether this one did.
        if (file.successor() !== construction.name) throw error;
      }
      const moved = file.successor() === construction.name;
      if (moved) construction.finish();
      this.#follow(file);
      if (moved) return { ok: true };
    }
    throw lostChain(folder);
  }

  async #abandon(construction: Construction): Promise<void> {
    if (this.#constructions.delete(construction)) await construction.abandon();
  }

  #armSweep(): NodeJS.Timeout {
    const maxAgeMs = this.#place.snapshotMaxAgeMs;
    const timer = setTimeout(() => {
      this.#sweep = undefined;
      const oldestMs = performance.now() - maxAgeMs;
      for (const snapshot of [...this.#snapshots]) {
        if (snapshot.openedMs <= oldestMs) snapshot.close();
      }
      if (this.#snapshots.size > 0) this.#sweep = this.#armSweep();
    }, maxAgeMs);
    return timer.unref();
  }
}

class LmdbSnapshot implements KvSnapshot {
  readonly openedMs = performance.now();
  readonly #file: LmdbFile;
  readonly #siblings: Set<LmdbSnapshot>;
  #read: LmdbRead | undefined;

  constructor(file: LmdbFile, read: LmdbRead, siblings: Set<LmdbSnapshot>) {
    this.#file = file;
    this.#read = read;
    this.#siblings = siblings;
    siblings.add(this);
  }

  async getMany(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    const read = this.#reading();
    try {
      return keys.map((key) => this.#file.get(key, read));
    } catch (error) {
      throw storageError(error, "the read failed");
    }
  }

  async ranges(ranges: readonly KvRange[]): Promise<KvRow[][]> {
    const read = this.#reading();
    for (const range of ranges) assertRange(range);
    try {
      return ranges.map((range) => this.#file.range(range, read));
    } catch (error) {
      throw storageError(error, "the read failed");
    }
  }

  close(): void {
    const read = this.#read;
    if (read === undefined) return;
    this.#read = undefined;
    this.#siblings.delete(this);
    this.#file.endRead(read);
  }

  #reading(): LmdbRead {
    if (this.#read === undefined) {
      throw new CortexError("ERR_CLOSED", "the snapshot is closed, or was held for too long");
    }
    return this.#read;
  }
}

/** A file being built: no waiting for the disk until it is sealed. */
class Construction {
  readonly kv: LmdbKv;
  #path: string;

  constructor(place: Place) {
    constructionsStarted += 1;
    const number = String(highestNumber(place.folder) + 1).padStart(6, "0");
    const owner = `${process.pid}-${PROCESS_TOKEN}-${constructionsStarted}`;
    this.#path = join(place.folder, `g${number}.building-${owner}.mdb`);
    underConstruction.add(this.#path);
    const file = new LmdbFile(this.#path, Construction.#mode);
    file.furnish(false);
    this.kv = new LmdbKv({ ...place, mode: Construction.#mode }, file, false);
  }

  static readonly #mode: LmdbFileMode = { relaxed: true, readOnly: false };

  get name(): string {
    return this.#path.slice(dirname(this.#path).length + 1);
  }

  /** Puts everything on the disk and closes the file. */
  async seal(): Promise<void> {
    const file = this.kv.detach();
    if (file === undefined) throw new CortexError("ERR_CLOSED", "the construction is over");
    await file.close();
    try {
      fsyncPath(this.#path);
    } catch (error) {
      this.unseal();
      throw storageError(error, "the construction could not be synced");
    }
  }

  /** Opens the file again. */
  unseal(): void {
    this.kv.attach(new LmdbFile(this.#path, Construction.#mode));
  }

  /** Gives the sealed file its new name; openers under that name make themselves a lock file. */
  renameTo(path: string): void {
    rmSync(`${this.#path}-lock`, { force: true });
    renameSync(this.#path, path);
    underConstruction.delete(this.#path);
    underConstruction.add(path);
    this.#path = path;
  }

  /** It is the store now. */
  finish(): void {
    underConstruction.delete(this.#path);
  }

  async abandon(): Promise<void> {
    await this.kv.detach()?.close();
    underConstruction.delete(this.#path);
    removeFile(this.#path);
  }
}

type Met =
  | { readonly outcome: "written" }
  | { readonly outcome: "moved" }
  | { readonly outcome: "lost"; readonly head: Bytes | undefined };

/** Runs `body` in a write transaction if the head is still the expected one. */
function writeIfHead(file: LmdbFile, expectHead: Bytes | undefined, body: () => void): Met {
  let head: Bytes | undefined;
  const result = file.write(() => {
    head = file.get(HEAD_KEY);
    if (!sameBytes(head, expectHead) || isMovedHead(head)) return ROLL_BACK;
    body();
    return true;
  });
  if (result !== ROLL_BACK) return { outcome: "written" };
  return isMovedHead(head) ? { outcome: "moved" } : { outcome: "lost", head };
}

/** Finds the file that is the store; see the file header. */
function findStore(place: Place): LmdbFile {
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
function storeBehind(place: Place, name: string): LmdbFile | undefined {
  let next: string | undefined = name;
  let pointedAt = false;
  while (next !== undefined) {
    const path = join(place.folder, next);
    if (!pointedAt && underConstruction.has(path)) return undefined;
    if (!place.create && !exists(path)) return undefined;
    const file = new LmdbFile(path, place.mode);
    if (!file.isConfirmed() && !confirm(place, file, pointedAt)) {
      void file.close();
      return undefined;
    }
    const read = file.beginRead();
    const moved = file.isMoved(read);
    file.endRead(read);
    if (!moved) return file;
    next = file.successor();
    pointedAt = true;
    void file.close();
  }
  return undefined;
}

/** Whether an unconfirmed file is the store all the same; says so in it, if it may. */
function confirm(place: Place, file: LmdbFile, pointedAt: boolean): boolean {
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
function completeNumbers(folder: string): number[] {
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

function nameOf(number: number): string {
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

function removeDeadConstructions(folder: string): void {
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

function removeFile(path: string): void {
  rmSync(path, { force: true });
  rmSync(`${path}-lock`, { force: true });
}

function noStore(folder: string): CortexError {
  return new CortexError("ERR_FORMAT_UNKNOWN", `${folder} holds no Cortex store`);
}

function lostChain(folder: string): CortexError {
  return new CortexError("ERR_STORAGE", `${folder}: no generation of the store is complete`);
}
