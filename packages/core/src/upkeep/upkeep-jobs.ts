/**
 * Upkeep in the background, as jobs for the runner: what `maintain` does unasked, the text index, and a
 * snapshot every so often.
 *
 * `maintain` runs a piece at a time, now and then, and only where something was written since.
 * Archiving, merging and relating are never done here, nor are vectors of other models removed: those
 * are asked for, by somebody who has looked. When the last run was is told by the job's own row, so a
 * store that is opened for a minute now and then is not looked after each time, and of several
 * processes none begins anew.
 *
 * The text index looks after itself while it is written to and when its store closes; its job does the
 * same for a store that others write to in short visits, and merges in the background what would
 * otherwise wait for `maintain`.
 */
import type { Engine } from "../engine/engine.js";
import { Reader } from "../history/reader.js";
import { readJobs } from "../jobs/lease.js";
import type { Job } from "../jobs/runner.js";
import { LIMITS } from "../limits.js";
import { maintainDue, maintainedUpTo } from "./maintain.js";
import { flushText, mergeText, seal, sealedUpTo, type TextUpkeep } from "./steps.js";

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
        // The first entry of a new store is nothing to look after.
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

/** The job that keeps a text index short of tail and few of segments. */
export function textJob(text: TextUpkeep): Job {
  const flush = flushText(text);
  const merge = mergeText(text);
  const isLong = async (): Promise<boolean> => (await flush.left()) >= LIMITS.textCloseEntries;
  return {
    name: "text",
    pending: async () => (await isLong()) || (await merge.left()) > 0,
    async run(signal) {
      let done = 0;
      while (!signal.aborted && (await isLong())) done += await flush.work();
      if (!signal.aborted) done += await merge.work();
      const { cursor, tail } = await text.status();
      return { done, cursor, lag: tail };
    },
  };
}

/** The job that seals the store every so often. */
export function sealJob(engine: Engine, everyMs: number): Job {
  return {
    name: "snapshot",
    pending: async () => (await sealedUpTo(engine, everyMs)).isDue,
    async run() {
      const before = await sealedUpTo(engine, everyMs);
      if (!before.isDue) {
        return { done: 0, cursor: before.cursor, lag: before.size - before.cursor };
      }
      const { seq } = await seal(engine);
      return { done: 1, cursor: seq + 1, lag: 0 };
    },
  };
}
