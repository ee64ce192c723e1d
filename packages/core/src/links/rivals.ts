/**
 * Ranking rivals: in every answer that ranks, a rival stands below the memory it disputes.
 *
 * A score cannot ensure that, because the words of a rival can be made to fit any question better than
 * the words they dispute. So it is decided by edges: a memory stands below another if a live
 * `contradicts` joins it to that one, and that one is of a higher standing or the edge marks the memory
 * as its rival, and the memory is provisional or disputed itself or comes from outside.
 *
 * Promise: deterministic; reads nothing unless a hit may be one of these, and then a few batches. Counts
 * only what is live and what the caller may see.
 */

import { RIVAL } from "../engine/drafts.js";
import { bodyOf, type FoundMemory, type Reader } from "../history/reader.js";
import { keyBytes, keyString } from "../kv/keyspace.js";
import { shownMemories } from "../memory/read.js";
import { canonicalKind } from "../records/edge-kinds.js";
import type { Access } from "../scope/access.js";
import { outranks, standingOf } from "../trust/gate.js";
import { adjacent } from "./adjacency.js";

/** Contradictions of one memory that are looked at, from each end. */
const DISPUTES_MAX = 256;
const CONTRADICTS = canonicalKind("contradicts")?.kind.code ?? 0;

/** By the `keyString` of a hit, the memories that must stand above it. */
export type Disputes = ReadonlyMap<string, readonly FoundMemory[]>;

/** Of hits, those that dispute something live and visible, with what they dispute in order of id. */
export async function disputesOf(
  reader: Reader,
  hits: readonly FoundMemory[],
  access: Access,
): Promise<Disputes> {
  const low = new Map(hits.filter(isUnsure).map((memory) => [keyString(memory.id), memory]));
  if (low.size === 0) return new Map();
  const open = grouped(await openDisputes(reader, low), ({ other }) => other);
  const others = [...open.keys()].sort().map(keyBytes);
  const found = await reader.memories(others, await reader.memoryRows(others));
  const shown = await shownMemories(reader, access, found);
  const disputes = new Map<string, FoundMemory[]>();
  for (const memory of shown) {
    if (memory === undefined || memory.row.lifecycle !== "active") continue;
    for (const { own, isRival } of open.get(keyString(memory.id)) ?? []) {
      const rival = low.get(own);
      if (rival === undefined) continue;
      // A mark decides between equals, never against a higher standing.
      const above =
        outranks(sourceOf(memory), sourceOf(rival)) ||
        (isRival && !outranks(sourceOf(rival), sourceOf(memory)));
      const known = disputes.get(own);
      if (!above || known?.at(-1) === memory) continue;
      if (known === undefined) disputes.set(own, [memory]);
      else known.push(memory);
    }
  }
  return disputes;
}

function grouped<T>(list: readonly T[], nameOf: (one: T) => string): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of list) {
    const known = groups.get(nameOf(one));
    if (known === undefined) groups.set(nameOf(one), [one]);
    else known.push(one);
  }
  return groups;
}

function sourceOf({ head }: FoundMemory) {
  return head.record.head.source;
}

/** Whether a memory is unsettled itself, or repeats the words of somebody outside. */
function isUnsure({ head, body }: FoundMemory): boolean {
  const { status, source } = head.record.head;
  const isOutside = [source, bodyOf(body).provenance.source].some(
    (one) => standingOf(one) === "outside",
  );
  return isOutside || status === "provisional" || status === "disputed";
}

interface OpenDispute {
  /** The `keyString` of the unsure memory, and of the other. */
  readonly own: string;
  readonly other: string;
  /** Whether the edge says that it is a rival of the other. */
  readonly isRival: boolean;
}

async function openDisputes(
  reader: Reader,
  low: ReadonlyMap<string, FoundMemory>,
): Promise<readonly OpenDispute[]> {
  const ids = [...low.values()].map(({ id }) => id);
  const query = { codes: [CONTRADICTS], includeTombstoned: false, limit: DISPUTES_MAX };
  const sides = ["out", "in"] as const;
  const found = await Promise.all(
    sides.map(async (side) => (await adjacent(reader, ids, { ...query, side })).flat()),
  );
  const edges = found.flatMap((list, at) => list.map((edge) => ({ edge, side: sides[at] })));
  const records = await reader.edges(edges.map(({ edge }) => edge));
  return edges.flatMap(({ edge, side }, at): OpenDispute[] => {
    const record = records[at]?.record;
    const isOver = record?.tombstone !== undefined || record?.validTo !== undefined;
    if (record === undefined || isOver || !(record.to instanceof Uint8Array)) return [];
    const isRival = side === "out" && record.metadata?.[RIVAL] !== undefined;
    return [{ own: keyString(edge.near), other: keyString(edge.other), isRival }];
  });
}

/** How the members of a list are known. */
type KeyOf<T> = (one: T) => string;

/** A member of a list that waits for others to be placed. */
interface Blocked<T> {
  readonly one: T;
  /** Its place in the list as it was given. */
  readonly at: number;
  /** How many of those it waits for are not placed yet. */
  missing: number;
}

/**
 * A list with every rival below all that it disputes in the list, directly below the last of them;
 * everything else keeps its order. The work goes with the list and its disputes.
 */
export function belowDisputed<T>(
  list: readonly T[],
  keyOf: KeyOf<T>,
  disputes: Disputes,
): readonly T[] {
  if (disputes.size === 0) return list;
  const there = new Set(list.map(keyOf));
  const placed = new Set<string>();
  const blocked = new Map<string, Blocked<T>[]>();
  /** Whose turn has come, the first of the list at the end. */
  const free: Blocked<T>[] = [];
  const order: T[] = [];
  const place = (one: T): void => {
    order.push(one);
    const key = keyOf(one);
    if (placed.has(key)) return;
    placed.add(key);
    for (const waiting of blocked.get(key) ?? []) {
      waiting.missing -= 1;
      if (waiting.missing === 0) free.splice(firstBelow(free, waiting.at), 0, waiting);
    }
  };
  const ended = new Set<number>();
  for (const [at, one] of list.entries()) {
    const above = (disputes.get(keyOf(one)) ?? []).map(({ id }) => keyString(id));
    const open = new Set(above.filter((key) => there.has(key) && !placed.has(key)));
    if (open.size > 0) {
      const waiting = { one, at, missing: open.size };
      for (const key of open) {
        const others = blocked.get(key);
        if (others === undefined) blocked.set(key, [waiting]);
        else others.push(waiting);
      }
      continue;
    }
    ended.add(at);
    place(one);
    for (let next = free.pop(); next !== undefined; next = free.pop()) {
      ended.add(next.at);
      place(next.one);
    }
  }
  // Two that dispute each other wait for each other: they stay in their order, at the end.
  return [...order, ...list.filter((_, at) => !ended.has(at))];
}

/** Where, in a list that descends, the first place below `at` is. */
function firstBelow(list: readonly { readonly at: number }[], at: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle]?.at ?? 0) > at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A hit with its memory. */
interface RankedHit {
  readonly memory: FoundMemory;
  readonly score: number;
}

/** Ranked hits with every rival below what it disputes among them; its score goes with it. */
export async function rivalsBelow<T extends RankedHit>(
  reader: Reader,
  hits: readonly T[],
  access: Access,
): Promise<readonly T[]> {
  const keyOf = ({ memory }: RankedHit): string => keyString(memory.id);
  const memories = hits.map(({ memory }) => memory);
  const disputes = await disputesOf(reader, memories, access);
  if (disputes.size === 0) return hits;
  const scores = new Map<string, number>();
  return belowDisputed(hits, keyOf, disputes).map((hit) => {
    const above = (disputes.get(keyOf(hit)) ?? []).flatMap(
      ({ id }) => scores.get(keyString(id)) ?? [],
    );
    const score = Math.min(hit.score, ...above);
    scores.set(keyOf(hit), score);
    return { ...hit, score };
  });
}
