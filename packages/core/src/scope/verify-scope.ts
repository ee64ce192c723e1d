/**
 * Whether a scope holds: every check, in one order, each with its code.
 *
 * The order is part of the promise, because the first failure is what the caller learns: whose memory,
 * what it includes, until when, who signed, whether the signature is theirs, whether it was taken back,
 * whether the snapshot exists, whether the ids were there, and last who presents it.
 *
 * Pure: the clock, the lists and the check of signatures are arguments.
 */
import type { VerifyEd25519 } from "../codec/ed25519-node.js";
import { refusal } from "../errors.js";
import { keyOf } from "./request-signature.js";
import { isBearer, type Scope, unsignedBytes } from "./scope.js";
import { isEmptySelector } from "./selector.js";

/** What a proof in a scope shows. */
export interface ShownIds {
  /** The root it is for, in hex. */
  readonly root: string;
  /** The memories it shows to be there, in its order. */
  readonly ids: readonly string[];
}

/** What a scope is checked against. */
export interface ScopeChecks {
  /** The store's actor. */
  readonly actor: string;
  readonly nowMs: number;
  /** Public keys in base64. */
  readonly trustedIssuers: readonly string[];
  /** Whether this very scope was taken back. */
  readonly revoked: boolean;
  /** The store took the scope in before, and checked its signature and proof then. */
  readonly isKept?: boolean;
  /** The key, in base64, that signed the request; `undefined` for an unsigned one. */
  readonly signedBy?: string | undefined;
  readonly verifySignature: VerifyEd25519;
  /** Whether the store has a snapshot of this root, in hex. */
  readonly hasSnapshot: (root: string) => boolean;
  /** What a proof shows; `undefined` when it does not hold. */
  readonly readProof: (proof: Uint8Array) => ShownIds | undefined;
}

/** Throws the first reason why a scope does not hold. */
export function verifyScope(scope: Scope, checks: ScopeChecks): void {
  checkScopeIssued(scope, checks);
  checkScopeIds(scope, checks);
  checkScopePresenter(scope, checks.signedBy);
}

function checkScopeIssued(scope: Scope, checks: ScopeChecks): void {
  if (scope.actor !== checks.actor) {
    throw refusal("ERR_ACTOR_MISMATCH", "scope.actor", `actor ${checks.actor}`, scope.actor);
  }
  if (isEmptySelector(scope.include)) {
    throw refusal("ERR_SCOPE_MALFORMED", "scope.include", "at least one criterion", "none");
  }
  checkScopeTime(scope, checks.nowMs);
  const { grantedBy } = scope;
  const key = checks.trustedIssuers.includes(grantedBy) ? keyOf(grantedBy) : undefined;
  if (key === undefined) {
    throw refusal("ERR_SCOPE_ISSUER", "scope.grantedBy", "a trusted issuer", "another key");
  }
  const isSigned =
    checks.isKept === true || checks.verifySignature(key, unsignedBytes(scope), scope.signature);
  if (!isSigned) {
    throw refusal("ERR_SCOPE_SIGNATURE", "scope.signature", "the issuer's signature", "another");
  }
  if (checks.revoked) {
    throw refusal("ERR_SCOPE_REVOKED", "scope", "one that is in force", "one that was revoked");
  }
}

/** Throws `ERR_SCOPE_EXPIRED` when the last moment of a scope has passed. */
export function checkScopeTime({ expiresAt }: Pick<Scope, "expiresAt">, nowMs: number): void {
  if (nowMs <= expiresAt) return;
  throw refusal("ERR_SCOPE_EXPIRED", "scope.expiresAt", `a time from ${nowMs} on`, `${expiresAt}`);
}

const latest = new WeakMap<() => number, number>();

/**
 * The time by which scopes expire. It never goes back, whatever the clock does: not behind what the clock
 * has shown in this process, nor behind the last entry of the store, which another process may have made.
 */
export function scopeTime(clock: () => number, lastEntryAt = 0): number {
  const seen = Math.max(clock(), latest.get(clock) ?? 0);
  latest.set(clock, seen);
  return Math.max(seen, lastEntryAt);
}

/** The ids of a scope, its proof and its snapshot stand or fall together. */
function checkScopeIds(scope: Scope, { hasSnapshot, readProof, isKept }: ScopeChecks): void {
  const { include, snapshotRoot, proof } = scope;
  if (snapshotRoot !== undefined && !hasSnapshot(snapshotRoot)) {
    throw refusal(
      "ERR_SCOPE_SNAPSHOT",
      "scope.snapshotRoot",
      "the root of a snapshot of this store",
      "another",
    );
  }
  if (isKept === true) return;
  const ids = include.ids ?? [];
  if (ids.length === 0) {
    if (proof === undefined) return;
    throw refusal("ERR_PROOF_INVALID", "scope.proof", "none, as no ids are named", "one");
  }
  const shown = proof === undefined ? undefined : readProof(proof);
  const isSame = shown?.ids.length === ids.length && ids.every((id, at) => shown.ids[at] === id);
  if (shown !== undefined && isSame && shown.root === snapshotRoot) return;
  const expected = "a proof of exactly the ids named, in their order, at snapshotRoot";
  throw refusal("ERR_PROOF_INVALID", "scope.proof", expected, "another or none");
}

/** A scope that is bound to a key serves nobody else. */
function checkScopePresenter(scope: Scope, signedBy: string | undefined): void {
  if (isBearer(scope) || signedBy === scope.grantedTo) return;
  const got = signedBy === undefined ? "no signature" : "another key's";
  throw refusal("ERR_SCOPE_HOLDER", "signature", "one by the key the scope is granted to", got);
}
