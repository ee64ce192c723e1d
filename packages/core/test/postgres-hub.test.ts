/**
 * A hub whose graphs and catalogue are rows of one database, as several processes share it: PGlite on
 * machines without a server, the database of `CORTEX_TEST_POSTGRES` elsewhere.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cortex, copyHub, open, openHub } from "../src/index.js";
import { hubIn } from "../src/testing/fixtures.js";
import { startPglite } from "./pglite-server.js";

/** As many copies of the first graph as it takes, in the tables and in the catalogue, each under a number and a name. */
async function manyGraphs(plain: pg.Client, hub: string, count: number): Promise<void> {
  const each = "generate_series(1, $2::int - 1) AS n";
  const numbered = "'g-' || lpad(n::text, 6, '0')";
  await plain.query(
    `INSERT INTO cortex_heads (actor, slot, generation, head, stamp)
      SELECT $1 || '/' || ${numbered}, 0, generation, head, stamp FROM cortex_heads, ${each}
      WHERE actor = $1 || '/g-000000' AND slot = 0`,
    [hub, count],
  );
  await plain.query(
    `INSERT INTO cortex_rows SELECT $1 || '/' || ${numbered}, generation, key, value FROM cortex_rows, ${each}
      WHERE actor = $1 || '/g-000000' AND n = 2500`,
    [hub, count],
  );
  // A name stands in a key with each byte one higher; a row begins with the number of its graph.
  await plain.query(
    `INSERT INTO cortex_rows SELECT actor, generation,
        '\\x10'::bytea || convert_to('h.' || translate(lpad(n::text, 6, '0'), '0123456789', '123456789:'), 'UTF8') || '\\x00'::bytea,
        convert_to('[' || n || substr(convert_from(value, 'UTF8'), 3), 'UTF8')
      FROM cortex_rows, ${each} WHERE actor = $1 || '/.catalogue' AND get_byte(key, 0) = 16`,
    [hub, count],
  );
}

let server: { readonly url: string; stop(): Promise<void> };

const database = process.env.CORTEX_TEST_POSTGRES ?? "";

beforeAll(async () => {
  server = database === "" ? await startPglite() : { url: database, stop: async () => {} };
});
afterAll(() => server.stop());

describe("a copy of a hub", () => {
  test("arrives whole, goes on after a stop, and names what it cannot copy", async () => {
    const folder = await mkdtemp(join(tmpdir(), "cortex-copy-"));
    const [first, last] = [join(folder, "first"), join(folder, "last")];
    const database = hubIn(server.url);
    const roots = async (location: string): Promise<readonly string[]> => {
      await using hub = await openHub(location, { create: false });
      const { graphs } = await hub.listGraphs({ includeArchived: true });
      expect(await hub.check({ graphs: true })).toMatchObject({ ok: true });
      return await Promise.all(
        graphs.map(({ id }) => hub.use(id, async (one) => `${id} ${(await one.root()).root}`)),
      );
    };
    {
      await using hub = await openHub(first);
      for (const id of ["ada", "bob", "eve"]) await hub.createGraph({ id, name: id });
      await hub.configureGraph("eve", { archived: true });
      await hub.use("ada", async (memory) => {
        const { id } = await memory.write({ type: "fact", text: "to be forgotten" });
        await memory.write({ type: "fact", text: "to be found" });
        await memory.snapshot("before");
        await memory.forget(id, "asked");
      });
    }
    expect(await copyHub(first, database, { graphs: ["bob"] })).toMatchObject({ copied: 1 });
    const told: number[] = [];
    const onProgress = ({ done, total }: { done: number; total: number }) => {
      expect(done).toBeLessThanOrEqual(total);
      told.push(done);
    };
    // As after a stop: one of three is there.
    expect(await copyHub(first, database, { onProgress })).toEqual({
      ...{ ok: true, copied: 2, same: 1, failed: [] },
      entries: 2 + 1 + 5,
    });
    expect(told).toEqual([...told].sort((a, b) => a - b));
    expect(await roots(database)).toEqual(await roots(first));
    await using copied = await open(database, { actor: "ada" });
    expect((await copied.search("found")).hits).toHaveLength(1);
    await copied.write({ type: "note", text: "another way from here" });

    expect(await copyHub(database, last)).toMatchObject({ ok: true, copied: 3 });
    expect(await roots(last)).toEqual(await roots(database));
    const again = await copyHub(first, last);
    expect(again).toMatchObject({ ok: false, copied: 0, same: 2 });
    expect(again.failed).toMatchObject([{ graph: "ada", code: "ERR_EXISTS" }]);
    await expect(copyHub(first, first)).rejects.toMatchObject({ code: "ERR_INVALID" });
    await expect(copyHub("memory:", last)).rejects.toMatchObject({ code: "ERR_INVALID" });
    await rm(folder, { recursive: true });
  });
});

describe("a hub in a database", () => {
  test("many that make the same graph at once make one", async () => {
    const location = hubIn(server.url);
    const hubs = await Promise.all([openHub(location), openHub(location), openHub(location)]);
    const made = await Promise.all(
      hubs.flatMap((hub) =>
        ["ada", "bob"].map((graph) => hub.use(graph, (memory) => memory.root(), { create: true })),
      ),
    );
    expect(new Set(made.map(({ root }) => root)).size).toBe(2);
    const tried = await Promise.allSettled(
      hubs.map((hub) => hub.createGraph({ name: "Third", id: "third" })),
    );
    expect(tried.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const hub of hubs) {
      const { graphs } = await hub.listGraphs();
      expect(graphs.map(({ id }) => id).sort()).toEqual(["ada", "bob", "third"]);
    }
    await Promise.all(hubs.map((hub) => hub.close()));
  });

  test("what one hub or a plain store wrote, another one lists, finds and follows", async () => {
    const location = hubIn(server.url);
    await using one = await openHub(location);
    await using two = await openHub(location);
    await one.createGraph({ name: "First", id: "first" });
    expect((await two.listGraphs()).graphs).toMatchObject([{ id: "first", name: "First", seq: 1 }]);
    await using memory = await open(location, { actor: "first" });
    await memory.write({ type: "note", text: "hello", externalId: "greeting" });
    expect((await two.listGraphs()).graphs).toMatchObject([{ id: "first", seq: 2 }]);
    await one.configureGraph("first", { name: "Renamed" });
    expect(await two.getGraph("first")).toMatchObject({ name: "Renamed" });
    expect(await two.check({ graphs: true })).toMatchObject({ ok: true, graphs: 1 });
  });

  test("tenants and hubs of one database do not see each other", async () => {
    const location = hubIn(server.url);
    await using acme = await openHub(location, { tenant: "acme" });
    await using all = await openHub(location);
    await using other = await openHub(hubIn(server.url));
    await acme.createGraph({ name: "Mine", id: "acme.mine" });
    await all.createGraph({ name: "Plain", id: "plain" });
    expect((await acme.listGraphs()).graphs.map(({ id }) => id)).toEqual(["acme.mine"]);
    expect((await all.listGraphs()).graphs.map(({ id }) => id).sort()).toEqual([
      "acme.mine",
      "plain",
    ]);
    expect((await other.listGraphs()).graphs).toEqual([]);
  });

  test("very many graphs are listed in pages, each once, and one that is removed leaves nothing", async () => {
    const count = Number(process.env.CORTEX_GRAPHS ?? (database === "" ? 3000 : 30_000));
    const location = hubIn(server.url);
    const name = new URL(location).searchParams.get("hub") ?? "";
    await using hub = await openHub(location);
    await hub.createGraph({ name: "Graph", id: "g-000000" });
    await hub.createGraph({ name: "Other", id: "other" });
    // Whoever removes a graph looks at what leads there, and has then read the journals of all others.
    await hub.remove("other", "asked");
    const plain = new pg.Client({ connectionString: server.url });
    await plain.connect();
    await manyGraphs(plain, name, count);
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await hub.listGraphs({
        limit: 1000,
        ...(cursor === undefined ? {} : { cursor }),
      });
      expect(page.problems).toEqual([]);
      for (const { id } of page.graphs) ids.push(id);
      cursor = page.cursor;
      // What happens to the graphs of a page that is to come is seen there, and what is new at the end.
      if (ids.length === 1000) {
        await hub.remove("g-002500", "asked");
        await hub.createGraph({ name: "New", id: "new" });
      }
    } while (cursor !== undefined);
    const left = [...Array(count).keys()].filter((at) => at !== 2500);
    expect(ids).toEqual([...left.map((at) => `g-${String(at).padStart(6, "0")}`), "new"]);
    const found = await plain.query(
      `SELECT (SELECT count(*) FROM cortex_heads WHERE actor = $1) + (SELECT count(*) FROM cortex_rows WHERE actor = $1)
        + (SELECT count(*) FROM cortex_rows WHERE actor = $2 AND position('h.113611'::bytea IN key) > 0) AS left`,
      [`${name}/g-002500`, `${name}/.catalogue`],
    );
    expect(Number(found.rows[0].left)).toBe(0);
    await plain.end();
  });

  test("a graph that was removed is gone from every answer, and its name may begin anew", async () => {
    const location = hubIn(server.url);
    await using hub = await openHub(location);
    await using other = await openHub(location);
    await hub.createGraph({ name: "Gone", id: "gone" });
    await hub.createGraph({ name: "Kept", id: "kept" });
    await using direct = await open(location, { actor: "gone" });
    await direct.write({ type: "fact", text: "soon forgotten" });
    await other.use("gone", (memory) => memory.list({}));
    expect(await hub.remove("gone", "asked")).toMatchObject({ id: "gone", entries: 3 });
    expect(await hub.remove("gone", "asked")).toBeUndefined();
    expect((await other.listGraphs()).graphs.map(({ id }) => id)).toEqual(["kept"]);
    // Who had it open is told, and does not begin a store without a beginning.
    await expect(direct.write({ type: "fact", text: "lost" })).rejects.toMatchObject({
      code: "ERR_NOT_FOUND",
    });
    await expect(direct.list({})).rejects.toMatchObject({ code: "ERR_NOT_FOUND" });
    await expect(open(location, { actor: "gone", create: false })).rejects.toMatchObject({
      code: "ERR_FORMAT_UNKNOWN",
    });
    await other.use("gone", (memory) => memory.list({})).catch(() => undefined);
    await hub.createGraph({ name: "New", id: "gone" });
    await other.use("gone", (memory) => memory.write({ type: "fact", text: "a new beginning" }));
    expect((await hub.listGraphs()).graphs).toMatchObject([
      { id: "kept" },
      { id: "gone", name: "New", seq: 2 },
    ]);
    expect(await hub.check({ graphs: true })).toMatchObject({ ok: true });
  });
});

/** Keeps the rows of a store as they are now; what comes back sets the store to them. */
async function keepStore(plain: pg.Client, actor: string): Promise<() => Promise<void>> {
  const tables = ["cortex_heads", "cortex_rows"] as const;
  for (const table of tables) {
    await plain.query(`DROP TABLE IF EXISTS kept_${table}`);
    await plain.query(
      `CREATE TABLE kept_${table} AS SELECT * FROM ${table} WHERE actor = '${actor}'`,
    );
  }
  return async () => {
    for (const table of tables) {
      await plain.query(`DELETE FROM ${table} WHERE actor = '${actor}'`);
      await plain.query(`INSERT INTO ${table} SELECT * FROM kept_${table}`);
      await plain.query(`DROP TABLE kept_${table}`);
    }
  };
}

/** What somebody may do who had a store open while it was set back. */
const VERBS: Readonly<Record<string, (memory: Cortex, id: string) => Promise<unknown>>> = {
  write: (memory) => memory.write({ type: "note", text: "after that" }),
  batch: (memory) => memory.batch([{ write: { type: "note", text: "after that" } }]),
  update: (memory, id) => memory.update(id, { text: "changed after that" }),
  tombstone: (memory, id) => memory.tombstone(id, "after that"),
  get: (memory, id) => memory.get(id),
  list: (memory) => memory.list({}),
  find: (memory) => memory.find({ type: "note", limit: 5 }),
  search: (memory) => memory.search("tea"),
  recall: (memory) => memory.recall("tea"),
  root: (memory) => memory.root(),
  changes: (memory) => memory.changes(0, 1),
  check: (memory) => memory.check(),
};

test("a store that was set back and has grown beyond all that was seen: every verb is told by its second call", async () => {
  const location = hubIn(server.url);
  const actor = `${new URL(location).searchParams.get("hub")}/ada`;
  const plain = new pg.Client({ connectionString: server.url });
  await plain.connect();
  const handles = new Map<string, Cortex>();
  for (const verb of Object.keys(VERBS)) handles.set(verb, await open(location, { actor: "ada" }));
  await using writer = await open(location, { actor: "ada" });
  const kept = await writer.write({ type: "note", text: "kept, about tea" });
  const setBack = await keepStore(plain, actor);
  const lost = await writer.write({ type: "note", text: "lost, about tea" });
  // Some have seen it; `write` has an entry of its own behind it.
  for (const memory of handles.values()) await memory.get(lost.id);
  await handles.get("write")?.write({ type: "note", text: "lost as well" });
  await setBack();
  await plain.end();
  await using other = await open(location, { actor: "ada" });
  for (let at = 0; at < 4; at += 1) await other.write({ type: "note", text: `other ${at}` });
  const told: string[] = [];
  for (const [verb, memory] of handles) {
    const call = VERBS[verb];
    for (let at = 0; at < 2; at += 1) {
      const outcome = await call?.(memory, kept.id).then(
        () => "silent",
        (error) => error.code,
      );
      if (at === 1) told.push(`${verb}: ${outcome}`);
    }
    await memory.close();
  }
  expect(told).toEqual([...handles.keys()].map((verb) => `${verb}: ERR_ROLLED_BACK`));
  expect(await other.check()).toMatchObject({ ok: true });
});

test("a store that was set back to before its beginning is not begun by whoever had it open", async () => {
  const location = hubIn(server.url);
  const actor = `${new URL(location).searchParams.get("hub")}/ada`;
  const plain = new pg.Client({ connectionString: server.url });
  await plain.connect();
  // Nothing at all, and a head row that says nothing, as one leaves who lost its connection on the way to begin it.
  for (const [text, code] of [
    [undefined, "ERR_NOT_FOUND"],
    [
      "INSERT INTO cortex_heads (actor, slot, generation, fence) VALUES ($1, 0, 7, 1)",
      "ERR_ROLLED_BACK",
    ],
  ] as const) {
    const memory = await open(location, { actor: "ada" });
    await memory.write({ type: "note", text: "lost" });
    for (const table of ["cortex_heads", "cortex_rows"]) {
      await plain.query(`DELETE FROM ${table} WHERE actor = $1`, [actor]);
    }
    if (text !== undefined) await plain.query(text, [actor]);
    for (const verb of ["write", "list", "write", "root"]) {
      await expect(VERBS[verb]?.(memory, ""), verb).rejects.toMatchObject({ code });
    }
    await memory.close();
    await using again = await open(location, { actor: "ada" });
    await again.write({ type: "note", text: "from here on" });
    expect(await again.check()).toMatchObject({ ok: true, entries: 2 });
  }
  await plain.end();
});
