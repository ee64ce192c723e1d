/**
 * Writing a journal out: an export or a backup of one position, while others read and write.
 *
 * Everything is read from one snapshot of the store, so the file is one consistent position; the
 * snapshot lives as long as somebody takes chunks. The list of erased parts comes first and covers
 * the whole journal also where the file holds only its end, so that the erasures can be applied to
 * an older backup before anything is restored from it.
 */
import type { Hasher, Sha256 } from "../codec/hash.js";
import { toHex } from "../codec/keys.js";
import type { Asked } from "../contract/index.js";
import type { ExportReport } from "../contract/move.js";
import type { Engine } from "../engine/engine.js";
import { invalid } from "../errors.js";
import { rowsAt, withSnapshot } from "../history/build-beside.js";
import { headBytesAt } from "../history/compare-stores.js";
import { decodeHeadRow, FORMAT, type HeadRow } from "../history/head-row.js";
import { scan } from "../history/reader.js";
import { journalRootAt, readRoots } from "../history/trees.js";
import { decodeGenesis, type Genesis } from "../journal/entry.js";
import {
  type ErasureDocument,
  type ErasureList,
  erasedParts,
  gatherErasures,
} from "../journal/erasure-list.js";
import { encodeErased, encodeExportHeader, FRAME, frameWriter } from "../journal/export-format.js";
import { journalKey, KEYSPACE } from "../kv/keyspace.js";
import type { Kv, KvSnapshot } from "../kv/kv.js";
import { writeOut } from "./move-files.js";

/** What writing out needs. */
interface ExportParts {
  readonly kv: Kv;
  readonly sha256: Sha256;
  readonly hasher: () => Hasher;
  /** Called now and then with the number of entries written, and of all to be written. */
  readonly onProgress?: (done: number, total: number) => void;
}

/** Entries between two calls of `onProgress`. */
const PROGRESS_ENTRIES = 1000;

/**
 * The file, chunk by chunk; the report is what the generator returns at its end. With `since`, only
 * what came after that seq.
 */
export async function* exportChunks(
  parts: ExportParts,
  since?: number,
): AsyncGenerator<Uint8Array, ExportReport> {
  const snapshot = await parts.kv.snapshot({ untilIdle: true });
  try {
    const head = decodeHeadRow(await headBytesAt(snapshot));
    const from = firstOf(head, since);
    const writer = frameWriter(parts.hasher());
    const roots = await readRoots(parts.sha256, snapshot, head);
    const erased = await readErasures(snapshot, head.size);
    const header = encodeExportHeader({
      ...(await genesisAt(snapshot)),
      epoch: head.epoch,
      format: FORMAT,
      from,
      fromRoot: await journalRootAt(parts.sha256, snapshot, from),
      size: head.size,
      journalRoot: roots.journal,
      root: roots.overall,
    });
    yield* filled(writer.add(FRAME.header, header));
    for (const payload of encodeErased(erased)) yield* filled(writer.add(FRAME.erased, payload));
    for await (const { value } of scan(snapshot, Uint8Array.of(KEYSPACE.snapshot.byte))) {
      yield* filled(writer.add(FRAME.snapshot, value));
    }
    const entries = head.size - from;
    let done = 0;
    for await (const row of rowsAt(snapshot, from, head.size)) {
      const chunk = writer.add(FRAME.entry, row);
      if (chunk !== undefined) yield chunk;
      done += 1;
      if (done % PROGRESS_ENTRIES === 0) parts.onProgress?.(done, entries);
    }
    yield writer.end({ entries, root: roots.overall });
    parts.onProgress?.(entries, entries);
    const seq = head.size - 1;
    return { entries, from, seq, root: toHex(roots.overall), erased: erased.length };
  } finally {
    snapshot.close();
  }
}

function filled(chunk: Uint8Array | undefined): readonly Uint8Array[] {
  return chunk === undefined ? [] : [chunk];
}

function firstOf(head: HeadRow, since: number | undefined): number {
  if (since === undefined) return 0;
  if (since < head.size) return since + 1;
  throw invalid("since", `a seq from 0 to ${head.size - 1}`, since);
}

/** Whose journal it is, and of which store. */
export async function genesisAt(snapshot: KvSnapshot): Promise<Pick<Genesis, "actor" | "storeId">> {
  const [row] = await snapshot.getMany([journalKey(0)]);
  if (row === undefined) throw invalid("store", "a store with entries", "an empty one");
  const { actor, storeId } = decodeGenesis(row);
  return { actor, storeId };
}

/** Every erased part of the first `size` entries. */
async function readErasures(snapshot: KvSnapshot, size: number): Promise<ErasureList> {
  const list = gatherErasures();
  let seq = 0;
  for await (const row of rowsAt(snapshot, 0, size)) {
    for (const part of erasedParts(row)) list.add(seq, part);
    seq += 1;
  }
  return list.end();
}

/** Writes the journal out: all of it, or with `since` what came after. */
export async function backup(
  engine: Engine,
  { target, since, onProgress }: Asked<"backup">,
): Promise<ExportReport> {
  const progress = onProgress === undefined ? {} : { onProgress };
  return writeOut(target, exportChunks({ ...engine, ...progress }, since));
}

/** The places of everything that was ever erased: a document to be kept apart from the backups. */
export async function erasures({ kv }: Engine): Promise<ErasureDocument> {
  return withSnapshot(
    kv,
    async (snapshot) => {
      const { size } = decodeHeadRow(await headBytesAt(snapshot));
      const { actor, storeId } = await genesisAt(snapshot);
      const list = await readErasures(snapshot, size);
      const erased = Array.from(list, ({ seq, part }) => [seq, part] as const);
      return { cortex: "erasures", format: 1, actor, storeId, size, erased };
    },
    { untilIdle: true },
  );
}
