/**
 * What a cold start may need, tier by tier, at a reader's position: what always holds, what came of
 * the same work before, and what else was filed under it.
 *
 * An id belongs to the first tier that found it. Tiers are cut after filtering: what the caller may
 * not see, and what does not hold at the time, takes nobody's place. Each is read through an index of its own, newest first, so the cost
 * goes with what is found and not with what is stored; a tier that has more than
 * `LIMITS.contextCandidates` says so.
 *
 * The order in which things that stand below others can be placed: what is above first.
 *
 * Promise: pure, and linear in the keys and in what stands above them. Keys that stand above each other,
 * directly or through others, are one ring and come together; everybody else is a ring alone.
 */
import { TIERS, type Tier } from "../contract/recall.js";
import { frameTerm } from "../history/fold-state.js";
import type { FoundMemory, Reader } from "../history/reader.js";
import { INDEX, keyString } from "../kv/keyspace.js";
import { LIMITS } from "../limits.js";
import { openMembers, type Term } from "../memory/members.js";
import { type Frame, PINNED_TYPES } from "../records/frames.js";
import { LIFECYCLES, MEMORY_TYPES } from "../records/types.js";

/** Of memories found at the position, those the caller may see and that hold at the time. */
export type Show = (
  found: readonly (FoundMemory | undefined)[],
) => Promise<readonly (FoundMemory | undefined)[]>;

/** What to look for. */
export interface TierPlan {
  readonly tiers: readonly Tier[];
  /** The work at hand: one frame for each object. */
  readonly frames: readonly Frame[];
  readonly outcomeLimit: number;
}

/** A memory, and the tier it belongs to. */
export interface Candidate {
  readonly tier: Tier;
  readonly memory: FoundMemory;
}

/** What was found. */
export interface Candidates {
  readonly found: readonly Candidate[];
  /** Tiers that had more memories than are looked at; the newest were. */
  readonly capped: readonly Tier[];
}

/** Reads the tiers of a plan. */
export async function readTiers(reader: Reader, plan: TierPlan, show: Show): Promise<Candidates> {
  const wants = (tier: Tier): boolean => plan.tiers.includes(tier);
  const wantsFrames = wants("outcomes") || wants("frame_relevant");
  const [pinned, framed] = await Promise.all([
    wants("pinned") ? newest(reader, PINNED_TERMS, show) : NOTHING,
    wantsFrames ? newest(reader, plan.frames.map(termOf), show) : NOTHING,
  ]);
  const taken = new Set(pinned.memories.map(({ id }) => keyString(id)));
  const free = framed.memories.filter(({ id }) => !taken.has(keyString(id)));
  const outcomes = wants("outcomes")
    ? free.filter(({ row }) => row.type === "event").sort(byCreation)
    : [];
  const shown = outcomes.slice(0, plan.outcomeLimit);
  for (const { id } of shown) taken.add(keyString(id));
  const rest = wants("frame_relevant") ? free.filter(({ id }) => !taken.has(keyString(id))) : [];
  const found = [
    ...pinned.memories.map((memory) => ({ tier: "pinned" as const, memory })),
    ...shown.map((memory) => ({ tier: "outcomes" as const, memory })),
    ...rest.map((memory) => ({ tier: "frame_relevant" as const, memory })),
  ];
  const capped = TIERS.filter(
    (tier) => wants(tier) && (tier === "pinned" ? pinned.capped : framed.capped),
  );
  return { found, capped };
}

const PINNED_TERMS: readonly Term[] = PINNED_TYPES.map((type) => ({
  index: INDEX.pinned,
  lifecycle: LIFECYCLES.active.code,
  term: Uint8Array.of(MEMORY_TYPES[type].code),
}));

function termOf({ verb, object, ref }: Frame): Term {
  return {
    index: INDEX.frame,
    lifecycle: LIFECYCLES.active.code,
    term: frameTerm(verb, object, ref),
  };
}

/** Newest first; of one moment, the smaller id first. */
function byCreation(a: FoundMemory, b: FoundMemory): number {
  const [x, y] = [a.head.record.head.createdAt, b.head.record.head.createdAt];
  return x === y ? Buffer.compare(a.id, b.id) : y - x;
}

interface Newest {
  readonly memories: readonly FoundMemory[];
  readonly capped: boolean;
}

const NOTHING: Newest = { memories: [], capped: false };

/** Rows of an index that one read takes. */
const PAGE_ROWS = 256;

/** The newest memories under any of the terms that the caller may see, each once. */
async function newest(reader: Reader, terms: readonly Term[], show: Show): Promise<Newest> {
  if (terms.length === 0) return NOTHING;
  const query = { terms, pageItems: PAGE_ROWS, reverse: true, cursor: undefined };
  const source = await openMembers(reader, query);
  const memories = new Map<string, FoundMemory>();
  for (;;) {
    const page = await source.next(PAGE_ROWS);
    const ids = page.members
      .map((member) => member.subarray(member.length - 16))
      .filter((id) => !memories.has(keyString(id)));
    const found = await show(await reader.memories(ids, await reader.memoryRows(ids)));
    for (const memory of found) {
      if (memory === undefined) continue;
      if (memories.size >= LIMITS.contextCandidates && !memories.has(keyString(memory.id))) {
        return { memories: [...memories.values()], capped: true };
      }
      memories.set(keyString(memory.id), memory);
    }
    if (!page.more) return { memories: [...memories.values()], capped: false };
  }
}

/** What one key is known by while its ring is looked for. */
interface Visit {
  readonly number: number;
  /** The earliest key that is reached from it and still waits for its ring. */
  reaches: number;
  isPlaced: boolean;
}

/** Rings of keys, each behind all that stands above it; Tarjan's strongly connected components. */
export function ringsOf(
  keys: readonly string[],
  aboveOf: (key: string) => readonly string[],
): readonly (readonly string[])[] {
  const visits = new Map<string, Visit>();
  const waiting: string[] = [];
  const rings: (readonly string[])[] = [];
  const visit = (key: string): Visit => {
    const own: Visit = { number: visits.size, reaches: visits.size, isPlaced: false };
    visits.set(key, own);
    const from = waiting.push(key) - 1;
    for (const other of aboveOf(key)) {
      const met = visits.get(other);
      if (met === undefined) own.reaches = Math.min(own.reaches, visit(other).reaches);
      else if (!met.isPlaced) own.reaches = Math.min(own.reaches, met.number);
    }
    if (own.reaches < own.number) return own;
    const ring = waiting.splice(from);
    for (const one of ring) {
      const member = visits.get(one);
      if (member !== undefined) member.isPlaced = true;
    }
    rings.push(ring);
    return own;
  };
  for (const key of keys) if (!visits.has(key)) visit(key);
  return rings;
}
