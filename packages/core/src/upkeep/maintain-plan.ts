/**
 * What upkeep means to do to memories: the changes, and what the steps that plan them share.
 *
 * A run reads one snapshot, plans, and only then writes; a dry run is the same plan without the
 * writing. So that the two never differ, a memory is in at most one change of a run, and what a change
 * of the run has taken counts for nothing in the rest of it: neither as evidence nor as a twin.
 *
 * Steps that depend on what was written follow the journal and look at the memories that the entries
 * since the last run touched, so that a run costs what has happened, not what there is.
 *
 * Promise: the same store, the same time and the same bounds give the same plan. What nobody asked for
 * twice is left alone: a memory whose last change was a revert or a restore was put there on purpose.
 */
import { decode, encode } from "../codec/cbor.js";
import { readIntegerOr, readList } from "../codec/cbor-value.js";
import type { CHANGE_STEPS } from "../contract/upkeep.js";
import { bodyOf, type FoundMemory, type Reader } from "../history/reader.js";
import {
  decodeEntry,
  type Entry,
  type EntryKind,
  partContext,
  partRecord,
  SUBJECT,
} from "../journal/entry.js";
import { idKey, journalKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { adjacent } from "../links/adjacency.js";
import { canonicalKind } from "../records/edge-kinds.js";
import { decodeEdgeRecord } from "../records/edge-record.js";
import type { TextIndex } from "../text/text-index.js";
import { standingOf } from "../trust/gate.js";

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
export function memoriesOfChange(change: Change): readonly Planned[] {
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

/** What planning works with. */
export interface PlanWorld {
  readonly reader: Reader;
  readonly nowMs: number;
  readonly text: TextIndex;
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
interface Progress {
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
  for (const { id } of memoriesOfChange(change)) world.taken.add(keyString(id));
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

/** Contradictions of one memory that are looked at; one with more is taken to be contested. */
const CONTRADICTIONS_MAX = 64;
const OPEN_CONTRADICTIONS = {
  codes: [canonicalKind("contradicts")?.kind.code ?? 0],
  includeTombstoned: false,
  limit: CONTRADICTIONS_MAX,
} as const;

/** Of memories, those that take part in an open contradiction, by their `keyString`. */
export async function contestedOf(
  { reader }: Pick<PlanWorld, "reader">,
  ids: readonly Bytes[],
): Promise<ReadonlySet<string>> {
  const contested = new Set<string>();
  for (const side of ["out", "in"] as const) {
    const edges = await adjacent(reader, ids, { ...OPEN_CONTRADICTIONS, side });
    const all = edges.flat();
    const rows = await reader.getMany(all.map(({ id }) => idKey("contested", id)));
    const open = new Set(all.filter((_, at) => rows[at] !== undefined));
    for (const [at, id] of ids.entries()) {
      const own = edges[at] ?? [];
      const isCrowded = own.length >= CONTRADICTIONS_MAX;
      if (isCrowded || own.some((edge) => open.has(edge))) contested.add(keyString(id));
    }
  }
  return contested;
}

/** How the journal is followed. */
interface Following {
  /** Entries that are looked at together; time is asked for between pieces. */
  readonly pieceEntries: number;
  /** Whether a memory is touched by a change of its edges as well. */
  readonly edges: boolean;
  /** Looks at memories that were touched, in the order in which they were, each once in a run. */
  readonly lookAt: (ids: readonly Bytes[]) => Promise<void>;
}

/**
 * Follows the journal from a cursor, piece by piece, for as long as there is time and room. A piece in
 * which the room ran out is looked at again by the next run: what it changed is settled by then.
 */
export async function followJournal(
  world: PlanWorld,
  cursor: Bytes | undefined,
  { pieceEntries, edges, lookAt }: Following,
): Promise<Progress> {
  const { reader } = world;
  const size = reader.seq + 1;
  let from = followedUpTo(cursor, size);
  // One snapshot gives one answer, however often an entry touched the memory.
  const seen = new Set<string>();
  while (from < size && !world.isOver() && hasRoom(world)) {
    const to = Math.min(size, from + pieceEntries);
    const range = { gte: journalKey(from), lt: journalKey(to), limit: pieceEntries };
    const [rows = []] = await reader.ranges([range]);
    const ids: Bytes[] = [];
    for (const { value } of rows) {
      for (const id of touchedBy(decodeEntry(value), edges)) {
        if (!seen.has(keyString(id))) ids.push(id);
        seen.add(keyString(id));
      }
    }
    if (ids.length > 0) await lookAt(ids);
    if (!hasRoom(world)) break;
    from = to;
  }
  return { cursor: seqCursor(from), finished: from >= size };
}

/** The bytes of a cursor: the first entry that was not looked at. */
function seqCursor(seq: number): Bytes {
  return encode([seq]);
}

/** The first entry that was not looked at, in a journal of so many. */
export function followedUpTo(cursor: Bytes | undefined, size: number): number {
  const known = cursor === undefined ? 0 : readIntegerOr(readList(decode(cursor))[0], 0);
  // A cursor beyond the end is that of another store: the caches were carried over by hand.
  return known > size ? 0 : known;
}

/** The memories that an entry wrote, and the ends of the edges it wrote if they count. */
function touchedBy({ header, parts }: Entry, edges: boolean): readonly Bytes[] {
  return header.parts.flatMap(({ subject }, at): readonly Bytes[] => {
    const bytes = parts[at];
    switch (subject[0]) {
      case SUBJECT.memory:
        return [subject.slice(1)];
      case SUBJECT.edge: {
        if (!edges || bytes === undefined) return [];
        const { from, to } = decodeEdgeRecord(partRecord(bytes), partContext(header, at));
        return to instanceof Uint8Array ? [from, to] : [from];
      }
      default:
        return [];
    }
  });
}
