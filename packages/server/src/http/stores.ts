/**
 * Which store a request works on. The stores themselves are the hub's, which opens each
 * of them once, shares it between all requests and closes it when nobody has asked for a while; here it
 * is decided what a request gets where its actor has none: a new one, a failure, or a store that is not
 * kept, for operations that need none.
 *
 * Promise: a store is never closed while somebody works on it, and `close` waits for all work.
 *
 * The hub of a server: every store of the data folder is opened by it, whichever route asks for one, so
 * that a store is open once however it is reached. It is opened by the first request that needs it and
 * closed after the last one that uses it.
 */
import {
  type Cortex,
  CortexError,
  type Hub,
  isCortexError,
  type OpenHubOptions,
  open,
  openHub,
} from "@cortex-memory/core";
import { checkActorName } from "@cortex-memory/core/doors";
import { isDatabaseAddress } from "../config.js";
import type { Operation } from "../operations/define.js";
import { chooseStore, noStore } from "../store-choice.js";

/** See the file header. */
export class HubDoor {
  readonly #location: string;
  readonly #options: OpenHubOptions;
  /** Counted, not kept in a set: see `Exchange` in `server.ts`. */
  #running = 0;
  #onIdle: (() => void) | undefined;
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
    this.#running += 1;
    try {
      return await work(this.#hub ?? (await this.#open()));
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#onIdle?.();
    }
  }

  /** Looks into every store that is open now; opens none, and keeps none open for longer. */
  async eachOpen<T>(look: (memory: Cortex) => Promise<T>): Promise<readonly T[]> {
    return (await this.#hub?.eachOpen(look)) ?? [];
  }

  /** Takes no more work, waits for what is being done, and closes the hub with all its stores. */
  async close(): Promise<void> {
    this.#ended = true;
    if (this.#running > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
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

/** Where stores are, and how they are opened and kept. */
export interface StoresOptions
  extends Pick<OpenHubOptions, "embedder" | "model" | "jobs" | "idleMs" | "maxOpen"> {
  /** A folder, or `memory:`. */
  readonly location: string;
  readonly isFolder: (path: string) => boolean;
}

/** An operation that answers also where there is no store. */
const OPTIONAL = { command: "", group: "store", store: "optional" } as const;

/**
 * Stores that stay open while nobody asks, and as many more while their jobs have work. An open store takes
 * up to 3 MB and four descriptors; reopening one takes about a millisecond.
 */
export const OPEN_MAX = 64;

/** See the file header. */
export class Stores {
  /** All stores of the server, for routes that speak of several. */
  readonly hub: HubDoor;
  readonly #location: string;
  readonly #isFolder: (path: string) => boolean;
  #nothing: Promise<Cortex> | undefined;

  constructor({ location, isFolder, ...opening }: StoresOptions) {
    this.#location = location;
    this.#isFolder = isFolder;
    this.hub = new HubDoor(location, { maxOpen: OPEN_MAX, ...opening });
  }

  /** Runs work on the store that an operation of an actor works on. */
  async use<T>(
    operation: Pick<Operation, "cli">,
    actorName: string,
    work: (memory: Cortex) => Promise<T>,
  ): Promise<T> {
    const actor = checkActorName(actorName);
    const isOpen = this.hub.isOpen(actor) && operation.cli.store !== "none";
    const choice = isOpen ? "there" : this.#choose(operation, actor);
    this.hub.checkServing();
    if (choice === "nothing") return work(await this.#unkept());
    // Every actor has a store of its own also where none of them is kept.
    const create = choice === "create" || this.#location === "memory:";
    return this.#inStore(operation, { actor, create }, work);
  }

  /** Throws when the store of an actor cannot be read; one that is not there yet is no trouble. */
  async checkReadable(actor: string): Promise<void> {
    await this.use({ cli: OPTIONAL }, actor, (memory) => memory.stats());
  }

  /** Takes no more work, waits for what is being done, and closes everything. */
  async close(): Promise<void> {
    await this.hub.close();
    await (await this.#nothing)?.close();
  }

  async #inStore<T>(
    operation: Pick<Operation, "cli">,
    { actor, create }: { readonly actor: string; readonly create: boolean },
    work: (memory: Cortex) => Promise<T>,
  ): Promise<T> {
    let isThere = false;
    const begin = (memory: Cortex): Promise<T> => {
      isThere = true;
      return work(memory);
    };
    try {
      return await this.hub.use((hub) => hub.use(actor, begin, { create }));
    } catch (error) {
      if (isThere || !isCortexError(error, "ERR_NOT_FOUND")) throw error;
      // A database is not looked into before it is opened.
      if (isDatabaseAddress(this.#location)) {
        if (operation.cli.store === "optional") return work(await this.#unkept());
        throw noStore({ actor, data: this.#location });
      }
      // There is a folder of that name, and no store in it: a fault to be told, not an absence.
      const message = `data: expected a store in the folder of actor ${actor}, got something else`;
      throw new CortexError(
        "ERR_FORMAT_UNKNOWN",
        message,
        { field: "data", subject: actor },
        error,
      );
    }
  }

  #choose(operation: Pick<Operation, "cli">, actor: string): ReturnType<typeof chooseStore> {
    return chooseStore(operation, { data: this.#location, actor, isFolder: this.#isFolder });
  }

  /** A store for what needs none. */
  #unkept(): Promise<Cortex> {
    this.#nothing ??= open("memory:");
    return this.#nothing;
  }
}
