/**
 * Following the journal: which memories the entries since the last run touched. Upkeep that depends on
 * what was written looks at those alone, so that a run costs what has happened, not what there is.
 */
import { decode, encode } from "../codec/cbor.js";
import { decodeEntry, type Entry, partContext, partRecord, SUBJECT } from "../journal/entry.js";
import { journalKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { decodeEdgeRecord } from "../records/edge-record.js";
import { int, list } from "../records/memory-record.js";
import { hasRoom, type PlanWorld, type Progress } from "./maintain-plan.js";

/** How the journal is followed. */
export interface Following {
  /** Entries that are looked at together; time is asked for between pieces. */
  readonly pieceEntries: number;
  /** Whether a memory is touched by a change of its edges as well. */
  readonly edges: boolean;
  /** Looks at memories that were touched, in the order in which they were, each once in a run. */
  readonly lookAt: (ids: readonly Bytes[]) => Promise<void>;
}

/**
 * Follows the journal from a cursor, piece by piece, for as long as there is time and room. A piece in
 * which the room ran out is looked at again by the next run: what it changed is settled by then.
 */
export async function followJournal(
  world: PlanWorld,
  cursor: Bytes | undefined,
  { pieceEntries, edges, lookAt }: Following,
): Promise<Progress> {
  const { reader } = world;
  const size = reader.seq + 1;
  let from = followedUpTo(cursor, size);
  // One snapshot gives one answer, however often an entry touched the memory.
  const seen = new Set<string>();
  while (from < size && !world.isOver() && hasRoom(world)) {
    const to = Math.min(size, from + pieceEntries);
    const range = { gte: journalKey(from), lt: journalKey(to), limit: pieceEntries };
    const [rows = []] = await reader.ranges([range]);
    const ids: Bytes[] = [];
    for (const { value } of rows) {
      for (const id of touchedBy(decodeEntry(value), edges)) {
        if (!seen.has(keyString(id))) ids.push(id);
        seen.add(keyString(id));
      }
    }
    if (ids.length > 0) await lookAt(ids);
    if (!hasRoom(world)) break;
    from = to;
  }
  return { cursor: seqCursor(from), finished: from >= size };
}

/** The bytes of a cursor: the first entry that was not looked at. */
export function seqCursor(seq: number): Bytes {
  return encode([seq]);
}

/** The first entry that was not looked at, in a journal of so many. */
export function followedUpTo(cursor: Bytes | undefined, size: number): number {
  const known = cursor === undefined ? 0 : int(list(decode(cursor))[0], 0);
  // A cursor beyond the end is that of another store: the caches were carried over by hand.
  return known > size ? 0 : known;
}

/** The memories that an entry wrote, and the ends of the edges it wrote if they count. */
function touchedBy({ header, parts }: Entry, edges: boolean): readonly Bytes[] {
  return header.parts.flatMap(({ subject }, at): readonly Bytes[] => {
    const bytes = parts[at];
    switch (subject[0]) {
      case SUBJECT.memory:
        return [subject.slice(1)];
      case SUBJECT.edge: {
        if (!edges || bytes === undefined) return [];
        const { from, to } = decodeEdgeRecord(partRecord(bytes), partContext(header, at));
        return to instanceof Uint8Array ? [from, to] : [from];
      }
      default:
        return [];
    }
  });
}
