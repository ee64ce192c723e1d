/**
 * Edges between the graphs of a hub: walking along them, and the manifest of one graph's symlinks.
 *
 * `traverse` is the one walk there is (`links/breadth-first.ts`), led by names and, on request, along symlinks.
 * Promises: each graph is read at one position, the one at which it was first entered, and the answer names it;
 * edges with an ordinal come first, then the others by age; the start is the first hit, at hop 0, and counts. An
 * end that no memory has is reported as dangling, and still walked from.
 *
 * The manifest says into which graphs a graph's edges lead, from which graphs edges lead into it, and how many each. Counts
 * come from the catalogue; which far ends are missing is looked up in the graphs themselves, when asked for.
 */
import * as z from "zod";
import { sha256Node } from "../codec/node-crypto.js";
import { whole } from "../contract/fields.js";
import type { Options } from "../contract/index.js";
import { walkFields } from "../contract/links.js";
import { checkInput } from "../contract/refusal.js";
import type { Edge, Memory } from "../contract/shapes.js";
import { checkOptions, type Engine, findIds, memoryId, parseRef } from "../engine/engine.js";
import { shapeEdge, shapeMemory } from "../engine/shapes.js";
import { isCortexError } from "../errors.js";
import { Reader } from "../history/reader.js";
import { keyString, prefixRange } from "../kv/keyspace.js";
import { INTEGER_MAX, LIMITS } from "../limits.js";
import {
  breadthFirst,
  type FarWalk,
  type Walk,
  type WalkedGraphs,
  type WalkPlan,
} from "../links/breadth-first.js";
import { grouped } from "../links/edge-order.js";
import { plainWalk } from "../links/plain-walk.js";
import { type GraphKey, type Stop, stopOf } from "../links/stops.js";
import { walkPlan } from "../links/walk.js";
import { findMemory, isShown } from "../memory/read.js";
import { type Access, OWNER } from "../scope/access.js";
import { decodeSymlink } from "./catalogue-fold.js";
import {
  decodeCount,
  type GraphRow,
  inboundKey,
  inCountKey,
  lineageHash,
  numberAtEnd,
  ordinalKey,
  outCountKey,
  symlinkKey,
  textInKey,
} from "./catalogue-rows.js";
import { checkGraphId, type HubContext, ifGraph } from "./context.js";

/** An edge of a graph, with the names its ends go by: an external id, or the id of a memory. */
export interface HubEdge {
  readonly graphId: string;
  readonly edge: Edge;
  readonly from: string;
  readonly to: string;
}

/** How a walk over graphs goes. */
export interface HubTraverseOptions
  extends Pick<Options<"traverse">, "direction" | "kinds" | "maxHops" | "maxNodes"> {
  /** True walks edges between graphs as well. */
  readonly symlinks?: boolean | undefined;
  /** True leaves memories out, and bounds on them; far ends that are names are not looked up. */
  readonly edgesOnly?: boolean | undefined;
  /** True walks edges only the way they were put, under the very names they were given. */
  readonly asGiven?: boolean | undefined;
  /** The past, as a time: every graph has a journal of its own, and time is what they share. */
  readonly asOf?: Date | undefined;
  readonly access?: Access | undefined;
}

/** What a walk over graphs found. */
export interface HubTraversal {
  readonly hits: readonly {
    readonly graphId: string;
    readonly hop: number;
    readonly memory: Memory;
  }[];
  readonly edges: readonly HubEdge[];
  /** Ends that no memory has. */
  readonly dangling: readonly { readonly graphId: string; readonly name: string }[];
  /** True when the bound on memories ended the walk. */
  readonly truncated: boolean;
  /** True when more hops were asked for than are allowed. */
  readonly clamped: boolean;
  /** At which position each graph was read. */
  readonly positions: { readonly [graphId: string]: number };
}

const OPTIONS = z.strictObject({
  direction: walkFields.direction,
  kinds: walkFields.kinds,
  maxHops: walkFields.maxHops,
  maxNodes: whole(1, LIMITS.traverseNodes).optional(),
  symlinks: z.boolean().optional(),
  edgesOnly: z.boolean().optional(),
  asGiven: z.boolean().optional(),
  asOf: z.date().optional(),
});

/** Walks from a memory of a graph, or from a name there; see the file header. */
export async function traverse(
  hub: HubContext,
  graph: string,
  ref: string,
  options: HubTraverseOptions = {},
): Promise<HubTraversal> {
  const { access = OWNER, ...given } = options;
  const {
    asOf,
    symlinks,
    edgesOnly = false,
    asGiven = false,
    ...rest
  } = checkInput(OPTIONS, given);
  const checked = walkPlan(rest);
  // An edge holds at the time that is asked about, as in every walk.
  const validAt = asOf?.getTime() ?? hub.clock();
  const bounded = edgesOnly ? { ...checked, maxNodes: Number.POSITIVE_INFINITY } : checked;
  const plan = { ...bounded, validAt };
  const graphs = new HubGraphs(hub, asOf);
  const home = checkGraphId(graph, hub.prefix);
  const far: FarWalk = {
    sha256: sha256Node,
    symlinks: symlinks === true,
    edgesOnly,
    asGiven,
    ordinals: (name) => ordinalsOf(hub, name),
    reaching: (names) => reachingOf(hub, names),
    // Lineages are names in every graph; who is not the owner is led out of none.
    lineages: asGiven && access.kind === "owner" ? lineagesOf(hub) : undefined,
  };
  return graphs.holding(home, () => walkFrom(graphs, { graph: home, ref }, { plan, access, far }));
}

async function walkFrom(
  graphs: HubGraphs,
  { graph, ref }: { readonly graph: string; readonly ref: string },
  how: { readonly plan: WalkPlan; readonly access: Access; readonly far: FarWalk },
): Promise<HubTraversal> {
  const { access, far } = how;
  const { clamped } = how.plan;
  const plain = await plainFrom(graphs, { graph, ref }, how);
  if (plain !== undefined) return plain;
  const start = await graphs.start(graph, ref, access);
  const positions = (): HubTraversal["positions"] => Object.fromEntries(graphs.positions);
  // Whether something hidden has edges is nobody else's business.
  if (start.id === undefined && access.kind !== "owner") {
    return { hits: [], edges: [], dangling: [], truncated: false, clamped, positions: positions() };
  }
  const walk = await breadthFirst(graphs, start, how);
  return {
    hits: far.edgesOnly ? [] : walk.hits.flatMap(shapeHit),
    edges: await shapeEdges(graphs, walk),
    dangling: walk.dangling.map((stop) => ({ graphId: stop.graph, name: nameOf(stop) })),
    truncated: walk.truncated,
    clamped,
    positions: positions(),
  };
}

/** The walk as most are, where nothing has to be waited for; `undefined` for any other. */
async function plainFrom(
  graphs: HubGraphs,
  { graph, ref }: { readonly graph: string; readonly ref: string },
  how: { readonly plan: WalkPlan; readonly access: Access; readonly far: FarWalk },
): Promise<HubTraversal | undefined> {
  const { plan, access, far } = how;
  if (access.kind !== "owner" || far.edgesOnly || !far.asGiven) return undefined;
  const walk = await graphs.read(graph, (reader, engine) =>
    plainWalk(reader, { graph, ref: parseRef(engine, ref, "id") }, plan),
  );
  if (walk === undefined) return undefined;
  // A lineage that came from another graph left its edges there; one at its first version came from none.
  const later = walk.hits.flatMap(({ memory }) =>
    memory.version > 1 ? [memory.head.externalId ?? memory.id] : [],
  );
  if (later.length > 0 && far.lineages?.areSpread === true) {
    const listed = await far.lineages.listed(later);
    if (listed.some(({ length }) => length > 1)) return undefined;
  }
  return {
    hits: walk.hits.map(({ hop, memory }) => ({ graphId: graph, hop, memory })),
    edges: walk.edges.map(({ edge, from, to }) => ({ graphId: graph, edge, from, to })),
    dangling: [],
    truncated: walk.truncated,
    clamped: plan.clamped,
    positions: Object.fromEntries(graphs.positions),
  };
}

/** The graphs of a walk, each read at the position at which it was first entered. */
class HubGraphs implements WalkedGraphs {
  readonly #hub: HubContext;
  readonly #asOf: Date | undefined;
  readonly positions = new Map<string, number>();
  #held: { readonly graph: string; readonly reader: Reader; readonly engine: Engine } | undefined;

  constructor(hub: HubContext, asOf: Date | undefined) {
    this.#hub = hub;
    this.#asOf = asOf;
  }

  /**
   * Runs a walk that reads the graph it starts in through one reader. Not where there is a server: a walk that
   * holds one connection while it waits for another could wait for ever.
   */
  async holding<T>(graph: string, walk: () => Promise<T>): Promise<T> {
    const done = await this.#hub.stores.use(graph, async ({ engine }) => {
      // A walk calls no verb of the graph: without this, work in the background would take its callers for gone.
      engine.activity.calls += 1;
      if (this.#asOf !== undefined || engine.kv.report !== undefined) return undefined;
      return Reader.with(engine.kv, undefined, async (reader) => {
        this.positions.set(graph, reader.seq);
        this.#held = { graph, reader, engine };
        return { value: await walk() };
      });
    });
    return done === undefined ? walk() : done.value;
  }

  async read<T>(
    graph: string,
    body: (reader: Reader, engine: Engine) => Promise<T>,
  ): Promise<T | undefined> {
    const held = this.#held;
    if (held !== undefined && held.graph === graph) return body(held.reader, held.engine);
    try {
      const known = this.positions.get(graph);
      const asOf = known === undefined ? this.#asOf : undefined;
      return await this.#hub.stores.use(graph, ({ engine }) =>
        Reader.with(engine.kv, asOf, (reader) => {
          if (known === undefined) this.positions.set(graph, reader.seq);
          const isThen = known === undefined || known >= reader.seq;
          return body(isThen ? reader : reader.before(known), engine);
        }),
      );
    } catch (error) {
      // At that time the graph was not born: it holds nothing.
      if (isCortexError(error, "ERR_AS_OF") && this.#asOf !== undefined) return undefined;
      throw error;
    }
  }

  /** Where a walk begins: a memory that the caller may see, or a name. */
  async start(graph: string, ref: string, access: Access): Promise<Stop> {
    const found = await this.read(graph, async (reader, engine) => {
      const [id] = await findIds(reader, [parseRef(engine, ref, "id")]);
      const memory = id === undefined ? undefined : await findMemory(reader, id);
      return memory !== undefined && (await isShown(reader, access, memory)) ? memory : undefined;
    });
    return found === undefined ? { graph, name: ref } : stopOf(graph, found);
  }
}

function shapeHit({ stop, hop }: Walk["hits"][number]): HubTraversal["hits"] {
  const { graph, found } = stop;
  return found === undefined ? [] : [{ graphId: graph, hop, memory: shapeMemory(graph, found) }];
}

async function shapeEdges(graphs: HubGraphs, walk: Walk): Promise<readonly HubEdge[]> {
  const records = walk.edges.map(({ record }) => record);
  const unread = walk.edges.map(({ record, graph }) => (record === undefined ? graph : undefined));
  for (const [graph, places] of grouped(unread)) {
    const pointers = places.flatMap((at) => walk.edges[at]?.edge ?? []);
    const found = await graphs.read(graph, (reader) => reader.edges(pointers));
    for (const [index, at] of places.entries()) records[at] = found?.[index]?.record;
  }
  return walk.edges.flatMap(({ side, graph, edge, stop, end }, at): HubEdge[] => {
    const record = records[at];
    if (record === undefined) return [];
    const [from, to] = side === "out" ? [stop, end] : [end, stop];
    const shaped = shapeEdge(record, edge.seq);
    return [{ graphId: graph, edge: shaped, from: nameOf(from), to: nameOf(to) }];
  });
}

function nameOf({ found, name = "" }: Stop): string {
  return found === undefined ? name : (found.head.record.head.externalId ?? memoryId(found.id));
}

/** Whether a graph has edges with an ordinal, as far as the catalogue has come. */
async function ordinalsOf(
  { catalogue }: HubContext,
  graph: string,
): Promise<{ readonly any: boolean; readonly size: number }> {
  const row = await catalogue.caughtUpGraph(graph);
  if (row === undefined) return { any: false, size: 0 };
  const range = { ...prefixRange(ordinalKey(row.number), 1), keysOnly: true };
  const [found = []] = await catalogue.read((snapshot) => snapshot.ranges([range]));
  return { any: found.length > 0, size: row.cursor };
}

/** The graphs that have or had edges to names, and under which keys, from a catalogue that is up to date. */
async function reachingOf(
  { catalogue }: HubContext,
  names: readonly string[],
): Promise<readonly (readonly GraphKey[])[]> {
  await catalogue.caughtUp();
  return catalogue.read(async (snapshot) => {
    const found = await snapshot.ranges(
      names.map((name) => prefixRange(inboundKey(lineageHash(name)), INTEGER_MAX)),
    );
    // Prefix 1, hash of the name 16, then the number of the graph: edges of one graph share a key of it.
    const places = found.map((rows) => [
      ...new Map(
        rows.map(({ key, value }) => {
          const number = decodeCount(key.subarray(17, 21));
          return [`${number} ${keyString(value)}`, { number, key: value }] as const;
        }),
      ).values(),
    ]);
    const graphs = await catalogue.namesOf(
      snapshot,
      places.flat().map(({ number }) => number),
    );
    let next = 0;
    return places.map((own) =>
      own.flatMap(({ key }) => {
        const graph = graphs[next++];
        return graph === undefined ? [] : [{ graph, key }];
      }),
    );
  });
}

/** Where names are, as far as the catalogue has come; where there is one graph, there. */
function lineagesOf({ lineages }: HubContext): FarWalk["lineages"] {
  const only = lineages.only();
  if (only !== undefined) {
    return { areSpread: false, listed: async (names) => names.map(() => [only]) };
  }
  return { areSpread: true, listed: (names) => lineages.listedEach(names) };
}

/** A graph at the other end of symlinks. */
export interface GraphRef {
  readonly graphId: string;
  /** How many edges; edges that say the same count each. */
  readonly edgeCount: number;
  /** False when there is no such graph. */
  readonly exists: boolean;
}

/** Which graphs a graph is tied to. */
export interface SymlinkManifest {
  /** Sorted by graph. */
  readonly outbound: readonly GraphRef[];
  readonly inbound: readonly GraphRef[];
  /** Symlinks whose far end is not there; only when asked for. */
  readonly dangling?: readonly HubEdge[];
}

/** How a manifest is made. */
export interface SymlinkOptions {
  /** True looks every far end up, which opens every graph that symlinks lead to. */
  readonly dangling?: boolean;
}

/** The manifest of a graph; empty when there is no such graph. */
export async function symlinks(
  hub: HubContext,
  graph: string,
  options: SymlinkOptions = {},
): Promise<SymlinkManifest> {
  checkOptions(options, ["dangling", "access"]);
  const name = checkGraphId(graph, hub.prefix);
  const { rows } = await hub.catalogue.caughtUp();
  const row = rows.get(name);
  const outbound = row === undefined ? [] : await outboundOf(hub, row);
  const manifest = {
    outbound: outbound.map((ref) => ({ ...ref, exists: rows.has(ref.graphId) })).sort(byGraph),
    inbound: (await inboundOf(hub, name)).sort(byGraph),
  };
  if (options.dangling !== true || row === undefined) return manifest;
  return { ...manifest, dangling: await danglingOf(hub, name, row) };
}

function byGraph(a: GraphRef, b: GraphRef): number {
  return a.graphId < b.graphId ? -1 : 1;
}

async function outboundOf(
  { catalogue, prefix }: HubContext,
  row: GraphRow,
): Promise<Omit<GraphRef, "exists">[]> {
  const [found = []] = await catalogue.read((snapshot) =>
    snapshot.ranges([prefixRange(outCountKey(row.number), INTEGER_MAX)]),
  );
  return found
    .map(({ key, value }) => ({
      graphId: textInKey(key.subarray(5)),
      edgeCount: decodeCount(value),
    }))
    .filter(({ graphId }) => graphId.startsWith(prefix));
}

async function inboundOf({ catalogue }: HubContext, graph: string): Promise<GraphRef[]> {
  return catalogue.read(async (snapshot) => {
    const [found = []] = await snapshot.ranges([prefixRange(inCountKey(graph), INTEGER_MAX)]);
    const names = await catalogue.namesOf(
      snapshot,
      found.map(({ key }) => numberAtEnd(key)),
    );
    return found.flatMap(({ value }, at) => {
      const graphId = names[at];
      if (graphId === undefined) return [];
      return [{ graphId, edgeCount: decodeCount(value), exists: true }];
    });
  });
}

/** The symlinks of a graph whose far end is not there, found from the memories they leave. */
async function danglingOf(hub: HubContext, graph: string, row: GraphRow): Promise<HubEdge[]> {
  const [links = []] = await hub.catalogue.read((snapshot) =>
    snapshot.ranges([prefixRange(symlinkKey(row.number), INTEGER_MAX)]),
  );
  const live = links.filter(({ value }) => {
    const { graph: far, isLive } = decodeSymlink(value);
    return far !== "" && isLive;
  });
  // Prefix 1, number 4, then the key of the edge, which begins with the memory that it leaves.
  const ids = new Set(live.map(({ key }) => memoryId(key.subarray(5, 21))));
  const edges = await ifGraph(hub, graph, async ({ memory }) => {
    const lists = [...ids].map(async (id): Promise<HubEdge[]> => {
      const [found, out] = await Promise.all([memory.get(id), memory.edgesOut(id)]);
      const from = found?.head.externalId ?? id;
      const far = out.edges.filter(({ toGraph }) => toGraph !== undefined);
      return far.map((edge) => ({ graphId: graph, edge, from, to: edge.to }));
    });
    return (await Promise.all(lists)).flat();
  });
  const isThere = await Promise.all((edges ?? []).map(({ edge }) => hasFarEnd(hub, edge)));
  return (edges ?? []).filter((_, at) => isThere[at] !== true);
}

async function hasFarEnd(hub: HubContext, { toGraph, to }: Edge): Promise<boolean> {
  return (await ifGraph(hub, toGraph, ({ memory }) => memory.get(to))) !== undefined;
}
