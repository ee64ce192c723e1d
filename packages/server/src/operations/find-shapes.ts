/**
 * The answer of a find as a schema.
 */
import * as z from "zod";
import { listOf } from "./fields.js";
import { hitFields, memoryShape } from "./shapes.js";

const hit = z.object({
  ...hitFields,
  version: z.int(),
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
