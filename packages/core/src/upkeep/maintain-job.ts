/**
 * Upkeep as a job: what `maintain` does unasked, a piece at a time, every so often and only where
 * something was written since. Archiving, merging and relating are never done here, nor are vectors of
 * other models removed: those are asked for, by somebody who has looked.
 *
 * When the last run was is told by the job's own row, so a store that is opened for a minute now and
 * then is not looked after each time, and of several processes none begins anew.
 */

import type { Engine } from "../engine/engine.js";
import { Reader } from "../history/reader.js";
import { readJobs } from "../jobs/lease.js";
import type { Job } from "../jobs/runner.js";
import { maintainDue, maintainedUpTo } from "./maintain.js";

/** How often upkeep is done unless told otherwise. */
export const MAINTAIN_EVERY_MS = 60 * 60_000;

const NAME = "maintain";

/** The job that keeps a store in order. */
export function maintainJob(engine: Engine, everyMs: number = MAINTAIN_EVERY_MS): Job {
  /** Whether the last run of this process met its bounds before it was through. */
  let isCut = false;
  return {
    name: NAME,
    pending: () =>
      Reader.with(engine.kv, undefined, async (reader) => {
        // The birth of a store is nothing to look after.
        const isBehind = reader.head.size > Math.max(1, await maintainedUpTo(reader));
        return isBehind && (isCut || (await isTime(reader, engine.clock(), everyMs)));
      }),
    async run(signal) {
      const { steps, changes } = await maintainDue(engine, signal);
      // Entries that others write meanwhile are for the next time; what did not fit is for now.
      isCut = steps.some(({ step, left }) => step === "confirm" && left > 0);
      return Reader.with(engine.kv, undefined, async (reader) => {
        const cursor = await maintainedUpTo(reader);
        return { done: changes.length, cursor, lag: reader.head.size - cursor };
      });
    },
  };
}

async function isTime(reader: Reader, now: number, everyMs: number): Promise<boolean> {
  const last = (await readJobs(reader, now)).find(({ name }) => name === NAME)?.lastRunAt;
  // A run that is still to come was written by a clock that went wrong.
  return last === undefined || now < last || now - last >= everyMs;
}
