/**
 * How edge entries change the state: the row of the edge, its place among the edges of both ends,
 * and the ranges of former states that reads of the past use. Part of the fold.
 */
import { decode } from "../codec/cbor.js";
import { CortexError } from "../errors.js";
import { partContext, partRecord } from "../journal/entry.js";
import {
  EDGE_STATE,
  type EdgePlace,
  edgeClosedKey,
  edgeKey,
  idKey,
  textKey,
} from "../kv/keyspace.js";
import { canonicalKind } from "../records/edge-kinds.js";
import { decodeEdgeRecord, type EdgeRecord, farKey } from "../records/edge-record.js";
import { list, text } from "../records/memory-record.js";
import type { Fold, FoldEntry, FoldPart } from "./fold-state.js";
import {
  decodeEdgeRow,
  decodeMemoryRow,
  type EdgeRow,
  encodeAdjacency,
  encodeEdgeRow,
} from "./pointers.js";
import type { WriteView } from "./write-view.js";

/** Applies the new state of an edge. */
export function foldEdge(fold: Fold, entry: FoldEntry, part: FoldPart, index: number): void {
  const { view } = fold;
  const record = (part.record ??
    decodeEdgeRecord(
      partRecord(part.bytes as Uint8Array),
      partContext(entry, index),
    )) as EdgeRecord;
  const rowKey = idKey("edge", record.id);
  const oldBytes = view.get(rowKey);
  const old = oldBytes === undefined ? undefined : decodeEdgeRow(oldBytes);
  const code = old?.code ?? kindCode(view, record.kind);
  if (code === undefined) {
    throw new CortexError(
      "ERR_CORRUPT",
      `journal entry ${entry.seq}: edge kind ${JSON.stringify(record.kind)} was never registered`,
      { seq: entry.seq },
    );
  }
  fold.records.remember({ seq: entry.seq, part: index }, record, part.hash);
  const place = { from: record.from, code, far: farKey(fold.sha256, record.to), n: record.n };
  const state = record.tombstone === undefined ? EDGE_STATE.live : EDGE_STATE.removed;
  if (old !== undefined) closeEdge(view, old, place, record.id, entry.seq);
  const pointer = { seq: entry.seq, part: index };
  view.put(rowKey, encodeEdgeRow({ ...pointer, ...place, state }));
  const adjacency = encodeAdjacency({ ...pointer, id: record.id });
  view.put(edgeKey("out", place, state), adjacency);
  view.put(edgeKey("in", place, state), adjacency);
  if (code === CONTRADICTS || record.asksReview === true) {
    contest(view, record, old !== undefined);
  }
  countEdge(fold, old?.state, state);
}

/**
 * Puts a contradiction among those that wait for a decision, or takes it out. What a change of a slot
 * leaves is none: there the other end is history by the time the edge is folded.
 */
function contest(view: WriteView, edge: EdgeRecord, known: boolean): void {
  const open =
    edge.tombstone === undefined &&
    edge.validTo === undefined &&
    edge.to instanceof Uint8Array &&
    [edge.from, edge.to].every((end) => isActive(view, end));
  const key = idKey("contested", edge.id);
  if (open) view.put(key, EMPTY);
  else if (known) view.delete(key);
}

function isActive(view: WriteView, id: Uint8Array): boolean {
  const row = view.get(idKey("memory", id));
  return row !== undefined && decodeMemoryRow(row).lifecycle === "active";
}

const EMPTY = new Uint8Array(0);
const CONTRADICTS = canonicalKind("contradicts")?.kind.code;

function closeEdge(
  view: WriteView,
  old: EdgeRow,
  place: EdgePlace,
  id: Uint8Array,
  seq: number,
): void {
  const former = encodeAdjacency({ seq: old.seq, part: old.part, id });
  for (const side of ["out", "in"] as const) {
    view.delete(edgeKey(side, place, old.state));
    view.put(edgeClosedKey(side, place, old.state, seq), former);
  }
}

/** Moves one edge between the counts of the head row. */
export function countEdge(fold: Fold, before: number | undefined, after: number | undefined): void {
  const counts = { ...fold.counts };
  if (before === EDGE_STATE.live) counts.edgesLive -= 1;
  if (before === EDGE_STATE.removed) counts.edgesRemoved -= 1;
  if (after === EDGE_STATE.live) counts.edgesLive += 1;
  if (after === EDGE_STATE.removed) counts.edgesRemoved += 1;
  fold.counts = counts;
}

/** The code of a kind's canonical name: built in, or registered in this graph. */
export function kindCode(view: Pick<WriteView, "get">, name: string): number | undefined {
  const builtIn = canonicalKind(name);
  if (builtIn !== undefined) return builtIn.kind.code;
  const row = view.get(textKey("edgeKind", name));
  return row === undefined ? undefined : ((row[0] ?? 0) << 8) | (row[1] ?? 0);
}

/** Applies the registration of an open kind: record [name], subject its two-byte code. */
export function foldEdgeKind(fold: Fold, part: Uint8Array, code: Uint8Array): void {
  const [name] = list(decode(partRecord(part)));
  fold.view.put(textKey("edgeKind", text(name)), code);
  fold.counts = { ...fold.counts, openEdgeKinds: fold.counts.openEdgeKinds + 1 };
}
