/**
 * The verbs about nodes: put, get, history, list, and the open conflicts with their settlement.
 */

import { checkOptions, type Engine, locate, parseRef } from "../engine/engine.js";
import { askRecords } from "../engine/read-ahead.js";
import { CortexError, invalid } from "../errors.js";
import { Reader } from "../history/reader.js";
import { prefixRange } from "../kv/keyspace.js";
import { shownMemories } from "../memory/read.js";
import { type Access, OWNER } from "../scope/access.js";
import { conflictKey } from "./catalogue-rows.js";
import { graphOf, type HubContext, type InGraph, ifGraph, inGraph, isNodeId } from "./context.js";
import { idIn } from "./lineages.js";
import { checkGraphId } from "./names.js";
import { type CompactNode, type GraphNode, openVersions } from "./node.js";
import {
  checkNodeFilter,
  forkedMemories,
  type KnownRivals,
  listNodes as listIn,
  type NodeFilter,
  type NodePage,
} from "./node-list.js";
import { checkNodeAt, type NodeAt, openNodes, readHistory, readNode } from "./node-read.js";
import {
  applyNode,
  type NodeInput,
  type NodeResult,
  nodeNeeds,
  prepareNode,
} from "./node-write.js";

/** How a node is read. */
export interface GetNodeOptions extends NodeAt, InGraph {
  readonly access?: Access;
}

/** How a lineage is read. */
export interface LineageOptions extends InGraph {
  readonly access?: Access;
}

/** More memories than are in conflict in one graph. */
const CONFLICTS = 1_000_000;

/** Writes a node: a new lineage, or the next version of one. See `node-write.ts` for the table. */
export async function putNode(
  hub: HubContext,
  graph: string,
  input: NodeInput,
): Promise<NodeResult> {
  return inGraph(hub, graph, async (engine, opened) => {
    const node = prepareNode(engine, input);
    const { lineageId } = input;
    if (lineageId !== undefined && (await idIn(opened, lineageId)) === undefined) {
      await hub.lineages.claim(graph, [lineageId]);
    }
    const needs = nodeNeeds(engine, node);
    const { value } = await engine.writer.submit({
      ...needs,
      run: (tx) => applyNode(engine, tx, node),
    });
    hub.lineages.note(value.node.lineageId, graph);
    return value;
  });
}

/** One node: the current one of a lineage, or that of a version or a time, or one by its own id. */
export async function getNode(
  hub: HubContext,
  ref: string,
  options: GetNodeOptions = {},
): Promise<GraphNode | undefined> {
  checkOptions(options, ["atVersion", "atTime", "graph", "access"]);
  const at = checkNodeAt(options);
  if (isNodeId(String(ref)) && (at.atVersion ?? at.atTime) !== undefined) {
    throw invalid("atVersion, atTime", "none of them beside a node id, which names a version", ref);
  }
  const graph = await graphOf(hub, ref, options.graph);
  if (graph === undefined) return undefined;
  return ifGraph(hub, graph, (engine) => readNode(engine, ref, at, options.access ?? OWNER));
}

/** Every node of a lineage, the highest version first; empty when there is none. */
export async function history(
  hub: HubContext,
  lineage: string,
  options: LineageOptions = {},
): Promise<readonly GraphNode[]> {
  checkOptions(options, ["graph", "access"]);
  const graph = await graphOf(hub, lineage, options.graph);
  if (graph === undefined) return [];
  const nodes = await ifGraph(hub, graph, (engine) =>
    readHistory(engine, lineage, options.access ?? OWNER),
  );
  return nodes ?? [];
}

/** The current nodes of a graph, newest first; empty when there is no such graph. */
export async function listNodes(
  hub: HubContext,
  graph: string,
  filter: NodeFilter,
): Promise<NodePage<GraphNode | CompactNode>> {
  checkNodeFilter(filter);
  const access = filter.access ?? OWNER;
  const rivals = await knownRivals(hub, checkGraphId(graph, hub.prefix));
  const page =
    rivals === undefined
      ? undefined
      : await ifGraph(hub, graph, (engine) => listIn(engine, filter, access, rivals));
  return page ?? { nodes: [], total: 0, seq: -1 };
}

/** The memories of a graph that have rivals, as the catalogue has it. */
export async function knownRivals(
  hub: HubContext,
  graph: string,
): Promise<KnownRivals | undefined> {
  const { catalogue } = hub;
  const row = await catalogue.caughtUpGraph(graph);
  if (row === undefined) return undefined;
  const prefix = conflictKey(row.number);
  const [rows = []] = await catalogue.read((snapshot) =>
    snapshot.ranges([prefixRange(prefix, CONFLICTS)]),
  );
  return { ids: rows.map(({ key }) => key.subarray(key.length - 16)), size: row.cursor };
}

/** A lineage with rival nodes. */
export interface NodeConflict {
  readonly graphId: string;
  readonly lineageId: string;
  /** The rivals, the highest version first. */
  readonly nodes: readonly GraphNode[];
}

/** The open conflicts of a graph. */
export interface NodeConflicts {
  readonly conflicts: readonly NodeConflict[];
  readonly seq: number;
}

/** Every lineage of a graph that has rival nodes. */
export async function conflicts(
  hub: HubContext,
  graph: string,
  options: { readonly access?: Access } = {},
): Promise<NodeConflicts> {
  checkOptions(options, ["access"]);
  const rivals = await knownRivals(hub, checkGraphId(graph, hub.prefix));
  if (rivals === undefined) return { conflicts: [], seq: -1 };
  const found = await ifGraph(hub, graph, (engine) =>
    conflictsIn(engine, rivals, options.access ?? OWNER),
  );
  return found ?? { conflicts: [], seq: -1 };
}

function conflictsIn(engine: Engine, rivals: KnownRivals, access: Access): Promise<NodeConflicts> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const shown = await shownMemories(reader, access, await forkedMemories(reader, rivals));
    const open = await Promise.all(
      shown.map(async (memory): Promise<readonly NodeConflict[]> => {
        if (memory === undefined) return [];
        const nodes = (await openNodes(engine, reader, memory)).map(({ node }) => node);
        const [first] = nodes;
        if (first === undefined) return [];
        return [{ graphId: engine.actor, lineageId: first.lineageId, nodes }];
      }),
    );
    return { conflicts: open.flat(), seq: reader.seq };
  });
}

/** How a conflict is settled: by one of the rivals, or by a node of its own. */
export interface ResolveInput extends InGraph {
  /** Every version that was in conflict when the caller looked, so that none is lost unseen. */
  readonly versions: readonly number[];
  /** The rival whose words stand. */
  readonly keep?: number;
  /** What stands instead of all of them. */
  readonly node?: Omit<NodeInput, "lineageId" | "basedOnVersion">;
  readonly by?: string;
}

/**
 * Settles an open conflict by a new version that takes the place of all rivals. `ERR_CONFLICT` when
 * the rivals are not exactly those the caller names; nothing is written then.
 */
export async function resolve(
  hub: HubContext,
  lineage: string,
  input: ResolveInput,
): Promise<NodeResult> {
  checkResolve(input);
  const graph = await graphOf(hub, lineage, input.graph);
  if (graph === undefined) throw noLineage(lineage);
  const kept =
    input.keep === undefined
      ? undefined
      : await getNode(hub, lineage, { graph, atVersion: input.keep });
  if (input.keep !== undefined && kept === undefined) throw noLineage(lineage);
  const words = input.node ?? wordsOf(kept);
  const createdBy = input.by === undefined ? {} : { createdBy: input.by };
  return inGraph(hub, graph, async (engine) => {
    const node = prepareNode(engine, { ...words, ...createdBy, lineageId: lineage });
    const ref = parseRef(engine, lineage, "lineageId");
    const { value } = await engine.writer.submit({
      ...nodeNeeds(engine, node),
      run: (tx) => {
        const found = locate(tx, ref);
        if (found === undefined || found.row.lifecycle === "erased") throw noLineage(lineage);
        askRecords(tx, [found]);
        const open = openVersions(tx.fold.records.head(found.row));
        const seen = [...new Set(input.versions)].sort((a, b) => b - a);
        if (open.join() !== seen.join()) throw movedOn(open, seen);
        return applyNode(engine, tx, node);
      },
    });
    return value;
  });
}

function checkResolve(input: ResolveInput): void {
  checkOptions(input, ["versions", "keep", "node", "by", "graph"], "resolution");
  const { versions, keep, node } = input;
  if (!Array.isArray(versions) || !versions.every((one) => Number.isSafeInteger(one))) {
    throw invalid("versions", "the version numbers of all rivals", versions);
  }
  if ((keep === undefined) === (node === undefined)) {
    throw invalid("keep, node", "exactly one of them", keep === undefined ? "none" : "both");
  }
  if (keep !== undefined && !versions.includes(keep)) {
    throw invalid("keep", "one of versions", keep);
  }
}

/** What a node says, to be said again. */
function wordsOf(node: GraphNode | undefined): Omit<NodeInput, "lineageId" | "basedOnVersion"> {
  if (node === undefined) throw new Error("a resolution has no words");
  const { kind, content, summary, tags, metadata, freshnessAt } = node;
  return {
    kind,
    content,
    summary,
    tags,
    ...(metadata === undefined ? {} : { metadata }),
    ...(freshnessAt === undefined ? {} : { freshnessAt }),
  };
}

function noLineage(lineage: string): CortexError {
  return new CortexError(
    "ERR_NOT_FOUND",
    "lineageId: expected a lineage, got one that names none",
    {
      field: "lineageId",
      subject: lineage,
    },
  );
}

function movedOn(open: readonly number[], seen: readonly number[]): CortexError {
  return new CortexError(
    "ERR_CONFLICT",
    `versions: expected ${open.join(", ")}, the current ones, got ${seen.join(", ")}; read them again`,
    { field: "versions", expected: open.join(", "), got: seen.join(", ") },
  );
}
