/**
 * One JSON document sent to a service, and its answer: what every client of a model has in common.
 *
 * Promises: a request that fails on the way, takes too long, or is answered by 429 or 5xx is tried
 * again after a growing pause, or after the time the server asks for; every other refusal is final. An
 * answer beyond its limit is given up while it comes in, not after. A failure names status and server,
 * never what was sent, never the key; the key is sent to the endpoint and to nobody else: redirects are
 * refused.
 *
 * Pure but for what it is given: network, time and chance are arguments (`http-services.ts` binds
 * them). What a failure is called, and what a good answer looks like, is left to the client.
 */
import { fromUtf8 } from "../codec/text.js";
import { CortexError, invalid } from "../errors.js";

/** The parts of `fetch` that are used. */
export type Fetch = (
  url: string,
  init: {
    readonly method: "POST";
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly redirect: "error";
    readonly signal: AbortSignal;
  },
) => Promise<FetchResponse>;

/** The parts of a response that are used. */
interface FetchResponse {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  /** The answer piece by piece; without it `text` is taken. */
  readonly body?: { getReader(): PieceReader } | null;
  text(): Promise<string>;
}

/** What reads an answer piece by piece. */
interface PieceReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** What a client does to the world. */
export interface HttpEffects {
  readonly fetch: Fetch;
  /** Waits; ends early, without failing, when the signal is aborted. */
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** A signal that is aborted after so long. */
  readonly deadline: (ms: number) => AbortSignal;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** Where a service is and how patient its client is. */
export interface PostSettings {
  readonly endpoint: string;
  /** Sent as a bearer token. */
  readonly apiKey: string | undefined;
  /** For one request. */
  readonly timeoutMs: number;
  /** How often a request is tried again. */
  readonly retries: number;
  /** The first pause before a request is tried again. */
  readonly backoffMs: number;
}

/** A request, and what its client makes of the answers. */
interface Post<T> {
  readonly body: unknown;
  /** The longest answer that is read. */
  readonly answerBytes: number;
  readonly signal: AbortSignal | undefined;
  /** Names a failure; `input` blames what was sent, `reply` what came back. */
  readonly failure: (what: string, cause?: unknown, field?: "input" | "reply") => CortexError;
  /** Reads an answer of status 200; what it refuses by a `CortexError` is final. */
  readonly read: (text: string) => T;
}

const BACKOFF_MOST_MS = 8000;
/** A server that asks for a longer pause is reported instead. */
const RETRY_AFTER_MOST_MS = 60_000;

/** What became of one request. */
type Attempt<T> =
  | { readonly value: T }
  | { readonly error: CortexError; readonly again: boolean; readonly afterMs?: number };

/** Sends a document until it is answered, refused for good, or tried often enough. */
export async function postJson<T>(
  settings: PostSettings,
  post: Post<T>,
  effects: HttpEffects,
): Promise<T> {
  const { retries, backoffMs } = settings;
  const { signal } = post;
  for (let tried = 0; ; tried += 1) {
    if (isAborted(signal)) throw post.failure("was stopped");
    const attempt = await attemptOf(settings, post, effects);
    if ("value" in attempt) return attempt.value;
    const { error, again, afterMs } = attempt;
    if (!again || tried >= retries || isAborted(signal)) throw error;
    // Not all at once: half of the pause is certain, the rest is chance.
    const share = 0.5 + effects.random() / 2;
    const pauseMs = Math.min(backoffMs * 2 ** tried, BACKOFF_MOST_MS) * share;
    await effects.pause(Math.max(pauseMs, afterMs ?? 0), signal);
  }
}

async function attemptOf<T>(
  { endpoint, apiKey, timeoutMs }: PostSettings,
  post: Post<T>,
  effects: HttpEffects,
): Promise<Attempt<T>> {
  const { signal, failure } = post;
  const deadline = effects.deadline(timeoutMs);
  let answer: {
    readonly status: number;
    readonly retryAfter: string | null;
    readonly bytes: string | Uint8Array | undefined;
  };
  try {
    const response = await effects.fetch(endpoint, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify(post.body),
      redirect: "error",
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    const retryAfter = response.headers.get("retry-after");
    const bytes = await readAnswer(response, post.answerBytes);
    answer = { status: response.status, retryAfter, bytes };
  } catch (cause) {
    const what = deadline.aborted ? `no answer within ${timeoutMs} ms` : "no connection";
    return { error: failure(what, cause), again: true };
  }
  const { status, retryAfter, bytes } = answer;
  try {
    // A refusal may be of any length: its status says enough.
    const text = bytes === undefined ? undefined : textOf(bytes);
    if (status !== 200) return refused(status, { retryAfter, text }, post, effects);
    if (text === undefined) {
      const what = `expected an answer of at most ${post.answerBytes} bytes, got more`;
      return { error: failure(what, undefined, "reply"), again: false };
    }
    return { value: post.read(text) };
  } catch (error) {
    if (!(error instanceof CortexError)) throw error;
    const isText = error.code !== "ERR_ILL_FORMED";
    return { error: isText ? error : failure("expected UTF-8", error, "reply"), again: false };
  }
}

/** The answer, whole; `undefined` when it is longer than it may be. */
async function readAnswer(
  response: FetchResponse,
  mostBytes: number,
): Promise<string | Uint8Array | undefined> {
  const reader = response.body?.getReader();
  if (reader === undefined) {
    const text = await response.text();
    return text.length > mostBytes ? undefined : text;
  }
  const pieces: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (value === undefined) continue;
    size += value.length;
    if (size > mostBytes) {
      await reader.cancel();
      return undefined;
    }
    pieces.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function textOf(bytes: string | Uint8Array): string {
  return typeof bytes === "string" ? bytes : fromUtf8(bytes);
}

function refused<T>(
  status: number,
  answer: { readonly retryAfter: string | null; readonly text: string | undefined },
  { failure }: Post<T>,
  { clock }: HttpEffects,
): Attempt<T> {
  const code = answer.text === undefined ? undefined : codeIn(answer.text);
  const what = `HTTP status ${status}${code === undefined ? "" : ` (${code})`}`;
  if (status !== 429 && status < 500) {
    const field = status === 400 || status === 413 || status === 422 ? "input" : undefined;
    return { error: failure(what, undefined, field), again: false };
  }
  const afterMs = waitOf(answer.retryAfter, clock());
  if (afterMs !== undefined && afterMs > RETRY_AFTER_MOST_MS) {
    const seconds = Math.ceil(afterMs / 1000);
    return { error: failure(`${what}, to be tried in ${seconds} s`), again: false };
  }
  const error = failure(what);
  return afterMs === undefined ? { error, again: true } : { error, again: true, afterMs };
}

/** The members of a JSON object; `undefined` when the text is none. */
export function jsonObjectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Checks the address of a service. */
export function checkEndpoint(endpoint: unknown): {
  readonly endpoint: string;
  readonly host: string;
} {
  const url = typeof endpoint === "string" && URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.host === "") {
    throw invalid("endpoint", "an http or https address", endpoint);
  }
  if (url.username !== "" || url.password !== "") {
    throw invalid("endpoint", "an address without a name or password in it", "one with them");
  }
  return { endpoint: url.href, host: url.host };
}

/** Checks the name of a model, as its server knows it. */
export function checkModelName(model: unknown): string {
  if (typeof model === "string" && /^\S{1,256}$/.test(model)) return model;
  throw invalid("model", "a name of 1 to 256 characters without spaces", model);
}

/** Checks a key. One that no header can carry would be quoted by the failure of the request. */
export function checkApiKey(apiKey: unknown): string | undefined {
  if (apiKey === undefined) return undefined;
  if (typeof apiKey === "string" && /^[\x21-\x7e]+$/.test(apiKey)) return apiKey;
  throw invalid("apiKey", "printable characters without spaces", "something else");
}

/** Refuses an option that a client does not know. */
export function checkKnown(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw invalid(unknown, `one of ${known.join(", ")}`, "an unknown field", "ERR_UNKNOWN_FIELD");
}

/** Checks an option that is a number. */
export function checkInteger(field: string, value: unknown, least: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
  throw invalid(field, `an integer of at least ${least}`, value);
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

/** The short code that servers give beside a message; the message itself may quote the text. */
function codeIn(text: string): string | undefined {
  const error = jsonObjectIn(text)?.error;
  if (typeof error !== "object" || error === null) return undefined;
  const { code, type } = error as { code?: unknown; type?: unknown };
  const named = [code, type].find((value) => typeof value === "string");
  return typeof named === "string" && /^[\w.-]{1,64}$/.test(named) ? named : undefined;
}

/** The pause that a server asks for: seconds, or a date. */
function waitOf(retryAfter: string | null, nowMs: number): number | undefined {
  if (retryAfter === null) return undefined;
  if (/^\d+$/.test(retryAfter.trim())) return 1000 * Number(retryAfter);
  const at = Date.parse(retryAfter);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
