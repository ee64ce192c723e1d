/**
 * Every verb, by name. A verb is added by declaring it in the file of its family; nothing is listed
 * here by hand.
 */
import type * as z from "zod";
import * as batch from "./batch.js";
import * as config from "./config.js";
import * as finding from "./find.js";
import * as forgetting from "./forget.js";
import * as goals from "./goals.js";
import * as journal from "./journal.js";
import * as learning from "./learning.js";
import * as links from "./links.js";
import * as memory from "./memory.js";
import * as move from "./move.js";
import * as proof from "./proof.js";
import * as recalling from "./recall.js";
import * as reviewing from "./review.js";
import * as scopes from "./scopes.js";
import * as sessions from "./sessions.js";
import * as upkeep from "./upkeep.js";
import type { AnswerOf, AskedOfVerb, Method, OptionsOf, ResultOf, Verb } from "./verb.js";

type Declared<M> = { readonly [K in keyof M as M[K] extends Verb ? K : never]: M[K] };

function declared<M extends object>(family: M): Declared<M> {
  const verbs = Object.entries(family).filter(([, one]) => isVerb(one));
  return Object.fromEntries(verbs) as Declared<M>;
}

function isVerb(value: unknown): value is Verb {
  return typeof value === "object" && value !== null && "policy" in value && "input" in value;
}

/** Every verb, by the headings of the reference. */
export const FAMILIES = {
  Memories: { ...declared(memory), ...declared(forgetting), ...declared(batch) },
  Asking: { ...declared(recalling), ...declared(finding) },
  Goals: declared(goals),
  Links: declared(links),
  Conversations: declared(sessions),
  Review: declared(reviewing),
  Learning: declared(learning),
  Upkeep: declared(upkeep),
  Configuration: declared(config),
  Journal: declared(journal),
  Proofs: declared(proof),
  Moves: declared(move),
  Scopes: declared(scopes),
};

/** Every verb. */
export const VERBS = {
  ...FAMILIES.Memories,
  ...FAMILIES.Goals,
  ...FAMILIES.Links,
  ...FAMILIES.Conversations,
  ...FAMILIES.Asking,
  ...FAMILIES.Review,
  ...FAMILIES.Learning,
  ...FAMILIES.Upkeep,
  ...FAMILIES.Configuration,
  ...FAMILIES.Journal,
  ...FAMILIES.Proofs,
  ...FAMILIES.Moves,
  ...FAMILIES.Scopes,
};

/** The verbs and their types. */
export type Verbs = typeof VERBS;

/** The name of a verb. */
export type VerbName = keyof Verbs;

/** What the function of a verb gets. */
export type Asked<V extends VerbName> = AskedOfVerb<Verbs[V]>;

/** What a verb answers with. */
export type Answer<V extends VerbName> = AnswerOf<Verbs[V]>;

/** What doors send for a verb, as JSON has it. */
export type Output<V extends VerbName> = z.output<Verbs[V]["output"]>;

/** The object that follows a verb's arguments: `Options<"recall">`. */
export type Options<V extends VerbName> = OptionsOf<Verbs[V]>;

/** Every verb as a method. */
export type CortexVerbs = { readonly [V in VerbName]: Method<Verbs[V]> };

/** The function of a verb: a plain function of the engine and of what was asked. */
export type Run<V extends VerbName, Engine> = (
  engine: Engine,
  asked: Asked<V>,
) => ResultOf<Answer<V>>;
