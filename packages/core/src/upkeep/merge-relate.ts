/**
 * The steps of upkeep that compare memories with each other by their words: merging twins, and relating those
 * that name the same rare thing. Both are opt-in, narrow on purpose, and follow the journal.
 *
 * Twins are two live memories that say the same in the same words, and got there because they differ in
 * something that makes no claim (one has a slot, a tag, an article more). High overlap of words is no reason:
 * a change of a value differs in one word too. Twins have the same type, source, status, kind, visibility,
 * times and data, and the same words in the same order; only case, spacing, commas, quotes and "the" do not
 * count. So nothing is ever merged across a boundary of trust, and no value is taken for another. The richest
 * one stays, compared in this order: has a slot, confidence, importance, uses; the newer one of equals. It
 * gets the higher importance and confidence and the tags of the others, which are archived with an edge that
 * says who took their place. A memory that others know by its external id never gives way.
 *
 * Relating adds a `same_topic` edge. A name that many memories share says nothing about any two of them, so
 * only names of a few count, and only those of two words or more; a memory gets at most a handful of such
 * edges in a run, and no more than the cap of the kind in all. Turns of conversations are left out, since
 * their order joins them; so is what comes from outside. Memories that are joined already, or were joined
 * once and parted, are left as they are.
 */
import { encode } from "../codec/cbor.js";
import { compareBytes } from "../codec/keys.js";
import { sentenceOf } from "../engine/shapes.js";
import { decodeCounter } from "../history/pointers.js";
import { bodyOf, type FoundMemory } from "../history/reader.js";
import { idKey, keyBytes, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import { adjacent } from "../links/adjacency.js";
import { claimText } from "../records/data.js";
import { canonicalKind } from "../records/edge-kinds.js";
import { claimWords } from "../text/alike.js";
import { nameMark, namesIn } from "../text/names.js";
import { markedMemories } from "../text/text-evidence.js";
import {
  addChange,
  contestedOf,
  followJournal,
  hasRoom,
  isOpenToChange,
  isTrusted,
  memoriesById,
  type PlanStep,
  type PlanWorld,
  planned,
} from "./maintain-changes.js";

/** Memories that share the rarest word of a sentence and are compared with it. */
const TWIN_WORD_MAX = 64;
/** Words of a sentence that are looked up: twins share them all, so any will do. */
const WORDS_MAX = 32;
/** Where every word is common, of the best hits how many are compared: twins are the very best. */
const RANKED_MAX = 12;

/** Plans what is to be merged. */
export const planMerges: PlanStep = (world, cursor) =>
  followJournal(world, cursor, {
    // A sentence of common words costs a search: small pieces, so that the time is kept.
    pieceEntries: 64,
    edges: false,
    lookAt: (ids) => mergeAmong(world, ids),
  });

async function mergeAmong(world: PlanWorld, touched: readonly Bytes[]): Promise<void> {
  const found = [...(await memoriesById(world, touched)).values()].filter((memory) =>
    isMergeable(world, memory),
  );
  const nearby = await nearbyOf(world, found);
  for (const [at, memory] of found.entries()) {
    if (!hasRoom(world)) return;
    // An earlier one of the piece may have taken it.
    if (!isMergeable(world, memory)) continue;
    const group = [memory, ...(await twinsOf(world, memory, nearby[at]))];
    if (group.length > 1) await mergeGroup(world, group);
  }
}

/** For each memory those that share its rarest word; `undefined` where even that is common. */
async function nearbyOf(
  { reader, text }: PlanWorld,
  memories: readonly FoundMemory[],
): Promise<readonly (readonly Bytes[] | undefined)[]> {
  const analyser = await text.analyserAt(reader);
  const wordsOf = (said: string): readonly string[] =>
    analyser.tokens(said).map(({ word }) => word);
  const left = new Set(wordsOf("the"));
  const words = memories.map((memory) =>
    [...new Set(wordsOf(sentenceOf(memory)))].filter((word) => !left.has(word)).slice(0, WORDS_MAX),
  );
  const holders = await markedMemories(text, reader, [...new Set(words.flat())], {
    lifecycles: ["active"],
    most: TWIN_WORD_MAX + 1,
  });
  return words.map((own) => {
    const known = own.flatMap((word) => holders.get(word) ?? []);
    const [rarest] = known.sort((a, b) => a.count - b.count);
    if (rarest === undefined || rarest.count > TWIN_WORD_MAX) return undefined;
    return rarest.keys.map(keyBytes);
  });
}

/** Those that may repeat themselves carry no fingerprint, and what is unsettled waits for review. */
function isMergeable(world: PlanWorld, memory: FoundMemory): boolean {
  const { fingerprint, status } = memory.head.record.head;
  const isSettled = status === "asserted" || status === "confirmed";
  return (
    fingerprint !== undefined && isSettled && isOpenToChange(world, memory) && isTrusted(memory)
  );
}

async function twinsOf(
  world: PlanWorld,
  memory: FoundMemory,
  nearby: readonly Bytes[] | undefined,
): Promise<readonly FoundMemory[]> {
  const ids = (nearby ?? (await rankedBy(world, memory)))
    .filter((id) => compareBytes(id, memory.id) !== 0)
    .sort(compareBytes);
  const others = await memoriesById(world, ids);
  const mark = claimMark(memory);
  return [...others.values()].filter(
    (other) => isMergeable(world, other) && claimMark(other) === mark,
  );
}

async function rankedBy(world: PlanWorld, memory: FoundMemory): Promise<readonly Bytes[]> {
  // Quotes ask for phrases; here they are part of what was said.
  const text = sentenceOf(memory).replace(/["“”„]/g, " ");
  const ranked = await world.text.rank(world.reader, { text, limit: RANKED_MAX });
  return ranked.map(({ id }) => id);
}

/** Everything that twins have in common, as one text. */
function claimMark({ head, body }: FoundMemory): string {
  const { type, source, status, kind, visibility } = head.record.head;
  const version = bodyOf(body);
  const {
    statement: _,
    content: __,
    title: ___,
    ...rest
  } = version.data as {
    readonly [name: string]: unknown;
  };
  const { validFrom, validTo, expiresAt, provenance } = version;
  const words = claimWords(claimText(type, version.data));
  return keyString(
    encode([
      [type, source, status, kind ?? null, visibility, provenance.source],
      [validFrom ?? null, validTo ?? null, expiresAt ?? null],
      words,
      rest as Parameters<typeof encode>[0],
    ]),
  );
}

async function mergeGroup(world: PlanWorld, twins: readonly FoundMemory[]): Promise<void> {
  const contested = await contestedOf(
    world,
    twins.map(({ id }) => id),
  );
  if (contested.size > 0) return;
  const counters = await world.reader.getMany(twins.map(({ id }) => idKey("counter", id)));
  const uses = new Map(
    twins.map(({ id }, at) => {
      const { accessed, reinforced } = decodeCounter(counters[at]);
      return [keyString(id), accessed + reinforced];
    }),
  );
  const [keep, ...others] = [...twins].sort((a, b) => byRichness(a, b, uses));
  const give = others.filter((one) => {
    const { externalId, slot } = one.head.record.head;
    // Two slots are two questions, even where the answer is the same.
    return externalId === undefined && slot === undefined;
  });
  if (keep === undefined || give.length === 0) return;
  addChange(world, {
    step: "merge",
    keep: planned(keep),
    give: give.map(planned),
    reason: `the same claim ${give.length + 1} times`,
  });
}

/** Orders twins: the richest first, the newer one of equals. */
function byRichness(a: FoundMemory, b: FoundMemory, uses: ReadonlyMap<string, number>): number {
  const rank = (one: FoundMemory): readonly number[] => {
    const { slot, importance } = one.head.record.head;
    const { confidence } = bodyOf(one.body);
    return [slot === undefined ? 0 : 1, confidence, importance, uses.get(keyString(one.id)) ?? 0];
  };
  const [left, right] = [rank(a), rank(b)];
  const at = left.findIndex((value, index) => value !== right[index]);
  if (at >= 0) return (right[at] ?? 0) - (left[at] ?? 0);
  return compareBytes(b.id, a.id);
}

/** A name that more memories share is a subject of many. */
const NAMESAKES_MAX = 6;
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
    most: NAMESAKES_MAX + 1,
  });
  for (const { memory, names } of named) {
    const shared = new Map<string, string>();
    for (const name of names) {
      const holders = marked.get(nameMark(name));
      if (holders === undefined || holders.count > NAMESAKES_MAX) continue;
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
