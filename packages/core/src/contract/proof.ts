/**
 * The verbs on what a store commits to: its root, checkpoints, snapshots, and proofs for whoever trusts
 * one of those.
 */
import * as z from "zod";
import { CHECKPOINT_CHARS_MAX, type Signer } from "../journal/checkpoint.js";
import { PROOF_ITEMS_MAX, type Proof } from "../journal/proof.js";
import { LIMITS } from "../limits.js";
import { patternField } from "../records/fields.js";
import {
  edgeIdField,
  listOf,
  listUpTo,
  noted,
  refField,
  type ShapeOf,
  textField,
  whole,
} from "./fields.js";
import { edgeKind } from "./links.js";
import {
  by,
  idempotencyKey,
  kind,
  lifecycles,
  limitUpTo,
  memoryRef,
  memoryType,
  session,
  slot,
  tag,
} from "./memory.js";
import { type Memory, memoryShape, proofShape, type Ref, seqShape, timeShape } from "./shapes.js";
import { type, verb } from "./verb.js";

const reading = {
  kind: "read",
  policy: "owner",
  args: {},
} as const;

/** The root over everything, in hex, and the position it stands for. */
const rootShape = z.object({ root: z.string(), seq: seqShape });

/** The root over everything, in hex, and the position it stands for. */
export interface RootAt extends ShapeOf<typeof rootShape> {}

/** Reads the root. */
export const root = verb("root", {
  ...reading,
  summary: "Show the root over everything",
  options: {},
  output: rootShape,
  answer: type<RootAt>(),
});

const checkpointShape = rootShape.extend({
  /** To pin, mail or publish; `verify` takes it as the trusted checkpoint. */
  checkpoint: z.string(),
});

/** The roots of a position, and the text that states them. */
export interface CheckpointAt extends ShapeOf<typeof checkpointShape> {}

/** Reads the checkpoint of the present. */
export const checkpoint = verb("checkpoint", {
  ...reading,
  summary: "Show the checkpoint of the current position",
  options: {},
  output: checkpointShape,
  answer: type<CheckpointAt>(),
});

const snapshotShape = checkpointShape.extend({
  /** Which one, from 1; two processes that seal at one instant may both take the same number. */
  number: z.int(),
  reason: z.string(),
  /** Who sealed it. */
  by: z.string(),
  /** Time of the last entry it covers. */
  at: timeShape,
});

/** A snapshot, as callers see it. */
export interface SnapshotInfo extends ShapeOf<typeof snapshotShape> {}

/** Seals the present. */
export const snapshot = verb("snapshot", {
  summary: "Seal the roots of the current position under a number",
  kind: "write",
  policy: "owner",
  standing: "none",
  retry: "key",
  args: {
    reason: textField({ maxBytes: LIMITS.reasonBytes, control: true })
      .describe("why; explicit when not given")
      .optional(),
  },
  labels: type<[reason?: string | undefined]>(),
  options: { by, idempotencyKey },
  local: ["signer"],
  /** Signs the checkpoint; whoever owns a key passes one in. */
  locals: type<{ readonly signer?: Signer | undefined }>(),
  output: snapshotShape,
  answer: type<SnapshotInfo>(),
});

/** Lists snapshots. */
export const snapshots = verb("snapshots", {
  ...reading,
  summary: "List snapshots, newest first",
  options: {
    seq: whole(0).describe("only those of this position").optional(),
    root: patternField(/^[0-9a-f]{64}$/, "a root in 64 hex digits")
      .describe("only those of this root, in hex")
      .optional(),
    limit: limitUpTo(LIMITS.listLimit),
  },
  output: z.object({ snapshots: listOf(snapshotShape) }),
  member: "snapshots",
  answer: type<readonly SnapshotInfo[]>(),
});

const edgeRef = z.strictObject({
  from: refField("where the edge starts"),
  kind: edgeKind,
  to: refField("where the edge ends"),
  n: whole(0, 0xffffffff)
    .describe("which of several; 0, the one addEdge makes, when not given")
    .optional(),
});

/** An edge by its ends and kind. */
export type EdgeRef = z.output<typeof edgeRef>;

const proven = {
  memories: listUpTo(memoryRef, PROOF_ITEMS_MAX)
    .describe("the memories: ids, URIs or external ids")
    .optional(),
  edges: listUpTo(z.union([edgeIdField, edgeRef]), PROOF_ITEMS_MAX)
    .describe("an edge by its id; may be repeated")
    .optional(),
  seqs: listUpTo(noted(whole(0), { code: "ERR_AS_OF" }), PROOF_ITEMS_MAX)
    .describe("a journal entry; may be repeated")
    .optional(),
};

/** What to prove: memories, edges by their ends and kind or by their ids, and entries by number. */
export type ProveRequest = z.input<z.ZodObject<typeof proven>>;

/** Proves what is there, and what is not. */
export const prove = verb("prove", {
  ...reading,
  summary: "Prove memories, edges and entries to whoever trusts a checkpoint",
  policy: "filtered",
  args: { memories: proven.memories },
  labels: type<[what: readonly Ref[] | ProveRequest]>(),
  options: {
    edges: proven.edges,
    seqs: proven.seqs,
    since: noted(
      z
        .string()
        .max(CHECKPOINT_CHARS_MAX)
        .describe("the older checkpoint that is trusted: the proof shows that this one extends it"),
      { file: true, code: "ERR_CHECKPOINT_MALFORMED" },
    ).optional(),
  },
  together: [{ notEmpty: ["memories", "edges", "seqs", "since"] }],
  output: proofShape,
  answer: type<Proof>(),
});

/** Most memories in one slice. */
export const SHARE_MAX = 1000;

const sliceShape = z.object({
  memories: listOf(memoryShape),
  proof: proofShape,
  /** The checkpoint the proof is for, unsigned. */
  checkpoint: z.string(),
  seq: seqShape,
});

/** Memories with their proof. */
export interface SharedSlice extends Omit<ShapeOf<typeof sliceShape>, "memories"> {
  readonly memories: readonly Memory[];
}

/** Hands out memories with a proof: those that match every field given. */
export const share = verb("share", {
  ...reading,
  summary: "Hand out the memories that match, with a proof",
  options: {
    ids: listUpTo(memoryRef, LIMITS.batchItems).describe("a memory; may be repeated").optional(),
    types: listUpTo(memoryType).describe("a type; may be repeated").optional(),
    tags: listUpTo(tag).describe("a tag they must have; may be repeated").optional(),
    kind: kind.describe("an open label").optional(),
    slot: slot.describe("memories of this slot").optional(),
    session: session.describe("the turns of this conversation").optional(),
    lifecycles,
    limit: limitUpTo(SHARE_MAX),
  },
  output: sliceShape,
  answer: type<SharedSlice>(),
});
