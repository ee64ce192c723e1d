/**
 * The changes that upkeep plans for memories, and writing them; and what the steps that plan them share.
 *
 * A run reads one snapshot, plans, and only then writes; a dry run is the same plan without the
 * writing. So that the two never differ, a memory is in at most one change of a run, and what a change
 * of the run has taken counts for nothing in the rest of it: neither as evidence nor as a twin.
 *
 * Steps that depend on what was written follow the journal and look at the memories that the entries
 * since the last run touched, so that a run costs what has happened, not what there is.
 *
 * Each change is one entry of kind `maintain`, with its reason in parts that go when the memory is forgotten, so that
 * `revert` of the entry takes it back and a forget leaves no word of it.
 *
 * Promises: the same store, the same time and the same bounds give the same plan. A memory whose last change was
 * a revert or a restore is left alone: somebody put it there on purpose. A change is written only if every
 * memory it is about is still as the plan saw it; otherwise it is dropped, and a later run plans anew.
 */
import { decode, encode } from "../codec/cbor.js";
import { readIntegerOr, readList } from "../codec/cbor-value.js";
import type { CHANGE_STEPS } from "../contract/upkeep.js";
import {
  archivePart,
  headPart,
  memoryPart,
  mintEdge,
  nextVersion,
  subject,
} from "../engine/drafts.js";
import type { Engine, LocatedWithHead } from "../engine/engine.js";
import { askMoves, askRecords } from "../engine/read-ahead.js";
import { unreachable } from "../errors.js";
import { decodeMemoryRow } from "../history/pointers.js";
import { bodyOf, type FoundMemory, type Reader } from "../history/reader.js";
import type { RecordDraft, WriteTx } from "../history/writer.js";
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
import { LIMITS } from "../limits.js";
import { adjacent } from "../links/adjacency.js";
import { canonicalKind } from "../records/edge-kinds.js";
import { decodeEdgeRecord } from "../records/edge-record.js";
import type { Head } from "../records/memory-record.js";
import type { TextIndex } from "../text/text-index.js";
import { standingOf } from "../trust/gate.js";

/** A step that changes memories. */
export type ChangeStep = (typeof CHANGE_STEPS)[number];

/** A memory as the plan saw it; a change of one that has moved on since is dropped. */
interface Planned {
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

/** The principal of entries that upkeep writes. */
export const MAINTAIN_BY = "maintain";

/** Writes one change; gives the entry, or `undefined` when the store has moved on. */
export async function applyChange(engine: Engine, change: Change): Promise<number | undefined> {
  const memories = memoriesOfChange(change);
  const { value } = await engine.writer.submit({
    hints: memories.map(({ id }) => idKey("memory", id)),
    run: (tx) => {
      const found = asPlanned(tx, memories);
      if (found === undefined) return undefined;
      const parts = partsOf(engine, tx, change, found);
      if (parts.length === 0) return undefined;
      return tx.append({ kind: "maintain", by: MAINTAIN_BY, parts });
    },
  });
  return value;
}

/** The memories of a plan by their `keyString`, if not one of them has changed. */
function asPlanned(
  tx: WriteTx,
  memories: readonly Planned[],
): ReadonlyMap<string, LocatedWithHead> | undefined {
  const located = memories.flatMap(({ id, seq }) => {
    const bytes = tx.view.get(idKey("memory", id));
    const row = bytes === undefined ? undefined : decodeMemoryRow(bytes);
    return row !== undefined && row.seq === seq && row.lifecycle === "active" ? [{ id, row }] : [];
  });
  if (located.length < memories.length) return undefined;
  askRecords(tx, located);
  const stated = located.map((one) => ({ ...one, head: tx.fold.records.head(one.row) }));
  askMoves(tx, stated);
  return new Map(stated.map((one) => [keyString(one.id), one]));
}

function partsOf(
  engine: Engine,
  tx: WriteTx,
  change: Change,
  found: ReadonlyMap<string, LocatedWithHead>,
): readonly RecordDraft[] {
  const stated = (one: Planned): LocatedWithHead => {
    const memory = found.get(keyString(one.id));
    if (memory === undefined) throw new Error("a change is about a memory that it does not name");
    return memory;
  };
  switch (change.step) {
    case "expire": {
      const memory = stated(change.memory);
      const archived: Head = { ...memory.head, lifecycle: "archived" };
      return [headPart(tx, MAINTAIN_BY, memory, archived), reasonPart(memory.id, change)];
    }
    case "confirm": {
      const memory = stated(change.memory);
      const confirmed: Head = { ...memory.head, status: "confirmed" };
      return [headPart(tx, MAINTAIN_BY, memory, confirmed), reasonPart(memory.id, change)];
    }
    case "merge":
      return mergeParts(engine, tx, change, {
        keep: stated(change.keep),
        give: change.give.map(stated),
      });
    case "relate": {
      const [from, to] = [change.from.id, change.to.id];
      const draft = {
        from,
        kind: "same_topic",
        to,
        source: "dream",
        reason: change.reason,
      } as const;
      const { outcome } = mintEdge(tx, engine, MAINTAIN_BY, draft);
      return "part" in outcome ? [outcome.part] : [];
    }
    default:
      return unreachable(change);
  }
}

/** Why upkeep changed a memory, owned by the memory. */
function reasonPart(id: Bytes, { step, reason }: Change): RecordDraft {
  return {
    subject: subject(SUBJECT.attachment, id),
    record: encode(["maintain", step, reason]),
  };
}

interface Twins {
  readonly keep: LocatedWithHead;
  readonly give: readonly LocatedWithHead[];
}

function mergeParts(
  engine: Engine,
  tx: WriteTx,
  change: Change,
  { keep, give }: Twins,
): readonly RecordDraft[] {
  const given = give.flatMap((one): RecordDraft[] => {
    const draft = { from: keep.id, kind: "supersedes", to: one.id, source: "derived" } as const;
    const { outcome } = mintEdge(tx, engine, MAINTAIN_BY, { ...draft, reason: change.reason });
    return [
      archivePart(tx, MAINTAIN_BY, one).part,
      ...("part" in outcome ? [outcome.part] : []),
      reasonPart(one.id, change),
    ];
  });
  return [...enriched(tx, keep, give), ...given, reasonPart(keep.id, change)];
}

/** The twin that stays, with what the others had more of; nothing when it had all of it. */
function enriched(
  tx: WriteTx,
  keep: LocatedWithHead,
  give: readonly LocatedWithHead[],
): readonly RecordDraft[] {
  const { head } = keep;
  const all = [keep, ...give];
  const tags = [...new Set(all.flatMap((one) => one.head.tags))].slice(0, LIMITS.tags);
  const importance = Math.max(...all.map((one) => one.head.importance));
  const next: Head = { ...head, tags, importance };
  const version = tx.fold.records.version(keep.row);
  const confidence = Math.max(...all.map(({ row }) => tx.fold.records.version(row).confidence));
  if (confidence > version.confidence) {
    const surer = nextVersion(tx, MAINTAIN_BY, keep, { ...version, confidence });
    const record = { head: { ...next, version: surer.number }, version: surer };
    return [memoryPart(tx, MAINTAIN_BY, keep.id, record)];
  }
  const isSame = importance === head.importance && tags.length === head.tags.length;
  return isSame ? [] : [headPart(tx, MAINTAIN_BY, keep, next)];
}
