/** SHA-256 by Node's own library: the engine's hash function. `./verify` uses the pure one. */
import { createHash, hash } from "node:crypto";
import { HASH_BYTES, type Hasher } from "./hash.js";
import { cutBytes } from "./slab.js";

/** Node's writer of one-byte characters, usable on any byte array. */
const { latin1Write } = Buffer.prototype as unknown as {
  readonly latin1Write: (this: Uint8Array, text: string, at: number, length: number) => number;
};

/**
 * One-shot SHA-256. The digest is asked for as text and written into a slab: asking for a buffer
 * gives each digest memory of its own, and took 2.0 microseconds instead of 0.46.
 */
export function sha256Node(data: Uint8Array): Uint8Array {
  const digest = cutBytes(HASH_BYTES);
  latin1Write.call(digest, hash("sha256", data, "binary"), 0, HASH_BYTES);
  return digest;
}

/** SHA-256 over bytes that come in pieces. */
export function hasherNode(): Hasher {
  const state = createHash("sha256");
  return {
    update: (bytes) => void state.update(bytes),
    digest: () => state.digest(),
  };
}
