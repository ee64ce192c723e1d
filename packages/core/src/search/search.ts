/**
 * `search`: memories by words, the best first. `searchBatch`: several searches at once, their hits
 * fused by rank.
 *
 * Any text is legal, and a text without words finds nothing. Filters narrow what is shown, never how
 * it is scored: weights of words are those of the whole graph, so a hit has the same score whoever
 * asks and however much they filter. But for one rule: a rival stands below what it disputes, if both
 * are hits, and has no higher a score (`rivals.ts`).
 */

import { utf8Length } from "../codec/text.js";
import type { OnPlan } from "../contract/read-plan.js";
import type { MemoryId } from "../contract/shapes.js";
import { checkObject, checkOptions, type Engine } from "../engine/engine.js";
import { checkOnPlan, type Meter, meterOf, type PlanOption } from "../engine/read-plan.js";
import { shapeMemory } from "../engine/shapes.js";
import { CortexError, invalid } from "../errors.js";
import { type AsOf, type FoundMemory, Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import { rivalsBelow } from "../links/rivals.js";
import { checkLimit } from "../memory/list.js";
import { shownMemories } from "../memory/read.js";
import { checkText } from "../records/fields.js";
import { countTokens } from "../records/forms.js";
import {
  checkMemoryType,
  checkNameOf,
  LIFECYCLES,
  type Lifecycle,
  type MemoryType,
} from "../records/types.js";
import { type Access, budgetOf, OWNER } from "../scope/access.js";
import { documentTexts } from "../text/document.js";
import { snippetOf } from "../text/snippet.js";
import type { RankQuery, TextLook } from "../text/text-index.js";
import type { Accept, RankedMemory } from "../text/text-rank.js";
import { sourcesOf } from "../text/text-sources.js";

/** Which memories a search shows. */
export interface SearchFilter {
  readonly types?: readonly MemoryType[];
  /** Any of these kinds. */
  readonly kinds?: readonly string[];
  /** All of these tags. */
  readonly tags?: readonly string[];
  /** Leaves out what should have been looked at again by now. */
  readonly freshOnly?: boolean;
}

/** How a search is done. */
export interface SearchOptions extends SearchFilter, PlanOption {
  readonly limit?: number;
  /** Which states to show; active alone when not given. */
  readonly lifecycles?: readonly Exclude<Lifecycle, "erased">[];
  /** Search the past: a seq, or a time. */
  readonly asOf?: AsOf;
  /** False leaves the snippets out. */
  readonly snippets?: boolean;
  readonly access?: Access;
}

/** A memory that a search found. */
export interface SearchHit {
  readonly id: MemoryId;
  readonly uri: string;
  readonly type: MemoryType;
  readonly text: string;
  /** BM25: comparable within one answer. */
  readonly score: number;
  /** The words that answer, found ones in square brackets. */
  readonly snippet?: string;
  readonly kind?: string;
  readonly tags: readonly string[];
  readonly lifecycle: Lifecycle;
}

/** What a search found. */
export interface SearchResult {
  readonly hits: readonly SearchHit[];
  readonly seq: number;
}

/** One search of a batch: a text, or a text with filters. */
export type BatchQuery =
  | string
  | (SearchFilter & { readonly text: string; readonly limit?: number });

/** How a batch of searches is done. */
export interface SearchBatchOptions extends PlanOption {
  /** Most hits over all searches. */
  readonly limit?: number;
  readonly asOf?: AsOf;
  readonly access?: Access;
}

/** A memory that one or more searches of a batch found. */
export interface SearchBatchHit {
  readonly id: MemoryId;
  readonly uri: string;
  readonly type: MemoryType;
  readonly text: string;
  /** Sum over the searches of 1 / (60 + rank). */
  readonly score: number;
  /** Numbers of the searches that found it, from 0. */
  readonly queriesMatched: readonly number[];
}

/** What a batch of searches found. */
export interface SearchBatchResult {
  readonly hits: readonly SearchBatchHit[];
  readonly queryCount: number;
  /** Different memories found, before the limit cut them. */
  readonly uniqueHits: number;
  /** Hits of each search. */
  readonly perQueryHits: readonly number[];
  readonly seq: number;
}

/** How far a rank counts in the fusion of lists: the usual constant. */
const RANK_OFFSET = 60;

/** What a place in one list, from 0, adds to the score of a hit when lists are joined. */
export function rankShare(place: number): number {
  return 1 / (RANK_OFFSET + place + 1);
}

const FILTERS = ["types", "kinds", "tags", "freshOnly"];
const OPTIONS = [...FILTERS, "limit", "lifecycles", "asOf", "snippets", "onPlan", "access"];

/** Finds memories by words. */
export async function search(
  engine: Engine,
  text: string,
  options: SearchOptions = {},
): Promise<SearchResult> {
  checkQuery(text, "text");
  checkOptions(options, OPTIONS);
  const filter = checkFilter(options, "");
  const limit = checkLimit(options.limit ?? LIMITS.searchLimitDefault);
  const lifecycles = checkLifecycles(options.lifecycles);
  const snippets = checkFlag(options.snippets, "snippets") ?? true;
  const access = options.access ?? OWNER;
  checkOnPlan(options.onPlan);
  const watch = watchOf(engine, options.onPlan);
  await engine.text.ready();
  const answer = await Reader.with(watch.kv, options.asOf, async (reader) => {
    const accept = acceptShown(engine, reader, access, filter);
    const ranked = await engine.text.rank(reader, {
      text,
      limit,
      lifecycles,
      ...watch.looking,
      ...(accept === undefined ? {} : { accept }),
    });
    const found = await rivalsBelow(reader, await wholeMemories(reader, ranked), access);
    const cut = snippets ? await snippetsOf(engine, reader, text, found) : [];
    const hits = found.map(({ memory, score }, at): SearchHit => {
      const snippet = cut[at];
      const { kind, tags, lifecycle } = memory.head.record.head;
      const { id, uri, type, text: said } = shapeMemory(engine.actor, memory);
      return {
        id,
        uri,
        type,
        text: said,
        score,
        ...(snippet === undefined ? {} : { snippet }),
        ...(kind === undefined ? {} : { kind }),
        tags,
        lifecycle,
      };
    });
    return { hits: withinBudget(access, hits), seq: reader.seq };
  });
  watch.tell("search", 1, answer.hits.length);
  return answer;
}

/** What a search reads, for whoever wants to be told. */
interface Watch extends Pick<Meter, "kv"> {
  readonly looking: Pick<RankQuery, "onLook">;
  tell(verb: "search" | "searchBatch", queries: number, hits: number): void;
}

function watchOf({ kv }: Engine, onPlan: OnPlan | undefined): Watch {
  if (onPlan === undefined) return { kv, looking: {}, tell: () => {} };
  const meter = meterOf(kv, true);
  const looks: TextLook[] = [];
  return {
    kv: meter.kv,
    looking: { onLook: (look) => void looks.push(look) },
    tell(verb, queries, hits) {
      const words = looks.reduce((sum, look) => sum + look.words, 0);
      // All searches of one call look through the same index.
      const { segments = 0, tail = 0 } = looks[0] ?? {};
      onPlan({
        verb,
        index: "text",
        queries,
        words,
        segments,
        tail,
        rowsRead: meter.rows(),
        hits,
      });
    },
  };
}

/** The best hits whose texts fit a scope's budget, one at the least. */
function withinBudget<Hit extends { readonly text: string; readonly snippet?: string }>(
  access: Access,
  hits: readonly Hit[],
): readonly Hit[] {
  const budget = budgetOf(access, undefined, undefined);
  if (budget === undefined) return hits;
  let tokens = 0;
  const end = hits.findIndex(({ text, snippet = "" }) => {
    tokens += countTokens(text) + countTokens(snippet);
    return tokens > budget;
  });
  return end < 0 ? hits : hits.slice(0, Math.max(1, end));
}

/** Finds memories by several texts at once; all are answered at one position. */
export async function searchBatch(
  engine: Engine,
  queries: readonly BatchQuery[],
  options: SearchBatchOptions = {},
): Promise<SearchBatchResult> {
  const asked = checkQueries(queries);
  checkOptions(options, ["limit", "asOf", "onPlan", "access"]);
  checkOnPlan(options.onPlan);
  const limit = clamped(options.limit, LIMITS.searchBatchTotalDefault, LIMITS.searchBatchTotal);
  const access = options.access ?? OWNER;
  const watch = watchOf(engine, options.onPlan);
  await engine.text.ready();
  const answer = await Reader.with(watch.kv, options.asOf, async (reader) => {
    const lists = await Promise.all(
      asked.map(({ text, filter, most }) => {
        const accept = acceptShown(engine, reader, access, filter);
        const narrowed = accept === undefined ? {} : { accept };
        return engine.text.rank(reader, { text, limit: most, ...narrowed, ...watch.looking });
      }),
    );
    const fused = fuse(lists);
    const best = fused.slice(0, limit);
    const found = await rivalsBelow(reader, await wholeMemories(reader, best), access);
    const hits = found.map(({ memory, score, queries: queriesMatched }) => {
      const { id, uri, type, text } = shapeMemory(engine.actor, memory);
      return { id, uri, type, text, score, queriesMatched };
    });
    return {
      hits: withinBudget(access, hits),
      queryCount: asked.length,
      uniqueHits: fused.length,
      perQueryHits: lists.map(({ length }) => length),
      seq: reader.seq,
    };
  });
  watch.tell("searchBatch", asked.length, answer.hits.length);
  return answer;
}

interface Fused extends Omit<RankedMemory, "place"> {
  readonly queries: readonly number[];
}

/** One list of all, best first; of equal ones the first that was met. */
function fuse(lists: readonly (readonly RankedMemory[])[]): readonly Fused[] {
  const met = new Map<string, Fused>();
  for (const [query, list] of lists.entries()) {
    for (const [rank, hit] of list.entries()) {
      const name = keyString(hit.id);
      const before = met.get(name);
      met.set(name, {
        id: hit.id,
        seq: hit.seq,
        score: (before?.score ?? 0) + rankShare(rank),
        queries: [...(before?.queries ?? []), query],
      });
    }
  }
  return [...met.values()].sort((a, b) => b.score - a.score);
}

/** The memories behind hits. They were there a moment ago, at the same position. */
async function wholeMemories<Hit extends Omit<RankedMemory, "place">>(
  reader: Reader,
  hits: readonly Hit[],
): Promise<readonly (Hit & { readonly memory: FoundMemory })[]> {
  const ids = hits.map(({ id }) => id);
  const found = await reader.memories(ids, await reader.memoryRows(ids));
  return hits.map((hit, at) => {
    const memory = found[at];
    if (memory === undefined) throw new Error("a hit is gone within one snapshot");
    return { ...hit, memory };
  });
}

async function snippetsOf(
  engine: Engine,
  reader: Reader,
  text: string,
  found: readonly { readonly memory: FoundMemory }[],
): Promise<readonly string[]> {
  const { words, analyser } = await engine.text.parse(reader, text);
  const wanted = new Set(words);
  const sources = await sourcesOf(
    reader,
    found.map(({ memory }) => memory),
  );
  return sources.map((source) => snippetOf(analyser, documentTexts(source), wanted));
}

/** What a hit must be; `undefined` when every hit will do. */
function acceptShown(
  engine: Engine,
  reader: Reader,
  access: Access,
  filter: CheckedFilter,
): Accept | undefined {
  const { types, kinds, tags, freshOnly } = filter;
  const isNarrow = types !== undefined || kinds !== undefined || tags.length > 0 || freshOnly;
  if (access.kind === "owner" && !isNarrow) return undefined;
  const now = freshOnly ? engine.clock() : 0;
  return async (found) => {
    const shown = await shownMemories(reader, access, found);
    return shown.map((memory) => {
      if (memory === undefined) return false;
      const { head } = memory.head.record;
      if (types?.has(head.type) === false) return false;
      if (kinds !== undefined && (head.kind === undefined || !kinds.has(head.kind))) return false;
      if (freshOnly && head.freshnessAt !== undefined && head.freshnessAt < now) return false;
      return tags.every((tag) => head.tags.includes(tag));
    });
  };
}

interface CheckedFilter {
  readonly types: ReadonlySet<MemoryType> | undefined;
  readonly kinds: ReadonlySet<string> | undefined;
  readonly tags: readonly string[];
  readonly freshOnly: boolean;
}

function checkFilter(filter: SearchFilter, path: string): CheckedFilter {
  const { types, kinds, tags, freshOnly } = filter;
  const label = { maxBytes: LIMITS.kindBytes, control: true };
  return {
    types:
      types === undefined
        ? undefined
        : new Set(checkList(types, `${path}types`).map((type) => checkMemoryType(type))),
    kinds:
      kinds === undefined
        ? undefined
        : new Set(
            checkList(kinds, `${path}kinds`).map((kind, at) =>
              checkText(kind, `${path}kinds[${at}]`, label),
            ),
          ),
    tags: (tags === undefined ? [] : checkList(tags, `${path}tags`)).map((tag, at) =>
      checkText(tag, `${path}tags[${at}]`, { maxBytes: LIMITS.tagBytes, control: true }),
    ),
    freshOnly: checkFlag(freshOnly, `${path}freshOnly`) ?? false,
  };
}

function checkList<T>(list: readonly T[], field: string): readonly T[] {
  if (Array.isArray(list)) return list;
  throw invalid(field, "a list", list);
}

function checkFlag(flag: unknown, field: string): boolean | undefined {
  if (flag === undefined || typeof flag === "boolean") return flag;
  throw invalid(field, "true or false", flag);
}

function checkLifecycles(given: SearchOptions["lifecycles"]): readonly Lifecycle[] {
  if (given === undefined) return ["active"];
  const list = checkList(given, "lifecycles");
  if (list.length === 0) throw invalid("lifecycles", "a list of at least one", list);
  const { erased: _, ...shown } = LIFECYCLES;
  return list.map((name, at) => checkNameOf(shown, name, { field: `lifecycles[${at}]` }));
}

function checkQuery(text: unknown, field: string): string {
  if (typeof text !== "string") throw invalid(field, "text", text);
  const bytes = utf8Length(text);
  if (bytes <= LIMITS.queryBytes) return text;
  throw new CortexError(
    "ERR_TOO_LARGE",
    `${field}: expected at most ${LIMITS.queryBytes} bytes, got ${bytes}`,
    { field, expected: `at most ${LIMITS.queryBytes} bytes`, got: `${bytes} bytes` },
  );
}

interface CheckedQuery {
  readonly text: string;
  readonly filter: CheckedFilter;
  readonly most: number;
}

function checkQueries(queries: readonly BatchQuery[]): readonly CheckedQuery[] {
  const list = checkList(queries, "queries");
  if (list.length < 1 || list.length > LIMITS.searchBatchQueries) {
    throw invalid("queries", `1 to ${LIMITS.searchBatchQueries} searches`, list);
  }
  return list.map((query, at) => {
    const field = `queries[${at}]`;
    const given = typeof query === "string" ? { text: query } : checkObject(query, field);
    checkOptions(given, ["text", "limit", ...FILTERS], field);
    return {
      text: checkQuery(given.text, `${field}.text`),
      filter: checkFilter(given, `${field}.`),
      most: clamped(given.limit, LIMITS.searchBatchEachDefault, LIMITS.searchBatchEach),
    };
  });
}

/** A number of hits as memgraph's callers give it: none is the default, too many is the most. */
function clamped(limit: unknown, usual: number, most: number): number {
  if (limit === undefined) return usual;
  if (typeof limit !== "number" || !Number.isSafeInteger(limit)) {
    throw invalid("limit", "an integer", limit);
  }
  return limit <= 0 ? usual : Math.min(limit, most);
}
