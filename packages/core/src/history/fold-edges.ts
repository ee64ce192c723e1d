/**
 * How edge entries change the state: the row of the edge, its place among the edges of both ends,
 * and the ranges of former states that reads of the past use. Part of the fold.
 *
 * How use and learning change the state: the counters of memories, the weights of salience, and the
 * records of compacted contexts. Part of the fold.
 *
 * Counters are folded from the parts that hang on a memory, so they go when the memory is forgotten,
 * together with the parts. Weights and context records are parts of the store: they hold numbers,
 * hashes and URIs, no word that anybody said, and are never erased.
 */
import { decode } from "../codec/cbor.js";
import { readList, readText } from "../codec/cbor-value.js";
import { CortexError } from "../errors.js";
import { partContext, partRecord } from "../journal/entry.js";
import {
  EDGE_STATE,
  type EdgePlace,
  edgeClosedKey,
  edgeKey,
  formerWeightsKey,
  idKey,
  textKey,
  WEIGHTS_KEY,
} from "../kv/keyspace.js";
import { canonicalKind } from "../records/edge-kinds.js";
import { decodeEdgeRecord, type EdgeRecord, farKey } from "../records/edge-record.js";
import { readRevocation } from "../records/frames.js";
import { countUse, decodeContextRecord, decodeLearnRecord, isUse } from "../salience/salience.js";
import type { Fold, FoldEntry, FoldPart } from "./fold-state.js";
import {
  decodeCounter,
  decodeEdgeRow,
  decodeMemoryRow,
  decodePointer,
  type EdgeRow,
  encodeAdjacency,
  encodeCounter,
  encodeEdgeRow,
  encodePointer,
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
  const [name] = readList(decode(partRecord(part)));
  fold.view.put(textKey("edgeKind", readText(name)), code);
  fold.counts = { ...fold.counts, openEdgeKinds: fold.counts.openEdgeKinds + 1 };
}

/** Counts what a part attached to a memory says of its use. */
export function foldUse(fold: Fold, entry: FoldEntry, part: Uint8Array, id: Uint8Array): void {
  if (!isUse(entry)) return;
  const key = idKey("counter", id);
  const counter = decodeCounter(fold.view.get(key));
  fold.view.put(key, encodeCounter(countUse(counter, entry, part)));
}

/** Applies a part that belongs to the store itself. */
export function foldStorePart(fold: Fold, entry: FoldEntry, part: Uint8Array, index: number): void {
  // The record comes first; what else the store keeps in an entry is an answer, for who repeats the call.
  if (index > 0) return;
  const pointer = { seq: entry.seq, part: index };
  if (entry.kind === "context") {
    const { name } = decodeContextRecord(partRecord(part));
    fold.view.put(idKey("contextRecord", name), encodePointer(pointer));
  } else if (entry.kind === "revoke_scope") {
    const { hash } = readRevocation(partRecord(part));
    fold.view.put(idKey("revokedScope", hash), encodePointer(pointer));
  } else if (entry.kind === "learn_weights") {
    // An outcome that taught nothing is on record, and leaves the weights where they lie.
    if (decodeLearnRecord(partRecord(part)).direction === "none") return;
    const before = fold.view.get(WEIGHTS_KEY);
    if (before !== undefined) {
      fold.view.put(formerWeightsKey(decodePointer(before).seq), before);
    }
    fold.view.put(WEIGHTS_KEY, encodePointer(pointer));
  }
}
