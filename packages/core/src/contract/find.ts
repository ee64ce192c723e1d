/**
 * The verbs that find memories by exact conditions, and those that say which words are in use:
 * `find`, `describeSchema`, `listTags`.
 *
 * A predicate is declared by its type and described to doors; its check, which has to know every
 * field of every type, is that of `find/predicate.ts`.
 */
import * as z from "zod";
import { LIMITS } from "../limits.js";
import { CONTENT, strictFields } from "../records/fields.js";
import { frameSchema } from "../records/frames.js";
import { MEMORY_TYPES } from "../records/types.js";
import {
  listOf,
  listUpTo,
  oneOrMore,
  refField,
  type ShapeOf,
  textField,
  whole,
  words,
} from "./fields.js";
import { form, hitFields, planLocals, wordsAsked } from "./hits.js";
import { walkFields } from "./links.js";
import {
  asOf,
  by,
  cursor,
  kind,
  lifecycles,
  limitUpTo,
  memoryType,
  session,
  slot,
  tag,
  validAt,
} from "./memory.js";
import { type Memory, memoryShape, positionShape, seqShape } from "./shapes.js";
import { type, verb } from "./verb.js";

/** A value that a predicate compares with. Times are milliseconds, or ISO 8601 text. */
export type Scalar = string | number | boolean | null;

/** A filter over memories. An empty `and` holds for every memory, an empty `or` for none. */
export type Predicate =
  | { readonly eq: readonly [field: string, value: Scalar] }
  | { readonly ne: readonly [field: string, value: Scalar] }
  | { readonly gt: readonly [field: string, value: Scalar] }
  | { readonly gte: readonly [field: string, value: Scalar] }
  | { readonly lt: readonly [field: string, value: Scalar] }
  | { readonly lte: readonly [field: string, value: Scalar] }
  | { readonly in: readonly [field: string, values: readonly Scalar[]] }
  | { readonly hasTag: string }
  | { readonly matches: readonly [field: string, pattern: string] }
  | { readonly and: readonly Predicate[] }
  | { readonly or: readonly Predicate[] }
  | { readonly not: Predicate };

/** How a field and a literal are compared. */
export const COMPARISONS = ["eq", "ne", "gt", "gte", "lt", "lte"] as const;

/** Every operator a predicate may use. */
export const OPERATORS = [...COMPARISONS, "in", "hasTag", "matches", "and", "or", "not"] as const;

const predicate = z.custom<Predicate>().meta({
  type: "object",
  description: `a predicate, as JSON: an object with one of ${OPERATORS.join(", ")}`,
  minProperties: 1,
  maxProperties: 1,
  form: "Predicate",
});

/** What hits are near to: one of a text, a memory or a vector. */
const nearFields = strictFields({
  text: textField(CONTENT).describe("a text").optional(),
  uri: refField("a memory").optional(),
  vector: z
    .custom<Float32Array | readonly number[]>()
    .meta({ description: "a vector", type: "array", items: { type: "number" }, minItems: 1 })
    .optional(),
  k: whole(1, LIMITS.listLimit).describe("how many memories are hits").optional(),
});

/** What hits are near to, checked. */
export type Near = z.output<typeof nearFields>;

/** A text alone is what most people are near to. */
const near = z.union([textField(CONTENT).transform((text): Near => ({ text })), nearFields]);

const orderFields = strictFields({
  /** `arrival`, `salience`, `near.distance`, `hop`, `text.score`, or a field of numbers or times. */
  field: z.string().max(LIMITS.labelBytes),
  /** Nearest first for distances and hops, largest first for all else, unless given. */
  direction: z.enum(["asc", "desc"]).optional(),
});

/** One clause of an order, checked. */
export type OrderClause = z.output<typeof orderFields>;

const clause = z.union([z.string().max(LIMITS.labelBytes).transform(clauseOf), orderFields]);

/** `head.importance:asc` as a clause. */
function clauseOf(text: string): OrderClause {
  const [, field = text, direction] = /^(.*):(asc|desc)$/s.exec(text) ?? [];
  return direction === "asc" || direction === "desc" ? { field, direction } : { field: text };
}

/** Most clauses of an order. */
const ORDER_CLAUSES = 8;

const follow = strictFields(walkFields).describe(
  "how to follow links: kinds, direction, minHops, maxHops, as JSON",
);

const foundHitShape = z.object({
  ...hitFields,
  version: z.int(),
  /** Tokens of the text, under a budget. */
  tokens: z.int().exactOptional(),
  /** Edges between it and the memory that the query came from. */
  hop: z.int().exactOptional(),
  /** How far it is from what `near` asks for: 0 for the same direction, up to 2. */
  distance: z.number().exactOptional(),
  /** All of it; left out where a form or a budget asks for a rendering instead. */
  memory: memoryShape.exactOptional(),
});

/** One memory that was found: its text in the form asked for, its salience as score. */
export interface FindHit extends Omit<ShapeOf<typeof foundHitShape>, "memory"> {
  readonly memory?: Memory;
}

const explanationShape = z.object({
  /** The conditions as text. */
  where: z.string(),
  /** The path that was read. */
  source: z.string(),
  /** Every path there was. */
  indexes: listOf(
    z.object({
      name: z.string(),
      /** About how many candidates it has; absent where there was no choice, and so no probe. */
      estimate: z.int().exactOptional(),
      /** True when the estimate is a count. */
      counted: z.boolean(),
      keysRead: z.int(),
    }),
  ),
  /** `index` reads no further than the page; `sorted` needs every candidate. */
  order: z.enum(["index", "sorted"]),
  orderBy: listOf(z.string()),
  /** Memories that were tested. */
  candidates: z.int(),
  /** Rows of the store that were read, those of the probe included. */
  rowsRead: z.int(),
  /** Hits of the page before it was trimmed. */
  rowsKept: z.int(),
  /** What was done, in order. */
  steps: listOf(z.string()),
});

/** How an answer was found. */
export interface FindExplanation extends ShapeOf<typeof explanationShape> {}

const foundShape = z.object({
  hits: listOf(foundHitShape),
  seq: positionShape,
  /** Hits on all pages together, where that is known. */
  total: z.int().exactOptional(),
  /** Hits of this page that the token budget left out. */
  trimmed: z.int(),
  /** Tokens of all texts together, under a budget. */
  tokens: z.int().exactOptional(),
  /** Give it back to read on; absent at the end. A page may be short and still have one. */
  cursor: z.string().exactOptional(),
  /** The bounds that cut a walk short. */
  clamped: z
    .object({ hops: z.int().exactOptional(), nodes: z.int().exactOptional() })
    .exactOptional(),
  /** The entry of a late find. */
  lateSeq: seqShape.exactOptional(),
  explain: explanationShape.exactOptional(),
});

/** A page of hits. */
export interface FindResult extends Omit<ShapeOf<typeof foundShape>, "hits"> {
  readonly hits: readonly FindHit[];
}

/** The fields of which a query has one at least: those an index serves, or that may bound the time. */
export const FIND_BY = [
  "type",
  "tags",
  "kinds",
  "slot",
  "session",
  "frame",
  "where",
  "text",
  "near",
  "from",
] as const;

/** Finds memories. At least one field must be something an index serves, or bound the time. */
export const find = verb("find", {
  summary: "Find memories by exact conditions",
  kind: "read",
  policy: "filtered",
  args: {},
  options: {
    type: oneOrMore(memoryType).describe("a type; may be repeated").optional(),
    tags: listUpTo(tag, LIMITS.tags).describe("a tag that hits have; may be repeated").optional(),
    kinds: listUpTo(kind, LIMITS.predicateValues, 1)
      .describe("a kind, of which hits have one; may be repeated")
      .optional(),
    slot: slot.describe("memories of this slot").optional(),
    session: session.describe("turns of this conversation").optional(),
    frame: frameSchema.describe("memories with this frame, as JSON").optional(),
    where: predicate.optional(),
    text: wordsAsked.describe("words that hits hold, every one of them").optional(),
    near: near
      .describe("hits near in meaning to a text; or to text, uri or vector, as JSON")
      .optional(),
    from: refField("memories that links lead to from this one").optional(),
    follow: follow.optional(),
    orderBy: listUpTo(clause, ORDER_CLAUSES, 1)
      .describe("a field, with :asc or :desc; may be repeated; newest first when not given")
      .optional(),
    limit: limitUpTo(LIMITS.listLimit),
    offset: whole(0, LIMITS.findCandidates).describe("hits to skip").optional(),
    cursor,
    budgetTokens: whole(1, LIMITS.findBudgetTokens)
      .describe("most tokens of all hits together")
      .optional(),
    form,
    asOf,
    validAt,
    lifecycles,
    includeTombstoned: z.boolean().describe("show hidden memories as well").optional(),
    lateBinding: z.boolean().describe("journal the hits as used").optional(),
    by,
    explain: z.boolean().describe("say how the answer was found").optional(),
    countTotal: z.boolean().describe("say how many hits there are in all").optional(),
  },
  together: [
    // A scope may set a budget, and its holder then needs neither; everybody else gives one.
    { atLeastOne: ["limit", "budgetTokens"] },
    { notEmpty: FIND_BY },
    { atMostOne: ["text", "validAt"] },
    { atMostOne: ["near", "asOf"] },
    { atMostOne: ["near", "validAt"] },
    { field: "follow", needs: "from" },
  ],
  ...planLocals,
  output: foundShape,
  answer: type<FindResult>(),
});

const count = z.int();

const tagShape = z.object({ tag: z.string(), count });

/** A tag and the number of memories that have it. */
export interface TagCount extends ShapeOf<typeof tagShape> {}

const schemaShape = z.object({
  /** The actor whose graph it is. */
  graphId: z.string(),
  /** Active memories. */
  nodeCount: count,
  types: listOf(z.object({ type: words(MEMORY_TYPES), count })),
  kinds: listOf(
    z.object({
      kind: z.string(),
      count,
      /** Up to three that came last: their summary, or what they say, cut. */
      examples: listOf(z.string()),
    }),
  ),
  /** Tags of the form `prefix:value`, by prefix. */
  tagPrefixes: listOf(
    z.object({
      prefix: z.string(),
      count,
      /** Up to ten, the most frequent first. */
      values: listOf(z.string()),
    }),
  ),
  tags: listOf(tagShape),
  slots: listOf(z.object({ slot: z.string(), count })),
  edgeKinds: listOf(z.object({ kind: z.string(), count })),
  /** How many different names there are, shown or not. */
  distinct: z.object({ kinds: count, tagPrefixes: count, tags: count, slots: count }),
  seq: positionShape,
});

/** What a graph is made of. */
export interface Schema extends ShapeOf<typeof schemaShape> {}

const countLocals = {
  local: ["siblings"],
  locals: type<{
    /** True counts every open version of a memory, each under its own kind and tags; kinds have no examples then. */
    readonly siblings?: boolean | undefined;
  }>(),
} as const;

/** Says what a graph is made of. */
export const describeSchema = verb("describeSchema", {
  summary: "Show the types, kinds, tags, slots and edge kinds in use",
  kind: "read",
  policy: "filtered",
  args: {},
  options: {},
  ...countLocals,
  output: schemaShape,
  answer: type<Schema>(),
});

const tagsShape = z.object({ tags: listOf(tagShape), seq: positionShape });

/** Tags in use. */
export interface TagList extends ShapeOf<typeof tagsShape> {}

/** Lists tags. */
export const listTags = verb("listTags", {
  summary: "List the tags in use",
  kind: "read",
  policy: "filtered",
  args: {},
  options: {
    prefix: textField({ maxBytes: LIMITS.tagBytes, blank: true, control: true })
      .describe("only tags that start so")
      .optional(),
    limit: limitUpTo(LIMITS.listLimit),
  },
  ...countLocals,
  output: tagsShape,
  answer: type<TagList>(),
});
