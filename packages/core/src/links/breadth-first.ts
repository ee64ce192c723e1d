/**
 * The walk: breadth-first along edges, in one graph or across several.
 *
 * Promises: each memory is met once and each edge reported once; of the edges of one memory those that
 * leave it come before those that reach it; the bound on hits is exact; what the caller may not see is
 * never entered. A level takes a few batched reads for each graph it touches, however wide it is.
 *
 * In one graph edges come by kind and other end, lead to memories, and are followed from whichever end they have
 * a name at: a symmetric kind from both, `caused_by` also as `causes`, unless edges are taken as they were
 * given. A walk with `far` goes by ordinal and age instead, also to names that no memory has, and into other
 * graphs if it may; a caller who is not the owner is never led out of the graph it starts in, and gets no name
 * without a memory.
 *
 * Which graphs there are, and at which position each is read, is left to whoever starts the walk.
 */
import type { Sha256 } from "../codec/hash.js";
import { EDGES_MAX } from "../contract/links.js";
import { findIds } from "../engine/engine.js";
import type { Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { Bytes, KvRow } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { shownMemories } from "../memory/read.js";
import type { EdgeRecord } from "../records/edge-record.js";
import type { Access } from "../scope/access.js";
import { along, isValidAt, kindCodes, liveRows, readAdjacent, type Side } from "./adjacency.js";
import {
  byAge,
  byOrdinal,
  byRankAndTime,
  type FoundEdge,
  grouped,
  regrouped,
} from "./edge-order.js";
import {
  byVersion,
  crosses,
  farKeys,
  type GraphKey,
  idIn,
  idsOf,
  keysOf,
  lineageName,
  lineageOf,
  nameOf,
  namesOf,
  type Stop,
  stopOf,
} from "./stops.js";

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
  /** For each name, the graphs that have or had edges to it, and the keys under which they have them. */
  reaching(names: readonly string[]): Promise<readonly (readonly GraphKey[])[]>;
  /** Set where a name means the same in every graph, whichever of them an edge says. */
  readonly lineages?: WalkedLineages | undefined;
}

/** What a walk asks about names that mean the same in every graph. */
interface WalkedLineages {
  /** Whether there is more than one graph. */
  readonly areSpread: boolean;
  /** For each name, the graphs that hold it or held it. */
  listed(names: readonly string[]): Promise<readonly (readonly string[])[]>;
}

/** The graphs of a walk. */
export interface WalkedGraphs {
  /** Reads a graph at the walk's position in it; `undefined` when there is no such graph. */
  read<T>(graph: string, body: (reader: Reader) => Promise<T>): Promise<T | undefined>;
}

/** An edge as it was met from a stop. */
export interface MetEdge extends FoundEdge {
  readonly stop: Stop;
  /** Which way the walk went from the stop. */
  readonly way: Side;
  /** The graph that holds the edge. */
  readonly graph: string;
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
  const nameIn = far?.lineages === undefined ? nameOf : lineageName;
  const seen = new Set([nameIn(start)]);
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
        const name = nameIn(end);
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

/** Of each stop, the keys of its edges in graphs that it left, and the graphs that use its name for something else. */
type Places = readonly {
  readonly lived: readonly GraphKey[];
  readonly apart: readonly string[];
}[];

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
    const places = await this.#placesOf(stops);
    const bySide = await Promise.all(
      this.#plan.sides.map((side) => this.#edges(stops, side, places)),
    );
    return stops.flatMap((_, at) => bySide.map((lists) => lists[at] ?? []));
  }

  async #edges(
    stops: readonly Stop[],
    side: Side,
    places: Places | undefined,
  ): Promise<readonly Iterable<MetEdge>[]> {
    const found: Iterable<MetEdge>[] = stops.map(() => []);
    const far = this.#far;
    for (const [graph, at] of grouped(stops.map((stop) => stop.graph))) {
      const own = at.flatMap((one) => stops[one] ?? []);
      const keys = own.map(far === undefined ? idsOf : keysOf(far, side));
      const lists = await this.#graphs.read(graph, (reader) =>
        this.#edgesIn(reader, keys, { side, graph }),
      );
      for (const [index, one] of at.entries()) {
        const stop = own[index];
        if (stop !== undefined)
          found[one] = metFrom({ stop, graph, way: side }, lists?.[index] ?? []);
      }
    }
    const isReached = side === "in" && (this.#mayCross() || far?.lineages?.areSpread === true);
    if (far === undefined || (!isReached && places === undefined)) return found;
    const lived = stops.map((_, at) => places?.[at]?.lived ?? []);
    const reached = isReached ? await this.#reaching(far, stops, places) : stops.map(() => []);
    const keys = lived.map((own, at) => [...own, ...(reached[at] ?? [])]);
    return this.#withForeign(stops, found, { side, keys });
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

  /** Where else the lineages of stops lived, or live; `undefined` where a name is at home in one graph. */
  async #placesOf(stops: readonly Stop[]): Promise<Places | undefined> {
    const lineages = this.#far?.lineages;
    if (lineages?.areSpread !== true) return undefined;
    const names = stops.map(lineageOf);
    const listed = await lineages.listed(names);
    const others = listed.map((graphs, at) =>
      graphs.flatMap((graph) =>
        graph === stops[at]?.graph ? [] : [{ graph, name: names[at] ?? "" }],
      ),
    );
    const found = await this.#named(others.flat());
    return others.map((own) => {
      const there = own.flatMap((one) => found.get(nameOf(one)) ?? []);
      const lived = there.flatMap(({ graph, id, isHidden }) =>
        id === undefined || isHidden !== true ? [] : [{ graph, key: id }],
      );
      return { lived, apart: there.flatMap((one) => (one.isHidden === true ? [] : [one.graph])) };
    });
  }

  /** The keys in graphs of edges that reach stops by their names, but for those that their own graphs gave. */
  async #reaching(
    far: FarWalk,
    stops: readonly Stop[],
    places: Places | undefined,
  ): Promise<readonly (readonly GraphKey[])[]> {
    const names = stops.map(namesOf);
    const reached = regrouped(names, await far.reaching(names.flat()));
    return stops.map((stop, at) => {
      const keysAs = (graph: string) => farKeys(far, graph, stop).map(keyString);
      const named = new Set(keysAs(stop.graph));
      const [own, apart] = [new Set(keysAs("")), places?.[at]?.apart ?? []];
      const others = new Set(apart.flatMap(keysAs));
      return (reached[at] ?? []).filter(({ graph, key }) => {
        const name = keyString(key);
        if (far.lineages === undefined) return named.has(name);
        // A graph that has a memory of its own by that name means it.
        return own.has(name)
          ? graph !== stop.graph && !apart.includes(graph)
          : named.has(name) || !others.has(name);
      });
    });
  }

  /** Adds the edges that graphs hold under more keys. */
  async #withForeign(
    stops: readonly Stop[],
    local: readonly Iterable<MetEdge>[],
    { side, keys }: { readonly side: Side; readonly keys: readonly (readonly GraphKey[])[] },
  ): Promise<readonly Iterable<MetEdge>[]> {
    const foreign: MetEdge[][] = stops.map(() => []);
    const all = keys.flatMap((own, at) => own.map((one) => ({ ...one, at })));
    for (const [graph, indexes] of grouped(all.map((one) => one.graph))) {
      const own = indexes.flatMap((index) => all[index] ?? []);
      const wanted = own.map(({ key }) => [key]);
      const lists = await this.#graphs.read(graph, (reader) =>
        this.#edgesIn(reader, wanted, { side, graph }),
      );
      for (const [index, { at }] of own.entries()) {
        const stop = stops[at];
        if (stop === undefined) continue;
        foreign[at]?.push(...metFrom({ stop, graph, way: side }, lists?.[index] ?? []));
      }
    }
    return Promise.all(
      local.map(async (own, at) => {
        const others = foreign[at] ?? [];
        if (others.length === 0) return own;
        return (await this.#withRecords([...own, ...others])).sort(byRankAndTime);
      }),
    );
  }

  /** Of edges, those that hold at the time of the walk and do not lead where it must not go, with their records. */
  async valid(part: readonly MetEdge[]): Promise<readonly MetEdge[]> {
    const { validAt } = this.#plan;
    const isKept = this.#far?.lineages !== undefined && !this.#mayCross();
    if (validAt === undefined && !isKept) return part;
    const isRead = part.every(({ record }) => record !== undefined);
    const met = isRead ? part : await this.#withRecords(part);
    return met.filter(
      ({ record }) =>
        record !== undefined &&
        (validAt === undefined || isValidAt(record, validAt)) &&
        !(isKept && crosses(record)),
    );
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

  /**
   * Fills in the ends that are names rather than memories, and the records that tell the names. Where lineages are
   * followed, what is hidden in one graph may be what left it for another.
   */
  async #withNamed(
    part: readonly MetEdge[],
    ends: (Stop | undefined)[],
  ): Promise<readonly MetEdge[]> {
    const far = this.#far;
    const isFollowed = far?.lineages?.areSpread === true && !far.edgesOnly;
    const open = part.flatMap(({ side }, at) => {
      const end = ends[at];
      const isOpen = end === undefined ? side === "out" : isFollowed && end.isHidden === true;
      return isOpen ? [at] : [];
    });
    if (open.length === 0) return part;
    const whole = [...part];
    const told = await this.#withRecords(open.flatMap((at) => part[at] ?? []));
    const names = open.map((at, index): Stop | undefined => {
      const [end, one] = [ends[at], told[index]];
      if (end !== undefined) return { graph: end.graph, name: lineageOf(end) };
      return one === undefined ? undefined : this.#farName(one.graph, one.record);
    });
    const found = await this.#byName(names.flatMap((name) => name ?? []));
    for (const [index, at] of open.entries()) {
      const [one, name] = [told[index], names[index]];
      if (one !== undefined) whole[at] = one;
      if (name === undefined) continue;
      const end = found.get(nameOf(name)) ?? ends[at] ?? name;
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
    // Where lineages are followed, whether the walk may cross was asked of the edge.
    const isOpen = this.#mayCross() || this.#far?.lineages !== undefined;
    return isOpen ? { graph: to.graph, name: to.name } : undefined;
  }

  /** The memories that names have by now, by the stops of the names: in the graph that is said, or else wherever they are. */
  async #byName(names: readonly Stop[]): Promise<ReadonlyMap<string, Stop>> {
    if (this.#far?.edgesOnly === true) return new Map();
    const found = await this.#named(names);
    const lineages = this.#far?.lineages;
    if (lineages === undefined) return found;
    const lost = names.filter((name) => found.get(nameOf(name))?.isHidden !== false);
    if (lost.length === 0) return found;
    const listed = await lineages.listed(lost.map(({ name = "" }) => name));
    const places = lost.map(({ graph, name = "" }, at) =>
      (listed[at] ?? []).flatMap((other) => (other === graph ? [] : [{ graph: other, name }])),
    );
    const elsewhere = await this.#named(places.flat());
    for (const [at, name] of lost.entries()) {
      const there = (places[at] ?? []).flatMap((place) => elsewhere.get(nameOf(place)) ?? []);
      const [home] = there.filter(({ isHidden }) => isHidden !== true).sort(byVersion);
      const end = home ?? found.get(nameOf(name)) ?? there[0];
      if (end !== undefined) found.set(nameOf(name), end);
    }
    return found;
  }

  /** The memories that graphs have by names, by the stops of the names. */
  async #named(names: readonly Stop[]): Promise<Map<string, Stop>> {
    const found = new Map<string, Stop>();
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
