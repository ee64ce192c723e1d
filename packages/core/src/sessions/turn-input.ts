/**
 * From a turn as a chat program gives it to a turn as it is kept: parts become one text, text that Cortex
 * itself rendered is taken out, and the program's own name for the turn becomes an external id.
 *
 * Also when two turns are the same one: who said it and what was said decide; what only one of them says
 * beside that does not tell them apart.
 */

import { toHex } from "../codec/keys.js";
import { utf8, utf8Length } from "../codec/text.js";
import type { TurnAsked } from "../contract/sessions.js";
import { type Engine, freshId } from "../engine/engine.js";
import { CortexError, describe, invalid } from "../errors.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { TurnData } from "../records/data.js";
import { dropFenced } from "../records/fence.js";

/** What a turn is told from others by. */
export type TurnContent = Pick<
  TurnData,
  "role" | "content" | "speaker" | "at" | "toolName" | "messageId"
> & { readonly index?: number | undefined };

/** A turn on its way into a session. */
export interface PreparedTurn {
  /** The id that it gets unless it is there already. */
  readonly id: Bytes;
  /** Its number among the turns of the call. */
  readonly at: number;
  readonly body: TurnContent;
  readonly metadata: TurnData["metadata"];
  /** The external id of a turn that has a name. */
  readonly name: string | undefined;
}

/** The turns of a call that hold something to keep. */
export function prepareTurns(
  engine: Engine,
  session: string,
  turns: readonly TurnAsked[],
): readonly PreparedTurn[] {
  return turns.flatMap((turn, at): PreparedTurn[] => {
    const given = textOf(turn.content, at);
    const content = dropFenced(given);
    if (content === "" && given !== "") return [];
    const { role, id, index, speaker, at: time, toolName, metadata } = turn;
    const body: TurnContent = {
      role: role === "tool" ? "tool_result" : role,
      content,
      ...(speaker === undefined ? {} : { speaker }),
      ...(time === undefined ? {} : { at: time }),
      ...(toolName === undefined ? {} : { toolName }),
      ...(id === undefined ? {} : { messageId: id }),
      ...(index === undefined ? {} : { index }),
    };
    const name = id === undefined ? undefined : turnName(engine, session, id);
    return [{ id: freshId(engine), at, body, metadata, name }];
  });
}

/** Types of parts that are text, in the words of the chat programs that are most in use. */
const TEXT_PARTS: ReadonlySet<string> = new Set(["text", "input_text", "output_text"]);

/** What a turn says as one text; a part that is no text is named in brackets. */
function textOf(content: TurnAsked["content"], at: number): string {
  if (typeof content === "string") return content;
  const texts = content.map((part) => {
    if (TEXT_PARTS.has(part.type)) return part.text ?? "";
    const { name = part.toolName } = part;
    return typeof name === "string" ? `[${part.type}: ${name}]` : `[${part.type}]`;
  });
  const text = texts.join("\n");
  const bytes = utf8Length(text);
  if (bytes <= LIMITS.batchBytes) return text;
  const expected = `at most ${LIMITS.batchBytes} bytes in all`;
  throw invalid(`turns[${at}].content`, expected, `${bytes} bytes`, "ERR_TOO_LARGE");
}

/**
 * The external id of a turn: the session, `#`, and the name that the program has for it. A sign that would
 * end the session's name early is written in another way; what is too long is named by its hash.
 */
function turnName({ sha256 }: Engine, session: string, id: string): string {
  const name = `${session.replaceAll("%", "%25").replaceAll("#", "%23")}#${id}`;
  return utf8Length(name) <= LIMITS.externalIdBytes ? name : `turn#${toHex(sha256(utf8(name)))}`;
}

/** Whether two turns are one: nothing that both say differs. */
export function isSameTurn(a: TurnContent, b: TurnContent): boolean {
  const agree = (name: "speaker" | "at" | "toolName" | "messageId" | "index") =>
    a[name] === undefined || b[name] === undefined || a[name] === b[name];
  return (
    a.role === b.role &&
    a.content === b.content &&
    agree("speaker") &&
    agree("at") &&
    agree("toolName") &&
    agree("messageId") &&
    agree("index")
  );
}

/** Refuses a turn whose id or place is that of a turn which says something else. */
export function refuseOther({ at, body }: PreparedTurn, there: TurnContent): void {
  if (isSameTurn(body, there)) return;
  const field = body.messageId === undefined ? "index" : "id";
  const name = body.messageId === undefined ? String(body.index) : describe(body.messageId);
  const expected = `the turn that has ${field} ${name} already`;
  const message = `turns[${at}].${field}: expected ${expected}, got another one`;
  const details = { field: `turns[${at}].${field}`, expected, got: "another one" };
  throw new CortexError("ERR_CONFLICT", message, details);
}
