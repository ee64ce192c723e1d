/** The shapes of what operations on graphs answer. */
import * as z from "zod";
import { anyObject, listOf } from "./fields.js";

/** A graph. */
export const graphShape = z.object({
  id: z.string(),
  name: z.string(),
  conflictPolicy: z.enum(["lww", "manual"]),
  kindWhitelist: listOf(z.string()),
  metadata: anyObject,
  archived: z.boolean(),
  createdAt: z.int(),
  seq: z.int(),
});

/** Graphs, and what could not be read. */
export const graphListShape = z.object({
  graphs: listOf(graphShape),
  problems: listOf(z.object({ id: z.string(), code: z.string(), message: z.string() })),
});

const graphRef = z.object({ graphId: z.string(), edgeCount: z.int(), exists: z.boolean() });

const graphEdge = z.object({
  id: z.string(),
  graphId: z.string(),
  fromLineage: z.string(),
  toGraph: z.string(),
  toLineage: z.string(),
  kind: z.string(),
  metadata: anyObject.exactOptional(),
  ordinal: z.int().exactOptional(),
  createdAt: z.int(),
  createdBy: z.string(),
});

/** Which graphs a graph is tied to. */
export const symlinksShape = z.object({
  outbound: listOf(graphRef),
  inbound: listOf(graphRef),
  dangling: listOf(graphEdge).exactOptional(),
});

/** What a check of the graphs together found. */
export const graphCheckShape = z.object({
  ok: z.boolean(),
  graphs: z.int(),
  problems: listOf(z.object({ id: z.string(), code: z.string(), message: z.string() })),
});

/** What became of a copy of graphs. */
export const copiedShape = z.object({
  ok: z.boolean(),
  copied: z.int(),
  same: z.int(),
  entries: z.int(),
  failed: listOf(z.object({ graph: z.string(), code: z.string(), message: z.string() })),
});

/** A graph that is gone. */
export const removedGraphShape = z.object({
  id: z.string(),
  name: z.string(),
  reason: z.string(),
  entries: z.int().exactOptional(),
  symlinks: symlinksShape.omit({ dangling: true }),
});
