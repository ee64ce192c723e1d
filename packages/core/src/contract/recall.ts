/**
 * The verbs that answer words and tasks: `search` and `searchBatch` by words, `recall` by a question in
 * plain words, `context` by what is about to be done.
 */
import * as z from "zod";
import { utf8Length } from "../codec/text.js";
import { LIMITS } from "../limits.js";
import { complain } from "../records/fields.js";
import {
  FRAME_VERBS,
  LIFECYCLES,
  MEMORY_TYPES,
  OBJECT_KINDS,
  type ObjectKind,
  STATUSES,
} from "../records/types.js";
import {
  listOf,
  listUpTo,
  noted,
  oneOrMore,
  type ShapeOf,
  textField,
  timeOf,
  whole,
  words,
} from "./fields.js";
import type { OnPlan } from "./hits.js";
import { FORMS, filterFields, form, hitFields, planLocals, wordsAsked } from "./hits.js";
import { asOf, by, lifecycles, limitUpTo, session } from "./memory.js";
import { type Memory, memoryIdShape, positionShape, proofShape, timeShape } from "./shapes.js";
import { type, verb } from "./verb.js";

/** What a search looks for: whatever was typed will do, well-formed or not. */
const searchText = z
  .string()
  .check((payload) => {
    const bytes = utf8Length(payload.value);
    if (bytes <= LIMITS.queryBytes) return;
    const expected = `at most ${LIMITS.queryBytes} bytes`;
    complain(payload, { code: "ERR_TOO_LARGE", expected, got: `${bytes} bytes` }, []);
  })
  .meta({ maxLength: LIMITS.queryBytes });

const searchFilter = {
  ...filterFields,
  freshOnly: z
    .boolean()
    .describe("leave out what should have been looked at again by now")
    .optional(),
};

/** Which memories a search shows, checked. */
export type SearchFilter = z.output<z.ZodObject<typeof searchFilter>>;

const searchHitShape = z.object({
  ...hitFields,
  /** The words that answer, found ones in square brackets. */
  snippet: z.string().exactOptional(),
  kind: z.string().exactOptional(),
  tags: listOf(z.string()),
  lifecycle: words(LIFECYCLES),
});

/** A memory that a search found. Scores are BM25: comparable within one answer. */
export interface SearchHit extends ShapeOf<typeof searchHitShape> {
  /** All of it, at the version that was found; with `siblings`. */
  readonly memory?: Memory;
}

const searchedShape = z.object({ hits: listOf(searchHitShape), seq: positionShape });

/** What a search found. */
export interface SearchResult extends Omit<ShapeOf<typeof searchedShape>, "hits"> {
  readonly hits: readonly SearchHit[];
}

const openLocals = {
  local: ["onPlan", "siblings"],
  locals: type<{
    /** Called with how the read was carried out; for logs, because it counts what the caller may not see. */
    readonly onPlan?: OnPlan | undefined;
    /**
     * True judges every open version of a memory by itself, by its own words, kind and tags; without a
     * kind it goes by the memory's type. Each is a hit of its own, which holds the whole memory.
     */
    readonly siblings?: boolean | undefined;
  }>(),
} as const;

/** Finds memories by words. */
export const search = verb("search", {
  summary: "Find memories by words, the best first",
  kind: "read",
  policy: "filtered",
  args: { text: searchText.describe("what to look for") },
  labels: type<[text: string]>(),
  options: {
    limit: limitUpTo(LIMITS.listLimit),
    ...searchFilter,
    lifecycles,
    asOf,
    snippets: noted(
      z
        .boolean()
        .describe("show with each hit the words around what was found; true when not given"),
      { standard: true, flag: "leave the snippets out" },
    ).optional(),
  },
  ...openLocals,
  output: searchedShape,
  answer: type<SearchResult>(),
});

const batchQuery = z.strictObject({
  text: searchText,
  /** Not above 0 is the usual number, too many is the most there may be. */
  limit: z.int().optional(),
  ...searchFilter,
});

/** One search of a batch: a text, or a text with filters. */
export type BatchQuery = string | z.input<typeof batchQuery>;

const batchHitShape = z.object({
  ...hitFields,
  /** Numbers of the searches that found it, from 0. */
  queriesMatched: listOf(z.int()),
});

/** A memory that one or more searches of a batch found. Its score sums 1 / (60 + rank) over them. */
export interface SearchBatchHit extends ShapeOf<typeof batchHitShape> {
  /** All of it, at the version that was found first; with `siblings`. */
  readonly memory?: Memory;
}

const batchSearchedShape = z.object({
  hits: listOf(batchHitShape),
  queryCount: z.int(),
  /** Different memories found, before the limit cut them. */
  uniqueHits: z.int(),
  /** Hits of each search. */
  perQueryHits: listOf(z.int()),
  seq: positionShape,
});

/** What a batch of searches found. */
export interface SearchBatchResult extends Omit<ShapeOf<typeof batchSearchedShape>, "hits"> {
  readonly hits: readonly SearchBatchHit[];
}

/** Finds memories by several texts at once. */
export const searchBatch = verb("searchBatch", {
  summary: "Ask in several ways at once, and fuse what is found",
  kind: "read",
  policy: "filtered",
  args: {
    queries: listUpTo(z.union([searchText, batchQuery]), LIMITS.searchBatchQueries, 1).describe(
      "the texts to look for",
    ),
  },
  labels: type<[queries: readonly BatchQuery[]]>(),
  options: {
    limit: z.int().describe("most hits over all searches; 20 when not given").optional(),
    asOf,
  },
  ...openLocals,
  output: batchSearchedShape,
  answer: type<SearchBatchResult>(),
});

/** The ways in which recall looks for memories. */
export const LANES = ["lexical", "vector", "slot", "names", "graph", "time", "standing"] as const;

/** The name of a lane. */
export type Lane = (typeof LANES)[number];

const lane = z.number().exactOptional();

const lanesShape = z.object({
  /** Words, with what the turns around it and its conversation say. */
  lexical: lane,
  /** Cosine to the question, by the embedder. */
  vector: lane,
  /** It holds the slot the question names. */
  slot: lane,
  /** It is titled by, or named together with, what the question or a better hit names. */
  names: lane,
  /** It was reached along edges from better hits. */
  graph: lane,
  /** Its time is the time the question speaks of. */
  time: lane,
  /** It is an instruction for every answer, and has to do with the question. */
  standing: lane,
});

/** What each lane says of a memory, 1 being what the best lexical hit has; a silent lane is absent. */
export interface LaneScores extends ShapeOf<typeof lanesShape> {}

const reasonsShape = z.object({
  lanes: lanesShape,
  trust: z.number(),
  salience: z.number(),
  /** Share of the question's words, weighed by how rare they are, that it and its neighbours hold. */
  coverage: z.number(),
  /** The edge that led to it. */
  via: z.object({ from: memoryIdShape, kind: z.string() }).exactOptional(),
});

/** Why a memory was recalled. */
export interface RecallReasons extends ShapeOf<typeof reasonsShape> {}

const recallHitShape = z.object({
  ...hitFields,
  tokens: z.int(),
  why: reasonsShape,
  /** Others that say the same. */
  duplicates: listOf(memoryIdShape),
  proof: proofShape.exactOptional(),
});

/** One memory of an answer. */
export interface RecallHit extends ShapeOf<typeof recallHitShape> {}

/** What an answer ranks: memories one by one, or conversations as a whole. */
export const RANKED = ["memory", "session"] as const;

const recalledSessionShape = z.object({
  session: z.string(),
  score: z.number(),
  /** Its turns among the hits, the best first. */
  turns: listOf(memoryIdShape),
});

/** A conversation that speaks of what was asked. */
export interface RecalledSession extends ShapeOf<typeof recalledSessionShape> {}

const recalledShape = z.object({
  hits: listOf(recallHitShape),
  /** With `by: "session"`: the conversations, the best first; `hits` are their best turns. */
  sessions: listOf(recalledSessionShape).exactOptional(),
  /** Ready for a prompt: fenced, one line a memory; empty when there is nothing. */
  text: z.string(),
  /** Where the question asks for an order: the hits in the order of time, as `text` tells them. */
  inOrder: listOf(memoryIdShape).exactOptional(),
  tokens: z.int(),
  /** No lane is confident. */
  weak: z.boolean(),
  /** Hits that did not fit the budget. */
  trimmed: z.int(),
  /** Lanes that were left out, since they know only the present. */
  leftOut: listOf(z.enum(["vector", "salience"])),
  /** Entries whose memories have no vector yet: meaning does not find those. Absent when there are none. */
  notEmbedded: z.int().exactOptional(),
  seq: positionShape,
});

/** An answer to a question. */
export interface RecallResult extends ShapeOf<typeof recalledShape> {}

/** Recalls what answers a question. */
export const recall = verb("recall", {
  summary: "Recall what answers a question, as text for a prompt",
  kind: "read",
  policy: "filtered",
  args: {
    question: oneOrMore(wordsAsked, LIMITS.recallQuestions).describe(
      "the question, in plain words",
    ),
  },
  labels: type<[question: string | readonly string[]]>(),
  options: {
    // The question itself is one of the ways of putting it.
    also: listUpTo(wordsAsked, LIMITS.recallQuestions - 1)
      .describe("another way of putting it; may be repeated")
      .optional(),
    limit: limitUpTo(LIMITS.recallHits),
    budgetTokens: whole(1, LIMITS.recallTokens).describe("most tokens of the text").optional(),
    by: z
      .enum(RANKED)
      .describe("rank memories, or whole conversations with their best turns; limit counts those")
      .optional(),
    form,
    ...filterFields,
    session: session.describe("only turns of this conversation").optional(),
    exceptSession: session.describe("nothing of this conversation").optional(),
    now: timeOf("the time of the question, for words such as yesterday").optional(),
    asOf,
    validAt: timeOf("what held in the world then, by the versions that held then").optional(),
    history: z
      .boolean()
      .describe("replaced memories as well; when not given, if the question asks about the past")
      .optional(),
    lanes: listUpTo(z.enum(LANES), LANES.length, 1)
      .describe("count only this lane; may be repeated; every lane when not given")
      .optional(),
    prove: z.boolean().describe("a proof with every hit").optional(),
    audit: z.boolean().describe("journal who was shown what").optional(),
    auditBy: by,
  },
  local: ["countTokens", "onPlan"],
  locals: type<{
    /** Counts the tokens of a text; a quarter of its bytes when not given. */
    readonly countTokens?: ((text: string) => number) | undefined;
    /** Called with how the read was carried out; for logs, because it counts what the caller may not see. */
    readonly onPlan?: OnPlan | undefined;
  }>(),
  output: recalledShape,
  answer: type<RecallResult>(),
});

/** The tiers of a context, in the order in which they claim memories. */
export const TIERS = ["pinned", "outcomes", "frame_relevant"] as const;

/** The name of a tier. */
export type Tier = (typeof TIERS)[number];

const contextItemShape = z.object({
  id: memoryIdShape,
  uri: z.string(),
  type: words(MEMORY_TYPES),
  /** `provisional` for an identity or a constraint that the owner has not confirmed. */
  status: words(STATUSES),
  text: z.string(),
  /** Tokens of its line in the prompt. */
  tokens: z.int(),
  score: z.number().min(0).max(1),
});

/** A memory in a context. */
export interface ContextItem extends ShapeOf<typeof contextItemShape> {}

const contextShape = z.object({
  /** Every identity, the hard constraints, the active goals. */
  pinned: listOf(contextItemShape),
  /** Events filed under the same work, newest first. */
  outcomes: listOf(contextItemShape),
  /** What else is filed under the same work. */
  frameRelevant: listOf(contextItemShape),
  /** URIs of what the budget left out, the highest score first; at most 64. */
  reachable: listOf(z.string()),
  /** Ready for a prompt, fenced; empty when there is nothing to say. */
  text: z.string(),
  tokens: z.int(),
  /** How many memories the budget left out. */
  trimmed: z.int(),
  /** The budget that applied. */
  budgetTokens: z.int(),
  /** True when more was asked for than is allowed. */
  clamped: z.boolean(),
  /** Tiers with more memories than are looked at: the newest were. */
  capped: listOf(z.enum(TIERS)),
  /** The time that recency was measured from: give it again for the same bytes. */
  nowMs: timeShape,
  seq: positionShape,
});

/** What an agent should have before it. */
export interface ContextBundle extends ShapeOf<typeof contextShape> {}

const KINDS = Object.keys(OBJECT_KINDS).join(", ");

const objects = z
  .partialRecord(words(OBJECT_KINDS), textField({ maxBytes: LIMITS.frameRefBytes }), {
    error: ({ code }) =>
      code !== "invalid_type" ? `expected one of the kinds ${KINDS}` : undefined,
  })
  .meta({ minProperties: 1 }) as unknown as z.ZodType<{ readonly [kind in ObjectKind]?: string }>;

/** Builds the context of a task, or of none in particular. */
export const context = verb("context", {
  summary: "Show what an agent should have before it when it starts on something",
  kind: "read",
  policy: "filtered",
  args: {},
  options: {
    verb: words(FRAME_VERBS).describe("what is about to be done").optional(),
    objects: objects
      .describe(`what it is done to, as kind=ref; a kind is one of ${KINDS}`)
      .optional(),
    budgetTokens: whole(1)
      .describe("tokens of the whole text; 3000 when not given, 4000 at the most")
      .optional(),
    tiers: listUpTo(z.enum(TIERS), TIERS.length, 1)
      .describe("only this tier; may be repeated")
      .optional(),
    outcomeLimit: whole(1, LIMITS.contextOutcomes)
      .describe("outcomes to show; 3 when not given")
      .optional(),
    form: z.enum(FORMS).describe("how much of each memory; medium when not given").optional(),
    nowMs: timeOf("the time that recency is measured from; now when not given").optional(),
    asOf,
  },
  together: [
    { field: "verb", needs: "objects" },
    { field: "objects", needs: "verb" },
  ],
  ...planLocals,
  output: contextShape,
  answer: type<ContextBundle>(),
});
