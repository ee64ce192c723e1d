/**
 * Tools around a task: what an agent should have before it at the start, exact lookups while it works,
 * and at the end which memories helped or misled.
 */

import {
  type Cortex,
  CortexError,
  type FindResult,
  type Options,
  type Schema,
} from "@cortex-memory/core";
import { headFields, listOf, memoryType, quoted } from "@cortex-memory/core/contract";
import * as z from "zod";
import { asking } from "../operations/define.js";
import { isoTime } from "../operations/fields.js";
import { counted } from "../render/ink.js";
import { type Brief, briefLine, briefOf, briefShape, fenced, fit } from "./briefs.js";
import {
  BUDGET_TOKENS,
  budgetTokens,
  defineTool,
  type ToolContext,
  usualBudget,
} from "./define.js";

const pinnedShape = z.object({
  id: z.string(),
  uri: z.string(),
  type: z.string(),
  text: z.string(),
  /** Left out when asserted. */
  state: z.string().exactOptional(),
});

const startShape = z.object({
  actor: z.string(),
  memories: z.int(),
  /** Who the actor is, hard rules, active goals. */
  pinned: listOf(pinnedShape),
  /** Likes and dislikes, newest first; those with a slot stand among the slots. */
  preferences: listOf(briefShape),
  /** What has one current value, and that value. */
  slots: listOf(briefShape),
  /** Memories that the budget left out. */
  trimmed: z.int(),
  kinds: listOf(z.string()),
  tags: listOf(z.string()),
  linkKinds: listOf(z.string()),
  seq: z.int(),
});

/** Most names of one sort at the start of a task. */
const NAMES = 20;

/** The names in use, the most frequent first, within a budget. */
function namesOf(schema: Schema, budget: number) {
  const some = (names: readonly string[]): readonly string[] =>
    fit(
      names.slice(0, NAMES).map((name) => quoted(name)),
      Math.floor(budget / 3),
    ).items;
  return {
    kinds: some(schema.kinds.map(({ kind }) => kind)),
    tags: some(schema.tags.map(({ tag }) => tag)),
    linkKinds: some(schema.edgeKinds.map(({ kind }) => kind)),
  };
}

/** The current value of every slot, the most used slots first, and the preferences without a slot. */
async function currentValues(memory: Cortex, { slots }: Schema, access: ToolContext["access"]) {
  const [liked, ...held] = await Promise.all([
    memory.find({ type: "preference", limit: NAMES, access }),
    ...slots.slice(0, NAMES).map(({ slot }) => memory.find({ slot, limit: 1, access })),
  ]);
  return {
    preferences: briefsOf(liked).filter(({ slot }) => slot === undefined),
    slots: held.flatMap(briefsOf),
  };
}

/** How the budget of a start is shared: what is pinned, the slots, the preferences, the names in use. */
const SHARES = { pinned: 0.5, slots: 0.2, preferences: 0.15, names: 0.15 } as const;

const startTool = defineTool({
  name: "memory_start",
  title: "Start a task",
  description:
    "Call once at the start of a task: who the user is, hard rules, active goals, preferences, slots with " +
    "their values, and the kinds and tags in use, so that you use the same names.",
  verbs: ["context", "describeSchema", "find"],
  effect: "read",
  idempotent: true,
  input: z.strictObject({ budgetTokens }),
  output: startShape,
  call: async (memory, { budgetTokens: asked }, context) => {
    const { access } = context;
    const budget = asked ?? usualBudget(access);
    const share = (part: keyof typeof SHARES): number => Math.floor(budget * SHARES[part]);
    const [bundle, schema] = await Promise.all([
      memory.context({ budgetTokens: share("pinned"), form: "short", ...asking(context) }),
      memory.describeSchema({ access }),
    ]);
    const values = await currentValues(memory, schema, access);
    // What was flagged is withheld by the context already.
    const items = bundle.pinned.map(({ id, uri, type, status, text }) => {
      const state = status === "asserted" ? {} : { state: status };
      return { id, uri, type, text: quoted(text, { flags: [] }), ...state };
    });
    const pinned = fit(items, share("pinned"));
    const slots = fit(values.slots, share("slots"));
    const preferences = fit(values.preferences, share("preferences"));
    return {
      actor: memory.actor,
      memories: schema.nodeCount,
      pinned: pinned.items,
      preferences: preferences.items,
      slots: slots.items,
      trimmed: bundle.trimmed + pinned.left + slots.left + preferences.left,
      ...namesOf(schema, share("names")),
      seq: bundle.seq,
    };
  },
  text: ({ actor, memories, pinned, preferences, slots, trimmed, kinds, tags, linkKinds }) => {
    const named = (label: string, names: readonly string[]): string[] =>
      names.length === 0 ? [] : [`${label}: ${names.join(", ")}`];
    const head = `Memory of ${actor}: ${counted(memories, "memory", "memories")}.`;
    const lines = [
      ...pinned.map(({ type, text, id, state }) => {
        const word = state === undefined ? type : `${type} (${state})`;
        return `- ${word}: ${text} id ${id}`;
      }),
      ...preferences.map(briefLine),
      ...slots.map(briefLine),
      ...named("kinds", kinds),
      ...named("tags", tags),
      ...named("links", linkKinds),
    ];
    return fenced(memories === 0 ? `${head} Nothing is stored yet.` : head, lines, trimmed);
  },
});

const findShape = z.object({
  memories: listOf(briefShape),
  /** Give it back to read on; absent at the end. */
  cursor: z.string().exactOptional(),
  seq: z.int(),
});

const PAGE = 20;

/** A page of briefs that fits the budget, with the cursor of exactly that page. */
async function findWithin(
  memory: Cortex,
  query: Options<"find">,
  budget: number,
): Promise<z.input<typeof findShape>> {
  const first = await memory.find(query);
  const kept = fit(briefsOf(first), budget);
  // Whatever is left out belongs to the next page, so the page is asked for again, as long as it fits.
  const page = kept.left === 0 ? first : await memory.find({ ...query, limit: kept.items.length });
  return {
    memories: briefsOf(page),
    ...(page.cursor === undefined ? {} : { cursor: page.cursor }),
    seq: page.seq,
  };
}

function briefsOf({ hits }: FindResult): readonly Brief[] {
  return hits.flatMap(({ memory }) => (memory === undefined ? [] : [briefOf(memory)]));
}

/** What narrows a search; one of them has to be given. */
const FILTERS = [
  "types",
  "kinds",
  "tags",
  "slot",
  "session",
  "changedSince",
  "changedUntil",
] as const;

const findTool = defineTool({
  name: "memory_find",
  title: "Find by exact filter",
  description:
    "Memories that match every filter given, newest first, page by page. Give at least one filter. " +
    "history shows what was replaced as well.",
  verbs: ["find"],
  effect: "read",
  idempotent: true,
  input: z.strictObject({
    types: listOf(memoryType.describe("")).describe("any of these").exactOptional(),
    kinds: listOf(z.string()).describe("any of these").exactOptional(),
    tags: headFields.tags.describe("all of these"),
    slot: z.string().exactOptional(),
    session: z.string().exactOptional(),
    changedSince: isoTime("changed at or after"),
    changedUntil: isoTime("changed at or before"),
    history: z.boolean().exactOptional(),
    limit: z.int().min(1).max(100).describe(`${PAGE} when not given`).exactOptional(),
    cursor: z.string().describe("from the page before").exactOptional(),
    budgetTokens,
  }),
  words: { type: "types", where: "changedSince", lifecycles: "history" },
  output: findShape,
  call: (memory, input, context) => {
    const {
      types,
      changedSince,
      changedUntil,
      history,
      limit,
      budgetTokens: budget,
      ...rest
    } = input;
    if (!FILTERS.some((name) => input[name] !== undefined)) {
      const message = `types: expected at least one of ${FILTERS.join(", ")}, got none`;
      throw new CortexError("ERR_TOO_BROAD", message, { field: "types" });
    }
    const times = [
      ...(changedSince === undefined ? [] : [{ gte: ["head.updatedAt", changedSince] as const }]),
      ...(changedUntil === undefined ? [] : [{ lte: ["head.updatedAt", changedUntil] as const }]),
    ];
    const query: Options<"find"> = {
      ...rest,
      type: types,
      ...(times.length === 0 ? {} : { where: { and: times } }),
      ...(history === true ? { lifecycles: ["active", "archived"] } : {}),
      limit: limit ?? PAGE,
      ...asking(context),
    };
    return findWithin(memory, query, budget ?? BUDGET_TOKENS);
  },
  text: ({ memories, cursor, seq }) => {
    const head = `${counted(memories.length, "memory", "memories")}, seq ${seq}`;
    const more = cursor === undefined ? "" : `, more with cursor ${cursor}`;
    return fenced(`${head}${more}`, memories.map(briefLine));
  },
});

const BLAME = ["factual_error", "wrong_assumption"] as const;

const feedbackTool = defineTool({
  name: "memory_feedback",
  title: "Say what helped",
  description:
    "At the end of a task: which recalled memories helped and which misled. Later ranking learns from it.",
  verbs: ["attest"],
  effect: "write",
  idempotent: false,
  input: z.strictObject({
    task: z.string().describe("a name for the task, the same each time"),
    helped: listOf(z.string()).describe("ids").exactOptional(),
    misled: listOf(z.string()).describe("ids").exactOptional(),
    why: z.enum(BLAME).describe("how they misled; factual_error").exactOptional(),
  }),
  words: { intentId: "task", reason: "why" },
  output: z.object({
    helped: listOf(z.string()),
    misled: listOf(z.string()),
    /** Cited, but nothing there. */
    skipped: listOf(z.string()),
    seq: z.int(),
  }),
  call: async (memory, { task, helped = [], misled = [], why }, context) => {
    const said = [
      ...(helped.length === 0 ? [] : [{ outcome: "success", cited: helped } as const]),
      ...(misled.length === 0
        ? []
        : [{ outcome: "failure", cited: misled, reason: why ?? BLAME[0] } as const]),
    ];
    if (said.length === 0) {
      const message = "helped: expected ids of memories that helped or misled, got none";
      throw new CortexError("ERR_INVALID", message, { field: "helped" });
    }
    const done: Awaited<ReturnType<typeof attestOne>>[] = [];
    for (const one of said) done.push(await attestOne(memory, { ...one, intentId: task }, context));
    const of = (outcome: string): readonly string[] =>
      done.flatMap(({ asked, answer }) => (asked === outcome ? answer.affected : []));
    return {
      helped: of("success"),
      misled: of("failure"),
      skipped: done.flatMap(({ answer }) => answer.skipped),
      seq: done.at(-1)?.answer.learnSeq ?? 0,
    };
  },
  text: ({ helped, misled, skipped }) =>
    `Noted: ${helped.length} helped, ${misled.length} misled, ${skipped.length} not found.`,
});

async function attestOne(memory: Cortex, input: Options<"attest">, { access }: ToolContext) {
  const answer = await memory.attest(input, { access });
  return { asked: input.outcome, answer };
}

/** The tool for the start of a task. */
export const START_TOOLS = [startTool];

/** The tool for exact lookups. */
export const FIND_TOOLS = [findTool];

/** The tool for the end of a task. */
export const FEEDBACK_TOOLS = [feedbackTool];
