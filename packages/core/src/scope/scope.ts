/**
 * A scope: a signed, expiring, bounded permission for another agent: its bytes, and whether it holds.
 *
 * What is signed is the canonical CBOR of the scope with `null` in the place of the signature, so one
 * scope has one text. The fields and their numbers are those of format 1; a field at its default is
 * absent. A scope names the issuer by public key and the holder by public key, or by the word `bearer`
 * and a name: a bearer scope serves whoever has it, and says so in its own text.
 *
 * Whether it holds is asked in one order, each check with its code. The order is part of the promise,
 * because the first failure is what the caller learns: whose memory, what it includes, until when, who
 * signed, whether the signature is theirs, whether it was taken back, whether the snapshot exists, whether
 * the ids were there, and last who presents it.
 *
 * Pure: the clock, the lists and the check of signatures are arguments. Keys and signing are the issuer's.
 */
import { decode, encode, fields } from "../codec/cbor.js";
import { readBytesOf, readInteger, readMap, readText } from "../codec/cbor-value.js";
import { domainHash, HASH_BYTES, type Sha256 } from "../codec/hash.js";
import { equalBytes, fromHex, toHex } from "../codec/keys.js";
import type { VerifyEd25519 } from "../codec/node-crypto.js";
import { fromBase64, toBase64 } from "../codec/text.js";
import { CortexError, describe, invalid, refusal } from "../errors.js";
import { LIMITS } from "../limits.js";
import { checkText } from "../records/fields.js";
import { checkTime } from "../records/frames.js";
import { checkNameOf, nameOf, SOURCES, type Source } from "../records/types.js";
import { checkActorName } from "../records/uri.js";
import { KEY_BYTES, keyOf } from "./request-signature.js";
import {
  checkSelector,
  isEmptySelector,
  readSelector,
  type Selector,
  selectorFields,
} from "./selector.js";

/** The one version of the struct that this release reads. */
const SCHEMA_VERSION = 1;

const SIGNATURE_BYTES = 64;

/** How the text of a scope, and of a handle of one, starts. */
const SCOPE_PREFIX = "cortex-scope-1.";
const HANDLE_PREFIX = "cortex-handle-1.";
/** How `grantedTo` starts where no key holds the scope. */
const BEARER_PREFIX = "bearer:";

/** The trust that a scope may claim unless its issuer says otherwise. */
const MAX_SOURCE_DEFAULT: Source = "agent";

/** What an issuer grants. */
export interface ScopeTerms {
  /** Whose memory. */
  readonly actor: string;
  /** What the holder may see, as far as the memories' visibility allows. */
  readonly include: Selector;
  /** What it may not see all the same. */
  readonly exclude: Selector;
  /** The last millisecond at which the scope holds. */
  readonly expiresAt: number;
  readonly issuedAt: number;
  /** Most tokens of one answer. */
  readonly budgetTokens?: number;
  /** The holder's public key in base64, or `bearer:` and a name. */
  readonly grantedTo: string;
  readonly writable: boolean;
  /** Whether the holder may have proofs; they show roots and numbers of the whole journal. */
  readonly proofs: boolean;
  /** The source of highest rank that the holder's writes may name. */
  readonly maxSource: Source;
  /** The root of a snapshot that must exist, in hex. */
  readonly snapshotRoot?: string;
  /** Proof, at that root, of the ids that `include` names. */
  readonly proof?: Uint8Array;
}

/** A scope as it was signed. */
export interface Scope extends ScopeTerms {
  /** The issuer's public key in base64. */
  readonly grantedBy: string;
  readonly signature: Uint8Array;
}

/** What an issuer gives; what is left out has a default. */
export interface ScopeInput
  extends Partial<Omit<ScopeTerms, "actor" | "include" | "expiresAt" | "grantedTo" | "issuedAt">>,
    Pick<ScopeTerms, "actor" | "include" | "expiresAt" | "grantedTo" | "issuedAt"> {}

/** Whoever issues scopes: a public key, and a way to sign that never shows the other one. */
export interface ScopeSigner {
  readonly publicKey: Uint8Array;
  sign(message: Uint8Array): Promise<Uint8Array> | Uint8Array;
}

const TERMS = [
  "actor",
  "include",
  "exclude",
  "expiresAt",
  "issuedAt",
  "budgetTokens",
  "grantedTo",
  "writable",
  "proofs",
  "maxSource",
  "snapshotRoot",
  "proof",
];

/** Checks what an issuer gives, and completes it. */
export function checkScopeTerms(input: ScopeInput): ScopeTerms {
  const unknown = Object.keys(input).find((name) => !TERMS.includes(name));
  if (unknown !== undefined) {
    const message = `${unknown}: expected one of ${TERMS.join(", ")}, got an unknown field`;
    throw new CortexError("ERR_UNKNOWN_FIELD", message, { field: unknown });
  }
  const { budgetTokens, writable = false, proofs = false, snapshotRoot, proof } = input;
  if (budgetTokens !== undefined && !(Number.isSafeInteger(budgetTokens) && budgetTokens >= 1)) {
    throw invalid("budgetTokens", "an integer of at least 1", budgetTokens);
  }
  if (typeof writable !== "boolean") throw invalid("writable", "true or false", writable);
  if (typeof proofs !== "boolean") throw invalid("proofs", "true or false", proofs);
  const root = typeof snapshotRoot === "string" ? fromHex(snapshotRoot) : undefined;
  if (snapshotRoot !== undefined && root?.length !== HASH_BYTES) {
    throw invalid("snapshotRoot", "a root in 64 hex digits", snapshotRoot);
  }
  return {
    actor: checkActorName(input.actor),
    include: checkSelector(input.include, "include"),
    exclude: checkSelector(input.exclude ?? {}, "exclude"),
    expiresAt: checkTime(input.expiresAt, "expiresAt"),
    issuedAt: checkTime(input.issuedAt, "issuedAt"),
    grantedTo: checkGrantee(input.grantedTo),
    writable,
    proofs,
    maxSource: checkNameOf(SOURCES, input.maxSource ?? MAX_SOURCE_DEFAULT, { field: "maxSource" }),
    ...(budgetTokens === undefined ? {} : { budgetTokens }),
    ...(snapshotRoot === undefined ? {} : { snapshotRoot }),
    ...(proof === undefined ? {} : { proof }),
  };
}

function checkGrantee(input: unknown): string {
  const text = checkText(input, "grantedTo", { maxBytes: LIMITS.principalBytes });
  const isBearer = text.startsWith(BEARER_PREFIX) && text.length > BEARER_PREFIX.length;
  if (isBearer || keyOf(text) !== undefined) return text;
  throw invalid("grantedTo", "a public key in base64, or bearer: and a name", input);
}

/** Whether a scope serves whoever has it. */
export function isBearer({ grantedTo }: Pick<ScopeTerms, "grantedTo">): boolean {
  return grantedTo.startsWith(BEARER_PREFIX);
}

/** Whose name the entries of a holder carry. */
export function holderOf({ grantedTo }: Pick<ScopeTerms, "grantedTo">): string {
  return isBearer({ grantedTo }) ? grantedTo : `key:${grantedTo}`;
}

/** Signs terms: the text of the scope, to be handed to its holder. */
export async function issueScope(input: ScopeInput, signer: ScopeSigner): Promise<string> {
  const terms = checkScopeTerms(input);
  if (signer.publicKey.length !== KEY_BYTES) {
    throw invalid("signer.publicKey", `${KEY_BYTES} bytes`, signer.publicKey);
  }
  const grantedBy = toBase64(signer.publicKey);
  const signature = await signer.sign(unsignedBytes({ ...terms, grantedBy }));
  if (signature.length !== SIGNATURE_BYTES) {
    throw invalid("signer.sign", `${SIGNATURE_BYTES} bytes`, signature);
  }
  const bytes = encodeScope({ ...terms, grantedBy, signature });
  if (bytes.length > LIMITS.scopeBytes) {
    throw invalid("scope", `at most ${LIMITS.scopeBytes} bytes`, bytes, "ERR_TOO_LARGE");
  }
  return scopeText(bytes);
}

/** What an issuer signs. */
export function unsignedBytes(scope: Omit<Scope, "signature">): Uint8Array {
  return encodeWith(scope, null);
}

/** The canonical bytes of a scope. */
export function encodeScope(scope: Scope): Uint8Array {
  return encodeWith(scope, scope.signature);
}

function encodeWith(scope: Omit<Scope, "signature">, signature: Uint8Array | null): Uint8Array {
  return encode(
    fields([
      SCHEMA_VERSION,
      scope.actor,
      scope.snapshotRoot === undefined ? undefined : fromHex(scope.snapshotRoot),
      selectorFields(scope.include),
      selectorFields(scope.exclude),
      scope.proof,
      scope.expiresAt,
      scope.budgetTokens,
      keyOf(scope.grantedBy),
      scope.grantedTo,
      scope.writable ? true : undefined,
      signature,
      scope.issuedAt,
      scope.maxSource === MAX_SOURCE_DEFAULT ? undefined : SOURCES[scope.maxSource].code,
      scope.proofs ? true : undefined,
    ]),
  );
}

/** Reads the bytes of a scope; anything but what `encodeScope` gives is `ERR_SCOPE_MALFORMED`. */
export function decodeScope(bytes: Uint8Array): Scope {
  try {
    const scope = readScope(bytes);
    // Whatever was not read would not be written again: an unknown field, a default spelled out.
    if (equalBytes(encodeScope(scope), bytes)) return scope;
  } catch (error) {
    if (!(error instanceof CortexError)) throw error;
    throw malformed(error.message, error);
  }
  throw malformed("it is not spelled as it would be written");
}

function readScope(bytes: Uint8Array): Scope {
  const at = readMap(decode(bytes), "scope");
  if (at[0] !== SCHEMA_VERSION) {
    throw invalid("schema version", String(SCHEMA_VERSION), at[0]);
  }
  const terms = checkScopeTerms({
    actor: readText(at[1], "actor"),
    include: readSelector(at[3], "include"),
    exclude: readSelector(at[4], "exclude"),
    expiresAt: readInteger(at[6], "expiresAt"),
    issuedAt: readInteger(at[12], "issuedAt"),
    grantedTo: readText(at[9], "grantedTo"),
    writable: at[10] === true,
    proofs: at[14] === true,
    maxSource: at[13] === undefined ? MAX_SOURCE_DEFAULT : nameOf(SOURCES, at[13], "maxSource"),
    ...(at[2] === undefined
      ? {}
      : { snapshotRoot: toHex(readBytesOf(at[2], HASH_BYTES, "snapshotRoot")) }),
    ...(at[5] instanceof Uint8Array ? { proof: at[5] } : {}),
    ...(at[7] === undefined ? {} : { budgetTokens: readInteger(at[7], "budgetTokens") }),
  });
  return {
    ...terms,
    grantedBy: toBase64(readBytesOf(at[8], KEY_BYTES, "grantedBy")),
    signature: readBytesOf(at[11], SIGNATURE_BYTES, "signature"),
  };
}

/** The text of a scope's bytes: fit for a header, a file or a mail. */
export function scopeText(bytes: Uint8Array): string {
  return `${SCOPE_PREFIX}${toBase64(bytes)}`;
}

/** Reads the text of a scope. */
export function parseScope(text: unknown): Scope {
  return decodeScope(scopeBytes(text));
}

/** The bytes that the text of a scope spells. */
export function scopeBytes(text: unknown): Uint8Array {
  if (typeof text !== "string" || !text.startsWith(SCOPE_PREFIX)) {
    throw malformed(`expected text that starts with ${SCOPE_PREFIX}, got ${kindOf(text)}`);
  }
  if (text.length > 2 * LIMITS.scopeBytes) throw malformed("it is too long");
  const bytes = fromBase64(text.slice(SCOPE_PREFIX.length));
  if (bytes === undefined) throw malformed("its text is not base64");
  if (bytes.length > LIMITS.scopeBytes) throw malformed("it is too long");
  return bytes;
}

/** A permission never stands in a message. */
function kindOf(text: unknown): string {
  return typeof text === "string" ? `${text.length} other characters` : describe(text);
}

/** What a scope is known by: a hash over all its bytes, signature included. */
export function scopeHash(sha256: Sha256, bytes: Uint8Array): Uint8Array {
  return domainHash(sha256, "scope", bytes);
}

/** The text of a handle: what stands for a scope that the store was given before. */
export function handleText(hash: Uint8Array): string {
  return `${HANDLE_PREFIX}${toBase64(hash)}`;
}

/** The hash that a handle spells; `undefined` when the text is no handle. */
export function parseHandle(text: unknown): Uint8Array | undefined {
  if (typeof text !== "string" || !text.startsWith(HANDLE_PREFIX)) return undefined;
  const hash = fromBase64(text.slice(HANDLE_PREFIX.length));
  return hash?.length === HASH_BYTES ? hash : undefined;
}

/** Whether a text sets out to be a scope or a handle of one. */
export function isScopeText(text: string): boolean {
  return text.startsWith(SCOPE_PREFIX) || text.startsWith(HANDLE_PREFIX);
}

function malformed(what: string, cause?: unknown): CortexError {
  return new CortexError("ERR_SCOPE_MALFORMED", `scope: ${what}`, { field: "scope" }, cause);
}

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
