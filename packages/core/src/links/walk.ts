/**
 * Walking the graph: the edges of one memory, bounded breadth-first walks, and everything about one
 * memory at a glance. Order is (kind, other id), or by ordinal on request, so a walk is reproducible.
 * A walk never enters what the caller may not see.
 */

import type { HistoryItem } from "../contract/memory.js";
import type { Edge, Memory, MemoryId, Ref } from "../contract/shapes.js";
import {
  checkOptions,
  type Engine,
  findIds,
  memoryId,
  type ParsedRef,
  parseRef,
} from "../engine/engine.js";
import { checkOnPlan, meterOf, type PlanOption } from "../engine/read-plan.js";
import { isPinnedMemory, salienceOf } from "../engine/salience-reader.js";
import { shapeEdge, shapeMemory } from "../engine/shapes.js";
import { invalid } from "../errors.js";
import { decodeCounter } from "../history/pointers.js";
import { type AsOf, type FoundMemory, Reader } from "../history/reader.js";
import { idKey, keyString, textKey } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { checkLimit } from "../memory/list.js";
import { findMemory, history, isShown, timeAt } from "../memory/read.js";
import { canonicalKind, checkOpenKindName } from "../records/edge-kinds.js";
import type { Salience } from "../salience/salience.js";
import type { Counter } from "../salience/use-record.js";
import { type Access, OWNER } from "../scope/access.js";
import {
  type AdjacentEdge,
  adjacent,
  checkDirection,
  readableIds,
  type Side,
} from "./adjacency.js";

/** Which edges of a memory to read. */
export interface EdgeListOptions {
  readonly kinds?: readonly string[];
  readonly includeTombstoned?: boolean;
  /** By (kind, other id) when not given. */
  readonly order?: "kind" | "ordinal";
  readonly limit?: number;
  readonly asOf?: AsOf;
  readonly access?: Access;
}

/** Edges of one memory. */
export interface EdgeList {
  readonly edges: readonly Edge[];
  readonly seq: number;
}

/** Most edges of one memory that one call returns. */
const EDGES_MAX = 100_000;

/** The edges that leave a memory. */
export function edgesOut(
  engine: Engine,
  ref: Ref,
  options: EdgeListOptions = {},
): Promise<EdgeList> {
  return edgesOf(engine, ref, "out", options);
}

/** The edges that reach a memory. */
export function edgesIn(
  engine: Engine,
  ref: Ref,
  options: EdgeListOptions = {},
): Promise<EdgeList> {
  return edgesOf(engine, ref, "in", options);
}

async function edgesOf(
  engine: Engine,
  ref: Ref,
  side: Side,
  options: EdgeListOptions,
): Promise<EdgeList> {
  const parsed = parseRef(engine, ref, "id");
  checkOptions(options, EDGE_OPTIONS);
  checkKinds(options.kinds);
  const limit = options.limit === undefined ? EDGES_MAX : checkLimit(options.limit, EDGES_MAX);
  const order = options.order ?? "kind";
  if (order !== "kind" && order !== "ordinal") throw invalid("order", "kind or ordinal", order);
  return Reader.with(engine.kv, options.asOf, async (reader) => {
    const access = options.access ?? OWNER;
    const [id] = await findIds(reader, [parsed]);
    if (id === undefined || (await readableIds(reader, [id], access)).size === 0) {
      return { edges: [], seq: reader.seq };
    }
    const codes = await kindCodes(reader, options.kinds);
    const includeTombstoned = options.includeTombstoned === true;
    const [found = []] = await along(reader, [id], { side, codes, includeTombstoned });
    const edges = await shapeEdges(reader, found, access);
    const ordered = order === "ordinal" ? byOrdinal(edges) : edges;
    return { edges: ordered.slice(0, limit), seq: reader.seq };
  });
}

const EDGE_OPTIONS = ["kinds", "includeTombstoned", "order", "limit", "asOf", "access"];

/** The stored codes of kinds, as a walk needs them. */
interface KindCodes {
  /** No filter: every kind. */
  readonly all: boolean;
  readonly plain: readonly number[];
  /** Kinds asked for by their inverse name: such an edge is stored the other way round. */
  readonly swapped: readonly number[];
}

function checkKinds(kinds: unknown, field = "kinds"): void {
  if (kinds === undefined) return;
  if (!Array.isArray(kinds)) throw invalid(field, "a list of edge kinds", kinds);
  for (const [at, name] of kinds.entries()) {
    const known = typeof name === "string" && canonicalKind(name) !== undefined;
    if (!known) checkOpenKindName(name, `${field}[${at}]`);
  }
}

/** The stored codes of kind names; names nobody registered are left out. */
async function kindCodes(reader: Reader, kinds: readonly string[] | undefined): Promise<KindCodes> {
  if (kinds === undefined || kinds.length === 0) return { all: true, plain: [], swapped: [] };
  const builtIn = kinds.flatMap((name) => canonicalKind(name) ?? []);
  const open = kinds.filter((name) => canonicalKind(name) === undefined);
  const rows = await reader.getMany(open.map((name) => textKey("edgeKind", name)));
  const codes = rows.flatMap((row) =>
    row === undefined ? [] : [((row[0] ?? 0) << 8) | (row[1] ?? 0)],
  );
  const coded = (swap: boolean) =>
    builtIn.filter((found) => found.swap === swap).map(({ kind }) => kind.code);
  return {
    all: false,
    plain: [...new Set([...coded(false), ...codes])],
    swapped: [...new Set(coded(true))],
  };
}

/** The edges of each memory in one direction, seen through the names that were asked for. */
async function along(
  reader: Reader,
  ids: readonly Bytes[],
  how: { readonly side: Side; readonly codes: KindCodes; readonly includeTombstoned: boolean },
): Promise<AdjacentEdge[][]> {
  const { side, codes, includeTombstoned } = how;
  const rest = { includeTombstoned, limit: EDGES_MAX };
  const other: Side = side === "out" ? "in" : "out";
  const none = ids.map((): AdjacentEdge[] => []);
  const [plain, swapped] = await Promise.all([
    codes.all || codes.plain.length > 0
      ? adjacent(reader, ids, { side, codes: codes.plain, ...rest })
      : none,
    codes.swapped.length > 0
      ? adjacent(reader, ids, { side: other, codes: codes.swapped, ...rest })
      : none,
  ]);
  return ids.map((_, at) => [...(plain[at] ?? []), ...(swapped[at] ?? [])]);
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

/** How a walk goes. */
export interface TraverseOptions extends PlanOption {
  readonly direction?: "out" | "in" | "both";
  readonly kinds?: readonly string[];
  readonly minHops?: number;
  /** 1 when not given; clamped to 6, and the answer says so. */
  readonly maxHops?: number;
  /** Most memories to return, the start not counted. */
  readonly maxNodes?: number;
  /** Follow removed edges as well, and show hidden memories; without it they are passed through. */
  readonly includeTombstoned?: boolean;
  readonly asOf?: AsOf;
  readonly access?: Access;
}

/** What a walk found. */
export interface Traversal {
  readonly hits: readonly {
    readonly id: MemoryId;
    readonly hop: number;
    readonly memory: Memory;
  }[];
  readonly edges: readonly Edge[];
  /** The hop limit that applied. */
  readonly maxHops: number;
  /** True when more hops were asked for than are allowed. */
  readonly clamped: boolean;
  /** True when the node limit ended the walk. */
  readonly truncated: boolean;
  readonly seq: number;
}

/** Walks the graph breadth-first from a memory, one batched read per level. */
export async function traverse(
  engine: Engine,
  ref: Ref,
  options: TraverseOptions = {},
): Promise<Traversal> {
  const parsed = parseRef(engine, ref, "id");
  checkOptions(options, WALK_OPTIONS);
  const plan = checkWalk(options);
  const access = options.access ?? OWNER;
  checkOnPlan(options.onPlan);
  const meter = meterOf(engine.kv, options.onPlan !== undefined);
  const answer = await Reader.with(meter.kv, options.asOf, async (reader) => {
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
  options.onPlan?.({
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

const WALK_OPTIONS = [
  "direction",
  "kinds",
  "minHops",
  "maxHops",
  "maxNodes",
  "includeTombstoned",
  "asOf",
  "onPlan",
  "access",
];

/** How a walk goes, checked. */
export interface WalkPlan {
  readonly sides: readonly Side[];
  readonly kinds: readonly string[] | undefined;
  readonly minHops: number;
  readonly maxHops: number;
  readonly clamped: boolean;
  readonly maxNodes: number;
  /** Follow removed edges. */
  readonly includeTombstoned: boolean;
  /** Count hidden memories among the hits, rather than pass through them. */
  readonly showHidden: boolean;
}

/** Checks how a walk is to go; `prefix` stands before the names of fields in messages. */
export function checkWalk(options: TraverseOptions, prefix = ""): WalkPlan {
  checkKinds(options.kinds, `${prefix}kinds`);
  const direction = checkDirection(options.direction);
  const maxAsked = checkHops(options.maxHops, `${prefix}maxHops`, options.minHops ?? 1);
  const minHops = checkHops(options.minHops, `${prefix}minHops`, 1);
  if (minHops > maxAsked) {
    throw invalid(`${prefix}minHops`, `at most maxHops (${maxAsked})`, minHops);
  }
  const maxNodes =
    options.maxNodes === undefined
      ? LIMITS.traverseNodesDefault
      : checkLimit(options.maxNodes, LIMITS.traverseNodes);
  return {
    sides: direction === "both" ? ["out", "in"] : [direction],
    kinds: options.kinds,
    minHops,
    maxHops: Math.min(maxAsked, LIMITS.hops),
    clamped: maxAsked > LIMITS.hops,
    maxNodes,
    includeTombstoned: options.includeTombstoned === true,
    showHidden: options.includeTombstoned === true,
  };
}

function checkHops(hops: unknown, field: string, fallback: number): number {
  if (hops === undefined) return fallback;
  if (typeof hops === "number" && Number.isSafeInteger(hops) && hops >= 1) return hops;
  throw invalid(field, "an integer of at least 1", hops);
}

/** What a walk meets, by id. */
export interface Walk {
  readonly hits: readonly { readonly id: Bytes; readonly hop: number }[];
  readonly edges: readonly AdjacentEdge[];
  readonly truncated: boolean;
}

/** Who is within reach of a memory; nobody when the caller sees no such memory. */
export async function reach(
  reader: Reader,
  ref: ParsedRef,
  plan: WalkPlan,
  access: Access,
): Promise<Walk> {
  const [start] = await findIds(reader, [ref]);
  if (start === undefined) return NOWHERE;
  if ((await readableIds(reader, [start], access)).size === 0) return NOWHERE;
  const codes = await kindCodes(reader, plan.kinds);
  return breadthFirst(reader, start, { ...plan, codes, access });
}

const NOWHERE: Walk = { hits: [], edges: [], truncated: false };

async function breadthFirst(
  reader: Reader,
  start: Bytes,
  plan: WalkPlan & { readonly codes: KindCodes; readonly access: Access },
): Promise<Walk> {
  const { includeTombstoned, codes, access } = plan;
  const seen = new Set([keyString(start)]);
  const hits: { readonly id: Bytes; readonly hop: number }[] = [];
  const edges = new Map<string, AdjacentEdge>();
  let frontier: Bytes[] = [start];
  for (let hop = 1; hop <= plan.maxHops && frontier.length > 0; hop += 1) {
    const bySide = await Promise.all(
      plan.sides.map((side) => along(reader, frontier, { side, codes, includeTombstoned })),
    );
    const met = frontier.flatMap((_, at) => bySide.flatMap((lists) => lists[at] ?? []));
    const others = met.map(({ other }) => other);
    const visible = await readableIds(reader, others, access);
    const hidden = plan.showHidden ? NOBODY : await tombstonedIds(reader, others);
    frontier = [];
    for (const edge of met) {
      const name = keyString(edge.other);
      if (!visible.has(name)) continue;
      if (!seen.has(name)) {
        // A hidden memory is passed through, not shown; nearer ones than asked for likewise.
        const isHit = hop >= plan.minHops && !hidden.has(name);
        const full = isHit ? hits.length >= plan.maxNodes : seen.size > LIMITS.traverseNodes;
        if (full) return { hits, edges: [...edges.values()], truncated: true };
        seen.add(name);
        if (isHit) hits.push({ id: edge.other, hop });
        frontier.push(edge.other);
      }
      edges.set(keyString(edge.id), edge);
    }
  }
  return { hits, edges: [...edges.values()], truncated: false };
}

const NOBODY: ReadonlySet<string> = new Set();

async function tombstonedIds(reader: Reader, ids: readonly Bytes[]): Promise<ReadonlySet<string>> {
  const rows = await reader.memoryRows(ids);
  return new Set(
    ids.flatMap((id, at) => (rows[at]?.lifecycle === "tombstoned" ? [keyString(id)] : [])),
  );
}

/** An edge in brief, as `linksFrom` and `backlinksTo` list it. */
export interface Link {
  readonly kind: string;
  readonly to: string;
  readonly from: string;
  readonly reason?: string;
  readonly strength?: number;
  readonly group: string;
}

/** What a memory points at, each (kind, target) once; the one with a reason wins. */
export async function linksFrom(
  engine: Engine,
  ref: Ref,
  options: Pick<EdgeListOptions, "asOf" | "access"> = {},
): Promise<readonly Link[]> {
  const { edges } = await edgesOut(engine, ref, options);
  return dedupe(edges, (edge) => `${edge.kind} ${edge.to}`);
}

/** What points at a memory, each (kind, source) once. */
export async function backlinksTo(
  engine: Engine,
  ref: Ref,
  options: Pick<EdgeListOptions, "asOf" | "access"> = {},
): Promise<readonly Link[]> {
  const { edges } = await edgesIn(engine, ref, options);
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

/** Everything about one memory. */
export interface Inspection {
  readonly memory: Memory;
  readonly links: readonly Link[];
  readonly backlinks: readonly Link[];
  readonly versions: readonly HistoryItem[];
  /** What use has made of it by now; left out when the past is asked for. */
  readonly counters?: Counter;
  /** How much it matters, and why; for the past, at the time of the position. For the owner alone. */
  readonly salience?: Salience;
  readonly seq: number;
}

/** A memory with its links, backlinks, versions and counters, and how much it matters. */
export async function inspect(
  engine: Engine,
  ref: Ref,
  options: Pick<EdgeListOptions, "asOf" | "access"> = {},
): Promise<Inspection | undefined> {
  const parsed = parseRef(engine, ref, "id");
  checkOptions(options, ["asOf", "access"]);
  const access = options.access ?? OWNER;
  const here = await Reader.with(engine.kv, options.asOf, async (reader) => {
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
  const pinned = { access, asOf: here.seq };
  const id = memoryId(here.found.id);
  const [links, backlinks, versions] = await Promise.all([
    linksFrom(engine, id, pinned),
    backlinksTo(engine, id, pinned),
    history(engine, { id, ...pinned }),
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

/** Weights are learned from every memory there is: guests are not told what they make of one. */
async function ownSalience(
  engine: Engine,
  reader: Reader,
  found: FoundMemory,
): Promise<Pick<Inspection, "salience">> {
  const nowMs = await timeAt(engine, reader);
  const pinned = new Set(isPinnedMemory(found) ? [keyString(found.id)] : []);
  const [salience] = await salienceOf(reader, [found], { nowMs, pinned });
  return salience === undefined ? {} : { salience };
}
