/**
 * How each declared verb is asked for over HTTP: generated from `contract/` by `tools/make-routes.ts`.
 * Plain data, because the client loads no schema.
 */
import type { VerbName } from "../contract/index.js";
import type { RoutePlan } from "./route-plan.js";

/** Every declared verb. */
export const ROUTE_PLANS: { readonly [V in VerbName]: RoutePlan } = {
  write: { path: "write", kind: "write", names: [], rest: "input" },
  get: { path: "get", kind: "read", names: ["id"], mayMiss: true },
  resolve: { path: "resolve", kind: "read", names: ["uri"], mayMiss: true },
  history: { path: "history", kind: "read", names: ["id"], member: "versions", mayMiss: true },
  list: { path: "list", kind: "read", names: [] },
  tombstone: { path: "tombstone", kind: "write", names: ["id", "reason"] },
  update: { path: "update", kind: "write", names: ["id"], rest: "input" },
  updateHead: { path: "update-head", kind: "write", names: ["id"] },
  restore: { path: "restore", kind: "write", names: ["id"] },
  forget: { path: "forget", kind: "write", names: ["id", "reason"] },
  slotHistory: { path: "slot-history", kind: "read", names: ["slot"] },
  goalState: { path: "goal-state", kind: "read", names: ["id"], member: "state", mayMiss: true },
  setGoalState: {
    path: "set-goal-state",
    kind: "write",
    names: ["id", "state"],
    objects: ["state"],
  },
  deleteGoalState: { path: "delete-goal-state", kind: "write", names: ["id"] },
  goalStates: { path: "goal-states", kind: "read", names: [], member: "goals" },
  addEdge: { path: "add-edge", kind: "write", names: ["from", "kind", "to"] },
  link: { path: "add-edge", kind: "write", names: ["from", "kind", "to"] },
  removeEdge: { path: "remove-edge", kind: "write", names: ["from", "kind", "to"] },
  removeEdgeById: { path: "remove-edge-by-id", kind: "write", names: ["id"] },
  getEdge: { path: "get-edge", kind: "read", names: ["from", "kind", "to"], mayMiss: true },
  edgesOut: { path: "list-edges", kind: "read", names: ["id"], sent: { direction: "out" } },
  edgesIn: { path: "list-edges", kind: "read", names: ["id"], sent: { direction: "in" } },
  traverse: { path: "traverse", kind: "read", names: ["id"] },
  linksFrom: { path: "links-from", kind: "read", names: ["id"], member: "links" },
  backlinksTo: { path: "backlinks-to", kind: "read", names: ["id"], member: "links" },
  inspect: { path: "inspect", kind: "read", names: ["id"], mayMiss: true },
  remember: { path: "remember", kind: "write", names: ["turns"] },
  session: { path: "session", kind: "read", names: ["session"] },
  batch: { path: "batch", kind: "write", names: ["items"] },
  find: { path: "find", kind: "read", names: [] },
  describeSchema: { path: "describe-schema", kind: "read", names: [] },
  listTags: { path: "list-tags", kind: "read", names: [] },
  search: { path: "search", kind: "read", names: ["text"] },
  searchBatch: { path: "search-batch", kind: "read", names: ["queries"] },
  recall: { path: "recall", kind: "read", names: ["question"] },
  context: { path: "context", kind: "read", names: [] },
};
