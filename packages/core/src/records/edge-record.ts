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
import { type CborValue, decode, encode, fields } from "../codec/cbor.js";
import { domainHash, type Sha256 } from "../codec/hash.js";
import {
  asFields,
  decodeOrigin,
  decodeTombstone,
  encodeOrigin,
  int,
  list,
  type Origin,
  type Tombstone,
  text,
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

/** The 32 bytes that place an edge in the `edges` tree: source id, then half a hash of the rest. */
export function edgeTreeKey(sha256: Sha256, edge: EdgeIdentity): Uint8Array {
  const key = new Uint8Array(32);
  key.set(edge.from, 0);
  const rest = encode([edge.from, edge.kind, encodeFarEnd(edge.to), edge.n]);
  key.set(domainHash(sha256, "edgeKey", rest).subarray(0, 16), 16);
  return key;
}

/** The 32 bytes that place a memory in the `memories` tree: its id, then half a hash of it. */
export function memoryTreeKey(sha256: Sha256, id: Uint8Array): Uint8Array {
  const key = new Uint8Array(32);
  key.set(id, 0);
  key.set(domainHash(sha256, "memoryKey", id).subarray(0, 16), 16);
  return key;
}

/** The 16 bytes that stand for the far end in adjacency keys. */
export function farKey(sha256: Sha256, to: Uint8Array | FarName): Uint8Array {
  if (to instanceof Uint8Array) return to;
  return domainHash(sha256, "farEnd", encode([to.graph, to.name])).subarray(0, 16);
}

/** The canonical bytes of an edge's record. */
export function encodeEdgeRecord(
  edge: EdgeRecord,
  entry: { readonly at: number; readonly by: string },
): Uint8Array {
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
export function decodeEdgeRecord(
  bytes: Uint8Array,
  entry: { readonly at: number; readonly by: string },
): EdgeRecord {
  const at = asFields(decode(bytes), "edge record").at;
  return {
    id: bytes16(at[0]),
    from: bytes16(at[1]),
    kind: text(at[2]),
    to: decodeFarEnd(at[3]),
    n: int(at[4], 0),
    source: at[10] === undefined ? "user_input" : nameOf(SOURCES, at[10], "source"),
    createdAt: int(at[11], entry.at),
    createdBy: at[12] === undefined ? entry.by : text(at[12]),
    ...(typeof at[5] === "number" ? { weight: at[5] } : {}),
    ...(at[6] === undefined ? {} : { reason: text(at[6]) }),
    ...(at[7] === undefined ? {} : { strength: int(at[7], 0) }),
    ...(at[8] === undefined ? {} : { ordinal: int(at[8], 0) }),
    ...(at[9] === undefined ? {} : { metadata: at[9] as { readonly [key: string]: CborValue } }),
    ...(at[13] === undefined ? {} : { validFrom: int(at[13], 0) }),
    ...(at[14] === undefined ? {} : { validTo: int(at[14], 0) }),
    ...(at[15] === undefined ? {} : { tombstone: decodeTombstone(at[15]) }),
    ...(at[16] === true ? { asksReview: true } : {}),
    ...(at[17] === undefined ? {} : { origin: decodeOrigin(at[17]) }),
  };
}

function encodeFarEnd(to: Uint8Array | FarName): CborValue {
  return to instanceof Uint8Array ? to : [to.graph, to.name];
}

function decodeFarEnd(value: CborValue | undefined): Uint8Array | FarName {
  if (value instanceof Uint8Array) return bytes16(value);
  const [graph, name] = list(value);
  return { graph: text(graph), name: text(name) };
}

function bytes16(value: CborValue | undefined): Uint8Array {
  if (value instanceof Uint8Array && value.length === 16) return value;
  return asFields(undefined, "edge record: expected 16 bytes") as never;
}
