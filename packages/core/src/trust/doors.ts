/**
 * The doors: every way into a memory, and the most that what comes through it may claim. The table of
 * `docs/trust.md` is made of this one, and so is the test that tries every door.
 *
 * Promise: a door stamps source, status and author on what it lets in; a call may claim less. What a
 * standing may then do is decided in `gate.ts`, below all doors.
 *
 * Left to others: who may open which door (the server's guard, `admission/` for scopes).
 */
import type { Source } from "../records/types.js";
import { type Access, type Speaker, speakerOf } from "../scope/access.js";
import { checkSaid, TRUST } from "./gate.js";

/** What is said about a door. */
export interface DoorRow {
  /** In the words of a refusal. */
  readonly words: string;
  /** Who comes through it, for people. */
  readonly who: string;
  /** The highest source that may be claimed through it; of a scope, what its issuer wrote into it. */
  readonly source: Source | "as granted";
  /** Whether a call may name any author; otherwise its own principal, or a name below it. */
  readonly namesAuthors: boolean;
  /** Whom entries name when a call names nobody. */
  readonly author: string;
}

/** Every door. */
export const DOORS = {
  library: {
    words: "the library",
    who: "a program that opened the store, without an `access`",
    source: "user_input",
    namesAuthors: true,
    author: "the actor",
  },
  command: {
    words: "the command line",
    who: "whoever runs `cortex`",
    source: "user_input",
    namesAuthors: true,
    author: "the actor",
  },
  rest: {
    words: "REST",
    who: "REST, memgraph's routes and the studio, with the admin token or on a server without one",
    source: "user_input",
    namesAuthors: true,
    author: "the actor",
  },
  host: {
    words: "a host",
    who: "REST and MCP over HTTP with the host token: a program that speaks for the user",
    source: "user_input",
    namesAuthors: true,
    author: "the actor",
  },
  mcp: {
    words: "MCP",
    who: "an agent: MCP over stdio, or over HTTP with the admin token or on a server without one",
    source: "agent",
    namesAuthors: false,
    author: "`mcp:` and what the client calls itself",
  },
  scope: {
    words: "a scope",
    who: "the holder of a scope, in the library, over REST and over MCP",
    source: "as granted",
    namesAuthors: false,
    author: "the holder: `key:` or `bearer:` and its name",
  },
  import: {
    words: "an import",
    who: "`cortex import --from`: files of other programs",
    source: "imported",
    namesAuthors: true,
    author: "whom the file names",
  },
  extraction: {
    words: "extraction",
    who: "what a model made of a conversation",
    source: "extraction",
    namesAuthors: false,
    author: "whoever stored the turns",
  },
} as const satisfies { readonly [door: string]: DoorRow };

/** The name of a door. */
export type DoorName = keyof typeof DOORS;

/** A door whose claims do not depend on what a scope grants. */
export type FixedDoor = Exclude<DoorName, "scope">;

/** Who speaks through a door, under a principal that the door knows. */
export function speakerAt(door: FixedDoor, principal?: string): Speaker {
  const { words, source, namesAuthors } = DOORS[door];
  return { door: words, source, namesAuthors, ...(principal === undefined ? {} : { principal }) };
}

/**
 * The access that a request asks for by lowering itself below its door: a source and, after a space, a
 * principal. Who may name authors and names none is known by the source, and is not the actor. What is
 * above the door is refused; `undefined` for what cannot be read.
 */
export function loweredTo(text: string, from: Access): Access | undefined {
  const own = speakerOf(from) ?? speakerAt("library");
  const [source = "", given, ...more] = text.split(" ");
  const isPlain = given === undefined || /^[\x21-\x7e]{1,64}$/.test(given);
  if (!Object.hasOwn(TRUST, source) || !isPlain || more.length > 0) return undefined;
  checkSaid(own, { source, by: given });
  const principal = given ?? (own.namesAuthors ? source : own.principal);
  const speaker = { door: own.door, source: source as Source, namesAuthors: false };
  return {
    kind: "owner",
    speaker: principal === undefined ? speaker : { ...speaker, principal },
  };
}

/** The access of a caller who sees what the owner sees and speaks as the door allows. */
export function throughDoor(door: FixedDoor, principal?: string): Access {
  return { kind: "owner", speaker: speakerAt(door, principal) };
}
