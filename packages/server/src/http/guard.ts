/**
 * Who calls, how often, and as whom: everything that is decided about a request before its route is asked,
 * and what a caller with a scope may do at a store.
 *
 * With an admin token, every request has to carry it, whatever address it comes from. Without one the server is
 * for this machine only: the `Host` has to be a loopback name, which a page that was made to point its own name
 * here (DNS rebinding) cannot say, and a browser must not say that a page of another origin is asking, which
 * stops requests that a page can send without being able to read the answer. A server that is stopping takes
 * nothing more.
 *
 * A token bucket per caller: a burst at once, a rate in the long run. Callers that have been quiet for
 * long enough are forgotten, because their bucket is full again; so the table stays as small as the
 * number of callers of the last moments.
 *
 * A request that carries a scope instead of the token goes on to the operations: `Authorization: Bearer` with
 * the scope or a handle of one, and, unless it is a bearer scope, a signature of the request by the key it is
 * granted to. Here it is only read who the caller claims to be; the store decides whether the scope holds. All
 * of that is decided by the headers: nothing is read of the body of a caller who is not known yet, except a
 * scope that is posted because it is too large for a header, up to `STRANGER_BYTES`. A signature is taken once:
 * a request that was overheard cannot be sent again; a signature without a scope that holds is not remembered.
 * The answer to a stranger does not depend on whether the store they ask for is there, and asking never makes
 * one. Everything else that is served here is the owner's.
 */
import { createHash, timingSafeEqual } from "node:crypto";
import {
  type Access,
  type Cortex,
  CortexError,
  GUEST,
  isCortexError,
  parseScope,
  verifyEd25519,
} from "@cortex-memory/core";
import {
  isScopeText,
  loweredTo,
  parseHandle,
  type SignedBy,
  throughDoor,
  verifyRequest,
} from "@cortex-memory/core/doors";
import type { HttpBindings } from "@hono/node-server";
import type { Operation } from "../operations/define.js";
import { isLoopback, type ServeOptions } from "../settings.js";
import { HttpFailure } from "./respond.js";
import type { Stores } from "./stores.js";

/**
 * Paths that browsers, probes and readers of the interface may ask for without a token. A browser cannot
 * bear one when it opens an address, so what it loads there is open, and holds nothing of any store.
 */
const OPEN_PATHS =
  /^\/(healthz|readyz|openapi\.json|llms\.txt|errors(\/[A-Z_]*)?|studio\/[\w.-]+)?$/;

/** A part of a path that stands for this folder or the one above, also where its dots are encoded. */
const DOTTED = /^[^?]*[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i;

/** What changes while the server runs. */
export interface State {
  inFlight: number;
  isStopping: boolean;
}

/** Decides whether a request reaches its route, and gives its path; throws the refusal when not. */
export type Gate = (request: Request, bindings: Incoming) => string;

/** What came in, where it came through a socket. */
interface Incoming {
  readonly incoming?: HttpBindings["incoming"] | undefined;
}

/** Everything that is decided before a route is asked. */
export function makeGate(
  options: ServeOptions,
  state: State,
  made: { readonly nowMs: () => number; readonly paths: ScopePaths },
): Gate {
  const guard = makeGuard(options, made.paths);
  const wait = makeLimiter(options, made.nowMs);
  return (request, { incoming }) => {
    // Addresses are tidied before they come here; what was sent may have meant another path to a proxy.
    if (incoming !== undefined && DOTTED.test(incoming.url ?? "")) {
      throw new HttpFailure("malformed", "path: expected no . or .. between slashes");
    }
    const path = pathOf(request.url);
    const isOpen = OPEN_PATHS.test(path);
    if (!isOpen || options.token === undefined) guard(request, path);
    if (state.isStopping) {
      throw new HttpFailure("stopping", "the server is stopping", {
        Connection: "close",
        "Retry-After": "1",
      });
    }
    const seconds = isOpen ? 0 : wait(incoming?.socket.remoteAddress ?? "");
    if (seconds > 0) {
      const message = `expected at most ${options.ratePerSecond} requests a second`;
      throw new HttpFailure("tooMany", message, { "Retry-After": String(seconds) });
    }
    return path;
  };
}

/** The path in an address. */
function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.indexOf("?", start);
  return url.slice(start, end < 0 ? undefined : end);
}

/** Decides whether a request may go on; throws the refusal when not. */
type Guard = (request: Request, path: string) => void;

/** What callers with a scope, and those who hand one in, may ask for. */
export interface ScopePaths {
  /** Whether an operation is asked for. */
  readonly isOperation: (path: string) => boolean;
  /** Whether a scope is handed in. */
  readonly isPosting: (path: string) => boolean;
}

/** What the caller of a request without a scope may see and do. */
export function accessOf(request: Request): Access {
  if (scopeOf(request) !== undefined) throw notHere();
  return loweredBy(request, throughDoor("rest"));
}

/** The access of a caller, lowered as the request asks; one that asks for more than its door is refused. */
export function loweredBy(request: Request, own: Access): Access {
  const text = request.headers.get(SPEAKS_AS);
  if (text === null) return own;
  const access = loweredTo(text, own);
  if (access !== undefined) return access;
  const expected = "a source and, after a space, a principal";
  throw new HttpFailure("malformed", `${SPEAKS_AS.toLowerCase()}: expected ${expected}`);
}

/** Whether a request has the host's token: such a caller speaks for the user. */
export function isHost(request: Request, hostToken: string | undefined): boolean {
  return hostToken !== undefined && isToken(request, digest(hostToken));
}

function notHere(): HttpFailure {
  return unauthenticated("authorization: a scope is honoured by the operations below /v1 alone");
}

function unauthenticated(message: string): HttpFailure {
  return new HttpFailure("unauthenticated", message, {
    "WWW-Authenticate": 'Bearer realm="cortex"',
  });
}

/** The guard that the settings ask for. */
function makeGuard(
  options: Pick<ServeOptions, "token" | "hostToken" | "corsOrigins">,
  paths: ScopePaths,
): Guard {
  const { token } = options;
  const refuse = makeRefusal(options);
  return (request, path) => {
    const hasScope = scopeOf(request) !== undefined;
    if (hasScope && !paths.isOperation(path)) throw notHere();
    if (token === undefined) return refuse(request);
    const isBare = request.headers.get("authorization") === null;
    if (hasScope || (isBare && paths.isPosting(path))) return;
    refuse(request);
  };
}

function makeRefusal({
  token,
  hostToken,
  corsOrigins,
}: Pick<ServeOptions, "token" | "hostToken" | "corsOrigins">): (request: Request) => void {
  if (token === undefined) return (request) => checkLocal(request, corsOrigins);
  const expected = [token, ...(hostToken === undefined ? [] : [hostToken])].map(digest);
  return (request) => {
    if (expected.some((one) => isToken(request, one))) return;
    throw unauthenticated("authorization: expected the admin token as Bearer");
  };
}

/** Whether a request has a token. Digests are of one length, so that the time to compare gives nothing away. */
function isToken(request: Request, expected: Buffer): boolean {
  const given = bearerOf(request);
  return given !== undefined && timingSafeEqual(digest(given), expected);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** Refuses what did not start on this machine by the hand of its user. */
function checkLocal(request: Request, corsOrigins: readonly string[]): void {
  const { headers } = request;
  const host = headers.get("host") ?? "";
  // The URL is made of the header, unless the request line named a host of its own.
  const isNamedTwice = !request.url.startsWith(`http://${host}/`);
  const named = isNamedTwice ? new URL(request.url).hostname : "localhost";
  if (!isLoopback(nameIn(host)) || !isLoopback(named)) {
    throw new HttpFailure("foreign", "host: expected a loopback name such as 127.0.0.1");
  }
  const origin = headers.get("origin");
  if (origin !== null) {
    if (origin === `http://${host}` || corsOrigins.includes(origin)) return;
    throw new HttpFailure("foreign", "origin: expected none, or the server's own");
  }
  // Browsers leave the origin out of some requests, but not this.
  const site = headers.get("sec-fetch-site");
  if (site === null || site === "same-origin" || site === "none") return;
  throw new HttpFailure("foreign", "sec-fetch-site: expected none or same-origin");
}

/** The name in a `Host` header; empty when it is not one. */
function nameIn(host: string): string {
  return /^(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase() ?? "";
}

/** How much a caller may ask for. */
interface RateLimit {
  /** 0 for any number. */
  readonly ratePerSecond: number;
  readonly rateBurst: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

/** Callers beyond this are looked through for full buckets before another is added. */
const CALLERS_MAX = 10_000;

/** Answers how many seconds a caller has to wait: 0 when it may go on. */
type Limiter = (caller: string) => number;

/** Makes the limiter; `nowMs` is a clock that only goes forward. */
export function makeLimiter(limit: RateLimit, nowMs: () => number): Limiter {
  const { ratePerSecond, rateBurst } = limit;
  if (ratePerSecond === 0) return () => 0;
  const buckets = new Map<string, Bucket>();
  const refilled = ({ tokens, atMs }: Bucket, now: number): number =>
    Math.min(rateBurst, tokens + ((now - atMs) * ratePerSecond) / 1000);
  const makeRoom = (now: number): void => {
    for (const [caller, bucket] of buckets) {
      if (refilled(bucket, now) >= rateBurst) buckets.delete(caller);
    }
    // All of them are busy: whoever was quiet longest starts anew.
    const [oldest] = buckets.keys();
    if (buckets.size >= CALLERS_MAX && oldest !== undefined) buckets.delete(oldest);
  };
  return (caller) => {
    const now = nowMs();
    const before = buckets.get(caller);
    if (before === undefined && buckets.size >= CALLERS_MAX) makeRoom(now);
    const tokens = before === undefined ? rateBurst : refilled(before, now);
    const isAllowed = tokens >= 1;
    // Deleted first, so that the map stays in the order of last use.
    buckets.delete(caller);
    buckets.set(caller, { tokens: isAllowed ? tokens - 1 : tokens, atMs: now });
    return isAllowed ? 0 : Math.ceil((1 - tokens) / ratePerSecond);
  };
}

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
const SPEAKS_AS = "Cortex-Speaks-As";

/** The token of a request, whatever it is for. */
function bearerOf(request: Request): string | undefined {
  const header = request.headers.get("authorization");
  if (header === null) return undefined;
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
  const mark = url.indexOf("?");
  return { path: pathOf(url), query: mark < 0 ? "" : url.slice(mark + 1) };
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

/** Works on a store for whoever presents a scope; a store that is not there gives the same answer. */
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
