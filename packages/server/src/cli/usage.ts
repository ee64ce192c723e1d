/**
 * What the command line itself refuses: an unknown command or flag, a missing argument, a value that
 * is not of its field's kind. Exit 2, where a failure of the library exits with 1.
 */
import type { ErrorCode } from "@cortex-memory/core";

/** A command line that cannot be carried out as it stands. */
export class UsageError extends Error {
  readonly code: ErrorCode;

  constructor(message: string, code: ErrorCode = "ERR_INVALID") {
    super(message);
    this.name = "UsageError";
    this.code = code;
  }
}
