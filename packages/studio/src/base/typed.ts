/**
 * What somebody types to look for something. The one search field takes a question, exact conditions, an id, a
 * moment or a command, and says which it is about to do before it does it; conditions such as
 * `type:goal tag:work is:archived some words` become the input of `find`. Pure: text in, meaning out.
 */
import type { MemoryType } from "@cortex-memory/core/remote";
import { isMemoryType } from "./words.ts";

/** What a text asks for. */
export type Intent =
  | { readonly kind: "nothing" }
  | { readonly kind: "ask"; readonly question: string }
  | { readonly kind: "find"; readonly query: string }
  | { readonly kind: "memory"; readonly id: string }
  | { readonly kind: "moment"; readonly seq: number }
  | { readonly kind: "command"; readonly text: string };

/** Names before a colon that make a text a search by exact conditions. */
const FIND_FIELDS = ["type", "kind", "tag", "slot", "session", "is"] as const;

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

/** States of a memory that a search can ask for; what was forgotten cannot be found. */
const STATES = ["active", "archived", "tombstoned"] as const;

type State = (typeof STATES)[number];

/** What to find. */
interface FindQuery {
  readonly type?: readonly MemoryType[];
  readonly kinds?: readonly string[];
  readonly tags?: readonly string[];
  readonly slot?: string;
  readonly session?: string;
  readonly lifecycles?: readonly State[];
  readonly text?: string;
}

/** What a text means, and what of it is not understood. */
interface ReadQuery {
  readonly query: FindQuery;
  readonly wrong: readonly string[];
}

/**
 * Reads exact conditions; values with spaces stand in double quotes. Words of no field have to be in the memory,
 * every one.
 */
export function readQuery(text: string): ReadQuery {
  const all: { [field: string]: string[] } = {};
  const free: string[] = [];
  for (const [part, field, quoted, bare] of text.matchAll(/(\w+):(?:"([^"]*)"|(\S+))|\S+/g)) {
    const value = quoted ?? bare;
    if (field !== undefined && value !== undefined && isField(field)) {
      all[field] = [...(all[field] ?? []), value];
    } else {
      free.push(part.replaceAll('"', ""));
    }
  }
  const types = (all.type ?? []).filter(isMemoryType);
  const states = (all.is ?? []).filter(isState);
  const wrong = [
    ...(all.type ?? []).filter((one) => !isMemoryType(one)).map((one) => `type:${one}`),
    ...(all.is ?? []).filter((one) => !isState(one)).map((one) => `is:${one}`),
  ];
  const [slot] = all.slot ?? [];
  const [session] = all.session ?? [];
  const query: FindQuery = {
    ...(types.length === 0 ? {} : { type: types }),
    ...(all.kind === undefined ? {} : { kinds: all.kind }),
    ...(all.tag === undefined ? {} : { tags: all.tag }),
    ...(slot === undefined ? {} : { slot }),
    ...(session === undefined ? {} : { session }),
    ...(states.length === 0 ? {} : { lifecycles: states }),
    ...(free.length === 0 ? {} : { text: free.join(" ") }),
  };
  return { query, wrong };
}

function isField(name: string): boolean {
  return FIND_FIELDS.some((field) => field === name);
}

function isState(name: string): name is State {
  return STATES.some((state) => state === name);
}
