/**
 * What waits for a decision, deciding it, and the values a slot has had.
 */
import { DECISIONS, MEMORY_TYPES, REVIEW_KINDS, SOURCES, STATUSES } from "@cortex-memory/core";
import * as z from "zod";
import { showReview, showSettled, showSlot } from "../render/review.js";
import { defineOperation } from "./define.js";
import { asOf, by, limit, listOf, source, words } from "./fields.js";

const seq = z.int();
const timeMs = z.int();

const side = z.object({
  id: z.string(),
  uri: z.string(),
  type: words(MEMORY_TYPES),
  version: z.int(),
  text: z.string(),
  status: words(STATUSES),
  source: words(SOURCES),
  createdAt: timeMs,
  createdBy: z.string(),
  since: timeMs,
  slot: z.string().exactOptional(),
  flags: listOf(z.string()).exactOptional(),
});

/** A page of what is open. */
export const reviewShape = z.object({
  items: listOf(
    z.object({
      id: z.string(),
      kind: z.enum(REVIEW_KINDS),
      why: z.string(),
      sides: listOf(side),
      slot: z.string().exactOptional(),
    }),
  ),
  cursor: z.string().exactOptional(),
  seq,
});

/** A settlement. */
export const settledShape = z.object({
  item: z.string(),
  decision: z.enum(DECISIONS),
  seq,
  kept: listOf(z.string()),
  archived: listOf(z.string()),
});

/** The values of a slot. */
export const slotShape = z.object({
  slot: z.string(),
  values: listOf(
    z.object({
      id: z.string(),
      uri: z.string(),
      text: z.string(),
      current: z.boolean(),
      status: words(STATUSES),
      source: words(SOURCES),
      from: timeMs,
      to: timeMs.exactOptional(),
    }),
  ),
  more: z.boolean(),
  seq,
});

const reviewOperation = defineOperation({
  name: "review",
  verbs: ["review"],
  kind: "read",
  summary: "List what waits for a decision",
  help: `Contradictions between live memories, rivals that a source may not put in the place of a more
trusted one, versions that a conflict left open, disputed and provisional memories. Near duplicates are
listed when their kind is named: they are looked for among all memories. A page may be short; the cursor
reads on.`,
  example: "cortex review ls --kind rival",
  input: z.strictObject({
    kinds: listOf(z.enum(REVIEW_KINDS))
      .describe(
        `only this kind (${REVIEW_KINDS.join(", ")}); may be repeated; all but duplicate when not given`,
      )
      .exactOptional(),
    limit,
    cursor: z.string().describe("where the page before ended").exactOptional(),
  }),
  output: reviewShape,
  call: (memory, options, { access }) => memory.review({ ...options, access }),
  cli: {
    command: "review ls",
    group: "memories",
    flags: { kinds: "kind" },
    human: showReview,
  },
});

const settleOperation = defineOperation({
  name: "settle",
  verbs: ["settle"],
  kind: "write",
  summary: "Decide one item of the review",
  help: `keep_one keeps the side named by --keep and archives the other; keep_both says they do not
contradict each other, or are not duplicates; merge writes --text in the place of both; retract takes back what is not kept.
The entry can be reverted, which brings everything back as it was.`,
  example: `cortex review settle "$ITEM" --decision keep_one --keep home --reason "Ada said so"`,
  input: z.strictObject({
    item: z.string().describe("the item, as the review names it"),
    decision: z.enum(DECISIONS).describe(`one of ${DECISIONS.join(", ")}`),
    reason: z.string().describe("why"),
    keep: z
      .string()
      .describe("the side that stays: its id or URI; the URI of a version where versions are open")
      .exactOptional(),
    text: z.string().describe("what is true instead, for merge").exactOptional(),
    source,
    by,
  }),
  output: settledShape,
  call: (memory, { item, ...input }, { access }) => memory.settle(item, input, { access }),
  cli: {
    command: "review settle",
    group: "memories",
    arguments: [{ field: "item", label: "ITEM" }],
    human: showSettled,
  },
});

const slotOperation = defineOperation({
  name: "slotHistory",
  verbs: ["slotHistory"],
  kind: "read",
  summary: "Show the values a slot has had, newest first",
  help: "Each with the time for which it held. A slot nobody used has no values.",
  example: 'cortex slot "home city"',
  input: z.strictObject({
    slot: z.string().describe("the name of the slot"),
    limit,
    asOf,
  }),
  output: slotShape,
  call: (memory, { slot, ...options }, { access }) =>
    memory.slotHistory(slot, { ...options, access }),
  cli: {
    command: "slot",
    group: "memories",
    arguments: [{ field: "slot", label: "NAME" }],
    human: showSlot,
  },
});

/** The review and its decisions, and the history of slots. */
export const REVIEW_OPERATIONS = [reviewOperation, settleOperation, slotOperation];
