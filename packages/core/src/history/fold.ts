/**
 * The one function that applies an entry to the state, live and in replay.
 *
 * It reads nothing but the entry and the rows of the view, and writes exact rows only, so replaying a
 * journal gives the same rows byte for byte. An erased part changes its leaf and nothing else, which
 * makes the law of the fold hold: folding everything and then a forget equals folding the journal the
 * forget left behind.
 *
 * Trees are not updated here but once per commit, from the leaves collected in the fold
 * (`trees.ts`). Edges and erasure have files of their own.
 */
import { encode } from "../codec/cbor.js";
import { equalBytes } from "../codec/keys.js";
import { CortexError } from "../errors.js";
import { encodeEntryRow, partContext, partRecord, SUBJECT } from "../journal/entry.js";
import {
  attachmentKey,
  CONFIG_KEY,
  historyKey,
  idKey,
  indexClosedRows,
  indexRow,
  journalKey,
  keyString,
  ownedPrefix,
  prefixRange,
  TIME_STRIDE,
  textKey,
  timeKey,
  versionKey,
} from "../kv/keyspace.js";
import { memoryStateKey } from "../merkle/state-keys.js";
import { isPinned, proposalMark, proposalName } from "../records/frames.js";
import { decodeMemoryRecord, type Head, type MemoryRecord } from "../records/memory-record.js";
import { foldEdge, foldEdgeKind, foldStorePart, foldUse } from "./fold-edges.js";
import { foldErasure } from "./fold-erasure.js";
import {
  addFingerprint,
  count,
  type Fold,
  type FoldEntry,
  type FoldPart,
  indexTerms,
  isRowPinned,
  removeFingerprint,
  termName,
} from "./fold-state.js";
import {
  bodyPointer,
  decodeMemoryRow,
  decodePointer,
  encodeMemoryRow,
  encodePointer,
  highestVersion,
  type MemoryRow,
  type PartPointer,
  sinceOf,
} from "./pointers.js";

/** Applies one entry. */
export function foldEntry(fold: Fold, entry: FoldEntry): void {
  for (let index = 0; index < entry.parts.length; index += 1) {
    const part = entry.parts[index];
    if (part !== undefined) foldPart(fold, entry, part, index);
  }
  if (entry.seq % TIME_STRIDE === 0) {
    fold.view.put(timeKey(entry.at, entry.seq), EMPTY);
  }
  if (entry.request !== undefined) {
    fold.view.put(
      idKey("idempotency", entry.request.subarray(0, 16)),
      encode([entry.seq, entry.request.subarray(16)]),
    );
  }
}

/** Puts the row of a sealed entry; separate, because a batch knows its length only at its end. */
export function putEntryRow(
  fold: Fold,
  seq: number,
  headerBytes: Uint8Array,
  parts: readonly FoldPart[],
): void {
  fold.view.put(journalKey(seq), encodeEntryRow(headerBytes, parts));
}

const EMPTY = new Uint8Array(0);

function foldPart(fold: Fold, entry: FoldEntry, part: FoldPart, index: number): void {
  const tag = part.subject[0];
  const id = part.subject.subarray(1);
  const pointer = { seq: entry.seq, part: index };
  switch (tag) {
    case SUBJECT.store:
      if (part.bytes !== undefined) foldStorePart(fold, entry, part.bytes, index);
      return;
    case SUBJECT.memory:
      fold.leaves.set("memories", {
        key: memoryStateKey(fold.sha256, id),
        value: part.hash ?? undefined,
      });
      if (part.bytes !== undefined) foldMemory(fold, entry, part, id, index);
      return;
    case SUBJECT.edge:
      fold.leaves.set("edges", { key: id, value: part.hash ?? undefined });
      if (part.bytes !== undefined) foldEdge(fold, entry, part, index);
      return;
    case SUBJECT.attachment:
      if (part.bytes === undefined) return;
      fold.view.put(attachmentKey(id, entry.seq, index), EMPTY);
      foldUse(fold, entry, part.bytes, id);
      foldProposal(fold, entry, part.bytes, { id, pointer });
      return;
    case SUBJECT.edgeKind:
      if (part.bytes !== undefined) foldEdgeKind(fold, part.bytes, id);
      return;
    case SUBJECT.goalState:
      foldGoalState(fold, part, id, pointer);
      return;
    case SUBJECT.config:
      fold.view.put(CONFIG_KEY, encodePointer(pointer));
      return;
    default:
      throw new CortexError(
        "ERR_CORRUPT",
        `journal entry ${entry.seq}: part ${index} has unknown subject tag ${tag}`,
        { seq: entry.seq },
      );
  }
}

function foldMemory(
  fold: Fold,
  entry: FoldEntry,
  part: FoldPart,
  id: Uint8Array,
  index: number,
): void {
  const { view } = fold;
  const record = (part.record ??
    decodeMemoryRecord(
      partRecord(part.bytes as Uint8Array),
      partContext(entry, index),
    )) as MemoryRecord;
  const rowKey = idKey("memory", id);
  const oldRow = view.get(rowKey);
  if (record.head.lifecycle === "erased") {
    foldErasure(fold, id, oldRow);
    const row = { type: record.head.type, lifecycle: "erased" as const, version: 0, since: [] };
    view.put(rowKey, encodeMemoryRow({ ...row, seq: entry.seq, part: index }));
    count(fold, undefined, "erased");
    return;
  }
  const old = oldRow === undefined ? undefined : decodeMemoryRow(oldRow);
  const oldHead = old === undefined ? undefined : fold.records.head(old);
  fold.records.remember({ seq: entry.seq, part: index }, record, part.hash);
  if (old !== undefined && oldRow !== undefined) view.put(historyKey(id, old.seq), oldRow);
  const pointer = { seq: entry.seq, part: index };
  const row = memoryRow(fold, id, { record, old, pointer });
  if (record.version !== undefined && row.body !== undefined) refuseOther(fold, part, row);
  const since = moveIndexes(fold, id, { before: oldHead, old, after: record, row });
  view.put(rowKey, encodeMemoryRow({ ...row, since }));
  // A version that is current again stays where it was first written.
  const isNew = old === undefined || row.version > highestVersion(old);
  if (record.version !== undefined && record.version.number > 1 && isNew) {
    view.put(versionKey(id, record.version.number), encodePointer(pointer));
  }
  moveFingerprint(fold, id, oldHead, record.head);
  if (old === undefined && record.head.externalId !== undefined) {
    view.put(textKey("externalId", record.head.externalId), id);
  }
  count(fold, oldHead?.lifecycle, record.head.lifecycle);
}

/** The row of a memory, but for since when it stands in its indexes. */
function memoryRow(
  fold: Fold,
  id: Uint8Array,
  change: {
    readonly record: MemoryRecord;
    readonly old: MemoryRow | undefined;
    readonly pointer: PartPointer;
  },
): MemoryRow {
  const { old, pointer } = change;
  const { type, lifecycle, version, fingerprint } = change.record.head;
  const row = { type, lifecycle, version, since: [], fingerprint, ...pointer };
  if (old === undefined) return row;
  const kept = old.highest === undefined ? {} : { highest: old.highest };
  if (version === old.version) return { ...row, ...kept, body: bodyPointer(old) };
  const highest = highestVersion(old);
  if (version > highest)
    return { ...row, ...(old.highest === undefined ? {} : { highest: version }) };
  // An earlier state is back: its Version lies where it was first written.
  return { ...row, highest, body: earlierBody(fold, id, version, pointer) };
}

/** Refuses another part under the number of a version: only the part that brought it comes again. */
function refuseOther(fold: Fold, { hash }: FoldPart, row: MemoryRow): void {
  if (hash !== null && equalBytes(fold.records.versionPart(row), hash)) return;
  throw new CortexError(
    "ERR_CORRUPT",
    `journal entry ${row.seq}: version ${row.version} of a memory is written a second time`,
    { seq: row.seq },
  );
}

/** Where an earlier version of a memory lies; its first has no row of its own. */
function earlierBody(
  { view }: Fold,
  id: Uint8Array,
  version: number,
  { seq }: PartPointer,
): PartPointer {
  if (version === 1) {
    const [firstRow] = view.range(prefixRange(ownedPrefix("history", id), 1));
    if (firstRow !== undefined) return bodyPointer(decodeMemoryRow(firstRow.value));
  } else {
    const row = view.get(versionKey(id, version));
    if (row !== undefined) return decodePointer(row);
  }
  throw new CortexError(
    "ERR_CORRUPT",
    `journal entry ${seq}: a memory goes back to version ${version}, which it never had`,
    { seq },
  );
}

/** Ends the index rows a head leaves and starts the ones it enters; gives since when it stands in each. */
function moveIndexes(
  fold: Fold,
  id: Uint8Array,
  change: {
    readonly before: Head | undefined;
    readonly old: MemoryRow | undefined;
    readonly after: MemoryRecord;
    readonly row: MemoryRow;
  },
): readonly number[] {
  const { view } = fold;
  const { before, old: row } = change;
  const { seq } = change.row;
  const { head, version } = change.after;
  const wasPinned = row !== undefined && isRowPinned(fold, row);
  const next = indexTerms(
    id,
    head,
    version === undefined ? isRowPinned(fold, change.row) : isPinned(head.type, version.data),
  );
  if (before === undefined || row === undefined) {
    for (const term of next) {
      const { key, value } = indexRow(term, seq);
      view.put(key, value);
    }
    return [];
  }
  const held = new Map(
    indexTerms(id, before, wasPinned).map((term, at) => [termName(term), { term, at }]),
  );
  const since = next.map((term) => {
    const name = termName(term);
    const old = held.get(name);
    held.delete(name);
    if (old !== undefined) return sinceOf(row, old.at);
    const { key, value } = indexRow(term, seq);
    view.put(key, value);
    return seq;
  });
  for (const { term, at } of held.values()) {
    const from = sinceOf(row, at);
    view.delete(indexRow(term, from).key);
    for (const { key, value } of indexClosedRows(term, from, seq)) view.put(key, value);
  }
  return since;
}

function moveFingerprint(fold: Fold, id: Uint8Array, before: Head | undefined, after: Head): void {
  const old = before?.lifecycle === "active" ? before.fingerprint : undefined;
  const next = after.lifecycle === "active" ? after.fingerprint : undefined;
  const same = old !== undefined && next !== undefined && keyString(old) === keyString(next);
  if (same) return;
  if (old !== undefined) removeFingerprint(fold, old, id);
  if (next !== undefined) addFingerprint(fold, next, id);
}

/** A wish that was refused waits until it is settled; both parts name it by the same mark. */
function foldProposal(
  { view }: Fold,
  { kind }: FoldEntry,
  part: Uint8Array,
  at: { readonly id: Uint8Array; readonly pointer: PartPointer },
): void {
  if (kind !== "propose" && kind !== "settle") return;
  const mark = proposalMark(partRecord(part));
  if (mark === undefined) return;
  const key = idKey("proposal", proposalName(at.id, mark));
  if (kind === "propose") view.put(key, encodePointer(at.pointer));
  else view.delete(key);
}

function foldGoalState(fold: Fold, part: FoldPart, id: Uint8Array, pointer: PartPointer): void {
  const key = idKey("goalState", id);
  if (part.bytes !== undefined) {
    fold.view.put(attachmentKey(id, pointer.seq, pointer.part), EMPTY);
    fold.view.put(key, encodePointer(pointer));
  } else if (part.hash === null) {
    fold.view.delete(key);
  }
}
