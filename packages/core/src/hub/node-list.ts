/**
 * Listing the current nodes of one graph: by kinds (any of them), by tags (all of them), newest first.
 *
 * The indexes of a graph know the head of a memory, and so one kind and one set of tags. A rival of an
 * open conflict may have others. Memories with rivals are therefore judged node by node: the caller
 * says which they were at some position, and what was written since is looked at here, so a list is
 * exact at the position it names. Rows are read for everything that matches, bodies for the page only.
 */

import { utf8 } from "../codec/text.js";
import { checkOptions, type Engine } from "../engine/engine.js";
import { invalid } from "../errors.js";
import { bodyPointer, type MemoryRow } from "../history/pointers.js";
import { type FoundMemory, Reader } from "../history/reader.js";
import { decodeHeader, SUBJECT, splitEntry } from "../journal/entry.js";
import { INDEX, indexPrefix, journalKey, keyString, prefixRange } from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { shownMemories } from "../memory/read.js";
import { checkText } from "../records/fields.js";
import { checkKind } from "../records/frames.js";
import { LIFECYCLES, MEMORY_TYPES, type MemoryType, namesOf } from "../records/types.js";
import type { Access } from "../scope/access.js";
import { type CompactNode, compactNode, currentNode, type GraphNode } from "./node.js";
import { type OpenNode, openNodes } from "./node-read.js";

/** Which nodes to list. */
export interface NodeFilter {
  /** Any of these kinds; all when empty. */
  readonly kinds?: readonly string[];
  /** All of these tags, each exactly. */
  readonly tags?: readonly string[];
  /** Most nodes to return; all of them when it is absent or not above 0. */
  readonly limit?: number;
  readonly offset?: number;
  /** Leaves out content, metadata, freshness, author, successor and conflicts. */
  readonly compact?: boolean;
  readonly access?: Access;
}

/** A page of nodes. */
export interface NodePage<N extends CompactNode = GraphNode> {
  readonly nodes: readonly N[];
  /** How many there are in all. */
  readonly total: number;
  /** Where the next page begins; absent at the end. */
  readonly nextOffset?: number;
  readonly seq: number;
}

/** Memories known to have rivals, up to a position of the journal. */
export interface KnownRivals {
  readonly ids: readonly Bytes[];
  /** Entries up to which `ids` is complete. */
  readonly size: number;
}

/** More members than an index of one graph has. */
const ALL = 100_000_000;
const FILTER_FIELDS = ["kinds", "tags", "limit", "offset", "compact", "access"];

/** Checks a filter. */
export function checkNodeFilter(filter: NodeFilter): void {
  checkOptions(filter, FILTER_FIELDS, "filter");
  for (const name of ["kinds", "tags"] as const) {
    const list: unknown = filter[name];
    if (list === undefined) continue;
    if (!Array.isArray(list)) throw invalid(name, "a list of texts", list);
    list.forEach((item, at) => {
      if (name === "kinds") checkKind(item, `kinds[${at}]`);
      else checkText(item, `tags[${at}]`, { maxBytes: LIMITS.tagBytes });
    });
  }
  for (const name of ["limit", "offset"] as const) {
    const number: unknown = filter[name];
    if (number !== undefined && !Number.isSafeInteger(number)) {
      throw invalid(name, "an integer", number);
    }
  }
}

/** Lists the current nodes of a graph. */
export async function listNodes(
  engine: Engine,
  filter: NodeFilter,
  access: Access,
  rivals: KnownRivals,
): Promise<NodePage<GraphNode | CompactNode>> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const matches = await matchingMemories(reader, filter);
    const forked = await forkedMemories(reader, rivals);
    for (const { id } of forked) matches.delete(keyString(id));
    const plain = await plainItems(reader, access, [...matches.values()]);
    const rival = await rivalItems(engine, reader, { filter, access, forked });
    const items: readonly Item[] = [...plain, ...rival].sort((a, b) => b.seq - a.seq);
    const offset = Math.max(0, filter.offset ?? 0);
    const limit = filter.limit === undefined || filter.limit <= 0 ? items.length : filter.limit;
    const page = items.slice(offset, offset + limit);
    const nodes = await shapeItems(engine, reader, page);
    const end = offset + page.length;
    return {
      nodes: filter.compact === true ? nodes.map(compactNode) : nodes,
      total: items.length,
      ...(end < items.length ? { nextOffset: end } : {}),
      seq: reader.seq,
    };
  });
}

/** A node to be listed: its memory's row, or the node itself. */
type Item =
  | { readonly seq: number; readonly id: Bytes; readonly row: MemoryRow }
  | { readonly seq: number; readonly node: GraphNode };

/** The memories whose head passes the filter, by id. */
async function matchingMemories(
  reader: Reader,
  { kinds = [], tags = [] }: NodeFilter,
): Promise<Map<string, Bytes>> {
  const types = namesOf(MEMORY_TYPES);
  const byTag = await membersOf(
    reader,
    tags.map((tag) => indexRange(INDEX.tag, utf8(tag))),
  );
  const byKind =
    kinds.length === 0
      ? tags.length > 0
        ? []
        : await membersOf(reader, types.map(typeRange))
      : await membersOf(
          reader,
          kinds.map((kind) => indexRange(INDEX.kind, utf8(kind))),
        );
  const unnamed = kinds.length === 0 ? [] : await kindless(reader, kinds);
  const ofKind = new Map([...byKind.flatMap((found) => [...found]), ...unnamed]);
  const [first, ...others] = kinds.length > 0 || tags.length === 0 ? [ofKind, ...byTag] : byTag;
  return new Map([...(first ?? [])].filter(([name]) => others.every((one) => one.has(name))));
}

/** Memories without a kind show their type as one: those of types that a filter names. */
async function kindless(
  reader: Reader,
  kinds: readonly string[],
): Promise<readonly (readonly [string, Bytes])[]> {
  const types = namesOf(MEMORY_TYPES).filter((type) => kinds.includes(type));
  const found = await membersOf(reader, types.map(typeRange));
  const ids = found.flatMap((members) => [...members.values()]);
  const memories = await reader.memories(ids, await reader.memoryRows(ids));
  return memories.flatMap((memory) =>
    memory !== undefined && memory.head.record.head.kind === undefined
      ? [[keyString(memory.id), memory.id] as const]
      : [],
  );
}

function typeRange(type: MemoryType): KvRange {
  return indexRange(INDEX.type, Uint8Array.of(MEMORY_TYPES[type].code));
}

function indexRange(index: number, term: Bytes): KvRange {
  const prefix = indexPrefix("index", index, LIFECYCLES.active.code, term);
  return { ...prefixRange(prefix, ALL), keysOnly: true };
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

/** The memories that have rivals at the reader's position. */
export async function forkedMemories(reader: Reader, rivals: KnownRivals): Promise<FoundMemory[]> {
  const [rows = []] = await reader.ranges([
    { gte: journalKey(rivals.size), lt: journalKey(reader.head.size), limit: ALL },
  ]);
  const touched = rows.flatMap(({ value }) =>
    decodeHeader(splitEntry(value).headerBytes).parts.flatMap(({ subject }) =>
      subject[0] === SUBJECT.memory ? [subject.subarray(1)] : [],
    ),
  );
  const ids = [...new Map([...rivals.ids, ...touched].map((id) => [keyString(id), id])).values()];
  const found = await reader.memories(ids, await reader.memoryRows(ids));
  return found.flatMap((memory) =>
    memory === undefined || memory.head.record.head.siblings.length === 0 ? [] : [memory],
  );
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

async function rivalItems(
  engine: Engine,
  reader: Reader,
  what: {
    readonly filter: NodeFilter;
    readonly access: Access;
    readonly forked: readonly FoundMemory[];
  },
): Promise<readonly OpenNode[]> {
  const active = what.forked.filter(({ head }) => head.record.head.lifecycle === "active");
  const shown = await shownMemories(reader, what.access, active);
  const nodes = await Promise.all(
    shown.map((found) => (found === undefined ? [] : openNodes(engine, reader, found))),
  );
  return nodes.flat().filter(({ node }) => passes(node, what.filter));
}

/** Whether a node is of one of the kinds and has all of the tags. */
export function passes(
  { kind, tags }: Pick<GraphNode, "kind" | "tags">,
  filter: Pick<NodeFilter, "kinds" | "tags">,
): boolean {
  const { kinds = [] } = filter;
  if (kinds.length > 0 && !kinds.includes(kind)) return false;
  return (filter.tags ?? []).every((tag) => tags.includes(tag));
}

async function shapeItems(
  engine: Engine,
  reader: Reader,
  items: readonly Item[],
): Promise<GraphNode[]> {
  const plain = items.flatMap((item) => ("row" in item ? [item] : []));
  const found = await reader.memories(
    plain.map(({ id }) => id),
    plain.map(({ row }) => row),
  );
  const now = engine.clock();
  let next = 0;
  return items.flatMap((item): GraphNode[] => {
    if ("node" in item) return [item.node];
    const memory = found[next];
    next += 1;
    return memory === undefined ? [] : [currentNode(engine.actor, memory, now)];
  });
}
