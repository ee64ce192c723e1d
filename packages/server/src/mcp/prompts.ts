/**
 * Prompts that a person picks in a client: the first words of a conversation that uses memory well.
 */
import * as z from "zod";
import type { Tool } from "./define.js";

/** A prompt of the server. */
export interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly args: z.ZodObject;
  /** The words of the user, with the arguments in them. */
  text(args: { readonly [name: string]: unknown }): string;
}

/** A prompt and the tools that it tells the model to use. */
interface PromptRow {
  readonly needs: readonly string[];
  readonly prompt: Prompt;
}

const words = (description: string) => z.string().describe(description);

const ROWS: readonly PromptRow[] = [
  {
    needs: ["memory_remember"],
    prompt: {
      name: "remember_this",
      title: "Remember this",
      description: "Store what you say as lasting memories, one fact each.",
      args: z.strictObject({ text: words("what to remember") }),
      text: ({ text }) =>
        `Please remember the following. Split it into single facts, give a slot to each one that can change, store each with memory_remember, and tell me in one line each what was stored, replaced or known already.\n\n${text}`,
    },
  },
  {
    needs: ["memory_recall"],
    prompt: {
      name: "what_do_you_know",
      title: "What do you know about …",
      description: "What memory holds about a topic, with dates and sources.",
      args: z.strictObject({ topic: words("a person, a project, a subject") }),
      text: ({ topic }) =>
        `What do you know about the following? Ask memory_recall, in two or three phrasings, answer only from what it returns, give dates and sources, and say what is uncertain or missing.\n\n${topic}`,
    },
  },
  {
    needs: ["memory_start", "memory_recall"],
    prompt: {
      name: "start_task",
      title: "Start a task",
      description: "Begin with what memory says about you, your rules and earlier work.",
      args: z.strictObject({ task: words("what is to be done") }),
      text: ({ task }) =>
        `Before you begin: call memory_start, then memory_recall for what matters to this task. Tell me in a few lines which rules, goals and earlier results apply. Then begin.\n\n${task}`,
    },
  },
];

/** The prompts for a set of tools: one that asks for a tool that is not there is left out. */
export function promptsFor(tools: readonly Pick<Tool, "name">[]): readonly Prompt[] {
  const names = new Set(tools.map(({ name }) => name));
  return ROWS.filter(({ needs }) => needs.every((name) => names.has(name))).map(
    ({ prompt }) => prompt,
  );
}
