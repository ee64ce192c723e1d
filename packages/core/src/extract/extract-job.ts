/**
 * Distilling conversations as a job: turns are shown to the model once their session has been silent for
 * a while, or holds as many as a prompt does. A refused reply fails the run after everything else that
 * was due is done; its turns wait, each lane with a pause of its own (`extract/window.ts`).
 */

import type { Engine } from "../engine/engine.js";
import { CortexError } from "../errors.js";
import { Reader } from "../history/reader.js";
import type { Job } from "../jobs/runner.js";
import { LIMITS } from "../limits.js";
import { extractDue } from "./extract.js";
import { isDue, readWaiting } from "./window.js";

/** How long a session has to be silent before its turns are distilled. */
export const DEBOUNCE_MS = 45_000;

/** The job that distils turns. */
export function extractJob(engine: Engine, debounceMs: number = DEBOUNCE_MS): Job {
  /** The journal as it was when nothing was due, and until when that holds unless it grows. */
  let rest: { readonly size: number; readonly until: number } | undefined;
  /** Whether turns wait for their session to fall silent; not those that the model has failed at. */
  let areWaiting = false;
  return {
    name: "extract",
    pending: () =>
      Reader.with(engine.kv, undefined, async (reader) => {
        const { size } = reader.head;
        const now = engine.clock();
        if (rest !== undefined && rest.size === size && now < rest.until) return false;
        const { windows, queue } = await readWaiting(reader);
        areWaiting = windows.some(({ lane }) => !queue.failed.has(lane));
        if (windows.some((window) => isDue(window, queue, { now, debounceMs }))) return true;
        const times = windows.map(({ lane, lastStoredAt }) =>
          Math.max(queue.failed.get(lane)?.retryAt ?? 0, lastStoredAt + debounceMs),
        );
        rest = { size, until: Math.min(Number.MAX_SAFE_INTEGER, ...times) };
        // Entries without turns are passed in large steps, so that a store at rest is not written.
        return windows.length === 0 && size - queue.cursor > LIMITS.textTailEntries;
      }),
    isWaiting: () => areWaiting,
    async run(signal) {
      const { calls, cursor, seq, failures } = await extractDue(engine, debounceMs, signal);
      const [failure] = failures;
      if (failure === undefined) return { done: calls, cursor, lag: seq + 1 - cursor };
      throw new CortexError("ERR_MODEL", failure.message, { field: "reply" });
    },
  };
}
