/**
 * The answer of a find as a schema.
 */
import { MEMORY_TYPES } from "@cortex-memory/core";
import * as z from "zod";
import { listOf, words } from "./fields.js";
import { memoryShape } from "./shapes.js";

const hit = z.object({
  id: z.string(),
  uri: z.string(),
  type: words(MEMORY_TYPES),
  version: z.int(),
  text: z.string(),
  score: z.number(),
  tokens: z.int().exactOptional(),
  hop: z.int().exactOptional(),
  distance: z.number().exactOptional(),
  memory: memoryShape.exactOptional(),
});

const explanation = z.object({
  where: z.string(),
  source: z.string(),
  indexes: listOf(
    z.object({
      name: z.string(),
      estimate: z.int().exactOptional(),
      counted: z.boolean(),
      keysRead: z.int(),
    }),
  ),
  order: z.enum(["index", "sorted"]),
  orderBy: listOf(z.string()),
  candidates: z.int(),
  rowsRead: z.int(),
  rowsKept: z.int(),
  steps: listOf(z.string()),
});

/** A page of what was found. */
export const foundShape = z.object({
  hits: listOf(hit),
  seq: z.int(),
  total: z.int().exactOptional(),
  trimmed: z.int(),
  tokens: z.int().exactOptional(),
  cursor: z.string().exactOptional(),
  clamped: z
    .object({ hops: z.int().exactOptional(), nodes: z.int().exactOptional() })
    .exactOptional(),
  lateSeq: z.int().exactOptional(),
  explain: explanation.exactOptional(),
});
