/**
 * Operations on conversations.
 */
import { TURN_ROLES } from "@cortex-memory/core";
import * as z from "zod";
import { showRemembered, showSession } from "../render/memories.js";
import { defineOperation } from "./define.js";
import { asOf, by, headFields, limit, listOf, source, timeField, words } from "./fields.js";
import { rememberedShape, sessionShape } from "./shapes.js";

const turn = z.strictObject({
  role: words(TURN_ROLES),
  content: z.string(),
  speaker: z.string().exactOptional(),
  at: timeField("world time of the turn").exactOptional(),
  toolName: z.string().exactOptional(),
  index: z.int().min(0).exactOptional(),
});

const rememberOperation = defineOperation({
  name: "remember",
  verbs: ["remember"],
  kind: "write",
  summary: "Keep the turns of a conversation verbatim",
  help: `Reads a file, or stdin for \`-\` or no argument: a JSON array of turns, JSON lines, or plain text,
which is one turn of the user. A turn is {"role", "content"} and may have speaker, at, toolName and
index. Turns with an index may be given again: what is there stays.`,
  example: 'echo "I moved to Porto. Never book me a red-eye." | cortex remember --session chat-1',
  input: z.strictObject({
    turns: listOf(turn).describe("the turns, in order"),
    session: z.string().describe("the conversation they belong to"),
    source,
    visibility: headFields.visibility,
    by,
  }),
  output: rememberedShape,
  call: (memory, { turns, ...options }, { access }) =>
    memory.remember(turns, { ...options, access }),
  cli: {
    command: "remember",
    store: "create",
    group: "sessions",
    arguments: [{ body: "turns", label: "FILE|-", file: true }],
    human: showRemembered,
  },
});

const sessionOperation = defineOperation({
  name: "session",
  verbs: ["session"],
  kind: "read",
  summary: "Read a conversation back, in order",
  help: "A session without turns is an empty answer, not a failure.",
  example: "cortex session chat-1",
  input: z.strictObject({
    session: z.string().describe("the conversation"),
    fromIndex: z.int().min(0).describe("start at this turn").exactOptional(),
    limit,
    asOf,
  }),
  output: sessionShape,
  call: (memory, { session, ...options }, { access }) =>
    memory.session(session, { ...options, access }),
  cli: {
    command: "session",
    group: "sessions",
    arguments: [{ field: "session", label: "SESSION" }],
    human: showSession,
  },
});

/** The operations on conversations. */
export const SESSION_OPERATIONS = [rememberOperation, sessionOperation];
