/**
 * Graphs and lineages as the resources that memgraph's clients know: `memgraph://<graph>` is a graph,
 * `memgraph://<graph>/<lineage>` the current node of a lineage, each as the JSON that its call answers.
 */
import { CortexError, type Hub, isCortexError } from "@cortex-memory/core";
import { quoted } from "@cortex-memory/core/contract";
import { callDoor, type MemgraphCall } from "../memgraph/call.js";
import { shownGraphId } from "../memgraph/shapes.js";
import { MEMGRAPH_CALLS } from "../memgraph/table.js";
import { quotedAnswer } from "./briefs.js";
import type { Following } from "./changes.js";
import type { Door } from "./door.js";
import type { ResourceContent } from "./resources.js";

const JSON_TYPE = "application/json";

/** The template of graphs; every graph is also listed. */
export const GRAPH_TEMPLATE = {
  name: "memgraph_graph",
  uriTemplate: "memgraph://{graph_id}",
  title: "A graph",
  description: "One graph: its name, policy, kinds and links, as JSON.",
  mimeType: JSON_TYPE,
} as const;

/** The template of lineages. */
export const LINEAGE_TEMPLATE = {
  name: "memgraph_lineage",
  uriTemplate: "memgraph://{graph_id}/{lineage_id}",
  title: "A lineage",
  description: "The current node of a lineage, as JSON.",
  mimeType: JSON_TYPE,
} as const;

type HubDoor = Pick<Door, "access"> & { readonly hub: () => Promise<Hub> };

/** Every graph, as a resource. */
export async function listGraphResources({ hub, access }: HubDoor) {
  const { graphs } = await (await hub()).listGraphs({ access });
  return graphs.map((graph) => ({
    uri: `memgraph://${shownGraphId(graph)}`,
    name: quoted(graph.name),
    mimeType: JSON_TYPE as string,
  }));
}

/** Reads a graph; `undefined` when there is none. */
export function readGraphResource(door: HubDoor, uri: string, graphId: string) {
  return contentOf(door, uri, MEMGRAPH_CALLS.getGraph, { graph_id: graphId });
}

/** Reads the current node of a lineage; `undefined` when there is none. */
export function readLineageResource(door: HubDoor, uri: string, lineage: string) {
  return contentOf(door, uri, MEMGRAPH_CALLS.getNode, { lineage_id: decoded(lineage) });
}

/** A part of an address as it was before it was encoded. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    const message = "uri: expected percent signs that encode UTF-8, got others";
    throw new CortexError("ERR_BAD_URI", message, { field: "uri" }, error);
  }
}

/** What a call answers, as the content of a resource. */
async function contentOf(
  { hub, access }: HubDoor,
  uri: string,
  call: MemgraphCall,
  input: object,
): Promise<readonly ResourceContent[] | undefined> {
  try {
    const { json } = await call.run(callDoor(await hub(), access), input);
    return [{ uri, mimeType: JSON_TYPE, text: JSON.stringify(quotedAnswer(json, [])) }];
  } catch (error) {
    if (isCortexError(error, "ERR_NOT_FOUND")) return undefined;
    throw error;
  }
}

/** Tells when a graph is made or configured, until ended or until the hub closes. */
export function followGraphs(
  { hub }: HubDoor,
  onChanged: () => void,
  log: (line: string) => void,
): Following {
  const stop = new AbortController();
  const done = (async () => {
    const events = await (await hub()).subscribe({ signal: stop.signal, graphsAlone: true });
    for await (const { type } of events) if (type === "graph") onChanged();
  })().catch((error: unknown) => {
    log(`following the graphs ended: ${error instanceof Error ? error.message : String(error)}`);
  });
  return {
    async end() {
      stop.abort();
      await done;
    },
  };
}
