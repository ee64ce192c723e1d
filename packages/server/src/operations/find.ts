/**
 * Finding memories by exact conditions.
 */
import {
  type FindQuery,
  frameSchema,
  type NearQuery,
  type OrderClause,
  type Predicate,
} from "@cortex-memory/core";
import * as z from "zod";
import { showFound } from "../render/find.js";
import { asking, defineOperation } from "./define.js";
import {
  anyObject,
  asOf,
  by,
  edgeKinds,
  lifecycles,
  limit,
  listOf,
  memoryType,
  oneOrMore,
  timeField,
} from "./fields.js";
import { foundShape } from "./find-shapes.js";

const follow = z
  .strictObject({
    kinds: edgeKinds,
    direction: z.enum(["out", "in", "both"]).exactOptional(),
    minHops: z.int().min(1).exactOptional(),
    maxHops: z.int().min(1).exactOptional(),
  })
  .describe("how to follow links: kinds, direction, minHops, maxHops, as JSON");

const near = z.union([
  z.string(),
  z.strictObject({
    text: z.string().exactOptional(),
    uri: z.string().exactOptional(),
    vector: listOf(z.number()).exactOptional(),
    k: z.int().min(1).exactOptional(),
  }),
]);

/** A text alone is what most people are near to; core sees to it that one thing is named. */
function nearOf(given: z.output<typeof near>): NearQuery {
  return typeof given === "string" ? { text: given } : (given as NearQuery);
}

const clause = z.union([
  z.string(),
  z.strictObject({ field: z.string(), direction: z.enum(["asc", "desc"]).exactOptional() }),
]);

/** `head.importance:asc` as a clause. */
function clauseOf(given: z.output<typeof clause>): OrderClause {
  if (typeof given !== "string") return given;
  const [, field = given, direction] = /^(.*):(asc|desc)$/s.exec(given) ?? [];
  if (direction !== "asc" && direction !== "desc") return { field: given };
  return { field, direction };
}

const findOperation = defineOperation({
  name: "find",
  verbs: ["find"],
  kind: "read",
  summary: "Find memories by exact conditions",
  help: `Give at least one thing an index serves (a type, tag, kind, slot, session, frame, words, a
meaning, a start to walk from, or a bound on head.createdAt or head.updatedAt) and a limit or a token budget. --where takes a
predicate as JSON, such as {"gte": ["head.importance", 7]}; the page on find lists operators and fields.
Hits come newest first unless --order says otherwise. --explain tells which index was read.`,
  example: `cortex find --type fact --tag travel --where '{"gte": ["head.importance", 5]}' --limit 10`,
  input: z.strictObject({
    type: oneOrMore(memoryType).describe("a type; may be repeated").exactOptional(),
    tags: listOf(z.string()).describe("a tag that hits have; may be repeated").exactOptional(),
    kinds: listOf(z.string())
      .describe("a kind, of which hits have one; may be repeated")
      .exactOptional(),
    slot: z.string().describe("memories of this slot").exactOptional(),
    session: z.string().describe("turns of this conversation").exactOptional(),
    frame: frameSchema.describe("memories with this frame, as JSON").exactOptional(),
    where: anyObject.describe("a predicate, as JSON").exactOptional(),
    text: z.string().describe("words that hits hold, every one of them").exactOptional(),
    near: near
      .meta({
        description: "hits near in meaning to a text, or to text, uri or vector as an object",
      })
      .exactOptional(),
    from: z.string().describe("memories that links lead to from this one").exactOptional(),
    follow: follow.exactOptional(),
    orderBy: listOf(clause)
      .describe("a field, with :asc or :desc; may be repeated; newest first when not given")
      .exactOptional(),
    limit,
    offset: z.int().min(0).describe("hits to skip").exactOptional(),
    cursor: z.string().describe("where the page before ended").exactOptional(),
    budgetTokens: z.int().min(1).describe("most tokens of all hits together").exactOptional(),
    form: z.enum(["short", "medium", "full"]).describe("how hits are rendered").exactOptional(),
    asOf,
    validAt: timeField("the version of each that held in the world then").exactOptional(),
    lifecycles,
    includeTombstoned: z.boolean().describe("show hidden memories as well").exactOptional(),
    lateBinding: z.boolean().describe("journal the hits as used").exactOptional(),
    by,
    explain: z.boolean().describe("say how the answer was found").exactOptional(),
    countTotal: z.boolean().describe("say how many hits there are in all").exactOptional(),
  }),
  output: foundShape,
  call: (memory, { where, near: close, orderBy, ...rest }, context) => {
    const query: FindQuery = {
      ...rest,
      // Core checks the predicate, which is deeper than this schema cares to say.
      ...(where === undefined ? {} : { where: where as unknown as Predicate }),
      ...(close === undefined ? {} : { near: nearOf(close) }),
      ...(orderBy === undefined ? {} : { orderBy: orderBy.map(clauseOf) }),
      ...asking(context),
    };
    return memory.find(query);
  },
  cli: {
    command: "find",
    group: "memories",
    flags: {
      tags: "tag",
      kinds: "kind",
      orderBy: "order",
      lifecycles: "lifecycle",
      budgetTokens: "budget",
      lateBinding: "late",
      countTotal: "count",
    },
    human: showFound,
  },
});

/** The operations that find. */
export const FIND_OPERATIONS = [findOperation];
