/**
 * Jobs of several processes on one store: one works at a time, and when it is killed in the middle of
 * it another goes on, after the lease and not before.
 */
import { afterEach, expect, test } from "vitest";
import { type Cortex, type JobStatus, open } from "../src/index.js";
import { atCleanUp, cleanUp, isBuilt, startProgram, temporaryFolder } from "./other-process.js";

afterEach(cleanUp);

const JOBS = { intervalMs: 20, leaseMs: 3000, snapshotEveryMs: 1 } as const;

/** Looks until the job is as wanted; a test that waits in vain is ended by its own time limit. */
async function until(memory: Cortex, isSo: (job: JobStatus) => boolean): Promise<JobStatus> {
  for (;;) {
    const [job] = await memory.jobs.status();
    if (job !== undefined && isSo(job)) return job;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("kill -9 of an owner: the next one takes the lease over when it has run out", async () => {
  if (!isBuilt()) return;
  const folder = temporaryFolder();
  const holder = startProgram("job-holder.mjs");
  holder.send({ folder, jobs: JOBS });
  const owner = JSON.parse((await holder.until("owner")).slice("owner ".length)) as string;
  const watcher = await open(folder, { actor: "ada" });
  atCleanUp(() => watcher.close());
  const working = await until(watcher, (job) => job.owner === owner && job.done > 0);
  const memory = await open(folder, { actor: "ada", jobs: JOBS });
  atCleanUp(() => memory.close());
  expect(working).toMatchObject({ name: "snapshot", leased: true });
  // It goes on while another one waits for its place.
  await until(memory, (job) => job.owner === owner && job.cursor > working.cursor);
  expect((await memory.snapshots()).every(({ reason }) => reason === "interval")).toBe(true);
  await holder.kill();
  const [left] = await memory.jobs.status();
  expect(left).toMatchObject({ owner, leased: true });
  await memory.write({ type: "note", text: "after the kill" });
  const mine = memory.jobs.owner;
  // The row says when the job ran last, whoever ran it: its own run is one after the dead owner's.
  const taken = await until(
    memory,
    (job) => job.owner === mine && (job.lastRunAt ?? 0) > (left?.lastRunAt ?? 0),
  );
  expect(taken.lastRunAt).toBeGreaterThanOrEqual(left?.expiresAt ?? Number.POSITIVE_INFINITY);
  expect(taken.cursor).toBe((await memory.stats()).entries);
});
