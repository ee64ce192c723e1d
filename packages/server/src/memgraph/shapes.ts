/**
 * memgraph's JSON, for the doors that its clients know: names with underscores, times as RFC 3339 text,
 * members left out where they are empty. First what is answered, then what nodes and edges are asked to be
 * written as. What the members mean is the hub's affair.
 */

import type { GraphInfo } from "@cortex-memory/core";
import { anyObject, listOf } from "@cortex-memory/core/contract";
import type {
  CompactNode,
  GraphEdge,
  GraphNode,
  GraphSchema,
  GraphTies,
  NodeInput,
} from "@cortex-memory/core/memgraph";
import * as z from "zod";
import { isoTime } from "../operations/fields.js";
import { given, type Json } from "./call.js";

/** A node. */
export const nodeJsonShape = z.object({
  id: z.string(),
  graph_id: z.string(),
  lineage_id: z.string(),
  version: z.int(),
  kind: z.string(),
  content: z.string().exactOptional(),
  summary: z.string().exactOptional(),
  tags: listOf(z.string()).exactOptional(),
  metadata: anyObject.exactOptional(),
  freshness_at: z.string().exactOptional(),
  created_at: z.string(),
  created_by: z.string().exactOptional(),
  superseded_by: z.string().exactOptional(),
  is_current: z.boolean(),
  is_stale: z.boolean(),
  conflicts: listOf(z.string()).exactOptional(),
});

/** An edge. */
export const edgeJsonShape = z.object({
  id: z.string(),
  graph_id: z.string(),
  from_lineage: z.string(),
  to_graph: z.string(),
  to_lineage: z.string(),
  kind: z.string(),
  metadata: anyObject.exactOptional(),
  ordinal: z.int().exactOptional(),
  created_at: z.string(),
  created_by: z.string(),
});

/** A graph, and with how many others it is linked. */
export const graphJsonShape = z.object({
  id: z.string(),
  name: z.string(),
  conflict_policy: z.enum(["lww", "manual"]),
  kind_whitelist: listOf(z.string()).exactOptional(),
  metadata: anyObject.exactOptional(),
  created_at: z.string(),
  outbound_count: z.int(),
  inbound_count: z.int(),
});

/** A graph as REST writes it: its links stand in an object of their own. */
export const restGraphShape = graphJsonShape
  .omit({ outbound_count: true, inbound_count: true })
  .extend({
    symlink_manifest_summary: z.object({ outbound_count: z.int(), inbound_count: z.int() }),
  });

/** Which graphs a graph is linked with. */
export const manifestJsonShape = z.object({
  outbound: listOf(z.object({ graph_id: z.string(), edge_count: z.int() })),
  inbound: listOf(z.object({ graph_id: z.string(), edge_count: z.int() })),
});

const tagJsonShape = z.object({ tag: z.string(), count: z.int() });

/** The kinds and tags in use. */
export const schemaJsonShape = z.object({
  graph_id: z.string(),
  node_count: z.int(),
  kinds: listOf(z.object({ kind: z.string(), count: z.int(), examples: listOf(z.string()) })),
  tag_prefixes: listOf(
    z.object({ prefix: z.string(), count: z.int(), values: listOf(z.string()) }),
  ),
  tags: listOf(tagJsonShape),
});

/** Tags in use. */
export const tagsJsonShape = z.object({ tags: listOf(tagJsonShape) });

/** A time as text, to the billionth of a second where that is known. */
function timeJson(ms: number, nanos = 0): string {
  const text = isoText(ms);
  if (nanos === 0) return text;
  return `${text.slice(0, -1)}${String(nanos).padStart(6, "0").replace(/0+$/, "")}Z`;
}

const SECOND_MS = 1000;
/** The second that was written last: an answer has many times, and those of one import or session lie close together. */
let lastSecond = Number.NaN;
let lastText = "";

/** What a `Date` makes of a time, without one for each. */
function isoText(ms: number): string {
  const second = Math.floor(ms / SECOND_MS);
  if (second !== lastSecond) {
    const text = new Date(ms).toISOString();
    // Whole milliseconds alone: of others a `Date` keeps what it likes.
    if (!Number.isSafeInteger(ms)) return text;
    lastText = text.slice(0, -4);
    lastSecond = second;
    return text;
  }
  const rest = ms - second * SECOND_MS;
  if (!Number.isInteger(rest)) return new Date(ms).toISOString();
  return `${lastText}${rest < 10 ? "00" : rest < 100 ? "0" : ""}${rest}Z`;
}

type NodeJson = z.input<typeof nodeJsonShape>;

/** A node as memgraph writes it; one of a compact list has fewer members. */
export function nodeJson(node: GraphNode | CompactNode): NodeJson {
  const { id, graphId, lineageId, version, kind, summary, tags } = node;
  // Members are put one by one, in the order in which they are written: a walk has many nodes, and a spread for each member
  // that may be absent is dear.
  const json: Partial<NodeJson> = { id, graph_id: graphId, lineage_id: lineageId, version, kind };
  if ("content" in node) putContent(json, node);
  if (summary !== "") json.summary = summary;
  if (tags.length > 0) json.tags = tags;
  json.created_at = timeJson(node.createdAt, node.nanos);
  json.is_current = node.isCurrent;
  json.is_stale = node.isStale;
  return json as NodeJson;
}

function putContent(json: Partial<NodeJson>, node: GraphNode): void {
  const { content, metadata, freshnessAt, createdBy, supersededBy, conflicts } = node;
  if (content !== "") json.content = content;
  if (metadata !== undefined && Object.keys(metadata).length > 0) json.metadata = metadata;
  if (freshnessAt !== undefined) json.freshness_at = timeJson(freshnessAt, node.freshnessNanos);
  if (createdBy !== "") json.created_by = createdBy;
  if (supersededBy !== undefined) json.superseded_by = supersededBy;
  if (conflicts.length > 0) json.conflicts = conflicts;
}

/** An edge as memgraph writes it. */
export function edgeJson(edge: GraphEdge): z.input<typeof edgeJsonShape> {
  const { id, graphId, fromLineage, toGraph, toLineage, kind, metadata, ordinal } = edge;
  return {
    id,
    graph_id: graphId,
    from_lineage: fromLineage,
    to_graph: toGraph,
    to_lineage: toLineage,
    kind,
    ...(metadata === undefined || Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(ordinal === undefined ? {} : { ordinal }),
    created_at: timeJson(edge.createdAt, edge.nanos),
    created_by: edge.createdBy,
  };
}

/** The id of a graph: the one it was imported with, or its own. */
export function shownGraphId({ id, origin }: Pick<GraphInfo, "id" | "origin">): string {
  return origin?.id ?? id;
}

/** A graph as memgraph writes it. */
export function graphJson(
  graph: GraphInfo,
  { outbound, inbound }: Pick<GraphTies, "outbound" | "inbound">,
): z.input<typeof graphJsonShape> {
  const { name, conflictPolicy, kindWhitelist, metadata, createdAt } = graph;
  return {
    id: shownGraphId(graph),
    name,
    conflict_policy: conflictPolicy,
    ...(kindWhitelist.length === 0 ? {} : { kind_whitelist: kindWhitelist }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    created_at: timeJson(createdAt, graph.origin?.nanos),
    outbound_count: outbound.length,
    inbound_count: inbound.length,
  };
}

/** The same graph as REST writes it. */
export function restGraphJson(json: Json): Json {
  const { outbound_count, inbound_count, ...rest } = json;
  return { ...rest, symlink_manifest_summary: { outbound_count, inbound_count } };
}

/** Links between graphs as memgraph writes them. */
export function manifestJson(
  manifest: Pick<GraphTies, "outbound" | "inbound">,
): z.input<typeof manifestJsonShape> {
  const refs = (list: GraphTies["outbound"]) =>
    list.map(({ graphId, edgeCount }) => ({ graph_id: graphId, edge_count: edgeCount }));
  return { outbound: refs(manifest.outbound), inbound: refs(manifest.inbound) };
}

/** The words in use as memgraph writes them. */
export function schemaJson(schema: GraphSchema): z.input<typeof schemaJsonShape> {
  const { graphId, nodeCount, kinds, tagPrefixes, tags } = schema;
  return { graph_id: graphId, node_count: nodeCount, kinds, tag_prefixes: tagPrefixes, tags };
}

/** A text whose form core checks and the OpenAPI document describes, under that name. */
export const formed = (form: string) => z.string().meta({ form });

/** Who writes. */
const author = formed("Principal").exactOptional();

/** Tags. */
export const tagTexts = listOf(formed("Tag")).exactOptional();

/** What a node is written with. */
export const nodeFields = {
  kind: formed("Kind"),
  content: formed("LongContent"),
  lineage_id: formed("Lineage")
    .describe("an existing lineage, or a name of your own")
    .exactOptional(),
  summary: formed("Content").exactOptional(),
  tags: tagTexts,
  metadata: anyObject.exactOptional(),
  freshness_at: isoTime("when to look at it again"),
  created_by: author,
  // As in memgraph, one that no version can have says that the lineage is new, or that what was read is out of date.
  based_on_version: z.int().describe("the version you read").exactOptional(),
};

/** The node that is written. */
export function nodeInput(node: z.output<z.ZodObject<typeof nodeFields>>): NodeInput {
  const { kind, content, summary, tags, metadata, created_by } = node;
  return {
    kind,
    content,
    ...given({
      createdBy: created_by,
      summary,
      tags,
      metadata,
      freshnessAt: node.freshness_at,
      lineageId: node.lineage_id,
      basedOnVersion: node.based_on_version,
    }),
  };
}

/** What an edge is written with, beside its ends. */
export const edgeFields = {
  kind: formed("EdgeKind"),
  to_graph: formed("GraphId").exactOptional(),
  metadata: anyObject.exactOptional(),
  ordinal: z.int().exactOptional(),
  created_by: author,
};

/** The edge that is written, but for its ends. */
export function edgeInput(edge: z.output<z.ZodObject<typeof edgeFields>>) {
  const { kind, to_graph, metadata, ordinal, created_by } = edge;
  return { kind, ...given({ toGraph: to_graph, metadata, ordinal, createdBy: created_by }) };
}
