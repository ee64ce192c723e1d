/**
 * The embedded backend: one folder, one LMDB file at a time. The engine itself is in `lmdb-file.ts`;
 * which file is the store, and why a killed promotion does no harm, in `lmdb-folder.ts`.
 *
 * Promises: what `kv.ts` asks, for any number of processes. A resolved commit is on the disk,
 * unless the handle was opened `relaxed`. A snapshot starts at the newest commit of whichever
 * process; one that was forgotten is closed after a minute, because the pages it sees cannot be
 * reused meanwhile (a held one let a 1.4 MB file grow to 152 MB). Folders are created 0700, files
 * 0600.
 *
 * Each snapshot and each commit looks at the head row; when it says "moved", the handle goes on in
 * the newest generation and tries again there. A construction about to take over may `hold` the
 * store: a row in the file says who and until when, and every commit looks for it inside its own
 * write transaction. A commit that meets it waits; one that meets an expired row removes it, which
 * is how the construction learns, whatever the clocks say, that it was not alone.
 *
 * A file that is not in its place any more was left, even where its head row does not say so: the commit by which the
 * store moved can be hidden for good from those who have the file open (`lmdb-root.ts`, `openAtNewest`). A writer
 * meets that in its write transaction, a reader looks for it now and then.
 */

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { CortexError } from "../errors.js";
import {
  assertCommit,
  assertMovedHead,
  assertRows,
  type Bytes,
  isMovedHead,
  type Kv,
  type KvAtOnce,
  type KvCacheCommit,
  type KvCommit,
  type KvCommitResult,
  type KvGeneration,
  type KvManifest,
  type KvSnapshot,
  type KvSnapshotOptions,
  removedStore,
  sameBytes,
} from "./kv.js";
import { storageError } from "./lmdb-failures.js";
import {
  assertDiskRoom,
  fileBytes,
  fsyncFolder,
  fsyncPath,
  LmdbFile,
  type LmdbFileMode,
} from "./lmdb-file.js";
import {
  claimConstruction,
  createStore,
  FIND_ATTEMPTS,
  findStore,
  type LmdbPlace,
  releaseConstruction,
  removeDeadConstructions,
  removeFile,
  removeOldCaches,
  renameConstruction,
  unusedName,
  warnOfSharedDisk,
} from "./lmdb-folder.js";
import { identityOf } from "./lmdb-meta.js";
import { walkPages } from "./lmdb-pages.js";
import { refuseQuarantined } from "./lmdb-quarantine.js";
import { finishReplacementOf } from "./lmdb-removal.js";
import {
  agreesWith,
  endHold,
  LmdbNow,
  LmdbSnapshot,
  type Met,
  takeHold,
  writeIf,
} from "./lmdb-transactions.js";

/** How to open an LMDB store. */
export interface LmdbKvOptions {
  /** Commits do not wait for the disk: a power cut may lose the last ones or damage the file. */
  readonly relaxed?: boolean;
  /** Most bytes the file may grow to, weighed before each commit; unlimited if absent. */
  readonly mapSizeBytes?: number;
  /** Create the folder and the store where there is none; true by default. */
  readonly create?: boolean;
  readonly readOnly?: boolean;
  /** Age at which a forgotten snapshot is closed; a minute by default. */
  readonly snapshotMaxAgeMs?: number;
  /** How far a head row is; with it no snapshot of a handle stands before an earlier one. */
  readonly positionOf?: (head: Bytes) => number;
  /** The kind of file system, as the system numbers it, where a test has one of its own. */
  readonly diskType?: number;
}

const SNAPSHOT_MAX_AGE_MS = 60_000;
/** Room that a commit may need beside its rows: pages of the trees, and the list of free pages. */
const RESERVE_BYTES = 128 * 1024;
/** More than a head row takes. */
const HEAD_BYTES = 256;
const PAGE_BYTES = 4096;
/** Between two looks of a writer that waits, or a reader that would go back; the latter then takes what there is. */
const HELD_PAUSE_MS = 3;
const BACK_WAITS = 2000;
/** So often a handle that reads looks whether its file is still in its place: 2 microseconds. */
const LOOK_AFTER_MS = 100;

/** Opens, or creates, the store in a folder of its own. */
export async function openLmdbKv(folder: string, options: LmdbKvOptions = {}): Promise<Kv> {
  const place: Place = {
    folder: resolve(folder),
    mode: { relaxed: options.relaxed === true, readOnly: options.readOnly === true },
    create: options.create !== false && options.readOnly !== true,
    limitBytes: options.mapSizeBytes ?? Number.POSITIVE_INFINITY,
    snapshotMaxAgeMs: options.snapshotMaxAgeMs ?? SNAPSHOT_MAX_AGE_MS,
    diskType: options.diskType,
    positionOf: options.positionOf,
  };
  finishReplacementOf(place.folder);
  await refuseQuarantined(place.folder);
  if (place.create) await createStore(place);
  warnOfSharedDisk(place);
  const file = findStore(place);
  if (!place.mode.readOnly) removeOldCaches(place.folder);
  return new LmdbKv({ ...place, identity: identityOf(place.folder) }, file, true);
}

/** Where a handle lives, and how it was opened. */
interface Place extends LmdbPlace {
  readonly limitBytes: number;
  readonly snapshotMaxAgeMs: number;
  readonly positionOf?: LmdbKvOptions["positionOf"];
  /** Which folder it is, whatever its name: another of the same name is another store. */
  readonly identity?: string | undefined;
}

/** Snapshots, and commits before which nothing was read, after which the event loop gets its turn. */
const SNAPSHOTS_PER_TURN = 128;

class LmdbKv implements Kv {
  readonly manifest: KvManifest;
  readonly #place: Place;
  readonly #snapshots = new Set<LmdbSnapshot>();
  readonly #constructions = new Set<Construction>();
  #file: LmdbFile | undefined;
  #sweep: NodeJS.Timeout | undefined;
  #turns = 0;
  #seenHead: Bytes | undefined;
  #seenPosition = 0;
  #lookedMs = performance.now();

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

  async snapshot(options: KvSnapshotOptions = {}): Promise<KvSnapshot> {
    if (this.#isTurn()) await nextTurn();
    let waits = 0;
    for (let attempt = 0; attempt < FIND_ATTEMPTS; attempt++) {
      if (this.#hasLeftFile()) this.#follow(this.#current());
      const file = this.#current();
      const read = file.beginRead();
      const head = file.head(read, this.#seenHead);
      if (!this.#noteHead(head) && waits < BACK_WAITS) {
        file.endRead(read);
        waits += 1;
        attempt -= 1;
        await sleep(HELD_PAUSE_MS);
        continue;
      }
      if (!isMovedHead(head)) {
        const snapshot = new LmdbSnapshot({ file, read, head }, this.#snapshots, options);
        this.#sweep ??= this.#armSweep();
        return snapshot;
      }
      file.endRead(read);
      this.#follow(file);
    }
    throw lostChain(this.#place.folder);
  }

  readNow<T>(
    use: (rows: KvAtOnce) => T,
    options?: Pick<KvSnapshotOptions, "onEntry">,
  ): T | undefined {
    // The snapshot that is taken instead lets the process do something else.
    if (this.#turns + 1 >= SNAPSHOTS_PER_TURN) return undefined;
    this.#turns += 1;
    if (this.#hasLeftFile()) return undefined;
    const file = this.#current();
    const read = file.beginRead();
    try {
      const head = file.head(read, this.#seenHead);
      if (!this.#noteHead(head) || isMovedHead(head)) return undefined;
      return use(new LmdbNow({ file, read, head }, options?.onEntry));
    } finally {
      file.endRead(read);
    }
  }

  /**
   * Notes a head that is about to be given out, or that was met by a commit; false where it stands before one that was noted.
   * The engine notes the number of the newest commit last, and a reader takes that number first and then one of two meta pages.
   * Held up in between, on a busy machine, it reads a commit that is still being waited for, and its next read the one
   * before: that is over as soon as the disk has answered. Or another process opens the file at this moment, and hides a
   * commit (`openAtNewest` in `lmdb-root.ts`): that is over as soon as it has looked.
   */
  #noteHead(head: Bytes | undefined): boolean {
    const { positionOf } = this.#place;
    if (head === undefined || positionOf === undefined || isMovedHead(head)) return true;
    if (head === this.#seenHead) return true;
    const position = positionOf(head);
    if (position < this.#seenPosition) return false;
    this.#seenHead = head;
    this.#seenPosition = position;
    return true;
  }

  /** Reads and commits finish at once, so a loop that awaits them would never let the process do anything else. */
  #isTurn(): boolean {
    this.#turns = (this.#turns + 1) % SNAPSHOTS_PER_TURN;
    return this.#turns === 0;
  }

  /** Whether the store has left its file, as far as a look now and then can tell; see the file header. */
  #hasLeftFile(): boolean {
    // A construction is no store yet: there is none to follow.
    if (this.#place.mode === CONSTRUCTION_MODE) return false;
    const nowMs = performance.now();
    if (nowMs - this.#lookedMs < LOOK_AFTER_MS) return false;
    if (!this.#current().isInPlace()) return true;
    this.#lookedMs = nowMs;
    return false;
  }

  async commit(change: KvCommit): Promise<KvCommitResult> {
    assertCommit(change);
    // Building commits thousands of rows at a time and never waits for the disk.
    if (this.#place.mode === CONSTRUCTION_MODE) await nextTurn();
    else if (change.absent !== undefined && this.#isTurn()) await nextTurn();
    const met = await this.#write(
      change,
      (file) => (head) =>
        sameBytes(head, change.expectHead) &&
        change.absent?.some((key) => file.get(key) !== undefined) !== true,
      (file) => {
        if (!sameBytes(change.expectHead, change.head)) file.putHead(change.head);
      },
    );
    const isWritten = met.outcome === "written";
    this.#noteHead(isWritten ? change.head : met.head);
    return isWritten ? { ok: true } : { ok: false, head: met.head };
  }

  async commitCaches(change: KvCacheCommit): Promise<boolean> {
    assertRows(change);
    // Caches are changed by long passes of reads and commits. Within one turn of the event loop the
    // engine keeps old reads alive, and no freed page is used again: 10,000 vectors took 91 MB, not 38.
    await nextTurn();
    const met = await this.#write(
      change,
      (file) => (head) =>
        head !== undefined &&
        change.expect.every(({ key, value }) => sameBytes(file.get(key), value)),
    );
    return met.outcome === "written";
  }

  /** Changes rows in the newest generation, if it agrees: waits for a hold, follows a move. */
  async #write(
    change: Pick<KvCommit, "puts" | "deletes">,
    agreesIn: (file: LmdbFile) => (head: Bytes | undefined) => boolean,
    also?: (file: LmdbFile) => void,
  ): Promise<Extract<Met, { readonly outcome: "written" | "lost" }>> {
    for (let attempt = 0; attempt < FIND_ATTEMPTS; attempt++) {
      const file = this.#writable();
      this.#assertRoom(file, change);
      const met = writeIf(file, agreesIn(file), () => {
        also?.(file);
        file.change(change.puts, change.deletes);
      });
      if (met.outcome === "written" || met.outcome === "lost") return met;
      if (met.outcome === "held") {
        attempt -= 1;
        await sleep(HELD_PAUSE_MS);
      } else {
        this.#follow(file);
      }
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
      hold: () => this.#hold(construction),
    };
  }

  async sizeBytes(): Promise<number> {
    // A snapshot follows a store that has moved.
    (await this.snapshot()).close();
    return fileBytes(this.#current().path);
  }

  async examine(): Promise<readonly string[]> {
    // The reader keeps the pages of the newest commit from being used again meanwhile.
    const snapshot = await this.snapshot({ untilIdle: true });
    try {
      return (await walkPages(this.#current().path, true)).problems;
    } finally {
      snapshot.close();
    }
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
    const { folder, identity } = this.#place;
    if (from.isRemoved() || identityOf(folder) !== identity) throw removedStore();
    this.#file = findStore({ ...this.#place, create: false });
    from.retire();
  }

  /** Refuses a commit for which there may be no room, before it starts. */
  #assertRoom(file: LmdbFile, change: Pick<KvCommit, "puts" | "deletes">): void {
    const { folder, limitBytes } = this.#place;
    let rowBytes = HEAD_BYTES;
    for (const row of change.puts) rowBytes += row.key.length + row.value.length + 16;
    // The engine grows its map without bound, so that a limit has to be kept here.
    const isLimited = limitBytes !== Number.POSITIVE_INFINITY && change.puts.length > 0;
    if (isLimited && fileBytes(file.path) + rowBytes > limitBytes) {
      const message = `the store would pass its limit of ${limitBytes} bytes`;
      throw new CortexError("ERR_DISK_FULL", `${message}; nothing was written`);
    }
    const touched = change.puts.length + change.deletes.length;
    assertDiskRoom(folder, RESERVE_BYTES + 2 * rowBytes + touched * PAGE_BYTES);
  }

  async #promote(
    construction: Construction,
    expectHead: Bytes | undefined,
    movedHead: Bytes,
  ): Promise<KvCommitResult> {
    assertMovedHead(movedHead);
    this.#writable();
    assertDiskRoom(this.#place.folder, RESERVE_BYTES);
    await construction.seal();
    try {
      return this.#moveTo(construction, expectHead, movedHead);
    } finally {
      // Lost or failed: the caller may catch up and try again.
      if (this.#constructions.has(construction)) construction.unseal();
    }
  }

  /** Makes writers wait for a construction; see the file header. */
  async #hold(construction: Construction): Promise<void> {
    assertDiskRoom(this.#place.folder, RESERVE_BYTES);
    if (construction.holding === undefined) {
      // What was built so far goes to the disk before anybody has to wait.
      await construction.seal();
      construction.unseal();
    }
    for (let attempt = 0; attempt < FIND_ATTEMPTS; attempt++) {
      const file = this.#writable();
      const outcome = takeHold(file, construction.holder);
      if (outcome === "taken") {
        construction.holding = file;
        return;
      }
      if (outcome === "held") {
        attempt -= 1;
        await sleep(HELD_PAUSE_MS);
      } else {
        this.#follow(file);
      }
    }
    throw lostChain(this.#place.folder);
  }

  #moveTo(
    construction: Construction,
    expectHead: Bytes | undefined,
    movedHead: Bytes,
  ): KvCommitResult {
    const { folder } = this.#place;
    const holder = construction.holding === undefined ? undefined : construction.holder;
    for (let attempt = 0; attempt < FIND_ATTEMPTS; attempt++) {
      const file = this.#writable();
      let early: LmdbFile | undefined;
      let moved = false;
      try {
        const move = (): void => {
          const name = unusedName(folder);
          construction.renameTo(join(folder, name));
          fsyncFolder(folder);
          // Opened before anybody is told of it: two processes that open a file for the first time
          // at the same instant were seen to spoil each other's lock file (EINVAL ever after).
          early = new LmdbFile(join(folder, name), this.#place.mode);
          file.putMoved(movedHead, name);
        };
        const met = writeIf(file, agreesWith(expectHead), move, holder);
        if (met.outcome !== "written") construction.holding = undefined;
        if (met.outcome === "lost") return { ok: false, head: met.head };
        // Somebody else is about to take over: that is a race lost, not one to wait for.
        if (met.outcome === "held") return { ok: false, head: expectHead };
        moved = met.outcome === "written";
        if (moved) this.#finish(construction);
        if (moved) fsyncPath(file.path);
      } catch (error) {
        // A commit can fail after it took effect; the file itself says whether this one did.
        moved ||= this.#hasMovedTo(construction, file);
        if (!moved) {
          void (early as LmdbFile | undefined)?.close();
          throw error;
        }
      }
      this.#follow(file);
      void (early as LmdbFile | undefined)?.close();
      if (moved) return { ok: true };
    }
    throw lostChain(folder);
  }

  /** Whether the store goes on in a construction: nobody throws it away then, nor if it cannot be told. */
  #hasMovedTo(construction: Construction, file: LmdbFile): boolean {
    this.#constructions.delete(construction);
    const moved = file.newestSuccessor() === construction.name;
    if (moved) this.#finish(construction);
    else this.#constructions.add(construction);
    return moved;
  }

  /** A construction is the store now, and nobody's to throw away. */
  #finish(construction: Construction): void {
    this.#constructions.delete(construction);
    construction.finish();
  }

  async #abandon(construction: Construction): Promise<void> {
    if (!this.#constructions.delete(construction)) return;
    const { holding, holder } = construction;
    if (holding !== undefined && holding === this.#file) endHold(holding, holder);
    await construction.abandon();
  }

  #armSweep(): NodeJS.Timeout {
    const maxAgeMs = this.#place.snapshotMaxAgeMs;
    const timer = setTimeout(() => {
      this.#sweep = undefined;
      const oldestMs = performance.now() - maxAgeMs;
      for (const snapshot of [...this.#snapshots]) {
        if (snapshot.freshMs <= oldestMs) snapshot.close();
      }
      if (this.#snapshots.size > 0) this.#sweep = this.#armSweep();
    }, maxAgeMs);
    return timer.unref();
  }
}

const CONSTRUCTION_MODE: LmdbFileMode = { relaxed: true, readOnly: false };

/** A file being built: no waiting for the disk until it is sealed. */
class Construction {
  readonly kv: LmdbKv;
  /** Its name as a holder: no other construction of any process has it. */
  readonly holder = randomBytes(8).toString("hex");
  /** The file whose writers wait for it. */
  holding: LmdbFile | undefined;
  #path: string;

  constructor(place: Place) {
    this.#path = claimConstruction(place.folder);
    const file = new LmdbFile(this.#path, CONSTRUCTION_MODE);
    file.furnish(false);
    this.kv = new LmdbKv({ ...place, mode: CONSTRUCTION_MODE }, file, false);
  }

  get name(): string {
    return basename(this.#path);
  }

  /** Puts everything on the disk and closes the file. */
  async seal(): Promise<void> {
    const file = this.kv.detach();
    if (file === undefined) throw new CortexError("ERR_CLOSED", "the construction is over");
    await file.close();
    try {
      fsyncPath(this.#path);
    } catch (error) {
      throw storageError(error, "the construction could not be synced");
    }
  }

  /** Opens the file again after `seal`; a file that somebody removed stays closed for good. */
  unseal(): void {
    if (!existsSync(this.#path)) return;
    const file = new LmdbFile(this.#path, CONSTRUCTION_MODE);
    if (file.isFurnished) this.kv.attach(file);
    else void file.close();
  }

  renameTo(path: string): void {
    renameConstruction(this.#path, path);
    this.#path = path;
  }

  /** It is the store now. */
  finish(): void {
    releaseConstruction(this.#path);
  }

  async abandon(): Promise<void> {
    await this.kv.detach()?.close();
    releaseConstruction(this.#path);
    removeFile(this.#path);
  }
}

function lostChain(folder: string): CortexError {
  return new CortexError("ERR_STORAGE", `${folder}: the store kept moving away`);
}
