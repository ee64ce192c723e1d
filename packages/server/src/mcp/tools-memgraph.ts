/**
 * memgraph's fifteen tools, with their names, arguments and results unchanged, over the hub: agents and
 * prompts written for memgraph go on working. They are part of the full profile, where there is a hub.
 *
 * A failure is text in memgraph's words. A stale write under policy `manual` is an error that carries
 * the node which was written all the same.
 */
import {
  CortexError,
  type Hub,
  isCortexError,
  memgraphText,
  type NodeInput,
} from "@cortex-memory/core";
import * as z from "zod";
import {
  edgeJson,
  edgeJsonShape,
  graphJson,
  graphJsonShape,
  manifestJson,
  manifestJsonShape,
  nodeJson,
  nodeJsonShape,
  schemaJson,
  schemaJsonShape,
  tagsJsonShape,
} from "../memgraph/shapes.js";
import { anyObject, listOf } from "../operations/fields.js";
import { inputError } from "../operations/input-error.js";
import { failure, type HubVerb, type Tool, type ToolAnswer, type ToolContext } from "./define.js";
import { isoTime } from "./fields.js";
import { announcedLater } from "./schema.js";

interface Answered<O extends z.ZodObject> {
  readonly answer: z.input<O>;
  /** What went wrong although there is an answer. */
  readonly error?: string;
}

interface MemgraphSpec<I extends z.ZodObject, O extends z.ZodObject>
  extends Pick<Tool, "name" | "description" | "effect"> {
  readonly idempotent?: boolean;
  readonly verbs: readonly HubVerb[];
  readonly input: I;
  readonly output: O;
  readonly call: (
    hub: Hub,
    input: z.output<I>,
    context: ToolContext,
  ) => Promise<Answered<O> | z.input<O>>;
}

function memgraphTool<I extends z.ZodObject, O extends z.ZodObject>(
  spec: MemgraphSpec<I, O>,
): Tool {
  const { name, description, verbs, effect, input, output, call } = spec;
  const [inputSchema, outputSchema] = [announcedLater(input), announcedLater(output)];
  return {
    name,
    title: name,
    description,
    verbs,
    effect,
    idempotent: spec.idempotent ?? effect === "read",
    get inputSchema() {
      return inputSchema();
    },
    get outputSchema() {
      return outputSchema();
    },
    async run(_memory, given, context) {
      try {
        const parsed = input.safeParse(given);
        if (!parsed.success) throw inputError(input, parsed.error, given);
        if (context.hub === undefined) throw new Error("memgraph's tools need a hub");
        const answered = await call(await context.hub(), parsed.data, context);
        return "answer" in answered
          ? result(answered.answer as object, answered.error as string | undefined)
          : result(answered);
      } catch (error) {
        if (!isCortexError(error)) return failure(error, name, context.log);
        return { isError: true, text: memgraphText(error) };
      }
    },
  };
}

/** What the client gets is what JSON makes of the answer, in both renderings. */
function result(answer: object, error?: string): ToolAnswer {
  const text = JSON.stringify(answer);
  const structured = JSON.parse(text) as NonNullable<ToolAnswer["structured"]>;
  return error === undefined ? { text, structured } : { text: error, structured, isError: true };
}

function refused(field: string, expected: string): CortexError {
  return new CortexError("ERR_INVALID", `${field}: expected ${expected}`, { field });
}

function missing(what: string): CortexError {
  return new CortexError("ERR_NOT_FOUND", what);
}

/** Members that were given, under other names. */
function given<T extends object>(members: T): { readonly [K in keyof T]: NonNullable<T[K]> } {
  const kept = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(kept) as { readonly [K in keyof T]: NonNullable<T[K]> };
}

const graphId = z.string().describe("the graph");
const texts = listOf(z.string());
const count = z.int().exactOptional();

const nodeFields = {
  kind: z.string(),
  content: z.string(),
  lineage_id: z.string().describe("an existing lineage, or a name of your own").exactOptional(),
  summary: z.string().exactOptional(),
  tags: texts.exactOptional(),
  metadata: anyObject.exactOptional(),
  freshness_at: isoTime("when to look at it again"),
  created_by: z.string().exactOptional(),
  based_on_version: z.int().describe("the version you read").exactOptional(),
};

type NodeArguments = z.output<z.ZodObject<typeof nodeFields>>;

function nodeInput(node: NodeArguments): NodeInput {
  const { kind, content, summary, tags, metadata } = node;
  return {
    kind,
    content,
    ...given({ summary, tags, metadata }),
    ...(node.freshness_at === undefined ? {} : { freshnessAt: node.freshness_at }),
    createdBy: node.created_by ?? "unknown",
    ...(node.lineage_id === undefined ? {} : { lineageId: node.lineage_id }),
    ...(node.based_on_version === undefined ? {} : { basedOnVersion: node.based_on_version }),
  };
}

const listGraphs = memgraphTool({
  name: "memgraph_list_graphs",
  description: "List the graphs.",
  verbs: ["hub.listGraphs", "hub.symlinks"],
  effect: "read",
  input: z.strictObject({}),
  output: z.object({ graphs: listOf(graphJsonShape) }),
  call: async (hub, _, { access }) => {
    const { graphs } = await hub.listGraphs({ access });
    const shaped = graphs.map(async (graph) =>
      graphJson(graph, await hub.symlinks(graph.id, { access })),
    );
    return { graphs: await Promise.all(shaped) };
  },
});

const getNode = memgraphTool({
  name: "memgraph_get_node",
  description: "Read a node: the current one of a lineage, or one by its own id.",
  verbs: ["hub.getNode"],
  effect: "read",
  input: z.strictObject({
    node_id: z.string().exactOptional(),
    lineage_id: z.string().exactOptional(),
    at_version: z.int().exactOptional(),
    at_time: isoTime("the node that was current then"),
  }),
  output: nodeJsonShape,
  call: async (hub, { node_id: node, lineage_id: lineage, at_version, at_time }, { access }) => {
    const ref = node ?? lineage;
    if (ref === undefined || (node !== undefined && lineage !== undefined)) {
      throw refused("node_id, lineage_id", "exactly one of them");
    }
    const at = given({ atVersion: at_version, atTime: at_time });
    const found = await hub.getNode(ref, { ...at, access });
    if (found === undefined) throw missing(ref);
    return nodeJson(found);
  },
});

const NODES_DEFAULT = 50;

const listNodes = memgraphTool({
  name: "memgraph_list_nodes",
  description: "List the current nodes of a graph, newest first.",
  verbs: ["hub.listNodes"],
  effect: "read",
  input: z.strictObject({
    graph_id: graphId,
    kinds: texts.exactOptional(),
    tags: texts.exactOptional(),
    limit: count,
    offset: count,
    compact: z.boolean().exactOptional(),
  }),
  output: z.object({ nodes: listOf(nodeJsonShape), next_offset: z.int() }),
  call: async (hub, { graph_id: graph, limit, offset = 0, compact, kinds, tags }, { access }) => {
    const filter = { ...given({ kinds, tags }), limit: limit ?? NODES_DEFAULT, offset, access };
    const { nodes } =
      compact === true
        ? await hub.listNodes(graph, { ...filter, compact })
        : await hub.listNodes(graph, filter);
    return { nodes: nodes.map(nodeJson), next_offset: offset + nodes.length };
  },
});

const history = memgraphTool({
  name: "memgraph_history",
  description: "Every version of a lineage, newest first.",
  verbs: ["hub.history"],
  effect: "read",
  input: z.strictObject({ lineage_id: z.string() }),
  output: z.object({ versions: listOf(nodeJsonShape) }),
  call: async (hub, { lineage_id: lineage }, { access }) => ({
    versions: (await hub.history(lineage, { access })).map(nodeJson),
  }),
});

const traverse = memgraphTool({
  name: "memgraph_traverse",
  description: "Walk edges from a lineage, breadth first.",
  verbs: ["hub.traverse"],
  effect: "read",
  input: z.strictObject({
    from_lineage: z.string(),
    max_depth: count,
    edge_kinds: texts.exactOptional(),
    follow_symlinks: z.boolean().exactOptional(),
    max_nodes: count,
    direction: z.enum(["outgoing", "incoming", "both"]).exactOptional(),
  }),
  output: z.object({ nodes: listOf(nodeJsonShape), edges: listOf(edgeJsonShape) }),
  call: async (hub, input, { access }) => {
    const { nodes, edges } = await hub.traverse(input.from_lineage, {
      maxDepth: input.max_depth ?? 2,
      maxNodes: input.max_nodes ?? NODES_DEFAULT,
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

const queryFields = {
  text: z.string(),
  kinds: texts.exactOptional(),
  tags: texts.exactOptional(),
  limit: count,
};

const search = memgraphTool({
  name: "memgraph_search",
  description: "Search the nodes of a graph by words.",
  verbs: ["hub.search"],
  effect: "read",
  input: z.strictObject({
    graph_id: graphId,
    ...queryFields,
    fresh_only: z.boolean().exactOptional(),
  }),
  output: z.object({
    hits: listOf(
      z.object({ node: nodeJsonShape, snippet: z.string().exactOptional(), score: z.number() }),
    ),
  }),
  call: async (hub, { graph_id: graph, fresh_only: freshOnly, ...query }, { access }) => {
    const { hits } = await hub.search(graph, { ...query, ...given({ freshOnly }) }, { access });
    return {
      hits: hits.map(({ node, snippet, score }) => ({
        node: nodeJson(node),
        ...(snippet === "" ? {} : { snippet }),
        score,
      })),
    };
  },
});

const searchBatch = memgraphTool({
  name: "memgraph_search_batch",
  description: "Search with 1 to 8 texts at once, ranked by all of them together.",
  verbs: ["hub.searchBatch"],
  effect: "read",
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
  call: async (hub, { graph_id: graph, queries, limit }, { access }) => {
    const found = await hub.searchBatch(graph, queries, { ...given({ limit }), access });
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

const symlinkManifest = memgraphTool({
  name: "memgraph_symlink_manifest",
  description: "Which graphs a graph is linked with, and by how many edges.",
  verbs: ["hub.symlinks"],
  effect: "read",
  input: z.strictObject({ graph_id: graphId }),
  output: manifestJsonShape,
  call: async (hub, { graph_id: graph }, { access }) =>
    manifestJson(await hub.symlinks(graph, { access })),
});

const describeSchema = memgraphTool({
  name: "memgraph_describe_schema",
  description: "The kinds and tags in use in a graph, with counts and examples.",
  verbs: ["hub.describeSchema"],
  effect: "read",
  input: z.strictObject({ graph_id: graphId }),
  output: schemaJsonShape,
  call: async (hub, { graph_id: graph }, { access }) =>
    schemaJson(await hub.describeSchema(graph, { access })),
});

const listTags = memgraphTool({
  name: "memgraph_list_tags",
  description: "The tags in use in a graph, the most frequent first.",
  verbs: ["hub.listTags"],
  effect: "read",
  input: z.strictObject({ graph_id: graphId, prefix: z.string().exactOptional(), limit: count }),
  output: tagsJsonShape,
  call: async (hub, { graph_id: graph, ...options }, { access }) => ({
    tags: (await hub.listTags(graph, { ...options, access })).tags,
  }),
});

const createGraph = memgraphTool({
  name: "memgraph_create_graph",
  description: "Make a graph.",
  verbs: ["hub.createGraph"],
  effect: "write",
  input: z.strictObject({
    name: z.string(),
    conflict_policy: z.enum(["lww", "manual"]).exactOptional(),
    kind_whitelist: texts.exactOptional(),
    metadata: anyObject.exactOptional(),
  }),
  output: graphJsonShape,
  call: async (hub, input, { access, by }) => {
    const { name, conflict_policy: conflictPolicy, kind_whitelist: kindWhitelist } = input;
    const { metadata } = input;
    const more = given({ conflictPolicy, kindWhitelist, metadata });
    const graph = await hub.createGraph({ name, ...more, by }, { access });
    return graphJson(graph, { outbound: [], inbound: [] });
  },
});

const putNode = memgraphTool({
  name: "memgraph_put_node",
  description: "Write a node: a new lineage, or the next version of one.",
  verbs: ["hub.putNode"],
  effect: "write",
  input: z.strictObject({ graph_id: graphId, ...nodeFields }),
  output: nodeJsonShape,
  call: async (hub, { graph_id: graph, ...node }, { access }) => {
    const written = await hub.putNode(graph, nodeInput(node), { access });
    const { conflict } = written;
    const answer = nodeJson(written.node);
    return conflict === undefined ? { answer } : { answer, error: memgraphText(conflict) };
  },
});

const edgeFields = {
  kind: z.string(),
  to_graph: z.string().exactOptional(),
  metadata: anyObject.exactOptional(),
  ordinal: z.int().exactOptional(),
  created_by: z.string().exactOptional(),
};

const putEdge = memgraphTool({
  name: "memgraph_put_edge",
  description: "Add an edge, into another graph as well.",
  verbs: ["hub.putEdge"],
  effect: "write",
  input: z.strictObject({
    graph_id: graphId,
    from_lineage: z.string(),
    to_lineage: z.string(),
    ...edgeFields,
  }),
  output: edgeJsonShape,
  call: async (hub, { graph_id: graph, from_lineage, to_lineage, ...edge }, { access }) => {
    const { kind, to_graph: toGraph, metadata, ordinal, created_by: createdBy } = edge;
    const ends = { fromLineage: from_lineage, toLineage: to_lineage, kind };
    const more = given({ toGraph, metadata, ordinal, createdBy });
    return edgeJson((await hub.putEdge(graph, { ...ends, ...more }, { access })).edge);
  },
});

const deleteEdge = memgraphTool({
  name: "memgraph_delete_edge",
  description: "Remove an edge.",
  verbs: ["hub.deleteEdge"],
  effect: "write",
  idempotent: true,
  input: z.strictObject({ edge_id: z.string() }),
  output: z.object({ ok: z.boolean() }),
  call: async (hub, { edge_id: edge }, { access, by }) => {
    const { ok } = await hub.deleteEdge(edge, { by, access });
    return { ok };
  },
});

const putSubgraph = memgraphTool({
  name: "memgraph_put_subgraph",
  description: "Write up to 50 nodes and 100 edges with refs between them; each may fail alone.",
  verbs: ["hub.putSubgraph"],
  effect: "write",
  input: z.strictObject({
    graph_id: graphId,
    nodes: listOf(
      z.strictObject({ ref: z.string().exactOptional(), ...nodeFields }),
    ).exactOptional(),
    edges: listOf(
      z.strictObject({
        from_ref: z.string().exactOptional(),
        from_lineage: z.string().exactOptional(),
        to_ref: z.string().exactOptional(),
        to_lineage: z.string().exactOptional(),
        ...edgeFields,
      }),
    ).exactOptional(),
  }),
  output: z.object({
    nodes: listOf(
      z.object({
        ref: z.string().exactOptional(),
        lineage_id: z.string().exactOptional(),
        version: z.int().exactOptional(),
        created: z.boolean(),
        error: z.string().exactOptional(),
      }),
    ),
    edges: listOf(
      z.object({ edge_id: z.string().exactOptional(), error: z.string().exactOptional() }),
    ),
  }),
  call: async (hub, { graph_id: graph, nodes = [], edges = [] }, { access }) => {
    const subgraph = {
      nodes: nodes.map(({ ref, ...node }) => ({ ...given({ ref }), ...nodeInput(node) })),
      edges: edges.map((edge) => ({
        kind: edge.kind,
        ...given({
          fromRef: edge.from_ref,
          fromLineage: edge.from_lineage,
          toRef: edge.to_ref,
          toLineage: edge.to_lineage,
          toGraph: edge.to_graph,
          metadata: edge.metadata,
          ordinal: edge.ordinal,
          createdBy: edge.created_by,
        }),
      })),
    };
    const done = await hub.putSubgraph(graph, subgraph, { access });
    return {
      nodes: done.nodes.map(({ ref, lineageId, version, created, error }) => ({
        ...given({ ref, lineage_id: lineageId, version, error }),
        created,
      })),
      edges: done.edges.map(({ edgeId, error }) => ({ ...given({ edge_id: edgeId, error }) })),
    };
  },
});

/** memgraph's tools. */
export const MEMGRAPH_TOOLS: readonly Tool[] = [
  listGraphs,
  getNode,
  listNodes,
  history,
  traverse,
  search,
  searchBatch,
  symlinkManifest,
  describeSchema,
  listTags,
  createGraph,
  putNode,
  putEdge,
  deleteEdge,
  putSubgraph,
];
