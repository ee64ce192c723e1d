/**
 * Tools that store, read and change memories. Whose words they are is decided by the door; a call may
 * say that it only passes something on.
 */

import type { Inspection, MemoryRef, WriteResult } from "@cortex-memory/core";
import {
  headFields,
  listOf,
  memoryType,
  quoted,
  versionFields,
  writtenShape,
} from "@cortex-memory/core/contract";
import * as z from "zod";
import { isoTime } from "../operations/fields.js";
import { counted } from "../render/ink.js";
import { briefLine, briefOf, briefShape, day, fenced, fit, flat, quotedAnswer } from "./briefs.js";
import { BUDGET_TOKENS, budgetTokens, defineTool, memoryRef, turnFields } from "./define.js";

/** What a call may say about where content came from; the last is refused to whoever is only an agent. */
const SOURCES = ["agent", "tool_output", "document", "channel", "user_input"] as const;

/** Tokens for each memory that an answer only mentions. */
const MENTION_TOKENS = 60;

type Written = z.input<typeof writtenShape>;

/** A write's answer, its mentions cut short. */
function writtenBrief(written: WriteResult): Written {
  const cut = (refs: readonly MemoryRef[]) =>
    refs.map(({ id, uri, text }) => ({ id, uri, text: quoted(text, { tokens: MENTION_TOKENS }) }));
  return {
    ...written,
    replaced: cut(written.replaced),
    conflicts: cut(written.conflicts),
    similar: cut(written.similar),
  };
}

function writtenText(did: string): (written: Written) => string {
  return (written) => {
    const what = written.reinforced ? "Known already, reinforced" : did;
    const mention = (label: string, refs: Written["similar"]): string[] =>
      refs.map(({ id, text }) => `- ${label}: ${JSON.stringify(text)} id ${id}`);
    return fenced(`${what}: id ${written.id} version ${written.version}`, [
      ...mention("replaced", written.replaced),
      ...mention("in conflict with", written.conflicts),
      ...mention("similar, perhaps revise it instead", written.similar),
    ]);
  };
}

const rememberTool = defineTool({
  name: "memory_remember",
  title: "Remember one thing",
  description:
    "Store one fact, preference, rule, goal, event or note: one sentence that makes sense alone. " +
    "Give a slot for anything with one current value; the old value becomes history. " +
    "The answer names what was replaced and what is similar.",
  verbs: ["write"],
  effect: "write",
  idempotent: false,
  input: z.strictObject({
    text: z.string().describe("the sentence"),
    type: memoryType.describe("fact when not given").exactOptional(),
    slot: z.string().describe("single-valued attribute, e.g. home city").exactOptional(),
    tags: headFields.tags.describe("labels"),
    kind: headFields.kind.describe("open label, for notes"),
    importance: headFields.importance.describe("5 when not given"),
    when: isoTime("since when it is true, or when it happened"),
    source: z.enum(SOURCES).describe("as the door says when not given").exactOptional(),
    supersedes: listOf(z.string()).describe("ids it replaces").exactOptional(),
  }),
  words: { validFrom: "when" },
  output: writtenShape,
  call: async (memory, { type, when, ...input }, { access }) => {
    const since = when === undefined ? {} : { validFrom: when };
    const written = await memory.write(
      { type: type ?? "fact", ...input, ...since },
      { access, similar: true },
    );
    return writtenBrief(written);
  },
  text: writtenText("Stored"),
});

const saveTurnsTool = defineTool({
  name: "memory_save_turns",
  title: "Save conversation turns",
  description:
    "Append turns of a conversation, verbatim, to a session. " +
    "Turns sent again are recognised, a single one by firstIndex, its place.",
  verbs: ["remember"],
  effect: "write",
  idempotent: false,
  input: z.strictObject({
    session: z.string().describe("name of the conversation"),
    turns: listOf(z.strictObject(turnFields)).describe("in order"),
    firstIndex: z.int().min(0).describe("place of the first turn, from 0").exactOptional(),
  }),
  output: z.object({
    session: z.string(),
    added: z.int(),
    known: z.int(),
    /** Held nothing but text that came out of memory, which is not kept. */
    dropped: z.int(),
    /** The place after the last of these turns. */
    nextIndex: z.int(),
    seq: z.int(),
  }),
  call: async (memory, { session, turns, firstIndex }, { access }) => {
    const placed = turns.map((turn, at) =>
      firstIndex === undefined ? turn : { ...turn, index: firstIndex + at },
    );
    const kept = await memory.remember(placed, { session, access });
    const added = kept.turns.filter((turn) => turn.added).length;
    const last = kept.turns.reduce((most, turn) => Math.max(most, turn.index), -1);
    const known = kept.turns.length - added;
    return { session, added, known, dropped: kept.dropped, nextIndex: last + 1, seq: kept.seq };
  },
  text: ({ session, added, known, dropped, nextIndex }) => {
    const left = dropped === 0 ? "" : `, ${dropped} of recalled text not kept`;
    const next = nextIndex === 0 ? "" : `; next index ${nextIndex}`;
    return `${counted(added, "turn")} added to ${flat(session)}, ${known} known already${left}${next}.`;
  },
});

const linkShape = z.object({
  direction: z.enum(["out", "in"]),
  kind: z.string(),
  id: z.string(),
  reason: z.string().exactOptional(),
});

const foundShape = briefShape.extend({
  data: z.record(z.string(), z.unknown()).exactOptional(),
  origin: z.object({
    by: z.string(),
    written: z.string(),
    confidence: z.number(),
    derivedFrom: listOf(z.string()).exactOptional(),
    session: z.string().exactOptional(),
    turn: z.int().exactOptional(),
    validTo: z.string().exactOptional(),
    hidden: z.string().exactOptional(),
  }),
  links: listOf(linkShape),
  versions: listOf(
    z.object({
      version: z.int(),
      undone: z.literal(true).exactOptional(),
      written: z.string(),
      text: z.string(),
    }),
  ),
  /** How much it matters, from 0 to 1, and what that is made of. */
  salience: z
    .object({ score: z.number(), pinned: z.boolean(), factors: z.record(z.string(), z.number()) })
    .exactOptional(),
  /** Parts that the budget left out. */
  left: z.int(),
  seq: z.int(),
});

function originOf({ head, versionRecord }: Inspection["memory"]) {
  const { derivedFrom, session, turn } = versionRecord.provenance;
  const { validTo } = versionRecord;
  return {
    by: quoted(versionRecord.createdBy),
    written: day(versionRecord.createdAt),
    confidence: versionRecord.confidence,
    ...(derivedFrom.length === 0 ? {} : { derivedFrom }),
    ...(session === undefined ? {} : { session: quoted(session) }),
    ...(turn === undefined ? {} : { turn }),
    ...(validTo === undefined ? {} : { validTo: day(validTo) }),
    ...(head.tombstone === undefined
      ? {}
      : { hidden: quoted(head.tombstone.reason, { tokens: MENTION_TOKENS }) }),
  };
}

/** Why it ranks as it does, in two digits. */
function rankOf({ salience }: Inspection): Pick<z.input<typeof foundShape>, "salience"> {
  if (salience === undefined) return {};
  const { score, pinned, factors } = salience;
  const short = (value: number): number => Math.round(value * 100) / 100;
  const named = Object.entries(factors).map(([name, value]) => [name, short(value)] as const);
  return { salience: { score: short(score), pinned, factors: Object.fromEntries(named) } };
}

/** One memory within a budget: half of it for its own words, the rest for links and versions. */
function foundWithin(found: Inspection, budget: number): z.input<typeof foundShape> {
  const { memory } = found;
  const half = Math.floor(budget / 2);
  const brief = briefOf(memory, half);
  const { data: whole } = quotedAnswer(memory, []) as { readonly data: object };
  const data = JSON.stringify(whole).length <= half * 2 ? { data: { ...whole } } : {};
  const links = [
    ...found.links.map(({ kind, to, reason }) => ({ direction: "out", kind, id: to, reason })),
    ...found.backlinks.map(({ kind, from, reason }) => ({
      direction: "in",
      kind,
      id: from,
      reason,
    })),
  ].map(({ direction, kind, id, reason }) => ({
    direction: direction as "out" | "in",
    kind: quoted(kind),
    id,
    ...(reason === undefined ? {} : { reason: quoted(reason, { tokens: MENTION_TOKENS }) }),
  }));
  const earlier = found.versions
    .filter(({ current }) => !current)
    .map(({ version, undone, text, versionRecord }) => ({
      version,
      ...(undone === undefined ? {} : { undone }),
      written: day(versionRecord.createdAt),
      text: quoted(text, { flags: versionRecord.flags ?? [], tokens: MENTION_TOKENS }),
    }));
  const shownLinks = fit(links, Math.floor(budget / 4));
  const shownVersions = fit(earlier, Math.floor(budget / 4));
  const hidden = Object.keys(data).length === 0 ? 1 : 0;
  return {
    ...brief,
    ...data,
    origin: originOf(memory),
    ...rankOf(found),
    links: shownLinks.items,
    versions: shownVersions.items,
    left: shownLinks.left + shownVersions.left + hidden + (brief.text === memory.text ? 0 : 1),
    seq: found.seq,
  };
}

function foundText(found: z.input<typeof foundShape>): string {
  const { origin } = found;
  const where = [
    `written ${origin.written} by ${origin.by}`,
    origin.session === undefined ? "" : `session ${origin.session} turn ${origin.turn ?? ""}`,
    origin.validTo === undefined ? "" : `until ${origin.validTo}`,
    origin.hidden === undefined ? "" : `hidden: ${origin.hidden}`,
    origin.derivedFrom === undefined ? "" : `derived from ${origin.derivedFrom.join(", ")}`,
  ].filter((part) => part !== "");
  const rank = Object.entries(found.salience?.factors ?? {}).map(
    ([name, value]) => `${name} ${value}`,
  );
  const lines = [
    briefLine(found),
    `  ${flat(where.join("; "))}`,
    ...(rank.length === 0 ? [] : [`  salience ${found.salience?.score}: ${rank.join(", ")}`]),
    ...found.links.map(({ direction, kind, id, reason }) => {
      const why = reason === undefined ? "" : ` because ${JSON.stringify(reason)}`;
      return direction === "out" ? `  ${kind} -> ${id}${why}` : `  ${id} ${kind} -> this${why}`;
    }),
    ...found.versions.map(
      ({ version, undone, written, text }) =>
        `  ${undone === true ? "undone" : "was"} (${version}, ${written}): ${flat(text)}`,
    ),
  ];
  return fenced(`Version ${found.version}, seq ${found.seq}`, lines, found.left);
}

const getTool = defineTool({
  name: "memory_get",
  title: "Read one memory",
  description:
    "One memory in full: its words, links, earlier versions, where it came from and why it ranks.",
  verbs: ["inspect"],
  effect: "read",
  idempotent: true,
  input: z.strictObject({ id: memoryRef, budgetTokens }),
  output: foundShape,
  absent: ({ id }) => `id: no memory ${id}`,
  call: async (memory, { id, budgetTokens: budget = BUDGET_TOKENS }, { access }) => {
    const found = await memory.inspect(id, { access });
    return found === undefined ? undefined : foundWithin(found, budget);
  },
  text: foundText,
});

const reviseTool = defineTool({
  name: "memory_revise",
  title: "Revise a memory",
  description:
    "Give a memory a new version. Say which version you read, so that nobody's change is lost; " +
    "for a slot that changed in the world, remember the new value instead.",
  verbs: ["update"],
  effect: "write",
  idempotent: false,
  input: z.strictObject({
    id: memoryRef,
    basedOnVersion: z.int().min(1).describe("the version you read"),
    text: versionFields.text.describe("the new sentence"),
    data: versionFields.data.describe("structured fields of its type"),
    confidence: versionFields.confidence.describe("0 to 1"),
    when: isoTime("since when it is true"),
  }),
  words: { validFrom: "when", input: "text" },
  output: writtenShape,
  call: async (memory, { id, when, ...input }, { access }) => {
    const since = when === undefined ? {} : { validFrom: when };
    const written = await memory.update(id, { ...input, ...since }, { access });
    return writtenBrief(written);
  },
  text: writtenText("Revised"),
});

const retireTool = defineTool({
  name: "memory_retire",
  title: "Retire a memory",
  description: "Hide a memory that is wrong or obsolete. undo brings it back.",
  verbs: ["tombstone", "restore"],
  effect: "write",
  idempotent: true,
  input: z.strictObject({
    id: memoryRef,
    reason: z.string().describe("why"),
    undo: z.boolean().describe("bring it back").exactOptional(),
  }),
  output: z.object({ id: z.string(), uri: z.string(), hidden: z.boolean(), seq: z.int() }),
  call: async (memory, { id, reason, undo }, { access }) => {
    const done =
      undo === true
        ? await memory.restore(id, { access })
        : await memory.tombstone(id, reason, { access });
    return { id: done.id, uri: done.uri, hidden: undo !== true, seq: done.seq };
  },
  text: ({ id, hidden }) => (hidden ? `Hidden: id ${id}` : `Back again: id ${id}`),
});

/** The tools on memories. */
export const MEMORY_TOOLS = [rememberTool, saveTurnsTool, getTool, reviseTool, retireTool];
