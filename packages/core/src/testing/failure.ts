/**
 * The failure that a function throws, for tests that open no store: it loads nothing but the errors.
 */
import { type CortexError, isCortexError } from "../errors.js";

/** The failure of something that must fail; anything but a `CortexError` fails the test. */
export function failure(run: () => unknown): CortexError {
  try {
    run();
  } catch (error) {
    if (isCortexError(error)) return error;
    throw error;
  }
  throw new Error("expected a failure");
}
