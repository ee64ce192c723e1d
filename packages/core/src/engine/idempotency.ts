/**
 * Retries that return the first result. An entry written under an idempotency key carries hashes of
 * the key and of the request in its header, which is never erased; the result of a retry is read back
 * from what the first call wrote. A key is honoured for a fixed number of entries.
 */
import { decode } from "../codec/cbor.js";
import type { EdgeResult, MemoryRef, WriteResult } from "../contract/shapes.js";
import { CortexError } from "../errors.js";
import { decodeMemoryRow } from "../history/pointers.js";
import type { WriteTx } from "../history/writer.js";
import { decodeEntry, type Entry, partContext, partRecord, SUBJECT } from "../journal/entry.js";
import { idKey, journalKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { decodeEdgeRecord } from "../records/edge-record.js";
import { decodeMemoryRecord, type Head, int, list } from "../records/memory-record.js";
import { buildUri } from "../records/uri.js";
import { RIVAL, versionsOf } from "./drafts.js";
import { type Engine, edgeId, type Located, memoryId } from "./engine.js";
import { ask } from "./read-ahead.js";
import { shapeEdge, shapeRef } from "./shapes.js";

/** The row that remembers a request. */
export function idempotencyKeys(request: Uint8Array): Bytes[] {
  return [idKey("idempotency", request.subarray(0, 16))];
}

/** The result of the first call under this key, or `undefined` when there was none. */
export function firstResult(
  engine: Engine,
  tx: WriteTx,
  request: Uint8Array | undefined,
): WriteResult | undefined {
  const seq = request === undefined ? undefined : firstSeq(tx, request);
  return seq === undefined ? undefined : writeResultOf(engine, tx, readEntries(tx, [seq])[0]);
}

/** Every entry of the batch that was first written under this key. */
export function firstEntries(
  tx: WriteTx,
  request: Uint8Array | undefined,
): readonly Entry[] | undefined {
  const seq = request === undefined ? undefined : firstSeq(tx, request);
  if (seq === undefined) return undefined;
  const [entry] = readEntries(tx, [seq]);
  const { first, length } = entry?.header.batch ?? { first: seq, length: 1 };
  return readEntries(
    tx,
    Array.from({ length }, (_, at) => first + at),
  );
}

/** The entry that carries the mark of a request, unless the mark is too old to count. */
function firstSeq(tx: WriteTx, request: Uint8Array): number | undefined {
  const row = tx.view.get(idKey("idempotency", request.subarray(0, 16)));
  if (row === undefined) return undefined;
  const [seqValue, hash] = list(decode(row));
  const seq = int(seqValue, 0);
  if (tx.nextSeq() - seq > LIMITS.idempotencyEntries) return undefined;
  if (!(hash instanceof Uint8Array) || keyString(hash) !== keyString(request.subarray(16))) {
    throw keyError(
      seq,
      `expected the request it was first used for (entry ${seq}), got another one`,
    );
  }
  // An entry of the batch that is being written has a number, but no row yet.
  if (seq >= tx.head.size && !tx.view.has(journalKey(seq))) {
    throw keyError(seq, "expected a key of its own for each item of a batch, got the same twice");
  }
  return seq;
}

function keyError(seq: number, what: string): CortexError {
  const details = { field: "idempotencyKey", seq };
  return new CortexError("ERR_IDEMPOTENCY", `idempotencyKey: ${what}`, details);
}

function readEntries(tx: WriteTx, seqs: readonly number[]): readonly Entry[] {
  ask(tx, seqs.map(journalKey));
  return seqs.map((seq) => {
    const row = tx.view.get(journalKey(seq));
    if (row !== undefined) return decodeEntry(row);
    throw new CortexError("ERR_JOURNAL_GAP", `journal entry ${seq} is missing`, { seq });
  });
}

/** Asks for what the results of entries are read from, in one read for all of them. */
export function askResults(tx: WriteTx, entries: readonly Entry[]): void {
  const ids = entries.flatMap(({ header }) =>
    header.parts.flatMap(({ subject }) => (subject.length === 17 ? [subject.subarray(1)] : [])),
  );
  ask(
    tx,
    ids.map((id) => idKey("memory", id)),
  );
}

/** What a write or an update returned, from the entry it wrote; without what was forgotten since. */
export function writeResultOf(engine: Engine, tx: WriteTx, entry: Entry | undefined): WriteResult {
  const id = entry?.header.parts[0]?.subject.subarray(1);
  if (entry === undefined || id === undefined) throw new Error("a marked entry has no parts");
  askResults(tx, [entry]);
  const row = tx.view.get(idKey("memory", id));
  const found = row === undefined ? undefined : { id, row: decodeMemoryRow(row) };
  const head = headAt(entry, 0);
  const version = head?.version ?? reinforcedVersion(entry);
  const type = head?.type ?? found?.row.type ?? "note";
  return {
    id: memoryId(id),
    uri: buildUri({ actor: engine.actor, type, id, version }),
    version,
    seq: entry.header.seq,
    replaced: replacedBy(engine, tx, entry),
    conflicts: [
      ...(found === undefined || head === undefined ? [] : rivals(engine, tx, found, { head })),
      ...disputedBy(engine, tx, entry),
    ],
    similar: [],
    reinforced: entry.header.kind === "reinforce",
  };
}

/** What adding an edge returned; `undefined` when the edge was forgotten with one of its ends. */
export function edgeResultOf(entry: Entry): EdgeResult | undefined {
  const bytes = entry.parts[0];
  if (bytes === undefined) return undefined;
  const { seq } = entry.header;
  const edge = decodeEdgeRecord(partRecord(bytes), partContext(entry.header, 0));
  return { id: edgeId(edge.id), edge: shapeEdge(edge, seq), changed: true, seq };
}

/**
 * The versions that a stale update under policy `manual` left open beside its own, newest first.
 * `also` names rows to read in passing.
 */
export function rivals(
  engine: Engine,
  tx: WriteTx,
  found: Located,
  what: { readonly head: Pick<Head, "type" | "siblings">; readonly also?: readonly Bytes[] },
): MemoryRef[] {
  const { type, siblings } = what.head;
  const numbers = [...siblings].sort((a, b) => b - a);
  return versionsOf(tx, found, numbers, what.also).map((version) =>
    shapeRef(engine.actor, found.id, type, version),
  );
}

function replacedBy(engine: Engine, tx: WriteTx, entry: Entry): MemoryRef[] {
  return entry.header.parts.flatMap(({ subject }, at): MemoryRef[] => {
    const head = at === 0 || subject[0] !== SUBJECT.memory ? undefined : headAt(entry, at);
    if (head === undefined) return [];
    const id = subject.subarray(1);
    const row = tx.view.get(idKey("memory", id));
    if (row === undefined) return [];
    const found = { id, row: decodeMemoryRow(row) };
    return versionsOf(tx, found, [head.version]).map((version) =>
      shapeRef(engine.actor, id, head.type, version),
    );
  });
}

/** The memories that a write could not replace, and became a rival of, as they were then. */
function disputedBy(engine: Engine, tx: WriteTx, entry: Entry): MemoryRef[] {
  const rivals = entry.header.parts.flatMap(({ subject }, at) => {
    const bytes = entry.parts[at];
    if (subject[0] !== SUBJECT.edge || bytes === undefined) return [];
    const context = partContext(entry.header, at);
    const { metadata, to } = decodeEdgeRecord(partRecord(bytes), context);
    if (metadata?.[RIVAL] === undefined || !(to instanceof Uint8Array)) return [];
    return [{ id: to, version: int(metadata.version, 1) }];
  });
  ask(
    tx,
    rivals.map(({ id }) => idKey("memory", id)),
  );
  return rivals.flatMap(({ id, version: number }): MemoryRef[] => {
    const bytes = tx.view.get(idKey("memory", id));
    if (bytes === undefined) return [];
    const found = { id, row: decodeMemoryRow(bytes) };
    return versionsOf(tx, found, [number]).map((version) =>
      shapeRef(engine.actor, id, found.row.type, version),
    );
  });
}

function headAt(entry: Entry, part: number): Head | undefined {
  const bytes = entry.parts[part];
  if (bytes === undefined || entry.header.parts[part]?.subject[0] !== SUBJECT.memory) {
    return undefined;
  }
  return decodeMemoryRecord(partRecord(bytes), partContext(entry.header, part)).head;
}

function reinforcedVersion(entry: Entry): number {
  const bytes = entry.parts[0];
  if (bytes === undefined || entry.header.kind !== "reinforce") return 1;
  return int(list(decode(partRecord(bytes)))[1], 1);
}
