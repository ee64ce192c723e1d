/**
 * What every verb of a hub works with, and how a name leads to an open graph.
 *
 * The policy column of the hub: what an access means for each of its verbs, as `policies.ts` says it
 * for those of a graph. A scope is one graph's word: the hub takes none, and its holder goes through
 * `use` to the graph it is about.
 */

import type { Policy } from "../contract/verb.js";
import { CortexError, describe } from "../errors.js";
import type { OpenedGraph } from "../open.js";
import { type Access, admit, OWNER } from "../scope/access.js";
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

/** What an access means for each verb of a hub. */
export const HUB_POLICIES = {
  createGraph: "owner",
  getGraph: "owner",
  listGraphs: "owner",
  configureGraph: "owner",
  remove: "owner",
  for: "owner",
  traverse: "filtered",
  symlinks: "owner",
  subscribe: "owner",
  check: "owner",
  rebuild: "owner",
} as const satisfies Record<string, Policy>;

/** Refuses a caller whom the policy of a verb over several graphs does not admit, and every scope. */
export function admitToGraphs(access: Access | undefined, policy: Policy, verb: string): void {
  admit(access === undefined ? OWNER : access, policy, verb);
  if (access?.kind !== "scope") return;
  const message = `${verb}: expected no scope, as a scope is honoured by its own graph alone`;
  throw new CortexError("ERR_DENIED", message, { field: "access" });
}
