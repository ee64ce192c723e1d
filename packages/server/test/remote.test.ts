/**
 * The client of a server: its table agrees with the operations, the facade's tests pass through it, its
 * answers are those of the store, and servers that fail, stall, roll back or fork get what they deserve.
 */
import { readdirSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Cortex,
  type CortexApi,
  importJournal,
  issueScope,
  open,
  type RemoteCortex,
  type RemoteOptions,
  signerOf,
  type VerbName,
} from "@cortex-memory/core";
import { VERBS } from "@cortex-memory/core/contract";
import { openRemote } from "@cortex-memory/core/remote";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ROUTES } from "../../core/src/remote/table.js";
import { routesOf } from "../src/http/routes.js";
import { OPERATIONS } from "../src/operations.js";
import { makePlace } from "./cortex-process.js";
import { codeOf, facadeSuite } from "./facade-suite.js";
import { startTestServer, type TestServer } from "./http-server.js";
import { startProxy, type TestProxy } from "./proxy.js";

/** The address as a type that says so. */
const at = (url: string): `http://${string}` => url as `http://${string}`;

facadeSuite("of a store at hand", async () => {
  const memory = await open("memory:");
  return { memory, close: () => memory.close() };
});

facadeSuite("of a client", async () => {
  const server = await startTestServer();
  const memory = await open(at(server.url));
  return {
    memory,
    async close() {
      await memory.close();
      await server.close();
    },
  };
});

/** Arguments of every verb, with every option that a row maps by hand. */
const SAMPLES: { readonly [V in VerbName]: Parameters<CortexApi[V]> } = {
  write: [{ type: "fact", text: "x", tags: ["t"] }, { similar: true }],
  get: ["a", { asOf: 1, version: 1 }],
  resolve: ["cortex://a/Fact/b#1", { asOf: new Date(5) }],
  update: ["a", { text: "x", basedOnVersion: 1, by: "b" }],
  updateHead: ["a", { tags: ["t"] }],
  tombstone: ["a", "why", { by: "b" }],
  restore: ["a", { swap: true }],
  history: ["a", { asOf: 1 }],
  list: [{ type: ["fact"], limit: 3 }],
  slotHistory: ["s", { limit: 3 }],
  review: [{ limit: 3 }],
  settle: ["i", { decision: "keep_both", reason: "r" }],
  recall: [["a", "b"], { limit: 3, audit: true }],
  search: ["a", { limit: 3 }],
  searchBatch: [["a", { text: "b" }], { limit: 3 }],
  find: [{ type: ["fact"], limit: 1, near: { vector: new Float32Array([1, 0]) as never } }],
  batch: [[{ write: { type: "fact", text: "x" } }], { atomic: false, idempotencyKey: "k" }],
  remember: [[{ role: "user", content: "c" }], { session: "s" }],
  session: ["s", { fromIndex: 1, limit: 2 }],
  addEdge: ["a", "relates", "b", { reason: "r" }],
  link: ["a", "relates", "b", { strength: 2 }],
  removeEdge: ["a", "relates", "b", { reason: "r" }],
  removeEdgeById: ["e", { reason: "r" }],
  getEdge: ["a", "relates", "b", { asOf: 1 }],
  edgesOut: ["a", { kinds: ["k"] }],
  edgesIn: ["a", { limit: 1 }],
  traverse: ["a", { maxHops: 2 }],
  linksFrom: ["a", { asOf: 1 }],
  backlinksTo: ["a", { asOf: 1 }],
  inspect: ["a", { asOf: 1 }],
  context: [{ budgetTokens: 100 }],
  attest: [{ intentId: "t", outcome: "success", cited: ["a"] }],
  weights: [{ asOf: 1 }],
  compactContext: [{ intentId: "t", stepId: "s", inContext: ["a"] }],
  contextRecord: ["t", "s"],
  goalState: ["a"],
  setGoalState: ["a", { failureStreak: 0, intentsTodayCount: 0, spentToday: "0" }, { by: "b" }],
  deleteGoalState: ["a", { by: "b" }],
  goalStates: [],
  config: [],
  configure: [{ conflictPolicy: "manual" }, { by: "b" }],
  log: [{ from: 1, limit: 2 }],
  journalPage: [{ from: 1, limit: 2 }],
  subscribe: [{ from: 1, kinds: ["write"], pollMs: 50 }],
  stats: [],
  describeSchema: [],
  listTags: [{ prefix: "p", limit: 1 }],
  sessions: [{ prefix: "p", limit: 1 }],
  changes: [1, 2, { limit: 3 }],
  revert: [1, { by: "b" }],
  forget: ["a", "why", { cascade: true }],
  root: [],
  checkpoint: [],
  snapshot: ["why", { by: "b" }],
  snapshots: [{ limit: 1 }],
  prove: [["a"], { since: "c" }],
  share: [{ types: ["fact"] }],
  check: [{ onProgress: () => {} }],
  scrub: [{ entriesPerSecond: 1000 }],
  maintain: [{ dryRun: true, budgetMs: 5 }],
  rebuild: [{ verifyOnly: true }],
  vacuum: [],
  exportJournal: [() => {}],
  backup: [() => {}, { since: 1 }],
  erasures: [],
  embedPending: [],
  extract: [],
  relink: [{ dryRun: true }],
  postScope: ["s"],
  showScope: ["s"],
  revokeScope: ["s", { reason: "r" }],
};

/** Fields that never leave the client. */
const KEPT = ["access", "onProgress"];

describe("the table of the client", () => {
  test("has a row for every verb of the facade, and no other", () => {
    expect(Object.keys(ROUTES).sort()).toEqual(Object.keys(VERBS).sort());
  });

  test.each(Object.keys(ROUTES) as VerbName[])("agrees with the server about %s", (verb) => {
    const row = ROUTES[verb];
    const route = routesOf(OPERATIONS).find(({ name }) => name === row.path);
    expect(route?.operation.verbs).toContain(verb);
    expect(route?.unavailable).toBeUndefined();
    expect(row.kind).toBe(route?.operation.kind);
    expect(row.sends === "events").toBe(route?.operation.stream !== undefined);
    const isBytes = route?.file !== undefined && route.file.mediaType !== "application/json";
    expect(row.sends === "file").toBe(isBytes);
    const input = (row.input as (...args: readonly unknown[]) => object)(...SAMPLES[verb]);
    const sent = Object.entries(input).filter(([field]) => !KEPT.includes(field));
    const text = JSON.stringify(Object.fromEntries(sent), (_, value: unknown) =>
      value instanceof Float32Array ? [...value] : value,
    );
    // The file of a response is named by the door, not by the caller.
    const file = route?.file === undefined ? {} : { [route.file.field]: "-" };
    const parsed = route?.operation.input.safeParse({ ...JSON.parse(text), ...file });
    expect(parsed?.error?.issues ?? []).toEqual([]);
  });
});

async function* chunkSource(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

describe("with a server", () => {
  let server: TestServer;
  let proxy: TestProxy;
  beforeEach(async () => {
    server = await startTestServer();
    proxy = await startProxy(server.url);
  });
  afterEach(async () => {
    await proxy.close();
    await server.close();
  });
  const dial = (options: RemoteOptions = {}): Promise<RemoteCortex> => open(at(proxy.url), options);

  test("answers are those of the store itself", async () => {
    await using remote = await dial({ actor: "grace" });
    expect(remote.actor).toBe("grace");
    await remote.write({ type: "fact", text: "Grace writes compilers", externalId: "work" });
    await remote.write({ type: "goal", text: "Rest", externalId: "rest" });
    await remote.link("work", "relates", "rest");
    await using local: Cortex = await open(server.location, { actor: "grace" });
    const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));
    const reads: readonly ((memory: CortexApi) => Promise<unknown>)[] = [
      (m) => m.get("work"),
      (m) => m.get("nobody"),
      (m) => m.history("work"),
      (m) => m.inspect("work", { asOf: 2 }),
      (m) => m.list(),
      (m) => m.search("compilers"),
      (m) => m.find({ type: ["fact"], limit: 3 }),
      (m) => m.recall("what does Grace do?", { now: 1_900_000_000_000, asOf: 3 }),
      (m) => m.edgesOut("work"),
      (m) => m.traverse("work"),
      (m) => m.linksFrom("work"),
      (m) => m.config(),
      (m) => m.root(),
      (m) => m.checkpoint(),
      (m) => m.log(),
      (m) => m.changes(0),
      (m) => m.prove({ memories: ["work"], seqs: [1] }),
      (m) => m.erasures(),
      (m) => m.describeSchema(),
    ];
    for (const read of reads) expect(plain(await read(remote))).toEqual(plain(await read(local)));
  });

  test("a store that is not there is made, unless told not to", async () => {
    expect(await codeOf(() => dial({ actor: "new", create: false }))).toBe("ERR_NOT_FOUND");
    expect(await codeOf(() => dial({ actor: "new", create: false }))).toBe("ERR_NOT_FOUND");
    await using remote = await dial({ actor: "new" });
    expect(await remote.get("anything")).toBeUndefined();
    expect((await remote.list()).memories).toEqual([]);
    expect((await remote.stats()).entries).toBe(1);
    await using again = await dial({ actor: "new", create: false });
    expect(await again.root()).toEqual(await remote.root());
  });

  test("what cannot be sent is refused and not sent", async () => {
    await using remote = await dial();
    const before = proxy.passed.length;
    const signer = { name: "k", keyHint: new Uint8Array(4), sign: () => new Uint8Array(64) };
    expect(await codeOf(() => remote.snapshot("x", { signer }))).toBe("ERR_UNSUPPORTED");
    const countTokens = (): number => 1;
    expect(await codeOf(() => remote.recall("x", { countTokens }))).toBe("ERR_UNSUPPORTED");
    const access = { kind: "guest" } as const;
    expect(await codeOf(() => remote.list({ access }))).toBe("ERR_UNSUPPORTED");
    const onPlan = (): void => {};
    expect(await codeOf(() => remote.search("x", { onPlan }))).toBe("ERR_UNSUPPORTED");
    const { signal } = new AbortController();
    expect(await codeOf(() => remote.maintain({ signal }))).toBe("ERR_UNSUPPORTED");
    expect(proxy.passed.length).toBe(before);
  });

  test("reads are asked for again, writes are not", async () => {
    await using remote = await dial({ retries: 2 });
    await remote.write({ type: "fact", text: "there", externalId: "there" });
    let failures = 0;
    const failTwice = (how: "cut" | { readonly status: number }) => () => {
      failures += 1;
      return failures <= 2 ? how : undefined;
    };
    for (const how of ["cut", { status: 503, headers: { "Retry-After": "0" } }] as const) {
      failures = 0;
      proxy.treat(failTwice(how));
      expect(await remote.get("there")).toMatchObject({ text: "there" });
      expect(failures).toBe(3);
      failures = 0;
      expect(await codeOf(() => remote.recall("x", { audit: true }))).toBe("ERR_STORAGE");
      expect(failures).toBe(1);
    }
    const before = proxy.passed.length;
    proxy.treat(() => "cutAnswer");
    const lost = remote.write({ type: "fact", text: "once" });
    await expect(lost).rejects.toThrow("whether it was done is not known");
    expect(proxy.passed.length).toBe(before + 1);
    proxy.treat(() => undefined);
    expect((await remote.find({ type: ["fact"], limit: 9 })).hits).toHaveLength(2);
  });

  test("an answer that does not come is a failure after the time given", async () => {
    proxy.treat(() => "hold");
    // With a scope nothing is asked when opening, so that nothing has to be quick.
    await using remote = await dial({ scope: "held", timeoutMs: 60, retries: 1 });
    await expect(remote.get("x")).rejects.toThrow("no answer within 60 ms");
  });

  test("a subscription goes on after its connection was cut, and misses nothing", async () => {
    await using remote = await dial();
    await remote.write({ type: "event", text: "first" });
    await using following = remote.subscribe({ from: 1 });
    const seqs: number[] = [];
    const read = async (): Promise<void> => {
      const { value } = await following.next();
      seqs.push(value.seq);
    };
    await read();
    for (let round = 0; round < 3; round += 1) {
      proxy.cutAll();
      await server.post("/v1/write", { type: "event", text: `while away ${round}` });
      await server.post("/v1/write", { type: "event", text: `still away ${round}` });
      await read();
      await read();
    }
    expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(proxy.passed.filter(({ path }) => path.includes("subscribe")).length).toBe(4);
  });

  test("an export that breaks off is refused", async () => {
    await using remote = await dial();
    await remote.write({ type: "fact", text: "x".repeat(1000) });
    const chunks: Uint8Array[] = [];
    await remote.exportJournal((chunk) => void chunks.push(chunk));
    const { length } = Buffer.concat(chunks);
    for (const bytes of [length - 1, length - 60, 30]) {
      proxy.treat(() => ({ bytes }));
      expect(await codeOf(() => remote.exportJournal(() => {}))).toBe("ERR_EXPORT_MALFORMED");
    }
    proxy.treat(() => ({ bytes: length }));
    expect(await remote.exportJournal(() => {})).toMatchObject({ entries: 2 });
  });

  test("an export goes to a path where there are files, whole or not at all", async () => {
    await using remote = await dial();
    await remote.write({ type: "fact", text: "x".repeat(1000) });
    const folder = await mkdtemp(join(tmpdir(), "cortex-export-"));
    const path = join(folder, "journal.cortex");
    try {
      proxy.treat(() => ({ bytes: 700 }));
      expect(await codeOf(() => remote.exportJournal(path))).toBe("ERR_EXPORT_MALFORMED");
      expect(readdirSync(folder)).toEqual([]);
      proxy.treat(() => undefined);
      const { root } = await remote.exportJournal(path);
      expect(await importJournal("memory:", path, {})).toMatchObject({ root });
      expect(await codeOf(() => remote.backup(path))).toBe("ERR_EXISTS");
      await using bare = await openRemote(proxy.url);
      expect(await codeOf(() => bare.backup(join(folder, "b")))).toBe("ERR_UNSUPPORTED");
      expect(readdirSync(folder)).toEqual(["journal.cortex"]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("what is no server of ours is told so when opening", async () => {
    proxy.treat(() => ({ status: 200, headers: { "Content-Type": "text/html" } }));
    expect(await codeOf(() => dial())).toBe("ERR_STORAGE");
    proxy.treat(() => undefined);
    expect(await codeOf(() => open(at(`${proxy.url}/elsewhere`)))).toBe("ERR_UNSUPPORTED");
    expect(await codeOf(() => open(at("http://127.0.0.1:1"), { retries: 0 }))).toBe("ERR_STORAGE");
  });

  test("a redirect is not followed: it would hand the token on", async () => {
    const other = await startProxy(server.url);
    proxy.treat(() => ({ status: 307, headers: { Location: `${other.url}/v1/checkpoint` } }));
    expect(await codeOf(() => dial({ token: "secret-token" }))).toBe("ERR_STORAGE");
    expect(other.passed).toEqual([]);
    await other.close();
  });

  test.each<[string, string, object, string]>([
    ["a user in the address", "http://me:secret@127.0.0.1", {}, "ERR_INVALID"],
    ["plain http to another machine", "http://example.org", { token: "t" }, "ERR_INVALID"],
    ["a token and a scope", "http://127.0.0.1", { token: "t", scope: "s" }, "ERR_INVALID"],
    ["a token with a line break", "http://127.0.0.1", { token: "a\nb" }, "ERR_INVALID"],
    ["an unknown option", "http://127.0.0.1", { colour: "red" }, "ERR_UNKNOWN_FIELD"],
    ["an option of stores", "http://127.0.0.1", { rateLimits: false }, "ERR_UNSUPPORTED"],
    ["a bad actor", "http://127.0.0.1", { actor: "../x" }, "ERR_BAD_NAME"],
    [
      "a checkpoint that is none",
      "http://127.0.0.1",
      { checkpoint: "x" },
      "ERR_CHECKPOINT_MALFORMED",
    ],
  ])("%s is refused", async (_, url, options, code) => {
    expect(await codeOf(() => open(at(url), options))).toBe(code);
  });

  describe("that keeps another history", () => {
    let folder: string;
    let other: TestServer;
    let remote: RemoteCortex;
    /** A second server over a copy of the store as it is now. */
    beforeEach(async () => {
      remote = await dial({ confirmEveryMs: 0 });
      await remote.write({ type: "fact", text: "both have this", externalId: "both" });
      const chunks: Uint8Array[] = [];
      await remote.backup((chunk) => void chunks.push(chunk.slice()));
      folder = await mkdtemp(join(tmpdir(), "cortex-fork-"));
      await importJournal(folder, chunkSource(chunks), { actor: "default" });
      other = await startTestServer({ location: folder });
    });
    afterEach(async () => {
      await remote.close();
      await other.close();
      rmSync(folder, { recursive: true, force: true });
    });

    test("the same history elsewhere is fine", async () => {
      await remote.checkpoint();
      proxy.aim(other.url);
      expect(await remote.get("both")).toMatchObject({ text: "both have this" });
      await remote.write({ type: "event", text: "and it goes on" });
      await remote.confirm();
    });

    test("one that ends before what was seen is rolled back, for good", async () => {
      await remote.write({ type: "fact", text: "only here" });
      await remote.checkpoint();
      const seen = remote.trusted();
      proxy.aim(other.url);
      expect(await codeOf(() => remote.get("both"))).toBe("ERR_ROLLED_BACK");
      proxy.aim(server.url);
      expect(await codeOf(() => remote.get("both"))).toBe("ERR_ROLLED_BACK");
      proxy.aim(other.url);
      const again = dial(seen === undefined ? {} : { checkpoint: seen });
      expect(await codeOf(() => again)).toBe("ERR_ROLLED_BACK");
    });

    test("one that differs is a fork", async () => {
      await remote.write({ type: "fact", text: "only here" });
      await remote.checkpoint();
      await other.post("/v1/write", { type: "fact", text: "only there" });
      await other.post("/v1/write", { type: "fact", text: "and more" });
      proxy.aim(other.url);
      expect(await codeOf(() => remote.checkpoint())).toBe("ERR_FORK");
    });

    test("another store under the same name is a fork", async () => {
      const stranger = await startTestServer();
      await stranger.post("/v1/write", { type: "fact", text: "somebody else" });
      await remote.checkpoint();
      await stranger.post("/v1/write", { type: "fact", text: "and more" });
      proxy.aim(stranger.url);
      expect(await codeOf(() => remote.list())).toBe("ERR_FORK");
      await stranger.close();
    });

    test("a store that is gone is rolled back", async () => {
      const empty = await startTestServer();
      await remote.checkpoint();
      proxy.aim(empty.url);
      expect(await codeOf(() => remote.confirm())).toBe("ERR_ROLLED_BACK");
      await empty.close();
    });

    test("a server that shows no proof is not believed", async () => {
      await remote.checkpoint();
      await server.post("/v1/write", { type: "fact", text: "grown" });
      // An honest proof, of something else than was asked for.
      proxy.treat(({ path }) =>
        path.endsWith("/prove") ? { body: JSON.stringify({ seqs: [0] }) } : undefined,
      );
      expect(await codeOf(() => remote.get("both"))).toBe("ERR_FORK");
    });

    test("nor one that shows an older present", async () => {
      await remote.write({ type: "fact", text: "only here" });
      await remote.checkpoint();
      proxy.aim(other.url);
      proxy.treat(({ path }) =>
        path.endsWith("/prove") ? { body: JSON.stringify({ seqs: [0] }) } : undefined,
      );
      expect(await codeOf(() => remote.confirm())).toBe("ERR_ROLLED_BACK");
    });

    test("checkpoints seen while others write become one", async () => {
      let isWriting = true;
      const writing = (async () => {
        while (isWriting) await server.post("/v1/write", { type: "event", text: "busy" });
      })();
      for (let round = 0; round < 5; round += 1) {
        await Promise.all([remote.checkpoint(), remote.share({ types: ["fact"] })]);
      }
      isWriting = false;
      await writing;
      await remote.confirm();
      expect(remote.trusted()).toBe((await remote.checkpoint()).checkpoint);
    });
  });

  test("looks at the history again only when the last look is too old", async () => {
    await using remote = await dial();
    await remote.write({ type: "fact", text: "x" });
    await remote.checkpoint();
    const proofs = (): number => proxy.passed.filter(({ path }) => path.endsWith("/prove")).length;
    const before = proofs();
    for (let round = 0; round < 3; round += 1) await remote.list();
    expect(proofs()).toBe(before);
    await remote.confirm();
    expect(proofs()).toBe(before + 1);
  });

  test("a scope that is granted to a key opens what it grants, signed by the client", async () => {
    const issuer = signerOf(new Uint8Array(32).fill(3));
    const holder = signerOf(new Uint8Array(32).fill(4));
    const key = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
    await using owner = await dial();
    await owner.configure({ trustedIssuers: [key(issuer.publicKey)] });
    const shown = { type: "fact", tags: ["trip"], visibility: "scoped" } as const;
    await owner.write({ ...shown, text: "Ada flies on Monday", externalId: "flight" });
    await owner.write({ type: "fact", text: "a secret", externalId: "secret" });
    const scope = await issueScope(
      {
        actor: "default",
        include: { tags: ["trip"] },
        issuedAt: Date.now(),
        expiresAt: Date.now() + 60_000,
        grantedTo: key(holder.publicKey),
        proofs: true,
      },
      issuer,
    );
    await using guest = await open(at(server.url), { scope, signer: holder });
    expect(await guest.get("flight")).toMatchObject({ text: "Ada flies on Monday" });
    expect(await guest.get("secret")).toBeUndefined();
    expect(await codeOf(() => guest.write({ type: "fact", text: "x" }))).toBe("ERR_DENIED");
    await guest.prove(["flight"]);
    expect(guest.trusted()).toBe((await owner.checkpoint()).checkpoint);
    await guest.confirm();
    await using thief = await open(at(server.url), { scope });
    expect(await codeOf(() => thief.get("flight"))).toBe("ERR_SCOPE_HOLDER");
  });

  test("the command line works on a server, by its address and its token", async () => {
    const token = "0123456789abcdef0123456789abcdef";
    const guarded = await startTestServer({ settings: { token } });
    const place = makePlace();
    try {
      const run = async (args: readonly string[], env = { CORTEX_TOKEN: token }) => {
        const there = ["--data", guarded.url, "--actor", "ada", "--json"];
        const { exit, out, err } = await place.bare([...args, ...there], { env });
        return { exit, said: JSON.parse(exit === 0 ? out : err) as Record<string, unknown> };
      };
      const missing = await run(["get", "home"]);
      expect(missing).toMatchObject({ exit: 1, said: { error: { code: "ERR_NOT_FOUND" } } });
      const text = "Ada lives in Porto";
      await run(["write", "fact", text, "--external-id", "home"]);
      expect((await run(["get", "home"])).said).toMatchObject({ text });
      expect((await run(["check"])).said).toMatchObject({ ok: true });
      const refused = await run(["get", "home"], { CORTEX_TOKEN: "another-token-altogether" });
      expect(refused).toMatchObject({ exit: 1, said: { error: { code: "ERR_DENIED" } } });
    } finally {
      place.remove();
      await guarded.close();
    }
  });

  test("a token is borne, and a wrong one fails when opening", async () => {
    const token = "0123456789abcdef0123456789abcdef";
    const guarded = await startTestServer({ settings: { token } });
    await using remote = await open(at(guarded.url), { token });
    expect((await remote.write({ type: "fact", text: "let in" })).version).toBe(1);
    expect(await codeOf(() => open(at(guarded.url), { token: "wrong" }))).toBe("ERR_DENIED");
    expect(await codeOf(() => open(at(guarded.url)))).toBe("ERR_DENIED");
    await remote.close();
    await guarded.close();
  });
});
