/** SHA-256 by Node's own library: the engine's hash function. `./verify` uses the pure one. */
import { hash } from "node:crypto";

/** One-shot SHA-256. */
export function sha256Node(data: Uint8Array): Uint8Array {
  return hash("sha256", data, "buffer");
}
