/**
 * The page of a `find` along a chosen path: newest first, read no further than the page, or in another
 * order, for which every candidate is read; and the scores and values that orders go by.
 *
 * A candidate is a hit when it is in a state that is asked for, the caller may see it, and every condition of the
 * query holds for the version looked at. The cheap tests come first: a memory's row rules out states and types
 * before its records are read.
 */

import type { Engine } from "../engine/engine.js";
import { salienceOf } from "../engine/salience-reader.js";
import type { MemoryRow } from "../history/pointers.js";
import type { FoundMemory, Read, Reader } from "../history/reader.js";
import { getU64, idKey, journalKey, keyBytes, keyString, WEIGHTS_KEY } from "../kv/keyspace.js";
import type { Bytes, KvSoon } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { SlotTurns } from "../memory/members.js";
import { shownMemories, standingVersions, timeAt, turnsAt, validBody } from "../memory/read.js";
import type { MemoryRecord } from "../records/memory-record.js";
import type { MemoryType } from "../records/types.js";
import { testOf } from "./evaluate.js";
import type { CheckedFind } from "./find-input.js";
import { holdsWords, textScores, textStream, type Words } from "./find-lanes.js";
import { conjunctsOf, type Path, type Paths } from "./find-plan.js";
import { comparePlaced, type FindCursor, type Placed, type SortValue } from "./order.js";
import type { Checked } from "./predicate.js";
import { allMatches, type Match, type Matcher, newestPage } from "./scan.js";
import {
  arrivalOf,
  type Candidate,
  openStream,
  type Stream,
  type StreamOptions,
} from "./sources.js";

/** What one run of a query works with. */
export interface Run {
  readonly engine: Engine;
  readonly reader: Reader;
  readonly query: CheckedFind;
  readonly cursor: FindCursor | undefined;
}

/** How the hits of a query are come by. */
export interface Way {
  readonly path: Path;
  readonly bounds: Paths["bounds"];
  readonly match: Matcher;
  readonly words: Words | undefined;
}

/** A page of matches, before it is shown. */
export interface Page {
  readonly matches: readonly Match[];
  readonly total?: number;
  readonly next?: FindCursor;
  readonly candidates: number;
  /** What was done, in order. */
  readonly steps: readonly string[];
}

/** What values and scores are drawn from beside the memories. */
export interface Scoring {
  readonly nowMs: number;
  readonly hops: ReadonlyMap<string, number> | undefined;
  readonly distances: ReadonlyMap<string, number> | undefined;
}

/** The candidates of a path. */
export async function streamOf(
  { engine, reader }: Pick<Run, "engine" | "reader">,
  path: Path,
  words: Words | undefined,
  how: StreamOptions,
): Promise<Stream> {
  if (path.kind !== "text") return openStream(reader, path, how);
  if (words === undefined) throw new Error("the path of words without words");
  return textStream(engine, reader, words, how.before);
}

/** When hits are scored: as the first page was, or at the reader's own time. */
export async function scoringTime({ engine, reader, cursor }: Run): Promise<number> {
  return cursor?.kind === "sorted" ? cursor.nowMs : timeAt(engine, reader);
}

/** A page in the order of arrival. */
export async function inIndexOrder(run: Run, way: Way): Promise<Page> {
  const { query, cursor } = run;
  const { path, bounds, match, words } = way;
  const resumed = cursor?.kind === "arrival" ? cursor : undefined;
  const { limit, offset, countTotal } = query;
  const before = countTotal ? undefined : (resumed?.before ?? resumed?.emitted);
  const stream = await streamOf(run, path, words, {
    bounds,
    pageItems: 2 * (limit + offset),
    ...(before === undefined ? {} : { before }),
  });
  const { next, ...page } = await newestPage(stream, match, {
    offset,
    limit,
    countTotal,
    resumed: before !== undefined,
    ...(resumed?.emitted === undefined ? {} : { emitted: resumed.emitted }),
  });
  const end = countTotal ? "go on to the end" : "stop at the limit";
  return {
    ...page,
    ...(next === undefined ? {} : { next: { kind: "arrival", path: path.name, ...next } }),
    steps: [`read ${path.name}, newest first`, "test every condition", end],
  };
}

/** A hit and what orders it, without its records: a page is read again, the rest never is. */
interface Sorted extends Placed {
  values: readonly SortValue[];
}

/** A page in an order that needs every candidate. */
export async function inSortedOrder(run: Run, way: Way, scoring: Scoring): Promise<Page> {
  const { reader, query, cursor } = run;
  const { path, bounds, match, words } = way;
  const { orders, offset, limit } = query;
  const placed: Sorted[] = [];
  const how = { bounds, pageItems: LIMITS.findCandidates };
  const stream = await streamOf(run, path, words, how);
  const candidates = await allMatches(stream, match, async (matches) => {
    const values = await valuesOf(run, matches, scoring);
    for (const [at, one] of matches.entries()) {
      placed.push({ id: keyString(one.found.id), values: values[at] ?? [] });
    }
  });
  await addTextScores(run, placed, words);
  placed.sort((a, b) => comparePlaced(orders, a, b));
  const resumed = cursor?.kind === "sorted" ? cursor : undefined;
  const rest =
    resumed === undefined
      ? placed.slice(offset)
      : placed.filter((one) => comparePlaced(orders, one, resumed.last) > 0);
  const page = rest.slice(0, limit);
  const matches = await match(page.map(({ id }) => ({ id: keyBytes(id), mark: "" })));
  const end = page.at(-1);
  const next: FindCursor | undefined =
    end === undefined || rest.length <= page.length
      ? undefined
      : {
          kind: "sorted",
          // What is near is known of the present only, so later pages are of the present as well.
          ...(query.near === undefined ? { seq: reader.position } : {}),
          nowMs: scoring.nowMs,
          last: end,
        };
  return {
    matches: matches.flatMap((one) => one ?? []),
    total: placed.length,
    candidates,
    ...(next === undefined ? {} : { next }),
    steps: [
      `read all of ${path.name}`,
      "test every condition",
      `sort by ${orders.map(({ name }) => name).join(", ")}`,
    ],
  };
}

/** The values of matches under the clauses of the query's order. */
async function valuesOf(
  { engine, reader, query }: Run,
  matches: readonly Match[],
  scoring: Scoring,
): Promise<readonly (readonly SortValue[])[]> {
  const wantsSalience = query.orders.some(({ by }) => by === "salience");
  const scores = wantsSalience ? await scoresOf(reader, matches, scoring) : [];
  return matches.map((one, at) =>
    query.orders.map(({ by }): SortValue => {
      const name = keyString(one.found.id);
      switch (by) {
        case "arrival":
          return one.arrival;
        case "salience":
          // Below every living memory, those included that nothing speaks for.
          return one.found.row.lifecycle === "tombstoned" ? -1 : scores[at];
        case "hop":
          return scoring.hops?.get(name);
        case "near.distance":
          return scoring.distances?.get(name);
        case "text.score":
          // Known when all matches are: the index scores many at once.
          return undefined;
        default: {
          const { id, head } = one.found;
          const value = by.read({ actor: engine.actor, id, head, body: one.body });
          return typeof value === "number" ? value : undefined;
        }
      }
    }),
  );
}

async function addTextScores(
  { engine, reader, query }: Run,
  placed: readonly Sorted[],
  words: Words | undefined,
): Promise<void> {
  if (words === undefined || !query.orders.some(({ by }) => by === "text.score")) return;
  const ids = new Set(placed.map(({ id }) => id));
  const scores = await textScores(engine, reader, words, ids);
  for (const one of placed) {
    one.values = one.values.map((value, at) =>
      query.orders[at]?.by === "text.score" ? scores.get(one.id) : value,
    );
  }
}

/** The salience of matches; how near they are counts as well where it is known. */
export async function scoresOf(
  reader: Reader,
  matches: readonly Match[],
  { nowMs, distances }: Scoring,
): Promise<readonly number[]> {
  const similarity = new Map([...(distances ?? [])].map(([id, distance]) => [id, 1 - distance]));
  const found = matches.map((one) => ({ ...one.found, body: one.body }));
  const salience = await salienceOf(reader, found, { nowMs, similarity });
  return salience.map(({ score }) => score);
}

/** What a hit must satisfy beside the conditions. */
interface MatchMore {
  /** The memories that a walk reached, by key string. */
  readonly reached: Pick<ReadonlySet<string>, "has"> | undefined;
  /** Words to look for, unless the path read holds them anyway. */
  readonly words: Words | undefined;
}

/** The matcher of a query at a reader's position. */
export function matcherOf(
  engine: Engine,
  reader: Reader,
  query: CheckedFind,
  { reached, words }: MatchMore,
): Matcher {
  const { actor } = engine;
  const test = testOf(query.where);
  const types = typesOf(query.where);
  const isWanted = (id: Bytes, row: MemoryRow): boolean =>
    query.lifecycles.has(row.lifecycle) &&
    (types === undefined || types.has(row.type)) &&
    (reached === undefined || reached.has(keyString(id)));
  let turns: SlotTurns | undefined;
  return async (candidates) => {
    reader.soon(() => soonOf(candidates));
    const found = await memoriesOf(reader, candidates, isWanted);
    const shown = await shownMemories(reader, query.access, found);
    const bodies = await bodiesOf(reader, shown, query.validAt);
    turns ??= await turnsOf(engine, reader, query);
    const isTurn = turns;
    const matches = shown.map((memory, at): Match | undefined => {
      const body = bodies[at];
      if (memory === undefined || body === undefined || !isTurn(memory, body)) return undefined;
      if (!test({ actor, id: memory.id, head: memory.head, body })) return undefined;
      return { found: memory, body, arrival: arrivalOf(memory.id, memory.row) };
    });
    if (words === undefined) return matches;
    return Promise.all(
      matches.map(async (one) =>
        one !== undefined && (await holdsWords(reader, words, one.found)) ? one : undefined,
      ),
    );
  };
}

/** The memories of candidates whose rows are wanted. Where they are at hand, what is read for one is garbage before the next. */
async function memoriesOf(
  reader: Reader,
  candidates: readonly Candidate[],
  isWanted: (id: Bytes, row: MemoryRow) => boolean,
): Promise<readonly (FoundMemory | undefined)[]> {
  if (reader.isAtHand) {
    return candidates.map(({ id, row: known }) => {
      const row = known ?? reader.rowNow(id);
      return row !== undefined && isWanted(id, row) ? reader.memoryNow(id, row) : undefined;
    });
  }
  const ids = candidates.map(({ id }) => id);
  const rows = await rowsOf(reader, candidates);
  const wanted = rows.map((row, at) =>
    row !== undefined && isWanted(ids[at] as Bytes, row) ? row : undefined,
  );
  return reader.memories(ids, wanted);
}

/** What a page of hits reads: mostly the entries that brought them to the index, and their use. */
function soonOf(candidates: readonly Candidate[]): KvSoon {
  const entries = candidates.flatMap(({ mark }) =>
    mark === "" ? [] : [journalKey(getU64(keyBytes(mark), 0))],
  );
  const uses = candidates.map(({ id }) => idKey("counter", id));
  return { keys: [WEIGHTS_KEY, ...entries, ...uses] };
}

/** Whose turn it is in slots; states that are asked for by name are taken as they are stored. */
async function turnsOf(engine: Engine, reader: Reader, query: CheckedFind): Promise<SlotTurns> {
  const { validAt, access, isStored } = query;
  if (isStored) return () => true;
  return turnsAt(reader, access, validAt ?? (await timeAt(engine, reader)));
}

/** The rows of candidates; those that came with one are not read again. */
async function rowsOf(
  reader: Reader,
  candidates: readonly Candidate[],
): Promise<readonly (MemoryRow | undefined)[]> {
  const missing = candidates.filter(({ row }) => row === undefined).map(({ id }) => id);
  const read = await reader.memoryRows(missing);
  let at = 0;
  return candidates.map(({ row }) => {
    if (row !== undefined) return row;
    at += 1;
    return read[at - 1];
  });
}

async function bodiesOf(
  reader: Reader,
  shown: readonly (FoundMemory | undefined)[],
  validAt: number | undefined,
): Promise<readonly (Read<MemoryRecord> | undefined)[]> {
  if (validAt === undefined) return shown.map((memory) => memory?.body);
  return Promise.all(
    shown.map(async (memory) =>
      memory === undefined ? undefined : validBody(await standingVersions(reader, memory), validAt),
    ),
  );
}

/** The types that the conditions leave, if they say anything about types. */
function typesOf(where: Checked): ReadonlySet<MemoryType> | undefined {
  let types: Set<string> | undefined;
  for (const node of conjunctsOf(where)) {
    if (node.op !== "in" && node.op !== "eq") continue;
    if (node.field.name !== "head.type") continue;
    const literals = "literals" in node ? node.literals : [node.literal];
    const named = literals.flatMap(({ text }) => text ?? []);
    const before: ReadonlySet<string> | undefined = types;
    types = new Set(before === undefined ? named : named.filter((name) => before.has(name)));
  }
  return types as ReadonlySet<MemoryType> | undefined;
}
