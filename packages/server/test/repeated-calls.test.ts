/**
 * Every writing verb, called twice under one idempotency key: in the library and over HTTP it is done once,
 * and the second call gets the answer of the first, also after something else was written, after the store
 * was opened again, and after it was rebuilt. Another request under the key is refused.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cortex, isCortexError, issueScope, open, signerOf } from "@cortex-memory/core";
import { VERBS, type Verb, type VerbName } from "@cortex-memory/core/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashEmbedder } from "../../core/src/vector/embedder.js";
import { routesOf } from "../src/http/routes.js";
import { OPERATIONS } from "../src/operations.js";
import { startTestServer, type TestServer } from "./http-server.js";

type Input = Readonly<Record<string, unknown>>;

const WRITING = Object.values(VERBS as Readonly<Record<string, Verb>>).filter(
  ({ kind }) => kind === "write",
);

const ISSUER = signerOf(new Uint8Array(32).fill(9));
const STATE = { failureStreak: 1, intentsTodayCount: 2, spentToday: "4" };

/** What the calls speak of, and a call of every writing verb; a verb without one fails. */
async function seed(memory: Cortex): Promise<ReadonlyMap<string, Input>> {
  const trustedIssuers = [Buffer.from(ISSUER.publicKey).toString("base64")];
  await memory.configure({ trustedIssuers });
  const scope = await issueScope(
    {
      actor: "default",
      include: { tags: ["trip"] },
      grantedTo: "bearer:helper",
      issuedAt: 0,
      expiresAt: Date.UTC(2100, 0, 1),
    },
    ISSUER,
  );
  const named = ["a", "b", "c", "d", "forgotten", "hidden", "shown", "head", "versions", "undone"];
  for (const externalId of named) {
    await memory.write({ type: "fact", externalId, text: `what ${externalId} says` });
  }
  await memory.write({
    type: "fact",
    text: "x",
    provenance: { derivedFrom: [await uriOf(memory, "forgotten")] },
  });
  for (const externalId of ["goal-1", "goal-2"]) {
    await memory.write({ type: "goal", externalId, text: `reach ${externalId}` });
  }
  await memory.setGoalState("goal-1", STATE);
  await memory.tombstone("shown", "for now");
  const undone = await memory.update("undone", { text: "undone says something else" });
  await memory.link("a", "uses", "b", { reason: "the first" });
  const { id: edge } = await memory.link("b", "uses", "c", { reason: "the second" });
  await memory.link("c", "contradicts", "d", { reason: "one of them" });
  const [item] = (await memory.review({ kinds: ["contradiction"] })).items;
  const calls: { readonly [V in VerbName]?: Input } = {
    write: { type: "event", text: "Ada took a train", similar: true },
    update: { id: "versions", text: "versions says more" },
    updateHead: { id: "head", tags: ["seen"] },
    tombstone: { id: "hidden", reason: "asked by Ada" },
    restore: { id: "shown" },
    forget: { id: "forgotten", reason: "asked by Ada" },
    batch: {
      items: [
        { write: { type: "event", text: "one of a batch" }, ref: "one" },
        { link: { from: { ref: "one" }, kind: "a kind of the batch", to: "a" } },
      ],
    },
    setGoalState: { id: "goal-2", state: STATE },
    deleteGoalState: { id: "goal-1" },
    addEdge: { from: "a", kind: "a kind of its own", to: "c", reason: "new" },
    link: { from: "a", kind: "related_to", to: "d" },
    removeEdge: { from: "a", kind: "uses", to: "b", reason: "wrong" },
    removeEdgeById: { id: edge, reason: "wrong too" },
    remember: { turns: [{ role: "user", content: "ok" }], session: "chat" },
    settle: { item: item?.id, decision: "keep_one", keep: "c", reason: "seen" },
    attest: { intentId: "task", cited: ["a", "nobody"], outcome: "success" },
    compactContext: { inContext: ["a", "b"], intentId: "task", stepId: "one" },
    configure: { name: "a graph", trustedIssuers },
    revert: { seq: undone.seq },
    snapshot: { reason: "sealed" },
    revokeScope: { scope },
    postScope: { scope },
    embedPending: {},
    maintain: {},
    rebuild: {},
    vacuum: {},
    // Without a model both are refused, alike each time.
    extract: {},
    relink: {},
  };
  return new Map(Object.entries(calls));
}

async function uriOf(memory: Cortex, id: string): Promise<string> {
  return (await memory.get(id))?.uri ?? "";
}

/** An answer as JSON has it, or the code of a refusal. */
async function outcomeOf(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return JSON.parse(JSON.stringify(await call())) as unknown;
  } catch (error) {
    if (isCortexError(error)) return { refused: error.code };
    throw error;
  }
}

/** One way to call a verb under a key. */
type Call = (verb: Verb, input: Input, key: string) => Promise<unknown>;

let serial = 0;

/** Calls a verb twice, with something else in between. */
async function callTwice(memory: Cortex, call: Call, verb: Verb, input: Input): Promise<unknown> {
  const key = `key of ${verb.name}`;
  const first = await call(verb, input, key);
  const { entries } = await memory.stats();
  serial += 1;
  await memory.write({ type: "note", text: `in between ${serial}` });
  const second = await call(verb, input, key);
  expect(second).toEqual(first);
  expect((await memory.stats()).entries).toBe(entries + 1);
  return first;
}

describe("in the library", () => {
  const folder = mkdtempSync(join(tmpdir(), "cortex-again-"));
  const opened = () => open(folder, { embedder: hashEmbedder() });
  let memory: Cortex;
  let calls: ReadonlyMap<string, Input>;
  const first = new Map<string, unknown>();
  beforeAll(async () => {
    memory = await opened();
    calls = await seed(memory);
  });
  afterAll(async () => {
    await memory.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const call: Call = (verb, input, idempotencyKey) => {
    const method = memory[verb.name as VerbName] as unknown as (all: Input) => Promise<unknown>;
    return outcomeOf(() => method.call(memory, { ...input, idempotencyKey }));
  };

  test.each(WRITING.map((verb) => [verb.name, verb] as const))("%s", async (name, verb) => {
    const input = calls.get(name);
    if (input === undefined) throw new Error(`${name} has no call here`);
    first.set(name, await callTwice(memory, call, verb, input));
    const isRefused = name === "extract" || name === "relink";
    expect(first.get(name)).toEqual(
      isRefused
        ? { refused: "ERR_NO_MODEL" }
        : expect.not.objectContaining({ refused: expect.any(String) }),
    );
  });

  test.each(
    WRITING.filter(({ name }) => !["extract", "relink", "snapshot"].includes(name)).map(
      ({ name }) => [name],
    ),
  )("another request under the key of %s is refused", async (name) => {
    const other = name === "tombstone" ? { id: "b", reason: "r" } : { id: "a", reason: "r" };
    const refused = await call(VERBS.tombstone as unknown as Verb, other, `key of ${name}`);
    expect(refused).toEqual({ refused: "ERR_IDEMPOTENCY" });
  });

  test("keys of principals are their own", async () => {
    const attest = VERBS.attest as unknown as Verb;
    const of = (by: string) => ({ intentId: "both", cited: ["a"], outcome: "success", by });
    const ada = (await call(attest, of("ada"), "one key")) as { readonly seq: number };
    const bob = (await call(attest, of("bob"), "one key")) as { readonly seq: number };
    expect(bob.seq).toBeGreaterThan(ada.seq);
    expect(await call(attest, of("ada"), "one key")).toEqual(ada);
  });

  test("after opening again and after a rebuild, the journal tells the same answers", async () => {
    const byKey = WRITING.filter(({ retry }) => retry === "key");
    for (const again of [
      () => memory.close().then(opened),
      () => memory.rebuild().then(() => memory),
    ]) {
      memory = await again();
      const { entries } = await memory.stats();
      for (const verb of byKey) {
        const told = await call(verb, calls.get(verb.name) ?? {}, `key of ${verb.name}`);
        expect(told, verb.name).toEqual(first.get(verb.name));
      }
      expect((await memory.stats()).entries).toBe(entries);
    }
    expect(await memory.check()).toMatchObject({ ok: true });
  });
});

describe("over HTTP, by the header", () => {
  let server: TestServer;
  let memory: Cortex;
  let calls: ReadonlyMap<string, Input>;
  beforeAll(async () => {
    server = await startTestServer();
    memory = await open(server.location);
    calls = await seed(memory);
  });
  afterAll(async () => {
    await memory.close();
    await server.close();
  });

  test.each(WRITING.map((verb) => [verb.name, verb] as const))("%s", async (name, verb) => {
    const input = calls.get(name);
    if (input === undefined) throw new Error(`${name} has no call here`);
    const call: Call = async ({ path }, body, key) => {
      const got = await server.post(`/v1/${path}`, body, { "idempotency-key": key });
      if (got.status >= 300) return { status: got.status, code: got.json.code };
      // Whoever posts a scope is nobody yet and has no keys: posting again does the same, and tells today's position.
      const { seq, ...told } = got.json;
      return verb.policy === "open" ? told : { ...told, seq };
    };
    await callTwice(memory, call, verb, input);
  });

  test("every writing route takes the header", () => {
    const routes = OPERATIONS.filter(({ kind, verbs }) => kind === "write" && verbs.length > 0);
    const without = routesOf(routes).filter(({ fields }) => !fields.includes("idempotencyKey"));
    expect(without.map(({ operation }) => operation.name)).toEqual([]);
  });
});
