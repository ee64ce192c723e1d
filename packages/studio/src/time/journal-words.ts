/**
 * The journal in sentences: what an entry did, in words that somebody reads for the first time. Pure.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";

/** What an entry did. */
export type Change = Awaited<ReturnType<RemoteCortex["changes"]>>["changes"][number];

/** A group of kinds that people look for together. */
export interface Group {
  readonly name: string;
  readonly kinds: readonly string[];
}

/** The groups, in the order of the filter. */
export const GROUPS: readonly Group[] = [
  { name: "written", kinds: ["write", "update", "reinforce", "update_head", "goal_state"] },
  { name: "linked", kinds: ["add_edge", "remove_edge", "register_edge_kind"] },
  { name: "retired or forgotten", kinds: ["tombstone", "restore", "forget"] },
  { name: "decided", kinds: ["settle", "propose", "revert"] },
  {
    name: "upkeep and settings",
    kinds: ["genesis", "config", "maintain", "migration", "learn_weights", "revoke_scope"],
  },
  {
    name: "read",
    kinds: ["find_late", "context", "recall_audit", "attest", "scope_violation"],
  },
];

const SAID: { readonly [kind: string]: string } = {
  genesis: "the memory began",
  config: "changed the settings",
  write: "noted",
  update: "reworded",
  update_head: "changed tags, weight or standing of",
  reinforce: "heard again",
  tombstone: "retired",
  restore: "brought back",
  forget: "forgot for good",
  add_edge: "linked",
  remove_edge: "removed a link of",
  register_edge_kind: "named a new kind of link",
  goal_state: "noted how far it is with",
  revert: "undid a change of",
  find_late: "kept a record of what was looked up",
  attest: "said which memories helped",
  learn_weights: "learned what matters more",
  context: "kept a record of what an agent was told",
  recall_audit: "kept a record of what was recalled",
  settle: "decided about",
  maintain: "tidied up",
  scope_violation: "a holder asked for what is not theirs",
  revoke_scope: "took a scope back",
  propose: "asks to change",
  migration: "moved the store to a newer form",
};

/** What was done, as the middle of a sentence. */
export function didWords(kind: string): string {
  return SAID[kind] ?? kind.replaceAll("_", " ");
}

/** Kinds that `revert` takes back while nothing else happened to what they changed. */
const UNDOABLE: ReadonlySet<string> = new Set([
  "write",
  "update",
  "update_head",
  "tombstone",
  "restore",
  "add_edge",
  "remove_edge",
  "revert",
  "settle",
  "maintain",
]);

/** Whether it is worth trying to take an entry back. */
export function canUndo({ kind, memories }: Change): boolean {
  return UNDOABLE.has(kind) && memories.every(({ erased }) => !erased);
}

/** What the journal is narrowed to. */
export interface Filter {
  /** The name of a group; all of them for none. */
  readonly group: string | undefined;
  /** A part of a name or of a text. */
  readonly words: string;
}

/** Whether an entry is shown. */
export function isShown({ kind, by, memories }: Change, { group, words }: Filter): boolean {
  const kinds = GROUPS.find(({ name }) => name === group)?.kinds;
  if (kinds !== undefined && !kinds.includes(kind)) return false;
  const sought = words.trim().toLowerCase();
  if (sought === "") return true;
  return [by, ...memories.map(({ id, text = "" }) => `${id} ${text}`)].some((text) =>
    text.toLowerCase().includes(sought),
  );
}

/** The memory that an entry is mainly about first: the one that it gave words to, or that is current. */
export function mainFirst(memories: Change["memories"]): Change["memories"] {
  const once = memories.filter(
    ({ id }, at) => memories.findIndex((other) => other.id === id) === at,
  );
  const weight = (one: Change["memories"][number]): number =>
    (one.lifecycle === "active" ? 2 : 0) + (one.text === undefined ? 0 : 1);
  return [...once].sort((a, b) => weight(b) - weight(a));
}

/** The part of the journal that one look reads: fixed ends, so that what was read stays read. */
export interface Stretch {
  /** Entries after this one. */
  readonly from: number;
  /** Up to and with this one. */
  readonly to: number;
}

/** Entries in one stretch. */
export const STRETCH = 60;

/** Stretches from the end of the journal backwards. */
export function stretchesOf(last: number, many: number): readonly Stretch[] {
  const found: Stretch[] = [];
  const top = Math.floor(Math.max(0, last - 1) / STRETCH);
  for (let at = top; at >= 0 && found.length < many; at--) {
    found.push({ from: at * STRETCH, to: Math.min(last, (at + 1) * STRETCH) });
  }
  return found;
}
