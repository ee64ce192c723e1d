/**
 * `changes`: what happened between two journal positions, entry by entry, as far as it may still be
 * told: forgotten content is not.
 */
import { ulidText } from "../codec/ulid.js";
import type { Asked } from "../contract/index.js";
import type { Change, ChangesPage, MemoryChange } from "../contract/journal.js";
import type { Edge, MemoryId } from "../contract/shapes.js";
import { type Engine, memoryId } from "../engine/engine.js";
import { shapeEdge } from "../engine/shapes.js";
import { invalid } from "../errors.js";
import { positionOf, Reader } from "../history/reader.js";
import { decodeEntry, type Entry, partContext, partRecord, SUBJECT } from "../journal/entry.js";
import { journalKey } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import { decodeEdgeRecord } from "../records/edge-record.js";
import { decodeMemoryRecord } from "../records/memory-record.js";
import { buildUri } from "../records/uri.js";

/** What happened after `from`, up to and including `to` (the end when not given). */
export async function changes(
  engine: Engine,
  { from, to, limit = LIMITS.listLimitDefault }: Asked<"changes">,
): Promise<ChangesPage> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const first = await positionOf(reader.snapshot, reader.head, from);
    const last = to === undefined ? reader.seq : await positionOf(reader.snapshot, reader.head, to);
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
