/**
 * Looking at the journal itself: entries in order, and how much the store holds. For the owner alone.
 *
 * `changes`: what happened between two journal positions, entry by entry, without content that was forgotten.
 *
 * `journalPage`: a stretch of the journal with its bytes, for a replica that follows this store. For the
 * owner alone, because it holds everything.
 *
 * Everything in a page is read from one snapshot: the entries, the checkpoint of the present, and the proof that
 * the journal up to the page's end leads to that checkpoint. State roots exist for the present alone, so only a
 * page that ends there can be compared with all of them; the journal's own root is proved for every page.
 *
 * Checking and folding a page is `history/replica-writer.ts`.
 */
import { toHex } from "../codec/keys.js";
import { ulidText } from "../codec/ulid.js";
import type { Asked } from "../contract/index.js";
import type {
  Change,
  ChangesPage,
  LogItem,
  LogPage,
  MemoryChange,
  Stats,
} from "../contract/journal.js";
import type { Edge, MemoryId } from "../contract/shapes.js";
import { type Engine, memoryId } from "../engine/engine.js";
import { shapeEdge } from "../engine/shapes.js";
import { CortexError, invalid } from "../errors.js";
import { typeCounts } from "../find/schema.js";
import { rowsAt } from "../history/build-beside.js";
import { positionOf, Reader } from "../history/reader.js";
import { replicaOf } from "../history/replica-mark.js";
import { readJobs } from "../jobs/lease.js";
import { formatCheckpoint } from "../journal/checkpoint.js";
import {
  decodeEntry,
  decodeHeader,
  type Entry,
  partContext,
  partRecord,
  SUBJECT,
  splitEntry,
} from "../journal/entry.js";
import { type JournalPage, sealPage } from "../journal/journal-page.js";
import { FOLLOW_KEY, journalKey, REPLICA_KEY, tileKey } from "../kv/keyspace.js";
import type { Bytes, KvSnapshot } from "../kv/kv.js";
import { INTEGER_MAX, LIMITS } from "../limits.js";
import {
  consistencyProof,
  logRoot,
  type TileReader,
  tilesForConsistency,
  tilesForRoot,
} from "../merkle/log-tree.js";
import { stateAt } from "../proof/snapshot.js";
import { loadedRows } from "../proof/state-proofs.js";
import { decodeEdgeRecord } from "../records/edge-record.js";
import { decodeMemoryRecord } from "../records/memory-record.js";
import { buildUri } from "../records/uri.js";

/** Reads entries from `from` on. */
export async function log(
  engine: Engine,
  { from = 0, limit = LIMITS.listLimitDefault }: Asked<"log">,
): Promise<LogPage> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const [rows = []] = await reader.ranges([
      { gte: journalKey(from), lt: journalKey(Math.min(from + limit, INTEGER_MAX)), limit },
    ]);
    const entries = rows.map(({ value }) => shapeEntry(decodeEntry(value)));
    const next = from + entries.length;
    return { entries, seq: reader.seq, ...(next <= reader.seq ? { next } : {}) };
  });
}

/** The failure of a reader who has seen more of the journal than there is. */
export function beyondTheEnd(from: number, size: number): CortexError {
  return new CortexError(
    "ERR_ROLLED_BACK",
    `from: expected a seq up to ${size}, where the journal ends, got ${from}`,
    { field: "from", expected: `at most ${size}`, got: String(from), seq: size - 1 },
  );
}

/** An entry as the journal's readers see it. */
export function shapeEntry({ header, parts }: Entry): LogItem {
  return {
    seq: header.seq,
    kind: header.kind,
    at: header.at,
    by: header.by,
    parts: header.parts.map(({ subject, hash }, at) => ({
      subject: showSubject(subject),
      erased: hash !== null && parts[at] === undefined,
      ...(hash === null ? {} : { hash: toHex(hash) }),
    })),
    ...(header.batch === undefined ? {} : { batch: header.batch }),
  };
}

const NAMES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(SUBJECT).map(([name, tag]) => [tag, name]),
);

function showSubject(subject: Uint8Array): string {
  const name = NAMES[subject[0] ?? -1] ?? "unknown";
  const rest = subject.subarray(1);
  if (rest.length === 0) return name;
  return `${name}:${rest.length === 16 ? ulidText(rest) : toHex(rest)}`;
}

/** Counts and position of the store. */
export async function stats(engine: Engine): Promise<Stats> {
  const sizeBytes = await engine.kv.sizeBytes();
  const database = await engine.kv.report?.();
  const indexes = await indexStats(engine);
  const read = async (reader: Reader): Promise<Stats> => {
    const { head, seq } = reader;
    const { counts } = head;
    const { name, durable, syncMode } = engine.kv.manifest;
    return {
      actor: engine.actor,
      backend: name,
      durable,
      syncMode,
      entries: head.size,
      seq,
      lastAt: head.at,
      epoch: head.epoch,
      format: head.format,
      foldVersion: head.foldVersion,
      memories: {
        active: counts.active,
        archived: counts.archived,
        tombstoned: counts.tombstoned,
        erased: counts.erased,
      },
      edges: {
        live: counts.edgesLive,
        removed: counts.edgesRemoved,
        openKinds: counts.openEdgeKinds,
      },
      types: typeCounts(await engine.vocabulary.types(reader)),
      ...indexes,
      jobs: await readJobs(reader, engine.clock()),
      ...replicaStats(await reader.getMany([REPLICA_KEY, FOLLOW_KEY]), head.size),
      sizeBytes,
      ...(database === undefined ? {} : { database }),
    };
  };
  return engine.vocabulary.inTurn(() => Reader.with(engine.kv, undefined, read));
}

/** How a replica stands to its source; nothing for any other store. */
function replicaStats(rows: readonly (Bytes | undefined)[], size: number): Pick<Stats, "replica"> {
  const replica = replicaOf(rows);
  if (replica === undefined) return {};
  const { sourceSize, heardAt, failure } = replica.status;
  return {
    replica: {
      source: replica.source,
      lag: Math.max(0, sourceSize - size),
      ...(heardAt === 0 ? {} : { heardAt }),
      ...(failure === undefined ? {} : { lastError: failure }),
    },
  };
}

/** Where the indexes stand that follow the journal. */
async function indexStats({ text, vectors }: Engine): Promise<Pick<Stats, "text" | "vectors">> {
  const words = await text.status();
  const known = { text: { ...words, lag: words.tail } };
  const status = await vectors.status();
  if (status === undefined) return known;
  const { loaded: _, ...stored } = status;
  return { ...known, vectors: stored };
}

/** What happened after `from`, up to and including `to` (the end when not given). */
export async function changes(
  engine: Engine,
  { from, to, limit = LIMITS.listLimitDefault }: Asked<"changes">,
): Promise<ChangesPage> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const { snapshot, head, seq } = reader;
    const first = await positionOf(snapshot, head, from, "from");
    const last = to === undefined ? seq : await positionOf(snapshot, head, to, "to");
    if (last < first) throw invalid("to", `a position not before ${first}`, last, "ERR_AS_OF");
    const end = Math.min(last, first + limit);
    const [rows = []] = await reader.ranges([
      { gte: journalKey(first + 1), lt: journalKey(end + 1), limit },
    ]);
    return {
      changes: rows.map(({ value }) => shapeChange(engine, decodeEntry(value))),
      from: first,
      to: last,
      seq: reader.seq,
      ...(end < last ? { next: end } : {}),
    };
  });
}

function shapeChange(engine: Engine, entry: Entry): Change {
  const { header } = entry;
  const memories: MemoryChange[] = [];
  const edges: Edge[] = [];
  for (const [at, { subject }] of header.parts.entries()) {
    const bytes = entry.parts[at];
    if (subject[0] === SUBJECT.memory || subject[0] === SUBJECT.attachment) {
      memories.push(shapeMemoryChange(engine, entry, at));
    } else if (subject[0] === SUBJECT.edge && bytes !== undefined) {
      const edge = decodeEdgeRecord(partRecord(bytes), partContext(header, at));
      edges.push(shapeEdge(edge, header.seq));
    }
  }
  const { seq, kind, at, by } = header;
  return { seq, kind, at, by, memories, edges };
}

function shapeMemoryChange(engine: Engine, entry: Entry, at: number): MemoryChange {
  const subject = entry.header.parts[at]?.subject ?? new Uint8Array(17);
  const bytes = entry.parts[at];
  const id = subject.subarray(1);
  if (bytes === undefined) return { id: memoryId(id), erased: true };
  if (subject[0] === SUBJECT.attachment) return { id: memoryId(id), erased: false };
  const context = partContext(entry.header, at);
  const { head, version } = decodeMemoryRecord(partRecord(bytes), context);
  if (head.lifecycle === "erased") {
    return { id: ulidText(id) as MemoryId, erased: true, type: head.type, lifecycle: "erased" };
  }
  return {
    id: memoryId(id),
    erased: false,
    type: head.type,
    version: head.version,
    lifecycle: head.lifecycle,
    uri: buildUri({ actor: engine.actor, type: head.type, id, version: head.version }),
    ...(version === undefined ? {} : { text: version.forms.short }),
  };
}

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
