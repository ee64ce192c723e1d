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

import type { Memory } from "../contract/shapes.js";
import { openVersions } from "../memory/open-versions.js";
import { primaryText } from "../records/data.js";
import type { JsonObject } from "../records/fields.js";
import type { Lifecycle } from "../records/types.js";
import { shownAuthor } from "./policies.js";

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
export type CompactNode = Omit<
  GraphNode,
  "content" | "metadata" | "freshnessAt" | "createdBy" | "supersededBy" | "conflicts" | "lifecycle"
>;

/** The author of a node whose writer gave no name. */
const UNNAMED = "unknown";

/** What every URI begins with; the name of the graph comes next. */
const URI_START = "cortex://";

/** A memory at one of its versions as a node; `now` tells what is stale. */
export function nodeOf(memory: Memory, now: number, supersededBy?: number): GraphNode {
  const { uri, version, head, versionRecord } = memory;
  const { freshnessAt, lifecycle } = head;
  const { createdAt, createdBy, provenance } = versionRecord;
  const graphId = uri.slice(URI_START.length, uri.indexOf("/", URI_START.length));
  const idOf = (number: number): string => `${uri.slice(0, uri.lastIndexOf("#"))}#${number}`;
  const open = openVersions(head);
  const isCurrent = open.includes(version);
  return {
    id: uri,
    graphId,
    lineageId: head.externalId ?? memory.id,
    version,
    kind: head.kind ?? memory.type,
    ...contentOf(memory),
    tags: head.tags,
    ...(freshnessAt === undefined ? {} : { freshnessAt }),
    createdAt,
    createdBy: shownAuthor({ createdBy, source: provenance.source, graphId }, UNNAMED),
    ...(supersededBy === undefined ? {} : { supersededBy: idOf(supersededBy) }),
    conflicts: isCurrent ? open.filter((number) => number !== version).map(idOf) : [],
    isCurrent,
    isStale: isCurrent && freshnessAt !== undefined && freshnessAt < now,
    ...(lifecycle === "active" ? {} : { lifecycle }),
  };
}

/** A node without what a compact list leaves out; the flags are those of the whole node. */
export function compactNode(node: GraphNode): CompactNode {
  const { id, graphId, lineageId, version, kind, summary, tags, createdAt } = node;
  const { isCurrent, isStale } = node;
  return { id, graphId, lineageId, version, kind, summary, tags, createdAt, isCurrent, isStale };
}

/** Content, summary and metadata, whatever the type. */
function contentOf({
  type,
  data,
}: Memory): Pick<GraphNode, "content" | "summary"> & { readonly metadata?: JsonObject } {
  const given = data as { readonly [field: string]: unknown };
  const { content, summary, metadata } = given;
  return {
    content: typeof content === "string" ? content : primaryText(type, data),
    summary: typeof summary === "string" ? summary : "",
    ...(type === "note" && metadata !== undefined ? { metadata: metadata as JsonObject } : {}),
  };
}
