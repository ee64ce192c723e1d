/**
 * The log of what was slow: the line says by which plan a read went, over REST and over MCP, and holds no
 * word of the question or of any memory.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makePlace, type Place } from "./cortex-process.js";
import { startTestServer, type TestServer } from "./http-server.js";
import { startServe } from "./serve-process.js";

/** Words of memories and questions; ids are told apart by their form. */
const CONTENT = /zanzibar|quokka|xylophone|marimba|[0-9A-HJKMNP-TV-Z]{26}/i;

const MEMORY = {
  type: "fact",
  text: "Ada moved to Zanzibar",
  slot: "quokka city",
  tags: ["xylophone"],
  externalId: "marimba",
};

const READS = [
  ["find", { tags: ["xylophone"], limit: 5 }, { verb: "find", index: "tag", hits: 1 }],
  ["search", { text: "quokka Zanzibar" }, { verb: "search", index: "text", words: 2, hits: 1 }],
  ["search-batch", { queries: ["Zanzibar"] }, { verb: "searchBatch", queries: 1 }],
  ["recall", { question: "where is Zanzibar?" }, { verb: "recall", lanes: { lexical: 1 } }],
  ["context", {}, { verb: "context", tiers: { pinned: 0 } }],
  ["traverse", { id: "marimba" }, { verb: "traverse", index: "edges", hits: 0 }],
] as const;

type Line = Readonly<Record<string, unknown>>;

/** The lines of a server after the turn in which they are written. */
async function linesOf(server: TestServer): Promise<readonly Line[]> {
  await new Promise((resolve) => setImmediate(resolve));
  return server.logged();
}

describe("where everything counts as slow", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({ settings: { slowMs: "0" } });
    await server.post("/v1/write", MEMORY);
  });
  afterAll(() => server.close());

  test.each(READS)("%s tells its plan", async (path, body, plan) => {
    const requestId = `slow-${path}`;
    const { status } = await server.post(`/v1/${path}`, body, { "X-Request-Id": requestId });
    expect(status).toBe(200);
    const line = (await linesOf(server)).find((one) => one.requestId === requestId);
    expect(line).toMatchObject({ level: "warn", slow: true, plan });
    expect(line?.plan).toHaveProperty("rowsRead", expect.any(Number));
    expect(JSON.stringify(line)).not.toMatch(CONTENT);
  });

  test.each([
    ["memory_recall", { questions: ["where is Zanzibar?"] }, { verb: "recall" }],
    ["memory_find", { tags: ["xylophone"] }, { verb: "find", index: "tag" }],
    ["memory_explore", { id: "marimba" }, { verb: "traverse" }],
    ["memory_start", {}, { verb: "context" }],
  ])("so does the tool %s", async (name, args, plan) => {
    const requestId = `slow-${name}`;
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
    const accept = "application/json, text/event-stream";
    const headers = { "X-Request-Id": requestId, Accept: accept };
    const { status, text } = await server.post("/mcp", call, headers);
    expect([status, text]).toEqual([200, expect.not.stringContaining('"isError":true')]);
    const line = (await linesOf(server)).find((one) => one.requestId === requestId);
    expect(line).toMatchObject({ operation: "mcp", slow: true, plan });
    expect(JSON.stringify(line)).not.toMatch(CONTENT);
  });

  test("what reads by no plan, and what fails, have none", async () => {
    for (const [path, id] of [
      ["/v1/get?id=marimba", "slow-get"],
      ["/v1/find?limit=0", "slow-bad"],
    ] as const) {
      await server.get(path, { "X-Request-Id": id });
      const line = (await linesOf(server)).find((one) => one.requestId === id);
      expect(line).toMatchObject({ slow: true });
      expect(line).not.toHaveProperty("plan");
    }
  });
});

test("a quick read has no plan in its line", async () => {
  const server = await startTestServer({ settings: { slowMs: "3600000" } });
  await server.post("/v1/write", MEMORY);
  await server.post("/v1/search", { text: "Zanzibar" });
  const line = (await linesOf(server)).find(({ operation }) => operation === "search");
  expect(line).toMatchObject({ level: "info", status: 200 });
  expect(line).not.toHaveProperty("plan");
  await server.close();
});

test("as a process, on stderr", async () => {
  const place: Place = makePlace();
  const server = await startServe(place.data, ["--slow-ms", "0"]);
  await server.post("/v1/write", MEMORY);
  expect((await server.post("/v1/recall", { question: "where is Zanzibar?" })).status).toBe(200);
  await server.stop();
  const lines = server.err().split("\n").filter(Boolean);
  const recall = lines
    .map((line) => JSON.parse(line) as Line)
    .find(({ operation }) => operation === "recall");
  expect(recall).toMatchObject({ slow: true, plan: { verb: "recall", lanes: { lexical: 1 } } });
  expect(server.err()).not.toMatch(CONTENT);
  place.remove();
});
