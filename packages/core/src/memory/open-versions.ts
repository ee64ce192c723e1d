/**
 * The open versions of a memory: the current one, and while a conflict is open those that were kept
 * beside it. Most readers know a memory by its head; a reader for whom each open version stands for
 * itself finds here which there are and what of each is searched.
 */
import { bodyOf, type FoundMemory, type Read, type Reader } from "../history/reader.js";
import { INDEX, indexPrefix, prefixRange, REVIEW_TERM } from "../kv/keyspace.js";
import { INTEGER_MAX } from "../limits.js";
import type { Head, MemoryRecord } from "../records/memory-record.js";
import { LIFECYCLES } from "../records/types.js";
import type { DocumentSource } from "../text/document.js";
import { versionOf } from "./read.js";

/** The numbers of the open versions of a memory, the highest first: more than one while it has rivals. */
export function openVersions(head: Pick<Head, "version" | "siblings">): number[] {
  return [head.version, ...head.siblings].sort((a, b) => b - a);
}

/** The open versions of a memory, the highest first. */
export async function openBodies(
  reader: Reader,
  found: FoundMemory,
): Promise<readonly Read<MemoryRecord>[]> {
  const { head } = found.head.record;
  if (head.siblings.length === 0) return [found.body];
  const bodies = await Promise.all(
    openVersions(head).map((number) =>
      number === head.version ? found.body : versionOf(reader, found, number),
    ),
  );
  return bodies.flatMap((body) => body ?? []);
}

/** The active memories that have rivals: those that the index of what is to be decided names. */
export async function memoriesWithRivals(reader: Reader): Promise<readonly FoundMemory[]> {
  const term = Uint8Array.of(REVIEW_TERM.siblings);
  const prefix = indexPrefix("index", INDEX.review, LIFECYCLES.active.code, term);
  const [rows = []] = await reader.ranges([
    { ...prefixRange(prefix, INTEGER_MAX), keysOnly: true },
  ]);
  const ids = rows.map(({ key }) => key.subarray(key.length - 16));
  const found = await reader.memories(ids, await reader.memoryRows(ids));
  return found.flatMap((memory) => memory ?? []);
}

/** The head as it is now for the version that it goes by, as it was written for another. */
export function headOfVersion({ head }: FoundMemory, { record }: Read<MemoryRecord>): Head {
  const now = head.record.head;
  return record.version?.number === now.version ? now : record.head;
}

/** What is searched of one open version. */
export function documentOf(found: FoundMemory, body: Read<MemoryRecord>): DocumentSource {
  return { head: headOfVersion(found, body), bodies: [bodyOf(body)] };
}
