/**
 * The registry of built-in edge kinds, and the rules for the names of open ones.
 *
 * Promise: append-only. A code is given once; codes below `OPEN_KIND_CODE_MIN` are built in, those
 * from it on belong to the kinds a graph registers itself. One relation has one stored name: `causes`
 * and `follows` are stored as their canonical kind with the ends swapped, so the same link cannot be
 * stored twice under two names; `readingFrom` gives it back in the words of either end. Names are
 * normalised as those of slots are: `Related To` is `related_to`.
 *
 * Directions, settled once: of `caused_by` and `causes` the canonical one is `caused_by`, because
 * it had a code first; of `precedes` and `follows` it is `precedes`, so that an edge points forward
 * in time. Kinds without an inverse keep their direction in every reading.
 *
 * Who may mint. `transition` says that one value of a slot became another, and `tombstones` that a
 * memory was hidden: both record something the store did, and recall follows them into history, so
 * a hand-made one would be a forged record. All others state an opinion or a relation that a person
 * may hold with no act of the store behind it (two notes contradict, a report derives from a mail),
 * and the edge's own source says how far to believe it.
 *
 * Left to others: storing edges (`edge-record.ts`), registering open kinds (`history/`), trusting sources
 * (`trust/`).
 */
import { CONTROLS, isWellFormed, normaliseKind, normaliseSlot, utf8Length } from "../codec/text.js";
import { type CortexError, invalid } from "../errors.js";
import { LIMITS } from "../limits.js";

/** What a kind is for. */
export type EdgeGroup = "lifecycle" | "factual" | "thematic" | "legacy" | "provenance";

/** One built-in kind. */
export interface EdgeKind {
  /** Two bytes in keys. */
  readonly code: number;
  readonly name: string;
  readonly group: EdgeGroup;
  /** A → B says the same as B → A. */
  readonly symmetric: boolean;
  /** The name of the same relation seen from the other end; stored under `name`, ends swapped. */
  readonly inverse?: string;
  /** Of the two names, the stored one is what people take for the inverse. */
  readonly backward?: boolean;
  /** `store`: only the store itself mints it. */
  readonly mint: "anyone" | "store";
  /** 0..1: how much of a memory's relevance a walk carries over such an edge. */
  readonly walkTrust: number;
  /** What A → B says. */
  readonly meaning: string;
}

/** Open kinds have codes from here to 0xFFFF. */
export const OPEN_KIND_CODE_MIN = 0x1000;

function kind<const N extends string>(
  code: number,
  name: N,
  rest: Pick<EdgeKind, "group" | "walkTrust" | "meaning"> & Partial<EdgeKind>,
): EdgeKind & { readonly name: N } {
  return Object.freeze({ symmetric: false, mint: "anyone", ...rest, code, name });
}

/** The built-in kinds by code, append-only. */
export const EDGE_KINDS = [
  kind(0x01, "derived_from", {
    group: "provenance",
    walkTrust: 0.7,
    meaning: "A was made from B.",
  }),
  kind(0x02, "supersedes", {
    group: "lifecycle",
    walkTrust: 0.8,
    meaning: "A takes the place of B.",
  }),
  kind(0x03, "references", { group: "provenance", walkTrust: 0.5, meaning: "A cites B." }),
  kind(0x04, "contradicts", {
    group: "lifecycle",
    symmetric: true,
    walkTrust: 0.6,
    meaning: "A and B cannot both be true.",
  }),
  kind(0x05, "corroborates", {
    group: "factual",
    walkTrust: 0.7,
    meaning: "A makes B more likely.",
  }),
  kind(0x06, "consents_to", { group: "factual", walkTrust: 0.5, meaning: "A agrees to B." }),
  kind(0x07, "dispatched_to", { group: "factual", walkTrust: 0.5, meaning: "A was sent to B." }),
  kind(0x08, "attested_by", { group: "provenance", walkTrust: 0.5, meaning: "B vouches for A." }),
  kind(0x09, "cited_in", { group: "provenance", walkTrust: 0.5, meaning: "A is cited in B." }),
  kind(0x0a, "tombstones", {
    group: "lifecycle",
    mint: "store",
    walkTrust: 0.2,
    meaning: "A records that B was hidden.",
  }),
  kind(0x0b, "part_of", { group: "factual", walkTrust: 0.8, meaning: "A is a part of B." }),
  kind(0x0c, "instance_of", {
    group: "factual",
    walkTrust: 0.7,
    meaning: "A is one example of B.",
  }),
  kind(0x0d, "caused_by", {
    group: "factual",
    inverse: "causes",
    backward: true,
    walkTrust: 0.9,
    meaning: "B made A happen.",
  }),
  kind(0x0e, "observed_by", { group: "provenance", walkTrust: 0.4, meaning: "B saw A." }),
  kind(0x0f, "related_to", {
    group: "legacy",
    symmetric: true,
    walkTrust: 0.3,
    meaning: "A and B have something to do with each other; a specific kind says more.",
  }),
  kind(0x10, "transition", {
    group: "lifecycle",
    mint: "store",
    walkTrust: 0.8,
    meaning: "A took the place of B: the value of one slot after and before.",
  }),
  kind(0x11, "corrects", {
    group: "lifecycle",
    walkTrust: 0.8,
    meaning: "A amends B without taking its place.",
  }),
  kind(0x12, "supports", {
    group: "lifecycle",
    walkTrust: 0.7,
    meaning: "A says again, independently, what B says.",
  }),
  kind(0x13, "precedes", {
    group: "factual",
    inverse: "follows",
    walkTrust: 0.6,
    meaning: "A comes before B.",
  }),
  kind(0x14, "enables", { group: "factual", walkTrust: 0.8, meaning: "A makes B possible." }),
  kind(0x15, "blocks", { group: "factual", walkTrust: 0.9, meaning: "A keeps B from happening." }),
  kind(0x16, "co_constrains", {
    group: "factual",
    symmetric: true,
    walkTrust: 0.8,
    meaning: "A and B are limits that apply together.",
  }),
  kind(0x17, "located_at", { group: "factual", walkTrust: 0.7, meaning: "A is at B." }),
  kind(0x18, "uses", { group: "factual", walkTrust: 0.7, meaning: "A uses B." }),
  kind(0x19, "works_on", { group: "factual", walkTrust: 0.7, meaning: "A works on B." }),
  kind(0x1a, "contrasts_with", {
    group: "factual",
    symmetric: true,
    walkTrust: 0.5,
    meaning: "A and B pull in different directions; worth a review.",
  }),
  kind(0x1b, "same_topic", {
    group: "thematic",
    symmetric: true,
    walkTrust: 0.2,
    meaning: "A and B share a subject and nothing more.",
  }),
  kind(0x1c, "refines", { group: "factual", walkTrust: 0.8, meaning: "A says B more exactly." }),
  kind(0x1d, "distinct_from", {
    group: "thematic",
    symmetric: true,
    walkTrust: 0.2,
    meaning: "A and B are alike and not the same; the review does not ask again.",
  }),
  kind(0x1e, "relates_to", {
    group: "factual",
    symmetric: true,
    walkTrust: 0.5,
    meaning: "A and B bear on each other in a stated way that no other kind names.",
  }),
  kind(0x1f, "relates", {
    group: "legacy",
    symmetric: true,
    walkTrust: 0.3,
    meaning: "A and B were found alike; older programs write it.",
  }),
] as const;

/** A built-in kind, and whether the ends must be swapped to store it. */
interface CanonicalKind {
  readonly kind: EdgeKind;
  readonly swap: boolean;
}

const BY_NAME = new Map<string, CanonicalKind>();
const BY_CODE: EdgeKind[] = [];
for (const entry of EDGE_KINDS as readonly EdgeKind[]) {
  BY_CODE[entry.code] = entry;
  BY_NAME.set(entry.name, { kind: entry, swap: false });
  if (entry.inverse !== undefined) BY_NAME.set(entry.inverse, { kind: entry, swap: true });
}

/** The built-in kind that `name` means, exactly as written; `undefined` for an open kind. */
export function canonicalKind(name: string): CanonicalKind | undefined {
  return BY_NAME.get(name);
}

/** The built-in kind that a caller's name means, however it is spelled; `undefined` for an open kind. */
export function askedKind(name: string): CanonicalKind | undefined {
  return BY_NAME.get(name) ?? BY_NAME.get(normaliseSlot(name));
}

/** A kind as it reads outward from one of its ends. */
interface Reading {
  readonly kind: string;
  /** The relation is stated the other way round: this is its inverse name. */
  readonly inverse: boolean;
}

/** How a stored kind reads from the end that stores it or from the other; `undefined` if it has no name there. */
export function readingFrom(name: string, end: "from" | "to"): Reading | undefined {
  const known = BY_NAME.get(name)?.kind;
  if (known === undefined || known.name !== name) {
    return end === "from" ? { kind: name, inverse: false } : undefined;
  }
  if (end === "from") return { kind: name, inverse: known.backward === true };
  if (known.symmetric) return { kind: name, inverse: false };
  const { inverse } = known;
  return inverse === undefined ? undefined : { kind: inverse, inverse: known.backward !== true };
}

/** Codes of the kinds that are found from both ends: the symmetric ones, and those with two names. */
export const BOTH_WAYS = {
  symmetric: codesOf(({ symmetric }) => symmetric),
  named: codesOf(({ symmetric, inverse }) => symmetric || inverse !== undefined),
} as const;

function codesOf(test: (kind: EdgeKind) => boolean): readonly number[] {
  return (EDGE_KINDS as readonly EdgeKind[]).filter(test).map(({ code }) => code);
}

/** Whether a built-in kind says the same in both directions. */
export function isSymmetric(name: string): boolean {
  const known = BY_NAME.get(name)?.kind;
  return known?.name === name && known.symmetric;
}

/** The strongest that an edge of a kind may be: a shared subject says little, however often it is said. */
export function strengthMax(kind: string): number {
  return kind === "same_topic" ? LIMITS.sameTopicStrength : LIMITS.edgeStrengthMax;
}

/** The built-in kind of a stored code; `undefined` for an open or unknown one. */
export function kindByCode(code: number): EdgeKind | undefined {
  return BY_CODE[code];
}

/** What no name has. */
const CONTROL = new RegExp(`[${CONTROLS}]`);

/**
 * Checks the name of an open kind and normalises it: well-formed text of 1 to 64 bytes, not blank, no
 * control characters. One without letters or digits stays as it is.
 */
export function checkOpenKindName(name: unknown, field = "kind"): string {
  return normaliseKind(checkKindText(name, field));
}

/** Checks the name of an open kind that is kept as it was given. */
export function checkKindText(name: unknown, field = "kind"): string {
  if (typeof name !== "string") throw badKind(field, "a string", name);
  if (!isWellFormed(name)) {
    throw invalid(field, "well-formed text", "a string with a lone surrogate", "ERR_ILL_FORMED");
  }
  if (name.trim() === "") throw badKind(field, "text that is not blank", name);
  if (utf8Length(name) > LIMITS.edgeKindBytes) {
    throw badKind(field, `at most ${LIMITS.edgeKindBytes} bytes`, name);
  }
  if (CONTROL.test(name)) throw badKind(field, "text without control characters", name);
  if (BY_NAME.has(name)) throw badKind(field, "a kind that is not built in", name);
  return name;
}

function badKind(field: string, expected: string, name: unknown): CortexError {
  return invalid(field, expected, name, "ERR_EDGE_KIND");
}
