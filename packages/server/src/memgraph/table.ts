/**
 * memgraph's calls, each once: its input, what it does over the hub, and how its two doors spell it; then its
 * routes as a list: those of the calls that have one, and the two that are no calls. Tools, routes, resources,
 * the OpenAPI document and the reference page are rendered from here, so agents, prompts and clients written
 * for memgraph go on working at either door.
 *
 * Members that memgraph does not know are refused, as it does; lengths and meanings are checked by core.
 */

import { CortexError, type GraphInfo } from "@cortex-memory/core";
import { anyObject, listOf } from "@cortex-memory/core/contract";
import { memgraphText } from "@cortex-memory/core/memgraph";
import * as z from "zod";
import { isoTime } from "../operations/fields.js";
import {
  type CallDoor,
  defineCall,
  farGraph,
  fieldText,
  given,
  type Json,
  type MemgraphCall,
  type Parameter,
  type Route,
  writing,
} from "./call.js";
import {
  edgeFields,
  edgeInput,
  edgeJson,
  edgeJsonShape,
  formed,
  graphJson,
  graphJsonShape,
  manifestJson,
  manifestJsonShape,
  nodeFields,
  nodeInput,
  nodeJson,
  nodeJsonShape,
  restGraphJson,
  restGraphShape,
  schemaJson,
  schemaJsonShape,
  tagsJsonShape,
  tagTexts,
} from "./shapes.js";

/** Who wrote something over REST when nobody is named. */
const UNNAMED = "unknown";
/** What is answered when a caller does not say. */
const DEFAULTS = { list: 50, search: 20, tags: 100, depth: 2, nodes: 50 } as const;

const graphId = formed("GraphId").describe("the graph");
const text = z.string().exactOptional();
const lineage = formed("ExternalId");
const kindTexts = listOf(formed("Kind")).exactOptional();
const edgeKindTexts = listOf(formed("EdgeKind")).exactOptional();
const count = z.int().exactOptional();
const flag = z.boolean().exactOptional();

const restGraph = { shape: restGraphShape, of: restGraphJson };
const kinds: Parameter = {
  field: "kinds",
  help: "a kind, of which they have one; repeated, or separated by commas",
};
const tags: Parameter = {
  field: "tags",
  help: "a tag that they all have; repeated, or separated by commas",
};
const edgeKinds: Parameter = {
  field: "edge_kinds",
  help: "a kind of edge; repeated, or separated by commas",
};
const most = (otherwise: number, field = "limit"): Parameter => ({
  field,
  help: `how many; ${otherwise} when not given`,
});

/** memgraph shows a new graph without links: nobody could name it before. */
const NO_TIES = { outbound: [], inbound: [] };

async function withTies({ hub, access }: CallDoor, graph: GraphInfo) {
  return graphJson(graph, await hub.symlinks(graph.id, { access }));
}

async function graphAt({ hub, access }: CallDoor, id: string): Promise<GraphInfo> {
  const graph = await hub.getGraph(id, { access });
  if (graph !== undefined) return graph;
  throw new CortexError("ERR_NOT_FOUND", "id: no such graph", { field: "id" });
}

const listGraphs = defineCall({
  summary: "List the graphs",
  verbs: ["hub.listGraphs", "hub.symlinks"],
  input: z.strictObject({}),
  output: z.object({ graphs: listOf(graphJsonShape) }),
  tool: "memgraph_list_graphs",
  route: {
    method: "GET",
    path: "/graphs",
    shown: {
      shape: z.object({ graphs: listOf(restGraphShape) }),
      of: ({ graphs }) => ({ graphs: (graphs as readonly Json[]).map(restGraphJson) }),
    },
  },
  call: async (door) => {
    const { graphs } = await door.hub.listGraphs({ access: door.access });
    return { graphs: await Promise.all(graphs.map((graph) => withTies(door, graph))) };
  },
});

const graphFields = {
  name: formed("Title"),
  conflict_policy: z.enum(["lww", "manual"]).exactOptional(),
  kind_whitelist: kindTexts,
  metadata: anyObject.exactOptional(),
};

const createGraph = defineCall({
  summary: "Make a graph",
  verbs: ["hub.createGraph"],
  effect: "write",
  input: z.strictObject(graphFields),
  output: graphJsonShape,
  tool: "memgraph_create_graph",
  route: { method: "POST", path: "/graphs", status: 201, shown: restGraph },
  call: async (door, input) => {
    const { name, conflict_policy, kind_whitelist, metadata } = input;
    const more = { conflictPolicy: conflict_policy, kindWhitelist: kind_whitelist, metadata };
    const made = await door.hub.createGraph({ name, ...given(more) }, writing(door));
    return graphJson(made, NO_TIES);
  },
});

const getGraph = defineCall({
  summary: "A graph",
  verbs: ["hub.getGraph", "hub.symlinks"],
  input: z.strictObject({ graph_id: graphId }),
  output: graphJsonShape,
  route: { method: "GET", path: "/graphs/:id", shown: restGraph },
  call: async (door, { graph_id }) => withTies(door, await graphAt(door, graph_id)),
});

const configureGraph = defineCall({
  summary: "Change a graph; an empty list or object clears",
  verbs: ["hub.getGraph", "hub.configureGraph", "hub.symlinks"],
  effect: "write",
  input: z.strictObject({
    graph_id: graphId,
    name: graphFields.name.exactOptional(),
    conflict_policy: graphFields.conflict_policy,
    kind_whitelist: graphFields.kind_whitelist,
    metadata: graphFields.metadata,
  }),
  output: graphJsonShape,
  route: { method: "PATCH", path: "/graphs/:id", shown: restGraph },
  call: async (door, { graph_id, name, conflict_policy, kind_whitelist, metadata }) => {
    const graph = await graphAt(door, graph_id);
    const patch = given({
      name,
      kindWhitelist: kind_whitelist,
      conflictPolicy: conflict_policy,
      metadata,
    });
    if (Object.keys(patch).length === 0) return withTies(door, graph);
    const how = { ...writing(door), replacesMetadata: true };
    return withTies(door, await door.hub.configureGraph(graph_id, patch, how));
  },
});

const symlinks = defineCall({
  summary: "Which graphs a graph is linked with, and by how many edges",
  verbs: ["memgraph.symlinks"],
  input: z.strictObject({ graph_id: graphId }),
  output: manifestJsonShape,
  tool: "memgraph_symlink_manifest",
  route: { method: "GET", path: "/graphs/:id/symlinks" },
  call: async ({ store, access }, { graph_id }) =>
    manifestJson(await store.symlinks(graph_id, { access })),
});

const listNodes = defineCall({
  summary: "List the current nodes of a graph, newest first",
  verbs: ["memgraph.listNodes"],
  input: z.strictObject({
    graph_id: graphId,
    kinds: kindTexts,
    tags: tagTexts,
    limit: count,
    offset: count,
    compact: flag,
  }),
  output: z.object({ nodes: listOf(nodeJsonShape), next_offset: z.int() }),
  tool: "memgraph_list_nodes",
  route: {
    method: "GET",
    path: "/graphs/:id/nodes",
    query: {
      kinds,
      tags,
      limit: most(DEFAULTS.list),
      offset: { field: "offset", help: "how many to skip" },
      compact: { field: "compact", help: "leave content, metadata and the like out" },
    },
  },
  call: async ({ store, access }, { graph_id, limit = DEFAULTS.list, ...filter }) => {
    const offset = Math.max(0, filter.offset ?? 0);
    const { nodes } = await store.listNodes(graph_id, { ...filter, limit, offset, access });
    return { nodes: nodes.map(nodeJson), next_offset: offset + nodes.length };
  },
});

const queryFields = {
  text: z.string(),
  kinds: kindTexts,
  tags: tagTexts,
  limit: count,
};

const search = defineCall({
  summary: "Search the nodes of a graph by words",
  verbs: ["memgraph.search"],
  input: z.strictObject({ graph_id: graphId, ...queryFields, fresh_only: flag }),
  output: z.object({
    hits: listOf(z.object({ node: nodeJsonShape, snippet: text, score: z.number() })),
  }),
  tool: "memgraph_search",
  route: {
    method: "GET",
    path: "/graphs/:id/search",
    otherwise: { text: "" },
    query: {
      q: { field: "text", help: "what to look for" },
      kinds,
      tags,
      fresh_only: { field: "fresh_only", help: "leave out what is stale" },
      limit: most(DEFAULTS.search),
    },
  },
  call: async ({ store, access }, { graph_id, fresh_only, ...query }) => {
    const wanted = { ...query, ...given({ freshOnly: fresh_only }) };
    const { hits } = await store.search(graph_id, wanted, { access });
    return {
      hits: hits.map(({ node, snippet, score }) => ({
        node: nodeJson(node),
        ...(snippet === "" ? {} : { snippet }),
        score,
      })),
    };
  },
});

const searchBatch = defineCall({
  summary: "Search with 1 to 8 texts at once, ranked by all of them together",
  verbs: ["memgraph.searchBatch"],
  input: z.strictObject({
    graph_id: graphId,
    queries: listOf(z.strictObject(queryFields)),
    limit: count,
  }),
  output: z.object({
    hits: listOf(
      z.object({ node: nodeJsonShape, rrf_score: z.number(), queries_matched: listOf(z.int()) }),
    ),
    query_count: z.int(),
    unique_hits: z.int(),
    per_query_hits: listOf(z.int()),
  }),
  tool: "memgraph_search_batch",
  call: async ({ store, access }, { graph_id, queries, limit }) => {
    const found = await store.searchBatch(graph_id, queries, { ...given({ limit }), access });
    return {
      hits: found.hits.map(({ node, rrfScore, queriesMatched }) => ({
        node: nodeJson(node),
        rrf_score: rrfScore,
        queries_matched: queriesMatched,
      })),
      query_count: found.queryCount,
      unique_hits: found.uniqueHits,
      per_query_hits: found.perQueryHits,
    };
  },
});

const describeSchema = defineCall({
  summary: "The kinds and tags in use in a graph, with counts and examples",
  verbs: ["memgraph.describeSchema"],
  input: z.strictObject({ graph_id: graphId }),
  output: schemaJsonShape,
  tool: "memgraph_describe_schema",
  route: { method: "GET", path: "/graphs/:id/schema" },
  call: async ({ store, access }, { graph_id }, asked) => {
    const schema = await store.describeSchema(graph_id, { access });
    // Of a graph that is not there, its id as it came.
    return schemaJson(schema.seq < 0 ? { ...schema, graphId: asked.graph_id } : schema);
  },
});

const listTags = defineCall({
  summary: "The tags in use in a graph, the most frequent first",
  verbs: ["memgraph.listTags"],
  input: z.strictObject({ graph_id: graphId, prefix: text, limit: count }),
  output: tagsJsonShape,
  tool: "memgraph_list_tags",
  route: {
    method: "GET",
    path: "/graphs/:id/tags",
    query: {
      prefix: { field: "prefix", help: "only tags that start so" },
      limit: most(DEFAULTS.tags),
    },
  },
  call: async ({ store, access }, { graph_id, ...options }) => ({
    tags: (await store.listTags(graph_id, { ...options, access })).tags,
  }),
});

const putNode = defineCall({
  summary: "Write a node: a new lineage, or the next version of one",
  verbs: ["memgraph.putNode"],
  effect: "write",
  input: z.strictObject({ graph_id: graphId, ...nodeFields }),
  output: nodeJsonShape,
  tool: "memgraph_put_node",
  route: {
    method: "POST",
    path: "/nodes",
    otherwise: { content: "", created_by: UNNAMED },
    status: 201,
    also: {
      409: z.object({ error: z.string(), node: nodeJsonShape, conflicts: listOf(z.string()) }),
    },
  },
  call: async (door, { graph_id, ...node }) => {
    const written = await door.store.putNode(graph_id, nodeInput(node), writing(door));
    const json = nodeJson(written.node);
    const { conflict } = written;
    return conflict === undefined ? json : { json, error: memgraphText(conflict) };
  },
});

const getNode = defineCall({
  summary: "Read a node: the current one of a lineage, or one by its own id",
  verbs: ["memgraph.getNode"],
  input: z.strictObject({
    node_id: text,
    lineage_id: text,
    at_version: z.int().describe("this version").exactOptional(),
    at_time: isoTime("the node that was current then"),
  }),
  output: nodeJsonShape,
  tool: "memgraph_get_node",
  route: {
    method: "GET",
    path: "/nodes/:lineage",
    parts: { lineage: "lineage_id" },
    query: {
      version: { field: "at_version", help: "this version", isStrict: true },
      at: { field: "at_time", help: "the one of this time, in ISO 8601", isStrict: true },
    },
  },
  call: async ({ store, access }, { node_id, lineage_id, at_version, at_time }) => {
    const ref = node_id ?? lineage_id;
    if (ref === undefined || (node_id !== undefined && lineage_id !== undefined)) {
      const field = "node_id, lineage_id";
      throw new CortexError("ERR_INVALID", `${field}: expected exactly one of them`, { field });
    }
    const isNode = node_id !== undefined;
    const at = { ...given({ atVersion: at_version, atTime: at_time }), isNode };
    const found = await store.getNode(ref, { ...at, access });
    if (found !== undefined) return nodeJson(found);
    throw new CortexError("ERR_NOT_FOUND", ref, { field: "lineage_id" });
  },
});

const history = defineCall({
  summary: "Every version of a lineage, newest first",
  verbs: ["memgraph.history"],
  input: z.strictObject({ lineage_id: z.string() }),
  output: z.object({ versions: listOf(nodeJsonShape) }),
  tool: "memgraph_history",
  route: { method: "GET", path: "/nodes/:lineage/history", parts: { lineage: "lineage_id" } },
  call: async ({ store, access }, { lineage_id }) => ({
    versions: (await store.history(lineage_id, { access })).map(nodeJson),
  }),
});

/** The edges on one side of a lineage; an agent walks instead. */
function edgesOn(side: "outgoing" | "incoming", summary: string): MemgraphCall {
  return defineCall({
    summary,
    verbs: [`memgraph.${side}`],
    input: z.strictObject({ from_lineage: z.string(), edge_kinds: edgeKindTexts }),
    output: z.object({ edges: listOf(edgeJsonShape) }),
    route: {
      method: "GET",
      path: `/nodes/:lineage/${side}`,
      parts: { lineage: "from_lineage" },
      query: { kinds: edgeKinds },
    },
    call: async ({ store, access }, { from_lineage, edge_kinds }) => {
      const options = { ...given({ edgeKinds: edge_kinds }), access };
      const { edges } = await store[side](from_lineage, options);
      return { edges: edges.map(edgeJson) };
    },
  });
}

const traverse = defineCall({
  summary: "Walk edges from a lineage, breadth first",
  verbs: ["memgraph.traverse"],
  input: z.strictObject({
    from_lineage: lineage,
    max_depth: count,
    edge_kinds: edgeKindTexts,
    follow_symlinks: flag,
    max_nodes: count,
    direction: z.enum(["outgoing", "incoming", "both"]).exactOptional(),
  }),
  output: z.object({ nodes: listOf(nodeJsonShape), edges: listOf(edgeJsonShape) }),
  tool: "memgraph_traverse",
  route: {
    method: "GET",
    path: "/nodes/:lineage/neighborhood",
    parts: { lineage: "from_lineage" },
    query: {
      direction: { field: "direction", help: "outgoing when not given" },
      depth: {
        field: "max_depth",
        help: `edges in a row; ${DEFAULTS.depth} when not given`,
      },
      max_nodes: most(DEFAULTS.nodes, "max_nodes"),
      kinds: edgeKinds,
      follow_symlinks: { field: "follow_symlinks", help: "into other graphs as well" },
    },
  },
  call: async ({ store, access }, input) => {
    const { nodes, edges } = await store.traverse(input.from_lineage, {
      maxDepth: input.max_depth ?? DEFAULTS.depth,
      maxNodes: input.max_nodes ?? DEFAULTS.nodes,
      ...given({
        edgeKinds: input.edge_kinds,
        followSymlinks: input.follow_symlinks,
        direction: input.direction,
      }),
      access,
    });
    return { nodes: nodes.map(nodeJson), edges: edges.map(edgeJson) };
  },
});

const putEdge = defineCall({
  summary: "Add an edge, into another graph as well",
  verbs: ["memgraph.putEdge"],
  effect: "write",
  input: z.strictObject({
    graph_id: graphId,
    from_lineage: lineage,
    to_lineage: lineage,
    ...edgeFields,
  }),
  output: edgeJsonShape,
  tool: "memgraph_put_edge",
  route: { method: "POST", path: "/edges", otherwise: { created_by: UNNAMED }, status: 201 },
  call: async (door, { graph_id, from_lineage, to_lineage, ...edge }) => {
    const ends = { fromLineage: from_lineage, toLineage: to_lineage };
    const to_graph = await farGraph(door, edge.to_graph);
    const input = { ...ends, ...edgeInput({ ...edge, ...given({ to_graph }) }) };
    return edgeJson((await door.store.putEdge(graph_id, input, writing(door))).edge);
  },
});

const deleteEdge = defineCall({
  summary: "Remove an edge",
  verbs: ["memgraph.deleteEdge"],
  effect: "write",
  idempotent: true,
  input: z.strictObject({ edge_id: z.string() }),
  output: z.object({ ok: z.boolean() }),
  tool: "memgraph_delete_edge",
  route: { method: "DELETE", path: "/edges/:id", parts: { id: "edge_id" }, status: 204 },
  call: async (door, { edge_id }) => {
    const { ok } = await door.store.deleteEdge(edge_id, writing(door));
    return { ok };
  },
});

const putSubgraph = defineCall({
  summary: "Write up to 50 nodes and 100 edges with refs between them; each may fail alone",
  verbs: ["memgraph.putSubgraph"],
  effect: "write",
  input: z.strictObject({
    graph_id: graphId,
    nodes: listOf(z.strictObject({ ref: text, ...nodeFields })).exactOptional(),
    edges: listOf(
      z.strictObject({
        from_ref: text,
        from_lineage: text,
        to_ref: text,
        to_lineage: text,
        ...edgeFields,
      }),
    ).exactOptional(),
  }),
  output: z.object({
    nodes: listOf(
      z.object({ ref: text, lineage_id: text, version: count, created: z.boolean(), error: text }),
    ),
    edges: listOf(z.object({ edge_id: text, error: text })),
  }),
  tool: "memgraph_put_subgraph",
  call: async (door, { graph_id, nodes = [], edges = [] }) => {
    const { store, access } = door;
    const far = await Promise.all(edges.map(({ to_graph }) => farGraph(door, to_graph)));
    const subgraph = {
      nodes: nodes.map(({ ref, ...node }) => ({ ...given({ ref }), ...nodeInput(node) })),
      edges: edges.map(({ from_ref, from_lineage, to_ref, to_lineage, ...edge }, at) => ({
        ...given({ fromRef: from_ref, fromLineage: from_lineage }),
        ...given({ toRef: to_ref, toLineage: to_lineage }),
        ...edgeInput({ ...edge, ...given({ to_graph: far[at] }) }),
      })),
    };
    const done = await store.putSubgraph(graph_id, subgraph, { access, nameOf: fieldText });
    return {
      nodes: done.nodes.map(({ ref, lineageId, version, created, error }) => ({
        ...given({ ref, lineage_id: lineageId, version, error }),
        created,
      })),
      edges: done.edges.map(({ edgeId, error }) => ({ ...given({ edge_id: edgeId, error }) })),
    };
  },
});

/** The calls, by the names that routes and logs have for them, in the order of memgraph's tools. */
export const MEMGRAPH_CALLS = {
  listGraphs,
  getGraph,
  getNode,
  listNodes,
  history,
  outgoing: edgesOn("outgoing", "The edges that leave a lineage"),
  incoming: edgesOn("incoming", "The edges that reach a lineage"),
  traverse,
  search,
  searchBatch,
  symlinks,
  describeSchema,
  listTags,
  createGraph,
  configureGraph,
  putNode,
  putEdge,
  deleteEdge,
  putSubgraph,
} as const satisfies { readonly [name: string]: MemgraphCall };

/** A route of memgraph's: that of a call, or one that is no call. */
export interface MemgraphRoute extends Pick<MemgraphCall, "summary" | "input" | "output"> {
  readonly name: string;
  readonly route: Route;
  /** The answer goes on, as events. */
  readonly isStream?: true;
}

/** What tells about the server itself. */
export const INFO: MemgraphRoute = {
  name: "info",
  summary: "Which version serves, and how it stores",
  input: z.strictObject({}),
  output: z.object({ version: z.string(), time: z.string(), store: z.string() }),
  route: { method: "GET", path: "/info" },
};

/** What happens in graphs. */
export const STREAM: MemgraphRoute = {
  name: "stream",
  summary: "What happens in graphs, as it happens",
  input: z.strictObject({ graphs: listOf(z.string()).exactOptional() }),
  output: z.object({}),
  route: {
    method: "GET",
    path: "/stream",
    query: {
      graph: { field: "graphs", help: "only this graph; repeated, or separated by commas" },
    },
  },
  isStream: true,
};

/** Every route of memgraph's. */
export const MEMGRAPH_ROUTES: readonly MemgraphRoute[] = [
  INFO,
  STREAM,
  ...Object.entries<MemgraphCall>(MEMGRAPH_CALLS).flatMap(([name, call]) =>
    call.route === undefined ? [] : [{ ...call, name, route: call.route }],
  ),
];
