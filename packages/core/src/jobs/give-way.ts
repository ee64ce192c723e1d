/**
 * Giving way: work in the background shares one thread with the calls of everybody who uses this process.
 * While calls come, in whichever store, it rests between its pieces; while none come, it goes on at once.
 *
 * Measured: `cortex serve` with 20,000 memories still to embed read 1,300 memories a second for 32
 * connections, and 4,400 once that was done. With rests it is as quick from the first request on.
 *
 * Promise: the work never stops. A rest is a few times as long as the piece before it took, and has a bound.
 */
import type { Pause } from "../history/growth.js";

/** Calls of verbs in this process, over all its stores. */
let calls = 0;

/** Takes note that somebody called a verb. */
export function noteCall(): void {
  calls += 1;
}

/** A rest, while calls come, is so many times as long as the piece of work before it. */
const REST_FACTOR = 16;
const REST_MS_MAX = 1000;

/** Tells whether somebody called since it was first asked: for work that ends early and goes on another time. */
export function calledMeanwhile(): () => boolean {
  let heard: number | undefined;
  return () => {
    heard ??= calls;
    return calls !== heard;
  };
}

/** Waits where it has to before the next piece of work; a signal that is aborted ends it early. */
export type GiveWay = (signal?: AbortSignal) => Promise<void>;

/** To be asked before every piece of some work. */
export function givingWay(clock: () => number, pause: Pause): GiveWay {
  let heard = calls;
  let sinceMs = clock();
  return async (signal) => {
    const workedMs = Math.max(1, clock() - sinceMs);
    if (calls !== heard) await pause(Math.min(REST_FACTOR * workedMs, REST_MS_MAX), signal);
    heard = calls;
    sinceMs = clock();
  };
}
