/**
 * `journalPage`: a stretch of the journal with its bytes, for a replica that follows this store. For the
 * owner alone, because it holds everything.
 *
 * Everything in a page is read from one snapshot: the entries, the checkpoint of the present, and the
 * proof that the journal up to the page's end leads to that checkpoint. State roots exist for the
 * present alone, so only a page that ends there can be held against all of them; the journal's own root
 * is proved for every page.
 *
 * Checking and folding a page is `history/replica-writer.ts`.
 */

import type { Asked } from "../contract/index.js";
import type { Engine } from "../engine/engine.js";
import { rowsAt } from "../history/build-beside.js";
import { Reader } from "../history/reader.js";
import { formatCheckpoint } from "../journal/checkpoint.js";
import { decodeHeader, splitEntry } from "../journal/entry.js";
import { type JournalPage, sealPage } from "../journal/journal-page.js";
import { tileKey } from "../kv/keyspace.js";
import type { Bytes, KvSnapshot } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import {
  consistencyProof,
  logRoot,
  type TileReader,
  tilesForConsistency,
  tilesForRoot,
} from "../merkle/log-tree.js";
import { stateAt } from "../proof/snapshot.js";
import { loadedRows } from "../proof/state-proofs.js";
import { beyondTheEnd } from "./log.js";

/** Reads a page of the journal. */
export async function journalPage(
  engine: Engine,
  { from = 0, limit = LIMITS.journalPageEntries }: Asked<"journalPage">,
): Promise<JournalPage> {
  const { sha256 } = engine;
  return Reader.with(engine.kv, undefined, async (reader) => {
    const { size, epoch } = reader.head;
    if (from > size) throw beyondTheEnd(from, size);
    const rows = await pageRows(reader.snapshot, from, size, limit);
    const end = from + rows.length;
    const loaded = loadedRows(reader.snapshot);
    const tiles = [...tilesForRoot(from), ...tilesForConsistency(end, size)];
    const [{ statement }] = await Promise.all([
      stateAt(engine, reader),
      loaded.load(tiles.map(({ level, index }) => tileKey(level, index))),
    ]);
    const read: TileReader = (level, index) => loaded.get(tileKey(level, index));
    return sealPage({
      from,
      fromRoot: logRoot(sha256, from, read),
      rows,
      consistency: consistencyProof(sha256, end, size, read),
      checkpoint: formatCheckpoint(sha256, statement),
      epoch,
      seq: size - 1,
    });
  });
}

/** Rows from `from` on: so many, not more bytes than a page may have, and never half a batch. */
async function pageRows(
  snapshot: KvSnapshot,
  from: number,
  size: number,
  limit: number,
): Promise<readonly Bytes[]> {
  const rows: Bytes[] = [];
  let bytes = 0;
  let end = size;
  for await (const row of rowsAt(snapshot, from, size)) {
    rows.push(row);
    bytes += row.length;
    if (from + rows.length >= end) break;
    if (end < size || (rows.length < limit && bytes < LIMITS.journalPageBytes)) continue;
    const { batch, seq } = decodeHeader(splitEntry(row).headerBytes);
    end = batch === undefined ? seq + 1 : batch.first + batch.length;
    if (seq + 1 >= end) break;
  }
  return rows;
}
