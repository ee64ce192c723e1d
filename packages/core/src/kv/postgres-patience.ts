/**
 * How long one goes on trying to reach a server that went away.
 *
 * Promises: pauses grow up to a longest one, and differ from one process to the next, so that those who lost a
 * server together do not come back together; when the time is over, the call fails with the failure that came
 * last.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { CortexError } from "../errors.js";

/** First and longest pause between two tries to reach the server. */
const PAUSE_MS = { first: 20, most: 1000 } as const;

/** What a machine has of time and chance. */
interface Machine {
  /** Milliseconds since some moment. */
  now(): number;
  pause(ms: number): Promise<unknown>;
  /** From 0 to 1. */
  chance(): number;
}

const MACHINE: Machine = {
  now: () => performance.now(),
  pause: (ms) => sleep(ms),
  chance: () => Math.random(),
};

/** See the file header. */
export class Patience {
  readonly #machine: Machine;
  readonly #untilMs: number;
  #pauseMs: number = PAUSE_MS.first;

  constructor(ms: number, machine: Machine = MACHINE) {
    this.#machine = machine;
    this.#untilMs = machine.now() + ms;
  }

  /** Waits a moment, or throws when there was time enough. */
  async pause(error: unknown, addition?: string): Promise<void> {
    const { now, pause, chance } = this.#machine;
    if (now() >= this.#untilMs) {
      if (!(error instanceof CortexError) || addition === undefined) throw error;
      throw new CortexError(error.code, `${error.message}; ${addition}`, {}, error);
    }
    await pause(this.#pauseMs * (0.5 + chance()));
    this.#pauseMs = Math.min(PAUSE_MS.most, 2 * this.#pauseMs);
  }
}
