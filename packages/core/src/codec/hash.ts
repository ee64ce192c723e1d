/**
 * Domain-separated SHA-256. Every hash Cortex computes is made here or by the two rules of
 * RFC 9162 (`logLeafHash`, `logNodeHash`), so that bytes of one purpose never pass for another.
 *
 * The hash function itself is an argument: Node's for the engine, a pure one for verifiers.
 */

/** SHA-256 over bytes. */
export type Sha256 = (data: Uint8Array) => Uint8Array;

/** SHA-256 over bytes that come in pieces. */
export interface Hasher {
  update(bytes: Uint8Array): void;
  /** The hash of everything so far; the hasher is spent. */
  digest(): Uint8Array;
}

/** Length of every hash. */
export const HASH_BYTES = 32;

/** The purposes, each with the ASCII text that opens its input. Fixed for format 1. */
export const DOMAINS = {
  part: "cortex.part.v1",
  memoryKey: "cortex.key.memory.v1",
  edgeKey: "cortex.key.edge.v1",
  stateLeaf: "cortex.state.leaf.v1",
  stateNode: "cortex.state.node.v1",
  stateEmpty: "cortex.state.empty.v1",
  overall: "cortex.overall.v1",
  fingerprint: "cortex.fingerprint.v1",
  idempotencyKey: "cortex.idempotency.key.v1",
  idempotencyRequest: "cortex.idempotency.request.v1",
  farEnd: "cortex.far-end.v1",
  actorName: "cortex.actor-name.v1",
  lineage: "cortex.lineage.v1",
  vectorModel: "cortex.vector.model.v1",
  vectorText: "cortex.vector.text.v1",
  contextRecord: "cortex.context-record.v1",
  query: "cortex.query.v1",
  scope: "cortex.scope.v1",
} as const;

/** A purpose of hashing. */
export type Domain = keyof typeof DOMAINS;

const encoder = new TextEncoder();
const PREFIX: Readonly<Record<Domain, Uint8Array>> = Object.fromEntries(
  Object.entries(DOMAINS).map(([name, text]) => [name, encoder.encode(text)]),
) as Record<Domain, Uint8Array>;

/** Reused input buffer: an input is copied once, into memory that is already warm. */
let scratch = new Uint8Array(4096);
/** Views of its first n bytes; the short lengths recur millions of times. */
let starts: Uint8Array[] = [];
const STARTS_KEPT = 512;

function gather(total: number): Uint8Array {
  if (scratch.length < total) {
    scratch = new Uint8Array(total * 2);
    starts = [];
  }
  return scratch;
}

function gathered(total: number): Uint8Array {
  if (total >= STARTS_KEPT) return scratch.subarray(0, total);
  const known = starts[total];
  if (known !== undefined) return known;
  const start = scratch.subarray(0, total);
  starts[total] = start;
  return start;
}

/** The hash of a purpose over the concatenation of `parts`. */
export function domainHash(
  sha256: Sha256,
  domain: Domain,
  ...parts: readonly Uint8Array[]
): Uint8Array {
  const prefix = PREFIX[domain];
  let total = prefix.length;
  for (const part of parts) total += part.length;
  const buffer = gather(total);
  buffer.set(prefix, 0);
  let at = prefix.length;
  for (const part of parts) {
    buffer.set(part, at);
    at += part.length;
  }
  return sha256(gathered(total));
}

/** RFC 9162 §2.1.1: the hash of a log leaf. */
export function logLeafHash(sha256: Sha256, data: Uint8Array): Uint8Array {
  const buffer = gather(data.length + 1);
  buffer[0] = 0;
  buffer.set(data, 1);
  return sha256(gathered(data.length + 1));
}

/** RFC 9162 §2.1.1: the hash of an inner node of the log tree. */
export function logNodeHash(sha256: Sha256, left: Uint8Array, right: Uint8Array): Uint8Array {
  const buffer = gather(1 + 2 * HASH_BYTES);
  buffer[0] = 1;
  buffer.set(left, 1);
  buffer.set(right, 1 + HASH_BYTES);
  return sha256(gathered(1 + 2 * HASH_BYTES));
}
