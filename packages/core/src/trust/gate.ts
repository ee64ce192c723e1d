/**
 * The trust gate: which source may say what, with which status, and whose words it may replace.
 *
 * Three standings, read off the levels in `levels.ts`. The *owner* says what holds. Our *own* side (the
 * agent, what the program saw, extracted, imported or computed) may say anything, but who somebody is,
 * what they like and what must never be done stay `provisional` until the owner says so. The *outside*
 * (a tool, a document, somebody else's channel) may not author those three at all.
 *
 * Promise: pure, and complete by type: every source has a standing. A source never replaces, takes over
 * or rewrites the words of a higher standing. What happens to its own words instead (they are stored
 * beside the others, as a rival) is decided by the write verbs.
 */
import { CortexError } from "../errors.js";
import type { MemoryType, Source, Status } from "../records/types.js";
import { TRUST } from "./levels.js";

/** Whose side a source is on. */
export type Standing = "owner" | "own" | "outside";

const HEIGHT: { readonly [standing in Standing]: number } = { outside: 0, own: 1, owner: 2 };

/** Types that say who the owner is, what they want, and what is never to be done. */
export const OWNERS_TYPES: ReadonlySet<MemoryType> = new Set([
  "identity",
  "preference",
  "constraint",
]);

/** The standing of a source. */
export function standingOf(source: Source): Standing {
  const { owner, quoted } = TRUST[source];
  return owner ? "owner" : quoted ? "outside" : "own";
}

/** Whether the words of a source are somebody else's, handed on: those are looked through. */
export function isRelayed(source: Source): boolean {
  return source !== "user_input" && source !== "agent" && source !== "observed";
}

/** Whether a source may take the place of what another one said. */
export function mayReplace(writer: Source, holder: Source): boolean {
  return HEIGHT[standingOf(writer)] >= HEIGHT[standingOf(holder)];
}

/** Whether a source stands above another one, so that its word lifts what the other said. */
export function outranks(writer: Source, holder: Source): boolean {
  return HEIGHT[standingOf(writer)] > HEIGHT[standingOf(holder)];
}

/**
 * The status that a memory of this type gets when this source writes it. Only the owner confirms; what
 * another source calls confirmed is asserted by it. Refuses what the source may not author at all.
 */
export function gatedStatus(type: MemoryType, source: Source, wanted: Status): Status {
  const standing = standingOf(source);
  if (standing === "owner") return wanted;
  if (!OWNERS_TYPES.has(type)) return wanted === "confirmed" ? "asserted" : wanted;
  if (standing === "outside") {
    throw refused(
      "source",
      `expected a source that may author type ${type}, got ${source}: what comes from outside never states an identity, a preference or a constraint`,
      { expected: "user_input, or a source of our own", got: source },
    );
  }
  return wanted === "asserted" || wanted === "confirmed" ? "provisional" : wanted;
}

/** Refuses a new version of a memory by a source that stands below the one that said it. */
export function checkRevision(writer: Source, holder: Source, subject: string): void {
  if (mayReplace(writer, holder)) return;
  throw refused(
    "provenance.source",
    `expected a source that may rewrite what ${holder} said, got ${writer}; write it as a memory of its own, and it is kept beside this one for review`,
    { expected: holder, got: writer, subject },
  );
}

/** Refuses a change of status that the source has no say in. */
export function checkStatusChange(
  source: Source,
  memory: { readonly type: MemoryType; readonly source: Source },
  status: Status,
  subject: string,
): void {
  const gated = gatedStatus(memory.type, source, status);
  const takesBack = status === "retracted" && !mayReplace(source, memory.source);
  if (gated === status && !takesBack) return;
  const rule = takesBack ? `what ${memory.source} said` : `a memory of type ${memory.type}`;
  throw refused("status", `expected a source that may call ${rule} ${status}, got ${source}`, {
    got: source,
    subject,
  });
}

/** A refusal by the gate. */
export function refused(
  field: string,
  what: string,
  details: { readonly expected?: string; readonly got?: string; readonly subject?: string } = {},
): CortexError {
  return new CortexError("ERR_TRUST", `${field}: ${what}`, { field, ...details });
}
