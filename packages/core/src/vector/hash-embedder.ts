/**
 * An embedder without a model: the vector of a text is made from its hash. Equal texts get equal
 * vectors, and that is all they say. It serves tests and examples, which must not need a network.
 *
 * Promise: the same bytes on every machine. The first block is SHA-256 of `hash-stub.v1`, the salt
 * and the text; every next one is the hash of the block before. A block gives eight big-endian 32-bit
 * numbers, each turned into `n / 2^31 - 1`; the whole is then brought to unit length. The model is
 * `hash-stub@` and the first 8 hex digits of SHA-256 over `hash-stub.v1`, the dimensions (8 bytes,
 * big-endian) and the salt.
 */

import { HASH_BYTES } from "../codec/hash.js";
import { concatBytes, keyOf, readU32, toHex } from "../codec/keys.js";
import { sha256Pure } from "../codec/sha256-pure.js";
import { utf8 } from "../codec/text.js";
import { unitVector } from "./distance.js";
import { checkDimensions, type Embedder } from "./embedder.js";

/** How the stub is made. */
export interface HashEmbedderOptions {
  /** 768 unless given. */
  readonly dimensions?: number;
  /** Makes another space of the same width. */
  readonly salt?: string;
}

const NAME = utf8("hash-stub.v1");
const DIMENSIONS_DEFAULT = 768;
const TWO_31 = 2 ** 31;

/** Makes the stub. */
export function hashEmbedder(options: HashEmbedderOptions = {}): Embedder {
  const dimensions = checkDimensions(options.dimensions ?? DIMENSIONS_DEFAULT, "dimensions");
  const salt = utf8(options.salt ?? "");
  // A key of one byte and a u64, without the byte: the eight bytes of the number.
  const width = keyOf(0).u64(dimensions).end().subarray(1);
  const digest = toHex(sha256Pure(concatBytes(NAME, width, salt))).slice(0, 8);
  return {
    model: `hash-stub@${digest}`,
    dimensions,
    embed: async (texts) => texts.map((text) => hashVector(utf8(text), salt, dimensions)),
  };
}

function hashVector(text: Uint8Array, salt: Uint8Array, dimensions: number): Float32Array {
  const raw = new Float32Array(dimensions);
  let block = sha256Pure(concatBytes(NAME, salt, text));
  for (let at = 0; at < dimensions; at += 1) {
    const offset = (4 * at) % HASH_BYTES;
    if (at > 0 && offset === 0) block = sha256Pure(block);
    raw[at] = readU32(block, offset) / TWO_31 - 1;
  }
  // One number alone may be a zero; its direction is then as good as any other.
  return unitVector(raw) ?? Float32Array.from(raw, (_, at) => (at === 0 ? 1 : 0));
}
