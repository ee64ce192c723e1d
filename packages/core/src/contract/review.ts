/**
 * The verbs on what waits for a decision: listing it, and deciding one item of it.
 */
import * as z from "zod";
import { LIMITS } from "../limits.js";
import { CONTENT } from "../records/fields.js";
import { MEMORY_TYPES, SOURCES, STATUSES } from "../records/types.js";
import { anyObject, listOf, listUpTo, refField, type ShapeOf, textField, words } from "./fields.js";
import { by, cursor, idempotencyKey, limitUpTo, source } from "./memory.js";
import { memoryIdShape, positionShape, seqShape, timeShape } from "./shapes.js";
import { type, verb } from "./verb.js";

/** What may be open, in the order in which it is listed. */
export const REVIEW_KINDS = [
  "contradiction",
  "rival",
  "siblings",
  "disputed",
  "provisional",
  "proposal",
  "duplicate",
] as const;

/** What is open. */
export type ReviewKind = (typeof REVIEW_KINDS)[number];

const sideShape = z.object({
  id: memoryIdShape,
  uri: z.string(),
  type: words(MEMORY_TYPES),
  version: z.int(),
  text: z.string(),
  status: words(STATUSES),
  source: words(SOURCES),
  createdAt: timeShape,
  createdBy: z.string(),
  /** Since when it holds, as far as it says; otherwise since it was written. */
  since: timeShape,
  slot: z.string().exactOptional(),
  /** Threats that the scanner saw in it. */
  flags: listOf(z.string()).exactOptional(),
});

/** One of the things that cannot all stand: a memory, or an open version of one. */
export interface ReviewSide extends ShapeOf<typeof sideShape> {}

const itemShape = z.object({
  /** Give it to `settle`. */
  id: z.string(),
  kind: z.enum(REVIEW_KINDS),
  /** Why it is listed, in one line. */
  why: z.string(),
  /**
   * Newest first for versions; for a contradiction, the one that was said to contradict first; for
   * duplicates, the shorter first.
   */
  sides: listOf(sideShape),
  /** The slot that a rival claims. */
  slot: z.string().exactOptional(),
  /** For a proposal, what was wished for, by whom and when; `settle` with `keep_one` does it. */
  proposal: z
    .object({
      verb: z.string(),
      input: anyObject,
      by: z.string(),
      source: words(SOURCES),
      at: timeShape,
      /** Threats that the scanner saw in it. */
      flags: listOf(z.string()).exactOptional(),
    })
    .exactOptional(),
});

/** One thing that waits for a decision. */
export interface ReviewItem extends ShapeOf<typeof itemShape> {}

const reviewShape = z.object({
  items: listOf(itemShape),
  /** Give it back to read on; absent at the end. */
  cursor: z.string().exactOptional(),
  seq: positionShape,
});

/** One page of what is open. */
export interface ReviewPage extends ShapeOf<typeof reviewShape> {}

/** Lists what is open. */
export const review = verb("review", {
  summary: "List what waits for a decision",
  kind: "read",
  policy: "filtered",
  args: {},
  options: {
    kinds: listUpTo(z.enum(REVIEW_KINDS), LIMITS.listItems, 1)
      .describe(
        `only this kind (${REVIEW_KINDS.join(", ")}); may be repeated; all but duplicate when not given`,
      )
      .optional(),
    limit: limitUpTo(LIMITS.listLimit),
    cursor,
  },
  output: reviewShape,
  answer: type<ReviewPage>(),
});

/** What can be decided. */
export const DECISIONS = ["keep_one", "keep_both", "merge", "retract"] as const;

/** What was decided. */
export type Decision = (typeof DECISIONS)[number];

const settlementShape = z.object({
  item: z.string(),
  decision: z.enum(DECISIONS),
  /** The entry; `revert` takes it back. */
  seq: seqShape,
  /** Memories that stay. */
  kept: listOf(memoryIdShape),
  /** Memories that became history. */
  archived: listOf(memoryIdShape),
});

/** What a settlement did. */
export interface Settlement extends ShapeOf<typeof settlementShape> {}

/** Decides one item. */
export const settle = verb("settle", {
  summary: "Decide one item of the review",
  kind: "write",
  policy: "write",
  standing: "overrule",
  retry: "key",
  args: {
    item: z
      .string()
      .max(LIMITS.externalIdBytes)
      .meta({ description: "the item, as the review names it", minLength: 1 }),
  },
  labels: type<[item: string]>(),
  options: {
    decision: z.enum(DECISIONS).describe(`one of ${DECISIONS.join(", ")}`),
    reason: textField({ maxBytes: LIMITS.reasonBytes, control: true }).describe("why"),
    keep: refField(
      "the side that stays: its id or URI; the URI of a version where versions are open",
    ).optional(),
    text: textField(CONTENT).describe("what is true instead, for merge").optional(),
    source,
    by,
    idempotencyKey,
  },
  output: settlementShape,
  answer: type<Settlement>(),
});
