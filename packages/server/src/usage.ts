/**
 * What is refused before anything is asked of the library: an unknown command or flag, a missing
 * argument, a text that is not of its field's or its setting's kind. The command line exits with 2, where
 * a failure of the library exits with 1; HTTP answers 400.
 */
import type { ErrorCode } from "@cortex-memory/core";

/** A command line, a parameter or a setting that cannot be used as it stands. */
export class UsageError extends Error {
  readonly code: ErrorCode;

  constructor(message: string, code: ErrorCode = "ERR_INVALID") {
    super(message);
    this.name = "UsageError";
    this.code = code;
  }
}
