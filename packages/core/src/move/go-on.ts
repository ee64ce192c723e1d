/**
 * Going on with an import that was broken off, where a backend keeps what it had built.
 *
 * Promises: what was left is checked before it is used. It must be of the same store, in the form of this
 * release, and every entry of it is compared with the file, byte for byte, before the import goes on behind it;
 * snapshots at positions that were passed are checked by the root of the journal there. From where the two part,
 * the import goes on in a store of its own.
 */
import { type ErrorCode, isCortexError } from "../errors.js";
import { checkLate, headOf, rowsAt, startBuilding, withSnapshot } from "../history/build-beside.js";
import { headBytesAt } from "../history/compare-stores.js";
import { decodeHeadRow } from "../history/head-row.js";
import type { Manifest } from "../history/manifest.js";
import type { ExportHeader } from "../journal/export-format.js";
import { type Bytes, type Kv, type KvGeneration, sameBytes } from "../kv/kv.js";
import { genesisAt } from "./export-journal.js";
import type { ImportParts } from "./import-journal.js";

/** Where an import begins. */
export interface Beginning {
  readonly generation: KvGeneration;
  /** The entries of the file that are not there yet, all of them unless something was left. */
  readonly rows: AsyncIterable<Bytes>;
}

/** What going on needs of a file. */
interface ImportedFile {
  readonly header: ExportHeader;
  readonly manifests: readonly Manifest[];
  readonly rows: () => AsyncGenerator<Bytes>;
  /** Sees every entry that is passed over, as replaying would show it. */
  readonly admit: (row: Bytes, seq: number) => void;
}

/** Entries of one page, and between two reports of progress. */
const PAGE_ENTRIES = 1000;

/** What says that a store cannot be gone on with by this release. */
const UNREADABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "ERR_FORMAT_NEWER",
  "ERR_FORMAT_OLDER",
  "ERR_FORMAT_UNKNOWN",
  "ERR_CORRUPT",
]);

/** Finds what was left of an import of this very file, compares it with the file, and says where to go on. */
export async function goOn(parts: ImportParts, file: ImportedFile): Promise<Beginning> {
  const { kv, sha256 } = parts;
  const left = await kv.leftGeneration?.();
  const size = left === undefined ? 0 : await sizeLeft(left.kv, file.header);
  const rows = file.rows();
  if (left === undefined || size === 0) {
    await left?.abandon();
    return { generation: await kv.nextGeneration(), rows };
  }
  try {
    const { same, next } = await passOver(parts, left.kv, { ...file, rows: () => rows }, size);
    if (same < size) return await startOver(kv, left, same, next === undefined ? [] : [next], rows);
    const passed = file.manifests.filter((manifest) => manifest.size <= size);
    await checkLate(sha256, startBuilding(left.kv), await headOf(left.kv), passed);
    return { generation: left, rows };
  } catch (error) {
    await left.abandon();
    throw error;
  }
}

/** How many entries were left; 0 where it is of another store, or of another form. */
async function sizeLeft(kv: Kv, header: ExportHeader): Promise<number> {
  try {
    return await withSnapshot(kv, async (snapshot) => {
      const { size, epoch } = decodeHeadRow(await headBytesAt(snapshot));
      if (size === 0 || size > header.size || epoch !== header.epoch) return 0;
      const { actor, storeId } = await genesisAt(snapshot);
      return actor === header.actor && storeId === header.storeId ? size : 0;
    });
  } catch (error) {
    if (isCortexError(error) && UNREADABLE.has(error.code)) return 0;
    throw error;
  }
}

/** Reads the entries of a file that are there already, as long as they are the same; and the first that is not. */
async function passOver(
  { onProgress }: ImportParts,
  left: Kv,
  file: ImportedFile,
  size: number,
): Promise<{ readonly same: number; readonly next?: Bytes }> {
  const rows = file.rows();
  let same = 0;
  for await (const stored of storedRows(left, size)) {
    const { value, done } = await rows.next();
    // The file ends before its header says: told by whoever reads on.
    if (done === true) return { same };
    if (!sameBytes(value, stored)) return { same, next: value };
    file.admit(value, same);
    same += 1;
    if (same % PAGE_ENTRIES === 0) onProgress?.(same, file.header.size);
  }
  return { same };
}

/** A store of its own, with what is the same, the entry at which the two part, and what follows. */
async function startOver(
  kv: Kv,
  left: KvGeneration,
  same: number,
  next: readonly Bytes[],
  rest: AsyncIterable<Bytes>,
): Promise<Beginning> {
  const generation = await kv.nextGeneration();
  const rows = async function* (): AsyncGenerator<Bytes> {
    try {
      yield* storedRows(left.kv, same);
    } finally {
      await left.abandon();
    }
    yield* next;
    yield* rest;
  };
  return { generation, rows: rows() };
}

/** The first entries of a store, page by page: nobody else writes there. */
async function* storedRows(kv: Kv, size: number): AsyncGenerator<Bytes> {
  for (let from = 0; from < size; from += PAGE_ENTRIES) {
    const to = Math.min(from + PAGE_ENTRIES, size);
    yield* await withSnapshot(kv, async (snapshot) => {
      const page: Bytes[] = [];
      for await (const row of rowsAt(snapshot, from, to)) page.push(row);
      return page;
    });
  }
}
