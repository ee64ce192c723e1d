/**
 * The verbs on conversations: keeping turns word for word, and reading them back in order.
 */
import * as z from "zod";
import { INDEX_MAX, LIMITS } from "../limits.js";
import { LABEL, strictFields } from "../records/fields.js";
import { TURN_ROLES } from "../records/types.js";
import { listOf, listUpTo, type ShapeOf, textField, timeOf, whole, words } from "./fields.js";
import { asOf, by, headFields, limitUpTo, source } from "./memory.js";
import { memoryIdShape, positionShape, seqShape, timeShape } from "./shapes.js";
import { type, verb } from "./verb.js";

const sessionName = textField({ maxBytes: LIMITS.sessionBytes });

/** One turn as callers give it. */
const turnSchema = strictFields({
  role: words(TURN_ROLES),
  content: textField({ maxBytes: LIMITS.batchBytes, blank: true, control: true }),
  speaker: textField({ maxBytes: LIMITS.speakerBytes }).optional(),
  at: timeOf("world time of the turn").optional(),
  toolName: textField(LABEL).optional(),
  index: whole(0, INDEX_MAX)
    .describe("its place in the session; after the last one when not given")
    .optional(),
});

/** One turn of a conversation, as a caller gives it. */
export interface TurnInput extends Readonly<z.input<typeof turnSchema>> {}

/** One turn, checked. */
export type TurnAsked = z.output<typeof turnSchema>;

const rememberedShape = z.object({
  session: z.string(),
  turns: listOf(
    z.object({
      id: memoryIdShape,
      uri: z.string(),
      index: z.int(),
      /** False when the place was taken already: the turn that is there stays. */
      added: z.boolean(),
    }),
  ),
  /** Turns that held nothing but text which memory itself had rendered: they are not kept. */
  dropped: z.int(),
  seq: seqShape,
});

/** What became of each turn. */
export interface RememberResult extends ShapeOf<typeof rememberedShape> {}

/** Keeps turns. */
export const remember = verb("remember", {
  summary: "Keep the turns of a conversation verbatim",
  kind: "write",
  policy: "write",
  standing: "claim",
  retry: "natural",
  args: { turns: listUpTo(turnSchema, LIMITS.rememberTurns, 1).describe("the turns, in order") },
  labels: type<[turns: readonly TurnInput[]]>(),
  options: {
    session: sessionName.describe("the conversation they belong to"),
    source,
    visibility: headFields.visibility,
    by,
  },
  output: rememberedShape,
  answer: type<RememberResult>(),
});

const turnShape = z.object({
  id: memoryIdShape,
  uri: z.string(),
  index: z.int(),
  role: words(TURN_ROLES),
  content: z.string(),
  speaker: z.string().exactOptional(),
  at: timeShape.exactOptional(),
  toolName: z.string().exactOptional(),
  seq: seqShape,
});

/** A turn as read back; chunks are joined again. */
export interface Turn extends ShapeOf<typeof turnShape> {}

const sessionShape = z.object({
  session: z.string(),
  turns: listOf(turnShape),
  /** The index to read on from; absent at the end. */
  nextIndex: z.int().exactOptional(),
  seq: positionShape,
});

/** A page of a conversation. */
export interface SessionPage extends ShapeOf<typeof sessionShape> {}

/** Reads turns. */
export const session = verb("session", {
  summary: "Read a conversation back, in order",
  kind: "read",
  policy: "filtered",
  standing: "none",
  retry: "natural",
  args: { session: sessionName.describe("the conversation") },
  labels: type<[session: string]>(),
  options: {
    fromIndex: whole(0, INDEX_MAX + 1)
      .describe("start at this turn")
      .optional(),
    limit: limitUpTo(LIMITS.listLimit),
    asOf,
  },
  output: sessionShape,
  answer: type<SessionPage>(),
});
