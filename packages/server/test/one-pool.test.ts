/**
 * Every store of a server is open once, whether it is reached by an actor's routes, by memgraph's or by
 * MCP: what one of them writes, the others find at once, and the embedder, the model and the jobs of the
 * server are those of every graph.
 */
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Cortex, hashEmbedder, httpModel } from "@cortex-memory/core";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, describe, expect, test } from "vitest";
import { startModelServer } from "../../core/test/model-server.js";
import { OPERATIONS } from "../src/operations.js";
import {
  readAll,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from "./http-server.js";
import { connect } from "./mcp-client.js";

let server: TestServer;
const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await server.close();
});

async function serve(opening: TestServerOptions["opening"] = {}): Promise<void> {
  server = await startTestServer({ opening });
}

/** Jobs that look often. */
const QUICK = { intervalMs: 2, maintainEveryMs: 0 } as const;

async function until(ask: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await ask())) await sleep(2);
}

async function mcpOf(actor: string, profile = "full"): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const url = new URL(`${server.url}/v1/actors/${actor}/mcp?profile=${profile}`);
  await client.connect(new StreamableHTTPClientTransport(url));
  clients.push(client);
  return client;
}

/** One way to a store: how it writes a text, and how it looks for words. */
interface Way {
  readonly name: string;
  write(text: string): Promise<void>;
  find(words: string): Promise<string>;
}

async function waysTo(actor: string): Promise<readonly Way[]> {
  const client = await mcpOf(actor);
  const call = async (name: string, args: Record<string, unknown>): Promise<string> => {
    const answer = await client.callTool({ name, arguments: args });
    expect(answer.isError, JSON.stringify(answer.content)).not.toBe(true);
    return JSON.stringify(answer);
  };
  const sent = async (path: string, body: object): Promise<void> => {
    const got = await server.post(path, body);
    expect([200, 201], got.text).toContain(got.status);
  };
  const q = encodeURIComponent;
  return [
    {
      name: "an actor's routes",
      write: (text) => sent(`/v1/actors/${actor}/note`, { kind: "fact", text }),
      find: async (words) => (await server.get(`/v1/actors/${actor}/search?text=${q(words)}`)).text,
    },
    {
      name: "memgraph's routes",
      write: (content) => sent("/v1/nodes", { graph_id: actor, kind: "fact", content }),
      find: async (words) => (await server.get(`/v1/graphs/${actor}/search?q=${q(words)}`)).text,
    },
    {
      name: "MCP",
      write: async (text) => void (await call("memory_remember", { text })),
      find: (words) => call("memory_recall", { questions: [words] }),
    },
    {
      name: "memgraph's tools",
      write: async (content) =>
        void (await call("memgraph_put_node", { graph_id: actor, kind: "fact", content })),
      find: (words) => call("memgraph_search", { graph_id: actor, text: words }),
    },
  ];
}

/** How many stores the server itself says are open. */
async function openByMetrics(): Promise<number> {
  const { text } = await server.get("/metrics");
  return Number(/^cortex_stores_open (\d+)$/m.exec(text)?.[1]);
}

const TOWNS = ["Porto", "Lisbon", "Braga", "Faro"];

describe("one store, many ways", () => {
  test("what one way writes, every other finds at once, through one handle", async () => {
    await serve();
    await server.post("/v1/actors/ada/note", { kind: "fact", text: "the first of all" });
    const ways = await waysTo("ada");
    for (const [at, writer] of ways.entries()) {
      const town = TOWNS[at] ?? "";
      await writer.write(`A boat sails to ${town}`);
      const found = await Promise.all(ways.map((reader) => reader.find(`boat to ${town}`)));
      for (const [index, answer] of found.entries()) {
        expect(answer, `${writer.name}, then ${ways[index]?.name}`).toContain(town);
      }
    }
    expect(await openByMetrics()).toBe(1);
    expect(await server.stores.hub.use(async (hub) => hub.openGraphs)).toBe(1);
    const note = OPERATIONS.find(({ name }) => name === "note");
    if (note === undefined) throw new Error("there is no operation note");
    const self = async (memory: Cortex): Promise<Cortex> => memory;
    const [byActor, byGraph] = await Promise.all([
      server.stores.use(note, "ada", self),
      server.stores.hub.use((hub) => hub.use("ada", self)),
    ]);
    expect(byActor).toBe(byGraph);
  });

  test("all at once, on a store that is made meanwhile", async () => {
    await serve();
    const ways = await waysTo("grace");
    await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        ways[at % ways.length]?.write(`Boat number ${at} sails`),
      ),
    );
    const { json } = await server.get("/v1/actors/grace/check");
    expect(json).toMatchObject({ ok: true });
    for (const at of [0, 13, 26, 39]) {
      for (const way of ways)
        expect(await way.find(`boat number ${at}`)).toContain(`number ${at} `);
    }
    expect(await openByMetrics()).toBe(1);
    expect((await server.get("/v1/graphs/grace")).json).toMatchObject({ id: "grace" });
  });

  test("a stream of graphs tells what an actor's routes write", async () => {
    await serve();
    await server.post("/v1/actors/ada/note", { kind: "fact", text: "first" });
    const stop = new AbortController();
    const stream = await fetch(`${server.url}/v1/stream?graph=ada`, { signal: stop.signal });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    await server.post("/v1/actors/ada/note", { kind: "fact", text: "second" });
    let heard = "";
    while (!heard.includes("second")) heard += (await reader?.read())?.value ?? "";
    expect(heard).toContain("node.written");
    stop.abort();
  });
});

describe("what the server was given", () => {
  test("an embedder and its job serve graphs that memgraph's routes make", async () => {
    await serve({ embedder: hashEmbedder({ dimensions: 32 }), jobs: QUICK });
    const { json } = await server.post("/v1/graphs", { name: "Boats" });
    const id = String(json.id);
    const content = "A boat sails to Porto";
    await server.post("/v1/nodes", { graph_id: id, kind: "fact", content });
    await until(async () => {
      const body = { near: { text: content }, limit: 1 };
      const got = await server.post(`/v1/actors/${id}/find`, body);
      return got.status === 200 && got.text.includes("Porto");
    });
    const stats = (await server.get(`/v1/actors/${id}/stats`)).json;
    expect(stats).toMatchObject({ vectors: { lag: 0 } });
  });

  test("a model and its job serve them as well", async () => {
    const service = await startModelServer(({ turns }) => ({
      facts: turns.map(({ name, content }) => ({ text: content, type: "fact", turns: [name] })),
      relationships: [],
    }));
    const model = httpModel({ endpoint: service.endpoint, model: "tiny", retries: 0 });
    await serve({ model, jobs: { ...QUICK, extractAfterMs: 0 } });
    const { json } = await server.post("/v1/graphs", { name: "Talks" });
    const path = `/v1/actors/${json.id}`;
    const turns = [{ role: "user", content: "Ada lives in Porto" }];
    expect((await server.post(`${path}/remember`, { turns, session: "s" })).status).toBe(200);
    await until(async () => (await server.get(`${path}/list?type=fact`)).text.includes("Porto"));
    expect(service.seen.length).toBeGreaterThan(0);
    await service.close();
  });

  test("bounds hold for all ways together: graphs close when idle and open again", async () => {
    await serve({ maxOpen: 2, idleMs: 4 });
    for (const id of ["a", "b", "c", "d"]) {
      await server.post("/v1/graphs", { name: id, id });
      await server.post(`/v1/actors/${id}/note`, { kind: "fact", text: `about ${id}` });
      expect(await openByMetrics()).toBeLessThanOrEqual(2);
    }
    await until(async () => (await openByMetrics()) === 0);
    expect((await server.get("/v1/graphs/c/search?q=about")).text).toContain("about c");
    expect((await server.get("/v1/actors/d/search?text=about")).text).toContain("about d");
  });
});

test("cortex mcp has one hub as well: its tools meet in a store that is not kept", async () => {
  await serve();
  const args = ["--data", "memory:", "--actor", "ada", "--profile", "full"];
  const { client, call } = await connect({ args, home: server.folder });
  clients.push(client);
  await call("memory_remember", { text: "A boat sails to Porto" });
  await call("memgraph_put_node", { graph_id: "ada", kind: "fact", content: "And to Faro" });
  const found = await call("memgraph_search", { graph_id: "ada", text: "boat Porto" });
  expect(found.answer).toMatchObject({ hits: [{ node: { graph_id: "ada" } }] });
  expect((await call("memory_recall", { questions: ["to Faro"] })).text).toContain("And to Faro");
  expect((await call("memgraph_list_graphs")).answer).toMatchObject({ graphs: [{ id: "ada" }] });
});

test("a server that nobody asks about graphs makes no catalogue", async () => {
  await serve();
  const got = await readAll(await fetch(`${server.url}/readyz`));
  expect(got.text).toBe("ok");
  expect(await openByMetrics()).toBe(0);
  expect(readdirSync(server.folder)).toEqual([]);
  await server.post("/v1/note", { kind: "fact", text: "x" });
  // Beside the store stands the name of the one in use, while the server runs; a database leaves nothing in the folder.
  const names = readdirSync(server.folder).filter((name) => !name.startsWith(".in-use-"));
  expect(names).toEqual(process.env.CORTEX_TEST_POSTGRES ? [] : ["default"]);
});
