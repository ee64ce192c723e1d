/**
 * The world of a simulation: one disk in memory, several clients that have opened the same store, and
 * a scheduler that decides whose call to the storage goes next.
 *
 * Promise: everything follows from the seed. Whatever a client does ends in a call to the storage or in
 * a pause, and each of those waits until the scheduler picks it; between two picks only turns of the
 * event loop pass, which have one order. Time is a number. A client that crashes never hears of
 * anything again, and what it was writing is written or not.
 */
import type { Cortex } from "../cortex.js";
import { decodeHeadRow } from "../history/head-row.js";
import { around, type Kv, type KvGeneration } from "../kv/kv.js";
import { MemoryStore, openMemoryKv } from "../kv/memory-backend.js";
import { openGraph } from "../open.js";
import { faultyKv, type KvCall, type KvFault } from "./faulty-kv.js";
import { type SeededRandom, seededRandom } from "./seeded-random.js";
import { MODEL_ACTOR } from "./simulation-compare.js";

/** What is to befall a client in a step, at its call of this number. */
export interface Mishap {
  readonly client: Client;
  readonly call: number;
  /** Whether only calls that write are counted. */
  readonly ofWrites: boolean;
  /** A fault of that call; `crashes` ends the client, and the call is done if it `isDone`. */
  readonly what: KvFault | "crashes";
  readonly isDone: boolean;
}

/** One opening of the store, as a process of its own would have it. */
export class Client {
  memory: Cortex | undefined;
  now: number;
  isDead = false;
  /** Whether one of its calls failed in this step. */
  isHurt = false;
  /** Calls of this step that were let through. */
  calls = 0;
  writes = 0;
  readonly name: string;
  /** How far its clock is from the others'. */
  readonly skewMs: number;
  readonly generations: KvGeneration[] = [];

  constructor(name: string, skewMs: number, now: number) {
    this.name = name;
    this.skewMs = skewMs;
    this.now = now;
  }

  /** The open graph; the client must have been opened. */
  get graph(): Cortex {
    if (this.memory === undefined) throw new Error(`${this.name} has not opened the store`);
    return this.memory;
  }
}

interface Waiting {
  readonly client: Client;
  readonly call: KvCall | "pause";
  readonly go: (fault: KvFault | undefined) => void;
}

/** A fault at one call of a whole run, counted from 1 over all clients. */
export interface FaultAt {
  readonly call: number;
  readonly fault: KvFault;
}

/** More picks than any step needs: a step that takes more does not end. */
const PICKS_MAX = 200_000;
/** Turns of the event loop without a call to pick, after which something waits for what never comes. */
const IDLE_TURNS_MAX = 20_000;

/** See the file header. */
export class World {
  readonly store = new MemoryStore();
  /** Entries of the journal that are committed. */
  size = 0;
  /** Calls to the storage that were let through, by all clients. */
  calls = 0;
  mishap: Mishap | undefined;
  #waiting: Waiting[] = [];
  readonly #faultAt: FaultAt | undefined;
  readonly #seed: number;
  #opened = 0;
  #hasLied = false;

  constructor(seed: number, faultAt?: FaultAt) {
    this.#seed = seed;
    this.#faultAt = faultAt;
  }

  /** Opens the store for a client. */
  async open(client: Client, jobs: boolean): Promise<void> {
    this.#opened += 1;
    const random = seededRandom(mixed(this.#seed, 0x10000 + this.#opened));
    const { memory } = await openGraph(
      "memory:",
      {
        actor: MODEL_ACTOR,
        kv: faultyKv(this.#counted(client), (call) => this.#wait(client, call)),
        clock: () => client.now,
        random: random.bytes,
        rateLimits: false,
        ...(jobs ? { jobs: { maintainEveryMs: 0, snapshotEveryMs: 1000 } } : {}),
      },
      (_ms, signal) => this.#pause(client, signal),
    );
    client.memory = memory;
  }

  /** Opens the store for whoever only looks: its calls never wait and never fail. */
  async openObserver(clock: () => number): Promise<Cortex> {
    const random = seededRandom(mixed(this.#seed, 0xffff)).bytes;
    const options = { actor: MODEL_ACTOR, kv: openMemoryKv(this.store), clock, random };
    return (await openGraph("memory:", { ...options, rateLimits: false }, settled)).memory;
  }

  /** Ends a client between two of its calls; nobody waits for it any more. */
  crash(client: Client): void {
    client.isDead = true;
    this.#waiting = this.#waiting.filter((one) => one.client !== client);
    // What held the store for a construction lets go of it by itself after a while.
    void settled().then(() => Promise.all(client.generations.map((one) => one.abandon())));
  }

  /** Lets calls through, one after another, until `isOver`. */
  async run(random: SeededRandom, isOver: () => boolean): Promise<void> {
    let idle = 0;
    for (let picks = 0; picks < PICKS_MAX; picks += 1) {
      await settled();
      if (isOver()) return;
      if (this.#waiting.length === 0) {
        idle += 1;
        if (idle > IDLE_TURNS_MAX) throw new Error("everybody waits, and nothing can happen");
        continue;
      }
      idle = 0;
      this.#let(this.#pick(random));
    }
    throw new Error(`a step did not end within ${PICKS_MAX} calls`);
  }

  /** A pause lasts until it is picked, however long it was meant to be, or until it is ended early. */
  async #pause(client: Client, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) return;
    let end = (): void => {};
    const aborted = new Promise<void>((resolve) => {
      end = resolve;
      signal?.addEventListener("abort", end, { once: true });
    });
    await Promise.race([this.#wait(client, "pause"), aborted]);
    signal?.removeEventListener("abort", end);
  }

  #wait(client: Client, call: Waiting["call"]): Promise<KvFault | undefined> {
    if (client.isDead) return new Promise(() => undefined);
    return new Promise((go) => {
      this.#waiting.push({ client, call, go });
    });
  }

  /** Whose turn it is: mostly somebody with a call, for jobs would pause and look all the time. */
  #pick(random: SeededRandom): Waiting {
    const calls = this.#waiting.filter(({ call }) => call !== "pause");
    const next = random.pick(calls.length === 0 || random.chance(10) ? this.#waiting : calls);
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    return next;
  }

  /** Lets one call through, with what befalls it. */
  #let({ client, call, go }: Waiting): void {
    const fate = call === "pause" ? undefined : this.#fateOf(client, call);
    if (fate !== "crashes") go(fate);
  }

  /** What befalls the next call of a client; `crashes` where it never hears of it again. */
  #fateOf(client: Client, call: KvCall): KvFault | "crashes" | undefined {
    this.calls += 1;
    client.calls += 1;
    if (call !== "read") client.writes += 1;
    if (this.#faultAt !== undefined && this.#isFaulty(call, this.#faultAt)) {
      client.isHurt = true;
      return this.#faultAt.fault;
    }
    const { mishap } = this;
    if (mishap?.client !== client || (mishap.ofWrites && call === "read")) return undefined;
    if ((mishap.ofWrites ? client.writes : client.calls) !== mishap.call) return undefined;
    this.mishap = undefined;
    if (mishap.what !== "crashes") {
      client.isHurt = true;
      return mishap.what;
    }
    this.crash(client);
    return mishap.isDone ? "vanishes" : "crashes";
  }

  /** Whether the one fault of the run is due; a lie waits for the next commit, where it can be told. */
  #isFaulty(call: KvCall, { call: at, fault }: FaultAt): boolean {
    if (fault !== "lies") return this.calls === at;
    if (this.#hasLied || this.calls < at || call !== "commit") return false;
    this.#hasLied = true;
    return true;
  }

  /** The disk, as a client reaches it; counts entries as they are committed. */
  #counted(client: Client): Kv {
    const kv = openMemoryKv(this.store);
    return around(kv, {
      commit: async (change) => {
        const result = await kv.commit(change);
        if (result.ok) this.size = decodeHeadRow(change.head).size;
        return result;
      },
      nextGeneration: async () => {
        const generation = await kv.nextGeneration();
        client.generations.push(generation);
        return generation;
      },
    });
  }
}

/** A turn of the event loop: whatever waits for nothing else has happened by then. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** A seed for one part of a run. */
export function mixed(seed: number, part: number): number {
  return (Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(part + 1, 0x85ebca6b)) >>> 0;
}
