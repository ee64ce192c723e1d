/**
 * Searching nodes by words: in one graph, in several, and with several texts at once.
 *
 * In one graph this is the search of a Cortex, told in nodes. A memory with rivals is one document
 * there; here each rival is judged by itself, by its own words, kind and tags. Scores of different
 * graphs cannot be compared, because the weight of a word is that of its graph: over several graphs
 * hits are ordered by their ranks, each worth 1 / (60 + rank).
 */

import { checkOptions, type Engine } from "../engine/engine.js";
import { CortexError, invalid } from "../errors.js";
import { type FoundMemory, Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import { type RankedHit, rivalsBelow } from "../links/rivals.js";
import { shownMemories } from "../memory/read.js";
import { type Access, OWNER } from "../scope/access.js";
import { rankShare } from "../search/search.js";
import type { Analyser } from "../text/analyse.js";
import { documentTexts, eachDocumentWord } from "../text/document.js";
import { snippetOf } from "../text/snippet.js";
import { inParallel } from "./catalogue.js";
import { type HubContext, ifGraph } from "./context.js";
import { checkGraphId } from "./names.js";
import type { GraphNode } from "./node.js";
import { checkNodeFilter, passes } from "./node-list.js";
import { openNodes } from "./node-read.js";

/** What to search for. */
export interface NodeQuery {
  /** Any text; one without words finds nothing. */
  readonly text: string;
  /** Any of these kinds. */
  readonly kinds?: readonly string[];
  /** All of these tags. */
  readonly tags?: readonly string[];
  /** Leaves out what should have been looked at again by now. */
  readonly freshOnly?: boolean;
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

/** How several texts are searched for. */
export interface NodeBatchOptions {
  /** Most hits over all texts; 20 unless told otherwise, at most 100. */
  readonly limit?: number;
  readonly access?: Access;
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

/** Graphs that one search may span, and how many are searched at the same time. */
const GRAPHS_MAX = 1000;
const GRAPHS_AT_ONCE = 4;

/** Searches the nodes of one graph or of several. */
export async function searchNodes(
  hub: HubContext,
  graphs: string | readonly string[],
  query: NodeQuery,
  options: { readonly access?: Access } = {},
): Promise<NodeSearch> {
  checkOptions(options, ["access"]);
  const names = checkGraphs(hub, graphs);
  const limit = checkQuery(query, "");
  const positions: Record<string, number> = {};
  const found = new Map<string, readonly NodeHit[]>();
  await inParallel(names, GRAPHS_AT_ONCE, async (graph) => {
    await ifGraph(hub, graph, (engine) =>
      reading(engine, async (reader) => {
        positions[graph] = reader.seq;
        const access = options.access ?? OWNER;
        const hits = await hitsIn(engine, reader, query, { limit, access });
        found.set(
          graph,
          hits.map(({ node, score, snippet }) => ({ node, score, snippet })),
        );
      }),
    );
  });
  const lists = names.flatMap((graph) => [found.get(graph) ?? []]);
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

/** Searches one graph with several texts; lineages are ranked by all of them together. */
export async function searchNodesBatch(
  hub: HubContext,
  graph: string,
  queries: readonly NodeQuery[],
  options: NodeBatchOptions = {},
): Promise<NodeBatchSearch> {
  checkOptions(options, ["limit", "access"]);
  if (!Array.isArray(queries) || queries.length < 1 || queries.length > LIMITS.searchBatchQueries) {
    throw invalid("queries", `a list of 1 to ${LIMITS.searchBatchQueries} queries`, queries);
  }
  const limits = queries.map((query, at) => {
    const asked = checkQuery(query, `queries[${at}].`, LIMITS.searchBatchEachDefault);
    return Math.min(asked, LIMITS.searchBatchEach);
  });
  const { searchBatchTotalDefault, searchBatchTotal } = LIMITS;
  const total = Math.min(
    checkLimit(options.limit, "limit", searchBatchTotalDefault),
    searchBatchTotal,
  );
  const access = options.access ?? OWNER;
  const done = await ifGraph(hub, graph, (engine) =>
    reading(engine, async (reader) => {
      const lists = await Promise.all(
        queries.map((query, at) =>
          hitsIn(engine, reader, query, { limit: limits[at] ?? 0, access }),
        ),
      );
      const fused = fuse(lists);
      const hits = await rivalsBelow(reader, fused.slice(0, total), access);
      return { lists, hits, uniqueHits: fused.length, seq: reader.seq };
    }),
  );
  const hits = (done?.hits ?? []).map(({ node, score: rrfScore, queriesMatched }) => ({
    node,
    rrfScore,
    queriesMatched,
  }));
  return {
    hits,
    queryCount: queries.length,
    uniqueHits: done?.uniqueHits ?? 0,
    perQueryHits: queries.map((_, at) => done?.lists[at]?.length ?? 0),
    seq: done?.seq ?? -1,
  };
}

interface FusedNode extends RankedHit, Pick<NodeBatchHit, "node" | "queriesMatched"> {}

/** Lineages by the sum of what their ranks are worth; of equal ones the first that was met. */
function fuse(lists: readonly (readonly FoundNode[])[]): readonly FusedNode[] {
  const met = new Map<string, FusedNode>();
  for (const [query, hits] of lists.entries()) {
    for (const [rank, { node, memory }] of hits.entries()) {
      const before = met.get(node.lineageId);
      met.set(node.lineageId, {
        node: before?.node ?? node,
        memory,
        score: (before?.score ?? 0) + rankShare(rank),
        queriesMatched: [...(before?.queriesMatched ?? []), query],
      });
    }
  }
  return [...met.values()].sort((a, b) => b.score - a.score);
}

async function reading<T>(engine: Engine, use: (reader: Reader) => Promise<T>): Promise<T> {
  await engine.text.ready();
  return Reader.with(engine.kv, undefined, use);
}

interface HitBounds {
  readonly limit: number;
  readonly access: Access;
}

/** A hit, and the memory whose node it is. */
type FoundNode = NodeHit & RankedHit;

/** The nodes of one graph that a query finds; rivals stand below what they dispute. */
async function hitsIn(
  engine: Engine,
  reader: Reader,
  query: NodeQuery,
  { limit, access }: HitBounds,
): Promise<readonly FoundNode[]> {
  const { words, analyser } = await engine.text.parse(reader, query.text);
  const wanted = new Set(words);
  const matched = new Map<string, MatchedMemory>();
  const ranked = await engine.text.rank(reader, {
    text: query.text,
    limit,
    accept: async (found) => {
      const shown = await shownMemories(reader, access, found);
      return Promise.all(
        shown.map(async (memory) => {
          if (memory === undefined) return false;
          const nodes = await matchedNodes(engine, reader, memory, { query, wanted, analyser });
          matched.set(keyString(memory.id), { memory, nodes });
          return nodes.length > 0;
        }),
      );
    },
  });
  const found = ranked.flatMap(({ id, score }) => {
    const one = matched.get(keyString(id));
    return one === undefined ? [] : [{ ...one, score }];
  });
  const order = await rivalsBelow(reader, found, access);
  return order
    .flatMap(({ memory, nodes, score }) =>
      nodes.map(({ node, texts }) => ({
        node,
        memory,
        score,
        snippet: snippetOf(analyser, texts, wanted),
      })),
    )
    .slice(0, limit);
}

interface MatchedMemory {
  readonly memory: FoundMemory;
  readonly nodes: readonly Matched[];
}

interface Matched {
  readonly node: GraphNode;
  /** What is searched of it. */
  readonly texts: readonly string[];
}

/** The current nodes of a memory that a query finds: one, or those rivals whose own words answer. */
async function matchedNodes(
  engine: Engine,
  reader: Reader,
  memory: FoundMemory,
  what: {
    readonly query: NodeQuery;
    readonly wanted: ReadonlySet<string>;
    readonly analyser: Analyser;
  },
): Promise<readonly Matched[]> {
  const { query, wanted, analyser } = what;
  const open = await openNodes(engine, reader, memory);
  return open.flatMap(({ node, written }): Matched[] => {
    const source = { head: written.head, bodies: [written.version] };
    let answers = open.length === 1;
    if (!answers) {
      eachDocumentWord(analyser, source, (word) => {
        answers ||= wanted.has(word);
      });
    }
    const isFresh = node.freshnessAt === undefined || node.freshnessAt >= engine.clock();
    const isWanted = passes(node, query) && (query.freshOnly !== true || isFresh);
    return answers && isWanted ? [{ node, texts: documentTexts(source) }] : [];
  });
}

function checkGraphs(hub: HubContext, graphs: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(graphs) ? graphs : [graphs];
  if (list.length < 1 || list.length > GRAPHS_MAX) {
    throw invalid("graphs", `one graph, or a list of 1 to ${GRAPHS_MAX}`, graphs);
  }
  return [...new Set(list.map((name) => checkGraphId(name, hub.prefix)))];
}

/** Checks a query; gives its limit. */
function checkQuery(
  query: NodeQuery,
  path: string,
  fallback: number = LIMITS.searchLimitDefault,
): number {
  checkOptions(query, ["text", "kinds", "tags", "freshOnly", "limit"], `${path}query`);
  const { text, kinds, tags, freshOnly } = query;
  if (typeof text !== "string") throw invalid(`${path}text`, "text", text);
  if (Buffer.byteLength(text) > LIMITS.queryBytes) {
    const expected = `at most ${LIMITS.queryBytes} bytes`;
    throw new CortexError("ERR_TOO_LARGE", `${path}text: expected ${expected}`, { expected });
  }
  checkNodeFilter({
    ...(kinds === undefined ? {} : { kinds }),
    ...(tags === undefined ? {} : { tags }),
  });
  if (freshOnly !== undefined && typeof freshOnly !== "boolean") {
    throw invalid(`${path}freshOnly`, "true or false", freshOnly);
  }
  return checkLimit(query.limit, `${path}limit`, fallback);
}

function checkLimit(limit: unknown, field: string, fallback: number): number {
  if (limit === undefined) return fallback;
  if (typeof limit !== "number" || !Number.isSafeInteger(limit)) {
    throw invalid(field, "an integer", limit);
  }
  return limit <= 0 ? fallback : Math.min(limit, LIMITS.listLimit);
}
