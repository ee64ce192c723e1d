/**
 * Failures as problem details (RFC 9457): one shape for every failure of every route.
 *
 * Promise: status and code come from the one table of errors; a failure of this door alone, such as
 * an unknown path, borrows the code that says most and names its own status here. The answer holds no
 * stack and nothing but what the error says to print.
 */
import { type CortexError, ERROR_CODES, type ErrorCode, isCortexError } from "@cortex-memory/core";
import { ERROR_STATUS, INTERNAL_CODE, UsageError } from "../error-status.js";

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
