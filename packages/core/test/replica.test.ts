/**
 * Replicas of graphs at hand: whatever is written and forgotten, whenever pages are pulled, a replica
 * that is level has its source's rows byte for byte; it refuses writes until it is promoted; what was
 * forgotten is gone from its caches as well.
 */
import { afterEach, describe, expect, test } from "vitest";
import { sha256Node } from "../src/codec/node-crypto.js";
import type { JournalPage } from "../src/contract/entry.js";
import { decodeHeadRow, encodeHeadRow } from "../src/history/head-row.js";
import {
  type Cortex,
  CortexError,
  follow,
  hashEmbedder,
  open,
  promote,
  type ReplicaEvent,
  upgrade,
} from "../src/index.js";
import { KEYSPACE } from "../src/kv/keyspace.js";
import { around, type Kv } from "../src/kv/kv.js";
import { LIMITS } from "../src/limits.js";
import { type PageSource, pullPage } from "../src/replica/follow.js";
import { ReplicaWriter } from "../src/replica/replica-writer.js";
import { refusalOf, seededRandom } from "../src/testing/index.js";
import { verify } from "../src/verify.js";
import { BACKENDS, emptyKv, furnish, graphOver, headOf, put } from "./moves-support.js";
import { atCleanUp, cleanUp } from "./other-process.js";
import { catchUp, inPages, randomWrite, sharedRows } from "./replica-support.js";

afterEach(cleanUp);

const SEED = Number(process.env.CORTEX_SEED ?? 20_300_115);

/** A source and an empty place for its replica. */
async function pair(backend: (typeof BACKENDS)[number] = "memory") {
  const [sourceKv, kv] = [await emptyKv(backend), await emptyKv(backend)];
  return { source: await graphOver(sourceKv), sourceKv, kv };
}

/** The replica as a graph; it stays open until the test is over. */
async function opened(kv: Kv, more: Parameters<typeof open>[1] = {}): Promise<Cortex> {
  const memory = await open("memory:", { actor: "ada", create: false, ...more, kv: kept(kv) });
  atCleanUp(() => memory.close());
  return memory;
}

/** The same storage, which its users cannot close. */
function kept(kv: Kv): Kv {
  return around(kv, { close: async () => {} });
}

describe.each(BACKENDS)("on %s", (backend) => {
  test("a replica has the rows of its source, and answers as it does", async () => {
    const { source, sourceKv, kv } = await pair(backend);
    const { kept: id, forgotten } = await furnish(source);
    const event = await catchUp(inPages(source, 4), kv);
    expect(event).toEqual({ state: "level", ...(await source.root()), entries: event.seq + 1 });
    expect(await sharedRows(kv)).toEqual(await sharedRows(sourceKv));
    const replica = await opened(kv);
    for (const read of [
      (memory: Cortex) => memory.get("goal-1"),
      (memory: Cortex) => memory.get(forgotten),
      (memory: Cortex) => memory.history(id),
      (memory: Cortex) => memory.list({ limit: 50 }),
      (memory: Cortex) => memory.search("Porto"),
      // Without their scores, which depend on the time of day.
      async (memory: Cortex) =>
        (await memory.find({ type: ["fact"], limit: 9 })).hits.map((hit) => hit.id),
      (memory: Cortex) => memory.session("chat"),
      (memory: Cortex) => memory.linksFrom("goal-1"),
      (memory: Cortex) => memory.goalState("goal-1"),
      (memory: Cortex) => memory.log({ limit: 99 }),
      (memory: Cortex) => memory.changes(0),
      (memory: Cortex) => memory.erasures(),
      (memory: Cortex) => memory.checkpoint(),
    ]) {
      expect(await read(replica)).toEqual(await read(source));
    }
    const proof = await replica.prove([id, forgotten]);
    expect(verify(proof, (await source.checkpoint()).checkpoint)).toMatchObject({ ok: true });
    expect(await replica.check()).toMatchObject({ ok: true, problems: [] });
    expect(await replica.rebuild()).toMatchObject({ ok: true, differences: [] });
    expect((await replica.vacuum()).root).toBe((await source.root()).root);
    // It is still a replica, and goes on from where it was.
    await source.write({ type: "fact", text: "later" });
    expect(await catchUp(source, kv)).toMatchObject({ entries: 1, ...(await source.root()) });
    expect((await replica.root()).root).toBe((await source.root()).root);
    expect((await replica.stats()).replica).toMatchObject({ source: "a graph at hand", lag: 0 });
    expect((await source.stats()).replica).toBeUndefined();
  });
});

describe("a random history", () => {
  test.each([0, 1, 2, 3, 4, 5])("pulled page by page between its writes, run %i", async (run) => {
    console.log(`replica of a random history: seed ${SEED + run}`);
    const random = seededRandom(SEED + run);
    const { source, sourceKv, kv } = await pair();
    const ids: string[] = [];
    const begin = () =>
      ReplicaWriter.begin({ kv, sha256: sha256Node, actor: "ada", source: "a graph at hand" });
    for (let round = 0; round < 12; round += 1) {
      for (let n = random.below(12); n >= 0; n -= 1) await randomWrite(source, random, ids);
      // A new writer each time, as if the process had been killed after its last page.
      const replica = await begin();
      const limit = 1 + random.below(9);
      const pages: PageSource = { page: ({ from }) => source.journalPage({ from, limit }) };
      for (let n = random.below(6); n > 0; n -= 1) await pullPage(replica, pages);
      if (round % 4 === 3) {
        expect(await (await opened(kv)).check()).toMatchObject({ ok: true, problems: [] });
      }
    }
    await catchUp(inPages(source, 7), kv);
    expect(await sharedRows(kv)).toEqual(await sharedRows(sourceKv));
    expect((await source.stats()).memories.erased).toBeGreaterThan(0);
    const replica = await opened(kv);
    expect(await replica.check()).toMatchObject({ ok: true, problems: [] });
    expect(await replica.search("text note")).toEqual(await source.search("text note"));
    expect(await replica.rebuild({ verifyOnly: true })).toMatchObject({ ok: true });
    await source.close();
  });
});

describe("a page of the journal", () => {
  test("is bounded, never half a batch, and empty at the end", async () => {
    const { source } = await pair();
    const notes = Array.from({ length: 30 }, (_, at) => ({
      write: { type: "note" as const, text: `note ${at}` },
    }));
    await source.batch(notes);
    await source.write({ type: "fact", text: "after it" });
    const sizes = async (from: number, limit: number): Promise<number> =>
      (await source.journalPage({ from, limit })).entries.length;
    expect(await sizes(0, 1)).toBe(1);
    expect(await sizes(0, 2)).toBe(31);
    expect(await sizes(1, 1)).toBe(30);
    expect(await sizes(31, 5)).toBe(1);
    const end = await source.journalPage({ from: 32 });
    expect(end).toMatchObject({ from: 32, entries: [], consistency: [], seq: 31, epoch: 0 });
    expect(end.checkpoint).toBe((await source.checkpoint()).checkpoint);
    const beyond = await refusalOf(source, () => source.journalPage({ from: 33 }));
    expect([beyond.code, beyond.details.seq]).toEqual(["ERR_ROLLED_BACK", 31]);
    for (const limit of [0, 1.5, LIMITS.journalPageEntries + 1]) {
      const refused = await refusalOf(source, () => source.journalPage({ limit }));
      expect(refused.code).toBe("ERR_INVALID");
    }
  });

  test("of large entries is short", async () => {
    const { source } = await pair();
    const text = "x".repeat(LIMITS.contentBytes);
    for (let n = 0; n < 70; n += 1)
      await source.write({ type: "note", text: `${n} ${text.slice(9)}` });
    const { entries } = await source.journalPage({ from: 1 });
    const bytes = entries.reduce((sum, one) => sum + Buffer.byteLength(one, "base64"), 0);
    expect(entries.length).toBeLessThan(70);
    expect(bytes).toBeGreaterThanOrEqual(LIMITS.journalPageBytes);
    expect(bytes).toBeLessThan(LIMITS.journalPageBytes + 2 * LIMITS.contentBytes);
  });
});

describe("a replica takes no writes", () => {
  const WRITES: readonly [string, (memory: Cortex, id: string) => Promise<unknown>][] = [
    ["write", (memory) => memory.write({ type: "fact", text: "mine" })],
    ["update", (memory, id) => memory.update(id, { text: "mine" })],
    ["updateHead", (memory, id) => memory.updateHead(id, { importance: 1 })],
    ["tombstone", (memory, id) => memory.tombstone(id, "r")],
    ["restore", (memory, id) => memory.restore(id)],
    ["forget", (memory, id) => memory.forget(id, "r")],
    ["batch", (memory) => memory.batch([{ write: { type: "note", text: "mine" } }])],
    ["remember", (memory) => memory.remember([{ role: "user", content: "c" }], { session: "s" })],
    ["link", (memory, id) => memory.link("goal-1", "uses", id)],
    ["removeEdge", (memory, id) => memory.removeEdge("goal-1", "uses", id)],
    ["attest", (memory, id) => memory.attest({ intentId: "i", outcome: "success", cited: [id] })],
    ["setGoalState", (memory) => memory.setGoalState("goal-1", {} as never)],
    ["configure", (memory) => memory.configure({ conflictPolicy: "manual" })],
    ["revert", (memory) => memory.revert(1)],
    ["snapshot", (memory) => memory.snapshot("mine")],
    ["an audited recall", (memory) => memory.recall("Porto", { audit: true })],
    ["extract", (memory) => memory.extract()],
    ["relink", (memory) => memory.relink()],
  ];

  test("whatever the verb; a model is not even asked", async () => {
    const { source, kv } = await pair();
    const { kept: id } = await furnish(source);
    await catchUp(source, kv);
    let asked = 0;
    const model = {
      name: "m",
      complete: async () => {
        asked += 1;
        return "{}";
      },
    };
    const replica = await opened(kv, { model });
    const before = await sharedRows(kv);
    const codes: [string, string][] = [];
    for (const [verb, call] of WRITES) {
      codes.push([verb, (await refusalOf(replica, () => call(replica, id))).code]);
    }
    expect(codes).toEqual(WRITES.map(([verb]) => [verb, "ERR_READ_ONLY"]));
    expect([await sharedRows(kv), asked]).toEqual([before, 0]);
  });

  test("until it is promoted: then it is a store of its own, and no replica any more", async () => {
    const { source, kv } = await pair();
    await furnish(source);
    await catchUp(source, kv);
    const replica = await opened(kv);
    const { root, seq } = await source.root();
    expect(await promote("memory:", { actor: "ada", kv })).toEqual({
      source: "a graph at hand",
      root,
      seq,
      epoch: 1,
    });
    // The store that was open all the while takes writes from now on.
    expect((await replica.write({ type: "fact", text: "mine" })).seq).toBe(seq + 1);
    expect(await replica.snapshot("mine")).toMatchObject({ number: 1 });
    expect(await replica.check()).toMatchObject({ ok: true });
    expect((await replica.stats()).replica).toBeUndefined();
    const refused = [
      await refusalOf(replica, () => catchUp(source, kv)),
      await refusalOf(replica, () => promote("memory:", { actor: "ada", kv })),
    ];
    expect(refused.map(({ code }) => code)).toEqual(["ERR_EXISTS", "ERR_NO_CHANGE"]);
  });

  test("promoted behind its source, it says what is missing; a follower under way gives up", async () => {
    const { source, kv } = await pair();
    await furnish(source);
    const replica = await ReplicaWriter.begin({
      kv,
      sha256: sha256Node,
      actor: "ada",
      source: "s",
    });
    await pullPage(replica, { page: ({ from }) => source.journalPage({ from, limit: 3 }) });
    expect(await promote("memory:", { actor: "ada", kv })).toMatchObject({
      warning: "the replica was not level with its source when it was last heard",
    });
    await expect(
      pullPage(replica, { page: (wanted) => source.journalPage(wanted) }),
    ).rejects.toMatchObject({ code: "ERR_EXISTS" });
  });

  test("an upgrade builds its rows anew and adds no entry", async () => {
    const { source, kv } = await pair();
    await furnish(source);
    const { root, seq } = (await catchUp(source, kv)) as { root: string; seq: number };
    const bytes = await headOf(kv);
    await put(kv, [], encodeHeadRow({ ...decodeHeadRow(bytes), foldVersion: 0 }));
    const report = await upgrade("memory:", { actor: "ada", kv, backup: () => {} });
    expect(report).toMatchObject({ needed: true, upgraded: { root, seq } });
    expect(report.steps.join()).not.toContain("migration");
    await source.write({ type: "fact", text: "later" });
    expect(await catchUp(source, kv)).toMatchObject({ entries: 1 });
  });
});

describe("upkeep", () => {
  test("a replica's indexes are looked after; its memories are left to the source", async () => {
    const { source, kv } = await pair();
    for (const voice of ["observed", "agent", "extraction"] as const) {
      await source.write({ type: "fact", text: "the bridge is closed", source: voice });
    }
    await catchUp(source, kv);
    const replica = await opened(kv);
    expect((await replica.stats()).text.lag).toBeGreaterThan(0);
    const { steps, changes, complete } = await replica.maintain();
    expect({ changes, complete }).toEqual({ changes: [], complete: true });
    expect(steps.map(({ step }) => step)).not.toContain("confirm");
    expect((await replica.stats()).text.lag).toBe(0);
    for (const asked of [{ merge: true }, { relate: true }, { snapshotEveryMs: 1 }]) {
      await expect(replica.maintain(asked)).rejects.toMatchObject({ code: "ERR_READ_ONLY" });
    }
    expect((await source.maintain()).steps.map(({ step }) => step)).toContain("confirm");
  });
});

describe("erasure", () => {
  test("what the source forgot is in no row of the replica, caches included", async () => {
    const { source, kv } = await pair();
    const { id } = await source.write({ type: "fact", text: "zanzibar is where she hides" });
    await source.write({ type: "fact", text: "an ordinary thing" });
    await catchUp(source, kv);
    const embedder = hashEmbedder();
    const replica = await opened(kv, { embedder });
    await replica.embedPending();
    await replica.maintain();
    const held = await everyRow(kv);
    expect(held.has("zanzibar")).toBe(true);
    expect(held.prefixes(KEYSPACE.vectorMemory.byte)).toBe(2);
    await source.forget(id, "asked for");
    await catchUp(source, kv);
    const left = await everyRow(kv);
    expect(left.has("zanzibar")).toBe(false);
    expect(left.prefixes(KEYSPACE.vectorMemory.byte)).toBe(1);
    expect(await replica.get(id)).toBeUndefined();
    expect((await replica.search("zanzibar")).hits).toEqual([]);
    expect(await replica.check()).toMatchObject({ ok: true, problems: [] });
  });

  test("a process that ended before its caches were rid of it leaves that to the next", async () => {
    const { source, kv } = await pair();
    const { id } = await source.write({ type: "fact", text: "zanzibar is where she hides" });
    await catchUp(source, kv);
    const replica = await opened(kv, { embedder: hashEmbedder() });
    await replica.embedPending();
    await replica.maintain();
    await source.forget(id, "asked for");
    const killed = await ReplicaWriter.begin({ kv, sha256: sha256Node, actor: "ada", source: "s" });
    await pullPage(killed, { page: (wanted) => source.journalPage(wanted) });
    expect((await everyRow(kv)).has("zanzibar")).toBe(true);
    await catchUp(source, kv);
    const left = await everyRow(kv);
    expect(left.has("zanzibar")).toBe(false);
    expect(left.prefixes(KEYSPACE.vectorMemory.byte)).toBe(0);
  });

  /** Every row there is, to look for bytes in. */
  async function everyRow(kv: Kv) {
    const snapshot = await kv.snapshot();
    const range = { gte: Uint8Array.of(1), lt: Uint8Array.of(255), limit: 100_000 };
    const [rows = []] = await snapshot.ranges([range]);
    snapshot.close();
    return {
      has: (word: string) => rows.some(({ value }) => Buffer.from(value).includes(word)),
      prefixes: (byte: number) => rows.filter(({ key }) => key[0] === byte).length,
    };
  }
});

describe("following on", () => {
  /** Starts to follow; the pauses of tests are over at once. */
  function start(source: Parameters<typeof follow>[1], kv: Kv) {
    const stop = new AbortController();
    const pauses: number[] = [];
    const events = follow("memory:", source, {
      actor: "ada",
      kv,
      signal: stop.signal,
      clock: () => 1_900_000_000_000,
      pause: async (ms) => {
        pauses.push(ms);
        // Between two looks at a silent source real time passes: its next word ends the wait.
        if (ms >= 5000) await new Promise(() => {});
      },
    });
    atCleanUp(() => events.return(undefined));
    const next = async (): Promise<ReplicaEvent> => {
      const { value } = await events.next();
      if (value === undefined) throw new Error("following ended");
      return value;
    };
    return { events, next, stop, pauses };
  }

  test("entries come as they are written, and a signal ends it", async () => {
    const { source, kv } = await pair();
    const { events, next, stop } = start(source, kv);
    expect(await next()).toEqual({ state: "level", entries: 1, ...(await source.root()) });
    for (let n = 0; n < 3; n += 1) {
      const waiting = next();
      await source.write({ type: "fact", text: `fact ${n}` });
      expect(await waiting).toMatchObject({ state: "level", entries: 1, seq: n + 1 });
    }
    const last = events.next();
    stop.abort();
    expect(await last).toEqual({ done: true, value: undefined });
  });

  test("a source that is away is tried again, after pauses that grow; stats tell of it", async () => {
    const { source, kv } = await pair();
    let failures = 0;
    const away = (): void => {
      failures += 1;
      if (failures > 1 && failures < 6) throw new CortexError("ERR_STORAGE", "server: gone");
    };
    const shaky = {
      journalPage: async (wanted?: object) => {
        away();
        return source.journalPage(wanted);
      },
      subscribe: (options?: object) => source.subscribe(options),
    };
    const { next } = start(shaky, kv);
    expect(await next()).toMatchObject({ state: "level" });
    const replica = await opened(kv);
    const waiting = next();
    await source.write({ type: "fact", text: "while it is away" });
    const troubles = [await waiting, await next(), await next(), await next()];
    expect(troubles).toEqual(
      [250, 500, 1000, 2000].map((retryMs) => ({
        state: "trouble",
        seq: 0,
        code: "ERR_STORAGE",
        message: "server: gone",
        retryMs,
      })),
    );
    expect((await replica.stats()).replica).toMatchObject({
      lag: 0,
      heardAt: 1_900_000_000_000,
      lastError: { code: "ERR_STORAGE", message: "server: gone", at: 1_900_000_000_000 },
    });
    expect(await next()).toMatchObject({ state: "level", entries: 1, seq: 1 });
    expect((await replica.stats()).replica).not.toHaveProperty("lastError");
  });

  test("on a long way, stats tell how long it still is", async () => {
    const { source, kv } = await pair();
    await furnish(source);
    let pages = 0;
    const far = async (wanted?: object): Promise<JournalPage> => {
      pages += 1;
      if (pages > 2) throw new CortexError("ERR_DENIED", "no more for now");
      return source.journalPage({ ...wanted, limit: 3 });
    };
    const seen = catchUp({ journalPage: far, subscribe: () => ({}) as never }, kv);
    await expect(seen).rejects.toMatchObject({ code: "ERR_DENIED" });
    const { entries, replica } = await (await opened(kv)).stats();
    expect(replica).toMatchObject({ lag: (await source.stats()).entries - entries });
    expect(replica?.lag).toBeGreaterThan(0);
  });

  test("a full disk is tried again, and leaves nothing half", async () => {
    const { source, kv } = await pair();
    await furnish(source);
    let left = 2;
    const full: Kv = {
      ...kept(kv),
      commit: async (change) => {
        left -= 1;
        if (left === 0) throw new CortexError("ERR_DISK_FULL", "no room");
        return kv.commit(change);
      },
    };
    const { next } = start(inPages(source, 3), full);
    expect(await next()).toMatchObject({ state: "trouble", code: "ERR_DISK_FULL", seq: 2 });
    expect(await next()).toMatchObject({ state: "level", ...(await source.root()) });
  });

  test("with once, a source that is away is a failure", async () => {
    const { kv } = await pair();
    const gone = async (): Promise<never> => {
      throw new CortexError("ERR_STORAGE", "server: gone");
    };
    await expect(
      catchUp({ journalPage: gone, subscribe: () => ({}) as never }, kv),
    ).rejects.toMatchObject({ code: "ERR_STORAGE" });
    expect(await headOf(kv)).toBeUndefined();
  });

  test("two that follow at once into one store end at the same root", async () => {
    const { source, sourceKv, kv } = await pair();
    await furnish(source);
    await Promise.all([catchUp(inPages(source, 2), kv), catchUp(inPages(source, 3), kv)]);
    expect(await sharedRows(kv)).toEqual(await sharedRows(sourceKv));
    // And in turns, so that each finds the trees as the other left them.
    const turns = await emptyKv("memory");
    const parts = { kv: turns, sha256: sha256Node, actor: "ada", source: "s" };
    const pages: PageSource = { page: ({ from }) => source.journalPage({ from, limit: 2 }) };
    const [left, right] = [await ReplicaWriter.begin(parts), await ReplicaWriter.begin(parts)];
    for (let isLevel = false; !isLevel; ) {
      await pullPage(left, pages);
      const { size, sourceSize } = await pullPage(right, pages);
      isLevel = size === sourceSize;
    }
    expect(await sharedRows(turns)).toEqual(await sharedRows(sourceKv));
  });

  test("a replica can be followed as well", async () => {
    const { source, kv } = await pair();
    await furnish(source);
    await catchUp(source, kv);
    const second = await emptyKv("memory");
    expect(await catchUp(await opened(kv), second)).toMatchObject(await source.root());
    expect(await sharedRows(second)).toEqual(await sharedRows(kv));
  });

  test.each<[string, object, string]>([
    ["an unknown option", { speed: 9 }, "ERR_UNKNOWN_FIELD"],
    ["a bad actor", { actor: "../x" }, "ERR_BAD_NAME"],
  ])("%s is refused", async (_, options, code) => {
    const { source, kv } = await pair();
    await expect(catchUp(source, kv, options)).rejects.toMatchObject({ code });
    await expect(catchUp("nowhere" as never, kv)).rejects.toMatchObject({ code: "ERR_INVALID" });
    expect(await headOf(kv)).toBeUndefined();
  });
});
