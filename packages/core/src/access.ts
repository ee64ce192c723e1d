/**
 * Who is asking. Every verb takes an `Access`, the owner by default, so that readers are born
 * filtered; every operation has one policy that says what the access means for it.
 *
 * Today there are the owner, who sees and does everything, and the guest: any caller of the same
 * tenant without a scope, who reads public memories and changes nothing. Signed scopes join here.
 * To a caller, what it may not see does not exist.
 */
import { CortexError, invalid } from "./errors.js";
import type { Head } from "./memory/record.js";

/** Who is asking. */
export type Access = { readonly kind: "owner" } | { readonly kind: "guest" };

/** The access of whoever opened the store. */
export const OWNER: Access = { kind: "owner" };

/** A caller of the same tenant without any scope. */
export const GUEST: Access = { kind: "guest" };

/**
 * What an access means for an operation: `filtered` answers over what the caller may see, `write`
 * and `owner` refuse others, `open` tells nothing about any memory.
 */
export type Policy = "filtered" | "write" | "owner" | "open";

/** Whether the caller may see a memory. */
export function maySee(access: Access, head: Pick<Head, "visibility">): boolean {
  return access.kind === "owner" || head.visibility === "public";
}

/** Refuses a caller whom the operation's policy does not admit. */
export function admit(access: Access, policy: Policy, operation: string): void {
  const kind: unknown = access?.kind;
  if (kind !== "owner" && kind !== "guest") {
    throw invalid("access", "an access of kind owner or guest", access);
  }
  if (kind === "owner" || policy === "filtered" || policy === "open") return;
  throw new CortexError("ERR_DENIED", `${operation}: expected the owner's access, got a guest's`, {
    field: "access",
    expected: "owner",
    got: access.kind,
  });
}
