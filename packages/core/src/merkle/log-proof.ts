/**
 * Checking proofs of the log tree (RFC 9162 §2.1): that a leaf is in a log of a given size, and
 * that an older log is a prefix of a newer one.
 *
 * Promises: nothing is hashed before every size and length has been checked; a path must have
 * exactly the length that the sizes demand. A wrong shape throws `ERR_PROOF_MALFORMED`, a proof of
 * the right shape that does not hold throws `ERR_PROOF_INVALID`; a return means that it holds.
 *
 * Which roots and sizes to believe is left to the caller. Building is `log-tree.ts`.
 */
import { HASH_BYTES, logNodeHash, type Sha256 } from "../codec/hash.js";
import { CortexError, invalid } from "../errors.js";

/** What an inclusion proof says. Precondition: 0 <= index < size. */
export interface InclusionClaim {
  readonly leafHash: Uint8Array;
  readonly index: number;
  readonly size: number;
  /** The sibling hashes, from the leaf upward. */
  readonly path: readonly Uint8Array[];
}

/** What a consistency proof says. Precondition: 0 <= oldSize <= newSize. */
export interface ConsistencyClaim {
  readonly oldSize: number;
  readonly oldRoot: Uint8Array;
  readonly newSize: number;
  readonly newRoot: Uint8Array;
  readonly path: readonly Uint8Array[];
}

/** The root of the log of `size` leaves in which the leaf sits at `index`. */
export function rootFromInclusion(sha256: Sha256, claim: InclusionClaim): Uint8Array {
  const { leafHash, index, size, path } = claim;
  checkNumber("index", index, 0, Number.MAX_SAFE_INTEGER);
  checkNumber("size", size, index + 1, Number.MAX_SAFE_INTEGER);
  checkHash("leafHash", leafHash);
  checkPath(path, inclusionLength(index, size));
  let root = leafHash;
  let used = 0;
  walkUp(index, size - 1, (side) => {
    const sibling = pathItem(path, used++);
    root =
      side === "left" ? logNodeHash(sha256, sibling, root) : logNodeHash(sha256, root, sibling);
  });
  return root;
}

/** Returns if the leaf is in the log of that size and root. */
export function verifyInclusion(
  sha256: Sha256,
  claim: InclusionClaim & { readonly root: Uint8Array },
): void {
  checkHash("root", claim.root);
  requireSame("log root", rootFromInclusion(sha256, claim), claim.root);
}

/**
 * Returns if the log of `oldSize` leaves is a prefix of that of `newSize`. The empty log is a
 * prefix of every log, and its root is known, so that one is checked too.
 */
export function verifyConsistency(sha256: Sha256, claim: ConsistencyClaim): void {
  const { oldSize, oldRoot, newSize, newRoot, path } = claim;
  checkNumber("oldSize", oldSize, 0, Number.MAX_SAFE_INTEGER);
  checkNumber("newSize", newSize, oldSize, Number.MAX_SAFE_INTEGER);
  checkHash("oldRoot", oldRoot);
  checkHash("newRoot", newRoot);
  checkPath(path, consistencyLength(oldSize, newSize));
  if (oldSize === 0) requireSame("root of the empty log", sha256(new Uint8Array(0)), oldRoot);
  if (oldSize === newSize) requireSame("log root", newRoot, oldRoot);
  if (oldSize === 0 || oldSize === newSize) return;

  // The walk starts at the largest subtree that both logs share and that ends where the old one
  // ends.
  const shared = trailingOnes(oldSize - 1);
  const lastOld = Math.floor((oldSize - 1) / 2 ** shared);
  const lastNew = Math.floor((newSize - 1) / 2 ** shared);
  // When the old log is that very subtree its root is not repeated in the path.
  let used = 0;
  const seed = lastOld === 0 ? oldRoot : pathItem(path, used++);
  let fromOld = seed;
  let fromNew = seed;
  walkUp(lastOld, lastNew, (side) => {
    const sibling = pathItem(path, used++);
    if (side === "left") {
      fromOld = logNodeHash(sha256, sibling, fromOld);
      fromNew = logNodeHash(sha256, sibling, fromNew);
    } else {
      fromNew = logNodeHash(sha256, fromNew, sibling);
    }
  });
  requireSame("old log root", fromOld, oldRoot);
  requireSame("new log root", fromNew, newRoot);
}

/**
 * Goes from node `at` of a level whose last node is `last` to the root, and reports each sibling
 * met. A last node that is a left child has no sibling: it stands for itself one level up.
 */
function walkUp(at: number, last: number, onSibling: (side: "left" | "right") => void): void {
  // Halving by arithmetic, since bit operators stop at 32 bits.
  for (let node = at, end = last; end > 0; node = Math.floor(node / 2), end = Math.floor(end / 2)) {
    if (node % 2 === 1) onSibling("left");
    else if (node < end) onSibling("right");
  }
}

function inclusionLength(index: number, size: number): number {
  let length = 0;
  walkUp(index, size - 1, () => {
    length += 1;
  });
  return length;
}

function consistencyLength(oldSize: number, newSize: number): number {
  if (oldSize === 0 || oldSize === newSize) return 0;
  const shared = trailingOnes(oldSize - 1);
  const lastOld = Math.floor((oldSize - 1) / 2 ** shared);
  let length = lastOld === 0 ? 0 : 1;
  walkUp(lastOld, Math.floor((newSize - 1) / 2 ** shared), () => {
    length += 1;
  });
  return length;
}

function trailingOnes(value: number): number {
  let count = 0;
  for (let rest = value; rest % 2 === 1; rest = Math.floor(rest / 2)) count += 1;
  return count;
}

function checkNumber(field: string, value: number, least: number, most: number): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  throw invalid(field, `an integer from ${least} to ${most}`, value, "ERR_PROOF_MALFORMED");
}

function checkHash(field: string, value: Uint8Array): void {
  if (value instanceof Uint8Array && value.length === HASH_BYTES) return;
  throw invalid(field, `${HASH_BYTES} bytes`, value, "ERR_PROOF_MALFORMED");
}

function checkPath(path: readonly Uint8Array[], length: number): void {
  if (path.length !== length) {
    throw invalid("path", `${length} hashes`, path.length, "ERR_PROOF_MALFORMED");
  }
  path.forEach((hash, position) => {
    checkHash(`path[${position}]`, hash);
  });
}

function pathItem(path: readonly Uint8Array[], position: number): Uint8Array {
  const item = path[position];
  if (item === undefined) throw new Error("path length was checked and is wrong all the same");
  return item;
}

function requireSame(what: string, computed: Uint8Array, claimed: Uint8Array): void {
  for (let i = 0; i < HASH_BYTES; i++) {
    if (computed[i] !== claimed[i]) {
      throw new CortexError("ERR_PROOF_INVALID", `${what}: the proof gives another hash`);
    }
  }
}
