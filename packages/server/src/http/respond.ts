/**
 * Answers as responses: the headers that every answer has, JSON, entity tags, compression and failures.
 *
 * Failures are problem details (RFC 9457), of one shape for every route. Status and code come from the one
 * table of errors; a failure of this door alone, such as an unknown path, borrows the code that says most
 * and names its own status here. The answer holds no stack and nothing but what the error says to print.
 *
 * A tag is what a client keeps to ask "has it changed?" and to say "only if it has not". That of a memory
 * is `"<version>-<seq>"`: its version, which `If-Match` hands to an update, and the entry that touched it
 * last, so that a change of its head changes the tag as well. Any other answer to a read has a hash of
 * its bytes for a tag.
 *
 * Header objects stay plain and bodies stay strings or bytes: the adapter to Node writes those without
 * building a response of the web standard, which costs more than a small read of the store.
 */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type CortexError, ERROR_CODES, type ErrorCode, isCortexError } from "@cortex-memory/core";
import type { OnPlan, ReadPlan } from "@cortex-memory/core/contract";
import { parseAccept } from "hono/utils/accept";
import { ERROR_STATUS, INTERNAL_CODE, UsageError } from "../error-status.js";
import { REQUEST_ID_HEADER } from "./metrics.js";

/** What the door knows about one request. */
export interface Seen {
  readonly requestId: string;
  /** A name of the table or of a route; never text of the caller. */
  operation: string;
  /** The code of a failure. */
  code?: string;
  /** What a fault of ours was. */
  fault?: unknown;
  /** How the last read was carried out that tells of it. */
  plan?: ReadPlan;
  /** Resolves when the work is done, where that is after the answer began. */
  ends?: Promise<void>;
}

/** Keeps the plan of a read for the log. */
export function planInto(seen: Seen): OnPlan {
  return (plan) => {
    seen.plan = plan;
  };
}

/** Headers by name. */
export type PlainHeaders = Readonly<Record<string, string>>;

/** Bodies below this gain less by compression than it costs. */
const GZIP_BYTES_MIN = 4096;

const compress = promisify(gzip);

/** The headers of every answer: nothing may be kept by a shared cache or read as another type. */
export function commonHeaders({ requestId }: Seen, more: PlainHeaders = {}): PlainHeaders {
  return {
    [REQUEST_ID_HEADER]: requestId,
    "Cache-Control": "private, no-cache",
    "X-Content-Type-Options": "nosniff",
    ...more,
  };
}

/** A JSON text as a response, compressed where it is large and the caller takes that. */
export function jsonResponse(
  seen: Seen,
  request: Request,
  text: string,
  headers: PlainHeaders = {},
): Response | Promise<Response> {
  const all = commonHeaders(seen, { "Content-Type": "application/json", ...headers });
  if (text.length < GZIP_BYTES_MIN) return new Response(text, { headers: all });
  return largeResponse(request, text, all);
}

async function largeResponse(request: Request, text: string, all: PlainHeaders): Promise<Response> {
  const varied: PlainHeaders = { ...all, Vary: "Accept-Encoding" };
  if (!takesGzip(request.headers.get("accept-encoding"))) {
    return new Response(text, { headers: varied });
  }
  // Other bytes are another representation: the tag may only promise that they mean the same.
  const { ETag: tag } = all;
  const weak: PlainHeaders = tag === undefined ? {} : { ETag: tag.replace(/^(?!W\/)/, "W/") };
  return new Response(await compress(text), {
    headers: { ...varied, ...weak, "Content-Encoding": "gzip" },
  });
}

/** Whether `Accept-Encoding` allows gzip. */
export function takesGzip(accepted: string | null): boolean {
  const asked = parseAccept(accepted ?? "");
  const named = (name: string) => asked.find(({ type }) => type.toLowerCase() === name);
  return ((named("gzip") ?? named("*"))?.q ?? 0) > 0;
}

/** A failure as a response, with what a route adds to it; what it was is noted for the log. */
export function problemResponse(
  seen: Seen,
  error: unknown,
  more: (problem: Problem) => object = () => ({}),
): Response {
  const { problem, headers } = problemOf(error, seen.requestId);
  seen.code = problem.code;
  if (problem.code === INTERNAL_CODE) seen.fault = error;
  return new Response(JSON.stringify({ ...problem, ...more(problem) }), {
    status: problem.status,
    headers: commonHeaders(seen, { "Content-Type": PROBLEM_TYPE, ...headers }),
  });
}

/** The tag of an answer. */
export function tagOf(answer: unknown, body: string): string {
  return memoryTag(answer) ?? `W/"${createHash("sha256").update(body).digest("base64url")}"`;
}

/** The tag of a memory, or of what a write made of it. */
export function memoryTag(answer: unknown): string | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  const { id, version, seq } = answer as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || typeof version !== "number") return undefined;
  return typeof seq === "number" ? `"${version}-${seq}"` : undefined;
}

/** Whether a client has the answer already; compared weakly, as reads are. */
export function isKnown(ifNoneMatch: string | null, tag: string): boolean {
  if (ifNoneMatch === null) return false;
  if (ifNoneMatch.trim() === "*") return true;
  const bare = (text: string): string => text.trim().replace(/^W\//, "");
  return ifNoneMatch.split(",").some((one) => bare(one) === bare(tag));
}

/** What this door refuses before any operation is asked: the status and the code it borrows. */
export const REFUSALS = {
  malformed: { status: 400, code: "ERR_INVALID" },
  unauthenticated: { status: 401, code: "ERR_DENIED" },
  foreign: { status: 403, code: "ERR_DENIED" },
  noRoute: { status: 404, code: "ERR_NOT_FOUND" },
  method: { status: 405, code: "ERR_UNSUPPORTED" },
  differing: { status: 409, code: "ERR_INVALID" },
  timeout: { status: 408, code: "ERR_INVALID" },
  precondition: { status: 412, code: "ERR_CONFLICT" },
  tooLarge: { status: 413, code: "ERR_TOO_LARGE" },
  mediaType: { status: 415, code: "ERR_INVALID" },
  tooMany: { status: 429, code: "ERR_RATE_LIMITED" },
  headers: { status: 431, code: "ERR_TOO_LARGE" },
  unavailable: { status: 501, code: "ERR_UNSUPPORTED" },
  stopping: { status: 503, code: "ERR_CLOSED" },
} as const satisfies { readonly [name: string]: Refusal };

interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
}

/** A failure of the door itself. */
export class HttpFailure extends Error {
  readonly refusal: keyof typeof REFUSALS;
  readonly headers: { readonly [name: string]: string };

  constructor(
    refusal: keyof typeof REFUSALS,
    message: string,
    headers: { readonly [name: string]: string } = {},
  ) {
    super(message);
    this.name = "HttpFailure";
    this.refusal = refusal;
    this.headers = headers;
  }
}

/** The body of a failure. */
interface Problem {
  /** Where the code is explained, relative to the server. */
  readonly type: string;
  /** What the code means, always the same for one code. */
  readonly title: string;
  readonly status: number;
  /** What happened this time. */
  readonly detail: string;
  readonly code: string;
  readonly field?: string;
  readonly expected?: string;
  readonly got?: string;
  readonly seq?: number;
  readonly requestId: string;
  /** What memgraph's clients read; see its routes. */
  readonly error?: string;
}

/** The media type of a failure. */
export const PROBLEM_TYPE = "application/problem+json";

/** What a fault of Cortex itself is called. */
export const INTERNAL_TITLE = "A fault of Cortex itself; the log of the server has the request id.";

/** A failure as it is answered. */
interface Answered {
  readonly problem: Problem;
  readonly headers: { readonly [name: string]: string };
}

/** How long to wait when the store says that it is busy, in seconds. */
const BUSY_SECONDS = "1";

/** What to answer for an error, whatever it is. */
export function problemOf(error: unknown, requestId: string): Answered {
  if (error instanceof HttpFailure) {
    const { status, code } = REFUSALS[error.refusal];
    const { message, headers } = error;
    // memgraph's clients look for this one.
    const known = error.refusal === "unauthenticated" ? { error: "unauthorized" } : {};
    return { problem: problem(status, code, { detail: message, requestId, ...known }), headers };
  }
  // Texts of parameters are read by the rules of the command line.
  if (error instanceof UsageError) {
    const { status } = REFUSALS.malformed;
    const { message, code } = error;
    return { problem: problem(status, code, { detail: message, requestId }), headers: {} };
  }
  if (isCortexError(error)) return cortexProblem(error, requestId);
  const type = `/errors/${INTERNAL_CODE}`;
  const [title, code, status] = [INTERNAL_TITLE, INTERNAL_CODE, 500];
  return { problem: { type, title, status, detail: title, code, requestId }, headers: {} };
}

function cortexProblem(error: CortexError, requestId: string): Answered {
  const { code, message, details } = error;
  const { field, expected, got, seq } = details;
  const { http, family } = ERROR_STATUS[code];
  const isBusy = code === "ERR_CONTENDED" || family === "limited";
  return {
    problem: problem(http, code, {
      detail: message,
      ...(field === undefined ? {} : { field }),
      ...(expected === undefined ? {} : { expected }),
      ...(got === undefined ? {} : { got }),
      ...(seq === undefined ? {} : { seq }),
      requestId,
    }),
    headers: isBusy ? { "Retry-After": BUSY_SECONDS } : {},
  };
}

function problem(
  status: number,
  code: ErrorCode,
  rest: Omit<Problem, "type" | "title" | "status" | "code">,
): Problem {
  return { type: `/errors/${code}`, title: ERROR_CODES[code], status, code, ...rest };
}

/** A precondition in a header that does not hold: the same refusal, with the status made for it. */
export function preconditionFailure(error: CortexError): HttpFailure {
  return new HttpFailure("precondition", error.message);
}
