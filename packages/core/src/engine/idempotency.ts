/**
 * Calls that may be repeated. An entry written under an idempotency key carries hashes of the key and of the
 * request in its header, which is never erased: so a key survives a crash, a rebuild, a move and a forget. The
 * answer of a repeated call is put together from what the first call wrote. Where the records do not hold it,
 * the first entry keeps it as a part of the store, which holds ids and numbers and no word that anybody said.
 * Words are read again, so the answer leaves out what was forgotten since.
 *
 * A key is honoured for a fixed number of entries. Keys of different principals are different keys. A call
 * that wrote nothing leaves no mark: repeated, it is simply done again.
 */
import { type CborValue, decode, encode } from "../codec/cbor.js";
import { readIntegerOr, readList } from "../codec/cbor-value.js";
import { domainHash } from "../codec/hash.js";
import { utf8 } from "../codec/text.js";
import type { EdgeResult, MemoryRef, WriteResult } from "../contract/shapes.js";
import { CortexError } from "../errors.js";
import { decodeMemoryRow } from "../history/pointers.js";
import type { Again, WriteOperation, WriteTx, Written } from "../history/writer.js";
import { decodeEntry, type Entry, partContext, partRecord, SUBJECT } from "../journal/entry.js";
import { idKey, journalKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { decodeEdgeRecord } from "../records/edge-record.js";
import type { Json } from "../records/fields.js";
import { decodeMemoryRecord, type Head } from "../records/memory-record.js";
import { buildUri } from "../records/uri.js";
import { RIVAL, versionsOf } from "./drafts.js";
import { type Engine, edgeId, type Located, memoryId } from "./engine.js";
import { ask } from "./read-ahead.js";
import { shapeEdge, shapeRef } from "./shapes.js";

/** The mark of a request: hash of the key, then hash of the request. */
export function requestMark(
  engine: Engine,
  key: string | undefined,
  asked: {
    readonly operation: string;
    readonly request: unknown;
    readonly by?: string | undefined;
  },
): { readonly request?: Uint8Array } {
  if (key === undefined) return {};
  const name = keyName(engine, key, asked.by);
  const mark = new Uint8Array(32);
  const bytes = typeof name === "string" ? utf8(name) : encode(name);
  mark.set(domainHash(engine.sha256, "idempotencyKey", bytes).subarray(0, 16), 0);
  // With the key in it, the hash tells nothing about the request to whoever has only the journal:
  // it is never erased, and content must not be confirmed by guessing it.
  const said = requestBytes(name, asked.operation, asked.request);
  mark.set(domainHash(engine.sha256, "idempotencyRequest", said).subarray(0, 16), 16);
  return { request: mark };
}

/**
 * A key as its principal means it: two principals that use one word do not mean the same request. Nor do
 * the owner and somebody who speaks below the owner under the owner's name.
 */
function keyName(
  { defaults, principal, speaker }: Engine,
  key: string,
  by: string = principal,
): string | readonly [by: string, key: string] {
  if (defaults !== undefined) return [defaults.realm, key];
  const isOwner =
    speaker === undefined || (speaker.principal === undefined && speaker.source === "user_input");
  // No text begins with the byte that begins a pair, so the owner's own keys stand apart.
  return isOwner && by === principal ? key : [by, key];
}

/**
 * A request as JSON says it, whatever the order of its members. It may be marked before all of it is
 * checked, so anything that JSON says has its bytes: a number that no record holds is refused by the
 * check of its own field, and in a batch may leave the other items standing.
 */
function requestBytes(name: CborValue, operation: string, request: unknown): Uint8Array {
  try {
    const plain = JSON.parse(JSON.stringify(request)) as CborValue;
    try {
      return encode([name, operation, plain]);
    } catch {
      return encode([name, operation, utf8(JSON.stringify(plain, sortedMembers))]);
    }
  } catch (cause) {
    const details = { field: "input", expected: "values that JSON can say" };
    const message = "input: expected values that JSON can say, got another";
    throw new CortexError("ERR_INVALID", message, details, cause);
  }
}

function sortedMembers(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** An engine whose one write carries the mark of a request, or gives the answer of the first that did. */
export function underMark(engine: Engine, request: Uint8Array): Engine {
  const submit = <T>(operation: WriteOperation<T>): Promise<Written<T>> =>
    engine.writer.submit(markedOperation(operation, request));
  return { ...engine, writer: { submit, invalidate: () => engine.writer.invalidate() } };
}

function markedOperation<T>(operation: WriteOperation<T>, request: Uint8Array): WriteOperation<T> {
  const { again } = operation;
  if (again === undefined)
    throw new Error("an operation under a key does not say how it is repeated");
  const { keep } = again;
  return {
    ...operation,
    hints: [...(operation.hints ?? []), ...idempotencyKeys(request)],
    ...(keep === undefined
      ? {}
      : { answer: (value: T) => encode([ANSWER, JSON.stringify(keep(value))]) }),
    run: (tx) => {
      const seq = firstSeq(tx, request);
      if (seq === undefined) return operation.run(markFirst(tx, request));
      const [entry] = readEntries(tx, [seq]);
      if (entry === undefined) throw new Error("a marked entry is there");
      return again.tell(tx, entry, answerIn(entry));
    },
  };
}

/** The first word of the record that holds an answer. */
const ANSWER = "answer";

/** What an entry keeps for those who repeat the call that wrote it. */
function answerIn(entry: Entry): Json | undefined {
  const part = entry.parts.at(-1);
  if (part === undefined || entry.header.parts.at(-1)?.subject[0] !== SUBJECT.store)
    return undefined;
  const record = decode(partRecord(part));
  const [word, json] = Array.isArray(record) ? (record as readonly CborValue[]) : [];
  return word === ANSWER && typeof json === "string" ? (JSON.parse(json) as Json) : undefined;
}

/** Gives the first answer again as it was: for values that hold nothing but ids, numbers and words of the contract. */
export function keptWhole<T>(): Again<T> {
  return {
    keep: (value) => value as Json,
    tell: (_tx, first, kept) => {
      if (kept !== undefined) return kept as T;
      throw keyError(
        "the first call was carried out, and its answer was not kept",
        first.header.seq,
      );
    },
  };
}

/** Gives the first entry that is appended the mark of a request. */
export function markFirst(tx: WriteTx, request: Uint8Array | undefined): WriteTx {
  if (request === undefined) return tx;
  const first = tx.nextSeq();
  return {
    ...tx,
    append: (draft) => tx.append(tx.nextSeq() === first ? { ...draft, request } : draft),
  };
}

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
  const [seqValue, hash] = readList(decode(row));
  const seq = readIntegerOr(seqValue, 0);
  if (tx.nextSeq() - seq > LIMITS.idempotencyEntries) return undefined;
  if (!(hash instanceof Uint8Array) || keyString(hash) !== keyString(request.subarray(16))) {
    throw keyError("expected the request it was first used for, got another one", seq);
  }
  // An entry of the batch that is being written has a number, but no row yet.
  if (seq >= tx.head.size && !tx.view.has(journalKey(seq))) {
    throw keyError("expected a key of its own for each item of a batch, got the same twice", seq);
  }
  return seq;
}

/** The refusal of a key. */
export function keyError(what: string, seq?: number): CortexError {
  const details = { field: "idempotencyKey", ...(seq === undefined ? {} : { seq }) };
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

/** How a change of a memory that leaves its versions alone is told again. */
export function writtenAgain(engine: Engine): Again<WriteResult> {
  // Versions that stand open beside the one it touched are no conflict of such a change.
  return { tell: (tx, first) => ({ ...writeResultOf(engine, tx, first), conflicts: [] }) };
}

/** How adding an edge is told again; an edge that was forgotten since is not. */
export const edgeAgain: Again<EdgeResult> = {
  tell: (tx, first) => {
    const result = edgeResultOf(edgeEntry(tx, first));
    if (result !== undefined) return result;
    throw new CortexError("ERR_ERASED", "an end of the edge was forgotten");
  },
};

/** The entry with the edge: the first one, or the next where that registers the kind. */
function edgeEntry(tx: WriteTx, first: Entry): Entry {
  const { kind, seq } = first.header;
  const [next] = kind === "register_edge_kind" ? readEntries(tx, [seq + 1]) : [];
  return next ?? first;
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
    return [{ id: to, version: readIntegerOr(metadata.version, 1) }];
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
  return readIntegerOr(readList(decode(partRecord(bytes)))[1], 1);
}
