/**
 * Who of a process may have a connection of a pool, and in which order.
 *
 * A snapshot keeps one while it reads, and now and then a call needs a second: if first ones took them all, everybody
 * would wait for everybody. So some are kept back for those who have waited a moment.
 */
import { CortexError } from "../errors.js";

/** How long one waits for a connection before one of the reserve may be used, and before one gives up. */
const RESERVE_AFTER_MS = 60;
const SEAT_MS = 30_000;

/** See the file header. */
export class Seats {
  readonly #most: number;
  readonly #usual: number;
  readonly #queue: { readonly grant: () => void; readonly sinceMs: number }[] = [];
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
    this.#usual = Math.max(1, Math.ceil(most * 0.6));
  }

  get waiting(): number {
    return this.#queue.length;
  }

  async take(): Promise<() => void> {
    if (this.#taken < this.#usual && this.#queue.length === 0) this.#taken += 1;
    else await this.#wait();
    let isMine = true;
    return () => {
      if (!isMine) return;
      isMine = false;
      this.#taken -= 1;
      this.#admit();
    };
  }

  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter = {
        sinceMs: performance.now(),
        grant: () => {
          clearTimeout(reserve);
          clearTimeout(giveUp);
          this.#taken += 1;
          resolve();
        },
      };
      const reserve = setTimeout(() => this.#admit(), RESERVE_AFTER_MS);
      const giveUp = setTimeout(() => {
        this.#queue.splice(this.#queue.indexOf(waiter), 1);
        const message = `all ${this.#most} connections were in use for ${SEAT_MS / 1000} seconds; raise ?pool= of the address`;
        reject(new CortexError("ERR_UNREACHABLE", message));
      }, SEAT_MS);
      this.#queue.push(waiter);
    });
  }

  #admit(): void {
    const early = performance.now() - RESERVE_AFTER_MS + 1;
    for (;;) {
      const [first] = this.#queue;
      if (first === undefined) return;
      const most = first.sinceMs <= early ? this.#most : this.#usual;
      if (this.#taken >= most) return;
      this.#queue.shift();
      first.grant();
    }
  }
}
