/**
 * What upkeep means to do to memories: the changes, and what the steps that plan them share.
 *
 * A run reads one snapshot, plans, and only then writes; a dry run is the same plan without the
 * writing. So that the two never differ, a memory is in at most one change of a run, and what a change
 * of the run has taken counts for nothing in the rest of it: neither as evidence nor as a twin.
 *
 * Promise: the same store, the same time and the same bounds give the same plan. What nobody asked for
 * twice is left alone: a memory whose last change was a revert or a restore was put there on purpose.
 */

import { bodyOf, type FoundMemory, type Read, type Reader } from "../history/reader.js";
import type { EntryKind } from "../journal/entry.js";
import { idKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import type { EdgeRecord } from "../records/edge-record.js";
import type { TextIndex } from "../text/text-index.js";
import { standingOf } from "../trust/gate.js";

/** The steps that change memories, in the order in which they are planned. */
export const CHANGE_STEPS = ["expire", "confirm", "merge", "relate"] as const;

/** A step that changes memories. */
export type ChangeStep = (typeof CHANGE_STEPS)[number];

/** A memory as the plan saw it; a change of one that has moved on since is dropped. */
export interface Planned {
  readonly id: Bytes;
  /** The entry that left it so. */
  readonly seq: number;
}

/** One change, which becomes one entry. */
export type Change =
  | { readonly step: "expire"; readonly memory: Planned; readonly reason: string }
  | {
      readonly step: "confirm";
      readonly memory: Planned;
      readonly evidence: readonly Planned[];
      readonly reason: string;
    }
  | {
      readonly step: "merge";
      readonly keep: Planned;
      readonly give: readonly Planned[];
      readonly reason: string;
    }
  | {
      readonly step: "relate";
      readonly from: Planned;
      readonly to: Planned;
      readonly reason: string;
    };

/** The memories that a change is about: those it changes first, then those it rests on. */
export function memoriesOf(change: Change): readonly Planned[] {
  switch (change.step) {
    case "expire":
      return [change.memory];
    case "confirm":
      return [change.memory, ...change.evidence];
    case "merge":
      return [change.keep, ...change.give];
    case "relate":
      return [change.from, change.to];
  }
}

/** An edge seen from a memory. */
export interface Neighbour {
  readonly id: Bytes;
  readonly other: Bytes;
  readonly seq: number;
  readonly part: number;
}

/** Which edges of memories are asked for. */
export interface NeighbourQuery {
  readonly side: "out" | "in";
  /** Codes of kinds; all when empty. */
  readonly codes: readonly number[];
  readonly includeTombstoned: boolean;
  readonly limit: number;
}

/** What planning works with. */
export interface PlanWorld {
  readonly reader: Reader;
  readonly nowMs: number;
  readonly text: TextIndex;
  /** The edges of each memory; given, because walking them is the facade's. */
  readonly neighbours: (
    ids: readonly Bytes[],
    query: NeighbourQuery,
  ) => Promise<readonly (readonly Neighbour[])[]>;
  /** Days after which memories of a kind expire. */
  readonly ttlDays: { readonly [kind: string]: number };
  /** Whether the time is over; asked between pieces. */
  readonly isOver: () => boolean;
  /** Changes planned so far, by all steps. */
  readonly changes: Change[];
  readonly changesMax: number;
  /** `keyString` of the memories that a change of this run has taken. */
  readonly taken: Set<string>;
}

/** How far a step has come. */
export interface Progress {
  /** Where the next run goes on; absent for the start. */
  readonly cursor: Bytes | undefined;
  /** Whether it has seen everything there is to see for now. */
  readonly finished: boolean;
}

/** Plans one step from where the last run left off. */
export type PlanStep = (world: PlanWorld, cursor: Bytes | undefined) => Promise<Progress>;

/** Whether one more change fits. */
export function hasRoom({
  changes,
  changesMax,
}: Pick<PlanWorld, "changes" | "changesMax">): boolean {
  return changes.length < changesMax;
}

/** Adds a change, and takes what it changes. */
export function addChange(world: Pick<PlanWorld, "changes" | "taken">, change: Change): void {
  world.changes.push(change);
  // Memories that are merely related stay as they are: each may be related to several.
  if (change.step === "relate") return;
  for (const { id } of memoriesOf(change)) world.taken.add(keyString(id));
}

/** A memory as a change names it. */
export function planned({ id, row }: FoundMemory): Planned {
  return { id, seq: row.seq };
}

/** Entries by which somebody put a memory back where it is: upkeep does not undo them. */
const PUT_BACK: ReadonlySet<EntryKind> = new Set(["revert", "restore"]);

/** Whether upkeep may change a memory at all. */
export function isOpenToChange(
  world: Pick<PlanWorld, "taken">,
  found: FoundMemory | undefined,
): boolean {
  if (found === undefined || found.row.lifecycle !== "active") return false;
  if (world.taken.has(keyString(found.id)) || PUT_BACK.has(found.head.header.kind)) return false;
  return found.head.record.head.siblings.length === 0;
}

/** Whether the words of a memory may count for anything: no threats, nobody else's words. */
export function isTrusted(found: FoundMemory): boolean {
  const { provenance, flags } = bodyOf(found.body);
  const sources = [found.head.record.head.source, provenance.source];
  return flags === undefined && sources.every((source) => standingOf(source) !== "outside");
}

/** Memories by id, each once, by their `keyString`; those that are not there are left out. */
export async function memoriesById(
  { reader }: Pick<PlanWorld, "reader">,
  ids: readonly Bytes[],
): Promise<ReadonlyMap<string, FoundMemory>> {
  const unique = [...new Map(ids.map((id) => [keyString(id), id])).values()];
  const found = await reader.memories(unique, await reader.memoryRows(unique));
  return new Map(
    found.flatMap((one) => (one === undefined ? [] : [[keyString(one.id), one] as const])),
  );
}

/** The records of edges, in order; erased ones are `undefined`. */
export async function edgeRecordsOf(
  { reader }: Pick<PlanWorld, "reader">,
  edges: readonly Neighbour[],
): Promise<readonly (Read<EdgeRecord> | undefined)[]> {
  return edges.length === 0 ? [] : reader.edges(edges);
}

/** Contradictions of one memory that are looked at; one with more is taken to be contested. */
const CONTRADICTIONS_MAX = 64;

/** Of memories, those that take part in an open contradiction, by their `keyString`. */
export async function contestedOf(
  world: Pick<PlanWorld, "reader" | "neighbours">,
  ids: readonly Bytes[],
  contradicts: number,
): Promise<ReadonlySet<string>> {
  const contested = new Set<string>();
  for (const side of ["out", "in"] as const) {
    const query = { side, codes: [contradicts], includeTombstoned: false };
    const edges = await world.neighbours(ids, { ...query, limit: CONTRADICTIONS_MAX });
    const all = edges.flat();
    const rows = await world.reader.getMany(all.map(({ id }) => idKey("contested", id)));
    const open = new Set(all.filter((_, at) => rows[at] !== undefined));
    for (const [at, id] of ids.entries()) {
      const own = edges[at] ?? [];
      const isCrowded = own.length >= CONTRADICTIONS_MAX;
      if (isCrowded || own.some((edge) => open.has(edge))) contested.add(keyString(id));
    }
  }
  return contested;
}
