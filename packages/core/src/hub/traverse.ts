/**
 * A bounded breadth-first walk over lineages, across graphs on request.
 *
 * Promises: the seed comes first; each lineage is visited once and each edge reported once; of the
 * edges of one lineage those that leave it come before those that reach it, each in memgraph's order;
 * the bound on nodes is exact and includes the seed; a far end without a node is reported as dangling
 * and still walked from. Each graph is read at one position, the one at which it was first entered,
 * and the answer names it. A level takes a few batched reads for each graph it touches, however many
 * lineages it has. A caller who is not the owner is never led out of the graph it starts in.
 */

import { type Engine, findIds, parseRef } from "../engine/engine.js";
import { isCortexError } from "../errors.js";
import { type AsOf, type FoundMemory, Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import type { Side } from "../links/adjacency.js";
import type { EdgeRecord } from "../records/edge-record.js";
import type { Access } from "../scope/access.js";
import { type GraphEdge, shapeGraphEdge } from "./edge.js";
import {
  type EdgeRun,
  edgeRecords,
  edgesOf,
  farKeys,
  isSymlink,
  kindFilter,
  type MetEdge,
  reachedKeys,
  seenMemories,
} from "./edge-read.js";
import { currentNode, type GraphNode, lineageOf } from "./node.js";
import { shownMemory } from "./node-read.js";

/** What a walk found. */
export interface GraphWalk {
  /** The seed first, if it has a node, then in the order in which they were met. */
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Far ends that have no node. */
  readonly dangling: readonly { readonly graphId: string; readonly lineageId: string }[];
  /** True when the bound on nodes ended the walk. */
  readonly truncated: boolean;
  /** True when more levels were asked for than are allowed. */
  readonly clamped: boolean;
  /** At which position each graph was read. */
  readonly positions: { readonly [graphId: string]: number };
}

/** How a walk goes, checked. */
export interface WalkPlan {
  readonly sides: readonly Side[];
  readonly maxDepth: number;
  readonly maxNodes: number;
  readonly edgeKinds: readonly string[] | undefined;
  readonly followSymlinks: boolean;
  /** No nodes are shown: far ends that are named are not looked up. */
  readonly edgesOnly: boolean;
  readonly asOf: AsOf | undefined;
  readonly access: Access;
}

/** What a walk uses of the hub. */
export interface WalkHub {
  /** Runs `body` with an open graph; `undefined` when there is no such graph. */
  use<T>(graph: string, body: (engine: Engine) => Promise<T>): Promise<T | undefined>;
  /** Whether any edge of a graph has an ordinal, and up to how many entries of its journal that holds. */
  ordinals(graph: string): Promise<{ readonly any: boolean; readonly size: number }>;
  /** For each far end, the graphs that have or had edges to it. */
  sources(far: readonly Bytes[]): Promise<readonly (readonly string[])[]>;
}

/** A lineage that the walk stands at. */
interface Stop {
  readonly graph: string;
  readonly lineage: string;
  readonly found: FoundMemory | undefined;
}

/** An edge met from a stop. */
interface Met {
  readonly stop: Stop;
  readonly side: Side;
  /** The graph that holds the edge. */
  readonly graph: string;
  readonly edge: MetEdge;
}

/** The same with the edge's record. */
interface Told extends Met {
  readonly record: EdgeRecord;
}

/** Edges whose far ends are looked up together, at the least. */
const CHUNK_EDGES = 64;

/** Walks from a lineage of a graph. */
export async function walkGraphs(
  hub: WalkHub,
  seed: { readonly graph: string; readonly lineage: string },
  plan: WalkPlan,
): Promise<Omit<GraphWalk, "clamped">> {
  const walk = new Walk(hub, plan);
  await walk.run(seed);
  return walk.result();
}

/** A walk under way. */
class Walk {
  readonly #hub: WalkHub;
  readonly #plan: WalkPlan;
  readonly #positions = new Map<string, number>();
  readonly #visited = new Set<string>();
  readonly #nodes: GraphNode[] = [];
  readonly #edges = new Map<string, GraphEdge>();
  readonly #dangling = new Map<string, { readonly graphId: string; readonly lineageId: string }>();
  #truncated = false;
  /** The clock of the graph that was read last, for what is stale. */
  #now = 0;

  constructor(hub: WalkHub, plan: WalkPlan) {
    this.#hub = hub;
    this.#plan = plan;
  }

  async run(seed: { readonly graph: string; readonly lineage: string }): Promise<void> {
    const start = await this.#seed(seed);
    this.#visited.add(stopName(start));
    const isOwner = this.#plan.access.kind === "owner";
    if (start.found !== undefined) this.#show(start, start.found);
    // Whether something hidden has edges is nobody else's business.
    else if (!isOwner) return;
    let frontier: readonly Stop[] = [start];
    for (let depth = 1; depth <= this.#plan.maxDepth && frontier.length > 0; depth += 1) {
      frontier = await this.#level(frontier);
      if (this.#truncated) return;
    }
  }

  async #seed(seed: { readonly graph: string; readonly lineage: string }): Promise<Stop> {
    const { graph, lineage } = seed;
    const found = await this.#read(graph, async (reader, engine) => {
      this.#now = engine.clock();
      return shownMemory(reader, parseRef(engine, lineage, "lineageId"), this.#plan.access);
    });
    if (found === undefined) return { graph, lineage, found };
    return { graph, lineage: lineageOf(found.head.record.head, found.id), found };
  }

  result(): Omit<GraphWalk, "clamped"> {
    return {
      nodes: this.#nodes,
      edges: [...this.#edges.values()],
      dangling: [...this.#dangling.values()],
      truncated: this.#truncated,
      positions: Object.fromEntries(this.#positions),
    };
  }

  /** Takes the edges of every stop, in order, and returns the stops they led to. */
  async #level(frontier: readonly Stop[]): Promise<readonly Stop[]> {
    const met = flattened(await this.#edgesFrom(frontier));
    const next: Stop[] = [];
    for (;;) {
      const room = this.#plan.maxNodes - this.#nodes.length;
      const part = taken(met, Math.max(CHUNK_EDGES, room));
      if (part.length === 0) break;
      const chunk = await this.#told(part);
      const ends = await this.#lookUp(chunk.map(farOf));
      for (const [index, one] of chunk.entries()) {
        const end = ends[index];
        if (end === undefined) continue;
        if (!this.#take(one, end, next)) return [];
      }
    }
    return next;
  }

  /** Records one edge and what it leads to; false when the bound on nodes ends the walk. */
  #take(met: Told, end: Stop, next: Stop[]): boolean {
    const isOwner = this.#plan.access.kind === "owner";
    if (end.found === undefined && !isOwner) return true;
    const name = stopName(end);
    if (!this.#visited.has(name)) {
      if (end.found === undefined) {
        this.#dangling.set(name, { graphId: end.graph, lineageId: end.lineage });
      } else if (!this.#show(end, end.found)) return false;
      this.#visited.add(name);
      next.push(end);
    }
    const edge = shapeFrom(met, end);
    this.#edges.set(edge.id, edge);
    return true;
  }

  /** Shows the node of a stop; false when there is no room. A hidden one is passed through. */
  #show(stop: Stop, found: FoundMemory): boolean {
    if (found.head.record.head.lifecycle === "tombstoned") return true;
    if (this.#nodes.length >= this.#plan.maxNodes) {
      this.#truncated = true;
      return false;
    }
    this.#nodes.push(currentNode(stop.graph, found, this.#now));
    return true;
  }

  /** The edges of all stops: for each stop those that leave it, then those that reach it. */
  async #edgesFrom(frontier: readonly Stop[]): Promise<readonly Iterable<Met>[]> {
    const { sides, followSymlinks, access } = this.#plan;
    const mayCross = followSymlinks && access.kind === "owner";
    const bySide = await Promise.all(
      sides.map(async (side) => {
        const local = await this.#localEdges(frontier, side);
        const foreign =
          side === "in" && mayCross ? await this.#foreignEdges(frontier) : frontier.map(() => []);
        return Promise.all(
          frontier.map((_, at) => this.#inOneOrder(local[at] ?? [], foreign[at] ?? [])),
        );
      }),
    );
    return frontier.flatMap((_, at) => bySide.flatMap((lists) => [lists[at] ?? []]));
  }

  /** Edges of a stop's own graph and of others, in one order; ages are compared, not seqs. */
  async #inOneOrder(local: Iterable<Met>, foreign: readonly Met[]): Promise<Iterable<Met>> {
    if (foreign.length === 0) return local;
    const all = await this.#told([...local, ...foreign]);
    const rank = ({ record }: Told): number => record.ordinal ?? Number.POSITIVE_INFINITY;
    const told = [...all].sort((a, b) =>
      rank(a) === rank(b) ? a.record.createdAt - b.record.createdAt : rank(a) - rank(b),
    );
    return told.map(({ stop, side, graph, edge, record }) => ({
      stop,
      side,
      graph,
      edge: { ...edge, record },
    }));
  }

  /** Reads the records of edges, in one read for each graph; leaves out those not to be walked. */
  async #told(met: readonly Met[]): Promise<readonly Told[]> {
    const { followSymlinks, access } = this.#plan;
    const mayCross = followSymlinks && access.kind === "owner";
    const records = met.map(({ edge }) => edge.record);
    const unread = met.map(({ graph, edge }) => (edge.record === undefined ? graph : undefined));
    for (const [graph, indexes] of grouped(unread)) {
      const places = indexes.flatMap((at) => met[at]?.edge.place ?? []);
      const found = await this.#read(graph, (reader) => edgeRecords(reader, places));
      for (const [index, at] of indexes.entries()) records[at] = found?.[index];
    }
    return met.flatMap((one, at) => {
      const record = records[at];
      if (record === undefined || (!mayCross && isSymlink(record))) return [];
      return [{ ...one, record }];
    });
  }

  /** Edges that the graph of each stop holds. */
  async #localEdges(frontier: readonly Stop[], side: Side): Promise<readonly Iterable<Met>[]> {
    const found: Iterable<Met>[] = frontier.map(() => []);
    for (const [graph, indexes] of grouped(frontier.map((stop) => stop.graph))) {
      const places = indexes.flatMap((at) => {
        const stop = frontier[at];
        if (stop === undefined) return [];
        const keys =
          side === "in"
            ? reachedKeys(stop.lineage, stop.found)
            : stop.found === undefined
              ? []
              : [stop.found.id];
        return [{ stop, at, keys }];
      });
      const ordinals = await this.#hub.ordinals(graph);
      const lists = await this.#read(graph, async (reader) => {
        const codes = await kindFilter(reader, this.#plan.edgeKinds);
        // What was written since may have one.
        const mayHaveOrdinals = ordinals.any || reader.head.size > ordinals.size;
        return edgesOf(reader, places, { side, codes, mayHaveOrdinals });
      });
      for (const [index, { stop, at }] of places.entries()) {
        const edges = lists?.[index];
        if (edges !== undefined) found[at] = metFrom({ stop, side, graph }, edges);
      }
    }
    return found;
  }

  /** Edges that other graphs hold and that reach the stops. */
  async #foreignEdges(frontier: readonly Stop[]): Promise<readonly (readonly Met[])[]> {
    const found: Met[][] = frontier.map(() => []);
    const keys = frontier.map(({ graph, lineage, found: memory }) =>
      farKeys(graph, lineage, memory),
    );
    const sources = await this.#hub.sources(keys.flat());
    let next = 0;
    const bySource = new Map<string, number[]>();
    for (const [at, own] of keys.entries()) {
      const graphs = new Set(own.flatMap(() => sources[next++] ?? []));
      for (const graph of graphs) {
        const known = bySource.get(graph) ?? [];
        known.push(at);
        bySource.set(graph, known);
      }
    }
    for (const [graph, indexes] of bySource) {
      const places = indexes.map((at) => ({ keys: keys[at] ?? [] }));
      const lists = await this.#read(graph, async (reader) => {
        const codes = await kindFilter(reader, this.#plan.edgeKinds);
        // Read with their records: they are put in one order with edges of another graph.
        return edgesOf(reader, places, { side: "in", codes, mayHaveOrdinals: true });
      });
      for (const [index, at] of indexes.entries()) {
        const stop = frontier[at];
        if (stop === undefined) continue;
        for (const edge of lists?.[index] ?? []) {
          found[at]?.push({ stop, side: "in", graph, edge });
        }
      }
    }
    return found;
  }

  /** Looks ends up, a few reads for each graph; `undefined` where nobody may know of one. */
  async #lookUp(ends: readonly End[]): Promise<readonly (Stop | undefined)[]> {
    const stops: (Stop | undefined)[] = ends.map(asNamed);
    const isNamed = ({ name }: End): boolean => this.#plan.edgesOnly && name !== undefined;
    const wantedOf = (end: End): string | undefined => (isNamed(end) ? undefined : end.graph);
    for (const [graph, indexes] of grouped(ends.map(wantedOf))) {
      const read = await this.#read(graph, async (reader, engine) => {
        this.#now = engine.clock();
        const wanted = indexes.map((at) => ends[at]);
        const names = wanted.flatMap((end) => end?.name ?? []);
        const ids = await findIds(
          reader,
          names.map((name) => parseRef(engine, name, "lineageId")),
        );
        const byName = new Map(names.map((name, at) => [name, ids[at]]));
        const idOf = (end: End | undefined): Bytes | undefined =>
          end?.id ?? (end?.name === undefined ? undefined : byName.get(end.name));
        const seen = await seenMemories(
          reader,
          wanted.flatMap((end) => idOf(end) ?? []),
          this.#plan.access,
        );
        return wanted.map((end) => seen.get(keyString(idOf(end) ?? EMPTY)));
      });
      for (const [index, at] of indexes.entries()) {
        const end = ends[at];
        if (end === undefined) continue;
        const found = read?.[index];
        if (found === undefined) continue;
        stops[at] = { graph, lineage: lineageOf(found.head.record.head, found.id), found };
      }
    }
    return stops;
  }

  /** Reads a graph at the position at which it was first entered; `undefined` where there is none. */
  async #read<T>(
    graph: string,
    body: (reader: Reader, engine: Engine) => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await this.#hub.use(graph, (engine) =>
        Reader.with(engine.kv, this.#positions.get(graph) ?? this.#plan.asOf, (reader) => {
          this.#positions.set(graph, reader.seq);
          return body(reader, engine);
        }),
      );
    } catch (error) {
      // At that time the graph was not born: it holds nothing.
      if (isCortexError(error, "ERR_AS_OF") && this.#plan.asOf instanceof Date) return undefined;
      throw error;
    }
  }
}

/** Edges as met from a stop, one by one as they are asked for. */
function metFrom(from: Omit<Met, "edge">, edges: EdgeRun): Iterable<Met> {
  return {
    *[Symbol.iterator]() {
      for (const edge of edges) yield { ...from, edge };
    },
  };
}

function* flattened<T>(lists: readonly Iterable<T>[]): Generator<T, undefined> {
  for (const list of lists) yield* list;
}

/** The next so many, or as many as there are. */
function taken<T>(items: Iterator<T>, most: number): T[] {
  const some: T[] = [];
  while (some.length < most) {
    const { value, done } = items.next();
    if (done === true) break;
    some.push(value);
  }
  return some;
}

/** An end to be looked up: by id, or by name. */
interface End {
  readonly graph: string;
  readonly id?: Bytes;
  readonly name?: string;
}

const EMPTY = new Uint8Array(0);

/** The other end of an edge than the one it was met from. */
function farOf({ side, graph, record }: Told): End {
  if (side === "in") return { graph, id: record.from };
  if (record.to instanceof Uint8Array) return { graph, id: record.to };
  return { graph: record.to.graph === "" ? graph : record.to.graph, name: record.to.name };
}

function shapeFrom({ stop, side, graph, record }: Told, end: Stop): GraphEdge {
  const [from, to] = side === "out" ? [stop, end] : [end, stop];
  return shapeGraphEdge(graph, record, {
    fromLineage: from.lineage,
    toLineage: to.lineage,
  });
}

function stopName({ graph, lineage, found }: Stop): string {
  return found === undefined ? `${graph} = ${lineage}` : `${graph} ${keyString(found.id)}`;
}

/** An end that may have no memory; one by id that is not there was forgotten, with its edges. */
function asNamed({ graph, name }: End): Stop | undefined {
  return name === undefined ? undefined : { graph, lineage: name, found: undefined };
}

/** Where each name stands in a list. */
function grouped(names: readonly (string | undefined)[]): ReadonlyMap<string, readonly number[]> {
  const groups = new Map<string, number[]>();
  for (const [at, name] of names.entries()) {
    if (name === undefined) continue;
    const known = groups.get(name);
    if (known === undefined) groups.set(name, [at]);
    else known.push(at);
  }
  return groups;
}
