/**
 * Callers with a scope, as HTTP brings them: `Authorization: Bearer` with the scope or a handle of one,
 * and, unless it is a bearer scope, a signature of the request by the key it is granted to.
 *
 * Here it is read who says they are who; whether the scope holds is the store's to say. All of that is
 * decided by the headers: of the body of a caller who is not known yet nothing is read, but for a scope
 * that is handed in, up to `STRANGER_BYTES`. A signature is taken once: a request that was overheard
 * cannot be sent again; one that no scope which holds stands behind is not remembered. What a stranger
 * is told does not depend on whether the store they ask for is there, and asking never makes one.
 */
import { createHash } from "node:crypto";
import {
  type Access,
  type Cortex,
  CortexError,
  GUEST,
  isCortexError,
  parseScope,
  verifyEd25519,
} from "@cortex-memory/core";
import { isScopeText, parseHandle, type SignedBy, verifyRequest } from "@cortex-memory/core/doors";
import type { Operation } from "../operations/define.js";
import { HttpFailure } from "./problem.js";
import type { Stores } from "./stores.js";

/** What a caller presents. */
export interface Presented {
  /** The text of a scope, or a handle. */
  readonly scope: string;
  /** The signature that the request bears, which is good. */
  readonly signed?: SignedBy;
}

/** The most that is read of a body before it is known who sends it. */
export const STRANGER_BYTES = 64 * 1024;

/** The operation by which a scope too large for a header is handed in; it proves itself. */
export const POST_SCOPE = "postScope";

/** Signatures that were taken and would still be good; beyond this many, callers have to wait. */
const TAKEN_MAX = 100_000;

/** Remembers signatures until they are too old to be good. */
export class Replays {
  readonly #taken = new Map<string, number>();

  /** Takes a signature; one that was taken before is refused. */
  take(signature: string, untilMs: number, nowMs: number): void {
    if (this.#taken.has(signature)) {
      const message = "signature: expected one that was not sent before, got one again";
      throw new CortexError("ERR_SCOPE_HOLDER", message, { field: "signature" });
    }
    if (this.#taken.size >= TAKEN_MAX) this.#makeRoom(nowMs);
    this.#taken.set(signature, untilMs);
  }

  #makeRoom(nowMs: number): void {
    for (const [signature, untilMs] of this.#taken) {
      if (untilMs < nowMs) this.#taken.delete(signature);
    }
    if (this.#taken.size < TAKEN_MAX) return;
    throw new HttpFailure("tooMany", "too many signed requests at once", { "Retry-After": "60" });
  }
}

/** The header in which a caller lowers itself; it may claim less than its token, and never more. */
export const SPEAKS_AS = "Cortex-Speaks-As";

/** The token of a request, whatever it is for. */
export function bearerOf(request: Request): string | undefined {
  const header = request.headers.get("authorization") ?? "";
  return /^bearer +([\x21-\x7e]+)$/i.exec(header)?.[1];
}

/** The scope or handle that a request bears; `undefined` for any other request. */
export function scopeOf(request: Request): string | undefined {
  const token = bearerOf(request);
  return token !== undefined && isScopeText(token) ? token : undefined;
}

/** Reads what a caller presents, from the headers alone; a signature that is there has to be good. */
export function readPresented(request: Request, nowMs: number): Presented | undefined {
  const scope = scopeOf(request);
  if (scope === undefined) return undefined;
  // No signature covers it, so whoever is in between could leave it out.
  if (request.headers.has(SPEAKS_AS)) {
    const message = `${SPEAKS_AS.toLowerCase()}: expected none, as a scope speaks as it grants`;
    throw new HttpFailure("malformed", message);
  }
  const header = (name: string): string | undefined => request.headers.get(name) ?? undefined;
  const signed = verifyRequest(
    {
      method: request.method,
      ...targetOf(request.url),
      authorization: header("authorization") ?? "",
      idempotencyKey: header("idempotency-key"),
      ifMatch: header("if-match"),
    },
    {
      signatureInput: header("signature-input"),
      signature: header("signature"),
      contentDigest: header("content-digest"),
    },
    { nowMs, sha256, verifySignature: verifyEd25519 },
  );
  return signed === undefined ? { scope } : { scope, signed };
}

/** The path and the query of an address, as they were sent. */
function targetOf(url: string): { readonly path: string; readonly query: string } {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const mark = url.indexOf("?", start);
  if (mark < 0) return { path: url.slice(start), query: "" };
  return { path: url.slice(start, mark), query: url.slice(mark + 1) };
}

function sha256(data: Uint8Array): Uint8Array {
  return createHash("sha256").update(data).digest();
}

/** The access of a caller at the store it asks for. A signature is taken when the scope is found to hold. */
export async function accessAt(
  memory: Cortex,
  { scope, signed }: Presented,
  { nowMs, replays }: { readonly nowMs: number; readonly replays: Replays },
): Promise<Access> {
  if (signed === undefined) return memory.scopeAccess(scope);
  const access = await memory.scopeAccess(scope, { signedBy: signed.key });
  replays.take(signed.signature, signed.untilMs, nowMs);
  return access;
}

/** What an operation asks of its store when a stranger calls: to be there, and nothing else. */
const NO_NEW_STORE: Pick<Operation, "cli"> = { cli: { command: "", group: "store" } };

/** Where a stranger asks, and when. */
export interface StrangerPlace {
  readonly stores: Pick<Stores, "use">;
  readonly actor: string;
  readonly nowMs: number;
}

/** Works on a store for whoever presents a scope; one that is not there is not told apart. */
export async function withStranger<T>(
  { stores, actor, nowMs }: StrangerPlace,
  presented: Presented,
  work: (memory: Cortex) => Promise<T>,
): Promise<T> {
  let isThere = false;
  try {
    return await stores.use(NO_NEW_STORE, actor, (memory) => {
      isThere = true;
      return work(memory);
    });
  } catch (error) {
    if (isThere || !isCortexError(error, "ERR_NOT_FOUND")) throw error;
    throw strangerFailure(presented, actor, nowMs);
  }
}

/**
 * Why a scope does not hold at a store that is not there: what a store that trusts nobody would say,
 * in the order in which it would.
 */
function strangerFailure({ scope }: Presented, actor: string, nowMs: number): CortexError {
  const field = "scope";
  if (parseHandle(scope) !== undefined) {
    const message = "scope: expected the handle of a scope that was posted here, got another";
    return new CortexError("ERR_SCOPE_HANDLE", message, { field });
  }
  const parsed = parseScope(scope);
  if (parsed.actor !== actor) {
    const message = `scope.actor: expected actor ${actor}, got ${parsed.actor}`;
    return new CortexError("ERR_ACTOR_MISMATCH", message, { field: "scope.actor" });
  }
  if (nowMs > parsed.expiresAt) {
    const message = `scope.expiresAt: expected a time from ${nowMs} on, got ${parsed.expiresAt}`;
    return new CortexError("ERR_SCOPE_EXPIRED", message, { field: "scope.expiresAt" });
  }
  const message = "scope.grantedBy: expected a trusted issuer, got another key";
  return new CortexError("ERR_SCOPE_ISSUER", message, { field: "scope.grantedBy" });
}

/** Whoever hands a scope in is a guest; the scope is all they show. */
export const POSTING: Access = GUEST;
