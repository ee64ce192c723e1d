/**
 * The one error class of Cortex and its closed list of codes.
 *
 * Promise: every expected failure carries a code from `ERROR_CODES`; programs branch on the code,
 * people read the message, which names the field, what was expected and what came. Codes are stable
 * within a major version, messages are not. A broken assumption inside Cortex itself is a plain
 * `Error`, which nobody should catch. Not found is a value (`undefined`) unless a caller asked for
 * an effect on the missing thing.
 */

/** Every code, with the one sentence that the reference page prints. */
export const ERROR_CODES = {
  ERR_INVALID: "A field of the input is missing, of the wrong kind, too long or out of range.",
  ERR_UNKNOWN_TYPE: "The memory type is not one of the eleven.",
  ERR_UNKNOWN_FIELD: "The input has a field this operation or type does not know.",
  ERR_BAD_URI: "The text is not a memory URI with a pinned version.",
  ERR_BAD_NAME: "An actor or graph name is not safe to use as a name.",
  ERR_BAD_ID: "The text is not a ULID, or it is the zero id.",
  ERR_ILL_FORMED: "A string holds a lone surrogate, or bytes are not well-formed UTF-8.",
  ERR_NOT_CANONICAL: "Bytes are not canonical CBOR.",
  ERR_TOO_LARGE: "A value is over its named limit.",
  ERR_NOT_FOUND:
    "What the call names does not exist: a memory, edge, session, graph, store or path.",
  ERR_EXISTS: "A memory with this id or externalId is already there.",
  ERR_TOMBSTONED: "The memory is tombstoned; restore it first.",
  ERR_ERASED: "The memory was forgotten; its content is gone for good.",
  ERR_CONFLICT: "The memory has moved on from the version the caller read.",
  ERR_SELF_EDGE: "An edge may not join a memory to itself.",
  ERR_UNKNOWN_ENDPOINT: "An end of the edge does not exist.",
  ERR_EDGE_KIND: "The edge kind is unknown, badly named, reserved for the store, or one too many.",
  ERR_KIND_NOT_ALLOWED: "The kind is not in the whitelist of this graph.",
  ERR_IDEMPOTENCY: "The idempotency key was used before for another request.",
  ERR_REF: "A ref between items of a batch is unknown or declared twice.",
  ERR_NO_CHANGE: "The patch is empty: there is nothing to change.",
  ERR_READ_ONLY: "The store is a replica: it follows another one and takes no writes of its own.",
  ERR_DENIED: "The caller's access does not allow this operation.",
  ERR_TRUST: "The source may not say this, or may not touch what a more trusted one said.",
  ERR_SCOPE_MALFORMED: "The text is not a scope, or the scope includes nothing.",
  ERR_SCOPE_EXPIRED: "The scope's last moment has passed.",
  ERR_SCOPE_ISSUER: "The scope was issued by a key that this graph does not trust.",
  ERR_SCOPE_SIGNATURE: "The scope is not signed by its issuer: it was made up or changed.",
  ERR_SCOPE_REVOKED: "The scope was taken back.",
  ERR_SCOPE_SNAPSHOT: "The scope names a snapshot that this store does not have.",
  ERR_SCOPE_HOLDER: "The request is not signed by the key that the scope is granted to.",
  ERR_SCOPE_HANDLE: "The handle stands for no scope here; present or post the scope itself.",
  ERR_UNBOUNDED: "The query has neither a limit nor a token budget.",
  ERR_TOO_BROAD:
    "The query names nothing an index could serve, or leaves more to look through than it may.",
  ERR_PREDICATE:
    "A predicate has an unknown operator, or a literal its field cannot be compared with.",
  ERR_BUDGET:
    "What must be kept does not fit the token budget, or the budget is over the caller's cap.",
  ERR_RATE_LIMITED: "Too many calls of this kind in a short time; nothing was done.",
  ERR_NO_EMBEDDER: "The query needs an embedder, and the store was opened without one.",
  ERR_EMBEDDER: "The embedder failed, or gave vectors of the wrong number, width or kind.",
  ERR_NO_MODEL: "The call needs a model, and the store was opened without one.",
  ERR_MODEL: "The model failed, or gave a reply that is not what it was asked for.",
  ERR_AS_OF: "The journal position or time asked for lies outside the journal.",
  ERR_CLOCK: "The clock leapt ahead by more than a day while the process ran.",
  ERR_BATCH_NO_JOURNAL: "A commit touches exact keys without a journal entry, or caches with one.",
  ERR_CORRUPT: "Stored bytes contradict themselves; the message names the place.",
  ERR_JOURNAL_GAP: "The journal misses an entry; the message names the seq.",
  ERR_ROOT_MISMATCH: "A root computed again differs from the one on record.",
  ERR_FORMAT_NEWER: "The store was written by a newer release; this one touches nothing.",
  ERR_FORMAT_OLDER: "The store needs `cortex upgrade` before this release can write it.",
  ERR_FORMAT_UNKNOWN: "The folder or file does not hold a Cortex store.",
  ERR_ACTOR_MISMATCH: "The store or file belongs to another actor.",
  ERR_DISK_FULL: "The disk or the map is full; nothing was written, reads still work.",
  ERR_STORAGE: "The storage engine failed; the cause is attached.",
  ERR_UNREACHABLE:
    "The database server cannot be reached or refuses the connection; the message says what to do.",
  ERR_CONTENDED: "Other writers won the race too many times in a row.",
  ERR_CLOSED: "The store is closed.",
  ERR_UNSUPPORTED: "This backend or build cannot do that.",
  ERR_PROOF_INVALID: "The proof does not hold.",
  ERR_PROOF_MALFORMED: "The bytes are not a proof.",
  ERR_CHECKPOINT_MALFORMED: "The text is not a checkpoint.",
  ERR_CHECKPOINT_STALE:
    "The checkpoint does not match, or is not consistent with, the trusted one.",
  ERR_EXPORT_MALFORMED: "The file is not a complete export; the message names the seq.",
  ERR_FORK: "Two histories disagree at the same seq.",
  ERR_ROLLED_BACK: "The history ends before a position that was already seen.",
} as const;

/** A code that programs may branch on. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** What a failure can say beyond its message; every member is safe to print and to log. */
export interface ErrorDetails {
  /** Path of the offending field, as the caller wrote it. */
  readonly field?: string;
  readonly expected?: string;
  /** What came, shortened; never content of a memory. */
  readonly got?: string;
  /** The journal position where the trouble sits. */
  readonly seq?: number;
  /** The id, URI or name concerned. */
  readonly subject?: string;
  /** The item of the review under which a refused wish is kept. */
  readonly proposal?: string;
}

/** The only error class Cortex throws for expected failures. */
export class CortexError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "CortexError";
    this.code = code;
    this.details = details;
  }

  /** The shape that doors print: code, message and details, without a stack. */
  toJSON(): { readonly code: ErrorCode; readonly message: string; readonly details: ErrorDetails } {
    return { code: this.code, message: this.message, details: this.details };
  }
}

/** True when `error` is a `CortexError`, of the given code if one is given. */
export function isCortexError(error: unknown, code?: ErrorCode): error is CortexError {
  return error instanceof CortexError && (code === undefined || error.code === code);
}

/** Builds the usual "field: expected X, got Y" failure, of whatever came. */
export function invalid(
  field: string,
  expected: string,
  got: unknown,
  code: ErrorCode = "ERR_INVALID",
): CortexError {
  return refusal(code, field, expected, describe(got));
}

/** The same failure where what came is in words already. */
export function refusal(
  code: ErrorCode,
  field: string,
  expected: string,
  got: string,
): CortexError {
  return new CortexError(code, `${field}: expected ${expected}, got ${got}`, {
    field,
    expected,
    got,
  });
}

/** A short, content-free description of a value for messages. */
export function describe(value: unknown): string {
  switch (typeof value) {
    case "string":
      return value.length <= 64 ? JSON.stringify(value) : `a string of ${value.length} characters`;
    case "number":
    case "boolean":
    case "bigint":
      return String(value);
    case "undefined":
      return "nothing";
    case "object":
      if (value === null) return "null";
      if (Array.isArray(value)) return `an array of ${value.length}`;
      if (value instanceof Uint8Array) return `${value.length} bytes`;
      return "an object";
    default:
      return `a ${typeof value}`;
  }
}

/** A word with its article: "an event", "a goal". */
export function aWord(word: string): string {
  return `${/^[aeiou]/.test(word) ? "an" : "a"} ${word}`;
}

/** Characters of a name that a message shows. */
const NAME_CHARS = 64;

/** The name of a member for a message: whoever sends it may have named it by megabytes. */
export function shortName(name: string): string {
  return name.length <= NAME_CHARS ? name : `${name.slice(0, NAME_CHARS)}…`;
}

/** Closes an exhaustive switch: the compiler proves it is never reached. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${String(value)}`);
}
