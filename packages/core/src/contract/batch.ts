/**
 * The verb that does many writes, updates and links in one commit.
 */
import * as z from "zod";
import type { CortexError } from "../errors.js";
import { LIMITS } from "../limits.js";
import { anyObject, listOf, listUpTo, noted } from "./fields.js";
import { type EdgeInput, edgeFields, edgeKind, type LooseEnd } from "./links.js";
import { idempotencyKey, type UpdateInput, type Upsert, type WriteInput } from "./memory.js";
import {
  type EdgeResult,
  edgeResultShape,
  type Ref,
  seqShape,
  type WriteResult,
  writtenShape,
} from "./shapes.js";
import { type, verb } from "./verb.js";

/** An end of a link in a batch: a memory, or the ref of an earlier item. */
export type BatchEnd = Ref | { readonly ref: string };

/** A link in a batch. */
export type BatchLink = EdgeInput & {
  readonly from: BatchEnd;
  readonly kind: string;
  readonly to: BatchEnd;
  /** As `addEdge` has it; in a loose batch. */
  readonly loose?: LooseEnd | undefined;
};

/** One item of a batch. */
export type BatchItem =
  | {
      readonly write: WriteInput;
      readonly ref?: string | undefined;
      /** As `write` has it; in a loose batch. */
      readonly upsert?: Upsert | undefined;
    }
  | { readonly update: { readonly id: Ref } & UpdateInput; readonly ref?: string | undefined }
  | { readonly link: BatchLink };

const end = noted(
  z.union([
    z.string().meta({ minLength: 1, maxLength: LIMITS.externalIdBytes }),
    z.strictObject({ ref: z.string().min(1) }),
  ]),
  { code: "ERR_REF" },
);

/** A link in a batch, as the check reads it; whether its ends are there is known when it is made. */
export const batchLink = z.strictObject({ from: end, kind: edgeKind, to: end, ...edgeFields });

const failureShape = z.object({
  ok: z.literal(false),
  error: z.object({ code: z.string(), message: z.string(), details: anyObject }),
});

const batchShape = z.object({
  results: listOf(
    z.union([
      writtenShape.extend({ ok: z.literal(true) }),
      edgeResultShape.extend({ ok: z.literal(true) }),
      failureShape,
    ]),
  ),
  seq: seqShape,
});

/** What became of one item. */
export type BatchItemResult =
  | ({ readonly ok: true } & WriteResult)
  | ({ readonly ok: true } & EdgeResult)
  | {
      readonly ok: false;
      readonly error: CortexError;
      /** What was written all the same: a rival, in a loose batch. */
      readonly written?: WriteResult;
    };

/** What became of a batch. */
export interface BatchResult {
  readonly results: readonly BatchItemResult[];
  readonly seq: number;
}

/** What is told of an item: one of the three, and perhaps a name for it. */
const ITEM_SHOWN = {
  type: "object",
  oneOf: ["write", "update", "link"].map((verb) => ({
    type: "object",
    properties: { [verb]: { type: "object" }, ref: { type: "string", minLength: 1 } },
    required: [verb],
    additionalProperties: false,
  })),
} as const;

/** Does many changes. */
export const batch = verb("batch", {
  summary: "Do many writes, updates and links in one commit",
  kind: "write",
  policy: "write",
  standing: "overrule",
  retry: "key",
  args: {
    // Each item is checked by its own verb's contract, so that what is wrong is named inside it.
    items: listUpTo(z.custom<BatchItem>().meta(ITEM_SHOWN), LIMITS.batchItems, 1).describe(
      "what to do, in order",
    ),
  },
  labels: type<[items: readonly BatchItem[]]>(),
  options: {
    atomic: noted(
      z.boolean().describe("all items or none; false lets good ones stand; true when not given"),
      { standard: true, flag: "let good items stand when others fail" },
    ).optional(),
    idempotencyKey,
  },
  local: ["loose"],
  locals: type<{
    /**
     * True lets items say `upsert` and `loose`. What became a rival of an open version is a failure
     * then: it fails an atomic batch, and in another one it stands and its ref names nothing. A ref that
     * is given again names the last item that stood.
     */
    readonly loose?: boolean | undefined;
  }>(),
  output: batchShape,
  answer: type<BatchResult>(),
});
