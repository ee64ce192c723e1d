/**
 * Requests to a server and what comes back of them: what a call may send, time limits, repeated reads, answers as the
 * verb gives them, failures as errors.
 *
 * Promises: a failure that the server named comes back as the `CortexError` that it was over there. A
 * server that cannot be reached, does not answer in time or is none of ours is `ERR_STORAGE`, with the
 * reason as its cause. Only what can be asked for twice is asked for again, after a pause that grows or
 * that the server named; of anything else that fails on the way it is not known whether it was done, and
 * the message says so.
 *
 * What a call sends: the input of an operation, written as JSON.
 *
 * Promise: what cannot be sent is refused before anything is sent. That is functions (a signer, a
 * counter of tokens), signals, numbers that JSON has no word for, and an access other than the owner's:
 * on a server, who is asking is decided by what the client was opened with. Somebody who speaks in
 * another name than the owner's says so in a header: a client may lower itself, and never more.
 *
 * From what the server sends to what the verb answers, for the few verbs whose operation says more or
 * says it otherwise; and from the code of a failure to one that is known here.
 */

import { sha256Pure } from "../codec/sha256-pure.js";
import type { Answer, VerbName } from "../contract/index.js";
import {
  CortexError,
  describe,
  ERROR_CODES,
  type ErrorCode,
  type ErrorDetails,
  invalid,
} from "../errors.js";
import type { Access } from "../scope/access.js";
import { signRequest } from "../scope/request-signature.js";
import type { RemoteSettings } from "./settings.js";

/** The input of an operation. */
export type Body = { readonly [field: string]: unknown };

/** Options that stay on this side. */
const KEPT: readonly string[] = ["access", "onProgress"];

/** The JSON of an input. */
export function bodyText(body: Body): string {
  checkAccess(body.access);
  const sent = Object.entries(body).filter(([field]) => !KEPT.includes(field));
  return JSON.stringify(Object.fromEntries(sent), plain);
}

/** The header in which a caller lowers itself: a source and, after a space, a principal. */
const SPEAKS_AS = "Cortex-Speaks-As";

/** What the header says for an input; `undefined` where nobody else speaks than the client itself. */
export function speaksAs({ access }: Body): string | undefined {
  const { speaker } = (access ?? {}) as Extract<Access, { readonly kind: "owner" }>;
  if (speaker === undefined || (speaker.namesAuthors && speaker.source === "user_input")) {
    return undefined;
  }
  return [speaker.source, ...(speaker.principal === undefined ? [] : [speaker.principal])].join(
    " ",
  );
}

function checkAccess(access: unknown): void {
  if (access === undefined) return;
  const kind = typeof access === "object" && access !== null && "kind" in access && access.kind;
  if (kind === "owner") return;
  throw new CortexError(
    "ERR_UNSUPPORTED",
    "access: on a server the token or scope of the client decides; open another client",
    { field: "access" },
  );
}

function plain(field: string, value: unknown): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      throw invalid(field, "a finite number", value);
    case "object":
      return plainObject(field, value);
    default:
      throw notSent(field, value);
  }
}

function plainObject(field: string, value: object | null): unknown {
  if (value === null || Array.isArray(value)) return value;
  // Vectors are handed over as they come from a model.
  if (value instanceof Float32Array || value instanceof Float64Array) return [...value];
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm has a prototype of its own, which has none either.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return value;
  throw notSent(field, value);
}

function notSent(field: string, value: unknown): CortexError {
  const message = `${field}: expected plain data, which can be sent to a server, got ${describe(value)}`;
  return new CortexError("ERR_UNSUPPORTED", message, { field });
}

const ANSWERS: { readonly [V in VerbName]?: (sent: Body) => Answer<V> } = {
  batch: batchAnswer,
  configure: ({ graph, seq }) => ({ ...(graph as object), seq }) as Answer<"configure">,
  // Where the store is on the server's machine is the operation's to say, not the verb's.
  stats: ({ data: _, ...stats }) => stats as unknown as Answer<"stats">,
};

/** The answer of a verb; `member` names the part of what was sent that is all of it. */
export function answerOf(verb: VerbName, member: string | undefined, sent: Body): unknown {
  if (member !== undefined) return sent[member];
  const made = ANSWERS[verb];
  return made === undefined ? sent : made(sent);
}

interface FailedItem {
  readonly ok: false;
  readonly error: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly details?: ErrorDetails;
  };
}

/** Failed items hold errors again, as they do where the store is at hand. */
function batchAnswer({ results, seq }: Body): Answer<"batch"> {
  const items = results as readonly ({ readonly ok: true } | FailedItem)[];
  return {
    seq,
    results: items.map((item) => {
      if (item.ok) return item;
      const { code, message, details } = item.error;
      return { ok: false, error: new CortexError(knownCode(code), message, details) };
    }),
  } as Answer<"batch">;
}

/** A code of the list; a newer server may have others, which say that something is not known here. */
function knownCode(code: unknown): ErrorCode {
  return isKnownCode(code) ? code : "ERR_UNSUPPORTED";
}

/** Whether a code is one of the list. */
function isKnownCode(code: unknown): code is ErrorCode {
  return typeof code === "string" && Object.hasOwn(ERROR_CODES, code);
}

/** One request. */
export interface Call {
  readonly path: string;
  /** JSON, for a `POST`; without it, a `GET`. */
  readonly body?: string;
  /** The parameters of a `GET`. */
  readonly parameters?: URLSearchParams;
  readonly accept: string;
  /** In whose name it is asked, where that is less than the client may. */
  readonly speaksAs?: string | undefined;
  /** Whether it can be sent again. */
  readonly isRepeatable: boolean;
  /** Whether it takes as long as it takes. */
  readonly isLong: boolean;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** A failure, and whether it may pass by itself. */
interface Failure {
  readonly error: CortexError;
  readonly mayPass: boolean;
  /** How long the server asks to wait. */
  readonly waitMs?: number;
}

const TIMEOUT_MS = 30_000;
const FIRST_PAUSE_MS = 100;
const PAUSE_MS_MAX = 10_000;
const NONCE_BYTES = 16;

/** Statuses of failures that may pass: too many calls, stopping, or something between here and there. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Sends a request until it is answered, and gives what `read` makes of the answer. */
export async function request<T>(
  settings: RemoteSettings,
  call: Call,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const attempts = call.isRepeatable ? settings.retries + 1 : 1;
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await attemptOnce(settings, call, read);
    if ("answer" in outcome) return outcome.answer;
    if (attempt >= attempts || !outcome.mayPass || call.signal.aborted) throw outcome.error;
    await pause(outcome.waitMs ?? pauseMs(attempt), call.signal);
  }
}

/** How long to wait before the next attempt: twice as long each time, and never all at once. */
export function pauseMs(attempt: number): number {
  const longest = Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** (attempt - 1));
  return longest * (0.5 + Math.random() / 2);
}

/** Waits; a signal that is aborted ends it early. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}

async function attemptOnce<T>(
  settings: RemoteSettings,
  call: Call,
  read: (response: Response) => Promise<T>,
): Promise<{ readonly answer: T } | Failure> {
  const limitMs = settings.timeoutMs ?? (call.isLong ? 0 : TIMEOUT_MS);
  const stop = new AbortController();
  let isLate = false;
  const timer = limitMs === 0 ? undefined : setTimeout(() => end(true), limitMs);
  const end = (late: boolean): void => {
    isLate = late;
    stop.abort();
  };
  const leave = (): void => end(false);
  let hasBegun = false;
  call.signal.addEventListener("abort", leave);
  if (call.signal.aborted) leave();
  try {
    const response = await send(settings, call, stop.signal);
    hasBegun = true;
    if (!response.ok) return await failureOf(response);
    return { answer: await read(response) };
  } catch (error) {
    if (error instanceof CortexError) return { error, mayPass: false };
    if (call.signal.aborted) return { error: closed(), mayPass: false };
    const what = hasBegun
      ? "its answer breaks off or is no JSON"
      : `${new URL(settings.base).origin} cannot be reached`;
    const said = isLate ? `no answer within ${limitMs} ms` : what;
    return { error: unreachable(said, call, error), mayPass: true };
  } finally {
    clearTimeout(timer);
    call.signal.removeEventListener("abort", leave);
  }
}

async function send(settings: RemoteSettings, call: Call, signal: AbortSignal): Promise<Response> {
  const { authorization, signer } = settings;
  const url = new URL(settings.base + call.path);
  if (call.parameters !== undefined) url.search = call.parameters.toString();
  const method = call.body === undefined ? "GET" : "POST";
  const body = call.body === undefined ? undefined : new TextEncoder().encode(call.body);
  const signature =
    signer === undefined
      ? {}
      : await signRequest(
          {
            method,
            path: url.pathname,
            query: url.search.slice(1),
            authorization: authorization ?? "",
            body: body ?? new Uint8Array(),
          },
          signer,
          { nowMs: Date.now(), nonce: nonce(), sha256: sha256Pure },
        );
  return settings.fetch(url, {
    method,
    headers: {
      Accept: call.accept,
      ...(call.speaksAs === undefined ? {} : { [SPEAKS_AS]: call.speaksAs }),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(authorization === undefined ? {} : { Authorization: authorization }),
      ...signature,
    },
    ...(body === undefined ? {} : { body }),
    // Whoever sends a caller elsewhere would be handed what it bears.
    redirect: "manual",
    signal,
  });
}

function nonce(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
}

async function failureOf(response: Response): Promise<Failure> {
  const { status } = response;
  const waitMs = waitIn(response.headers.get("retry-after"));
  const passing = { mayPass: PASSING.has(status), ...(waitMs === undefined ? {} : { waitMs }) };
  const isProblem = /^application\/problem\+json/i.test(response.headers.get("content-type") ?? "");
  if (!isProblem) {
    await response.body?.cancel();
    const message = `server: expected an answer of Cortex, got status ${status}`;
    return { error: new CortexError("ERR_STORAGE", message), ...passing };
  }
  return { error: problemError(await response.json()), ...passing };
}

/** The error that a problem document tells of. */
export function problemError(problem: unknown): CortexError {
  const members = (typeof problem === "object" && problem !== null ? problem : {}) as {
    readonly [name: string]: unknown;
  };
  const { code, detail, requestId } = members;
  const message = typeof detail === "string" ? detail : "the server did not say what is wrong";
  if (isKnownCode(code)) return new CortexError(code, message, detailsOf(members));
  if (code === "ERR_INTERNAL") {
    // A fault over there: what it was is in the log of the server, under this id.
    return new CortexError("ERR_STORAGE", `server: ${message} Request ${String(requestId)}.`);
  }
  return new CortexError(knownCode(code), `${String(code)}: ${message}`, detailsOf(members));
}

function detailsOf(problem: { readonly [name: string]: unknown }): ErrorDetails {
  const { field, expected, got, seq } = problem;
  return {
    ...(typeof field === "string" ? { field } : {}),
    ...(typeof expected === "string" ? { expected } : {}),
    ...(typeof got === "string" ? { got } : {}),
    ...(typeof seq === "number" ? { seq } : {}),
  };
}

/** `Retry-After` in milliseconds; a date there is left to our own pauses. */
function waitIn(header: string | null): number | undefined {
  if (header === null || !/^\d{1,6}$/.test(header)) return undefined;
  return Math.min(PAUSE_MS_MAX, Number(header) * 1000);
}

function unreachable(what: string, call: Call, cause: unknown): CortexError {
  const unknown = call.isRepeatable ? "" : "; whether it was done is not known";
  return new CortexError("ERR_STORAGE", `server: ${what}${unknown}`, {}, cause);
}

/** The failure of a call on a client that was closed. */
export function closed(): CortexError {
  return new CortexError("ERR_CLOSED", "the client is closed");
}
