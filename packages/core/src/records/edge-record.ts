/**
 * The record of an edge, its identity, and its bytes inside a journal part.
 *
 * An edge is (from, kind, to, n): `addEdge` uses n = 0, so there is at most one; a loose edge takes
 * the next n. The far end is a memory of this graph, or a symlink: a name in another graph, or a name
 * nobody knows yet. Tree leaves commit to the kind's name, never to its code, so that codes given to
 * open kinds may differ between graphs.
 *
 * Pure. Who may mint which kind is in `edge-kinds.ts`; what an edge entry changes is in `history/fold.ts`.
 */
import { type CborValue, decodeWithin, encode, fields } from "../codec/cbor.js";
import {
  readBytesOf,
  readIntegerOr,
  readList,
  readMap,
  readObject,
  readText,
} from "../codec/cbor-value.js";
import { domainHash, type Sha256 } from "../codec/hash.js";
import { ULID_BYTES } from "../codec/ulid.js";
import type { PartContext } from "../journal/entry.js";
import { edgeStateKey } from "../merkle/state-keys.js";
import {
  decodeOrigin,
  decodeTombstone,
  encodeOrigin,
  type Origin,
  type Tombstone,
} from "./memory-record.js";
import { nameOf, SOURCES, type Source } from "./types.js";

/** The far end of an edge that is not a memory of this graph. */
export interface FarName {
  readonly graph: string;
  readonly name: string;
}

/** What an edge joins, by which kind, and which of several. */
interface EdgeIdentity {
  readonly from: Uint8Array;
  /** The kind's canonical name. */
  readonly kind: string;
  readonly to: Uint8Array | FarName;
  readonly n: number;
}

/** The whole state of an edge. */
export interface EdgeRecord extends EdgeIdentity {
  readonly id: Uint8Array;
  readonly source: Source;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly weight?: number;
  readonly reason?: string;
  /** 1 (weak) to 5 (strongly stated). */
  readonly strength?: number;
  readonly ordinal?: number;
  readonly metadata?: { readonly [key: string]: CborValue };
  readonly validFrom?: number;
  readonly validTo?: number;
  /** Set for a kind that waits for somebody's decision although it is no contradiction. */
  readonly asksReview?: true;
  /** Present when the edge was removed. */
  readonly tombstone?: Tombstone;
  readonly origin?: Origin;
}

/** The 32 bytes that place an edge in the `edges` tree. */
export function edgeTreeKey(sha256: Sha256, edge: EdgeIdentity): Uint8Array {
  const { from, kind, n } = edge;
  return edgeStateKey(sha256, { from, kind, to: encodeFarEnd(edge.to), n });
}

/** The 16 bytes that stand for the far end in adjacency keys. */
export function farKey(sha256: Sha256, to: Uint8Array | FarName): Uint8Array {
  if (to instanceof Uint8Array) return to;
  return domainHash(sha256, "farEnd", encode([to.graph, to.name])).subarray(0, 16);
}

/** The canonical bytes of an edge's record. */
export function encodeEdgeRecord(edge: EdgeRecord, entry: PartContext): Uint8Array {
  const { tombstone } = edge;
  return encode(
    fields([
      edge.id,
      edge.from,
      edge.kind,
      encodeFarEnd(edge.to),
      edge.n === 0 ? undefined : edge.n,
      edge.weight,
      edge.reason,
      edge.strength,
      edge.ordinal,
      edge.metadata,
      edge.source === "user_input" ? undefined : SOURCES[edge.source].code,
      edge.createdAt === entry.at ? undefined : edge.createdAt,
      edge.createdBy === entry.by ? undefined : edge.createdBy,
      edge.validFrom,
      edge.validTo,
      tombstone === undefined ? undefined : [tombstone.reason, tombstone.at, tombstone.by],
      edge.asksReview,
      edge.origin === undefined ? undefined : encodeOrigin(edge.origin),
    ]),
  );
}

/** Reads an edge's record; bytes of another shape are `ERR_CORRUPT`. */
export function decodeEdgeRecord(bytes: Uint8Array, entry: PartContext): EdgeRecord {
  return edgeRecordWithin(bytes, 0, bytes.length, entry);
}

/** The same of the bytes from `start` to `end`. */
export function edgeRecordWithin(
  bytes: Uint8Array,
  start: number,
  end: number,
  entry: PartContext,
): EdgeRecord {
  return edgeRecordOf(decodeWithin(bytes, start, end), entry);
}

/** The same from what the bytes say. Members are set one by one: a walk reads many, and spreads cost more than decoding. */
function edgeRecordOf(value: CborValue, entry: PartContext): EdgeRecord {
  const at = readMap(value, "edge record");
  const edge: { -readonly [member in keyof EdgeRecord]: EdgeRecord[member] } = {
    id: readBytesOf(at[0], ULID_BYTES, "the id of an edge"),
    from: readBytesOf(at[1], ULID_BYTES, "the source of an edge"),
    kind: readText(at[2]),
    to: decodeFarEnd(at[3]),
    n: readIntegerOr(at[4], 0),
    source: at[10] === undefined ? "user_input" : nameOf(SOURCES, at[10], "source"),
    createdAt: readIntegerOr(at[11], entry.at),
    createdBy: at[12] === undefined ? entry.by : readText(at[12]),
  };
  if (typeof at[5] === "number") edge.weight = at[5];
  if (at[6] !== undefined) edge.reason = readText(at[6]);
  if (at[7] !== undefined) edge.strength = readIntegerOr(at[7], 0);
  if (at[8] !== undefined) edge.ordinal = readIntegerOr(at[8], 0);
  if (at[9] !== undefined) edge.metadata = readObject(at[9], "the metadata of an edge");
  if (at[13] !== undefined) edge.validFrom = readIntegerOr(at[13], 0);
  if (at[14] !== undefined) edge.validTo = readIntegerOr(at[14], 0);
  if (at[15] !== undefined) edge.tombstone = decodeTombstone(at[15]);
  if (at[16] === true) edge.asksReview = true;
  if (at[17] !== undefined) edge.origin = decodeOrigin(at[17]);
  return edge;
}

function encodeFarEnd(to: Uint8Array | FarName): CborValue {
  return to instanceof Uint8Array ? to : [to.graph, to.name];
}

function decodeFarEnd(value: CborValue | undefined): Uint8Array | FarName {
  if (value instanceof Uint8Array) return readBytesOf(value, ULID_BYTES, "the far end of an edge");
  const [graph, name] = readList(value);
  return { graph: readText(graph), name: readText(name) };
}
