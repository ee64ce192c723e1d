/**
 * How records become the shapes that callers get back. Times are integer milliseconds; ids and
 * URIs are text; what is absent is not there.
 */
import { ulidText } from "../codec/ulid.js";
import type { Edge, Memory, MemoryHead, MemoryRef, VersionRecord } from "../contract/shapes.js";
import { bodyOf, type FoundMemory, type Read } from "../history/reader.js";
import type { Bytes } from "../kv/kv.js";
import { primaryText } from "../records/data.js";
import type { EdgeRecord } from "../records/edge-record.js";
import type { MemoryRecord, Version } from "../records/memory-record.js";
import type { MemoryType } from "../records/types.js";
import { buildUri } from "../records/uri.js";
import { edgeId, memoryId } from "./engine.js";

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
    // The record was read as one: its data is that of its type.
  } as Memory;
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
