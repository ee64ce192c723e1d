/** Page bytes: one form, refused when it is not that form; names that sort with their keys. */
import { describe, expect, it } from "vitest";
import { hashKey, hex, leavesAt, stateStore, textValue } from "../../test/state-reference.js";
import {
  candidatePages,
  compareKeys,
  decodePage,
  encodePage,
  PAGE_BITS,
  pageName,
  pageShape,
} from "./state-page.js";

const SHAPE = pageShape(32);
const KEYS = Array.from({ length: 60 }, (_, i) => hashKey(i));

/** Every page of a small tree with its depth. */
function somePages(): { depth: number; bytes: Uint8Array }[] {
  const store = stateStore({ significantBytes: 32, pageBits: PAGE_BITS });
  const deep = leavesAt(hashKey(1), 201, hashKey(2));
  store.update([...KEYS, deep].map((key) => ({ key, value: textValue("v") })));
  return [...store.pages].map(([name, bytes]) => ({
    depth: Number.parseInt(name.slice(-2), 16) * PAGE_BITS,
    bytes,
  }));
}

const CORRUPT = expect.objectContaining({ code: "ERR_CORRUPT" });

describe("page bytes", () => {
  it("come out as they went in", () => {
    const pages = somePages();
    expect(pages.length).toBeGreaterThan(10);
    for (const { depth, bytes } of pages) {
      expect(hex(encodePage(decodePage(bytes, depth, SHAPE), SHAPE))).toBe(hex(bytes));
    }
  });

  it("are read from any view, a Node buffer included", () => {
    const { depth, bytes } = somePages()[0] ?? { depth: 0, bytes: new Uint8Array(0) };
    const buffer = Buffer.concat([Buffer.alloc(3), bytes]).subarray(3);
    expect(hex(encodePage(decodePage(buffer, depth, SHAPE), SHAPE))).toBe(hex(bytes));
  });

  it("are refused when cut short at any byte", () => {
    for (const { depth, bytes } of somePages()) {
      const whole = decodePage(bytes, depth, SHAPE).nodes.length;
      for (let end = 0; end < bytes.length; end++) {
        const cut = bytes.slice(0, end);
        // A cut between slots leaves a page of fewer slots, which one page alone cannot tell.
        let slots = 0;
        try {
          slots = decodePage(cut, depth, SHAPE).nodes.length;
        } catch (error) {
          expect(error).toEqual(CORRUPT);
        }
        expect(slots).toBeLessThan(whole);
      }
    }
  });

  const hash = textValue("h");
  const leaf = (first: number) => Uint8Array.of(0, first, ...hashKey(1).slice(1), ...hash);
  const tree = (top: number, ...path: number[]) => Uint8Array.of(top, ...path, ...hash);
  it.each([
    ["no slot", 0, []],
    ["one slot below the root", 8, [leaf(0x10)]],
    ["slots out of order", 0, [leaf(0x20), leaf(0x10)]],
    ["one slot twice", 0, [leaf(0x11), leaf(0x1f)]],
    ["a subtree that branches inside the page", 0, [tree(3, 0x10), leaf(0x20)]],
    ["bits after the branch", 0, [tree(12, 0x10, 0x01), leaf(0x20)]],
    ["a trailing byte", 0, [leaf(0x10), Uint8Array.of(0)]],
  ])("are refused with %s", (_, depth, slots) => {
    expect(() => decodePage(Buffer.concat(slots), depth, SHAPE)).toThrow(CORRUPT);
  });

  it("are refused when a subtree branches beyond the significant bits", () => {
    const path = [0x10, ...new Array<number>(16).fill(0)];
    expect(() => decodePage(tree(130, ...path), 0, pageShape(16))).toThrow(CORRUPT);
  });
});

describe("page names", () => {
  it("hold the key's bits up to the depth, then the depth in pages", () => {
    const key = hashKey(9);
    key.set([0xab, 0xcd, 0xef]);
    expect(hex(pageName(key, 0))).toBe("00");
    expect(hex(pageName(key, 4))).toBe("a001");
    expect(hex(pageName(key, 8))).toBe("ab02");
    expect(hex(pageName(key, 20))).toBe("abcde005");
    expect(hex(pageName(key, 15, 5))).toBe("abcc03");
  });

  it("number one for each page on a key's path", () => {
    expect(candidatePages(hashKey(1), 16)).toHaveLength(32);
    expect(candidatePages(hashKey(1), 32)).toHaveLength(64);
    expect(new Set(candidatePages(hashKey(1), 32).map(hex)).size).toBe(64);
  });

  it("of one depth sort as the keys do", () => {
    const keys = KEYS.toSorted(compareKeys);
    const names = keys.map((key) => hex(pageName(key, 24)));
    expect(names).toEqual(names.toSorted());
  });
});
