/**
 * Commits of large batches on Postgres that begin before they are whole: they are made once or not at all, like any other,
 * whatever others do meanwhile and wherever they break off; and nobody waits for long for a writer that stands still.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { open } from "../src/index.js";
import type { Kv, KvBegun, KvCommit, KvRow } from "../src/kv/kv.js";
import { openPostgresKv } from "../src/kv/postgres-backend.js";
import { hubIn } from "../src/testing/fixtures.js";
import { isLacking } from "../src/testing/lacking.js";
import { FAULTS, startProxy } from "./postgres-proxy.js";
import { type PostgresServer, startPostgres, whyNoPostgres } from "./postgres-server.js";

const missing = whyNoPostgres();
const ALL = { gte: Uint8Array.of(1), lt: Uint8Array.of(255), limit: 100_000 };

describe.skipIf(isLacking(missing === undefined, missing ?? ""))("a commit that is begun", () => {
  let server: PostgresServer;
  let location: string;
  let kv: Kv;
  let other: Kv;
  const first = Uint8Array.of(1);
  const next = Uint8Array.of(2);

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());
  beforeEach(async () => {
    location = `${hubIn(server.url)}&partitions=2`;
    kv = await openPostgresKv(location, "ada");
    other = await openPostgresKv(location, "ada");
    const puts = rows(5, 0, 3);
    await kv.commit({ expectHead: undefined, head: first, puts, deletes: [] });
    return async () => {
      await kv.close();
      await other.close();
    };
  });

  function rows(prefix: number, from: number, to: number): KvRow[] {
    return Array.from({ length: to - from }, (_, at) => {
      const key = Uint8Array.of(prefix, (from + at) >> 8, (from + at) & 255);
      return { key, value: Uint8Array.of(prefix) };
    });
  }

  async function begin(handle: Kv = kv): Promise<KvBegun> {
    const begun = await handle.begin?.(first);
    if (begun === undefined) throw new Error("nothing was begun");
    return begun;
  }

  /** The keys that another handle sees. */
  async function seen(): Promise<string[]> {
    const snapshot = await other.snapshot();
    const [found = []] = await snapshot.ranges([ALL]);
    snapshot.close();
    return found.map(({ key }) => Buffer.from(key).toString("hex"));
  }

  const named = (all: readonly KvRow[]): string[] =>
    all.map(({ key }) => Buffer.from(key).toString("hex")).sort();

  function whole(puts: readonly KvRow[], begun: KvBegun, more: Partial<KvCommit> = {}): KvCommit {
    return { expectHead: first, head: next, puts, deletes: [], isNew: () => true, begun, ...more };
  }

  test("is made whole: what was handed over, the rest, and what goes; nobody sees it before", async () => {
    const before = await seen();
    const begun = await begin();
    const handed = rows(6, 0, 500);
    begun.add(handed.slice(0, 300));
    begun.add(handed.slice(300));
    expect(await seen()).toEqual(before);
    const replaced = { key: Uint8Array.of(5, 0, 1), value: Uint8Array.of(9) };
    const rest = rows(7, 0, 10);
    const change = whole([...handed, replaced, ...rest], begun, {
      deletes: [Uint8Array.of(5, 0, 2)],
      absent: handed.map(({ key }) => key),
      isNew: (key) => key[0] !== 5,
    });
    expect(await kv.commit(change)).toEqual({ ok: true });
    expect(await seen()).toEqual(named([...rows(5, 0, 2), ...handed, ...rest]));
    const snapshot = await other.snapshot();
    expect(await snapshot.getMany([replaced.key])).toEqual([replaced.value]);
    snapshot.close();
    await begun.end();
  });

  test("comes to nothing on a head that has moved", async () => {
    await other.commit({ expectHead: first, head: next, puts: rows(8, 0, 1), deletes: [] });
    const before = await seen();
    const begun = await begin();
    const handed = rows(6, 0, 300);
    begun.add(handed);
    expect(await kv.commit(whole(handed, begun))).toEqual({ ok: false, head: next });
    expect(await seen()).toEqual(before);
  });

  test("has the head row from the beginning: another one waits for it, and has then lost", async () => {
    const begun = await begin();
    const handed = rows(6, 0, 300);
    begun.add(handed);
    const theirs = other.commit({ ...whole(rows(8, 0, 1), begun), begun: undefined as never });
    expect(await kv.commit(whole(handed, begun))).toEqual({ ok: true });
    expect(await theirs).toEqual({ ok: false, head: next });
    expect(await seen()).toEqual(named([...rows(5, 0, 3), ...handed]));
  });

  test("a row that is there: it is looked at, or nothing is applied where none may be", async () => {
    const handed = [...rows(6, 0, 300), { key: Uint8Array.of(5, 0, 1), value: Uint8Array.of(9) }];
    const before = await seen();
    const begun = await begin();
    begun.add(handed);
    const absent = handed.map(({ key }) => key);
    expect((await kv.commit(whole(handed, begun, { absent }))).ok).toBe(false);
    expect(await seen()).toEqual(before);
    const again = await begin();
    again.add(handed);
    expect(await kv.commit(whole(handed, again))).toEqual({ ok: true });
    expect(await seen()).toEqual(named([...rows(5, 0, 3), ...rows(6, 0, 300)]));
  });

  test("rows that are to be absent and were not handed over are looked at", async () => {
    const handed = rows(6, 0, 300);
    const begun = await begin();
    begun.add(handed);
    const change = whole(handed, begun, { absent: [Uint8Array.of(5, 0, 1)] });
    expect((await kv.commit(change)).ok).toBe(false);
    expect(await seen()).toEqual(named(rows(5, 0, 3)));
  });

  test("what was handed over and is not put after all is not there", async () => {
    const handed = rows(6, 0, 300);
    const begun = await begin();
    begun.add(handed);
    const put = handed.slice(0, 299);
    expect(await kv.commit(whole(put, begun))).toEqual({ ok: true });
    expect(await seen()).toEqual(named([...rows(5, 0, 3), ...put]));
  });

  test("is given up: nothing is there, and others go on at once", async () => {
    const begun = await begin();
    begun.add(rows(6, 0, 300));
    await begun.end();
    await begun.end();
    begun.add(rows(6, 300, 301));
    const theirs = { expectHead: first, head: next, puts: rows(8, 0, 1), deletes: [] };
    expect(await other.commit(theirs)).toEqual({ ok: true });
    expect(await seen()).toEqual(named([...rows(5, 0, 3), ...rows(8, 0, 1)]));
  });

  test.each(["before the rows", "after them"])(
    "its connection breaks %s: it is made all the same",
    async (when) => {
      const begun = await begin();
      const handed = rows(6, 0, 300);
      const end = async (): Promise<void> => {
        const idle = "state = 'idle in transaction' AND application_name = 'cortex'";
        const count = (): string =>
          server.psql(`SELECT count(*) FROM pg_stat_activity WHERE ${idle}`);
        await expect.poll(count).toBe("1");
        server.psql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${idle}`);
        await expect.poll(count).toBe("0");
      };
      if (when === "before the rows") await end();
      begun.add(handed);
      if (when === "after them") await end();
      expect(await kv.commit(whole(handed, begun))).toEqual({ ok: true });
      expect(await seen()).toEqual(named([...rows(5, 0, 3), ...handed]));
    },
  );

  test("a writer that stands still loses the head row after seconds, and commits in the usual way", async () => {
    const begun = await begin();
    const handed = rows(6, 0, 300);
    begun.add(handed);
    // Waits for the head row: for as long as the server leaves it to the one that stands still.
    expect(await other.commitCaches({ expect: [], puts: rows(9, 0, 1), deletes: [] })).toBe(true);
    expect(await kv.commit(whole(handed, begun))).toEqual({ ok: true });
    expect(await seen()).toEqual(named([...rows(5, 0, 3), ...handed, ...rows(9, 0, 1)]));
  });

  test("a batch whose connection breaks at any of its messages: made once, and known", async () => {
    const proxy = await startProxy(server.port);
    const far = location.replace(`:${server.port}/`, `:${proxy.port}/`);
    const memory = await open(`${far}&retry=60`, { actor: "bob" });
    const texts: string[] = [];
    const write = async (name: string): Promise<void> => {
      const items = Array.from({ length: 150 }, (_, at) => `${name}, ${at}`);
      await memory.batch(items.map((text) => ({ write: { type: "note" as const, text } })));
      texts.push(...items);
    };
    for (const fault of FAULTS) {
      for (let after = 0; ; after += 1) {
        // What fails makes presumptions rare: one that holds makes them usual again.
        await memory.write({ type: "fact", text: `${fault} at ${after}` });
        proxy.arm(fault, after);
        await write(`${fault} at ${after}`);
        if (!proxy.isSpent()) break;
      }
    }
    const { memories } = await memory.stats();
    const facts = (await memory.list({ type: "fact", limit: 1000 })).memories.length;
    expect(memories.active).toBe(texts.length + facts);
    expect(await memory.check()).toMatchObject({ ok: true });
    await memory.close();
    proxy.stop();
  });

  test("batches of two processes on one actor: each is there once, and whole", async () => {
    const stores = await Promise.all(
      ["", "&pool=9"].map((more) => open(`${location}${more}`, { actor: "bob" })),
    );
    const wanted: string[] = [];
    await Promise.all(
      stores.map(async (memory, who) => {
        for (let turn = 0; turn < 2; turn += 1) {
          const texts = Array.from({ length: 200 }, (_, at) => `${who} said ${at} in turn ${turn}`);
          wanted.push(...texts);
          await memory.batch(texts.map((text) => ({ write: { type: "note" as const, text } })));
        }
      }),
    );
    const [memory] = stores;
    const found = await memory?.list({ type: "note", limit: 1000 });
    expect(found?.memories.map(({ text }) => text).sort()).toEqual(wanted.sort());
    expect(await memory?.check()).toMatchObject({ ok: true });
    for (const one of stores) await one.close();
  });
});
