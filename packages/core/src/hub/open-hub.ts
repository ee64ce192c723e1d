/**
 * From a location to an open hub: a folder of graphs, or `memory:`.
 *
 * A folder of a hub is a folder of actors, as `open` makes it: each graph is a sub-folder with the name
 * of its actor, and graphs that `open` made are graphs of the hub. Beside them stands the folder of the
 * catalogue.
 */
import { existsSync } from "node:fs";
import { checkOptions } from "../engine/engine.js";
import { CortexError, describe, invalid } from "../errors.js";
import type { Kv } from "../kv/kv.js";
import { type OpenOptions, pooledRandom } from "../open.js";
import { Catalogue } from "./catalogue.js";
import type { HubContext } from "./context.js";
import { Hub } from "./hub.js";
import { Lineages } from "./lineages.js";
import { isGraphId, tenantPrefix } from "./names.js";
import { folderPlaces, GraphStores, memoryPlaces } from "./stores.js";

/** How a hub is opened. */
export interface OpenHubOptions
  extends Pick<OpenOptions, "principal" | "clock" | "random" | "relaxedDurability" | "rateLimits"> {
  /** Only graphs of this tenant: those whose names begin with it and a dot. */
  readonly tenant?: string;
  /** False refuses a folder that is not there. */
  readonly create?: boolean;
  /** Graphs that stay open while nobody uses them; each takes three descriptors. 8 by default. */
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

const HUB_OPTIONS = [
  "principal",
  "clock",
  "random",
  "relaxedDurability",
  "rateLimits",
  "tenant",
  "create",
  "maxOpen",
  "idleMs",
];

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
  checkOptions(options, HUB_OPTIONS);
  const { tenant, create = true, maxOpen = MAX_OPEN, idleMs = IDLE_MS, ...shared } = options;
  checkCount(maxOpen, "maxOpen");
  checkCount(idleMs, "idleMs");
  const prefix = tenantPrefix(tenant);
  const clock = options.clock ?? Date.now;
  const random = options.random ?? pooledRandom();
  if (!create && location !== "memory:" && !existsSync(location)) {
    const message = `location: expected a folder, got ${describe(location)}, which is none`;
    throw new CortexError("ERR_NOT_FOUND", message, { field: "location", subject: location });
  }
  const places = await placesAt(location, { ...shared, random }, seams.wrapGraph);
  const listeners = new Set<(graph: string) => void>();
  const stores = new GraphStores(places, { maxOpen, idleMs }, clock, ({ engine }) => {
    engine.signal.listen(() => {
      for (const listener of [...listeners]) listener(engine.actor);
    });
  });
  const opened = await places.openCatalogue();
  const kv = seams.wrapCatalogue?.(opened) ?? opened;
  const closing = new AbortController();
  try {
    const isOurs = (name: string): boolean => isGraphId(name, prefix);
    const catalogue = await Catalogue.open({ kv, places, stores, isOurs });
    stores.onClose = (name, graph) => catalogue.settle(name, graph);
    const context: HubContext = {
      places,
      stores,
      catalogue,
      lineages: new Lineages({ catalogue, stores, clock, prefix }),
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
    return new Hub(context, async () => {
      closing.abort();
      await stores.close();
      await kv.close();
    });
  } catch (error) {
    await kv.close();
    throw error;
  }
}

function placesAt(
  location: string,
  options: Parameters<typeof folderPlaces>[1],
  wrap: HubSeams["wrapGraph"],
): ReturnType<typeof folderPlaces> {
  if (typeof location !== "string" || location === "") {
    throw invalid("location", "a folder or memory:", location);
  }
  if (location === "memory:") return memoryPlaces(options, wrap);
  if (/^[a-z][a-z0-9+.-]+:\/\//.test(location)) {
    throw new CortexError(
      "ERR_UNSUPPORTED",
      "location: expected a folder or memory:, got an address; this release has hubs in folders",
      { field: "location" },
    );
  }
  return folderPlaces(location, options, wrap);
}

function checkCount(value: unknown, field: string): void {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 1) return;
  throw invalid(field, "an integer of at least 1", value);
}
