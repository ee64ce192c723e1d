/** `memory.jobs`: what it is started with, what it does to a store, and what it leaves alone. */
import { describe, expect, test } from "vitest";
import type { Cortex } from "./cortex.js";
import { isCortexError } from "./errors.js";
import { withSnapshot } from "./history/build-beside.js";
import { promoteReplica, replicaRow } from "./history/replica-mark.js";
import type { JobStatus } from "./jobs/lease.js";
import { HEAD_KEY } from "./kv/kv.js";
import { MemoryStore, openMemoryKv } from "./kv/memory-backend.js";
import { type OpenOptions, open } from "./open.js";
import { hashEmbedder } from "./vector/embedder.js";

const quick = { intervalMs: 1, leaseMs: 100 } as const;

async function codeOf(options: OpenOptions): Promise<string> {
  try {
    await (await open("memory:", options)).close();
  } catch (error) {
    if (isCortexError(error)) return `${error.code} ${error.details.field}`;
    throw error;
  }
  return "none";
}

/** Where one job of a store stands. */
async function statusOf(memory: Cortex, name: string): Promise<JobStatus | undefined> {
  return (await memory.jobs.status()).find((job) => job.name === name);
}

/** Asks again and again; a test that waits in vain is ended by its own time limit. */
async function eventually<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await ask();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

describe("what is refused", () => {
  test.each([
    [{ intervalMs: 0 }, "ERR_INVALID jobs.intervalMs"],
    [{ leaseMs: 99 }, "ERR_INVALID jobs.leaseMs"],
    [{ leaseMs: 600_001 }, "ERR_INVALID jobs.leaseMs"],
    [{ backoffMaxMs: 1.5 }, "ERR_INVALID jobs.backoffMaxMs"],
    [{ snapshotEveryMs: "1" }, "ERR_INVALID jobs.snapshotEveryMs"],
    [{ maintainEveryMs: -1 }, "ERR_INVALID jobs.maintainEveryMs"],
    [{ onError: 5 }, "ERR_INVALID jobs.onError"],
    [{ every: 5 }, "ERR_UNKNOWN_FIELD every"],
    ["yes", "ERR_INVALID jobs"],
    [null, "ERR_INVALID jobs"],
  ])("%j", async (jobs, expected) => {
    expect(await codeOf({ jobs: jobs as never })).toBe(expected);
  });
});

describe("snapshots by the clock", () => {
  test("seal what was written, once, and rest until something is written again", async () => {
    await using memory = await open("memory:", { jobs: { ...quick, snapshotEveryMs: 1 } });
    await memory.write({ type: "note", text: "n" });
    const [sealed] = await eventually(async () => {
      const found = await memory.snapshots();
      return found[0]?.seq === 1 ? found : undefined;
    });
    expect(sealed).toMatchObject({ seq: 1, reason: "interval" });
    await memory.write({ type: "note", text: "m" });
    const all = await eventually(async () => {
      const found = await memory.snapshots();
      return found[0]?.seq === 2 ? found : undefined;
    });
    expect(all.map(({ seq }) => seq)).toEqual([2, 1]);
    await eventually(async () => {
      const job = await statusOf(memory, "snapshot");
      return job?.cursor === 3 ? job : undefined;
    });
    expect((await memory.check()).ok).toBe(true);
  });

  test("an empty store is not sealed, nor one whose last snapshot is young", async () => {
    let now = 1_000_000;
    const data = new MemoryStore();
    const options = { clock: () => now, kv: openMemoryKv(data) };
    await using memory = await open("memory:", {
      ...options,
      jobs: { intervalMs: 1, leaseMs: 100, snapshotEveryMs: 60_000 },
    });
    await memory.write({ type: "note", text: "n" });
    await eventually(async () => ((await memory.snapshots()).length === 1 ? true : undefined));
    await memory.write({ type: "note", text: "m" });
    now += 59_999;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(await memory.snapshots()).toHaveLength(1);
    now += 1;
    await eventually(async () => ((await memory.snapshots()).length === 2 ? true : undefined));
  });
});

describe("which jobs there are", () => {
  test.each([
    [{ maintainEveryMs: 1 }, "maintain", ["maintain"]],
    [{ snapshotEveryMs: 0 }, "maintain", ["maintain"]],
    [{ snapshotEveryMs: 1 }, "snapshot", ["maintain", "snapshot"]],
    [{ snapshotEveryMs: 1, maintainEveryMs: 0 }, "snapshot", ["snapshot"]],
  ])("%j", async (options, last, names) => {
    await using memory = await open("memory:", { jobs: { ...quick, ...options } });
    await memory.write({ type: "note", text: "too little for the text index to be written out" });
    await eventually(async () => (await statusOf(memory, last))?.lastRunAt);
    await memory.jobs.stop();
    expect((await memory.jobs.status()).map(({ name }) => name)).toEqual(names);
  });
});

describe("a store that follows another", () => {
  test("is not written to; its jobs begin when it is promoted", async () => {
    const kv = openMemoryKv(new MemoryStore());
    const told: unknown[] = [];
    await using memory = await open("memory:", { kv });
    await memory.write({ type: "note", text: "n" });
    const [head] = await withSnapshot(kv, (snapshot) => snapshot.getMany([HEAD_KEY]));
    if (head === undefined) throw new Error("a store without a head");
    const mark = { puts: [replicaRow("https://source.example")], deletes: [] };
    expect(await kv.commit({ ...mark, expectHead: head, head })).toEqual({ ok: true });
    const jobs = {
      ...quick,
      maintainEveryMs: 1,
      snapshotEveryMs: 1,
      onError: told.push.bind(told),
    };
    await using follower = await open("memory:", { kv, jobs });
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect([await follower.jobs.status(), told]).toEqual([[], []]);
    await promoteReplica(kv);
    for (const name of ["maintain", "snapshot"]) {
      await eventually(async () => (await statusOf(follower, name))?.lastRunAt);
    }
    expect(told).toEqual([]);
  });
});

describe("the embedder", () => {
  test("starts, catches up, stops; and is refused where there is none", async () => {
    const embedder = hashEmbedder();
    await using memory = await open("memory:", { embedder, jobs: false });
    await memory.write({ type: "note", text: "before" });
    expect(await memory.jobs.status()).toEqual([]);
    expect(memory.jobs.owner).toBeUndefined();
    expect(await memory.jobs.drainEmbedder()).toMatchObject({ memories: 1, lag: 0 });
    memory.jobs.startEmbedder();
    await memory.write({ type: "note", text: "after" });
    const job = await eventually(async () => {
      const [found] = await memory.jobs.status();
      return found?.cursor === 3 ? found : undefined;
    });
    expect(job).toMatchObject({ name: "embed", owner: memory.jobs.owner, lag: 0 });
    await memory.jobs.stopEmbedder();
    await memory.jobs.stopEmbedder();
    expect((await memory.jobs.status())[0]?.leased).toBe(false);
    await using plain = await open("memory:");
    expect(() => plain.jobs.startEmbedder()).toThrow(
      expect.objectContaining({ code: "ERR_NO_EMBEDDER" }),
    );
    await plain.jobs.stopEmbedder();
  });
});

describe("life and death", () => {
  test("closing a store stops its jobs and gives their leases back", async () => {
    const data = new MemoryStore();
    const memory = await open("memory:", {
      kv: openMemoryKv(data),
      jobs: { ...quick, leaseMs: 600_000, snapshotEveryMs: 1 },
    });
    await memory.write({ type: "note", text: "n" });
    await eventually(async () => (await statusOf(memory, "snapshot"))?.lastRunAt);
    await memory.close();
    expect(() => memory.jobs.start()).toThrow(expect.objectContaining({ code: "ERR_CLOSED" }));
    await memory.jobs.stop();
    await using again = await open("memory:", { kv: openMemoryKv(data) });
    expect(await statusOf(again, "snapshot")).toMatchObject({ leased: false });
  });

  test("a store without jobs has none, and opening it draws no id for one", async () => {
    let drawn = 0;
    const random = (bytes: number): Uint8Array => {
      drawn += bytes;
      return new Uint8Array(bytes).fill(drawn);
    };
    await (await open("memory:", { random })).close();
    const plain = drawn;
    drawn = 0;
    await using memory = await open("memory:", { random, jobs: false });
    expect(drawn).toBe(plain);
    memory.jobs.start();
    await memory.jobs.stop();
    expect(await memory.jobs.status()).toEqual([]);
  });
});
