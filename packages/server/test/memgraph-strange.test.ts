/**
 * What a memgraph may hold that its own program seldom writes, brought in and asked for: ids that mean two things,
 * graphs that are called anything, rows that somebody took out by hand, metadata with one member too many.
 */
import { join } from "node:path";
import { OWNER, openHub } from "@cortex-memory/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { importForeign } from "../src/import/foreign.js";
import type { ForeignReport } from "../src/import/tally.js";
import { listGraphResources, readGraphResource } from "../src/mcp/resources.js";
import { callDoor } from "../src/memgraph/call.js";
import { MEMGRAPH_CALLS } from "../src/memgraph/table.js";
import { makePlace, type Place } from "./cortex-process.js";
import { edgeRow, graphRow, makeMemgraph, nodeRow, runSql, type Tables } from "./foreign-files.js";

const G = "01KRAB0000000000000000000A";

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

type Answer = { readonly [member: string]: unknown };
type Ask = (call: keyof typeof MEMGRAPH_CALLS, input: object) => Promise<Answer>;

/** Brings rows in, and asks about them. */
async function bring(
  tables: Tables,
  work: (ask: Ask, report: ForeignReport) => Promise<void>,
  { sql = [], skipBad = false }: { sql?: readonly string[]; skipBad?: boolean } = {},
): Promise<void> {
  const file = join(place.folder, "memgraph.db");
  makeMemgraph(file, tables);
  for (const statement of sql) runSql(file, statement);
  const where = { location: place.data, actor: "default" };
  const report = await importForeign({ from: "memgraph", file, ...where, skipBad });
  await using hub = await openHub(place.data);
  const door = callDoor(hub, OWNER);
  await work(async (call, input) => (await MEMGRAPH_CALLS[call].run(door, input)).json, report);
}

test("an id that a node and a lineage share means the node where a node is asked for", async () => {
  const nodes = [
    nodeRow(G, "first", 1, { id: "shared", superseded_by: "first-v2" }),
    nodeRow(G, "first", 2),
    nodeRow(G, "shared", 1),
    nodeRow(G, "self", 1, { id: "self", superseded_by: "self-v2" }),
    nodeRow(G, "self", 2),
  ];
  await bring({ graphs: [graphRow(G)], nodes }, async (ask) => {
    const found = async (input: object) => {
      const { id, lineage_id, version } = await ask("getNode", input);
      return [id, lineage_id, version];
    };
    expect(await found({ node_id: "shared" })).toEqual(["shared", "first", 1]);
    expect(await found({ lineage_id: "shared" })).toEqual(["shared-v1", "shared", 1]);
    expect(await found({ node_id: "self" })).toEqual(["self", "self", 1]);
    expect(await found({ lineage_id: "self" })).toEqual(["self-v2", "self", 2]);
    // An agent that mistakes one for the other finds what it means, where nothing else is called so.
    expect(await found({ node_id: "first" })).toEqual(["first-v2", "first", 2]);
    expect(await found({ lineage_id: "first-v2" })).toEqual(["first-v2", "first", 2]);
    for (const id of ["nobody", " ", "x".repeat(500)]) {
      await expect(ask("getNode", { node_id: id })).rejects.toMatchObject({
        code: expect.stringMatching(/ERR_NOT_FOUND|ERR_BAD_ID/),
      });
    }
    for (const node_id of ["shared", "cortex://g/Note/01KRAB0000000000000000000A#1"]) {
      await expect(ask("getNode", { node_id, at_version: 1 })).rejects.toMatchObject({
        code: "ERR_INVALID",
        message: expect.stringContaining("at_version, at_time: expected none of them"),
      });
    }
  });
});

test("a graph that is called anything is listed under an address that reads it", async () => {
  const ids = ["My Graph", "a/b?c#d%20", "日本", "cortex://x", "Case", "case"];
  const nodes = ids.map((id, at) => nodeRow(id, `lineage ${at}`, 1));
  await bring({ graphs: ids.map((id) => graphRow(id, { name: id })), nodes }, async (ask) => {
    for (const [at, id] of ids.entries()) {
      expect((await ask("listNodes", { graph_id: id })).nodes).toMatchObject([
        { graph_id: id, lineage_id: `lineage ${at}` },
      ]);
    }
  });
  await using hub = await openHub(place.data);
  const door = { access: OWNER, hub: async () => hub };
  const listed = await listGraphResources(door);
  expect(listed.map(({ name }) => name).sort()).toEqual([...ids].sort());
  for (const { uri, name } of listed) {
    expect(new URL(uri).href).toBe(uri);
    const [content] = (await readGraphResource(door, uri, uri.slice("memgraph://".length))) ?? [];
    expect(JSON.parse(String(content?.text))).toMatchObject({ id: name, name });
  }
});

test("a graph that never was keeps its name in the manifest as on the edge", async () => {
  const far = ["Personal Notes", "01KNOWHERE000000000000000A", "plain", "Personal Notes"];
  const edges = far.map((to_graph, at) => edgeRow(`e${at}`, G, ["a", "b"], { to_graph }));
  await bring({ graphs: [graphRow(G)], nodes: [nodeRow(G, "a", 1)], edges }, async (ask) => {
    const { edges: out } = await ask("outgoing", { from_lineage: "a" });
    expect((out as Answer[]).map(({ to_graph }) => to_graph).sort()).toEqual([...far].sort());
    expect((await ask("symlinks", { graph_id: G })).outbound).toEqual([
      { graph_id: "01KNOWHERE000000000000000A", edge_count: 1 },
      { graph_id: "Personal Notes", edge_count: 2 },
      { graph_id: "plain", edge_count: 1 },
    ]);
  });
});

test("of metadata, only the members that have no place are left out", async () => {
  const metadata = '{"__proto__":{"kept":1},"at_ns":1779012345678901234,"ratio":0.5,"":"empty"}';
  const nodes = [
    nodeRow(G, "a", 1, { metadata }),
    nodeRow(G, "b", 1, {
      metadata: JSON.stringify(
        Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`m${at}`, "x".repeat(8000)])),
      ),
    }),
  ];
  const tables: Tables = { graphs: [graphRow(G, { metadata })], nodes };
  const kept = JSON.parse('{"__proto__":{"kept":1},"ratio":0.5,"":"empty"}') as Answer;
  const work = async (ask: Ask, { errors }: ForeignReport): Promise<void> => {
    const told = errors.first.map(({ at, message }) => `${at}: ${message.split(":")[0]}`);
    expect(told).toEqual([
      `graph ${G}: metadata.at_ns`,
      "node a-v1: metadata.at_ns",
      "node b-v1: metadata.m4",
    ]);
    const node = await ask("getNode", { lineage_id: "a" });
    const members = (map: unknown) => new Map(Object.entries(map as Answer));
    expect(members(node.metadata)).toEqual(members(kept));
    expect(Object.keys((await ask("getGraph", { graph_id: G })).metadata as Answer)).toHaveLength(
      3,
    );
    const { metadata: large } = await ask("getNode", { lineage_id: "b" });
    expect(Object.keys(large as Answer)).toEqual(["m0", "m1", "m2", "m3"]);
  };
  await bring(tables, work, { skipBad: true });
});

test("a version whose successor somebody took out is told, and so is what stands instead", async () => {
  const nodes = [1, 2, 3].map((version) =>
    nodeRow(G, "a", version, version < 3 ? { superseded_by: `a-v${version + 1}` } : {}),
  );
  const others = [nodeRow(G, "b", 1, { superseded_by: "b-v2" }), nodeRow(G, "b", 2)];
  const sql = ["DELETE FROM nodes WHERE id IN ('a-v3', 'b-v1')"];
  const work = async (ask: Ask, { skipped, ok }: ForeignReport): Promise<void> => {
    expect([ok, skipped]).toMatchObject([
      true,
      {
        count: 1,
        first: [
          {
            at: "node a-v2",
            reason: "superseded_by: names a-v3, which is not there: this version is current here",
          },
        ],
      },
    ]);
    expect(await ask("getNode", { lineage_id: "a" })).toMatchObject({ id: "a-v2", version: 2 });
    expect(await ask("getNode", { lineage_id: "b" })).toMatchObject({ id: "b-v2", version: 2 });
  };
  await bring({ graphs: [graphRow(G)], nodes: [...nodes, ...others] }, work, { sql });
});

test("a clock that stood before 1970 is believed", async () => {
  const created_at = "1969-12-31T23:59:59.5Z";
  const nodes = [nodeRow(G, "a", 1, { created_at, freshness_at: "0001-01-01T00:00:00Z" })];
  const edges = [edgeRow("e", G, ["a", "a"], { created_at })];
  await bring({ graphs: [graphRow(G)], nodes, edges }, async (ask) => {
    const node = await ask("getNode", { lineage_id: "a", at_time: "1969-12-31T23:59:59.6Z" });
    expect(node).toMatchObject({
      created_at: "1969-12-31T23:59:59.500Z",
      freshness_at: "0001-01-01T00:00:00.000Z",
      is_stale: true,
    });
    expect((await ask("outgoing", { from_lineage: "a" })).edges).toMatchObject([
      { id: "e", created_at: "1969-12-31T23:59:59.500Z" },
    ]);
  });
});

test("nothing is called by an empty text, and an edge without metadata shows none", async () => {
  const tables = { graphs: [graphRow(G)], nodes: [nodeRow(G, "a", 1)] };
  await bring(tables, async (ask) => {
    for (const from_lineage of ["", " ", "nobody"]) {
      expect(await ask("traverse", { from_lineage })).toEqual({ nodes: [], edges: [] });
    }
    const ends = { graph_id: G, from_lineage: "a", to_lineage: "a" };
    const edge = await ask("putEdge", { ...ends, kind: "cites", metadata: {} });
    expect(edge).not.toHaveProperty("metadata");
    for (const kind of ["", " "]) {
      await expect(ask("putEdge", { ...ends, kind })).rejects.toMatchObject({
        message: expect.stringMatching(/^kind: expected text that is not blank, got /),
      });
    }
    await expect(ask("listGraphs", { more: 1 })).rejects.toMatchObject({
      message: "more: expected no fields, got an unknown field",
    });
  });
});
