/**
 * What every verb of a hub works with, and how a name leads to an open graph.
 */
import { CortexError, describe } from "../errors.js";
import type { OpenedGraph } from "../open.js";
import type { Catalogue } from "./catalogue.js";
import type { Lineages } from "./lineages.js";
import { checkGraphId } from "./names.js";
import type { GraphStores, Places } from "./stores.js";

/** An open hub with everything injected. */
export interface HubContext {
  readonly places: Places;
  readonly stores: GraphStores;
  readonly catalogue: Catalogue;
  readonly lineages: Lineages;
  /** What the names of its graphs begin with; empty unless it is a tenant's. */
  readonly prefix: string;
  readonly clock: () => number;
  readonly random: (bytes: number) => Uint8Array;
  /** Called whenever a graph of this process has committed, with its name. */
  readonly onCommit: (listener: (graph: string) => void) => () => void;
  /** Aborted when the hub begins to close. */
  readonly closing: AbortSignal;
}

/** Runs `body` in a graph that must be there: `ERR_NOT_FOUND` when it is not. */
export async function inGraph<T>(
  hub: HubContext,
  graph: unknown,
  body: (opened: OpenedGraph) => Promise<T>,
): Promise<T> {
  const name = checkGraphId(graph, hub.prefix);
  const done = await hub.stores.use(name, async (opened) => ({ value: await body(opened) }));
  if (done === undefined) throw noGraph(name);
  return done.value;
}

/** Runs `body` in a graph, if it is there. */
export function ifGraph<T>(
  hub: HubContext,
  graph: unknown,
  body: (opened: OpenedGraph) => Promise<T>,
): Promise<T | undefined> {
  return hub.stores.use(checkGraphId(graph, hub.prefix), body);
}

/** The failure of a call that wants to change something in a graph that is not there. */
export function noGraph(graph: string): CortexError {
  return new CortexError(
    "ERR_NOT_FOUND",
    `graph: expected a graph, got ${describe(graph)}, which names none`,
    { field: "graph", subject: graph },
  );
}
