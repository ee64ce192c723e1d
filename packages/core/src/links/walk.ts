/**
 * Reading links: the edges of one memory, walks along them, links in brief, and everything about one
 * memory. Walks skip removed edges and hidden memories unless told otherwise, in a reproducible order;
 * how they go is in `breadth-first.ts`.
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
import { findMemory, history, isShown, timeAt } from "../memory/read.js";
import { canonicalKind, checkOpenKindName } from "../records/edge-kinds.js";
import type { Access } from "../scope/access.js";
import { type AdjacentEdge, along, kindCodes, readableIds, type Side } from "./adjacency.js";
import { breadthFirst, type WalkPlan } from "./breadth-first.js";

/** The edges that leave a memory. */
export function edgesOut(engine: Engine, asked: Asked<"edgesOut">): Promise<EdgeList> {
  return edgesOf(engine, "out", asked);
}

/** The edges that reach a memory. */
export function edgesIn(engine: Engine, asked: Asked<"edgesIn">): Promise<EdgeList> {
  return edgesOf(engine, "in", asked);
}

async function edgesOf(engine: Engine, side: Side, asked: Asked<"edgesOut">): Promise<EdgeList> {
  const { id: ref, kinds, limit, access } = asked;
  const parsed = parseRef(engine, ref, "id");
  checkKinds(kinds);
  return Reader.with(engine.kv, asked.asOf, async (reader) => {
    const [id] = await findIds(reader, [parsed]);
    if (id === undefined || (await readableIds(reader, [id], access)).size === 0) {
      return { edges: [], seq: reader.seq };
    }
    const codes = await kindCodes(reader, kinds);
    const includeTombstoned = asked.includeTombstoned === true;
    const [found = []] = await along(reader, [id], { side, codes, includeTombstoned });
    const edges = await shapeEdges(
      reader,
      found.map(({ edge }) => edge),
      access,
    );
    const ordered = asked.order === "ordinal" ? byOrdinal(edges) : edges;
    return { edges: limit === undefined ? ordered : ordered.slice(0, limit), seq: reader.seq };
  });
}

function checkKinds(kinds: readonly string[] | undefined, field = "kinds"): void {
  for (const [at, name] of (kinds ?? []).entries()) {
    if (canonicalKind(name) === undefined) checkOpenKindName(name, `${field}[${at}]`);
  }
}

async function shapeEdges(
  reader: Reader,
  found: readonly AdjacentEdge[],
  access: Access,
): Promise<Edge[]> {
  const records = await reader.edges(found);
  const visible =
    access.kind === "owner"
      ? undefined
      : await readableIds(
          reader,
          found.flatMap(({ near, other }) => [near, other]),
          access,
        );
  return found.flatMap((edge, at) => {
    const record = records[at];
    if (record === undefined) return [];
    const shown = visible === undefined || visible.has(keyString(edge.other));
    return shown ? [shapeEdge(record.record, record.header.seq)] : [];
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
    const bounds = { maxHops: plan.maxHops, clamped: plan.clamped, seq: reader.seq };
    const walk = await reach(reader, parsed, plan, access);
    const ids = walk.hits.map(({ id }) => id);
    const memories = await reader.memories(ids, await reader.memoryRows(ids));
    const hits = walk.hits.flatMap(({ id, hop }, at) => {
      const memory = memories[at];
      if (memory === undefined) return [];
      return [{ id: memoryId(id), hop, memory: shapeMemory(engine.actor, memory) }];
    });
    const edges = await shapeEdges(reader, walk.edges, access);
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
export interface Reach {
  readonly hits: readonly { readonly id: Bytes; readonly hop: number }[];
  readonly edges: readonly AdjacentEdge[];
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
    edges: walk.edges.map(({ edge }) => edge),
    truncated: walk.truncated,
  };
}

const NOWHERE: Reach = { hits: [], edges: [], truncated: false };

/** What a memory points at, each (kind, target) once; the one with a reason wins. */
export async function linksFrom(
  engine: Engine,
  asked: Asked<"linksFrom">,
): Promise<readonly Link[]> {
  const { edges } = await edgesOut(engine, asked);
  return dedupe(edges, (edge) => `${edge.kind} ${edge.to}`);
}

/** What points at a memory, each (kind, source) once. */
export async function backlinksTo(
  engine: Engine,
  asked: Asked<"backlinksTo">,
): Promise<readonly Link[]> {
  const { edges } = await edgesIn(engine, asked);
  return dedupe(edges, (edge) => `${edge.kind} ${edge.from}`);
}

function dedupe(edges: readonly Edge[], nameOf: (edge: Edge) => string): readonly Link[] {
  const links = new Map<string, Link>();
  for (const edge of edges) {
    const name = nameOf(edge);
    const known = links.get(name);
    if (known === undefined || (known.reason === undefined && edge.reason !== undefined)) {
      links.set(name, shapeLink(edge));
    }
  }
  return [...links.values()];
}

function shapeLink(edge: Edge): Link {
  return {
    kind: edge.kind,
    from: edge.from,
    to: edge.to,
    group: canonicalKind(edge.kind)?.kind.group ?? "open",
    ...(edge.reason === undefined ? {} : { reason: edge.reason }),
    ...(edge.strength === undefined ? {} : { strength: edge.strength }),
  };
}

/** A memory with its links, backlinks, versions and counters, and how much it matters. */
export async function inspect(
  engine: Engine,
  { id: ref, asOf, access }: Asked<"inspect">,
): Promise<Inspection | undefined> {
  const parsed = parseRef(engine, ref, "id");
  const here = await Reader.with(engine.kv, asOf, async (reader) => {
    const [id] = await findIds(reader, [parsed]);
    const found = id === undefined ? undefined : await findMemory(reader, id);
    if (found === undefined || !(await isShown(reader, access, found))) return undefined;
    const [row] = await reader.getMany([idKey("counter", found.id)]);
    const counters = reader.live ? { counters: decodeCounter(row) } : {};
    const salience = access.kind === "owner" ? await ownSalience(engine, reader, found) : {};
    return { found, counters, salience, seq: reader.seq };
  });
  if (here === undefined) return undefined;
  // The rest is read at the very position the memory was found at.
  const pinned = { id: memoryId(here.found.id), asOf: here.seq, access };
  const [links, backlinks, versions] = await Promise.all([
    linksFrom(engine, pinned),
    backlinksTo(engine, pinned),
    history(engine, pinned),
  ]);
  return {
    memory: shapeMemory(engine.actor, here.found),
    links,
    backlinks,
    versions: versions ?? [],
    ...here.counters,
    ...here.salience,
    seq: here.seq,
  };
}

/** How much a memory matters; for the owner, because the weights are learned from memories of all kinds. */
async function ownSalience(
  engine: Engine,
  reader: Reader,
  found: FoundMemory,
): Promise<Pick<Inspection, "salience">> {
  const nowMs = await timeAt(engine, reader);
  const [salience] = await salienceOf(reader, [found], { nowMs });
  return salience === undefined ? {} : { salience };
}
