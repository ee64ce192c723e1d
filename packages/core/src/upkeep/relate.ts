/**
 * Relating: a `same_topic` edge between memories that name the same rare thing.
 *
 * Opt-in. A name that many memories share says nothing about any two of them, so only names of a few
 * count, and only those of two words or more; a memory gets at most a handful of such edges in a run,
 * and no more than the cap of the kind in all. Turns of conversations are left out, since their order
 * joins them; so is what comes from outside. Memories that are joined already, or were joined once and
 * parted, are left as they are.
 */

import { compareBytes } from "../codec/keys.js";
import { sentenceOf } from "../engine/shapes.js";
import type { FoundMemory } from "../history/reader.js";
import { keyBytes, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { adjacent } from "../links/adjacency.js";
import { canonicalKind } from "../records/edge-kinds.js";
import { nameMark, namesIn } from "../text/names.js";
import { markedMemories } from "../text/text-evidence.js";
import {
  addChange,
  followJournal,
  hasRoom,
  isTrusted,
  memoriesById,
  type PlanStep,
  type PlanWorld,
  planned,
} from "./maintain-changes.js";

/** A name that more memories share is a subject of many. */
const SHARED_MAX = 6;
/** Edges that one memory gets in one run. */
const EDGES_MAX = 3;
/** Edges of one memory that are looked at; one with more is joined well enough. */
const NEIGHBOURS_MAX = 256;

const SAME_TOPIC = canonicalKind("same_topic")?.kind.code ?? 0;

/** Plans which memories are to be related. */
export const planRelations: PlanStep = async (world, cursor) => {
  const related: Related = { edges: new Map(), pairs: new Set() };
  return followJournal(world, cursor, {
    pieceEntries: 256,
    edges: false,
    lookAt: (ids) => relateAmong(world, ids, related),
  });
};

/** What this plan has related so far. */
interface Related {
  /** Edges that each memory got, by `keyString`. */
  readonly edges: Map<string, number>;
  readonly pairs: Set<string>;
}

async function relateAmong(
  world: PlanWorld,
  touched: readonly Bytes[],
  related: Related,
): Promise<void> {
  const { reader, text } = world;
  const analyser = await text.analyserAt(reader);
  const isCommon = (word: string): boolean => analyser.isPlainStopWord(word);
  const found = [...(await memoriesById(world, touched)).values()].filter((memory) =>
    isRelatable(world, memory),
  );
  const named = found.map((memory) => ({
    memory,
    // A single capital at the start of a sentence is no name; of two words or more it nearly always is.
    names: namesIn(sentenceOf(memory), isCommon)
      .filter((words) => words.length > 1)
      .map((words) => words.join(" ")),
  }));
  const marks = [...new Set(named.flatMap(({ names }) => names.map(nameMark)))];
  const marked = await markedMemories(text, reader, marks, {
    lifecycles: ["active"],
    most: SHARED_MAX + 1,
  });
  for (const { memory, names } of named) {
    const shared = new Map<string, string>();
    for (const name of names) {
      const holders = marked.get(nameMark(name));
      if (holders === undefined || holders.count > SHARED_MAX) continue;
      for (const key of holders.keys) if (!shared.has(key)) shared.set(key, name);
    }
    shared.delete(keyString(memory.id));
    if (shared.size > 0) await relate(world, memory, shared, related);
    if (!hasRoom(world)) return;
  }
}

function isRelatable({ taken }: PlanWorld, memory: FoundMemory): boolean {
  const { turn, lifecycle } = memory.head.record.head;
  const isFree = lifecycle === "active" && !taken.has(keyString(memory.id));
  return isFree && turn === undefined && isTrusted(memory);
}

async function relate(
  world: PlanWorld,
  memory: FoundMemory,
  shared: ReadonlyMap<string, string>,
  related: Related,
): Promise<void> {
  const others = await memoriesById(world, [...shared.keys()].sort().map(keyBytes));
  const ends = [memory, ...others.values()].filter((one) => isRelatable(world, one));
  const joined = await neighboursOf(world, ends);
  const own = joined.get(keyString(memory.id));
  for (const other of ends) {
    const name = shared.get(keyString(other.id));
    const theirs = joined.get(keyString(other.id));
    if (own === undefined || theirs === undefined || name === undefined) continue;
    if (own.ids.has(keyString(other.id)) || !hasRoom(world)) continue;
    const [low, high] = [memory, other].sort((a, b) => compareBytes(a.id, b.id));
    if (low === undefined || high === undefined) continue;
    const pair = `${keyString(low.id)}${keyString(high.id)}`;
    if (related.pairs.has(pair) || [own, theirs].some((side) => !hasPlace(side, related))) continue;
    related.pairs.add(pair);
    for (const { key } of [own, theirs]) related.edges.set(key, (related.edges.get(key) ?? 0) + 1);
    const reason = `both name ${name}`;
    addChange(world, { step: "relate", from: planned(low), to: planned(high), reason });
  }
}

interface Joined {
  readonly key: string;
  /** Whom it is or was joined to, by `keyString`. */
  readonly ids: ReadonlySet<string>;
  /** Live edges of the kind, and whether there are so many edges that they were not all read. */
  readonly sameTopic: number;
  readonly isCrowded: boolean;
}

function hasPlace({ key, sameTopic, isCrowded }: Joined, related: Related): boolean {
  const got = related.edges.get(key) ?? 0;
  return !isCrowded && got < EDGES_MAX && sameTopic + got < LIMITS.sameTopicEdges;
}

async function neighboursOf(
  world: PlanWorld,
  memories: readonly FoundMemory[],
): Promise<ReadonlyMap<string, Joined>> {
  const ids = memories.map(({ id }) => id);
  const read = (codes: readonly number[], includeTombstoned: boolean) =>
    Promise.all(
      (["out", "in"] as const).map((side) =>
        adjacent(world.reader, ids, { side, codes, includeTombstoned, limit: NEIGHBOURS_MAX }),
      ),
    );
  const [all, topics] = [await read([], true), await read([SAME_TOPIC], false)];
  return new Map(
    ids.map((id, at) => {
      const edges = all.map((side) => side[at] ?? []);
      const joined: Joined = {
        key: keyString(id),
        ids: new Set(edges.flat().map(({ other }) => keyString(other))),
        sameTopic: topics.reduce((sum, side) => sum + (side[at]?.length ?? 0), 0),
        isCrowded: edges.some((side) => side.length >= NEIGHBOURS_MAX),
      };
      return [joined.key, joined];
    }),
  );
}
