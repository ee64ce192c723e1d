/**
 * The open stores of a server: one per actor, opened when first asked for, shared by all requests,
 * closed when nobody has asked for a while, all closed at the end.
 *
 * Promise: a store is never closed while somebody works on it. At most `openMax` are kept open beyond
 * those in use, so that thousands of actors do not use up the descriptors of the process. Stores that
 * are not kept (`memory:`) stay open, because closing one would lose it.
 */
import {
  type Cortex,
  CortexError,
  checkActorName,
  type OpenOptions,
  open,
} from "@cortex-memory/core";
import type { Operation } from "../operations/define.js";
import { chooseStore } from "../store-choice.js";

/** How stores are kept. */
export interface StoresOptions {
  /** Where the stores are: a folder, or `memory:`. */
  readonly location: string;
  readonly isFolder: (path: string) => boolean;
  /** A clock that only goes forward. */
  readonly nowMs: () => number;
  /** What every store is opened with beside its actor. */
  readonly opening?: Pick<OpenOptions, "embedder" | "model" | "jobs">;
  /** How long an unused store stays open. */
  readonly idleMs?: number;
  readonly openMax?: number;
}

interface Held {
  readonly opening: Promise<Cortex>;
  users: number;
  usedAtMs: number;
}

/** An operation that answers also where there is no store. */
const OPTIONAL = { command: "", group: "store", store: "optional" } as const;

const IDLE_MS = 60_000;
/** An open store takes up to 3 MB and a few descriptors; reopening one takes about a millisecond. */
const OPEN_MAX = 64;

/** See the file header. */
export class Stores {
  readonly #options: Required<StoresOptions>;
  /** In the order of last use. */
  readonly #held = new Map<string, Held>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new Set<Promise<void>>();
  readonly #sweeper: NodeJS.Timeout;
  #nothing: Promise<Cortex> | undefined;
  #ended = false;

  constructor(options: StoresOptions) {
    this.#options = { idleMs: IDLE_MS, openMax: OPEN_MAX, opening: {}, ...options };
    this.#sweeper = setInterval(() => this.#sweep(), this.#options.idleMs / 2);
    this.#sweeper.unref();
  }

  /** Runs work on the store that an operation of an actor works on. */
  async use<T>(
    operation: Pick<Operation, "cli">,
    actorName: string,
    work: (memory: Cortex) => Promise<T>,
  ): Promise<T> {
    const actor = checkActorName(actorName);
    const known = this.#held.get(actor);
    const { location: data, isFolder } = this.#options;
    const choice =
      known !== undefined && operation.cli.store !== "none"
        ? "there"
        : chooseStore(operation, { data, actor, isFolder });
    if (this.#ended) throw new CortexError("ERR_CLOSED", "the server is stopping");
    if (choice === "nothing") return work(await this.#unkept());
    const held = known ?? this.#open(actor, choice === "create");
    held.users += 1;
    const running = held.opening.then(work);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
      held.users -= 1;
      held.usedAtMs = this.#options.nowMs();
      if (this.#held.get(actor) === held) {
        this.#held.delete(actor);
        this.#held.set(actor, held);
      }
    }
  }

  /** The stores that are open now. */
  async opened(): Promise<readonly Cortex[]> {
    const settled = await Promise.allSettled([...this.#held.values()].map((one) => one.opening));
    return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  }

  /** Throws when the store of an actor cannot be read; one that is not there yet is no trouble. */
  async checkReadable(actor: string): Promise<void> {
    await this.use({ cli: OPTIONAL }, actor, (memory) => memory.stats());
  }

  /** Takes no more work, waits for what is being done, and closes everything. */
  async close(): Promise<void> {
    this.#ended = true;
    clearInterval(this.#sweeper);
    await Promise.allSettled([...this.#running]);
    for (const [actor, held] of this.#held) this.#close(actor, held);
    await Promise.all([...this.#closing]);
    await (await this.#nothing)?.close();
  }

  #open(actor: string, create: boolean): Held {
    this.#makeRoom();
    // Every actor has a store of its own also where none of them is kept.
    const mayCreate = create || this.#options.location === "memory:";
    const { location, opening: more } = this.#options;
    const opening = open(location, { ...more, actor, create: mayCreate });
    const held: Held = { opening, users: 0, usedAtMs: this.#options.nowMs() };
    this.#held.set(actor, held);
    opening.catch(() => {
      if (this.#held.get(actor) === held) this.#held.delete(actor);
    });
    return held;
  }

  /** A store for what needs none. */
  #unkept(): Promise<Cortex> {
    this.#nothing ??= open("memory:");
    return this.#nothing;
  }

  #makeRoom(): void {
    if (this.#held.size < this.#options.openMax) return;
    for (const [actor, held] of this.#held) {
      if (held.users > 0 || !this.#mayClose()) continue;
      this.#close(actor, held);
      return;
    }
  }

  #sweep(): void {
    if (!this.#mayClose()) return;
    const before = this.#options.nowMs() - this.#options.idleMs;
    for (const [actor, held] of this.#held) {
      if (held.users === 0 && held.usedAtMs <= before) this.#close(actor, held);
    }
  }

  #mayClose(): boolean {
    return this.#options.location !== "memory:";
  }

  #close(actor: string, held: Held): void {
    this.#held.delete(actor);
    const closing = held.opening
      .then((memory) => memory.close())
      .catch(() => {
        // A store that did not open, or whose last sync failed, has told its callers already.
      })
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}
