/**
 * Who is asking. Every verb takes an `Access`, the owner by default, so that readers are born
 * filtered; every operation has one policy that says what the access means for it.
 *
 * There are the owner, who sees and does everything; the guest, any caller of the same tenant without
 * a scope, who reads public memories and changes nothing; and the holder of a scope, who also sees the
 * memories of visibility `scoped` that the scope selects, and writes those if it is writable. Private
 * memories are the owner's alone. To a caller, what it may not see does not exist.
 *
 * An access of kind scope comes out of `scopeAccess` and nowhere else: one that looks the same but was
 * not made there opens nothing.
 */
import { CortexError, invalid } from "../errors.js";
import type { Head } from "../records/memory-record.js";
import type { Lifecycle, Source, Visibility } from "../records/types.js";
import { holderOf, type Scope } from "./scope.js";
import { isEmptySelector, type Selected, selects } from "./selector.js";

/**
 * In whose name a caller speaks: what a door stamps on everything that comes through it. A call may
 * claim less than this and never more (`trust/gate.ts`).
 */
export interface Speaker {
  /** The door, in the words of a refusal: `MCP`, `a scope`. */
  readonly door: string;
  /** Whose words they are at most: the source of what names none. */
  readonly source: Source;
  /** The principal that entries name; the store's own when absent. */
  readonly principal?: string;
  /** Whether a call may name another author: only where the owner vouches for the names. */
  readonly namesAuthors: boolean;
}

/**
 * Who is asking. Whoever sees what the owner sees need not speak as the owner: an agent that the owner
 * let in through MCP comes with a speaker of its own.
 */
export type Access =
  | { readonly kind: "owner"; readonly speaker?: Speaker }
  | { readonly kind: "guest" }
  | ScopeAccess;

/** Why something a scope does not allow is on record. */
type Violation = "violation" | "not_writable";

/** The access of whoever holds a scope that was found to hold. */
export interface ScopeAccess {
  readonly kind: "scope";
  readonly scope: Scope;
  /** What the scope is known by: 32 bytes. */
  readonly hash: Uint8Array;
  /** Puts on record that the holder reached for what the scope does not allow. */
  readonly violated: (
    id: Uint8Array | undefined,
    reason: Violation,
    mode: "read" | "write",
  ) => void;
}

/** The access of whoever opened the store. */
export const OWNER: Access = { kind: "owner" };

/** In whose name an access speaks; nobody is named for the owner in person, and for a guest, who is silent. */
export function speakerOf(access: Access): Speaker | undefined {
  if (access.kind === "owner") return access.speaker;
  if (access.kind === "guest") return undefined;
  const { maxSource: source } = access.scope;
  return {
    door: "a scope",
    source,
    principal: holderOf(access.scope),
    namesAuthors: false,
  };
}

/** A caller of the same tenant without any scope. */
export const GUEST: Access = { kind: "guest" };

/**
 * What an access means for an operation: `filtered` answers over what the caller may see, `write`
 * takes the owner and holders of a writable scope, `owner` refuses others, `open` tells nothing about
 * any memory.
 */
type Policy = "filtered" | "write" | "owner" | "open";

const GRANTED = new WeakSet<ScopeAccess>();

/** Makes the access of a scope that has just been verified. */
export function grantAccess(verified: Omit<ScopeAccess, "kind">): ScopeAccess {
  const access: ScopeAccess = Object.freeze({ kind: "scope", ...verified });
  GRANTED.add(access);
  return access;
}

/** What of a memory decides who may see it. */
type Shown = Selected & Pick<Head, "visibility" | "lifecycle" | "tombstone">;

/** Whether the caller may see a memory; a hidden one is the owner's, and of whoever hid it. */
export function maySee(access: Access, head: Shown, id: Uint8Array): boolean {
  if (access.kind === "owner") return true;
  if (head.lifecycle === "tombstoned" && !isOwnTombstone(access, head)) return false;
  if (head.visibility === "public") return true;
  return access.kind === "scope" && head.visibility === "scoped" && isGranted(access, head, id);
}

/** What visibility alone says of that, to a caller who is not the owner; `undefined` where more must be known. */
export function maySeeAtAGlance(
  visibility: Visibility | undefined,
  lifecycle: Lifecycle,
): boolean | undefined {
  if (visibility === "private") return false;
  return visibility === "public" && lifecycle !== "tombstoned" ? true : undefined;
}

/** Whether the holder of a scope may change a memory that is, or would be, like this. */
export function mayChange(
  access: ScopeAccess,
  head: Selected & Pick<Head, "visibility">,
  id: Uint8Array,
): boolean {
  return access.scope.writable && head.visibility !== "private" && isGranted(access, head, id);
}

function isOwnTombstone(access: Access, { tombstone }: Shown): boolean {
  return access.kind === "scope" && tombstone?.by === holderOf(access.scope);
}

/** Whether the caller may have proofs, which show entries by their number. */
export function grantsProofs(access: Access): boolean {
  return access.kind === "owner" || (access.kind === "scope" && access.scope.proofs);
}

/** Refuses a caller whose scope grants no proofs: a proof shows the root and the size of the journal. */
export function requireProofs(access: Access, operation: string): void {
  if (grantsProofs(access)) return;
  const expected = "the owner's access or a scope that grants proofs";
  const got = access.kind === "scope" ? "a scope that grants none" : "a guest's";
  throw new CortexError("ERR_DENIED", `${operation}: expected ${expected}, got ${got}`, {
    field: "access",
    expected,
    got: access.kind,
  });
}

function isGranted({ scope }: ScopeAccess, head: Selected, id: Uint8Array): boolean {
  const { include, exclude } = scope;
  if (!selects(include, head, id)) return false;
  return isEmptySelector(exclude) || !selects(exclude, head, id);
}

/** Refuses a caller whom the operation's policy does not admit. */
export function admit(access: Access, policy: Policy, operation: string): void {
  const kind: unknown = access?.kind;
  const isKnown = kind === "owner" || kind === "guest" || GRANTED.has(access as ScopeAccess);
  if (!isKnown) {
    const expected = "an access of kind owner or guest, or one that scopeAccess gave";
    throw invalid("access", expected, access);
  }
  if (kind === "owner" || policy === "filtered" || policy === "open") return;
  if (access.kind === "scope" && policy === "write" && access.scope.writable) return;
  const expected =
    policy === "write" ? "the owner's access or a writable scope" : "the owner's access";
  const got = kind === "guest" ? "a guest's" : "a scope's";
  throw new CortexError("ERR_DENIED", `${operation}: expected ${expected}, got ${got}`, {
    field: "access",
    expected: "owner",
    got: access.kind,
  });
}

/**
 * The tokens an answer may have: what was asked for, or the usual number. A scope's cap lowers the
 * usual number; asking for more than the cap is `ERR_BUDGET`.
 */
export function budgetOf<T extends number | undefined>(
  access: Access,
  asked: number | undefined,
  usual: T,
): number | T {
  const cap = access.kind === "scope" ? access.scope.budgetTokens : undefined;
  if (cap === undefined) return asked ?? usual;
  if (asked === undefined) return usual === undefined ? cap : Math.min(usual, cap);
  if (!(asked > cap)) return asked;
  const expected = `at most ${cap}, the scope's budget`;
  throw invalid("budgetTokens", expected, asked, "ERR_BUDGET");
}
