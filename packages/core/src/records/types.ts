/**
 * The closed vocabularies of a memory: every word that a typed field may hold, with its code and
 * its meaning.
 *
 * Promise: tables are append-only. A code, once given, is never given again, because journals hold
 * codes and must decode for ever; a new word is a journaled migration. Names are what people and
 * programs write, codes are what records store. Lookups in both directions are one table access.
 *
 * Left to others: which source is trusted how far (`trust/`), what an edge kind is
 * (`records/edge-kinds.ts`), and which words fit which memory (`data.ts`).
 */
import { CortexError, describe, type ErrorCode, invalid } from "../errors.js";

/** One word of a vocabulary. */
export interface Word {
  /** The number that records store; 1 or more, never reused. */
  readonly code: number;
  /** What the word says, in one line. */
  readonly meaning: string;
}

/** A closed vocabulary: words by name. */
export type WordTable = { readonly [name: string]: Word };

/** The eleven memory types. `uriName` is what URIs carry. */
export const MEMORY_TYPES = {
  identity: { code: 0x01, uriName: "Identity", meaning: "What the actor knows of itself." },
  fact: { code: 0x02, uriName: "Fact", meaning: "An objective claim." },
  preference: { code: 0x03, uriName: "Preference", meaning: "A like or dislike on a topic." },
  belief: { code: 0x04, uriName: "Belief", meaning: "An uncertain claim with a stance." },
  event: { code: 0x05, uriName: "Event", meaning: "Something that happened." },
  goal: { code: 0x06, uriName: "Goal", meaning: "An objective being pursued." },
  constraint: { code: 0x07, uriName: "Constraint", meaning: "A standing rule." },
  capability: { code: 0x08, uriName: "Capability", meaning: "An ability of some subject." },
  pattern: { code: 0x09, uriName: "Pattern", meaning: "A learned regularity or recipe." },
  note: { code: 0x0a, uriName: "Note", meaning: "Free content of an open kind." },
  artifact: { code: 0x0b, uriName: "Artifact", meaning: "A reference to a file or page." },
} as const satisfies { readonly [name: string]: Word & { readonly uriName: string } };

/** Who may see a memory. */
export const VISIBILITIES = {
  private: { code: 1, meaning: "The actor alone." },
  scoped: { code: 2, meaning: "The actor, and whoever holds a scope that allows it." },
  public: { code: 3, meaning: "Anyone who can reach the graph." },
} as const satisfies WordTable;

/** Where a memory stands in its life. */
export const LIFECYCLES = {
  active: { code: 1, meaning: "Current: reads return it." },
  archived: { code: 2, meaning: "Replaced or expired: history, still walkable." },
  tombstoned: { code: 3, meaning: "Hidden with a reason; can be restored." },
  erased: { code: 4, meaning: "Forgotten: the content is gone for good." },
} as const satisfies WordTable;

/** How far a memory is taken to be true. */
export const STATUSES = {
  asserted: { code: 1, meaning: "Stated by a source that may state it." },
  provisional: { code: 2, meaning: "Stated by a source whose word awaits confirmation." },
  confirmed: { code: 3, meaning: "Backed by distinct evidence or by the owner." },
  disputed: { code: 4, meaning: "Contradicted by another memory, not yet settled." },
  retracted: { code: 5, meaning: "Taken back; kept for the record." },
} as const satisfies WordTable;

/** Where the content of a memory or an edge came from. */
export const SOURCES = {
  user_input: { code: 1, meaning: "The owner said or typed it." },
  agent: { code: 2, meaning: "An agent wrote it on its own account." },
  observed: { code: 3, meaning: "The program saw it happen." },
  tool_output: { code: 4, meaning: "A tool returned it." },
  document: { code: 5, meaning: "It was read in a document or page." },
  channel: { code: 6, meaning: "Someone else said it in a channel." },
  extraction: { code: 7, meaning: "A model extracted it from a conversation." },
  imported: { code: 8, meaning: "It came with an import." },
  derived: { code: 9, meaning: "It was computed from other memories." },
  dream: { code: 10, meaning: "Maintenance made it while idle." },
} as const satisfies WordTable;

/** What a frame does with its object. */
export const FRAME_VERBS = {
  find: { code: 0x01, meaning: "Look something up." },
  acquire: { code: 0x02, meaning: "Obtain something." },
  build: { code: 0x03, meaning: "Make something new." },
  modify: { code: 0x04, meaning: "Change something that exists." },
  deliver: { code: 0x05, meaning: "Hand something over." },
  analyze: { code: 0x06, meaning: "Study something and report." },
  negotiate: { code: 0x07, meaning: "Agree terms with someone." },
  schedule: { code: 0x08, meaning: "Set a time for something." },
  monitor: { code: 0x09, meaning: "Keep watching something." },
  delegate: { code: 0x0a, meaning: "Let someone else do it." },
} as const satisfies WordTable;

/** What kind of thing a frame or a goal is about. */
export const OBJECT_KINDS = {
  service: { code: 0x01, meaning: "A running service." },
  model: { code: 0x02, meaning: "A machine-learned model." },
  agent: { code: 0x03, meaning: "An agent or person." },
  knowledge: { code: 0x04, meaning: "A body of knowledge." },
  intent: { code: 0x05, meaning: "Something someone asked for." },
  asset: { code: 0x06, meaning: "A thing of value." },
  plan: { code: 0x07, meaning: "A plan of steps." },
  capability: { code: 0x08, meaning: "An ability." },
} as const satisfies WordTable;

/** How a belief holds its statement. */
export const STANCES = {
  believe: { code: 1, meaning: "Takes the statement to be true." },
  doubt: { code: 2, meaning: "Takes the statement to be false or unproven." },
  suspect: { code: 3, meaning: "Thinks the statement may be true." },
} as const satisfies WordTable;

/** Which way a preference or a rule points. */
export const POLARITIES = {
  prefer: { code: 1, meaning: "Likes it, or chooses it when there is a choice." },
  avoid: { code: 2, meaning: "Dislikes it, or stays away from it." },
  neutral: { code: 3, meaning: "Points neither way." },
  do: { code: 4, meaning: "Wants it done." },
  dont: { code: 5, meaning: "Wants it not done." },
} as const satisfies WordTable;

/** How binding a constraint is. */
export const STRENGTHS = {
  soft: { code: 1, meaning: "A wish; may be set aside for a reason." },
  firm: { code: 2, meaning: "To be kept unless the owner agrees otherwise." },
  hard: { code: 3, meaning: "Never to be broken." },
} as const satisfies WordTable;

/** Who made a constraint. */
export const CONSTRAINT_SOURCES = {
  user_declared: { code: 1, meaning: "The owner stated it." },
  learned: { code: 2, meaning: "It was learned from outcomes." },
  inferred: { code: 3, meaning: "It follows from other memories." },
} as const satisfies WordTable;

/** Where a goal stands. */
export const GOAL_STATUSES = {
  active: { code: 1, meaning: "Being pursued." },
  paused: { code: 2, meaning: "Set aside for now." },
  completed: { code: 3, meaning: "Reached." },
  abandoned: { code: 4, meaning: "Given up." },
} as const satisfies WordTable;

/** What sort of thing happened. */
export const EVENT_KINDS = {
  intent_completed: { code: 1, meaning: "Something asked for was done." },
  intent_failed: { code: 2, meaning: "Something asked for could not be done." },
  payment: { code: 3, meaning: "Value changed hands." },
  dispatch: { code: 4, meaning: "Work was sent to someone." },
  observation: { code: 5, meaning: "Something was noticed." },
  interaction: { code: 6, meaning: "Someone was met or talked to." },
} as const satisfies WordTable;

/** How an event ended. */
export const OUTCOMES = {
  success: { code: 1, meaning: "As hoped." },
  failure: { code: 2, meaning: "Not as hoped." },
  partial: { code: 3, meaning: "In part." },
} as const satisfies WordTable;

/** What the last evaluation of a goal decided. */
export const GOAL_DECISIONS = {
  emit_intent: { code: 1, meaning: "Act: a new intent was sent out." },
  complete: { code: 2, meaning: "The goal is reached." },
  stuck: { code: 3, meaning: "No way forward was found." },
  noop: { code: 4, meaning: "Nothing to do for now." },
} as const satisfies WordTable;

/** Who speaks in a turn of a conversation. */
export const TURN_ROLES = {
  user: { code: 1, meaning: "The person." },
  assistant: { code: 2, meaning: "The agent." },
  system: { code: 3, meaning: "Instructions of the program." },
  tool_call: { code: 4, meaning: "The agent calls a tool." },
  tool_result: { code: 5, meaning: "What the tool returned." },
} as const satisfies WordTable;

/** The name of a memory type. */
export type MemoryType = keyof typeof MEMORY_TYPES;
/** A word of `VISIBILITIES`. */
export type Visibility = keyof typeof VISIBILITIES;
/** A word of `LIFECYCLES`. */
export type Lifecycle = keyof typeof LIFECYCLES;
/** A word of `STATUSES`: the epistemic status. */
export type Status = keyof typeof STATUSES;
/** A word of `SOURCES`. */
export type Source = keyof typeof SOURCES;
/** A word of `FRAME_VERBS`. */
export type FrameVerb = keyof typeof FRAME_VERBS;
/** A word of `OBJECT_KINDS`. */
export type ObjectKind = keyof typeof OBJECT_KINDS;
/** A word of `STANCES`. */
export type Stance = keyof typeof STANCES;
/** A word of `POLARITIES`. */
export type Polarity = keyof typeof POLARITIES;
/** A word of `EVENT_KINDS`. */
export type EventKind = keyof typeof EVENT_KINDS;
/** A word of `OUTCOMES`. */
export type Outcome = keyof typeof OUTCOMES;
/** A word of `TURN_ROLES`. */
export type TurnRole = keyof typeof TURN_ROLES;

/** The names of a vocabulary, in the order of the table. */
export function namesOf<T extends WordTable>(
  table: T,
): [keyof T & string, ...(keyof T & string)[]] {
  return Object.keys(table) as [keyof T & string, ...(keyof T & string)[]];
}

/** True when `value` is a name of the vocabulary. */
export function isNameOf<T extends WordTable>(table: T, value: unknown): value is keyof T & string {
  return typeof value === "string" && Object.hasOwn(table, value);
}

/** The name that a stored code stands for; a code nobody gave is `ERR_CORRUPT`. */
export function nameOf<T extends WordTable>(
  table: T,
  code: unknown,
  what: string,
): keyof T & string {
  const name = typeof code === "number" ? namesByCode(table)[code] : undefined;
  if (name !== undefined) return name;
  throw new CortexError("ERR_CORRUPT", `${what}: no word has the code ${describe(code)}`, {
    field: what,
    got: describe(code),
  });
}

/** Checks that `value` is a name of the vocabulary; the failure lists the names. */
export function checkNameOf<T extends WordTable>(
  table: T,
  value: unknown,
  what: { readonly field: string; readonly code?: ErrorCode },
): keyof T & string {
  if (isNameOf(table, value)) return value;
  throw invalid(what.field, `one of ${namesOf(table).join(", ")}`, value, what.code);
}

/** Checks the name of a memory type; anything else is `ERR_UNKNOWN_TYPE`. */
export function checkMemoryType(value: unknown, field = "type"): MemoryType {
  return checkNameOf(MEMORY_TYPES, value, { field, code: "ERR_UNKNOWN_TYPE" });
}

/** The memory type behind the capitalised name of a URI. */
export function typeOfUriName(uriName: string): MemoryType | undefined {
  return BY_URI_NAME.get(uriName);
}

const BY_URI_NAME: ReadonlyMap<string, MemoryType> = new Map(
  namesOf(MEMORY_TYPES).map((name) => [MEMORY_TYPES[name].uriName, name]),
);

/**
 * Codes are small, so an array by code is the fastest index; one is built per table, on first use.
 */
const BY_CODE = new WeakMap<WordTable, readonly string[]>();

/** The names of a vocabulary by their codes; a code nobody gave has none. */
export function namesByCode<T extends WordTable>(table: T): readonly (keyof T & string)[] {
  let names = BY_CODE.get(table);
  if (names === undefined) {
    const built: string[] = [];
    for (const [name, word] of Object.entries(table)) built[word.code] = name;
    names = built;
    BY_CODE.set(table, names);
  }
  return names as readonly (keyof T & string)[];
}
