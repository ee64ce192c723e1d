/**
 * The manifest of a graph's symlinks: into which graphs its edges lead, from which graphs edges lead
 * into it, and how many each. Counts come from the catalogue; which far ends are missing is looked up
 * in the graphs themselves, when asked for.
 */

import { checkOptions, findIds, parseRef } from "../engine/engine.js";
import { Reader } from "../history/reader.js";
import { keyString, prefixRange } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { OWNER } from "../scope/access.js";
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
import { type GraphEdge, shapeGraphEdge } from "./edge.js";
import { edgesOf, type MetEdge, seenMemories } from "./edge-read.js";
import { checkGraphId } from "./names.js";
import { lineageOf } from "./node.js";

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
  readonly dangling?: readonly GraphEdge[];
}

/** How a manifest is made. */
export interface SymlinkOptions {
  /** True looks every far end up, which opens every graph that symlinks lead to. */
  readonly dangling?: boolean;
}

/** More graphs than one is tied to, and more symlinks than one has. */
const ALL = 1_000_000;

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
    snapshot.ranges([prefixRange(outCountKey(row.number), ALL)]),
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
    const [found = []] = await snapshot.ranges([prefixRange(inCountKey(graph), ALL)]);
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

/** The symlinks of a graph whose far end is not there. */
async function danglingOf(hub: HubContext, graph: string, row: GraphRow): Promise<GraphEdge[]> {
  const [links = []] = await hub.catalogue.read((snapshot) =>
    snapshot.ranges([prefixRange(symlinkKey(row.number), ALL)]),
  );
  const live = links.map(({ value }) => decodeSymlink(value)).filter(({ isLive }) => isLive);
  const far = [...new Map(live.map((link) => [keyString(link.far), link.far])).values()];
  const edges = await shapedEdges(hub, graph, far);
  const byGraph = new Map<string, GraphEdge[]>();
  for (const edge of edges) {
    const known = byGraph.get(edge.toGraph) ?? [];
    known.push(edge);
    byGraph.set(edge.toGraph, known);
  }
  const missing: GraphEdge[] = [];
  for (const [target, own] of byGraph) {
    const there = await existing(
      hub,
      target,
      own.map(({ toLineage }) => toLineage),
    );
    missing.push(...own.filter((_, at) => there[at] !== true));
  }
  return missing;
}

/** The live edges of a graph to far ends. */
async function shapedEdges(
  hub: HubContext,
  graph: string,
  far: readonly Bytes[],
): Promise<readonly GraphEdge[]> {
  const shaped = await ifGraph(hub, graph, (engine) =>
    Reader.with(engine.kv, undefined, async (reader) => {
      const places = far.map((key) => ({ keys: [key] }));
      const query = { side: "in" as const, codes: undefined, mayHaveOrdinals: true };
      const met = (await edgesOf(reader, places, query)).flatMap((edges) => [...edges]);
      const froms = await seenMemories(
        reader,
        met.map(({ place }) => place.other),
        OWNER,
      );
      const lineageAt = (edge: MetEdge): string | undefined => {
        const from = froms.get(keyString(edge.place.other));
        return from === undefined ? undefined : lineageOf(from.head.record.head, from.id);
      };
      return met.flatMap((edge): GraphEdge[] => {
        const { record } = edge;
        const fromLineage = lineageAt(edge);
        if (record === undefined || fromLineage === undefined) return [];
        if (record.to instanceof Uint8Array) return [];
        return [shapeGraphEdge(graph, record, { fromLineage, toLineage: record.to.name })];
      });
    }),
  );
  return shaped ?? [];
}

/** Which lineages of a graph are there; a forgotten one is not. */
async function existing(
  hub: HubContext,
  graph: string,
  lineages: readonly string[],
): Promise<readonly boolean[]> {
  const there = await ifGraph(hub, graph, (engine) =>
    Reader.with(engine.kv, undefined, async (reader) => {
      const refs = lineages.map((lineage) => parseRef(engine, lineage, "lineageId"));
      const ids = await findIds(reader, refs);
      const seen = await seenMemories(
        reader,
        ids.flatMap((id) => id ?? []),
        OWNER,
      );
      return ids.map((id) => id !== undefined && seen.has(keyString(id)));
    }),
  );
  return there ?? lineages.map(() => false);
}
