/**
 * How a forget changes the state. Part of the fold.
 *
 * Every row that names the memory goes: its history, versions, index rows, edges on both sides,
 * attachments, counters; and every part that it owns is taken out of its journal row, the header
 * staying as it is. On a journal whose parts are gone already there is nothing to find, so the same
 * function serves the live forget and the replay of its result.
 */
import { decodeEntry, encodeEntry } from "../journal/entry.js";
import {
  attachedPart,
  EDGE_MEMBER_BYTES,
  edgePrefix,
  idKey,
  indexClosedRows,
  indexRow,
  journalKey,
  KEYSPACE,
  ownedPrefix,
  prefixRange,
  textKey,
} from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import { countEdge } from "./fold-edges.js";
import {
  count,
  type Fold,
  indexTerms,
  isRowPinned,
  removeFingerprint,
  termName,
} from "./fold-state.js";
import {
  bodyPointer,
  decodeAdjacency,
  decodeEdgeRow,
  decodeMemoryRow,
  type PartPointer,
  sinceOf,
} from "./pointers.js";

/** More rows than any memory may own; a range must have a limit. */
const ALL = 10_000_000;

/** Removes everything a memory owns. `row` is its memory row, absent when nothing is left. */
export function foldErasure(fold: Fold, id: Bytes, row: Bytes | undefined): void {
  const { view } = fold;
  const ranges = ownedRanges(id);
  view.need([], Object.values(ranges));
  const erase: PartPointer[] = [];
  eraseStates(fold, id, row, view.range(ranges.history), erase);
  for (const { key } of view.range(ranges.versions)) view.delete(key);
  for (const { key } of view.range(ranges.proposals)) view.delete(key);
  for (const { key } of view.range(ranges.attachments)) {
    erase.push(attachedPart(key));
    view.delete(key);
  }
  eraseEdges(fold, ranges, erase);
  view.delete(idKey("counter", id));
  view.delete(idKey("goalState", id));
  eraseParts(fold, erase);
}

/** The ranges that hold everything a memory owns, beside its own row. */
export function ownedRanges(
  id: Bytes,
): Record<
  "history" | "versions" | "attachments" | "proposals" | "out" | "in" | "outClosed" | "inClosed",
  KvRange
> {
  return {
    history: prefixRange(ownedPrefix("history", id), ALL),
    versions: prefixRange(ownedPrefix("version", id), ALL),
    attachments: prefixRange(ownedPrefix("attachment", id), ALL),
    proposals: prefixRange(ownedPrefix("proposal", id), ALL),
    out: prefixRange(edgePrefix("edgeOut", id), ALL),
    in: prefixRange(edgePrefix("edgeIn", id), ALL),
    outClosed: prefixRange(edgePrefix("edgeOutClosed", id), ALL),
    inClosed: prefixRange(edgePrefix("edgeInClosed", id), ALL),
  };
}

/** Removes history rows, index rows live and closed, fingerprint and external id. */
function eraseStates(
  fold: Fold,
  id: Bytes,
  row: Bytes | undefined,
  history: readonly { readonly key: Bytes; readonly value: Bytes }[],
  erase: PartPointer[],
): void {
  if (row === undefined) return;
  const { view } = fold;
  const states = [...history.map(({ value }) => value), row].map(decodeMemoryRow);
  view.need(states.flatMap((state) => [journalKey(state.seq), journalKey(bodyPointer(state).seq)]));
  const heads = states.map((state) => fold.records.head(state));
  const terms = states.map((state, at) => {
    const head = heads[at];
    return head === undefined ? [] : indexTerms(id, head, isRowPinned(fold, state));
  });
  for (const [at, state] of states.entries()) {
    const head = heads[at];
    if (head === undefined) continue;
    erase.push({ seq: state.seq, part: state.part });
    const nextSeq = states[at + 1]?.seq;
    const kept = new Set((terms[at + 1] ?? []).map(termName));
    for (const [number, term] of (terms[at] ?? []).entries()) {
      const from = sinceOf(state, number);
      if (nextSeq === undefined) view.delete(indexRow(term, from).key);
      else if (!kept.has(termName(term))) {
        for (const { key } of indexClosedRows(term, from, nextSeq)) view.delete(key);
      }
    }
    if (head.externalId !== undefined) view.delete(textKey("externalId", head.externalId));
  }
  // Only the last state can stand among those that say the same now.
  const last = heads.at(-1);
  if (last?.lifecycle === "active" && last.fingerprint !== undefined) {
    removeFingerprint(fold, last.fingerprint, id);
  }
  for (const { key } of history) view.delete(key);
  count(fold, heads.at(-1)?.lifecycle, undefined);
}

/** Removes the edges of the memory, in every state they ever had, at both ends. */
function eraseEdges(
  fold: Fold,
  ranges: ReturnType<typeof ownedRanges>,
  erase: PartPointer[],
): void {
  const { view } = fold;
  for (const name of ["out", "in", "outClosed", "inClosed"] as const) {
    const rows = view.range(ranges[name]);
    view.need(rows.map(({ value }) => idKey("edge", decodeAdjacency(value).id)));
    for (const { key, value } of rows) {
      const adjacency = decodeAdjacency(value);
      erase.push(adjacency);
      view.delete(key);
      view.delete(twinKey(name, key));
      const rowKey = idKey("edge", adjacency.id);
      const edgeRow = view.get(rowKey);
      if (edgeRow === undefined) continue;
      countEdge(fold, decodeEdgeRow(edgeRow).state, undefined);
      view.delete(rowKey);
      view.delete(idKey("contested", adjacency.id));
    }
  }
}

/** The key of the same adjacency row at the other end. */
function twinKey(name: "out" | "in" | "outClosed" | "inClosed", key: Bytes): Bytes {
  const twin = Buffer.from(key);
  const memberAt = key.length - EDGE_MEMBER_BYTES;
  const otherAt = memberAt + 2;
  twin[0] =
    name === "out"
      ? KEYSPACE.edgeIn.byte
      : name === "in"
        ? KEYSPACE.edgeOut.byte
        : name === "outClosed"
          ? KEYSPACE.edgeInClosed.byte
          : KEYSPACE.edgeOutClosed.byte;
  twin.set(key.subarray(otherAt, otherAt + 16), 1);
  twin.set(key.subarray(1, 17), otherAt);
  return twin;
}

/** Takes parts out of their journal rows; the headers keep the hashes. */
function eraseParts(fold: Fold, pointers: readonly PartPointer[]): void {
  const { view } = fold;
  view.need(pointers.map(({ seq }) => journalKey(seq)));
  const bySeq = new Map<number, Set<number>>();
  for (const { seq, part } of pointers) {
    const parts = bySeq.get(seq) ?? new Set<number>();
    parts.add(part);
    bySeq.set(seq, parts);
  }
  for (const [seq, parts] of bySeq) {
    const bytes = view.get(journalKey(seq));
    if (bytes === undefined) continue;
    const entry = decodeEntry(bytes);
    const left = entry.parts.map((part, at) => (parts.has(at) ? undefined : part));
    view.put(journalKey(seq), encodeEntry({ ...entry, parts: left }));
  }
}
