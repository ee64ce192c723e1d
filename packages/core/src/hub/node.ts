/**
 * A memory in memgraph's shape: a lineage is a memory, a node is one of its versions.
 *
 * The id of a node is the URI of the version: it names graph, memory and version, so it is found
 * without looking anything up. The id of a lineage is the memory's external id, or its own id where
 * it has none. Kind, tags and freshness belong to the head of a memory and may change without a
 * version; a node shows those that came with its version, and the current one those of now.
 *
 * Every memory reads as a node, not only notes: what has no kind shows its type instead.
 */

import { memoryId } from "../engine/engine.js";
import type { FoundMemory, Read } from "../history/reader.js";
import type { Bytes } from "../kv/kv.js";
import { primaryText } from "../records/data.js";
import type { JsonObject } from "../records/fields.js";
import type { Head, MemoryRecord, Version } from "../records/memory-record.js";
import type { Lifecycle } from "../records/types.js";
import { buildUri } from "../records/uri.js";

/** One version of a lineage. */
export interface GraphNode {
  /** The URI of the version. */
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
export type CompactNode = Pick<
  GraphNode,
  | "id"
  | "graphId"
  | "lineageId"
  | "version"
  | "kind"
  | "summary"
  | "tags"
  | "createdAt"
  | "isCurrent"
  | "isStale"
>;

/** What a node is shaped from. */
export interface NodeParts {
  readonly graph: string;
  readonly id: Bytes;
  /** The head of the memory as it is now. */
  readonly head: Head;
  /** The head and the version that the node's entry brought. */
  readonly written: { readonly head: Head; readonly version: Version };
  /** The version that took its place. */
  readonly supersededBy?: number | undefined;
  readonly now: number;
}

/** Shapes a node. */
export function shapeNode(parts: NodeParts): GraphNode {
  const { graph, id, head, written, now } = parts;
  const { version } = written;
  // Of the current version the head is the present one, whatever changed it since.
  const shown = version.number === head.version ? head : written.head;
  const open = openVersions(head);
  const isCurrent = open.includes(version.number);
  const { freshnessAt } = shown;
  const replaced = parts.supersededBy;
  return {
    id: nodeId(graph, head, id, version.number),
    graphId: graph,
    lineageId: lineageOf(head, id),
    version: version.number,
    kind: shown.kind ?? head.type,
    ...contentOf(head, version),
    tags: shown.tags,
    ...(freshnessAt === undefined ? {} : { freshnessAt }),
    createdAt: version.createdAt,
    createdBy: version.createdBy,
    ...(replaced === undefined ? {} : { supersededBy: nodeId(graph, head, id, replaced) }),
    conflicts: isCurrent
      ? open
          .filter((number) => number !== version.number)
          .map((number) => nodeId(graph, head, id, number))
      : [],
    isCurrent,
    isStale: isCurrent && freshnessAt !== undefined && freshnessAt < now,
    ...(head.lifecycle === "active" ? {} : { lifecycle: head.lifecycle }),
  };
}

/** A node without what a compact list leaves out; the flags are those of the whole node. */
export function compactNode(node: GraphNode): CompactNode {
  const { id, graphId, lineageId, version, kind, summary, tags, createdAt } = node;
  const { isCurrent, isStale } = node;
  return { id, graphId, lineageId, version, kind, summary, tags, createdAt, isCurrent, isStale };
}

/** Content, summary and metadata, whatever the type. */
function contentOf(
  head: Head,
  { data }: Version,
): Pick<GraphNode, "content" | "summary"> & { readonly metadata?: JsonObject } {
  const given = data as { readonly [field: string]: unknown };
  const { content, summary, metadata } = given;
  return {
    content: typeof content === "string" ? content : primaryText(head.type, data),
    summary: typeof summary === "string" ? summary : "",
    ...(head.type === "note" && metadata !== undefined ? { metadata: metadata as JsonObject } : {}),
  };
}

/** The current versions of a lineage, the highest first. */
export function openVersions(head: Pick<Head, "version" | "siblings">): number[] {
  return [head.version, ...head.siblings].sort((a, b) => b - a);
}

/** The id of a lineage. */
export function lineageOf(head: Pick<Head, "externalId">, id: Bytes): string {
  return head.externalId ?? memoryId(id);
}

/** The id of a node. */
export function nodeId(
  graph: string,
  head: Pick<Head, "type">,
  id: Bytes,
  version: number,
): string {
  return buildUri({ actor: graph, type: head.type, id, version });
}

/** The record that brought a version, as a node needs it. */
export function writtenBy(body: Read<MemoryRecord>): NodeParts["written"] {
  const { head, version } = body.record;
  if (version === undefined) throw new Error("a body pointer leads to a part without a version");
  return { head, version };
}

/** The highest current version of a found memory, as a node. */
export function currentNode(graph: string, found: FoundMemory, now: number): GraphNode {
  const { head } = found.head.record;
  return shapeNode({ graph, id: found.id, head, written: writtenBy(found.body), now });
}
