/**
 * Reading links: the edges of one memory, walks along them, links in brief, and everything about one memory. Edges
 * come as they are stored from `edgesOut` and `edgesIn`, and in the words of the end they are seen from everywhere
 * else; an edge that does not hold at the time is in none. Walks skip removed edges and hidden memories unless
 * told otherwise, in a reproducible order; how they go is in `breadth-first.ts`.
 */
import type { Asked } from "../contract/index.js";
import type { EdgeList, Inspection, Link, Traversal } from "../contract/links.js";
import type { Edge } from "../contract/shapes.js";
import { type Engine, findIds, memoryId, type ParsedRef, parseRef } from "../engine/engine.js";
import { meterOf } from "../engine/read-plan.js";
import { salienceOf } from "../engine/salience-reader.js";
import { shapeEdge, shapeMemory } from "../engine/shapes.js";
import { invalid } from "../errors.js";
import { decodeCounter } from "../history/pointers.js";
import { type FoundMemory, Reader } from "../history/reader.js";
import { idKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { history } from "../memory/history.js";
import { findMemory, missed, timeAt } from "../memory/read.js";
import {
  askedKind,
  canonicalKind,
  checkOpenKindName,
  readingFrom,
  strengthMax,
} from "../records/edge-kinds.js";
import { flatten } from "../records/fence.js";
import type { Access } from "../scope/access.js";
import { type Along, along, isValidAt, kindCodes, readableIds, type Side } from "./adjacency.js";
import { breadthFirst, type MetEdge, type WalkPlan } from "./breadth-first.js";

/** The edges that leave a memory. */
export function edgesOut(engine: Engine, asked: Asked<"edgesOut">): Promise<EdgeList> {
  return edgesOf(engine, "out", asked);
}

/** The edges that reach a memory. */
export function edgesIn(engine: Engine, asked: Asked<"edgesIn">): Promise<EdgeList> {
  return edgesOf(engine, "in", asked);
}

async function edgesOf(engine: Engine, side: Side, asked: Asked<"edgesOut">): Promise<EdgeList> {
  const { limit } = asked;
  const { met, seq } = await edgesMet(engine, asked, { side, bothWays: "symmetric" });
  const edges = met.map(({ edge }) => edge);
  const ordered = asked.order === "ordinal" ? byOrdinal(edges) : edges;
  return { edges: limit === undefined ? ordered : ordered.slice(0, limit), seq };
}

function checkKinds(kinds: readonly string[] | undefined, field = "kinds"): void {
  for (const [at, name] of (kinds ?? []).entries()) {
    if (askedKind(name) === undefined) checkOpenKindName(name, `${field}[${at}]`);
  }
}

/** An edge of a memory, and at which of its ends the memory stands. */
interface OwnEdge {
  readonly end: "from" | "to";
  readonly edge: Edge;
}

type EdgesAsked = Pick<
  Asked<"edgesOut">,
  "id" | "kinds" | "includeTombstoned" | "asOf" | "validAt" | "access"
>;

/** The edges of one memory that hold at the time and that the caller may see, in order. */
async function edgesMet(
  engine: Engine,
  asked: EdgesAsked,
  how: Pick<Along, "side" | "bothWays">,
): Promise<{ readonly met: readonly OwnEdge[]; readonly seq: number }> {
  const { id: ref, kinds, access } = asked;
  const parsed = parseRef(engine, ref, "id");
  checkKinds(kinds);
  return Reader.with(engine.kv, asked.asOf, async (reader) => {
    const { position: seq } = reader;
    const [id] = await findIds(reader, [parsed]);
    if (id === undefined || (await readableIds(reader, [id], access)).size === 0) {
      return { met: [], seq };
    }
    const codes = await kindCodes(reader, kinds);
    const includeTombstoned = asked.includeTombstoned === true;
    const [found = []] = await along(reader, [id], { ...how, codes, includeTombstoned });
    const validAt = asked.validAt ?? (await timeAt(engine, reader));
    const records = await reader.edges(found.map(({ edge }) => edge));
    const others = found.map(({ edge }) => edge.other);
    const visible = access.kind === "owner" ? undefined : await readableIds(reader, others, access);
    const met = found.flatMap(({ side, edge }, at): OwnEdge[] => {
      const read = records[at];
      if (read === undefined || !isValidAt(read.record, validAt)) return [];
      if (visible !== undefined && !visible.has(keyString(edge.other))) return [];
      const shaped = shapeEdge(read.record, read.header.seq);
      return [{ end: side === "out" ? "from" : "to", edge: shaped }];
    });
    return { met, seq };
  });
}

/** Edges with an ordinal first, ascending; then the others by age. */
function byOrdinal(edges: readonly Edge[]): Edge[] {
  const rank = (edge: Edge) => edge.ordinal ?? Number.POSITIVE_INFINITY;
  return [...edges].sort((a, b) =>
    rank(a) === rank(b) ? a.createdAt - b.createdAt : rank(a) - rank(b),
  );
}

/** Walks the graph breadth-first from a memory, one batched read per level. */
export async function traverse(
  engine: Engine,
  { id: ref, asOf, access, onPlan, ...how }: Asked<"traverse">,
): Promise<Traversal> {
  const parsed = parseRef(engine, ref, "id");
  const plan = walkPlan(how);
  const meter = meterOf(engine.kv, onPlan !== undefined);
  const answer = await Reader.with(meter.kv, asOf, async (reader) => {
    const bounds = { maxHops: plan.maxHops, clamped: plan.clamped, seq: reader.position };
    const validAt = how.validAt ?? (await timeAt(engine, reader));
    const walk = await reach(reader, parsed, { ...plan, validAt }, access);
    const ids = walk.hits.map(({ id }) => id);
    const memories = await reader.memories(ids, await reader.memoryRows(ids));
    const hits = walk.hits.flatMap(({ id, hop }, at) => {
      const memory = memories[at];
      if (memory === undefined) return [];
      return [{ id: memoryId(id), hop, memory: shapeMemory(engine.actor, memory) }];
    });
    const edges = walk.edges.flatMap(inWords);
    return { hits, edges, truncated: walk.truncated, ...bounds };
  });
  onPlan?.({
    verb: "traverse",
    index: "edges",
    hops: answer.maxHops,
    edges: answer.edges.length,
    truncated: answer.truncated,
    rowsRead: meter.rows(),
    hits: answer.hits.length,
  });
  return answer;
}

/** An edge of a walk in the words of the end from which it was met, where its kind has a name there. */
function inWords({ side, way, edge, record }: MetEdge): readonly Edge[] {
  if (record === undefined) return [];
  const shaped = shapeEdge(record, edge.seq);
  const stop = side === "out" ? "from" : "to";
  const outward = readingFrom(record.kind, stop);
  const isOutward = way === "out" || outward !== undefined;
  return [readAs(shaped, isOutward ? stop : otherEnd(stop))];
}

function otherEnd(end: "from" | "to"): "from" | "to" {
  return end === "from" ? "to" : "from";
}

/** An edge as it reads from one of its ends. */
function readAs(edge: Edge, end: "from" | "to"): Edge {
  const { kind, inverse } = readingFrom(edge.kind, end) ?? { kind: edge.kind, inverse: false };
  const isTurned = end === "to" && readingFrom(edge.kind, end) !== undefined;
  const turned = isTurned ? { from: edge.to as Edge["from"], to: edge.from } : {};
  return { ...edge, kind, ...turned, ...(inverse ? { inverse } : {}) };
}

/** How a walk is asked for. */
type WalkAsked = Pick<
  Asked<"traverse">,
  "direction" | "kinds" | "minHops" | "maxHops" | "maxNodes" | "includeTombstoned"
>;

/** Completes how a walk is to go; `prefix` stands before the names of fields in messages. */
export function walkPlan(asked: WalkAsked, prefix = ""): WalkPlan {
  checkKinds(asked.kinds, `${prefix}kinds`);
  const { direction = "out", minHops = 1, maxHops = minHops } = asked;
  if (minHops > maxHops) {
    throw invalid(`${prefix}minHops`, `at most maxHops (${maxHops})`, minHops);
  }
  const includeTombstoned = asked.includeTombstoned === true;
  return {
    sides: direction === "both" ? ["out", "in"] : [direction],
    kinds: asked.kinds,
    minHops,
    maxHops: Math.min(maxHops, LIMITS.hops),
    clamped: maxHops > LIMITS.hops,
    maxNodes: asked.maxNodes ?? LIMITS.traverseNodesDefault,
    includeTombstoned,
    showHidden: includeTombstoned,
  };
}

/** What a walk in one graph meets, by id. */
interface Reach {
  readonly hits: readonly { readonly id: Bytes; readonly hop: number }[];
  readonly edges: readonly MetEdge[];
  readonly truncated: boolean;
}

/** The memories within reach of one; none when the caller sees no such memory. */
export async function reach(
  reader: Reader,
  ref: ParsedRef,
  plan: WalkPlan,
  access: Access,
): Promise<Reach> {
  const [id] = await findIds(reader, [ref]);
  if (id === undefined) return NOWHERE;
  if ((await readableIds(reader, [id], access)).size === 0) return NOWHERE;
  const here = { read: <T>(_: string, body: (reader: Reader) => Promise<T>) => body(reader) };
  const walk = await breadthFirst(here, { graph: "", id }, { plan, access });
  return {
    hits: walk.hits.flatMap(({ stop, hop }) =>
      stop.id === undefined ? [] : [{ id: stop.id, hop }],
    ),
    edges: walk.edges,
    truncated: walk.truncated,
  };
}

const NOWHERE: Reach = { hits: [], edges: [], truncated: false };

/** What a memory points at, in its own words, each (kind, target) once; the one with a reason wins. */
export async function linksFrom(
  engine: Engine,
  asked: Asked<"linksFrom">,
): Promise<readonly Link[]> {
  return (await readLinks(engine, asked, "out")).map(shapeLink);
}

/** What points at a memory, in the words of the other end, each (kind, source) once. */
export async function backlinksTo(
  engine: Engine,
  asked: Asked<"backlinksTo">,
): Promise<readonly Link[]> {
  return (await readLinks(engine, asked, "in")).map(shapeLink);
}

/** The edges of a memory that read away from it, or towards it, each relation once. */
async function readLinks(engine: Engine, asked: EdgesAsked, side: Side): Promise<readonly Edge[]> {
  const { met } = await edgesMet(engine, asked, { side, bothWays: "named" });
  const links = new Map<string, Edge>();
  for (const { end, edge } of met) {
    const read = readAs(edge, side === "out" ? end : otherEnd(end));
    const name = `${read.kind} ${side === "out" ? read.to : read.from}`;
    const known = links.get(name);
    if (known === undefined || (known.reason === undefined && read.reason !== undefined)) {
      links.set(name, read);
    }
  }
  return [...links.values()];
}

function shapeLink(edge: Edge): Link {
  const { kind, from, to, reason, strength, inverse } = edge;
  return {
    kind,
    from,
    to,
    group: canonicalKind(kind)?.kind.group ?? "open",
    ...(reason === undefined ? {} : { reason: flatten(reason) }),
    ...(strength === undefined ? {} : { strength: Math.min(strength, strengthMax(kind)) }),
    ...(inverse === undefined ? {} : { inverse }),
  };
}

/** A memory with its links, backlinks, versions and counters, and how much it matters. */
export async function inspect(
  engine: Engine,
  { id: ref, asOf, validAt, access }: Asked<"inspect">,
): Promise<Inspection | undefined> {
  const parsed = parseRef(engine, ref, "id");
  const here = await Reader.with(engine.kv, asOf, async (reader) => {
    const [id] = await findIds(reader, [parsed]);
    const found = id === undefined ? undefined : await findMemory(reader, id);
    if (found === undefined) return missed(reader, access, parsed);
    const [row] = await reader.getMany([idKey("counter", found.id)]);
    const counters = reader.live ? { counters: decodeCounter(row) } : {};
    const nowMs = await timeAt(engine, reader);
    const salience = access.kind === "owner" ? await ownSalience(reader, found, nowMs) : {};
    return { found, counters, salience, nowMs, seq: reader.position };
  });
  if (here === undefined) return undefined;
  // The rest is read at the very position the memory was found at.
  const pinned = { id: memoryId(here.found.id), asOf: here.seq, access };
  const [links, backlinks, versions] = await Promise.all([
    readLinks(engine, { ...pinned, validAt: validAt ?? here.nowMs }, "out"),
    readLinks(engine, { ...pinned, validAt: validAt ?? here.nowMs }, "in"),
    history(engine, pinned),
  ]);
  // What reads from here is not told a second time from there.
  const own = new Set(links.map(({ id }) => id));
  return {
    memory: shapeMemory(engine.actor, here.found),
    links: links.map(shapeLink),
    backlinks: backlinks.filter((edge) => !own.has(edge.id)).map(shapeLink),
    versions: versions ?? [],
    ...here.counters,
    ...here.salience,
    seq: here.seq,
  };
}

/** How much a memory matters; for the owner, because the weights are learned from memories of all kinds. */
async function ownSalience(
  reader: Reader,
  found: FoundMemory,
  nowMs: number,
): Promise<Pick<Inspection, "salience">> {
  const [salience] = await salienceOf(reader, [found], { nowMs });
  return salience === undefined ? {} : { salience };
}
