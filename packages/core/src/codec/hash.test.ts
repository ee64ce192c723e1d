/** Domains keep hashes apart, the log hashes as RFC 9162 says, and both hash functions agree. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DOMAINS, type Domain, domainHash, HASH_BYTES, logLeafHash, logNodeHash } from "./hash.js";
import { toHex } from "./keys.js";
import { sha256Node } from "./node-crypto.js";
import { sha256Pure } from "./sha256-pure.js";
import { utf8 } from "./text.js";

const SEED = 20_260_315;
const domains = Object.keys(DOMAINS) as Domain[];

describe("domains", () => {
  it("are plain ASCII, and none is the start of another", () => {
    const texts = Object.values(DOMAINS);
    for (const text of texts) {
      expect(text).toMatch(/^cortex\.[a-z.-]+\.v1$/);
      expect(texts.filter((other) => other.startsWith(text))).toEqual([text]);
    }
  });

  it("give different hashes for the same bytes", () => {
    const hashes = domains.map((domain) => toHex(domainHash(sha256Node, domain, utf8("same"))));
    expect(new Set(hashes).size).toBe(domains.length);
  });

  it("hash the text of the domain, then the parts", () => {
    const hash = domainHash(sha256Node, "part", utf8("one"), new Uint8Array(0), utf8("two"));
    expect(toHex(hash)).toBe(toHex(sha256Node(utf8("cortex.part.v1onetwo"))));
    expect(toHex(domainHash(sha256Node, "stateEmpty"))).toBe(
      toHex(sha256Node(utf8("cortex.state.empty.v1"))),
    );
  });
});

describe("the log", () => {
  const LEAVES = ["", "00", "10", "2021", "3031", "40414243"].map((hex) =>
    Uint8Array.from(Buffer.from(hex, "hex")),
  );
  const leafHash = (index: number) => logLeafHash(sha256Node, LEAVES[index] ?? new Uint8Array(0));
  const node = (left: Uint8Array, right: Uint8Array) => logNodeHash(sha256Node, left, right);

  it("the leaf of no bytes and the roots of the published test tree", () => {
    expect(toHex(leafHash(0))).toBe(
      "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    );
    const two = node(leafHash(0), leafHash(1));
    expect(toHex(two)).toBe("fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125");
    expect(toHex(node(two, leafHash(2)))).toBe(
      "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    );
    const four = node(two, node(leafHash(2), leafHash(3)));
    expect(toHex(node(four, node(leafHash(4), leafHash(5))))).toBe(
      "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    );
  });

  it("a leaf that spells a node does not hash like it", () => {
    const [left, right] = [leafHash(0), leafHash(1)];
    const spelled = Uint8Array.of(1, ...left, ...right);
    expect(toHex(logLeafHash(sha256Node, spelled))).not.toBe(toHex(node(left, right)));
    expect(toHex(logLeafHash(sha256Node, spelled.subarray(1)))).not.toBe(toHex(node(left, right)));
  });
});

describe(`the two hash functions (seed ${SEED})`, () => {
  it("agree, also beyond the size of the input buffer", () => {
    const parts = fc.array(fc.uint8Array({ maxLength: 6000 }), { maxLength: 4 });
    const property = fc.property(fc.constantFrom(...domains), parts, (domain, list) => {
      const hash = domainHash(sha256Node, domain, ...list);
      expect(hash.length).toBe(HASH_BYTES);
      expect(toHex(hash)).toBe(toHex(domainHash(sha256Pure, domain, ...list)));
      const whole = Uint8Array.from([utf8(DOMAINS[domain]), ...list].flatMap((part) => [...part]));
      expect(toHex(hash)).toBe(toHex(sha256Node(whole)));
      expect(toHex(logLeafHash(sha256Node, whole))).toBe(toHex(logLeafHash(sha256Pure, whole)));
    });
    fc.assert(property, { seed: SEED, numRuns: 60 });
  });

  it("results stay as they are when the input buffer is used again", () => {
    const first = domainHash(sha256Pure, "part", utf8("first"));
    const before = toHex(first);
    domainHash(sha256Pure, "part", utf8("second"));
    expect(toHex(first)).toBe(before);
  });
});
