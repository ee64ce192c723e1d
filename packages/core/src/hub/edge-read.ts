/**
 * Reading the edges of many lineages of one open graph at once, in memgraph's order: those with an
 * ordinal first, ascending, then the others by age.
 *
 * A lineage is reached by edges that name its memory, and by edges that named it before it was there:
 * those stand under the name. Edges from other graphs stand in their graphs, under the name of graph
 * and lineage; which graphs have such edges is told by the catalogue.
 */

import { sha256Node } from "../codec/sha256-node.js";
import { memoryId } from "../engine/engine.js";
import { invalid } from "../errors.js";
import { adjacencySeq } from "../history/pointers.js";
import type { FoundMemory, Reader } from "../history/reader.js";
import { keyString, textKey } from "../kv/keyspace.js";
import type { Bytes, KvRow } from "../kv/kv.js";
import {
  type AdjacentEdge,
  adjacent,
  liveRows,
  readAdjacent,
  type Side,
} from "../links/adjacency.js";
import { shownMemories } from "../memory/read.js";
import { canonicalKind } from "../records/edge-kinds.js";
import { type EdgeRecord, farKey } from "../records/edge-record.js";
import type { Access } from "../scope/access.js";
import { storedKind } from "./edge.js";

/** Most edges of one lineage and direction that one read looks at. */
const EDGES_MAX = 100_000;

/** A place where edges are looked for: a memory of the graph, or a name. */
export interface Near {
  /** What stands in the keys of edges for it, in each form that edges may use. */
  readonly keys: readonly Bytes[];
}

/** An edge that was found; its record is there if the order depended on it. */
export interface MetEdge {
  readonly place: AdjacentEdge;
  readonly record?: EdgeRecord;
}

/** What a lineage of the graph is called in the keys of edges that reach it. */
export function reachedKeys(lineage: string, found: FoundMemory | undefined): Bytes[] {
  const names = namesOf(lineage, found);
  const byName = names.map((name) => farKey(sha256Node, { graph: "", name }));
  return found === undefined ? byName : [found.id, ...byName];
}

/** What a lineage of a graph is called in the keys of edges from other graphs. */
export function farKeys(graph: string, lineage: string, found: FoundMemory | undefined): Bytes[] {
  return namesOf(lineage, found).map((name) => farKey(sha256Node, { graph, name }));
}

/** A lineage goes by its external id and by the id of its memory. */
function namesOf(lineage: string, found: FoundMemory | undefined): readonly string[] {
  if (found === undefined) return [lineage];
  const { externalId } = found.head.record.head;
  return [...new Set([memoryId(found.id), ...(externalId === undefined ? [] : [externalId])])];
}

/** The codes of kinds; `undefined` when there is no filter. */
export type KindFilter = readonly number[] | undefined;

/** Checks a list of edge kinds. */
export function checkEdgeKinds(kinds: unknown): void {
  if (kinds === undefined) return;
  const isFit = Array.isArray(kinds) && kinds.every((kind) => typeof kind === "string");
  if (!isFit) throw invalid("edgeKinds", "a list of texts", kinds);
}

/** The stored codes of kinds; kinds nobody used are left out. */
export async function kindFilter(
  reader: Reader,
  kinds: readonly string[] | undefined,
): Promise<KindFilter> {
  if (kinds === undefined || kinds.length === 0) return undefined;
  const names = [...new Set(kinds.map(storedKind))];
  const builtIn = names.flatMap((name) => canonicalKind(name)?.kind.code ?? []);
  const open = names.filter((name) => canonicalKind(name) === undefined);
  const rows = await reader.getMany(open.map((name) => textKey("edgeKind", name)));
  const codes = rows.flatMap((row) =>
    row === undefined ? [] : [((row[0] ?? 0) << 8) | (row[1] ?? 0)],
  );
  return [...builtIn, ...codes];
}

/** Which edges to read, and whether any of them may have an ordinal. */
export interface EdgeQuery {
  readonly side: Side;
  readonly codes: KindFilter;
  /** False says that age alone decides the order, so that no record has to be read for it. */
  readonly mayHaveOrdinals: boolean;
}

/** Edges in order, read one by one as they are asked for. */
export interface EdgeRun extends Iterable<MetEdge> {
  readonly length: number;
}

/** The edges of each place in one direction, in order, in a few batched reads. */
export async function edgesOf(
  reader: Reader,
  places: readonly Near[],
  query: EdgeQuery,
): Promise<readonly EdgeRun[]> {
  const { side, codes, mayHaveOrdinals } = query;
  if (codes?.length === 0) return places.map(() => []);
  const keys = places.flatMap((place) => place.keys);
  const wanted = { side, codes: codes ?? [], limit: EDGES_MAX };
  if (reader.live && !mayHaveOrdinals) {
    return gathered(places, await liveRows(reader, keys, wanted)).map(byAge);
  }
  const found = await adjacent(reader, keys, { ...wanted, includeTombstoned: false });
  const lists = gathered(places, found);
  const records = await edgeRecords(reader, lists.flat());
  let next = 0;
  return lists.map((own) =>
    own
      .flatMap((place): Required<MetEdge>[] => {
        const record = records[next];
        next += 1;
        return record === undefined ? [] : [{ place, record }];
      })
      .sort(inOrder),
  );
}

/** What was found under each key, put together by place. */
function gathered<T>(places: readonly Near[], found: readonly (readonly T[])[]): T[][] {
  let next = 0;
  return places.map(({ keys }) => {
    const own = found.slice(next, next + keys.length).flat();
    next += keys.length;
    return own;
  });
}

/**
 * Rows in the order of the entries that left them so, which is the order of their times. A row is
 * taken apart when its turn comes: of ten thousand a bounded walk may use a few.
 */
function byAge(rows: readonly KvRow[]): EdgeRun {
  const seqs = Float64Array.from(rows, ({ value }) => adjacencySeq(value));
  const order = Array.from(rows.keys()).sort((a, b) => (seqs[a] ?? 0) - (seqs[b] ?? 0));
  return {
    length: rows.length,
    *[Symbol.iterator]() {
      for (const at of order) {
        const row = rows[at];
        if (row !== undefined) yield { place: readAdjacent(row) };
      }
    },
  };
}

/** The records of edges, in order; `undefined` where one is gone. */
export async function edgeRecords(
  reader: Reader,
  places: readonly AdjacentEdge[],
): Promise<readonly (EdgeRecord | undefined)[]> {
  return (await reader.edges(places)).map((read) => read?.record);
}

/** Ordinals first, ascending; then by the entry that left them so. */
function inOrder(a: Required<MetEdge>, b: Required<MetEdge>): number {
  const [first, second] = [a.record.ordinal, b.record.ordinal];
  if (first !== second) {
    if (first === undefined) return 1;
    if (second === undefined) return -1;
    return first - second;
  }
  return a.place.seq - b.place.seq;
}

/** Whether an edge leads into another graph. */
export function isSymlink({ to }: EdgeRecord): boolean {
  return !(to instanceof Uint8Array) && to.graph !== "";
}

/** Memories by id, of those that exist and that the caller may see. */
export type Seen = ReadonlyMap<string, FoundMemory>;

/** The memories at ids, as far as the caller may see them. */
export async function seenMemories(
  reader: Reader,
  ids: readonly Bytes[],
  access: Access,
): Promise<Seen> {
  const unique = [...new Map(ids.map((id) => [keyString(id), id])).values()];
  const found = await reader.memories(unique, await reader.memoryRows(unique));
  const shown = await shownMemories(reader, access, found);
  return new Map(
    shown.flatMap((memory) => (memory === undefined ? [] : [[keyString(memory.id), memory]])),
  );
}
