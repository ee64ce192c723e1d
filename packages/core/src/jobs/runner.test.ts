/**
 * Jobs under leases, with a clock and pauses that the test moves: one owner at a time, a dead one
 * followed by the next, failures that stay inside, and no writing where there is nothing to do.
 */
import { afterEach, describe, expect, test } from "vitest";
import { toHex } from "../codec/keys.js";
import { CortexError } from "../errors.js";
import { Reader } from "../history/reader.js";
import { textKey } from "../kv/keyspace.js";
import { around, type Kv } from "../kv/kv.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { open } from "../open.js";
import { countingKv } from "../testing/index.js";
import { ManualTime, settle } from "../testing/manual-time.js";
import { type JobReport, type JobStatus, LEASE_MS_MAX, readJobs } from "./lease.js";
import { type Job, JobRunner, type RunnerSettings } from "./runner.js";

const SETTINGS: RunnerSettings = { intervalMs: 1000, leaseMs: 9000, backoffMaxMs: 20_000 };

/** A job that the test directs. */
class Directed implements Job {
  readonly name = "work";
  runs = 0;
  signals: AbortSignal[] = [];
  next: () => Promise<JobReport> = async () => ({ done: 0, cursor: 1, lag: 0 });

  async run(signal: AbortSignal): Promise<JobReport> {
    this.runs += 1;
    this.signals.push(signal);
    return this.next();
  }
}

const runners: JobRunner[] = [];
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
});

async function born(): Promise<MemoryStore> {
  const data = new MemoryStore();
  await (await open("memory:", { kv: openMemoryKv(data) })).close();
  return data;
}

function runnerOf(
  kv: Kv,
  time: ManualTime,
  job: Job,
  more: Partial<RunnerSettings> & { readonly id?: number } = {},
): JobRunner {
  const { id = 1, ...settings } = more;
  const owner = new Uint8Array(16).fill(id);
  const { clock, pause } = time;
  const runner = new JobRunner(job, { kv, clock, pause, owner }, { ...SETTINGS, ...settings });
  runners.push(runner);
  return runner;
}

async function statusOf(kv: Kv, now: number): Promise<JobStatus | undefined> {
  return (await Reader.with(kv, undefined, (reader) => readJobs(reader, now)))[0];
}

const ownerOf = (id: number): string => toHex(new Uint8Array(16).fill(id));

test("the first look waits as long as it was told, and a stop ends that wait", async () => {
  const data = await born();
  const time = new ManualTime();
  const [early, late] = [new Directed(), new Directed()];
  runnerOf(openMemoryKv(data), time, early).start();
  await time.pass(1);
  expect(early.runs).toBe(1);
  const runner = runnerOf(openMemoryKv(data), time, late, { id: 1, firstLookMs: 500 });
  runner.start();
  await time.pass(499);
  expect(late.runs).toBe(0);
  await time.pass(1);
  expect(late.runs).toBe(1);
  const stopped = new Directed();
  const other = runnerOf(openMemoryKv(data), time, stopped, { id: 1, firstLookMs: 500 });
  other.start();
  await other.stop();
  await time.pass(1000);
  expect(stopped.runs).toBe(0);
});

describe("giving way", () => {
  /** A runner that gives way for two seconds, in a process in which the test makes the calls. */
  async function polite() {
    const time = new ManualTime();
    const process = { calls: 0 };
    const job = new Directed();
    const { clock, pause } = time;
    const parts = {
      kv: openMemoryKv(await born()),
      clock,
      pause,
      owner: new Uint8Array(16).fill(1),
      calls: () => process.calls,
    };
    const runner = new JobRunner(job, parts, { ...SETTINGS, giveWayMs: 2000 });
    runners.push(runner);
    const call = async (times: number, everyMs: number) => {
      for (let at = 0; at < times; at += 1) {
        process.calls += 1;
        await time.pass(everyMs);
      }
    };
    return { time, job, runner, call };
  }

  test("nobody calls: the look comes at once", async () => {
    const { time, job, runner } = await polite();
    runner.start();
    await time.pass(1);
    expect(job.runs).toBe(1);
  });

  test("while calls come the look waits, and a moment without them is enough", async () => {
    const { time, job, runner, call } = await polite();
    const calling = call(20, 50);
    runner.start();
    await calling;
    expect(job.runs).toBe(0);
    await time.pass(200);
    expect(job.runs).toBe(1);
  });

  test("calls that never end put the first look off for six times as long as it was told, and no longer", async () => {
    const { job, runner, call } = await polite();
    const calling = call(235, 50);
    runner.start();
    await calling;
    expect(job.runs).toBe(0);
    await call(10, 50);
    expect(job.runs).toBe(1);
  });

  test("a stop ends the wait, and nothing is run", async () => {
    const { time, job, runner, call } = await polite();
    const calling = call(4, 50);
    runner.start();
    await calling;
    await runner.stop();
    await time.pass(5000);
    expect(job.runs).toBe(0);
  });
});

describe("one owner", () => {
  test("of two that start at once one works, and goes on working", async () => {
    const data = await born();
    const time = new ManualTime();
    const [a, b] = [new Directed(), new Directed()];
    runnerOf(openMemoryKv(data), time, a, { id: 1 }).start();
    runnerOf(openMemoryKv(data), time, b, { id: 2 }).start();
    await time.pass(30_000);
    expect([a.runs > 20, b.runs]).toEqual([true, 0]);
    expect(await statusOf(openMemoryKv(data), time.now)).toMatchObject({
      name: "work",
      owner: ownerOf(1),
      leased: true,
      cursor: 1,
      lag: 0,
    });
  });

  test("a dead owner is followed when its lease is over, and not before", async () => {
    const data = await born();
    const [mine, theirs] = [new ManualTime(), new ManualTime()];
    const [dead, next] = [new Directed(), new Directed()];
    runnerOf(openMemoryKv(data), theirs, dead, { id: 1 }).start();
    await theirs.pass(0);
    expect(dead.runs).toBe(1);
    // From here on no time passes for it: it does not renew, it does not run.
    const taker = runnerOf(openMemoryKv(data), mine, next, { id: 2 });
    taker.start();
    await mine.pass(8999);
    expect(next.runs).toBe(0);
    await mine.pass(1);
    expect(next.runs).toBe(1);
    expect((await statusOf(openMemoryKv(data), mine.now))?.owner).toBe(ownerOf(2));
  });

  test("a long run keeps its lease by renewing it", async () => {
    const data = await born();
    const time = new ManualTime();
    const [long, other] = [new Directed(), new Directed()];
    let finish = (_: JobReport): void => {};
    long.next = () =>
      new Promise((resolve) => {
        finish = resolve;
      });
    runnerOf(openMemoryKv(data), time, long, { id: 1 }).start();
    await time.pass(0);
    runnerOf(openMemoryKv(data), time, other, { id: 2 }).start();
    await time.pass(100_000);
    expect([long.runs, other.runs]).toEqual([1, 0]);
    expect(long.signals[0]?.aborted).toBe(false);
    finish({ done: 5, cursor: 1, lag: 0 });
    await time.pass(0);
    expect(await statusOf(openMemoryKv(data), time.now)).toMatchObject({
      done: 5,
      lastRunAt: time.now,
    });
  });

  test("a run whose lease was taken is told at once, and does not report", async () => {
    const data = await born();
    const time = new ManualTime();
    const job = new Directed();
    const report = { done: 7, cursor: 1, lag: 0 };
    let finish = (): void => {};
    job.next = () =>
      new Promise((resolve) => {
        finish = () => resolve(report);
      });
    runnerOf(openMemoryKv(data), time, job, { id: 1 }).start();
    await time.pass(0);
    const kv = openMemoryKv(data);
    const key = textKey("lease", "work");
    const snapshot = await kv.snapshot();
    const [value] = await snapshot.getMany([key]);
    snapshot.close();
    const stolen = Buffer.from(value ?? []);
    stolen.fill(9, stolen.indexOf(1), stolen.indexOf(1) + 16);
    await kv.commitCaches({ expect: [], puts: [{ key, value: stolen }], deletes: [] });
    expect(job.signals[0]?.aborted).toBe(false);
    await time.pass(3000);
    expect(job.signals[0]?.aborted).toBe(true);
    finish();
    await time.pass(0);
    expect(await statusOf(kv, time.now)).toMatchObject({ owner: ownerOf(9), done: 0 });
  });

  test("a lease that claims to last for years is not believed", async () => {
    const data = await born();
    const [wrong, right] = [new ManualTime(), new ManualTime()];
    wrong.now += 2 * LEASE_MS_MAX;
    const [dead, next] = [new Directed(), new Directed()];
    runnerOf(openMemoryKv(data), wrong, dead, { id: 1 }).start();
    await wrong.pass(0);
    runnerOf(openMemoryKv(data), right, next, { id: 2 }).start();
    await right.pass(0);
    expect([dead.runs, next.runs]).toEqual([1, 1]);
  });

  test("stop waits for the run, and gives the lease back for others to take", async () => {
    const data = await born();
    const time = new ManualTime();
    const [first, second] = [new Directed(), new Directed()];
    let finish = (): void => {};
    first.next = () =>
      new Promise((resolve) => {
        finish = () => resolve({ done: 3, cursor: 1, lag: 0 });
      });
    const runner = runnerOf(openMemoryKv(data), time, first, { id: 1 });
    runner.start();
    runner.start();
    await time.pass(0);
    let isStopped = false;
    const stopping = runner.stop().then(() => {
      isStopped = true;
    });
    await settle();
    expect([first.signals[0]?.aborted, isStopped, runner.isRunning]).toEqual([true, false, true]);
    finish();
    await stopping;
    expect(runner.isRunning).toBe(false);
    expect(await statusOf(openMemoryKv(data), time.now)).toMatchObject({ leased: false, done: 3 });
    runnerOf(openMemoryKv(data), time, second, { id: 2 }).start();
    await time.pass(0);
    expect([first.runs, second.runs]).toEqual([1, 1]);
    runner.start();
    await time.pass(1000);
    expect(first.runs).toBe(1);
  });
});

describe("when it runs", () => {
  test("again at once while it gets on and is behind, else after the interval", async () => {
    const data = await born();
    const time = new ManualTime();
    const job = new Directed();
    const reports = [
      { done: 10, cursor: 10, lag: 5 },
      { done: 5, cursor: 15, lag: 0 },
      { done: 0, cursor: 15, lag: 4 },
    ];
    job.next = async () => reports.shift() ?? { done: 0, cursor: 19, lag: 0 };
    runnerOf(openMemoryKv(data), time, job).start();
    await time.pass(0);
    expect(job.runs).toBe(2);
    await time.pass(1000);
    expect(job.runs).toBe(3);
    await time.pass(999);
    expect(job.runs).toBe(3);
    await time.pass(1);
    expect(job.runs).toBe(4);
  });

  test("a store at rest is looked at and not written", async () => {
    const data = await born();
    const time = new ManualTime();
    const kv = countingKv(openMemoryKv(data));
    const job = new Directed();
    let isDue = true;
    const asked: Job = {
      name: job.name,
      pending: async () => isDue,
      run: (signal) => {
        isDue = false;
        return job.run(signal);
      },
    };
    runnerOf(kv, time, asked).start();
    await time.pass(0);
    expect([job.runs, kv.counts().commits]).toEqual([1, 2]);
    await time.pass(3_600_000);
    expect([job.runs, kv.counts().commits]).toEqual([1, 2]);
    isDue = true;
    await time.pass(1000);
    expect([job.runs, kv.counts().commits]).toEqual([2, 4]);
  });
});

describe("whether there is work", () => {
  test("follows looks, runs and commits, and is nothing once it is stopped", async () => {
    const time = new ManualTime();
    const job = new Directed();
    let [isDue, isWaiting] = [false, false];
    let finish = (): void => {};
    job.next = () =>
      new Promise((resolve) => {
        finish = () => resolve({ done: 1, cursor: 1, lag: 0 });
      });
    const asked: Job = {
      name: job.name,
      pending: async () => isDue,
      isWaiting: () => isWaiting,
      run: (signal) => job.run(signal),
    };
    const runner = runnerOf(openMemoryKv(await born()), time, asked);
    runner.noteCommit();
    expect(runner.hasWork, "it does not run").toBe(false);
    runner.start();
    expect(runner.hasWork, "a commit that nobody has looked at").toBe(true);
    await time.pass(0);
    expect(runner.hasWork, "a look that found nothing").toBe(false);
    runner.noteCommit();
    isDue = true;
    expect(runner.hasWork, "another commit").toBe(true);
    await time.pass(1000);
    expect([job.runs, runner.hasWork], "a run").toEqual([1, true]);
    isDue = false;
    finish();
    await time.pass(0);
    expect(runner.hasWork, "a run that did all").toBe(false);
    isWaiting = true;
    await time.pass(1000);
    expect(runner.hasWork, "something waits for its time").toBe(true);
    await runner.stop();
    expect(runner.hasWork).toBe(false);
  });

  test("is none where it fails, or where another process is at it", async () => {
    const data = await born();
    const time = new ManualTime();
    const [failing, theirs, idle] = [new Directed(), new Directed(), new Directed()];
    failing.next = () => Promise.reject(new CortexError("ERR_EMBEDDER", "no answer"));
    const first = runnerOf(openMemoryKv(data), time, failing, { id: 1 });
    first.start();
    first.noteCommit();
    await time.pass(0);
    expect([failing.runs, first.hasWork]).toEqual([1, false]);
    await first.stop();
    theirs.next = () => new Promise(() => {});
    const busy = runnerOf(openMemoryKv(data), time, theirs, { id: 2 });
    busy.start();
    await time.pass(0);
    const second = runnerOf(openMemoryKv(data), time, idle, { id: 3 });
    second.start();
    second.noteCommit();
    await time.pass(1000);
    expect([theirs.runs, idle.runs]).toEqual([1, 0]);
    expect([busy.hasWork, second.hasWork]).toEqual([true, false]);
    // It never ends by itself, and nobody waits for it.
    runners.splice(runners.indexOf(busy), 1);
  });

  test("told to stop while it takes its lease, it does not begin a run", async () => {
    const time = new ManualTime();
    const inner = openMemoryKv(await born());
    let go = (): void => {};
    const taking = new Promise<void>((resolve) => {
      go = resolve;
    });
    const kv: Kv = {
      ...countingKv(inner),
      commitCaches: async (change) => {
        await taking;
        return inner.commitCaches(change);
      },
    };
    const job = new Directed();
    const runner = runnerOf(kv, time, job);
    runner.start();
    await time.pass(0);
    const stopped = runner.stop();
    go();
    await stopped;
    expect(job.runs).toBe(0);
    expect((await statusOf(inner, time.now))?.leased).toBe(false);
  });
});

describe("failures", () => {
  test("are recorded and told, and the next try waits longer each time, up to a bound", async () => {
    const data = await born();
    const time = new ManualTime();
    const job = new Directed();
    const told: unknown[] = [];
    const trouble = new CortexError("ERR_EMBEDDER", "embedder: no answer");
    job.next = async () => {
      throw trouble;
    };
    runnerOf(openMemoryKv(data), time, job, {
      onError: (name, error) => {
        told.push([name, error]);
        throw new Error("a listener that fails");
      },
    }).start();
    const tries: number[] = [];
    for (let second = 0; second <= 70; second += 1) {
      const before = job.runs;
      await time.pass(second === 0 ? 0 : 1000);
      if (job.runs > before) tries.push(second);
    }
    expect(tries).toEqual([0, 2, 6, 14, 30, 50, 70]);
    expect(told).toEqual(Array(7).fill(["work", trouble]));
    expect((await statusOf(openMemoryKv(data), time.now))?.lastError).toEqual({
      at: time.now,
      code: "ERR_EMBEDDER",
      message: "embedder: no answer",
      count: 7,
    });
    job.next = async () => ({ done: 1, cursor: 1, lag: 0 });
    await time.pass(20_000);
    expect(job.runs).toBe(8);
    expect(await statusOf(openMemoryKv(data), time.now)).not.toHaveProperty("lastError");
    await time.pass(1000);
    expect(job.runs).toBe(9);
  });

  test("what others throw may hold anything, so only its kind is kept", async () => {
    const data = await born();
    const time = new ManualTime();
    const job = new Directed();
    job.next = async () => {
      throw new TypeError("a secret of the user");
    };
    runnerOf(openMemoryKv(data), time, job).start();
    await time.pass(0);
    const status = await statusOf(openMemoryKv(data), time.now);
    expect(status?.lastError?.code).toBe("TypeError");
    expect(JSON.stringify(status)).not.toContain("secret");
  });

  test("of the storage stay inside as well", async () => {
    const data = await born();
    const time = new ManualTime();
    const job = new Directed();
    const inner = openMemoryKv(data);
    let isFull = true;
    const kv: Kv = {
      ...countingKv(inner),
      commitCaches: async (change) => {
        if (isFull) throw new CortexError("ERR_DISK_FULL", "the disk is full");
        return inner.commitCaches(change);
      },
    };
    const told: string[] = [];
    const onError = (_: string, error: unknown): void => void told.push(String(error));
    runnerOf(kv, time, job, { onError }).start();
    await time.pass(0);
    expect([job.runs, told]).toEqual([0, ["CortexError: the disk is full"]]);
    isFull = false;
    await time.pass(2000);
    expect(job.runs).toBe(1);
  });
});

describe("work that is too slight for a lease", () => {
  const slightJob = (): Directed & Required<Pick<Job, "isSlight">> => {
    const job = Object.assign(new Directed(), { isSlight: () => true });
    job.next = async () => ({ done: 3, cursor: 7, lag: 0 });
    return job;
  };

  test("is done with one commit that says how it went, by whoever finds it", async () => {
    const data = await born();
    const time = new ManualTime();
    const [a, b] = [slightJob(), slightJob()];
    let commits = 0;
    const counted = (kv: Kv): Kv =>
      around(kv, {
        commitCaches: (change) => {
          commits += 1;
          return kv.commitCaches(change);
        },
      });
    runnerOf(counted(openMemoryKv(data)), time, a, { id: 1 }).start();
    await time.pass(0);
    expect([a.runs, commits]).toEqual([1, 1]);
    expect(await statusOf(openMemoryKv(data), time.now)).toMatchObject({
      name: "work",
      owner: ownerOf(1),
      leased: false,
      cursor: 7,
      done: 3,
      lastRunAt: time.now,
    });
    runnerOf(counted(openMemoryKv(data)), time, b, { id: 2 }).start();
    await time.pass(0);
    expect([b.runs, commits]).toEqual([1, 2]);
  });

  test("leaves the row of an owner at work alone, and tells of a failure under the lease", async () => {
    const data = await born();
    const time = new ManualTime();
    const [busy, slight] = [new Directed(), slightJob()];
    runnerOf(openMemoryKv(data), time, busy, { id: 1 }).start();
    await time.pass(0);
    const held = await statusOf(openMemoryKv(data), time.now);
    expect(held).toMatchObject({ owner: ownerOf(1), leased: true });
    const errors: unknown[] = [];
    const onError = (_name: string, error: unknown): void => void errors.push(error);
    const runner = runnerOf(openMemoryKv(data), time, slight, { id: 2, onError });
    runner.start();
    await time.pass(0);
    expect(slight.runs).toBe(1);
    expect(await statusOf(openMemoryKv(data), time.now)).toEqual(held);
    await runners[0]?.stop();
    const failure = new Error("broken");
    slight.next = () => Promise.reject(failure);
    await time.pass(1000);
    expect(errors).toEqual([failure]);
    expect(await statusOf(openMemoryKv(data), time.now)).toMatchObject({
      owner: ownerOf(2),
      lastError: { code: "Error", count: 1 },
    });
  });
});
