/**
 * The verbs by which a store learns from what became of tasks: how one ended, the weights that follow
 * from it, and contexts that were made smaller on the way.
 */
import * as z from "zod";
import { LIMITS } from "../limits.js";
import { LIFECYCLES } from "../records/types.js";
import { listOf, listUpTo, noted, type ShapeOf, textField, whole, words } from "./fields.js";
import { asOf, by, idempotencyKey } from "./memory.js";
import { memoryIdShape, type Ref, seqShape, timeShape, weightsShape } from "./shapes.js";
import { type, verb } from "./verb.js";

const intentId = textField({ maxBytes: LIMITS.intentIdBytes }).describe("the task");
const stepId = textField({ maxBytes: LIMITS.intentIdBytes }).describe("the step of the task");

/** What an agent says it used: text that names no memory is skipped, never refused. */
const citation = noted(z.string() as z.ZodType<Ref, Ref>, { code: "ERR_BAD_ID" });

/** Citations; a list that is none, or too short, is refused as such and not as a bad id. */
function citations(max: number, min: number) {
  return noted(listUpTo(citation, max, min), { code: "ERR_INVALID" });
}

const attestationShape = z.object({
  /** The entry with what was attested. */
  seq: seqShape,
  /** The entry with what became of the weights: the next one. */
  learnSeq: seqShape,
  affected: listOf(memoryIdShape),
  /** What was cited and names no memory that may be attested: unknown, hidden or forgotten. */
  skipped: listOf(z.string()),
  /** Citations that all the affected memories gained, or lost where it is below 0. */
  citationsDelta: z.int(),
  previousWeights: weightsShape,
  weights: weightsShape,
  weightsUpdated: z.boolean(),
});

/** What an attestation did. */
export interface AttestResult extends ShapeOf<typeof attestationShape> {}

/** Says how a task ended. */
export const attest = verb("attest", {
  summary: "Say how a task ended and which memories it used",
  kind: "write",
  policy: "write",
  standing: "claim",
  retry: "key",
  args: {},
  options: {
    intentId,
    cited: citations(LIMITS.cited, 1).describe("the memories used: ids, URIs or external ids"),
    outcome: z.enum(["success", "failure"]).describe("how it ended: success or failure"),
    reason: textField({ maxBytes: LIMITS.attestReasonBytes, control: true })
      .describe("why; factual_error and wrong_assumption blame the memories")
      .optional(),
    by,
    idempotencyKey,
  },
  output: attestationShape,
  answer: type<AttestResult>(),
});

const weightsAtShape = z.object({
  weights: weightsShape,
  /** False until an attestation has moved them. */
  learned: z.boolean(),
  seq: seqShape,
});

/** The weights of salience at a position. */
export interface WeightsAt extends ShapeOf<typeof weightsAtShape> {}

/** Reads the weights of salience. */
export const weights = verb("weights", {
  summary: "Show the weights of salience",
  kind: "read",
  policy: "owner",
  args: {},
  options: { asOf },
  output: weightsAtShape,
  answer: type<WeightsAt>(),
});

const unit = z.number().min(0).max(1);
const compactItemShape = z.object({ uri: z.string(), text: z.string(), salience: unit });

/** A memory of a compacted context. */
export interface CompactItem extends ShapeOf<typeof compactItemShape> {}

const compactedShape = z.object({
  /** In their medium form: load-bearing or pinned. */
  kept: listOf(compactItemShape),
  /** In their short form. */
  compacted: listOf(compactItemShape),
  /** What was named and is unknown, hidden or forgotten. */
  skipped: listOf(z.string()),
  /** Of all texts together. */
  tokens: z.int(),
  /** The name of the record. */
  recordUri: z.string(),
  seq: seqShape,
});

/** A compacted context. */
export interface CompactResult extends ShapeOf<typeof compactedShape> {}

/** Makes a context smaller. */
export const compactContext = verb("compactContext", {
  summary: "Make a context smaller, and remember what was in it",
  kind: "write",
  policy: "owner",
  standing: "claim",
  retry: "key",
  args: {},
  options: {
    inContext: citations(LIMITS.compactItems, 1).describe(
      "the memories in it: ids, URIs or external ids",
    ),
    loadBearing: citations(LIMITS.compactItems, 0)
      .describe("one of them that stays in full; may be repeated")
      .optional(),
    intentId,
    stepId,
    budgetTokens: whole(1).describe(`${LIMITS.compactTokensDefault} when not given`).optional(),
    by,
    idempotencyKey,
  },
  output: compactedShape,
  answer: type<CompactResult>(),
});

const recordedItemShape = z.object({
  uri: z.string(),
  /** The version the record names, kept ones in their medium form; absent when forgotten. */
  text: z.string().exactOptional(),
  /** What has become of it since. */
  lifecycle: words(LIFECYCLES),
});

/** A memory of a context record, as far as it can be read now. */
export interface RecordedItem extends ShapeOf<typeof recordedItemShape> {}

const contextRecordShape = z.object({
  recordUri: z.string(),
  kept: listOf(recordedItemShape),
  compacted: listOf(recordedItemShape.extend({ salience: unit })),
  budgetTokens: z.int(),
  /** When it was compacted, and by whom. */
  at: timeShape,
  by: z.string(),
  /** The entry that holds the record. */
  recordSeq: seqShape,
  seq: seqShape,
});

/** What was in a context at one step of a task. */
export interface RecordedContext extends ShapeOf<typeof contextRecordShape> {}

/** Reads what `compactContext` left. */
export const contextRecord = verb("contextRecord", {
  summary: "Show what compact left at a step of a task",
  kind: "read",
  policy: "owner",
  args: { intentId, stepId },
  labels: type<[intentId: string, stepId: string]>(),
  options: {},
  output: contextRecordShape,
  answer: type<RecordedContext | undefined>(),
  mayMiss: true,
});
