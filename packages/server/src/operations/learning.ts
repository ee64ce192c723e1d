/**
 * Operations on context and learning: the bundle for a cold start, how a task ended, the weights of
 * salience, contexts made smaller.
 */
import * as z from "zod";
import {
  showAttested,
  showCompacted,
  showContext,
  showContextRecord,
  showWeights,
} from "../render/learning.js";
import { defineOperation, verbRow } from "./define.js";
import { asOf, by, listOf } from "./fields.js";
import {
  attestedShape,
  compactedShape,
  contextRecordShape,
  weightsShape,
} from "./learning-shapes.js";

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

const attestOperation = defineOperation({
  name: "attest",
  verbs: ["attest"],
  kind: "write",
  summary: "Say how a task ended and which memories it used",
  help: `A success counts a use and a citation of each and pulls the weights of salience toward them. A
failure with the reason factual_error or wrong_assumption takes a citation away and pushes the weights
off. Any other failure notes the use and teaches nothing. Unknown, hidden and forgotten memories are
skipped.`,
  example: "cortex attest trip-1 success home",
  input: z.strictObject({
    intentId: z.string().describe("the task"),
    outcome: z.enum(["success", "failure"]).describe("how it ended: success or failure"),
    cited: listOf(z.string()).describe("the memories used: ids, URIs or external ids"),
    reason: z
      .string()
      .describe("why; factual_error and wrong_assumption blame the memories")
      .exactOptional(),
    by,
  }),
  output: attestedShape,
  call: (memory, input, { access }) => memory.attest(input, { access }),
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

const weightsOperation = defineOperation({
  name: "weights",
  verbs: ["weights"],
  kind: "read",
  summary: "Show the weights of salience",
  help: "How much each factor counts, as learned from attestations so far.",
  example: "cortex weights",
  input: z.strictObject({ asOf }),
  output: weightsShape,
  call: (memory, options, { access }) => memory.weights({ ...options, access }),
  cli: { command: "weights", group: "learning", human: showWeights },
});

const stepFields = {
  intentId: z.string().describe("the task"),
  stepId: z.string().describe("the step of the task"),
};

const compactOperation = defineOperation({
  name: "compactContext",
  verbs: ["compactContext"],
  kind: "write",
  summary: "Make a context smaller, and remember what was in it",
  help: `Pinned and load-bearing memories stay in their medium form, all others in their short one. Nothing is
dropped: what does not fit the budget even so fails with ERR_BUDGET. The same task and step replace the
record before.`,
  example: "cortex compact trip-1 step-3 home rule --load-bearing home",
  input: z.strictObject({
    ...stepFields,
    inContext: listOf(z.string()).describe("the memories in it: ids, URIs or external ids"),
    loadBearing: listOf(z.string())
      .describe("one of them that stays in full; may be repeated")
      .exactOptional(),
    budgetTokens: z.int().min(1).describe("4000 when not given").exactOptional(),
    by,
  }),
  output: compactedShape,
  call: (memory, input, { access }) => memory.compactContext(input, { access }),
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

const recordOperation = defineOperation({
  name: "contextRecord",
  verbs: ["contextRecord"],
  kind: "read",
  summary: "Show what compact left at a step of a task",
  help: "Texts are read now: what was forgotten since is marked, not told.",
  example: "cortex context-record trip-1 step-3",
  input: z.strictObject(stepFields),
  output: contextRecordShape,
  absent: ({ intentId, stepId }) => `stepId: no record of ${intentId}, ${stepId}`,
  call: (memory, { intentId, stepId }, { access }) =>
    memory.contextRecord(intentId, stepId, { access }),
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
