/**
 * Hashes and signatures by Node's own library, handed to everything else as arguments: SHA-256 for the engine
 * (`./verify` uses the pure one), Ed25519 for checking signatures, and for signing by whoever holds a key
 * outside of every store. Keys are raw: 32 bytes public, 32 bytes of seed private.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  hash,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { HASH_BYTES, type Hasher } from "./hash.js";
import { cutBytes } from "./slab.js";

/**
 * One-shot SHA-256. The digest is asked for as text and written into a slab: asking for a buffer gives each digest
 * memory of its own. Of 84 bytes a hash object takes 1,070 ns, a buffer 635, this 325, and 390 with the
 * platform's writer in the place of the loop.
 */
export function sha256Node(data: Uint8Array): Uint8Array {
  const text = hash("sha256", data, "binary");
  const digest = cutBytes(HASH_BYTES);
  for (let at = 0; at < HASH_BYTES; at += 1) digest[at] = text.charCodeAt(at);
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

/** Whether a signature is a public key's over a message. */
export type VerifyEd25519 = (
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
) => boolean;

/** Bytes of a key, public or seed. */
const ED25519_KEY_BYTES = 32;

/** Bytes of a signature. */
const ED25519_SIGNATURE_BYTES = 64;

/** What stands before the raw bytes in the forms that Node reads (RFC 8410). */
const PUBLIC_PREFIX = Buffer.from("302a300506032b6570032100", "hex");
const PRIVATE_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** Checks a signature; bytes that are no key or no signature are simply not valid. */
export const verifyEd25519Node: VerifyEd25519 = (publicKey, message, signature) => {
  const isShaped =
    publicKey.length === ED25519_KEY_BYTES && signature.length === ED25519_SIGNATURE_BYTES;
  if (!isShaped) return false;
  try {
    const der = Buffer.concat([PUBLIC_PREFIX, publicKey]);
    const key = createPublicKey({ key: der, format: "der", type: "spki" });
    return verify(null, message, key, signature);
  } catch {
    // Not a point of the curve.
    return false;
  }
};

/** Whoever signs: the public key, and signatures by the one that belongs to it. */
export interface Ed25519Signer {
  readonly publicKey: Uint8Array;
  sign(message: Uint8Array): Uint8Array;
}

/** The signer of a seed; 32 random bytes are a good one. */
export function signerOf(seed: Uint8Array): Ed25519Signer {
  const key = privateKeyOf(seed);
  const der = createPublicKey(key).export({ format: "der", type: "spki" });
  return {
    publicKey: new Uint8Array(der.subarray(PUBLIC_PREFIX.length)),
    sign: (message) => new Uint8Array(sign(null, message, key)),
  };
}

function privateKeyOf(seed: Uint8Array): KeyObject {
  if (seed.length !== ED25519_KEY_BYTES) {
    throw new RangeError(`seed: expected ${ED25519_KEY_BYTES} bytes, got ${seed.length}`);
  }
  const der = Buffer.concat([PRIVATE_PREFIX, seed]);
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
}
