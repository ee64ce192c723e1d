/**
 * Reading the edges of memories: the ranges of one or many memories at once, at a reader's position.
 *
 * Live edges, removed edges and former states of edges stand in ranges of their own, so the present
 * reads what it shows, and the past reads that and what has changed since.
 */

import { readU16, readU32, textInKey } from "../codec/keys.js";
import { normaliseSlot } from "../codec/text.js";
import { EDGES_MAX } from "../contract/links.js";
import { decodeAdjacency, type PartPointer } from "../history/pointers.js";
import type { Read, Reader } from "../history/reader.js";
import {
  afterPrefix,
  EDGE_MEMBER_BYTES,
  EDGE_STATE,
  type EdgePlace,
  edgeClosedKey,
  edgeKey,
  edgePrefix,
  KEYSPACE,
  keyString,
  prefixRange,
  seqValue,
  textKey,
} from "../kv/keyspace.js";
import { ALL_ROWS, type Bytes, type KvRange, type KvRow } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { shownMemories } from "../memory/read.js";
import { askedKind, BOTH_WAYS, canonicalKind, kindByCode } from "../records/edge-kinds.js";
import type { EdgeRecord } from "../records/edge-record.js";
import type { Access } from "../scope/access.js";

/** From which end edges are looked at. */
export type Side = "out" | "in";

/** Which edges to read. */
interface AdjacencyQuery {
  readonly side: Side;
  /** Codes of the kinds to keep; all when empty. */
  readonly codes: readonly number[];
  readonly includeTombstoned: boolean;
  /** Most edges to read of one memory and range. */
  readonly limit: number;
}

/** An edge found from one end: where its record lies, and what stands at the other end. */
export interface AdjacentEdge extends PartPointer {
  readonly id: Bytes;
  readonly near: Bytes;
  readonly code: number;
  /** The other end's id, or the hash that stands for a far name. */
  readonly other: Bytes;
  readonly n: number;
}

/** The edges of each memory in (kind, other end, n) order, in one or two batched reads. */
export async function adjacent(
  reader: Reader,
  ids: readonly Bytes[],
  query: AdjacencyQuery,
): Promise<AdjacentEdge[][]> {
  // Live rows alone stand in order already: only other states and the past have to be merged in.
  if (reader.live && !query.includeTombstoned) {
    return (await liveRows(reader, ids, query)).map((rows) => rows.map(readAdjacent));
  }
  const states = query.includeTombstoned
    ? [EDGE_STATE.live, EDGE_STATE.removed]
    : [EDGE_STATE.live];
  const plan: { readonly at: number; readonly range: KvRange }[] = [];
  for (const [at, id] of ids.entries()) {
    for (const state of states) {
      for (const range of stateRanges(query, id, state)) plan.push({ at, range });
      if (!reader.live) plan.push({ at, range: closedRange(query, id, state, reader.seq) });
    }
  }
  const rows = await reader.ranges(plan.map(({ range }) => range));
  const found: Map<string, AdjacentEdge>[] = ids.map(() => new Map());
  for (const [index, { at }] of plan.entries()) {
    for (const row of rows[index] ?? []) {
      const edge = readAdjacent(row);
      if (edge.seq > reader.seq) continue;
      if (query.codes.length > 0 && !query.codes.includes(edge.code)) continue;
      found[at]?.set(memberName(edge), edge);
    }
  }
  return found.map((edges) =>
    [...edges.entries()].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, edge]) => edge),
  );
}

/** The rows of each memory's live edges, in order, as they are: for whoever reads few of many. */
export async function liveRows(
  reader: Reader,
  ids: readonly Bytes[],
  query: Omit<AdjacencyQuery, "includeTombstoned">,
): Promise<readonly (readonly KvRow[])[]> {
  const ranges = ids.map((id) => liveRanges([id], query));
  const rows = await reader.ranges(ranges.flat());
  let next = 0;
  return ranges.map((own) => {
    const found = rows.slice(next, next + own.length);
    next += own.length;
    return found.length === 1 ? (found[0] ?? []) : found.flat();
  });
}

/** The ranges in which the live edges of memories stand. */
export function liveRanges(
  ids: readonly Bytes[],
  query: Omit<AdjacencyQuery, "includeTombstoned">,
): KvRange[] {
  return ids.flatMap((id) => stateRanges(query, id, EDGE_STATE.live));
}

function stateRanges(
  query: Omit<AdjacencyQuery, "includeTombstoned">,
  id: Bytes,
  state: number,
): KvRange[] {
  const name = query.side === "out" ? "edgeOut" : "edgeIn";
  if (query.codes.length === 0) return [prefixRange(edgePrefix(name, id, state), query.limit)];
  const codes = [...query.codes].sort((a, b) => a - b);
  return codes.map((code) => prefixRange(edgePrefix(name, id, state, code), query.limit));
}

function closedRange(query: AdjacencyQuery, id: Bytes, state: number, seq: number): KvRange {
  const name = query.side === "out" ? "edgeOutClosed" : "edgeInClosed";
  const prefix = edgePrefix(name, id, state);
  const gte = Buffer.concat([prefix, seqValue(seq + 1)]);
  return { gte, lt: afterPrefix(prefix), limit: query.limit };
}

/** Reads one row of an edge. */
export function readAdjacent({ key, value }: KvRow): AdjacentEdge {
  const { seq, part, id } = decodeAdjacency(value);
  const at = key.length - EDGE_MEMBER_BYTES;
  return {
    seq,
    part,
    id,
    near: key.subarray(1, 17),
    code: readU16(key, at),
    other: key.subarray(at + 2, at + 18),
    n: readU32(key, at + 18),
  };
}

function memberName(edge: AdjacentEdge): string {
  const code = String.fromCharCode(edge.code >> 8, edge.code & 0xff);
  return `${code}${keyString(edge.other)}${String(edge.n).padStart(10, "0")}`;
}

/** Where the record of one edge lay at the reader's position. */
export async function edgePointer(
  reader: Reader,
  place: EdgePlace,
): Promise<PartPointer | undefined> {
  const states = [EDGE_STATE.live, EDGE_STATE.removed];
  const now = await reader.getMany(states.map((state) => edgeKey("out", place, state)));
  const row = now.find((value) => value !== undefined);
  const pointer = row === undefined ? undefined : decodeAdjacency(row);
  if (pointer === undefined || pointer.seq <= reader.seq) return pointer;
  const former = await reader.ranges(
    states.map((state) =>
      closedRange({ ...EVERYTHING, side: "out" }, place.from, state, reader.seq),
    ),
  );
  const member = keyString(
    edgeClosedKey("out", place, EDGE_STATE.live, 0).subarray(-EDGE_MEMBER_BYTES),
  );
  return former
    .flat()
    .filter(({ key }) => keyString(key.subarray(-EDGE_MEMBER_BYTES)) === member)
    .map(({ value }) => decodeAdjacency(value))
    .find(({ seq }) => seq <= reader.seq);
}

/** No filter at all. */
const EVERYTHING: AdjacencyQuery = {
  side: "out",
  codes: [],
  includeTombstoned: true,
  limit: ALL_ROWS,
};

/** Of the given memories, those that exist at the position and that the caller may see. */
export async function readableIds(
  reader: Reader,
  ids: readonly Bytes[],
  access: Access,
): Promise<ReadonlySet<string>> {
  const unique = [...new Map(ids.map((id) => [keyString(id), id])).values()];
  const rows = await reader.memoryRows(unique);
  const there = unique.flatMap((id, at) => {
    const row = rows[at];
    return row === undefined || row.lifecycle === "erased" ? [] : [{ id, row }];
  });
  if (access.kind === "owner") return new Set(there.map(({ id }) => keyString(id)));
  const found = await reader.memories(
    there.map(({ id }) => id),
    there.map(({ row }) => row),
  );
  const shown = await shownMemories(reader, access, found);
  return new Set(shown.flatMap((memory) => (memory === undefined ? [] : [keyString(memory.id)])));
}

/** The records of adjacent edges, in order. Erased ones are left out. */
export async function edgeRecords(
  reader: Reader,
  edges: readonly PartPointer[],
): Promise<readonly Read<EdgeRecord>[]> {
  const records = await reader.edges(edges);
  return records.flatMap((record) => (record === undefined ? [] : [record]));
}

/** Whether an edge holds at a time in the world. */
export function isValidAt(
  { validFrom, validTo }: Pick<EdgeRecord, "validFrom" | "validTo">,
  time: number,
): boolean {
  return (
    (validFrom === undefined || validFrom <= time) && (validTo === undefined || time < validTo)
  );
}

/** An edge, and on which side of a memory it was found: of those that leave it, or that reach it. */
export interface SidedEdge {
  readonly side: Side;
  readonly edge: AdjacentEdge;
}

/** The stored codes of kinds, as a walk needs them. */
interface KindCodes {
  /** No filter: every kind. */
  readonly all: boolean;
  readonly plain: readonly number[];
  /** Kinds asked for by their inverse name: such an edge is stored the other way round. */
  readonly swapped: readonly number[];
}

/**
 * The stored codes of kind names, however they are spelled; names nobody registered are left out. A
 * walk of edges that are kept as they were given takes names exactly.
 */
export async function kindCodes(
  reader: Reader,
  kinds: readonly string[] | undefined,
  isExact = false,
): Promise<KindCodes> {
  if (kinds === undefined || kinds.length === 0) return { all: true, plain: [], swapped: [] };
  const known = isExact ? canonicalKind : askedKind;
  const builtIn = kinds.flatMap((name) => known(name) ?? []);
  // Older stores may hold a kind of their own that is another spelling of a built-in one.
  const open = kinds.filter((name) => canonicalKind(name) === undefined);
  const codes = await openCodes(reader, open, isExact);
  const coded = (swap: boolean) =>
    builtIn.filter((found) => found.swap === swap).map(({ kind }) => kind.code);
  return {
    all: false,
    plain: [...new Set([...coded(false), ...codes])],
    swapped: [...new Set(coded(true))],
  };
}

/** The codes of open kinds; spellings of one name that older stores hold are one kind. */
async function openCodes(
  reader: Reader,
  names: readonly string[],
  isExact: boolean,
): Promise<readonly number[]> {
  if (names.length === 0) return [];
  if (isExact) {
    const rows = await reader.getMany(names.map((name) => textKey("edgeKind", name)));
    return rows.flatMap((row) => (row === undefined ? [] : [readU16(row, 0)]));
  }
  const wanted = new Set(names.flatMap((name) => [name, normaliseSlot(name)]));
  const prefix = Uint8Array.of(KEYSPACE.edgeKind.byte);
  const [rows = []] = await reader.ranges([prefixRange(prefix, LIMITS.edgeKinds)]);
  return rows.flatMap(({ key, value }) => {
    const name = textInKey(key, 1);
    return wanted.has(name) || wanted.has(normaliseSlot(name) || name) ? [readU16(value, 0)] : [];
  });
}

/** How the edges of memories are looked at. */
export interface Along {
  readonly side: Side;
  readonly codes: KindCodes;
  readonly includeTombstoned: boolean;
  /**
   * Which kinds are found from their other end too: `symmetric` ones, or as well those that have a name
   * there (`named`); none, where edges are taken as they were given.
   */
  readonly bothWays?: keyof typeof BOTH_WAYS;
}

/** The edges under each key in one direction, seen through the names that were asked for. */
export async function along(
  reader: Reader,
  keys: readonly Bytes[],
  how: Along,
): Promise<SidedEdge[][]> {
  const { side, codes, includeTombstoned } = how;
  const rest = { includeTombstoned, limit: EDGES_MAX };
  const other: Side = side === "out" ? "in" : "out";
  const none = keys.map((): AdjacentEdge[] => []);
  const [plain, crossed] = await Promise.all([
    codes.all || codes.plain.length > 0
      ? adjacent(reader, keys, { side, codes: codes.plain, ...rest })
      : none,
    crossing(reader, keys, how, other),
  ]);
  return keys.map((_, at) => [
    ...(plain[at] ?? []).map((edge) => ({ side, edge })),
    ...(crossed[at] ?? []).map((edge) => ({ side: other, edge })),
  ]);
}

/** Edges of one memory that are read at once before its kinds are looked up one by one. */
const CROSSING_ROWS = 32;

/** The edges on the other side that read in this direction as well. */
async function crossing(
  reader: Reader,
  keys: readonly Bytes[],
  { codes, includeTombstoned, bothWays }: Along,
  side: Side,
): Promise<readonly (readonly AdjacentEdge[])[]> {
  const symmetric = codes.plain.filter((code) => kindByCode(code)?.symmetric === true);
  const wanted = new Set([
    ...codes.swapped,
    ...(bothWays === undefined ? [] : codes.all ? BOTH_WAYS[bothWays] : symmetric),
  ]);
  if (wanted.size === 0) return [];
  const query = { side, includeTombstoned, codes: [...wanted], limit: EDGES_MAX };
  if (!reader.live || includeTombstoned) return adjacent(reader, keys, query);
  // Most memories have few edges: one range tells, where kind by kind would be ten.
  const few = await adjacent(reader, keys, { ...query, codes: [], limit: CROSSING_ROWS });
  const crowded = keys.filter((_, at) => few[at]?.length === CROSSING_ROWS);
  const many = await adjacent(reader, crowded, query);
  let next = 0;
  return few.map((list) =>
    list.length === CROSSING_ROWS
      ? (many[next++] ?? [])
      : list.filter(({ code }) => wanted.has(code)),
  );
}
