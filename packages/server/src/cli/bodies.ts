/**
 * Bodies: what an argument, a file or stdin says in more than one value. A body is told apart by its
 * first character: what starts like JSON has to be JSON, so that a slip of quoting is refused instead
 * of being stored as a sentence.
 */
import type { Body } from "../operations/define.js";
import { jsonOf } from "../operations/text-input.js";
import { UsageError } from "../usage.js";

type Fields = { readonly [field: string]: unknown };

/** Reads a body's text into fields of the input. */
export function readBody(body: Body, text: string, shown: string): Fields {
  switch (body) {
    case "memory":
      return readMemory(text, shown);
    case "turns":
      return readTurns(text, shown);
    case "items":
      return { items: readList(text, shown) };
    case "state":
      return { state: readObject(text, shown) };
  }
}

/** A JSON object with the fields of a write, or the sentence itself. */
function readMemory(text: string, shown: string): Fields {
  if (!/^\s*\{/.test(text)) return { text: withoutLastBreak(text) };
  try {
    return readObject(text, shown);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${error.message}; for a sentence that starts with { use --text`);
  }
}

/** A JSON array of turns, one turn per line, an object with `turns`, a transcript, or plain text. */
function readTurns(text: string, shown: string): Fields {
  if (/^\s*\[\s*[{\]]/.test(text)) return { turns: jsonOf(text, shown) };
  if (!/^\s*\{/.test(text)) {
    if (text.trim() === "") throw new UsageError(`${shown}: expected turns, got nothing`);
    const turns = transcriptOf(text);
    if (turns.length > 0) return { turns };
    return { turns: [{ role: "user", content: withoutLastBreak(text) }] };
  }
  const whole = tryObject(text);
  if (whole !== undefined) return Array.isArray(whole.turns) ? whole : { turns: [whole] };
  return { turns: readLines(text, shown) };
}

/** Who speaks in a transcript, by the words in use for it. */
const VOICES: { readonly [word: string]: string } = {
  user: "user",
  human: "user",
  you: "user",
  assistant: "assistant",
  ai: "assistant",
  agent: "assistant",
  bot: "assistant",
  system: "system",
};

const TURN_START = new RegExp(`^\\s*\\**(${Object.keys(VOICES).join("|")})\\**\\s*:\\**\\s?`, "i");

/** The turns of a transcript whose lines say who speaks, "User: …"; none when the text does not begin so. */
function transcriptOf(text: string): readonly Fields[] {
  const turns: { readonly role: string; readonly lines: string[] }[] = [];
  for (const line of text.trim().split(/\r?\n/)) {
    const [start, voice = ""] = TURN_START.exec(line) ?? [];
    const role = VOICES[voice.toLowerCase()];
    if (start !== undefined && role !== undefined) {
      turns.push({ role, lines: [line.slice(start.length)] });
    } else if (turns.length === 0) {
      return [];
    } else {
      turns.at(-1)?.lines.push(line);
    }
  }
  return turns.map(({ role, lines }) => ({ role, content: lines.join("\n").trim() }));
}

/** A JSON array, or one JSON value per line. */
function readList(text: string, shown: string): unknown {
  return /^\s*\[/.test(text) ? jsonOf(text, shown) : readLines(text, shown);
}

function readLines(text: string, shown: string): readonly unknown[] {
  return text
    .split(/\r?\n/)
    .flatMap((line, at) => (line.trim() === "" ? [] : [jsonOf(line, `${shown} line ${at + 1}`)]));
}

function readObject(text: string, shown: string): Fields {
  const value = jsonOf(text, shown);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new UsageError(`${shown}: expected a JSON object`);
}

function tryObject(text: string): Fields | undefined {
  try {
    return JSON.parse(text) as Fields;
  } catch {
    return undefined;
  }
}

/** Text from a pipe ends with a line break that nobody meant. */
export function withoutLastBreak(text: string): string {
  return text.replace(/\r?\n$/, "");
}
