/**
 * The tool for questions in plain words: what memory knows, or that it knows nothing reliable.
 */
import { LIMITS } from "@cortex-memory/core";
import { noted } from "@cortex-memory/core/contract";
import * as z from "zod";
import { asking } from "../operations/define.js";
import { headFields, listOf, memoryType } from "../operations/fields.js";
import { isoTime } from "../operations/times.js";
import { fit } from "./briefs.js";
import { budgetTokens, defineTool, usualBudget } from "./define.js";

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
