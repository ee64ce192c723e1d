/**
 * Reading a journal in: from an export, or from a full backup and its increments, into an empty
 * store.
 *
 * Nothing in a file is believed. Every header, part hash, seq and time is checked by the replay;
 * a part that is missing must be on the file's list of erased parts and a listed one must be missing;
 * every stored snapshot's root must come out at its position, the journal root and the root over
 * everything at the end; each increment must start from the journal root the one before ended with;
 * the sum over the file's bytes must be right. The store that is built becomes the store only after
 * all of that.
 *
 * An import that was broken off goes on where a backend keeps what it had built (`go-on.ts`).
 *
 * Lists of erasures from elsewhere are applied on the way (`erase-listed.ts`).
 */
import type { Hasher, Sha256 } from "../codec/hash.js";
import { compareBytes, equalBytes, toHex } from "../codec/keys.js";
import { CortexError, type ErrorCode, isCortexError } from "../errors.js";
import { checkManifest, withSnapshot } from "../history/build-beside.js";
import { headBytesAt } from "../history/compare-stores.js";
import { decodeHeadRow, FORMAT } from "../history/head-row.js";
import { decodeManifest, type Manifest, manifestKey, manifestRow } from "../history/manifest.js";
import { type CheckedRow, replay } from "../history/replay.js";
import { journalRootAt, readRoots } from "../history/trees.js";
import type { Checkpoint } from "../journal/checkpoint.js";
import { decodeEntry, genesisOf } from "../journal/entry.js";
import { type ErasureList, NO_ERASURES, unionErasures } from "../journal/erasure-list.js";
import {
  decodeErased,
  decodeExportHeader,
  decodeExportTrailer,
  type ExportHeader,
  FRAME,
  type Frame,
  malformed,
  readFrames,
  startErased,
} from "../journal/export-format.js";
import { keyString } from "../kv/keyspace.js";
import { type Bytes, type Kv, type KvRow, MOVED_HEAD_BYTE } from "../kv/kv.js";
import { eraseListed, type Gate, startGate } from "./erase-listed.js";
import { type Beginning, goOn } from "./go-on.js";

/** What reading in needs. */
export interface ImportParts {
  /** The empty store that is to become the imported one. */
  readonly kv: Kv;
  readonly sha256: Sha256;
  readonly hasher: () => Hasher;
  /** Whose journal it must be. */
  readonly actor: string;
  readonly onProgress?: (done: number, total: number) => void;
}

/** How a journal is read in. */
interface ImportOptions {
  /** Counts the store under the next epoch: for a restore, after which history may go another way. */
  readonly newEpoch: boolean;
  /** Erasures from elsewhere, to be applied again; `undefined` when there is no such list. */
  readonly erasures?: ErasureList;
  /** The store that the list of erasures is of; the files must be of the same. */
  readonly storeId?: string;
  /** A checkpoint that was seen before: the history must reach it and agree with it. */
  readonly trusted?: Checkpoint;
}

/** What was read in. */
export interface ImportReport {
  readonly entries: number;
  readonly seq: number;
  /** The root over everything, in hex. */
  readonly root: string;
  readonly epoch: number;
  /** Parts that the files held and a list from elsewhere erased. */
  readonly erasedAgain: number;
}

/** One file, read up to its first entry. */
interface Volume {
  readonly header: ExportHeader;
  readonly erased: ErasureList;
  readonly manifests: readonly Manifest[];
  /** The entries, and at the end everything the trailer says, checked. */
  rows(): AsyncGenerator<Bytes>;
  close(): Promise<void>;
}

/** Builds the store from the files, in order, and makes it the store. */
export async function importVolumes(
  parts: ImportParts,
  sources: readonly AsyncIterable<Uint8Array>[],
  options: ImportOptions,
): Promise<ImportReport> {
  await requireEmpty(parts.kv);
  const volumes: Volume[] = [];
  try {
    for (const source of sources) {
      volumes.push(await blamingTheFile(() => openVolume(parts, source)));
    }
    checkChain(parts, volumes, options);
    const { generation, rows } = await blamingTheFile(() => begin(parts, volumes, options));
    try {
      const filling = { target: generation.kv, volumes, rows };
      const report = await blamingTheFile(() => fill(parts, filling, options));
      const result = await generation.promote(undefined, Uint8Array.of(MOVED_HEAD_BYTE));
      if (!result.ok) throw notEmpty();
      return report;
    } catch (error) {
      // Another one may have been faster, who has then removed what was built here.
      throw (await hasBegun(parts.kv).catch(() => false)) ? notEmpty() : error;
    } finally {
      await generation.abandon();
    }
  } finally {
    for (const volume of volumes) await volume.close();
  }
}

/** A store to build in; of an import that was broken off before, what it has left. */
async function begin(
  parts: ImportParts,
  volumes: readonly Volume[],
  { newEpoch, erasures, trusted }: ImportOptions,
): Promise<Pick<Beginning, "generation"> & Partial<Beginning>> {
  const [volume] = volumes;
  const isPlain = volumes.length === 1 && !newEpoch && (erasures ?? trusted) === undefined;
  if (volume === undefined || !isPlain) return { generation: await parts.kv.nextGeneration() };
  const { header, manifests, rows } = volume;
  const gate = startGate();
  const admit = (row: Bytes): void => {
    void admitted(volume, volume.erased, gate, { entry: decodeEntry(row), row });
  };
  return goOn(parts, { header, manifests, rows, admit });
}

/** Refuses a store in which anything was ever written. */
async function requireEmpty(kv: Kv): Promise<void> {
  if (await hasBegun(kv)) throw notEmpty();
}

async function hasBegun(kv: Kv): Promise<boolean> {
  return (await withSnapshot(kv, headBytesAt)) !== undefined;
}

function notEmpty(): CortexError {
  return new CortexError(
    "ERR_EXISTS",
    "the store holds a history already; an export needs a store that is empty",
  );
}

async function openVolume(parts: ImportParts, source: AsyncIterable<Uint8Array>): Promise<Volume> {
  const hasher = parts.hasher();
  const frames = readFrames(source, hasher);
  const first = await nextFrame(frames);
  if (first.tag !== FRAME.header) throw malformed("its header is missing");
  const header = decodeExportHeader(first.payload);
  const erased = startErased();
  const manifests: Manifest[] = [];
  let frame = await nextFrame(frames);
  for (; frame.tag === FRAME.erased; frame = await nextFrame(frames)) {
    decodeErased(frame.payload, header.size, erased);
  }
  for (; frame.tag === FRAME.snapshot; frame = await nextFrame(frames)) {
    manifests.push(readManifest(frame.payload, header, manifests.at(-1)));
  }
  const rows = async function* (): AsyncGenerator<Bytes> {
    let entries = 0;
    let last = frame;
    for (; last.tag === FRAME.entry; last = await nextFrame(frames)) {
      if (header.from + entries >= header.size) {
        throw malformed("it holds more entries than its header says", header.size);
      }
      yield last.payload;
      entries += 1;
    }
    const seq = header.from + entries;
    if (last.tag !== FRAME.trailer) throw malformed("a frame is out of place", seq);
    const trailer = decodeExportTrailer(last.payload);
    if (seq !== header.size || trailer.entries !== entries) {
      throw malformed(`it holds ${entries} entries, expected ${header.size - header.from}`, seq);
    }
    if (!equalBytes(trailer.root, header.root)) {
      throw malformed("its header and its trailer name different roots", header.size - 1);
    }
    if (!equalBytes(trailer.sum, hasher.digest())) {
      throw malformed("its bytes have another sum than its trailer says", header.size - 1);
    }
    // The frames end with the trailer; this runs what they do at their end.
    await frames.next();
  };
  return {
    header,
    erased: erased.end(),
    manifests,
    rows,
    close: async () => void (await frames.return(undefined)),
  };
}

async function nextFrame(frames: AsyncGenerator<Frame>): Promise<Frame> {
  const next = await frames.next();
  if (next.done === true) throw malformed("it ends before its trailer");
  return next.value;
}

function readManifest(
  bytes: Uint8Array,
  header: ExportHeader,
  before: Manifest | undefined,
): Manifest {
  const manifest = decodeManifest(bytes);
  const { number, size } = manifest;
  if (!equalBytes(manifestRow(manifest).value, bytes)) throw malformed(`snapshot ${number} is odd`);
  const isNext =
    before === undefined || compareBytes(manifestKey(before), manifestKey(manifest)) < 0;
  if (!isNext || size < 1 || size > header.size) {
    throw malformed(`snapshot ${number} at size ${size} is out of place`);
  }
  return manifest;
}

/** Checks what the headers say of each other and of what is expected, before any entry is read. */
function checkChain(
  parts: ImportParts,
  volumes: readonly Volume[],
  { trusted, storeId }: ImportOptions,
): void {
  const [first] = volumes;
  if (first === undefined) throw malformed("there is no file");
  if (storeId !== undefined && storeId !== first.header.storeId) {
    throw new CortexError("ERR_FORK", "the list of erasures is of another store", { seq: 0 });
  }
  let size = 0;
  for (const { header } of volumes) {
    checkOwner(parts.actor, header);
    if (header.storeId !== first.header.storeId) {
      throw new CortexError("ERR_FORK", "the files come from different stores", { seq: 0 });
    }
    if (header.from > size) throw gapBefore(size, header.from);
    if (header.from < size) {
      throw malformed(`it goes on after seq ${header.from - 1}, expected ${size - 1}`, header.from);
    }
    size = header.size;
  }
  if (trusted === undefined) return;
  if (trusted.actor !== parts.actor) throw otherActor(parts.actor, trusted.actor);
  if (trusted.storeId !== first.header.storeId) {
    throw new CortexError("ERR_FORK", "the trusted checkpoint is of another store", { seq: 0 });
  }
  if (size < trusted.size) {
    throw new CortexError(
      "ERR_ROLLED_BACK",
      `the history ends at seq ${size - 1}, but seq ${trusted.size - 1} was seen before`,
      { seq: size - 1 },
    );
  }
}

function checkOwner(actor: string, header: ExportHeader): void {
  if (header.format > FORMAT) {
    throw new CortexError(
      "ERR_FORMAT_NEWER",
      `the entries have format ${header.format}: expected at most ${FORMAT}`,
      { expected: String(FORMAT), got: String(header.format) },
    );
  }
  if (header.actor !== actor) throw otherActor(actor, header.actor);
}

function otherActor(expected: string, got: string): CortexError {
  return new CortexError(
    "ERR_ACTOR_MISMATCH",
    `the file belongs to actor ${JSON.stringify(got)}, expected ${expected}`,
    { expected, got },
  );
}

function gapBefore(size: number, from: number): CortexError {
  const message = `entries ${size} to ${from - 1} are missing between the files`;
  return new CortexError("ERR_JOURNAL_GAP", message, { seq: size });
}

/** What is read in where. */
interface Filling {
  readonly target: Kv;
  readonly volumes: readonly Volume[];
  /** The entries of the one file there is that the target lacks, where somebody has begun to read them. */
  readonly rows?: AsyncIterable<Bytes> | undefined;
}

/** Replays all files into the target and checks every root on the way. */
async function fill(
  parts: ImportParts,
  { target, volumes, rows }: Filling,
  options: ImportOptions,
): Promise<ImportReport> {
  const last = (volumes.at(-1) as Volume).header;
  const manifests = mergedManifests(volumes, last.size);
  const everywhere = unionErasures([
    NO_ERASURES,
    ...volumes.map(({ erased }) => erased),
    ...(options.erasures === undefined ? [] : [options.erasures]),
  ]);
  const gate = startGate();
  const { trusted } = options;
  const epoch = last.epoch + (options.newEpoch ? 1 : 0);
  for (const volume of volumes) {
    await checkContinues(parts.sha256, target, volume.header);
    await replay(target, rows ?? volume.rows(), {
      sha256: parts.sha256,
      epoch,
      stops: [
        ...manifests.map(({ size }) => size),
        ...(trusted === undefined ? [] : [trusted.size]),
      ],
      admit: (checked) => admitted(volume, everywhere, gate, checked),
      onCommit: async (size) => {
        parts.onProgress?.(size, last.size);
        if (size === trusted?.size) await checkTrusted(parts.sha256, target, trusted);
        for (const manifest of manifests) {
          if (manifest.size === size) await checkManifest(parts.sha256, target, manifest);
        }
      },
    });
    await checkEnd(parts.sha256, target, volume.header);
  }
  await putManifests(target, manifests);
  const { size, root } = last;
  return { entries: size, seq: size - 1, root: toHex(root), epoch, erasedAgain: gate.applied };
}

/** Snapshots of all files, each once; each file holds those that were there when it was made. */
function mergedManifests(volumes: readonly Volume[], size: number): readonly Manifest[] {
  const byKey = new Map<string, Manifest>();
  for (const { manifests } of volumes) {
    for (const manifest of manifests) byKey.set(keyString(manifestKey(manifest)), manifest);
  }
  return [...byKey.values()].filter((manifest) => manifest.size <= size);
}

/** Checks an entry against its file's list of erased parts, and erases what another list names. */
function admitted(
  volume: Volume,
  everywhere: ErasureList,
  gate: Gate,
  checked: CheckedRow,
): CheckedRow {
  const { entry } = checked;
  const { seq, parts: refs } = entry.header;
  if (seq === 0) checkGenesis(volume.header, checked);
  for (const [at, part] of entry.parts.entries()) {
    if ((refs[at]?.hash ?? null) === null) continue;
    const isListed = volume.erased.has(seq, at);
    if (isListed === (part === undefined)) continue;
    const what = isListed ? "is listed as erased, but there" : "is missing, but not listed";
    throw malformed(`part ${at} of entry ${seq} ${what}`, seq);
  }
  return eraseListed(everywhere, gate, checked);
}

function checkGenesis(header: ExportHeader, { entry }: CheckedRow): void {
  const { actor, storeId } = genesisOf(entry);
  if (actor !== header.actor || storeId !== header.storeId) {
    throw malformed("its header names another store than its first entry", 0);
  }
}

/** Checks that a file goes on from the very history the target holds. */
async function checkContinues(sha256: Sha256, target: Kv, header: ExportHeader): Promise<void> {
  const root = await withSnapshot(target, (s) => journalRootAt(sha256, s, header.from));
  if (equalBytes(root, header.fromRoot)) return;
  if (header.from === 0) throw malformed("it starts from nothing, but names another root for that");
  const seq = header.from - 1;
  throw new CortexError(
    "ERR_FORK",
    `at seq ${seq} the file goes on from journal root ${toHex(header.fromRoot)}, expected ${toHex(root)}`,
    { seq, expected: toHex(root), got: toHex(header.fromRoot) },
  );
}

async function checkEnd(sha256: Sha256, target: Kv, header: ExportHeader): Promise<void> {
  const roots = await rootsOf(sha256, target);
  const same =
    equalBytes(roots.journal, header.journalRoot) && equalBytes(roots.overall, header.root);
  if (same) return;
  const seq = header.size - 1;
  throw new CortexError(
    "ERR_ROOT_MISMATCH",
    `at seq ${seq} the file names root ${toHex(header.root)}, its entries give ${toHex(roots.overall)}`,
    { seq, expected: toHex(header.root), got: toHex(roots.overall) },
  );
}

async function checkTrusted(sha256: Sha256, target: Kv, trusted: Checkpoint): Promise<void> {
  const roots = await rootsOf(sha256, target);
  if (equalBytes(roots.overall, trusted.overall)) return;
  const seq = trusted.size - 1;
  throw new CortexError(
    "ERR_FORK",
    `at seq ${seq} the trusted checkpoint has root ${toHex(trusted.overall)}, the files give ${toHex(roots.overall)}`,
    { seq, expected: toHex(trusted.overall), got: toHex(roots.overall) },
  );
}

function rootsOf(sha256: Sha256, target: Kv): ReturnType<typeof readRoots> {
  return withSnapshot(target, async (snapshot) =>
    readRoots(sha256, snapshot, decodeHeadRow(await headBytesAt(snapshot))),
  );
}

async function putManifests(target: Kv, manifests: readonly Manifest[]): Promise<void> {
  const head = await withSnapshot(target, headBytesAt);
  if (head === undefined || manifests.length === 0) return;
  const puts: KvRow[] = manifests.map(manifestRow);
  await target.commit({ expectHead: head, head, puts, deletes: [] });
}

/** Failures that say already what they have to. */
const SAID: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "ERR_EXPORT_MALFORMED",
  "ERR_ROOT_MISMATCH",
  "ERR_FORK",
  "ERR_ROLLED_BACK",
  "ERR_ACTOR_MISMATCH",
  "ERR_FORMAT_NEWER",
  "ERR_EXISTS",
  "ERR_DISK_FULL",
  "ERR_STORAGE",
  "ERR_CLOSED",
  "ERR_UNSUPPORTED",
  "ERR_UNREACHABLE",
  "ERR_CONTENDED",
  "ERR_READ_ONLY",
]);

/** What goes wrong while foreign bytes are read and folded is the fault of the file. */
async function blamingTheFile<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isCortexError(error)) {
      throw SAID.has(error.code) ? error : malformed(error.message, error.details.seq, error);
    }
    const isOdd = error instanceof TypeError || error instanceof RangeError;
    throw isOdd ? malformed(`it cannot be folded: ${error.message}`, undefined, error) : error;
  }
}
