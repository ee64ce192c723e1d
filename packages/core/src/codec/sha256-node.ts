/** SHA-256 by Node's own library: the engine's hash function. `./verify` uses the pure one. */
import { createHash, hash } from "node:crypto";
import type { Hasher } from "./hash.js";

/** One-shot SHA-256. */
export function sha256Node(data: Uint8Array): Uint8Array {
  return hash("sha256", data, "buffer");
}

/** SHA-256 in pieces. */
export function hasherNode(): Hasher {
  const state = createHash("sha256");
  return {
    update: (bytes) => void state.update(bytes),
    digest: () => state.digest(),
  };
}
