/**
 * What makes a candidate of `find` a hit: it is there in a state that is asked for, the caller may see
 * it, and every condition of the query holds for the version looked at. The cheap tests come first: a
 * memory's row rules out states and types before its records are read.
 */
import type { Engine } from "../engine/engine.js";
import type { MemoryRow } from "../history/pointers.js";
import type { FoundMemory, Read, Reader } from "../history/reader.js";
import { getU64, idKey, journalKey, keyBytes, keyString, WEIGHTS_KEY } from "../kv/keyspace.js";
import type { KvSoon } from "../kv/kv.js";
import type { SlotTurns } from "../memory/members.js";
import { shownMemories, standingVersions, timeAt, turnsAt, validBody } from "../memory/read.js";
import type { MemoryRecord } from "../records/memory-record.js";
import type { MemoryType } from "../records/types.js";
import { testOf } from "./evaluate.js";
import type { CheckedFind } from "./find-input.js";
import { conjunctsOf } from "./find-plan.js";
import { holdsWords, type Words } from "./find-text.js";
import type { Checked } from "./predicate.js";
import type { Match, Matcher } from "./scan.js";
import { arrivalOf, type Candidate } from "./sources.js";

/** What a hit must satisfy beside the conditions. */
interface MatchMore {
  /** The memories that a walk reached, by key string. */
  readonly reached: Pick<ReadonlySet<string>, "has"> | undefined;
  /** Words to look for, unless the path read holds them anyway. */
  readonly words: Words | undefined;
}

/** The matcher of a query at a reader's position. */
export function matcherOf(
  engine: Engine,
  reader: Reader,
  query: CheckedFind,
  { reached, words }: MatchMore,
): Matcher {
  const { actor } = engine;
  const test = testOf(query.where);
  const types = typesOf(query.where);
  let turns: SlotTurns | undefined;
  return async (candidates) => {
    reader.soon(() => soonOf(candidates));
    const rows = await rowsOf(reader, candidates);
    const wanted = candidates.map(({ id }, at) => {
      const row = rows[at];
      if (row === undefined || !query.lifecycles.has(row.lifecycle)) return undefined;
      if (types !== undefined && !types.has(row.type)) return undefined;
      return reached === undefined || reached.has(keyString(id)) ? row : undefined;
    });
    const ids = candidates.map(({ id }) => id);
    const found = await reader.memories(ids, wanted);
    const shown = await shownMemories(reader, query.access, found);
    const bodies = await bodiesOf(reader, shown, query.validAt);
    turns ??= await turnsOf(engine, reader, query);
    const isTurn = turns;
    const matches = shown.map((memory, at): Match | undefined => {
      const body = bodies[at];
      if (memory === undefined || body === undefined || !isTurn(memory, body)) return undefined;
      if (!test({ actor, id: memory.id, head: memory.head, body })) return undefined;
      return { found: memory, body, arrival: arrivalOf(memory.id, memory.row) };
    });
    if (words === undefined) return matches;
    return Promise.all(
      matches.map(async (one) =>
        one !== undefined && (await holdsWords(reader, words, one.found)) ? one : undefined,
      ),
    );
  };
}

/** What a page of hits reads: mostly the entries that brought them to the index, and their use. */
function soonOf(candidates: readonly Candidate[]): KvSoon {
  const entries = candidates.flatMap(({ mark }) =>
    mark === "" ? [] : [journalKey(getU64(keyBytes(mark), 0))],
  );
  const uses = candidates.map(({ id }) => idKey("counter", id));
  return { keys: [WEIGHTS_KEY, ...entries, ...uses] };
}

/** Whose turn it is in slots; states that are asked for by name are taken as they are stored. */
async function turnsOf(engine: Engine, reader: Reader, query: CheckedFind): Promise<SlotTurns> {
  const { validAt, access, isStored } = query;
  if (isStored) return () => true;
  return turnsAt(reader, access, validAt ?? (await timeAt(engine, reader)));
}

/** The rows of candidates; those that came with one are not read again. */
async function rowsOf(
  reader: Reader,
  candidates: readonly Candidate[],
): Promise<readonly (MemoryRow | undefined)[]> {
  const missing = candidates.filter(({ row }) => row === undefined).map(({ id }) => id);
  const read = await reader.memoryRows(missing);
  let at = 0;
  return candidates.map(({ row }) => {
    if (row !== undefined) return row;
    at += 1;
    return read[at - 1];
  });
}

async function bodiesOf(
  reader: Reader,
  shown: readonly (FoundMemory | undefined)[],
  validAt: number | undefined,
): Promise<readonly (Read<MemoryRecord> | undefined)[]> {
  if (validAt === undefined) return shown.map((memory) => memory?.body);
  return Promise.all(
    shown.map(async (memory) =>
      memory === undefined ? undefined : validBody(await standingVersions(reader, memory), validAt),
    ),
  );
}

/** The types that the conditions leave, if they say anything about types. */
function typesOf(where: Checked): ReadonlySet<MemoryType> | undefined {
  let types: Set<string> | undefined;
  for (const node of conjunctsOf(where)) {
    if (node.op !== "in" && node.op !== "eq") continue;
    if (node.field.name !== "head.type") continue;
    const literals = "literals" in node ? node.literals : [node.literal];
    const named = literals.flatMap(({ text }) => text ?? []);
    const before: ReadonlySet<string> | undefined = types;
    types = new Set(before === undefined ? named : named.filter((name) => before.has(name)));
  }
  return types as ReadonlySet<MemoryType> | undefined;
}
