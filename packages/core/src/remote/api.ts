/**
 * The interface of a memory graph, wherever its store is: what a `Cortex` over a folder and a client of
 * a running server have in common. It is taken from the facade itself, so a verb that is added there
 * has to be added to the client's table before anything compiles.
 */

import type { POLICIES } from "../admission/policies.js";
import type { Cortex } from "../cortex.js";

/** The name of a verb. */
export type VerbName = keyof typeof POLICIES;

/** One actor's memory graph: every verb, whose memory it is, and closing it. */
export type CortexApi = Pick<Cortex, VerbName | "actor" | "close" | typeof Symbol.asyncDispose>;
