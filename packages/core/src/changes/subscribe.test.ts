/**
 * Following the journal inside one process: every entry once and in order, nothing read ahead, and an
 * end that leaves nothing behind.
 */
import { describe, expect, test } from "vitest";
import type { JournalEvent, Subscription } from "../contract/journal.js";
import { isCortexError } from "../errors.js";
import { openMemoryKv } from "../kv/memory-backend.js";
import { LIMITS } from "../limits.js";
import { open } from "../open.js";
import { GUEST } from "../scope/access.js";
import { type CountingKv, countingKv, openTestStore } from "../testing/index.js";

async function take(subscription: Subscription, count: number): Promise<JournalEvent[]> {
  const events: JournalEvent[] = [];
  while (events.length < count) {
    const next = await subscription.next();
    if (next.done === true) break;
    events.push(next.value);
  }
  return events;
}

const seqsOf = (events: readonly JournalEvent[]): number[] => events.map(({ seq }) => seq);

function notes(count: number, prefix = "n") {
  return Array.from({ length: count }, (_, at) => ({
    write: { type: "note", text: `${prefix} ${at}` } as const,
  }));
}

/** A store whose reads are counted. */
async function countedStore() {
  const counters: CountingKv[] = [];
  const store = await openTestStore({
    check: false,
    wrap: (kv) => {
      const counting = countingKv(kv);
      counters.push(counting);
      return counting;
    },
  });
  const [kv] = counters;
  if (kv === undefined) throw new Error("the store was not wrapped");
  return { store, kv };
}

describe("what is delivered", () => {
  test("from a seq: the past first, then what comes, as log shows it", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id } = await memory.write({ type: "fact", text: "a" });
    const subscription = memory.subscribe({ from: 0 });
    const past = await take(subscription, 2);
    const waiting = subscription.next();
    await memory.updateHead(id, { tags: ["t"] });
    const { value } = await waiting;
    const { entries } = await memory.log();
    const events = [...past, value as JournalEvent];
    expect(events.map(({ memories: _, ...entry }) => entry)).toEqual(entries);
    expect(events.map(({ memories }) => memories)).toEqual([
      [],
      [{ id, type: "fact", erased: false }],
      [{ id, type: "fact", erased: false }],
    ]);
    await subscription.return();
  });

  test("from now on: everything whose write began after the call, however slow the call", async () => {
    let held: Promise<void> | undefined;
    await using store = await openTestStore({
      wrap: (kv) => {
        const inner = countingKv(kv);
        const snapshot = async () => {
          const wait = held;
          held = undefined;
          await wait;
          return inner.snapshot();
        };
        return { ...inner, snapshot };
      },
    });
    const { memory } = store;
    await memory.write({ type: "note", text: "before" });
    let release = (): void => {};
    held = new Promise((resolve) => {
      release = resolve;
    });
    const subscription = memory.subscribe();
    const { seq } = await memory.write({ type: "note", text: "after" });
    await memory.write({ type: "note", text: "later" });
    release();
    expect(seqsOf(await take(subscription, 2))).toEqual([seq, seq + 1]);
    await subscription.return();
  });

  test("a batch comes whole and says so; other kinds are left out on request", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const subscription = memory.subscribe({ from: 0, kinds: ["add_edge", "tombstone"] });
    const { results } = await memory.batch(notes(3));
    const [a = "", b = ""] = results.map((result) => (result.ok ? result.id : ""));
    await memory.link(a, "uses", b);
    await memory.tombstone(a, "done");
    const [link, hidden] = await take(subscription, 2);
    expect([link?.kind, hidden?.kind]).toEqual(["add_edge", "tombstone"]);
    expect(hidden?.memories).toEqual([{ id: a, type: "note", erased: false }]);
    await subscription.return();
    await using all = memory.subscribe({ from: 1 });
    const batch = await take(all, 3);
    expect(batch.map((event) => event.batch)).toEqual(Array(3).fill({ first: 1, length: 3 }));
  });

  test("what was forgotten is shown as erased, with the type it had", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { id, seq } = await memory.write({ type: "preference", text: "a secret" });
    await memory.forget(id, "asked");
    await using subscription = memory.subscribe({ from: seq });
    const [written, forgotten] = await take(subscription, 2);
    expect(written?.memories).toEqual([{ id, type: "preference", erased: true }]);
    expect(written?.parts.map(({ erased }) => erased)).toEqual([true]);
    expect(forgotten?.kind).toBe("forget");
    expect(JSON.stringify([written, forgotten])).not.toContain("secret");
  });

  test("two subscriptions do not disturb each other, nor two readers of one", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const a = memory.subscribe({ from: 0 });
    const b = memory.subscribe({ from: 0 });
    await memory.batch(notes(20));
    const pairs = await Promise.all(Array.from({ length: 21 }, () => a.next()));
    expect(pairs.map(({ value }) => (value as JournalEvent).seq)).toEqual(
      Array.from({ length: 21 }, (_, seq) => seq),
    );
    expect(seqsOf(await take(b, 21))).toEqual(Array.from({ length: 21 }, (_, seq) => seq));
    await Promise.all([a.return(), b.return()]);
  });
});

describe("going on later", () => {
  test("many that wait for the same entry look and read together", async () => {
    const { store, kv: calls } = await countedStore();
    const { memory } = store;
    const { seq } = await memory.write({ type: "note", text: "before" });
    calls.reset();
    const many = Array.from({ length: 300 }, () => memory.subscribe());
    const heard = many.map((events) => events.next());
    await memory.write({ type: "note", text: "for everybody" });
    const seqs = (await Promise.all(heard)).map(({ value }) => value?.seq);
    expect(new Set(seqs)).toEqual(new Set([seq + 1]));
    // Each alone would take one to begin and one to read; a slow machine may look around meanwhile.
    expect(calls.counts().snapshots).toBeLessThan(100);
    await Promise.all(many.map((events) => events.return()));
    expect(calls.counts().openSnapshots).toBe(0);
    await store.dispose();
  });

  test("a gap of ten thousand entries is delivered once and in order", async () => {
    await using store = await openTestStore({ check: false });
    const { memory } = store;
    await memory.batch(notes(10));
    const first = memory.subscribe({ from: 0 });
    const before = await take(first, 7);
    await first.return();
    await memory.batch(notes(5000, "x"));
    await memory.batch(notes(5000, "y"));
    const { entries } = await memory.stats();
    await using again = memory.subscribe({ from: (before.at(-1)?.seq ?? 0) + 1 });
    const rest = await take(again, entries - before.length);
    expect(seqsOf([...before, ...rest])).toEqual(Array.from({ length: entries }, (_, seq) => seq));
    const waiting = again.next();
    await memory.write({ type: "note", text: "last" });
    expect((await waiting).value).toMatchObject({ seq: entries });
  });

  test("a position beyond the end is not waited for: that history was another one", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const { seq } = await memory.write({ type: "note", text: "n" });
    const subscription = memory.subscribe({ from: seq + 2 });
    await expect(subscription.next()).rejects.toMatchObject({ code: "ERR_ROLLED_BACK" });
    expect(await subscription.next()).toEqual({ done: true, value: undefined });
  });
});

describe("a slow reader", () => {
  test("reads a page at a time, holds no snapshot, and lets the writer run ahead", async () => {
    const { store, kv } = await countedStore();
    await using _ = store;
    const { memory } = store;
    await memory.batch(notes(1500));
    const subscription = memory.subscribe({ from: 0 });
    kv.reset();
    await take(subscription, 1);
    for (let round = 0; round < 20; round += 1) await memory.batch(notes(50, `${round}`));
    expect(kv.counts()).toMatchObject({ openSnapshots: 0 });
    const writesOnly = kv.counts().rows;
    expect(writesOnly).toBeLessThanOrEqual(LIMITS.followEntries + 20);
    kv.reset();
    await take(subscription, LIMITS.followEntries - 1);
    expect(kv.counts()).toMatchObject({ snapshots: 0, rows: 0 });
    await take(subscription, 1);
    expect(kv.counts()).toMatchObject({ snapshots: 1, rows: LIMITS.followEntries });
    const rest = await take(subscription, 2501 - LIMITS.followEntries - 1);
    expect(rest.at(-1)?.seq).toBe(2500);
    await subscription.return();
  });

  test("large entries make short pages", async () => {
    const { store, kv } = await countedStore();
    await using _ = store;
    const { memory } = store;
    const content = "x".repeat(20_000);
    await memory.batch(
      Array.from({ length: 499 }, (_, at) => ({
        write: { type: "note", text: `${at} ${content}` } as const,
      })),
    );
    const subscription = memory.subscribe({ from: 0 });
    const pages: number[] = [];
    for (let seq = 0; seq < 500; seq += 1) {
      kv.reset();
      await subscription.next();
      if (kv.counts().rows > 0) pages.push(kv.counts().rows);
    }
    expect(pages).toEqual([256, 128, 116]);
    await subscription.return();
  });
});

describe("the end", () => {
  test("return ends a next that waits, and no timer or listener stays", async () => {
    const { store, kv } = await countedStore();
    await using _ = store;
    const { memory } = store;
    const costOf = async (text: string): Promise<number> => {
      kv.reset();
      await memory.write({ type: "note", text });
      return kv.counts().snapshots;
    };
    await costOf("the first");
    const before = await costOf("with nobody listening");
    const subscription = memory.subscribe();
    const waiting = subscription.next();
    await new Promise((resolve) => setImmediate(resolve));
    expect(await subscription.return()).toEqual({ done: true, value: undefined });
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await subscription.next()).toEqual({ done: true, value: undefined });
    expect(await costOf("again with nobody listening")).toBe(before);
  });

  test("leaving a loop ends it", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    await memory.batch(notes(5));
    const subscription = memory.subscribe({ from: 0 });
    for await (const { seq } of subscription) if (seq === 2) break;
    expect(await subscription.next()).toEqual({ done: true, value: undefined });
  });

  test("a signal ends it, before and while it waits", async () => {
    await using store = await openTestStore();
    const { memory } = store;
    const early = memory.subscribe({ from: 0, signal: AbortSignal.abort() });
    expect((await early.next()).done).toBe(true);
    const controller = new AbortController();
    const subscription = memory.subscribe({ signal: controller.signal, pollMs: 60_000 });
    const waiting = subscription.next();
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect((await waiting).done).toBe(true);
  });

  test("closing the store ends every subscription, and none begins afterwards", async () => {
    const memory = await open("memory:", { kv: openMemoryKv() });
    await memory.batch(notes(5));
    const reading = memory.subscribe({ from: 0 });
    await take(reading, 2);
    const waiting = memory.subscribe({ pollMs: 60_000 }).next();
    const fresh = memory.subscribe({ from: 0 }).next();
    await memory.close();
    expect((await reading.next()).done).toBe(true);
    expect((await waiting).done).toBe(true);
    expect((await fresh).done).toBe(true);
    expect(() => memory.subscribe()).toThrow(expect.objectContaining({ code: "ERR_CLOSED" }));
  });
});

describe("what is refused", () => {
  test.each([
    [{ from: -1 }, "ERR_INVALID", "from"],
    [{ from: 1.5 }, "ERR_INVALID", "from"],
    [{ kinds: [] }, "ERR_INVALID", "kinds"],
    [{ kinds: "write" }, "ERR_INVALID", "kinds"],
    [{ kinds: ["write", "wrote"] }, "ERR_INVALID", "kinds[1]"],
    [{ pollMs: 19 }, "ERR_INVALID", "pollMs"],
    [{ pollMs: 60_001 }, "ERR_INVALID", "pollMs"],
    [{ signal: {} }, "ERR_INVALID", "signal"],
    [{ since: 1 }, "ERR_UNKNOWN_FIELD", "since"],
    [{ access: GUEST }, "ERR_DENIED", "access"],
  ])("%j with %s", async (options, code, field) => {
    await using store = await openTestStore();
    let failure: unknown;
    try {
      store.memory.subscribe(options as never);
    } catch (error) {
      failure = error;
    }
    expect(isCortexError(failure) ? [failure.code, failure.details.field] : failure).toEqual([
      code,
      field,
    ]);
  });
});
