/**
 * Memories in brief, as tools hand them to a model: what it says, since when, where it came from and
 * the id to ask on with. One line of text each; lists are cut to a budget, in the structured answer as
 * in the text, and say what was left out.
 *
 * Text of memories may come from anywhere, and so may tags, kinds, slots, reasons and names of sessions.
 * All of it is quoted by one function, in the structured answer as in the text: what looks like an order
 * is withheld, the rest stands on one line, inside the fence that `remember` drops, so that what was
 * recalled is never stored as something said. Answers that other doors give as they are, which the full
 * profile hands on, are quoted member by member (`quotedAnswer`).
 */
import type { Memory } from "@cortex-memory/core";
import {
  breakMarks,
  countTokens,
  fence,
  isPlainJson,
  listOf,
  quoted,
  threatsIn,
  withheld,
} from "@cortex-memory/core/contract";
import * as z from "zod";

/** A memory in brief. */
export const briefShape = z.object({
  id: z.string(),
  uri: z.string(),
  type: z.string(),
  version: z.int(),
  text: z.string(),
  /** Since when it holds, else when it was written: a day, or a time where one was given. */
  since: z.string(),
  source: z.string(),
  /** Left out when active and asserted. */
  state: z.string().exactOptional(),
  slot: z.string().exactOptional(),
  kind: z.string().exactOptional(),
  tags: listOf(z.string()).exactOptional(),
});

/** A memory in brief. */
export type Brief = z.input<typeof briefShape>;

/** Longest text of one memory in a list. */
const LINE_TOKENS = 120;

/** A memory in brief, its text cut to so many tokens. */
export function briefOf(memory: Memory, textTokens = LINE_TOKENS): Brief {
  const { head, versionRecord } = memory;
  const { flags } = versionRecord;
  const state = stateOf(head);
  return {
    id: memory.id,
    uri: memory.uri,
    type: memory.type,
    version: memory.version,
    text: quoted(memory.text, { flags: flags ?? [], tokens: textTokens }),
    since: day(versionRecord.validFrom ?? versionRecord.createdAt),
    source: versionRecord.provenance.source,
    ...(state === "" ? {} : { state }),
    ...(head.slot === undefined ? {} : { slot: quoted(head.slot) }),
    ...(head.kind === undefined ? {} : { kind: quoted(head.kind) }),
    ...(head.tags.length === 0 ? {} : { tags: head.tags.map((tag) => quoted(tag)) }),
  };
}

/** What an active, asserted memory need not say. */
function stateOf({ lifecycle, status, siblings }: Memory["head"]): string {
  return [
    ...(lifecycle === "active" ? [] : [lifecycle]),
    ...(status === "asserted" ? [] : [status]),
    ...(siblings.length === 0 ? [] : ["conflicting versions"]),
  ].join(", ");
}

/** A time as a model reads it: the day, and the time of day if it was not midnight. */
export function day(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return String(ms);
  return date
    .toISOString()
    .replace("T00:00:00.000Z", "")
    .replace(/:\d{2}\.\d{3}Z$/, "Z");
}

/** Sources whose words stand as they are; those of all others are quoted. */
const PLAIN_SOURCES: readonly string[] = ["user_input", "agent", "observed"];

/** A memory on one line: what it is in brackets, then what it says. */
export function briefLine(brief: Brief): string {
  const { id, since, type, kind, source, state, slot, tags = [] } = brief;
  const what = [id, since, kind === undefined ? type : `${type}/${kind}`, state, `from ${source}`];
  const marks = what.filter((mark) => mark !== undefined).join(", ");
  const text = PLAIN_SOURCES.includes(source) ? brief.text : JSON.stringify(brief.text);
  const about = [slot === undefined ? "" : `${slot}: `, text, ...tags.map((tag) => ` #${tag}`)];
  return `- [${flat(marks)}] ${flat(about.join(""))}`;
}

/** Words of a line that were quoted one by one, and make no mark together either. */
export function flat(text: string): string {
  return quoted(text, { flags: [] });
}

/** Answers that hold text which was rendered for a prompt, at its own place. */
const RENDERED: ReadonlySet<string> = new Set(["recall", "context"]);

/** An answer as JSON has it, with every text in it quoted; `verbs` are those that gave it. */
export function quotedAnswer(answer: unknown, verbs: readonly string[]): JsonObject {
  return quotedBoth(answer, verbs).structured;
}

/** The same, and its JSON text, which is not made again where nothing had to be quoted: then the answer is itself. */
export function quotedBoth(
  answer: unknown,
  verbs: readonly string[],
): { readonly structured: JsonObject; readonly text: string } {
  const json = JSON.stringify(answer);
  // What a memory was flagged with when it was written counts, whatever its text says now.
  if (isPlainJson(json) && !json.includes('"flags"')) {
    return { structured: answer as JsonObject, text: json };
  }
  const whole = JSON.parse(json) as JsonObject;
  const { text } = whole;
  const isRendered = typeof text === "string" && verbs.some((verb) => RENDERED.has(verb));
  const safe = quotedJson(whole) as JsonObject;
  if (safe === whole) return { structured: whole, text: json };
  const structured = isRendered ? { ...safe, text } : safe;
  return { structured, text: JSON.stringify(structured) };
}

type JsonObject = { readonly [member: string]: unknown };

/** A value with its texts quoted; the same value where none of them had to be. */
function quotedJson(value: unknown): unknown {
  if (typeof value === "string") return quotedText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return sameOr(value, value.map(quotedJson));
  const found = value as JsonObject;
  const flags = flagsOf(found);
  return withMembers(found, quotedName, (name, one) => quotedMember(name, one, flags));
}

/** The list itself where it holds the same items. */
function sameOr(list: readonly unknown[], items: readonly unknown[]): readonly unknown[] {
  return items.every((item, at) => item === list[at]) ? list : items;
}

/** An object with other names and members; itself where they are the same. */
function withMembers(
  found: JsonObject,
  nameOf: (name: string) => string,
  memberOf: (name: string, value: unknown) => unknown,
): JsonObject {
  const names = Object.keys(found);
  const members = names.map((name) => memberOf(name, found[name]));
  const isSame = names.every((name, at) => nameOf(name) === name && members[at] === found[name]);
  return isSame ? found : Object.fromEntries(names.map((name, at) => [nameOf(name), members[at]]));
}

/** The member of an object that shows a memory with these flags, or none. */
function quotedMember(name: string, value: unknown, flags: readonly string[] | undefined): unknown {
  if (flags === undefined || (name !== "text" && name !== "data")) return quotedJson(value);
  if (flags.length === 0) return unmarked(value);
  return name === "text" ? withheld(flags) : {};
}

/** Names that were quoted before: an answer has few of them, each many times. */
const NAMES = new Map<string, string>();
const NAMES_MAX = 1000;

function quotedName(name: string): string {
  const known = NAMES.get(name);
  if (known !== undefined) return known;
  const quotedOne = quotedText(name);
  if (NAMES.size >= NAMES_MAX) NAMES.clear();
  NAMES.set(name, quotedOne);
  return quotedOne;
}

/** What the scanner found in the memory that an object shows; `undefined` where it shows none. */
function flagsOf({ versionRecord, memory, flags }: JsonObject): readonly string[] | undefined {
  if (Array.isArray(flags)) return flags as readonly string[];
  const { versionRecord: inner } = (memory ?? {}) as JsonObject;
  const record = (versionRecord ?? inner) as { readonly flags?: readonly string[] } | undefined;
  return record === undefined ? undefined : (record.flags ?? []);
}

/** A text whose author is not known here; its lines are kept, because JSON quotes them. */
function quotedText(text: string): string {
  const threats = threatsIn([text]);
  return threats.length > 0 ? withheld(threats) : breakMarks(text);
}

/** What was scanned when it was written: it only must not pass for a fence. */
function unmarked(value: unknown): unknown {
  if (typeof value === "string") return breakMarks(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return sameOr(value, value.map(unmarked));
  return withMembers(value as JsonObject, breakMarks, (_name, one) => unmarked(one));
}

/** What fits a budget. */
interface Fitted<T> {
  readonly items: readonly T[];
  /** How many were left out. */
  readonly left: number;
}

/** As many items, from the first on, as fit the budget in JSON; at least one. */
export function fit<T>(items: readonly T[], budgetTokens: number): Fitted<T> {
  let used = 0;
  const end = items.findIndex((item, at) => {
    used += countTokens(JSON.stringify(item));
    return at > 0 && used > budgetTokens;
  });
  return end < 0 ? { items, left: 0 } : { items: items.slice(0, end), left: items.length - end };
}

/** Lines inside the fence; `head` stands before it, and what was left out is said after it. */
export function fenced(head: string, lines: readonly string[], left = 0): string {
  const more = left === 0 ? [] : [`${left} more left out; raise budgetTokens.`];
  return [head, ...(lines.length === 0 ? [] : [fence(lines.join("\n"))]), ...more].join("\n");
}
