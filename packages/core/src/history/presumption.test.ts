/** What is guessed of stores: entries that come along with the rows of memories, and writes that read nothing first. */
import { afterEach, expect, test } from "vitest";
import { atCleanUp, cleanUp, temporaryFolder } from "../../test/other-process.js";
import { idKey, journalKey } from "../kv/keyspace.js";
import { around, type Bytes, type Kv } from "../kv/kv.js";
import { openLmdbKv } from "../kv/lmdb-backend.js";
import { openMemoryKv } from "../kv/memory-backend.js";
import { NumberTable } from "../kv/postgres-numbers.js";
import { openGraph } from "../open.js";
import { guessEntries } from "./presumption.js";

afterEach(cleanUp);

const MEMORY = idKey("memory", new Uint8Array(16).fill(7));
/** A row whose fourth number, the entry, is 42. */
const ROW = Uint8Array.of(0x84, 1, 1, 1, 0x18, 42);

/** A store that remembers in a table, and what it was told will be read soon. */
async function storeWith(
  shared: NumberTable | undefined,
): Promise<{ readonly kv: Kv; readonly named: Bytes[] }> {
  const named: Bytes[] = [];
  const inner = openMemoryKv();
  const told = around(inner, {
    ...(shared === undefined ? {} : { shared }),
    async snapshot() {
      const snapshot = await inner.snapshot();
      return {
        getMany: (keys) => snapshot.getMany(keys),
        ranges: (ranges) => snapshot.ranges(ranges),
        soon: ({ keys = [] }) => void named.push(...keys),
        close: () => snapshot.close(),
      };
    },
  });
  const kv = guessEntries(told);
  await kv.commit({
    expectHead: undefined,
    head: Uint8Array.of(1),
    puts: [{ key: MEMORY, value: ROW }],
    deletes: [],
  });
  return { kv, named };
}

async function read(kv: Kv): Promise<void> {
  const snapshot = await kv.snapshot();
  await snapshot.getMany([MEMORY]);
  snapshot.close();
}

test("stores that share a table guess from what any of them wrote, and others know nothing of it", async () => {
  const shared = new NumberTable();
  await storeWith(shared);
  const beside = await storeWith(shared);
  await read(beside.kv);
  expect(beside.named).toEqual([journalKey(42)]);
  const apart = await storeWith(undefined);
  await read(apart.kv);
  expect(apart.named).toEqual([]);
});

test("a table forgets a mark for another of the same place, and says nothing of one that it never had", () => {
  const table = new NumberTable();
  expect(table.of(5)).toBeUndefined();
  table.keep(5, 100);
  expect(table.of(5)).toBe(100);
  table.keep(5 + 2 ** 17, 200);
  expect(table.of(5)).toBeUndefined();
  expect(table.of(5 + 2 ** 17)).toBe(200);
  expect(new NumberTable().of(5 + 2 ** 17)).toBeUndefined();
});

/** A store on disk whose snapshots and commits are counted. */
async function countedStore() {
  const inner = await openLmdbKv(temporaryFolder());
  const seen = { snapshots: 0, presumed: 0, lost: 0 };
  const kv = around(inner, {
    snapshot: (options) => {
      seen.snapshots += 1;
      return inner.snapshot(options);
    },
    commit: async (change) => {
      const result = await inner.commit(change);
      if (change.absent !== undefined) seen.presumed += 1;
      if (!result.ok) seen.lost += 1;
      return result;
    },
  });
  const { memory, engine } = await openGraph("memory:", { actor: "ada", kv });
  atCleanUp(() => memory.close());
  await engine.text.close();
  await memory.write({ type: "fact", text: "The first write reads what all others find known." });
  await memory.write({ type: "fact", text: "The second may find a page that is not kept yet." });
  return { memory, kv, seen };
}

test("a plain write after another takes no snapshot, and what it took to be absent is checked", async () => {
  const { memory, seen } = await countedStore();
  const before = { ...seen };
  const one = await memory.write({ type: "fact", text: "The kettle is blue.", tags: ["kitchen"] });
  const two = await memory.write({
    type: "fact",
    text: "The table is round.",
    externalId: "table",
  });
  expect(seen).toEqual({ ...before, presumed: before.presumed + 2 });
  const again = await memory.write({ type: "fact", text: "the kettle  is blue" });
  expect(again).toMatchObject({ id: one.id, reinforced: true });
  await expect(
    memory.write({ type: "fact", text: "The table is square.", externalId: "table" }),
  ).rejects.toMatchObject({ code: "ERR_EXISTS" });
  expect(await memory.get(two.id)).toMatchObject({ data: { statement: "The table is round." } });
  expect(await memory.check()).toMatchObject({ ok: true });
});

test("batches and groups of a store at hand read first: a repeated claim costs no second fold of all", async () => {
  const { memory, seen } = await countedStore();
  const { presumed } = seen;
  const texts = Array.from({ length: 20 }, (_, at) => `Chair ${at} stands in row ${at % 4}.`);
  await memory.batch(texts.map((text) => ({ write: { type: "fact" as const, text } })));
  await Promise.all(texts.map((text) => memory.write({ type: "fact", text: `${text} Today.` })));
  expect(seen.presumed).toBe(presumed);
});

test("a loop of writes that read nothing lets the process do something else", async () => {
  const { memory, seen } = await countedStore();
  let turned = 0;
  const timer = setInterval(() => {
    turned += 1;
  }, 0);
  const { presumed } = seen;
  for (let at = 0; at < 300; at += 1)
    await memory.write({ type: "fact", text: `Step ${at} is done.` });
  clearInterval(timer);
  expect(seen.presumed - presumed).toBeGreaterThan(200);
  expect(turned).toBeGreaterThan(0);
});

test("another writer's commit is met, and nothing of it is lost", async () => {
  const { memory, kv } = await countedStore();
  const beside = (await openGraph("memory:", { actor: "ada", kv })).memory;
  for (let at = 0; at < 20; at += 1) {
    await memory.write({ type: "fact", text: `Ada counts ${at}.` });
    await beside.write({ type: "fact", text: `Ben counts ${at}.` });
  }
  expect((await memory.list({ limit: 100 })).memories).toHaveLength(42);
  expect(await memory.check()).toMatchObject({ ok: true });
});

test("a note under a name that is new takes no snapshot, and the next of that name is its second version", async () => {
  const { memory, seen } = await countedStore();
  const upsert = (externalId: string, text: string) =>
    memory.write({ type: "note", kind: "page", externalId, text }, { upsert: {} });
  await upsert("first", "The first may read what no write before it has read.");
  const before = { ...seen };
  const one = await upsert("kettle", "The kettle is blue.");
  expect(seen).toEqual({ ...before, presumed: before.presumed + 1 });
  const two = await upsert("kettle", "The kettle is red.");
  expect(two).toMatchObject({ id: one.id, version: 2 });
  expect(seen.lost, "the guess was wrong, and is taken back").toBe(before.lost + 1);
  const { presumed } = seen;
  await memory.write({ type: "fact", text: "A wrong guess slows no plain write." });
  expect(seen.presumed).toBe(presumed + 1);
  expect((await memory.history("kettle"))?.map(({ text }) => text)).toEqual([
    "The kettle is red.",
    "The kettle is blue.",
  ]);
  expect(await memory.check()).toMatchObject({ ok: true });
});
