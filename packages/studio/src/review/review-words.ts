/**
 * The review in plain words: what kind of question an item is, what can be decided about it, and what an
 * agent asks for. Pure.
 */
import type { RemoteCortex } from "@cortex-memory/core/remote";
import type { WaitingItem } from "../base/reads.ts";
import { spaced, whoSaid } from "../base/words.ts";

/** What is decided. */
export type Decision = Parameters<RemoteCortex["settle"]>[1]["decision"];

/** One of the things that cannot all stand. */
export type Side = WaitingItem["sides"][number];

/** What kind of question an item is: a few words, and one line. */
export const QUESTIONS: {
  readonly [K in WaitingItem["kind"]]: { readonly name: string; readonly about: string };
} = {
  contradiction: {
    name: "Contradiction",
    about: "Two memories cannot both be true.",
  },
  rival: {
    name: "Disputed value",
    about: "Somebody disagrees with a memory that they may not replace.",
  },
  siblings: {
    name: "Two versions",
    about: "Two writers changed the same memory at the same time.",
  },
  disputed: { name: "Disputed", about: "Somebody marked this as doubtful." },
  provisional: {
    name: "Not confirmed",
    about: "An agent noted this. It counts for less until you say yes.",
  },
  proposal: {
    name: "Proposal",
    about: "Somebody asks for a change that only you can allow.",
  },
  duplicate: { name: "Perhaps the same", about: "Two memories say nearly the same." },
};

/** A choice, under the key that takes it. */
export interface Choice {
  readonly key: "1" | "2" | "3" | "4";
  readonly decision: Decision;
  readonly name: string;
  /** What happens then. */
  readonly about: string;
}

const PAIR: readonly Choice[] = [
  {
    key: "1",
    decision: "keep_one",
    name: "Keep the marked one",
    about: "The other becomes history: it was true once.",
  },
  {
    key: "2",
    decision: "keep_both",
    name: "Keep both",
    about: "They do not exclude each other.",
  },
  {
    key: "3",
    decision: "merge",
    name: "Merge…",
    about: "One new sentence takes the place of both.",
  },
  {
    key: "4",
    decision: "retract",
    name: "Refuse the other",
    about: "The one that is not marked was never true.",
  },
];

const VERSIONS: readonly Choice[] = [
  {
    key: "1",
    decision: "keep_one",
    name: "Keep the marked one",
    about: "The other stays in the history of the memory.",
  },
  {
    key: "3",
    decision: "merge",
    name: "Merge…",
    about: "One new sentence becomes the next version.",
  },
  {
    key: "4",
    decision: "retract",
    name: "Refuse all of it",
    about: "The memory is taken back, in every version.",
  },
];

const ALONE: readonly Choice[] = [
  { key: "1", decision: "keep_one", name: "Accept", about: "It counts as confirmed by you." },
  { key: "3", decision: "merge", name: "Reword…", about: "Your sentence is accepted instead." },
  {
    key: "4",
    decision: "retract",
    name: "Refuse",
    about: "It is taken back and not used any more.",
  },
];

const PROPOSAL: readonly Choice[] = [
  { key: "1", decision: "keep_one", name: "Accept", about: "It is done now, as your word." },
  { key: "4", decision: "retract", name: "Refuse", about: "Nothing changes; the wish is dropped." },
];

const FINAL_PROPOSAL: readonly Choice[] = PROPOSAL.map((choice) =>
  choice.decision === "keep_one"
    ? { ...choice, name: "Accept…", about: "The content is destroyed. This cannot be undone." }
    : choice,
);

/** Whether saying yes destroys something for good. */
export function isFinal({ proposal }: WaitingItem, decision: Decision): boolean {
  return proposal?.verb === "forget" && decision === "keep_one";
}

/** Why it is asked, as far as the kind of question does not say it. */
export function whyWords({ kind, why, slot }: WaitingItem): string {
  switch (kind) {
    case "rival":
      return slot === undefined ? "" : `Both are about: ${spaced(slot)}.`;
    case "contradiction": {
      const [, source = "", reason = ""] = /^said to .+? by (\w+)(?:: (.*))?$/s.exec(why) ?? [];
      return reason === "" ? `${whoSaid(source)}.` : `${whoSaid(source)}: ${reason}`;
    }
    case "duplicate":
      return `${why.charAt(0).toUpperCase()}${why.slice(1)}.`;
    case "siblings":
    case "disputed":
    case "provisional":
    case "proposal":
      return "";
  }
}

/** What can be decided about an item. */
export function choicesFor(item: WaitingItem): readonly Choice[] {
  switch (item.kind) {
    case "contradiction":
    case "rival":
    case "duplicate":
      return PAIR;
    case "siblings":
      return VERSIONS;
    case "disputed":
    case "provisional":
      return ALONE;
    case "proposal":
      return isFinal(item, "keep_one") ? FINAL_PROPOSAL : PROPOSAL;
  }
}

/** The side that is marked until somebody marks another: the one that holds today. */
export function firstMarked({ kind, sides }: WaitingItem): number {
  return kind === "siblings" || sides.length < 2 ? 0 : 1;
}

/** What to call the side to keep, as `settle` wants it; nothing where there is no choice. */
export function keepOf({ kind, sides }: WaitingItem, decision: Decision, marked: number) {
  const side = sides[marked];
  if (side === undefined || sides.length < 2 || decision === "keep_both") return {};
  if (kind !== "siblings") return { keep: side.id };
  return decision === "keep_one" ? { keep: side.uri } : {};
}

const WISHES: { readonly [verb: string]: string } = {
  update: "wants this memory to say something else",
  write: "wants this memory to say something else",
  updateHead: "wants to change what is kept about this memory",
  tombstone: "wants this memory to be hidden",
  restore: "wants this memory to be brought back",
  forget: "wants this memory to be forgotten for good",
  removeEdge: "wants a link of this memory to be removed",
  removeEdgeById: "wants a link of this memory to be removed",
  addEdge: "wants a link that changes how this memory is read",
  link: "wants a link that changes how this memory is read",
  revert: "wants an earlier change of this memory to be undone",
  settle: "wants a question about this memory to be decided",
};

/** What somebody asks for. */
export function wishWords(verb: string): string {
  return WISHES[verb] ?? `asks for ${spaced(verb)}`;
}

/** The members of a wish that say what would change, without what names the memory and what is shown as text. */
export function wishFields(input: {
  readonly [name: string]: unknown;
}): readonly (readonly [string, string])[] {
  const said = Object.entries(input).filter(
    ([name]) => name !== "id" && name !== "text" && name !== "basedOnVersion" && name !== "type",
  );
  return said.map(([name, value]) => [
    spaced(name),
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
}

/** What was decided, for the notice. */
export function doneWords(decision: Decision, kind: WaitingItem["kind"]): string {
  if (kind === "proposal") {
    return decision === "keep_one" ? "Accepted and done." : "Refused. Nothing changed.";
  }
  switch (decision) {
    case "keep_one":
      return kind === "provisional" || kind === "disputed"
        ? "Accepted."
        : "Kept; the other is history.";
    case "keep_both":
      return "Both stay.";
    case "merge":
      return "Your sentence stands now.";
    case "retract":
      return "Refused.";
  }
}
