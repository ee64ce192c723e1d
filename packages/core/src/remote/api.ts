/**
 * The interface of a memory graph, wherever its store is: what a `Cortex` over a folder and a client of
 * a running server have in common.
 */

import type { CortexVerbs } from "../contract/index.js";
import type { Cortex } from "../cortex.js";

/** One actor's memory graph: every verb, whose memory it is, and closing it. */
export type CortexApi = CortexVerbs & Pick<Cortex, "actor" | "close" | typeof Symbol.asyncDispose>;
