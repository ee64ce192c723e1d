/**
 * Time that passes when a test says so: a clock and pauses for whatever waits, so that hours of
 * waiting are tested in no time and in the same order on every machine.
 *
 * Promise: `pass` ends the pauses that are over on the way, in order, and lets everything happen in
 * between that waits for nothing but its turn. Nothing here knows a test runner.
 */
import type { Pause } from "../history/growth.js";
import { TEST_EPOCH_MS } from "./fixtures.js";

/** Lets everything happen that waits for nothing but its turn. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** See the file header. */
export class ManualTime {
  now = TEST_EPOCH_MS;
  /** How long each pause was meant to last. */
  readonly pauses: number[] = [];
  #waiting: { readonly at: number; readonly end: () => void }[] = [];

  readonly clock = (): number => this.now;
  readonly pause: Pause = (ms, signal) =>
    new Promise((resolve) => {
      this.pauses.push(ms);
      if (signal?.aborted === true) return resolve();
      const end = (): void => {
        signal?.removeEventListener("abort", end);
        resolve();
      };
      this.#waiting.push({ at: this.now + ms, end });
      signal?.addEventListener("abort", end, { once: true });
    });

  /** Passes, and ends the pauses that are over on the way, in order. */
  async pass(ms: number): Promise<void> {
    const until = this.now + ms;
    await settle();
    for (;;) {
      const next = this.#waiting.reduce(
        (first, { at }) => Math.min(first, at),
        Number.POSITIVE_INFINITY,
      );
      if (next > until) break;
      this.now = Math.max(this.now, next);
      const over = this.#waiting.filter(({ at }) => at <= next);
      this.#waiting = this.#waiting.filter(({ at }) => at > next);
      for (const { end } of over) end();
      await settle();
    }
    this.now = until;
  }
}
