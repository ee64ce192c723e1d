/**
 * The verbs about edges: put, delete, those that leave a lineage and those that reach it, walks, and
 * the manifest of symlinks.
 */

import { checkOptions } from "../engine/engine.js";
import { CortexError, invalid } from "../errors.js";
import { prefixRange } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { removeEdgeById } from "../links/edges.js";
import { type Access, OWNER } from "../scope/access.js";
import { decodeCount, inboundKey, ordinalKey } from "./catalogue-rows.js";
import { graphOf, type HubContext, type InGraph, ifGraph, inGraph } from "./context.js";
import { parseGraphEdgeId } from "./edge.js";
import { checkEdgeKinds } from "./edge-read.js";
import {
  applyGraphEdge,
  type GraphEdgeInput,
  type GraphEdgeResult,
  graphEdgeNeeds,
  prepareGraphEdge,
} from "./edge-write.js";
import { type GraphWalk, type WalkHub, type WalkPlan, walkGraphs } from "./traverse.js";

/** Adds an edge to a graph; see `edge-write.ts`. */
export async function putEdge(
  hub: HubContext,
  graph: string,
  input: GraphEdgeInput,
): Promise<GraphEdgeResult> {
  return inGraph(hub, graph, async (engine) => {
    const edge = prepareGraphEdge(engine, input, hub.prefix);
    const { value } = await engine.writer.submit({
      ...graphEdgeNeeds(edge),
      run: (tx) => applyGraphEdge(engine, tx, edge),
    });
    return value;
  });
}

/** Removes an edge, softly; `ERR_NOT_FOUND` when it is not there, or removed already. */
export async function deleteEdge(
  hub: HubContext,
  id: string,
  options: { readonly reason?: string; readonly by?: string } = {},
): Promise<{ readonly ok: true; readonly seq: number }> {
  checkOptions(options, ["reason", "by"]);
  const { graph, ulid } = parseGraphEdgeId(id, hub.prefix);
  const removed = await ifGraph(hub, graph, (engine) =>
    removeEdgeById(engine, { id: ulid, access: OWNER, ...options }),
  );
  if (removed?.changed === true) return { ok: true, seq: removed.seq };
  throw new CortexError("ERR_NOT_FOUND", `edgeId: no edge ${id}`, { field: "edgeId", subject: id });
}

/** Which edges of a lineage to read. */
export interface EdgesOptions extends InGraph {
  /** Any of these kinds; all when empty. */
  readonly edgeKinds?: readonly string[];
  readonly access?: Access;
}

/** Edges of one lineage: those with an ordinal first, then the others by age. */
export interface GraphEdges extends Pick<GraphWalk, "edges" | "positions"> {}

/** The edges that leave a lineage, symlinks included; empty when there is no such lineage. */
export async function outgoing(
  hub: HubContext,
  lineage: string,
  options: EdgesOptions = {},
): Promise<GraphEdges> {
  return edgesAlong(hub, lineage, "outgoing", options);
}

/** The edges that reach a lineage, from its own graph and from others. */
export async function incoming(
  hub: HubContext,
  lineage: string,
  options: EdgesOptions = {},
): Promise<GraphEdges> {
  return edgesAlong(hub, lineage, "incoming", options);
}

/** One level of a walk that shows no nodes: the same edges, in the same order. */
async function edgesAlong(
  hub: HubContext,
  lineage: string,
  direction: "outgoing" | "incoming",
  options: EdgesOptions,
): Promise<GraphEdges> {
  checkOptions(options, ["edgeKinds", "graph", "access"]);
  checkEdgeKinds(options.edgeKinds);
  const graph = await graphOf(hub, lineage, options.graph);
  if (graph === undefined) return { edges: [], positions: {} };
  const { edges, positions } = await walkGraphs(
    walkHub(hub),
    { graph, lineage },
    {
      sides: [direction === "outgoing" ? "out" : "in"],
      maxDepth: 1,
      maxNodes: Number.POSITIVE_INFINITY,
      edgeKinds: options.edgeKinds,
      followSymlinks: true,
      edgesOnly: true,
      asOf: undefined,
      access: options.access ?? OWNER,
    },
  );
  return { edges, positions };
}

/** How a walk goes. */
export interface GraphTraverseOptions extends EdgesOptions {
  /** 1 when it is absent or not above 0; clamped, and the answer says so. */
  readonly maxDepth?: number;
  /** Most nodes, the seed included; 1,024 when it is absent or not above 0. */
  readonly maxNodes?: number;
  /** `outgoing` when not given. */
  readonly direction?: "outgoing" | "incoming" | "both";
  /** True walks edges between graphs as well. */
  readonly followSymlinks?: boolean;
  /** The past, as a time: every graph has a journal of its own, and time is what they share. */
  readonly asOf?: Date;
}

/** Walks the graph breadth-first from a lineage; see `traverse.ts`. */
export async function traverse(
  hub: HubContext,
  lineage: string,
  options: GraphTraverseOptions = {},
): Promise<GraphWalk> {
  checkOptions(options, WALK_OPTIONS);
  const { plan, clamped } = checkWalk(options);
  const graph = await graphOf(hub, lineage, options.graph);
  if (graph === undefined) return { ...NOTHING, clamped };
  const access = options.access ?? OWNER;
  const walk = await walkGraphs(walkHub(hub), { graph, lineage }, { ...plan, access });
  return { ...walk, clamped };
}

const NOTHING = { nodes: [], edges: [], dangling: [], truncated: false, positions: {} };

const WALK_OPTIONS = [
  "maxDepth",
  "maxNodes",
  "direction",
  "followSymlinks",
  "asOf",
  "edgeKinds",
  "graph",
  "access",
];

const SIDES = { outgoing: ["out"], incoming: ["in"], both: ["out", "in"] } as const;

function checkWalk(options: GraphTraverseOptions): {
  readonly plan: Omit<WalkPlan, "access">;
  readonly clamped: boolean;
} {
  const { direction = "outgoing", asOf, edgeKinds, followSymlinks = false } = options;
  if (!Object.hasOwn(SIDES, direction)) {
    throw invalid("direction", "outgoing, incoming or both", direction);
  }
  if (asOf !== undefined && !(asOf instanceof Date)) throw invalid("asOf", "a Date", asOf);
  checkEdgeKinds(edgeKinds);
  const maxDepth = orDefault(options.maxDepth, "maxDepth", 1);
  const maxNodes = orDefault(options.maxNodes, "maxNodes", LIMITS.traverseNodesDefault);
  if (maxNodes > LIMITS.traverseNodes) {
    throw invalid("maxNodes", `at most ${LIMITS.traverseNodes}`, maxNodes);
  }
  return {
    plan: {
      sides: SIDES[direction],
      maxDepth: Math.min(maxDepth, LIMITS.hops),
      maxNodes,
      edgeKinds,
      followSymlinks: followSymlinks === true,
      edgesOnly: false,
      asOf,
    },
    clamped: maxDepth > LIMITS.hops,
  };
}

function orDefault(value: unknown, field: string, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value !== "number" || !Number.isSafeInteger(value)) {
    throw invalid(field, "an integer", value);
  }
  return value <= 0 ? fallback : value;
}

/** More edges than reach one lineage from other graphs. */
const SOURCES = 1_000_000;

/** What a walk uses of the hub. */
export function walkHub(hub: HubContext): WalkHub {
  return {
    use: (graph, body) => hub.stores.use(graph, ({ engine }) => body(engine)),
    ordinals: (graph) => ordinalsOf(hub, graph),
    sources: (far) => sourcesOf(hub, far),
  };
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

/** The graphs that have or had edges to far ends, from a catalogue that is up to date. */
async function sourcesOf(
  { catalogue }: HubContext,
  far: readonly Bytes[],
): Promise<readonly (readonly string[])[]> {
  await catalogue.caughtUp();
  return catalogue.read(async (snapshot) => {
    const ranges = far.map((key) => ({
      ...prefixRange(inboundKey(key), SOURCES),
      keysOnly: true,
    }));
    const found = await snapshot.ranges(ranges);
    // Prefix 1, far end 16, then the number of the graph.
    const numbers = found.map((rows) => [
      ...new Set(rows.map(({ key }) => decodeCount(key.subarray(17, 21)))),
    ]);
    const names = await catalogue.namesOf(snapshot, numbers.flat());
    let next = 0;
    return numbers.map((own) => own.flatMap(() => names[next++] ?? []));
  });
}
