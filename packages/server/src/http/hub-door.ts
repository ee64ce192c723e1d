/**
 * The hub of a server: opened when a route first speaks of graphs, closed after the last request that
 * uses it. The graphs are the stores of the data folder, the same that actors' paths reach.
 */
import { CortexError, type Hub, openHub } from "@cortex-memory/core";
import { HttpFailure } from "./problem.js";

/** See the file header. */
export class HubDoor {
  readonly #location: string;
  readonly #running = new Set<Promise<unknown>>();
  #opening: Promise<Hub> | undefined;
  #ended = false;

  constructor(location: string) {
    this.#location = location;
  }

  /** Runs work on the hub. */
  async use<T>(work: (hub: Hub) => Promise<T>): Promise<T> {
    if (this.#ended) throw new CortexError("ERR_CLOSED", "the server is stopping");
    const running = this.#open().then(work);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** Waits for what is being done, and closes the hub. */
  async close(): Promise<void> {
    this.#ended = true;
    await Promise.allSettled([...this.#running]);
    const hub = await this.#opening?.catch(() => undefined);
    await hub?.close();
  }

  #open(): Promise<Hub> {
    if (this.#location === "memory:") {
      const message = "graphs: expected a data folder; stores that are not kept stand alone";
      throw new HttpFailure("unavailable", message);
    }
    if (this.#opening === undefined) {
      this.#opening = openHub(this.#location);
      // A hub that did not open is tried again by the next request.
      this.#opening.catch(() => {
        this.#opening = undefined;
      });
    }
    return this.#opening;
  }
}
