/**
 * The upkeep of the text index as a job. The index looks after itself while it is written to and when
 * its store closes; the job does the same for a store that others write to in short visits, and merges
 * in the background what would otherwise wait for `maintain`.
 */

import type { Job } from "../jobs/runner.js";
import { LIMITS } from "../limits.js";
import { flushText, mergeText, type TextUpkeep } from "./text-steps.js";

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
