/** Graphs of a hub: made, configured, listed, kept apart by tenant, opened and closed. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { encode } from "../codec/cbor.js";
import { openLmdbKv } from "../kv/lmdb-backend.js";
import { memgraph } from "../memgraph/index.js";
import { open, openKv } from "../open.js";
import { GUEST } from "../scope/access.js";
import { openTestHub } from "../testing/index.js";
import { openHub } from "./open-hub.js";
import { CATALOGUE_FOLDER } from "./stores.js";

describe.each(["memory", "lmdb"] as const)("on %s", (backend) => {
  test("a configuration changes by patches, journaled in the graph it configures", async () => {
    await using world = await openTestHub({ backend });
    const { hub } = world;
    const { id } = await hub.createGraph({ name: "Recipes", metadata: { a: 1, b: [2] } });
    await hub.configureGraph(id, { metadata: { a: null, c: { d: true } }, kindWhitelist: ["x"] });
    expect(await hub.getGraph(id)).toMatchObject({
      name: "Recipes",
      metadata: { b: [2], c: { d: true } },
      kindWhitelist: ["x"],
      conflictPolicy: "lww",
      archived: false,
      seq: 2,
    });
    await hub.configureGraph(id, { name: null, metadata: null, conflictPolicy: "manual" });
    expect(await hub.getGraph(id)).toMatchObject({
      name: id,
      metadata: {},
      conflictPolicy: "manual",
    });
    const kinds = await hub.use(id, (memory) => memory.log());
    expect(kinds.entries.map(({ kind }) => kind)).toEqual([
      "genesis",
      "config",
      "config",
      "config",
    ]);
  });

  test("a list is by age; archived graphs are shown on request and work as before", async () => {
    await using world = await openTestHub({ backend });
    const { hub, store } = world;
    for (const id of ["c", "a", "b"]) await hub.createGraph({ name: id, id });
    await hub.configureGraph("a", { archived: true });
    const listed = async (includeArchived: boolean): Promise<readonly string[]> =>
      (await hub.listGraphs({ includeArchived })).graphs.map(({ id }) => id);
    expect(await listed(false)).toEqual(["c", "b"]);
    expect(await listed(true)).toEqual(["c", "a", "b"]);
    expect((await store.putNode("a", { kind: "fact" })).node.version).toBe(1);
    await hub.configureGraph("a", { archived: false });
    expect(await listed(false)).toEqual(["c", "a", "b"]);
  });

  test("a list comes in pages that go on where the one before ended, also when that graph is gone", async () => {
    await using world = await openTestHub({ backend });
    const { hub } = world;
    const ids = ["e", "d", "c", "b", "a"];
    for (const id of ids) await hub.createGraph({ name: id, id });
    const read: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await hub.listGraphs({ limit: 2, cursor });
      read.push(...page.graphs.map(({ id }) => id));
      cursor = page.cursor;
      if (read.length === 2) await hub.remove("d", "the last of a page");
    } while (cursor !== undefined);
    expect(read).toEqual(ids);
    expect(await hub.listGraphs({ limit: 4 })).not.toHaveProperty("cursor");
    for (const bad of ["", "d", "1-2", "x-0-d", "1-0-"]) {
      const refused = { code: "ERR_INVALID", details: { field: "cursor" } };
      await expect(hub.listGraphs({ cursor: bad }), bad).rejects.toMatchObject(refused);
    }
    await expect(hub.listGraphs({ limit: 0 })).rejects.toMatchObject({
      details: { field: "limit" },
    });
  });

  test("what is no graph is refused, and nothing is left of it", async () => {
    await using world = await openTestHub({ backend });
    const { hub } = world;
    await hub.createGraph({ name: "there", id: "there" });
    const refused: readonly (readonly [object, string])[] = [
      [{ name: "" }, "ERR_INVALID"],
      [{}, "ERR_INVALID"],
      [{ name: 5 }, "ERR_INVALID"],
      [{ name: "x", id: "../x" }, "ERR_BAD_NAME"],
      [{ name: "x", id: "X" }, "ERR_BAD_NAME"],
      [{ name: "x", id: "there" }, "ERR_EXISTS"],
      [{ name: "x", conflictPolicy: "best" }, "ERR_INVALID"],
      [{ name: "x", metadata: [] }, "ERR_INVALID"],
      [{ name: "x", color: "red" }, "ERR_UNKNOWN_FIELD"],
    ];
    for (const [input, code] of refused) {
      await expect(hub.createGraph(input as never), JSON.stringify(input)).rejects.toMatchObject({
        code,
      });
    }
    await expect(hub.configureGraph("nobody", { name: "x" })).rejects.toMatchObject({
      code: "ERR_NOT_FOUND",
    });
    expect((await hub.listGraphs()).graphs.map(({ id }) => id)).toEqual(["there"]);
  });

  test("a tenant's hub knows its own graphs and no others", async () => {
    await using world = await openTestHub({ backend, tenant: "acme" });
    const { hub, store } = world;
    const { id } = await hub.createGraph({ name: "Ada" });
    expect(id).toMatch(/^acme\.ada-/);
    for (const call of [
      () => hub.createGraph({ name: "x", id: "globex.x" }),
      () => hub.getGraph("globex.x"),
      () => store.listNodes("globex.x"),
      () => store.putNode("globex.x", { kind: "fact" }),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: "ERR_BAD_NAME" });
    }
    const { node } = await store.putNode(id, { kind: "fact", lineageId: "a" });
    const edge = { fromLineage: "a", toLineage: "a", kind: "is", toGraph: "globex.x" };
    await expect(store.putEdge(id, edge)).rejects.toMatchObject({ code: "ERR_BAD_NAME" });
    expect(await store.getNode(node.id.replace("acme.", "globex."))).toBeUndefined();
  });

  test("a guest is refused what is the owner's", async () => {
    await using world = await openTestHub({ backend });
    const { hub, store } = world;
    await hub.createGraph({ name: "g", id: "g" });
    const access = { access: GUEST };
    for (const call of [
      () => hub.listGraphs(access),
      () => hub.getGraph("g", access),
      () => store.putNode("g", { kind: "fact" }, access),
      () => hub.symlinks("g", access),
      () => hub.subscribe(access),
      () => hub.check(access),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: "ERR_DENIED" });
    }
  });
});

test("a folder of actors is a hub: graphs that open made are graphs of it", async () => {
  await using world = await openTestHub({ backend: "lmdb" });
  const { hub, store, location, clock } = world;
  const shared = { clock: clock.read, relaxedDurability: true };
  const memory = await open(location, { actor: "ada", ...shared });
  await memory.write({ type: "fact", text: "Ada lives in Porto", externalId: "home" });
  const seen = (await hub.listGraphs()).graphs;
  expect(seen).toMatchObject([{ id: "ada", name: "ada", seq: 1 }]);
  // Every memory reads as a node; what has no kind shows its type.
  expect(await store.getNode("home")).toMatchObject({
    graphId: "ada",
    kind: "fact",
    content: "Ada lives in Porto",
  });
  await memory.write({ type: "fact", text: "Ada likes tea", externalId: "tea" });
  expect((await hub.listGraphs()).graphs).toMatchObject([{ id: "ada", seq: 2 }]);
  expect((await store.listNodes("ada", { kinds: ["fact"] })).total).toBe(2);
  await memory.close();
  await rm(join(location, "ada"), { recursive: true });
  expect((await hub.listGraphs()).graphs).toEqual([]);
});

test("a store of the same name that is another one starts afresh", async () => {
  await using world = await openTestHub({ backend: "lmdb", check: false });
  const { hub, store, location, clock } = world;
  const write = async (text: string, externalId: string): Promise<void> => {
    const memory = await open(location, {
      actor: "ada",
      clock: clock.read,
      relaxedDurability: true,
    });
    await memory.write({ type: "note", text, externalId });
    await memory.close();
  };
  await write("first", "one");
  expect(await store.getNode("one")).toMatchObject({ content: "first" });
  await using other = await world.another();
  expect(await memgraph(other).getNode("one")).toMatchObject({ content: "first" });
  // The hub that has it open would still see the file that is gone.
  await hub.close();
  await other.close();
  await rm(join(location, "ada"), { recursive: true });
  await write("second", "two");
  await using later = await world.another();
  expect(await memgraph(later).getNode("one")).toBeUndefined();
  expect(await memgraph(later).getNode("two")).toMatchObject({ content: "second" });
  expect(await later.check()).toMatchObject({ ok: true });
});

test("a folder without a store is passed over; one that cannot be read is a problem and hides nobody", async () => {
  await using world = await openTestHub({ backend: "lmdb", check: false });
  const { hub, location } = world;
  await hub.createGraph({ name: "good", id: "good" });
  for (const folder of ["empty", "Not A Name", "foreign"]) await mkdir(join(location, folder));
  expect(await hub.listGraphs()).toMatchObject({ graphs: [{ id: "good" }], problems: [] });
  expect(await hub.getGraph("empty")).toBeUndefined();
  expect(await hub.check()).toMatchObject({ ok: true, graphs: 1 });
  // It has the name of a store: it may be all that is left of one.
  await writeFile(join(location, "foreign", "g000001.mdb"), Buffer.alloc(8192, 7));
  const foreign = { id: "foreign", code: "ERR_FORMAT_UNKNOWN" };
  expect(await hub.listGraphs()).toMatchObject({ graphs: [{ id: "good" }], problems: [foreign] });
  expect(await hub.check()).toMatchObject({ ok: false, graphs: 1, problems: [foreign] });
  await rm(join(location, "foreign"), { recursive: true });
  const kv = await openKv(location, "newer", { relaxedDurability: true });
  const head = encode([99, 99, 1, 0, 0, []]);
  await kv.commit({ expectHead: undefined, head, puts: [], deletes: [] });
  await kv.close();
  expect(await hub.listGraphs()).toMatchObject({
    graphs: [{ id: "good" }],
    problems: [{ id: "newer", code: "ERR_FORMAT_NEWER" }],
  });
  expect(await hub.check()).toMatchObject({
    ok: false,
    graphs: 1,
    problems: [{ id: "newer", code: "ERR_FORMAT_NEWER" }],
  });
});

test("few graphs stay open, those in use among them, and idle ones close", async () => {
  await using world = await openTestHub({ backend: "lmdb", maxOpen: 3, idleMs: 20 });
  const { hub } = world;
  const ids = Array.from({ length: 8 }, (_, at) => `g${at}`);
  for (const id of ids) await hub.createGraph({ name: id, id });
  expect(hub.openGraphs).toBeLessThanOrEqual(3);
  // Uses inside uses hold more than stay open: nobody waits for anybody.
  const nested = async (at: number): Promise<number> =>
    hub.use(ids[at] ?? "", async () => (at === 0 ? hub.openGraphs : nested(at - 1)));
  expect(await nested(7)).toBe(8);
  expect(hub.openGraphs).toBeLessThanOrEqual(3);
  world.clock.advance(1000);
  while (hub.openGraphs > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(await hub.use("g5", (memory) => memory.root())).toMatchObject({ seq: 1 });
});

test("neither a check nor a graph that does not open leaves a store open", async () => {
  await using world = await openTestHub({ backend: "lmdb", check: false });
  const { location: folder } = world;
  await world.hub.createGraph({ name: "g", id: "g" });
  expect(await world.hub.check()).toMatchObject({ ok: true });
  await world.hub.close();
  const refusing = await openHub(folder, { principal: "" });
  await expect(refusing.use("g", (memory) => memory.root())).rejects.toMatchObject({
    code: "ERR_INVALID",
  });
  await refusing.close();
  // A store that is open in a process cannot be opened in another mode.
  for (const name of ["g", CATALOGUE_FOLDER]) {
    for (const relaxed of [true, false]) {
      await (await openLmdbKv(join(folder, name), { relaxed })).close();
    }
  }
});

test("a closed hub refuses, and closing again is harmless", async () => {
  await using world = await openTestHub({ backend: "lmdb", check: false });
  const hub = await world.another();
  await hub.createGraph({ name: "g", id: "g" });
  await hub.close();
  await hub.close();
  await expect(hub.use("g", (memory) => memory.root())).rejects.toMatchObject({
    code: "ERR_CLOSED",
  });
  await expect(hub.listGraphs()).rejects.toMatchObject({ code: "ERR_CLOSED" });
});

test("what is no place for a hub, and no option, is refused", async () => {
  const refused: readonly (readonly [unknown, object, string])[] = [
    ["", {}, "ERR_INVALID"],
    [5, {}, "ERR_INVALID"],
    ["mysql://host/db", {}, "ERR_UNSUPPORTED"],
    ["memory:", { maxOpen: 0 }, "ERR_INVALID"],
    ["memory:", { idleMs: 1.5 }, "ERR_INVALID"],
    ["memory:", { tenant: "A" }, "ERR_BAD_NAME"],
    ["memory:", { actor: "ada" }, "ERR_UNKNOWN_FIELD"],
    ["./no-such-folder", { create: false }, "ERR_NOT_FOUND"],
  ];
  for (const [location, options, code] of refused) {
    await expect(openHub(location as string, options)).rejects.toMatchObject({ code });
  }
});
