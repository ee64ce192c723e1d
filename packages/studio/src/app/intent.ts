/**
 * What somebody who types into the one search field wants: to ask, to find by exact conditions, to jump
 * to a memory or a moment, or to run a command. Pure: text in, intent out, so that the field can say what
 * it is about to do before it does it.
 */

/** What a text asks for. */
export type Intent =
  | { readonly kind: "nothing" }
  | { readonly kind: "ask"; readonly question: string }
  | { readonly kind: "find"; readonly query: string }
  | { readonly kind: "memory"; readonly id: string }
  | { readonly kind: "moment"; readonly seq: number }
  | { readonly kind: "command"; readonly text: string };

/** Names before a colon that make a text a search by exact conditions. */
export const FIND_FIELDS = ["type", "kind", "tag", "slot", "session", "is"] as const;

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;
const URI = /^cortex:\/\/[^/\s]+\/[A-Za-z]+\/([0-9A-HJKMNP-TV-Z]{26})#\d+$/i;
const SEQ = /^(?:seq[ :]*|#)?(\d{1,15})$/i;
const FIND = new RegExp(`(^|\\s)(${FIND_FIELDS.join("|")}):\\S`);

/** Reads what was typed. */
export function intentOf(typed: string): Intent {
  const text = typed.trim();
  if (text === "") return { kind: "nothing" };
  if (text.startsWith(">")) return { kind: "command", text: text.slice(1).trim() };
  if (ULID.test(text)) return { kind: "memory", id: text.toUpperCase() };
  const uri = URI.exec(text)?.[1];
  if (uri !== undefined) return { kind: "memory", id: uri.toUpperCase() };
  const seq = SEQ.exec(text)?.[1];
  if (seq !== undefined) return { kind: "moment", seq: Number(seq) };
  if (FIND.test(text)) return { kind: "find", query: text };
  return { kind: "ask", question: text };
}

/** What is about to happen, in words. */
export function intentWords(intent: Intent): string {
  switch (intent.kind) {
    case "nothing":
      return "Type a question, a filter such as type:goal, an id, or > for a command";
    case "ask":
      return `Ask: ${intent.question}`;
    case "find":
      return `Find by ${intent.query}`;
    case "memory":
      return `Open the memory ${intent.id}`;
    case "moment":
      return `Show the memory as of entry ${intent.seq}`;
    case "command":
      return "Run a command";
  }
}
