/**
 * Rebuilding a store from its journal, and checking one against it.
 *
 * Both replay the journal into a store built from nothing and compare: every exact row byte for byte,
 * every stored snapshot's root at its position, the root over everything. A check throws the new store
 * away; a rebuild puts it in the old one's place. Writers may go on meanwhile: the replay catches up
 * until the heads agree.
 */

import type { Sha256 } from "../codec/hash.js";
import { toHex } from "../codec/keys.js";
import { CortexError, isCortexError } from "../errors.js";
import { journalKey, KEYSPACE, type KeyPrefix, keyString } from "../kv/keyspace.js";
import {
  type Bytes,
  HEAD_KEY,
  type Kv,
  type KvGeneration,
  type KvRow,
  type KvSnapshot,
  MOVED_HEAD_BYTE,
} from "../kv/kv.js";
import { decodeHeadRow, type HeadRow } from "./head-row.js";
import { manifestRow, readManifests } from "./manifest.js";
import { scan } from "./reader.js";
import { replay } from "./replay.js";
import { readRoots } from "./roots.js";

/** What both passes need. */
export interface RebuildParts {
  readonly kv: Kv;
  readonly sha256: Sha256;
  /** A store to build in, thrown away by its `abandon`. */
  readonly scratch: (entries: number) => Promise<KvGeneration>;
  readonly onProgress?: (done: number, total: number) => void;
}

/** Something that is not as it should be. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly seq?: number;
}

/** The outcome of a check. */
export interface CheckReport {
  readonly ok: boolean;
  readonly entries: number;
  readonly problems: readonly Problem[];
  readonly seq: number;
}

/** The outcome of a rebuild. */
export interface RebuildReport {
  readonly ok: boolean;
  readonly entries: number;
  /** The root after the rebuild, in hex. */
  readonly root: string;
  readonly seq: number;
  /** Rows that the store had otherwise than its journal says. */
  readonly differences: readonly string[];
}

/** How many differences are named before the rest is counted. */
const NAMED = 20;

/** How often a comparison starts over because writers moved the store on. */
const CATCH_UPS = 1000;

interface Caught {
  readonly size: number;
  readonly headBytes: Bytes | undefined;
  readonly differences: readonly string[];
  readonly root: string;
}

/** Checks everything that can be derived again; repairs nothing. */
export async function checkStore(parts: RebuildParts): Promise<CheckReport> {
  const head = await headOf(parts.kv);
  const generation = await parts.scratch(head.size);
  try {
    const caught = await catchUp(parts, generation.kv);
    const problems = caught.differences.map((message) => ({ code: "ERR_CORRUPT", message }));
    const { size } = caught;
    return { ok: problems.length === 0, entries: size, problems, seq: size - 1 };
  } catch (error) {
    if (!isCortexError(error)) throw error;
    const { code, message, details } = error;
    const problem = { code, message, ...(details.seq === undefined ? {} : { seq: details.seq }) };
    return { ok: false, entries: head.size, problems: [problem], seq: head.size - 1 };
  } finally {
    await generation.abandon();
  }
}

/** Builds the store again from its journal, and takes the old one's place unless `verifyOnly`. */
export async function rebuildStore(
  parts: RebuildParts,
  options: { readonly verifyOnly: boolean },
): Promise<RebuildReport> {
  const generation = options.verifyOnly
    ? await parts.scratch((await headOf(parts.kv)).size)
    : await parts.kv.nextGeneration();
  try {
    for (;;) {
      const caught = await catchUp(parts, generation.kv);
      const { size, root, differences } = caught;
      const report = {
        ok: differences.length === 0,
        entries: size,
        root,
        seq: size - 1,
        differences,
      };
      if (options.verifyOnly) return report;
      const moved = Uint8Array.of(MOVED_HEAD_BYTE);
      const result = await generation.promote(caught.headBytes, moved);
      if (result.ok) return { ...report, ok: true };
    }
  } finally {
    await generation.abandon();
  }
}

/** Replays until the target stands where the source stands, then compares the two. */
async function catchUp(parts: RebuildParts, target: Kv): Promise<Caught> {
  for (let attempt = 0; attempt < CATCH_UPS; attempt += 1) {
    const manifests = await withSnapshot(parts.kv, readManifests);
    const total = (await headOf(parts.kv)).size;
    const stops = manifests.map(({ size }) => size);
    const size = await replay(target, journalRows(parts.kv, (await headOf(target)).size), {
      sha256: parts.sha256,
      stops,
      onCommit: async (at) => {
        parts.onProgress?.(at, Math.max(at, total));
        for (const manifest of manifests) {
          if (manifest.size === at) await checkManifest(parts.sha256, target, manifest);
        }
      },
    });
    await copyManifests(parts.kv, target);
    const differences = await compareExact(parts.kv, target);
    if (differences === undefined) continue;
    const headBytes = await withSnapshot(parts.kv, async (s) => (await s.getMany([HEAD_KEY]))[0]);
    const head = decodeHeadRow(headBytes);
    if (head.size !== size) continue;
    const roots = await withSnapshot(target, (s) => readRoots(parts.sha256, s, head));
    return { size, headBytes, differences, root: toHex(roots.overall) };
  }
  throw new CortexError("ERR_CONTENDED", "writers moved the store on too often to compare it");
}

async function checkManifest(
  sha256: Sha256,
  target: Kv,
  manifest: { readonly size: number; readonly overall: Uint8Array; readonly number: number },
): Promise<void> {
  const overall = await withSnapshot(target, async (snapshot) => {
    const [bytes] = await snapshot.getMany([HEAD_KEY]);
    return (await readRoots(sha256, snapshot, decodeHeadRow(bytes))).overall;
  });
  if (keyString(overall) === keyString(manifest.overall)) return;
  const seq = manifest.size - 1;
  throw new CortexError(
    "ERR_ROOT_MISMATCH",
    `snapshot ${manifest.number} at seq ${seq}: expected root ${toHex(manifest.overall)}, the journal gives ${toHex(overall)}`,
    { seq, expected: toHex(manifest.overall), got: toHex(overall) },
  );
}

/** The rows of the journal from `from` on, in order; a missing one stops with its seq. */
export async function* journalRows(source: Kv, from: number): AsyncGenerator<Bytes> {
  const pageRows = 512;
  for (let seq = from; ; ) {
    const { rows, size } = await withSnapshot(source, async (snapshot) => {
      const [headBytes] = await snapshot.getMany([HEAD_KEY]);
      const range = { gte: journalKey(seq), lt: journalKey(seq + pageRows), limit: pageRows };
      const [found = []] = await snapshot.ranges([range]);
      return { rows: found, size: decodeHeadRow(headBytes).size };
    });
    for (const { value } of rows) yield value;
    seq += rows.length;
    if (rows.length > 0 && rows.length < pageRows && seq < size) throw gap(seq);
    if (rows.length === 0) {
      if (seq < size) throw gap(seq);
      return;
    }
  }
}

function gap(seq: number): CortexError {
  return new CortexError("ERR_JOURNAL_GAP", `journal entry ${seq} is missing`, { seq });
}

async function copyManifests(source: Kv, target: Kv): Promise<void> {
  const manifests = await withSnapshot(source, readManifests);
  if (manifests.length === 0) return;
  const headBytes = await withSnapshot(target, async (s) => (await s.getMany([HEAD_KEY]))[0]);
  if (headBytes === undefined) return;
  await target.commit({
    expectHead: headBytes,
    head: headBytes,
    puts: manifests.map(manifestRow),
    deletes: [],
  });
}

/** Rows in which two stores differ; `undefined` when the first moved on meanwhile. */
async function compareExact(source: Kv, target: Kv): Promise<readonly string[] | undefined> {
  const differences: string[] = [];
  let more = 0;
  for (const prefix of Object.values(KEYSPACE) as KeyPrefix[]) {
    if (prefix.class === "cache" || prefix.class === "head") continue;
    for await (const difference of comparePrefix(source, target, prefix)) {
      if (differences.length < NAMED) differences.push(difference);
      else more += 1;
    }
  }
  const [before, after] = await Promise.all([headBytesOf(source), headBytesOf(target)]);
  if (keyString(before ?? EMPTY) !== keyString(after ?? EMPTY)) {
    const [ours, theirs] = [decodeHeadRow(before), decodeHeadRow(after)];
    if (ours.size !== theirs.size) return undefined;
    differences.push(
      `head: expected ${JSON.stringify(theirs)}, the store has ${JSON.stringify(ours)}`,
    );
  }
  if (more > 0) differences.push(`and ${more} more`);
  return differences;
}

const EMPTY = new Uint8Array(0);

/** Walks one prefix of both stores side by side. */
async function* comparePrefix(source: Kv, target: Kv, prefix: KeyPrefix): AsyncGenerator<string> {
  const [left, right] = [rowsOf(source, prefix.byte), rowsOf(target, prefix.byte)];
  let [a, b] = await Promise.all([left.next(), right.next()]);
  while (a.done !== true || b.done !== true) {
    const order = compareRows(a.done ? undefined : a.value, b.done ? undefined : b.value);
    if (order === 0 && a.done !== true && b.done !== true) {
      if (keyString(a.value.value) !== keyString(b.value.value)) {
        yield `${prefix.name} row ${toHex(a.value.key)} differs from what the journal says`;
      }
      [a, b] = await Promise.all([left.next(), right.next()]);
    } else if (order < 0 && a.done !== true) {
      yield `${prefix.name} row ${toHex(a.value.key)} is there, but the journal does not say so`;
      a = await left.next();
    } else if (b.done !== true) {
      yield `${prefix.name} row ${toHex(b.value.key)} is missing`;
      b = await right.next();
    }
  }
}

function compareRows(a: KvRow | undefined, b: KvRow | undefined): number {
  if (a === undefined) return 1;
  if (b === undefined) return -1;
  return Buffer.compare(a.key, b.key);
}

async function* rowsOf(kv: Kv, prefix: number): AsyncGenerator<KvRow> {
  const snapshot = await kv.snapshot();
  try {
    yield* scan(snapshot, Uint8Array.of(prefix));
  } finally {
    snapshot.close();
  }
}

async function headOf(kv: Kv): Promise<HeadRow> {
  return decodeHeadRow(await headBytesOf(kv));
}

function headBytesOf(kv: Kv): Promise<Bytes | undefined> {
  return withSnapshot(kv, async (snapshot) => (await snapshot.getMany([HEAD_KEY]))[0]);
}

/** Opens a snapshot for one step and closes it. */
export async function withSnapshot<T>(
  kv: Kv,
  use: (snapshot: KvSnapshot) => Promise<T>,
): Promise<T> {
  const snapshot = await kv.snapshot();
  try {
    return await use(snapshot);
  } finally {
    snapshot.close();
  }
}
