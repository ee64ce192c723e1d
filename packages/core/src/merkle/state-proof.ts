/**
 * The state tree as verifiers know it: the hash rules, the shape and bytes of a proof, and
 * checking.
 *
 * The tree is a path-compressed binary tree over 32-byte keys. A leaf commits to its key and value,
 * an inner node to the position of the bit it branches on (0 = highest bit of byte 0; a 0 goes
 * left):
 *
 *   leaf  = H("stateLeaf", key ‖ value)      inner = H("stateNode", u16 position ‖ left ‖ right)
 *   empty = H("stateEmpty")                  the root of a single key is its leaf
 *
 * A proof is the tree cut down to what the asked keys need: opened nodes, and the hashes of the
 * subtrees that were left closed. A key is shown absent by the leaf its search ends at.
 *
 * Why that convinces. The root fixes every opened node, with its position, by collision resistance,
 * and leaves cannot pass for inner nodes since their domains differ. Searching a key means taking
 * at each node the side its bit selects, so one root allows one search path per key, and it ends at
 * one leaf: of that key (present) or of another (absent). Both answers for one key would need two
 * different openings of one hash. What remains is a leaf put where its own search does not lead,
 * which could be "present" to a reader who looks at leaves and absent to one who searches; so
 * `checkStateProof` refuses proofs in which positions do not strictly increase downward, a leaf's
 * bits disagree with the sides taken, or two leaves differ above the node that parts them. In a
 * tree built by these rules none of that occurs.
 *
 * Bytes, in pre-order, one form for each proof. The low three bits of a node's first byte say what it
 * is: 0 the empty tree; 1 leaf: key, value; 2 inner, both sides open: left, right; 3 inner, left side
 * closed: its hash, right; 4 inner, right side closed: its hash, left; 5 leaf: the next *known* one.
 * The high five bits of an inner node count the positions between it and the inner node above it (at
 * the root, those before it); 31 stands for that many or more, and the position follows in one byte.
 * Nodes seldom lie far apart, and a proof of many keys is mostly inner nodes. All other nodes have 0.
 *
 * Known leaves are those whose key and value the reader has from elsewhere: in a proof document, from
 * the ids and records beside the state proof. The bytes name them in key order and say no more, which
 * saves 64 bytes each. There is still one form: every known leaf has its 05, and none has a 01.
 *
 * A wrong shape throws `ERR_PROOF_MALFORMED`, a proof that does not hold `ERR_PROOF_INVALID`.
 */

import { domainHash, HASH_BYTES, type Sha256 } from "../codec/hash.js";
import { equalBytes } from "../codec/keys.js";
import { CortexError, invalid } from "../errors.js";

/** Length of every key. */
export const STATE_KEY_BYTES = 32;
const KEY_BITS = STATE_KEY_BYTES * 8;

/** A key and its value. */
export interface StateLeaf {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** A leaf shown in full: a key that was asked for, or the witness of an absence. */
interface ProofLeaf extends StateLeaf {
  readonly kind: "leaf";
}

/** A subtree of which only the hash is shown. */
export interface ProofClosed {
  readonly kind: "closed";
  readonly hash: Uint8Array;
}

/** An opened inner node; at least one side is open. */
interface ProofInner {
  readonly kind: "inner";
  readonly bit: number;
  readonly left: ProofOpen | ProofClosed;
  readonly right: ProofOpen | ProofClosed;
}

/** A node that is shown. */
export type ProofOpen = ProofLeaf | ProofInner;

/** A proof about any number of keys against one root. */
export type StateProof = ProofOpen | { readonly kind: "empty" };

/** What a checked proof says about one key. */
type StateAnswer =
  | { readonly kind: "present"; readonly value: Uint8Array }
  | { readonly kind: "absent" }
  /** The proof does not reach this key; nothing is said. */
  | { readonly kind: "uncovered" };

/** A proof that held. */
interface CheckedState {
  readonly root: Uint8Array;
  /** What the proof says about a key of 32 bytes. */
  readonly lookup: (key: Uint8Array) => StateAnswer;
}

/** The hash of a leaf. */
export function stateLeafHash(sha256: Sha256, key: Uint8Array, value: Uint8Array): Uint8Array {
  return domainHash(sha256, "stateLeaf", key, value);
}

/** Reused input for a position: hashing copies it before anybody can change it. */
const positionBytes = new Uint8Array(2);

/** The hash of an inner node that branches on bit `bit`, 0 <= bit < 256. */
export function stateNodeHash(
  sha256: Sha256,
  bit: number,
  left: Uint8Array,
  right: Uint8Array,
): Uint8Array {
  positionBytes[0] = bit >> 8;
  positionBytes[1] = bit & 0xff;
  return domainHash(sha256, "stateNode", positionBytes, left, right);
}

/** The root of the tree without keys. */
export function stateEmptyHash(sha256: Sha256): Uint8Array {
  return domainHash(sha256, "stateEmpty");
}

/**
 * Checks a proof against a trusted root; what it returns can be believed as far as the root can.
 */
export function checkStateProof(sha256: Sha256, proof: StateProof, root: Uint8Array): CheckedState {
  checkLength("root", root, HASH_BYTES);
  const checked = stateFromProof(sha256, proof);
  if (!equalBytes(checked.root, root)) {
    throw new CortexError("ERR_PROOF_INVALID", "state proof: it leads to another root");
  }
  return checked;
}

/**
 * Checks a proof's own rules and gives the root it leads to; whether to believe that is left open.
 */
export function stateFromProof(sha256: Sha256, proof: StateProof): CheckedState {
  const root = proof.kind === "empty" ? stateEmptyHash(sha256) : hashOpen(sha256, proof, -1).hash;
  return { root, lookup: (key) => lookup(proof, key) };
}

/**
 * The one encoding of a proof for a reader who knows the leaves `known`, strictly ascending by key.
 */
export function encodeStateProof(proof: StateProof, known: readonly StateLeaf[] = []): Uint8Array {
  const leaves = { known, used: 0 };
  const pieces: Uint8Array[] = [];
  if (proof.kind === "empty") pieces.push(Uint8Array.of(TAG.empty));
  else writeOpen(proof, -1, { pieces, leaves });
  checkAllUsed(leaves);
  const bytes = new Uint8Array(pieces.reduce((total, piece) => total + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/**
 * Reads a proof that was encoded for the same `known` leaves, strictly ascending by key; anything but
 * the one encoding is refused, trailing bytes and known leaves without a place included.
 */
export function decodeStateProof(bytes: Uint8Array, known: readonly StateLeaf[] = []): StateProof {
  const leaves = { known, used: 0 };
  const cursor = { bytes, at: 0, leaves };
  const isEmpty = bytes.length === 1 && bytes[0] === TAG.empty;
  const proof: StateProof = isEmpty ? { kind: "empty" } : readOpen(cursor, -1);
  if (!isEmpty && cursor.at !== bytes.length) {
    throw malformed(`${bytes.length - cursor.at} bytes follow the proof`);
  }
  checkAllUsed(leaves);
  return proof;
}

/** Bit `bit` of a key; 0 is the highest of byte 0. */
export function keyBit(key: Uint8Array, bit: number): 0 | 1 {
  return (((key[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1) as 0 | 1;
}

const TAG = {
  empty: 0,
  leaf: 1,
  bothOpen: 2,
  leftClosed: 3,
  rightClosed: 4,
  knownLeaf: 5,
} as const;
const TAG_BITS = 3;
const TAG_MASK = 0b111;
/** As many positions skipped as a first byte cannot count. */
const FAR = 31;

/** The leaves a reader knows, and how many of them have had their place. */
interface KnownLeaves {
  readonly known: readonly StateLeaf[];
  used: number;
}

/** The hash of an opened subtree and one key in it; by the rules any of its keys stands for all. */
interface Hashed {
  readonly hash: Uint8Array;
  readonly key: Uint8Array;
}

function hashOpen(sha256: Sha256, node: ProofOpen, above: number): Hashed {
  if (node.kind === "leaf") {
    checkLeaf(node);
    return { hash: stateLeafHash(sha256, node.key, node.value), key: node.key };
  }
  checkPosition(node.bit, above);
  if (node.left.kind === "closed" && node.right.kind === "closed") throw bothClosed();
  const left = hashSide(sha256, node, "left");
  const right = hashSide(sha256, node, "right");
  if (left.key !== undefined && right.key !== undefined) {
    // All keys below agree up to this node's bit, so comparing one of each side compares all.
    if (firstDifference(left.key, right.key) !== node.bit) {
      throw misplaced(`the two sides of position ${node.bit} differ elsewhere`);
    }
  }
  const key = left.key ?? right.key;
  if (key === undefined) throw bothClosed();
  return { hash: stateNodeHash(sha256, node.bit, left.hash, right.hash), key };
}

function hashSide(
  sha256: Sha256,
  node: ProofInner,
  side: "left" | "right",
): { readonly hash: Uint8Array; readonly key: Uint8Array | undefined } {
  const child = node[side];
  if (child.kind === "closed") {
    checkLength("hash", child.hash, HASH_BYTES);
    return { hash: child.hash, key: undefined };
  }
  const hashed = hashOpen(sha256, child, node.bit);
  if (keyBit(hashed.key, node.bit) !== (side === "left" ? 0 : 1)) {
    throw misplaced(`a leaf stands on the ${side} of position ${node.bit} against its own bit`);
  }
  return hashed;
}

function lookup(proof: StateProof, key: Uint8Array): StateAnswer {
  if (key.length !== STATE_KEY_BYTES) throw invalid("key", `${STATE_KEY_BYTES} bytes`, key);
  let node: StateProof | ProofClosed = proof;
  while (node.kind === "inner") node = keyBit(key, node.bit) === 0 ? node.left : node.right;
  switch (node.kind) {
    case "closed":
      return { kind: "uncovered" };
    case "empty":
      return { kind: "absent" };
    case "leaf":
      return equalBytes(node.key, key)
        ? { kind: "present", value: node.value }
        : { kind: "absent" };
  }
}

interface Output {
  readonly pieces: Uint8Array[];
  readonly leaves: KnownLeaves;
}

function writeOpen(node: ProofOpen, above: number, output: Output): void {
  const { pieces } = output;
  if (node.kind === "leaf") {
    writeLeaf(node, output);
    return;
  }
  const { bit, left, right } = node;
  checkPosition(bit, above);
  if (left.kind === "closed") {
    if (right.kind === "closed") throw bothClosed();
    checkLength("hash", left.hash, HASH_BYTES);
    pieces.push(innerStart(TAG.leftClosed, bit, above), left.hash);
    writeOpen(right, bit, output);
  } else if (right.kind === "closed") {
    checkLength("hash", right.hash, HASH_BYTES);
    pieces.push(innerStart(TAG.rightClosed, bit, above), right.hash);
    writeOpen(left, bit, output);
  } else {
    pieces.push(innerStart(TAG.bothOpen, bit, above));
    writeOpen(left, bit, output);
    writeOpen(right, bit, output);
  }
}

function innerStart(tag: number, bit: number, above: number): Uint8Array {
  const skipped = bit - above - 1;
  if (skipped < FAR) return Uint8Array.of(tag | (skipped << TAG_BITS));
  return Uint8Array.of(tag | (FAR << TAG_BITS), bit);
}

function writeLeaf(leaf: ProofLeaf, { pieces, leaves }: Output): void {
  checkLeaf(leaf);
  if (!isNext(leaves, leaf.key)) {
    pieces.push(Uint8Array.of(TAG.leaf), leaf.key, leaf.value);
    return;
  }
  if (!equalBytes(nextKnown(leaves).value, leaf.value)) {
    throw malformed("a known leaf has another value than the tree");
  }
  pieces.push(Uint8Array.of(TAG.knownLeaf));
}

interface Cursor {
  readonly bytes: Uint8Array;
  readonly leaves: KnownLeaves;
  at: number;
}

/** Recursion is bounded by 256, since positions strictly increase. */
function readOpen(cursor: Cursor, above: number): ProofOpen {
  const start = take(cursor, 1)[0] ?? 0;
  const tag = start & TAG_MASK;
  const isLeaf = tag === TAG.leaf || tag === TAG.knownLeaf;
  if (isLeaf && start !== tag) throw malformed(`a leaf has a position at byte ${cursor.at - 1}`);
  if (tag === TAG.knownLeaf) return { kind: "leaf", ...nextKnown(cursor.leaves) };
  if (tag === TAG.leaf) {
    const key = take(cursor, STATE_KEY_BYTES);
    if (isNext(cursor.leaves, key)) throw malformed("a known leaf is spelled out");
    return { kind: "leaf", key, value: take(cursor, HASH_BYTES) };
  }
  if (tag !== TAG.bothOpen && tag !== TAG.leftClosed && tag !== TAG.rightClosed) {
    throw malformed(`${tag} at byte ${cursor.at - 1} is no kind of node`);
  }
  const bit = readPosition(cursor, start >> TAG_BITS, above);
  if (tag === TAG.bothOpen) {
    const left = readOpen(cursor, bit);
    return { kind: "inner", bit, left, right: readOpen(cursor, bit) };
  }
  const closed: ProofClosed = { kind: "closed", hash: take(cursor, HASH_BYTES) };
  const open = readOpen(cursor, bit);
  return tag === TAG.leftClosed
    ? { kind: "inner", bit, left: closed, right: open }
    : { kind: "inner", bit, left: open, right: closed };
}

function readPosition(cursor: Cursor, skipped: number, above: number): number {
  const near = above + 1 + skipped;
  const bit = skipped < FAR ? near : (take(cursor, 1)[0] ?? -1);
  checkPosition(bit, above);
  if (bit < near) throw malformed(`position ${bit} is spelled out, but near`);
  return bit;
}

/** A copy (`slice` of a Node buffer is none), so that the proof outlives the bytes it came from. */
function take(cursor: Cursor, count: number): Uint8Array {
  const end = cursor.at + count;
  if (end > cursor.bytes.length) throw malformed(`it ends within a node at byte ${cursor.at}`);
  const piece = new Uint8Array(cursor.bytes.subarray(cursor.at, end));
  cursor.at = end;
  return piece;
}

/**
 * Whether a key is that of the next known leaf. Comparing with the next alone is enough: leaves come
 * in key order in every proof that holds, and one that repeats a key further on does not.
 */
function isNext({ known, used }: KnownLeaves, key: Uint8Array): boolean {
  const next = known[used];
  return next !== undefined && equalBytes(next.key, key);
}

function nextKnown(leaves: KnownLeaves): StateLeaf {
  const leaf = leaves.known[leaves.used];
  if (leaf === undefined) throw malformed("it names more leaves than are known");
  leaves.used += 1;
  checkLeaf(leaf);
  return { key: leaf.key, value: leaf.value };
}

function checkAllUsed({ known, used }: KnownLeaves): void {
  if (used === known.length) return;
  throw malformed(`${known.length - used} of ${known.length} known leaves have no place in it`);
}

function firstDifference(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < STATE_KEY_BYTES; i++) {
    const difference = (a[i] ?? 0) ^ (b[i] ?? 0);
    if (difference !== 0) return i * 8 + Math.clz32(difference) - 24;
  }
  return KEY_BITS;
}

function checkLeaf(leaf: StateLeaf): void {
  checkLength("key", leaf.key, STATE_KEY_BYTES);
  checkLength("value", leaf.value, HASH_BYTES);
}

function checkPosition(bit: number, above: number): void {
  if (Number.isInteger(bit) && bit > above && bit < KEY_BITS) return;
  throw malformed(`position ${bit} does not lie between ${above} and ${KEY_BITS}`);
}

function checkLength(field: string, bytes: Uint8Array, length: number): void {
  if (bytes instanceof Uint8Array && bytes.length === length) return;
  throw invalid(`state proof: ${field}`, `${length} bytes`, bytes, "ERR_PROOF_MALFORMED");
}

function malformed(what: string): CortexError {
  return new CortexError("ERR_PROOF_MALFORMED", `state proof: ${what}`);
}

function bothClosed(): CortexError {
  return malformed("an inner node with both sides closed says nothing");
}

function misplaced(what: string): CortexError {
  return new CortexError("ERR_PROOF_INVALID", `state proof: ${what}`);
}
