/**
 * What a call sends: the input of an operation, written as JSON.
 *
 * Promise: what cannot be sent is refused before anything is sent. That is functions (a signer, a
 * counter of tokens), signals, numbers that JSON has no word for, and an access other than the owner's:
 * on a server, who is asking is decided by what the client was opened with. Somebody who speaks in
 * another name than the owner's says so in a header: a client may lower itself, and never more.
 */
import { CortexError, describe, invalid } from "../errors.js";
import type { Access } from "../scope/access.js";

/** The input of an operation. */
export type Body = { readonly [field: string]: unknown };

/** Options that stay on this side. */
const KEPT: readonly string[] = ["access", "onProgress"];

/** The JSON of an input. */
export function bodyText(body: Body): string {
  checkAccess(body.access);
  const sent = Object.entries(body).filter(([field]) => !KEPT.includes(field));
  return JSON.stringify(Object.fromEntries(sent), plain);
}

/** The header in which a caller lowers itself: a source and, after a space, a principal. */
export const SPEAKS_AS = "Cortex-Speaks-As";

/** What the header says for an input; `undefined` where nobody else speaks than the client itself. */
export function speaksAs({ access }: Body): string | undefined {
  const { speaker } = (access ?? {}) as Extract<Access, { readonly kind: "owner" }>;
  if (speaker === undefined || (speaker.namesAuthors && speaker.source === "user_input")) {
    return undefined;
  }
  return [speaker.source, ...(speaker.principal === undefined ? [] : [speaker.principal])].join(
    " ",
  );
}

function checkAccess(access: unknown): void {
  if (access === undefined) return;
  const kind = typeof access === "object" && access !== null && "kind" in access && access.kind;
  if (kind === "owner") return;
  throw new CortexError(
    "ERR_UNSUPPORTED",
    "access: on a server the token or scope of the client decides; open another client",
    { field: "access" },
  );
}

function plain(field: string, value: unknown): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      throw invalid(field, "a finite number", value);
    case "object":
      return plainObject(field, value);
    default:
      throw notSent(field, value);
  }
}

function plainObject(field: string, value: object | null): unknown {
  if (value === null || Array.isArray(value)) return value;
  // Vectors are handed over as they come from a model.
  if (value instanceof Float32Array || value instanceof Float64Array) return [...value];
  const prototype: unknown = Object.getPrototypeOf(value);
  // An object of another realm has a prototype of its own, which has none either.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return value;
  throw notSent(field, value);
}

function notSent(field: string, value: unknown): CortexError {
  const message = `${field}: expected plain data, which can be sent to a server, got ${describe(value)}`;
  return new CortexError("ERR_UNSUPPORTED", message, { field });
}
