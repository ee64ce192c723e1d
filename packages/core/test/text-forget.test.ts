/**
 * What is forgotten is gone from the text index: no row of any cache holds a word of it, and the rest
 * is scored as if it had never been there. In segments, in tails, with the words known or not, when
 * the process dies in between, and when somebody else does the forgetting.
 */
import { afterEach, describe, expect, test } from "vitest";
import type { Engine } from "../src/engine/engine.js";
import type { Cortex } from "../src/index.js";
import { KEYSPACE, type KeyPrefix } from "../src/kv/keyspace.js";
import { around, type Kv } from "../src/kv/kv.js";
import { MemoryStore, openMemoryKv } from "../src/kv/memory-backend.js";
import { openGraph } from "../src/open.js";
import { seededRandom } from "../src/testing/seeded-random.js";
import { atCleanUp, cleanUp } from "./other-process.js";

afterEach(cleanUp);

interface Handle {
  readonly memory: Cortex;
  readonly engine: Engine;
  readonly kv: Kv;
}

/** A handle on a store, as a process would have one; `wrap` puts something before its storage. */
async function handle(store: MemoryStore, seed: number, wrap = (kv: Kv) => kv): Promise<Handle> {
  const kv = wrap(openMemoryKv(store));
  const { memory, engine } = await openGraph("memory:", {
    actor: "ada",
    kv,
    random: seededRandom(seed).bytes,
  });
  atCleanUp(() => memory.close());
  return { memory, engine, kv };
}

/** Every word of a secret memory, as an index would spell it; none stands anywhere else. */
const SECRET = "zanzibar quokka mixolydian";
const SECRET_WORDS = ["zanzibar", "quokka", "mixolydian", "xylotag", "xylokind"];

/** Whether the bytes of any cache row, key or value, hold one of the words. */
async function tracesOf(kv: Kv, words: readonly string[]): Promise<readonly string[]> {
  const caches = (Object.values(KEYSPACE) as KeyPrefix[]).filter((one) => one.class === "cache");
  const snapshot = await kv.snapshot();
  try {
    const rows = await snapshot.ranges(
      caches.map(({ byte }) => ({
        gte: Uint8Array.of(byte),
        lt: Uint8Array.of(byte + 1),
        limit: 1_000_000,
      })),
    );
    return rows.flat().flatMap(({ key, value }) => {
      const bytes = `${Buffer.from(key).toString("latin1")} ${Buffer.from(value).toString("latin1")}`;
      return words.filter((word) => bytes.includes(word)).map((word) => `${word} in ${key[0]}`);
    });
  } finally {
    snapshot.close();
  }
}

async function fill(memory: Cortex, count: number, from = 0): Promise<void> {
  await memory.batch(
    Array.from({ length: count }, (_, at) => ({
      write: { type: "fact", text: `plain memory number ${from + at} of the harbour` },
    })),
  );
}

async function writeSecret(memory: Cortex): Promise<string> {
  const { id } = await memory.write({
    type: "note",
    kind: "xylokind",
    text: `harbour ${SECRET}`,
    tags: ["xylotag"],
  });
  return id;
}

/** Hits and scores of a few searches; equal lists mean equal statistics. */
async function answers(memory: Cortex): Promise<unknown> {
  const results = [];
  for (const text of ["harbour", "plain 7", "number memory", "zanzibar"]) {
    const { hits } = await memory.search(text, { limit: 30, lifecycles: ["active", "tombstoned"] });
    results.push(hits.map(({ text: said, score }) => [said, score.toFixed(12)]));
  }
  return results;
}

/** The same history without the secret. */
async function answersWithout(history: (memory: Cortex) => Promise<void>): Promise<unknown> {
  const { memory } = await handle(new MemoryStore(), 9);
  await history(memory);
  return answers(memory);
}

describe("forgetting", () => {
  test("a memory in a segment, with versions that ended in other segments", async () => {
    const { memory, engine, kv } = await handle(new MemoryStore(), 1);
    await fill(memory, 300);
    const id = await writeSecret(memory);
    await engine.text.flush();
    await memory.update(id, { text: `${SECRET} twice` });
    await fill(memory, 300, 300);
    await engine.text.flush();
    await memory.tombstone(id, "hidden");
    await engine.text.flush();
    await memory.restore(id);
    await memory.updateHead(id, { tags: ["xylotag", "other"] });
    expect(await tracesOf(kv, SECRET_WORDS)).not.toEqual([]);
    expect((await memory.search("zanzibar")).hits).toHaveLength(1);
    await memory.forget(id, "asked");
    expect(await tracesOf(kv, [...SECRET_WORDS, "twice"])).toEqual([]);
    expect((await memory.search("zanzibar")).hits).toEqual([]);
    const same = await answersWithout(async (other) => {
      await fill(other, 300);
      await fill(other, 300, 300);
    });
    expect(await answers(memory)).toEqual(same);
    await engine.text.flush();
    expect(await tracesOf(kv, [...SECRET_WORDS, "twice"])).toEqual([]);
    expect(await answers(memory)).toEqual(same);
    expect(await memory.check()).toMatchObject({ ok: true, problems: [] });
  });

  test("a memory in the tail alone never reaches a segment", async () => {
    const { memory, engine, kv } = await handle(new MemoryStore(), 2);
    await fill(memory, 50);
    const id = await writeSecret(memory);
    expect((await memory.search("zanzibar")).hits).toHaveLength(1);
    await memory.forget(id, "asked");
    expect((await memory.search("zanzibar")).hits).toEqual([]);
    await engine.text.flush();
    expect(await tracesOf(kv, SECRET_WORDS)).toEqual([]);
    expect(await answers(memory)).toEqual(await answersWithout((other) => fill(other, 50)));
  });

  test("after a merge, and with everything derived from it", async () => {
    const { memory, engine, kv } = await handle(new MemoryStore(), 3);
    const id = await writeSecret(memory);
    await memory.write({
      type: "note",
      text: "a quokka of its own",
      provenance: { derivedFrom: [`cortex://ada/Note/${id}#1`] },
    });
    for (let round = 0; round < 9; round += 1) {
      await fill(memory, 40, 40 * round);
      await engine.text.flush();
    }
    expect((await engine.text.merge()).gone).toBeGreaterThan(0);
    expect((await memory.search("quokka")).hits).toHaveLength(2);
    const { erased } = await memory.forget(id, "asked", { cascade: true });
    expect(erased).toHaveLength(2);
    expect(await tracesOf(kv, SECRET_WORDS)).toEqual([]);
    expect(await memory.check()).toMatchObject({ ok: true });
    const same = await answersWithout(async (other) => {
      for (let round = 0; round < 9; round += 1) await fill(other, 40, 40 * round);
    });
    expect(await answers(memory)).toEqual(same);
  });

  test("by another process, while this one holds a tail with the words", async () => {
    const store = new MemoryStore();
    const here = await handle(store, 4);
    const there = await handle(store, 5);
    await fill(here.memory, 60);
    await here.engine.text.flush();
    const id = await writeSecret(there.memory);
    expect((await here.memory.search("zanzibar")).hits).toHaveLength(1);
    await there.memory.forget(id, "asked");
    expect((await here.memory.search("zanzibar")).hits).toEqual([]);
    await here.engine.text.flush();
    expect(await tracesOf(here.kv, SECRET_WORDS)).toEqual([]);
    expect(await answers(here.memory)).toEqual(await answersWithout((other) => fill(other, 60)));
  });

  test("a purge that never came is made up for by whoever searches next", async () => {
    const store = new MemoryStore();
    const { memory, engine } = await handle(store, 6);
    await fill(memory, 120);
    const id = await writeSecret(memory);
    await memory.update(id, { text: `${SECRET} again` });
    await engine.text.flush();
    await fill(memory, 30, 120);
    // The entry commits; then storage refuses every change of caches, as if the process had died.
    const dying = await handle(store, 7, (kv) =>
      around(kv, {
        commitCaches: () => Promise.reject(new Error("killed")),
      }),
    );
    await expect(dying.memory.forget(id, "asked")).rejects.toThrow("killed");
    const next = await handle(store, 8);
    expect(await tracesOf(next.kv, SECRET_WORDS)).not.toEqual([]);
    expect((await next.memory.search("zanzibar")).hits).toEqual([]);
    await next.engine.text.flush();
    expect(await tracesOf(next.kv, [...SECRET_WORDS, "again"])).toEqual([]);
    const same = await answersWithout(async (other) => {
      await fill(other, 120);
      await fill(other, 30, 120);
    });
    expect(await answers(next.memory)).toEqual(same);
    expect(await next.memory.check()).toMatchObject({ ok: true });
  });

  test("forgetting again finishes a purge that never came", async () => {
    const store = new MemoryStore();
    const { memory, engine, kv } = await handle(store, 10);
    const id = await writeSecret(memory);
    await engine.text.flush();
    const dying = await handle(store, 11, (inner) =>
      around(inner, {
        commitCaches: () => Promise.reject(new Error("killed")),
      }),
    );
    await expect(dying.memory.forget(id, "asked")).rejects.toThrow("killed");
    expect(await memory.forget(id, "asked")).toMatchObject({ erased: [] });
    expect(await tracesOf(kv, SECRET_WORDS)).toEqual([]);
  });

  test("a flush that was computed before the forget loses the race", async () => {
    const store = new MemoryStore();
    const { memory, kv } = await handle(store, 12);
    await fill(memory, 40);
    const id = await writeSecret(memory);
    let isForgotten = false;
    // Between what the flush has read and what it commits, the memory is forgotten.
    const late = await handle(store, 13, (inner) =>
      around(inner, {
        commitCaches: async (change) => {
          if (!isForgotten) {
            isForgotten = true;
            await memory.forget(id, "asked");
          }
          return inner.commitCaches(change);
        },
      }),
    );
    await late.engine.text.flush();
    expect(isForgotten).toBe(true);
    expect((await late.engine.text.status()).cursor).toBe((await memory.stats()).entries);
    expect(await tracesOf(kv, SECRET_WORDS)).toEqual([]);
    expect(await memory.check()).toMatchObject({ ok: true });
  });

  test("words of another language are gone with the index that was made of them", async () => {
    const { memory, engine, kv } = await handle(new MemoryStore(), 14);
    const id = await writeSecret(memory);
    await engine.text.flush();
    await memory.configure({ language: "german" });
    await memory.forget(id, "asked");
    expect(await tracesOf(kv, SECRET_WORDS)).toEqual([]);
    expect((await memory.search("zanzibar")).hits).toEqual([]);
  });
});

describe("a check of the index", () => {
  test("finds a document that a forget should have taken out, and counts that are wrong", async () => {
    const store = new MemoryStore();
    const { memory, engine, kv } = await handle(store, 15);
    await fill(memory, 40);
    const id = await writeSecret(memory);
    await engine.text.flush();
    const before = await cacheRows(kv);
    await memory.forget(id, "asked");
    expect((await memory.check()).ok).toBe(true);
    // The rows as they were before the purge, under a manifest that says it took place.
    const manifest = (await cacheRows(kv)).filter(
      ({ key }) => key[0] === KEYSPACE.textManifest.byte,
    );
    const old = before.filter(({ key }) => key[0] !== KEYSPACE.textManifest.byte);
    await kv.commitCaches({ expect: [], puts: [...old, ...manifest], deletes: [] });
    const { memory: again } = await handle(store, 16);
    const report = await again.check();
    expect(report.ok).toBe(false);
    const messages = report.problems.map(({ message }) => message).join("\n");
    expect(messages).toContain("which is gone");
    expect(messages).toContain("words are not held by as many documents as they should");
    expect(messages).not.toContain("zanzibar");
    expect((await again.search("zanzibar")).hits).toEqual([]);
  });
});

async function cacheRows(kv: Kv): Promise<{ key: Uint8Array; value: Uint8Array }[]> {
  const snapshot = await kv.snapshot();
  const range = { gte: Uint8Array.of(0x81), lt: Uint8Array.of(0x87), limit: 100_000 };
  const [rows = []] = await snapshot.ranges([range]);
  snapshot.close();
  return rows;
}
