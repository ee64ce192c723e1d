/**
 * What the words of records mean to somebody who reads them for the first time: sentences instead of
 * codes. The words themselves, with their meanings, are core's.
 */
import {
  EDGE_KINDS,
  type EdgeGroup,
  MEMORY_TYPES,
  type MemoryType,
} from "@cortex-memory/core/remote";

/** The memory types in the order of core. */
export const TYPES = Object.keys(MEMORY_TYPES) as readonly MemoryType[];

/** Whether a word is a memory type. */
export function isMemoryType(name: string): name is MemoryType {
  return Object.hasOwn(MEMORY_TYPES, name);
}

/** The letter of a type: colour never stands alone. */
export const TYPE_LETTERS: { readonly [T in MemoryType]: string } = {
  identity: "I",
  fact: "F",
  preference: "P",
  belief: "B",
  event: "E",
  goal: "G",
  constraint: "C",
  capability: "K",
  pattern: "T",
  note: "N",
  artifact: "A",
};

/** What a type is, in one line. */
export function typeMeaning(type: MemoryType): string {
  return MEMORY_TYPES[type].meaning;
}

const SAID: { readonly [source: string]: string } = {
  user_input: "The owner said so",
  agent: "The agent says so",
  observed: "The program saw it",
  tool_output: "A tool returned it",
  document: "Read in a document",
  channel: "Somebody else said so",
  extraction: "A model drew it from a conversation",
  imported: "It came with an import",
  derived: "Computed from other memories",
  dream: "Upkeep made it",
};

/** Who said it. */
export function whoSaid(source: string): string {
  return SAID[source] ?? source;
}

const HOW_SURE: { readonly [status: string]: string } = {
  asserted: "",
  provisional: "not confirmed by the owner",
  confirmed: "confirmed",
  disputed: "disputed: another memory contradicts it",
  retracted: "taken back",
};

/** How sure it is; empty where nothing needs saying. */
export function howSure(status: string): string {
  return HOW_SURE[status] ?? status;
}

const LIFE: { readonly [lifecycle: string]: string } = {
  active: "current",
  archived: "history: replaced or expired",
  tombstoned: "retired: hidden, can be restored",
  erased: "forgotten: the content is gone for good",
};

/** Where it stands in its life. */
export function lifeWords(lifecycle: string): string {
  return LIFE[lifecycle] ?? lifecycle;
}

/** The lanes of recall: what each looks at, in a word and in a sentence. */
export const LANES = {
  lexical: { name: "words", about: "It holds words of the question; rare ones count more." },
  slot: { name: "slot", about: "It is the current value of a slot that the question names." },
  names: { name: "names", about: "It is about a person or thing that the question names." },
  graph: { name: "links", about: "A link leads to it from a better hit." },
  time: { name: "time", about: "It is of the time that the question speaks of." },
  vector: { name: "meaning", about: "It means nearly the same, by the model that compares texts." },
} as const;

/** The name of a lane. */
export type LaneName = keyof typeof LANES;

/** The lanes in their order. */
export const LANE_NAMES = Object.keys(LANES) as readonly LaneName[];

const KINDS = new Map(EDGE_KINDS.map((kind) => [kind.name as string, kind]));

/** What a kind of link is for; kinds of the graph's own are `open`. */
export function groupOf(kind: string): EdgeGroup | "open" {
  return KINDS.get(kind)?.group ?? "open";
}

/** What a link says; empty for kinds of the graph's own. */
export function kindMeaning(kind: string): string {
  return KINDS.get(kind)?.meaning ?? "";
}

/** A name of a record as words: `user_input` is "user input". */
export function spaced(name: string): string {
  return name.replaceAll("_", " ");
}
