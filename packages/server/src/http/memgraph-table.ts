/**
 * memgraph's routes as data: path, parameters, body and answers of each, with the schemas that requests
 * are held against and answers are made by. The router adds what stands here and nothing else, and the
 * OpenAPI document is rendered from it.
 */
import * as z from "zod";
import { edgeInput, graphInput, graphPatch, nodeInput } from "../memgraph/inputs.js";
import {
  edgeJsonShape,
  manifestJsonShape,
  nodeJsonShape,
  schemaJsonShape,
  tagsJsonShape,
} from "../memgraph/shapes.js";
import { listOf } from "../operations/fields.js";
import { hitShape, restGraphShape } from "./memgraph-json.js";

/** One route. */
export interface MemgraphRoute {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below `/v1`, with its parts as the router writes them. */
  readonly path: string;
  /** One line. */
  readonly summary: string;
  /** Parameters after the path; what cannot be read counts as not given. */
  readonly parameters?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** What a good answer looks like, by status; `undefined` has no body. */
  readonly answers: { readonly [status: number]: z.ZodType | undefined };
  /** The answer goes on, as events. */
  readonly events?: true;
}

const list = (what: string) => listOf(z.string()).describe(what).exactOptional();
const kinds = list("a kind, of which they have one; repeated, or separated by commas");
const tags = list("a tag that they all have; repeated, or separated by commas");
const limit = (otherwise: number) =>
  z.int().describe(`how many; ${otherwise} when not given`).exactOptional();
const flag = (what: string) => z.boolean().describe(what).exactOptional();

const edgesShape = z.object({ edges: listOf(edgeJsonShape) });
const edgeKinds = z.object({ kinds: list("a kind of edge; repeated, or separated by commas") });

/** A write that was kept beside its rivals. */
const conflictShape = z.object({
  error: z.string(),
  node: nodeJsonShape,
  conflicts: listOf(z.string()),
});

/** Ways to walk. */
export const DIRECTIONS = ["outgoing", "incoming", "both"] as const;

/** What is answered when a caller does not say. */
export const DEFAULTS = { list: 50, search: 20, tags: 100, depth: 2, nodes: 50 } as const;

/** The routes, by name. */
export const MEMGRAPH_ROUTES = {
  info: {
    method: "GET",
    path: "/info",
    summary: "Which version serves, and how it stores",
    answers: { 200: z.object({ version: z.string(), time: z.string(), store: z.string() }) },
  },
  stream: {
    method: "GET",
    path: "/stream",
    summary: "What happens in graphs, as it happens",
    parameters: z.object({ graph: list("only this graph; repeated, or separated by commas") }),
    answers: { 200: undefined },
    events: true,
  },
  listGraphs: {
    method: "GET",
    path: "/graphs",
    summary: "The graphs, the oldest first",
    answers: { 200: z.object({ graphs: listOf(restGraphShape) }) },
  },
  createGraph: {
    method: "POST",
    path: "/graphs",
    summary: "Make a graph",
    body: graphInput,
    answers: { 201: restGraphShape },
  },
  getGraph: {
    method: "GET",
    path: "/graphs/:id",
    summary: "A graph",
    answers: { 200: restGraphShape },
  },
  configureGraph: {
    method: "PATCH",
    path: "/graphs/:id",
    summary: "Change a graph; an empty list or object clears",
    body: graphPatch,
    answers: { 200: restGraphShape },
  },
  symlinks: {
    method: "GET",
    path: "/graphs/:id/symlinks",
    summary: "Which graphs a graph is tied to",
    answers: { 200: manifestJsonShape },
  },
  listNodes: {
    method: "GET",
    path: "/graphs/:id/nodes",
    summary: "The current nodes of a graph, the newest first",
    parameters: z.object({
      kinds,
      tags,
      limit: limit(DEFAULTS.list),
      offset: z.int().describe("how many to skip").exactOptional(),
      compact: flag("leave content, metadata and the like out"),
    }),
    answers: { 200: z.object({ nodes: listOf(nodeJsonShape), next_offset: z.int() }) },
  },
  search: {
    method: "GET",
    path: "/graphs/:id/search",
    summary: "Nodes of a graph by words, the best first",
    parameters: z.object({
      q: z.string().describe("what to look for").exactOptional(),
      kinds,
      tags,
      fresh_only: flag("leave out what is stale"),
      limit: limit(DEFAULTS.search),
    }),
    answers: { 200: z.object({ hits: listOf(hitShape) }) },
  },
  describeSchema: {
    method: "GET",
    path: "/graphs/:id/schema",
    summary: "The kinds and tags in use in a graph",
    answers: { 200: schemaJsonShape },
  },
  listTags: {
    method: "GET",
    path: "/graphs/:id/tags",
    summary: "The tags in use in a graph, the most frequent first",
    parameters: z.object({
      prefix: z.string().describe("only tags that start so").exactOptional(),
      limit: limit(DEFAULTS.tags),
    }),
    answers: { 200: tagsJsonShape },
  },
  putNode: {
    method: "POST",
    path: "/nodes",
    summary: "Write a node; 409 with a node says that it was kept beside its rivals",
    body: nodeInput,
    answers: { 201: nodeJsonShape, 409: conflictShape },
  },
  getNode: {
    method: "GET",
    path: "/nodes/:lineage",
    summary: "The current node of a lineage, or an older one",
    parameters: z.object({
      version: z.int().describe("this version").exactOptional(),
      at: z.string().describe("the one of this time, in ISO 8601").exactOptional(),
    }),
    answers: { 200: nodeJsonShape },
  },
  history: {
    method: "GET",
    path: "/nodes/:lineage/history",
    summary: "Every version of a lineage, the newest first",
    answers: { 200: z.object({ versions: listOf(nodeJsonShape) }) },
  },
  outgoing: {
    method: "GET",
    path: "/nodes/:lineage/outgoing",
    summary: "The edges that leave a lineage",
    parameters: edgeKinds,
    answers: { 200: edgesShape },
  },
  incoming: {
    method: "GET",
    path: "/nodes/:lineage/incoming",
    summary: "The edges that reach a lineage",
    parameters: edgeKinds,
    answers: { 200: edgesShape },
  },
  traverse: {
    method: "GET",
    path: "/nodes/:lineage/neighborhood",
    summary: "The nodes around a lineage",
    parameters: z.object({
      direction: z.enum(DIRECTIONS).describe("outgoing when not given").exactOptional(),
      depth: z.int().describe(`edges in a row; ${DEFAULTS.depth} when not given`).exactOptional(),
      max_nodes: limit(DEFAULTS.nodes),
      kinds: list("a kind of edge; repeated, or separated by commas"),
      follow_symlinks: flag("into other graphs as well"),
    }),
    answers: { 200: z.object({ nodes: listOf(nodeJsonShape), edges: listOf(edgeJsonShape) }) },
  },
  putEdge: {
    method: "POST",
    path: "/edges",
    summary: "Write an edge",
    body: edgeInput,
    answers: { 201: edgeJsonShape },
  },
  deleteEdge: {
    method: "DELETE",
    path: "/edges/:id",
    summary: "Remove an edge; it stays in the history",
    answers: { 204: undefined },
  },
} as const satisfies { readonly [name: string]: MemgraphRoute };

/** The name of a route. */
export type MemgraphRouteName = keyof typeof MEMGRAPH_ROUTES;
