/**
 * Switching over from memgraph: its configuration is taken as it is, its store is imported at the first
 * start and never again, its clients may repeat what they write, and the tools of memgraph-docs find
 * every route they call.
 */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { MemgraphCall } from "../src/memgraph/call.js";
import { MEMGRAPH_CALLS } from "../src/memgraph/table.js";
import { makePlace, type Place } from "./cortex-process.js";
import { addRows, edgeRow, graphRow, makeMemgraph, nodeRow, runSql } from "./foreign-files.js";
import { readAll, startTestServer, type TestServer } from "./http-server.js";
import { INITIALIZE, toolCall } from "./mcp-client.js";
import { startServe } from "./serve-process.js";

const GRAPH = "01KRAB0000000000000000000A";
type Json = { readonly [member: string]: unknown };

describe("the store of a configuration", () => {
  let place: Place;
  let file: string;
  beforeEach(() => {
    place = makePlace();
    file = join(place.folder, "memgraph.db");
    makeMemgraph(file, {
      graphs: [graphRow(GRAPH)],
      nodes: ["n1", "n2", "n3"].map((lineage) => nodeRow(GRAPH, lineage, 1)),
      edges: [edgeRow("e1", GRAPH, ["n1", "n2"])],
    });
  });
  afterEach(() => place.remove());

  /** Starts the server of an agent as its configuration does, asks it once, and ends it. */
  async function ask(name: string, args: Json, more: readonly string[] = ["--sqlite", file]) {
    const messages = [
      INITIALIZE,
      { jsonrpc: "2.0", method: "notifications/initialized" },
      toolCall(1, name, args),
    ];
    const input = messages.map((message) => `${JSON.stringify(message)}\n`).join("");
    const ended = await place.cortex(["mcp", "--profile", "memgraph", ...more], { input });
    const lines = Buffer.from(ended.bytes ?? [])
      .toString()
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as { readonly id?: number; readonly result?: Json });
    const answer = lines.find(({ id }) => id === 1)?.result;
    return { ...ended, answer: (answer?.structuredContent ?? {}) as Json };
  }

  const contents = async (more?: readonly string[]) => {
    const { answer, err } = await ask("memgraph_list_nodes", { graph_id: GRAPH }, more);
    const nodes = (answer.nodes ?? []) as readonly { readonly lineage_id: string }[];
    return { lineages: nodes.map(({ lineage_id }) => lineage_id).sort(), err };
  };

  test("is imported at the first start, and ours from then on", async () => {
    const first = await contents();
    expect(first.lineages).toEqual(["n1", "n2", "n3"]);
    expect(first.err).toContain("imported 3 memories");
    expect(first.err).toContain("1 link added");
    await ask("memgraph_put_node", {
      graph_id: GRAPH,
      kind: "fact",
      content: "x",
      lineage_id: "n4",
    });
    addRows(file, { nodes: [nodeRow(GRAPH, "late", 1)] });
    const second = await contents();
    expect(second.lineages).toEqual(["n1", "n2", "n3", "n4"]);
    expect(second.err).not.toContain("imported");
    rmSync(file);
    expect(await contents()).toEqual(second);
  });

  test("whose import was cut short goes on with the next start, and nothing is served before", async () => {
    runSql(file, "UPDATE nodes SET metadata = '{' WHERE id = 'n3-v1'");
    const cut = await ask("memgraph_list_graphs", {});
    expect(cut.exit).toBe(1);
    expect(cut.answer).toEqual({});
    expect(cut.err).toMatch(/--sqlite: not imported whole.*n3-v1.*--skip-bad/);
    runSql(file, "UPDATE nodes SET metadata = NULL WHERE id = 'n3-v1'");
    const whole = await contents();
    expect(whole.lineages).toEqual(["n1", "n2", "n3"]);
    expect(whole.err).toContain("imported 1 memory, 2 unchanged");
    expect((await contents()).err).not.toContain("imported");
  });

  test("counts as imported where bad records were left out by hand", async () => {
    runSql(file, "UPDATE nodes SET kind = '' WHERE id = 'n3-v1'");
    const args = ["import", file, "--from", "memgraph"];
    expect((await place.cortex([...args, "--dry-run"])).exit).toBe(1);
    expect((await ask("memgraph_list_graphs", {})).exit).toBe(1);
    expect((await place.cortex([...args, "--skip-bad"])).exit).toBe(3);
    expect((await contents()).lineages).toEqual(["n1", "n2"]);
  });

  test("may hold nothing yet, and counts as imported all the same", async () => {
    const empty = join(place.folder, "empty.db");
    makeMemgraph(empty, {});
    const sqlite = ["--sqlite", empty];
    const { err, answer } = await ask("memgraph_list_graphs", {}, sqlite);
    expect(answer).toEqual({ graphs: [] });
    expect(err).toContain("imported 0 memories");
    expect((await ask("memgraph_list_graphs", {}, sqlite)).err).not.toContain("imported");
  });

  test("with a graph whose row does not fit says which one and what", async () => {
    runSql(file, "UPDATE graphs SET metadata = '{'");
    const args = ["import", file, "--from", "memgraph"];
    const refused = await place.cortex(args);
    expect(refused.exit).toBe(1);
    expect(refused.out).toContain(`graph ${GRAPH}: metadata: expected JSON`);
    expect((await place.cortex([...args, "--skip-bad"])).exit).toBe(3);
    expect((await contents()).lineages).toEqual(["n1", "n2", "n3"]);
  });

  test("may be a file that is not there yet; a flag without a meaning is refused", async () => {
    const none = join(place.folder, "none.db");
    const { err, answer } = await ask("memgraph_list_graphs", {}, ["--sqlite", none]);
    expect(answer).toEqual({ graphs: [] });
    expect(err).toContain(`${none} is not there: nothing to import`);
    expect(existsSync(none)).toBe(false);
    const refusals = [
      [["mcp", "--sqlite", file], /--sqlite: expected --profile memgraph/],
      [["serve", "--sqlite", file], /--sqlite: expected --compat memgraph/],
      [["serve", "--compat", "memgraph", "--read-only"], /unknown option '--read-only'/],
    ] as const;
    for (const [args, message] of refusals) {
      const refused = await place.cortex(args);
      expect([refused.exit, refused.err]).toEqual([2, expect.stringMatching(message)]);
    }
    const kept = ["mcp", "--profile", "memgraph", "--sqlite", file, "--data", "memory:"];
    expect((await place.bare(kept)).err).toMatch(/--sqlite: is imported into a folder/);
  });

  test("is served by `cortex serve` under memgraph's own variable and flags", async () => {
    const secret = "a-token-of-memgraphs-1";
    const origin = "https://app.example";
    const flags = ["--compat", "memgraph", "--sqlite", file, "--cors-origin", origin];
    const server = await startServe(
      place.data,
      [...flags, "--cors-origin", "http://localhost:5173"],
      {
        MEMGRAPH_HTTP_TOKEN: secret,
      },
    );
    try {
      expect((await fetch(`${server.url}/v1/graphs`)).status).toBe(401);
      const headers = { Authorization: `Bearer ${secret}`, Origin: origin };
      const got = await fetch(`${server.url}/v1/nodes/n1`, { headers });
      expect([got.status, got.headers.get("access-control-allow-origin")]).toEqual([200, origin]);
      expect(await got.json()).toMatchObject({ id: "n1-v1", graph_id: GRAPH });
      expect(server.err()).toContain("imported 3 memories");
      expect(server.err()).not.toContain(secret);
    } finally {
      expect(await server.stop()).toBe(0);
    }
  });
});

describe("over REST", () => {
  let server: TestServer;
  let graph_id: string;
  beforeEach(async () => {
    server = await startTestServer();
    graph_id = String((await server.post("/v1/graphs", { name: "documents" })).json.id);
  });
  afterEach(() => server.close());

  const remove = async (id: unknown, headers: Record<string, string> = {}) =>
    readAll(await fetch(`${server.url}/v1/edges/${String(id)}`, { method: "DELETE", headers }));

  test("what is written under an Idempotency-Key is written once", async () => {
    const under = (key: string) => ({ "Idempotency-Key": key });
    const twice = async (path: string, body: Json, key: string) => {
      const first = await server.post(path, body, under(key));
      const again = await server.post(path, body, under(`"${key}"`));
      expect(first.status, first.text).toBe(201);
      expect([again.status, again.json]).toEqual([201, first.json]);
      return first.json;
    };
    const node = { graph_id, kind: "fact", content: "once" };
    await twice("/v1/nodes", node, "k1");
    const named = { ...node, content: "named", lineage_id: "a" };
    expect((await twice("/v1/nodes", named, "k2")).version).toBe(1);
    expect((await twice("/v1/nodes", { ...named, content: "next" }, "k3")).version).toBe(2);
    const ends = { from_lineage: "a", to_lineage: "b" };
    const edge = await twice("/v1/edges", { graph_id, kind: "cites", ...ends }, "k4");
    const other = await server.post("/v1/nodes", { ...node, content: "other" }, under("k1"));
    expect([other.status, other.json.code]).toEqual([422, "ERR_IDEMPOTENCY"]);
    const { json } = await server.get("/v1/nodes/a/outgoing");
    expect(json.edges).toHaveLength(1);
    for (const _ of [1, 2]) expect((await remove(edge.id, under("k5"))).status).toBe(204);
    expect((await remove(edge.id)).status).toBe(404);
    expect((await server.get(`/v1/graphs/${graph_id}/nodes`)).json.nodes).toHaveLength(2);
  });

  test("every route that writes does once what is asked again under its Idempotency-Key", async () => {
    const send = async (method: string, path: string, body: Json | undefined, key?: string) => {
      const headers = {
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...(key === undefined ? {} : { "Idempotency-Key": key }),
      };
      const init = {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      };
      return readAll(await fetch(`${server.url}/v1${path}`, init));
    };
    const edgeBody = { graph_id, from_lineage: "a", to_lineage: "b", kind: "cites" };
    const node = { graph_id, kind: "n", lineage_id: "a", content: "first" };
    expect((await send("POST", "/nodes", node)).status).toBe(201);
    const removed = await send("POST", "/edges", { ...edgeBody, kind: "gone" });
    expect(removed.status, removed.text).toBe(201);
    /** For each call: what is asked, and what undoes or goes beyond it before it is asked again. */
    const asked: {
      readonly [call: string]: readonly [string, Json | undefined, Json | undefined];
    } = {
      createGraph: ["/graphs", { name: "Notes", metadata: { a: 1 } }, { name: "Others" }],
      configureGraph: [`/graphs/${graph_id}`, { metadata: { a: 1 } }, { metadata: { b: 2 } }],
      putNode: ["/nodes", { ...node, content: "x" }, undefined],
      putEdge: ["/edges", edgeBody, undefined],
      deleteEdge: [`/edges/${String(removed.json.id)}`, undefined, undefined],
    };
    const state = async () =>
      Promise.all(
        ["/graphs", `/graphs/${graph_id}/nodes`, "/nodes/a/history", "/nodes/a/outgoing"].map(
          async (path) => (await send("GET", path, undefined)).json,
        ),
      );
    for (const [name, { effect, route }] of Object.entries<MemgraphCall>(MEMGRAPH_CALLS)) {
      if (effect !== "write" || route === undefined) continue;
      const [path, body, other] = asked[name] ?? [];
      if (path === undefined) throw new Error(`${name} has no request here`);
      const key = `key of ${name}`;
      const first = await send(route.method, path, body, key);
      expect([name, first.status]).toEqual([name, route.status ?? 200]);
      if (other !== undefined) await send(route.method, path, other);
      const before = await state();
      const again = await send(route.method, path, body, key);
      expect([name, again.status, again.json]).toEqual([name, first.status, first.json]);
      expect(await state()).toEqual(before);
      if (body === undefined) continue;
      const refused = await send(
        route.method,
        path,
        { ...body, ...other, metadata: { c: 3 } },
        key,
      );
      expect([name, refused.status, refused.json.code]).toEqual([name, 422, "ERR_IDEMPOTENCY"]);
      expect(await state()).toEqual(before);
    }
  });

  test("the tools of memgraph-docs find every route that they call", async () => {
    const docs = new Docs(server, () => graph_id, remove);
    const doc = await docs.node("doc.document", "A plan", { summary: "A plan" });
    const heading = await docs.append(doc, "doc.heading", "Plan", { level: 1 });
    const first = await docs.append(doc, "doc.paragraph", "one");
    await docs.append(doc, "doc.paragraph", "two");
    const third = await docs.append(doc, "doc.paragraph", "three");
    const list = await docs.append(doc, "doc.list", "", { ordered: false });
    await docs.append(list, "doc.list_item", "an item");
    await docs.append(doc, "doc.code_block", "let x = 1", { language: "ts" });
    await docs.append(doc, "doc.quote", "said");
    await docs.append(doc, "doc.media", "", { kind: "image", src: "a.png", alt: "a" });
    await docs.append(doc, "doc.divider", "");
    const text = ["Plan", "one", "two", "three", "", "an item", "let x = 1", "said", "", ""];
    expect(await docs.texts(doc)).toEqual(text);

    // Listing: by kind, newest first, in pages.
    const listed = await server.get(`/v1/graphs/${graph_id}/nodes?kinds=doc.document&limit=200`);
    expect(listed.json).toMatchObject({ nodes: [{ lineage_id: doc, kind: "doc.document" }] });

    // Moving: the third paragraph to the front of its siblings, then below the list.
    await docs.move(third, doc, 0);
    expect((await docs.texts(doc)).slice(0, 4)).toEqual(["three", "Plan", "one", "two"]);
    await docs.move(third, list, 0);
    expect(await docs.texts(list)).toEqual(["three", "an item"]);
    expect(await docs.texts(doc)).toHaveLength(text.length);

    // New text: a version based on the one that was read.
    await docs.update(first, "uno");
    expect((await docs.texts(doc)).slice(0, 2)).toEqual(["Plan", "uno"]);
    const { json } = await server.get(`/v1/nodes/${first}/history`);
    const versions = json.versions as readonly Json[];
    expect(versions.map(({ version, content }) => [version, content])).toEqual([
      [2, "uno"],
      [1, "one"],
    ]);

    // The whole tree at once, as the viewer draws it.
    const walk = `/v1/nodes/${doc}/neighborhood?depth=10&kinds=doc.contains&max_nodes=200`;
    const { nodes, edges } = (await server.get(walk)).json as Record<string, readonly Json[]>;
    expect([nodes?.length, edges?.length]).toEqual([11, 10]);
    expect(nodes?.find(({ lineage_id }) => lineage_id === heading)?.metadata).toEqual({ level: 1 });
  });
});

/** A docs client: what each tool of memgraph-docs asks of the server, and reads of the answer. */
class Docs {
  constructor(
    readonly server: TestServer,
    readonly graph: () => string,
    readonly remove: (id: unknown) => Promise<{ readonly status: number }>,
  ) {}

  async node(kind: string, content: string, more: Json = {}): Promise<string> {
    const body = { graph_id: this.graph(), kind, content, created_by: "memgraph-docs", ...more };
    const { status, json, text } = await this.server.post("/v1/nodes", body);
    expect(status, text).toBe(201);
    expect(json).toMatchObject({ kind, created_by: "memgraph-docs", is_current: true });
    return String(json.lineage_id);
  }

  async append(parent: string, kind: string, content: string, metadata?: Json): Promise<string> {
    const before = await this.children(parent);
    const child = await this.node(kind, content, metadata === undefined ? {} : { metadata });
    await this.contain(parent, child, Math.max(0, ...before.map(({ ordinal }) => ordinal)) + 1);
    return child;
  }

  async contain(from: string, to: string, ordinal: number): Promise<void> {
    const ends = { from_lineage: from, to_lineage: to, ordinal, created_by: "memgraph-docs" };
    const body = { graph_id: this.graph(), kind: "doc.contains", ...ends };
    const { status, json } = await this.server.post("/v1/edges", body);
    expect(status).toBe(201);
    expect(json).toMatchObject({ ...ends, to_graph: this.graph() });
  }

  async children(parent: string) {
    const { json } = await this.server.get(`/v1/nodes/${parent}/outgoing?kinds=doc.contains`);
    return json.edges as readonly {
      readonly id: string;
      readonly to_lineage: string;
      readonly ordinal: number;
    }[];
  }

  /** The texts below a node, depth first, in the order of their ordinals. */
  async texts(parent: string): Promise<readonly string[]> {
    const found: string[] = [];
    for (const { to_lineage } of await this.children(parent)) {
      const { json } = await this.server.get(`/v1/nodes/${to_lineage}`);
      // An empty content is left out, as everywhere in memgraph.
      found.push(String(json.content ?? ""), ...(await this.texts(to_lineage)));
    }
    return found;
  }

  /** Takes a node out of its parent, and numbers the children of the new one from 1. */
  async move(child: string, parent: string, position: number): Promise<void> {
    const { json } = await this.server.get(`/v1/nodes/${child}/incoming?kinds=doc.contains`);
    for (const { id } of json.edges as readonly Json[]) {
      expect((await this.remove(id)).status).toBe(204);
    }
    const edges = await this.children(parent);
    for (const { id } of edges) expect((await this.remove(id)).status).toBe(204);
    const order = edges.map(({ to_lineage }) => to_lineage).toSpliced(position, 0, child);
    for (const [at, lineage] of order.entries()) await this.contain(parent, lineage, at + 1);
  }

  async update(lineage: string, content: string): Promise<void> {
    const { json } = await this.server.get(`/v1/nodes/${lineage}`);
    const { kind, version } = json;
    const same = { lineage_id: lineage, based_on_version: version, kind, content };
    const body = { graph_id: this.graph(), ...same, created_by: "memgraph-docs" };
    expect((await this.server.post("/v1/nodes", body)).status).toBe(201);
  }
}
