/**
 * Request ids: the caller's own where it sent a harmless one, else a number of this process. They join
 * an answer to its line in the log.
 */
import { randomBytes } from "node:crypto";

const HARMLESS = /^[A-Za-z0-9._-]{1,64}$/;

/** The header that carries it, in both directions. */
export const REQUEST_ID_HEADER = "X-Request-Id";

/** Makes the ids of one server. */
export function makeRequestIds(): (given: string | null) => string {
  const start = randomBytes(6).toString("hex");
  let count = 0;
  return (given) => {
    if (given !== null && HARMLESS.test(given)) return given;
    count += 1;
    return `${start}-${count}`;
  };
}
