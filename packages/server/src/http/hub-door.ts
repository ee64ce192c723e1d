/**
 * The hub of a server: every store of the data folder is opened by it, whichever route asks for one, so
 * that a store is open once however it is reached. It is opened by the first request that needs it and
 * closed after the last one that uses it.
 */
import {
  type Cortex,
  CortexError,
  type Hub,
  type OpenHubOptions,
  openHub,
} from "@cortex-memory/core";

/** See the file header. */
export class HubDoor {
  readonly #location: string;
  readonly #options: OpenHubOptions;
  readonly #running = new Set<Promise<unknown>>();
  #opening: Promise<Hub> | undefined;
  #hub: Hub | undefined;
  #ended = false;

  constructor(location: string, options: OpenHubOptions) {
    this.#location = location;
    this.#options = options;
  }

  /** Whether the store of an actor is open now. */
  isOpen(actor: string): boolean {
    return this.#hub?.isOpen(actor) === true;
  }

  /** Refuses work once the server is stopping. */
  checkServing(): void {
    if (this.#ended) throw new CortexError("ERR_CLOSED", "the server is stopping");
  }

  /** Runs work on the hub. */
  async use<T>(work: (hub: Hub) => Promise<T>): Promise<T> {
    this.checkServing();
    const running = this.#open().then(work);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Looks into every store that is open now; opens none, and keeps none open for longer. */
  async eachOpen<T>(look: (memory: Cortex) => Promise<T>): Promise<readonly T[]> {
    return (await this.#hub?.eachOpen(look)) ?? [];
  }

  /** Takes no more work, waits for what is being done, and closes the hub with all its stores. */
  async close(): Promise<void> {
    this.#ended = true;
    await Promise.allSettled([...this.#running]);
    const hub = await this.#opening?.catch(() => undefined);
    await hub?.close();
  }

  #open(): Promise<Hub> {
    if (this.#opening === undefined) {
      const opening = openHub(this.#location, this.#options);
      this.#opening = opening;
      opening.then(
        (hub) => {
          this.#hub = hub;
        },
        () => {
          // A hub that did not open is tried again by the next request.
          this.#opening = undefined;
        },
      );
    }
    return this.#opening;
  }
}
