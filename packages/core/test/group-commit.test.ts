/**
 * Group commit: waiting operations share one commit, and none of them notices.
 *
 * Few commits for many writes, seqs in the order of submission, failures that stay alone, nothing on
 * exact rows without an entry, and times that never go back nor leap unseen.
 */
import { describe, expect, test } from "vitest";
import { encode } from "../src/codec/cbor.js";
import { sha256Node } from "../src/codec/sha256-node.js";
import { checkClasses } from "../src/history/commit.js";
import { Writer, type WriterParts, type WriteTx } from "../src/history/writer.js";
import { type Cortex, CortexError, isCortexError, LIMITS, open } from "../src/index.js";
import { SUBJECT } from "../src/journal/entry.js";
import { idKey, journalKey, KEYSPACE, textKey } from "../src/kv/keyspace.js";
import { around, type Kv } from "../src/kv/kv.js";
import { openMemoryKv } from "../src/kv/memory-backend.js";
import { type CountingKv, countingKv, seededRandom } from "../src/testing/index.js";

async function openCounted(): Promise<{ readonly memory: Cortex; readonly kv: CountingKv }> {
  const kv = countingKv(openMemoryKv());
  const memory = await open("memory:", { actor: "ada", kv });
  kv.reset();
  return { memory, kv };
}

/** Every row of a store, as text. */
async function rowsOf(kv: Kv): Promise<string[]> {
  const snapshot = await kv.snapshot();
  const range = { gte: new Uint8Array(0), lt: Uint8Array.of(0xff, 0xff), limit: 1_000_000 };
  const [rows = []] = await snapshot.ranges([range]);
  snapshot.close();
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
  return rows.map(({ key, value }) => `${hex(key)} ${hex(value)}`);
}

function ascending(count: number, first: number): number[] {
  return Array.from({ length: count }, (_, at) => first + at);
}

describe("many at once", () => {
  test("64 writes of one turn are one commit, in the order of submission", async () => {
    const { memory, kv } = await openCounted();
    const texts = ascending(64, 0).map((n) => `note ${n}`);
    const results = await Promise.all(texts.map((text) => memory.write({ type: "note", text })));
    expect(kv.counts().commits).toBe(1);
    expect(results.map(({ seq }) => seq)).toEqual(ascending(64, 1));
    const { entries } = await memory.log({ limit: 100 });
    expect(entries.map(({ seq }) => seq)).toEqual(ascending(65, 0));
    expect(entries.every(({ batch }) => batch === undefined)).toBe(true);
    for (const [at, { id }] of results.entries()) {
      expect((await memory.get(id))?.text).toBe(texts[at]);
    }
    expect((await memory.check()).ok).toBe(true);
  });

  test("writes that come while a commit is under way share the next one", async () => {
    const { memory, kv } = await openCounted();
    const lanes = Array.from({ length: 16 }, async (_, lane) => {
      for (let n = 0; n < 8; n += 1) await memory.write({ type: "note", text: `${lane} ${n}` });
    });
    await Promise.all(lanes);
    expect((await memory.stats()).entries).toBe(129);
    expect(kv.counts().commits).toBeLessThanOrEqual(16);
  });

  test("a group is closed in time: more than its limit makes several commits", async () => {
    const { memory, kv } = await openCounted();
    const count = 2 * LIMITS.groupOperations + 1;
    const all = ascending(count, 0).map((n) => memory.write({ type: "note", text: `note ${n}` }));
    const seqs = (await Promise.all(all)).map(({ seq }) => seq);
    expect(kv.counts().commits).toBe(3);
    expect(seqs).toEqual(ascending(count, 1));
  });

  test("an operation may need more rows than a call may have arguments", async () => {
    const writer = testWriter(openMemoryKv());
    const keys = ascending(250_000, 0).map(journalKey);
    const found = await writer.submit({
      run: (tx) => {
        tx.view.need(keys);
        return appendPlain(tx);
      },
    });
    expect(found.seq).toBe(0);
  });

  test("later ones of a group build on earlier ones", async () => {
    const { memory, kv } = await openCounted();
    const [, updated, , linked] = await Promise.all([
      memory.write({ type: "fact", externalId: "a", text: "one" }),
      memory.update("a", { text: "two" }),
      memory.write({ type: "fact", externalId: "b", text: "other" }),
      memory.link("a", "supports", "b"),
      memory.tombstone("b", "gone"),
    ]);
    expect(kv.counts().commits).toBe(1);
    expect(updated.version).toBe(2);
    expect(linked.changed).toBe(true);
    expect((await memory.get("b"))?.head.lifecycle).toBe("tombstoned");
    expect((await memory.check()).ok).toBe(true);
  });
});

describe("failures", () => {
  test("one in the middle harms nobody, and takes no seq", async () => {
    const { memory, kv } = await openCounted();
    await memory.write({ type: "note", externalId: "taken", text: "first" });
    kv.reset();
    const asked = ascending(60, 0).map((n) => {
      if (n % 6 === 1) return memory.link("nobody", "supports", "taken");
      if (n % 6 === 3) return memory.write({ type: "note", externalId: "taken", text: `${n}` });
      if (n % 6 === 5) return memory.update("nobody", { text: `${n}` });
      return memory.write({ type: "note", text: `note ${n}` });
    });
    const settled = await Promise.allSettled(asked);
    const codes = settled.map((one) => (one.status === "rejected" ? one.reason.code : "ok"));
    const expected = ["ok", "ERR_UNKNOWN_ENDPOINT", "ok", "ERR_EXISTS", "ok", "ERR_NOT_FOUND"];
    expect(codes).toEqual(codes.map((_, n) => expected[n % 6]));
    const seqs = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value.seq] : []));
    expect(seqs).toEqual(ascending(30, 2));
    expect(kv.counts().commits).toBe(1);
    expect(await memory.check()).toMatchObject({ ok: true, entries: 32 });
  });

  test("a batch that fails leaves nothing, not even beside one that stands", async () => {
    const { memory, kv } = await openCounted();
    await memory.write({ type: "note", externalId: "there", text: "there" });
    const before = await rowsOf(kv);
    const bad = [
      { write: { type: "note", text: "a" } as const, ref: "a" },
      { link: { from: { ref: "a" }, kind: "a new kind", to: "there" } },
      { update: { id: "there", text: "changed" } },
      { link: { from: { ref: "a" }, kind: "supports", to: "nobody" } },
    ];
    await expect(memory.batch(bad)).rejects.toMatchObject({ code: "ERR_UNKNOWN_ENDPOINT" });
    expect(await rowsOf(kv)).toEqual(before);
    const [failed, stands] = await Promise.allSettled([
      memory.batch(bad),
      memory.write({ type: "note", externalId: "beside", text: "beside" }),
    ]);
    expect(failed.status).toBe("rejected");
    expect(stands.status).toBe("fulfilled");
    expect(await memory.stats()).toMatchObject({ entries: 3, edges: { live: 0, openKinds: 0 } });
    expect((await memory.get("there"))?.version).toBe(1);
    expect((await memory.check()).ok).toBe(true);
  });

  test("storage that fails rejects the group, and the next one goes through", async () => {
    const inner = openMemoryKv();
    let failing = false;
    const kv = around(inner, {
      commit: (change) =>
        failing ? Promise.reject(new CortexError("ERR_DISK_FULL", "full")) : inner.commit(change),
    });
    const memory = await open("memory:", { actor: "ada", kv });
    await memory.write({ type: "note", text: "before" });
    failing = true;
    const group = ["a", "b", "c"].map((text) => memory.write({ type: "note", text }));
    for (const one of await Promise.allSettled(group)) {
      expect(one).toMatchObject({ status: "rejected", reason: { code: "ERR_DISK_FULL" } });
    }
    expect((await memory.stats()).entries).toBe(2);
    failing = false;
    expect((await memory.write({ type: "note", text: "after" })).seq).toBe(2);
    expect((await memory.check()).ok).toBe(true);
  });

  test("a race that is lost every time is given up with a code", async () => {
    const inner = openMemoryKv();
    let losing = false;
    let tried = 0;
    const kv = around(inner, {
      commit: async (change) => {
        if (!losing) return inner.commit(change);
        tried += 1;
        return { ok: false, head: undefined };
      },
    });
    const memory = await open("memory:", { actor: "ada", kv });
    losing = true;
    const lost = memory.write({ type: "note", text: "never" });
    await expect(lost).rejects.toMatchObject({ code: "ERR_CONTENDED" });
    expect(tried).toBe(LIMITS.commitAttempts);
    losing = false;
    expect((await memory.write({ type: "note", text: "after" })).seq).toBe(1);
  });
});

/** A writer of its own, with the clock and the elapsed time in the hands of the test. */
function testWriter(kv: Kv, times: Partial<WriterParts> = {}): Writer {
  const random = seededRandom(7).bytes;
  const pause = async (): Promise<void> => undefined;
  return new Writer({ kv, sha256: sha256Node, clock: () => 1000, random, pause, ...times });
}

/** The plainest entry there is; the first one is the genesis. */
function appendPlain(tx: WriteTx): number {
  const isFirst = tx.nextSeq() === 0;
  return tx.append({
    kind: isFirst ? "genesis" : "config",
    by: "ada",
    parts: [
      {
        subject: Uint8Array.of(isFirst ? SUBJECT.store : SUBJECT.config),
        record: encode({ conflictPolicy: "lww", kindWhitelist: [] }),
      },
    ],
  });
}

describe("exact rows and entries belong together", () => {
  const exact = idKey("memory", new Uint8Array(16));
  const cache = textKey("cursor", "job");

  test("the guard knows every class", () => {
    const refused = { code: "ERR_BATCH_NO_JOURNAL" };
    const touching = (key: Uint8Array) => [
      { puts: [{ key, value: new Uint8Array(0) }], deletes: [] },
      { puts: [], deletes: [key] },
    ];
    for (const commit of touching(exact)) {
      expect(() => checkClasses(commit, false)).toThrow(expect.objectContaining(refused));
      expect(() => checkClasses(commit, true)).not.toThrow();
    }
    for (const commit of touching(cache)) {
      expect(() => checkClasses(commit, true)).toThrow(expect.objectContaining(refused));
      expect(() => checkClasses(commit, false)).not.toThrow();
    }
    for (const commit of touching(journalKey(5))) {
      expect(() => checkClasses(commit, false)).toThrow(expect.objectContaining(refused));
    }
  });

  test("an operation that touches a cache with its entry is refused", async () => {
    const kv = openMemoryKv();
    const writer = testWriter(kv);
    await writer.submit({ run: appendPlain });
    const before = await rowsOf(kv);
    const mixed = writer.submit({
      run: (tx) => {
        tx.fold.view.put(cache, Uint8Array.of(1));
        return appendPlain(tx);
      },
    });
    await expect(mixed).rejects.toMatchObject({ code: "ERR_BATCH_NO_JOURNAL" });
    expect(await rowsOf(kv)).toEqual(before);
    expect((await writer.submit({ run: appendPlain })).seq).toBe(1);
  });

  test("an operation without an entry is refused, also in a group that has some", async () => {
    const kv = openMemoryKv();
    const writer = testWriter(kv);
    await writer.submit({ run: appendPlain });
    const silent = { run: (tx: WriteTx) => tx.fold.view.put(exact, Uint8Array.of(1)) };
    await expect(writer.submit(silent)).rejects.toMatchObject({ code: "ERR_BATCH_NO_JOURNAL" });
    const [first, second, third] = await Promise.allSettled([
      writer.submit({ run: appendPlain }),
      writer.submit(silent),
      writer.submit({ run: appendPlain }),
    ]);
    expect([first.status, second.status, third.status]).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    const keys = (await rowsOf(kv)).map((row) => row.slice(0, 2));
    expect(keys).not.toContain(KEYSPACE.memory.byte.toString(16));
  });
});

describe("time", () => {
  const hours = (count: number): number => count * 60 * 60 * 1000;

  test("a clock that leaps ahead of the process's own time is refused until it is right", async () => {
    let [clock, elapsed] = [1_000_000, 0];
    const kv = openMemoryKv();
    const writer = testWriter(kv, { clock: () => clock, elapsed: () => elapsed });
    await writer.submit({ run: appendPlain });
    clock += hours(23);
    expect((await writer.submit({ run: appendPlain })).seq).toBe(1);
    clock += hours(25);
    const before = await rowsOf(kv);
    const refused = writer.submit({ run: appendPlain });
    await expect(refused).rejects.toMatchObject({ code: "ERR_CLOCK" });
    expect(await rowsOf(kv)).toEqual(before);
    clock -= hours(25);
    expect((await writer.submit({ run: appendPlain })).seq).toBe(2);
    // A process that really ran that long may say so.
    clock += hours(100);
    elapsed += hours(100);
    expect((await writer.submit({ run: appendPlain })).seq).toBe(3);
  });

  test("without a measure of its own the writer takes any clock", async () => {
    let clock = 1_000_000;
    const writer = testWriter(openMemoryKv(), { clock: () => clock });
    await writer.submit({ run: appendPlain });
    clock += hours(1000);
    expect((await writer.submit({ run: appendPlain })).seq).toBe(1);
  });

  test("a clock that goes back does not take the entries with it", async () => {
    let clock = 5_000_000;
    const memory = await open("memory:", { actor: "ada", clock: () => clock });
    const texts = ["a", "b", "c", "d"];
    for (const text of texts) {
      await memory.write({ type: "note", text });
      clock -= 1000;
    }
    clock = 6_000_000;
    await memory.write({ type: "note", text: "e" });
    const { entries } = await memory.log();
    expect(entries.map(({ at }) => at)).toEqual([...Array(5).fill(5_000_000), 6_000_000]);
    expect((await memory.check()).ok).toBe(true);
  });
});

test("a closed store refuses writes and finishes what was queued", async () => {
  const { memory } = await openCounted();
  const queued = ["a", "b"].map((text) => memory.write({ type: "note", text }));
  const closing = memory.close();
  const late = memory.write({ type: "note", text: "late" });
  await expect(late).rejects.toSatisfy((error) => isCortexError(error, "ERR_CLOSED"));
  expect((await Promise.all(queued)).map(({ seq }) => seq)).toEqual([1, 2]);
  await closing;
});
