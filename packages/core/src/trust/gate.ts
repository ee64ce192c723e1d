/**
 * The trust gate: which source may say what, with which status, whose words it may replace, and how far it is trusted
 * in a ranking.
 *
 * Three standings, read off the levels below. The *owner* says what holds. Our *own* side (the
 * agent, what the program saw, extracted, imported or computed) may say anything, but who somebody is,
 * what they like and what must never be done stay `provisional` until the owner says so. The *outside*
 * (a tool, a document, somebody else's channel) may not author those three at all.
 *
 * Promise: pure, and complete by type: every source has a level. A source never replaces, takes over
 * or rewrites the words of a higher standing, nor hides, shows, weakens or moves them. Levels are factors of a rank, so
 * they travel through every lane and every walk: what the owner said is never outranked by a document merely because
 * the document repeats the question better.
 *
 * Left to others: what becomes of refused words (the write verbs store them beside the others, as a rival) and
 * of a refused change (`admission/` keeps it as a proposal); how untrusted text is shown (`engine/shapes.ts`).
 */

import { ulidText } from "../codec/ulid.js";
import { CortexError, isCortexError, shortName } from "../errors.js";
import type { MemoryType, Source, Status } from "../records/types.js";
import type { Speaker } from "../scope/access.js";

/** What a source's word is worth. */
interface TrustLevel {
  /** Factor of a rank, 0 to 1. */
  readonly rank: number;
  /** Whether it speaks for the owner: only such a source may replace the owner's words. */
  readonly owner: boolean;
  /** Whether its text is shown as a quotation of somebody else. */
  readonly quoted: boolean;
}

/** The level of every source. */
export const TRUST: { readonly [source in Source]: TrustLevel } = {
  user_input: { rank: 1, owner: true, quoted: false },
  agent: { rank: 0.95, owner: false, quoted: false },
  observed: { rank: 0.95, owner: false, quoted: false },
  extraction: { rank: 0.9, owner: false, quoted: false },
  derived: { rank: 0.85, owner: false, quoted: false },
  dream: { rank: 0.85, owner: false, quoted: false },
  imported: { rank: 0.9, owner: false, quoted: false },
  channel: { rank: 0.8, owner: false, quoted: true },
  tool_output: { rank: 0.65, owner: false, quoted: true },
  document: { rank: 0.6, owner: false, quoted: true },
};

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

/** Whose word a memory is: its source's, and as good as the owner's once it is confirmed. */
export function wordOf({ source, status }: Word): Source {
  return status === "confirmed" ? "user_input" : source;
}

/** What tells whose word a memory is. */
interface Word {
  readonly source: Source;
  readonly status: Status;
}

/** Whether a source may change a memory at all: rewrite, hide, bring back, weaken, move or show it. */
export function mayChangeWord(writer: Source, word: Word): boolean {
  return mayReplace(writer, wordOf(word));
}

/** How sure each status is; a caller may lower it and, unless it is the owner, not raise it. */
export const SURENESS: { readonly [status in Status]: number } = {
  retracted: 0,
  disputed: 1,
  provisional: 2,
  asserted: 3,
  confirmed: 4,
};

/** Refuses a new version of a memory by a source that stands below the one that said it. */
export function checkRevision(writer: Source, word: Word, id: Uint8Array): void {
  if (mayChangeWord(writer, word)) return;
  const holder = wordOf(word);
  throw overruled(
    "provenance.source",
    `expected a source that may rewrite what ${holder} said, got ${writer}; write it as a memory of its own, and it is kept beside this one for review`,
    { expected: holder, got: writer, id },
  );
}

/** Refuses a change of status that the source has no say in. */
export function checkStatusChange(
  source: Source,
  memory: Word & { readonly type: MemoryType },
  status: Status,
  id: Uint8Array,
): void {
  const gated = gatedStatus(memory.type, source, status);
  const takesBack = status === "retracted" && !mayChangeWord(source, memory);
  if (gated === status && !takesBack) return;
  const rule = takesBack ? `what ${wordOf(memory)} said` : `a memory of type ${memory.type}`;
  throw overruled("status", `expected a source that may call ${rule} ${status}, got ${source}`, {
    got: source,
    id,
  });
}

/**
 * The voice behind a principal: who it is as far as a door knows. The names that a program gives itself, or
 * its parts, make no voices of their own.
 */
export function voiceOf(principal: string): string {
  // A key may hold slashes of its own, and is always of one length.
  if (principal.startsWith("key:")) return principal.slice(0, KEY_CHARS);
  const [whole = ""] = principal.split("/", 1);
  return whole.startsWith(SELF_NAMED) ? whole.slice(0, SELF_NAMED.length - 1) : whole;
}

/** Characters of `key:` and a public key in base64. */
const KEY_CHARS = 48;

/** How principals start whose rest is a name that a client gave itself. */
const SELF_NAMED = "mcp:";

/** What a call says of itself. Values are compared as far as they are of their kind. */
interface Claims {
  readonly source?: unknown;
  readonly status?: unknown;
  readonly by?: unknown;
  /** The type of the memory that is claimed with this status, where the call says it. */
  readonly type?: unknown;
}

/**
 * Refuses what claims more than its door lets it, of itself or of where it came from: a higher source or
 * status, another author.
 */
export function checkSaid(speaker: Speaker, said: unknown): void {
  if (typeof said !== "object" || said === null) return;
  const claims = said as Claims & { readonly provenance?: unknown };
  checkClaims(speaker, claims, "");
  const { provenance } = claims;
  if (typeof provenance !== "object" || provenance === null) return;
  const { source } = provenance as Claims;
  checkClaims(speaker, { source }, "provenance.");
}

function checkClaims(speaker: Speaker, claims: Claims, place: string): void {
  const { door, source: most, principal, namesAuthors } = speaker;
  const { source, status, by, type } = claims;
  const own = `${door} speaks as ${most}`;
  if (isSource(source) && TRUST[source].rank > TRUST[most].rank) {
    throw raised(`${place}source`, `at most ${most}, as ${own}`, source);
  }
  const highest = highestStatus(most, type);
  if (isStatus(status) && SURENESS[status] > SURENESS[highest]) {
    throw raised(`${place}status`, `at most ${highest}, as ${own}`, status);
  }
  if (namesAuthors || typeof by !== "string") return;
  if (principal === undefined) throw raised(`${place}by`, `no name, as ${own}`, by);
  if (by === principal || by.startsWith(`${principal}/`)) return;
  throw raised(`${place}by`, `${principal} or a name below it, as ${own}`, by);
}

/** The surest status that a source may claim, for memories of a type. */
export function highestStatus(source: Source, type: unknown): Status {
  if (standingOf(source) === "owner") return "confirmed";
  return OWNERS_TYPES.has(type as MemoryType) ? "provisional" : "asserted";
}

function isSource(value: unknown): value is Source {
  return typeof value === "string" && Object.hasOwn(TRUST, value);
}

function isStatus(value: unknown): value is Status {
  return typeof value === "string" && Object.hasOwn(SURENESS, value);
}

function raised(field: string, expected: string, got: string): CortexError {
  return refused(field, `expected ${expected}, got ${shortName(got)}`, { expected, got });
}

/** The memory behind each refusal of a change that somebody of higher standing could make. */
const OVERRULED = new WeakMap<CortexError, Uint8Array>();

/** A refusal of a change because of whose word it would overrule: its wish is kept for review. */
export function overruled(
  field: string,
  what: string,
  about: { readonly expected?: string; readonly got?: string; readonly id: Uint8Array },
): CortexError {
  const { id, ...details } = about;
  const error = refused(field, what, { ...details, subject: ulidText(id) });
  OVERRULED.set(error, id);
  return error;
}

/** The memory whose word a refused call would have overruled; `undefined` for every other failure. */
export function overruledMemory(error: unknown): Uint8Array | undefined {
  if (!isCortexError(error, "ERR_TRUST")) return undefined;
  return OVERRULED.get(error) ?? overruledMemory(error.cause);
}

/** A refusal by the gate. */
export function refused(
  field: string,
  what: string,
  details: { readonly expected?: string; readonly got?: string; readonly subject?: string } = {},
): CortexError {
  return new CortexError("ERR_TRUST", `${field}: ${what}`, { field, ...details });
}
