/**
 * The time that entries carry: that of the clock, and never before the entry that came last.
 *
 * Promise: a clock that leaps ahead by more than a day while the process runs is refused, because every later
 * entry would have to carry that time. The clock is compared with the time that has passed in the process, where
 * the machine measures that; opening the store again accepts the clock.
 */
import { CortexError } from "../errors.js";
import { LIMITS } from "../limits.js";

/** Within so little time of the last comparison with the system's time nothing is compared. */
const NEAR_MS = 60_000;

/** See the file header. */
export class EntryClock {
  readonly #clock: () => number;
  readonly #elapsed: (() => number) | undefined;
  #last: { readonly clock: number; readonly elapsed: number } | undefined;

  /** `elapsed` gives milliseconds that no clock setting changes; without it leaps go unnoticed. */
  constructor(clock: () => number, elapsed: (() => number) | undefined) {
    this.#clock = clock;
    this.#elapsed = elapsed;
  }

  /** The time of the next entries, after those of `lastAt`. */
  timeAfter(lastAt: number): number {
    const now = this.#clock();
    const last = this.#last;
    // What went on by seconds has leapt no further than that; asking the system took longer than the rest of a fold.
    const isNear = last !== undefined && now >= last.clock && now < last.clock + NEAR_MS;
    const elapsed = isNear ? undefined : this.#elapsed?.();
    if (elapsed === undefined) return Math.max(now, lastAt);
    const leap = last === undefined ? 0 : now - last.clock - (elapsed - last.elapsed);
    if (leap > LIMITS.clockLeapMs) {
      const hours = Math.round(leap / 3_600_000);
      throw new CortexError(
        "ERR_CLOCK",
        `clock: expected at most a day ahead of the process's own time, got ${hours} hours; ` +
          "set the clock right, or reopen the store to accept it",
      );
    }
    this.#last = { clock: now, elapsed };
    return Math.max(now, lastAt);
  }
}
