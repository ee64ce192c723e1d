/**
 * How use and learning change the state: the counters of memories, the weights of salience, and the
 * records of compacted contexts. Part of the fold.
 *
 * Counters are folded from the parts that hang on a memory, so they go when the memory is forgotten,
 * together with the parts. Weights and context records are parts of the store: they hold numbers,
 * hashes and URIs, no word that anybody said, and are never erased.
 */
import { partRecord } from "../journal/entry.js";
import { formerWeightsKey, idKey, WEIGHTS_KEY } from "../kv/keyspace.js";
import { readRevocation } from "../records/scope-records.js";
import { decodeContextRecord } from "../salience/context-record.js";
import { decodeLearnRecord } from "../salience/learn.js";
import { countUse, isUse } from "../salience/use-record.js";
import type { Fold, FoldEntry } from "./fold-state.js";
import { decodeCounter, decodePointer, encodeCounter, encodePointer } from "./pointers.js";

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
