/**
 * Upkeep in the background, with a clock and pauses that the test moves: what it does unasked and what
 * it never does, how often and how much, that a store at rest is left alone, and what becomes of a
 * failure.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Cortex } from "../cortex.js";
import { CortexError } from "../errors.js";
import type { JobStatus } from "../jobs/lease.js";
import { JobRunner } from "../jobs/runner.js";
import { around, type Kv } from "../kv/kv.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { openGraph } from "../open.js";
import { countingKv } from "../testing/counting-kv.js";
import { ManualTime, settle } from "../testing/manual-time.js";
import { type Embedder, hashEmbedder } from "../vector/embedder.js";
import { maintainJob } from "./maintain.js";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SETTINGS = { intervalMs: MINUTE_MS, leaseMs: 9000, backoffMaxMs: HOUR_MS } as const;
const VOICES = ["agent", "extraction", "imported"] as const;

let data: MemoryStore;
let time: ManualTime;
const endings: (() => Promise<void>)[] = [];

beforeEach(() => {
  data = new MemoryStore();
  time = new ManualTime();
});
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** A store of this process with its job, not started yet. */
interface Looked {
  readonly memory: Cortex;
  readonly runner: JobRunner;
}

async function lookAfter(
  more: { readonly id?: number; readonly wrap?: (kv: Kv) => Kv; readonly embedder?: Embedder } = {},
): Promise<Looked> {
  const { id = 1, wrap = (kv: Kv) => kv, embedder } = more;
  const kv = wrap(openMemoryKv(data));
  const { clock, pause } = time;
  const { memory, engine } = await openGraph("memory:", {
    kv,
    clock,
    ...(embedder === undefined ? {} : { embedder }),
  });
  const parts = { kv, clock, pause, owner: new Uint8Array(16).fill(id) };
  const runner = new JobRunner(maintainJob(engine, HOUR_MS), parts, SETTINGS);
  endings.push(async () => {
    await runner.stop();
    await memory.close();
  });
  return { memory, runner };
}

/** How often the job has gone to rest, and how long it meant to: renewing a lease is no rest. */
function rests(): readonly number[] {
  return time.pauses.filter((ms) => ms !== SETTINGS.leaseMs / 3);
}

/** Lets the job go on until it rests again; one that goes on at once does not rest. */
async function untilRest(before: number): Promise<void> {
  while (rests().length === before) await settle();
  if (rests().at(-1) !== 0) return;
  const now = rests().length;
  await time.pass(0);
  await untilRest(now);
}

async function start({ runner }: Looked): Promise<void> {
  const before = rests().length;
  runner.start();
  await untilRest(before);
}

/** Passes the job's rests, one after the other. */
async function pass(times: number): Promise<void> {
  for (let at = 0; at < times; at += 1) {
    const before = rests();
    await time.pass(before.at(-1) ?? 0);
    await untilRest(before.length);
  }
}

async function jobOf({ memory }: Looked): Promise<JobStatus | undefined> {
  return (await memory.stats()).jobs.find(({ name }) => name === "maintain");
}

/** Claims by three voices, one after the other; the ids of the first. */
async function claim(memory: Cortex, ...texts: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const source of VOICES) {
    time.now += 1;
    const by = `${source}-1`;
    const items = texts.map((text) => ({ write: { type: "fact" as const, text, source, by } }));
    const { results } = await memory.batch(items);
    ids.push(...results.flatMap((result) => ("id" in result ? [result.id] : [])));
  }
  return ids.slice(0, texts.length);
}

async function entriesOfUpkeep(memory: Cortex): Promise<number> {
  const { entries } = await memory.log({ limit: 1000 });
  return entries.filter(({ kind }) => kind === "maintain").length;
}

describe("what it does", () => {
  test("confirms and writes indexes out; archives, merges and relates nothing", async () => {
    const looked = await lookAfter();
    const { memory } = looked;
    const [claimed = ""] = await claim(memory, "The office is in Lisbon");
    const expired = await memory.write({
      type: "fact",
      text: "The door code is 1234",
      expiresAt: time.now + 1,
    });
    const alike = await memory.batch(
      [
        "Deploys on Fridays",
        "Deploys on the Fridays",
        "today we met Ada Lovelace",
        "a letter by Ada Lovelace came",
      ].map((text) => ({ write: { type: "fact", text } })),
    );
    await memory.configure({ ttlDays: { scrap: 1 } });
    await memory.write({ type: "note", kind: "scrap", text: "a scrap" });
    time.now += 40 * 24 * HOUR_MS;
    await start(looked);
    const { hits } = await memory.search("office");
    expect(hits).toHaveLength(VOICES.length);
    expect((await memory.get(claimed))?.head.status).toBe("confirmed");
    expect(await memory.get(expired.id)).toMatchObject({ head: { lifecycle: "active" } });
    for (const one of alike.results) {
      const id = "id" in one ? one.id : "";
      expect(await memory.get(id)).toMatchObject({ head: { lifecycle: "active" } });
      expect((await memory.edgesOut(id)).edges).toEqual([]);
    }
    const stats = await memory.stats();
    expect(stats.memories).toMatchObject({ archived: 0 });
    expect(stats.text.segments).toBeGreaterThan(0);
    expect(await entriesOfUpkeep(memory)).toBe(1);
    expect(await jobOf(looked)).toMatchObject({ done: 1, lag: 1, lastRunAt: time.now });
    // Asked, the same store has all of it to do: nothing was missing but the asking.
    const all = { archiveExpired: true, merge: true, relate: true, dryRun: true };
    const { changes } = await memory.maintain(all);
    expect(changes.map(({ step }) => step)).toEqual(["expire", "expire", "merge", "relate"]);
  });

  test("leaves the vectors of other models to those who use them", async () => {
    const named = (model: string): Embedder => ({ ...hashEmbedder(), model });
    const before = await lookAfter({ embedder: named("old") });
    await before.memory.write({ type: "note", text: "a note" });
    await before.memory.embedPending();
    const after = await lookAfter({ embedder: named("next"), id: 2 });
    await after.memory.embedPending();
    await start(after);
    expect(await jobOf(after)).toMatchObject({ lag: 0 });
    expect((await before.memory.stats()).vectors).toMatchObject({ memories: 1, lag: 0 });
    const { steps } = await after.memory.maintain({ dryRun: true });
    expect(steps[0]).toMatchObject({ step: "vectors of other models", left: 4 });
  });
});

describe("while others call", () => {
  test("a run ends after a piece, the next goes on there, and all is done in the end", async () => {
    const confirmed: unknown[] = [];
    for (const isBusy of [false, true]) {
      const plain = openMemoryKv(new MemoryStore());
      let calls = () => {};
      const kv = around(plain, {
        async snapshot(options) {
          const inner = await plain.snapshot(options);
          return {
            getMany: (keys) => inner.getMany(keys),
            ranges: (ranges) => {
              calls();
              return inner.ranges(ranges);
            },
            close: () => inner.close(),
          };
        },
      });
      const { memory, engine } = await openGraph("memory:", { kv, clock: time.clock });
      const [first = ""] = await claim(memory, "The office is in Lisbon");
      const notes = Array.from({ length: 600 }, (_, at) => `note ${at}`);
      await memory.batch(notes.map((text) => ({ write: { type: "note" as const, text } })));
      const [last = ""] = await claim(memory, "The garage is in Braga");
      if (isBusy) {
        calls = () => {
          engine.activity.calls += 1;
        };
      }
      const job = maintainJob(engine, HOUR_MS);
      const cursors: unknown[] = [];
      while ((await job.pending?.()) === true) {
        cursors.push((await job.run(new AbortController().signal)).cursor);
      }
      // The run after the last looks at what the one before it wrote.
      expect(cursors).toEqual(isBusy ? [512, 608, 609] : [607, 609]);
      for (const id of [first, last]) confirmed.push((await memory.get(id))?.head.status);
      await memory.close();
    }
    expect(confirmed).toEqual(["confirmed", "confirmed", "confirmed", "confirmed"]);
  });
});

describe("when it does it", () => {
  test("a store at rest, or one that was only born, is looked at and not written", async () => {
    const kv = countingKv(openMemoryKv(data));
    const looked = await lookAfter({ wrap: () => kv });
    const born = kv.counts().commits;
    await start(looked);
    await pass(120);
    expect([await jobOf(looked), kv.counts().commits]).toEqual([undefined, born]);
    await claim(looked.memory, "The office is in Lisbon");
    await pass(120);
    const root = await looked.memory.root();
    const { commits } = kv.counts();
    expect(await jobOf(looked)).toMatchObject({ lag: 0, cursor: root.seq + 1 });
    await pass(240);
    expect(kv.counts().commits).toBe(commits);
    expect(await looked.memory.root()).toEqual(root);
    expect(await entriesOfUpkeep(looked.memory)).toBe(1);
  });

  test("what is written waits until the time has come, also for a process that comes new", async () => {
    const looked = await lookAfter();
    await claim(looked.memory, "The office is in Lisbon");
    await start(looked);
    const first = time.now;
    const [late = ""] = await claim(looked.memory, "The garage is in Braga");
    const status = async (memory: Cortex) => (await memory.get(late))?.head.status;
    await pass(30);
    await looked.runner.stop();
    const next = await lookAfter({ id: 2 });
    await start(next);
    await pass(29);
    expect([time.now < first + HOUR_MS, await status(next.memory)]).toEqual([true, "asserted"]);
    await pass(1);
    expect([time.now >= first + HOUR_MS, await status(next.memory)]).toEqual([true, "confirmed"]);
    expect((await jobOf(next))?.lastRunAt).toBe(time.now);
  });

  test("a run is bounded, and what did not fit follows at once", async () => {
    const looked = await lookAfter();
    const texts = Array.from({ length: 130 }, (_, at) => `Room ${at} is on floor ${at % 7}`);
    await claim(looked.memory, ...texts);
    await start(looked);
    // 100, then the rest in a second run; after that only its own entries are left to look at.
    expect(await jobOf(looked)).toMatchObject({ done: 30, lastRunAt: time.now });
    expect(await entriesOfUpkeep(looked.memory)).toBe(130);
    expect(rests()).toEqual([0, 0, MINUTE_MS]);
  });

  test("a clock that went wrong for a while does not stop it for long", async () => {
    const looked = await lookAfter();
    await claim(looked.memory, "The office is in Lisbon");
    time.now += 1000 * HOUR_MS;
    await start(looked);
    await looked.runner.stop();
    time.now -= 1000 * HOUR_MS;
    const next = await lookAfter({ id: 2 });
    await claim(next.memory, "The garage is in Braga");
    await start(next);
    expect(await jobOf(next)).toMatchObject({ done: 1, lastRunAt: time.now });
  });
});

describe("a failure", () => {
  test("is in the stats of every process, and the next try waits longer each time", async () => {
    let isFull = false;
    const full = (kv: Kv): Kv =>
      new Proxy(kv, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name, target);
          if (typeof member !== "function") return member;
          if (name !== "commit" || !isFull) return member.bind(target);
          return () => Promise.reject(new CortexError("ERR_DISK_FULL", "the disk is full"));
        },
      });
    const looked = await lookAfter({ wrap: full });
    const other = await lookAfter({ id: 2 });
    const [claimed = ""] = await claim(looked.memory, "The office is in Lisbon");
    isFull = true;
    await start(looked);
    await pass(3);
    expect(rests().map((ms) => ms / MINUTE_MS)).toEqual([2, 4, 8, 16]);
    expect(await jobOf(other)).toMatchObject({
      lastError: { code: "ERR_DISK_FULL", message: "the disk is full", count: 4, at: time.now },
    });
    expect(await jobOf(other)).not.toHaveProperty("lastRunAt");
    isFull = false;
    await pass(1);
    expect(await jobOf(other)).not.toHaveProperty("lastError");
    expect((await other.memory.get(claimed))?.head.status).toBe("confirmed");
  });
});
