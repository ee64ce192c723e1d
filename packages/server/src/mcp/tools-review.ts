/**
 * The tool on what waits for a decision: listing it, and settling one item.
 */
import { DECISIONS, quoted, type ReviewItem, VERBS } from "@cortex-memory/core/contract";
import * as z from "zod";
import { listOf } from "../operations/fields.js";
import { day, fenced, fit, flat } from "./briefs.js";
import { BUDGET_TOKENS, budgetTokens, defineTool } from "./define.js";

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
          ...(keep === undefined ? {} : { keep }),
          ...(text === undefined ? {} : { text }),
        },
        { access },
      );
      return { items: [], settled, seq: settled.seq };
    }
    const page = await memory.review({
      access,
      ...(input.duplicates === true ? { kinds: ["duplicate"] } : {}),
      ...(cursor === undefined ? {} : { cursor }),
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
