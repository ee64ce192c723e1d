/**
 * A scrub reads everything and names what does not agree: generated damage of entries, headers, the
 * journal's tree, rows and ways to memories. A sound store passes and keeps every byte.
 */
import { describe, expect, test } from "vitest";
import { getU64, KEYSPACE, type KeyPrefix } from "../kv/keyspace.js";
import type { Kv, KvRow } from "../kv/kv.js";
import { HEAD_KEY } from "../kv/kv.js";
import { openTestStore, seededRandom, type TestStore } from "../testing/index.js";

const SEED = Number(process.env.CORTEX_SEED ?? 20_301_117);

/** A store with versions, links, tags, something forgotten, and more entries than one page reads. */
async function filled(): Promise<TestStore & { readonly kv: Kv }> {
  let kv: Kv | undefined;
  const wrap = (given: Kv): Kv => {
    kv = given;
    return given;
  };
  const store = await openTestStore({ check: false, wrap });
  const { memory } = store;
  const items = Array.from({ length: 300 }, (_, n) => ({
    write: {
      type: n % 2 === 0 ? ("fact" as const) : ("note" as const),
      externalId: `note-${n}`,
      text: `Note ${n}`,
      tags: ["a", `b${n % 7}`],
    },
  }));
  for (let at = 0; at < items.length; at += 60) await memory.batch(items.slice(at, at + 60));
  for (let n = 0; n < 20; n += 1) {
    await memory.update(`note-${n}`, { text: `Changed ${n}` });
    await memory.link(`note-${n}`, "supports", `note-${n + 1}`);
  }
  await memory.forget("note-5", "asked to");
  await memory.tombstone("note-9", "wrong");
  if (kv === undefined) throw new Error("no storage was opened");
  return Object.assign(store, { kv });
}

async function rowsOf(kv: Kv, prefix: KeyPrefix): Promise<readonly KvRow[]> {
  const snapshot = await kv.snapshot();
  const range = { gte: Uint8Array.of(prefix.byte), lt: Uint8Array.of(prefix.byte + 1), limit: 1e6 };
  const [rows = []] = await snapshot.ranges([range]);
  snapshot.close();
  return rows;
}

/** Changes one row below everything that would notice. */
async function put(kv: Kv, key: Uint8Array, value: Uint8Array | undefined): Promise<void> {
  const snapshot = await kv.snapshot();
  const [head] = await snapshot.getMany([HEAD_KEY]);
  snapshot.close();
  if (head === undefined) throw new Error("no head");
  const [puts, deletes] = value === undefined ? [[], [key]] : [[{ key, value }], []];
  expect(await kv.commit({ expectHead: head, head, puts, deletes })).toEqual({ ok: true });
}

function flipped(bytes: Uint8Array, at: number, bit: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ (1 << bit);
  return copy;
}

test("a sound store passes, at every rate, and nothing of it changes", async () => {
  await using store = await filled();
  const before = await Promise.all(
    Object.values(KEYSPACE).map((prefix) => rowsOf(store.kv, prefix)),
  );
  const seen: number[] = [];
  for (const entriesPerSecond of [undefined, 50_000, 100_000]) {
    const report = await store.memory.scrub({
      entriesPerSecond,
      onProgress: (done) => seen.push(done),
    });
    expect(report).toMatchObject({
      ok: true,
      problems: [],
      more: 0,
      complete: true,
      memories: 300,
    });
    expect(report.entries).toBe(report.seq + 1);
    expect(report.edges).toBeGreaterThan(10);
  }
  expect(seen.length).toBeGreaterThan(6);
  const after = await Promise.all(
    Object.values(KEYSPACE).map((prefix) => rowsOf(store.kv, prefix)),
  );
  expect(after).toEqual(before);
});

test("a signal ends it early, and the report says so", async () => {
  await using store = await filled();
  const stop = new AbortController();
  const report = await store.memory.scrub({ signal: stop.signal, onProgress: () => stop.abort() });
  expect(report).toMatchObject({ ok: true, complete: false, memories: 0 });
});

describe("generated damage is named", () => {
  test("bits turned in entries: the seq, and with a part the hashes", async () => {
    await using store = await filled();
    const random = seededRandom(SEED);
    const entries = await rowsOf(store.kv, KEYSPACE.journal);
    let withHashes = 0;
    for (let round = 0; round < 15; round += 1) {
      const row = entries[random.below(entries.length)] as KvRow;
      const seq = getU64(row.key, 1);
      await put(
        store.kv,
        row.key,
        flipped(row.value, random.below(row.value.length), random.below(8)),
      );
      const report = await store.memory.scrub();
      expect(report, `seed ${SEED}, round ${round}`).toMatchObject({ ok: false, complete: true });
      const named = report.problems.filter((one) => one.seq === seq);
      expect(named.length, `seed ${SEED}, round ${round}, ${JSON.stringify(report)}`).toBe(1);
      if (named[0]?.expected !== undefined && named[0].found !== named[0].expected) withHashes += 1;
      await put(store.kv, row.key, row.value);
    }
    expect(withHashes).toBeGreaterThan(3);
    expect(await store.memory.scrub()).toMatchObject({ ok: true });
  });

  test("rows that are lost: entries, tiles, memories, and every way to a memory or link", async () => {
    await using store = await filled();
    const random = seededRandom(SEED);
    const names = [
      "journal",
      "logTile",
      "memory",
      "externalId",
      "fingerprint",
      "index",
      "edgeOut",
      "edgeIn",
    ] as const;
    for (const name of names) {
      const rows = await rowsOf(store.kv, KEYSPACE[name]);
      for (let round = 0; round < 3; round += 1) {
        const row = rows[random.below(rows.length)] as KvRow;
        await put(store.kv, row.key, undefined);
        const report = await store.memory.scrub();
        expect(report.ok, `seed ${SEED}, ${name}, round ${round}`).toBe(false);
        expect(report.problems[0]?.message).toMatch(/missing|no leaf|at one of its ends/);
        await put(store.kv, row.key, row.value);
      }
    }
    expect(await store.memory.scrub()).toMatchObject({ ok: true });
  });

  test("rows of memories and links that point elsewhere", async () => {
    await using store = await filled();
    for (const prefix of [KEYSPACE.memory, KEYSPACE.edge]) {
      const [first, second] = await rowsOf(store.kv, prefix);
      if (first === undefined || second === undefined) throw new Error("too few rows");
      await put(store.kv, first.key, second.value);
      const report = await store.memory.scrub();
      expect(report).toMatchObject({ ok: false, problems: [{ code: "ERR_CORRUPT" }] });
      await put(store.kv, first.key, first.value);
    }
  });

  test("of more than a hundred the rest is counted", async () => {
    await using store = await filled();
    for (const { key } of (await rowsOf(store.kv, KEYSPACE.journal)).slice(1, 151)) {
      await put(store.kv, key, undefined);
    }
    const report = await store.memory.scrub();
    expect(report.problems).toHaveLength(100);
    expect(report.more).toBeGreaterThanOrEqual(50);
  });
});
