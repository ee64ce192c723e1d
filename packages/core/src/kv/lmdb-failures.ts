/**
 * What the failures of the engine mean to a caller: no room, damage, something else in the place of a store, or
 * a disk that fails.
 *
 * Promise: whatever the engine or the file system throws comes out as one `CortexError` with a code.
 */
import { constants } from "node:os";
import { CortexError } from "../errors.js";

/** Maps whatever the engine or the file system threw. */
export function storageError(error: unknown, what: string): CortexError {
  if (error instanceof CortexError) return error;
  const detail = error instanceof Error ? error.message : String(error);
  const code = codeOf(error);
  const kind = isDiskFull(code)
    ? "ERR_DISK_FULL"
    : MDB_DAMAGE.some((one) => one === code)
      ? "ERR_CORRUPT"
      : "ERR_STORAGE";
  return new CortexError(kind, `${what}: ${detail}`, {}, error);
}

const MDB_MAP_FULL = -30792;
const MDB_INVALID = -30793;
const MDB_VERSION_MISMATCH = -30794;
/**
 * What the engine says of pages that make no sense: not found, corrupted, that it gives the file up, and of
 * every further read by the transaction that met them.
 */
const MDB_DAMAGE: readonly number[] = [-30797, -30796, -30795, -30782];

/** Reads; what the engine throws gets a code. */
export function reading<T>(body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw storageError(error, "the read failed");
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}

function isDiskFull(code: unknown): boolean {
  const { ENOSPC, EDQUOT, EFBIG } = constants.errno;
  return [MDB_MAP_FULL, ENOSPC, EDQUOT, EFBIG, "ENOSPC", "EDQUOT", "EFBIG"].some((c) => c === code);
}

/** Opens; what the engine throws gets a code. */
export function opening<T>(path: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    const code = codeOf(error);
    if (code === MDB_INVALID || code === MDB_VERSION_MISMATCH) throw foreign(path, error);
    throw storageError(error, `cannot open ${path}`);
  }
}

/** The failure of a file that is something else: it names the file, which must not be taken for nothing. */
export function foreign(
  path: string,
  cause?: unknown,
  what = "is not a Cortex store",
): CortexError {
  return new CortexError("ERR_FORMAT_UNKNOWN", `${path} ${what}`, { subject: path }, cause);
}
