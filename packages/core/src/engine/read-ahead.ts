/**
 * Asking for rows inside a write, in as few reads as the matter allows.
 *
 * An operation that needs rows which are not loaded is run again once they are, so every set of rows
 * that it asks for costs a read. Everything that is known to be needed is therefore asked for at once:
 * `ask` adds to the rows named what the commit will need anyway.
 */

import { LeafChanges } from "../history/fold-state.js";
import {
  bodyPointer,
  decodeMemoryRow,
  decodePointer,
  type MemoryRow,
  type PartPointer,
} from "../history/pointers.js";
import { type LeafRef, missingRows } from "../history/trees.js";
import { Unread } from "../history/write-view.js";
import type { WriteTx } from "../history/writer.js";
import { CONFIG_KEY, idKey, journalKey } from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import { memoryStateKey } from "../merkle/state-keys.js";
import type { Head } from "../records/memory-record.js";

/** What else is known to be wanted together with some rows. */
interface AskMore {
  readonly ranges?: readonly KvRange[];
  /** Leaves that the operation will change. */
  readonly leaves?: readonly LeafRef[];
}

/** Makes sure that rows and ranges are loaded; with those that are not, what the commit needs is read. */
export function ask(tx: WriteTx, keys: readonly Bytes[], more: AskMore = {}): void {
  try {
    tx.view.need(keys, more.ranges ?? []);
  } catch (error) {
    if (!(error instanceof Unread)) throw error;
    throw new Unread([...error.keys, ...commitRows(tx, more.leaves ?? [])], error.ranges);
  }
}

/** Rows that a commit needs whatever the operation does: tiles, pages, the configuration. */
function commitRows(tx: WriteTx, leaves: readonly LeafRef[]): readonly Bytes[] {
  const config = configEntry(tx).filter((key) => !tx.view.has(key));
  if (tx.view.isNear) return config;
  const changes = new LeafChanges();
  for (const { tree, key } of leaves) changes.set(tree, { key, value: undefined });
  return [...missingRows(changes, tx.fold.view, tx.head.size), ...config];
}

/** The entry that holds the configuration, once it is known that there is one. */
export function configEntry(tx: WriteTx): readonly Bytes[] {
  const row = tx.view.has(CONFIG_KEY) ? tx.view.get(CONFIG_KEY) : undefined;
  return row === undefined ? [] : [journalKey(decodePointer(row).seq)];
}

/** The leaf of a memory. */
export function memoryLeaf(tx: WriteTx, id: Bytes): LeafRef {
  return { tree: "memories", key: memoryStateKey(tx.fold.sha256, id) };
}

/** The entries that hold a memory's records, as far as its row is loaded. */
export function recordKeys(tx: WriteTx, id: Bytes): readonly Bytes[] {
  const key = idKey("memory", id);
  const row = tx.view.has(key) ? tx.view.get(key) : undefined;
  if (row === undefined) return [];
  const memory = decodeMemoryRow(row);
  const entries = [memory, bodyPointer(memory)].filter(({ seq }) => seq < tx.head.size);
  return [...entries.map(({ seq }) => journalKey(seq)), ...fingerprintKeys(memory)];
}

/** Asks for the entries that hold the Heads and current Versions of memories about to change. */
export function askRecords(
  tx: WriteTx,
  found: readonly { readonly id: Bytes; readonly row: MemoryRow }[],
): void {
  askEntries(
    tx,
    found.flatMap(({ row }) => [row, bodyPointer(row)]),
    found.map(({ id }) => memoryLeaf(tx, id)),
    found.flatMap(({ row }) => fingerprintKeys(row)),
  );
}

/** Asks for the entries at pointers; those of this very commit are at hand already. */
export function askEntries(
  tx: WriteTx,
  pointers: readonly PartPointer[],
  leaves: readonly LeafRef[] = [],
  others: readonly Bytes[] = [],
): void {
  const stored = pointers.filter(({ seq }) => seq < tx.head.size);
  ask(tx, [...stored.map(({ seq }) => journalKey(seq)), ...others], { leaves });
}

/** The row that lists the memories which make the same claim. */
function fingerprintKeys(row: MemoryRow): readonly Bytes[] {
  return row.fingerprint === undefined ? [] : [idKey("fingerprint", row.fingerprint)];
}

/** Asks for the rows that memories may leave when their heads change. */
export function askMoves(
  tx: WriteTx,
  moves: readonly { readonly id: Bytes; readonly head: Head }[],
  ranges: readonly KvRange[] = [],
): void {
  const keys = moves.flatMap(({ head }) => [
    ...(head.fingerprint === undefined ? [] : [idKey("fingerprint", head.fingerprint)]),
  ]);
  ask(tx, keys, { ranges });
}
