/**
 * The table of operations: each once, for every door. To add an operation, add its row to the file
 * of its noun; the command line, its help, the reference pages and the tests follow from the row.
 */
import type { Operation } from "./operations/define.js";
import { EDGE_OPERATIONS } from "./operations/edges.js";
import { EXTRACT_OPERATIONS } from "./operations/extract.js";
import { FIND_OPERATIONS, SCHEMA_OPERATIONS } from "./operations/find.js";
import { GOAL_OPERATIONS } from "./operations/goals.js";
import { GRAPH_OPERATIONS } from "./operations/graphs.js";
import { IMPORT_OPERATIONS } from "./operations/imports.js";
import { JOURNAL_OPERATIONS } from "./operations/journal.js";
import { LEARNING_OPERATIONS } from "./operations/learning.js";
import { MEMORY_OPERATIONS } from "./operations/memories.js";
import { MOVE_OPERATIONS } from "./operations/moves.js";
import { PROOF_OPERATIONS } from "./operations/proofs.js";
import { RECALL_OPERATIONS } from "./operations/recall.js";
import { REPLICA_OPERATIONS } from "./operations/replicas.js";
import { REVIEW_OPERATIONS } from "./operations/review.js";
import { SCOPE_OPERATIONS } from "./operations/scopes.js";
import { SEARCH_OPERATIONS } from "./operations/search.js";
import { SESSION_OPERATIONS } from "./operations/sessions.js";
import { STORE_OPERATIONS } from "./operations/store.js";
import { UPKEEP_OPERATIONS } from "./operations/upkeep.js";

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
