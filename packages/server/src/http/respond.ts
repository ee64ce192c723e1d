/**
 * Answers as responses: the headers that every answer has, JSON, entity tags, compression and failures.
 *
 * A tag is what a client keeps to ask "has it changed?" and to say "only if it has not". That of a memory
 * is `"<version>-<seq>"`: its version, which `If-Match` hands to an update, and the entry that touched it
 * last, so that a change of its head changes the tag as well. Any other answer to a read has a hash of
 * its bytes for a tag.
 *
 * Header objects stay plain and bodies stay strings or bytes: the adapter to Node writes those without
 * building a response of the web standard, which costs more than a small read of the store.
 */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { OnPlan, ReadPlan } from "@cortex-memory/core/contract";
import { parseAccept } from "hono/utils/accept";
import { INTERNAL_CODE } from "../error-status.js";
import { REQUEST_ID_HEADER } from "./metrics.js";
import { PROBLEM_TYPE, problemOf } from "./problem.js";

/** What the door knows about one request. */
export interface Seen {
  readonly requestId: string;
  /** A name of the table or of a route; never text of the caller. */
  operation: string;
  /** The code of a failure. */
  code?: string;
  /** What a fault of ours was. */
  fault?: unknown;
  /** How the last read was carried out that tells of it. */
  plan?: ReadPlan;
  /** Resolves when the work is done, where that is after the answer began. */
  ends?: Promise<void>;
}

/** Keeps the plan of a read for the log. */
export function planInto(seen: Seen): OnPlan {
  return (plan) => {
    seen.plan = plan;
  };
}

/** Headers by name. */
export type PlainHeaders = Readonly<Record<string, string>>;

/** Bodies below this gain less by compression than it costs. */
const GZIP_BYTES_MIN = 4096;

const compress = promisify(gzip);

/** The headers of every answer: nothing may be kept by a shared cache or read as another type. */
export function commonHeaders({ requestId }: Seen, more: PlainHeaders = {}): PlainHeaders {
  return {
    [REQUEST_ID_HEADER]: requestId,
    "Cache-Control": "private, no-cache",
    "X-Content-Type-Options": "nosniff",
    ...more,
  };
}

/** A JSON text as a response, compressed where it is large and the caller takes that. */
export async function jsonResponse(
  seen: Seen,
  request: Request,
  text: string,
  headers: PlainHeaders = {},
): Promise<Response> {
  const all = commonHeaders(seen, { "Content-Type": "application/json", ...headers });
  if (text.length < GZIP_BYTES_MIN) return new Response(text, { headers: all });
  const varied: PlainHeaders = { ...all, Vary: "Accept-Encoding" };
  if (!takesGzip(request.headers.get("accept-encoding"))) {
    return new Response(text, { headers: varied });
  }
  // Other bytes are another representation: the tag may only promise that they mean the same.
  const { ETag: tag } = headers;
  const weak: PlainHeaders = tag === undefined ? {} : { ETag: tag.replace(/^(?!W\/)/, "W/") };
  return new Response(await compress(text), {
    headers: { ...varied, ...weak, "Content-Encoding": "gzip" },
  });
}

/** Whether `Accept-Encoding` allows gzip. */
export function takesGzip(accepted: string | null): boolean {
  const asked = parseAccept(accepted ?? "");
  const named = (name: string) => asked.find(({ type }) => type.toLowerCase() === name);
  return ((named("gzip") ?? named("*"))?.q ?? 0) > 0;
}

/** A failure as a response; what it was is noted for the log. */
export function problemResponse(seen: Seen, error: unknown): Response {
  const { problem, headers } = problemOf(error, seen.requestId);
  seen.code = problem.code;
  if (problem.code === INTERNAL_CODE) seen.fault = error;
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: commonHeaders(seen, { "Content-Type": PROBLEM_TYPE, ...headers }),
  });
}

/** The tag of an answer. */
export function tagOf(answer: unknown, body: string): string {
  return memoryTag(answer) ?? `W/"${createHash("sha256").update(body).digest("base64url")}"`;
}

/** The tag of a memory, or of what a write made of it. */
export function memoryTag(answer: unknown): string | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  const { id, version, seq } = answer as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" || typeof version !== "number") return undefined;
  return typeof seq === "number" ? `"${version}-${seq}"` : undefined;
}

/** Whether a client has the answer already; compared weakly, as reads are. */
export function isKnown(ifNoneMatch: string | null, tag: string): boolean {
  if (ifNoneMatch === null) return false;
  if (ifNoneMatch.trim() === "*") return true;
  const bare = (text: string): string => text.trim().replace(/^W\//, "");
  return ifNoneMatch.split(",").some((one) => bare(one) === bare(tag));
}
