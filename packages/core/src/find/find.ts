/**
 * `find`: memories by exact conditions, in an order, page by page, from whichever index is the
 * narrowest; and, on request, how the answer was found.
 *
 * Every hit satisfies every condition at the reader's position, and every memory that does is a hit of
 * some page, whatever path the planner took. What the caller may not see is in no hit and no total.
 */
import { FIND_BY, type FindExplanation, type FindHit, type FindResult } from "../contract/find.js";
import type { ReadPlan } from "../contract/hits.js";
import type { Asked } from "../contract/index.js";
import { journalUse } from "../engine/drafts.js";
import type { Engine } from "../engine/engine.js";
import { indexName, meterOf } from "../engine/read-plan.js";
import { formText, shapeMemory } from "../engine/shapes.js";
import { CortexError } from "../errors.js";
import { type AsOf, Reader } from "../history/reader.js";
import { keyBytes, keyString } from "../kv/keyspace.js";
import type { Bytes, KvSoon } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { reach } from "../links/walk.js";
import { realPlace, shownPlace, waitingRanges } from "../memory/members.js";
import { timeAt } from "../memory/read.js";
import { countTokens } from "../records/forms.js";
import { LIFECYCLES } from "../records/types.js";
import { readyPatterns } from "./evaluate.js";
import { type CheckedFind, checkFind, hashOf } from "./find-input.js";
import {
  type CheckedNear,
  embedded,
  isFew,
  nearest,
  TEXT_PATH,
  type Words,
  wordsOf,
} from "./find-lanes.js";
import {
  inIndexOrder,
  inSortedOrder,
  matcherOf,
  type Page,
  type Run,
  type Scoring,
  scoresOf,
  scoringTime,
  streamOf,
  type Way,
} from "./find-page.js";
import {
  cheapest,
  firstRanges,
  type Path,
  type Paths,
  type Probed,
  pathsOf,
  probe,
} from "./find-plan.js";
import { type FindCursor, isNewest, mapPlaces, readCursor, showCursor } from "./order.js";
import { predicateText } from "./predicate.js";
import { firstSize, type Match } from "./scan.js";

/** Finds memories; see the file header. */
export async function find(engine: Engine, asked: Asked<"find">): Promise<FindResult> {
  const { onPlan, by = engine.principal } = asked;
  if (asked.where !== undefined) await readyPatterns();
  const checked = checkFind(engine, asked);
  const { cursor: text } = checked;
  const cursor = text === undefined ? undefined : readCursor(text, hashOf(engine, checked));
  const near = checked.near === undefined ? undefined : await embedded(engine, checked.near);
  const meter = meterOf(engine.kv, checked.explain || onPlan !== undefined);
  const position = positionFor(checked, cursor);
  const use = (reader: Reader): Promise<Answer> =>
    answer({ engine, reader, query: { ...checked, near }, cursor }, meter.rows);
  const texts = checked.text === undefined ? [] : [checked.text];
  const soon = () => ({ ...(position === undefined ? soonOf(checked, cursor) : {}), texts });
  const { ids, plan, ...result } = await (checked.text === undefined
    ? Reader.with(meter.kv, position, use, [], soon)
    : engine.text.searching(meter.kv, position, use, soon));
  onPlan?.({ ...plan, rowsRead: meter.rows() });
  if (!checked.lateBinding) return result;
  const lateSeq = await journalUse(engine, "find_late", ids, checked.canonical(), by);
  return lateSeq === undefined ? result : { ...result, lateSeq };
}

/** What the first page of the present reads before it knows anything. */
function soonOf(query: CheckedFind, cursor: FindCursor | undefined): KvSoon {
  const { where, lifecycles, orders, limit, offset, text, near, isStored } = query;
  const turns = isStored ? [] : waitingRanges();
  if (cursor !== undefined) return { ranges: turns };
  const size = firstSize(isNewest(orders) ? limit + offset : undefined);
  const isSought = text !== undefined || near !== undefined;
  return { ranges: [...turns, ...firstRanges(where, codesOf(lifecycles), size, isSought)] };
}

function codesOf(lifecycles: CheckedFind["lifecycles"]): readonly number[] {
  return [...lifecycles].map((name) => LIFECYCLES[name].code);
}

/** Later pages of an order that needs every candidate are of the position of the first. */
function positionFor(query: CheckedFind, cursor: FindCursor | undefined): AsOf | undefined {
  return cursor?.kind === "sorted" ? (cursor.seq ?? query.asOf) : query.asOf;
}

type Answer = FindResult & {
  readonly ids: readonly Bytes[];
  readonly plan: Omit<Extract<ReadPlan, { readonly verb: "find" }>, "rowsRead">;
};

async function answer(asked: Run, rowsRead: () => number): Promise<Answer> {
  const { engine, reader, query, cursor } = asked;
  const isAt = (place: Bytes): Promise<Bytes> => realPlace(reader, place);
  const run = cursor === undefined ? asked : { ...asked, cursor: await mapPlaces(cursor, isAt) };
  const isIndexOrder = isNewest(query.orders);
  const way = await chooseWay(run, isIndexOrder);
  const { hops, distances } = way;
  const scoring = { nowMs: await scoringTime(run), hops, distances };
  const page = isIndexOrder ? await inIndexOrder(run, way) : await inSortedOrder(run, way, scoring);
  const shown = await show(run, page.matches, scoring);
  const { total } = page;
  const next = page.next && (await mapPlaces(page.next, (place) => shownPlace(reader, place)));
  return {
    ...shown,
    plan: readPlanOf(run, page, way, shown.hits.length),
    seq: reader.position,
    ...(total === undefined ? {} : { total }),
    ...(next === undefined ? {} : { cursor: showCursor(next, hashOf(engine, query)) }),
    ...(way.clamped === undefined ? {} : { clamped: way.clamped }),
    ...(query.explain ? { explain: explanation(run, page, way, rowsRead()) } : {}),
  };
}

/** How a query is carried out. */
interface ChosenWay extends Way, Omit<Scoring, "nowMs"> {
  readonly clamped: FindResult["clamped"];
  /** Every path there was, the one that is read first. */
  readonly considered: readonly Considered[];
}

/** A path, with what is known of it; no estimate where there was no choice. */
type Considered = Omit<Probed, "estimate"> & { readonly estimate?: number };

async function chooseWay(run: Run, isIndexOrder: boolean): Promise<ChosenWay> {
  const { engine, reader, query } = run;
  const walk = query.walk === undefined ? undefined : await reachOf(run, query.walk);
  const hops = walk?.hops;
  const words =
    query.text === undefined
      ? undefined
      : await wordsOf(engine, reader, query.text, query.lifecycles);
  const { paths, bounds } = await pathsOf(reader, query.where, codesOf(query.lifecycles));
  const open = { paths: walk === undefined ? paths : [walk.path, ...paths], bounds };
  const considered = await consider(run, open, words, isIndexOrder);
  const [best] = considered;
  // What the text index gave holds the words already; what something else gives is looked through.
  const viaText = best?.path === TEXT_PATH && isRead(query, best);
  const match = matcherOf(engine, reader, query, {
    reached: hops,
    words: viaText ? undefined : words,
  });
  const rest = { bounds, match, hops, words, clamped: walk?.clamped };
  if (query.near !== undefined) {
    const lane = await nearOf(run, query.near, best, rest);
    return { ...rest, ...lane, considered: [lane.probed, ...considered] };
  }
  if (best === undefined) throw tooBroad();
  return { ...rest, path: best.path, distances: undefined, considered };
}

/** Whether the best path is read at all: by meaning, only a short one is. */
function isRead(query: CheckedFind, best: Considered): boolean {
  return query.near === undefined || isFew(best.estimate);
}

interface Reach {
  readonly hops: ReadonlyMap<string, number>;
  readonly path: Path;
  readonly clamped: FindResult["clamped"];
}

async function reachOf(
  { engine, reader, query }: Run,
  { from, plan }: NonNullable<CheckedFind["walk"]>,
): Promise<Reach> {
  const validAt = query.validAt ?? (await timeAt(engine, reader));
  const { hits, truncated } = await reach(reader, from, { ...plan, validAt }, query.access);
  const cut = {
    ...(plan.clamped ? { hops: LIMITS.hops } : {}),
    ...(truncated ? { nodes: LIMITS.traverseNodes } : {}),
  };
  return {
    hops: new Map(hits.map(({ id, hop }) => [keyString(id), hop])),
    path: { kind: "ids", name: "walk", ids: hits.map(({ id }) => id) },
    clamped: Object.keys(cut).length === 0 ? undefined : cut,
  };
}

/** Every path of a query, the one to read first. A page goes on along the path it began on. */
async function consider(
  run: Run,
  open: Paths,
  words: Words | undefined,
  isIndexOrder: boolean,
): Promise<readonly Considered[]> {
  const { reader, query, cursor } = run;
  const [only] = open.paths;
  const isChoice = open.paths.length > 1 || words !== undefined || query.near !== undefined;
  if (only !== undefined && !isChoice) return [{ path: only, counted: false, keysRead: 0 }];
  const probed = await probe(reader, open, !isIndexOrder || query.near !== undefined);
  const text: readonly Probed[] =
    words === undefined
      ? []
      : [{ path: TEXT_PATH, estimate: words.estimate, counted: false, keysRead: 0 }];
  const all = [...probed, ...text];
  const begun = cursor?.kind === "arrival" ? cursor.path : undefined;
  const wanted = isIndexOrder ? query.limit + query.offset : undefined;
  const best = all.find(({ path }) => path.name === begun) ?? cheapest(all, wanted);
  return best === undefined ? [] : [best, ...all.filter((one) => one !== best)];
}

interface NearLane {
  readonly path: Path;
  readonly probed: Probed;
  readonly distances: ReadonlyMap<string, number>;
}

async function nearOf(
  run: Run,
  near: CheckedNear,
  best: Considered | undefined,
  { bounds, match, words }: Omit<Way, "path">,
): Promise<NearLane> {
  const { engine, reader, query } = run;
  const few =
    best !== undefined && isRead(query, best)
      ? await streamOf(run, best.path, words, { bounds, pageItems: LIMITS.findCandidates })
      : undefined;
  const distances = await nearest(engine, reader, { near, query, match, few });
  const path: Path = { kind: "ids", name: "near", ids: [...distances.keys()].map(keyBytes) };
  const probed = { path, estimate: distances.size, counted: true, keysRead: 0 };
  return { path, probed, distances };
}

function tooBroad(): CortexError {
  const field = FIND_BY.join(", ");
  const expected =
    "one of them, and of a condition that it must hold on head.id, head.externalId, head.createdAt " +
    "(from below) or head.updatedAt";
  return new CortexError("ERR_TOO_BROAD", `${field}: expected ${expected}, got none`, {
    field,
    expected,
    got: "nothing that an index serves",
  });
}

/** The hits of a page: rendered, scored, and trimmed to the budget. */
async function show(
  { engine, reader, query }: Run,
  matches: readonly Match[],
  scoring: Scoring,
): Promise<Pick<Answer, "hits" | "trimmed" | "tokens" | "ids">> {
  const { budgetTokens } = query;
  const { form } = query;
  const scores = await scoresOf(reader, matches, scoring);
  const shown = matches.map(({ found, body }, at) => {
    const memory = shapeMemory(engine.actor, found, body);
    const text = form === undefined ? memory.text : formText({ ...found, body }, form);
    const tokens = countTokens(text);
    const hop = scoring.hops?.get(keyString(found.id));
    const distance = scoring.distances?.get(keyString(found.id));
    const hit: FindHit = {
      id: memory.id,
      uri: memory.uri,
      type: memory.type,
      version: memory.version,
      text,
      score: scores[at] ?? 0,
      ...(budgetTokens === undefined ? {} : { tokens }),
      ...(hop === undefined ? {} : { hop }),
      ...(distance === undefined ? {} : { distance }),
      ...(form === undefined ? { memory } : {}),
    };
    return { hit, id: found.id, tokens, score: hit.score };
  });
  const kept = budgetTokens === undefined ? shown : trimToBudget(shown, budgetTokens);
  const tokens = kept.reduce((sum, one) => sum + one.tokens, 0);
  return {
    hits: kept.map(({ hit }) => hit),
    ids: kept.map(({ id }) => id),
    trimmed: shown.length - kept.length,
    ...(budgetTokens === undefined ? {} : { tokens }),
  };
}

/** What a budget looks at. */
interface Weighed {
  readonly tokens: number;
  readonly score: number;
}

/**
 * The items that fit a budget, in their order: as long as all of them together are too many, the one of
 * the lowest score goes, of equal ones the last. One item is always kept.
 */
function trimToBudget<T extends Weighed>(items: readonly T[], budgetTokens: number): T[] {
  let tokens = items.reduce((sum, item) => sum + item.tokens, 0);
  const goes = items
    .map((item, at) => ({ item, at }))
    .sort((a, b) => a.item.score - b.item.score || b.at - a.at);
  const gone = new Set<number>();
  for (const { item, at } of goes.slice(0, -1)) {
    if (tokens <= budgetTokens) break;
    tokens -= item.tokens;
    gone.add(at);
  }
  return items.filter((_, at) => !gone.has(at));
}

/** What is told about the way, without anything that was asked for. */
function readPlanOf({ query }: Run, page: Page, way: ChosenWay, hits: number): Answer["plan"] {
  return {
    verb: "find",
    index: indexName(way.path),
    indexes: way.considered.map(({ path, estimate }) => ({
      name: indexName(path),
      ...(estimate === undefined ? {} : { estimate }),
    })),
    order: isNewest(query.orders) ? "index" : "sorted",
    candidates: page.candidates,
    hits,
  };
}

function explanation(
  { query }: Run,
  page: Page,
  { path, considered }: ChosenWay,
  rowsRead: number,
): FindExplanation {
  const { budgetTokens, orders } = query;
  return {
    where: predicateText(query.where),
    source: path.name,
    indexes: considered.map(({ path: { name }, estimate, counted, keysRead }) => ({
      name,
      ...(estimate === undefined ? {} : { estimate }),
      counted,
      keysRead,
    })),
    order: isNewest(orders) ? "index" : "sorted",
    orderBy: orders.map(({ name, descending }) => `${name} ${descending ? "desc" : "asc"}`),
    candidates: page.candidates,
    rowsRead,
    rowsKept: page.matches.length,
    steps: [
      ...page.steps,
      ...(budgetTokens === undefined ? [] : [`trim to ${budgetTokens} tokens by salience`]),
    ],
  };
}
