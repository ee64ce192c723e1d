/**
 * References that may lead nowhere: what an agent says it used. A name that nobody has, or a memory
 * that is hidden or gone, is no failure there; it is listed as skipped.
 */

import { type Engine, type ParsedRef, parseRef } from "../engine/engine.js";
import { invalid, isCortexError } from "../errors.js";
import { highestVersion, type MemoryRow } from "../history/pointers.js";
import type { MemoryType } from "../records/types.js";
import { parseUri } from "../records/uri.js";

/** One citation: what it may name, if it can name anything. */
export interface Cited {
  readonly text: string;
  readonly ref?: ParsedRef;
  /** The type that a URI names. */
  readonly type?: MemoryType;
}

/**
 * Takes citations apart, each text once. Text that cannot name a memory here is kept without a
 * reference; what is no text at all is refused.
 */
export function parseCitations(
  engine: Engine,
  refs: readonly unknown[],
  field: string,
): readonly Cited[] {
  const all = refs.map((ref, at) => parseCited(engine, ref, `${field}[${at}]`));
  return [...new Map(all.map((one) => [one.text, one])).values()];
}

function parseCited(engine: Engine, ref: unknown, field: string): Cited {
  if (typeof ref !== "string") {
    throw invalid(field, "an id, a URI or an external id", ref, "ERR_BAD_ID");
  }
  try {
    const type = ref.startsWith("cortex://") ? { type: parseUri(ref, field).type } : {};
    return { text: ref, ref: parseRef(engine, ref, field), ...type };
  } catch (error) {
    if (!isCortexError(error)) throw error;
    return { text: ref };
  }
}

/** Whether a citation names the memory of a row: one that is there, of its type, and a version it had. */
export function isNamedBy(row: MemoryRow, { ref, type }: Cited): boolean {
  if (row.lifecycle === "erased" || row.lifecycle === "tombstoned") return false;
  return (type ?? row.type) === row.type && (ref?.version ?? row.version) <= highestVersion(row);
}
