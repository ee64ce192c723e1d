/**
 * Building the state tree against the plain definition: roots and page bytes, whatever the history;
 * which pages are read; the work done.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Cut,
  hashKey,
  hex,
  leavesAt,
  randomFrom,
  referencePages,
  referenceRoot,
  stateStore,
  textValue,
  timeKeys,
} from "../../test/state-reference.js";
import { sha256Node as sha256 } from "../codec/node-crypto.js";
import { candidatePages, PAGE_BITS, pageName } from "./state-page.js";
import { type StateUpdate, stateRoot, unknownPages, updateState } from "./state-tree.js";

const SEED = 1_717_171;
const CUTS: Cut[] = [4, 5, 6, 8].map((pageBits) => ({ significantBytes: 32, pageBits }));
const MEMORY: Cut = { significantBytes: 16, pageBits: PAGE_BITS };
const EDGE: Cut = { significantBytes: 32, pageBits: PAGE_BITS };

type Store = ReturnType<typeof stateStore>;

/** Root and pages are what the definition gives for the store's entries. */
function expectTrue(store: Store, root: Uint8Array, cut: Cut): void {
  const entries = [...store.entries.values()];
  expect(hex(root)).toBe(hex(referenceRoot(entries)));
  expect(store.dump()).toEqual(referencePages(entries, cut));
  const rootPage = store.readPage(Uint8Array.of(0));
  expect(hex(stateRoot(sha256, rootPage, cut.significantBytes, cut.pageBits))).toBe(hex(root));
}

function shuffled<T>(items: readonly T[], random: (below: number) => number): T[] {
  const list = [...items];
  for (let i = list.length - 1; i > 0; i--) {
    const j = random(i + 1);
    const [a, b] = [list[i], list[j]];
    if (a !== undefined && b !== undefined) list.splice(i, 1, b);
    if (a !== undefined && b !== undefined) list.splice(j, 1, a);
  }
  return list;
}

describe("against the definition, sizes up to 130", () => {
  it.each(CUTS)("holds after each insert, update and delete, pages of $pageBits bits", (cut) => {
    const random = randomFrom(SEED + cut.pageBits);
    const store = stateStore(cut);
    const keys = Array.from({ length: 130 }, (_, i) => hashKey(i));
    for (const key of shuffled(keys, random)) {
      const { root } = store.update([{ key, value: textValue("first") }]);
      expectTrue(store, root, cut);
    }
    for (const key of shuffled(keys, random).slice(0, 40)) {
      const { root } = store.update([{ key, value: textValue("second") }]);
      expectTrue(store, root, cut);
    }
    for (const key of shuffled(keys, random)) {
      const { root } = store.update([{ key, value: undefined }]);
      expectTrue(store, root, cut);
    }
    expect(store.pages.size).toBe(0);
  });

  it("holds for the keys of memories, of which 16 bytes are stored", () => {
    for (const perMs of [10, 0.01]) {
      const store = stateStore(MEMORY);
      const keys = timeKeys(130, perMs);
      keys.forEach((key, i) => {
        const { root } = store.update([{ key, value: textValue(`${i}`) }]);
        expectTrue(store, root, MEMORY);
      });
    }
  });

  it("holds for every size built in one batch", () => {
    for (let size = 0; size <= 130; size++) {
      const store = stateStore(EDGE);
      const updates = Array.from({ length: size }, (_, i) => ({
        key: hashKey(i),
        value: textValue(`${size}`),
      }));
      expectTrue(store, store.update(updates).root, EDGE);
    }
  });
});

describe("keys that share long prefixes", () => {
  it.each([...CUTS, ...[4, 5, 6, 8].map((pageBits) => ({ significantBytes: 16, pageBits }))])(
    "parts at every bit, $significantBytes bytes, pages of $pageBits bits",
    (cut) => {
      const bits = cut.significantBytes * 8;
      const base = hashKey(1);
      const zero = new Uint8Array(32);
      const keys = Array.from({ length: bits }, (_, at) => leavesAt(base, at, zero));
      const random = randomFrom(SEED);
      const store = stateStore(cut);
      const all = [base, ...keys].map((key) => ({ key, value: textValue(hex(key)) }));
      const order = shuffled(all, random);
      expectTrue(store, store.update(order.slice(0, 100)).root, cut);
      expectTrue(store, store.update(order.slice(100)).root, cut);
      for (const part of [order.slice(0, 30), order.slice(30, 31), order.slice(31)]) {
        const { root } = store.update(part.map(({ key }) => ({ key, value: undefined })));
        expectTrue(store, root, cut);
      }
    },
  );

  it("keeps two keys that differ in the last bit only", () => {
    const base = hashKey(5);
    const twin = leavesAt(base, 255, base);
    const store = stateStore(EDGE);
    store.update([{ key: twin, value: textValue("twin") }]);
    const { root } = store.update([{ key: base, value: textValue("base") }]);
    expectTrue(store, root, EDGE);
    // The root page skips 255 shared bits to the page of the last four.
    expect([...store.pages.keys()]).toEqual(["00", hex(pageName(base, 252))]);
  });
});

describe("random histories", () => {
  /** Few distinct bits, so that keys collide, part and meet again often. */
  const key = fc
    .tuple(fc.nat(255), fc.nat(3), fc.constantFrom(0, 3, 8, 21, 127, 252, 255))
    .map(([n, family, at]) => leavesAt(hashKey(family), at, hashKey(n)));
  const update = fc.record({
    key,
    value: fc.option(
      fc.nat(2).map((n) => textValue(`v${n}`)),
      { nil: undefined, freq: 2 },
    ),
  });
  const history = fc.array(fc.array(update, { maxLength: 12 }), { maxLength: 12 });

  it(`ends in the pages of the definition (seed ${SEED})`, () => {
    fc.assert(
      fc.property(history, fc.constantFrom(...CUTS), (batches, cut) => {
        const store = stateStore(cut);
        for (const batch of batches) {
          const before = new Map(store.pages);
          const { root, pages } = store.update(batch);
          expectTrue(store, root, cut);
          // Each page at most once, and none that stays as it was.
          expect(new Set(pages.map(({ name }) => hex(name))).size).toBe(pages.length);
          for (const { name, bytes } of pages) {
            const old = before.get(hex(name));
            expect(bytes === undefined ? undefined : hex(bytes)).not.toBe(
              old === undefined ? undefined : hex(old),
            );
          }
        }
      }),
      { seed: SEED, numRuns: 150 },
    );
  });

  it(`reads no page but those named beforehand (seed ${SEED})`, () => {
    fc.assert(
      fc.property(history, fc.constantFrom(0, 1, undefined), (batches, lookAheadPages) => {
        const store = stateStore(EDGE);
        for (const batch of batches) {
          const loaded = new Map<string, Uint8Array | "absent">();
          const keys = batch.map(({ key: k }) => k);
          for (let rounds = 0; ; rounds++) {
            const names = unknownPages({
              ...EDGE,
              keys,
              known: (name) => loaded.get(hex(name)) ?? "unknown",
              ...(lookAheadPages === undefined ? {} : { lookAheadPages }),
            });
            if (names.length === 0) break;
            // With all candidates named, one round is enough.
            if (lookAheadPages === undefined) expect(rounds).toBe(0);
            expect(new Set(names.map(hex)).size).toBe(names.length);
            for (const name of names) {
              expect(loaded.has(hex(name))).toBe(false);
              loaded.set(hex(name), store.readPage(name) ?? "absent");
            }
          }
          store.update(batch, (name) => {
            const page = loaded.get(hex(name));
            if (page === undefined && keys.length > 0) throw new Error(`not named: ${hex(name)}`);
            return page === "absent" ? undefined : page;
          });
        }
      }),
      { seed: SEED, numRuns: 100 },
    );
  });
});

describe("batches", () => {
  const cut = MEMORY;
  const keys = timeKeys(3000, 10);
  const store = stateStore(cut);
  store.update(keys.slice(0, 2000).map((key) => ({ key, value: textValue("old") })));
  const fresh = keys.slice(2000).map((key) => ({ key, value: textValue("new") }));

  it("hashes each node once: little more than two hashes for each insert", () => {
    let hashes = 0;
    const counting = (data: Uint8Array): Uint8Array => {
      hashes += 1;
      return sha256(data);
    };
    updateState({ sha256: counting, ...cut, readPage: store.readPage, updates: fresh });
    expect(hashes / fresh.length).toBeLessThan(2.1);
  });

  it("takes the last of several updates of one key", () => {
    const key = hashKey(3);
    const one = stateStore(EDGE);
    const { root } = one.update([
      { key, value: textValue("a") },
      { key, value: undefined },
      { key, value: textValue("b") },
    ]);
    expect(hex(root)).toBe(hex(referenceRoot([{ key, value: textValue("b") }])));
  });

  it("returns no page when nothing changes", () => {
    const same = keys.slice(500, 700).map((key) => ({ key, value: textValue("old") }));
    const base = keys[0] ?? hashKey(0);
    // Some leave the tree's path in bits that it skips, at the top or further down.
    const strangers = keys
      .slice(0, 2000)
      .map((key, i) => leavesAt(key, 48 + (i % 12), hashKey(i)))
      .concat([5, 20, 30].map((at) => leavesAt(base, at, hashKey(at))));
    const gone = [...timeKeys(50, 1, 99), ...strangers].map((key) => ({ key, value: undefined }));
    const rootPage = store.readPage(Uint8Array.of(0));
    const run = (updates: StateUpdate[]) => {
      let hashes = 0;
      const counting = (data: Uint8Array): Uint8Array => {
        hashes += 1;
        return sha256(data);
      };
      const result = updateState({ sha256: counting, ...cut, readPage: store.readPage, updates });
      expect(result.pages).toEqual([]);
      expect(hex(result.root)).toBe(hex(stateRoot(sha256, rootPage, 16)));
      return hashes;
    };
    // The root page has one slot here, so what is hashed is the leaves alone.
    expect(run(gone)).toBe(0);
    expect(run([...same, ...gone])).toBe(same.length);
  });

  it("names no page as gone that never was", () => {
    const base = hashKey(1);
    const pair = [base, leavesAt(base, 100, hashKey(2))];
    const lone = leavesAt(base, 50, hashKey(3));
    const small = stateStore(EDGE);
    small.update(pair.map((key) => ({ key, value: textValue("v") })));
    const { root, pages } = small.update([
      ...pair.map((key) => ({ key, value: undefined })),
      { key: lone, value: textValue("v") },
    ]);
    expectTrue(small, root, EDGE);
    expect(pages.map(({ name }) => hex(name)).sort()).toEqual(["00", hex(pageName(base, 100))]);
  });

  it("needs no read when the cache is warm", () => {
    const known = (name: Uint8Array) => store.readPage(name) ?? "unknown";
    const list = fresh.map(({ key }) => key);
    expect(unknownPages({ ...cut, keys: list, known })).toEqual([]);
  });

  it("names every candidate once when the cache is cold", () => {
    const list = keys.slice(0, 50);
    const names = unknownPages({ ...cut, keys: list, known: () => "unknown" }).map(hex);
    const all = new Set(list.flatMap((key) => candidatePages(key, 16).map(hex)));
    expect(new Set(names)).toEqual(all);
    expect(names.length).toBe(all.size);
  });
});

describe("misuse and damage", () => {
  const read = () => undefined;
  const good = { key: hashKey(1), value: textValue("v") };
  it.each([
    ["a short key", [{ key: new Uint8Array(31), value: textValue("v") }], 32],
    ["a short value", [{ key: hashKey(1), value: new Uint8Array(0) }], 32],
    ["keys that differ too late", [good, { ...good, key: leavesAt(good.key, 200, good.key) }], 16],
    ["a significant length of 33", [good], 33],
  ])("refuses %s", (_, updates, significantBytes) => {
    expect(() => updateState({ sha256, significantBytes, readPage: read, updates })).toThrow(
      expect.objectContaining({ code: "ERR_INVALID" }),
    );
  });

  it("reports a child page that is not there", () => {
    const store = stateStore(EDGE);
    const keys = Array.from({ length: 100 }, (_, i) => hashKey(i));
    store.update(keys.map((key) => ({ key, value: textValue("v") })));
    const rootOnly = (name: Uint8Array) => (name.length === 1 ? store.readPage(name) : undefined);
    const updates = keys.map((key) => ({ key, value: undefined }));
    expect(() => updateState({ sha256, ...EDGE, readPage: rootOnly, updates })).toThrow(
      expect.objectContaining({ code: "ERR_CORRUPT" }),
    );
  });
});
