/**
 * The words in use in a graph, in memgraph's shape: kinds, tags and prefixes of tags, with counts over
 * the current nodes. While a conflict is open, each of its rivals counts.
 *
 * Without conflicts the counts are those that the graph keeps up to date; with one, the nodes are
 * counted one by one.
 */

import { truncateUtf8 } from "../codec/text.js";
import type { Schema } from "../contract/find.js";
import { checkOptions } from "../engine/engine.js";
import { invalid } from "../errors.js";
import { describeSchema as describeGraph, listTags as listGraphTags } from "../find/schema.js";
import { LIMITS } from "../limits.js";
import { type Access, OWNER } from "../scope/access.js";
import { type HubContext, ifGraph } from "./context.js";
import { checkGraphId } from "./names.js";
import type { GraphNode } from "./node.js";
import { listNodes } from "./node-list.js";
import { knownRivals } from "./nodes.js";

/** What a graph is made of, as memgraph tells it: current nodes count, rivals apart. */
export interface GraphSchema
  extends Pick<Schema, "graphId" | "nodeCount" | "kinds" | "tagPrefixes" | "seq"> {
  readonly tags: readonly GraphTag[];
}

/** A tag, and how many current nodes have it. */
export interface GraphTag {
  readonly tag: string;
  readonly count: number;
}

/** Which tags to list. */
export interface GraphTagOptions {
  readonly prefix?: string;
  /** At most 100, which is what it is when absent, not above 0 or more than that. */
  readonly limit?: number;
  readonly access?: Access;
}

const TAGS_MAX = 100;
const EXAMPLES = 3;
const EXAMPLE_BYTES = 160;
const PREFIX_VALUES = 10;

/** The kinds and tags of a graph; empty when there is no such graph. */
export async function graphSchema(
  hub: HubContext,
  graph: string,
  options: { readonly access?: Access } = {},
): Promise<GraphSchema> {
  checkOptions(options, ["access"]);
  const access = options.access ?? OWNER;
  const nodes = await contested(hub, graph, access);
  if (nodes !== undefined) return schemaOf(graph, nodes.nodes, nodes.seq);
  const schema = await ifGraph(hub, graph, (engine) => describeGraph(engine, { access }));
  if (schema === undefined) return schemaOf(graph, [], -1);
  const { graphId, nodeCount, kinds, tagPrefixes, tags, seq } = schema;
  return { graphId, nodeCount, kinds, tagPrefixes, tags, seq };
}

/** The tags of a graph by use; empty when there is no such graph. */
export async function graphTags(
  hub: HubContext,
  graph: string,
  options: GraphTagOptions = {},
): Promise<{ readonly tags: readonly GraphTag[]; readonly seq: number }> {
  checkOptions(options, ["prefix", "limit", "access"]);
  const { prefix = "" } = options;
  const access = options.access ?? OWNER;
  if (typeof prefix !== "string") throw invalid("prefix", "a text", prefix);
  const limit = checkTagLimit(options.limit);
  const nodes = await contested(hub, graph, access);
  if (nodes !== undefined) {
    const tags = counted(nodes.nodes.flatMap((node) => node.tags));
    return {
      tags: tags.filter(({ tag }) => tag.startsWith(prefix)).slice(0, limit),
      seq: nodes.seq,
    };
  }
  const found = await ifGraph(hub, graph, (engine) =>
    listGraphTags(engine, { prefix, limit, access }),
  );
  return found ?? { tags: [], seq: -1 };
}

function checkTagLimit(limit: unknown): number {
  if (limit === undefined) return TAGS_MAX;
  if (typeof limit !== "number" || !Number.isSafeInteger(limit)) {
    throw invalid("limit", "an integer", limit);
  }
  return limit <= 0 ? TAGS_MAX : Math.min(limit, TAGS_MAX);
}

/** Every current node of a graph that has an open conflict; `undefined` for one that has none. */
async function contested(
  hub: HubContext,
  graph: string,
  access: Access,
): Promise<{ readonly nodes: readonly GraphNode[]; readonly seq: number } | undefined> {
  const rivals = await knownRivals(hub, checkGraphId(graph, hub.prefix));
  if (rivals === undefined || rivals.ids.length === 0) return undefined;
  const page = await ifGraph(hub, graph, (engine) => listNodes(engine, {}, access, rivals));
  return page as { readonly nodes: readonly GraphNode[]; readonly seq: number } | undefined;
}

/** Counts nodes, the newest first, one by one. */
function schemaOf(graphId: string, nodes: readonly GraphNode[], seq: number): GraphSchema {
  const tags = counted(nodes.flatMap((node) => node.tags));
  return {
    graphId,
    nodeCount: nodes.length,
    kinds: counted(nodes.map(({ kind }) => kind)).map(({ tag: kind, count }) => ({
      kind,
      count,
      examples: nodes
        .filter((node) => node.kind === kind)
        .slice(0, EXAMPLES)
        .map(exampleOf),
    })),
    tagPrefixes: prefixesOf(tags),
    tags: tags.slice(0, LIMITS.schemaTags),
    seq,
  };
}

function counted(names: readonly string[]): GraphTag[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([tag, count]) => ({ tag, count })).sort(byCount);
}

function byCount(a: GraphTag, b: GraphTag): number {
  return b.count - a.count || Buffer.compare(Buffer.from(a.tag), Buffer.from(b.tag));
}

function prefixesOf(tags: readonly GraphTag[]): GraphSchema["tagPrefixes"] {
  const groups = new Map<string, GraphTag[]>();
  for (const { tag, count } of tags) {
    const [, prefix, value] = /^([^:]+):(.+)$/s.exec(tag) ?? [];
    if (prefix === undefined || value === undefined) continue;
    const known = groups.get(prefix) ?? [];
    known.push({ tag: value, count });
    groups.set(prefix, known);
  }
  return [...groups]
    .map(([tag, values]) => ({
      tag,
      count: values.reduce((sum, { count }) => sum + count, 0),
      values: values.slice(0, PREFIX_VALUES).map((value) => value.tag),
    }))
    .sort(byCount)
    .map(({ tag, count, values }) => ({ prefix: tag, count, values }));
}

function exampleOf({ summary, content }: GraphNode): string {
  const text = summary.trim() || content.trim();
  const cut = truncateUtf8(text, EXAMPLE_BYTES);
  return cut === text ? text : `${cut}…`;
}
