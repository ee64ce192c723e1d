/**
 * Operations that find memories by words.
 */
import { LIFECYCLES, MEMORY_TYPES } from "@cortex-memory/core";
import * as z from "zod";
import { showSearch, showSearchBatch } from "../render/search.js";
import { asking, defineOperation } from "./define.js";
import { asOf, lifecycles, limit, listOf, words } from "./fields.js";
import { hitFields } from "./shapes.js";

const filterFields = {
  types: listOf(words(MEMORY_TYPES))
    .describe("only memories of this type; may be repeated")
    .exactOptional(),
  kinds: listOf(z.string())
    .describe("only memories of this kind; may be repeated, any of them will do")
    .exactOptional(),
  tags: listOf(z.string())
    .describe("only memories with this tag; may be repeated, all must be there")
    .exactOptional(),
  freshOnly: z
    .boolean()
    .describe("leave out what should have been looked at again by now")
    .exactOptional(),
};

const filterFlags = { types: "type", kinds: "kind", tags: "tag" } as const;

/** What a search found. */
export const searchShape = z.object({
  hits: listOf(
    z.object({
      ...hitFields,
      snippet: z.string().exactOptional(),
      kind: z.string().exactOptional(),
      tags: listOf(z.string()),
      lifecycle: words(LIFECYCLES),
    }),
  ),
  seq: z.int(),
});

/** What several searches found together. */
export const searchBatchShape = z.object({
  hits: listOf(
    z.object({
      ...hitFields,
      queriesMatched: listOf(z.int()),
    }),
  ),
  queryCount: z.int(),
  uniqueHits: z.int(),
  perQueryHits: listOf(z.int()),
  seq: z.int(),
});

const searchOperation = defineOperation({
  name: "search",
  verbs: ["search"],
  kind: "read",
  summary: "Find memories by words, the best first",
  help: `Any text will do: words are alternatives, the more of them a memory holds the better, and
"words in quotes" must stand there as they are. Words are found whatever their ending, in the
language the graph is configured for. Found words are shown in square brackets.`,
  example: 'cortex search "where does Ada live" --limit 5',
  input: z.strictObject({
    text: z.string().describe("what to look for"),
    limit,
    ...filterFields,
    lifecycles,
    asOf,
    snippets: z
      .boolean()
      .meta({ description: "leave the snippets out", standard: true })
      .exactOptional(),
  }),
  output: searchShape,
  call: (memory, { text, ...options }, context) =>
    memory.search(text, { ...options, ...asking(context) }),
  cli: {
    command: "search",
    group: "memories",
    arguments: [{ field: "text", label: "TEXT" }],
    flags: { ...filterFlags, lifecycles: "lifecycle" },
    human: showSearch,
  },
});

const batchQuery = z.strictObject({
  text: z.string(),
  limit: z.int().exactOptional(),
  ...filterFields,
});

const searchBatchOperation = defineOperation({
  name: "searchBatch",
  verbs: ["searchBatch"],
  kind: "read",
  summary: "Ask in several ways at once, and fuse what is found",
  help: `Up to eight searches; hits are ranked by where each search ranked them, so that what several of
them find comes first. Answers say which searches found a memory, counted from 0.`,
  example: 'cortex search-batch "where does Ada live" "home city" --limit 5',
  input: z.strictObject({
    queries: listOf(z.union([z.string(), batchQuery])).describe("the texts to look for"),
    limit: z.int().describe("most hits over all searches; 20 when not given").exactOptional(),
    asOf,
  }),
  output: searchBatchShape,
  call: (memory, { queries, ...options }, context) =>
    memory.searchBatch(queries, { ...options, ...asking(context) }),
  cli: {
    command: "search-batch",
    group: "memories",
    arguments: [{ field: "queries", label: "TEXT", rest: true }],
    human: showSearchBatch,
  },
});

/** The operations that find memories by words. */
export const SEARCH_OPERATIONS = [searchOperation, searchBatchOperation];
