/**
 * Several servers over one database: how soon a follower looks, what each reads of what another wrote, and that what
 * one does holds on the others. Handles with pools of their own stand for servers: they share nothing but the database.
 */
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { readU64 } from "../src/codec/keys.js";
import type { Pause } from "../src/history/growth.js";
import { type Cortex, open } from "../src/index.js";
import { Lease, OWNER_BYTES } from "../src/jobs/lease.js";
import { KEYSPACE } from "../src/kv/keyspace.js";
import { around, type Kv } from "../src/kv/kv.js";
import { openPostgresKv, postgresCounts } from "../src/kv/postgres-backend.js";
import { openGraph } from "../src/open.js";
import { hubIn } from "../src/testing/fixtures.js";
import { isLacking } from "../src/testing/lacking.js";
import { startPglite } from "./pglite-server.js";
import { type PostgresServer, startPostgres, whyNoPostgres } from "./postgres-server.js";
import { wordEmbedder } from "./vector-support.js";

const missing = whyNoPostgres();
let real: PostgresServer | undefined;
let server: { readonly url: string; stop(): Promise<void> };
const endings: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  if (missing === undefined) real = await startPostgres();
  server = real ?? (await startPglite());
});
afterAll(() => server?.stop());
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** The address as each of several servers has it: a pool of its own. */
function serversOf(location: string): (at: number) => string {
  return (at) => `${location}&pool=${11 + at}`;
}

function kept<T extends { close(): Promise<void> }>(opened: T): T {
  endings.push(() => opened.close());
  return opened;
}

describe("a follower of what another server writes", () => {
  test("looks every 500 ms at the longest, unless told otherwise, and its next look sees what was acknowledged", async () => {
    const at = serversOf(hubIn(server.url));
    const writer = kept(await open(at(0), { actor: "ada" }));
    await writer.write({ type: "note", text: "before" });
    // Pauses that somebody can be woken from are those between looks; time stands still until the test moves it.
    const paused: { readonly ms: number; readonly end: () => void }[] = [];
    const wait: Pause = (ms, signal) =>
      new Promise((resolve) => {
        if (signal === undefined) resolve();
        else paused.push({ ms, end: resolve });
      });
    const { memory } = await openGraph(at(1), { actor: "ada", jobs: false }, wait);
    kept(memory);
    const events = memory.subscribe();
    endings.push(() => events.return());
    const next = events.next();
    const pauses: number[] = [];
    const look = async (): Promise<void> => {
      await expect.poll(() => paused.length).toBe(1);
      for (const { ms, end } of paused.splice(0)) {
        pauses.push(ms);
        end();
      }
    };
    for (let turn = 0; turn < 8; turn += 1) await look();
    expect(pauses).toEqual([20, 40, 80, 160, 320, 500, 500, 500]);
    await expect.poll(() => paused.length).toBe(1);
    const { seq } = await writer.write({ type: "note", text: "news" });
    await look();
    expect((await next).value?.seq).toBe(seq);
    expect(paused).toEqual([]);
    expect(pauses.at(-1)).toBe(500);
  });
});

describe("the end of the text index", () => {
  /** A store that tells which entries were read in stretches of the journal, as the text index reads them. */
  function tellingEntries(inner: Kv): { readonly kv: Kv; readonly seqs: number[] } {
    const seqs: number[] = [];
    const kv = around(inner, {
      async snapshot(options) {
        const snapshot = await inner.snapshot(options);
        return {
          getMany: (keys) => snapshot.getMany(keys),
          async ranges(ranges) {
            const found = await snapshot.ranges(ranges);
            for (const { key } of found.flat()) {
              if (key[0] === KEYSPACE.journal.byte) seqs.push(readU64(key, 1));
            }
            return found;
          },
          close: () => snapshot.close(),
        };
      },
    });
    return { kv, seqs };
  }

  async function told(location: string) {
    const telling = tellingEntries(await openPostgresKv(location, "ada"));
    endings.push(() => telling.kv.close());
    const memory = await open("memory:", { actor: "ada", kv: telling.kv, jobs: false });
    return { memory: kept(memory), seqs: telling.seqs };
  }

  test("every server reads an entry of another one once, however often it searches, and none of its own", async () => {
    const at = serversOf(hubIn(server.url));
    const [writer, reader] = [await told(at(0)), await told(at(1))];
    const written: number[] = [];
    const search = async (memory: Cortex, hits: number): Promise<void> => {
      expect((await memory.search("harbour", { limit: 50 })).hits).toHaveLength(hits);
    };
    await search(reader.memory, 0);
    await search(writer.memory, 0);
    for (const { seqs } of [writer, reader]) seqs.length = 0;
    for (let turn = 0; turn < 10; turn += 1) {
      const { seq } = await writer.memory.write({ type: "fact", text: `harbour ${turn}` });
      written.push(seq);
      for (let again = 0; again < 3; again += 1) await search(reader.memory, written.length);
      await search(writer.memory, written.length);
    }
    // Several at once, after which nobody has searched.
    for (let turn = 0; turn < 10; turn += 1) {
      written.push((await writer.memory.write({ type: "fact", text: `harbour wall ${turn}` })).seq);
    }
    await search(reader.memory, written.length);
    await search(reader.memory, written.length);
    expect(reader.seqs).toEqual(written);
    expect(writer.seqs).toEqual([]);
  });
});

describe("what one server does holds on the others", () => {
  test("vectors that one made answer on another, which asks for none of them again", async () => {
    const at = serversOf(hubIn(server.url));
    const [one, other] = [wordEmbedder(), wordEmbedder()];
    const first = kept(await open(at(0), { actor: "ada", embedder: one, jobs: false }));
    const second = kept(await open(at(1), { actor: "ada", embedder: other, jobs: false }));
    const texts = ["tall ships in the harbour", "bread and butter", "a walk in the hills"];
    await first.batch(texts.map((text) => ({ write: { type: "fact" as const, text } })));
    await first.embedPending();
    expect([...one.asked].sort()).toEqual([...texts].sort());
    const { hits } = await second.recall("ships", { budgetTokens: 200 });
    expect(hits[0]?.text).toBe("tall ships in the harbour");
    await second.embedPending();
    expect(other.asked.filter((text) => texts.includes(text))).toEqual([]);
    // What is forgotten on one is near nothing on the other.
    await second.forget(hits[0]?.id ?? "", "asked");
    const after = await first.recall("ships", { budgetTokens: 200 });
    expect(after.hits.map(({ text }) => text)).not.toContain("tall ships in the harbour");
    expect(await first.check()).toMatchObject({ ok: true });
  });

  test("attesting on one moves weights and counters for all, and one task is attested once", async () => {
    const at = serversOf(hubIn(server.url));
    const first = kept(await open(at(0), { actor: "ada" }));
    const second = kept(await open(at(1), { actor: "ada" }));
    const { id } = await first.write({ type: "fact", text: "the ferry leaves at nine" });
    expect((await second.get(id))?.head.lifecycle).toBe("active");
    const task = { intentId: "catch the ferry", cited: [id], outcome: "success" } as const;
    const same = { ...task, idempotencyKey: "task-1" };
    const [one, other] = await Promise.all([first.attest(same), second.attest(same)]);
    expect(other).toEqual(one);
    expect(one.affected).toEqual([id]);
    expect(await second.weights()).toMatchObject({ weights: one.weights, seq: one.learnSeq });
    const third = await second.attest({ ...task, intentId: "again" });
    expect(third.previousWeights).toEqual(one.weights);
    expect(await first.weights()).toMatchObject({ weights: third.weights, seq: third.learnSeq });
    expect((await first.root()).root).toBe((await second.root()).root);
    expect(await first.check()).toMatchObject({ ok: true });
  });

  test("a lease of a server that is gone is taken by one other when it has run out, and by none before", async () => {
    const at = serversOf(hubIn(server.url));
    const memory = kept(await open(at(0), { actor: "ada", jobs: false }));
    await memory.write({ type: "note", text: "a store to work at" });
    let now = 1_000_000;
    const leases = await Promise.all(
      [1, 2, 3].map(async (number) => {
        const kv = kept(await openPostgresKv(at(number), "ada"));
        const owner = new Uint8Array(OWNER_BYTES).fill(number);
        return new Lease({ kv, clock: () => now, name: "work", owner, leaseMs: 9000 });
      }),
    );
    const taken = async (): Promise<readonly boolean[]> =>
      Promise.all(leases.map((lease) => lease.take()));
    const [gone, ...others] = leases;
    expect(await gone?.take()).toBe(true);
    now += 8999;
    expect(await Promise.all(others.map((lease) => lease.take()))).toEqual([false, false]);
    now += 2;
    // Both want it at one moment: the row is compared with what each has read.
    const won = await Promise.all(others.map((lease) => lease.take()));
    expect(won.filter(Boolean)).toHaveLength(1);
    // Who comes back is told that it is another's.
    expect(await gone?.renew()).toBe(false);
    expect((await taken()).filter(Boolean)).toHaveLength(1);
  });
});

describe.skipIf(isLacking(missing === undefined, missing ?? ""))("writers", () => {
  test("of different actors go side by side: one whose head row is locked waits, another one does not", async () => {
    const location = hubIn(server.url);
    const at = serversOf(location);
    const ada = kept(await open(at(0), { actor: "ada" }));
    const bob = kept(await open(at(0), { actor: "bob" }));
    const eve = kept(await open(at(1), { actor: "eve" }));
    for (const memory of [ada, bob, eve]) await memory.write({ type: "note", text: "first" });
    const holder = new pg.Client({ connectionString: server.url });
    await holder.connect();
    endings.push(() => holder.end());
    const name = `${new URL(location).searchParams.get("hub")}/ada`;
    await holder.query("BEGIN");
    await holder.query("SELECT 1 FROM cortex_heads WHERE actor = $1 FOR UPDATE", [name]);
    let isThere = false;
    const waiting = ada.write({ type: "note", text: "waits" }).then(() => {
      isThere = true;
    });
    const locks = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    await expect.poll(() => real?.psql(locks)).toBe("1");
    for (const memory of [bob, eve]) {
      await memory.write({ type: "note", text: "beside" });
      await memory.batch([{ write: { type: "note", text: "a batch beside" } }]);
      expect((await memory.list({})).memories).toHaveLength(3);
    }
    // Reading is in nobody's way.
    expect((await ada.list({})).memories).toHaveLength(1);
    expect([isThere, real?.psql(locks)]).toEqual([false, "1"]);
    await holder.query("COMMIT");
    await waiting;
    expect((await ada.list({})).memories).toHaveLength(2);
  });

  test("wait for a lock as long as the address says, are told so, and have written nothing", async () => {
    const location = hubIn(server.url);
    const memory = kept(await open(`${location}&lock=1`, { actor: "ada" }));
    const patient = kept(await open(location, { actor: "ada" }));
    const { seq } = await memory.write({ type: "note", text: "first" });
    const holder = new pg.Client({ connectionString: server.url });
    await holder.connect();
    endings.push(() => holder.end());
    const name = `${new URL(location).searchParams.get("hub")}/ada`;
    await holder.query("BEGIN");
    await holder.query("SELECT 1 FROM cortex_heads WHERE actor = $1 FOR UPDATE", [name]);
    const waits = patient.write({ type: "note", text: "from who waits longer" });
    const told = { code: "ERR_CONTENDED", message: expect.stringContaining("kept its lock") };
    const many = Array.from({ length: 300 }, (_, at) => ({
      write: { type: "fact" as const, text: `fact ${at}` },
    }));
    // One after the other: together they would be one commit.
    await expect(memory.write({ type: "note", text: "refused" })).rejects.toMatchObject(told);
    await expect(memory.batch(many)).rejects.toMatchObject(told);
    expect(await memory.root()).toMatchObject({ seq });
    expect(postgresCounts().some(({ lockTimeouts }) => lockTimeouts === 2)).toBe(true);
    await holder.query("COMMIT");
    await waits;
    await memory.write({ type: "note", text: "goes on" });
    expect((await memory.list({ order: "oldest" })).memories.map(({ text }) => text)).toEqual([
      "first",
      "from who waits longer",
      "goes on",
    ]);
    expect(await memory.check()).toMatchObject({ ok: true });
  });
});
