/**
 * `list` by the latest version: the memories whose current version came last stand first, whatever
 * else of them has changed since. By kinds (any of them) and tags (all of them); a memory without a
 * kind goes by its type. On request every open version of a memory is listed by itself, under its own
 * kind and tags.
 *
 * No index stands in this order: rows are read for everything that matches, bodies for the page alone.
 * So pages go by offset, and the total is known.
 */
import type * as z from "zod";
import { utf8 } from "../codec/text.js";
import type { Asked } from "../contract/index.js";
import { type MemoryPage, type WrittenQuery, writtenQuery } from "../contract/memory.js";
import type { Memory } from "../contract/shapes.js";
import type { Engine } from "../engine/engine.js";
import { shapeMemory, shapeOpen } from "../engine/shapes.js";
import { invalid } from "../errors.js";
import { bodyPointer, type MemoryRow } from "../history/pointers.js";
import { Reader } from "../history/reader.js";
import { INDEX, indexPrefix, keyString, prefixRange } from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import { INTEGER_MAX } from "../limits.js";
import { parseWith } from "../records/fields.js";
import { LIFECYCLES, MEMORY_TYPES, type MemoryType, namesOf } from "../records/types.js";
import type { Access } from "../scope/access.js";
import { memoriesWithRivals, openBodies, shownMemories } from "./read.js";

type Checked = z.output<typeof writtenQuery>;

/** Checks a list; it stands alone, because no index serves it. */
export function checkWritten(asked: Asked<"list">, written: WrittenQuery): Checked {
  const { access: _access, written: _written, ...others } = asked;
  const [other] = Object.keys(others);
  if (other !== undefined) throw invalid(other, "none beside written", "one");
  return parseWith(writtenQuery, written, "");
}

/** A memory to be listed, by its row, or an open version that was judged already. */
type Item =
  | { readonly seq: number; readonly id: Bytes; readonly row: MemoryRow }
  | { readonly seq: number; readonly memory: Memory };

/** Lists active memories; see the file header. */
export async function listWritten(
  engine: Engine,
  options: Checked,
  access: Access,
): Promise<MemoryPage> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const matches = await matchingIds(reader, options);
    const open = options.siblings === true ? await openItems(engine, reader, options, access) : [];
    for (const { id } of open) matches.delete(keyString(id));
    const plain = await plainItems(reader, access, [...matches.values()]);
    const passed = open.flatMap(({ items }) => items);
    const items = [...plain, ...passed].sort((a, b) => b.seq - a.seq);
    const { offset, limit } = options;
    const page = items.slice(offset, offset + limit);
    return {
      memories: await shapeItems(engine, reader, page),
      total: items.length,
      seq: reader.position,
    };
  });
}

/** The active memories whose head passes, by id. */
async function matchingIds(
  reader: Reader,
  { kinds = [], tags = [] }: Checked,
): Promise<Map<string, Bytes>> {
  const byTag = await membersOf(
    reader,
    tags.map((tag) => indexRange(INDEX.tag, utf8(tag))),
  );
  if (kinds.length === 0 && tags.length > 0) return inAll(byTag);
  const ofKind =
    kinds.length === 0
      ? await membersOf(reader, namesOf(MEMORY_TYPES).map(typeRange))
      : [
          ...(await membersOf(
            reader,
            kinds.map((kind) => indexRange(INDEX.kind, utf8(kind))),
          )),
          await kindless(reader, kinds),
        ];
  return inAll([new Map(ofKind.flatMap((members) => [...members])), ...byTag]);
}

function inAll(sets: readonly ReadonlyMap<string, Bytes>[]): Map<string, Bytes> {
  const [first = new Map<string, Bytes>(), ...others] = sets;
  return new Map([...first].filter(([name]) => others.every((one) => one.has(name))));
}

/** Memories without a kind, of the types that kinds name. */
async function kindless(
  reader: Reader,
  kinds: readonly string[],
): Promise<ReadonlyMap<string, Bytes>> {
  const types = namesOf(MEMORY_TYPES).filter((type) => kinds.includes(type));
  const found = await membersOf(reader, types.map(typeRange));
  const ids = found.flatMap((members) => [...members.values()]);
  const memories = await reader.memories(ids, await reader.memoryRows(ids));
  return new Map(
    memories.flatMap((memory) =>
      memory === undefined || memory.head.record.head.kind !== undefined
        ? []
        : [[keyString(memory.id), memory.id] as const],
    ),
  );
}

function typeRange(type: MemoryType): KvRange {
  return indexRange(INDEX.type, Uint8Array.of(MEMORY_TYPES[type].code));
}

function indexRange(index: number, term: Bytes): KvRange {
  const prefix = indexPrefix("index", index, LIFECYCLES.active.code, term);
  return { ...prefixRange(prefix, INTEGER_MAX), keysOnly: true };
}

async function membersOf(
  reader: Reader,
  ranges: readonly KvRange[],
): Promise<ReadonlyMap<string, Bytes>[]> {
  const found = await reader.ranges(ranges);
  return found.map((rows) => {
    const ids = rows.map(({ key }) => key.subarray(key.length - 16));
    return new Map(ids.map((id) => [keyString(id), id]));
  });
}

async function plainItems(reader: Reader, access: Access, ids: readonly Bytes[]): Promise<Item[]> {
  const rows = await reader.memoryRows(ids);
  const shown =
    access.kind === "owner"
      ? undefined
      : await shownMemories(reader, access, await reader.memories(ids, rows));
  return ids.flatMap((id, at): Item[] => {
    const row = rows[at];
    const isShown = shown === undefined || shown[at] !== undefined;
    return row === undefined || !isShown ? [] : [{ seq: bodyPointer(row).seq, id, row }];
  });
}

/** The memories that have rivals, each with those of its open versions that pass. */
async function openItems(
  engine: Engine,
  reader: Reader,
  options: Checked,
  access: Access,
): Promise<readonly { readonly id: Bytes; readonly items: Item[] }[]> {
  const found = await memoriesWithRivals(reader);
  const shown = await shownMemories(reader, access, found);
  return Promise.all(
    found.map(async (memory, at) => {
      const bodies = shown[at] === undefined ? [] : await openBodies(reader, memory);
      const items = bodies.flatMap((body): Item[] => {
        const version = shapeOpen(engine.actor, memory, body);
        return passes(version, options) ? [{ seq: body.header.seq, memory: version }] : [];
      });
      return { id: memory.id, items };
    }),
  );
}

/** Whether an open version is of one of the kinds and has all of the tags. */
function passes(
  { type, head }: Pick<Memory, "type" | "head">,
  { kinds = [], tags = [] }: Pick<WrittenQuery, "kinds" | "tags">,
): boolean {
  if (kinds.length > 0 && !kinds.includes(head.kind ?? type)) return false;
  return tags.every((tag) => head.tags.includes(tag));
}

async function shapeItems(
  engine: Engine,
  reader: Reader,
  items: readonly Item[],
): Promise<readonly Memory[]> {
  const plain = items.flatMap((item) => ("row" in item ? [item] : []));
  const found = await reader.memories(
    plain.map(({ id }) => id),
    plain.map(({ row }) => row),
  );
  let next = 0;
  return items.flatMap((item): Memory[] => {
    if ("memory" in item) return [item.memory];
    const memory = found[next];
    next += 1;
    return memory === undefined ? [] : [shapeMemory(engine.actor, memory)];
  });
}
