/** Scopes as bytes: one spelling, read back as written; every check in its order with its code. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { signerOf, verifyEd25519Node } from "../codec/node-crypto.js";
import { fromBase64, toBase64 } from "../codec/text.js";
import { parseUlid } from "../codec/ulid.js";
import { isCortexError } from "../errors.js";
import {
  checkScopeTerms,
  decodeScope,
  encodeScope,
  holderOf,
  issueScope,
  parseHandle,
  parseScope,
  type Scope,
  type ScopeChecks,
  type ScopeInput,
  scopeBytes,
  scopeText,
  unsignedBytes,
  verifyScope,
} from "./scope.js";
import { type Selected, type Selector, selects } from "./selector.js";

const issuer = signerOf(new Uint8Array(32).fill(1));
const holder = signerOf(new Uint8Array(32).fill(2));
const issuerKey = toBase64(issuer.publicKey);
const holderKey = toBase64(holder.publicKey);
const ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const ROOT = "ab".repeat(32);

const terms: ScopeInput = {
  actor: "ada",
  include: { tags: ["trip"] },
  expiresAt: 2_000,
  issuedAt: 1_000,
  grantedTo: holderKey,
};

const checks: ScopeChecks = {
  actor: "ada",
  nowMs: 1_500,
  trustedIssuers: [issuerKey],
  revoked: false,
  signedBy: holderKey,
  verifySignature: verifyEd25519Node,
  hasSnapshot: (root) => root === ROOT,
  readProof: (proof) => (proof[0] === 7 ? { root: ROOT, ids: [ID] } : undefined),
};

async function issued(more: Partial<ScopeInput> = {}): Promise<Scope> {
  return parseScope(await issueScope({ ...terms, ...more }, issuer));
}

function codeOf(run: () => unknown): string {
  try {
    run();
    return "none";
  } catch (error) {
    return isCortexError(error) ? error.code : String(error);
  }
}

describe("bytes", () => {
  test("a scope with every field is read back as it was signed", async () => {
    const full: Partial<ScopeInput> = {
      include: {
        types: ["fact", "note"],
        kinds: ["k"],
        tags: ["a", "b"],
        slots: ["Home City"],
        frames: [{ verb: "find", object: "asset", ref: "r" }],
        ids: [ID],
      },
      exclude: { tags: ["secret"] },
      budgetTokens: 500,
      writable: true,
      maxSource: "document",
      snapshotRoot: ROOT,
      proof: Uint8Array.of(7),
    };
    const scope = await issued(full);
    expect(scope).toMatchObject({
      ...full,
      include: { ...full.include, slots: ["home_city"] },
      grantedBy: issuerKey,
    });
    expect(verifyEd25519Node(issuer.publicKey, unsignedBytes(scope), scope.signature)).toBe(true);
    expect(decodeScope(encodeScope(scope))).toEqual(scope);
  });

  test("any change of a byte is another scope, malformed or not the issuer's", async () => {
    const bytes = scopeBytes(await issueScope({ ...terms, writable: true }, issuer));
    const seed = 20_261;
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const changed = Uint8Array.from(bytes, (byte, index) =>
          index === at ? byte ^ flip : byte,
        );
        const code = codeOf(() => verifyScope(parseScope(scopeText(changed)), checks));
        expect(code).toMatch(/^ERR_(SCOPE_\w+|ACTOR_MISMATCH)$/);
      }),
      { seed, numRuns: 300 },
    );
  });

  test("text that is no scope is malformed, and is never shown", () => {
    for (const text of [
      "",
      "x",
      "cortex-scope-1.",
      "cortex-scope-1.@@",
      "cortex-scope-1.AAAA",
      7,
    ]) {
      expect(codeOf(() => parseScope(text))).toBe("ERR_SCOPE_MALFORMED");
    }
    expect(() => parseScope("a permission")).toThrow(/^(?!.*a permission)/);
    expect(parseHandle("cortex-handle-1.AAAA")).toBeUndefined();
  });

  test.each<[string, Partial<Record<keyof ScopeInput, unknown>>, string]>([
    ["actor", { actor: "" }, "ERR_BAD_NAME"],
    ["expiresAt", { expiresAt: undefined }, "ERR_INVALID"],
    ["grantedTo", { grantedTo: "bearer:" }, "ERR_INVALID"],
    ["grantedTo", { grantedTo: "somebody" }, "ERR_INVALID"],
    ["budgetTokens", { budgetTokens: 0 }, "ERR_INVALID"],
    ["maxSource", { maxSource: "god" }, "ERR_INVALID"],
    ["writable", { writable: "yes" }, "ERR_INVALID"],
    ["snapshotRoot", { snapshotRoot: "00" }, "ERR_INVALID"],
    ["include.ids[0]", { include: { ids: ["x"] } }, "ERR_BAD_ID"],
    ["include.types[0]", { include: { types: ["dream"] } }, "ERR_UNKNOWN_TYPE"],
    ["include.colour", { include: { colour: [] } }, "ERR_UNKNOWN_FIELD"],
    ["include.tags", { include: { tags: Array(257).fill("t") } }, "ERR_TOO_LARGE"],
  ])("refuses to issue with a bad %s", (field, bad, code) => {
    const call = () => checkScopeTerms({ ...terms, ...bad } as ScopeInput);
    expect(codeOf(call)).toBe(code);
    expect(call).toThrow(expect.objectContaining({ details: expect.objectContaining({ field }) }));
  });
});

describe("selectors", () => {
  const head: Selected = {
    type: "fact",
    kind: "k",
    tags: ["a"],
    slot: "home_city",
    frames: [{ verb: "find", object: "asset", ref: "r" }],
  };
  const id = parseUlid(ID) ?? new Uint8Array(16);

  test.each<[Selector, boolean]>([
    [{}, false],
    [{ types: ["fact"] }, true],
    [{ types: ["note"] }, false],
    [{ kinds: ["k"] }, true],
    [{ tags: ["b", "a"] }, true],
    [{ tags: ["A"] }, false],
    [{ slots: ["home_city"] }, true],
    [{ frames: [{ verb: "find", object: "asset", ref: "r" }] }, true],
    [{ frames: [{ verb: "find", object: "asset", ref: "s" }] }, false],
    [{ ids: [ID] }, true],
    [{ types: ["note"], tags: ["a"] }, true],
  ])("%j matches: %s", (selector, expected) => {
    expect(selects(selector, head, id)).toBe(expected);
  });

  test("a memory without kind or slot is matched by neither list", () => {
    const bare: Selected = { type: "note", kind: undefined, tags: [], slot: undefined, frames: [] };
    expect(selects({ kinds: ["k"], slots: ["s"], tags: ["t"] }, bare, id)).toBe(false);
  });
});

describe("verification", () => {
  test("holds for its holder until its last millisecond", async () => {
    const scope = await issued();
    expect(codeOf(() => verifyScope(scope, { ...checks, nowMs: 2_000 }))).toBe("none");
    expect(codeOf(() => verifyScope(scope, { ...checks, nowMs: 2_001 }))).toBe("ERR_SCOPE_EXPIRED");
  });

  test.each<[string, Partial<ScopeInput>, Partial<ScopeChecks>]>([
    ["ERR_ACTOR_MISMATCH", {}, { actor: "bob" }],
    ["ERR_SCOPE_MALFORMED", { include: {} }, {}],
    ["ERR_SCOPE_EXPIRED", {}, { nowMs: 2_001 }],
    ["ERR_SCOPE_ISSUER", {}, { trustedIssuers: [holderKey] }],
    ["ERR_SCOPE_SIGNATURE", {}, { verifySignature: () => false }],
    ["ERR_SCOPE_REVOKED", {}, { revoked: true }],
    ["ERR_SCOPE_SNAPSHOT", { snapshotRoot: "cd".repeat(32) }, {}],
    ["ERR_PROOF_INVALID", { include: { ids: [ID] }, snapshotRoot: ROOT }, {}],
    ["ERR_PROOF_INVALID", { proof: Uint8Array.of(7), snapshotRoot: ROOT }, {}],
    ["ERR_PROOF_INVALID", { include: { ids: [ID] }, proof: Uint8Array.of(7) }, {}],
    [
      "ERR_PROOF_INVALID",
      { include: { ids: [ID] }, proof: Uint8Array.of(8), snapshotRoot: ROOT },
      {},
    ],
    ["ERR_SCOPE_HOLDER", {}, { signedBy: undefined }],
    ["ERR_SCOPE_HOLDER", {}, { signedBy: issuerKey }],
  ])("%s: %j", async (code, more, other) => {
    const scope = await issued(more);
    expect(codeOf(() => verifyScope(scope, { ...checks, ...other }))).toBe(code);
  });

  test("the first failure in the order is the one that is told", async () => {
    const scope = await issued({ include: {}, snapshotRoot: "cd".repeat(32) });
    const worst: ScopeChecks = {
      ...checks,
      actor: "bob",
      nowMs: 9_999,
      trustedIssuers: [],
      verifySignature: () => false,
      revoked: true,
      signedBy: undefined,
    };
    const mended: readonly [Partial<ScopeChecks> & { readonly include?: Selector }, string][] = [
      [{}, "ERR_ACTOR_MISMATCH"],
      [{ actor: "ada" }, "ERR_SCOPE_MALFORMED"],
      [{ include: { tags: ["t"] } }, "ERR_SCOPE_EXPIRED"],
      [{ nowMs: 0 }, "ERR_SCOPE_ISSUER"],
      [{ trustedIssuers: [issuerKey] }, "ERR_SCOPE_SIGNATURE"],
      [{ verifySignature: () => true }, "ERR_SCOPE_REVOKED"],
      [{ revoked: false }, "ERR_SCOPE_SNAPSHOT"],
      [{ hasSnapshot: () => true }, "ERR_SCOPE_HOLDER"],
      [{ signedBy: holderKey }, "none"],
    ];
    let state: ScopeChecks = worst;
    let current = scope;
    for (const [{ include, ...mend }, code] of mended) {
      state = { ...state, ...mend };
      if (include !== undefined) current = { ...current, include };
      expect(codeOf(() => verifyScope(current, state))).toBe(code);
    }
  });

  test("ids hold with their proof at their root", async () => {
    const proof = Uint8Array.of(7);
    const scope = await issued({ include: { ids: [ID] }, proof, snapshotRoot: ROOT });
    expect(codeOf(() => verifyScope(scope, checks))).toBe("none");
  });

  test("a bearer scope serves whoever has it, and says so", async () => {
    const scope = await issued({ grantedTo: "bearer:night shift" });
    expect(codeOf(() => verifyScope(scope, { ...checks, signedBy: undefined }))).toBe("none");
    expect(holderOf(scope)).toBe("bearer:night shift");
    expect(fromBase64(holderKey)).toHaveLength(32);
  });
});
