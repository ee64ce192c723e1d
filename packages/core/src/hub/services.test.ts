/**
 * An embedder, a model and jobs given to a hub serve every graph that it opens, those made before it
 * included; a graph is open once and not closed in the middle of its jobs' work.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ModelServer, startModelServer } from "../../test/model-server.js";
import type { Cortex } from "../cortex.js";
import { httpModel } from "../http-services.js";
import type { JobsOptions } from "../jobs.js";
import { memgraph } from "../memgraph/index.js";
import { open } from "../open.js";
import { openTestHub } from "../testing/index.js";
import type { Embedder } from "../vector/embedder.js";
import { hashEmbedder } from "../vector/hash-embedder.js";
import type { Hub } from "./hub.js";
import { type OpenHubOptions, openHub } from "./open-hub.js";
import { CATALOGUE_FOLDER } from "./stores.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "cortex-services-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Jobs that look often, and at nothing that a test does not ask for. */
const QUICK: JobsOptions = { intervalMs: 2, leaseMs: 600_000, maintainEveryMs: 0 };

const hubHere = (options: OpenHubOptions = {}): Promise<Hub> =>
  openHub(folder, { relaxedDurability: true, ...options });

const note = (memory: Cortex, text: string) => memory.write({ type: "note", kind: "x", text });

/** Asks again and again; a test that waits in vain is ended by its own time limit. */
async function until(ask: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await ask())) await sleep(2);
}

/** The text nearest in meaning, if anything has a vector. */
async function nearest(memory: Cortex, text: string): Promise<string | undefined> {
  const { hits } = await memory.find({ near: { text }, limit: 1 });
  return hits[0]?.text;
}

/** An embedder that answers when told: nothing is embedded before. */
function heldEmbedder(): Embedder & { readonly asked: () => number; readonly answer: () => void } {
  const inner = hashEmbedder({ dimensions: 16 });
  let asked = 0;
  let answer = (): void => {};
  const told = new Promise<void>((resolve) => {
    answer = resolve;
  });
  return {
    model: "held",
    dimensions: 16,
    asked: () => asked,
    answer: () => answer(),
    async embed(texts, signal) {
      asked += 1;
      const stopped = new Promise<void>((resolve) =>
        signal?.addEventListener("abort", () => resolve()),
      );
      await Promise.race([told, stopped]);
      signal?.throwIfAborted();
      return inner.embed(texts);
    },
  };
}

describe("the embedder", () => {
  test("serves graphs that the hub makes and graphs that were there", async () => {
    const before = await open(folder, { actor: "before" });
    await note(before, "Ada lives in Porto");
    await before.close();
    await using hub = await hubHere({ embedder: hashEmbedder({ dimensions: 32 }) });
    await hub.createGraph({ name: "made", id: "made" });
    await memgraph(hub).putNode("made", { kind: "fact", content: "Grace sails on Sundays" });
    for (const [graph, text] of [
      ["before", "Ada lives in Porto"],
      ["made", "Grace sails on Sundays"],
    ] as const) {
      const report = await hub.use(graph, (memory) => memory.embedPending());
      expect(report).toMatchObject({ memories: 1, lag: 0 });
      expect(await hub.use(graph, (memory) => nearest(memory, text))).toBe(text);
    }
  });

  test("as a job gives vectors to what is written through the hub, in every graph", async () => {
    const embedder = hashEmbedder({ dimensions: 32 });
    await using hub = await hubHere({ embedder, jobs: QUICK });
    for (const id of ["a", "b"]) {
      await hub.createGraph({ name: id, id });
      await memgraph(hub).putNode(id, { kind: "fact", content: `the harbour of ${id}` });
    }
    for (const id of ["a", "b"]) {
      const text = `the harbour of ${id}`;
      await until(() => hub.use(id, async (memory) => (await nearest(memory, text)) === text));
    }
  });

  test("is not there unless it is given", async () => {
    await using hub = await hubHere();
    await hub.createGraph({ name: "g", id: "g" });
    await expect(hub.use("g", (memory) => memory.embedPending())).rejects.toMatchObject({
      code: "ERR_NO_EMBEDDER",
    });
    await expect(hub.use("g", (memory) => memory.extract())).rejects.toMatchObject({
      code: "ERR_NO_MODEL",
    });
  });
});

describe("the model", () => {
  let server: ModelServer;
  beforeEach(async () => {
    server = await startModelServer(({ turns }) => ({
      facts: turns.map(({ name, content }) => ({ text: content, type: "fact", turns: [name] })),
      relationships: [],
    }));
  });
  afterEach(() => server.close());

  const model = () =>
    httpModel({ endpoint: server.endpoint, model: "tiny", retries: 0, timeoutMs: 60_000 });
  const say = (memory: Cortex, content: string) =>
    memory.remember([{ role: "user", content }], { session: "chat" });
  const facts = async (memory: Cortex): Promise<readonly string[]> => {
    const { memories } = await memory.list({ type: "fact", limit: 10 });
    return memories.map(({ text }) => text);
  };

  test("distils on request, and as a job where jobs run", async () => {
    {
      await using hub = await hubHere({ model: model() });
      await hub.use("asked", (memory) => say(memory, "Ada lives in Porto"), { create: true });
      const report = await hub.use("asked", (memory) => memory.extract());
      expect(report).toMatchObject({ calls: 1, facts: [{ text: "Ada lives in Porto" }] });
    }
    await using hub = await hubHere({ model: model(), jobs: { ...QUICK, extractAfterMs: 0 } });
    await hub.use("unasked", (memory) => say(memory, "Grace sails"), { create: true });
    await until(async () => (await hub.use("unasked", facts)).length === 1);
    expect(await hub.use("unasked", facts)).toEqual(["Grace sails"]);
  });

  test("turns that wait for silence keep their graph open; a model that fails does not", async () => {
    const bounds = { maxOpen: 1, idleMs: 4 };
    const jobs = { ...QUICK, extractAfterMs: 60_000 };
    {
      await using hub = await hubHere({ model: model(), jobs, ...bounds });
      await hub.use("talks", (memory) => say(memory, "wait for me"), { create: true });
      await hub.use("other", (memory) => note(memory, "x"), { create: true });
      await until(() => !hub.isOpen("other"));
      expect(hub.isOpen("talks")).toBe(true);
      expect(server.seen).toHaveLength(0);
    }
    server.behave(...Array.from({ length: 100 }, () => "empty" as const));
    await using hub = await hubHere({
      model: model(),
      jobs: { ...QUICK, extractAfterMs: 0 },
      ...bounds,
    });
    await hub.use("talks", async () => {});
    await until(() => server.seen.length > 0);
    await until(() => hub.openGraphs === 0);
  });
});

describe("a graph with work left", () => {
  test("is not closed for being idle, and is once the work is done", async () => {
    const embedder = heldEmbedder();
    await using hub = await hubHere({ embedder, jobs: QUICK, maxOpen: 2, idleMs: 4 });
    await hub.use("busy", (memory) => note(memory, "embed me"), { create: true });
    await until(() => embedder.asked() > 0);
    // Others come and go meanwhile; the idle time of the busy one passes more than once.
    for (const id of ["a", "b", "c"]) {
      await hub.use(id, async () => {}, { create: true });
      await until(() => !hub.isOpen(id));
    }
    expect(hub.isOpen("busy")).toBe(true);
    expect(embedder.asked()).toBe(1);
    embedder.answer();
    await until(() => !hub.isOpen("busy"));
    const stats = await hub.use("busy", (memory) => memory.stats());
    expect(stats.vectors).toMatchObject({ model: "held", lag: 0 });
  });

  test("is closed where too many have some, and goes on when it is opened next", async () => {
    const embedder = heldEmbedder();
    const names = Array.from({ length: 7 }, (_, at) => `g${at}`);
    {
      await using hub = await hubHere({ embedder, jobs: QUICK, maxOpen: 2, idleMs: 60_000 });
      for (const id of names) await hub.use(id, (memory) => note(memory, id), { create: true });
      await until(() => hub.openGraphs <= 4);
      expect(names.filter((id) => hub.isOpen(id))).toEqual(["g3", "g4", "g5", "g6"]);
      embedder.answer();
      // Nothing is lost: whoever opens it next does what was left.
      await until(() => hub.use("g0", async (memory) => (await nearest(memory, "g0")) === "g0"));
    }
  });

  test("that fails again and again is closed all the same", async () => {
    const failures: string[] = [];
    const dead: Embedder = {
      model: "dead",
      dimensions: 4,
      embed: () => Promise.reject(new Error("no such host")),
    };
    const jobs = { ...QUICK, onError: (name: string) => failures.push(name) };
    await using hub = await hubHere({ embedder: dead, jobs, idleMs: 4 });
    await hub.use("g", (memory) => note(memory, "x"), { create: true });
    await until(() => failures.length > 0 && hub.openGraphs === 0);
    expect(new Set(failures)).toEqual(new Set(["embed"]));
    const embed = await hub.use("g", async (memory) =>
      (await memory.stats()).jobs.find(({ name }) => name === "embed"),
    );
    expect(embed).toMatchObject({ leased: false, lastError: { code: "ERR_EMBEDDER" } });
  });

  test("gives its leases back when it is closed", async () => {
    await using hub = await hubHere({
      embedder: hashEmbedder({ dimensions: 8 }),
      jobs: QUICK,
      idleMs: 4,
    });
    await hub.use("g", (memory) => note(memory, "x"), { create: true });
    await until(() => !hub.isOpen("g"));
    await using memory = await open(folder, { actor: "g", relaxedDurability: true });
    // The leases would last for seconds yet.
    await until(async () => (await memory.jobs.status()).every(({ leased }) => !leased));
    expect(await memory.jobs.status()).toMatchObject([{ name: "embed", done: 1, lag: 0 }]);
  });
});

describe("one handle", () => {
  test("however many ways lead to a graph, also while it is made", async () => {
    let opened = 0;
    await using world = await openTestHub({
      backend: "lmdb",
      wrapGraph: (kv) => {
        opened += 1;
        return kv;
      },
    });
    const { hub, store } = world;
    const seen = await Promise.all(
      Array.from({ length: 10 }, () => hub.use("g", async (memory) => memory, { create: true })),
    );
    expect(new Set(seen).size).toBe(1);
    await Promise.all([
      store.putNode("g", { kind: "fact", content: "through the hub" }),
      hub.use("g", (memory) => note(memory, "through the graph")),
      hub.listGraphs(),
      store.search("g", { text: "through" }),
    ]);
    const { hits } = await store.search("g", { text: "through" });
    expect(hits).toHaveLength(2);
    expect([hub.openGraphs, opened]).toEqual([1, 1]);
    expect(await hub.eachOpen(async (memory) => memory)).toEqual([seen[0]]);
  });

  test("who looks for a graph while another makes it disturbs nobody", async () => {
    await using hub = await hubHere();
    await mkdir(join(folder, "g"));
    const looks = Array.from({ length: 5 }, () => hub.use("g", (memory) => memory.root()));
    const made = hub.use("g", (memory) => note(memory, "x"), { create: true });
    const ends = await Promise.allSettled([...looks, made]);
    expect(await made).toMatchObject({ seq: 1 });
    for (const end of ends.slice(0, -1)) {
      if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "ERR_NOT_FOUND" });
    }
  });

  test("looking into what is open keeps nothing open", async () => {
    await using hub = await hubHere({ idleMs: 4 });
    await hub.use("g", (memory) => note(memory, "x"), { create: true });
    await until(async () => (await hub.eachOpen((memory) => memory.stats())).length === 0);
    expect(hub.openGraphs).toBe(0);
  });
});

describe("the catalogue", () => {
  test("is not made by those who only use graphs", async () => {
    await using hub = await hubHere();
    await hub.use("g", (memory) => note(memory, "x"), { create: true });
    const made = (await readdir(folder)).filter((name) => !name.startsWith(".in-use-"));
    expect(made).toEqual(["g"]);
    expect((await hub.listGraphs()).graphs).toMatchObject([{ id: "g", seq: 1 }]);
    expect(existsSync(join(folder, CATALOGUE_FOLDER))).toBe(true);
  });

  test("that cannot be read keeps nobody from a graph, and is tried again", async () => {
    const broken = join(folder, CATALOGUE_FOLDER);
    await mkdir(broken);
    await writeFile(join(broken, "g000001.mdb"), Buffer.alloc(8192, 7));
    await using hub = await hubHere();
    await hub.use("g", (memory) => note(memory, "x"), { create: true });
    await expect(hub.listGraphs()).rejects.toMatchObject({ code: "ERR_FORMAT_UNKNOWN" });
    expect(await hub.use("g", (memory) => memory.root())).toMatchObject({ seq: 1 });
    await rm(broken, { recursive: true });
    expect((await hub.listGraphs()).graphs).toMatchObject([{ id: "g" }]);
  });
});

describe("what is refused", () => {
  const known =
    "embedder, model, jobs, principal, clock, random, relaxedDurability, rateLimits, tenant, create, maxOpen, idleMs";

  test("an option that a hub does not know, by naming those it does", async () => {
    const opening = openHub("memory:", { embeder: hashEmbedder() } as OpenHubOptions);
    await expect(opening).rejects.toMatchObject({
      code: "ERR_UNKNOWN_FIELD",
      message: `embeder: expected one of the fields ${known}, got an unknown field`,
      details: { field: "embeder" },
    });
  });

  test.each([
    [{ embedder: {} }, "ERR_INVALID", "embedder"],
    [{ model: { name: "m" } }, "ERR_INVALID", "model"],
    [{ jobs: { intervalMs: 0 } }, "ERR_INVALID", "jobs.intervalMs"],
    [{ jobs: { every: 1 } }, "ERR_UNKNOWN_FIELD", "every"],
  ])("%j, before anything is opened", async (options, code, field) => {
    const place = join(folder, "hub");
    const opening = openHub(place, options as unknown as OpenHubOptions);
    await expect(opening).rejects.toMatchObject({ code, details: { field } });
    expect(existsSync(place)).toBe(false);
  });

  test("an option of use that is none", async () => {
    await using hub = await hubHere();
    const using = hub.use("g", async () => {}, { make: true } as never);
    await expect(using).rejects.toMatchObject({ code: "ERR_UNKNOWN_FIELD" });
  });
});
