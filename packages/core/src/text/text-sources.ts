/**
 * The searchable side of memories as the store holds them: their Head, their current body, and the
 * bodies of rivals that an open conflict left. Read in batches.
 */
import { decodeMemoryRow, decodePointer, type PartPointer } from "../history/pointers.js";
import type { FoundMemory, Reader } from "../history/reader.js";
import { keyString, ownedPrefix, prefixRange, versionKey } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { decodeMemoryRecord, type Head, type Version } from "../records/memory-record.js";
import type { DocumentSource } from "./document.js";

/** Whose rivals are wanted. */
export interface RivalsOf {
  readonly id: Bytes;
  readonly head: Pick<Head, "siblings">;
}

/** The bodies of open rivals, found by memory and version number. */
export class Rivals {
  readonly #bodies = new Map<string, Version>();

  /** Reads the rivals of all memories given. */
  static async read(reader: Reader, memories: readonly RivalsOf[]): Promise<Rivals> {
    const rivals = new Rivals();
    const wanted = memories.flatMap(({ id, head }) =>
      head.siblings.map((number) => ({ id, number })),
    );
    if (wanted.length === 0) return rivals;
    // Version 1 has no row of its own: it lies where the memory's first row points.
    const [rows, first] = await Promise.all([
      reader.getMany(wanted.map(({ id, number }) => versionKey(id, number))),
      reader.ranges(wanted.map(({ id }) => prefixRange(ownedPrefix("history", id), 1))),
    ]);
    const pointers = wanted.flatMap(({ id, number }, at): (PartPointer & { name: string })[] => {
      const [row, birth] = [rows[at], first[at]?.[0]?.value];
      const pointer = number > 1 ? row && decodePointer(row) : birth && decodeMemoryRow(birth);
      return pointer === undefined ? [] : [{ ...pointer, name: nameOf(id, number) }];
    });
    const bodies = await reader.records(pointers, decodeMemoryRecord);
    for (const [at, { name }] of pointers.entries()) {
      const version = bodies[at]?.record.version;
      if (version !== undefined) rivals.#bodies.set(name, version);
    }
    return rivals;
  }

  /** The bodies of a memory that are searched, the current one first. */
  bodies(memory: RivalsOf, current: Version): readonly Version[] {
    if (memory.head.siblings.length === 0) return [current];
    const { id, head } = memory;
    const others = head.siblings.flatMap((number) => this.#bodies.get(nameOf(id, number)) ?? []);
    return [current, ...others];
  }
}

function nameOf(id: Bytes, number: number): string {
  return `${keyString(id)}${number}`;
}

/** What is searched of memories as they were found. */
export async function sourcesOf(
  reader: Reader,
  found: readonly FoundMemory[],
): Promise<readonly DocumentSource[]> {
  const memories = found.map(({ id, head }) => ({ id, head: head.record.head }));
  const rivals = await Rivals.read(reader, memories);
  return found.map(({ id, head, body }) => {
    const { version } = body.record;
    const memory = { id, head: head.record.head };
    return {
      head: memory.head,
      bodies: version === undefined ? [] : rivals.bodies(memory, version),
    };
  });
}
