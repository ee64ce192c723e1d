/** SHA-256 without Node: what verifiers and remote clients use, in a browser as well. */
import { sha256 } from "@noble/hashes/sha2.js";
import type { Hasher } from "./hash.js";

export { sha256 as sha256Pure } from "@noble/hashes/sha2.js";

/** A hash over bytes that come one after another. */
export function hasherPure(): Hasher {
  const state = sha256.create();
  return {
    update(bytes) {
      state.update(bytes);
    },
    digest: () => state.digest(),
  };
}
