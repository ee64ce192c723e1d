/**
 * The table of operations: each once, for every door. To add an operation, add its row to the file
 * of its noun; the command line, its help, the reference pages and the tests follow from the row.
 */

import {
  FIND_OPERATIONS,
  RECALL_OPERATIONS,
  SCHEMA_OPERATIONS,
  SEARCH_OPERATIONS,
  SESSION_OPERATIONS,
} from "./operations/asking.js";
import type { Operation } from "./operations/define.js";
import { GRAPH_OPERATIONS } from "./operations/graphs.js";
import { JOURNAL_OPERATIONS, PROOF_OPERATIONS, REPLICA_OPERATIONS } from "./operations/journal.js";
import { EDGE_OPERATIONS, GOAL_OPERATIONS, MEMORY_OPERATIONS } from "./operations/memories.js";
import { IMPORT_OPERATIONS, MOVE_OPERATIONS } from "./operations/moves.js";
import { SCOPE_OPERATIONS } from "./operations/scopes.js";
import {
  EXTRACT_OPERATIONS,
  LEARNING_OPERATIONS,
  REVIEW_OPERATIONS,
  STORE_OPERATIONS,
  UPKEEP_OPERATIONS,
} from "./operations/upkeep.js";

/** Every operation, in the order in which people meet them. */
export const OPERATIONS: readonly Operation[] = [
  ...MEMORY_OPERATIONS,
  ...REVIEW_OPERATIONS,
  ...RECALL_OPERATIONS,
  ...SEARCH_OPERATIONS,
  ...FIND_OPERATIONS,
  ...SESSION_OPERATIONS,
  ...EXTRACT_OPERATIONS,
  ...EDGE_OPERATIONS,
  ...LEARNING_OPERATIONS,
  ...GOAL_OPERATIONS,
  ...GRAPH_OPERATIONS,
  ...JOURNAL_OPERATIONS,
  ...PROOF_OPERATIONS,
  ...STORE_OPERATIONS,
  ...SCHEMA_OPERATIONS,
  ...UPKEEP_OPERATIONS,
  ...MOVE_OPERATIONS,
  ...REPLICA_OPERATIONS,
  ...IMPORT_OPERATIONS,
  ...SCOPE_OPERATIONS,
];
