/**
 * The policy column of the hub: what an access means for each of its verbs, as `policies.ts` says it
 * for those of a graph. A scope is one graph's word: the hub takes none, and its holder goes through
 * `use` to the graph it is about.
 */
import type { Policy } from "../scope/access.js";

/** What an access means for each verb of a hub. */
export const HUB_POLICIES = {
  createGraph: "owner",
  getGraph: "owner",
  listGraphs: "owner",
  configureGraph: "owner",
  putNode: "write",
  getNode: "filtered",
  history: "filtered",
  listNodes: "filtered",
  conflicts: "filtered",
  resolve: "write",
  putEdge: "write",
  deleteEdge: "write",
  outgoing: "filtered",
  incoming: "filtered",
  traverse: "filtered",
  symlinks: "owner",
  putSubgraph: "write",
  search: "filtered",
  searchBatch: "filtered",
  describeSchema: "filtered",
  listTags: "filtered",
  subscribe: "owner",
  check: "owner",
  rebuild: "owner",
} as const satisfies Record<string, Policy>;
