/**
 * The open graphs of a hub: opened when somebody needs them, closed when nobody has for a while.
 *
 * Promises: a graph is open once, however many use it at once and by whichever way they came. It stays
 * open while a `use` of it runs; at most `maxOpen` others stay open, the least recently used closing
 * first, and about `idleMs` after its last use a graph closes. An open store takes four descriptors,
 * so thousands of graphs fit a process that has a few hundred. Which stores there are, and what they
 * hold, is left to the catalogue.
 *
 * Background jobs run in graphs that are open. One with something left to do (`Jobs.hasWork`) is not
 * closed for being idle, and is kept beyond `maxOpen`; but no more than `maxOpen` such graphs are, so
 * that a slow embedder cannot use up all descriptors. Of those beyond, the least recently used closes,
 * and its jobs go on from their cursors when somebody opens it next.
 *
 * A use inside a use is fine: the bound is on what stays open idle, not on what is in use, so nobody
 * ever waits for another use to end; only for graphs that are closing already.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { CortexError, isCortexError } from "../errors.js";
import {
  around,
  HEAD_KEY,
  type Kv,
  type KvAtOnce,
  type KvSnapshotOptions,
  type KvSoon,
} from "../kv/kv.js";
import {
  databaseStores,
  type OpenedGraph,
  type OpenOptions,
  openGraph,
  openKv,
  type StoreStamps,
  storeRemoval,
  storeStamps,
  watchStores,
} from "../open.js";

/** The folder of the catalogue; no actor can have this name. */
export const CATALOGUE_FOLDER = ".catalogue";

/** Where the graphs of a hub are kept. */
export interface Places {
  /** The names of all stores there are, in order. */
  names(): Promise<readonly string[]>;
  /** The name of the only store there is, where a glance tells; `undefined` where it does not, or there are others. */
  only?(): string | undefined;
  /** The stamps of all stores by their names, in order, where one look tells them all. */
  stamps?(): Promise<ReadonlyMap<string, string>>;
  /** Of graphs with a stamp each, those whose stamp no longer holds. */
  changed(stamps: ReadonlyMap<string, string>): Promise<readonly string[]>;
  /** A stamp of one graph; it holds as long as nothing is committed. `undefined` without a store. */
  stamp(name: string): Promise<string | undefined>;
  /** Opens a graph that will tell of its end. */
  open(name: string, create: boolean, ends: GraphEnds): Promise<OpenedGraph>;
  openCatalogue(): Promise<Kv>;
  /** Takes a closed graph away with all its bytes; `undefined` where there is none. */
  remove(name: string): Promise<Removal | undefined>;
  /** Removals that somebody began and did not end: their bytes are gone now. */
  unfinished(): Promise<readonly Removal[]>;
  /** Gives back what looking at stores took. */
  close?(): Promise<void>;
  /** Graphs that must not be closed, because they live in this process alone. */
  readonly keepsOpen: boolean;
}

/** A graph whose bytes are gone. */
interface Removal {
  readonly name: string;
  /** Takes away the note that it was removed, once the catalogue has forgotten it as well. */
  end(): Promise<void>;
}

/** What is done for a graph as the last thing before its storage closes. */
type OnClose = (name: string, kv: Kv) => Promise<void>;

/** How an open graph ends: it closes, or somebody removed it under us. */
interface GraphEnds {
  readonly onClose: OnClose;
  readonly onGone: (name: string) => void;
}

/** What every graph of a hub is opened with. */
export type GraphOptions = Pick<
  OpenOptions,
  | "principal"
  | "clock"
  | "random"
  | "relaxedDurability"
  | "rateLimits"
  | "embedder"
  | "model"
  | "jobs"
>;

/** Puts something between a graph and its storage: a test's counter, for instance. */
type WrapGraph = (kv: Kv) => Kv;

/** The stores of a folder. */
export async function folderPlaces(
  folder: string,
  options: GraphOptions,
  wrap: WrapGraph = (kv) => kv,
): Promise<Places> {
  const [stamps, removal] = await Promise.all([storeStamps(), storeRemoval()]);
  const root = resolve(folder);
  const at = (name: string): string => `${root}/${name}`;
  // A store whose repair was cut short at the last step has no name, and would not be listed.
  if (existsSync(root)) removal.finishReplacements(root);
  const unwatch = await watchStores(root, [CATALOGUE_FOLDER]);
  const stores = storesAt(root, options, wrap);
  const destroyed = async (taken: string): Promise<Removal> => {
    await removal.destroy(root, taken);
    return { name: removal.nameIn(taken), end: async () => removal.endRemoval(root, taken) };
  };
  return {
    ...stores,
    openCatalogue: () =>
      stores.openCatalogue().catch((error: unknown) => {
        if (!isCortexError(error, "ERR_CORRUPT")) throw error;
        // It is made from the graphs, and a damaged one must not keep anybody from them.
        removal.removeFolder(at(CATALOGUE_FOLDER));
        return stores.openCatalogue();
      }),
    close: async () => unwatch(),
    remove: async (name) => {
      const taken = removal.takeAway(root, name);
      return taken === undefined ? undefined : destroyed(taken);
    },
    unfinished: () => Promise.all(removal.removalsIn(root).map(destroyed)),
    names: async () => stamps.storeNames(root),
    only: stamps.onlyStoreIn(root),
    changed: async (known) => changedIn(stamps, at, known),
    stamp: async (name) => stamps.takeStamp(at(name)),
  };
}

/** The stores of a hub in a database. */
export async function databasePlaces(
  location: string,
  options: GraphOptions & { readonly create: boolean },
  wrap: WrapGraph = (kv) => kv,
): Promise<Places> {
  const { create, ...shared } = options;
  const stores = await databaseStores(location, create);
  return {
    ...storesAt(location, shared, wrap),
    names: () => stores.names(),
    stamps: () => stores.stamps(),
    changed: async (known) => {
      const now = await stores.stamps([...known.keys()]);
      return [...known].flatMap(([name, stamp]) => (now.get(name) === stamp ? [] : [name]));
    },
    stamp: async (name) => (await stores.stamps([name])).get(name),
    // One transaction: there is nothing that could be left undone.
    remove: async (name) => ((await stores.remove(name)) ? ended(name) : undefined),
    unfinished: async () => [],
    close: () => stores.close(),
  };
}

/** A removal that left no note. */
function ended(name: string): Removal {
  return { name, end: async () => {} };
}

/** Opening stores, wherever they are. */
function storesAt(
  root: string,
  options: GraphOptions,
  wrap: WrapGraph,
): Pick<Places, "keepsOpen" | "open" | "openCatalogue"> {
  return {
    keepsOpen: false,
    open: async (name, create, { onClose, onGone }) => {
      const { relaxedDurability = false } = options;
      const kv = wrap(await openKv(root, name, { create, relaxedDurability }));
      const told = toldOfEnd(kv, {
        onClose: () => onClose(name, kv),
        onGone: () => onGone(name),
      });
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

/**
 * The same storage; closing it does something first, whose failure does not keep it open. A call that
 * finds the store removed says so before it fails.
 */
function toldOfEnd(
  kv: Kv,
  ends: { readonly onClose: () => Promise<void>; readonly onGone: () => void },
): Kv {
  let ended: Promise<void> | undefined;
  const seen = <T>(call: Promise<T>): Promise<T> =>
    call.catch((error: unknown) => {
      if (isCortexError(error, "ERR_NOT_FOUND")) ends.onGone();
      throw error;
    });
  return around(kv, {
    snapshot: async (options) => {
      const snapshot = await seen(kv.snapshot(options));
      // Only over a network does a snapshot find out with its first read.
      if (snapshot.soon === undefined) return snapshot;
      return {
        getMany: (keys) => seen(snapshot.getMany(keys)),
        ranges: (ranges) => seen(snapshot.ranges(ranges)),
        ...(snapshot.soon === undefined ? {} : { soon: (what: KvSoon) => snapshot.soon?.(what) }),
        close: () => snapshot.close(),
      };
    },
    // A store that is removed has nothing at hand, and a snapshot tells.
    ...(kv.readNow === undefined
      ? {}
      : {
          readNow: <T>(read: (rows: KvAtOnce) => T, options?: Pick<KvSnapshotOptions, "onEntry">) =>
            kv.readNow?.(read, options),
        }),
    commit: (change) => seen(kv.commit(change)),
    commitCaches: (change) => seen(kv.commitCaches(change)),
    close: () => {
      // What is not settled now is settled by whoever asks next.
      ended ??= ends
        .onClose()
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
    only: () => (graphs.size === 1 ? [...graphs.keys()][0] : undefined),
    changed: async (known) => {
      const names = [...known.keys()];
      const now = await Promise.all(names.map(stamp));
      return names.filter((name, at) => now[at] !== known.get(name));
    },
    stamp,
    remove: async (name) => (graphs.delete(name) ? ended(name) : undefined),
    unfinished: async () => [],
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
interface StoresBounds {
  readonly maxOpen: number;
  readonly idleMs: number;
}

/** Graphs that may be closing while another one is opened. */
const CLOSING_MAX = 2;

interface Held {
  readonly name: string;
  readonly opening: Promise<OpenedGraph>;
  /** Whether the opening makes the graph if it is not there. */
  readonly mayCreate: boolean;
  /** Present once it is open. */
  graph?: OpenedGraph;
  /** Whether it was found to be there no more, by a call or by a job of its own. */
  isGone?: boolean;
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
  /** The name of the last one in that order. Not the graph itself, which would outlive its closing here. */
  #lastUsed: string | undefined;
  readonly #closing = new Map<string, Promise<void>>();
  readonly #onOpen: (graph: OpenedGraph) => void;
  /** Set once there is a catalogue. */
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

  /** Whether a graph is open now. */
  isOpen(name: string): boolean {
    return this.#held.get(name)?.graph !== undefined;
  }

  /** Runs `body` with a graph that stays open meanwhile; `undefined` when there is no such graph. */
  async use<T>(name: string, body: (graph: OpenedGraph) => Promise<T>): Promise<T | undefined> {
    const held = await this.#take(name, false);
    return this.#holding(held, async () => {
      const graph = await opened(held);
      return graph === undefined ? undefined : body(graph);
    });
  }

  /** As `use`, and makes the graph if it is not there. */
  async create<T>(name: string, body: (graph: OpenedGraph) => Promise<T>): Promise<T> {
    for (;;) {
      const held = await this.#take(name, true);
      const done = await this.#holding(held, async () => {
        const graph = held.mayCreate ? await held.opening : await opened(held);
        return graph === undefined ? undefined : { value: await body(graph) };
      });
      // Somebody looked for it at the same time, and found nothing.
      if (done !== undefined) return done.value;
    }
  }

  /** Runs `body` with every graph that is open now; opens none, and is no use that keeps one open later. */
  async eachOpen<T>(body: (graph: OpenedGraph) => Promise<T>): Promise<readonly T[]> {
    const found = [...this.#held.values()].flatMap((held) => {
      const { graph } = held;
      return graph === undefined ? [] : [{ held, graph }];
    });
    return Promise.all(
      found.map(async ({ held, graph }) => {
        held.users += 1;
        try {
          return await body(graph);
        } finally {
          held.users -= 1;
        }
      }),
    );
  }

  /**
   * Closes a graph and does something about its place. Whoever uses it meanwhile is refused by what is
   * closed under them; whoever comes waits for the end of `body` and finds what that left.
   */
  async end<T>(name: string, body: () => Promise<T>): Promise<T> {
    for (let other = this.#closing.get(name); other !== undefined; ) {
      await other;
      other = this.#closing.get(name);
    }
    if (this.#closed) throw new CortexError("ERR_CLOSED", "the hub is closed");
    const held = this.#held.get(name);
    this.#held.delete(name);
    const closed = held === undefined ? Promise.resolve() : this.#end(held);
    const done = closed.catch(() => undefined).then(body);
    this.#closing.set(
      name,
      done.then(noop, noop).finally(() => this.#closing.delete(name)),
    );
    return done;
  }

  /** Closes every graph; uses that run are waited for by whoever started them. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const all = [...this.#held.values()];
    this.#held.clear();
    const ended = await Promise.allSettled(all.map((held) => this.#end(held)));
    await Promise.all(this.#closing.values());
    const failed = ended.find((one) => one.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  /** Runs `body` for a user that `#take` has counted. */
  async #holding<T>(held: Held, body: () => Promise<T>): Promise<T> {
    let isTold = false;
    try {
      return await body();
    } catch (error) {
      isTold = held.isGone === true || isCortexError(error, "ERR_ROLLED_BACK");
      throw error;
    } finally {
      held.users -= 1;
      held.lastUsedMs = this.#clock();
      // It was told; whoever comes next finds the store as it stands now, or a new one of this name.
      const isLast = held.users === 0 && this.#held.get(held.name) === held;
      if (isTold && isLast && !this.#places.keepsOpen) this.#closeIdle(held);
      this.#trim(false);
    }
  }

  /** The graph with one user more, counted at once: nobody may close it before it is used. */
  async #take(name: string, create: boolean): Promise<Held> {
    for (;;) {
      if (this.#closed) throw new CortexError("ERR_CLOSED", "the hub is closed");
      const known = this.#held.get(name);
      if (known !== undefined) {
        // Set anew, so that the map stays in order of use; most calls are to the graph of the call before.
        if (name !== this.#lastUsed) {
          this.#held.delete(name);
          this.#held.set(name, known);
          this.#lastUsed = name;
        }
        known.users += 1;
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

  #start(name: string, mayCreate: boolean): Held {
    const onClose: OnClose = (closing, kv) => this.onClose(closing, kv);
    // A caller is told before the next one looks anew: with a database that was set back, more is gone than a name.
    const onGone = (): void => {
      held.isGone = true;
    };
    const opening = this.#places.open(name, mayCreate, { onClose, onGone }).then(
      (graph) => {
        held.graph = graph;
        this.#onOpen(graph);
        return graph;
      },
      (error: unknown) => {
        if (this.#held.get(name) === held) this.#held.delete(name);
        throw error;
      },
    );
    const held: Held = { name, opening, mayCreate, users: 1, lastUsedMs: this.#clock() };
    this.#held.set(name, held);
    this.#lastUsed = name;
    return held;
  }

  /** Closes what is too many and, when told to, what is too old; see the file header. */
  #trim(closesOld: boolean): void {
    if (this.#places.keepsOpen || this.#closed) return;
    this.#comeBack();
    const { maxOpen, idleMs } = this.#bounds;
    if (!closesOld && this.#held.size <= maxOpen) return;
    const unused = [...this.#held.values()].filter(({ users }) => users === 0);
    const atWork = unused.filter(hasWork);
    const isMany = (): boolean => this.#held.size > maxOpen + Math.min(maxOpen, atWork.length);
    const before = this.#clock() - idleMs;
    for (const held of unused) {
      const isOld = closesOld && held.lastUsedMs <= before;
      if ((isOld || isMany()) && !atWork.includes(held)) this.#closeIdle(held);
    }
    for (const held of atWork) {
      if (isMany()) this.#closeIdle(held);
    }
  }

  /** Looks again after a while, for as long as anything is open. */
  #comeBack(): void {
    if (this.#timer !== undefined || this.#held.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#trim(true);
    }, this.#bounds.idleMs / 2);
    // Nothing waits for this: a process may end with graphs open.
    this.#timer.unref();
  }

  #closeIdle(held: Held): void {
    this.#held.delete(held.name);
    const ended = this.#end(held)
      .catch(() => {
        // Nobody waits for this one. A store whose last sync fails has told its writers already.
      })
      .finally(() => this.#closing.delete(held.name));
    this.#closing.set(held.name, ended);
  }

  async #end(held: Held): Promise<void> {
    const graph = await held.opening.catch(() => undefined);
    await graph?.memory.close();
    // The engine lets go of a closed file in a timer of its own. Without a turn for it, opening 5,000
    // graphs in a row kept 64 KB of each: 200 MB more.
    await turn();
  }
}

function noop(): void {}

/** The graph once it is open; `undefined` when there is none. */
function opened(held: Held): Promise<OpenedGraph | undefined> {
  return held.opening.catch((error: unknown) => {
    // One that names a file has found something else in the place of a store.
    const isNone =
      isCortexError(error, "ERR_FORMAT_UNKNOWN") && error.details.subject === undefined;
    if (isNone) return undefined;
    throw error;
  });
}

function hasWork({ graph }: Held): boolean {
  return graph?.memory.jobs.hasWork === true;
}
