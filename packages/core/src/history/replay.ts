/**
 * Replay: entries in order, folded into a store from nothing, by the same fold that wrote them.
 *
 * Every entry is checked on the way: the seq is the next one, times do not go back, every part that is
 * still there has the hash its header names. The first thing that is wrong stops the replay with its
 * seq; nothing is repaired.
 */
import type { Sha256 } from "../codec/hash.js";
import { equalBytes, toHex } from "../codec/keys.js";
import { CortexError } from "../errors.js";
import {
  corruptEntry,
  decodeEntry,
  type Entry,
  type EntryHeader,
  entryLeaf,
  partContext,
  partHash,
  partRecord,
  SUBJECT,
} from "../journal/entry.js";
import { idKey, journalKey } from "../kv/keyspace.js";
import { type Bytes, HEAD_KEY, type Kv, type KvCommit, type KvSnapshot } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { decodeEdgeRecord } from "../records/edge-record.js";
import { decodeMemoryRecord } from "../records/memory-record.js";
import { sealCommit } from "./commit.js";
import { foldEntry } from "./fold.js";
import { beginFold, type Fold, type FoldEntry, type FoldPart } from "./fold-state.js";
import { decodeHeadRow, type HeadRow, UNBORN } from "./head-row.js";
import { RowCache } from "./row-cache.js";
import { loadUnread, Unread, WriteView } from "./write-view.js";

/** How a replay goes. */
export interface ReplayOptions {
  readonly sha256: Sha256;
  /** Sizes at which a commit must end, ascending: positions somebody wants to look at. */
  readonly stops?: readonly number[];
  /** The epoch of a target that is not born yet; 0 unless given. */
  readonly epoch?: number;
  /** Sees every checked entry before it is folded: may refuse it, or give another in its place. */
  readonly admit?: (checked: CheckedRow) => CheckedRow;
  /** Called after each commit with the number of entries in the target. */
  readonly onCommit?: (size: number) => Promise<void> | void;
}

/** Entries folded into one commit. */
const CHUNK_ENTRIES = 1000;

/** Folds journal rows into `target`, starting at the size it has. Returns its size afterwards. */
export async function replay(
  target: Kv,
  rows: AsyncIterable<Bytes>,
  options: ReplayOptions,
): Promise<number> {
  let chunk: CheckedRow[] = [];
  let bytes = 0;
  const head = await headOf(target);
  let { size } = head;
  const stops = new Set(options.stops ?? []);
  let lastAt = size === 0 ? -1 : head.at;
  const cache = new RowCache();
  const flush = async (): Promise<void> => {
    if (chunk.length === 0) return;
    await commitChunk(target, chunk, options, cache);
    chunk = [];
    bytes = 0;
    await options.onCommit?.(size);
  };
  for await (const row of rows) {
    const entry = checkedEntry(options.sha256, row, size, lastAt);
    lastAt = entry.header.at;
    chunk.push(options.admit?.({ entry, row }) ?? { entry, row });
    bytes += row.length;
    size += 1;
    const full = chunk.length >= CHUNK_ENTRIES || bytes > LIMITS.groupBytes;
    if (full || stops.has(size)) await flush();
  }
  await flush();
  return size;
}

/** An entry and the row it came in. */
export interface CheckedRow {
  readonly entry: Entry;
  readonly row: Bytes;
}

async function headOf(target: Kv): Promise<HeadRow> {
  const snapshot = await target.snapshot();
  try {
    const [bytes] = await snapshot.getMany([HEAD_KEY]);
    return decodeHeadRow(bytes);
  } finally {
    snapshot.close();
  }
}

/** Reads and checks one row; `seq` is the one it must have. */
export function checkedEntry(sha256: Sha256, row: Bytes, seq: number, lastAt: number): Entry {
  const entry = readEntry(row, seq);
  const { header } = entry;
  if (header.seq !== seq) {
    throw new CortexError(
      "ERR_JOURNAL_GAP",
      `journal: expected entry ${seq}, got entry ${header.seq}`,
      { seq },
    );
  }
  if (header.at < lastAt) throw corruptEntry("its time lies before the entry before it", seq);
  if ((seq === 0) !== (header.kind === "genesis")) {
    throw corruptEntry("only entry 0 is the genesis", seq);
  }
  for (const [at, part] of entry.parts.entries()) {
    const expected = header.parts[at]?.hash;
    if (part === undefined || expected === null || expected === undefined) continue;
    const found = partHash(sha256, part);
    if (!equalBytes(found, expected)) {
      const hashes = { expected: toHex(expected), got: toHex(found) };
      throw corruptEntry(`part ${at} does not have the hash its header names`, seq, hashes);
    }
  }
  return entry;
}

function readEntry(row: Bytes, seq: number): Entry {
  try {
    return decodeEntry(row);
  } catch (error) {
    if (!(error instanceof CortexError)) throw error;
    throw new CortexError("ERR_CORRUPT", `journal entry ${seq}: ${error.message}`, { seq }, error);
  }
}

async function commitChunk(
  target: Kv,
  chunk: readonly CheckedRow[],
  options: ReplayOptions,
  cache: RowCache,
): Promise<void> {
  const snapshot = await target.snapshot();
  try {
    const { commit, view } = await foldRows(snapshot, chunk, options, cache);
    const result = await target.commit(commit);
    if (!result.ok) throw new Error("somebody else writes into the store that is being built");
    view.keepRows(cache);
  } finally {
    snapshot.close();
  }
}

/**
 * Folds checked entries over what a snapshot holds, into one commit that is not made yet. `cache` holds
 * rows that are known to be as in the snapshot.
 */
export async function foldRows(
  snapshot: KvSnapshot,
  chunk: readonly CheckedRow[],
  { sha256, epoch = 0 }: Pick<ReplayOptions, "sha256" | "epoch">,
  cache: RowCache,
): Promise<{ readonly commit: KvCommit; readonly view: WriteView }> {
  const view = new WriteView(cache);
  const inputs = chunk.map(({ entry }) => foldInput(entry));
  const hints = [HEAD_KEY, ...inputs.flatMap(likelyRows)];
  const values = await snapshot.getMany(hints);
  view.load(hints, values);
  const headBytes = values[0];
  const head: HeadRow = headBytes === undefined ? { ...UNBORN, epoch } : decodeHeadRow(headBytes);
  const fold = beginFold(sha256, view, head.counts);
  for (const [at, input] of inputs.entries()) {
    await foldWithReads(fold, snapshot, input, chunk[at]?.row ?? EMPTY);
  }
  const leafHashes = chunk.map(({ entry }) => entryLeaf(sha256, entry.headerBytes));
  const at = chunk.at(-1)?.entry.header.at ?? head.at;
  const done = { view, fold, headBytes, head, at, leafHashes };
  return { commit: await sealCommit(sha256, snapshot, done), view };
}

const EMPTY = new Uint8Array(0);

/** Folds one entry, loading what it turns out to need. */
async function foldWithReads(
  fold: Fold,
  snapshot: KvSnapshot,
  input: FoldEntry,
  row: Bytes,
): Promise<void> {
  for (;;) {
    const undo = markFold(fold);
    try {
      fold.view.put(journalKey(input.seq), row);
      foldEntry(fold, input);
      return;
    } catch (error) {
      undo();
      if (!(error instanceof Unread)) throw error;
      await loadUnread(snapshot, fold.view, error);
    }
  }
}

/** Remembers where a fold stands; the returned function goes back there. */
function markFold(fold: Fold): () => void {
  const { counts } = fold;
  const view = fold.view.mark();
  const leaves = fold.leaves.mark();
  return () => {
    fold.view.rollback(view);
    fold.leaves.rollback(leaves);
    fold.counts = counts;
  };
}

/** The entry as the fold takes it, its records decoded once. */
function foldInput({ header, parts }: Entry): FoldEntry {
  return {
    seq: header.seq,
    kind: header.kind,
    at: header.at,
    by: header.by,
    parts: header.parts.map((ref, at): FoldPart => {
      const bytes = parts[at];
      const record = bytes === undefined ? undefined : recordOf(header, at, bytes);
      return { ...ref, bytes, ...(record === undefined ? {} : { record }) };
    }),
    ...(header.request === undefined ? {} : { request: header.request }),
  };
}

function recordOf(header: EntryHeader, at: number, part: Bytes): FoldPart["record"] {
  const context = partContext(header, at);
  try {
    switch (header.parts[at]?.subject[0]) {
      case SUBJECT.memory:
        return decodeMemoryRecord(partRecord(part), context);
      case SUBJECT.edge:
        return decodeEdgeRecord(partRecord(part), context);
      default:
        return undefined;
    }
  } catch (error) {
    if (!(error instanceof CortexError)) throw error;
    throw new CortexError(
      "ERR_CORRUPT",
      `journal entry ${header.seq}: ${error.message}`,
      { seq: header.seq },
      error,
    );
  }
}

/** Rows that folding an entry will surely look at. */
function likelyRows(entry: FoldEntry): Bytes[] {
  return entry.parts.flatMap(({ subject, record }): Bytes[] => {
    const id = subject.subarray(1);
    if (subject[0] === SUBJECT.attachment) return [idKey("counter", id)];
    if (record === undefined) return [];
    if ("id" in record) return [idKey("edge", record.id)];
    const { fingerprint } = record.head;
    const rows = [idKey("memory", id)];
    if (fingerprint !== undefined) rows.push(idKey("fingerprint", fingerprint));
    return rows;
  });
}
