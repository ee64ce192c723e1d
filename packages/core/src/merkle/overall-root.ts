/**
 * The one hash over everything: schema, the genesis entry, the journal, and each state tree by name.
 * Pure; verifiers use it too.
 */

import { domainHash, HASH_BYTES, type Sha256 } from "../codec/hash.js";
import { concatBytes } from "../codec/keys.js";

/** The schema of `overallRoot`. */
export const ROOT_SCHEMA = 1;

/** The roots that are committed to, at one journal size. */
export interface Roots {
  /** The leaf hash of entry 0: which store this is. */
  readonly genesis: Uint8Array;
  readonly journal: Uint8Array;
  readonly trees: { readonly edges: Uint8Array; readonly memories: Uint8Array };
}

const encoder = new TextEncoder();

/** SHA-256 over schema ‖ genesis ‖ journal root ‖ number of trees ‖ (name length ‖ name ‖ root)…. */
export function overallRoot(sha256: Sha256, roots: Roots): Uint8Array {
  const names = Object.keys(roots.trees).sort() as (keyof Roots["trees"])[];
  const trees = names.flatMap((name) => {
    const text = encoder.encode(name);
    return [Uint8Array.of(text.length), text, roots.trees[name]];
  });
  for (const hash of [roots.genesis, roots.journal, ...Object.values(roots.trees)]) {
    if (hash.length !== HASH_BYTES) throw new Error("a root is 32 bytes");
  }
  const count = Uint8Array.of(names.length >> 8, names.length & 0xff);
  const input = concatBytes(
    Uint8Array.of(ROOT_SCHEMA),
    roots.genesis,
    roots.journal,
    count,
    ...trees,
  );
  return domainHash(sha256, "overall", input);
}
