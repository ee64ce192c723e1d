/**
 * What REST writes otherwise than memgraph's other doors: the ties of a graph stand in an object of
 * their own, and a hit has its snippet.
 */
import type { GraphInfo, NodeHit, SymlinkManifest } from "@cortex-memory/core";
import * as z from "zod";
import { graphJson, graphJsonShape, nodeJson, nodeJsonShape } from "../memgraph/shapes.js";

/** A JSON object. */
export type Json = { readonly [member: string]: unknown };

/** A graph. */
export const restGraphShape = graphJsonShape
  .omit({ outbound_count: true, inbound_count: true })
  .extend({
    symlink_manifest_summary: z.object({ outbound_count: z.int(), inbound_count: z.int() }),
  });

/** A node that a search found. */
export const hitShape = z.object({
  node: nodeJsonShape,
  snippet: z.string().exactOptional(),
  score: z.number(),
});

/** A graph, and with how many others it is tied. */
export function restGraphJson(
  graph: GraphInfo,
  ties: Pick<SymlinkManifest, "outbound" | "inbound">,
): Json {
  const { outbound_count, inbound_count, ...rest } = graphJson(graph, ties);
  return { ...rest, symlink_manifest_summary: { outbound_count, inbound_count } };
}

/** A node that a search found. */
export function hitJson({ node, score, snippet }: NodeHit): Json {
  return { node: nodeJson(node), ...(snippet === "" ? {} : { snippet }), score };
}
