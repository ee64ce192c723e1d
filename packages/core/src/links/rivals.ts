/**
 * What stands below what: a rival never ranks above the memory it disputes, in no answer that ranks.
 *
 * A rival's own words can be made to fit any question better than the words they dispute, so no factor
 * of trust is enough. The rule is read off the edges: whoever disputes, and was not accepted, stands
 * below. That is a memory joined by an open `contradicts` to one of a higher standing, or marked as a
 * rival of it, if it is provisional or disputed itself, or comes from outside.
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
  const open = await openDisputes(reader, low);
  const others = [...new Set(open.map(({ other }) => other))].sort().map(keyBytes);
  const found = await reader.memories(others, await reader.memoryRows(others));
  const shown = await shownMemories(reader, access, found);
  const disputes = new Map<string, FoundMemory[]>();
  for (const memory of shown) {
    if (memory === undefined || memory.row.lifecycle !== "active") continue;
    const key = keyString(memory.id);
    for (const { own, other, isRival } of open) {
      const rival = low.get(own);
      if (other !== key || rival === undefined) continue;
      // A mark counts between equals; it lifts nobody above a higher standing.
      const above =
        outranks(sourceOf(memory), sourceOf(rival)) ||
        (isRival && !outranks(sourceOf(rival), sourceOf(memory)));
      const known = disputes.get(own) ?? [];
      if (above && !known.includes(memory)) disputes.set(own, [...known, memory]);
    }
  }
  return disputes;
}

function sourceOf({ head }: FoundMemory) {
  return head.record.head.source;
}

/** Whether the word of a memory is not settled by itself, or is somebody else's. */
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
export type KeyOf<T> = (one: T) => string;

/**
 * A list with every rival below all that it disputes in the list, directly below the last of them;
 * everything else keeps its order.
 */
export function belowDisputed<T>(
  list: readonly T[],
  keyOf: KeyOf<T>,
  disputes: Disputes,
): readonly T[] {
  if (disputes.size === 0) return list;
  const there = new Set(list.map(keyOf));
  const placed = new Set<string>();
  const waitsFor = (one: T): boolean =>
    (disputes.get(keyOf(one)) ?? []).some(({ id }) => {
      const key = keyString(id);
      return there.has(key) && !placed.has(key);
    });
  const order: T[] = [];
  let waiting: T[] = [];
  const place = (one: T): void => {
    order.push(one);
    placed.add(keyOf(one));
    for (let next = waiting.find(isReady); next !== undefined; next = waiting.find(isReady)) {
      const ready = next;
      waiting = waiting.filter((other) => other !== ready);
      order.push(ready);
      placed.add(keyOf(ready));
    }
  };
  const isReady = (one: T): boolean => !waitsFor(one);
  for (const one of list) {
    if (waitsFor(one)) waiting.push(one);
    else place(one);
  }
  // Two that dispute each other wait for each other: they stay in their order, at the end.
  return [...order, ...waiting];
}

/** A hit with its memory. */
export interface RankedHit {
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
