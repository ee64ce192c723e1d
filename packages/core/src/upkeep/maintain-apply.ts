/**
 * Writing what upkeep planned: one entry of kind `maintain` for each change, with its reason in parts
 * that go when the memory is forgotten, so that `revert` of the entry takes it back and a forget leaves
 * no word of it.
 *
 * Promise: a change is written only if every memory it is about is still as the plan saw it; otherwise
 * it is dropped, and a later run plans anew.
 */
import { encode } from "../codec/cbor.js";
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
import type { RecordDraft, WriteTx } from "../history/writer.js";
import { SUBJECT } from "../journal/entry.js";
import { idKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import type { Head } from "../records/memory-record.js";
import { type Change, memoriesOfChange, type Planned } from "./maintain-plan.js";

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
