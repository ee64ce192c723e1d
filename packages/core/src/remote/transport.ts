/**
 * Requests to a server and what comes back of them: time limits, repeated reads, failures as errors.
 *
 * Promises: a failure that the server named comes back as the `CortexError` that it was over there. A
 * server that cannot be reached, does not answer in time or is none of ours is `ERR_STORAGE`, with the
 * reason as its cause. Only what can be asked for twice is asked for again, after a pause that grows or
 * that the server named; of anything else that fails on the way it is not known whether it was done, and
 * the message says so.
 */
import { sha256Pure } from "../codec/sha256-pure.js";
import { CortexError, type ErrorDetails } from "../errors.js";
import { signRequest } from "../scope/request-signature.js";
import { isKnownCode, knownCode } from "./answers.js";
import { SPEAKS_AS } from "./body.js";
import type { RemoteSettings } from "./settings.js";

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
    const what = hasBegun ? "its answer breaks off or is no JSON" : "it cannot be reached";
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
