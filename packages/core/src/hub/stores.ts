/**
 * The open graphs of a hub: opened when somebody needs them, closed when nobody has for a while.
 *
 * Promises: a graph stays open while a `use` of it runs; at most `maxOpen` others stay open, the least
 * recently used closing first, and none longer than `idleMs` after its last use. An open store takes
 * three descriptors, so thousands of graphs fit a process that has a few hundred. Two uses of one
 * graph share one handle. Which stores there are, and what they hold, is left to the catalogue.
 *
 * A use inside a use is fine: the bound is on what stays open idle, not on what is in use, so nobody
 * ever waits for another use to end; only for graphs that are closing already.
 */
import { resolve } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { CortexError, isCortexError } from "../errors.js";
import { around, HEAD_KEY, type Kv } from "../kv/kv.js";
import {
  type OpenedGraph,
  type OpenOptions,
  openGraph,
  openKv,
  type StoreStamps,
  storeStamps,
} from "../open.js";

/** The folder of the catalogue; no actor can have this name. */
export const CATALOGUE_FOLDER = ".catalogue";

/** Where the graphs of a hub are kept. */
export interface Places {
  /** The names of all stores there are, in order. */
  names(): Promise<readonly string[]>;
  /** Of graphs with a stamp each, those whose stamp no longer holds. */
  changed(stamps: ReadonlyMap<string, string>): Promise<readonly string[]>;
  /** A stamp of one graph; it holds as long as nothing is committed. `undefined` without a store. */
  stamp(name: string): Promise<string | undefined>;
  /** Opens a graph; `onClose` runs when it closes, while its storage is still open. */
  open(name: string, create: boolean, onClose: OnClose): Promise<OpenedGraph>;
  openCatalogue(): Promise<Kv>;
  /** Graphs that must not be closed, because they live in this process alone. */
  readonly keepsOpen: boolean;
}

/** What is done for a graph as the last thing before its storage closes. */
export type OnClose = (name: string, kv: Kv) => Promise<void>;

/** What every graph of a hub is opened with. */
export type GraphOptions = Pick<
  OpenOptions,
  "principal" | "clock" | "random" | "relaxedDurability" | "rateLimits"
>;

/** Puts something between a graph and its storage: a test's counter, for instance. */
export type WrapGraph = (kv: Kv) => Kv;

/** The stores of a folder. */
export async function folderPlaces(
  folder: string,
  options: GraphOptions,
  wrap: WrapGraph = (kv) => kv,
): Promise<Places> {
  const stamps = await storeStamps();
  const root = resolve(folder);
  const at = (name: string): string => `${root}/${name}`;
  return {
    keepsOpen: false,
    names: async () => stamps.storeNames(root),
    changed: async (known) => changedIn(stamps, at, known),
    stamp: async (name) => stamps.takeStamp(at(name)),
    open: async (name, create, onClose) => {
      const { relaxedDurability = false } = options;
      const kv = wrap(await openKv(root, name, { create, relaxedDurability }));
      const told = toldOfClose(kv, () => onClose(name, kv));
      try {
        return await openGraph(root, { ...options, actor: name, create, kv: told });
      } catch (error) {
        // What was refused before the graph took the storage over is still open.
        await kv.close();
        throw error;
      }
    },
    openCatalogue: () => {
      const { relaxedDurability = false } = options;
      return openKv(root, CATALOGUE_FOLDER, { relaxedDurability });
    },
  };
}

/** The same storage; closing it does something first, whose failure does not keep it open. */
function toldOfClose(kv: Kv, onClose: () => Promise<void>): Kv {
  let ended: Promise<void> | undefined;
  return around(kv, {
    close: () => {
      // What is not settled now is settled by whoever asks next.
      ended ??= onClose()
        .catch(() => undefined)
        .then(() => kv.close());
      return ended;
    },
  });
}

/** Stores looked at before the event loop gets its turn. */
const LOOKS_PER_TURN = 1000;

async function changedIn(
  stamps: StoreStamps,
  at: (name: string) => string,
  known: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const changed: string[] = [];
  let looks = 0;
  for (const [name, stamp] of known) {
    if (!stamps.holdsStamp(at(name), stamp)) changed.push(name);
    looks += 1;
    if (looks % LOOKS_PER_TURN === 0) await turn();
  }
  return changed;
}

/** Stores that live in this process and go with it. */
export async function memoryPlaces(
  options: GraphOptions,
  wrap: WrapGraph = (kv) => kv,
): Promise<Places> {
  const graphs = new Map<string, OpenedGraph>();
  const stamp = async (name: string): Promise<string | undefined> => {
    const graph = graphs.get(name);
    if (graph === undefined) return undefined;
    const snapshot = await graph.engine.kv.snapshot();
    try {
      const [head] = await snapshot.getMany([HEAD_KEY]);
      return head === undefined ? undefined : Buffer.from(head).toString("hex");
    } finally {
      snapshot.close();
    }
  };
  return {
    keepsOpen: true,
    names: async () => [...graphs.keys()].sort(),
    changed: async (known) => {
      const names = [...known.keys()];
      const now = await Promise.all(names.map(stamp));
      return names.filter((name, at) => now[at] !== known.get(name));
    },
    stamp,
    open: async (name, create) => {
      const known = graphs.get(name);
      if (known !== undefined) return known;
      if (!create) throw new CortexError("ERR_FORMAT_UNKNOWN", `there is no graph ${name}`);
      const kv = wrap(await openKv("memory:", name, {}));
      const graph = await openGraph("memory:", { ...options, actor: name, kv });
      graphs.set(name, graph);
      return graph;
    },
    openCatalogue: () => openKv("memory:", CATALOGUE_FOLDER, {}),
  };
}

/** How many graphs stay open, and how long. */
export interface StoresBounds {
  readonly maxOpen: number;
  readonly idleMs: number;
}

/** Graphs that may be closing while another one is opened. */
const CLOSING_MAX = 2;

interface Held {
  readonly name: string;
  readonly opening: Promise<OpenedGraph>;
  users: number;
  lastUsedMs: number;
}

/** See the file header. */
export class GraphStores {
  readonly #places: Places;
  readonly #bounds: StoresBounds;
  readonly #clock: () => number;
  /** In order of use, the longest unused first. */
  readonly #held = new Map<string, Held>();
  readonly #closing = new Map<string, Promise<void>>();
  readonly #onOpen: (graph: OpenedGraph) => void;
  /** Set once the catalogue is open. */
  onClose: OnClose = async () => {};
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(
    places: Places,
    bounds: StoresBounds,
    clock: () => number,
    onOpen: (graph: OpenedGraph) => void,
  ) {
    this.#places = places;
    this.#bounds = bounds;
    this.#clock = clock;
    this.#onOpen = onOpen;
  }

  /** How many are open now. */
  get openCount(): number {
    return this.#held.size;
  }

  /** Runs `body` with a graph that stays open meanwhile; `undefined` when there is no such graph. */
  async use<T>(name: string, body: (graph: OpenedGraph) => Promise<T>): Promise<T | undefined> {
    const held = await this.#take(name, false);
    return this.#holding(held, async () => {
      const graph = await held.opening.catch((error: unknown) => {
        if (isCortexError(error, "ERR_FORMAT_UNKNOWN")) return undefined;
        throw error;
      });
      return graph === undefined ? undefined : body(graph);
    });
  }

  /** As `use`, and makes the graph if it is not there. */
  async create<T>(name: string, body: (graph: OpenedGraph) => Promise<T>): Promise<T> {
    const held = await this.#take(name, true);
    return this.#holding(held, async () => body(await held.opening));
  }

  /** Closes every graph; uses that run are waited for by whoever started them. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const all = [...this.#held.values()];
    this.#held.clear();
    await Promise.all([...all.map((held) => this.#end(held)), ...this.#closing.values()]);
  }

  async #holding<T>(held: Held, body: () => Promise<T>): Promise<T> {
    held.users += 1;
    try {
      return await body();
    } finally {
      held.users -= 1;
      held.lastUsedMs = this.#clock();
      this.#trim();
    }
  }

  async #take(name: string, create: boolean): Promise<Held> {
    for (;;) {
      if (this.#closed) throw new CortexError("ERR_CLOSED", "the hub is closed");
      const known = this.#held.get(name);
      if (known !== undefined) {
        // Set anew, so that the map stays in order of use.
        this.#held.delete(name);
        this.#held.set(name, known);
        return known;
      }
      const closing = this.#closing.get(name);
      if (closing === undefined && this.#closing.size < CLOSING_MAX) {
        return this.#start(name, create);
      }
      // Whoever opens faster than graphs can close would have all of them open in the end.
      await (closing ?? Promise.race(this.#closing.values()));
    }
  }

  #start(name: string, create: boolean): Held {
    const onClose: OnClose = (closing, kv) => this.onClose(closing, kv);
    const opening = this.#places.open(name, create, onClose).then(
      (graph) => {
        this.#onOpen(graph);
        return graph;
      },
      (error: unknown) => {
        this.#held.delete(name);
        throw error;
      },
    );
    const held = { name, opening, users: 0, lastUsedMs: this.#clock() };
    this.#held.set(name, held);
    return held;
  }

  /** Closes what is too much or too old, and comes back when the next one may be. */
  #trim(): void {
    if (this.#places.keepsOpen || this.#closed) return;
    const now = this.#clock();
    for (const held of this.#held.values()) {
      const isOld = now - held.lastUsedMs >= this.#bounds.idleMs;
      if (!isOld && this.#held.size <= this.#bounds.maxOpen) break;
      if (held.users > 0) continue;
      this.#held.delete(held.name);
      const ended = this.#end(held).finally(() => this.#closing.delete(held.name));
      this.#closing.set(held.name, ended);
    }
    if (this.#timer !== undefined || this.#held.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#trim();
    }, this.#bounds.idleMs);
    // Nothing waits for this: a process may end with graphs open.
    this.#timer.unref();
  }

  async #end(held: Held): Promise<void> {
    const graph = await held.opening.catch(() => undefined);
    await graph?.memory.close();
    // The engine lets go of a closed file in a timer of its own. Without a turn for it, opening 5,000
    // graphs in a row kept 64 KB of each: 200 MB more.
    await turn();
  }
}
