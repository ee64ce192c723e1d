/**
 * The state tree as plainly as it can be written: root and pages straight from the definition, over
 * all keys, by recursion. Used only to judge the fast code. Also a store of pages in a map, and
 * keys.
 */
import { domainHash } from "../src/codec/hash.js";
import { sha256Node as sha256 } from "../src/codec/node-crypto.js";
import { type PageChange, type StateUpdate, updateState } from "../src/merkle/state-tree.js";

/** A key with its value. */
export interface Entry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** How a tree's pages are cut. */
export interface Cut {
  readonly significantBytes: number;
  readonly pageBits: number;
}

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

const bit = (key: Uint8Array, i: number): number => ((key[i >> 3] ?? 0) >> (7 - (i % 8))) & 1;

/** The first bit on which two keys differ. */
function partsAt(one: Uint8Array, other: Uint8Array): number {
  let byte = 0;
  while (byte < one.length && one[byte] === other[byte]) byte += 1;
  if (byte === one.length) throw new Error("two entries have one key");
  return byte * 8 + Math.clz32((one[byte] ?? 0) ^ (other[byte] ?? 0)) - 24;
}

/** The first bit on which entries part; there are at least two. */
function branch([first, ...others]: readonly Entry[]): number {
  if (first === undefined) throw new Error("nothing parts");
  return others.reduce((least, { key }) => Math.min(least, partsAt(first.key, key)), 256);
}

/** The root over any entries with distinct keys, in any order. */
export function referenceRoot(entries: readonly Entry[]): Uint8Array {
  const [first] = entries;
  if (first === undefined) return domainHash(sha256, "stateEmpty");
  if (entries.length === 1) return domainHash(sha256, "stateLeaf", first.key, first.value);
  const at = branch(entries);
  const side = (b: number) => referenceRoot(entries.filter(({ key }) => bit(key, at) === b));
  return domainHash(sha256, "stateNode", Uint8Array.of(0, at), side(0), side(1));
}

/** Every page over the entries, from name (hex) to bytes (hex). */
export function referencePages(entries: readonly Entry[], cut: Cut): Map<string, string> {
  const { significantBytes, pageBits } = cut;
  const pages = new Map<string, string>();
  const prefix = (key: Uint8Array, bits: number): Uint8Array =>
    key.slice(0, Math.ceil(bits / 8)).map((byte, i) => {
      const kept = Math.min(8, bits - 8 * i);
      return byte & (0xff << (8 - kept));
    });
  const visit = (group: readonly Entry[], depth: number): void => {
    const slots = new Map<string, Entry[]>();
    for (const entry of group) {
      let slot = "";
      for (let i = depth; i < Math.min(depth + pageBits, significantBytes * 8); i++) {
        slot += bit(entry.key, i);
      }
      slots.set(slot, [...(slots.get(slot) ?? []), entry]);
    }
    const parts: Uint8Array[] = [];
    for (const [, members] of [...slots].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const key = members[0]?.key ?? new Uint8Array(0);
      const top = members.length === 1 ? 0 : branch(members);
      const path = top === 0 ? key.slice(0, significantBytes) : prefix(key, top);
      parts.push(Uint8Array.of(top), path.slice(Math.floor(depth / 8)), referenceRoot(members));
      if (top > 0) visit(members, Math.floor(top / pageBits) * pageBits);
    }
    const name = [...prefix(group[0]?.key ?? new Uint8Array(0), depth), depth / pageBits];
    pages.set(hex(Uint8Array.from(name)), hex(Buffer.concat(parts)));
  };
  if (entries.length > 0) visit(entries, 0);
  return pages;
}

/** A tree whose pages live in a map, with its entries beside it. */
export function stateStore(cut: Cut) {
  const pages = new Map<string, Uint8Array>();
  const entries = new Map<string, Entry>();
  const bySignificant = new Map<string, Entry>();
  const significant = (key: Uint8Array): string => hex(key.subarray(0, cut.significantBytes));
  const readPage = (name: Uint8Array): Uint8Array | undefined => pages.get(hex(name));
  return {
    pages,
    entries,
    readPage,
    /** The entry whose key begins with the significant bytes given. */
    entryOf: (start: Uint8Array): Entry | undefined => bySignificant.get(hex(start)),
    /** Applies updates and keeps the changed pages; gives the root and those pages. */
    update: (
      updates: readonly StateUpdate[],
      read: (name: Uint8Array) => Uint8Array | undefined = readPage,
    ): { root: Uint8Array; pages: PageChange[] } => {
      const result = updateState({ sha256, ...cut, readPage: read, updates });
      for (const { name, bytes } of result.pages) {
        if (bytes === undefined) pages.delete(hex(name));
        else pages.set(hex(name), bytes);
      }
      for (const { key, value } of updates) {
        if (value === undefined) {
          entries.delete(hex(key));
          bySignificant.delete(significant(key));
        } else {
          entries.set(hex(key), { key, value });
          bySignificant.set(significant(key), { key, value });
        }
      }
      return result;
    },
    /** The stored pages in the form of `referencePages`. */
    dump: (): Map<string, string> => new Map([...pages].map(([name, b]) => [name, hex(b)])),
  };
}

/** A small generator (xorshift), so that a seed fixes everything. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed | 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** The value that stands for any text. */
export const textValue = (text: string): Uint8Array => new Uint8Array(sha256(Buffer.from(text)));

/** A key by hash: its bits are as good as random. */
export const hashKey = (n: number): Uint8Array => textValue(`key ${n}`);

/** Keys like those of memories: a time of 48 bits, 80 random bits, then a hash of the two. */
export function timeKeys(count: number, perMs: number, seed = 7): Uint8Array[] {
  const random = randomFrom(seed);
  return Array.from({ length: count }, (_, i) => {
    const key = new Uint8Array(32);
    const ms = 1_750_000_000_000 + Math.floor(i / perMs);
    for (let b = 0; b < 6; b++) key[b] = Math.floor(ms / 256 ** (5 - b)) % 256;
    for (let b = 6; b < 16; b++) key[b] = random(256);
    key.set(sha256(key.subarray(0, 16)).subarray(0, 16), 16);
    return key;
  });
}

/** A key equal to `key` up to bit `at`, with that bit turned, and the rest as in `rest`. */
export function leavesAt(key: Uint8Array, at: number, rest: Uint8Array): Uint8Array {
  return key.map((byte, i) => {
    if (i < at >> 3) return byte;
    if (i > at >> 3) return rest[i] ?? 0;
    const own = 0xff & (0xff00 >> (at & 7));
    const turned = 0x80 >> (at & 7);
    const after = 0xff & ~own & ~turned;
    return (byte & own) | (~byte & turned) | ((rest[i] ?? 0) & after);
  });
}
