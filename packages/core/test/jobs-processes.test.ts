/**
 * Jobs of several processes on one store: one works at a time, and when it is killed in the middle of
 * it another goes on, after the lease and not before.
 */
import { afterEach, expect, test } from "vitest";
import { type Cortex, type JobStatus, open } from "../src/index.js";
import { atCleanUp, cleanUp, isUnbuilt, startProgram, temporaryStore } from "./other-process.js";

const UNBUILT = isUnbuilt();

afterEach(cleanUp);

const JOBS = { intervalMs: 20, leaseMs: 4000, snapshotEveryMs: 1, maintainEveryMs: 1 } as const;

/** The jobs that have something to do after every write. */
const NAMES = ["maintain", "snapshot"] as const;

/** Looks until every job is as wanted; a test that waits in vain is ended by its own time limit. */
async function until(
  memory: Cortex,
  isSo: (job: JobStatus, at: number) => boolean,
): Promise<readonly JobStatus[]> {
  for (;;) {
    const { jobs } = await memory.stats();
    const found = jobs.filter(({ name }) => NAMES.some((one) => one === name));
    if (found.length === NAMES.length && found.every(isSo)) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test.skipIf(UNBUILT)(
  "kill -9 of an owner: the next one takes the leases over when they have run out",
  async () => {
    const folder = temporaryStore();
    const holder = startProgram("job-holder.mjs");
    holder.send({ folder, jobs: JOBS });
    const owner = JSON.parse((await holder.until("owner")).slice("owner ".length)) as string;
    const watcher = await open(folder, { actor: "ada" });
    atCleanUp(() => watcher.close());
    const working = await until(watcher, (job) => job.owner === owner && job.cursor > 0);
    const memory = await open(folder, { actor: "ada", jobs: JOBS });
    atCleanUp(() => memory.close());
    expect(working.map(({ name, leased }) => [name, leased])).toEqual(NAMES.map((n) => [n, true]));
    // It goes on while another one waits for its place.
    await until(memory, (job, at) => {
      return job.owner === owner && job.cursor > (working[at]?.cursor ?? 0);
    });
    expect((await memory.snapshots()).every(({ reason }) => reason === "interval")).toBe(true);
    await holder.kill();
    const left = await until(memory, () => true);
    for (const job of left) expect(job).toMatchObject({ owner, leased: true });
    await memory.write({ type: "note", text: "after the kill" });
    const mine = memory.jobs.owner;
    const { entries } = await memory.stats();
    // The row says when the job ran last, whoever ran it: its own run is one after the dead owner's.
    const taken = await until(memory, (job, at) => {
      return job.owner === mine && (job.lastRunAt ?? 0) > (left[at]?.lastRunAt ?? 0);
    });
    for (const [at, job] of taken.entries()) {
      expect(job.lastRunAt).toBeGreaterThanOrEqual(left[at]?.expiresAt ?? Number.POSITIVE_INFINITY);
      expect(job).toMatchObject({ cursor: entries, lag: 0 });
    }
  },
);
