/**
 * What the holder of a scope may write: within the selectors before and after, under its own name, of
 * no higher trust than granted, and never over or beside what it may not see. Budgets and the record of
 * violations as well.
 */
import { describe, expect, test } from "vitest";
import type { Cortex } from "../src/cortex.js";
import { isCortexError } from "../src/errors.js";
import type { ScopeAccess } from "../src/scope/access.js";
import type { ScopeInput } from "../src/scope/scope.js";
import { openTestStore, type TestStore } from "../src/testing/index.js";
import { fillTrip, HOLDER_KEY, tripScope } from "./scopes-support.js";

async function accessTo(store: TestStore, more: Partial<ScopeInput> = {}): Promise<ScopeAccess> {
  const text = await tripScope(store, { writable: true, ...more });
  return store.memory.scopeAccess(text, { signedBy: HOLDER_KEY });
}

/** The code and field of a refusal; violations go on record, so the journal may grow. */
async function refusal(call: () => Promise<unknown>): Promise<string> {
  try {
    await call();
    return "none";
  } catch (error) {
    if (!isCortexError(error)) throw error;
    return `${error.code} ${error.details.field ?? ""}`.trim();
  }
}

async function kinds(memory: Cortex): Promise<readonly string[]> {
  return (await memory.log({ limit: 1000 })).entries.map(({ kind }) => kind);
}

describe("writing within a scope", () => {
  test("a write is scoped, of the granted source, and under the holder's name", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await fillTrip(memory);
    const access = await accessTo(store);
    const { id } = await memory.write({ type: "fact", text: "f", tags: ["trip"] }, { access });
    expect(await memory.get(id)).toMatchObject({
      head: { visibility: "scoped", source: "agent" },
      versionRecord: { createdBy: `key:${HOLDER_KEY}`, provenance: { source: "agent" } },
    });
  });

  test.each<[string, (memory: Cortex, access: ScopeAccess, id: string) => Promise<unknown>]>([
    ["ERR_DENIED scope", (m, access) => m.write({ type: "fact", text: "x" }, { access })],
    ["ERR_DENIED scope", (m, access, id) => m.updateHead(id, { tags: ["elsewhere"] }, { access })],
    [
      "ERR_DENIED visibility",
      (m, access, id) => m.updateHead(id, { visibility: "public" }, { access }),
    ],
    [
      "ERR_DENIED scope",
      (m, access, id) => m.updateHead(id, { visibility: "private" }, { access }),
    ],
    [
      "ERR_TRUST source",
      (m, access) =>
        m.write({ type: "fact", text: "x", tags: ["trip"], source: "user_input" }, { access }),
    ],
    [
      "ERR_TRUST source",
      (m, access, id) =>
        m.updateHead(id, { status: "confirmed", source: "user_input" }, { access }),
    ],
    ["ERR_TRUST status", (m, access, id) => m.updateHead(id, { status: "confirmed" }, { access })],
    [
      "ERR_TRUST by",
      (m, access) => m.write({ type: "fact", text: "x", tags: ["trip"], by: "ada" }, { access }),
    ],
    [
      "ERR_TRUST source",
      (m, access, id) =>
        m.addEdge(id, "uses", "name-markerpublic", { source: "user_input" }, { access }),
    ],
    [
      "ERR_UNKNOWN_ENDPOINT to",
      (m, access, id) => m.addEdge(id, "uses", "name-markerprivate", {}, { access }),
    ],
  ])("%s: %s", async (expected, call) => {
    await using store = await openTestStore();
    const { ids } = await fillTrip(store.memory);
    const access = await accessTo(store);
    expect(await refusal(() => call(store.memory, access, ids.scoped))).toBe(expected);
  });

  test("what the owner said is not rewritten, nor replaced in its slot, by less", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await fillTrip(memory);
    const owned = { type: "fact", tags: ["trip"], visibility: "scoped", slot: "home" } as const;
    const { id } = await memory.write({ ...owned, text: "Porto" });
    const access = await accessTo(store);
    const rewrite = () => memory.update(id, { text: "Lyon" }, { access });
    const replace = () => memory.write({ ...owned, text: "Lyon" }, { access });
    expect(await refusal(rewrite)).toMatch(/^ERR_(DENIED|TRUST) (provenance\.)?source$/);
    // Another value may stand beside it as a claim; it does not take its place.
    expect((await replace()).replaced).toEqual([]);
    expect(await memory.get(id)).toMatchObject({ text: "Porto", head: { lifecycle: "active" } });
    const trusted = await accessTo(store, { maxSource: "user_input" });
    await memory.update(id, { text: "Lyon" }, { access: trusted });
    expect((await memory.get(id))?.text).toBe("Lyon");
  });

  test("a slot or a session that holds hidden memories is not to be had", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { ids } = await fillTrip(memory);
    const access = await accessTo(store);
    const slot = () =>
      memory.write({ type: "fact", text: "x", tags: ["trip"], slot: "markerprivate" }, { access });
    const turn = (index?: number) => () =>
      memory.remember([{ role: "user", content: "x", ...(index === undefined ? {} : { index }) }], {
        session: "session-markerprivate",
        access,
      });
    expect(await refusal(slot)).toBe("ERR_DENIED scope");
    expect(await refusal(turn())).toBe("ERR_DENIED scope");
    expect(await refusal(turn(0))).toBe("ERR_DENIED scope");
    expect((await memory.get(ids.private))?.head.lifecycle).toBe("active");
    const own = await memory.remember([{ role: "user", content: "x" }], {
      session: "session-markerscoped",
      access,
    });
    expect(own.turns).toMatchObject([{ index: 1, added: true }]);
  });

  test("an id or a name that a hidden memory has is not taken over", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { ids } = await fillTrip(memory);
    const access = await accessTo(store);
    const note = { type: "note", text: "x", tags: ["trip"] } as const;
    const same = () => memory.write({ ...note, id: ids.private }, { access });
    const named = () => memory.write({ ...note, externalId: "name-markerprivate" }, { access });
    expect(await refusal(same)).toBe("ERR_NOT_FOUND");
    expect(await refusal(named)).toBe("ERR_EXISTS externalId");
    expect((await memory.get("name-markerprivate"))?.id).toBe(ids.private);
  });

  test("a batch that reaches beyond the scope writes none of its items", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { ids } = await fillTrip(memory);
    const access = await accessTo(store);
    const before = (await memory.stats()).entries;
    const call = () =>
      memory.batch(
        [
          { write: { type: "note", text: "fine", tags: ["trip"] } },
          { update: { id: ids.private, text: "not fine" } },
        ],
        { access },
      );
    expect(await refusal(call)).toMatch(/^ERR_NOT_FOUND/);
    await memory.write({ type: "note", text: "the owner's" });
    const added = (await kinds(memory)).slice(before);
    expect(added).toEqual(["scope_violation", "write"]);
  });

  test("an idempotency key of the owner is not the holder's", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await fillTrip(memory);
    const access = await accessTo(store);
    const input = { type: "note", text: "n", tags: ["trip"], idempotencyKey: "k" } as const;
    const owned = await memory.write(input);
    const held = await memory.write(input, { access });
    expect(held.id).not.toBe(owned.id);
    expect((await memory.write(input, { access })).id).toBe(held.id);
  });
});

describe("budgets", () => {
  test("the usual budget is lowered to the scope's; more than that is refused", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await fillTrip(memory);
    const access = await accessTo(store, { budgetTokens: 3 });
    expect((await memory.context({ access })).budgetTokens).toBe(3);
    expect((await memory.find({ tags: ["trip"], limit: 50, access })).hits).toHaveLength(1);
    const free = await accessTo(store);
    const searched = (await memory.search("marker* rule aim said", { access: free })).hits.length;
    expect(searched).toBeGreaterThan(1);
    expect((await memory.search("marker* rule aim said", { access })).hits).toHaveLength(1);
    expect((await memory.searchBatch([{ text: "rule aim" }], { access })).hits).toHaveLength(1);
    expect((await memory.recall("rule", { access })).hits).toHaveLength(1);
    for (const call of [
      () => memory.context({ budgetTokens: 4, access }),
      () => memory.find({ tags: ["trip"], budgetTokens: 4, access }),
      () => memory.recall("rule", { budgetTokens: 4, access }),
    ]) {
      expect(await refusal(call)).toBe("ERR_BUDGET budgetTokens");
    }
    expect((await memory.context({ budgetTokens: 3, access })).budgetTokens).toBe(3);
  });
});

describe("violations", () => {
  test("are on record for the owner: reads and writes beyond, and writes without leave", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { ids } = await fillTrip(memory);
    const before = (await memory.stats()).entries;
    const access = await accessTo(store);
    const reader = await accessTo(store, { writable: false });
    expect(await memory.get(ids.private, { access })).toBeUndefined();
    expect(await memory.get("01ARZ3NDEKTSV4RRFFQ69G5FAV", { access })).toBeUndefined();
    await memory.list({ tag: "trip", access });
    await memory.search("marker", { access });
    expect(await refusal(() => memory.tombstone(ids.private, "r", { access }))).toMatch(
      /^ERR_NOT_FOUND/,
    );
    const unasked = () => memory.tombstone(ids.scoped, "r", { access: reader });
    expect(await refusal(unasked)).toBe("ERR_DENIED access");
    await memory.write({ type: "note", text: "after" });
    const { entries } = await memory.log({ from: before, limit: 1000 });
    expect(entries.map(({ kind }) => kind)).toEqual([
      "scope_violation",
      "scope_violation",
      "scope_violation",
      "write",
    ]);
    expect(entries[0]?.by).toBe(`key:${HOLDER_KEY}`);
  });

  test("stop being recorded when there are too many, and are refused all the same", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { ids } = await fillTrip(memory);
    const before = (await memory.stats()).entries;
    const access = await accessTo(store);
    for (let at = 0; at < 60; at += 1) {
      expect(await memory.get(ids.private, { access })).toBeUndefined();
    }
    await memory.write({ type: "note", text: "after" });
    const recorded = (await kinds(memory)).slice(before).filter((kind) => kind !== "write");
    expect(new Set(recorded)).toEqual(new Set(["scope_violation"]));
    expect(recorded.length).toBeGreaterThanOrEqual(20);
    expect(recorded.length).toBeLessThan(40);
  });
});
