/**
 * Every verb with its function: where the contract meets the features. A function that is missing, or
 * that takes or answers something else than its contract says, does not compile.
 */
import { type Callable, callable } from "./admission/call.js";
import * as admission from "./admission/verbs.js";
import * as batch from "./batch/verbs.js";
import * as changes from "./changes/verbs.js";
import * as config from "./config/verbs.js";
import * as context from "./context/verbs.js";
import { type Run, VERBS, type VerbName } from "./contract/index.js";
import type { Verb } from "./contract/verb.js";
import * as embedding from "./embedding/verbs.js";
import type { Engine } from "./engine/engine.js";
import * as extract from "./extract/verbs.js";
import * as find from "./find/verbs.js";
import * as learning from "./learning/verbs.js";
import * as links from "./links/verbs.js";
import * as memory from "./memory/verbs.js";
import * as move from "./move/verbs.js";
import * as proof from "./proof/verbs.js";
import * as recall from "./recall/verbs.js";
import * as review from "./review/verbs.js";
import * as search from "./search/verbs.js";
import * as sessions from "./sessions/verbs.js";
import * as upkeep from "./upkeep/verbs.js";

const RUN: { readonly [V in VerbName]: Run<V, Engine> } = {
  ...memory,
  ...links,
  ...sessions,
  ...batch,
  ...find,
  ...search,
  ...recall,
  ...context,
  ...review,
  ...learning,
  ...upkeep,
  ...extract,
  ...embedding,
  ...config,
  ...changes,
  ...proof,
  ...move,
  ...admission,
};

/** Every verb, ready to be called. */
export const CALLABLES: readonly Callable[] = Object.values(VERBS).map((verb: Verb) =>
  callable(verb, RUN[verb.name as VerbName]),
);
