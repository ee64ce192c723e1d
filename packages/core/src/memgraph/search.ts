/**
 * memgraph's calls about words: searching nodes in one graph, in several, and with several texts at
 * once; and the kinds and tags in use.
 *
 * These are the verbs of a Cortex, told in nodes; while a conflict is open, each of its rivals is
 * judged and counted by itself. Scores of different graphs cannot be compared, because the weight of a
 * word is that of its graph: over several graphs hits are ordered by their ranks.
 */

import type { Schema, TagCount } from "../contract/find.js";
import type { SearchFilter } from "../contract/recall.js";
import { checkOptions } from "../engine/engine.js";
import { invalid } from "../errors.js";
import { inParallel } from "../hub/catalogue.js";
import type { Hub } from "../hub/hub.js";
import { checkGraphId } from "../hub/names.js";
import { LIMITS } from "../limits.js";
import { rankShare } from "../search/search.js";
import { type GraphNode, nodesOf } from "./node.js";
import { type AccessOption, admitted } from "./policies.js";

/** What to search for. */
export interface NodeQuery extends Omit<SearchFilter, "types"> {
  /** Any text; one without words finds nothing. */
  readonly text: string;
  /** 20 when it is absent or not above 0. */
  readonly limit?: number;
}

/** A node that a search found. */
export interface NodeHit {
  readonly node: GraphNode;
  readonly score: number;
  /** The words that answer, found ones in square brackets. */
  readonly snippet: string;
}

/** What a search found, the best first. */
export interface NodeSearch {
  readonly hits: readonly NodeHit[];
  /** At which position each graph was searched. */
  readonly positions: { readonly [graphId: string]: number };
}

/** Graphs that one search may span, and how many are searched at the same time. */
const GRAPHS_MAX = 1000;
const GRAPHS_AT_ONCE = 4;

/** Searches the nodes of one graph or of several. */
export async function search(
  hub: Hub,
  graphs: string | readonly string[],
  query: NodeQuery,
  options: AccessOption = {},
): Promise<NodeSearch> {
  admitted("search", options);
  checkOptions(options, ["access"]);
  const list: readonly unknown[] = Array.isArray(graphs) ? graphs : [graphs];
  if (list.length < 1 || list.length > GRAPHS_MAX) {
    throw invalid("graphs", `one graph, or a list of 1 to ${GRAPHS_MAX}`, graphs);
  }
  const names = [...new Set(list.map((name) => checkGraphId(name, hub.prefix)))];
  const { text, ...narrowed } = asked(query, "");
  const limit = Math.min(narrowed.limit ?? LIMITS.searchLimitDefault, LIMITS.listLimit);
  const positions: Record<string, number> = {};
  const found = new Map<string, readonly NodeHit[]>();
  await inParallel(names, GRAPHS_AT_ONCE, async (graph) => {
    await hub.useIfThere(graph, async (memory) => {
      const how = { ...narrowed, ...options, limit, siblings: true };
      const { hits, seq } = await memory.search(text, how);
      positions[graph] = seq;
      const told = hits.flatMap(({ memory: one, score, snippet = "" }) =>
        one === undefined ? [] : [{ memory: one, score, snippet }],
      );
      const nodes = await nodesOf(
        hub,
        told.map((hit) => hit.memory),
      );
      found.set(
        graph,
        told.flatMap(({ score, snippet }, at) => {
          const node = nodes[at];
          return node === undefined ? [] : [{ node, score, snippet }];
        }),
      );
    });
  });
  const lists = names.map((graph) => found.get(graph) ?? []);
  return { hits: joined(lists).slice(0, limit), positions };
}

/** One list of several: as it is when there is one, else by rank. */
function joined(lists: readonly (readonly NodeHit[])[]): readonly NodeHit[] {
  const [only] = lists;
  if (lists.length === 1) return only ?? [];
  return lists
    .flatMap((hits) => hits.map((hit, rank) => ({ ...hit, score: rankShare(rank) })))
    .sort((a, b) => b.score - a.score);
}

/** A query as the verbs take it: a list that is empty narrows nothing, no limit is the usual one. */
function asked(query: NodeQuery, path: string): NodeQuery {
  checkOptions(query, ["text", "kinds", "tags", "freshOnly", "limit"], `${path}query`);
  const { text, kinds, tags, freshOnly, limit } = query;
  if (typeof text !== "string") throw invalid(`${path}text`, "text", text);
  if (limit !== undefined && !Number.isSafeInteger(limit)) {
    throw invalid(`${path}limit`, "an integer", limit);
  }
  return {
    text,
    ...(kinds === undefined || kinds.length === 0 ? {} : { kinds }),
    ...(tags === undefined ? {} : { tags }),
    ...(freshOnly === undefined ? {} : { freshOnly }),
    ...(limit === undefined || limit <= 0 ? {} : { limit }),
  };
}

/** How several texts are searched for. */
export interface NodeBatchOptions extends AccessOption {
  /** Most hits over all texts; 20 unless told otherwise, at most 100. */
  readonly limit?: number;
}

/** A node that one or more texts found. */
export interface NodeBatchHit {
  readonly node: GraphNode;
  /** Sum over the texts of 1 / (60 + rank). */
  readonly rrfScore: number;
  /** Numbers of the texts that found its lineage, from 0; twice where two rivals were found. */
  readonly queriesMatched: readonly number[];
}

/** What several texts found together. */
export interface NodeBatchSearch {
  readonly hits: readonly NodeBatchHit[];
  readonly queryCount: number;
  /** Different lineages, before the limit cut them. */
  readonly uniqueHits: number;
  /** Hits of each text. */
  readonly perQueryHits: readonly number[];
  readonly seq: number;
}

/** Searches one graph with several texts; lineages are ranked by all of them together. */
export async function searchBatch(
  hub: Hub,
  graph: string,
  queries: readonly NodeQuery[],
  options: NodeBatchOptions = {},
): Promise<NodeBatchSearch> {
  admitted("searchBatch", options);
  checkOptions(options, ["limit", "access"]);
  const most = LIMITS.searchBatchQueries;
  if (!Array.isArray(queries) || queries.length < 1 || queries.length > most) {
    throw invalid("queries", `a list of 1 to ${most} queries`, queries);
  }
  const all = queries.map((query, at) => asked(query, `queries[${at}].`));
  const found = await hub.useIfThere(graph, (memory) =>
    memory.searchBatch(all, { ...options, siblings: true }),
  );
  const { uniqueHits = 0, perQueryHits = all.map(() => 0), seq = -1 } = found ?? {};
  const told = (found?.hits ?? []).flatMap(({ memory, score, queriesMatched }) =>
    memory === undefined ? [] : [{ memory, rrfScore: score, queriesMatched }],
  );
  const nodes = await nodesOf(
    hub,
    told.map(({ memory }) => memory),
  );
  const hits = told.flatMap(({ memory: _, ...hit }, at) => {
    const node = nodes[at];
    return node === undefined ? [] : [{ node, ...hit }];
  });
  return { hits, queryCount: all.length, uniqueHits, perQueryHits, seq };
}

/** What a graph is made of, as memgraph tells it: current nodes count, rivals apart. */
export type GraphSchema = Pick<
  Schema,
  "graphId" | "nodeCount" | "kinds" | "tagPrefixes" | "tags" | "seq"
>;

/** A tag, and how many current nodes have it. */
export type GraphTag = TagCount;

/** Which tags to list. */
export interface GraphTagOptions extends AccessOption {
  readonly prefix?: string;
  /** At most 100, which is what it is when absent, not above 0 or more than that. */
  readonly limit?: number;
}

const TAGS_MAX = 100;

/** The kinds and tags of a graph; empty when there is no such graph. */
export async function describeSchema(
  hub: Hub,
  graph: string,
  options: AccessOption = {},
): Promise<GraphSchema> {
  admitted("describeSchema", options);
  checkOptions(options, ["access"]);
  const schema = await hub.useIfThere(graph, (memory) =>
    memory.describeSchema({ ...options, siblings: true }),
  );
  if (schema === undefined) {
    return { graphId: graph, nodeCount: 0, kinds: [], tagPrefixes: [], tags: [], seq: -1 };
  }
  const { nodeCount, kinds, tagPrefixes, tags, seq } = schema;
  const graphId = await hub.lineages.shownName(schema.graphId);
  return { graphId, nodeCount, kinds, tagPrefixes, tags, seq };
}

/** The tags of a graph by use; empty when there is no such graph. */
export async function listTags(
  hub: Hub,
  graph: string,
  options: GraphTagOptions = {},
): Promise<{ readonly tags: readonly GraphTag[]; readonly seq: number }> {
  admitted("listTags", options);
  checkOptions(options, ["prefix", "limit", "access"]);
  const { limit: given = 0 } = options;
  if (!Number.isSafeInteger(given)) throw invalid("limit", "an integer", given);
  const limit = given <= 0 ? TAGS_MAX : Math.min(given, TAGS_MAX);
  const found = await hub.useIfThere(graph, (memory) =>
    memory.listTags({ ...options, limit, siblings: true }),
  );
  return found ?? { tags: [], seq: -1 };
}
