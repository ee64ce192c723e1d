/**
 * A memgraph moves in and nothing is lost: a database of its own making, with a history, is imported from
 * its SQLite file and from its Postgres database, read back through memgraph's calls and routes, and
 * compared with its rows, every column.
 */
import { join } from "node:path";
import { type Hub, OWNER, openHub } from "@cortex-memory/core";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startPglite } from "../../core/test/pglite-server.js";
import { importForeign } from "../src/import/foreign.js";
import type { ForeignReport } from "../src/import/tally.js";
import { callDoor } from "../src/memgraph/call.js";
import { MEMGRAPH_CALLS } from "../src/memgraph/table.js";
import { makePlace, type Place } from "./cortex-process.js";
import { graphRow, makeMemgraph, nodeRow, type Row, runSql } from "./foreign-files.js";
import { startTestServer } from "./http-server.js";
import {
  comparable,
  edgeAnswer,
  exact,
  inOrder,
  makeWorld,
  nodeAnswer,
  UNWRITTEN,
  type World,
  type WorldNode,
  walkAnswer,
} from "./memgraph-world.js";

const SEED = 20260518;
const SIZE = { lineages: 360, nodes: 500, edges: 300 };
/** A time at which some of what has a freshness is stale. */
const NOW = Date.UTC(2026, 1, 20);

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

function bring(file: string, more: { readonly dryRun?: boolean } = {}): Promise<ForeignReport> {
  const where = { location: place.data, actor: "default" };
  return importForeign({ from: "memgraph", file, ...where, ...more });
}

/** A row as SQLite has it; a text with NUL cannot be bound and is put in behind the others. */
function sqliteRow(row: object): Row {
  const json = (value: unknown): unknown =>
    typeof value === "object" && value !== null ? JSON.stringify(value) : value;
  const columns = Object.entries(row).map(([name, value]) => [name, json(value)]);
  return Object.fromEntries(columns) as Row;
}

function makeFile(world: World): string {
  const file = join(place.folder, "memgraph.db");
  const { graphs, nodes, edges } = world;
  makeMemgraph(file, {
    graphs: graphs.map(sqliteRow),
    nodes: nodes.map(sqliteRow),
    edges: edges.map(sqliteRow),
  });
  for (const { id, content } of nodes) {
    if (!content.includes("\0")) continue;
    const hex = Buffer.from(content).toString("hex");
    runSql(file, `UPDATE nodes SET content = CAST(x'${hex}' AS TEXT) WHERE id = '${id}'`);
  }
  return file;
}

type Answer = { readonly [member: string]: unknown };
type Ask = (call: keyof typeof MEMGRAPH_CALLS, input: object) => Promise<Answer>;

function asking(hub: Hub): Ask {
  const door = callDoor(hub, OWNER);
  return async (call, input) => (await MEMGRAPH_CALLS[call].run(door, input)).json;
}

function lineagesOf({ nodes }: World): ReadonlyMap<string, readonly WorldNode[]> {
  const lineages = new Map<string, WorldNode[]>();
  for (const node of nodes) {
    lineages.set(node.lineage_id, [...(lineages.get(node.lineage_id) ?? []), node]);
  }
  return lineages;
}

/** The graph that has a lineage now. */
function homesOf(world: World): ReadonlyMap<string, string> {
  return new Map(
    [...lineagesOf(world)].map(([name, nodes]) => [name, nodes.at(-1)?.graph_id ?? ""]),
  );
}

async function compareNodes(ask: Ask, world: World): Promise<void> {
  for (const [index, [lineage_id, nodes]] of [...lineagesOf(world)].entries()) {
    const wanted = [...nodes].reverse().map((node) => nodeAnswer(world, node, NOW));
    const { versions } = await ask("history", { lineage_id });
    expect((versions as unknown[]).map(comparable)).toEqual(wanted);
    const head = wanted.find(({ is_current }) => is_current === true);
    expect(comparable(await ask("getNode", { lineage_id }))).toEqual(head);
    for (const [at, node] of nodes.entries()) {
      const own = wanted.at(-1 - at);
      expect(comparable(await ask("getNode", { node_id: node.id }))).toEqual(own);
      if (nodes.length === 1 && index % 9 > 0) continue;
      const made = Date.parse(node.created_at);
      const then = nodes.filter(({ created_at }) => Date.parse(created_at) <= made).at(-1);
      const at_time = new Date(made).toISOString();
      expect((await ask("getNode", { lineage_id, at_time })).id).toBe(then?.id);
    }
    if (index % 9 > 0) continue;
    const before = new Date(Date.parse(nodes[0]?.created_at ?? "") - 1).toISOString();
    await expect(ask("getNode", { lineage_id, at_time: before })).rejects.toMatchObject({
      code: "ERR_NOT_FOUND",
    });
  }
}

async function compareEdges(ask: Ask, world: World): Promise<void> {
  const names = [...lineagesOf(world).keys(), ...UNWRITTEN];
  let [seen, reached] = [0, 0];
  for (const from_lineage of names) {
    for (const [side, end] of [
      ["outgoing", "from_lineage"],
      ["incoming", "to_lineage"],
    ] as const) {
      const own = inOrder(world.edges.filter((edge) => edge[end] === from_lineage));
      const { edges } = await ask(side, { from_lineage });
      expect((edges as unknown[]).map(comparable)).toEqual(own.map(edgeAnswer));
      if (side === "outgoing") seen += own.length;
      else reached += own.length;
    }
  }
  expect([seen, reached]).toEqual([world.edges.length, world.edges.length]);
}

/** Walks from each lineage, the direction and the way with symlinks in turn, from some of them every one. */
async function compareWalks(ask: Ask, world: World): Promise<void> {
  const ways = (["outgoing", "incoming", "both"] as const).flatMap((direction) =>
    [false, true].map((follow_symlinks) => ({ direction, follow_symlinks, max_depth: 3 })),
  );
  const names = [...lineagesOf(world).keys(), ...UNWRITTEN];
  for (const [index, from_lineage] of names.entries()) {
    const isWhole = index % 10 === 0 || UNWRITTEN.includes(from_lineage);
    for (const way of isWhole ? ways : ways.slice(index % ways.length).slice(0, 1)) {
      const walk = await ask("traverse", { from_lineage, ...way, max_nodes: 1000 });
      const [nodes, edges] = [walk.nodes as Answer[], walk.edges as Answer[]];
      expect(
        { nodes: nodes.map(({ id }) => id), edges: edges.map(({ id }) => id) },
        `${from_lineage} ${JSON.stringify(way)}`,
      ).toEqual(walkAnswer(world, from_lineage, way));
    }
  }
}

async function compareGraphs(ask: Ask, world: World): Promise<void> {
  const { graphs } = (await ask("listGraphs", {})) as { graphs: Answer[] };
  expect(graphs.map(({ outbound_count: _, inbound_count: __, ...graph }) => graph)).toEqual(
    world.graphs.map(({ kind_whitelist, metadata, created_at, ...graph }) => ({
      ...graph,
      ...(kind_whitelist === null ? {} : { kind_whitelist }),
      ...(metadata === null ? {} : { metadata }),
      created_at: expect.stringMatching(new RegExp(`^${created_at.slice(0, 19)}`)),
    })),
  );
  expect(graphs.map(({ created_at }) => exact(String(created_at)))).toEqual(
    world.graphs.map(({ created_at }) => exact(created_at)),
  );
  const homes = homesOf(world);
  for (const { id: graph_id } of world.graphs) {
    const current = world.nodes.filter(
      (node) => node.graph_id === graph_id && node.superseded_by === null,
    );
    const newest = [...current].sort((a, b) =>
      (exact(a.created_at) ?? "") < (exact(b.created_at) ?? "") ? 1 : -1,
    );
    const { nodes } = await ask("listNodes", { graph_id, limit: 1000 });
    expect((nodes as unknown[]).map(comparable)).toEqual(
      newest.map((node) => nodeAnswer(world, node, NOW)),
    );
    const schema = (await ask("describeSchema", { graph_id })) as {
      graph_id: string;
      node_count: number;
      kinds: { kind: string; count: number; examples: string[] }[];
    };
    expect([schema.graph_id, schema.node_count]).toEqual([graph_id, current.length]);
    for (const { kind, count, examples } of schema.kinds) {
      const own = newest.filter((node) => node.kind === kind);
      expect(count).toBe(own.length);
      const texts = own.slice(0, 3).map(({ summary, content }) => (summary || content).trim());
      expect(examples.map((text) => text.slice(0, 12))).toEqual(
        texts.map((text) => text.slice(0, 12)),
      );
    }
    // Symlinks of a lineage are counted for the graph that has it now, unless they lead into that.
    const crossing = world.edges.filter(
      (edge) =>
        homes.get(edge.from_lineage) === graph_id &&
        edge.to_graph !== edge.graph_id &&
        edge.to_graph !== graph_id,
    );
    const outbound = [...new Set(crossing.map(({ to_graph }) => to_graph))].sort().map((far) => ({
      graph_id: far,
      edge_count: crossing.filter(({ to_graph }) => to_graph === far).length,
    }));
    expect(await ask("symlinks", { graph_id })).toMatchObject({ outbound });
  }
}

test(`a SQLite database comes in row by row (seed ${SEED})`, async () => {
  const world = makeWorld(SEED, SIZE);
  const file = makeFile(world);
  const dry = await bring(file, { dryRun: true });
  const report = await bring(file);
  const counts = { added: SIZE.lineages, updated: 0, unchanged: 0 };
  for (const one of [dry, report]) {
    expect(one).toMatchObject({ ok: true, memories: counts, links: { added: SIZE.edges } });
    expect([one.skipped, one.errors.first]).toEqual([{ count: 0, first: [] }, []]);
  }
  await using hub = await openHub(place.data, { clock: () => NOW });
  const ask = asking(hub);
  await compareNodes(ask, world);
  await compareEdges(ask, world);
  await compareWalks(ask, world);
  await compareGraphs(ask, world);
  expect((await hub.check()).ok).toBe(true);
  const roots = () =>
    Promise.all(
      world.graphs.map(({ id }) => hub.use(id, async (memory) => (await memory.root()).root)),
    );
  const before = await roots();
  expect(await bring(file)).toMatchObject({
    memories: { added: 0, updated: 0, unchanged: SIZE.lineages },
    links: { added: 0, unchanged: SIZE.edges },
    skipped: { count: 0 },
  });
  expect(await roots()).toEqual(before);
});

test(`old ids work on every route, and new writes go on from them (seed ${SEED + 1})`, async () => {
  const world = makeWorld(SEED + 1, { lineages: 40, nodes: 70, edges: 60 });
  await bring(makeFile(world));
  const server = await startTestServer({ location: place.data });
  try {
    const [graph] = world.graphs;
    const got = await server.get("/v1/graphs");
    expect((got.json.graphs as Answer[]).map(({ id }) => id)).toEqual(
      world.graphs.map(({ id }) => id),
    );
    for (const route of ["", "/nodes", "/schema", "/tags", "/symlinks", "/search?q=text"]) {
      expect((await server.get(`/v1/graphs/${graph?.id}${route}`)).status).toBe(200);
    }
    for (const [name, nodes] of lineagesOf(world)) {
      const path = `/v1/nodes/${encodeURIComponent(name)}`;
      const { json } = await server.get(`${path}/history`);
      expect((json.versions as Answer[]).map(({ id }) => id)).toEqual(
        [...nodes].reverse().map(({ id }) => id),
      );
      const walk = await server.get(`${path}/neighborhood?direction=both&follow_symlinks=1`);
      for (const { id } of walk.json.edges as Answer[]) {
        expect(world.edges.map((edge) => edge.id)).toContain(id);
      }
    }
    const head = world.nodes.findLast((node) => node.graph_id === graph?.id);
    const [graph_id, lineage_id] = [graph?.id, head?.lineage_id];
    const said = { graph_id, lineage_id, kind: "fact", content: "newer" };
    const { status, json } = await server.post("/v1/nodes", said);
    expect([status, json.graph_id, json.version]).toEqual([
      201,
      graph_id,
      (head?.version ?? 0) + 1,
    ]);
    const was = await server.get(`/v1/nodes/${lineage_id}?version=${head?.version}`);
    expect([was.json.id, was.json.superseded_by]).toEqual([head?.id, json.id]);
    const ends = { graph_id, from_lineage: lineage_id, to_lineage: lineage_id, kind: "cites" };
    const edge = await server.post("/v1/edges", { ...ends, to_graph: graph_id });
    expect(edge.json).toMatchObject({ graph_id, to_graph: graph_id });
    for (const { id } of world.edges.slice(0, 3)) {
      const remove = () => fetch(`${server.url}/v1/edges/${id}`, { method: "DELETE" });
      expect([(await remove()).status, (await remove()).status]).toEqual([204, 404]);
    }
  } finally {
    await server.close();
  }
});

test(`two first imports at the same time bring everything in once (seed ${SEED + 3})`, async () => {
  const world = makeWorld(SEED + 3, { lineages: 60, nodes: 100, edges: 80 });
  const file = makeFile(world);
  const reports = await Promise.all([bring(file), bring(file)]);
  for (const report of reports) {
    expect([report.stopped, report.skipped.count, report.errors.count]).toEqual([undefined, 0, 0]);
    const { added, updated, unchanged } = report.memories;
    expect([added + updated + unchanged, report.links.added + report.links.unchanged]).toEqual([
      60, 80,
    ]);
  }
  expect(reports[0]?.links.added).toBe(80 - (reports[1]?.links.added ?? 0));
  await using hub = await openHub(place.data, { clock: () => NOW });
  const ask = asking(hub);
  await compareNodes(ask, world);
  await compareEdges(ask, world);
  await compareWalks(ask, world);
  await compareGraphs(ask, world);
  expect((await hub.check()).ok).toBe(true);
});

test("a graph that was imported with its ids in metadata is not imported again beside itself", async () => {
  const world = makeWorld(SEED + 4, { lineages: 4, nodes: 6, edges: 4 });
  const file = makeFile(world);
  const earlier = world.graphs[1];
  const name = earlier?.id.toLowerCase() ?? "";
  {
    await using hub = await openHub(place.data);
    await hub.createGraph({ id: name, name: "Lab", metadata: { memgraph_id: earlier?.id ?? "" } });
  }
  for (const dryRun of [true, false]) {
    await expect(bring(file, { dryRun })).rejects.toMatchObject({
      code: "ERR_EXISTS",
      message: expect.stringContaining(`cortex graph rm ${name}`),
    });
  }
  await using hub = await openHub(place.data);
  await hub.remove(name, "again");
  expect(await bring(file)).toMatchObject({ ok: true, memories: { added: 4 } });
  // A crash between making a graph and configuring it leaves its first entry alone.
  await hub.remove(name, "again");
  await hub.use(name, async () => undefined, { create: true });
  await bring(file);
  expect(await hub.getGraph(name)).toMatchObject({ origin: { id: earlier?.id }, name: "Lab" });
});

test("a graph whose id can be no name here is asked for, written to and linked by that id", async () => {
  const file = join(place.folder, "memgraph.db");
  const [graph_id, other] = ["My Graph", "Ünïcode/2"];
  makeMemgraph(file, {
    graphs: [graphRow(graph_id), graphRow(other)],
    nodes: [nodeRow(graph_id, "a", 1), nodeRow(other, "b", 1)],
  });
  await bring(file);
  await using hub = await openHub(place.data, { clock: () => NOW });
  const ask = asking(hub);
  expect((await ask("getGraph", { graph_id })).id).toBe(graph_id);
  expect((await ask("listNodes", { graph_id })).nodes).toMatchObject([{ graph_id }]);
  expect((await ask("describeSchema", { graph_id })).graph_id).toBe(graph_id);
  const next = { graph_id, lineage_id: "a", kind: "fact", content: "new" };
  expect(await ask("putNode", next)).toMatchObject({ graph_id, version: 2 });
  const edge = { from_lineage: "a", to_lineage: "b", kind: "cites", to_graph: other };
  expect(await ask("putEdge", { graph_id, ...edge })).toMatchObject({ graph_id, to_graph: other });
  await ask("putSubgraph", { graph_id, edges: [edge] });
  expect((await ask("symlinks", { graph_id })).outbound).toEqual([
    { graph_id: other, edge_count: 2 },
  ]);
});

const POSTGRES = `
CREATE TABLE graphs (id TEXT PRIMARY KEY, name TEXT NOT NULL, conflict_policy TEXT NOT NULL DEFAULT 'lww',
  kind_whitelist JSONB, metadata JSONB, created_at TIMESTAMPTZ NOT NULL);
CREATE TABLE nodes (id TEXT PRIMARY KEY, graph_id TEXT NOT NULL REFERENCES graphs(id),
  lineage_id TEXT NOT NULL, version INTEGER NOT NULL, kind TEXT NOT NULL, content TEXT NOT NULL,
  summary TEXT, tags JSONB, metadata JSONB, freshness_at TIMESTAMPTZ, created_at TIMESTAMPTZ NOT NULL,
  created_by TEXT NOT NULL, superseded_by TEXT, UNIQUE (lineage_id, version));
CREATE TABLE edges (id TEXT PRIMARY KEY, graph_id TEXT NOT NULL REFERENCES graphs(id),
  from_lineage TEXT NOT NULL, to_graph TEXT NOT NULL, to_lineage TEXT NOT NULL, kind TEXT NOT NULL,
  metadata JSONB, ordinal INTEGER, created_at TIMESTAMPTZ NOT NULL, created_by TEXT NOT NULL);
`;

async function fillPostgres(url: string, world: World): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(POSTGRES);
    for (const [table, rows] of Object.entries(world)) {
      await client.query(
        `INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1::json)`,
        [JSON.stringify(rows)],
      );
    }
  } finally {
    await client.end();
  }
}

test(`a Postgres database comes in as well (seed ${SEED + 2})`, async () => {
  const made = makeWorld(SEED + 2, { lineages: 60, nodes: 90, edges: 50 }, 6);
  // Postgres keeps no NUL.
  const nodes = made.nodes.map((node) => ({ ...node, content: node.content.replace("\0", "|") }));
  const world = { ...made, nodes };
  const server = await startPglite();
  try {
    await expect(bring(server.url)).rejects.toMatchObject({
      code: "ERR_INVALID",
      message: "file: expected a database of memgraph, got one with no table graphs",
    });
    await fillPostgres(server.url, world);
    const report = await bring(server.url);
    expect(report).toMatchObject({ ok: true, memories: { added: 60 }, links: { added: 50 } });
    expect([report.skipped, report.errors.first]).toEqual([{ count: 0, first: [] }, []]);
    expect(await bring(server.url)).toMatchObject({
      memories: { added: 0, updated: 0, unchanged: 60 },
      links: { added: 0, unchanged: 50 },
    });
  } finally {
    await server.stop();
  }
  await using hub = await openHub(place.data, { clock: () => NOW });
  const ask = asking(hub);
  await compareNodes(ask, world);
  await compareEdges(ask, world);
  await compareWalks(ask, world);
  await compareGraphs(ask, world);
});

test("a database that does not answer is told without its password", async () => {
  const words = ["import", "postgres://ada:secret@127.0.0.1:1/none", "--from", "memgraph"];
  const { exit, err } = await place.cortex([...words, "--json"]);
  expect([exit, (JSON.parse(err) as { error: { code: string } }).error.code]).toEqual([
    1,
    "ERR_STORAGE",
  ]);
  expect(err).not.toContain("secret");
});
