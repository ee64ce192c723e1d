/**
 * The manifest of a graph's symlinks: into which graphs its edges lead, from which graphs edges lead
 * into it, and how many each. Counts come from the catalogue; which far ends are missing is looked up
 * in the graphs themselves, when asked for.
 */

import type { Edge } from "../contract/shapes.js";
import { checkOptions, memoryId } from "../engine/engine.js";
import { prefixRange } from "../kv/keyspace.js";
import { INTEGER_MAX } from "../limits.js";
import { decodeSymlink } from "./catalogue-fold.js";
import {
  decodeCount,
  type GraphRow,
  inCountKey,
  numberAtEnd,
  outCountKey,
  symlinkKey,
  textInKey,
} from "./catalogue-rows.js";
import { type HubContext, ifGraph } from "./context.js";
import { checkGraphId } from "./names.js";
import type { HubEdge } from "./walk.js";

/** A graph at the other end of symlinks. */
export interface GraphRef {
  readonly graphId: string;
  /** How many edges; edges that say the same count each. */
  readonly edgeCount: number;
  /** False when there is no such graph. */
  readonly exists: boolean;
}

/** Which graphs a graph is tied to. */
export interface SymlinkManifest {
  /** Sorted by graph. */
  readonly outbound: readonly GraphRef[];
  readonly inbound: readonly GraphRef[];
  /** Symlinks whose far end is not there; only when asked for. */
  readonly dangling?: readonly HubEdge[];
}

/** How a manifest is made. */
export interface SymlinkOptions {
  /** True looks every far end up, which opens every graph that symlinks lead to. */
  readonly dangling?: boolean;
}

/** The manifest of a graph; empty when there is no such graph. */
export async function symlinks(
  hub: HubContext,
  graph: string,
  options: SymlinkOptions = {},
): Promise<SymlinkManifest> {
  checkOptions(options, ["dangling", "access"]);
  const name = checkGraphId(graph, hub.prefix);
  const { rows } = await hub.catalogue.caughtUp();
  const row = rows.get(name);
  const outbound = row === undefined ? [] : await outboundOf(hub, row);
  const manifest = {
    outbound: outbound.map((ref) => ({ ...ref, exists: rows.has(ref.graphId) })).sort(byGraph),
    inbound: (await inboundOf(hub, name)).sort(byGraph),
  };
  if (options.dangling !== true || row === undefined) return manifest;
  return { ...manifest, dangling: await danglingOf(hub, name, row) };
}

function byGraph(a: GraphRef, b: GraphRef): number {
  return a.graphId < b.graphId ? -1 : 1;
}

async function outboundOf(
  { catalogue, prefix }: HubContext,
  row: GraphRow,
): Promise<Omit<GraphRef, "exists">[]> {
  const [found = []] = await catalogue.read((snapshot) =>
    snapshot.ranges([prefixRange(outCountKey(row.number), INTEGER_MAX)]),
  );
  return found
    .map(({ key, value }) => ({
      graphId: textInKey(key.subarray(5)),
      edgeCount: decodeCount(value),
    }))
    .filter(({ graphId }) => graphId.startsWith(prefix));
}

async function inboundOf({ catalogue }: HubContext, graph: string): Promise<GraphRef[]> {
  return catalogue.read(async (snapshot) => {
    const [found = []] = await snapshot.ranges([prefixRange(inCountKey(graph), INTEGER_MAX)]);
    const names = await catalogue.namesOf(
      snapshot,
      found.map(({ key }) => numberAtEnd(key)),
    );
    return found.flatMap(({ value }, at) => {
      const graphId = names[at];
      if (graphId === undefined) return [];
      return [{ graphId, edgeCount: decodeCount(value), exists: true }];
    });
  });
}

/** The symlinks of a graph whose far end is not there, found from the memories they leave. */
async function danglingOf(hub: HubContext, graph: string, row: GraphRow): Promise<HubEdge[]> {
  const [links = []] = await hub.catalogue.read((snapshot) =>
    snapshot.ranges([prefixRange(symlinkKey(row.number), INTEGER_MAX)]),
  );
  const live = links.filter(({ value }) => decodeSymlink(value).isLive);
  // Prefix 1, number 4, then the key of the edge, which begins with the memory that it leaves.
  const ids = new Set(live.map(({ key }) => memoryId(key.subarray(5, 21))));
  const edges = await ifGraph(hub, graph, async ({ memory }) => {
    const lists = [...ids].map(async (id): Promise<HubEdge[]> => {
      const [found, out] = await Promise.all([memory.get(id), memory.edgesOut(id)]);
      const from = found?.head.externalId ?? id;
      const far = out.edges.filter(({ toGraph }) => toGraph !== undefined);
      return far.map((edge) => ({ graphId: graph, edge, from, to: edge.to }));
    });
    return (await Promise.all(lists)).flat();
  });
  const isThere = await Promise.all((edges ?? []).map(({ edge }) => hasFarEnd(hub, edge)));
  return (edges ?? []).filter((_, at) => isThere[at] !== true);
}

async function hasFarEnd(hub: HubContext, { toGraph, to }: Edge): Promise<boolean> {
  return (await ifGraph(hub, toGraph, ({ memory }) => memory.get(to))) !== undefined;
}
