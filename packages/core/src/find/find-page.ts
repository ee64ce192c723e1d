/**
 * The page of a `find` along a chosen path: newest first, read no further than the page, or in another
 * order, for which every candidate is read; and the scores and values that orders go by.
 */

import type { Engine } from "../engine/engine.js";
import { salienceOf } from "../engine/salience-reader.js";
import type { Reader } from "../history/reader.js";
import { keyBytes, keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import { timeAt } from "../memory/read.js";
import type { CheckedFind } from "./find-input.js";
import type { Path, Paths } from "./find-plan.js";
import { textScores, textStream, type Words } from "./find-text.js";
import { comparePlaced, type FindCursor, type Placed, type SortValue } from "./order.js";
import { allMatches, type Match, type Matcher, newestPage } from "./scan.js";
import { openStream, type Stream, type StreamOptions } from "./sources.js";

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
