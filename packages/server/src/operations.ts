/**
 * The table of operations: each once, for every door. To add an operation, add its row to the file
 * of its noun; the command line, its help, the reference pages and the tests follow from the row.
 */
import type { Operation } from "./operations/define.js";
import { EDGE_OPERATIONS } from "./operations/edges.js";
import { GOAL_OPERATIONS } from "./operations/goals.js";
import { JOURNAL_OPERATIONS } from "./operations/journal.js";
import { MEMORY_OPERATIONS } from "./operations/memories.js";
import { MOVE_OPERATIONS } from "./operations/moves.js";
import { PROOF_OPERATIONS } from "./operations/proofs.js";
import { SESSION_OPERATIONS } from "./operations/sessions.js";
import { STORE_OPERATIONS } from "./operations/store.js";

/** Every operation, in the order in which people meet them. */
export const OPERATIONS: readonly Operation[] = [
  ...MEMORY_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...EDGE_OPERATIONS,
  ...GOAL_OPERATIONS,
  ...JOURNAL_OPERATIONS,
  ...PROOF_OPERATIONS,
  ...STORE_OPERATIONS,
  ...MOVE_OPERATIONS,
];
