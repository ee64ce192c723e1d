/**
 * Operations on conversations.
 */
import { showRemembered, showSession } from "../render/memories.js";
import { verbRow } from "./define.js";

const rememberOperation = verbRow("remember", {
  help: `Reads a file, or stdin for \`-\` or no argument: a JSON array of turns, JSON lines, or plain text,
which is one turn of the user. A turn is {"role", "content"} and may have id, index, speaker, at,
toolName and metadata. Giving turns again is safe: by their id or index, and without both as history
that is sent again. Without --session they go into one that is made for this run.`,
  example: 'echo "I moved to Porto. Never book me a red-eye." | cortex remember --session chat-1',
  cli: {
    command: "remember",
    store: "create",
    group: "sessions",
    arguments: [{ body: "turns", label: "FILE|-", file: true }],
    human: showRemembered,
  },
});

const sessionOperation = verbRow("session", {
  help: "A session without turns is an empty answer, not a failure.",
  example: "cortex session chat-1",
  cli: {
    command: "session",
    group: "sessions",
    arguments: [{ field: "session", label: "SESSION" }],
    human: showSession,
  },
});

/** The operations on conversations. */
export const SESSION_OPERATIONS = [rememberOperation, sessionOperation];
