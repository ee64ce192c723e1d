/**
 * The policy column: what an access means for each verb of the facade. The facade admits callers by
 * it, and the doors read it, so that a verb is never stricter behind one door than behind another.
 */
import { VERBS, type VerbName } from "../contract/index.js";
import type { Verb } from "../contract/verb.js";
import type { Policy } from "../scope/access.js";

/** Verbs that are not declared in `contract/`. */
const OTHERS = {} as const satisfies Record<string, Policy>;

type Others = keyof typeof OTHERS;

/** What an access means for each verb. */
export const POLICIES: { readonly [verb in Others | VerbName]: Policy } = {
  ...OTHERS,
  ...(Object.fromEntries(Object.values(VERBS).map((verb: Verb) => [verb.name, verb.policy])) as {
    readonly [verb in VerbName]: Policy;
  }),
};
