/**
 * What the journal keeps about scopes: that one was taken back, and that somebody reached for what a
 * scope does not allow. Hashes, ids and names of keys only; no word of a memory.
 */
import { decode, encode, fields } from "../codec/cbor.js";
import { readBytesOf, readMap, readText } from "../codec/cbor-read.js";
import { HASH_BYTES } from "../codec/hash.js";
import { ULID_BYTES } from "../codec/ulid.js";

/** That a scope holds no more. */
export interface Revocation {
  /** What the scope is known by. */
  readonly hash: Uint8Array;
  readonly reason: string;
}

/** The bytes of a revocation. */
export function revocationRecord({ hash, reason }: Revocation): Uint8Array {
  return encode(fields([1, hash, reason]));
}

/** Reads a revocation. */
export function readRevocation(bytes: Uint8Array): Revocation {
  const at = readMap(decode(bytes), "revocation");
  return {
    hash: readBytesOf(at[1], HASH_BYTES, "revocation hash"),
    reason: readText(at[2], "revocation reason"),
  };
}

/** That somebody reached for what a scope does not allow. */
export interface ViolationRecord {
  readonly grantedTo: string;
  readonly grantedBy: string;
  /** The memory that was reached for; `undefined` where none was named. */
  readonly id: Uint8Array | undefined;
  readonly reason: string;
  readonly mode: "read" | "write";
}

/** The bytes of a violation; zeros stand for no memory. */
export function violationRecord(violation: ViolationRecord): Uint8Array {
  const { grantedTo, grantedBy, id, reason, mode } = violation;
  return encode(fields([1, grantedTo, grantedBy, id ?? new Uint8Array(ULID_BYTES), reason, mode]));
}
