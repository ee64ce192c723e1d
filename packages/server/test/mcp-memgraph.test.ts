/**
 * memgraph's tools over the built server: the behaviour cases 55 to 75 of memgraph's MCP surface, each
 * a test with its number, and what its clients see of resources. Failures carry memgraph's words.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MEMGRAPH_TOOLS } from "../src/mcp/tools-memgraph.js";
import { makePlace, type Place } from "./cortex-process.js";
import { type Connected, connect } from "./mcp-client.js";

let place: Place;
let server: Connected;

beforeAll(async () => {
  place = makePlace();
  server = await connect({ args: ["--data", place.data, "--profile", "full"], home: place.home });
  await server.client.listTools();
});

afterAll(async () => {
  await server.client.close();
  place.remove();
});

type Answer = { readonly [member: string]: unknown };

interface Node extends Answer {
  readonly id: string;
  readonly lineage_id: string;
  readonly version: number;
  readonly kind: string;
}

/** Calls a tool that must work. */
async function ask<T = Answer>(tool: string, args: Record<string, unknown> = {}): Promise<T> {
  const result = await server.client.callTool({ name: `memgraph_${tool}`, arguments: args });
  const [first] = result.content;
  const text = first?.type === "text" ? first.text : "";
  if (result.isError === true) throw new Error(text);
  expect(JSON.parse(text), "the text is the same JSON").toEqual(result.structuredContent);
  return result.structuredContent as T;
}

/** Calls a tool that must fail; the words of the failure, and what came with it. */
async function fails(tool: string, args: Record<string, unknown>) {
  const result = await server.client.callTool({ name: `memgraph_${tool}`, arguments: args });
  expect(result.isError).toBe(true);
  const [first] = result.content;
  const text = first?.type === "text" ? first.text : "";
  return { text, answer: result.structuredContent as Answer | undefined };
}

let graphs = 0;
async function newGraph(more: Record<string, unknown> = {}): Promise<string> {
  graphs += 1;
  const { id } = await ask<{ readonly id: string }>("create_graph", {
    name: `graph ${graphs}`,
    ...more,
  });
  return id;
}

const put = (graph: string, content: string, more: Record<string, unknown> = {}): Promise<Node> =>
  ask<Node>("put_node", { graph_id: graph, kind: "fact", content, ...more });

describe("graphs and nodes", () => {
  test("case 55: a graph that was made is listed, with policy lww and no links", async () => {
    const id = await newGraph({ metadata: { team: "red" } });
    const { graphs: all } = await ask<{ readonly graphs: readonly Answer[] }>("list_graphs");
    expect(all.find((graph) => graph.id === id)).toMatchObject({
      conflict_policy: "lww",
      metadata: { team: "red" },
      outbound_count: 0,
      inbound_count: 0,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
  });

  test("case 56: by lineage the current version, by node id that one", async () => {
    const graph = await newGraph();
    const first = await put(graph, "one");
    const second = await put(graph, "two", { lineage_id: first.lineage_id, based_on_version: 1 });
    const current = await ask("get_node", { lineage_id: first.lineage_id });
    expect(current).toMatchObject({ id: second.id, version: 2, is_current: true, is_stale: false });
    const old = await ask("get_node", { node_id: first.id });
    expect(old).toMatchObject({ version: 1, content: "one", is_current: false });
    expect(old.superseded_by).toBe(second.id);
  });

  test("case 57: both ids, or none, are an error", async () => {
    const { lineage_id, id } = await put(await newGraph(), "x");
    expect((await fails("get_node", { lineage_id, node_id: id })).text).toContain("invalid input");
    expect((await fails("get_node", {})).text).toContain("invalid input");
    expect((await fails("get_node", { lineage_id: "nobody" })).text).toContain("not found");
  });

  test("case 58: what should have been looked at an hour ago is current and stale", async () => {
    const freshness_at = new Date(Date.now() - 3_600_000).toISOString();
    const { lineage_id } = await put(await newGraph(), "milk", { freshness_at });
    const node = await ask("get_node", { lineage_id });
    expect(node).toMatchObject({ is_current: true, is_stale: true, freshness_at });
  });

  test("case 59: an edge stays in its graph by default, is walked, and is gone when deleted", async () => {
    const graph = await newGraph();
    const [a, b] = [await put(graph, "a"), await put(graph, "b")];
    const edge = await ask("put_edge", {
      graph_id: graph,
      from_lineage: a.lineage_id,
      to_lineage: b.lineage_id,
      kind: "cites",
    });
    expect(edge).toMatchObject({ to_graph: graph, kind: "cites" });
    const walk = await ask<{ readonly nodes: readonly Node[] }>("traverse", {
      from_lineage: a.lineage_id,
    });
    expect(walk.nodes.map(({ lineage_id }) => lineage_id)).toContain(b.lineage_id);
    expect(await ask("delete_edge", { edge_id: edge.id })).toEqual({ ok: true });
    expect(await ask("traverse", { from_lineage: a.lineage_id })).toMatchObject({ edges: [] });
  });

  test("case 60: a direction that there is not is an error", async () => {
    const { lineage_id } = await put(await newGraph(), "x");
    await fails("traverse", { from_lineage: lineage_id, direction: "sideways" });
  });
});

describe("search", () => {
  interface Hits {
    readonly hits: readonly { readonly node: Node & { readonly is_current: boolean } }[];
  }

  test("case 61: every hit is current", async () => {
    const graph = await newGraph();
    const first = await put(graph, "shared alpha");
    const later = { lineage_id: first.lineage_id, based_on_version: 1 };
    await put(graph, "shared beta", later);
    const { hits } = await ask<Hits>("search", { graph_id: graph, text: "shared" });
    expect(hits.map(({ node }) => [node.version, node.is_current])).toEqual([[2, true]]);
    const { versions } = await ask<{ readonly versions: readonly Node[] }>("history", {
      lineage_id: first.lineage_id,
    });
    expect(versions.map(({ version }) => version)).toEqual([2, 1]);
  });

  test("case 62: a batch ranks what several texts find first", async () => {
    const graph = await newGraph();
    const both = await put(graph, "alpha bravo");
    await put(graph, "alpha");
    await put(graph, "bravo");
    interface Batch {
      readonly hits: readonly {
        readonly node: Node;
        readonly rrf_score: number;
        readonly queries_matched: readonly number[];
      }[];
      readonly query_count: number;
    }
    const queries = [{ text: "alpha" }, { text: "bravo" }];
    const { hits, query_count } = await ask<Batch>("search_batch", { graph_id: graph, queries });
    expect(query_count).toBe(2);
    expect(new Set(hits.map(({ node }) => node.lineage_id)).size).toBe(3);
    const [best, ...others] = hits;
    expect(best?.node.lineage_id).toBe(both.lineage_id);
    expect(best?.queries_matched).toHaveLength(2);
    for (const { rrf_score, queries_matched } of others) {
      expect(rrf_score).toBeLessThan(best?.rrf_score ?? 0);
      expect(queries_matched).toHaveLength(1);
    }
  });

  test("case 63: no matches are a success", async () => {
    const graph = await newGraph();
    await put(graph, "something else");
    const queries = ["zebra", "yak", "xerus"].map((text) => ({ text }));
    expect(await ask("search_batch", { graph_id: graph, queries })).toEqual({
      hits: [],
      query_count: 3,
      unique_hits: 0,
      per_query_hits: [0, 0, 0],
    });
  });

  test("cases 64 and 65: the total limit cuts hits, and a text gives at most 50", async () => {
    const graph = await newGraph();
    const nodes = (from: number, count: number) =>
      Array.from({ length: count }, (_, at) => ({ kind: "fact", content: `gamma ${from + at}` }));
    await ask("put_subgraph", { graph_id: graph, nodes: nodes(0, 12) });
    const queries = [{ text: "gamma" }];
    const few = await ask<{ readonly hits: readonly unknown[] }>("search_batch", {
      graph_id: graph,
      queries,
      limit: 5,
    });
    expect(few.hits).toHaveLength(5);
    expect(few).toMatchObject({ unique_hits: 12 });
    await ask("put_subgraph", { graph_id: graph, nodes: nodes(12, 48) });
    const many = await ask("search_batch", {
      graph_id: graph,
      queries: [{ text: "gamma", limit: 500 }],
    });
    expect(many).toMatchObject({ per_query_hits: [50] });
  });

  test("case 66: no texts, nine texts and no graph are errors", async () => {
    const graph_id = await newGraph();
    await fails("search_batch", { graph_id, queries: [] });
    await fails("search_batch", {
      graph_id,
      queries: Array.from({ length: 9 }, () => ({ text: "x" })),
    });
    await fails("search_batch", { queries: [{ text: "x" }] });
  });
});

describe("conflicts and resources", () => {
  test("case 67: a stale write under manual is an error that carries the node", async () => {
    const graph = await newGraph({ conflict_policy: "manual" });
    const first = await put(graph, "one");
    const stale = { lineage_id: first.lineage_id, based_on_version: 1 };
    const second = await put(graph, "two", stale);
    const { text, answer } = await fails("put_node", {
      graph_id: graph,
      kind: "fact",
      content: "three",
      ...stale,
    });
    expect(text).toContain("memgraph: concurrent write under manual conflict policy");
    expect(answer).toMatchObject({ content: "three", conflicts: [second.id] });
  });

  test("case 68: a client hears of a new graph, finds it listed and reads it", async () => {
    const heard = new Promise<void>((resolve) => {
      server.client.setNotificationHandler("notifications/resources/list_changed", () => resolve());
    });
    const id = await newGraph({ kind_whitelist: ["fact"] });
    await heard;
    const { resources } = await server.client.listResources();
    const listed = resources.find(({ uri }) => uri === `memgraph://${id}`);
    expect(listed).toMatchObject({ name: `graph ${graphs}`, mimeType: "application/json" });
    const { contents } = await server.client.readResource({ uri: `memgraph://${id}` });
    const [content] = contents;
    expect(
      JSON.parse(content !== undefined && "text" in content ? content.text : ""),
    ).toMatchObject({
      id,
      kind_whitelist: ["fact"],
    });
  });

  test("case 69: a lineage is read as its current node", async () => {
    const graph = await newGraph();
    const { lineage_id } = await put(graph, "read me");
    const uri = `memgraph://${graph}/${lineage_id}`;
    const { contents } = await server.client.readResource({ uri });
    const [content] = contents;
    expect(
      JSON.parse(content !== undefined && "text" in content ? content.text : ""),
    ).toMatchObject({
      lineage_id,
      content: "read me",
    });
    const nobody = server.client.readResource({ uri: `memgraph://${graph}/nobody` });
    await expect(nobody).rejects.toMatchObject({ code: -32602 });
  });
});

describe("subgraphs", () => {
  interface Done {
    readonly nodes: readonly (Answer & { readonly lineage_id?: string })[];
    readonly edges: readonly Answer[];
  }

  test("case 70: new nodes, an update, and edges by ref and by lineage", async () => {
    const graph = await newGraph();
    const old = await put(graph, "old");
    const { nodes, edges } = await ask<Done>("put_subgraph", {
      graph_id: graph,
      nodes: [
        { ref: "a", kind: "fact", content: "a" },
        { ref: "b", kind: "fact", content: "b" },
        { lineage_id: old.lineage_id, based_on_version: 1, kind: "fact", content: "newer" },
      ],
      edges: [
        { from_ref: "a", to_ref: "b", kind: "cites" },
        { from_ref: "a", to_lineage: old.lineage_id, kind: "cites" },
      ],
    });
    expect(nodes.map(({ created, version }) => [created, version])).toEqual([
      [true, 1],
      [true, 1],
      [false, 2],
    ]);
    expect(edges.map(({ edge_id }) => typeof edge_id)).toEqual(["string", "string"]);
    const walk = await ask<{ readonly nodes: readonly Node[] }>("traverse", {
      from_lineage: nodes[0]?.lineage_id,
      max_depth: 1,
    });
    const reached = walk.nodes.map(({ lineage_id }) => lineage_id);
    expect(reached).toEqual(expect.arrayContaining([nodes[1]?.lineage_id, old.lineage_id]));
  });

  test("cases 71 and 72: one refused node takes only its edge along; unknown refs are named", async () => {
    const graph = await newGraph({ kind_whitelist: ["fact"] });
    const { nodes, edges } = await ask<Done>("put_subgraph", {
      graph_id: graph,
      nodes: [
        { ref: "good", kind: "fact", content: "good" },
        { ref: "also", kind: "fact", content: "also good" },
        { ref: "bad", kind: "rumour", content: "bad" },
      ],
      edges: [
        { from_ref: "good", to_ref: "also", kind: "cites" },
        { from_ref: "good", to_ref: "bad", kind: "cites" },
        { from_ref: "good", to_ref: "nope", kind: "cites" },
      ],
    });
    expect(nodes.map(({ created }) => created)).toEqual([true, true, false]);
    expect(String(nodes[2]?.error)).toContain("kind not in graph whitelist");
    expect(edges.map(({ error }) => error)).toEqual([
      undefined,
      "ref not found: bad",
      "ref not found: nope",
    ]);
  });

  test("case 73: nothing, too much, and two forms of one end", async () => {
    const graph_id = await newGraph();
    const node = { kind: "fact", content: "x" };
    await fails("put_subgraph", { graph_id });
    await fails("put_subgraph", { graph_id, nodes: Array.from({ length: 51 }, () => node) });
    const edge = { from_lineage: "a", to_lineage: "b", kind: "cites" };
    await fails("put_subgraph", { graph_id, edges: Array.from({ length: 101 }, () => edge) });
    const { edges } = await ask<Done>("put_subgraph", {
      graph_id,
      edges: [{ from_ref: "a", from_lineage: "a", to_lineage: "b", kind: "cites" }],
    });
    expect(edges).toEqual([{ error: "only one of from_ref/from_lineage allowed" }]);
  });

  test("case 74: a conflict is told, and the other node is written", async () => {
    const graph = await newGraph({ conflict_policy: "manual" });
    const { lineage_id } = await put(graph, "one");
    await put(graph, "two", { lineage_id, based_on_version: 1 });
    const { nodes } = await ask<Done>("put_subgraph", {
      graph_id: graph,
      nodes: [
        { lineage_id, based_on_version: 1, kind: "fact", content: "three" },
        { kind: "fact", content: "unrelated" },
      ],
    });
    expect(nodes[0]).toMatchObject({ lineage_id, created: false, error: expect.any(String) });
    expect(nodes[1]).toMatchObject({ created: true, version: 1 });
  });

  test("what is wrong with an item is called as the caller called it", async () => {
    const graph = await newGraph();
    const kind = "fact";
    const long = "x".repeat(300);
    const { nodes, edges } = await ask<{
      readonly nodes: readonly Answer[];
      readonly edges: readonly Answer[];
    }>("put_subgraph", {
      graph_id: graph,
      nodes: [
        { kind, content: "", lineage_id: long },
        { kind, content: "", metadata: { a: 2 ** 60 } },
        { kind, content: "", summary: "s".repeat(70_000) },
        { kind, content: "", created_by: long },
        { kind, content: "", based_on_version: 0 },
      ],
      edges: [
        { kind, from_lineage: long, to_lineage: "x" },
        { kind, from_lineage: "x", to_lineage: long },
        { kind, from_lineage: "nobody", to_lineage: "x" },
        { kind, from_lineage: "x", to_lineage: "x", to_graph: "no name" },
      ],
    });
    const fields = [...nodes, ...edges].map(
      ({ error = "" }) => /^memgraph: [a-z ]*: ([^:]*)/.exec(String(error))?.[1] ?? error,
    );
    expect(fields).toEqual([
      ...["lineage_id", "metadata.a", "summary", "created_by", ""],
      ...["from_lineage", "to_lineage", "from_lineage", "to_graph"],
    ]);
  });

  test("case 75: nodes alone and edges alone", async () => {
    const graph = await newGraph();
    const two = [
      { kind: "fact", content: "a" },
      { kind: "fact", content: "b" },
    ];
    const { nodes } = await ask<Done>("put_subgraph", { graph_id: graph, nodes: two });
    const [from_lineage, to_lineage] = nodes.map(({ lineage_id }) => lineage_id);
    const { edges } = await ask<Done>("put_subgraph", {
      graph_id: graph,
      edges: [{ from_lineage, to_lineage, kind: "cites" }],
    });
    expect(edges).toMatchObject([{ edge_id: expect.any(String) }]);
  });
});

describe("the rest of the fifteen", () => {
  test("there are fifteen, and the full profile shows them", async () => {
    expect(MEMGRAPH_TOOLS).toHaveLength(15);
    const { tools } = await server.client.listTools();
    const shown = tools.map(({ name }) => name).filter((name) => name.startsWith("memgraph_"));
    expect(shown).toEqual(MEMGRAPH_TOOLS.map(({ name }) => name));
  });

  test("arguments that are null are none, as for any other program", async () => {
    const asked = {
      method: "tools/call",
      params: { name: "memgraph_list_graphs", arguments: null },
    };
    const answer: Answer = await server.client.request(asked as never);
    expect(answer.structuredContent).toEqual(await ask("list_graphs"));
  });

  test("lists page by offset, in full or compact; unknown arguments are refused", async () => {
    const graph = await newGraph();
    for (const content of ["a", "b", "c"]) await put(graph, content, { tags: ["topic:x"] });
    interface Page {
      readonly nodes: readonly Node[];
      readonly next_offset: number;
    }
    const page = await ask<Page>("list_nodes", { graph_id: graph, limit: 2, tags: ["topic:x"] });
    expect([page.nodes.map(({ content }) => content), page.next_offset]).toEqual([["c", "b"], 2]);
    const rest = await ask<Page>("list_nodes", { graph_id: graph, offset: 2, compact: true });
    expect(rest.next_offset).toBe(3);
    expect(rest.nodes[0]).not.toHaveProperty("content");
    await fails("list_nodes", { graph_id: graph, nonsense: true });
  });

  test("the words in use, tags by prefix, and links between graphs", async () => {
    const [here, there] = [await newGraph(), await newGraph()];
    const a = await put(here, "a", { tags: ["topic:x", "plain"] });
    const b = await put(there, "b");
    await ask("put_edge", {
      graph_id: here,
      from_lineage: a.lineage_id,
      to_lineage: b.lineage_id,
      to_graph: there,
      kind: "cites",
    });
    expect(await ask("describe_schema", { graph_id: here })).toMatchObject({
      graph_id: here,
      node_count: 1,
      kinds: [{ kind: "fact", count: 1, examples: ["a"] }],
      tag_prefixes: [{ prefix: "topic", count: 1, values: ["x"] }],
    });
    expect(await ask("list_tags", { graph_id: here, prefix: "top" })).toEqual({
      tags: [{ tag: "topic:x", count: 1 }],
    });
    expect(await ask("symlink_manifest", { graph_id: there })).toEqual({
      outbound: [],
      inbound: [{ graph_id: here, edge_count: 1 }],
    });
  });
});

describe("the profile memgraph", () => {
  test("offers memgraph's fifteen tools alone, and they work", async () => {
    const alone = await connect({
      args: ["--data", "memory:", "--profile", "memgraph"],
      home: place.home,
    });
    try {
      const { tools } = await alone.client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(MEMGRAPH_TOOLS.map(({ name }) => name));
      expect(tools).toHaveLength(15);
      expect(alone.client.getInstructions()).not.toContain("memory_");
      const made = await alone.call("memgraph_create_graph", { name: "Trips" });
      expect(made.answer).toMatchObject({ name: "Trips" });
    } finally {
      await alone.client.close();
    }
  });
});
