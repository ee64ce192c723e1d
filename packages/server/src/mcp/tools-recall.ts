/**
 * The tools for questions in plain words, and for what waits for a decision: what memory knows, or that it knows nothing
 * reliable; listing what is in doubt, and settling one item.
 */

import { LIMITS } from "@cortex-memory/core";
import {
  DECISIONS,
  headFields,
  listOf,
  memoryType,
  noted,
  quoted,
  type ReviewItem,
  VERBS,
} from "@cortex-memory/core/contract";
import * as z from "zod";
import { asking } from "../operations/define.js";
import { isoTime } from "../operations/fields.js";
import { day, fenced, fit, flat } from "./briefs.js";
import { BUDGET_TOKENS, budgetTokens, defineTool, usualBudget } from "./define.js";

const recallShape = z.object({
  /** What the text says line by line, best first. */
  hits: listOf(
    z.object({
      id: z.string(),
      uri: z.string(),
      type: z.string(),
      score: z.number(),
      /** Others that say the same. */
      duplicates: listOf(z.string()).exactOptional(),
    }),
  ),
  /** True when nothing here is reliable enough to rest an answer on. */
  weak: z.boolean(),
  /** With by session: the conversations, best first. */
  sessions: listOf(z.object({ session: z.string(), score: z.number() })).exactOptional(),
  /** Ready for a prompt: one line for each memory. */
  text: z.string(),
  /** Memories that the budget left out. */
  left: z.int(),
  seq: z.int(),
});

const NOTHING = "Nothing about this is in memory.";
const WEAK = "Nothing reliable: what follows may have nothing to do with the question.";

/** Tokens kept for the warning before the memories. */
const WARNING_TOKENS = 20;

const recallTool = defineTool({
  name: "memory_recall",
  title: "Recall",
  description:
    "Ask memory in plain words, in 1 to 8 phrasings of the same question. Answers with dated, sourced " +
    "memories, best first, or says that nothing is reliable. Ask before answering about the past.",
  verbs: ["recall"],
  effect: "read",
  idempotent: true,
  input: z.strictObject({
    questions: listOf(noted(z.string(), { prose: true })).describe(
      "phrasings, e.g. where does Ada live",
    ),
    types: listOf(memoryType.describe("")).describe("only these").exactOptional(),
    tags: headFields.tags.describe("all of these"),
    by: z.enum(["memory", "session"]).describe("session: rank conversations").exactOptional(),
    exceptSession: z.string().describe("a session you have before you").exactOptional(),
    history: z.boolean().describe("what was replaced as well").exactOptional(),
    now: isoTime("the time of the question, when not the present"),
    limit: z.int().min(1).max(LIMITS.recallHits).exactOptional(),
    budgetTokens,
  }),
  words: { question: "questions", also: "questions" },
  output: recallShape,
  call: async (memory, { questions, budgetTokens: asked, ...rest }, context) => {
    const budget = asked ?? usualBudget(context.access);
    const room = Math.min(budget, LIMITS.recallTokens);
    const found = await memory.recall(questions, {
      ...rest,
      budgetTokens: Math.max(1, room - WARNING_TOKENS),
      ...asking(context),
    });
    const hits = found.hits.map(({ id, uri, type, score, duplicates }) => ({
      id,
      uri,
      type,
      score,
      ...(duplicates.length === 0 ? {} : { duplicates }),
    }));
    const kept = fit(hits, budget);
    const sessions = found.sessions?.map(({ session, score }) => ({ session, score }));
    return {
      hits: kept.items,
      weak: found.weak,
      ...(sessions === undefined ? {} : { sessions: fit(sessions, budget).items }),
      text: found.text,
      left: found.trimmed + kept.left,
      seq: found.seq,
    };
  },
  text: ({ text, weak }) => {
    if (text === "") return NOTHING;
    return weak ? `${WEAK}\n${text}` : text;
  },
});

/** The tool for questions. */
export const RECALL_TOOLS = [recallTool];

const itemShape = z.object({
  item: z.string(),
  why: z.string(),
  /** For a proposal, who wishes what. */
  asks: z.string().exactOptional(),
  sides: listOf(
    z.object({
      id: z.string(),
      uri: z.string(),
      text: z.string(),
      since: z.string(),
      status: z.string(),
      source: z.string(),
    }),
  ),
});

function itemOf({ id, why, sides, proposal }: ReviewItem): z.input<typeof itemShape> {
  return {
    item: id,
    why: quoted(why),
    ...(proposal === undefined ? {} : { asks: wishOf(proposal) }),
    sides: sides.map((side) => ({
      id: side.id,
      uri: side.uri,
      text: quoted(side.text, { flags: side.flags ?? [] }),
      since: day(side.since),
      status: side.status,
      source: side.source,
    })),
  };
}

/** Tokens that a wish takes in an answer. */
const WISH_TOKENS = 80;

function wishOf({ verb, input, by, flags }: NonNullable<ReviewItem["proposal"]>): string {
  const what = quoted(JSON.stringify(input), { flags });
  return quoted(`${quoted(by)}: ${verb} ${what}`, { flags: [], tokens: WISH_TOKENS });
}

const reviewTool = defineTool({
  name: "memory_review",
  title: "Review open conflicts",
  description:
    "List contradictions, rival values and unconfirmed memories, or duplicates; with item and decision, " +
    "settle one. " +
    "What the user said themselves is set aside by the user alone.",
  verbs: ["review", "settle"],
  effect: "write",
  idempotent: false,
  input: z.strictObject({
    item: z.string().describe("settle this one").exactOptional(),
    decision: z.enum(DECISIONS).exactOptional(),
    keep: z.string().describe("side that stays: id or URI").exactOptional(),
    text: z.string().describe("for merge").exactOptional(),
    reason: z.string().describe("why").exactOptional(),
    duplicates: z.boolean().describe("list near duplicates instead").exactOptional(),
    cursor: z.string().exactOptional(),
    budgetTokens,
  }),
  output: z.object({
    items: listOf(itemShape),
    cursor: z.string().exactOptional(),
    settled: VERBS.settle.output.exactOptional(),
    seq: z.int(),
  }),
  call: async (memory, input, { access }) => {
    const { item, decision, reason, cursor, keep, text } = input;
    if (item !== undefined) {
      const settled = await memory.settle(
        item,
        // What is missing is refused by the verb, which can say what it expects.
        {
          decision: decision as (typeof DECISIONS)[number],
          reason: reason as string,
          keep,
          text,
        },
        { access },
      );
      return { items: [], settled, seq: settled.seq };
    }
    const page = await memory.review({
      access,
      ...(input.duplicates === true ? { kinds: ["duplicate"] } : {}),
      cursor,
    });
    const { items, left } = fit(page.items.map(itemOf), input.budgetTokens ?? BUDGET_TOKENS);
    return {
      items,
      ...(page.cursor === undefined || left > 0 ? {} : { cursor: page.cursor }),
      seq: page.seq,
    };
  },
  text: ({ items, settled, cursor }) => {
    if (settled !== undefined) {
      return `Settled ${settled.item}: ${settled.decision}. Reverting entry ${settled.seq} undoes it.`;
    }
    const lines = items.flatMap(({ item, why, asks, sides }) => [
      `${item}: ${flat(why)}`,
      ...(asks === undefined ? [] : [`- asks ${JSON.stringify(flat(asks))}`]),
      ...sides.map(
        ({ id, since, status, source, text }) =>
          `- [${id}, ${since}, ${status}, from ${source}] ${JSON.stringify(flat(text))}`,
      ),
    ]);
    const more = cursor === undefined ? "" : ` More: cursor ${cursor}`;
    return fenced(items.length === 0 ? "Nothing to decide." : `To decide:${more}`, lines);
  },
});

/** The tools on what waits for a decision. */
export const REVIEW_TOOLS = [reviewTool];
