/**
 * What waits for a decision, deciding it, and the values a slot has had.
 */
import { showReview, showSettled, showSlot } from "../render/review.js";
import { verbRow } from "./define.js";

const reviewOperation = verbRow("review", {
  help: `Contradictions between live memories, rivals that a source may not put in the place of a more
trusted one, versions that a conflict left open, disputed and provisional memories. Near duplicates are
listed when their kind is named: they are looked for among all memories. A page may be short; the cursor
reads on.`,
  example: "cortex review ls --kind rival",
  cli: {
    command: "review ls",
    group: "memories",
    flags: { kinds: "kind" },
    human: showReview,
  },
});

const settleOperation = verbRow("settle", {
  help: `keep_one keeps the side named by --keep and archives the other; keep_both says they do not
contradict each other, or are not duplicates; merge writes --text in the place of both; retract takes back what is not kept.
The entry can be reverted, which brings everything back as it was.`,
  example: `cortex review settle "$ITEM" --decision keep_one --keep home --reason "Ada said so"`,
  cli: {
    command: "review settle",
    group: "memories",
    arguments: [{ field: "item", label: "ITEM" }],
    human: showSettled,
  },
});

const slotOperation = verbRow("slotHistory", {
  help: "A slot nobody used has no values.",
  example: 'cortex slot "home city"',
  cli: {
    command: "slot",
    group: "memories",
    arguments: [{ field: "slot", label: "NAME" }],
    human: showSlot,
  },
});

/** The review and its decisions, and the history of slots. */
export const REVIEW_OPERATIONS = [reviewOperation, settleOperation, slotOperation];
