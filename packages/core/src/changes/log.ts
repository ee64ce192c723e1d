/**
 * Looking at the journal itself: entries in order, and how much the store holds. For the owner alone.
 */

import { toHex } from "../codec/keys.js";
import { ulidText } from "../codec/ulid.js";
import type { Asked } from "../contract/index.js";
import type { LogItem, LogPage, Stats } from "../contract/journal.js";
import type { Engine } from "../engine/engine.js";
import { CortexError } from "../errors.js";
import { typeCounts } from "../find/schema.js";
import { Reader } from "../history/reader.js";
import { replicaOf } from "../history/replica-mark.js";
import { readJobs } from "../jobs/lease.js";
import { decodeEntry, type Entry, SUBJECT } from "../journal/entry.js";
import { FOLLOW_KEY, journalKey, REPLICA_KEY } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { INTEGER_MAX, LIMITS } from "../limits.js";

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
