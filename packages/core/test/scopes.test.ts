/**
 * Every verb, for every visibility, for every caller: what each gets is worked out from the policy
 * alone, so a verb that bypasses admission shows up as a cell that differs.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { VERBS, type VerbName } from "../src/contract/index.js";
import type { Cortex } from "../src/cortex.js";
import { isCortexError } from "../src/errors.js";
import { KEYSPACE, prefixRange } from "../src/kv/keyspace.js";
import type { Kv } from "../src/kv/kv.js";
import { MemoryStore, openMemoryKv } from "../src/kv/memory-backend.js";
import { open } from "../src/open.js";
import type { Visibility } from "../src/records/types.js";
import { type Access, GUEST, OWNER } from "../src/scope/access.js";
import { issueScope } from "../src/scope/scope.js";
import { openTestHub } from "../src/testing/hub-fixture.js";
import { openTestStore, refusalOf, type TestStore } from "../src/testing/index.js";
import { type Row, SCOPE_TABLE, type Subject, tells } from "./scope-table.js";
import {
  fillTrip,
  HOLDER_KEY,
  ISSUER,
  ISSUER_KEY,
  tripScope,
  VISIBILITY_NAMES,
  wordOf,
} from "./scopes-support.js";

/** What became of one call. */
type Outcome = { readonly answer: unknown } | { readonly code: string };

async function outcomeOf(run: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { answer: await run() };
  } catch (error) {
    if (isCortexError(error)) return { code: error.code };
    throw error;
  }
}

/** A caller: how it comes by its access, and the code it is turned away with, if it always is. */
interface Caller {
  readonly name: string;
  readonly access: () => Promise<Access>;
  /** The code from every verb that is neither open nor the owner's alone. */
  readonly refused?: string;
  /** It fails before any verb is called. */
  readonly isOutside?: true;
}

const signedBy = HOLDER_KEY;

async function callersOf(
  store: TestStore,
  other: TestStore,
  proofs: boolean,
): Promise<readonly Caller[]> {
  const { memory, clock } = store;
  await other.memory.configure({ trustedIssuers: [ISSUER_KEY] });
  const writable = await tripScope(store, { writable: true, proofs });
  const readOnly = await tripScope(store, { proofs });
  const foreign = await tripScope(other, { writable: true, proofs });
  const brief = await tripScope(store, {
    writable: true,
    proofs,
    expiresAt: clock.last() + 10_000,
  });
  const withdrawn = await tripScope(store, { writable: true, proofs, budgetTokens: 77 });
  const expired = await memory.scopeAccess(brief, { signedBy });
  const revoked = await memory.scopeAccess(withdrawn, { signedBy });
  const tenant = await other.memory.scopeAccess(foreign, { signedBy });
  await memory.revokeScope(withdrawn);
  clock.advance(20_000);
  const outside = { isOutside: true } as const;
  return [
    { name: "no scope", access: async () => GUEST },
    {
      name: "wrong actor",
      access: () => memory.scopeAccess(foreign, { signedBy }),
      refused: "ERR_ACTOR_MISMATCH",
      ...outside,
    },
    {
      name: "stolen",
      access: () => memory.scopeAccess(writable, { signedBy: ISSUER_KEY }),
      refused: "ERR_SCOPE_HOLDER",
      ...outside,
    },
    { name: "expired", access: async () => expired, refused: "ERR_SCOPE_EXPIRED" },
    { name: "revoked", access: async () => revoked, refused: "ERR_SCOPE_REVOKED" },
    { name: "other tenant", access: async () => tenant, refused: "ERR_ACTOR_MISMATCH" },
    { name: "read-only", access: () => memory.scopeAccess(readOnly, { signedBy }) },
    { name: "writable", access: () => memory.scopeAccess(writable, { signedBy }) },
    { name: "owner", access: async () => OWNER },
  ];
}

/** The visibilities a caller may see. */
function seenBy(caller: string): readonly Visibility[] {
  if (caller === "owner") return VISIBILITY_NAMES;
  return caller === "no scope" ? ["public"] : ["scoped", "public"];
}

/** What a cell of the table must hold: a code, or whether the answer tells of the memory. */
function expected(
  verb: VerbName,
  row: Row,
  caller: Caller,
  visibility: Visibility,
): string | boolean {
  const { policy } = VERBS[verb];
  const { name, refused } = caller;
  if (refused !== undefined && caller.isOutside === true) return refused;
  if (policy === "open") return "open";
  if (policy === "owner") return name === "owner" ? "admitted" : "ERR_DENIED";
  if (refused !== undefined) return refused;
  if (row.needsProofs === true && name === "no scope") return "ERR_DENIED";
  if (policy === "filtered") return seenBy(name).includes(visibility);
  if (name === "owner") return "done";
  if (name !== "writable") return "ERR_DENIED";
  // The owner alone makes a memory private or public.
  if (row.creates === true) return visibility === "scoped" ? "done" : "ERR_DENIED";
  return visibility === "private" && row.skips !== true ? "as absent" : "done";
}

/** What the same call gets about a memory that never was. */
function absentOutcome(row: Row, subject: Subject): Promise<Outcome> {
  const nowhere = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  const all = { private: nowhere, scoped: nowhere, public: nowhere };
  const graph = { ids: all, partners: all, edges: all };
  return outcomeOf(() => row.call({ ...subject, id: nowhere, graph }));
}

/** An outcome without its position, which moves on with every violation on record. */
function atAnyPosition(outcome: Outcome): string {
  return JSON.stringify(outcome, (name, value) => (name === "seq" ? undefined : value));
}

/** What a call came to, in the words of `expected`; anything unforeseen shows itself. */
async function came(row: Row, subject: Subject, outcome: Outcome, want: string | boolean) {
  const code = "code" in outcome ? outcome.code : undefined;
  if (want === "open" || want === "admitted") {
    // Some of these fail for reasons of their own, such as a backend that cannot; never by access.
    return code === "ERR_DENIED" ? code : want;
  }
  if (want === "done") return code ?? want;
  if (want === "as absent" || (want === false && code !== undefined)) {
    const absent = await absentOutcome(row, subject);
    return atAnyPosition(outcome) === atAnyPosition(absent) ? want : atAnyPosition(outcome);
  }
  return code ?? ("answer" in outcome && tells(outcome.answer, subject));
}

describe("the table of verbs, visibilities and callers", () => {
  test("has every verb", () => {
    expect(Object.keys(SCOPE_TABLE).sort()).toEqual(Object.keys(VERBS).sort());
  });

  test.each(Object.keys(SCOPE_TABLE) as VerbName[])("%s", async (verb) => {
    await using store = await openTestStore();
    await using other = await openTestStore({ actor: "bob", check: false });
    const row = SCOPE_TABLE[verb];
    const graph = await fillTrip(store.memory);
    const scope = await tripScope(store, { grantedTo: "bearer:anybody" });
    for (const caller of await callersOf(store, other, row.needsProofs === true)) {
      for (const visibility of VISIBILITY_NAMES) {
        const subject = (access: Access): Subject => ({
          memory: store.memory,
          graph,
          visibility,
          id: graph.ids[visibility],
          word: wordOf(visibility),
          access,
          scope,
        });
        const outcome = await outcomeOf(async () => row.call(subject(await caller.access())));
        const want = expected(verb, row, caller, visibility);
        const access = caller.isOutside === true ? OWNER : await caller.access();
        const got = await came(row, subject(access), outcome, want);
        expect(got, `${verb} of ${visibility} by ${caller.name}`).toBe(want);
      }
    }
  });
});

/** One store, opened twice. */
async function openPair(backend: "memory" | "lmdb") {
  const shared = new MemoryStore();
  const folder = mkdtempSync(join(tmpdir(), "cortex-test-"));
  const openOne = (): Promise<Cortex> =>
    open(folder, { actor: "ada", ...(backend === "memory" ? { kv: openMemoryKv(shared) } : {}) });
  const [first, second] = [await openOne(), await openOne()];
  return {
    first,
    second,
    async [Symbol.asyncDispose]() {
      await first.close();
      await second.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe("a scope at an open store", () => {
  test("selects, excludes, and never shows what is private", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.configure({ trustedIssuers: [ISSUER_KEY] });
    const write = async (text: string, tags: readonly string[], visibility: Visibility) =>
      (await memory.write({ type: "fact", text, tags, visibility })).id;
    const shown = await write("shown", ["trip"], "scoped");
    const excluded = await write("excluded", ["trip", "secret"], "scoped");
    const elsewhere = await write("elsewhere", ["other"], "scoped");
    const open = await write("open", ["secret"], "public");
    const hidden = await write("hidden", ["trip"], "private");
    const text = await tripScope(store, { exclude: { tags: ["secret"] } });
    const access = await memory.scopeAccess(text, { signedBy });
    const { memories } = await memory.list({ type: "fact", access });
    expect(memories.map(({ id }) => id).sort()).toEqual([shown, open].sort());
    for (const id of [excluded, elsewhere, hidden]) {
      expect(await memory.get(id, { access })).toBeUndefined();
    }
  });

  test("an access that nobody granted opens nothing", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const graph = await fillTrip(memory);
    const access = await memory.scopeAccess(await tripScope(store), { signedBy });
    for (const forged of [{ ...access }, JSON.parse(JSON.stringify(access)), { kind: "scope" }]) {
      const call = () => memory.get(graph.ids.scoped, { access: forged });
      expect((await refusalOf(memory, call)).code).toBe("ERR_INVALID");
    }
  });

  test.each(["memory", "lmdb"] as const)(
    "a revocation ends an access that somebody else holds, over %s",
    async (backend) => {
      await using pair = await openPair(backend);
      const { first, second } = pair;
      const { ids } = await fillTrip(first);
      const issuedAt = Date.now();
      const text = await issueScope(
        {
          actor: "ada",
          include: { tags: ["trip"] },
          issuedAt,
          expiresAt: issuedAt + 3_600_000,
          grantedTo: HOLDER_KEY,
          writable: true,
        },
        ISSUER,
      );
      const access = await second.scopeAccess(text, { signedBy });
      expect((await second.get(ids.scoped, { access }))?.id).toBe(ids.scoped);
      expect((await first.revokeScope(text, { reason: "done" })).revoked).toBe(true);
      for (const call of [
        () => second.get(ids.scoped, { access }),
        () => second.updateHead(ids.scoped, { importance: 1 }, { access }),
        () => second.scopeAccess(text, { signedBy }),
      ]) {
        expect((await refusalOf(second, call)).code).toBe("ERR_SCOPE_REVOKED");
      }
      expect(await first.revokeScope(text)).toMatchObject({ revoked: false });
      expect((await second.check()).ok).toBe(true);
    },
  );

  test("a revocation lasts through a rebuild; a handle has to be posted again", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await fillTrip(memory);
    const [good, bad] = [await tripScope(store), await tripScope(store, { writable: true })];
    const { handle } = await memory.postScope(good);
    expect((await memory.scopeAccess(handle, { signedBy })).scope.actor).toBe("ada");
    await memory.revokeScope(bad);
    await memory.rebuild();
    const again = (text: string) => refusalOf(memory, () => memory.scopeAccess(text, { signedBy }));
    expect((await again(bad)).code).toBe("ERR_SCOPE_REVOKED");
    expect((await again(handle)).code).toBe("ERR_SCOPE_HANDLE");
    await memory.postScope(good);
    await memory.revokeScope(handle);
    expect((await again(handle)).code).toBe("ERR_SCOPE_REVOKED");
  });

  test("takes in only what holds, and asks by the handle for the key all the same", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await fillTrip(memory);
    const text = await tripScope(store);
    const { handle, hash } = await memory.postScope(text);
    expect((await memory.showScope(handle)).hash).toBe(hash);
    const stolen = () => memory.scopeAccess(handle);
    expect((await refusalOf(memory, stolen)).code).toBe("ERR_SCOPE_HOLDER");
    await memory.configure({ trustedIssuers: [] });
    const late = () => memory.scopeAccess(handle, { signedBy });
    expect((await refusalOf(memory, late)).code).toBe("ERR_SCOPE_ISSUER");
    const fresh = () => memory.postScope(text);
    expect((await refusalOf(memory, fresh)).code).toBe("ERR_SCOPE_ISSUER");
    expect(await memory.showScope(text)).toMatchObject({
      holds: false,
      because: { code: "ERR_SCOPE_ISSUER" },
      bearer: false,
    });
  });

  test("an expired scope stays expired when the clock goes back, in another process as well", async () => {
    const dir = mkdtempSync(join(tmpdir(), "cortex-expired-"));
    try {
      let now = 1_800_000_000_000;
      const reopen = () => open(dir, { clock: () => now });
      let memory = await reopen();
      await memory.configure({ trustedIssuers: [ISSUER_KEY] });
      const terms = { actor: "default", include: { tags: ["trip"] }, grantedTo: HOLDER_KEY };
      const scope = await issueScope(
        { ...terms, issuedAt: now, expiresAt: now + 60_000, writable: true },
        ISSUER,
      );
      const access = await memory.scopeAccess(scope, { signedBy });
      const uses = [
        () => memory.scopeAccess(scope, { signedBy }),
        () => memory.find({ tags: ["trip"], limit: 1, access }),
        () => memory.write({ type: "fact", text: "late", tags: ["trip"] }, { access }),
      ];
      const codes = async (): Promise<readonly string[]> => {
        const found: string[] = [];
        for (const use of uses) found.push((await refusalOf(memory, use)).code);
        return found;
      };
      const expired = uses.map(() => "ERR_SCOPE_EXPIRED");
      now += 60_001;
      expect(await codes()).toEqual(expired);
      now -= 60_001;
      expect(await codes()).toEqual(expired);
      // The next process knows the time of the last entry, and of nothing else.
      now += 60_001;
      await memory.write({ type: "fact", text: "Ada lives in Porto" });
      await memory.close();
      now -= 60_001;
      memory = await reopen();
      expect(await codes()).toEqual(expired);
      await memory.close();
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test("posted scopes go when they have expired and another one comes", async () => {
    await using store = await openTestStore();
    const { memory, clock } = store;
    await fillTrip(memory);
    const brief = await memory.postScope(
      await tripScope(store, { expiresAt: clock.last() + 60_000 }),
    );
    expect((await memory.scopeAccess(brief.handle, { signedBy })).kind).toBe("scope");
    clock.advance(120_000);
    const late = () => memory.scopeAccess(brief.handle, { signedBy });
    expect((await refusalOf(memory, late)).code).toBe("ERR_SCOPE_EXPIRED");
    const lasting = await memory.postScope(await tripScope(store));
    expect((await refusalOf(memory, late)).code).toBe("ERR_SCOPE_HANDLE");
    expect((await memory.scopeAccess(lasting.handle, { signedBy })).kind).toBe("scope");
  });

  test("ids need a snapshot and its proof, and a posted scope keeps no content", async () => {
    let kv: Kv | undefined;
    await using store = await openTestStore({
      wrap: (inner) => {
        kv = inner;
        return inner;
      },
    });
    const { memory } = store;
    const { ids } = await fillTrip(memory);
    const { root } = await memory.snapshot("for a scope");
    const proof = Buffer.from((await memory.prove([ids.scoped])).bytes, "base64");
    const include = { ids: [ids.scoped] };
    const text = await tripScope(store, { include, snapshotRoot: root, proof });
    const access = await memory.scopeAccess(text, { signedBy });
    const idsFor = async (who: Access) =>
      (await memory.list({ tag: "trip", access: who })).memories.map(({ id }) => id as string);
    expect((await idsFor(access)).sort()).toEqual([...(await idsFor(GUEST)), ids.scoped].sort());
    for (const [more, code] of [
      [{ include, snapshotRoot: root }, "ERR_PROOF_INVALID"],
      [{ include: { ids: [ids.public] }, snapshotRoot: root, proof }, "ERR_PROOF_INVALID"],
      [{ include, snapshotRoot: "00".repeat(32), proof }, "ERR_SCOPE_SNAPSHOT"],
    ] as const) {
      const bad = await tripScope(store, more);
      const call = () => memory.scopeAccess(bad, { signedBy });
      expect((await refusalOf(memory, call)).code).toBe(code);
    }
    const { handle } = await memory.postScope(text);
    await memory.forget(ids.scoped, "asked for");
    expect((await memory.scopeAccess(handle, { signedBy })).scope.include).toEqual(include);
    const prefix = Uint8Array.of(KEYSPACE.postedScope.byte);
    const snapshot = await kv?.snapshot();
    const [rows = []] = (await snapshot?.ranges([prefixRange(prefix, 10)])) ?? [];
    snapshot?.close();
    expect(rows).toHaveLength(1);
    expect(Buffer.from(rows[0]?.value ?? "").includes("markerscoped")).toBe(false);
    expect(proof.includes("markerscoped")).toBe(true);
  });

  test("a hub honours none: a scope is about one graph", async () => {
    await using store = await openTestStore();
    await using opened = await openTestHub();
    await fillTrip(store.memory);
    const text = await tripScope(store, { writable: true });
    const access = await store.memory.scopeAccess(text, { signedBy });
    const { hub } = opened;
    for (const call of [
      () => hub.listGraphs({ access }),
      () => hub.createGraph({ name: "g" }, { access }),
      () => opened.store.getNode("n", { access }),
    ]) {
      expect(await outcomeOf(call)).toEqual({ code: "ERR_DENIED" });
    }
    expect((await hub.listGraphs()).graphs).toEqual([]);
  });
});
