/**
 * What entries of the journal say about memories, as far as words are concerned.
 */
import type { PartPointer } from "../history/pointers.js";
import {
  decodeHeader,
  type EntryKind,
  partContext,
  partRecord,
  SUBJECT,
  splitEntry,
} from "../journal/entry.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { decodeMemoryRecord, type MemoryRecord } from "../records/memory-record.js";

/** What an entry says about one memory. */
export interface MemoryEvent extends PartPointer {
  readonly kind: EntryKind;
  readonly id: Bytes;
  /** The id as a text, to find it again. */
  readonly name: string;
  readonly record: MemoryRecord;
}

/** What an entry says about memories; parts that were erased say nothing. */
export function eventsOf(row: Bytes): readonly MemoryEvent[] {
  const { headerBytes, parts } = splitEntry(row);
  const header = decodeHeader(headerBytes);
  const events: MemoryEvent[] = [];
  for (const [part, { subject }] of header.parts.entries()) {
    const bytes = parts[part];
    if (subject[0] !== SUBJECT.memory || bytes === undefined) continue;
    const id = subject.slice(1);
    const record = decodeMemoryRecord(partRecord(bytes), partContext(header, part));
    const { seq, kind } = header;
    events.push({ seq, part, kind, id, name: keyString(id), record });
  }
  return events;
}

/**
 * Version 1 comes with a memory's first entry; a revert may carry it again. A lineage that came from
 * another graph begins with a higher number, which replaced nothing here.
 */
export function isBirth({ kind, record: { version } }: MemoryEvent): boolean {
  if (version?.number === 1) return kind !== "revert";
  return kind === "write" && version?.supersedes.length === 0;
}
