/**
 * Where a memory and an edge stand in their state trees, as verifiers compute it: the id of the
 * memory, or of the edge's source, and then half a hash, so that keys keep the order of ids.
 * `records/edge-record.ts` states the same for records; a test holds the two against each other.
 */
import { type CborValue, encode } from "../codec/cbor.js";
import { domainHash, type Sha256 } from "../codec/hash.js";
import { STATE_KEY_BYTES } from "./state-proof.js";

const HALF = STATE_KEY_BYTES / 2;

/** The key of a memory in the tree `memories`. `id.length` is 16. */
export function memoryStateKey(sha256: Sha256, id: Uint8Array): Uint8Array {
  return joined(id, domainHash(sha256, "memoryKey", id));
}

/** What tells an edge from every other. */
export interface EdgeIdentityValues {
  /** 16 bytes. */
  readonly from: Uint8Array;
  /** The kind's canonical name. */
  readonly kind: string;
  /** The far end as records have it: 16 bytes, or a graph and a name. */
  readonly to: CborValue;
  readonly n: number;
}

/** The key of an edge in the tree `edges`. */
export function edgeStateKey(sha256: Sha256, edge: EdgeIdentityValues): Uint8Array {
  const { from, kind, to, n } = edge;
  return joined(from, domainHash(sha256, "edgeKey", encode([from, kind, to, n])));
}

function joined(id: Uint8Array, hash: Uint8Array): Uint8Array {
  if (id.length !== HALF) throw new Error(`an id has ${HALF} bytes, not ${id.length}`);
  const key = new Uint8Array(STATE_KEY_BYTES);
  key.set(id, 0);
  key.set(hash.subarray(0, HALF), HALF);
  return key;
}
