/**
 * Operations on context and learning: the bundle for a cold start, how a task ended, the weights of
 * salience, contexts made smaller.
 */
import {
  showAttested,
  showCompacted,
  showContext,
  showContextRecord,
  showWeights,
} from "../render/learning.js";
import { verbRow } from "./define.js";

const contextOperation = verbRow("context", {
  help: `Every identity, hard constraint and active goal; with --verb and --object also what came of the
same work before, and what else is filed under it. What does not fit the budget is named under
reachable, the least salient left out first. Prints the text for the prompt; --json gives the parts.`,
  example: "cortex context --verb schedule --object plan=trip --budget 1000",
  cli: {
    command: "context",
    group: "learning",
    flags: { objects: "object", budgetTokens: "budget", tiers: "tier", nowMs: "now" },
    human: showContext,
  },
});

const attestOperation = verbRow("attest", {
  help: `A success counts a use and a citation of each and pulls the weights of salience toward them. A
failure with the reason factual_error or wrong_assumption takes a citation away and pushes the weights
off. Any other failure notes the use and teaches nothing. Unknown, hidden and forgotten memories are
skipped.`,
  example: "cortex attest trip-1 success home",
  cli: {
    command: "attest",
    group: "learning",
    arguments: [
      { field: "intentId", label: "TASK" },
      { field: "outcome", label: "OUTCOME" },
      { field: "cited", label: "ID", rest: true },
    ],
    human: showAttested,
  },
});

const weightsOperation = verbRow("weights", {
  help: "How much each factor counts, as learned from attestations so far.",
  example: "cortex weights",
  cli: { command: "weights", group: "learning", human: showWeights },
});

const compactOperation = verbRow("compactContext", {
  help: `Pinned and load-bearing memories stay in their medium form, all others in their short one. Nothing is
dropped: what does not fit the budget even so fails with ERR_BUDGET. The same task and step replace the
record before.`,
  example: "cortex compact trip-1 step-3 home rule --load-bearing home",
  cli: {
    command: "compact",
    group: "learning",
    arguments: [
      { field: "intentId", label: "TASK" },
      { field: "stepId", label: "STEP" },
      { field: "inContext", label: "ID", rest: true },
    ],
    flags: { budgetTokens: "budget" },
    human: showCompacted,
  },
});

const recordOperation = verbRow("contextRecord", {
  help: "Texts are read now: what was forgotten since is marked, not told.",
  example: "cortex context-record trip-1 step-3",
  absent: ({ intentId, stepId }) => `stepId: no record of ${intentId}, ${stepId}`,
  cli: {
    command: "context-record",
    group: "learning",
    arguments: [
      { field: "intentId", label: "TASK" },
      { field: "stepId", label: "STEP" },
    ],
    human: showContextRecord,
  },
});

/** The operations on context and learning. */
export const LEARNING_OPERATIONS = [
  contextOperation,
  attestOperation,
  weightsOperation,
  compactOperation,
  recordOperation,
];
