/**
 * What the text index holds of a memory that is about to be forgotten: each of its documents with its
 * words, read inside the very operation that erases them, so that no later write comes in between.
 */

import { ownedRanges } from "../history/fold-erasure.js";
import { decodeMemoryRow, type MemoryRow } from "../history/pointers.js";
import type { WriteTx } from "../history/writer.js";
import { journalKey } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import type { Version } from "../records/memory-record.js";
import { LIFECYCLES } from "../records/types.js";
import type { Analyser } from "./analyse.js";
import { eachDocumentWord } from "./document.js";
import type { ErasedDocument } from "./text-purge.js";

/** The documents of a memory, one for each state it ever had. */
export function documentsOf(
  tx: WriteTx,
  analyser: Analyser,
  memory: { readonly id: Bytes; readonly row: MemoryRow },
): readonly ErasedDocument[] {
  const { id, row } = memory;
  const { history } = ownedRanges(id);
  tx.view.need([], [history]);
  const before = tx.view.range(history).map(({ value }) => decodeMemoryRow(value));
  const states = [...before, row];
  tx.view.need(states.map(({ seq }) => journalKey(seq)));
  // Every version came with one of the states.
  const versions = new Map<number, Version>();
  const records = states.map((state) => tx.fold.records.memory(state));
  for (const { version } of records)
    if (version !== undefined) versions.set(version.number, version);
  return records.map(({ head }, at) => {
    const bodies = [head.version, ...head.siblings].flatMap((number) => versions.get(number) ?? []);
    const words = new Set<string>();
    eachDocumentWord(analyser, { head, bodies }, (word) => words.add(word));
    const begin = states[at]?.seq ?? row.seq;
    return { lifecycle: LIFECYCLES[head.lifecycle].code, id, begin, words };
  });
}
