/**
 * The seed of a compiler run that depends on a memory: the same intent, actor, root and digests give
 * the same seed, anything else another. Pure.
 */
import { HASH_BYTES } from "../codec/hash.js";
import { concatBytes, fromHex } from "../codec/keys.js";
import { sha256Pure } from "../codec/sha256-pure.js";
import { utf8 } from "../codec/text.js";
import { invalid } from "../errors.js";

/** What a seed is made from. Hashes are 32 bytes, or their 64 hex digits. */
export interface SeedInput {
  /** The id of the intent. */
  readonly intent: string;
  readonly actor: string;
  /** The root over everything, as `root` gives it. */
  readonly root: string | Uint8Array;
  readonly mtxDigest: string | Uint8Array;
  readonly modelDigest: string | Uint8Array;
}

/** SHA-256 over intent id ‖ actor ‖ root ‖ mtx digest ‖ model digest: 32 bytes. */
export function deriveSeed(input: SeedInput): Uint8Array {
  const { intent, actor } = input;
  if (typeof intent !== "string" || intent === "") throw invalid("intent", "an id", intent);
  if (typeof actor !== "string" || actor === "") throw invalid("actor", "a name", actor);
  // Plain concatenation, as the reference has it; the hashes at the end have fixed lengths.
  return sha256Pure(
    concatBytes(
      utf8(intent),
      utf8(actor),
      hashOf(input.root, "root"),
      hashOf(input.mtxDigest, "mtxDigest"),
      hashOf(input.modelDigest, "modelDigest"),
    ),
  );
}

function hashOf(value: string | Uint8Array, field: string): Uint8Array {
  const bytes = typeof value === "string" ? fromHex(value) : value;
  if (bytes instanceof Uint8Array && bytes.length === HASH_BYTES) return bytes;
  throw invalid(field, `${HASH_BYTES} bytes, or their hex digits`, value);
}
