/**
 * State proofs: made from pages, sent as bytes, checked against a root. True ones hold for present
 * and absent keys, alone and together; each way of lying is refused; and they stay small.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Cut,
  hashKey,
  hex,
  leavesAt,
  randomFrom,
  referenceRoot,
  stateStore,
  textValue,
  timeKeys,
} from "../../test/state-reference.js";
import { sha256Node as sha256 } from "../codec/node-crypto.js";
import { sha256Pure } from "../codec/sha256-pure.js";
import { rounds } from "../testing/lacking.js";
import {
  checkStateProof,
  decodeStateProof,
  encodeStateProof,
  type ProofClosed,
  type ProofOpen,
  type StateLeaf,
  type StateProof,
  stateFromProof,
  stateLeafHash,
  stateNodeHash,
} from "./state-proof.js";
import { leavesToOpen, pagesToProve, proveState } from "./state-prove.js";

const SEED = 424_242;
const EDGE: Cut = { significantBytes: 32, pageBits: 4 };
const MEMORY: Cut = { significantBytes: 16, pageBits: 4 };

type Store = ReturnType<typeof stateStore>;

function storeOf(keys: readonly Uint8Array[], cut: Cut): { store: Store; root: Uint8Array } {
  const store = stateStore(cut);
  const { root } = store.update(keys.map((key) => ({ key, value: textValue(hex(key)) })));
  return { store, root };
}

/** Proves as a caller would: pages in rounds, then the leaves, then the proof. */
function prove(store: Store, cut: Cut, keys: readonly Uint8Array[]) {
  const loaded = new Map<string, Uint8Array | "absent">();
  let rounds = 0;
  for (; ; rounds++) {
    const known = (name: Uint8Array) => loaded.get(hex(name)) ?? "unknown";
    const names = pagesToProve({ ...cut, keys, known });
    if (names.length === 0) break;
    expect(new Set(names.map(hex)).size).toBe(names.length);
    for (const name of names) loaded.set(hex(name), store.readPage(name) ?? "absent");
  }
  const readPage = (name: Uint8Array) => {
    const page = loaded.get(hex(name));
    if (page === undefined) throw new Error(`page ${hex(name)} was not named`);
    return page === "absent" ? undefined : page;
  };
  const wanted = new Set(leavesToOpen({ ...cut, keys, readPage }).map(hex));
  const openLeaf = (significant: Uint8Array) => {
    const leaf = store.entryOf(significant);
    if (leaf === undefined || !wanted.delete(hex(significant))) throw new Error("not announced");
    return leaf;
  };
  const proof = proveState({ sha256, ...cut, keys, readPage, openLeaf });
  expect(wanted.size).toBe(0);
  return { proof, rounds };
}

/** The proof survives its bytes, holds, and says of each key what the store says. */
function expectHolds(store: Store, root: Uint8Array, proof: StateProof, keys: Uint8Array[]): void {
  const bytes = encodeStateProof(proof);
  const read = decodeStateProof(bytes);
  expect(hex(encodeStateProof(read))).toBe(hex(bytes));
  const known = leavesOf(store, keys);
  const short = encodeStateProof(proof, known);
  // Each known leaf keeps its tag and loses key and value.
  expect(short.length).toBe(bytes.length - 64 * known.length);
  expect(hex(encodeStateProof(decodeStateProof(short, known)))).toBe(hex(bytes));
  const { lookup } = checkStateProof(sha256, read, root);
  for (const key of keys) {
    const entry = store.entries.get(hex(key));
    const answer = lookup(key);
    if (entry === undefined) expect(answer).toEqual({ kind: "absent" });
    else expect(answer.kind === "present" && hex(answer.value)).toBe(hex(entry.value));
  }
}

/** The leaves of those keys that the store has, ascending: what a reader with the records knows. */
function leavesOf(store: Store, keys: readonly Uint8Array[]): StateLeaf[] {
  const present = [...new Set(keys.map(hex))].filter((key) => store.entries.has(key)).toSorted();
  return present.flatMap((key) => {
    const entry = store.entries.get(key);
    return entry === undefined ? [] : [{ key: entry.key, value: entry.value }];
  });
}

describe("proofs that hold", () => {
  /** Every one up to 40, and those around a full level; in a long run every one. */
  const isTried = (size: number): boolean =>
    size <= rounds(40, 130) || [63, 64, 65, 127, 128, 129, 130].includes(size);
  const sizes = Array.from({ length: 131 }, (_, size) => size).filter(isTried);

  it("for all present and several absent keys, of sizes up to 130", () => {
    for (const size of sizes) {
      const keys = Array.from({ length: size }, (_, i) => hashKey(i));
      const { store, root } = storeOf(keys, EDGE);
      const absent = [hashKey(1000), hashKey(1001), hashKey(1002)];
      const near = keys.slice(0, 3).map((key, i) => leavesAt(key, 40 * i + 3, hashKey(7)));
      for (const key of [...keys, ...absent, ...near]) {
        const { proof } = prove(store, EDGE, [key]);
        expectHolds(store, root, proof, [key]);
      }
      const all = [...keys, ...absent, ...near];
      expectHolds(store, root, prove(store, EDGE, all).proof, all);
    }
  });

  it(`for random subsets together (seed ${SEED})`, () => {
    const keys = timeKeys(130, 3);
    const { store, root } = storeOf(keys, MEMORY);
    const present = fc.subarray(keys);
    const absent = fc.subarray(timeKeys(40, 1, 31));
    fc.assert(
      fc.property(present, absent, (some, others) => {
        const asked = [...some, ...others];
        if (asked.length === 0) return;
        const { proof } = prove(store, MEMORY, asked);
        expectHolds(store, root, proof, asked);
      }),
      { seed: SEED, numRuns: 100 },
    );
  });

  it("for keys that share up to 255 bits, present and absent", () => {
    const base = hashKey(1);
    const zero = new Uint8Array(32);
    const all = Array.from({ length: 256 }, (_, at) => leavesAt(base, at, zero));
    const even = [base, ...all.filter((_, at) => at % 2 === 0)];
    const { store, root } = storeOf(even, EDGE);
    for (const key of [...all, base]) {
      expectHolds(store, root, prove(store, EDGE, [key]).proof, [key]);
    }
    expectHolds(store, root, prove(store, EDGE, all).proof, all);
  });

  it("for the empty tree and a single key", () => {
    const empty = storeOf([], EDGE);
    const { proof } = prove(empty.store, EDGE, [hashKey(1)]);
    expect(hex(encodeStateProof(proof))).toBe("00");
    expectHolds(empty.store, empty.root, proof, [hashKey(1)]);
    const one = storeOf([hashKey(1)], EDGE);
    expect(hex(one.root)).toBe(hex(stateLeafHash(sha256, hashKey(1), textValue(hex(hashKey(1))))));
    const both = [hashKey(1), hashKey(2)];
    expectHolds(one.store, one.root, prove(one.store, EDGE, both).proof, both);
  });

  it("with the pure hash function as well", () => {
    const { store, root } = storeOf([hashKey(1), hashKey(2)], EDGE);
    const { proof } = prove(store, EDGE, [hashKey(2)]);
    expect(checkStateProof(sha256Pure, proof, root).lookup(hashKey(2)).kind).toBe("present");
  });

  it("load in one round for present keys", () => {
    const keys = timeKeys(130, 3);
    const { store } = storeOf(keys, MEMORY);
    expect(prove(store, MEMORY, keys.slice(10, 20)).rounds).toBe(1);
  });

  it("say nothing about keys they do not reach", () => {
    const keys = Array.from({ length: 64 }, (_, i) => hashKey(i));
    const { store, root } = storeOf(keys, EDGE);
    const { lookup } = checkStateProof(sha256, prove(store, EDGE, [hashKey(0)]).proof, root);
    const kinds = keys.slice(1).map((key) => lookup(key).kind);
    expect(kinds).not.toContain("absent");
    expect(kinds.filter((kind) => kind === "uncovered").length).toBeGreaterThan(60);
    expect(() => lookup(new Uint8Array(16))).toThrow(
      expect.objectContaining({ code: "ERR_INVALID" }),
    );
  });
});

const REFUSED = expect.objectContaining({
  code: expect.stringMatching(/^ERR_PROOF_(INVALID|MALFORMED)$/),
});
const MALFORMED = expect.objectContaining({ code: "ERR_PROOF_MALFORMED" });
const INVALID = expect.objectContaining({ code: "ERR_PROOF_INVALID" });

describe("tampered bytes", () => {
  const keys = Array.from({ length: 20 }, (_, i) => hashKey(i));
  const { store, root } = storeOf(keys, EDGE);
  const cases: [name: string, asked: Uint8Array[]][] = [
    ["a present key", [hashKey(3)]],
    ["an absent key", [hashKey(500)]],
    ["five keys", [hashKey(1), hashKey(2), hashKey(3), hashKey(501), hashKey(502)]],
  ];
  const check = (bytes: Uint8Array) => checkStateProof(sha256, decodeStateProof(bytes), root);

  it.each(cases)("are refused at every flipped bit: %s", (_, asked) => {
    const bytes = encodeStateProof(prove(store, EDGE, asked).proof);
    expect(() => check(bytes)).not.toThrow();
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const wrong = new Uint8Array(bytes);
      wrong[bit >> 3] = (wrong[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => check(wrong), `bit ${bit}`).toThrow(REFUSED);
    }
  });

  it.each(cases)("are refused when cut or extended: %s", (_, asked) => {
    const bytes = encodeStateProof(prove(store, EDGE, asked).proof);
    for (let end = 0; end < bytes.length; end++) {
      expect(() => decodeStateProof(bytes.subarray(0, end))).toThrow(MALFORMED);
    }
    for (const tail of [[0], [1], [...bytes]]) {
      expect(() => decodeStateProof(Uint8Array.of(...bytes, ...tail))).toThrow(MALFORMED);
    }
  });

  it("are refused against the root of another tree, and of the empty one", () => {
    const bytes = encodeStateProof(prove(store, EDGE, [hashKey(3)]).proof);
    const proof = decodeStateProof(bytes);
    const other = storeOf(keys.slice(1), EDGE).root;
    expect(() => checkStateProof(sha256, proof, other)).toThrow(INVALID);
    expect(() => checkStateProof(sha256, proof, storeOf([], EDGE).root)).toThrow(INVALID);
    expect(() => checkStateProof(sha256, { kind: "empty" }, root)).toThrow(INVALID);
    expect(() => checkStateProof(sha256, proof, root.subarray(1))).toThrow(MALFORMED);
  });
});

describe("known leaves", () => {
  const keys = Array.from({ length: 20 }, (_, i) => hashKey(i));
  const { store, root } = storeOf(keys, EDGE);
  const asked = [hashKey(1), hashKey(2), hashKey(3), hashKey(501)];
  const { proof } = prove(store, EDGE, asked);
  const known = leavesOf(store, asked);
  const [one, two, three] = known as [StateLeaf, StateLeaf, StateLeaf];
  const other = leavesOf(store, [hashKey(9)]);
  const bytes = encodeStateProof(proof, known);
  const check = (wrong: Uint8Array, leaves: readonly StateLeaf[] = known) =>
    checkStateProof(sha256, decodeStateProof(wrong, leaves), root);

  it("are refused at every flipped bit of the bytes, of a key and of a value", () => {
    expect(check(bytes).lookup(hashKey(2)).kind).toBe("present");
    const flip = (from: Uint8Array, bit: number): Uint8Array => {
      const wrong = new Uint8Array(from);
      wrong[bit >> 3] = (wrong[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return wrong;
    };
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      expect(() => check(flip(bytes, bit)), `bit ${bit}`).toThrow(REFUSED);
    }
    for (let bit = 0; bit < 256; bit++) {
      expect(() => check(bytes, [one, { ...two, key: flip(two.key, bit) }, three])).toThrow(
        REFUSED,
      );
      const value = flip(two.value, bit);
      expect(() => check(bytes, [one, { ...two, value }, three])).toThrow(INVALID);
    }
  });

  it.each<[string, readonly StateLeaf[]]>([
    ["none", []],
    ["one too few", [one, two]],
    ["one too many", [...known, ...other].toSorted((a, b) => (hex(a.key) < hex(b.key) ? -1 : 1))],
    ["one too many at the end", [...known, { ...one, key: new Uint8Array(32).fill(255) }]],
    ["a key that is too short", [one, { ...two, key: two.key.subarray(1) }, three]],
    ["a value that is too long", [one, { ...two, value: new Uint8Array(33) }, three]],
  ])("have to be the ones the bytes were made for: %s", (_, leaves) => {
    expect(() => decodeStateProof(bytes, leaves)).toThrow(MALFORMED);
  });

  it("have one spelling: a leaf in full is refused where it is known", () => {
    const full = encodeStateProof(proof);
    expect(() => decodeStateProof(full, known)).toThrow(MALFORMED);
    for (const leaf of known) {
      expect(() => decodeStateProof(full, [leaf])).toThrow(MALFORMED);
      const rest = known.filter((each) => each !== leaf);
      expect(() => decodeStateProof(encodeStateProof(proof, rest), known)).toThrow(MALFORMED);
      expect(() => decodeStateProof(bytes, rest)).toThrow(MALFORMED);
    }
  });

  it("are refused when they change places", () => {
    expect(() => check(bytes, [two, one, three])).toThrow(INVALID);
    expect(() => encodeStateProof(proof, [two, one, three])).toThrow(MALFORMED);
  });

  it("cannot be encoded when the tree does not show them, or otherwise", () => {
    expect(() => encodeStateProof(proof, other)).toThrow(MALFORMED);
    expect(() => encodeStateProof(proof, [{ ...one, value: two.value }])).toThrow(MALFORMED);
    expect(() => encodeStateProof({ kind: "empty" }, [one])).toThrow(MALFORMED);
    expect(() => decodeStateProof(Uint8Array.of(0), [one])).toThrow(MALFORMED);
  });

  it("may be the whole tree, and the witness of an absence", () => {
    const single = storeOf([hashKey(1)], EDGE);
    const both = [hashKey(1), hashKey(2)];
    const witnessed = prove(single.store, EDGE, both).proof;
    const leaves = leavesOf(single.store, both);
    expect(hex(encodeStateProof(witnessed, leaves))).toBe("05");
    const read = decodeStateProof(Uint8Array.of(5), leaves);
    expect(checkStateProof(sha256, read, single.root).lookup(hashKey(2)).kind).toBe("absent");
    expect(() => decodeStateProof(Uint8Array.of(5))).toThrow(MALFORMED);
  });
});

describe("trees that no honest builder makes, against their own roots", () => {
  const key = (first: number, last = 0): Uint8Array => {
    const bytes = new Uint8Array(32);
    bytes[0] = first;
    bytes[31] = last;
    return bytes;
  };
  const leafOf = (first: number, last = 0): StateLeaf => ({
    key: key(first, last),
    value: textValue(`${first} ${last}`),
  });
  const leaf = (first: number, last = 0): ProofOpen => ({ kind: "leaf", ...leafOf(first, last) });
  const hidden: ProofClosed = { kind: "closed", hash: textValue("hidden") };
  const inner = (
    bit: number,
    left: ProofOpen | ProofClosed,
    right: ProofOpen | ProofClosed,
  ): ProofOpen => ({ kind: "inner", bit, left, right });

  it("holds for the honest twin of these", () => {
    const proof = inner(0, inner(1, leaf(0x00), leaf(0x40)), inner(255, leaf(0x80), leaf(0x80, 1)));
    const entries = [key(0x00), key(0x40), key(0x80), key(0x80, 1)].map((k) => ({
      key: k,
      value: textValue(`${k[0]} ${k[31]}`),
    }));
    expect(hex(stateFromProof(sha256, proof).root)).toBe(hex(referenceRoot(entries)));
  });

  it.each([
    ["a leaf on the wrong side", inner(0, hidden, leaf(0x00)), INVALID],
    ["leaves swapped", inner(0, leaf(0x80), leaf(0x00)), INVALID],
    ["a misplaced leaf further up", inner(0, inner(1, hidden, leaf(0xc0)), hidden), INVALID],
    ["leaves that part above their node", inner(7, leaf(0x00), leaf(0x81)), INVALID],
    [
      "a pair that leaves the path of another",
      inner(0, inner(2, leaf(0x00), leaf(0x20)), inner(2, leaf(0x80), leaf(0xe0))),
      INVALID,
    ],
    ["one key twice", inner(255, leaf(0x00), leaf(0x00)), INVALID],
    ["positions that repeat", inner(3, inner(3, leaf(0x00), hidden), hidden), MALFORMED],
    ["positions that go back", inner(3, inner(2, leaf(0x00), hidden), hidden), MALFORMED],
    ["a position beyond the key", inner(256, leaf(0x00), hidden), MALFORMED],
    ["nothing opened", inner(3, hidden, hidden), MALFORMED],
  ])("refuses %s", (_, proof, refusal) => {
    expect(() => stateFromProof(sha256, proof)).toThrow(refusal);
  });

  it("cannot encode what it would not decode", () => {
    expect(() => encodeStateProof(inner(3, hidden, hidden))).toThrow(MALFORMED);
    expect(() => encodeStateProof(inner(3, inner(3, leaf(0), hidden), hidden))).toThrow(MALFORMED);
  });

  describe("spell positions in one way", () => {
    const read = (...pieces: readonly (Uint8Array | readonly number[])[]) =>
      encodeStateProof(decodeStateProof(Uint8Array.of(...pieces.flatMap((piece) => [...piece]))));
    const nested = (bit: number, below: number): Uint8Array =>
      encodeStateProof(inner(bit, inner(below, leaf(0), hidden), hidden));

    it.each([
      ["next to the one above", 0, "04"],
      ["as far as the count goes", 30, "f4"],
      ["one further", 31, "fc1f"],
      ["at the end", 254, "fcfe"],
    ])("at the root, %s", (_, bit, start) => {
      expect(hex(nested(bit, bit + 1)).slice(0, start.length)).toBe(start);
    });

    const bytes = nested(40, 41);
    const [root, below] = [bytes.subarray(0, 34), bytes.subarray(35)];

    it.each([
      ["next", [0x04]],
      ["counted", [0xf4]],
      ["far", [0xfc, 72]],
    ])("below another: %s is read and written alike", (_, start) => {
      expect(hex(read(root, start, below))).toBe(hex(Uint8Array.of(...root, ...start, ...below)));
    });

    it.each([
      ["next, but spelled out", [0xfc, 41]],
      ["just near enough to be counted", [0xfc, 71]],
      ["that of the node above", [0xfc, 40]],
      ["above that", [0xfc, 39]],
      ["no kind of node", [0x06]],
      ["no kind of node, counted", [0x0f]],
      ["the empty tree", [0x00]],
    ])("below another: refuses %s", (_, start) => {
      expect(() => read(root, start, below)).toThrow(MALFORMED);
    });

    it("refuses a near root spelled out, a count beyond the last bit, and a leaf with one", () => {
      expect(() => read([0xfc, 30], bytes.subarray(2))).toThrow(MALFORMED);
      const last = encodeStateProof(inner(250, leaf(0), hidden)).subarray(0, 34);
      expect(() => read(last, [4 | (4 << 3)], below)).not.toThrow();
      expect(() => read(last, [4 | (5 << 3)], below)).toThrow(MALFORMED);
      const bare = encodeStateProof(leaf(0)).subarray(1);
      expect(() => read([0x01], bare)).not.toThrow();
      expect(() => read([0x09], bare)).toThrow(MALFORMED);
      expect(() => decodeStateProof(Uint8Array.of(0x08))).toThrow(MALFORMED);
      expect(() => decodeStateProof(Uint8Array.of(0x0d), [leafOf(0)])).toThrow(MALFORMED);
      expect(() => decodeStateProof(Uint8Array.of(0x05), [leafOf(0)])).not.toThrow();
    });
  });

  it("keeps leaves and inner nodes apart by their domains", () => {
    const left = textValue("l");
    const right = textValue("r");
    expect(hex(stateLeafHash(sha256, left, right))).not.toBe(
      hex(stateNodeHash(sha256, 0, left, right)),
    );
  });
});

describe("proving", () => {
  it("refuses to prove nothing, and a leaf that contradicts the tree", () => {
    const { store } = storeOf([hashKey(1)], EDGE);
    const { readPage } = store;
    expect(() => leavesToOpen({ ...EDGE, keys: [], readPage })).toThrow(
      expect.objectContaining({ code: "ERR_INVALID" }),
    );
    const openLeaf = () => ({ key: hashKey(1), value: textValue("forged") });
    expect(() => proveState({ sha256, ...EDGE, keys: [hashKey(1)], readPage, openLeaf })).toThrow(
      expect.objectContaining({ code: "ERR_CORRUPT" }),
    );
  });
});

describe("size at 100,000 keys", () => {
  const keys = timeKeys(100_000, 10);
  const { store, root } = storeOf(keys, MEMORY);
  const random = randomFrom(SEED);
  const pick = () => keys[random(keys.length)] ?? new Uint8Array(32);

  it("is at most 1.5 KB for one key, present or absent", () => {
    const asked = [...Array.from({ length: 20 }, pick), ...timeKeys(20, 0.001, 5)];
    for (const key of asked) {
      const { proof } = prove(store, MEMORY, [key]);
      expectHolds(store, root, proof, [key]);
      expect(encodeStateProof(proof).length).toBeLessThanOrEqual(1500);
    }
  });

  it("is at most 35 KB for a hundred keys whose leaves are known", () => {
    for (let draw = 0; draw < 20; draw++) {
      const asked = Array.from({ length: 100 }, pick);
      const { proof } = prove(store, MEMORY, asked);
      expectHolds(store, root, proof, asked);
      const bytes = encodeStateProof(proof, leavesOf(store, asked));
      expect(bytes.length).toBeLessThanOrEqual(35_000);
    }
  });
});
