/**
 * memgraph's clients find what they know: its behaviour cases for REST, each under its number, and what
 * is added to its stream. Cases 85 to 97 are those of its REST server.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { follow } from "./event-client.js";
import { readAll, startTestServer, type TestServer } from "./http-server.js";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.close());

interface Node {
  readonly id: string;
  readonly lineage_id: string;
  readonly version: number;
  readonly content?: string;
}

async function graph(more: Record<string, unknown> = {}): Promise<string> {
  const { status, json } = await server.post("/v1/graphs", { name: "a graph", ...more });
  expect(status).toBe(201);
  return String(json.id);
}

async function node(graph_id: string, content: string, more: Record<string, unknown> = {}) {
  const got = await server.post("/v1/nodes", { graph_id, kind: "fact", content, ...more });
  expect(got.status).toBe(201);
  return got.json as unknown as Node;
}

async function edge(graph_id: string, from: Node, to: Node, more: Record<string, unknown> = {}) {
  const ends = { from_lineage: from.lineage_id, to_lineage: to.lineage_id };
  const got = await server.post("/v1/edges", { graph_id, kind: "cites", ...ends, ...more });
  expect(got.status, got.text).toBe(201);
  return got.json;
}

async function send(method: string, path: string, body?: unknown) {
  const init =
    body === undefined
      ? { method }
      : {
          method,
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify(body),
        };
  return readAll(await fetch(server.url + path, init));
}

describe("behaviour", () => {
  test("case 85: health and information", async () => {
    expect((await server.get("/healthz")).text).toBe("ok");
    const { json } = await server.get("/v1/info");
    const store = process.env.CORTEX_TEST_POSTGRES ? "postgres" : "lmdb";
    expect(json).toMatchObject({ version: "0.0.0", store });
    expect(Date.parse(String(json.time))).toBeGreaterThan(0);
  });

  test("case 86: a graph is made, listed and read", async () => {
    const made = await server.post("/v1/graphs", {
      name: "Work notes",
      conflict_policy: "manual",
      kind_whitelist: ["fact"],
      metadata: { owner: "ada" },
    });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      name: "Work notes",
      conflict_policy: "manual",
      kind_whitelist: ["fact"],
      metadata: { owner: "ada" },
      symlink_manifest_summary: { outbound_count: 0, inbound_count: 0 },
    });
    expect((await server.get("/v1/graphs")).json).toEqual({ graphs: [made.json] });
    expect((await server.get(`/v1/graphs/${made.json.id}`)).json).toEqual(made.json);
  });

  test("case 87: a lineage has versions", async () => {
    const g = await graph();
    const first = await node(g, "one");
    const second = await node(g, "two", { lineage_id: first.lineage_id });
    expect([first.version, second.version]).toEqual([1, 2]);
    const path = `/v1/nodes/${encodeURIComponent(first.lineage_id)}`;
    expect((await server.get(path)).json).toMatchObject({ version: 2, content: "two" });
    const { versions } = (await server.get(`${path}/history`)).json as { versions: Node[] };
    expect(versions.map(({ version }) => version)).toEqual([2, 1]);
    expect((await server.get(`${path}?version=1`)).json).toMatchObject({
      version: 1,
      superseded_by: second.id,
      is_current: false,
    });
  });

  test("case 88: an edge is listed and walked", async () => {
    const g = await graph();
    const [a, b] = [await node(g, "a"), await node(g, "b")];
    const made = await edge(g, a, b);
    const { edges } = (await server.get(`/v1/nodes/${a.lineage_id}/outgoing`)).json as {
      edges: unknown[];
    };
    expect(edges).toEqual([made]);
    const walk = (await server.get(`/v1/nodes/${a.lineage_id}/neighborhood?depth=2`)).json as {
      readonly nodes: unknown[];
      readonly edges: unknown[];
    };
    expect(walk.nodes.length).toBeGreaterThanOrEqual(2);
    expect(walk.edges.length).toBeGreaterThanOrEqual(1);
  });

  test("case 89: a chain is walked outgoing, incoming and both ways", async () => {
    const g = await graph();
    const [a, b, c] = [await node(g, "a"), await node(g, "b"), await node(g, "c")];
    await edge(g, a, b);
    await edge(g, b, c);
    const reached = async (from: Node, query: string) => {
      const { json } = await server.get(`/v1/nodes/${from.lineage_id}/neighborhood?${query}`);
      return (json.nodes as Node[]).map(({ lineage_id }) => lineage_id).sort();
    };
    const all = [a, b, c].map(({ lineage_id }) => lineage_id).sort();
    expect(await reached(a, "direction=outgoing&depth=2")).toEqual(all);
    expect(await reached(c, "direction=incoming&depth=2")).toEqual(all);
    expect(await reached(b, "direction=both&depth=1")).toEqual(all);
  });

  test("case 90: a direction that is none", async () => {
    const g = await graph();
    const a = await node(g, "a");
    const got = await server.get(`/v1/nodes/${a.lineage_id}/neighborhood?direction=sideways`);
    expect([got.status, got.json.error_code]).toEqual([400, "invalid_direction"]);
    expect(got.headers.get("content-type")).toBe("application/problem+json");
  });

  test("case 91: a word is found", async () => {
    const g = await graph();
    await node(g, "apples and oranges");
    await node(g, "a pineapple on the table");
    const { hits } = (await server.get(`/v1/graphs/${g}/search?q=pineapple`)).json as {
      hits: { node: Node; score: number }[];
    };
    expect(hits[0]?.node.content).toContain("pineapple");
  });

  test("case 92: schema and tags", async () => {
    const g = await graph();
    await node(g, "tofu", { tags: ["protein:tofu", "meal:lunch"] });
    await node(g, "beans", { tags: ["protein:beans"], kind: "recipe" });
    const { json } = await server.get(`/v1/graphs/${g}/schema`);
    expect(json).toMatchObject({ graph_id: g, node_count: 2 });
    const prefixes = json.tag_prefixes as { prefix: string; count: number }[];
    expect(prefixes.find(({ prefix }) => prefix === "protein")).toMatchObject({ count: 2 });
    const { tags } = (await server.get(`/v1/graphs/${g}/tags?prefix=protein:`)).json;
    expect(tags).toHaveLength(2);
  });

  test("case 93: an edge into another graph ties the two", async () => {
    const [here, there] = [await graph(), await graph({ name: "elsewhere" })];
    const [a, b] = [await node(here, "a"), await node(there, "b")];
    await edge(here, a, b, { to_graph: there });
    expect((await server.get(`/v1/graphs/${here}/symlinks`)).json).toEqual({
      outbound: [{ graph_id: there, edge_count: 1 }],
      inbound: [],
    });
    expect((await server.get(`/v1/graphs/${there}`)).json).toMatchObject({
      symlink_manifest_summary: { outbound_count: 0, inbound_count: 1 },
    });
  });

  test("case 94: a stale write under manual is a conflict that was written", async () => {
    const g = await graph({ conflict_policy: "manual" });
    const first = await node(g, "one");
    const based = { lineage_id: first.lineage_id, based_on_version: 1 };
    await node(g, "two", based);
    const stale = await server.post("/v1/nodes", {
      graph_id: g,
      kind: "fact",
      content: "rival",
      ...based,
    });
    expect(stale.status).toBe(409);
    expect(stale.json).toMatchObject({ node: { content: "rival", version: 3 } });
    expect((stale.json.conflicts as unknown[]).length).toBeGreaterThan(0);
    expect(stale.json.error).toMatch(/conflict recorded/);
  });

  test("case 95: a token", async () => {
    const token = "a-token-of-some-length";
    const closed = await startTestServer({ settings: { token } });
    const status = async (path: string, headers = {}) => (await closed.get(path, headers)).status;
    expect(await status("/v1/graphs")).toBe(401);
    expect(await status("/v1/graphs", { Authorization: "Bearer wrong" })).toBe(401);
    expect(await status("/v1/graphs", { Authorization: `Bearer ${token}` })).toBe(200);
    expect(await status("/healthz")).toBe(200);
    expect((await closed.get("/v1/graphs")).json).toMatchObject({ error: "unauthorized" });
    await closed.close();
  });

  test("case 96: a stream tells of a new graph first", async () => {
    const client = await follow(`${server.url}/v1/stream`);
    const id = await graph();
    const [event] = await client.upTo(1);
    expect(event).toMatchObject({ event: "graph.created", data: { id } });
    client.leave();
  });

  test("case 97: a compact list leaves members out", async () => {
    const g = await graph();
    await node(g, "long content", {
      summary: "short",
      metadata: { a: 1 },
      freshness_at: "2020-01-01T00:00:00Z",
      created_by: "ada",
    });
    const { json } = await server.get(`/v1/graphs/${g}/nodes?compact=1`);
    const [compact] = json.nodes as Record<string, unknown>[];
    const members = Object.keys(compact ?? {});
    for (const name of ["content", "metadata", "freshness_at", "created_by"]) {
      expect(members).not.toContain(name);
    }
    expect(compact).toMatchObject({ summary: "short", is_stale: true });
    expect(typeof compact?.lineage_id).toBe("string");
    expect(json.next_offset).toBe(1);
  });
});

describe("routes and shapes", () => {
  test("a node has every member that is not empty, and no other", async () => {
    const g = await graph();
    const full = await server.post("/v1/nodes", {
      graph_id: g,
      kind: "fact",
      content: "c",
      summary: "s",
      tags: ["t"],
      metadata: { m: 1 },
      freshness_at: "2999-01-01T00:00:00Z",
      lineage_id: "any text: even / this",
    });
    expect(full.json).toEqual({
      id: expect.any(String),
      graph_id: g,
      lineage_id: "any text: even / this",
      version: 1,
      kind: "fact",
      content: "c",
      summary: "s",
      tags: ["t"],
      metadata: { m: 1 },
      freshness_at: "2999-01-01T00:00:00.000Z",
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      created_by: "unknown",
      is_current: true,
      is_stale: false,
    });
    const path = `/v1/nodes/${encodeURIComponent("any text: even / this")}`;
    expect((await server.get(path)).json).toEqual(full.json);
    const bare = await server.post("/v1/nodes", { graph_id: g, kind: "fact", content: "" });
    expect(Object.keys(bare.json).sort()).toEqual(
      [
        "id",
        "graph_id",
        "lineage_id",
        "version",
        "kind",
        "created_at",
        "created_by",
        "is_current",
        "is_stale",
      ].sort(),
    );
  });

  test("a graph is changed member by member, and cleared by what is empty", async () => {
    const g = await graph({ kind_whitelist: ["fact"], metadata: { a: 1, b: 2 } });
    const path = `/v1/graphs/${g}`;
    const named = await send("PATCH", path, { name: "renamed", metadata: { b: 3 } });
    expect(named.status).toBe(200);
    expect(named.json).toMatchObject({
      name: "renamed",
      metadata: { b: 3 },
      kind_whitelist: ["fact"],
    });
    const cleared = await send("PATCH", path, { kind_whitelist: [], metadata: {} });
    expect(cleared.json.kind_whitelist).toBeUndefined();
    expect(cleared.json.metadata).toBeUndefined();
    expect((await send("PATCH", path, { color: "red" })).status).toBe(400);
  });

  test("an edge is removed, and its id is in the address", async () => {
    const g = await graph();
    const [a, b] = [await node(g, "a"), await node(g, "b")];
    const { id } = await edge(g, a, b, { ordinal: 2, metadata: { why: "x" }, created_by: "ada" });
    const gone = await send("DELETE", `/v1/edges/${encodeURIComponent(String(id))}`);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect((await server.get(`/v1/nodes/${a.lineage_id}/outgoing`)).json).toEqual({ edges: [] });
    expect((await server.get(`/v1/nodes/${b.lineage_id}/incoming`)).json).toEqual({ edges: [] });
  });

  test("lists are cut at commas, numbers that are none are the default", async () => {
    const g = await graph();
    for (let at = 0; at < 3; at += 1) await node(g, `n${at}`, { tags: ["x", `t${at}`] });
    await node(g, "other", { kind: "idea" });
    const count = async (query: string) => {
      const { json } = await server.get(`/v1/graphs/${g}/nodes?${query}`);
      return (json.nodes as unknown[]).length;
    };
    expect(await count("kinds=fact,idea")).toBe(4);
    expect(await count("kinds=idea")).toBe(1);
    expect(await count("tags=x,t1")).toBe(1);
    expect(await count("limit=2")).toBe(2);
    expect(await count("limit=lots")).toBe(4);
    expect(await count("limit=0")).toBe(4);
    expect(await count("offset=3")).toBe(1);
  });

  test.each([
    ["GET", "/v1/graphs/nothing-here", undefined, 404],
    ["GET", "/v1/nodes/nothing-here", undefined, 404],
    ["GET", "/v1/nodes/x?version=many", undefined, 400],
    ["GET", "/v1/nodes/x?at=yesterday", undefined, 400],
    ["POST", "/v1/graphs", { name: "" }, 400],
    ["POST", "/v1/graphs", { name: "x", color: "red" }, 400],
    ["POST", "/v1/nodes", { graph_id: "nothing-here", kind: "x", content: "y" }, 404],
    ["POST", "/v1/nodes", { graph_id: "x" }, 400],
    [
      "POST",
      "/v1/edges",
      { graph_id: "nothing-here", from_lineage: "a", to_lineage: "b", kind: "k" },
      404,
    ],
    ["DELETE", "/v1/edges/nonsense", undefined, 404],
    ["DELETE", "/v1/graphs/x", undefined, 405],
    ["PUT", "/v1/nodes", {}, 405],
  ])("%s %s %j is %i, in a problem document", async (method, path, body, status) => {
    const got = await send(method, path, body);
    expect(got.status, got.text).toBe(status);
    expect(got.headers.get("content-type")).toBe("application/problem+json");
    expect(got.json.requestId).toBe(got.headers.get("x-request-id"));
    if (status !== 405) expect(got.json.error).toMatch(/^memgraph: /);
  });

  test("what is wrong is called as the caller called it", async () => {
    const g = await graph();
    const a = await node(g, "a");
    const edge = { graph_id: g, from_lineage: a.lineage_id, to_lineage: "b", kind: "k" };
    const wrong = [
      ["POST", "/v1/edges", { ...edge, from_lineage: "nobody" }, "from_lineage"],
      ["POST", "/v1/edges", { ...edge, graph_id: "nobody" }, "graph_id"],
      ["DELETE", "/v1/edges/nonsense", undefined, "edge_id"],
      ["POST", "/v1/nodes", { graph_id: "nobody", kind: "k", content: "x" }, "graph_id"],
      ["POST", "/v1/nodes", { graph_id: g, kind: "k", lineage_id: "x".repeat(300) }, "lineage_id"],
      ["POST", "/v1/nodes", { graph_id: g, kind: "k", created_by: "x".repeat(300) }, "created_by"],
      ["POST", "/v1/nodes", { graph_id: g, kind: "k", summary: "x".repeat(70_000) }, "summary"],
      ["POST", "/v1/nodes", { graph_id: g, kind: "k", metadata: { a: 2 ** 60 } }, "metadata.a"],
      ["GET", `/v1/nodes/${encodeURIComponent(a.id)}?version=1`, undefined, "at_version, at_time"],
    ] as const;
    for (const [method, path, body, field] of wrong) {
      const { json } = await send(method, path, body);
      expect(json).toMatchObject({
        field,
        detail: expect.stringMatching(new RegExp(`^${field}: `)),
      });
    }
  });

  test("a version that cannot be says that the lineage is new, or that what was read is old", async () => {
    for (const conflict_policy of ["lww", "manual"]) {
      const g = await graph({ conflict_policy });
      for (const based_on_version of [0, -1, 7, 2 ** 40]) {
        const made = await node(g, "new", { based_on_version });
        expect(made.version).toBe(1);
        const more = { lineage_id: `${conflict_policy} ${based_on_version}`, based_on_version };
        expect((await node(g, "named", more)).version).toBe(1);
        const { lineage_id } = made;
        const again = { graph_id: g, kind: "fact", content: "again", lineage_id, based_on_version };
        const { status, json } = await server.post("/v1/nodes", again);
        expect(status).toBe(conflict_policy === "lww" ? 201 : 409);
        if (status === 409) expect(json.conflicts).toEqual([made.id]);
        for (const version of ["0", "-1", "7", "1099511627776"]) {
          const path = `/v1/nodes/${encodeURIComponent(lineage_id)}?version=${version}`;
          expect([version, (await server.get(path)).status]).toEqual([version, 404]);
        }
      }
    }
  });

  test("ids of graphs that can be no names here are not there, and come back as they came", async () => {
    const g = await graph();
    const a = await node(g, "a");
    expect((await server.get("/v1/graphs/no%20name")).status).toBe(404);
    expect((await server.get("/v1/graphs/no%20name/nodes")).json.nodes).toEqual([]);
    expect((await server.get("/v1/graphs/no%20name/schema")).json.graph_id).toBe("no name");
    const unknown = "01KRABNKNXWN00000000000ZZZ";
    const made = await edge(g, a, a, { to_graph: unknown });
    expect(made.to_graph).toBe(unknown);
    const path = `/v1/nodes/${encodeURIComponent(a.lineage_id)}/incoming`;
    expect((await server.get(path)).json.edges).toEqual([made]);
    expect((await server.get(`/v1/graphs/${g}/symlinks`)).json.outbound).toEqual([
      { graph_id: unknown, edge_count: 1 },
    ]);
  });

  test("an unknown lineage has an empty history and no neighbours", async () => {
    await graph();
    expect((await server.get("/v1/nodes/nobody/history")).json).toEqual({ versions: [] });
    expect((await server.get("/v1/nodes/nobody/neighborhood")).json).toEqual({
      nodes: [],
      edges: [],
    });
  });

  test("a kind outside the whitelist is refused", async () => {
    const g = await graph({ kind_whitelist: ["fact"] });
    const got = await server.post("/v1/nodes", { graph_id: g, kind: "idea", content: "x" });
    expect(got.status).toBe(400);
    expect(got.json.error).toContain("memgraph: kind not in graph whitelist");
  });

  test("an actor's store is a graph, and a graph an actor's store", async () => {
    await server.post("/v1/actors/ada/note", { kind: "idea", text: "a note", externalId: "mine" });
    const { graphs } = (await server.get("/v1/graphs")).json as { graphs: { id: string }[] };
    expect(graphs.map(({ id }) => id)).toEqual(["ada"]);
    expect((await server.get("/v1/nodes/mine")).json).toMatchObject({
      graph_id: "ada",
      content: "a note",
    });
    const g = await graph();
    const made = await node(g, "from the other side");
    const got = await server.get(`/v1/actors/${g}/get?id=${made.lineage_id}`);
    expect(got.json).toMatchObject({ type: "note", text: "from the other side" });
  });

  test("stores that are not kept are graphs as well", async () => {
    const unkept = await startTestServer({ location: "memory:" });
    await unkept.post("/v1/actors/ada/note", { kind: "idea", text: "a note", externalId: "mine" });
    const { graphs } = (await unkept.get("/v1/graphs")).json as { graphs: { id: string }[] };
    expect(graphs.map(({ id }) => id)).toEqual(["ada"]);
    expect((await unkept.get("/v1/nodes/mine")).json).toMatchObject({ content: "a note" });
    expect((await unkept.get("/v1/info")).json.store).toBe("memory");
    await unkept.close();
  });
});

describe("the stream of graphs", () => {
  test("tells nodes, edges and their removal, in memgraph's shapes", async () => {
    const g = await graph();
    const client = await follow(`${server.url}/v1/stream?graph=${g}`);
    const [a, b] = [await node(g, "a"), await node(g, "b")];
    const made = await edge(g, a, b);
    await send("DELETE", `/v1/edges/${encodeURIComponent(String(made.id))}`);
    const events = await client.upTo(4);
    expect(events.map(({ event }) => event)).toEqual([
      "node.written",
      "node.written",
      "edge.written",
      "edge.removed",
    ]);
    expect(events[0]?.data).toMatchObject({ lineage_id: a.lineage_id, content: "a" });
    expect(events[2]?.data).toEqual(made);
    client.leave();
  });

  test("goes on after an id: of one graph a seq, of several a place in each", async () => {
    const [one, two] = [await graph(), await graph({ name: "two" })];
    const single = await follow(`${server.url}/v1/stream?graph=${one}`);
    const both = await follow(`${server.url}/v1/stream`);
    await node(one, "first of one");
    await node(two, "first of two");
    const [first] = await single.upTo(1);
    const seen = await both.upTo(2);
    single.leave();
    both.leave();
    expect(Number.isSafeInteger(first?.id)).toBe(true);
    await node(one, "second of one");
    await node(two, "second of two");
    const again = await follow(`${server.url}/v1/stream?graph=${one}`, {
      "Last-Event-ID": String(first?.idText),
    });
    expect((await again.upTo(1)).map(({ data }) => data.content)).toEqual(["second of one"]);
    again.leave();
    const all = await follow(`${server.url}/v1/stream`, {
      "Last-Event-ID": String(seen.at(-1)?.idText),
    });
    const missed = (await all.upTo(2)).map(({ data }) => data.content);
    expect(missed.sort()).toEqual(["second of one", "second of two"]);
    all.leave();
  });

  test.each(["nonsense", "W10", "eyJhIjotMX0"])("an id that is none is refused: %s", async (id) => {
    const got = await server.get("/v1/stream", { "Last-Event-ID": id });
    expect([got.status, got.json.code]).toEqual([400, "ERR_INVALID"]);
  });
});
