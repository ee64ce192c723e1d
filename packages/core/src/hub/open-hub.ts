/**
 * From a location to an open hub: a folder of graphs, a database of them, or `memory:`.
 *
 * A folder of a hub is a folder of actors, as `open` makes it: each graph is a sub-folder with the name
 * of its actor, and graphs that `open` made are graphs of the hub. Beside them stands the folder of the
 * catalogue, made by the first call that needs one.
 *
 * The store of a hub's catalogue, opened by the first call that asks the catalogue for something.
 *
 * Promises: a hub that is only used to reach graphs (`hub.use`) makes and reads no catalogue, so a
 * catalogue that cannot be opened, or has no room on the disk, keeps nobody from a graph. What fails to
 * open is tried again by the next call. After `close` every call is refused with `ERR_CLOSED`.
 */

import { existsSync } from "node:fs";
import { checkOptions } from "../engine/engine.js";
import { CortexError, describe, invalid, isCortexError } from "../errors.js";
import { headOf } from "../history/build-beside.js";
import { checkJobs } from "../jobs.js";
import type { Kv } from "../kv/kv.js";
import { checkModel } from "../model/model.js";
import { isPostgresLocation, systemRandom } from "../open.js";
import { checkEmbedder } from "../vector/embedder.js";
import { Catalogue, type CatalogueParts } from "./catalogue.js";
import type { CatalogueKv } from "./catalogue-fold.js";
import { type HubContext, isGraphId, tenantPrefix } from "./context.js";
import { finishRemovals } from "./graphs.js";
import { Hub } from "./hub.js";
import { Lineages } from "./lineages.js";
import {
  databasePlaces,
  folderPlaces,
  type GraphOptions,
  GraphStores,
  memoryPlaces,
  type Places,
} from "./stores.js";

/** What the catalogue is made of, and where its store comes from. */
interface LateCatalogueParts extends Omit<CatalogueParts, "kv"> {
  readonly openKv: () => Promise<Kv>;
}

/** A catalogue that may not be open yet. */
interface LateCatalogue {
  readonly catalogue: Catalogue;
  /** Brings a graph that is about to close up to date, where that is worth its time. */
  settle(name: string, graph: Kv): Promise<void>;
  close(): Promise<void>;
}

/**
 * Entries that closing a graph may wait for. A graph with more of them, of which no hub has heard yet,
 * is read when somebody asks the catalogue about it, if anybody ever does.
 */
const SETTLE_ENTRIES = 8000;

/** Makes a catalogue whose store is opened when it is first needed. */
function lateCatalogue({ openKv, ...parts }: LateCatalogueParts): LateCatalogue {
  let opening: Promise<Kv> | undefined;
  let isClosed = false;
  const get = (): Promise<Kv> => {
    if (isClosed) throw new CortexError("ERR_CLOSED", "the hub is closed");
    if (opening === undefined) {
      const begun = furnished(openKv, parts);
      opening = begun;
      begun.catch(() => {
        opening = undefined;
      });
    }
    return opening;
  };
  const kv: CatalogueKv = {
    snapshot: async (options) => (await get()).snapshot(options),
    commit: async (change) => (await get()).commit(change),
    commitCaches: async (change) => (await get()).commitCaches(change),
    nextGeneration: async () => (await get()).nextGeneration(),
  };
  const catalogue = Catalogue.over({ ...parts, kv });
  return {
    catalogue,
    async settle(name, graph) {
      if (opening === undefined) return;
      const cursor = (await catalogue.knownRow(name))?.cursor ?? 0;
      const { size } = await headOf(graph);
      if (size - cursor <= SETTLE_ENTRIES) await catalogue.settle(name, graph);
    },
    async close() {
      isClosed = true;
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}

async function furnished(
  openKv: () => Promise<Kv>,
  parts: Omit<CatalogueParts, "kv">,
): Promise<Kv> {
  const kv = await openKv();
  try {
    await Catalogue.open({ ...parts, kv });
    return kv;
  } catch (error) {
    await kv.close();
    throw error;
  }
}

/**
 * How a hub is opened. The embedder, the model and the jobs are those of every graph, as `open` would
 * give them to one.
 *
 * Jobs run in the graphs that are open, and a graph opens when somebody uses it: nobody opens one for
 * its jobs' sake. A graph is not closed for idleness while a job of it is at work or has work left, turns
 * that wait for their session to fall silent included; the hourly upkeep that is not due yet is no such
 * work. Once it is closed its jobs rest, wherever they stood, and their leases are given back; they go
 * on from their cursors when the graph is next used, here or in another process. Where more than
 * `maxOpen` idle graphs have work left at once, or where a job keeps failing, a graph is closed with
 * work left, and the same holds.
 */
export interface OpenHubOptions extends GraphOptions {
  /** Only graphs of this tenant: those whose names begin with it and a dot. */
  readonly tenant?: string;
  /** False refuses a folder that is not there. */
  readonly create?: boolean;
  /**
   * Graphs that stay open while nobody uses them, and as many again while their jobs have work left;
   * each takes four descriptors. 8 by default.
   */
  readonly maxOpen?: number;
  /** How long an unused graph stays open; a minute by default. */
  readonly idleMs?: number;
}

/** What tests put in the place of parts. */
export interface HubSeams {
  readonly wrapCatalogue?: (kv: Kv) => Kv;
  readonly wrapGraph?: (kv: Kv) => Kv;
}

/** An open graph takes 3 MB of a process that has opened and closed thousands, and 1 ms to reopen. */
const MAX_OPEN = 8;
const IDLE_MS = 60_000;

const HUB_OPTIONS: { readonly [name in keyof Required<OpenHubOptions>]: true } = {
  embedder: true,
  model: true,
  jobs: true,
  principal: true,
  clock: true,
  random: true,
  relaxedDurability: true,
  rateLimits: true,
  tenant: true,
  create: true,
  maxOpen: true,
  idleMs: true,
};

/** Opens a hub over a folder of graphs, or one that lives in memory. */
export async function openHub(location: string, options: OpenHubOptions = {}): Promise<Hub> {
  return openHubWith(location, options, {});
}

/** `openHub`, with parts of a test's own. */
export async function openHubWith(
  location: string,
  options: OpenHubOptions,
  seams: HubSeams,
): Promise<Hub> {
  checkOptions(options, Object.keys(HUB_OPTIONS));
  const { tenant, create = true, maxOpen = MAX_OPEN, idleMs = IDLE_MS, ...shared } = options;
  checkCount(maxOpen, "maxOpen");
  checkCount(idleMs, "idleMs");
  checkServices(options);
  const prefix = tenantPrefix(tenant);
  const clock = options.clock ?? Date.now;
  const random = options.random ?? systemRandom;
  const isFolder = location !== "memory:" && !isPostgresLocation(location);
  if (!create && isFolder && !existsSync(location)) {
    const message = `location: expected a folder, got ${describe(location)}, which is none`;
    throw new CortexError("ERR_NOT_FOUND", message, { field: "location", subject: location });
  }
  const places = await placesAt(location, { ...shared, random, create }, seams.wrapGraph);
  const listeners = new Set<(graph: string) => void>();
  const stores = new GraphStores(places, { maxOpen, idleMs }, clock, ({ engine }) => {
    engine.signal.listen(() => {
      for (const listener of [...listeners]) listener(engine.actor);
    });
  });
  const late = lateCatalogue({
    places,
    stores,
    isOurs: (name) => isGraphId(name, prefix),
    clock,
    async openKv() {
      const kv = await places.openCatalogue();
      return seams.wrapCatalogue?.(kv) ?? kv;
    },
  });
  const { catalogue } = late;
  stores.onClose = late.settle;
  const closing = new AbortController();
  const context: HubContext = {
    places,
    stores,
    catalogue,
    lineages: new Lineages({ catalogue, stores, prefix, only: onlyGraphOf(places, prefix) }),
    prefix,
    clock,
    random,
    closing: closing.signal,
    onCommit: (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
  // What cannot be finished now (a disk that takes no writes, say) is left for the next who opens it.
  await finishRemovals(context).catch((error: unknown) => {
    if (!isCortexError(error)) throw error;
  });
  return new Hub(context, async () => {
    closing.abort();
    try {
      await stores.close();
    } finally {
      await late.close();
      await places.close?.();
    }
  });
}

/** The only graph of a hub, where a glance at its places tells; what others have beside it is not looked at. */
function onlyGraphOf(places: Places, prefix: string): () => string | undefined {
  return () => {
    const name = places.only?.();
    return name !== undefined && isGraphId(name, prefix) ? name : undefined;
  };
}

/** What is no embedder, no model or no plan for jobs is refused now, not when a graph is opened. */
function checkServices({ embedder, model, jobs }: OpenHubOptions): void {
  checkJobs(jobs);
  if (embedder !== undefined) checkEmbedder(embedder);
  if (model !== undefined) checkModel(model);
}

function placesAt(
  location: string,
  { create, ...options }: GraphOptions & { readonly create: boolean },
  wrap: HubSeams["wrapGraph"],
): Promise<Places> {
  if (typeof location !== "string" || location === "") {
    throw invalid("location", "a folder, memory: or postgres://…", location);
  }
  if (location === "memory:") return memoryPlaces(options, wrap);
  if (isPostgresLocation(location)) return databasePlaces(location, { ...options, create }, wrap);
  if (/^[a-z][a-z0-9+.-]+:\/\//.test(location)) {
    throw new CortexError(
      "ERR_UNSUPPORTED",
      "location: expected a folder, memory: or postgres://…, got another address",
      { field: "location" },
    );
  }
  return folderPlaces(location, options, wrap);
}

function checkCount(value: unknown, field: string): void {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 1) return;
  throw invalid(field, "an integer of at least 1", value);
}
