/** Checking log proofs: true ones of all small sizes hold, and each way of lying is refused. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HASH_BYTES, logLeafHash } from "../codec/hash.js";
import { sha256Node as sha256 } from "../codec/node-crypto.js";
import { sha256Pure } from "../codec/sha256-pure.js";
import {
  type ConsistencyClaim,
  type InclusionClaim,
  rootFromInclusion,
  verifyConsistency,
  verifyInclusion,
} from "./log-proof.js";
import { appendLeaves, consistencyProof, inclusionProof, logRoot } from "./log-tree.js";

const SEED = 20_250_611;
const LARGEST = 130;
const LEAVES = Array.from({ length: LARGEST }, (_, i) => logLeafHash(sha256, Uint8Array.of(i)));
const TILES = new Map(
  appendLeaves(sha256, 0, () => undefined, LEAVES).tiles.map((tile) => [
    `${tile.level}/${tile.index}`,
    tile.bytes,
  ]),
);
const read = (level: number, index: number) => TILES.get(`${level}/${index}`);
const ROOTS = Array.from({ length: LARGEST + 1 }, (_, size) => logRoot(sha256, size, read));
const rootOf = (size: number): Uint8Array => ROOTS[size] ?? new Uint8Array(0);

function inclusion(index: number, size: number): InclusionClaim & { root: Uint8Array } {
  const path = inclusionProof(sha256, size, index, read);
  return { leafHash: LEAVES[index] ?? new Uint8Array(0), index, size, path, root: rootOf(size) };
}

function consistency(oldSize: number, newSize: number): ConsistencyClaim {
  const path = consistencyProof(sha256, oldSize, newSize, read);
  return { oldSize, oldRoot: rootOf(oldSize), newSize, newRoot: rootOf(newSize), path };
}

const REFUSED = expect.objectContaining({
  code: expect.stringMatching(/^ERR_PROOF_(INVALID|MALFORMED)$/),
});
const MALFORMED = expect.objectContaining({ code: "ERR_PROOF_MALFORMED" });
const INVALID = expect.objectContaining({ code: "ERR_PROOF_INVALID" });

function flipped(hash: Uint8Array, bit: number): Uint8Array {
  const copy = new Uint8Array(hash);
  copy[bit >> 3] = (copy[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return copy;
}

/** Paths that are no longer the given one: each hash changed, swapped, dropped, doubled, added. */
function wrongPaths(path: readonly Uint8Array[]): Uint8Array[][] {
  const extra = rootOf(LARGEST);
  const wrong: Uint8Array[][] = [
    [...path, extra],
    [extra, ...path],
    [...path, new Uint8Array(0)],
  ];
  path.forEach((hash, i) => {
    wrong.push(path.with(i, flipped(hash, (i * 37) % 256)));
    wrong.push(path.toSpliced(i, 1));
    wrong.push(path.toSpliced(i, 0, hash));
    wrong.push(path.with(i, hash.subarray(1)));
    const next = path[i + 1];
    if (next !== undefined) wrong.push(path.with(i, next).with(i + 1, hash));
  });
  return wrong;
}

describe("inclusion", () => {
  it("holds for every leaf of every size up to 130", () => {
    for (let size = 1; size <= LARGEST; size++) {
      for (let index = 0; index < size; index++) {
        const root = rootFromInclusion(sha256, inclusion(index, size));
        expect(Buffer.compare(root, rootOf(size))).toBe(0);
      }
    }
  });

  it("holds with the pure hash function as well", () => {
    expect(() => verifyInclusion(sha256Pure, inclusion(77, 130))).not.toThrow();
  });

  it("refuses every tampered path of every leaf of the sizes up to 20", () => {
    for (let size = 1; size <= 20; size++) {
      for (let index = 0; index < size; index++) {
        const claim = inclusion(index, size);
        for (const path of wrongPaths(claim.path)) {
          expect(() => verifyInclusion(sha256, { ...claim, path })).toThrow(REFUSED);
        }
      }
    }
  });

  it("refuses another leaf, index, size or root", () => {
    const claim = inclusion(5, 13);
    for (const lie of [
      { leafHash: flipped(claim.leafHash, 0) },
      { leafHash: LEAVES[6] ?? new Uint8Array(0) },
      { root: rootOf(12) },
      { root: flipped(claim.root, 255) },
      { index: 4 },
      { index: 6 },
      { index: 12 },
      { size: 6 },
      { size: 26 },
    ]) {
      expect(() => verifyInclusion(sha256, { ...claim, ...lie })).toThrow(REFUSED);
    }
  });

  it.each([
    ["an index at the size", { index: 13 }],
    ["a negative index", { index: -1 }],
    ["a fractional index", { index: 0.5 }],
    ["an empty log", { index: 0, size: 0 }],
    ["a size beyond the safe integers", { size: 2 ** 53 }],
    ["a short leaf hash", { leafHash: new Uint8Array(31) }],
    ["a short root", { root: new Uint8Array(0) }],
    ["a path of another length", { path: [] }],
  ])("calls %s malformed", (_, lie) => {
    expect(() => verifyInclusion(sha256, { ...inclusion(5, 13), ...lie })).toThrow(MALFORMED);
  });

  it("checks the length before it hashes", () => {
    const never = (): Uint8Array => {
      throw new Error("hashed");
    };
    const path = Array.from({ length: 10_000 }, () => new Uint8Array(HASH_BYTES));
    expect(() => rootFromInclusion(never, { ...inclusion(5, 13), path })).toThrow(MALFORMED);
  });

  it("takes sizes beyond 32 bits", () => {
    const path = Array.from({ length: 53 }, () => new Uint8Array(HASH_BYTES));
    const claim = { leafHash: new Uint8Array(HASH_BYTES), path };
    const size = Number.MAX_SAFE_INTEGER;
    const root = rootFromInclusion(sha256, { ...claim, index: 2 ** 51 + 1, size });
    expect(root).toHaveLength(HASH_BYTES);
    // The last leaf of 2^53-1 has no sibling on the lowest level, hence one hash fewer.
    expect(() => rootFromInclusion(sha256, { ...claim, index: size - 1, size })).toThrow(MALFORMED);
  });
});

describe("consistency", () => {
  it("holds for every pair of sizes up to 130", () => {
    for (let newSize = 0; newSize <= LARGEST; newSize++) {
      for (let oldSize = 0; oldSize <= newSize; oldSize++) {
        verifyConsistency(sha256, consistency(oldSize, newSize));
      }
    }
  });

  it("refuses every tampered path and root of every pair up to 20", () => {
    for (let newSize = 0; newSize <= 20; newSize++) {
      for (let oldSize = 0; oldSize <= newSize; oldSize++) {
        const claim = consistency(oldSize, newSize);
        for (const path of wrongPaths(claim.path)) {
          expect(() => verifyConsistency(sha256, { ...claim, path })).toThrow(REFUSED);
        }
        const oldRoot = flipped(claim.oldRoot, newSize);
        expect(() => verifyConsistency(sha256, { ...claim, oldRoot })).toThrow(INVALID);
        if (oldSize === 0 && newSize > 0) continue; // any log extends the empty one
        const newRoot = flipped(claim.newRoot, oldSize);
        expect(() => verifyConsistency(sha256, { ...claim, newRoot })).toThrow(INVALID);
      }
    }
  });

  it("refuses swapped roots and sizes that are not those of the proof", () => {
    const claim = consistency(6, 13);
    const { oldRoot, newRoot } = claim;
    for (const lie of [
      { oldRoot: newRoot, newRoot: oldRoot },
      { oldSize: 5 },
      { oldSize: 8 },
      { oldSize: 13 },
      { newSize: 6 },
      { newSize: 26 },
    ]) {
      expect(() => verifyConsistency(sha256, { ...claim, ...lie })).toThrow(REFUSED);
    }
  });

  it.each([
    ["an old size above the new", { oldSize: 14 }],
    ["a negative size", { oldSize: -1 }],
    ["a short root", { oldRoot: new Uint8Array(31) }],
    ["a path where none is due", { oldSize: 13 }],
  ])("calls %s malformed", (_, lie) => {
    expect(() => verifyConsistency(sha256, { ...consistency(6, 13), ...lie })).toThrow(MALFORMED);
  });
});

it(`refuses random changes of random proofs (seed ${SEED})`, () => {
  const pair = fc.tuple(fc.nat(LARGEST - 1), fc.nat(LARGEST - 1), fc.nat(4095));
  fc.assert(
    fc.property(pair, ([a, b, bit]) => {
      const claim = inclusion(Math.min(a, b), Math.max(a, b) + 1);
      if (claim.path.length === 0) return;
      const at = bit % claim.path.length;
      const hash = claim.path[at] ?? new Uint8Array(0);
      const path = claim.path.with(at, flipped(hash, bit % 256));
      expect(() => verifyInclusion(sha256, { ...claim, path })).toThrow(INVALID);
    }),
    { seed: SEED, numRuns: 300 },
  );
});
