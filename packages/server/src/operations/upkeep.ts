/**
 * Operations that describe a graph and keep its store in order: the words in use, tags, upkeep.
 */
import { MEMORY_TYPES } from "@cortex-memory/core";
import * as z from "zod";
import { showMaintained, showSchema, showTags } from "../render/upkeep.js";
import { defineOperation } from "./define.js";
import { limit, listOf, words } from "./fields.js";

const count = z.int();
const seq = z.int();

/** A tag and how many memories have it. */
const tagShape = z.object({ tag: z.string(), count });

/** What a graph is made of. */
export const schemaShape = z.object({
  graphId: z.string(),
  nodeCount: count,
  types: listOf(z.object({ type: words(MEMORY_TYPES), count })),
  kinds: listOf(z.object({ kind: z.string(), count, examples: listOf(z.string()) })),
  tagPrefixes: listOf(z.object({ prefix: z.string(), count, values: listOf(z.string()) })),
  tags: listOf(tagShape),
  slots: listOf(z.object({ slot: z.string(), count })),
  edgeKinds: listOf(z.object({ kind: z.string(), count })),
  distinct: z.object({ kinds: count, tagPrefixes: count, tags: count, slots: count }),
  seq,
});

/** Tags in use. */
export const tagsShape = z.object({ tags: listOf(tagShape), seq });

/** What upkeep did, or would do. */
export const maintainedShape = z.object({
  dryRun: z.boolean(),
  steps: listOf(z.object({ step: z.string(), done: count, left: count })),
  changes: listOf(
    z.object({
      step: z.enum(["expire", "confirm", "merge", "relate"]),
      memories: listOf(z.string()),
      reason: z.string(),
      seq: seq.exactOptional(),
    }),
  ),
  complete: z.boolean(),
  seq,
});

const describeSchemaOperation = defineOperation({
  name: "describeSchema",
  verbs: ["describeSchema"],
  kind: "read",
  summary: "Show the types, kinds, tags, slots and edge kinds in use",
  help: `Exact counts over active memories and live edges, the most frequent first. Kinds come with three
examples, the newest first. The long lists are cut; distinct says how many names there are.`,
  example: "cortex schema",
  input: z.strictObject({}),
  output: schemaShape,
  call: (memory, _, { access }) => memory.describeSchema({ access }),
  cli: { command: "schema", group: "store", human: showSchema },
});

const listTagsOperation = defineOperation({
  name: "listTags",
  verbs: ["listTags"],
  kind: "read",
  summary: "List the tags in use",
  help: `The most frequent first, then in the order of their letters; 100 unless --limit says otherwise. A
prefix tells capitals from small letters.`,
  example: "cortex tags --limit 10",
  input: z.strictObject({
    prefix: z.string().describe("only tags that start so").exactOptional(),
    limit,
  }),
  output: tagsShape,
  call: (memory, options, { access }) => memory.listTags({ ...options, access }),
  cli: {
    command: "tags",
    group: "store",
    arguments: [{ field: "prefix", label: "PREFIX", optional: true }],
    human: showTags,
  },
});

const maintainOperation = defineOperation({
  name: "maintain",
  verbs: ["maintain"],
  kind: "write",
  summary: "Do what keeps the store quick, small and in order",
  help: `The text index is written out and merged, vectors of models that are not used any more are removed,
and claims that independent voices back are confirmed. Archiving what has expired, merging memories that
say the same in the same words, and relating those that name the same rare thing are asked for one by one.
Every change of a memory is an entry that revert takes back. --dry-run says what there is to do.`,
  example: "cortex maintain --dry-run",
  input: z.strictObject({
    dryRun: z.boolean().describe("say what there is to do; change nothing").exactOptional(),
    archiveExpired: z
      .boolean()
      .describe("archive what has expired, by its expiresAt or the ttlDays of its kind")
      .exactOptional(),
    merge: z
      .boolean()
      .describe("merge memories that say the same in the same words")
      .exactOptional(),
    relate: z
      .boolean()
      .describe("join memories that name the same rare thing, by same_topic")
      .exactOptional(),
    snapshotEveryMs: z
      .int()
      .min(1)
      .describe("seal a snapshot if the last one is older than so many milliseconds")
      .exactOptional(),
    maxChanges: z
      .int()
      .min(1)
      .max(10_000)
      .describe("most changes of memories in this run; 1000 when not given")
      .exactOptional(),
    budgetMs: z
      .int()
      .min(1)
      .describe("how long it may take, about, in milliseconds; 60000 when not given")
      .exactOptional(),
  }),
  output: maintainedShape,
  call: (memory, options, { access }) => memory.maintain({ ...options, access }),
  cli: { command: "maintain", group: "store", human: showMaintained },
});

/** The operations that describe a graph and keep its store in order. */
export const UPKEEP_OPERATIONS = [describeSchemaOperation, listTagsOperation, maintainOperation];
