/**
 * Databases of memgraph from the command line: graphs, versions, conflicts, edges between graphs, a second
 * run, dry runs, foreign and damaged files. Those of kb are in `import-kb.test.ts`.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Hub, openHub } from "@cortex-memory/core";
import { type Memgraph, memgraph } from "@cortex-memory/core/memgraph";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { makePlace, type Place } from "./cortex-process.js";
import {
  addRows,
  edgeRow,
  graphRow,
  makeDatabase,
  makeKb,
  makeMemgraph,
  makeMemgraphWithLog,
  nodeRow,
  runSql,
  type Tables,
} from "./foreign-files.js";

let place: Place;
let file: string;
/** Where an import may put a copy of the file. */
let temporary: string;
beforeEach(() => {
  place = makePlace();
  file = join(place.folder, "foreign.db");
  temporary = join(place.folder, "temporary");
  mkdirSync(temporary);
  vi.stubEnv("TMPDIR", temporary);
});
afterEach(() => {
  expect(readdirSync(temporary)).toEqual([]);
  vi.unstubAllEnvs();
  place.remove();
});

const run = (from: string, ...flags: readonly string[]): Promise<Record<string, unknown>> =>
  place.json(["import", file, "--from", from, ...flags]);

/** Runs an import that passes bad records over: the exit code says so, and a file names them. */
async function leftOut(...flags: readonly string[]): Promise<Record<string, unknown>> {
  const words = ["import", file, "--from", "memgraph", "--skip-bad", "--json", ...flags];
  const { exit, out } = await place.cortex(words);
  expect(exit).toBe(3);
  return JSON.parse(out) as Record<string, unknown>;
}

async function inHub<T>(work: (store: Memgraph, hub: Hub) => Promise<T>): Promise<T> {
  await using hub = await openHub(place.data);
  return await work(memgraph(hub), hub);
}

async function refusal(from: string): Promise<string> {
  const { exit, out, err } = await place.cortex(["import", file, "--from", from, "--json"]);
  expect([exit, out]).toEqual([1, ""]);
  const { error } = JSON.parse(err) as { error: { code: string; message: string } };
  return `${error.code} ${error.message}`;
}

const G1 = "01KRAB0000000000000000000A";
const G2 = "01KRAB0000000000000000000B";
const ID1 = G1.toLowerCase();
const ID2 = G2.toLowerCase();

const TABLES: Tables = {
  graphs: [
    graphRow(G1, { name: "Platform", metadata: '{"team":"core"}', kind_whitelist: '["service"]' }),
    graphRow(G2, { conflict_policy: "manual", created_at: "2026-05-17T10:00:00Z" }),
  ],
  nodes: [
    nodeRow(G1, "api", 1, { superseded_by: "api-v2", tags: '["old"]' }),
    nodeRow(G1, "api", 2, {
      kind: "service",
      summary: "The API",
      tags: '["team:core","http"]',
      metadata: '{"port":8080}',
      freshness_at: "2027-01-01T00:00:00Z",
      created_at: "2026-05-18T00:00:00.5Z",
      created_by: "ada",
    }),
    nodeRow(G1, "db", 1, { tags: "[]", summary: "", content: "" }),
    nodeRow(G2, "plan", 1, { superseded_by: "plan-v2" }),
    nodeRow(G2, "plan", 2),
    nodeRow(G2, "plan", 3, { created_by: "bob" }),
  ],
  edges: [
    edgeRow("e1", G1, ["api", "db"], { ordinal: 2, metadata: '{"why":"data"}' }),
    edgeRow("e2", G1, ["api", "db"]),
    edgeRow("e3", G1, ["api", "plan"], { to_graph: G2, kind: "causes" }),
    edgeRow("e4", G1, ["db", "db"]),
    edgeRow("e5", G1, ["api", "gone"]),
    edgeRow("e6", G1, ["nobody", "api"]),
  ],
};

describe("a memgraph database", () => {
  test("graphs, versions, times and ids are kept", async () => {
    makeMemgraph(file, TABLES);
    expect(await run("memgraph")).toMatchObject({
      ok: true,
      memories: { added: 3, updated: 0, unchanged: 0 },
      links: { added: 5, unchanged: 0 },
      graphs: [
        { id: ID1, name: "Platform", reused: false, added: 2 },
        { id: ID2, name: `graph ${G2}`, reused: false, added: 1 },
      ],
      skipped: { count: 1, first: [{ at: "edge e6" }] },
    });
    await inHub(async (store, hub) => {
      expect(await hub.getGraph(ID1)).toMatchObject({
        name: "Platform",
        conflictPolicy: "lww",
        kindWhitelist: ["service"],
        metadata: { team: "core" },
        createdAt: Date.UTC(2026, 4, 16, 10),
        origin: { id: G1 },
      });
      expect(await store.getNode("api")).toMatchObject({
        id: "api-v2",
        graphId: G1,
        version: 2,
        kind: "service",
        content: "api in version 2",
        summary: "The API",
        tags: ["team:core", "http"],
        metadata: { port: 8080 },
        freshnessAt: Date.UTC(2027, 0, 1),
        createdBy: "ada",
      });
      const past = await hub.use(ID1, (memory) =>
        memory.get("api", { validAt: Date.UTC(2026, 4, 17) }),
      );
      expect(past).toMatchObject({
        version: 1,
        text: "api in version 1",
        head: { source: "imported" },
        versionRecord: { createdAt: Date.UTC(2026, 4, 16, 10, 0, 1, 123), createdBy: "claude" },
      });
      expect(await store.getNode("db")).toMatchObject({ content: "", summary: "", tags: [] });
      expect((await hub.check({ graphs: true })).ok).toBe(true);
    });
  });

  test("rivals of a conflict stay rivals", async () => {
    makeMemgraph(file, TABLES);
    await run("memgraph");
    await inHub(async (store) => {
      const node = await store.getNode("plan");
      expect(node).toMatchObject({ version: 3, createdBy: "bob" });
      expect(node?.conflicts).toHaveLength(1);
      expect(await store.conflicts(ID2)).toMatchObject({ conflicts: [{ lineageId: "plan" }] });
    });
  });

  test("rivals stay rivals under a policy that is none, and the report tells what it became", async () => {
    const [first, second] = TABLES.graphs ?? [];
    makeMemgraph(file, {
      ...TABLES,
      graphs: [first ?? {}, { ...second, conflict_policy: "other" }],
    });
    const report = await run("memgraph");
    expect(JSON.stringify(report.skipped)).toContain("other means the same as lww there");
    await inHub(async (store) => {
      expect(await store.getNode("plan")).toMatchObject({ version: 3, conflicts: ["plan-v2"] });
    });
  });

  test("edges repeat, loop, dangle and cross graphs as they did", async () => {
    makeMemgraph(file, TABLES);
    await run("memgraph");
    await inHub(async (store) => {
      const { edges } = await store.outgoing("api");
      expect(
        edges.map(({ kind, toGraph, toLineage, ordinal }) => [kind, toGraph, toLineage, ordinal]),
      ).toEqual([
        ["runs_on", G1, "db", 2],
        ["runs_on", G1, "db", undefined],
        ["causes", G2, "plan", undefined],
        ["runs_on", G1, "gone", undefined],
      ]);
      expect(edges[0]).toMatchObject({
        id: "e1",
        createdBy: "claude",
        createdAt: Date.UTC(2026, 4, 16, 10, 0, 2),
        metadata: { why: "data" },
      });
      expect((await store.outgoing("db")).edges).toMatchObject([{ toLineage: "db" }]);
      expect((await store.incoming("plan")).edges).toMatchObject([{ fromLineage: "api" }]);
    });
  });

  test("kinds stay as they were written, and a symmetric kind keeps both of its directions", async () => {
    const kinds = ["related_to", "Related To", "contradicts"];
    const edges = kinds.flatMap((kind, at) => [
      edgeRow(`to${at}`, G1, ["api", "db"], { kind }),
      edgeRow(`fro${at}`, G1, ["db", "api"], { kind }),
    ]);
    makeMemgraph(file, { ...TABLES, edges });
    expect(await run("memgraph")).toMatchObject({ links: { added: 6 } });
    expect(await run("memgraph")).toMatchObject({ links: { added: 0, unchanged: 6 } });
    await inHub(async (store) => {
      for (const end of ["api", "db"]) {
        const { edges: out } = await store.outgoing(end);
        expect(out.map(({ kind }) => kind).sort()).toEqual([...kinds].sort());
      }
    });
  });

  test("a second run adds nothing, a longer file only what is new", async () => {
    makeMemgraph(file, TABLES);
    await run("memgraph");
    const roots = () =>
      inHub((_, hub) =>
        Promise.all([ID1, ID2].map((id) => hub.use(id, (memory) => memory.root()))),
      );
    const before = await roots();
    expect(await run("memgraph")).toMatchObject({
      memories: { added: 0, updated: 0, unchanged: 3 },
      links: { added: 0, unchanged: 5 },
      graphs: [
        { id: ID1, reused: true },
        { id: ID2, reused: true },
      ],
    });
    expect(await roots()).toEqual(before);
    runSql(file, "UPDATE nodes SET superseded_by = 'api-v3' WHERE id = 'api-v2'");
    addRows(file, {
      nodes: [
        nodeRow(G1, "api", 3, { kind: "service", tags: '["new"]' }),
        nodeRow(G1, "cache", 1, { kind: "service" }),
      ],
      edges: [edgeRow("e7", G1, ["api", "db"])],
    });
    expect(await run("memgraph")).toMatchObject({
      memories: { added: 1, updated: 1, unchanged: 2 },
      links: { added: 1, unchanged: 5 },
    });
    await inHub(async (store) => {
      expect(await store.getNode("api")).toMatchObject({ version: 3, tags: ["new"] });
    });
  });

  test("what was changed here stays, and later nodes do not overwrite it", async () => {
    makeMemgraph(file, TABLES);
    await run("memgraph");
    await inHub((store) =>
      store.putNode(ID1, { kind: "service", content: "mine", lineageId: "api" }),
    );
    addRows(file, { nodes: [nodeRow(G1, "api", 3)] });
    const report = await run("memgraph");
    expect(report).toMatchObject({ memories: { added: 0, updated: 0, unchanged: 2 } });
    expect(JSON.stringify(report.skipped)).toContain("changed here since");
    await inHub(async (store) => {
      expect(await store.getNode("api")).toMatchObject({ version: 3, content: "mine" });
    });
  });

  test("rows that stand in the write-ahead log alone are read, and the file is left alone", async () => {
    makeMemgraphWithLog(file, TABLES);
    const bytes = readFileSync(file);
    const log = readFileSync(`${file}-wal`);
    const before = readdirSync(place.folder).concat("data").sort();
    expect(await run("memgraph")).toMatchObject({ memories: { added: 3 }, links: { added: 5 } });
    expect(readFileSync(file)).toEqual(bytes);
    expect(readFileSync(`${file}-wal`)).toEqual(log);
    expect(readdirSync(place.folder).sort()).toEqual(before);
  });

  test("a dry run counts the same and makes nothing", async () => {
    makeMemgraph(file, TABLES);
    const expected = {
      ok: true,
      dryRun: true,
      memories: { added: 3, updated: 0, unchanged: 0 },
      links: { added: 5, unchanged: 0 },
      skipped: { count: 1 },
    };
    expect(await run("memgraph", "--dry-run")).toMatchObject(expected);
    expect(existsSync(place.data)).toBe(false);
    await run("memgraph");
    const stores = readdirSync(place.data).sort();
    rmSync(join(place.data, ID2), { recursive: true });
    expect(await run("memgraph", "--dry-run")).toMatchObject({
      memories: { added: 1, updated: 0, unchanged: 2 },
      links: { added: 0, unchanged: 5 },
      graphs: [{ reused: true }, { reused: false }],
    });
    expect(readdirSync(place.data).sort()).toEqual(stores.filter((name) => name !== ID2));
  });

  test("a bad row stops it by name; what came before is kept, and it goes on when repaired", async () => {
    makeMemgraph(file, TABLES);
    runSql(file, "UPDATE nodes SET kind = '' WHERE id = 'db-v1'");
    const { exit, out } = await place.cortex(["import", file, "--from", "memgraph"]);
    expect(exit).toBe(1);
    expect(out).toMatch(/stopped at node db-v1: kind: expected/);
    expect(await leftOut()).toMatchObject({
      errors: { count: 1, first: [{ at: "node db-v1", code: "ERR_INVALID" }] },
      report: join(place.data, "import-report.jsonl"),
    });
    // The record alone is missing: the list of kinds is in force, and what is left out has a name.
    await inHub(async (_, hub) =>
      expect((await hub.getGraph(G1))?.kindWhitelist).toEqual(["service"]),
    );
    const told = readFileSync(join(place.data, "import-report.jsonl"), "utf8");
    expect(told).toMatch(/^\{"what":"bad","at":"node db-v1","code":"ERR_INVALID","reason":"kind: /);
    runSql(file, "UPDATE nodes SET kind = 'service' WHERE id = 'db-v1'");
    expect(await run("memgraph")).toMatchObject({
      memories: { added: 1, updated: 0, unchanged: 2 },
      errors: { count: 0 },
    });
  });
});

describe("files that are something else", () => {
  test.each([
    ["no database", () => writeFileSync(file, "hello".repeat(1000)), /^ERR_INVALID .*SQLite/],
    ["an empty file", () => writeFileSync(file, ""), /^ERR_INVALID .*no table graphs/],
    ["nothing", () => rmSync(file, { force: true }), /^ERR_STORAGE .*no such file/],
    [
      "another program's",
      () => makeDatabase(file, "CREATE TABLE albums (id TEXT)"),
      /^ERR_INVALID .*expected a database of memgraph, got one with no table graphs/,
    ],
    [
      "one with other columns",
      () => makeDatabase(file, "CREATE TABLE graphs (id TEXT, name TEXT)"),
      /^ERR_INVALID .*no column conflict_policy in graphs/,
    ],
    ["an index of kb", () => makeKb(file, []), /^ERR_INVALID .*no table graphs/],
  ])("%s is refused, and nothing is made", async (_, make, expected) => {
    make();
    expect(await refusal("memgraph")).toMatch(expected);
    expect(existsSync(place.data)).toBe(false);
  });

  test("a database with damaged pages fails with a code and leaves no copy", async () => {
    const nodes = Array.from({ length: 3000 }, (_, at) => nodeRow(G1, `n${at}`, 1));
    makeMemgraph(file, { graphs: TABLES.graphs ?? [], nodes });
    const bytes = readFileSync(file);
    bytes.fill(0xa5, 4096 * 8, 4096 * 60);
    writeFileSync(file, bytes);
    const { exit, out, err } = await place.cortex(["import", file, "--from", "memgraph", "--json"]);
    expect(exit).toBe(1);
    expect(`${out}${err}`).toContain("ERR_CORRUPT");
  });
});
