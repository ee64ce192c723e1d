/**
 * Retries that return the first result. An entry written under an idempotency key carries hashes of
 * the key and of the request in its header, which is never erased; the result of a retry is read back
 * from what the first call wrote. A key is honoured for a fixed number of entries.
 */
import { decode } from "../codec/cbor.js";
import { CortexError } from "../errors.js";
import { decodeMemoryRow } from "../history/pointers.js";
import type { WriteTx } from "../history/writer.js";
import { decodeEntry, type Entry, partRecord, SUBJECT } from "../journal/entry.js";
import { idKey, journalKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { decodeMemoryRecord, int, list } from "../memory/record.js";
import { buildUri } from "../memory/uri.js";
import { type Engine, memoryId } from "./engine.js";
import { type MemoryRef, shapeRef, type WriteResult } from "./shapes.js";

/** The row that remembers a request. */
export function idempotencyKeys(request: Uint8Array): Bytes[] {
  return [idKey("idempotency", request.subarray(0, 16))];
}

/**
 * The result of the first call under this key, or `undefined` when there was none. `shape` turns the
 * results of the entries into the verb's own.
 */
export function firstResult<T>(
  engine: Engine,
  tx: WriteTx,
  request: Uint8Array | undefined,
  shape: (results: readonly WriteResult[]) => T,
): T | undefined {
  if (request === undefined) return undefined;
  const row = tx.view.get(idKey("idempotency", request.subarray(0, 16)));
  if (row === undefined) return undefined;
  const [seqValue, hash] = list(decode(row));
  const seq = int(seqValue, 0);
  if (tx.nextSeq() - seq > LIMITS.idempotencyEntries) return undefined;
  if (!(hash instanceof Uint8Array) || keyString(hash) !== keyString(request.subarray(16))) {
    throw new CortexError(
      "ERR_IDEMPOTENCY",
      `idempotencyKey: expected the request it was first used for (entry ${seq}), got another one`,
      { field: "idempotencyKey", seq },
    );
  }
  return shape(entriesOf(tx, seq).map((entry) => resultOf(engine, tx, entry)));
}

function entriesOf(tx: WriteTx, seq: number): readonly Entry[] {
  const first = readEntry(tx, seq);
  const length = first.header.batch?.length ?? 1;
  const seqs = Array.from({ length }, (_, at) => seq + at);
  tx.view.need(seqs.map(journalKey));
  return seqs.map((at) => readEntry(tx, at));
}

function readEntry(tx: WriteTx, seq: number): Entry {
  const row = tx.view.get(journalKey(seq));
  if (row === undefined) {
    throw new CortexError("ERR_JOURNAL_GAP", `journal entry ${seq} is missing`, { seq });
  }
  return decodeEntry(row);
}

/** What a write returned, from the entry it left. Content that was forgotten since stays away. */
function resultOf(engine: Engine, tx: WriteTx, entry: Entry): WriteResult {
  const { header } = entry;
  const [first] = header.parts;
  const id = first?.subject.subarray(1) ?? new Uint8Array(16);
  const rowBytes = tx.view.get(idKey("memory", id));
  const type = rowBytes === undefined ? "note" : decodeMemoryRow(rowBytes).type;
  const version = writtenVersion(entry);
  const replaced = header.parts.flatMap(({ subject }, at): MemoryRef[] => {
    const bytes = entry.parts[at];
    if (at === 0 || subject[0] !== SUBJECT.memory || bytes === undefined) return [];
    const record = decodeMemoryRecord(partRecord(bytes), header);
    if (record.version === undefined) return [];
    return [shapeRef(engine.actor, subject.subarray(1), record.head.type, record.version)];
  });
  return {
    id: memoryId(id),
    uri: buildUri({ actor: engine.actor, type, id, version }),
    version,
    seq: header.seq,
    replaced,
    conflicts: [],
    similar: [],
    reinforced: header.kind === "reinforce",
  };
}

function writtenVersion(entry: Entry): number {
  const bytes = entry.parts[0];
  if (bytes === undefined) return 1;
  if (entry.header.kind === "reinforce") return int(list(decode(partRecord(bytes)))[1], 1);
  return decodeMemoryRecord(partRecord(bytes), entry.header).head.version;
}
