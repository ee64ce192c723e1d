/**
 * Operations that ask a model: distilling the turns that wait, and looking for links in a whole graph.
 */
import { DROP_RULES, LINK_KINDS, MEMORY_TYPES } from "@cortex-memory/core";
import * as z from "zod";
import { showExtracted, showRelinked } from "../render/extract.js";
import { defineOperation } from "./define.js";
import { listOf, words } from "./fields.js";

const count = z.int();

const calls = z.int().min(1).describe("calls of the model at the most; 100 when not given");

const dryRun = z
  .boolean()
  .describe("ask the model and say what would be written; change nothing")
  .exactOptional();

const droppedShape = listOf(
  z.object({
    rule: z.enum(Object.keys(DROP_RULES) as [keyof typeof DROP_RULES]),
    count,
  }),
);

/** What became of a fact. */
const OUTCOMES = ["new", "changed", "rival", "restated", "proposed", "refused"] as const;

/** What distilling did. */
export const extractedShape = z.object({
  model: z.string(),
  dryRun: z.boolean(),
  calls: count,
  turns: count,
  facts: listOf(
    z.object({
      session: z.string(),
      text: z.string(),
      type: words(MEMORY_TYPES),
      outcome: z.enum(OUTCOMES),
      slot: z.string().exactOptional(),
      id: z.string().exactOptional(),
    }),
  ),
  known: count,
  links: count,
  dropped: droppedShape,
  failures: listOf(z.object({ session: z.string(), code: z.string(), message: z.string() })),
  waiting: count,
  cursor: count,
  seq: count,
});

const extractOperation = defineOperation({
  name: "extract",
  verbs: ["extract"],
  kind: "write",
  summary: "Distil the turns that wait into facts and links",
  help: `Asks the model that the settings name what is worth remembering of the turns that were not distilled yet.
Facts are written with the session and turn they come from, under the source extraction; one that contradicts your own
words waits for review beside them. A reply that is not what was asked for changes nothing, and its turns are tried
again.`,
  example: "cortex extract --dry-run",
  input: z.strictObject({
    session: z.string().describe("one conversation alone").exactOptional(),
    limit: calls.exactOptional(),
    dryRun,
  }),
  output: extractedShape,
  call: (memory, options, { access, onProgress }) =>
    memory.extract({ ...options, access, onProgress }),
  cli: { command: "extract", group: "sessions", human: showExtracted },
});

/** What looking for links did. */
export const relinkedShape = z.object({
  model: z.string(),
  dryRun: z.boolean(),
  calls: count,
  memories: count,
  links: listOf(
    z.object({
      from: z.string(),
      kind: z.enum(LINK_KINDS),
      to: z.string(),
      reason: z.string(),
      strength: z.int(),
      outcome: z.enum(["new", "known", "proposed", "refused"]),
    }),
  ),
  dropped: droppedShape,
  failures: listOf(z.object({ code: z.string(), message: z.string() })),
  cursor: z.string().exactOptional(),
  seq: count,
});

const relinkOperation = defineOperation({
  name: "relink",
  verbs: ["relink"],
  kind: "write",
  summary: "Look for links between memories in the whole graph",
  help: `Shows every fact with its neighbours in the whole graph to the model that the settings name, and links those
that it has a reason for. A link that is there stays as it is, so it is safe to repeat. The answer says where to go on.`,
  example: "cortex relink --dry-run --limit 5",
  input: z.strictObject({
    limit: calls.exactOptional(),
    cursor: z.string().describe("where the call before ended").exactOptional(),
    dryRun,
  }),
  output: relinkedShape,
  call: (memory, options, { access, onProgress }) =>
    memory.relink({ ...options, access, onProgress }),
  cli: { command: "relink", group: "edges", human: showRelinked },
});

/** The operations by which a model reads conversations and memories. */
export const EXTRACT_OPERATIONS = [extractOperation, relinkOperation];
