/**
 * Operations that describe a graph and keep its store in order: the words in use, tags, upkeep.
 */
import * as z from "zod";
import { showMaintained } from "../render/upkeep.js";
import { defineOperation } from "./define.js";
import { listOf } from "./fields.js";

const count = z.int();
const seq = z.int();

/** What upkeep did, or would do. */
export const maintainedShape = z.object({
  dryRun: z.boolean(),
  steps: listOf(z.object({ step: z.string(), done: count, left: count })),
  changes: listOf(
    z.object({
      step: z.enum(["expire", "confirm", "merge", "relate"]),
      memories: listOf(z.string()),
      reason: z.string(),
      seq: seq.exactOptional(),
    }),
  ),
  complete: z.boolean(),
  seq,
});

const maintainOperation = defineOperation({
  name: "maintain",
  verbs: ["maintain"],
  kind: "write",
  summary: "Do what keeps the store quick, small and in order",
  help: `The text index is written out and merged, vectors of models that are not used any more are removed,
and claims that independent voices back are confirmed. Archiving what has expired, merging memories that
say the same in the same words, and relating those that name the same rare thing are asked for one by one.
Every change of a memory is an entry that revert takes back. --dry-run says what there is to do.`,
  example: "cortex maintain --dry-run",
  input: z.strictObject({
    dryRun: z.boolean().describe("say what there is to do; change nothing").exactOptional(),
    archiveExpired: z
      .boolean()
      .describe("archive what has expired, by its expiresAt or the ttlDays of its kind")
      .exactOptional(),
    merge: z
      .boolean()
      .describe("merge memories that say the same in the same words")
      .exactOptional(),
    relate: z
      .boolean()
      .describe("join memories that name the same rare thing, by same_topic")
      .exactOptional(),
    snapshotEveryMs: z
      .int()
      .min(1)
      .describe("seal a snapshot if the last one is older than so many milliseconds")
      .exactOptional(),
    maxChanges: z
      .int()
      .min(1)
      .max(10_000)
      .describe("most changes of memories in this run; 1000 when not given")
      .exactOptional(),
    budgetMs: z
      .int()
      .min(1)
      .describe("how long it may take, about, in milliseconds; 60000 when not given")
      .exactOptional(),
  }),
  output: maintainedShape,
  call: (memory, options, { access }) => memory.maintain({ ...options, access }),
  cli: { command: "maintain", group: "store", human: showMaintained },
});

/** The operations that keep a store in order. */
export const UPKEEP_OPERATIONS = [maintainOperation];
