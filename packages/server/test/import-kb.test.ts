/**
 * Indexes of kb from the command line: workspaces become graphs, notes memories, links edges, also between graphs; a
 * second run, a dry run, bad notes. The cases are named by the numbers that memgraph's behaviour list gives them. They
 * run once more with their store in a database.
 */
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { actorFor, type Hub, openHub } from "@cortex-memory/core";
import { type Memgraph, memgraph } from "@cortex-memory/core/memgraph";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { isDatabaseAddress } from "../src/config.js";
import { makePlace, type Place } from "./cortex-process.js";
import { addRows, makeKb, noteRow, runSql } from "./foreign-files.js";

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

async function inHub<T>(work: (store: Memgraph, hub: Hub) => Promise<T>): Promise<T> {
  await using hub = await openHub(place.data);
  return await work(memgraph(hub), hub);
}

/** The graphs of the place; a folder that is not there has none, and is not made to be looked at. */
async function graphsThere(): Promise<readonly string[]> {
  if (!isDatabaseAddress(place.data) && !existsSync(place.data)) return [];
  return inHub(async (_, hub) => (await hub.listGraphs()).graphs.map(({ id }) => id));
}

const WORK = actorFor("kb work");
const PERSONAL = actorFor("kb personal");
const DEFAULT = actorFor("kb default");
const N1 = "77188071ca2c7de937d50c89ed";

const NOTES = [
  noteRow("n1", "work", { tags: '["a","b"]', links: '["n2"]' }),
  noteRow("n2", "work"),
  noteRow("n3", "personal"),
  noteRow("n4", null),
  noteRow("n5", "  "),
];

describe("an index of kb", () => {
  test("cases 76, 77 and 83: workspaces are graphs, notes keep everything, ids are stable", async () => {
    makeKb(file, NOTES);
    expect(await run("kb")).toMatchObject({
      graphs: [
        { id: WORK, name: "work", added: 2 },
        { id: PERSONAL, name: "personal", added: 1 },
        { id: DEFAULT, name: "default", added: 2 },
      ],
      links: { added: 1, unchanged: 0 },
      skipped: { count: 0 },
    });
    await inHub(async (store, hub) => {
      expect(await hub.getGraph(WORK)).toMatchObject({
        metadata: { kb_managed: true, kb_workspace: "work" },
      });
      expect(await store.getNode(N1)).toMatchObject({
        graphId: WORK,
        kind: "fact",
        content: "Body of n1",
        summary: "Title n1",
        tags: ["a", "b"],
        createdBy: "kb-migration",
        metadata: { kb_workspace: "work", kb_created: "2026-01-01T00:00:00Z", kb_source: "chat" },
      });
      expect((await store.getNode(N1))?.metadata).not.toHaveProperty("kb_context");
      expect((await store.outgoing(N1)).edges).toMatchObject([
        { kind: "cites", graphId: WORK, toGraph: WORK },
      ]);
      expect(await store.getNode("ad06123e41bda8e7057aa3e990")).toMatchObject({ graphId: DEFAULT });
    });
  });

  test("case 78: a link across workspaces is an edge of the source graph into the other", async () => {
    makeKb(file, [noteRow("n1", "work", { links: '["n3"]' }), noteRow("n3", "personal")]);
    await run("kb");
    await inHub(async (store, hub) => {
      expect((await store.outgoing(N1)).edges).toMatchObject([
        { graphId: WORK, toGraph: PERSONAL },
      ]);
      expect(await hub.symlinks(PERSONAL)).toMatchObject({ inbound: [{ graphId: WORK }] });
    });
  });

  test("cases 79 and 80: links to missing notes are reported; a dry run counts and makes nothing", async () => {
    makeKb(file, [noteRow("n1", "work", { links: '["n3","x","y"]' }), noteRow("n3", "personal")]);
    const expected = {
      memories: { added: 2 },
      links: { added: 1 },
      skipped: {
        count: 2,
        first: [
          { at: "note n1", reason: "links: note x is not in the index" },
          { at: "note n1", reason: "links: note y is not in the index" },
        ],
      },
    };
    const dry = await run("kb", "--dry-run");
    expect(dry).toMatchObject({ ...expected, dryRun: true });
    expect(dry.graphs).toHaveLength(2);
    expect(await graphsThere()).toEqual([]);
    expect(await run("kb")).toMatchObject({ ...expected, dryRun: false });
  });

  test("cases 81 and 82: a second run is a no-op, a note that was added comes alone", async () => {
    makeKb(file, NOTES.slice(0, 3));
    await run("kb");
    expect(await run("kb")).toMatchObject({
      memories: { added: 0, updated: 0, unchanged: 3 },
      links: { added: 0, unchanged: 1 },
      graphs: [{ reused: true }, { reused: true }],
    });
    addRows(file, { notes: [noteRow("n6", "work", { links: '["n1"]' })] });
    expect(await run("kb")).toMatchObject({
      memories: { added: 1, updated: 0, unchanged: 3 },
      links: { added: 1, unchanged: 1 },
    });
    await inHub(async (store) => expect(await store.getNode(N1)).toMatchObject({ version: 1 }));
  });

  test("a note that was changed there becomes a version", async () => {
    makeKb(file, NOTES);
    await run("kb");
    runSql(file, "UPDATE notes SET body = 'another body' WHERE id = 'n1'");
    expect(await run("kb")).toMatchObject({ memories: { added: 0, updated: 1, unchanged: 4 } });
    await inHub(async (store) =>
      expect(await store.getNode(N1)).toMatchObject({ version: 2, content: "another body" }),
    );
  });

  test("case 84: tags may be a list, empty or nothing; anything else is a bad note", async () => {
    makeKb(file, [
      noteRow("n1", "work", { tags: '["a"]' }),
      noteRow("n2", "work", { tags: "" }),
      noteRow("n3", "work", { tags: null, title: null, body: null, created: "yesterday" }),
    ]);
    expect(await run("kb")).toMatchObject({ memories: { added: 3 } });
    addRows(file, { notes: [noteRow("n7", "work", { tags: "a, b" })] });
    const { exit, out } = await place.cortex(["import", file, "--from", "kb"]);
    expect(exit).toBe(1);
    expect(out).toMatch(/stopped at note n7: tags: expected JSON/);
  });
});
