/**
 * The walk: breadth-first along edges, in one graph or across several.
 *
 * Promises: each memory is met once and each edge reported once; of the edges of one memory those that
 * leave it come before those that reach it; the bound on hits is exact; what the caller may not see is
 * never entered. A level takes a few batched reads for each graph it touches, however wide it is.
 *
 * In one graph edges come by kind and other end, lead to memories, and are followed from whichever end they have a
 * name at: a symmetric kind from both, `caused_by` also as `causes`, unless edges are taken as they were given. A
 * walk with `far` goes by ordinal and age instead, also to names that no memory has, and into other graphs if it
 * may; a caller who is not the owner is never led out of the graph it starts in, nor told of a name without a
 * memory.
 *
 * Which graphs there are, and at which position each is read, is left to whoever starts the walk.
 */
import type { Sha256 } from "../codec/hash.js";
import { parseUlid } from "../codec/ulid.js";
import { EDGES_MAX } from "../contract/links.js";
import { findIds, memoryId } from "../engine/engine.js";
import { adjacencySeq } from "../history/pointers.js";
import type { FoundMemory, Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes, KvRow } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { shownMemories } from "../memory/read.js";
import { type EdgeRecord, farKey } from "../records/edge-record.js";
import type { Access } from "../scope/access.js";
import {
  along,
  isValidAt,
  kindCodes,
  liveRows,
  readAdjacent,
  type Side,
  type SidedEdge,
} from "./adjacency.js";

/** Edges whose far ends are looked up together, at the least. */
const CHUNK_EDGES = 64;
/** Edges of one level whose records are read without asking whether any of them has an ordinal. */
export const FEW_EDGES = 128;

/** How a walk goes, checked. */
export interface WalkPlan {
  readonly sides: readonly Side[];
  readonly kinds: readonly string[] | undefined;
  readonly minHops: number;
  readonly maxHops: number;
  readonly clamped: boolean;
  readonly maxNodes: number;
  /** Follow removed edges. */
  readonly includeTombstoned: boolean;
  /** Count hidden memories among the hits, rather than pass through them. */
  readonly showHidden: boolean;
  /** The time in the world at which edges must hold; where it is not given, edges are taken as they are. */
  readonly validAt?: number;
}

/** What a walk needs that is led by names as well, and perhaps into other graphs. */
export interface FarWalk {
  readonly sha256: Sha256;
  /** Whether it enters other graphs. */
  readonly symlinks: boolean;
  /** Only edges are wanted: names are not looked up. */
  readonly edgesOnly: boolean;
  /** Edges are walked the way they were put and under the names they were given, inverses aside. */
  readonly asGiven: boolean;
  /** Whether any edge of a graph has an ordinal, and up to how many entries of its journal that holds. */
  ordinals(graph: string): Promise<{ readonly any: boolean; readonly size: number }>;
  /** For each far end, the graphs that have or had edges to it. */
  sources(far: readonly Bytes[]): Promise<readonly (readonly string[])[]>;
}

/** The graphs of a walk. */
export interface WalkedGraphs {
  /** Reads a graph at the walk's position in it; `undefined` when there is no such graph. */
  read<T>(graph: string, body: (reader: Reader) => Promise<T>): Promise<T | undefined>;
}

/** A place that a walk comes to: a memory of a graph, or a name there that no memory has. */
export interface Stop {
  readonly graph: string;
  readonly id?: Bytes;
  readonly name?: string;
  readonly isHidden?: boolean;
  /** The whole memory, in a walk with `far`. */
  readonly found?: FoundMemory;
}

/** An edge as it was met from a stop. */
export interface MetEdge extends FoundEdge {
  readonly stop: Stop;
  /** Which way the walk went from the stop. */
  readonly way: Side;
  /** The graph that holds the edge. */
  readonly graph: string;
}

/** An edge, and its record where the order or its end depended on it. */
interface FoundEdge extends SidedEdge {
  readonly record?: EdgeRecord | undefined;
}

/** What a walk met. */
export interface Walk {
  readonly hits: readonly { readonly stop: Stop; readonly hop: number }[];
  readonly edges: readonly (MetEdge & { readonly end: Stop })[];
  /** Names without a memory. */
  readonly dangling: readonly Stop[];
  readonly truncated: boolean;
}

/** Walks from a stop; with `far`, the start is a hit as well, unless it is hidden. */
export async function breadthFirst(
  graphs: WalkedGraphs,
  start: Stop,
  how: { readonly plan: WalkPlan; readonly access: Access; readonly far?: FarWalk },
): Promise<Walk> {
  const { plan, far } = how;
  const ways = new Ways(graphs, how);
  const seen = new Set([nameOf(start)]);
  const hits = far === undefined || !isShown(start, plan) ? [] : [{ stop: start, hop: 0 }];
  const edges = new Map<string, MetEdge & { readonly end: Stop }>();
  const dangling: Stop[] = [];
  const found = (truncated: boolean): Walk => ({
    hits,
    edges: [...edges.values()],
    dangling,
    truncated,
  });
  let frontier: readonly Stop[] = [start];
  for (let hop = 1; hop <= plan.maxHops && frontier.length > 0; hop += 1) {
    const met = flattened(await ways.edgesFrom(frontier));
    const next: Stop[] = [];
    for (;;) {
      const part = taken(met, Math.max(CHUNK_EDGES, plan.maxNodes - hits.length));
      if (part.length === 0) break;
      for (const one of await ways.withEnds(await ways.valid(part))) {
        const { end } = one;
        const name = nameOf(end);
        if (!seen.has(name)) {
          // A hidden memory is passed through, not shown; nearer ones than asked for likewise.
          const isHit = hop >= plan.minHops && isShown(end, plan);
          const passed = Math.max(LIMITS.traverseNodes, plan.maxNodes);
          if (isHit ? hits.length >= plan.maxNodes : seen.size > passed) return found(true);
          seen.add(name);
          if (isHit) hits.push({ stop: end, hop });
          if (end.id === undefined) dangling.push(end);
          next.push(end);
        }
        const edge = keyString(one.edge.id);
        if (!edges.has(edge)) edges.set(edge, one);
      }
    }
    frontier = next;
  }
  return found(false);
}

function isShown({ id, isHidden }: Stop, plan: WalkPlan): boolean {
  return id !== undefined && (plan.showHidden || isHidden !== true);
}

function nameOf({ graph, id, name }: Stop): string {
  return id === undefined ? `${graph} = ${name}` : `${graph} ${keyString(id)}`;
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

/** How a walk gets from stops to edges, and from edges to stops. */
class Ways {
  readonly #graphs: WalkedGraphs;
  readonly #plan: WalkPlan;
  readonly #access: Access;
  readonly #far: FarWalk | undefined;
  /** Memories that were looked up, by graph and then by id. */
  readonly #known = new Map<string, Map<string, Stop>>();

  constructor(
    graphs: WalkedGraphs,
    how: { readonly plan: WalkPlan; readonly access: Access; readonly far?: FarWalk },
  ) {
    this.#graphs = graphs;
    this.#plan = how.plan;
    this.#access = how.access;
    this.#far = how.far;
  }

  /** The edges of all stops: for each stop those that leave it, then those that reach it. */
  async edgesFrom(stops: readonly Stop[]): Promise<readonly Iterable<MetEdge>[]> {
    const bySide = await Promise.all(this.#plan.sides.map((side) => this.#edges(stops, side)));
    return stops.flatMap((_, at) => bySide.map((lists) => lists[at] ?? []));
  }

  async #edges(stops: readonly Stop[], side: Side): Promise<readonly Iterable<MetEdge>[]> {
    const found: Iterable<MetEdge>[] = stops.map(() => []);
    const far = this.#far;
    for (const [graph, places] of grouped(stops.map((stop) => stop.graph))) {
      const own = places.flatMap((at) => stops[at] ?? []);
      const keys = own.map(far === undefined ? idsOf : keysOf(far, side));
      const lists = await this.#graphs.read(graph, (reader) =>
        this.#edgesIn(reader, keys, { side, graph }),
      );
      for (const [index, at] of places.entries()) {
        const stop = own[index];
        if (stop !== undefined)
          found[at] = metFrom({ stop, graph, way: side }, lists?.[index] ?? []);
      }
    }
    if (side === "out" || far === undefined || !this.#mayCross()) return found;
    return this.#withForeign(stops, found, far);
  }

  #mayCross(): boolean {
    return this.#far?.symlinks === true && this.#access.kind === "owner";
  }

  /** The edges under each set of keys, in order. */
  async #edgesIn(
    reader: Reader,
    keys: readonly (readonly Bytes[])[],
    { side, graph }: { readonly side: Side; readonly graph: string },
  ): Promise<readonly Iterable<FoundEdge>[]> {
    const { kinds, includeTombstoned, sides } = this.#plan;
    const isGiven = this.#far?.asGiven === true;
    const codes = await kindCodes(reader, kinds, isGiven);
    if (isGiven && reader.live && !includeTombstoned && codes.swapped.length === 0) {
      const wanted = { side, codes: codes.plain, limit: EDGES_MAX };
      const isNone = !codes.all && codes.plain.length === 0;
      const rows = regrouped(keys, isNone ? [] : await liveRows(reader, keys.flat(), wanted));
      if (await this.#hasOrdinals(reader, graph, rows)) {
        return byOrdinal(
          reader,
          rows.map((own) => own.map((row) => ({ side, edge: readAdjacent(row) }))),
        );
      }
      return rows.map((own) => byAge(own, side));
    }
    // A walk both ways meets every edge from either end anyway.
    const bothWays = isGiven || sides.length > 1 ? {} : ({ bothWays: "named" } as const);
    const wanted = { side, codes, includeTombstoned, ...bothWays };
    const found = await along(reader, keys.flat(), wanted);
    const lists = regrouped(keys, found);
    return this.#far === undefined ? lists : byOrdinal(reader, lists);
  }

  /**
   * Whether edges may have ordinals, which stand in their records. Those of a few edges will be read anyway;
   * for many, whoever knows is asked.
   */
  async #hasOrdinals(
    reader: Reader,
    graph: string,
    rows: readonly (readonly KvRow[])[],
  ): Promise<boolean> {
    let edges = 0;
    for (const own of rows) edges += own.length;
    if (edges <= FEW_EDGES || this.#far === undefined) return true;
    const { any, size } = await this.#far.ordinals(graph);
    // What was written since may have one.
    return any || reader.head.size > size;
  }

  /** Adds the edges that other graphs hold and that reach the stops; ages are compared, not seqs. */
  async #withForeign(
    stops: readonly Stop[],
    local: readonly Iterable<MetEdge>[],
    far: FarWalk,
  ): Promise<readonly Iterable<MetEdge>[]> {
    const keys = stops.map((stop) => farKeys(far, stop.graph, stop));
    const sources = regrouped(
      keys,
      (await far.sources(keys.flat())).map((names) => [...names]),
    );
    const foreign: MetEdge[][] = stops.map(() => []);
    const bySource = sources.flatMap((names, at) =>
      [...new Set(names)].map((name) => ({ name, at })),
    );
    for (const [graph, indexes] of grouped(bySource.map(({ name }) => name))) {
      const places = indexes.flatMap((index) => bySource[index]?.at ?? []);
      const wanted = places.map((at) => keys[at] ?? []);
      const lists = await this.#graphs.read(graph, (reader) =>
        this.#edgesIn(reader, wanted, { side: "in", graph }),
      );
      for (const [index, at] of places.entries()) {
        const stop = stops[at];
        if (stop === undefined) continue;
        foreign[at]?.push(...metFrom({ stop, graph, way: "in" }, lists?.[index] ?? []));
      }
    }
    return Promise.all(
      local.map(async (own, at) => {
        const others = foreign[at] ?? [];
        if (others.length === 0) return own;
        const all = await this.#withRecords([...own, ...others]);
        return all.sort((a, b) => rankOf(a) - rankOf(b) || createdAt(a) - createdAt(b));
      }),
    );
  }

  /** Of edges, those that hold at the time of the walk, with their records. */
  async valid(part: readonly MetEdge[]): Promise<readonly MetEdge[]> {
    const { validAt } = this.#plan;
    if (validAt === undefined) return part;
    const isRead = part.every(({ record }) => record !== undefined);
    const met = isRead ? part : await this.#withRecords(part);
    return met.filter(({ record }) => record !== undefined && isValidAt(record, validAt));
  }

  /** Edges with their records, in one read for each graph. */
  async #withRecords(met: readonly MetEdge[]): Promise<MetEdge[]> {
    const all = [...met];
    if (all.every(({ record }) => record !== undefined)) return all;
    for (const [graph, places] of grouped(all.map((one) => (one.record ? undefined : one.graph)))) {
      const pointers = places.flatMap((at) => all[at]?.edge ?? []);
      const records = await this.#graphs.read(graph, (reader) => reader.edges(pointers));
      for (const [index, at] of places.entries()) {
        const one = all[at];
        if (one !== undefined) all[at] = { ...one, record: records?.[index]?.record };
      }
    }
    return all;
  }

  /** Edges with the stops they lead to; one that must not be walked is left out. */
  async withEnds(part: readonly MetEdge[]): Promise<(MetEdge & { readonly end: Stop })[]> {
    const ends: (Stop | undefined)[] = await this.#memories(
      part.map(({ graph, edge }) => ({ graph, id: edge.other })),
    );
    const whole = this.#far === undefined ? part : await this.#withNamed(part, ends);
    const ended: (MetEdge & { readonly end: Stop })[] = [];
    for (const [at, { stop, way, graph, side, edge, record }] of whole.entries()) {
      const end = ends[at];
      // Members are named one by one: a spread of each edge, three times over, was a fifth of a walk.
      if (end !== undefined) ended.push({ stop, way, graph, side, edge, record, end });
    }
    return ended;
  }

  /** Fills in the ends that are names rather than memories, and the records that tell the names. */
  async #withNamed(
    part: readonly MetEdge[],
    ends: (Stop | undefined)[],
  ): Promise<readonly MetEdge[]> {
    const open = part.flatMap(({ side }, at) =>
      ends[at] === undefined && side === "out" ? [at] : [],
    );
    if (open.length === 0) return part;
    const whole = [...part];
    const told = await this.#withRecords(open.flatMap((at) => part[at] ?? []));
    const names = told.map(({ graph, record }) => this.#farName(graph, record));
    const found = await this.#byName(names.flatMap((name) => name ?? []));
    for (const [index, at] of open.entries()) {
      const [one, name] = [told[index], names[index]];
      if (one !== undefined) whole[at] = one;
      if (name === undefined) continue;
      const end = found.get(nameOf(name)) ?? name;
      // Whether something is not there or only hidden is nobody else's business.
      if (end.id !== undefined || this.#access.kind === "owner") ends[at] = end;
    }
    return whole;
  }

  /** The name that an edge leads to; `undefined` when the walk must not go there. */
  #farName(graph: string, record: EdgeRecord | undefined): Stop | undefined {
    const to = record?.to;
    // An end by id that is not there was forgotten, with its edges.
    if (to === undefined || to instanceof Uint8Array) return undefined;
    if (to.graph === "") return { graph, name: to.name };
    return this.#mayCross() ? { graph: to.graph, name: to.name } : undefined;
  }

  /** The memories that names have by now, by the stops of the names. */
  async #byName(names: readonly Stop[]): Promise<ReadonlyMap<string, Stop>> {
    const found = new Map<string, Stop>();
    if (this.#far?.edgesOnly === true) return found;
    for (const [graph, places] of grouped(names.map((name) => name.graph))) {
      const wanted = places.flatMap((at) => names[at] ?? []);
      const ids = await this.#graphs.read(graph, (reader) =>
        findIds(
          reader,
          wanted.map(({ name = "" }) => ({ text: name, externalId: name, ...idIn(name) })),
        ),
      );
      const named = wanted.flatMap((name, at) => {
        const id = ids?.[at];
        return id === undefined ? [] : [{ name, id }];
      });
      const stops = await this.#memories(named.map(({ id }) => ({ graph, id })));
      for (const [at, { name }] of named.entries()) {
        const stop = stops[at];
        if (stop !== undefined) found.set(nameOf(name), stop);
      }
    }
    return found;
  }

  /** The memories at places, as far as the caller may see them. */
  async #memories(
    places: readonly { readonly graph: string; readonly id: Bytes }[],
  ): Promise<(Stop | undefined)[]> {
    const found: (Stop | undefined)[] = places.map(() => undefined);
    const access = this.#access;
    const isWhole = this.#far !== undefined;
    for (const [graph, indexes] of grouped(places.map((place) => place.graph))) {
      const known = this.#known.get(graph) ?? new Map<string, Stop>();
      this.#known.set(graph, known);
      const names = indexes.map((at) => keyString(places[at]?.id ?? NOWHERE));
      const unknown = indexes.flatMap((at, index) =>
        known.has(names[index] ?? "") ? [] : (places[at]?.id ?? []),
      );
      if (unknown.length > 0) {
        const seen = await this.#graphs.read(graph, (reader) =>
          seenMemories(reader, unknown, { graph, access, isWhole }),
        );
        for (const [name, stop] of seen ?? []) known.set(name, stop);
      }
      for (const [index, at] of indexes.entries()) found[at] = known.get(names[index] ?? "");
    }
    return found;
  }
}

const NOWHERE = new Uint8Array(0);

/** Of memories, those that exist at the position and that the caller may see. */
async function seenMemories(
  reader: Reader,
  ids: readonly Bytes[],
  how: { readonly graph: string; readonly access: Access; readonly isWhole: boolean },
): Promise<ReadonlyMap<string, Stop>> {
  const { graph, access, isWhole } = how;
  const byName = new Map(ids.map((id) => [keyString(id), id]));
  const [names, unique] = [[...byName.keys()], [...byName.values()]];
  const rows = await reader.memoryRows(unique);
  const seen = new Map<string, Stop>();
  if (access.kind === "owner" && !isWhole) {
    for (const [at, id] of unique.entries()) {
      const lifecycle = rows[at]?.lifecycle ?? "erased";
      if (lifecycle !== "erased") {
        seen.set(names[at] ?? "", { graph, id, isHidden: lifecycle === "tombstoned" });
      }
    }
    return seen;
  }
  const shown = await shownMemories(reader, access, await reader.memories(unique, rows));
  for (const [at, found] of shown.entries()) {
    if (found !== undefined) seen.set(names[at] ?? "", stopOf(graph, found));
  }
  return seen;
}

/** A memory as a stop of its graph. */
export function stopOf(graph: string, found: FoundMemory): Stop {
  return { graph, id: found.id, found, isHidden: found.row.lifecycle === "tombstoned" };
}

/** What a lineage is called in the keys of edges: its external id, and the id of its memory. */
function namesOf({ found, name = "" }: Stop): readonly string[] {
  if (found === undefined) return [name];
  const { externalId } = found.head.record.head;
  return [...new Set([memoryId(found.id), ...(externalId === undefined ? [] : [externalId])])];
}

function farKeys({ sha256 }: FarWalk, graph: string, stop: Stop): Bytes[] {
  return namesOf(stop).map((name) => farKey(sha256, { graph, name }));
}

/** A stop is reached by edges that name its memory, and by those that named it before it was there. */
function keysOf(far: FarWalk, side: Side): (stop: Stop) => readonly Bytes[] {
  return (stop) => [...idsOf(stop), ...(side === "in" ? farKeys(far, "", stop) : [])];
}

function idsOf({ id }: Stop): readonly Bytes[] {
  return id === undefined ? [] : [id];
}

function idIn(name: string): { readonly id?: Bytes } {
  const id = parseUlid(name);
  return id === undefined ? {} : { id };
}

/** Edges as met from a stop, one by one as they are asked for. */
function metFrom(
  from: Pick<MetEdge, "stop" | "graph" | "way">,
  edges: Iterable<FoundEdge>,
): Iterable<MetEdge> {
  const { stop, way, graph } = from;
  const met = ({ side, edge, record }: FoundEdge): MetEdge => ({
    stop,
    way,
    graph,
    side,
    edge,
    record,
  });
  if (Array.isArray(edges)) return (edges as readonly FoundEdge[]).map(met);
  return {
    *[Symbol.iterator]() {
      for (const one of edges) yield met(one);
    },
  };
}

/** What was found under each key, put together by the set that the key is of. */
function regrouped<T>(
  keys: readonly (readonly Bytes[])[],
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
function byAge(rows: readonly KvRow[], side: Side): Iterable<FoundEdge> {
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
async function byOrdinal(
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

function rankOf({ record }: FoundEdge): number {
  return record?.ordinal ?? Number.MAX_VALUE;
}

function createdAt({ record }: FoundEdge): number {
  return record?.createdAt ?? 0;
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
