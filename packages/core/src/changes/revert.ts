/**
 * `revert`: undoes what one entry did, by a new entry. Nothing is taken out of the journal.
 *
 * A memory or an edge the entry created is tombstoned; one it changed gets back the very part it had
 * before, salt included, so that its leaf is the leaf it had. A version that the entry brought keeps
 * its number and its URI and is set aside. Reverting the revert puts it back the same way.
 *
 * That is possible only while the entry's state is still the current one: what has moved on since is
 * refused with `ERR_CONFLICT`, and a forget cannot be reverted at all.
 */

import type { Asked } from "../contract/index.js";
import type { RevertResult } from "../contract/journal.js";
import type { MemoryId } from "../contract/shapes.js";
import { edgePart, headPart, partAgain, subject } from "../engine/drafts.js";
import { type Engine, memoryId } from "../engine/engine.js";
import { keptWhole } from "../engine/idempotency.js";
import { CortexError } from "../errors.js";
import { decodeAdjacency, decodeEdgeRow, decodeMemoryRow } from "../history/pointers.js";
import type { RecordDraft, WriteTx } from "../history/writer.js";
import { decodeEntry, type Entry, partContext, partRecord, SUBJECT } from "../journal/entry.js";
import { edgeClosedKey, historyKey, idKey, journalKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { slotRange } from "../memory/write.js";
import { decodeEdgeRecord, type EdgeRecord, edgeTreeKey } from "../records/edge-record.js";
import type { Head } from "../records/memory-record.js";

/** Kinds of entries that change memories and edges and can be undone. */
const REVERTIBLE: ReadonlySet<string> = new Set([
  "write",
  "update",
  "update_head",
  "tombstone",
  "restore",
  "add_edge",
  "remove_edge",
  "revert",
  "settle",
  "maintain",
]);

/** Appends the entry that undoes entry `seq`. */
export async function revert(
  engine: Engine,
  { seq, by = engine.principal }: Asked<"revert">,
): Promise<RevertResult> {
  const { value } = await engine.writer.submit({
    hints: [journalKey(seq)],
    again: keptWhole<RevertResult>(),
    run: (tx) => {
      const row = tx.view.get(journalKey(seq));
      if (row === undefined) {
        throw new CortexError("ERR_NOT_FOUND", `seq: there is no entry ${seq}`, {
          field: "seq",
          seq,
        });
      }
      return applyRevert(engine, tx, decodeEntry(row), by);
    },
  });
  return value;
}

function applyRevert(engine: Engine, tx: WriteTx, entry: Entry, by: string): RevertResult {
  const { header } = entry;
  if (!isRevertible(header)) {
    const code = header.kind === "forget" ? "ERR_ERASED" : "ERR_CONFLICT";
    throw new CortexError(code, `seq: an entry of kind ${header.kind} cannot be reverted`, {
      field: "seq",
      seq: header.seq,
    });
  }
  const parts: RecordDraft[] = [];
  const memories: MemoryId[] = [];
  let edges = 0;
  for (const [at, ref] of header.parts.entries()) {
    const bytes = entry.parts[at];
    const id = ref.subject.subarray(1);
    if (bytes === undefined) throw gone(header.seq);
    if (ref.subject[0] === SUBJECT.memory) {
      parts.push(revertMemory(tx, by, id, header.seq));
      memories.push(memoryId(id));
    } else if (ref.subject[0] === SUBJECT.edge) {
      const record = decodeEdgeRecord(partRecord(bytes), partContext(header, at));
      parts.push(revertEdge(engine, tx, by, record, header.seq));
      edges += 1;
    }
  }
  refuseTakenSlots(tx, parts, header.seq);
  const seq = tx.append({ kind: "revert", by, parts });
  return { reverted: header.seq, seq, memories, edges };
}

/** Whether an entry changed memories or edges; a restatement did when it lifted what it restated. */
function isRevertible({ kind, parts }: Entry["header"]): boolean {
  if (REVERTIBLE.has(kind)) return true;
  return kind === "reinforce" && parts.some(({ subject }) => subject[0] === SUBJECT.memory);
}

/** Refuses to bring a memory back into a slot that has another value by now. */
function refuseTakenSlots(tx: WriteTx, parts: readonly RecordDraft[], seq: number): void {
  const heads = new Map<string, Head>();
  for (const part of parts) {
    const { decoded } = part;
    if (decoded !== undefined && "head" in decoded) {
      heads.set(keyString(part.subject.subarray(1)), decoded.head);
    }
  }
  const slots = [...heads.values()].flatMap(({ slot, lifecycle }) =>
    slot !== undefined && lifecycle === "active" ? [slot] : [],
  );
  tx.view.need([], slots.map(slotRange));
  for (const slot of slots) {
    for (const { key } of tx.view.range(slotRange(slot))) {
      const id = key.subarray(key.length - 16);
      if (heads.has(keyString(id))) continue;
      const taken = `slot ${slot} now holds ${memoryId(id)}`;
      throw new CortexError("ERR_CONFLICT", `seq: entry ${seq} cannot be reverted, its ${taken}`, {
        field: "seq",
        subject: memoryId(id),
      });
    }
  }
}

function gone(seq: number): CortexError {
  return new CortexError("ERR_ERASED", `seq: a part of entry ${seq} was forgotten`, {
    field: "seq",
    seq,
  });
}

function movedOn(what: string, seq: number, now: number): CortexError {
  return new CortexError(
    "ERR_CONFLICT",
    `seq: ${what} has changed since entry ${seq}, in entry ${now}; revert that one first`,
    { field: "seq", seq: now },
  );
}

function revertMemory(tx: WriteTx, by: string, id: Bytes, seq: number): RecordDraft {
  const rowBytes = tx.view.get(idKey("memory", id));
  if (rowBytes === undefined) throw gone(seq);
  const row = decodeMemoryRow(rowBytes);
  if (row.lifecycle === "erased") throw gone(seq);
  if (row.seq !== seq) throw movedOn(`memory ${memoryId(id)}`, seq, row.seq);
  const range = { gte: historyKey(id, 0), lt: historyKey(id, seq), limit: 1, reverse: true };
  const [before] = tx.view.range(range);
  if (before === undefined) {
    const tombstone = { reason: `reverted entry ${seq}`, at: tx.at, by };
    const head: Head = { ...tx.fold.records.head(row), lifecycle: "tombstoned", tombstone };
    return headPart(tx, by, { id, row }, head);
  }
  const old = decodeMemoryRow(before.value);
  return partAgain(tx, subject(SUBJECT.memory, id), old, tx.fold.records.memory(old));
}

function revertEdge(
  engine: Engine,
  tx: WriteTx,
  by: string,
  record: EdgeRecord,
  seq: number,
): RecordDraft {
  const rowBytes = tx.view.get(idKey("edge", record.id));
  if (rowBytes === undefined) throw gone(seq);
  const row = decodeEdgeRow(rowBytes);
  if (row.seq !== seq) throw movedOn(`edge ${memoryId(record.id)}`, seq, row.seq);
  const keys = [1, 2].map((state) => edgeClosedKey("out", row, state, seq));
  tx.view.need(keys);
  const former = keys.map((key) => tx.view.get(key)).find((value) => value !== undefined);
  if (former !== undefined) {
    const old = decodeAdjacency(former);
    const name = subject(SUBJECT.edge, edgeTreeKey(engine.sha256, record));
    return partAgain(tx, name, old, tx.fold.records.edge(old));
  }
  const tombstone = { reason: `reverted entry ${seq}`, at: tx.at, by };
  return edgePart(tx, engine, by, { ...record, tombstone });
}
