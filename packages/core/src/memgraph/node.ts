/**
 * A memory in memgraph's shape: a lineage is a memory, a node is one of its versions.
 *
 * The id of a node is the URI of the version: it names graph, memory and version, so it is found
 * without looking anything up. What was imported keeps the ids that it came with, of nodes and of graphs:
 * its versions and its graph know them. The id of a lineage is the memory's external id, or its own id where
 * it has none. Kind, tags and freshness belong to the head of a memory and may change without a
 * version; a node shows those that came with its version, and the current one those of now.
 *
 * Every memory reads as a node, not only notes: what has no kind shows its type instead.
 */
import type { HistoryItem } from "../contract/memory.js";
import type { Memory } from "../contract/shapes.js";
import type { Hub } from "../hub/hub.js";
import { openVersions } from "../memory/read.js";
import type { JsonObject } from "../records/fields.js";
import { primaryText } from "../records/memory-record.js";
import type { Lifecycle } from "../records/types.js";
import { shownAuthor } from "./policies.js";

/** One version of a lineage. */
export interface GraphNode {
  /** The URI of the version, or the id that it was imported with. */
  readonly id: string;
  readonly graphId: string;
  readonly lineageId: string;
  readonly version: number;
  readonly kind: string;
  readonly content: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly metadata?: JsonObject;
  /** When the content should be looked at again. */
  readonly freshnessAt?: number;
  readonly createdAt: number;
  /** Billionths of a second beyond the milliseconds of `createdAt` and `freshnessAt`, where known. */
  readonly nanos?: number;
  readonly freshnessNanos?: number;
  readonly createdBy: string;
  /** The id of the node that took its place; absent while it is current. */
  readonly supersededBy?: string;
  /** Ids of the other current nodes of the lineage, as they are now. */
  readonly conflicts: readonly string[];
  readonly isCurrent: boolean;
  /** Current, and past its `freshnessAt`. */
  readonly isStale: boolean;
  /** What became of the lineage as a whole, unless it is active. */
  readonly lifecycle?: Exclude<Lifecycle, "active">;
}

/** A node with only what a list needs; see `listNodes`. */
export type CompactNode = Omit<
  GraphNode,
  | "content"
  | "metadata"
  | "freshnessAt"
  | "freshnessNanos"
  | "createdBy"
  | "supersededBy"
  | "conflicts"
  | "lifecycle"
>;

/** The author of a node whose writer gave no name. */
const UNNAMED = "unknown";

/** What every URI begins with; the name of the graph comes next. */
const URI_START = "cortex://";

/** Memories at one of their versions as nodes, under the ids that callers know them by. */
export async function nodesOf(hub: Hub, memories: readonly Memory[]): Promise<GraphNode[]> {
  const shown = new Map<string, string>();
  const ids = new Map<Memory, NodeNames["ids"]>();
  for (const memory of memories) {
    const graph = graphIn(memory);
    if (!shown.has(graph)) shown.set(graph, await hub.lineages.shownName(graph));
    // What rivals are called, only their own records tell.
    if (memory.head.siblings.length === 0) continue;
    const items = await hub.useIfThere(graph, (one) => one.history(memory.id));
    ids.set(memory, idsIn(items ?? []));
  }
  const now = hub.now();
  return memories.map((memory) => {
    const graph = graphIn(memory);
    const names = { graph: shown.get(graph) ?? graph, ids: ids.get(memory) ?? NO_IDS };
    return nodeOf(memory, now, names);
  });
}

const NO_IDS: NodeNames["ids"] = new Map();

/** What was found, with nodes in the place of memories; what has no memory is left out. */
export async function withNodes<T extends { readonly memory?: Memory | undefined }>(
  hub: Hub,
  found: readonly T[],
): Promise<readonly (Omit<T, "memory"> & { readonly node: GraphNode })[]> {
  const whole = found.flatMap(({ memory, ...rest }) =>
    memory === undefined ? [] : [{ memory, rest }],
  );
  const nodes = await nodesOf(
    hub,
    whole.map(({ memory }) => memory),
  );
  return whole.flatMap(({ rest }, at) => {
    const node = nodes[at];
    return node === undefined ? [] : [{ ...rest, node }];
  });
}

/** What nodes and graphs are called by those who imported them. */
interface NodeNames {
  readonly graph: string;
  /** The ids of versions that came with one. */
  readonly ids: ReadonlyMap<number, string>;
}

/** The ids that versions were imported with. */
export function idsIn(
  items: readonly Pick<HistoryItem, "version" | "versionRecord">[],
): ReadonlyMap<number, string> {
  return new Map(
    items.flatMap(({ version, versionRecord: { origin } }) =>
      origin === undefined ? [] : [[version, origin.id] as const],
    ),
  );
}

/** The graph that holds a memory. */
function graphIn({ uri }: Memory): string {
  return uri.slice(URI_START.length, uri.indexOf("/", URI_START.length));
}

/** A memory at one of its versions as a node; `now` tells what is stale. Set member by member: a walk has many nodes. */
export function nodeOf(
  memory: Memory,
  now: number,
  names: NodeNames,
  supersededBy?: number,
): GraphNode {
  const { uri, version, head, versionRecord } = memory;
  const { freshnessAt, lifecycle } = head;
  const { origin, createdAt, createdBy, provenance } = versionRecord;
  const idOf = (number: number): string =>
    names.ids.get(number) ?? `${uri.slice(0, uri.lastIndexOf("#"))}#${number}`;
  const open = head.siblings.length === 0 ? NO_RIVALS : openVersions(head);
  const isCurrent = version === head.version || open.includes(version);
  const written = { createdBy, source: provenance.source, graphId: graphIn(memory) };
  const { content, summary, metadata } = contentOf(memory);
  const node: { -readonly [member in keyof GraphNode]?: GraphNode[member] } = {
    id: origin?.id ?? uri,
    graphId: origin?.graph ?? names.graph,
    lineageId: head.externalId ?? memory.id,
    version,
    kind: head.kind ?? memory.type,
    content,
    summary,
  };
  if (metadata !== undefined) node.metadata = metadata;
  node.tags = head.tags;
  if (freshnessAt !== undefined) node.freshnessAt = freshnessAt;
  node.createdAt = createdAt;
  if (origin?.nanos !== undefined) node.nanos = origin.nanos;
  if (origin?.freshnessNanos !== undefined && freshnessAt !== undefined)
    node.freshnessNanos = origin.freshnessNanos;
  node.createdBy = origin === undefined ? shownAuthor(written, UNNAMED) : createdBy;
  if (supersededBy !== undefined) node.supersededBy = idOf(supersededBy);
  node.conflicts = isCurrent ? open.filter((number) => number !== version).map(idOf) : [];
  node.isCurrent = isCurrent;
  node.isStale = isCurrent && freshnessAt !== undefined && freshnessAt < now;
  if (lifecycle !== "active") node.lifecycle = lifecycle;
  return node as GraphNode;
}

const NO_RIVALS: readonly number[] = [];

/** A node without what a compact list leaves out; the flags are those of the whole node. */
export function compactNode(node: GraphNode): CompactNode {
  const { id, graphId, lineageId, version, kind, summary, tags, createdAt, nanos } = node;
  const { isCurrent, isStale } = node;
  const times = { createdAt, ...(nanos === undefined ? {} : { nanos }) };
  return { id, graphId, lineageId, version, kind, summary, tags, ...times, isCurrent, isStale };
}

/** Content, summary and metadata, whatever the type. */
function contentOf({ type, data }: Memory): {
  readonly content: string;
  readonly summary: string;
  readonly metadata: JsonObject | undefined;
} {
  const given = data as { readonly [field: string]: unknown };
  const { content, summary, metadata } = given;
  return {
    content: typeof content === "string" ? content : primaryText(type, data),
    summary: typeof summary === "string" ? summary : "",
    metadata: type === "note" ? (metadata as JsonObject | undefined) : undefined,
  };
}
