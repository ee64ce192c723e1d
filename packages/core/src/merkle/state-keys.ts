/**
 * Where a memory and an edge stand in their state trees, and the one hash over everything.
 *
 * A key is the id of the memory, or of the edge's source, and then half a hash, so that keys keep the order of ids. The
 * hash over everything commits to the schema, the genesis entry, the journal, and each state tree by name. Pure;
 * verifiers use it too.
 */
import { type CborValue, encode } from "../codec/cbor.js";
import { domainHash, HASH_BYTES, type Sha256 } from "../codec/hash.js";
import { concatBytes } from "../codec/keys.js";
import { cutBytes } from "../codec/slab.js";
import { STATE_KEY_BYTES } from "./state-proof.js";

const HALF = STATE_KEY_BYTES / 2;

/** The key of a memory in the tree `memories`. `id.length` is 16. */
export function memoryStateKey(sha256: Sha256, id: Uint8Array): Uint8Array {
  return joined(id, domainHash(sha256, "memoryKey", id));
}

/** What tells an edge from every other. */
interface EdgeIdentityValues {
  /** 16 bytes. */
  readonly from: Uint8Array;
  /** The kind's canonical name. */
  readonly kind: string;
  /** The far end as records have it: 16 bytes, or a graph and a name. */
  readonly to: CborValue;
  readonly n: number;
}

/** The key of an edge in the tree `edges`. */
export function edgeStateKey(sha256: Sha256, edge: EdgeIdentityValues): Uint8Array {
  const { from, kind, to, n } = edge;
  return joined(from, domainHash(sha256, "edgeKey", encode([from, kind, to, n])));
}

function joined(id: Uint8Array, hash: Uint8Array): Uint8Array {
  if (id.length !== HALF) throw new Error(`an id has ${HALF} bytes, not ${id.length}`);
  const key = cutBytes(STATE_KEY_BYTES);
  for (let at = 0; at < HALF; at += 1) {
    key[at] = id[at] as number;
    key[HALF + at] = hash[at] as number;
  }
  return key;
}

/** The schema of `overallRoot`. */
const ROOT_SCHEMA = 1;

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
