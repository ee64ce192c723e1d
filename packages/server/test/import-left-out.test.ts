/**
 * What of a memgraph has no place here: every piece is named by the dry run, under its column, and left out by itself.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Hub, openHub } from "@cortex-memory/core";
import { type Memgraph, memgraph } from "@cortex-memory/core/memgraph";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makePlace, type Place } from "./cortex-process.js";
import { edgeRow, graphRow, makeMemgraph, nodeRow, runSql } from "./foreign-files.js";

const G = "01KRAB0000000000000000000A";
const LONG = "n".repeat(257);

let place: Place;
let file: string;
beforeEach(() => {
  place = makePlace();
  file = join(place.folder, "memgraph.db");
});
afterEach(() => place.remove());

/** What an import tells. */
interface Report {
  readonly memories: { readonly added: number; readonly updated: number };
  readonly links: { readonly added: number };
  readonly skipped: { readonly count: number };
  readonly errors: { readonly first: readonly { at: string; message: string }[] };
  readonly report?: string;
}

async function bring(exit: number, ...flags: readonly string[]): Promise<Report> {
  const done = await place.cortex(["import", file, "--from", "memgraph", "--json", ...flags]);
  expect([done.exit, done.err]).toEqual([exit, expect.anything()]);
  return JSON.parse(done.out) as Report;
}

/** What each line of a report is about: `node api-v3: tags[0]`. */
function told({ errors }: Report): readonly string[] {
  return errors.first.map(({ at, message }) => `${at}: ${/^[^:]*/.exec(message)}`).sort();
}

async function inHub<T>(work: (store: Memgraph, hub: Hub) => Promise<T>): Promise<T> {
  await using hub = await openHub(place.data);
  return await work(memgraph(hub), hub);
}

const many = JSON.stringify(Array.from({ length: 257 }, (_, at) => `${at}`));

/** Each row of a node, and the columns of it that have no place. */
const NODES: readonly (readonly [Parameters<typeof nodeRow>, ...string[]])[] = [
  [[G, "api", 1]],
  [
    [G, "api", 2, { tags: `["${"x".repeat(65)}", "kept", "", " "]` }],
    "tags[0]",
    "tags[2]",
    "tags[3]",
  ],
  [[G, "api", 3, { kind: "k".repeat(65) }], "kind"],
  [[G, "api", 4]],
  [[G, "kinds", 1, { kind: " " }], "kind"],
  [[G, LONG, 1, { id: "long-v1" }], "lineage_id"],
  [[G, LONG, 2, { id: "long-v2" }], "lineage_id"],
  [[G, " ", 1, { id: "blank-v1" }], "lineage_id"],
  [[G, "", 1, { id: "empty-v1" }], "lineage_id"],
  [[G, "cortex://g/note/x", 1, { id: "uri-v1" }], "lineage_id"],
  [[G, "0".repeat(26), 1, { id: "zero-v1" }], "lineage_id"],
  [[G, "number", 1, { metadata: `{"n":12345678901234567890}` }], "metadata.n"],
  [
    [G, "deep", 1, { metadata: `${'{"a":'.repeat(17)}1${"}".repeat(17)}` }],
    `metadata${".a".repeat(16)}`,
  ],
  [[G, "meta", 1, { metadata: `{"t":"${"x".repeat(40_000)}"}` }], "metadata.t"],
  [[G, "sum", 1, { summary: "s".repeat(65_537), tags: "[oops" }], "summary", "tags"],
  [
    [G, "fresh", 1, { freshness_at: "soon", created_by: "a".repeat(1025) }],
    "created_by",
    "freshness_at",
  ],
  [[G, "many", 1, { tags: many }], "tags"],
  [[G, "gone", 1, { created_at: "some day" }], "created_at"],
  [[G, "long", 1, { id: LONG }], "id"],
  [[G, "good", 1]],
];

const EDGES: readonly (readonly [Parameters<typeof edgeRow>, ...string[]])[] = [
  [["e1", G, ["api", "good"], { kind: "k".repeat(80) }], "kind"],
  [["e2", G, ["api", "good"]]],
  [["e3", G, [LONG, "good"]], "from_lineage"],
  [["e4", G, ["api", LONG]], "to_lineage"],
  [["e5", G, [" ", ""]], "from_lineage"],
  [["e6", G, ["api", "good"], { metadata: "{", ordinal: 3 }], "metadata"],
  // What it leaves was left out.
  [["e7", G, ["kinds", "good"]]],
];

function listed(
  what: string,
  rows: readonly (readonly [{ readonly id?: unknown }, ...string[]])[],
): readonly string[] {
  return rows.flatMap(([{ id }, ...columns]) => columns.map((one) => `${what} ${id}: ${one}`));
}

test("nodes and edges: named before anything is written, and alone left out", async () => {
  const nodes = NODES.map(([row, ...columns]) => [nodeRow(...row), ...columns] as const);
  const edges = EDGES.map(([row, ...columns]) => [edgeRow(...row), ...columns] as const);
  makeMemgraph(file, {
    graphs: [graphRow(G)],
    nodes: nodes.map(([row]) => row),
    edges: edges.map(([row]) => row),
  });
  for (const [name, last] of [
    ["api", 4],
    ["long", 2],
  ] as const) {
    for (let at = 1; at < last; at += 1) {
      const next = `UPDATE nodes SET superseded_by = '${name}-v${at + 1}'`;
      runSql(file, `${next} WHERE id = '${name}-v${at}'`);
    }
  }
  const expected = [...listed("node", nodes), ...listed("edge", edges)].sort();
  expect(told(await bring(1, "--dry-run"))).toEqual(expected);
  expect(existsSync(place.data)).toBe(false);
  const named = join(place.folder, "named.jsonl");
  const planned = await bring(3, "--skip-bad", "--dry-run", "--report", named);
  const done = await bring(3, "--skip-bad");
  for (const one of [planned, done]) expect(told(one)).toEqual(expected);
  const { memories, links, skipped } = done;
  expect({ memories, links, skipped }).toEqual({
    memories: planned.memories,
    links: planned.links,
    skipped: planned.skipped,
  });
  expect(readFileSync(named, "utf8")).toBe(readFileSync(String(done.report), "utf8"));
  await inHub(async (store) => {
    expect((await store.history("api")).map(({ id }) => id)).toEqual([
      "api-v4",
      "api-v2",
      "api-v1",
    ]);
    expect(await store.getNode("api-v2")).toMatchObject({ supersededBy: "api-v4", tags: ["kept"] });
    for (const name of ["good", "number", "deep", "meta", "sum", "fresh", "many"]) {
      expect(await store.getNode(name), name).toMatchObject({ version: 1 });
    }
    expect((await store.getNode("many"))?.tags).toHaveLength(256);
    const { edges: out } = await store.outgoing("api");
    expect(out.map(({ id }) => id).sort()).toEqual(["e2", "e6"]);
    expect(out.find(({ id }) => id === "e6")).toMatchObject({ ordinal: 3 });
  });
  const again = await bring(3, "--skip-bad");
  expect(told(again)).toEqual(expected);
  expect(again).toMatchObject({ memories: { added: 0, updated: 0 }, links: { added: 0 } });
});

test("graphs: each comes in without what does not fit, and one without a fit id not at all", async () => {
  const long = "g".repeat(257);
  const graphs = [
    [graphRow("meta", { metadata: `{"a":"${"x".repeat(33_000)}"}` }), "metadata.a"],
    [
      graphRow("text", { metadata: "{oops", kind_whitelist: '["n", ' }),
      "metadata",
      "kind_whitelist",
    ],
    [
      graphRow("kinds", { kind_whitelist: `["n","${"k".repeat(65)}",""]` }),
      "kind_whitelist[1]",
      "kind_whitelist[2]",
    ],
    [graphRow("none", { kind_whitelist: `["${"k".repeat(65)}"]` }), "kind_whitelist[0]"],
    [graphRow("blank", { name: "  " })],
    [graphRow("named", { name: "n".repeat(1025) }), "name"],
    [graphRow("time", { created_at: "once" }), "created_at"],
    [graphRow(long), "id"],
  ] as const;
  const nodes = graphs.map(([{ id }], at) =>
    nodeRow(String(id), `lineage ${at}`, 1, { kind: "n" }),
  );
  makeMemgraph(file, { graphs: graphs.map(([row]) => row), nodes });
  const expected = [...listed("graph", graphs), "node lineage 7-v1: graph_id"].sort();
  expect(told(await bring(1, "--dry-run"))).toEqual(expected);
  const stopped = await place.cortex(["import", file, "--from", "memgraph"]);
  expect([stopped.exit, stopped.out]).toEqual([1, expect.stringContaining("stopped at graph")]);
  const done = await bring(3, "--skip-bad");
  expect(told(done)).toEqual(expected);
  expect(done).toMatchObject({ memories: { added: 7 }, skipped: { count: 2 } });
  await inHub(async (_, hub) => {
    const made = (await hub.listGraphs()).graphs.map(
      ({ id, name, kindWhitelist }) => `${id}: ${name}, ${kindWhitelist}`,
    );
    expect(made.sort()).toEqual([
      "blank: blank, ",
      "kinds: graph kinds, n",
      "meta: graph meta, ",
      "named: named, ",
      "none: graph none, ",
      "text: graph text, ",
      "time: graph time, ",
    ]);
  });
  expect(told(await bring(3, "--skip-bad"))).toEqual(expected);
});

test("a fork with current versions in two graphs is open in one of them, and the report says so", async () => {
  const other = "01KRAB0000000000000000000B";
  makeMemgraph(file, {
    graphs: [graphRow(G), graphRow(other)],
    nodes: [
      nodeRow(G, "fork", 1, { superseded_by: "fork-v2" }),
      nodeRow(G, "fork", 2),
      nodeRow(other, "fork", 3),
    ],
  });
  const said = [
    { at: "node fork-v2", reason: expect.stringMatching(/^graph_id: .*graph 01K.*B:/) },
  ];
  for (const flags of [["--dry-run"], []]) {
    expect(await bring(0, ...flags)).toMatchObject({ skipped: { count: 1, first: said } });
  }
  await inHub(async (store) => {
    const listed = async (graph: string) =>
      (await store.listNodes(graph)).nodes.map(({ id, graphId }) => [id, graphId]);
    expect(await listed(G)).toEqual([]);
    expect(await listed(other)).toEqual([
      ["fork-v3", other],
      ["fork-v2", G],
    ]);
    expect(await store.getNode("fork-v2")).toMatchObject({ conflicts: ["fork-v3"] });
  });
});
