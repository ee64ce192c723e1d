/**
 * The verb that destroys: one memory, or all that stand under a session, a slot or a tag.
 */
import * as z from "zod";
import { MEMORY_TYPES } from "../records/types.js";
import { listOf, type ShapeOf, words } from "./fields.js";
import { by, idempotencyKey, memoryRef, reason, session, slot, tag } from "./memory.js";
import { memoryIdShape, type Ref, seqShape } from "./shapes.js";
import { type, verb } from "./verb.js";

const forgottenShape = z.object({
  /** The memory that was named; absent where a session, a slot or a tag was. */
  id: memoryIdShape.exactOptional(),
  seq: seqShape,
  /** Every memory that was erased; empty when it had been already. */
  erased: listOf(memoryIdShape),
  /** Memories derived from it that are still there. */
  derived: listOf(memoryIdShape),
  /** Edges that went with it. */
  edges: z.int(),
  /** True where nothing was done. */
  dryRun: z.boolean().exactOptional(),
  /** What a dry run would forget, as it reads now. */
  memories: listOf(
    z.object({ id: memoryIdShape, type: words(MEMORY_TYPES), text: z.string() }),
  ).exactOptional(),
  /** True where there is more than one call forgets: repeat it. */
  more: z.boolean().exactOptional(),
});

/** What a forget did. */
export interface ForgetResult extends ShapeOf<typeof forgottenShape> {}

/** Several memories by one name. */
export type ForgetGroup =
  | { readonly session: string }
  | { readonly slot: string }
  | { readonly tag: string };

/** The fields that name what is forgotten. */
export const FORGET_BY = ["id", "session", "slot", "tag"] as const;

/** Destroys the content of a memory, or of all that stand under one name. */
export const forget = verb("forget", {
  summary: "Destroy a memory's content for good; proofs made before still verify",
  kind: "write",
  policy: "owner",
  standing: "overrule",
  retry: "key",
  args: { id: memoryRef.optional(), reason: reason.describe("why it is forgotten") },
  labels: type<[what: Ref | ForgetGroup, reason: string]>(),
  options: {
    session: session.describe("every turn of this conversation, instead of an id").optional(),
    slot: slot.describe("every value that this slot ever had, instead of an id").optional(),
    tag: tag.describe("every memory under this tag, hidden ones too, instead of an id").optional(),
    cascade: z.boolean().describe("forget what was derived from it as well").optional(),
    dryRun: z.boolean().describe("list what would be forgotten; forget nothing").optional(),
    by,
    idempotencyKey,
  },
  together: [{ exactlyOne: FORGET_BY }],
  output: forgottenShape,
  answer: type<ForgetResult>(),
});
