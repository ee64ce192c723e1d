/**
 * What each error code means to a door: one table for all of them, complete by type. The command
 * line takes the exit code from here, HTTP its status, MCP its JSON-RPC code. Beside it, the error for what is
 * refused before anything is asked of the library.
 */
import type { ErrorCode } from "@cortex-memory/core";

/** What sort of trouble a code names. */
export const FAMILIES = {
  input: "The request itself is wrong: correct what the message names and send it again.",
  setup: "The server was not given what this needs; whoever runs it can set it.",
  missing: "What the request is about is not there.",
  conflict: "The state of the store forbids it now; read again and decide.",
  denied: "The caller may not do this.",
  limited: "Too much at once; wait a moment and try again.",
  storage: "The store, the disk or the machine failed.",
  format: "The bytes at hand are of another format, version or actor.",
  integrity: "Something that should agree does not.",
} as const;

/** How doors report one code. */
export interface ErrorStatus {
  readonly family: keyof typeof FAMILIES;
  /** The exit code of the command line: 1 failed, 2 used wrongly. */
  readonly exit: 1 | 2;
  /** The status of an HTTP response. */
  readonly http: number;
  /**
   * The JSON-RPC code over MCP where no tool result can carry the failure: reading a resource, getting
   * a prompt. A failing tool answers with a result that says so.
   */
  readonly mcp: -32602 | -32603;
}

/** The HTTP status of a family; a code with a status of its own names it in its line. */
const HTTP_STATUS: { readonly [family in keyof typeof FAMILIES]: number } = {
  input: 400,
  setup: 400,
  missing: 404,
  conflict: 409,
  denied: 403,
  limited: 429,
  storage: 503,
  format: 400,
  integrity: 500,
};

/** The JSON-RPC code of a family: what the caller sent is at fault, or the server is. */
const MCP_CODE: { readonly [family in keyof typeof FAMILIES]: ErrorStatus["mcp"] } = {
  input: -32602,
  setup: -32602,
  missing: -32602,
  conflict: -32602,
  denied: -32602,
  limited: -32603,
  storage: -32603,
  format: -32603,
  integrity: -32603,
};

function failed(family: keyof typeof FAMILIES, http = HTTP_STATUS[family]): ErrorStatus {
  return { family, exit: 1, http, mcp: MCP_CODE[family] };
}

/**
 * Every code. A library failure exits with 1, however it came about; 2 is for what the command line
 * itself refuses, and for the one code that only `--actor` can cause.
 */
export const ERROR_STATUS: { readonly [code in ErrorCode]: ErrorStatus } = {
  ERR_INVALID: failed("input"),
  ERR_UNKNOWN_TYPE: failed("input"),
  ERR_UNKNOWN_FIELD: failed("input"),
  ERR_BAD_URI: failed("input"),
  ERR_BAD_NAME: { ...failed("input"), exit: 2 },
  ERR_BAD_ID: failed("input"),
  ERR_ILL_FORMED: failed("input"),
  ERR_NOT_CANONICAL: failed("format"),
  ERR_TOO_LARGE: failed("input", 413),
  ERR_NOT_FOUND: failed("missing"),
  ERR_EXISTS: failed("conflict"),
  ERR_TOMBSTONED: failed("conflict"),
  ERR_ERASED: failed("missing", 410),
  ERR_CONFLICT: failed("conflict"),
  ERR_SELF_EDGE: failed("input"),
  ERR_UNKNOWN_ENDPOINT: failed("missing"),
  ERR_EDGE_KIND: failed("input"),
  ERR_KIND_NOT_ALLOWED: failed("input"),
  ERR_IDEMPOTENCY: failed("conflict", 422),
  ERR_REF: failed("input"),
  ERR_NO_CHANGE: failed("input"),
  ERR_READ_ONLY: failed("conflict"),
  ERR_DENIED: failed("denied"),
  ERR_TRUST: failed("denied"),
  ERR_SCOPE_MALFORMED: failed("denied", 401),
  ERR_SCOPE_EXPIRED: failed("denied", 401),
  ERR_SCOPE_ISSUER: failed("denied", 401),
  ERR_SCOPE_SIGNATURE: failed("denied", 401),
  ERR_SCOPE_REVOKED: failed("denied", 401),
  ERR_SCOPE_SNAPSHOT: failed("denied", 401),
  ERR_SCOPE_HOLDER: failed("denied", 401),
  ERR_SCOPE_HANDLE: failed("denied", 401),
  ERR_UNBOUNDED: failed("input"),
  ERR_TOO_BROAD: failed("input"),
  ERR_PREDICATE: failed("input"),
  ERR_BUDGET: failed("input"),
  ERR_RATE_LIMITED: failed("limited"),
  ERR_NO_EMBEDDER: failed("setup"),
  ERR_EMBEDDER: failed("storage", 502),
  ERR_NO_MODEL: failed("setup"),
  ERR_MODEL: failed("storage", 502),
  ERR_AS_OF: failed("input"),
  ERR_CLOCK: failed("storage"),
  ERR_BATCH_NO_JOURNAL: failed("integrity"),
  ERR_CORRUPT: failed("integrity"),
  ERR_JOURNAL_GAP: failed("integrity"),
  ERR_ROOT_MISMATCH: failed("integrity"),
  ERR_FORMAT_NEWER: failed("format", 503),
  ERR_FORMAT_OLDER: failed("format", 503),
  ERR_FORMAT_UNKNOWN: failed("format", 500),
  ERR_ACTOR_MISMATCH: failed("format", 409),
  ERR_DISK_FULL: failed("storage", 507),
  ERR_STORAGE: failed("storage"),
  ERR_UNREACHABLE: failed("storage"),
  ERR_CONTENDED: failed("storage"),
  ERR_CLOSED: failed("storage"),
  ERR_UNSUPPORTED: failed("storage", 501),
  ERR_PROOF_INVALID: failed("integrity", 422),
  ERR_PROOF_MALFORMED: failed("format"),
  ERR_CHECKPOINT_MALFORMED: failed("format"),
  ERR_CHECKPOINT_STALE: failed("integrity", 409),
  ERR_EXPORT_MALFORMED: failed("format"),
  ERR_FORK: failed("integrity", 409),
  ERR_ROLLED_BACK: failed("integrity", 409),
};

/** The code that doors print for a fault of Cortex itself, which carries none. */
export const INTERNAL_CODE = "ERR_INTERNAL";

/** A command line, a parameter or a setting that cannot be used as it stands. */
export class UsageError extends Error {
  readonly code: ErrorCode;

  constructor(message: string, code: ErrorCode = "ERR_INVALID") {
    super(message);
    this.name = "UsageError";
    this.code = code;
  }
}
