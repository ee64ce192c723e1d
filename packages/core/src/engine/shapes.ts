/**
 * The shapes callers get back, and how records become them. Times are integer milliseconds; ids and
 * URIs are text; what is absent is not there.
 */
import { ulidText } from "../codec/ulid.js";
import { bodyOf, type FoundMemory, type Read } from "../history/reader.js";
import type { Bytes } from "../kv/kv.js";
import { type Data, primaryText } from "../records/data.js";
import type { EdgeRecord } from "../records/edge-record.js";
import type { Frame } from "../records/frames.js";
import type {
  Forms,
  MemoryRecord,
  Provenance,
  Tombstone,
  Version,
} from "../records/memory-record.js";
import type { Lifecycle, MemoryType, Source, Status, Visibility } from "../records/types.js";
import { buildUri } from "../records/uri.js";
import { type EdgeId, edgeId, type MemoryId, memoryId } from "./engine.js";

/** The mutable side of a memory, as callers see it. */
export interface MemoryHead {
  readonly lifecycle: Lifecycle;
  readonly status: Status;
  readonly visibility: Visibility;
  readonly importance: number;
  readonly source: Source;
  readonly tags: readonly string[];
  readonly frames: readonly Frame[];
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly version: number;
  /** Version numbers of rivals that an unsettled conflict left open. */
  readonly siblings: readonly number[];
  readonly slot?: string;
  readonly kind?: string;
  readonly externalId?: string;
  readonly freshnessAt?: number;
  readonly tombstone?: Tombstone;
}

/** One immutable body, as callers see it. */
export interface VersionRecord {
  readonly number: number;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly confidence: number;
  readonly provenance: Provenance;
  readonly forms: Forms;
  readonly supersedes: readonly number[];
  /** The entry that brought it. */
  readonly seq: number;
  readonly validFrom?: number;
  readonly validTo?: number;
  readonly expiresAt?: number;
  /** Threats that the scanner saw in its text: shown with care, never as an instruction. */
  readonly flags?: readonly string[];
}

/** A memory: who it is, what it says, and the state it is in. */
export interface Memory {
  readonly id: MemoryId;
  readonly uri: string;
  readonly type: MemoryType;
  readonly version: number;
  /** Its sentence or content in full. */
  readonly text: string;
  readonly data: Data;
  readonly head: MemoryHead;
  readonly versionRecord: VersionRecord;
  /** The last entry that touched it, at the position read. */
  readonly seq: number;
}

/** A memory in brief. */
export interface MemoryRef {
  readonly id: MemoryId;
  readonly uri: string;
  readonly text: string;
}

/** One version in a memory's history. */
export interface HistoryItem {
  readonly uri: string;
  readonly version: number;
  readonly current: boolean;
  /** There, and true, when a revert took the version back. */
  readonly undone?: true;
  readonly text: string;
  readonly data: Data;
  readonly versionRecord: VersionRecord;
}

/** An edge, as callers see it. */
export interface Edge {
  readonly id: EdgeId;
  readonly from: MemoryId;
  readonly kind: string;
  /** The far end: a memory of this graph, or the name of a symlink's target. */
  readonly to: string;
  /** The other graph, for a symlink. */
  readonly toGraph?: string;
  readonly n: number;
  readonly source: Source;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly weight?: number;
  readonly reason?: string;
  readonly strength?: number;
  readonly ordinal?: number;
  readonly metadata?: { readonly [key: string]: unknown };
  readonly validFrom?: number;
  readonly validTo?: number;
  readonly tombstone?: Tombstone;
  /** The entry that left it so. */
  readonly seq: number;
}

/** What adding or removing an edge did. */
export interface EdgeResult {
  readonly id: EdgeId;
  readonly edge: Edge;
  /** False when there was nothing to change. */
  readonly changed: boolean;
  /** The entry that left the edge as it is; the end of the journal when there is no edge. */
  readonly seq: number;
}

/** What a write did. */
export interface WriteResult {
  readonly id: MemoryId;
  readonly uri: string;
  readonly version: number;
  readonly seq: number;
  /** Memories that this one archived. */
  readonly replaced: readonly MemoryRef[];
  /** Rival versions that a stale write under policy `manual` left open. */
  readonly conflicts: readonly MemoryRef[];
  /** Live memories that say nearly the same. */
  readonly similar: readonly MemoryRef[];
  /** True when the text was known already and only its standing grew. */
  readonly reinforced: boolean;
}

/** The version of a memory's record, as callers see it. */
export function versionRecord(version: Version, seq: number): VersionRecord {
  return {
    number: version.number,
    createdAt: version.createdAt,
    createdBy: version.createdBy,
    confidence: version.confidence,
    provenance: version.provenance,
    forms: version.forms,
    supersedes: version.supersedes,
    seq,
    ...(version.validFrom === undefined ? {} : { validFrom: version.validFrom }),
    ...(version.validTo === undefined ? {} : { validTo: version.validTo }),
    ...(version.expiresAt === undefined ? {} : { expiresAt: version.expiresAt }),
    ...(version.flags === undefined ? {} : { flags: version.flags }),
  };
}

/** A memory as callers see it; `body` may be another version than the current one. */
export function shapeMemory(
  actor: string,
  found: FoundMemory,
  body: Read<MemoryRecord> = found.body,
): Memory {
  const { head } = found.head.record;
  const version = bodyOf(body);
  return {
    id: memoryId(found.id),
    uri: buildUri({ actor, type: head.type, id: found.id, version: version.number }),
    type: head.type,
    version: version.number,
    text: primaryText(head.type, version.data) || version.forms.short,
    data: version.data,
    head: shapeHead(found.head),
    versionRecord: versionRecord(version, body.header.seq),
    seq: found.row.seq,
  };
}

function shapeHead(read: Read<MemoryRecord>): MemoryHead {
  const { head } = read.record;
  return {
    lifecycle: head.lifecycle,
    status: head.status,
    visibility: head.visibility,
    importance: head.importance,
    source: head.source,
    tags: head.tags,
    frames: head.frames,
    createdAt: head.createdAt,
    updatedAt: read.header.at,
    version: head.version,
    siblings: head.siblings,
    ...(head.slot === undefined ? {} : { slot: head.slot }),
    ...(head.kind === undefined ? {} : { kind: head.kind }),
    ...(head.externalId === undefined ? {} : { externalId: head.externalId }),
    ...(head.freshnessAt === undefined ? {} : { freshnessAt: head.freshnessAt }),
    ...(head.tombstone === undefined ? {} : { tombstone: head.tombstone }),
  };
}

/** A memory in brief. */
export function shapeRef(
  actor: string,
  id: Bytes,
  type: MemoryType,
  version: Pick<Version, "number" | "forms">,
): MemoryRef {
  return {
    id: memoryId(id),
    uri: buildUri({ actor, type, id, version: version.number }),
    text: version.forms.short,
  };
}

/** An edge as callers see it. */
export function shapeEdge(edge: EdgeRecord, seq: number): Edge {
  const far = edge.to;
  return {
    id: edgeId(edge.id),
    from: memoryId(edge.from),
    kind: edge.kind,
    ...(far instanceof Uint8Array
      ? { to: ulidText(far) }
      : { to: far.name, ...(far.graph === "" ? {} : { toGraph: far.graph }) }),
    n: edge.n,
    source: edge.source,
    createdAt: edge.createdAt,
    createdBy: edge.createdBy,
    ...(edge.weight === undefined ? {} : { weight: edge.weight }),
    ...(edge.reason === undefined ? {} : { reason: edge.reason }),
    ...(edge.strength === undefined ? {} : { strength: edge.strength }),
    ...(edge.ordinal === undefined ? {} : { ordinal: edge.ordinal }),
    ...(edge.metadata === undefined ? {} : { metadata: edge.metadata }),
    ...(edge.validFrom === undefined ? {} : { validFrom: edge.validFrom }),
    ...(edge.validTo === undefined ? {} : { validTo: edge.validTo }),
    ...(edge.tombstone === undefined ? {} : { tombstone: edge.tombstone }),
    seq,
  };
}
