/**
 * The verbs about graphs as a whole: create, get, list, configure.
 */
import { checkPatch, configure } from "../config/config.js";
import type { ConfigPatch } from "../contract/config.js";
import type { Cortex } from "../cortex.js";
import { checkOptions, checkPrincipal } from "../engine/engine.js";
import { type Access, OWNER } from "../scope/access.js";
import { type HubContext, inGraph } from "./context.js";
import {
  byAge,
  checkGraphInput,
  furnishGraph,
  type GraphFilter,
  type GraphInfo,
  type GraphInput,
  type GraphList,
  graphExists,
  shapeGraph,
} from "./graph.js";
import { noGraph } from "./lineages.js";
import { checkGraphId, graphIdFor } from "./names.js";

/** Runs `body` in a graph, made first where `create` says so; else `ERR_NOT_FOUND` without one. */
export async function useGraph<T>(
  hub: HubContext,
  graph: string,
  body: (memory: Cortex) => Promise<T>,
  options: { readonly create?: boolean },
): Promise<T> {
  checkOptions(options, ["create"]);
  if (options.create !== true) return inGraph(hub, graph, (_, { memory }) => body(memory));
  return hub.stores.create(checkGraphId(graph, hub.prefix), ({ memory }) => body(memory));
}

/** Makes a graph; `ERR_EXISTS` when there is one of this id. */
export async function createGraph(hub: HubContext, input: GraphInput): Promise<GraphInfo> {
  const patch = checkGraphInput(input);
  const id =
    input.id === undefined
      ? graphIdFor(input.name, hub.random, hub.prefix)
      : checkGraphId(input.id, hub.prefix, "id");
  if ((await hub.places.stamp(id)) !== undefined) throw graphExists(id);
  await hub.stores.create(id, ({ engine }) => furnishGraph(engine, patch, input));
  return fresh(hub, id);
}

/** One graph; `undefined` when there is none of this id. */
export async function getGraph(hub: HubContext, id: string): Promise<GraphInfo | undefined> {
  const row = await hub.catalogue.graph(checkGraphId(id, hub.prefix, "id"));
  return row === undefined ? undefined : shapeGraph(id, row);
}

/** Every graph, oldest first; archived ones on request. */
export async function listGraphs(hub: HubContext, filter: GraphFilter = {}): Promise<GraphList> {
  checkOptions(filter, ["includeArchived", "access"], "filter");
  const { rows, problems } = await hub.catalogue.graphs();
  const graphs = [...rows].map(([id, row]) => shapeGraph(id, row));
  const shown = graphs.filter(({ archived }) => filter.includeArchived === true || !archived);
  return { graphs: shown.sort(byAge), problems };
}

/** Changes the configuration of a graph; what the patch leaves out stays. */
export async function configureGraph(
  hub: HubContext,
  id: string,
  patch: ConfigPatch,
  options: { readonly by?: string; readonly access?: Access } = {},
): Promise<GraphInfo> {
  checkOptions(options, ["by", "access"]);
  const change = checkPatch(patch);
  await inGraph(hub, id, (engine) => {
    const by = checkPrincipal(options.by, engine.principal);
    return configure(engine, { ...change, by, access: OWNER });
  });
  return fresh(hub, id);
}

async function fresh(hub: HubContext, id: string): Promise<GraphInfo> {
  const row = await hub.catalogue.refresh(id, "stamp");
  if (row === undefined) throw noGraph(id);
  return shapeGraph(id, row);
}
