/**
 * The policy column of the hub: what an access means for each of its verbs, as `policies.ts` says it
 * for those of a graph. A scope is one graph's word: the hub takes none, and its holder goes through
 * `use` to the graph it is about.
 */
import type { Policy } from "../contract/verb.js";
import { CortexError } from "../errors.js";
import { type Access, admit, OWNER } from "../scope/access.js";

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
