/**
 * The verb behind `putSubgraph`: makes sure that the lineages it names are the graph's own, then lets
 * `subgraph.ts` write everything in one commit.
 */
import { type CortexError, isCortexError } from "../errors.js";
import { type HubContext, inGraph } from "./context.js";
import { idIn } from "./lineages.js";
import {
  checkSubgraph,
  namedLineages,
  putSubgraph,
  type SubgraphInput,
  type SubgraphOptions,
  type SubgraphResult,
} from "./subgraph.js";

/** Writes a subgraph into a graph. */
export async function putSubgraphIn(
  hub: HubContext,
  graph: string,
  input: SubgraphInput,
  options: SubgraphOptions,
): Promise<SubgraphResult> {
  checkSubgraph(input, options);
  return inGraph(hub, graph, async (engine, opened) => {
    const denied = new Map<string, CortexError>();
    const claims = [...new Set(namedLineages(input))].map(async (lineage) => {
      try {
        if ((await idIn(opened, lineage)) === undefined) await hub.lineages.claim(graph, [lineage]);
      } catch (error) {
        if (!isCortexError(error)) throw error;
        denied.set(lineage, error);
      }
    });
    await Promise.all(claims);
    const how = { atomic: options.atomic === true, prefix: hub.prefix, denied };
    const { written, ...result } = await putSubgraph(engine, input, how);
    for (const { node } of written) hub.lineages.note(node.lineageId, graph);
    return result;
  });
}
