/**
 * The texts of memgraph's errors, for the doors and results that speak its language. Programs of ours
 * branch on the code; programs of memgraph's compare these texts.
 */
import type { CortexError, ErrorCode } from "../errors.js";

/** What a stale write under policy `manual` says; the node was written. */
export const CONFLICT_TEXT =
  "memgraph: concurrent write under manual conflict policy; conflict recorded";

const TEXTS: { readonly [code in ErrorCode]?: string } = {
  ERR_NOT_FOUND: "memgraph: not found",
  ERR_UNKNOWN_ENDPOINT: "memgraph: not found",
  ERR_KIND_NOT_ALLOWED: "memgraph: kind not in graph whitelist",
  ERR_CONFLICT: CONFLICT_TEXT,
};

/** A failure in memgraph's words: its own text, then what exactly was wrong. */
export function memgraphText(error: CortexError): string {
  const text = TEXTS[error.code] ?? "memgraph: invalid input";
  return error.message === text ? text : `${text}: ${error.message}`;
}
