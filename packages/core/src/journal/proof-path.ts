/**
 * The way from one memory of a proof to the root over everything, hash by hash, for whoever wants to see
 * it and not only be told: the leaf, at each step the hash it meets and what the two make, the root of
 * the tree, and the roots that make the one root.
 *
 * Promises: every hash is computed here from the proof's own bytes, and the last one of the way is the
 * root that the proof's checkpoint states; otherwise there is no way. It says nothing about whether to
 * believe that checkpoint: that is `verify`.
 */

import { toHex } from "../codec/keys.js";
import { sha256Pure } from "../codec/sha256-pure.js";
import { parseUlid } from "../codec/ulid.js";
import { isCortexError } from "../errors.js";
import { memoryStateKey } from "../merkle/state-keys.js";
import {
  decodeStateProof,
  keyBit,
  type ProofClosed,
  type ProofOpen,
  stateFromProof,
  stateLeafHash,
  stateNodeHash,
} from "../merkle/state-proof.js";
import { parseCheckpoint } from "./checkpoint.js";
import { partHash } from "./entry.js";
import { decodeProof, type Proof, type ProofDocument, proofBytes } from "./proof.js";

/** Two hashes that meet. */
export interface PathStep {
  /** On which side the other hash stands. */
  readonly side: "left" | "right";
  /** The hash that is met, in hex. */
  readonly other: string;
  /** What both make, in hex. */
  readonly hash: string;
}

/** From a memory to the root. */
export interface ProofPath {
  /** The hash of the memory's leaf, in hex. */
  readonly leaf: string;
  /** From the leaf upward. */
  readonly steps: readonly PathStep[];
  /** The root of all memories, in hex: where the steps lead. */
  readonly memories: string;
  /** The other roots that make the one root, in hex. */
  readonly journal: string;
  readonly edges: string;
  readonly genesis: string;
  /** The root over everything, in hex. */
  readonly root: string;
}

/** The way of one memory, by its id; `undefined` where a proof does not show that it is there. */
export function proofPath(proof: Proof | Uint8Array | string, id: string): ProofPath | undefined {
  try {
    return pathIn(decodeProof(proofBytes(proof)), id);
  } catch (error) {
    if (isCortexError(error)) return undefined;
    throw error;
  }
}

function pathIn({ memories, checkpoint }: ProofDocument, id: string): ProofPath | undefined {
  const sought = parseUlid(id);
  if (memories === undefined || sought === undefined) return undefined;
  const known = memories.items.flatMap(({ id: one, part }) =>
    part === undefined
      ? []
      : [{ key: memoryStateKey(sha256Pure, one), value: partHash(sha256Pure, part) }],
  );
  const state = decodeStateProof(memories.state, known);
  if (state.kind === "empty") return undefined;
  const key = memoryStateKey(sha256Pure, sought);
  const way = climb(state, key);
  const { roots, overall } = parseCheckpoint(sha256Pure, checkpoint);
  const root = toHex(roots.trees.memories);
  if (way === undefined || toHex(way.hash) !== root) return undefined;
  return {
    leaf: way.leaf,
    steps: way.steps,
    memories: root,
    journal: toHex(roots.journal),
    edges: toHex(roots.trees.edges),
    genesis: toHex(roots.genesis),
    root: toHex(overall),
  };
}

interface Way {
  readonly leaf: string;
  readonly steps: readonly PathStep[];
  readonly hash: Uint8Array;
}

/** From the leaf of a key up to the top of a subtree; recursion is bounded by the bits of a key. */
function climb(node: ProofOpen | ProofClosed, key: Uint8Array): Way | undefined {
  if (node.kind === "closed") return undefined;
  if (node.kind === "leaf") {
    if (toHex(node.key) !== toHex(key)) return undefined;
    const hash = stateLeafHash(sha256Pure, node.key, node.value);
    return { leaf: toHex(hash), steps: [], hash };
  }
  const isLeft = keyBit(key, node.bit) === 0;
  const below = climb(isLeft ? node.left : node.right, key);
  if (below === undefined) return undefined;
  const other = hashOf(isLeft ? node.right : node.left);
  const hash = isLeft
    ? stateNodeHash(sha256Pure, node.bit, below.hash, other)
    : stateNodeHash(sha256Pure, node.bit, other, below.hash);
  const step = { side: isLeft ? "right" : "left", other: toHex(other), hash: toHex(hash) } as const;
  return { leaf: below.leaf, steps: [...below.steps, step], hash };
}

function hashOf(node: ProofOpen | ProofClosed): Uint8Array {
  return node.kind === "closed" ? node.hash : stateFromProof(sha256Pure, node).root;
}
