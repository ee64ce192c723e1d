/**
 * memgraph's calls about words: searching nodes in one graph, in several, and with several texts at
 * once; and the kinds and tags in use.
 *
 * These are the verbs of a Cortex, answered as nodes; while a conflict is open, each of its rivals is judged and
 * counted by itself. Scores of different graphs cannot be compared, because the weight of a word is that of its
 * graph: over several graphs hits are ordered by their ranks. What a text with operators means is in
 * `operators.ts`.
 */

import * as z from "zod";
import { truncateUtf8 } from "../codec/text.js";
import { listOf } from "../contract/fields.js";
import type { Schema, TagCount } from "../contract/find.js";
import { kind, tag } from "../contract/memory.js";
import type { SearchFilter, SearchResult } from "../contract/recall.js";
import type { Cortex } from "../cortex.js";
import { checkOptions } from "../engine/engine.js";
import { invalid } from "../errors.js";
import { inParallel } from "../hub/catalogue.js";
import { checkGraphId } from "../hub/context.js";
import type { Hub } from "../hub/hub.js";
import { LIMITS } from "../limits.js";
import { parseWith } from "../records/fields.js";
import { rankShare } from "../search/search.js";
import { Analyser } from "../text/analyse.js";
import { Fts5Words } from "./fts5-words.js";
import { type GraphNode, nodesOf, withNodes } from "./node.js";
import { expressionOf, type Matcher, matcherOf, type SearchedTexts } from "./operators.js";
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
      const { hits, seq } = await searchIn(hub, memory, { ...narrowed, text, limit }, options);
      positions[graph] = seq;
      found.set(graph, hits);
    });
  });
  const lists = names.map((graph) => found.get(graph) ?? []);
  return { hits: joined(lists).slice(0, limit), positions };
}

/** Searches one graph, by words or by the operators that the text holds. */
async function searchIn(
  hub: Hub,
  memory: Cortex,
  query: NodeQuery & { readonly limit: number },
  options: AccessOption,
): Promise<{ readonly hits: readonly NodeHit[]; readonly seq: number }> {
  const { text, limit, ...narrowed } = query;
  const how = { ...narrowed, ...options, siblings: true };
  const hitsOf = async ({ hits, seq }: SearchResult) => ({
    hits: (await withNodes(hub, hits)).map(({ node, score, snippet = "" }) => ({
      node,
      score,
      snippet,
    })),
    seq,
  });
  const expression = expressionOf(text);
  if (expression === undefined) return hitsOf(await memory.search(text, { ...how, limit }));
  const matcher = matcherOf(expression, await Fts5Words.load());
  const { language } = await memory.config();
  const isHidden = hidden(await Analyser.load(language ?? "english"));
  const { nodes, words } =
    matcher.hasPrefix || matcher.words.some(isHidden)
      ? await lookedThrough(hub, memory, matcher, query, options)
      : NOTHING;
  const wide = [...matcher.words, ...words].map((word) => word.replaceAll('"', " ")).join(" ");
  const found = await hitsOf(await memory.search(wide, { ...how, limit: LIMITS.listLimit }));
  const ranked = found.hits.filter(({ node }) => matcher.matches(textsOf(node)));
  const ids = new Set(ranked.map(({ node }) => node.id));
  // What was found by looking and no word of the index leads to comes last.
  const rest = nodes.filter(({ id }) => !ids.has(id));
  const hits = [...ranked, ...rest.map((node) => ({ node, score: 0, snippet: "" }))];
  return { hits: hits.slice(0, limit), seq: found.seq };
}

/**
 * Which words the index may not lead to although FTS5 finds them: those that a query does without, and those that are
 * part of a word of the index, as `don` is of `don't` and `c` of `c++`.
 */
function hidden(analyser: Analyser): (text: string) => boolean {
  const isPart = (word: string): boolean =>
    /^[cf]$/i.test(word) || analyser.isStopWord(word) || analyser.isStopWord(`${word}t`);
  return (text) => (text.match(/[\p{L}\p{N}]+/gu) ?? []).some(isPart);
}

const NOTHING = { nodes: [], words: [] } as const;

/** What an expression finds by looking at every node that the filters leave, and the words that its beginnings met. */
async function lookedThrough(
  hub: Hub,
  memory: Cortex,
  matcher: Matcher,
  { kinds, tags, freshOnly }: NodeQuery,
  { access }: AccessOption,
): Promise<{ readonly nodes: readonly GraphNode[]; readonly words: readonly string[] }> {
  const page = await memory.list({ written: { kinds, tags, siblings: true }, access });
  const words = new Set<string>();
  const now = hub.now();
  const nodes = (await nodesOf(hub, page.memories)).filter((node) => {
    const isFresh = freshOnly !== true || node.freshnessAt === undefined || node.freshnessAt >= now;
    return isFresh && matcher.matches(textsOf(node), (word) => words.add(word));
  });
  return { nodes, words: [...words].slice(0, LIMITS.queryWords) };
}

function textsOf({ content, summary, tags }: GraphNode): SearchedTexts {
  return { content, summary, tags: tags.join(" ") };
}

/** One list of several: as it is when there is one, else by rank. */
function joined(lists: readonly (readonly NodeHit[])[]): readonly NodeHit[] {
  const [only] = lists;
  if (lists.length === 1) return only ?? [];
  return lists
    .flatMap((hits) => hits.map((hit, rank) => ({ ...hit, score: rankShare(rank) })))
    .sort((a, b) => b.score - a.score);
}

/** What narrows a search: checked also where there is no such graph, and nothing else would look at it. */
const narrowing = z.object({ kinds: listOf(kind).optional(), tags: listOf(tag).optional() });

/** A query as the verbs take it: a list that is empty narrows nothing, no limit is the usual one. */
function asked(query: NodeQuery, path: string): NodeQuery {
  checkOptions(query, ["text", "kinds", "tags", "freshOnly", "limit"], `${path}query`);
  const { text, freshOnly, limit } = query;
  const { kinds, tags } = parseWith(narrowing, query, path.replace(/\.$/, ""));
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
  const isPlain = all.every(({ text }) => expressionOf(text) === undefined);
  const found = await hub.useIfThere(graph, (memory) =>
    (isPlain ? searchTogether : searchEach)(hub, memory, all, options),
  );
  if (found !== undefined) return { ...found, queryCount: all.length };
  const perQueryHits = all.map(() => 0);
  return { hits: [], queryCount: all.length, uniqueHits: 0, perQueryHits, seq: -1 };
}

type Fused = Omit<NodeBatchSearch, "queryCount">;

/** Texts of words alone are searched by the verb for several. */
async function searchTogether(
  hub: Hub,
  memory: Cortex,
  queries: readonly NodeQuery[],
  options: NodeBatchOptions,
): Promise<Fused> {
  const found = await memory.searchBatch(queries, { ...options, siblings: true });
  const { uniqueHits, perQueryHits, seq } = found;
  const hits = (await withNodes(hub, found.hits)).map(({ node, score, queriesMatched }) => ({
    node,
    rrfScore: score,
    queriesMatched,
  }));
  return { hits, uniqueHits, perQueryHits, seq };
}

/** Texts with operators are searched one by one, and ranked together in the same way. */
async function searchEach(
  hub: Hub,
  memory: Cortex,
  queries: readonly NodeQuery[],
  { access, limit: most = 0 }: NodeBatchOptions,
): Promise<Fused> {
  const bounded = (given: number, usual: number, highest: number): number =>
    given <= 0 ? usual : Math.min(given, highest);
  const found = await Promise.all(
    queries.map((query) => {
      const { limit = 0 } = query;
      const own = bounded(limit, LIMITS.searchBatchEachDefault, LIMITS.searchBatchEach);
      return searchIn(hub, memory, { ...query, limit: own }, { access });
    }),
  );
  const met = new Map<string, NodeBatchHit>();
  for (const [at, { hits }] of found.entries()) {
    for (const [rank, { node }] of hits.entries()) {
      const before = met.get(node.lineageId);
      met.set(node.lineageId, {
        node: before?.node ?? node,
        rrfScore: (before?.rrfScore ?? 0) + rankShare(rank),
        queriesMatched: [...(before?.queriesMatched ?? []), at],
      });
    }
  }
  const hits = [...met.values()].sort((a, b) => b.rrfScore - a.rrfScore);
  return {
    hits: hits.slice(0, bounded(most, LIMITS.searchBatchTotalDefault, LIMITS.searchBatchTotal)),
    uniqueHits: hits.length,
    perQueryHits: found.map((one) => one.hits.length),
    seq: Math.max(...found.map(({ seq }) => seq)),
  };
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
  const found = await hub.useIfThere(graph, async (memory) => {
    const schema = await memory.describeSchema({ ...options, siblings: true });
    const kinds = await Promise.all(
      schema.kinds.map(async ({ kind, count }) => {
        const written = { kinds: [kind], siblings: true, limit: EXAMPLES };
        const { memories } = await memory.list({ written, ...options });
        return { kind, count, examples: (await nodesOf(hub, memories)).map(exampleOf) };
      }),
    );
    return { ...schema, kinds };
  });
  if (found === undefined) {
    return { graphId: graph, nodeCount: 0, kinds: [], tagPrefixes: [], tags: [], seq: -1 };
  }
  const { nodeCount, kinds, tagPrefixes, tags, seq } = found;
  const graphId = await hub.lineages.shownName(found.graphId);
  return { graphId, nodeCount, kinds, tagPrefixes, tags, seq };
}

/** Nodes that show what a kind is used for: those whose version is the newest. */
const EXAMPLES = 3;
const EXAMPLE_BYTES = 160;

function exampleOf({ summary, content }: GraphNode): string {
  const text = summary.trim() || content.trim();
  const cut = truncateUtf8(text, EXAMPLE_BYTES);
  return cut === text ? text : `${cut}…`;
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
