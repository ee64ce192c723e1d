/**
 * memgraph's calls about edges: put, delete, those that leave a lineage and those that reach it, walks.
 *
 * An edge joins lineages. Every put adds one, also where the same two are joined so already; a lineage
 * may be joined to itself; the far end may be in another graph, and need not exist. The near end must:
 * an edge is stored with the memory it leaves. The id of an edge is its own id and the name of its
 * graph, `<ulid>@<graph>`, so it is found without looking anything up; an edge that was imported keeps
 * the id that it came with.
 *
 * Kinds are kept as they were given. A built-in name that the store would read as another one (an inverse such as
 * `causes`), that only the store may mint, that was no kind of its own in earlier stores (`relates`,
 * `relates_to`), or that differs from a built-in name in case alone is stored as a kind of the graph's own with a
 * `=` before it, and shown without.
 */
import * as z from "zod";
import { parseUlid } from "../codec/ulid.js";
import type { BatchLink } from "../contract/batch.js";
import { listOf, textField } from "../contract/fields.js";
import type { ImportedEdge } from "../contract/imported.js";
import { checkInput } from "../contract/refusal.js";
import { checkOptions } from "../engine/engine.js";
import { CortexError } from "../errors.js";
import { checkGraphId, isGraphId } from "../hub/context.js";
import type { Hub } from "../hub/hub.js";
import { ULID_NAME } from "../hub/lineages.js";
import type {
  GraphRef,
  HubEdge,
  HubTraversal,
  HubTraverseOptions,
  SymlinkManifest,
  SymlinkOptions,
} from "../hub/walk.js";
import { LIMITS } from "../limits.js";
import { canonicalKind } from "../records/edge-kinds.js";
import { jsonObjectField } from "../records/fields.js";
import { checkExternalId } from "../records/frames.js";
import type { Access } from "../scope/access.js";
import { type GraphNode, nodesOf } from "./node.js";
import {
  type AccessOption,
  admitted,
  authorIn,
  inWords,
  type KeyedOptions,
  shownAuthor,
} from "./policies.js";

/** An edge between two lineages. */
export interface GraphEdge {
  /** `<ulid>@<graph>`, or the id that it was imported with. */
  readonly id: string;
  readonly graphId: string;
  readonly fromLineage: string;
  readonly toGraph: string;
  readonly toLineage: string;
  readonly kind: string;
  readonly metadata?: { readonly [key: string]: unknown };
  readonly ordinal?: number;
  readonly createdAt: number;
  /** Billionths of a second beyond the milliseconds of `createdAt`, where known. */
  readonly nanos?: number;
  readonly createdBy: string;
}

/** Edges of graphs in memgraph's shape, under the ids that callers know them by. */
export async function edgesOf(hub: Hub, edges: readonly HubEdge[]): Promise<GraphEdge[]> {
  const shown = new Map<string, string>();
  for (const { graphId, edge } of edges) {
    const { toGraph = graphId } = edge;
    if (!shown.has(graphId)) shown.set(graphId, await hub.lineages.shownName(graphId));
    if (!shown.has(toGraph)) shown.set(toGraph, await hub.lineages.shownName(toGraph));
  }
  return edges.map((edge) => edgeOf(edge, shown));
}

/** The one edge that there is. */
async function edgeIn(hub: Hub, edge: HubEdge): Promise<GraphEdge> {
  const [only] = await edgesOf(hub, [edge]);
  if (only === undefined) throw new Error("an edge is none");
  return only;
}

/** Set member by member: a walk has many edges. */
function edgeOf(
  { graphId, edge, from, to }: HubEdge,
  shown: ReadonlyMap<string, string>,
): GraphEdge {
  const { metadata, ordinal, createdAt, createdBy, origin, source, toGraph = graphId } = edge;
  const told: { -readonly [member in keyof GraphEdge]?: GraphEdge[member] } = {
    id: origin?.id ?? `${edge.id}@${graphId}`,
    graphId: origin?.graph ?? shown.get(graphId) ?? graphId,
    fromLineage: from,
    toGraph: origin?.toGraph ?? shown.get(toGraph) ?? toGraph,
    toLineage: to,
    kind: edge.kind.startsWith(VERBATIM) ? edge.kind.slice(VERBATIM.length) : edge.kind,
  };
  if (metadata !== undefined) told.metadata = metadata;
  if (ordinal !== undefined) told.ordinal = ordinal;
  told.createdAt = createdAt;
  if (origin?.nanos !== undefined) told.nanos = origin.nanos;
  told.createdBy =
    origin === undefined ? shownAuthor({ createdBy, source, graphId }, "") : createdBy;
  return told as GraphEdge;
}

/** Before a kind that is kept as it was given although the store knows it as another. */
const VERBATIM = "=";
/** Kinds that stores hold so since before they were built in. */
const VERBATIM_ALWAYS: ReadonlySet<string> = new Set(["relates", "relates_to"]);

/** The name under which a kind is stored. */
function storedKind(kind: string): string {
  const builtIn = canonicalKind(kind);
  const isPlain = builtIn?.kind.name === kind && builtIn.kind.mint === "anyone";
  if (isPlain && !VERBATIM_ALWAYS.has(kind)) return kind;
  const isTaken = canonicalKind(kind.trim().toLowerCase()) !== undefined;
  return isTaken || kind.startsWith(VERBATIM) ? `${VERBATIM}${kind}` : kind;
}

/** What an edge is to be, its ends aside. */
const edgeFields = {
  kind: z
    .string()
    .refine((kind) => kind !== "", { error: () => "expected text that is not blank" }),
  /** The graph of the far end; the edge's own when not given. */
  toGraph: z.string().optional(),
  metadata: jsonObjectField.optional(),
  ordinal: z.int().optional(),
  createdBy: z.string().optional(),
};

const name = textField({ maxBytes: LIMITS.externalIdBytes });
const edgeSchema = z.strictObject({
  fromLineage: name,
  toLineage: name,
  ...edgeFields,
  /** Set by an import: what another program knew the edge by. */
  imported: z.custom<ImportedEdge>().optional(),
});

/** An edge to be. */
export interface GraphEdgeInput extends z.input<typeof edgeSchema> {}

/** What adding an edge did. */
export interface GraphEdgeResult {
  readonly edge: GraphEdge;
  readonly seq: number;
}

/** How a field of an edge is called here, where the verb calls it otherwise. */
export const EDGE_WORDS = { from: "fromLineage", to: "toLineage", by: "createdBy" } as const;

/** An edge to be, as a link to be made. */
export function linkOf(
  hub: Pick<Hub, "prefix">,
  input: GraphEdgeInput,
  access: Access | undefined,
): BatchLink & { readonly from: string; readonly to: string } {
  const { fromLineage, toLineage, kind, toGraph, ...rest } = checkInput(edgeSchema, input);
  const { metadata, ordinal, createdBy } = rest;
  const far = toGraph === undefined ? undefined : checkGraphId(toGraph, hub.prefix, "toGraph");
  return {
    from: checkExternalId(fromLineage, "fromLineage"),
    to: checkExternalId(toLineage, "toLineage"),
    kind: storedKind(kind),
    loose: { toGraph: far, imported: rest.imported },
    ordinal,
    metadata,
    by: authorIn(access, createdBy),
  };
}

/** Adds an edge to a graph. */
export async function putEdge(
  hub: Hub,
  graph: string,
  edge: GraphEdgeInput,
  options: KeyedOptions = {},
): Promise<GraphEdgeResult> {
  admitted("putEdge", options);
  const { from, kind, to, ...rest } = linkOf(hub, edge, options.access);
  const input = { ...rest, access: options.access, idempotencyKey: options.idempotencyKey };
  const { added, graphId } = await hub
    .use(graph, async (memory) => ({
      added: await memory.addEdge(from, kind, to, input),
      graphId: memory.actor,
    }))
    .catch((error: unknown) => inWords(error, EDGE_WORDS));
  return { edge: await edgeIn(hub, { graphId, edge: added.edge, from, to }), seq: added.seq };
}

const EDGE_ID = /^([0-9A-Za-z]{26})@(.+)$/;

/** Removes an edge, softly; `ERR_NOT_FOUND` when it is not there, or removed already. */
export async function deleteEdge(
  hub: Hub,
  id: string,
  options: { readonly reason?: string; readonly by?: string } & KeyedOptions = {},
): Promise<{ readonly ok: true; readonly seq: number }> {
  admitted("deleteEdge", options);
  const { access, ...rest } = options;
  checkOptions(rest, ["reason", "by", "idempotencyKey"]);
  const place = await edgePlace(hub, checkExternalId(id, "edgeId"));
  const removed =
    place === undefined
      ? undefined
      : await hub.useIfThere(place.graph, (memory) =>
          memory.removeEdgeById(place.id, { ...rest, access }),
        );
  if (removed?.changed === true) return { ok: true, seq: removed.seq };
  throw new CortexError("ERR_NOT_FOUND", `edgeId: no edge ${id}`, { field: "edgeId", subject: id });
}

/** Where an edge is: as its id says, or where it came to with an import. */
async function edgePlace(
  hub: Hub,
  id: string,
): Promise<{ readonly graph: string; readonly id: string } | undefined> {
  const [, ulid = "", name = ""] = EDGE_ID.exec(id) ?? [];
  // What cannot be the id of an edge here may be one that came with an import.
  const isHere = parseUlid(ulid) !== undefined && isGraphId(name, hub.prefix);
  return isHere ? { graph: name, id: ulid } : hub.lineages.originOf("edge", id);
}

const edgesFields = {
  /** Any of these kinds; all when empty. */
  edgeKinds: listOf(z.string()).optional(),
  /** The graph that holds the lineage; looked up when not given. */
  graph: z.string().optional(),
};
const edgesSchema = z.strictObject(edgesFields);

/** Which edges of a lineage to read. */
export interface EdgesOptions extends AccessOption, z.input<typeof edgesSchema> {}

/** Edges of one lineage: those with an ordinal first, then the others by age. */
export interface GraphEdges extends Pick<GraphWalk, "edges" | "positions"> {}

/** The edges that leave a lineage, symlinks included; empty when there is no such lineage. */
export async function outgoing(
  hub: Hub,
  lineage: string,
  options: EdgesOptions = {},
): Promise<GraphEdges> {
  admitted("outgoing", options);
  return edgesAlong(hub, lineage, "out", options);
}

/** The edges that reach a lineage, from its own graph and from others. */
export async function incoming(
  hub: Hub,
  lineage: string,
  options: EdgesOptions = {},
): Promise<GraphEdges> {
  admitted("incoming", options);
  return edgesAlong(hub, lineage, "in", options);
}

/** One level of a walk that shows no nodes: the same edges, in the same order. */
async function edgesAlong(
  hub: Hub,
  lineage: string,
  direction: "out" | "in",
  options: EdgesOptions,
): Promise<GraphEdges> {
  const { access, ...given } = options;
  const kinds = checkInput(edgesSchema, given).edgeKinds?.map(storedKind);
  const how = { direction, kinds, symlinks: true, edgesOnly: true, asGiven: true, access };
  const walk = await walkFrom(hub, lineage, options, how);
  return { edges: await edgesOf(hub, walk.edges), positions: walk.positions };
}

const walkSchema = z.strictObject({
  /** 1 when it is absent or not above 0; clamped, and the answer says so. */
  maxDepth: z.int().optional(),
  /** Most nodes, the seed included; 1,024 when it is absent or not above 0, and never more than 10,000. */
  maxNodes: z.int().optional(),
  /** `outgoing` when not given. */
  direction: z.enum(["outgoing", "incoming", "both"]).optional(),
  /** True walks edges between graphs as well. */
  followSymlinks: z.boolean().optional(),
  /** The past, as a time: every graph has a journal of its own, and time is what they share. */
  asOf: z.date().optional(),
  ...edgesFields,
});

/** How a walk goes. */
export interface GraphTraverseOptions extends AccessOption, z.input<typeof walkSchema> {}

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

const DIRECTIONS = { outgoing: "out", incoming: "in", both: "both" } as const;

/** Walks the graph breadth-first from a lineage. */
export async function traverse(
  hub: Hub,
  lineage: string,
  options: GraphTraverseOptions = {},
): Promise<GraphWalk> {
  admitted("traverse", options);
  const { access, ...given } = options;
  const { direction = "outgoing", edgeKinds, asOf, ...asked } = checkInput(walkSchema, given);
  const { maxDepth = 1, maxNodes = 0 } = asked;
  const maxHops = Math.max(1, maxDepth);
  const walk = await walkFrom(hub, lineage, options, {
    direction: DIRECTIONS[direction],
    maxHops,
    maxNodes:
      maxNodes <= 0 ? LIMITS.traverseNodesDefault : Math.min(maxNodes, LIMITS.traverseNodes),
    symlinks: asked.followSymlinks === true,
    kinds: edgeKinds?.map(storedKind),
    asGiven: true,
    asOf,
    access,
  });
  const dangling = walk.dangling.map(async ({ graphId, name }) => ({
    graphId: await hub.lineages.shownName(graphId),
    lineageId: name,
  }));
  return {
    nodes: await nodesOf(
      hub,
      walk.hits.map(({ memory }) => memory),
    ),
    edges: await edgesOf(hub, walk.edges),
    dangling: await Promise.all(dangling),
    truncated: walk.truncated,
    clamped: maxHops > LIMITS.hops,
    positions: walk.positions,
  };
}

/**
 * Walks from a lineage, wherever it lives: its edges stay where they were put, and are found from there. A lineage
 * that is not there yet may be the far end of edges in any graph.
 */
async function walkFrom(
  hub: Hub,
  lineage: string,
  { graph }: EdgesOptions,
  how: HubTraverseOptions,
): Promise<HubTraversal> {
  // No lineage is called so: as of any that is not there, nothing is found.
  if (lineage === "" && graph === undefined) return NO_WALK;
  const isNamed = graph !== undefined || String(lineage).startsWith("cortex://");
  const likely = isNamed ? undefined : await walkFromLikely(hub, lineage, how);
  if (likely !== undefined) return likely;
  const home = (await hub.lineages.graphOf(lineage, graph)) ?? graph ?? (await anyGraph(hub));
  return home === undefined ? NO_WALK : hub.traverse(home, lineage, how);
}

const NO_WALK: HubTraversal = {
  hits: [],
  edges: [],
  dangling: [],
  truncated: false,
  clamped: false,
  positions: {},
};

/** A graph, where there is one: from a name that is nowhere yet, a walk may as well begin in any. */
async function anyGraph(hub: Hub): Promise<string | undefined> {
  const { graphs } = await hub.listGraphs({ includeArchived: true, limit: 1 });
  return graphs[0]?.id;
}

/** The walk from the only graph that ever held a lineage; `undefined` when it has to be looked for. */
async function walkFromLikely(
  hub: Hub,
  lineage: string,
  how: HubTraverseOptions,
): Promise<HubTraversal | undefined> {
  if (typeof lineage !== "string" || lineage === "" || how.edgesOnly === true) return undefined;
  const only = await hub.lineages.onlyIn(lineage);
  const walk = only === undefined ? undefined : await hub.traverse(only, lineage, how);
  return walk?.hits[0]?.hop === 0 ? walk : undefined;
}

/** Which graphs a graph is tied to, with edges in memgraph's shape. */
export interface GraphTies extends Omit<SymlinkManifest, "dangling"> {
  /** Symlinks whose far end is not there; only when asked for. */
  readonly dangling?: readonly GraphEdge[];
}

/** The manifest of a graph's symlinks. */
export async function symlinks(
  hub: Hub,
  graph: string,
  options: SymlinkOptions & AccessOption = {},
): Promise<GraphTies> {
  admitted("symlinks", options);
  const found = await hub.symlinks(graph, options);
  const { dangling, outbound, inbound } = found;
  const given = await givenNames(hub, graph, found, options);
  const shown = async (refs: readonly GraphRef[]): Promise<readonly GraphRef[]> => {
    const named = await Promise.all(
      refs.map(async (ref) => ({
        ...ref,
        graphId: given.get(ref.graphId) ?? (await hub.lineages.shownName(ref.graphId)),
      })),
    );
    return named.sort((a, b) => (a.graphId < b.graphId ? -1 : 1));
  };
  const manifest = { outbound: await shown(outbound), inbound: await shown(inbound) };
  return dangling === undefined
    ? manifest
    : { ...manifest, dangling: await edgesOf(hub, dangling) };
}

/** The name of a graph that was made of a text that can be none; see `importedName`. */
const MADE_NAME = /(^|-)[0-9a-hjkmnp-tv-z]{26}$/;

/** What imported edges called graphs that are not here and whose names were made of it: only the edges still say. */
async function givenNames(
  hub: Hub,
  graph: string,
  { outbound, dangling }: SymlinkManifest,
  { access }: AccessOption,
): Promise<ReadonlyMap<string, string>> {
  const isMade = ({ exists, graphId }: GraphRef): boolean =>
    !exists && MADE_NAME.test(graphId) && !ULID_NAME.test(graphId);
  if (!outbound.some(isMade)) return new Map();
  const edges = dangling ?? (await hub.symlinks(graph, { dangling: true, access })).dangling ?? [];
  const named = edges.flatMap(({ edge: { toGraph = graph, origin } }) =>
    origin?.toGraph === undefined ? [] : [[toGraph, origin.toGraph] as const],
  );
  return new Map(named);
}
