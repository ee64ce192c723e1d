/**
 * `search`: memories by words, the best first. `searchBatch`: several searches at once, their hits
 * fused by rank.
 *
 * Any text is legal, and a text without words finds nothing. Filters narrow what is shown, never how
 * it is scored: weights of words are those of the whole graph, so a hit has the same score whoever
 * asks and however much they filter. One rule goes further: a rival that is found together with what it
 * disputes stands below it, and has no higher a score (`links/rivals.ts`). A value of a slot that waits
 * for its time is not found before it.
 *
 * While a conflict is open, each of its versions is judged by its own words, kind and tags, and is found by
 * itself. The index knows a memory with all its open versions as one document, and ranks it so; which of
 * them answer is decided here.
 */

import type { OnPlan } from "../contract/hits.js";
import type { Asked } from "../contract/index.js";
import type {
  SearchBatchResult,
  SearchFilter,
  SearchHit,
  SearchResult,
} from "../contract/recall.js";
import type { Memory } from "../contract/shapes.js";
import type { Engine } from "../engine/engine.js";
import { type Meter, meterOf } from "../engine/read-plan.js";
import { shapeMemory, shapeOpen } from "../engine/shapes.js";
import type { FoundMemory, Read, Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import { rivalsBelow } from "../links/rivals.js";
import { ALL_TURNS, type SlotTurns, waitingRanges } from "../memory/members.js";
import {
  documentOf,
  headOfVersion,
  openBodies,
  shownMemories,
  timeAt,
  turnsAt,
} from "../memory/read.js";
import { countTokens } from "../records/forms.js";
import type { Head, MemoryRecord } from "../records/memory-record.js";
import { type Access, budgetOf } from "../scope/access.js";
import type { Analyser } from "../text/analyse.js";
import {
  type DocumentSource,
  documentTexts,
  eachDocumentWord,
  sourcesOf,
} from "../text/document.js";
import { snippetOf } from "../text/query.js";
import type { RankQuery, TextLook } from "../text/text-index.js";
import type { Accept, RankedMemory } from "../text/text-rank.js";

/** How far a rank counts in the fusion of lists: the usual constant. */
const RANK_OFFSET = 60;

/** What a place in one list, from 0, adds to the score of a hit when lists are joined. */
export function rankShare(place: number): number {
  return 1 / (RANK_OFFSET + place + 1);
}

/** Finds memories by words. */
export async function search(engine: Engine, asked: Asked<"search">): Promise<SearchResult> {
  const { text, limit = LIMITS.searchLimitDefault, snippets = true, access, siblings } = asked;
  const lifecycles = asked.lifecycles ?? ["active"];
  const watch = watchOf(engine, asked.onPlan);
  const look = async (reader: Reader): Promise<SearchResult> => {
    const query = { text, limit, lifecycles, ...watch.looking };
    const rank = siblings === true ? rankOpen : rankMemories;
    // States that are asked for by name are shown as they are stored, whatever their time.
    const isStored = asked.lifecycles !== undefined;
    const turns = isStored ? ALL_TURNS : await turnsNow(engine, reader, access);
    const ranked = await rank(engine, reader, { query, filter: asked, access, turns });
    const found = await rivalsBelow(reader, await wholeMemories(reader, ranked), access);
    const cut = snippets ? await snippetsOf(engine, reader, text, found) : [];
    const hits = found.map(({ memory, body, score }, at): SearchHit => {
      const snippet = cut[at];
      const whole = shapeFound(engine, memory, body);
      const { kind, tags, lifecycle } = whole.head;
      return {
        id: whole.id,
        uri: whole.uri,
        type: whole.type,
        text: whole.text,
        score,
        ...(snippet === undefined ? {} : { snippet }),
        ...(kind === undefined ? {} : { kind }),
        tags,
        lifecycle,
        ...(siblings === true ? { memory: whole } : {}),
      };
    });
    return { hits: withinBudget(access, hits), seq: reader.position };
  };
  const soon = () => ({ texts: [text], ranges: waitingRanges() });
  const answer = await engine.text.searching(watch.kv, asked.asOf, look, soon);
  watch.report("search", 1, answer.hits.length);
  return answer;
}

/** What a search reads, for whoever wants to be told. */
interface Watch extends Pick<Meter, "kv"> {
  readonly looking: Pick<RankQuery, "onLook">;
  report(verb: "search" | "searchBatch", queries: number, hits: number): void;
}

function watchOf({ kv }: Engine, onPlan: OnPlan | undefined): Watch {
  if (onPlan === undefined) return { kv, looking: {}, report: () => {} };
  const meter = meterOf(kv, true);
  const looks: TextLook[] = [];
  return {
    kv: meter.kv,
    looking: { onLook: (look) => void looks.push(look) },
    report(verb, queries, hits) {
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
  { queries, limit: most, access, asOf, onPlan, siblings }: Asked<"searchBatch">,
): Promise<SearchBatchResult> {
  const limit = clamped(most, LIMITS.searchBatchTotalDefault, LIMITS.searchBatchTotal);
  const watch = watchOf(engine, onPlan);
  const rank = siblings === true ? rankOpen : rankMemories;
  const answer = await engine.text.searching(watch.kv, asOf, async (reader) => {
    const turns = await turnsNow(engine, reader, access);
    const lists = await Promise.all(
      queries.map((one) => {
        const { text, limit: each, ...filter } = typeof one === "string" ? { text: one } : one;
        const limit = clamped(each, LIMITS.searchBatchEachDefault, LIMITS.searchBatchEach);
        const query = { text, limit, ...watch.looking };
        return rank(engine, reader, { query, filter, access, turns });
      }),
    );
    const fused = fuse(lists);
    const best = fused.slice(0, limit);
    const found = await rivalsBelow(reader, await wholeMemories(reader, best), access);
    const hits = found.map(({ memory, body, score, queries: queriesMatched }) => {
      const whole = shapeFound(engine, memory, body);
      const { id, uri, type, text } = whole;
      const more = siblings === true ? { memory: whole } : {};
      return { id, uri, type, text, score, queriesMatched, ...more };
    });
    return {
      hits: withinBudget(access, hits),
      queryCount: queries.length,
      uniqueHits: fused.length,
      perQueryHits: lists.map(({ length }) => length),
      seq: reader.position,
    };
  });
  watch.report("searchBatch", queries.length, answer.hits.length);
  return answer;
}

/** Whose turn it is in slots at the time of the position. */
async function turnsNow(engine: Engine, reader: Reader, access: Access): Promise<SlotTurns> {
  return turnsAt(reader, access, await timeAt(engine, reader));
}

/** The memories that a search finds, the best first. */
async function rankMemories(
  engine: Engine,
  reader: Reader,
  { query, ...how }: RankHow,
): Promise<readonly Ranked[]> {
  const accept = acceptShown(engine, reader, how);
  return engine.text.rank(reader, { ...query, ...(accept === undefined ? {} : { accept }) });
}

function shapeFound(engine: Engine, memory: FoundMemory, body: Ranked["body"]): Memory {
  return body === undefined
    ? shapeMemory(engine.actor, memory)
    : shapeOpen(engine.actor, memory, body);
}

interface Fused extends Ranked {
  readonly queries: readonly number[];
}

/** One list of all, best first; of equal ones the first that was met. */
function fuse(lists: readonly (readonly Ranked[])[]): readonly Fused[] {
  const met = new Map<string, Fused>();
  for (const [query, list] of lists.entries()) {
    for (const [rank, hit] of list.entries()) {
      const name = keyString(hit.id);
      const before = met.get(name);
      met.set(name, {
        ...(before ?? hit),
        score: (before?.score ?? 0) + rankShare(rank),
        queries: [...(before?.queries ?? []), query],
      });
    }
  }
  return [...met.values()].sort((a, b) => b.score - a.score);
}

/** The memories behind hits. They were there a moment ago, at the same position. */
async function wholeMemories<Hit extends Ranked>(
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
  found: readonly (Ranked & { readonly memory: FoundMemory })[],
): Promise<readonly string[]> {
  const { words, analyser } = await engine.text.parse(reader, text);
  const wanted = new Set(words);
  const whole = await sourcesOf(
    reader,
    found.flatMap(({ memory, body }) => (body === undefined ? [memory] : [])),
  );
  let next = 0;
  return found.map(({ memory, body }) => {
    const source = body === undefined ? whole[next++] : documentOf(memory, body);
    return source === undefined ? "" : snippetOf(analyser, documentTexts(source), wanted);
  });
}

/** What a hit must be; `undefined` when every hit will do. */
function acceptShown(
  engine: Engine,
  reader: Reader,
  { access, filter, turns }: Omit<RankHow, "query">,
): Accept | undefined {
  const { types, kinds, tags = [], freshOnly = false } = filter;
  const isNarrow = types !== undefined || kinds !== undefined || tags.length > 0 || freshOnly;
  if (access.kind === "owner" && !isNarrow && turns === ALL_TURNS) return undefined;
  const judge = judgeOf(engine, filter);
  return async (found) => {
    const shown = await shownMemories(reader, access, found);
    return shown.map(
      (memory) => memory !== undefined && judge(memory.head.record.head) && turns(memory),
    );
  };
}

/** A number of hits as memgraph's callers give it: none is the default, too many is the most. */
function clamped(limit = 0, usual: number, most: number): number {
  return limit <= 0 ? usual : Math.min(limit, most);
}

/** A memory that was found; with the version that was, where versions are judged one by one. */
interface Ranked extends Pick<RankedMemory, "id" | "score"> {
  readonly body?: Read<MemoryRecord>;
}

/** What is searched for, and for whom. */
interface RankHow {
  readonly query: Omit<RankQuery, "accept">;
  readonly filter: SearchFilter;
  readonly access: Access;
  /** Whose turn it is in slots. */
  readonly turns: SlotTurns;
}

/** The open versions that a search finds, the best first. */
async function rankOpen(
  engine: Engine,
  reader: Reader,
  { query, filter, access, turns }: RankHow,
): Promise<readonly Ranked[]> {
  const { words, analyser } = await engine.text.parse(reader, query.text);
  const wanted = new Set(words);
  const judge = judgeOf(engine, filter);
  const passed = new Map<string, readonly Read<MemoryRecord>[]>();
  const accept: Accept = async (found) => {
    const shown = await shownMemories(reader, access, found);
    return Promise.all(
      shown.map(async (memory) => {
        if (memory === undefined || !turns(memory)) return false;
        const open = await openBodies(reader, memory);
        const fit = open.filter((body) => {
          const head = headOfVersion(memory, body);
          const isWanted = judge({ ...head, kind: head.kind ?? head.type });
          // A memory with one version was found by its words.
          if (!isWanted || open.length === 1) return isWanted;
          return hasWord(analyser, documentOf(memory, body), wanted);
        });
        passed.set(keyString(memory.id), fit);
        return fit.length > 0;
      }),
    );
  };
  const ranked = await engine.text.rank(reader, { ...query, accept });
  const each = ranked.flatMap(({ id, score }) =>
    (passed.get(keyString(id)) ?? []).map((body) => ({ id, score, body })),
  );
  return each.slice(0, query.limit);
}

function hasWord(analyser: Analyser, source: DocumentSource, wanted: ReadonlySet<string>): boolean {
  let found = false;
  eachDocumentWord(analyser, source, (word) => {
    found ||= wanted.has(word);
  });
  return found;
}

/** Whether a head passes a filter. */
function judgeOf(
  engine: Engine,
  { types, kinds, tags = [], freshOnly = false }: SearchFilter,
): (head: Pick<Head, "type" | "kind" | "tags" | "freshnessAt">) => boolean {
  const [ofType, ofKind] = [types && new Set(types), kinds && new Set(kinds)];
  const now = freshOnly ? engine.clock() : 0;
  return ({ type, kind, tags: own, freshnessAt }) => {
    if (ofType?.has(type) === false) return false;
    if (ofKind !== undefined && (kind === undefined || !ofKind.has(kind))) return false;
    if (freshOnly && freshnessAt !== undefined && freshnessAt < now) return false;
    return tags.every((tag) => own.includes(tag));
  };
}
