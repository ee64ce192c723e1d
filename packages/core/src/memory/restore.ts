/**
 * `restore`: brings a hidden or archived memory back.
 *
 * A value that was replaced does not come back beside the one that replaced it: while a successor is
 * live, whether it took the slot, was written with `supersedes`, or stands further down the line, the
 * call is refused with `ERR_CONFLICT` and names it. `swap` asks for the exchange instead: the successor
 * is archived and the memory takes its place, in one entry.
 */

import type { Asked } from "../contract/index.js";
import type { WriteResult } from "../contract/shapes.js";
import { archivePart, headPart, memoryPart, mintEdge, nextVersion } from "../engine/drafts.js";
import { type Engine, type Located, locateLiving, memoryId, parseRef } from "../engine/engine.js";
import { writtenAgain } from "../engine/idempotency.js";
import { ask, askMoves, askRecords } from "../engine/read-ahead.js";
import { shapeRef } from "../engine/shapes.js";
import { CortexError } from "../errors.js";
import { decodeMemoryRow } from "../history/pointers.js";
import type { RecordDraft, WriteTx } from "../history/writer.js";
import { EDGE_STATE, edgePrefix, idKey, keyString, prefixRange } from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import { canonicalKind } from "../records/edge-kinds.js";
import type { Head, MemoryRecord } from "../records/memory-record.js";
import { headOf, headResult, memoryNeeds } from "./update.js";
import { slotRange } from "./write.js";

/** Kinds that say what took whose place. */
const SUCCESSION = ["supersedes", "transition"] as const;
const SUCCESSION_CODES = SUCCESSION.map((name) => canonicalKind(name)?.kind.code ?? 0);

/** How many replacements in a row are followed, and successors of one memory looked at. */
const STEPS_MAX = 256;
const SUCCESSORS_MAX = 64;

/** Brings a hidden or archived memory back. */
export async function restore(
  engine: Engine,
  { id, swap = false, by = engine.principal }: Asked<"restore">,
): Promise<WriteResult> {
  const parsed = parseRef(engine, id, "id");
  const { value } = await engine.writer.submit({
    ...memoryNeeds(engine, parsed),
    ranges: parsed.id === undefined ? [] : successorRanges(parsed.id),
    again: writtenAgain(engine),
    run: (tx) => {
      const found = locateLiving(tx, parsed, "id");
      if (found.row.lifecycle === "active") {
        return headResult(engine, found, found.row.version, found.row.seq);
      }
      const head = headOf(tx, found, ({ slot }) => [
        ...successorRanges(found.id),
        ...(slot === undefined ? [] : [slotRange(slot)]),
      ]);
      const successors = isPlanned(tx, found, head) ? [] : liveSuccessors(tx, found.id, head.slot);
      const [first] = successors;
      if (first !== undefined && !swap) {
        throw taken(parsed.text, head.slot, first);
      }
      return bringBack(engine, tx, { by, found, head, successors });
    },
  });
  return value;
}

/** Whether a value is for a time to come: it stands beside the value of today. */
function isPlanned(tx: WriteTx, { row }: Located, { waits }: Pick<Head, "waits">): boolean {
  const { validFrom } = tx.fold.records.version(row);
  return waits === true && validFrom !== undefined && validFrom > tx.at;
}

function taken(text: string, slot: string | undefined, successor: Located): CortexError {
  const id = memoryId(successor.id);
  const why = slot === undefined ? `${id} took its place` : `${id} took its place in slot ${slot}`;
  return new CortexError("ERR_CONFLICT", `id: memory ${text} cannot come back, ${why}`, {
    field: "id",
    subject: id,
  });
}

function successorRanges(id: Bytes): readonly KvRange[] {
  return SUCCESSION_CODES.map((code) =>
    prefixRange(edgePrefix("edgeIn", id, EDGE_STATE.live, code), SUCCESSORS_MAX),
  );
}

/** The live memories in whose favour this one went: in its slot, or down the line of replacements. */
function liveSuccessors(tx: WriteTx, id: Bytes, slot: string | undefined): readonly Located[] {
  const live = new Map<string, Located>();
  const seen = new Set([keyString(id)]);
  let frontier: readonly Bytes[] = [id];
  const holders = slot === undefined ? [] : tx.view.range(slotRange(slot)).map(lastId);
  for (let step = 0; frontier.length > 0 && seen.size < STEPS_MAX; step += 1) {
    const ranges = frontier.flatMap(successorRanges);
    ask(tx, [], { ranges });
    const next = [
      ...(step === 0 ? holders : []),
      ...ranges.flatMap((range) => tx.view.range(range)).map(({ key }) => key.subarray(-20, -4)),
    ].filter((other) => !seen.has(keyString(other)));
    ask(
      tx,
      next.map((other) => idKey("memory", other)),
    );
    for (const other of next) seen.add(keyString(other));
    frontier = next.filter((other) => {
      const bytes = tx.view.get(idKey("memory", other));
      if (bytes === undefined) return false;
      const row = decodeMemoryRow(bytes);
      if (row.lifecycle === "active") live.set(keyString(other), { id: other, row });
      return row.lifecycle === "archived" || row.lifecycle === "tombstoned";
    });
  }
  const found = [...live.values()];
  askRecords(tx, found);
  return found.filter((one) => !isPlanned(tx, one, tx.fold.records.head(one.row)));
}

function lastId({ key }: { readonly key: Bytes }): Bytes {
  return key.subarray(key.length - 16);
}

interface Return {
  readonly by: string;
  readonly found: Located;
  readonly head: Head;
  readonly successors: readonly Located[];
}

function bringBack(engine: Engine, tx: WriteTx, back: Return): WriteResult {
  const { by, found, successors } = back;
  if (successors.length > 0) {
    askRecords(tx, successors);
    askMoves(
      tx,
      successors.map(({ id, row }) => ({ id, head: tx.fold.records.head(row) })),
    );
  }
  const { tombstone: _, ...head } = back.head;
  const record = reopened(tx, by, found, { ...head, lifecycle: "active" });
  const parts: RecordDraft[] = [
    record.version === undefined
      ? headPart(tx, by, found, record.head)
      : memoryPart(tx, by, found.id, record),
  ];
  const archived = successors.map((successor) => archivePart(tx, by, successor));
  parts.push(...archived.map(({ part }) => part));
  for (const { id, row } of successors) {
    const sameSlot = head.slot !== undefined && tx.fold.records.head(row).slot === head.slot;
    const kind = sameSlot ? "transition" : "supersedes";
    const draft = { from: found.id, kind, to: id, source: "derived" as const };
    const { outcome } = mintEdge(tx, engine, by, draft);
    if ("part" in outcome) parts.push(outcome.part);
  }
  const seq = tx.append({ kind: "restore", by, parts });
  return {
    ...headResult(engine, found, record.head.version, seq),
    replaced: successors.map(({ id, row }, at) =>
      shapeRef(engine.actor, id, row.type, archived[at]?.version ?? tx.fold.records.version(row)),
    ),
  };
}

/** The record of a memory that is back; one whose validity was closed by its successor holds again. */
function reopened(tx: WriteTx, by: string, found: Located, head: Head): MemoryRecord {
  const current = tx.fold.records.version(found.row);
  // Closed by the replacement itself, not by somebody who knew when it ended.
  const closedAt = Math.max(current.createdAt, current.validFrom ?? current.createdAt);
  const wasReplaced = found.row.lifecycle === "archived" && current.validTo === closedAt;
  if (!wasReplaced) return { head };
  const again = { ...current, validFrom: tx.at, validTo: undefined };
  const version = nextVersion(tx, by, { head, row: found.row }, again);
  return { head: { ...head, version: version.number, siblings: [] }, version };
}
