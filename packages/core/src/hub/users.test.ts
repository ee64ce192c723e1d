/** A hub for an app with users: a graph for whatever the app calls a user, and nothing left of one who went. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { takeAway } from "../kv/lmdb-removal.js";
import { open } from "../open.js";
import { openTestHub } from "../testing/index.js";
import { throughDoor } from "../trust/doors.js";
import { actorFor } from "./context.js";
import type { Hub } from "./hub.js";

/** Ids that apps have, and that file systems and databases have trouble with. */
const IDS: readonly string[] = [
  "ada@example.com",
  "Ada@example.com",
  "auth0|5f7c8ec7c33c6c004bbafe82",
  "..",
  ".",
  "/etc/passwd",
  "a/b\\c",
  "CON",
  "con",
  "nul.txt",
  " ",
  "trailing. ",
  "Ада",
  "阿達",
  "👩🏽‍🔬",
  "\u00e9",
  "e\u0301",
  "a\u0000b",
  "\u202eadA",
  "'; DROP TABLE cortex_rows; --",
  "x".repeat(512),
  `${"x".repeat(511)}y`,
];

/** Every byte of every file below a folder, as text. */
function bytesBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
    .map((path) => readFileSync(path).toString("latin1"))
    .join("\n");
}

async function names(hub: Hub): Promise<readonly string[]> {
  return (await hub.listGraphs({ includeArchived: true })).graphs.map(({ id }) => id).sort();
}

describe.each(["memory", "lmdb"] as const)("on %s", (backend) => {
  test("any id has a graph of its own, the same one every time", async () => {
    await using world = await openTestHub({ backend, maxOpen: 4 });
    const { hub } = world;
    for (const [at, id] of IDS.entries()) {
      await (await hub.for(id)).write({ type: "fact", text: `I am user number ${at}` });
    }
    const graphs = await Promise.all(IDS.map(async (id) => (await hub.for(id)).graph));
    // No two differ by their case alone: on many file systems those would be one folder.
    expect(new Set(graphs.map((graph) => graph.toLowerCase())).size).toBe(IDS.length);
    for (const [at, id] of IDS.entries()) {
      const { memories } = await (await hub.for(id)).list({});
      expect(memories.map(({ text }) => text)).toEqual([`I am user number ${at}`]);
    }
    for (const id of ["", "x".repeat(513), 7, undefined, "\ud800"]) {
      await expect(hub.for(id as string), String(id).slice(0, 9)).rejects.toMatchObject({
        details: { field: expect.stringMatching(/^(user|external)Id$/) },
      });
    }
    await expect(hub.for("ada", { colour: 1 } as never)).rejects.toMatchObject({
      code: "ERR_UNKNOWN_FIELD",
    });
  });

  test("options are for the making, whoever of many makes it, and either form of a name is found", async () => {
    await using world = await openTestHub({ backend });
    const { hub } = world;
    const options = { name: "Ada", metadata: { plan: "free" }, readable: false };
    const all = await Promise.all(
      Array.from({ length: 8 }, () => hub.for("ada@example.com", options)),
    );
    const graph = actorFor("ada@example.com", { readable: false });
    expect(new Set(all.map((memory) => memory.graph))).toEqual(new Set([graph]));
    expect((await hub.for("ada@example.com", { name: "Other" })).graph).toBe(graph);
    expect(await hub.listGraphs()).toMatchObject({
      graphs: [{ id: graph, name: "Ada", metadata: { plan: "free" } }],
    });
  });

  test("a removed graph is gone from every answer; its ties are told, and a handle of it finds nothing", async () => {
    await using world = await openTestHub({ backend });
    const { hub, store } = world;
    for (const id of ["one", "two", "three"]) await hub.createGraph({ name: `Graph ${id}`, id });
    await store.putNode("one", { kind: "n", lineageId: "a" });
    await store.putNode("two", { kind: "n", lineageId: "b" });
    await store.putNode("three", { kind: "n", lineageId: "c" });
    await store.putEdge("one", { fromLineage: "a", toGraph: "two", toLineage: "b", kind: "cites" });
    await store.putEdge("two", {
      fromLineage: "b",
      toGraph: "three",
      toLineage: "c",
      kind: "cites",
    });
    await hub.symlinks("three");
    const ada = await hub.for("ada");
    await ada.write({ type: "fact", text: "Ada lives in Porto" });
    expect(await hub.remove(ada.graph, "asked by Ada")).toMatchObject({
      id: ada.graph,
      entries: 3,
    });
    expect(await hub.remove("two", "left the team")).toEqual({
      id: "two",
      name: "Graph two",
      reason: "left the team",
      entries: 5,
      symlinks: {
        outbound: [{ graphId: "three", edgeCount: 1, exists: true }],
        inbound: [{ graphId: "one", edgeCount: 1, exists: true }],
      },
    });
    expect(await hub.remove("two", "again")).toBeUndefined();
    expect(await names(hub)).toEqual(["one", "three"]);
    expect(await store.getNode("b")).toBeUndefined();
    expect((await hub.symlinks("three")).inbound).toEqual([]);
    expect((await hub.symlinks("one")).outbound).toEqual([
      { graphId: "two", edgeCount: 1, exists: false },
    ]);
    await expect(ada.recall("where does Ada live")).rejects.toMatchObject({
      code: "ERR_NOT_FOUND",
    });
    await expect(ada.write({ type: "fact", text: "x" })).rejects.toMatchObject({
      code: "ERR_NOT_FOUND",
    });
    // The user comes back: a new graph, with nothing of the old one.
    expect((await (await hub.for("ada")).list({})).memories).toEqual([]);
    await store.putNode("three", { kind: "n", lineageId: "b" });
    expect((await store.getNode("b"))?.graphId).toBe("three");
  });

  test("one who uses a graph while it is removed is refused, and nobody waits for ever", async () => {
    await using world = await openTestHub({ backend });
    const { hub } = world;
    await hub.createGraph({ name: "busy", id: "busy" });
    const late = await hub.use("busy", async (memory) => {
      await hub.remove("busy", "asked from inside");
      return memory.write({ type: "fact", text: "too late" }).catch((error: unknown) => error);
    });
    expect(late).toMatchObject({ code: expect.stringMatching(/^ERR_(CLOSED|NOT_FOUND)$/) });
    expect(await names(hub)).toEqual([]);
    for (const reason of ["", "x".repeat(5000), undefined, 4]) {
      await expect(hub.remove("busy", reason as string)).rejects.toMatchObject({
        details: { field: "reason" },
      });
    }
    await expect(hub.remove("../busy", "why")).rejects.toMatchObject({ code: "ERR_BAD_NAME" });
    await expect(hub.remove("busy", "why", { access: throughDoor("mcp") })).rejects.toMatchObject({
      code: "ERR_TRUST",
    });
  });

  test("subscribers follow a graph that is removed and made anew from its first entry", async () => {
    await using world = await openTestHub({ backend });
    const { hub } = world;
    await hub.createGraph({ name: "old", id: "ada" });
    for (let at = 0; at < 3; at += 1) {
      await hub.use("ada", (memory) => memory.write({ type: "fact", text: `old ${at}` }));
    }
    await using events = await hub.subscribe({ pollMs: 10 });
    await hub.remove("ada", "asked");
    await hub.createGraph({ name: "new", id: "ada" });
    await hub.use("ada", (memory) => memory.write({ type: "fact", text: "new fact" }));
    const seen: string[] = [];
    for await (const event of events) {
      seen.push(event.type === "memory" ? event.memory.text : event.type);
      if (event.type === "memory") break;
    }
    expect(seen).toEqual(["graph", "new fact"]);
  });
});

test("of a removed graph no byte is left below the folder, not in the catalogue either", async () => {
  await using world = await openTestHub({ backend: "lmdb" });
  const { hub, location } = world;
  const words = ["Zenobia Quillfeather", "zq-membership-4711", "Grantchester"];
  const [name = "", plan = "", city = ""] = words;
  await hub.createGraph({ name, id: "zq", metadata: { plan } });
  await hub.createGraph({ name: "Other", id: "other" });
  await hub.use("zq", (memory) => memory.write({ type: "fact", text: `She lives in ${city}` }));
  await hub.configureGraph("zq", { metadata: { note: "renewed" } });
  await hub.listGraphs();
  for (const word of words) expect(bytesBelow(location), word).toContain(word);
  await hub.remove("zq", "asked");
  for (const word of words) expect(bytesBelow(location), word).not.toContain(word);
  expect(
    readdirSync(location)
      .filter((name) => !name.startsWith(".in-use-"))
      .sort(),
  ).toEqual([".catalogue", "other"]);
  // A folder that is no store of ours is nobody's to remove.
  mkdirSync(join(location, "photos"));
  writeFileSync(join(location, "photos", "a.jpg"), "kept");
  expect(await hub.remove("photos", "asked")).toBeUndefined();
  expect(readFileSync(join(location, "photos", "a.jpg"), "utf8")).toBe("kept");
});

test("a handle elsewhere on a removed graph is refused, and its hub finds the new one", async () => {
  await using world = await openTestHub({ backend: "lmdb" });
  const { hub, location } = world;
  await hub.createGraph({ name: "old", id: "ada" });
  await using other = await world.another();
  await using direct = await open(location, { actor: "ada", relaxedDurability: true });
  await other.use("ada", (memory) => memory.write({ type: "fact", text: "old fact" }));
  await hub.remove("ada", "asked");
  await expect(direct.write({ type: "fact", text: "lost" })).rejects.toMatchObject({
    code: "ERR_NOT_FOUND",
  });
  await expect(direct.list({})).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
  await hub.createGraph({ name: "new", id: "ada" });
  await expect(direct.list({})).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
  await other.use("ada", (memory) => memory.list({})).catch(() => undefined);
  await other.use("ada", (memory) => memory.write({ type: "fact", text: "new fact" }));
  const { memories } = await hub.use("ada", (memory) => memory.list({}));
  expect(memories.map(({ text }) => text)).toEqual(["new fact"]);
});

test("a graph that is gone is told to a caller, also where something in the background found out first", async () => {
  await using world = await openTestHub({ backend: "lmdb" });
  const { hub } = world;
  await hub.createGraph({ name: "old", id: "ada" });
  await using other = await world.another();
  // What goes on in the background has the graph between two calls, as this reference does.
  const background = await other.use("ada", async (memory) => memory);
  await hub.remove("ada", "asked");
  await hub.createGraph({ name: "new", id: "ada" });
  await expect(background.list({})).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
  const look = () => other.use("ada", (memory) => memory.list({}));
  await expect(look()).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
  expect(await look()).toMatchObject({ memories: [] });
});

test("a removal that was only begun is ended by whoever opens the hub next", async () => {
  await using world = await openTestHub({ backend: "lmdb", check: false });
  const { hub, location } = world;
  for (const id of ["kept", "gone"]) {
    await hub.createGraph({ name: `Graph ${id}`, id });
    await hub.use(id, (memory) => memory.write({ type: "fact", text: `a fact of ${id}` }));
  }
  await hub.close();
  takeAway(location, "gone");
  // A new one of the same name was made meanwhile, by somebody who knows no hub: it is not harmed.
  await using fresh = await open(location, { actor: "gone", relaxedDurability: true });
  await fresh.write({ type: "fact", text: "a new beginning" });
  const again = await world.another();
  expect(
    readdirSync(location)
      .filter((name) => !name.startsWith(".in-use-"))
      .sort(),
  ).toEqual([".catalogue", "gone", "kept"]);
  expect(bytesBelow(location)).not.toContain("a fact of gone");
  expect(bytesBelow(location)).not.toContain("Graph gone");
  expect(await names(again)).toEqual(["gone", "kept"]);
  expect(await again.check({ graphs: true })).toMatchObject({ ok: true });
  await again.close();
});
