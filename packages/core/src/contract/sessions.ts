/**
 * The verbs on conversations: keeping turns word for word, reading them back in order, and listing which
 * conversations there are.
 */
import * as z from "zod";
import { INDEX_MAX, LIMITS } from "../limits.js";
import { anyJsonField, jsonObjectField, LABEL, strictFields } from "../records/fields.js";
import { namesOf, TURN_ROLES } from "../records/types.js";
import {
  anyObject,
  listOf,
  listUpTo,
  type ShapeOf,
  textField,
  timeOf,
  whole,
  words,
} from "./fields.js";
import { asOf, by, headFields, idempotencyKey, limitUpTo, source } from "./memory.js";
import { memoryIdShape, positionShape, seqShape, timeShape } from "./shapes.js";
import { type, verb } from "./verb.js";

const sessionName = textField({ maxBytes: LIMITS.sessionBytes });

/** The roles a turn may be given: `tool`, as chat programs call it, is kept as `tool_result`. */
export const GIVEN_ROLES = [...namesOf(TURN_ROLES), "tool"] as const;

const turnText = textField({ maxBytes: LIMITS.batchBytes, blank: true, control: true });

/** One part of what a turn says, as chat programs give it; what is no text is kept by its name. */
const contentPart = z
  .object({ type: textField(LABEL), text: turnText.optional() })
  .catchall(anyJsonField);

/** One turn as callers give it. */
const turnSchema = strictFields({
  role: z.enum(GIVEN_ROLES),
  content: z
    .union([turnText, listUpTo(contentPart, LIMITS.listItems, 1)])
    .describe("what was said: a text, or parts, of which texts are kept and others named"),
  id: textField(LABEL)
    .describe("the name that the chat program has for it; given again, the turn is there already")
    .optional(),
  speaker: textField({ maxBytes: LIMITS.speakerBytes }).optional(),
  at: timeOf("world time of the turn").optional(),
  toolName: textField(LABEL).optional(),
  index: whole(0, INDEX_MAX)
    .describe("its place in the session; after the last one when not given")
    .optional(),
  metadata: jsonObjectField
    .describe("what your program keeps with it; an object of any members")
    .optional(),
});

/** One turn of a conversation, as a caller gives it. */
export interface TurnInput extends Readonly<z.input<typeof turnSchema>> {}

/** One turn, checked. */
export type TurnAsked = z.output<typeof turnSchema>;

const rememberedShape = z.object({
  session: z.string(),
  /** There, and true, when no session was named: this one is made once for each process. */
  madeSession: z.literal(true).exactOptional(),
  turns: listOf(
    z.object({
      id: memoryIdShape,
      uri: z.string(),
      index: z.int(),
      /** False when the turn is there already. */
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
  retry: "key",
  args: { turns: listUpTo(turnSchema, LIMITS.rememberTurns, 1).describe("the turns, in order") },
  labels: type<[turns: readonly TurnInput[]]>(),
  options: {
    session: sessionName
      .describe("the conversation they belong to; one that is made for this process when not given")
      .optional(),
    source,
    visibility: headFields.visibility,
    by,
    idempotencyKey,
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
  /** The name that the chat program has for it. */
  messageId: z.string().exactOptional(),
  metadata: anyObject.exactOptional(),
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

const sessionSummaryShape = z.object({
  session: z.string(),
  /** Turns that stand in it. */
  turns: z.int(),
  /** World time of its first and last turn; when they were kept, where nobody said. */
  firstAt: timeShape,
  lastAt: timeShape,
  /** How it begins, in brief. */
  opening: z.string(),
});

const sessionsShape = z.object({
  sessions: listOf(sessionSummaryShape),
  /** How many conversations there are, listed or not. */
  distinct: z.int(),
  seq: positionShape,
});

/** One conversation in a list. */
export interface SessionSummary extends ShapeOf<typeof sessionSummaryShape> {}

/** Conversations, and how many there are. */
export interface SessionList extends ShapeOf<typeof sessionsShape> {}

/** Lists conversations. */
export const sessions = verb("sessions", {
  summary: "List the conversations, the one that was added to last first",
  kind: "read",
  policy: "filtered",
  args: {},
  options: {
    prefix: textField({ maxBytes: LIMITS.sessionBytes, blank: true })
      .describe("only conversations whose name starts so")
      .optional(),
    limit: limitUpTo(LIMITS.listLimit),
    asOf,
  },
  output: sessionsShape,
  answer: type<SessionList>(),
});
