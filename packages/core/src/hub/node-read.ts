/**
 * Reading nodes of one open graph: a lineage now, at a version, at a time; one node by its id; the
 * history of a lineage; the nodes in conflict. Every answer is of one journal position.
 */

import { type Engine, findIds, type ParsedRef, parseRef } from "../engine/engine.js";
import { invalid } from "../errors.js";
import { type FoundMemory, lastSeqAt, Reader } from "../history/reader.js";
import {
  allVersions,
  findMemory,
  isShown,
  standingOf,
  standingVersions,
  versionOf,
} from "../memory/read.js";
import { checkTime } from "../records/frames.js";
import type { Access } from "../scope/access.js";
import {
  currentNode,
  type GraphNode,
  type NodeParts,
  openVersions,
  shapeNode,
  writtenBy,
} from "./node.js";

/** Which version of a lineage to read. */
export interface NodeAt {
  /** This version; wins over `atTime`. */
  readonly atVersion?: number;
  /** The version that was current then, in milliseconds. */
  readonly atTime?: number;
}

/** Checks which version is asked for. */
export function checkNodeAt({ atVersion, atTime }: NodeAt): NodeAt {
  if (atVersion !== undefined && !(Number.isSafeInteger(atVersion) && atVersion >= 1)) {
    throw invalid("atVersion", "a version number of at least 1", atVersion);
  }
  if (atTime !== undefined) checkTime(atTime, "atTime");
  return {
    ...(atVersion === undefined ? {} : { atVersion }),
    ...(atTime === undefined ? {} : { atTime }),
  };
}

/** A node of a lineage; `undefined` when there is none the caller may see. */
export async function readNode(
  engine: Engine,
  lineage: string,
  at: NodeAt,
  access: Access,
): Promise<GraphNode | undefined> {
  const ref = parseRef(engine, lineage, "lineageId");
  return Reader.with(engine.kv, undefined, async (reader) => {
    const found = await shownMemory(reader, ref, access);
    if (found === undefined) return undefined;
    const now = engine.clock();
    // A node id pins its version.
    const pinned = at.atVersion ?? ref.version;
    if (pinned === undefined && at.atTime === undefined) {
      return currentNode(engine.actor, found, now);
    }
    const version = pinned ?? (await versionAtTime(reader, found, at.atTime ?? 0));
    return version === undefined ? undefined : nodeOfVersion(engine, reader, found, version);
  });
}

/** The version of a memory that was current at a time: one that was undone later counts until then. */
async function versionAtTime(
  reader: Reader,
  { id }: FoundMemory,
  time: number,
): Promise<number | undefined> {
  const seq = await lastSeqAt(reader.snapshot, time);
  if (seq === undefined) return undefined;
  const [row] = await reader.before(seq).memoryRows([id]);
  return row?.version;
}

/** Every version of a lineage, the highest first; empty when there is none the caller may see. */
export async function readHistory(
  engine: Engine,
  lineage: string,
  access: Access,
): Promise<readonly GraphNode[]> {
  const ref = parseRef(engine, lineage, "lineageId");
  return Reader.with(engine.kv, undefined, async (reader) => {
    const found = await shownMemory(reader, ref, access);
    return found === undefined ? [] : versionNodes(engine, reader, found);
  });
}

/** The nodes of all versions of a memory, the highest first. */
async function versionNodes(
  engine: Engine,
  reader: Reader,
  found: FoundMemory,
): Promise<readonly GraphNode[]> {
  const bodies = await allVersions(reader, found);
  const replacedBy = new Map<number, number>();
  for (const body of standingOf(found, bodies)) {
    const { version } = writtenBy(body);
    for (const number of version.supersedes) replacedBy.set(number, version.number);
  }
  const { head } = found.head.record;
  return bodies
    .map((body) => {
      const written = writtenBy(body);
      const supersededBy = replacedBy.get(written.version.number);
      const now = engine.clock();
      return shapeNode({ graph: engine.actor, id: found.id, head, written, supersededBy, now });
    })
    .sort((a, b) => b.version - a.version);
}

/** A current node and the entry that brought it. */
export interface OpenNode {
  readonly node: GraphNode;
  readonly seq: number;
  /** What the entry said, head fields of the current version as they are now. */
  readonly written: NodeParts["written"];
}

/** The current nodes of a memory: one, or all rivals of an open conflict, the highest first. */
export async function openNodes(
  engine: Engine,
  reader: Reader,
  found: FoundMemory,
): Promise<readonly OpenNode[]> {
  const now = engine.clock();
  const { head } = found.head.record;
  const numbers = openVersions(head);
  const bodies = await Promise.all(
    numbers.map((number) =>
      number === head.version ? found.body : versionOf(reader, found, number),
    ),
  );
  return bodies.flatMap((body) => {
    if (body === undefined) return [];
    const { head: then, version } = writtenBy(body);
    const written = { head: version.number === head.version ? head : then, version };
    const node = shapeNode({ graph: engine.actor, id: found.id, head, written, now });
    return [{ node, seq: body.header.seq, written }];
  });
}

/** The memory behind a reference, if the caller may see it. */
export async function shownMemory(
  reader: Reader,
  ref: ParsedRef,
  access: Access,
): Promise<FoundMemory | undefined> {
  const [id] = await findIds(reader, [ref]);
  const found = id === undefined ? undefined : await findMemory(reader, id);
  return found !== undefined && (await isShown(reader, access, found)) ? found : undefined;
}

/** One version of a memory as a node. */
async function nodeOfVersion(
  engine: Engine,
  reader: Reader,
  found: FoundMemory,
  version: number,
): Promise<GraphNode | undefined> {
  const { head } = found.head.record;
  const now = engine.clock();
  if (version === head.version) return currentNode(engine.actor, found, now);
  const body = await versionOf(reader, found, version);
  if (body === undefined) return undefined;
  const isOpen = head.siblings.includes(version);
  const supersededBy = isOpen ? undefined : await successorOf(reader, found, version);
  const written = writtenBy(body);
  return shapeNode({ graph: engine.actor, id: found.id, head, written, supersededBy, now });
}

/** The version that took the place of another: nearly always the next one. */
async function successorOf(
  reader: Reader,
  found: FoundMemory,
  version: number,
): Promise<number | undefined> {
  if (found.row.highest !== undefined) {
    const standing = await standingVersions(reader, found);
    const later = standing.map((body) => writtenBy(body).version);
    return later.find(({ supersedes }) => supersedes.includes(version))?.number;
  }
  const last = found.head.record.head.version;
  for (let next = version + 1; next <= last; next += 1) {
    const body = await versionOf(reader, found, next);
    if (body !== undefined && writtenBy(body).version.supersedes.includes(version)) return next;
  }
  return undefined;
}
