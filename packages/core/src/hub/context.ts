/**
 * What every verb of a hub works with, and how a caller's reference leads to a graph.
 */

import type { Engine } from "../engine/engine.js";
import { invalid } from "../errors.js";
import type { OpenedGraph } from "../open.js";
import { parseUri } from "../records/uri.js";
import type { Catalogue } from "./catalogue.js";
import { type Lineages, noGraph } from "./lineages.js";
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
  body: (engine: Engine, opened: OpenedGraph) => Promise<T>,
): Promise<T> {
  const name = checkGraphId(graph, hub.prefix);
  const done = await hub.stores.use(name, async (opened) => ({
    value: await body(opened.engine, opened),
  }));
  if (done === undefined) throw noGraph(name);
  return done.value;
}

/** Runs `body` in a graph, if it is there. */
export function ifGraph<T>(
  hub: HubContext,
  graph: unknown,
  body: (engine: Engine, opened: OpenedGraph) => Promise<T>,
): Promise<T | undefined> {
  const name = checkGraphId(graph, hub.prefix);
  return hub.stores.use(name, (opened) => body(opened.engine, opened));
}

/** How a lineage is named in a read. */
export interface InGraph {
  /** The graph that holds it; looked up when not given. */
  readonly graph?: string;
}

/** The graph of a lineage or a node; `undefined` when there is none. */
export async function graphOf(
  hub: HubContext,
  ref: unknown,
  graph: string | undefined,
): Promise<string | undefined> {
  if (typeof ref !== "string" || ref === "") throw invalid("lineageId", "a text", ref);
  const named = graph === undefined ? undefined : checkGraphId(graph, hub.prefix);
  if (!isNodeId(ref)) return named ?? hub.lineages.graphOf(ref);
  const { actor } = parseUri(ref, "nodeId");
  const isHere = actor.startsWith(hub.prefix) && (named === undefined || named === actor);
  return isHere ? actor : undefined;
}

/** Whether a reference is the id of a node rather than of a lineage. */
export function isNodeId(ref: string): boolean {
  return ref.startsWith("cortex://");
}
