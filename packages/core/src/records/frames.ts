/**
 * Fields that stand beside a memory's data and that more than one contract takes: frames, external
 * ids, kinds, times. What else a caller may say is declared in `contract/memory.ts`.
 *
 * Left to others: the whitelist of kinds and uniqueness of external ids (they need the graph), normal
 * forms of slots (`codec/text.ts`), who may claim which source (`trust/`).
 *
 * The runtime state of a goal: what a scheduler that pursues goals needs to remember between runs.
 *
 * Promise: a small value beside the goal, checked as strictly as data and complete: counters are
 * there from the start. `maybeResetDaily` is pure; a day is a day of the calendar in UTC, so that no
 * time zone matters, and reading gives the state of today: `stateAt`.
 *
 * Left to others: journaling it, owned by its goal (`history/`), and the scheduler itself.
 *
 * Which memories an agent must always have before it: who it works for, the rules that are never to
 * be broken, the goals being pursued. Decided by type and data alone, so the fold can index them.
 *
 * A proposal: a change that somebody asked for and had no standing to make, kept for the owner to accept or
 * refuse. Its bytes are a part attached to the memory it is about, so that they go when that is forgotten.
 *
 * Of one speaker, one proposal for each memory and verb is open: its mark is made of the verb and the speaker,
 * so a later proposal takes the place of the one before. The part that closes it names the mark too.
 *
 * What the journal keeps about scopes: that a scope was taken back, and that its holder asked for what it does
 * not allow. Hashes, ids and names of keys only; no word of a memory.
 */
import type * as z from "zod";
import { type CborValue, decode, encode, fields } from "../codec/cbor.js";
import { readBytesOf, readMap, readText } from "../codec/cbor-value.js";
import { HASH_BYTES } from "../codec/hash.js";
import { ULID_BYTES } from "../codec/ulid.js";
import { CortexError, describe } from "../errors.js";
import { LIMITS } from "../limits.js";
import type { Data, TypedData } from "./data.js";
import {
  amountField,
  checkText,
  complain,
  countField,
  type Exact,
  parseWith,
  strictFields,
  textField,
  timeField,
  wordField,
} from "./fields.js";
import {
  FRAME_VERBS,
  GOAL_DECISIONS,
  type MemoryType,
  nameOf,
  OBJECT_KINDS,
  SOURCES,
  type Source,
} from "./types.js";

/** The schema of a frame: what is done, to what kind of thing, and which. */
export const frameSchema = strictFields({
  verb: wordField(FRAME_VERBS),
  object: wordField(OBJECT_KINDS),
  ref: textField({ maxBytes: LIMITS.frameRefBytes }),
});

/** Verb × object kind × ref: the work a memory matters for. */
export type Frame = Exact<z.output<typeof frameSchema>>;

/** A schema for a name of the caller's own. It is accepted wherever an id is, so it is no memory URI. */
export const externalIdField = textField({ maxBytes: LIMITS.externalIdBytes }).check((payload) => {
  const { value } = payload;
  if (!value.startsWith("cortex://")) return;
  const expected = "an id that is no memory URI";
  complain(payload, { code: "ERR_INVALID", expected, got: describe(value) }, []);
});

/** Checks an external id. */
export function checkExternalId(input: unknown, field = "externalId"): string {
  return parseWith(externalIdField, input, field);
}

/** Checks the open label of a memory's kind: 1 to 64 bytes without control characters. */
export function checkKind(input: unknown, field = "kind"): string {
  return checkText(input, field, { maxBytes: LIMITS.kindBytes });
}

/** Checks a time: whole milliseconds since 1970, before or after. */
export function checkTime(input: unknown, field: string): number {
  return parseWith(timeField, input, field) + 0;
}

/** The schema of a goal's runtime state. */
export const goalStateSchema = strictFields({
  nextEvalAt: timeField.optional(),
  lastEvalAt: timeField.optional(),
  lastEvalDecision: wordField(GOAL_DECISIONS).optional(),
  failureStreak: countField.default(0),
  intentsTodayCount: countField.default(0),
  spentToday: amountField.default("0"),
  lastIntentId: textField({ maxBytes: LIMITS.externalIdBytes }).optional(),
  lastResetAt: timeField.optional(),
});

/** The runtime state of a goal; times in milliseconds, `spentToday` a decimal amount. */
export type GoalState = Exact<z.output<typeof goalStateSchema>>;

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * The state with the day's counters at zero, if they were never reset or last on an earlier day;
 * otherwise the same state. A clock that went back resets nothing.
 */
export function maybeResetDaily(state: GoalState, nowMs: number): GoalState {
  const { lastResetAt } = state;
  if (lastResetAt !== undefined && dayOf(nowMs) <= dayOf(lastResetAt)) return state;
  return { ...state, intentsTodayCount: 0, spentToday: "0", lastResetAt: nowMs };
}

/** A state as it is today. One that says nothing of a reset counts as its writer wants it to. */
export function stateAt(state: GoalState, nowMs: number): GoalState {
  return state.lastResetAt === undefined ? state : maybeResetDaily(state, nowMs);
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS);
}

/** The types that may be pinned. */
export const PINNED_TYPES = ["identity", "constraint", "goal"] as const satisfies MemoryType[];

/** Whether memories of a type are pinned by what they say: then their data has to be looked at. */
export function mayBePinned(type: MemoryType): boolean {
  return (PINNED_TYPES as readonly MemoryType[]).includes(type);
}

/** Whether a memory is pinned: an identity, a hard constraint, an active goal. */
export function isPinned(type: MemoryType, data: Data): boolean {
  const typed = { type, data } as TypedData;
  switch (typed.type) {
    case "identity":
      return true;
    case "constraint":
      return typed.data.strength === "hard";
    case "goal":
      return typed.data.status === "active";
    default:
      return false;
  }
}

/** Bytes of a mark. */
export const MARK_BYTES = 16;

/** A wish, as it is kept. */
export interface Proposal {
  /** The verb that was called. */
  readonly verb: string;
  /** What it was called with. */
  readonly input: { readonly [field: string]: unknown };
  /** Whose wish it is: the standing that was not enough. */
  readonly source: Source;
  readonly mark: Uint8Array;
}

/** What opens the record of a proposal, and of what closes one. */
const OPENS = "propose";
const CLOSES = "settle";

/** The bytes of a proposal. */
export function encodeProposal({ verb, input, source, mark }: Proposal): Uint8Array {
  return encode([OPENS, mark, verb, JSON.stringify(input), SOURCES[source].code]);
}

/** Reads a proposal. */
export function decodeProposal(bytes: Uint8Array): Proposal {
  const [, mark, verb, json, code] = decode(bytes) as readonly CborValue[];
  const isWhole =
    mark instanceof Uint8Array && typeof verb === "string" && typeof json === "string";
  if (!isWhole) throw new CortexError("ERR_CORRUPT", "a proposal is not in its form");
  const source = nameOf(SOURCES, code, "source of a proposal");
  return { verb, input: JSON.parse(json) as Proposal["input"], source, mark };
}

/** The bytes of the part that closes a proposal. */
export function encodeClosing(decision: string, reason: string, mark: Uint8Array): Uint8Array {
  return encode([CLOSES, decision, reason, mark]);
}

/** The mark of the proposal that an attached part opens or closes; `undefined` for any other part. */
export function proposalMark(bytes: Uint8Array): Uint8Array | undefined {
  const members = decode(bytes);
  if (!Array.isArray(members)) return undefined;
  const [opens, second, , fourth] = members as readonly CborValue[];
  const mark = opens === OPENS ? second : opens === CLOSES ? fourth : undefined;
  return mark instanceof Uint8Array && mark.length === MARK_BYTES ? mark : undefined;
}

/** What an open proposal is known by: its memory and its mark. */
export function proposalName(id: Uint8Array, mark: Uint8Array): Uint8Array {
  const name = new Uint8Array(id.length + mark.length);
  name.set(id, 0);
  name.set(mark, id.length);
  return name;
}

/** That a scope holds no more. */
interface Revocation {
  /** What the scope is known by. */
  readonly hash: Uint8Array;
  readonly reason: string;
}

/** The bytes of a revocation. */
export function revocationRecord({ hash, reason }: Revocation): Uint8Array {
  return encode(fields([1, hash, reason]));
}

/** Reads a revocation. */
export function readRevocation(bytes: Uint8Array): Revocation {
  const at = readMap(decode(bytes), "revocation");
  return {
    hash: readBytesOf(at[1], HASH_BYTES, "revocation hash"),
    reason: readText(at[2], "revocation reason"),
  };
}

/** That somebody reached for what a scope does not allow. */
interface ViolationRecord {
  readonly grantedTo: string;
  readonly grantedBy: string;
  /** The memory that was reached for; `undefined` where none was named. */
  readonly id: Uint8Array | undefined;
  readonly reason: string;
  readonly mode: "read" | "write";
}

/** The bytes of a violation; zeros stand for no memory. */
export function violationRecord(violation: ViolationRecord): Uint8Array {
  const { grantedTo, grantedBy, id, reason, mode } = violation;
  return encode(fields([1, grantedTo, grantedBy, id ?? new Uint8Array(ULID_BYTES), reason, mode]));
}
