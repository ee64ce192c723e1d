/**
 * The log tree against the recursive definition of RFC 9162 §2.1, against the published vectors of
 * Certificate Transparency, and for the tiles it promises to read.
 */
import { describe, expect, it } from "vitest";
import { HASH_BYTES, logLeafHash, logNodeHash } from "../codec/hash.js";
import { sha256Node as sha256 } from "../codec/node-crypto.js";
import {
  appendLeaves,
  consistencyProof,
  inclusionProof,
  inclusionProofs,
  logRoot,
  type TileReader,
  type TileRef,
  tilesForAppend,
  tilesForConsistency,
  tilesForInclusions,
  tilesForRoot,
} from "./log-tree.js";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const unhex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "hex"));

/** Tiles in a map; reading one that was not asked for first is a failure of the promise. */
function tileStore() {
  const tiles = new Map<string, Uint8Array>();
  const key = (level: number, index: number) => `${level}/${index}`;
  let allowed: Set<string> | undefined;
  let read = new Set<string>();
  const reader: TileReader = (level, index) => {
    if (allowed !== undefined && !allowed.has(key(level, index))) {
      throw new Error(`tile ${key(level, index)} was not announced`);
    }
    read.add(key(level, index));
    return tiles.get(key(level, index));
  };
  return {
    tiles,
    reader,
    put: (all: readonly (TileRef & { bytes: Uint8Array })[]) => {
      for (const { level, index, bytes } of all) tiles.set(key(level, index), bytes);
    },
    /** Runs with just these tiles readable, and requires that each is read. */
    only: <T>(refs: readonly TileRef[], work: () => T): T => {
      allowed = new Set(refs.map((ref) => key(ref.level, ref.index)));
      read = new Set();
      const result = work();
      expect([...read].sort()).toEqual([...allowed].sort());
      allowed = undefined;
      return result;
    },
  };
}

/**
 * The definition, as plainly as it can be written; subtree hashes are remembered for speed alone.
 */
function reference(leaves: readonly Uint8Array[]) {
  const seen = new Map<string, Uint8Array>();
  const split = (n: number): number => 2 ** Math.ceil(Math.log2(n) - 1);
  const root = (from: number, to: number): Uint8Array => {
    if (from === to) return sha256(new Uint8Array(0));
    const known = seen.get(`${from} ${to}`);
    if (known !== undefined) return known;
    const k = split(to - from);
    const hash =
      to - from === 1
        ? (leaves[from] ?? new Uint8Array(0))
        : logNodeHash(sha256, root(from, from + k), root(from + k, to));
    seen.set(`${from} ${to}`, hash);
    return hash;
  };
  const path = (m: number, from: number, to: number): Uint8Array[] => {
    if (to - from === 1) return [];
    const k = split(to - from);
    return m < k
      ? [...path(m, from, from + k), root(from + k, to)]
      : [...path(m - k, from + k, to), root(from, from + k)];
  };
  const subproof = (m: number, from: number, to: number, whole: boolean): Uint8Array[] => {
    if (m === to - from) return whole ? [] : [root(from, to)];
    const k = split(to - from);
    return m <= k
      ? [...subproof(m, from, from + k, whole), root(from + k, to)]
      : [...subproof(m - k, from + k, to, false), root(from, from + k)];
  };
  return {
    root: (size: number) => root(0, size),
    path: (m: number, size: number) => path(m, 0, size),
    proof: (m: number, size: number) => (m === 0 ? [] : subproof(m, 0, size, true)),
  };
}

const LARGEST = 130;
const LEAVES = Array.from({ length: 700 }, (_, i) =>
  logLeafHash(sha256, Uint8Array.of(i >> 8, i & 0xff)),
);

function grown(count: number, step = 1) {
  const store = tileStore();
  let size = 0;
  while (size < count) {
    const next = LEAVES.slice(size, Math.min(count, size + step));
    const result = appendLeaves(sha256, size, store.reader, next);
    store.put(result.tiles);
    size = result.size;
  }
  return store;
}

describe("published vectors", () => {
  // The test leaves and tree heads of the Certificate Transparency code base, as
  // transparency-dev/merkle publishes them in testonly/constants.go and proof/verify_test.go.
  const data = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657"]
    .concat("606162636465666768696a6b6c6d6e6f")
    .map(unhex);
  const roots = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
  ];
  const h96 = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7";
  const h5f = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e";
  const h6b = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4";
  const hbc = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b";
  const hca = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0";
  const h0e = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a";
  const hb0 = "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f";
  const inclusion: [index: number, size: number, path: string[]][] = [
    [0, 1, []],
    [0, 8, [h96, h5f, h6b]],
    [5, 8, [hbc, hca, roots[4] ?? ""]],
    [2, 3, [roots[2] ?? ""]],
    [1, 5, [roots[1] ?? "", h5f, hbc]],
  ];
  const consistency: [oldSize: number, newSize: number, path: string[]][] = [
    [1, 1, []],
    [1, 8, [h96, h5f, h6b]],
    [6, 8, [h0e, hca, roots[4] ?? ""]],
    [2, 5, [h5f, hbc]],
    [6, 7, [h0e, hb0, roots[4] ?? ""]],
  ];
  const store = tileStore();
  const leaves = data.map((bytes) => logLeafHash(sha256, bytes));
  store.put(appendLeaves(sha256, 0, store.reader, leaves).tiles);

  it("gives the published root of every size", () => {
    expect(roots.map((_, size) => hex(logRoot(sha256, size, store.reader)))).toEqual(roots);
  });

  it.each(inclusion)("gives the published path of leaf %i at size %i", (index, size, path) => {
    expect(inclusionProof(sha256, size, index, store.reader).map(hex)).toEqual(path);
  });

  it.each(consistency)("gives the published proof from size %i to %i", (from, to, path) => {
    expect(consistencyProof(sha256, from, to, store.reader).map(hex)).toEqual(path);
  });
});

describe("against the recursive definition, all sizes up to 130", () => {
  const naive = reference(LEAVES);
  const store = grown(LARGEST);

  it("gives every root from the tiles of the longest log, reading just those announced", () => {
    for (let size = 0; size <= LARGEST; size++) {
      const root = store.only(tilesForRoot(size), () => logRoot(sha256, size, store.reader));
      expect(hex(root)).toBe(hex(naive.root(size)));
    }
  });

  it("gives every inclusion path, reading just the tiles announced", () => {
    for (let size = 1; size <= LARGEST; size++) {
      for (let index = 0; index < size; index++) {
        const path = store.only(tilesForInclusions(size, [index]), () =>
          inclusionProof(sha256, size, index, store.reader),
        );
        expect(path.map(hex)).toEqual(naive.path(index, size).map(hex));
      }
    }
  });

  it("gives every consistency proof, reading just the tiles announced", () => {
    for (let to = 0; to <= LARGEST; to++) {
      for (let from = 0; from <= to; from++) {
        const path = store.only(tilesForConsistency(from, to), () =>
          consistencyProof(sha256, from, to, store.reader),
        );
        expect(path.map(hex)).toEqual(naive.proof(from, to).map(hex));
      }
    }
  });

  it("gives many paths at once as one by one", () => {
    const indexes = [129, 3, 64, 3, 0, 100];
    const together = store.only(tilesForInclusions(LARGEST, indexes), () =>
      inclusionProofs(sha256, LARGEST, indexes, store.reader),
    );
    expect(together.map((path) => path.map(hex))).toEqual(
      indexes.map((index) => naive.path(index, LARGEST).map(hex)),
    );
  });
});

describe("appending", () => {
  it("ends in the same tiles however the leaves were grouped", () => {
    const bySteps = [1, 3, 16, 17, 256, 257, 700].map((step) => [...grown(700, step).tiles].sort());
    for (const tiles of bySteps) expect(tiles).toEqual(bySteps[0]);
    // 700 leaves: 44 tiles of level 0, 43 hashes above them in 3 tiles, 2 hashes in one.
    expect(bySteps[0]?.length).toBe(44 + 3 + 1);
  });

  it("reads just those partial tiles that it goes on with, and changes each tile once", () => {
    for (let size = 0; size <= 300; size++) {
      for (const count of [1, 15, 16, 40]) {
        const store = grown(size, 300);
        // A level is reached where a tile of the one below gets full.
        const reached = tilesForAppend(size).filter(
          ({ level }) => Math.floor((size + count) / 16 ** level) > Math.floor(size / 16 ** level),
        );
        const result = store.only(reached, () =>
          appendLeaves(sha256, size, store.reader, LEAVES.slice(size, size + count)),
        );
        expect(result.size).toBe(size + count);
        const names = result.tiles.map(({ level, index }) => `${level}/${index}`);
        expect(new Set(names).size).toBe(names.length);
        const fresh = new Map(
          result.tiles.map((tile) => [`${tile.level}/${tile.index}`, tile.bytes]),
        );
        const after: TileReader = (level, index) =>
          fresh.get(`${level}/${index}`) ?? store.reader(level, index);
        expect(hex(logRoot(sha256, size + count, after))).toBe(
          hex(reference(LEAVES).root(size + count)),
        );
      }
    }
  });

  it("changes nothing when nothing is appended", () => {
    expect(appendLeaves(sha256, 20, grown(20).reader, [])).toEqual({ size: 20, tiles: [] });
  });

  it("hashes about once per leaf", () => {
    let hashes = 0;
    const counting = (bytes: Uint8Array): Uint8Array => {
      hashes += 1;
      return sha256(bytes);
    };
    appendLeaves(counting, 0, () => undefined, LEAVES.slice(0, 512));
    // 32 full tiles of leaves and 2 above them, 15 inner nodes each.
    expect(hashes).toBe(34 * 15);
  });

  it("names few tiles however long the log is", () => {
    for (const size of [10 ** 6, 2 ** 40 - 1, Number.MAX_SAFE_INTEGER]) {
      const levels = Math.ceil(Math.log2(size) / 4) + 1;
      const middle = Math.floor(size / 3);
      expect(tilesForAppend(size).length).toBeLessThanOrEqual(levels);
      expect(tilesForRoot(size).length).toBeLessThanOrEqual(levels);
      expect(tilesForInclusions(size, [middle]).length).toBeLessThanOrEqual(2 * levels);
      expect(tilesForConsistency(middle, size).length).toBeLessThanOrEqual(2 * levels);
      expect(tilesForRoot(size)).toEqual(tilesForAppend(size));
    }
  });
});

describe("misuse and damage", () => {
  it.each([
    ["a negative size", () => tilesForRoot(-1)],
    ["a fractional size", () => logRoot(sha256, 1.5, () => undefined)],
    ["an index at the size", () => tilesForInclusions(5, [5])],
    ["an index below zero", () => inclusionProof(sha256, 5, -1, () => undefined)],
    ["an old size above the new", () => tilesForConsistency(6, 5)],
    ["a short leaf hash", () => appendLeaves(sha256, 0, () => undefined, [new Uint8Array(31)])],
  ])("refuses %s", (_, work) => {
    expect(work).toThrow(expect.objectContaining({ code: "ERR_INVALID" }));
  });

  it("reports a tile that is missing, too short or ragged as damage", () => {
    const full = grown(20);
    for (const damaged of [undefined, new Uint8Array(HASH_BYTES), new Uint8Array(513)]) {
      const reader: TileReader = (level, index) =>
        level === 0 && index === 0 ? damaged : full.reader(level, index);
      expect(() => inclusionProof(sha256, 20, 3, reader)).toThrow(
        expect.objectContaining({ code: "ERR_CORRUPT" }),
      );
    }
  });
});
