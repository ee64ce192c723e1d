/**
 * Who may call what of memgraph's store, and the words of its failures: the policy column of the calls, and the
 * texts that memgraph's programs compare. Our own programs branch on the code.
 */
import { namesIn, renamed } from "../contract/refusal.js";
import type { Policy } from "../contract/verb.js";
import { CortexError, type ErrorCode, isCortexError } from "../errors.js";
import { admitToGraphs } from "../hub/context.js";
import type { Source } from "../records/types.js";
import { type Access, speakerOf } from "../scope/access.js";

/** What an access means for each call. */
export const MEMGRAPH_POLICIES = {
  putNode: "write",
  getNode: "filtered",
  history: "filtered",
  listNodes: "filtered",
  conflicts: "filtered",
  resolve: "write",
  putEdge: "write",
  deleteEdge: "write",
  outgoing: "filtered",
  incoming: "filtered",
  traverse: "filtered",
  symlinks: "owner",
  putSubgraph: "write",
  search: "filtered",
  searchBatch: "filtered",
  describeSchema: "filtered",
  listTags: "filtered",
  subscribe: "owner",
} as const satisfies Record<string, Policy>;

/** Options that say who is asking. */
export interface AccessOption {
  readonly access?: Access | undefined;
}

/** How something is written that may be asked for again. */
export interface KeyedOptions extends AccessOption {
  /** Makes a retry give the first result; see `write`. */
  readonly idempotencyKey?: string | undefined;
}

/** Refuses a caller whom the policy of a call does not admit. */
export function admitted(call: keyof typeof MEMGRAPH_POLICIES, options: AccessOption): void {
  // Options that are no object are refused by the call, which can say so.
  admitToGraphs(options?.access, MEMGRAPH_POLICIES[call], call);
}

/**
 * Whom an entry names as the author: whom the call names, below the name that its door stamps. A name of
 * memgraph's is a note of provenance that anybody may give; it never takes the place of who spoke.
 */
export function authorIn(
  access: Access | undefined,
  createdBy: string | undefined,
): string | undefined {
  if (createdBy === undefined || createdBy === "") return undefined;
  const { principal, namesAuthors } = (access && speakerOf(access)) ?? { namesAuthors: true };
  if (namesAuthors || principal === undefined) return createdBy;
  const isBelow = createdBy === principal || createdBy.startsWith(`${principal}/`);
  return isBelow ? createdBy : `${principal}/${createdBy}`;
}

/** The author as the call named it; `unnamed` where a door or the graph itself stands for nobody. */
export function shownAuthor(
  written: { readonly createdBy: string; readonly source: Source; readonly graphId: string },
  unnamed: string,
): string {
  const { createdBy, source, graphId } = written;
  if (createdBy === graphId) return "";
  if (source !== "agent") return createdBy;
  // The name that the door stamps, `mcp` or `mcp:client`, and below it whom the call named.
  const slash = createdBy.indexOf("/");
  const door = slash < 0 ? createdBy : createdBy.slice(0, slash);
  if (door !== "mcp" && !door.startsWith("mcp:")) return createdBy;
  return slash < 0 ? unnamed : createdBy.slice(slash + 1);
}

/** What a stale write under policy `manual` says; the node was written. */
export const CONFLICT_TEXT =
  "memgraph: concurrent write under manual conflict policy; conflict recorded";

const TEXTS: { readonly [code in ErrorCode]?: string } = {
  ERR_NOT_FOUND: "memgraph: not found",
  ERR_UNKNOWN_ENDPOINT: "memgraph: not found",
  ERR_KIND_NOT_ALLOWED: "memgraph: kind not in graph whitelist",
  ERR_CONFLICT: CONFLICT_TEXT,
  ERR_TRUST: "memgraph: ERR_TRUST",
};

/** A failure in memgraph's words: its own text, then what exactly was wrong. */
export function memgraphText(error: CortexError): string {
  const text = TEXTS[error.code] ?? "memgraph: invalid input";
  return error.message === text ? text : `${text}: ${error.message}`;
}

/** Throws a failure of an ordinary verb with its fields called as the caller of memgraph's call did. */
export function inWords(error: unknown, words: { readonly [field: string]: string }): never {
  throw isCortexError(error) ? worded(error, words) : error;
}

/** The same failure with its field called as here; what a memory's data holds are members of a node. */
export function worded(
  error: CortexError,
  words: { readonly [field: string]: string },
): CortexError {
  const { field = "" } = error.details;
  const own = field.startsWith(DATA) ? renamed(error, () => "") : error;
  if (own === error) return renamed(error, namesIn(words));
  // What is left begins with the dot.
  const bare = (own.details.field ?? "").slice(1);
  return new CortexError(
    own.code,
    own.message.slice(1),
    { ...own.details, field: bare },
    error.cause,
  );
}

const DATA = "data.";
