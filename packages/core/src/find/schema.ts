/**
 * What a graph is made of: `describeSchema` and `listTags`, for agents that want to use the words that
 * are in use already.
 *
 * Counts are exact over the active memories that the caller may see, edges over the live ones with
 * both ends in sight. Every list goes by count, then by the name's code points; the long ones are cut,
 * and `distinct` says how many names there are.
 */
import { readU16, textInKey } from "../codec/keys.js";
import { fromUtf8, truncateUtf8, utf8 } from "../codec/text.js";
import type { Schema, TagCount, TagList } from "../contract/find.js";
import type { Asked } from "../contract/index.js";
import type { Engine } from "../engine/engine.js";
import { newestOf, type Tally } from "../engine/vocabulary.js";
import { bodyOf, type FoundMemory, Reader, scan } from "../history/reader.js";
import { KEYSPACE, keyBytes, keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import { memoriesWithRivals, openBodies, shownMemories } from "../memory/read.js";
import { kindByCode } from "../records/edge-kinds.js";
import { type Head, primaryText } from "../records/memory-record.js";
import { MEMORY_TYPES, nameOf } from "../records/types.js";
import type { Access } from "../scope/access.js";

const EXAMPLES = 3;
const EXAMPLE_BYTES = 160;
const PREFIX_VALUES = 10;

/** Types, kinds, tags, slots and edge kinds in use, with counts. */
export async function describeSchema(
  engine: Engine,
  { access, siblings }: Asked<"describeSchema">,
): Promise<Schema> {
  return withTally(engine, { access, siblings }, async (tally, reader) => {
    const { type, kind, tag, slot } = tally.terms;
    const tags = ranked(tag);
    const prefixes = tagPrefixes(tags);
    const kinds = ranked(kind).slice(0, LIMITS.schemaKinds);
    const slots = ranked(slot).slice(0, LIMITS.schemaSlots);
    const types = typeCounts(type);
    const nodeCount = types.reduce((sum, { count }) => sum + count, 0);
    const distinct = {
      kinds: kind.size,
      tagPrefixes: prefixes.length,
      tags: tag.size,
      slots: slot.size,
    };
    const edgeCounts = [...tally.edges];
    // The tally may move on from here: everything that is read from it has been read.
    return {
      graphId: engine.actor,
      nodeCount,
      types,
      kinds: await Promise.all(
        kinds.map(async ([term, count]) => {
          const examples = siblings === true ? [] : await examplesOf(reader, access, term);
          return { kind: termText(term), count, examples };
        }),
      ),
      tagPrefixes: prefixes.slice(0, LIMITS.schemaKinds),
      tags: tags.slice(0, LIMITS.schemaTags).map(shapeTag),
      slots: slots.map(([term, count]) => ({ slot: termText(term), count })),
      edgeKinds: await namedEdges(reader, edgeCounts),
      distinct,
      seq: reader.position,
    };
  });
}

/** Active memories by type, the most frequent first; terms are codes. */
export function typeCounts(counts: ReadonlyMap<string, number>): Schema["types"] {
  return [...counts]
    .map(([code, count]) => ({ type: nameOf(MEMORY_TYPES, code.charCodeAt(0), "type"), count }))
    .sort((a, b) => byCount([a.type, a.count], [b.type, b.count]));
}

/** Tags in use, the most frequent first. */
export async function listTags(
  engine: Engine,
  { prefix = "", limit = LIMITS.listTagsDefault, access, siblings }: Asked<"listTags">,
): Promise<TagList> {
  const start = keyString(utf8(prefix));
  return withTally(engine, { access, siblings }, async ({ terms }, { position: seq }) => {
    const found = ranked(terms.tag).filter(([term]) => term.startsWith(start));
    return { tags: found.slice(0, limit).map(shapeTag), seq };
  });
}

function withTally<T>(
  engine: Engine,
  { access, siblings }: { readonly access: Access; readonly siblings?: boolean | undefined },
  use: (tally: Tally, reader: Reader) => Promise<T>,
): Promise<T> {
  const { vocabulary } = engine;
  return vocabulary.inTurn(() =>
    Reader.with(engine.kv, undefined, async (reader) => {
      const rivals = siblings === true ? await rivalHeads(reader, access) : [];
      const tally = await vocabulary.tally(reader, access);
      return use(rivals.length === 0 ? tally : withRivals(tally, rivals), reader);
    }),
  );
}

/** The heads of open versions that their memories do not go by. */
async function rivalHeads(reader: Reader, access: Access): Promise<readonly Head[]> {
  const shown = await shownMemories(reader, access, await memoriesWithRivals(reader));
  const heads = await Promise.all(
    shown.map(async (memory) => {
      const bodies = memory === undefined ? [] : await openBodies(reader, memory);
      return bodies.filter((body) => body !== memory?.body).map(({ record }) => record.head);
    }),
  );
  return heads.flat();
}

/** The counts with those of rivals. */
function withRivals(tally: Tally, rivals: readonly Head[]): Tally {
  const { type, kind, tag, slot } = tally.terms;
  const terms = { type: new Map(type), kind: new Map(kind), tag: new Map(tag), slot };
  const count = (counts: Map<string, number>, term: string): void => {
    counts.set(term, (counts.get(term) ?? 0) + 1);
  };
  for (const head of rivals) {
    count(terms.type, String.fromCharCode(MEMORY_TYPES[head.type].code));
    if (head.kind !== undefined) count(terms.kind, keyString(utf8(head.kind)));
    for (const one of head.tags) count(terms.tag, keyString(utf8(one)));
  }
  return { ...tally, terms };
}

/** A term and its count; a term is the `keyString` of UTF-8, which sorts by code points. */
type Ranked = readonly [term: string, count: number];

function ranked(counts: ReadonlyMap<string, number>): Ranked[] {
  return [...counts].sort(byCount);
}

function byCount([a, m]: Ranked, [b, n]: Ranked): number {
  return n - m || (a < b ? -1 : a > b ? 1 : 0);
}

function termText(term: string): string {
  return fromUtf8(keyBytes(term));
}

function shapeTag([term, count]: Ranked): TagCount {
  return { tag: termText(term), count };
}

/** Groups of all tags with something on both sides of their first colon. */
function tagPrefixes(tags: readonly Ranked[]): Schema["tagPrefixes"] {
  const groups = new Map<string, { count: number; readonly values: Ranked[] }>();
  for (const [tag, count] of tags) {
    const colon = tag.indexOf(":");
    if (colon < 1 || colon === tag.length - 1) continue;
    const group = groups.get(tag.slice(0, colon)) ?? { count: 0, values: [] };
    groups.set(tag.slice(0, colon), group);
    group.count += count;
    group.values.push([tag.slice(colon + 1), count]);
  }
  return [...groups]
    .sort(([a, { count: m }], [b, { count: n }]) => byCount([a, m], [b, n]))
    .map(([prefix, { count, values }]) => ({
      prefix: termText(prefix),
      count,
      // Tags came by count and then by name, and so do their values.
      values: values.slice(0, PREFIX_VALUES).map(([value]) => termText(value)),
    }));
}

/** What the newest memories of a kind say, in brief. */
async function examplesOf(reader: Reader, access: Access, kind: string): Promise<string[]> {
  const examples: string[] = [];
  // The owner sees everything, so three are enough; others may have to look further.
  const pageRows = access.kind === "owner" ? EXAMPLES : 16 * EXAMPLES;
  for await (const ids of newestOf(reader, "kind", kind, pageRows)) {
    const found = await reader.memories(ids, await reader.memoryRows(ids));
    for (const memory of await shownMemories(reader, access, found)) {
      if (memory !== undefined) examples.push(exampleOf(memory));
      if (examples.length === EXAMPLES) return examples;
    }
  }
  return examples;
}

function exampleOf({ head, body }: FoundMemory): string {
  const { data, forms } = bodyOf(body);
  const summary = "summary" in data ? (data.summary ?? "") : "";
  const said = primaryText(head.record.head.type, data).trim();
  const text = summary.trim() || said || forms.short;
  const cut = truncateUtf8(text, EXAMPLE_BYTES);
  return cut === text ? text : `${cut}…`;
}

/** Edge kinds by name: built in, or registered in this graph. */
async function namedEdges(
  reader: Reader,
  counts: readonly (readonly [code: number, count: number])[],
): Promise<Schema["edgeKinds"]> {
  const open = new Map<number, string>();
  if (counts.some(([code]) => kindByCode(code) === undefined)) {
    for await (const { key, value } of scan(
      reader.snapshot,
      Uint8Array.of(KEYSPACE.edgeKind.byte),
    )) {
      open.set(readU16(value, 0), textInKey(key, 1));
    }
  }
  return counts
    .map(
      ([code, count]): Ranked => [
        keyString(utf8(kindByCode(code)?.name ?? open.get(code) ?? "")),
        count,
      ],
    )
    .sort(byCount)
    .map(([term, count]) => ({ kind: termText(term), count }));
}
