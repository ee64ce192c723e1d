/**
 * Recalling what answers a question.
 */
import * as z from "zod";
import { showRecalled } from "../render/recall.js";
import { asking, defineOperation } from "./define.js";
import { asOf, by, limit, listOf, memoryType, timeField } from "./fields.js";
import { hitFields, proofShape } from "./shapes.js";

const lane = z.number().exactOptional();

/** An answer to a question. */
export const recalledShape = z.object({
  hits: listOf(
    z.object({
      ...hitFields,
      tokens: z.int(),
      why: z.object({
        lanes: z.object({
          lexical: lane,
          vector: lane,
          slot: lane,
          names: lane,
          graph: lane,
          time: lane,
        }),
        trust: z.number(),
        salience: z.number(),
        coverage: z.number(),
        via: z.object({ from: z.string(), kind: z.string() }).exactOptional(),
      }),
      duplicates: listOf(z.string()),
      proof: proofShape.exactOptional(),
    }),
  ),
  text: z.string(),
  tokens: z.int(),
  weak: z.boolean(),
  trimmed: z.int(),
  leftOut: listOf(z.enum(["vector", "salience"])),
  seq: z.int(),
});

const recallOperation = defineOperation({
  name: "recall",
  verbs: ["recall"],
  kind: "read",
  summary: "Recall what answers a question, as text for a prompt",
  help: `Plain words; --also gives another way of putting it. Ranks by words, conversation,
names, slots, links, time and use, and by meaning when an embedder is configured. "weak" means that
nothing is a reliable answer. Asking how things were ("before", "used to") opens history.`,
  example: 'cortex recall "where does Ada live?" --budget 400',
  input: z.strictObject({
    question: z.string().describe("the question, in plain words"),
    also: listOf(z.string()).describe("another way of putting it; may be repeated").exactOptional(),
    limit,
    budgetTokens: z.int().min(1).describe("most tokens of the text").exactOptional(),
    form: z.enum(["short", "medium", "full"]).describe("how hits are rendered").exactOptional(),
    types: listOf(memoryType).describe("only this type; may be repeated").exactOptional(),
    kinds: listOf(z.string()).describe("only this kind; may be repeated").exactOptional(),
    tags: listOf(z.string()).describe("a tag that hits have; may be repeated").exactOptional(),
    session: z.string().describe("only turns of this conversation").exactOptional(),
    exceptSession: z.string().describe("nothing of this conversation").exactOptional(),
    now: timeField("the time of the question, for words such as yesterday").exactOptional(),
    asOf,
    history: z.boolean().describe("replaced memories as well").exactOptional(),
    prove: z.boolean().describe("a proof with every hit").exactOptional(),
    audit: z.boolean().describe("journal who was shown what").exactOptional(),
    by,
  }),
  output: recalledShape,
  call: (memory, { question, also = [], ...options }, context) =>
    memory.recall([question, ...also], { ...options, ...asking(context) }),
  cli: {
    command: "recall",
    group: "memories",
    arguments: [{ field: "question", label: "TEXT", stdin: true }],
    flags: {
      budgetTokens: "budget",
      types: "type",
      kinds: "kind",
      tags: "tag",
      exceptSession: "except-session",
    },
    human: showRecalled,
  },
});

/** The operations that recall. */
export const RECALL_OPERATIONS = [recallOperation];
