/**
 * Who speaks in a text: lines such as "User: …" begin a turn, and what follows belongs to it. Loads
 * nothing, because every command looks at texts this way.
 */

/** What one voice says at a time. */
export interface Speech {
  readonly role: "user" | "assistant" | "system";
  readonly content: string;
}

/** Who speaks, by the words in use for it. */
const VOICES: { readonly [word: string]: Speech["role"] } = {
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

/** Who begins to speak in a line, and with what words; nothing where the line goes on. */
export function startIn(
  line: string,
): { readonly role: Speech["role"]; readonly rest: string } | undefined {
  const [start, voice = ""] = TURN_START.exec(line) ?? [];
  const role = VOICES[voice.toLowerCase()];
  return start === undefined || role === undefined
    ? undefined
    : { role, rest: line.slice(start.length) };
}

/** Whether a text begins by saying who speaks. */
export function beginsTranscript(text: string): boolean {
  return startIn(text.replace(/^\uFEFF/, "").trimStart()) !== undefined;
}

/** The turns of a text whose lines say who speaks; none when it does not begin so. */
export function turnsIn(text: string): readonly Speech[] {
  const turns: { readonly role: Speech["role"]; readonly lines: string[] }[] = [];
  for (const line of text.trim().split(/\r?\n/)) {
    const start = startIn(line);
    if (start !== undefined) turns.push({ role: start.role, lines: [start.rest] });
    else if (turns.length === 0) return [];
    else turns.at(-1)?.lines.push(line);
  }
  return turns.map(({ role, lines }) => ({ role, content: lines.join("\n").trim() }));
}
