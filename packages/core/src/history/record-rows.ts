/**
 * Records as the journal holds them: read by pointers, each journal row once.
 */
import { CortexError } from "../errors.js";
import {
  decodeHeader,
  type EntryHeader,
  type PartContext,
  partContext,
  partRecord,
  splitEntry,
} from "../journal/entry.js";
import { journalKey } from "../kv/keyspace.js";
import type { Bytes, KvSnapshot } from "../kv/kv.js";
import type { PartPointer } from "./pointers.js";

/** A record with the header of the entry that holds it. */
export interface Read<T> {
  readonly record: T;
  readonly header: EntryHeader;
}

/** The records at pointers, each journal row read once; `undefined` where erased. */
export async function readRecords<T>(
  snapshot: Pick<KvSnapshot, "getMany">,
  pointers: readonly PartPointer[],
  decode: (bytes: Bytes, context: PartContext) => T,
): Promise<(Read<T> | undefined)[]> {
  const seqs = [...new Set(pointers.map(({ seq }) => seq))];
  const rows = seqs.length === 0 ? [] : await snapshot.getMany(seqs.map(journalKey));
  const entries = new Map<number, ReturnType<typeof openEntry>>();
  for (const [at, seq] of seqs.entries()) entries.set(seq, openEntry(rows[at], seq));
  return pointers.map(({ seq, part }) => {
    const entry = entries.get(seq);
    const bytes = entry?.parts[part];
    if (entry === undefined || bytes === undefined) return undefined;
    const { header } = entry;
    return { record: decode(partRecord(bytes), partContext(header, part)), header };
  });
}

/** The header and the parts of a journal row; a row that is missing is `ERR_JOURNAL_GAP`. */
export function openEntry(
  row: Bytes | undefined,
  seq: number,
): { readonly header: EntryHeader; readonly parts: readonly (Bytes | undefined)[] } {
  if (row === undefined) {
    throw new CortexError("ERR_JOURNAL_GAP", `journal entry ${seq} is missing`, { seq });
  }
  const { headerBytes, parts } = splitEntry(row);
  return { header: decodeHeader(headerBytes), parts };
}
