/**
 * What entries of the journal say about memories, as far as words are concerned: read from rows of the journal, or handed
 * over by the writer of this process right after its commit, because reading back and decoding took as long as half of
 * finding the words.
 *
 * Promise: what is handed over for an entry is what `eventsOf` reads of its row. An entry for which that is
 * uncertain is left out, and so is one that nobody took in time; those are read from the journal. Records are
 * handed over as they were folded: an input is copied when it is checked, and whoever shows a new record shows a
 * copy.
 */

import type { FoldEntry, FoldPart } from "../history/fold-state.js";
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

/** Entries that are held at most, and bytes of their records: some megabytes of objects. */
const ENTRIES_MOST = 4096;
const BYTES_MOST = 4 * 1024 * 1024;

/** What is held of one entry. */
interface Handed {
  /** Absent where it has to be read. */
  readonly events: readonly MemoryEvent[] | undefined;
  readonly bytes: number;
}

/** What the writer of this process has just committed, until the text index comes for it. */
export class HandedEntries {
  #held: Handed[] = [];
  #first = 0;
  #bytes = 0;

  /** How many entries are held. */
  get size(): number {
    return this.#held.length;
  }

  /** The first seq that is held; the first that may come, while none is. */
  get first(): number {
    return this.#first;
  }

  /** Takes the entries of a commit, after which the journal has `end`. */
  take(end: number, entries: readonly FoldEntry[]): void {
    const from = end - entries.length;
    // Somebody else has written in between.
    if (from !== this.#first + this.#held.length) this.#clear(from);
    for (const entry of entries) {
      // The journal no longer tells what was erased: what is held might.
      if (entry.kind === "forget") {
        this.#clear(entry.seq + 1);
        continue;
      }
      const handed = handedOf(entry);
      this.#held.push(handed);
      this.#bytes += handed.bytes;
    }
    let gone = Math.max(0, this.#held.length - ENTRIES_MOST);
    let bytes = this.#bytes;
    for (let at = 0; at < this.#held.length && (at < gone || bytes > BYTES_MOST); at += 1) {
      bytes -= this.#held[at]?.bytes ?? 0;
      gone = at + 1;
    }
    this.#drop(gone);
  }

  /** What the entries from a seq on say, up to `to` or to the first that has to be read; nothing is held of them after. */
  give(from: number, to: number): readonly (readonly MemoryEvent[])[] {
    if (from < this.#first) return [];
    const given: (readonly MemoryEvent[])[] = [];
    for (let seq = from; seq < to; seq += 1) {
      const events = this.#held[seq - this.#first]?.events;
      if (events === undefined) break;
      given.push(events);
    }
    this.#drop(from + given.length - this.#first);
    return given;
  }

  #drop(count: number): void {
    if (count <= 0) return;
    for (const { bytes } of this.#held.splice(0, count)) this.#bytes -= bytes;
    this.#first += count;
  }

  #clear(first: number): void {
    this.#held = [];
    this.#bytes = 0;
    this.#first = first;
  }
}

/** Most entries bring new memories. What touches one that was there is read: it may have been forgotten elsewhere since. */
function handedOf({ seq, kind, parts }: FoldEntry): Handed {
  const events: MemoryEvent[] = [];
  let size = 0;
  for (let part = 0; part < parts.length; part += 1) {
    const { subject, bytes, record } = parts[part] as FoldPart;
    if (subject[0] !== SUBJECT.memory) continue;
    if (bytes === undefined || record === undefined) return READ;
    const id = subject.subarray(1);
    const name = keyString(id);
    const event = { seq, part, kind, id, name, record: record as MemoryRecord };
    if (!isBirth(event)) return READ;
    events.push(event);
    size += bytes.length;
  }
  return { events, bytes: size };
}

const READ: Handed = { events: undefined, bytes: 0 };
