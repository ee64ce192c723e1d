/**
 * Searching open versions one by one: while a conflict is open, each of its versions is judged by its
 * own words, kind and tags, and is found by itself. A version without a kind goes by the memory's type.
 *
 * The index knows a memory with all its open versions as one document, and ranks it so; which of them
 * answer is decided here.
 */
import type { SearchFilter } from "../contract/recall.js";
import type { Engine } from "../engine/engine.js";
import type { Read, Reader } from "../history/reader.js";
import { keyString } from "../kv/keyspace.js";
import type { SlotTurns } from "../memory/members.js";
import { documentOf, headOfVersion, openBodies, shownMemories } from "../memory/read.js";
import type { Head, MemoryRecord } from "../records/memory-record.js";
import type { Access } from "../scope/access.js";
import type { Analyser } from "../text/analyse.js";
import { type DocumentSource, eachDocumentWord } from "../text/document.js";
import type { RankQuery } from "../text/text-index.js";
import type { Accept, RankedMemory } from "../text/text-rank.js";

/** A memory that was found; with the version that was, where versions are judged one by one. */
export interface Ranked extends Pick<RankedMemory, "id" | "score"> {
  readonly body?: Read<MemoryRecord>;
}

/** What is searched for, and for whom. */
export interface RankHow {
  readonly query: Omit<RankQuery, "accept">;
  readonly filter: SearchFilter;
  readonly access: Access;
  /** Whose turn it is in slots. */
  readonly turns: SlotTurns;
}

/** The open versions that a search finds, the best first. */
export async function rankOpen(
  engine: Engine,
  reader: Reader,
  { query, filter, access, turns }: RankHow,
): Promise<readonly Ranked[]> {
  const { words, analyser } = await engine.text.parse(reader, query.text);
  const wanted = new Set(words);
  const judge = judgeOf(engine, filter);
  const passed = new Map<string, readonly Read<MemoryRecord>[]>();
  const accept: Accept = async (found) => {
    const shown = await shownMemories(reader, access, found);
    return Promise.all(
      shown.map(async (memory) => {
        if (memory === undefined || !turns(memory)) return false;
        const open = await openBodies(reader, memory);
        const fit = open.filter((body) => {
          const head = headOfVersion(memory, body);
          const isWanted = judge({ ...head, kind: head.kind ?? head.type });
          // A memory with one version was found by its words.
          if (!isWanted || open.length === 1) return isWanted;
          return hasWord(analyser, documentOf(memory, body), wanted);
        });
        passed.set(keyString(memory.id), fit);
        return fit.length > 0;
      }),
    );
  };
  const ranked = await engine.text.rank(reader, { ...query, accept });
  const each = ranked.flatMap(({ id, score }) =>
    (passed.get(keyString(id)) ?? []).map((body) => ({ id, score, body })),
  );
  return each.slice(0, query.limit);
}

function hasWord(analyser: Analyser, source: DocumentSource, wanted: ReadonlySet<string>): boolean {
  let found = false;
  eachDocumentWord(analyser, source, (word) => {
    found ||= wanted.has(word);
  });
  return found;
}

/** Whether a head passes a filter. */
export function judgeOf(
  engine: Engine,
  { types, kinds, tags = [], freshOnly = false }: SearchFilter,
): (head: Pick<Head, "type" | "kind" | "tags" | "freshnessAt">) => boolean {
  const [ofType, ofKind] = [types && new Set(types), kinds && new Set(kinds)];
  const now = freshOnly ? engine.clock() : 0;
  return ({ type, kind, tags: own, freshnessAt }) => {
    if (ofType?.has(type) === false) return false;
    if (ofKind !== undefined && (kind === undefined || !ofKind.has(kind))) return false;
    if (freshOnly && freshnessAt !== undefined && freshnessAt < now) return false;
    return tags.every((tag) => own.includes(tag));
  };
}
