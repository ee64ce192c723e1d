/**
 * The plain walk: in one graph and in its present, from a memory along the edges that leave it, as they were given. That
 * is what most walks are, and where rows are at hand they are followed one by one: an edge, the memory behind it, the next.
 *
 * Promise: finds what `breadth-first.ts` finds, in the same order, and gives up on whatever is unusual: a name
 * that no memory has, an edge into another graph as it was put, a hidden memory, a level of very many edges.
 * Then it answers nothing, and the caller runs that walk instead.
 */
import { EDGES_MAX } from "../contract/links.js";
import type { Edge, Memory } from "../contract/shapes.js";
import type { ParsedRef } from "../engine/engine.js";
import { shapeEdge, shapeMemory } from "../engine/shapes.js";
import type { FoundMemory, Reader } from "../history/reader.js";
import { keyString, textKey } from "../kv/keyspace.js";
import type { Bytes, KvRow } from "../kv/kv.js";
import { isValidAt, kindCodes, liveRows, readAdjacent } from "./adjacency.js";
import { FEW_EDGES, type WalkPlan } from "./breadth-first.js";

/** What a plain walk met. */
interface PlainWalk {
  /** The memory it started from is the first, at hop 0. */
  readonly hits: readonly PlainHit[];
  readonly edges: readonly PlainEdge[];
  readonly truncated: boolean;
}

interface PlainHit {
  readonly id: Bytes;
  readonly hop: number;
  readonly memory: Memory;
}

interface PlainEdge {
  readonly edge: Edge;
  /** The names that its ends go by: an external id, or the id of a memory. */
  readonly from: string;
  readonly to: string;
}

/** Walks for the owner; `undefined` where the walk is not a plain one. */
export async function plainWalk(
  reader: Reader,
  start: { readonly graph: string; readonly ref: ParsedRef },
  plan: WalkPlan,
): Promise<PlainWalk | undefined> {
  const { kinds, maxHops, maxNodes, validAt } = plan;
  const [side, ...others] = plan.sides;
  const isOut = side === "out" && others.length === 0;
  if (!isOut || !reader.isAtHand || plan.includeTombstoned || plan.minHops !== 1) return undefined;
  const codes = await kindCodes(reader, kinds, true);
  if (codes.swapped.length > 0 || (!codes.all && codes.plain.length === 0)) return undefined;
  const met = new Met(reader, start.graph);
  const first = met.start(start.ref);
  if (first === undefined) return undefined;
  const edges: PlainEdge[] = [];
  let frontier: readonly PlainHit[] = [first];
  for (let hop = 1; hop <= maxHops && frontier.length > 0; hop += 1) {
    const ids = frontier.map(({ id }) => id);
    const rows = await liveRows(reader, ids, { side, codes: codes.plain, limit: EDGES_MAX });
    if (countOf(rows) > FEW_EDGES) return undefined;
    const next: PlainHit[] = [];
    for (const [at, from] of frontier.entries()) {
      for (const { edge, other } of inOrder(reader, rows[at] ?? [])) {
        if (validAt !== undefined && !isValidAt(edge, validAt)) continue;
        if (edge.origin?.toGraph !== undefined && edge.origin.toGraph !== edge.origin.graph) {
          return undefined;
        }
        const known = met.known(other);
        const end = known ?? met.read(other, hop);
        if (end === undefined) return undefined;
        if (known === undefined) {
          if (met.hits.length >= maxNodes) return { hits: met.hits, edges, truncated: true };
          met.add(end);
          next.push(end);
        }
        edges.push({ edge, from: nameOf(from.memory), to: nameOf(end.memory) });
      }
    }
    frontier = next;
  }
  return { hits: met.hits, edges, truncated: false };
}

function nameOf({ head, id }: Memory): string {
  return head.externalId ?? id;
}

function countOf(lists: readonly (readonly KvRow[])[]): number {
  let count = 0;
  for (const list of lists) count += list.length;
  return count;
}

/** The memories of a walk, each read once. */
class Met {
  readonly hits: PlainHit[] = [];
  readonly #reader: Reader;
  readonly #byId = new Map<string, PlainHit>();
  readonly #shape: (found: FoundMemory) => Memory | undefined;

  constructor(reader: Reader, graph: string) {
    this.#reader = reader;
    this.#shape = (found) =>
      found.row.lifecycle === "active" ? shapeMemory(graph, found) : undefined;
  }

  /** The memory that a reference means; `undefined` where that is not plain to see. */
  start({ id, externalId = "" }: ParsedRef): PlainHit | undefined {
    const known = id ?? this.#reader.rowAt(textKey("externalId", externalId));
    const hit = known === undefined ? undefined : this.read(known, 0);
    if (hit !== undefined) this.add(hit);
    return hit;
  }

  known(id: Bytes): PlainHit | undefined {
    return this.#byId.get(keyString(id));
  }

  /** A memory that shows; `undefined` for any other id. */
  read(id: Bytes, hop: number): PlainHit | undefined {
    const memory = this.#reader.showNow(id, this.#shape);
    return memory === undefined ? undefined : { id, hop, memory };
  }

  add(hit: PlainHit): void {
    this.#byId.set(keyString(hit.id), hit);
    this.hits.push(hit);
  }
}

/** An edge, and the id at its other end. */
interface ReadEdge {
  readonly edge: Edge;
  readonly other: Bytes;
}

/** The edges of rows: those with an ordinal first, ascending; then by the entry that left them so. */
function inOrder(reader: Reader, rows: readonly KvRow[]): readonly ReadEdge[] {
  const edges: ReadEdge[] = [];
  for (const row of rows) {
    const pointer = readAdjacent(row);
    const edge = reader.showEdgeNow(pointer, (record) => shapeEdge(record, pointer.seq));
    if (edge !== undefined) edges.push({ edge, other: pointer.other });
  }
  return edges.sort((a, b) => rankOf(a) - rankOf(b) || a.edge.seq - b.edge.seq);
}

function rankOf({ edge }: ReadEdge): number {
  return edge.ordinal ?? Number.MAX_VALUE;
}
