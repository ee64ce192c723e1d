/**
 * Edges of a walk in the order in which it takes them, and lists that are read together and taken apart again.
 */
import { adjacencySeq } from "../history/pointers.js";
import type { Reader } from "../history/reader.js";
import type { KvRow } from "../kv/kv.js";
import type { EdgeRecord } from "../records/edge-record.js";
import { readAdjacent, type Side, type SidedEdge } from "./adjacency.js";

/** An edge, and its record where the order or its end depended on it. */
export interface FoundEdge extends SidedEdge {
  readonly record?: EdgeRecord | undefined;
}

/** What was found under each key, put together by the set that the key is of. */
export function regrouped<T>(
  keys: readonly (readonly unknown[])[],
  found: readonly (readonly T[])[],
): readonly (readonly T[])[] {
  let next = 0;
  return keys.map((own) => {
    const lists = found.slice(next, next + own.length);
    next += own.length;
    const [only = []] = lists;
    return lists.length > 1 ? lists.flat() : only;
  });
}

/**
 * Rows in the order of the entries that left them so, which is the order of their times. A row is
 * taken apart when its turn comes: of ten thousand a bounded walk may use a few.
 */
export function byAge(rows: readonly KvRow[], side: Side): Iterable<FoundEdge> {
  const seqs = Float64Array.from(rows, ({ value }) => adjacencySeq(value));
  const order = Array.from(rows.keys()).sort((a, b) => (seqs[a] ?? 0) - (seqs[b] ?? 0));
  return {
    *[Symbol.iterator]() {
      for (const at of order) {
        const row = rows[at];
        if (row !== undefined) yield { side, edge: readAdjacent(row) };
      }
    },
  };
}

/** Edges with an ordinal first, ascending; then by the entry that left them so. */
export async function byOrdinal(
  reader: Reader,
  lists: readonly (readonly FoundEdge[])[],
): Promise<readonly (readonly FoundEdge[])[]> {
  const records = await reader.edges(lists.flat().map(({ edge }) => edge));
  let next = 0;
  return lists.map((own) => {
    const read: FoundEdge[] = [];
    for (const { side, edge } of own) {
      const record = records[next++]?.record;
      if (record !== undefined) read.push({ side, edge, record });
    }
    return read.sort((a, b) => rankOf(a) - rankOf(b) || a.edge.seq - b.edge.seq);
  });
}

/** The order of edges from several graphs: ages are compared, not positions in a journal. */
export function byRankAndTime(a: FoundEdge, b: FoundEdge): number {
  return rankOf(a) - rankOf(b) || createdAt(a) - createdAt(b) || nanosOf(a) - nanosOf(b);
}

function rankOf({ record }: FoundEdge): number {
  return record?.ordinal ?? Number.MAX_VALUE;
}

function createdAt({ record }: FoundEdge): number {
  return record?.createdAt ?? 0;
}

function nanosOf({ record }: FoundEdge): number {
  return record?.origin?.nanos ?? 0;
}

/** Where each name stands in a list. */
export function grouped(
  names: readonly (string | undefined)[],
): ReadonlyMap<string, readonly number[]> {
  const groups = new Map<string, number[]>();
  for (const [at, name] of names.entries()) {
    if (name === undefined) continue;
    const known = groups.get(name);
    if (known === undefined) groups.set(name, [at]);
    else known.push(at);
  }
  return groups;
}
