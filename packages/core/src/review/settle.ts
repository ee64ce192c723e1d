/**
 * `settle`: decides one item of the review, in one entry of kind `settle`.
 *
 * - `keep_one` keeps the side named in `keep` and archives the other; a rival that is kept takes the
 *   slot it claims. For open versions it keeps one of them; for a lone memory it accepts it.
 * - `keep_both` says that the two do not contradict each other after all, or are not duplicates: they
 *   are joined by `distinct_from`, and the review does not ask again.
 * - `merge` writes `text` as the next version of the side that is kept, and archives the other.
 * - `retract` takes back the side that is not kept, or every side when none is.
 *
 * Promise: the reason is on record in a part that goes when any side is forgotten, and `revert` of the
 * entry brings everything back as it was, leaf by leaf. A source settles nothing at the cost of a more
 * trusted one. What is decided is what was listed: a side that got another version since is refused.
 */
import { encode } from "../codec/cbor.js";
import { compareBytes } from "../codec/keys.js";
import type { Asked } from "../contract/index.js";
import type { ReviewKind, Settlement } from "../contract/review.js";
import {
  archivePart,
  edgePart,
  findEdges,
  headPart,
  memoryPart,
  mintEdge,
  nextVersion,
  RIVAL,
  subject,
  versionsOf,
} from "../engine/drafts.js";
import {
  type Engine,
  type LocatedWithHead,
  locate,
  memoryId,
  ownSource,
  type ParsedRef,
  parseRef,
} from "../engine/engine.js";
import { keptWhole } from "../engine/idempotency.js";
import { ask, askEntries, askMoves, askRecords } from "../engine/read-ahead.js";
import { CortexError, invalid, unreachable } from "../errors.js";
import { decodeEdgeRow, decodeMemoryRow } from "../history/pointers.js";
import type { RecordDraft, WriteTx } from "../history/writer.js";
import { SUBJECT } from "../journal/entry.js";
import { idKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { nextData, nextFingerprint } from "../memory/update.js";
import { slotRange } from "../memory/write.js";
import { prepareVersion } from "../memory/write-input.js";
import type { EdgeRecord } from "../records/edge-record.js";
import type { Head, MemoryRecord } from "../records/memory-record.js";
import type { Source } from "../records/types.js";
import type { Analyser } from "../text/analyse.js";
import { gatedStatus, mayChangeWord, overruled, wordOf } from "../trust/gate.js";
import { DISTINCT, isDuplicate, joiningKeys } from "./duplicates.js";
import { parseItemId } from "./review.js";

/** A decision, checked and completed. */
interface CheckedDecision extends Omit<Asked<"settle">, "keep" | "source" | "by"> {
  readonly kind: ReviewKind;
  /** The versions that whoever decides was shown. */
  readonly versions?: string | undefined;
  readonly keep: ParsedRef | undefined;
  readonly source: Source;
  readonly by: string;
}

/** What a settlement writes, before it is appended. */
interface Outcome {
  readonly parts: readonly RecordDraft[];
  readonly kept: readonly LocatedWithHead[];
  readonly archived: readonly LocatedWithHead[];
}

/** Decides one item. */
export async function settle(engine: Engine, input: Asked<"settle">): Promise<Settlement> {
  const { item } = input;
  const { kind, id, other, versions } = parseItemId(item);
  const asked = { ...checkDecision(engine, kind, input), versions };
  const isEdge = kind === "contradiction" || kind === "rival";
  // What a sentence says is a matter of its language, which is loaded once.
  const analyser = other === undefined ? undefined : await engine.text.analyser();
  const { value } = await engine.writer.submit({
    hints: [idKey(isEdge ? "edge" : "memory", id)],
    again: keptWhole<Settlement>(),
    run: (tx) => {
      const outcome =
        analyser !== undefined && other !== undefined
          ? settleDuplicate(engine, tx, asked, { ids: [id, other], analyser })
          : isEdge
            ? settleEdge(engine, tx, asked, id)
            : settleMemory(engine, tx, asked, id);
      const seq = tx.append({ kind: "settle", by: asked.by, parts: outcome.parts });
      return {
        item,
        decision: asked.decision,
        seq,
        kept: outcome.kept.map((one) => memoryId(one.id)),
        archived: outcome.archived.map((one) => memoryId(one.id)),
      };
    },
  });
  return value;
}

function checkDecision(
  engine: Engine,
  kind: ReviewKind,
  { keep, source = ownSource(engine), by = engine.principal, ...asked }: Asked<"settle">,
): CheckedDecision {
  if ((asked.decision === "merge") !== (asked.text !== undefined)) {
    throw invalid("text", "a text for merge, and none otherwise", asked.text);
  }
  return {
    ...asked,
    kind,
    keep: keep === undefined ? undefined : parseRef(engine, keep, "keep"),
    source,
    by,
  };
}

function noSuchItem(item: string): CortexError {
  const details = { field: "item", subject: item };
  return new CortexError("ERR_NOT_FOUND", `item: no item ${item}`, details);
}

/** The refusal of an item that was settled, or is over by itself. */
export function noLongerOpen(item: string): CortexError {
  return new CortexError("ERR_CONFLICT", `item: ${item} is not open any more`, {
    field: "item",
    subject: item,
  });
}

/** The refusal of an item that says something else than it did when it was listed. */
export function changedSince(item: string): CortexError {
  const message = `item: ${item} has changed since the review listed it; list it again`;
  return new CortexError("ERR_CONFLICT", message, { field: "item", subject: item });
}

/** Live memories by id, with their heads, as whoever decides was shown them. */
function liveSides(
  tx: WriteTx,
  asked: CheckedDecision,
  ids: readonly Bytes[],
): readonly LocatedWithHead[] {
  ask(
    tx,
    ids.map((id) => idKey("memory", id)),
  );
  const found = ids.map((id) => {
    const row = tx.view.get(idKey("memory", id));
    if (row === undefined) throw noSuchItem(asked.item);
    return { id, row: decodeMemoryRow(row) };
  });
  if (found.some(({ row }) => row.lifecycle !== "active")) throw noLongerOpen(asked.item);
  askRecords(tx, found);
  const stated = found.map((one) => ({ ...one, head: tx.fold.records.head(one.row) }));
  askMoves(tx, stated);
  const newest = stated.map(({ head }) =>
    asked.kind === "siblings" ? Math.max(head.version, ...head.siblings) : head.version,
  );
  if (asked.versions !== undefined && asked.versions !== newest.join(".")) {
    throw changedSince(asked.item);
  }
  return stated;
}

function settleEdge(engine: Engine, tx: WriteTx, asked: CheckedDecision, id: Bytes): Outcome {
  const row = tx.view.get(idKey("edge", id));
  if (row === undefined) throw noSuchItem(asked.item);
  const pointer = decodeEdgeRow(row);
  askEntries(tx, [pointer]);
  const edge = tx.fold.records.edge(pointer);
  const isOpen = edge.tombstone === undefined && edge.validTo === undefined;
  const isAsked = edge.kind === "contradicts" || edge.asksReview === true;
  if (!isOpen || !(edge.to instanceof Uint8Array) || !isAsked) {
    throw noLongerOpen(asked.item);
  }
  const sides = liveSides(tx, asked, [edge.from, edge.to]);
  const claim = edge.metadata?.[RIVAL];
  return settlePair(engine, tx, asked, {
    sides,
    both: sides.flatMap((side) => accepted(tx, asked, side)),
    // An older store may hold the question both ways round: one decision answers it.
    closing: findEdges(tx, { from: edge.from, kind: edge.kind, to: edge.to })
      .filter((one) => one.edge.tombstone === undefined && one.edge.validTo === undefined)
      .map((one) => closedEdge(engine, tx, asked, one.edge)),
    slotOf: (winner) => {
      const isRival = keyString(edge.from) === keyString(winner.id) && typeof claim === "string";
      return isRival && winner.head.slot === undefined ? (claim as string) : winner.head.slot;
    },
  });
}

/** Two memories about which one question is open. */
interface OpenPair {
  readonly sides: readonly LocatedWithHead[];
  /** What `keep_both` changes about them. */
  readonly both: readonly RecordDraft[];
  /** What puts the answer on record. */
  readonly closing: readonly RecordDraft[];
  /** The slot of the side that stays. */
  readonly slotOf: (winner: LocatedWithHead, loser: LocatedWithHead) => string | undefined;
  /** Why one takes the place of the other, where no other edge says it. */
  readonly reason?: string;
}

function settlePair(engine: Engine, tx: WriteTx, asked: CheckedDecision, pair: OpenPair): Outcome {
  const { sides, closing } = pair;
  const kept = keptSide(tx, asked, sides);
  const lost = sides.filter((side) => side !== kept);
  switch (asked.decision) {
    case "keep_both":
      return { parts: [...pair.both, ...closing], kept: sides, archived: [] };
    case "retract": {
      const parts = lost.map((side) => retracted(tx, asked, side));
      const stay = kept === undefined ? [] : accepted(tx, asked, kept);
      return {
        parts: [...stay, ...parts, ...closing],
        kept: kept === undefined ? [] : [kept],
        archived: lost,
      };
    }
    case "keep_one":
    case "merge": {
      const winner = kept ?? (asked.decision === "merge" ? sides[1] : undefined);
      const [loser] = sides.filter((side) => side !== winner);
      if (winner === undefined || loser === undefined) {
        throw invalid("keep", "the side that stays", asked.keep?.text);
      }
      return replaced(engine, tx, asked, { winner, loser, pair });
    }
    default:
      return unreachable(asked.decision);
  }
}

/** Two memories that make nearly the same claim, if they still do and nobody has settled it. */
function settleDuplicate(
  engine: Engine,
  tx: WriteTx,
  asked: CheckedDecision,
  { ids, analyser }: { readonly ids: readonly [Bytes, Bytes]; readonly analyser: Analyser },
): Outcome {
  const sides = liveSides(tx, asked, ids);
  const [a, b] = sides.map((side) => ({ ...side, version: tx.fold.records.version(side.row) }));
  const joined = joiningKeys(engine, ...ids);
  ask(tx, joined);
  const isOpen = a !== undefined && b !== undefined && isDuplicate(analyser, [a, b]);
  if (!isOpen || joined.some((key) => tx.view.get(key) !== undefined))
    throw noLongerOpen(asked.item);
  const isReplacement = asked.decision === "keep_one" || asked.decision === "merge";
  return settlePair(engine, tx, asked, {
    sides,
    // That they are two says nothing about either of them.
    both: [],
    closing: isReplacement ? [] : [distinction(engine, tx, asked, ids)],
    // The slot goes on being answered, whichever sentence stays.
    slotOf: (winner, loser) => winner.head.slot ?? loser.head.slot,
    reason: asked.reason,
  });
}

/**
 * The edge that says that two memories are not one. A retraction leaves it removed: it says nothing then
 * but why, and goes with either side.
 */
function distinction(
  engine: Engine,
  tx: WriteTx,
  asked: CheckedDecision,
  ids: readonly [Bytes, Bytes],
): RecordDraft {
  const { by, reason, decision } = asked;
  const [from, to] = [...ids].sort(compareBytes) as [Bytes, Bytes];
  const metadata = { settled: decision };
  const draft = { from, kind: DISTINCT, to, source: asked.source, reason, metadata };
  const { edge } = mintEdge(tx, engine, by, draft);
  const tombstone = { reason, at: tx.at, by };
  return edgePart(tx, engine, by, decision === "keep_both" ? edge : { ...edge, tombstone });
}

function keptSide(
  tx: WriteTx,
  asked: CheckedDecision,
  sides: readonly LocatedWithHead[],
): LocatedWithHead | undefined {
  if (asked.keep === undefined) return undefined;
  const found = locate(tx, asked.keep);
  const side = sides.find(
    (one) => found !== undefined && keyString(one.id) === keyString(found.id),
  );
  if (side !== undefined) return side;
  const names = sides.map(({ id }) => memoryId(id)).join(" or ");
  throw invalid("keep", `a side of the item: ${names}`, asked.keep.text);
}

/** The contradiction with its end and the decision on it; both ends own it. */
function closedEdge(
  engine: Engine,
  tx: WriteTx,
  asked: CheckedDecision,
  edge: EdgeRecord,
): RecordDraft {
  const { decision, reason, by } = asked;
  const metadata = { ...edge.metadata, settled: decision, reason };
  const closed =
    decision === "keep_both"
      ? { ...edge, metadata, tombstone: { reason, at: tx.at, by } }
      : { ...edge, metadata, validTo: Math.max(tx.at, edge.validFrom ?? tx.at) };
  return edgePart(tx, engine, by, closed);
}

interface Replacement {
  readonly winner: LocatedWithHead;
  readonly loser: LocatedWithHead;
  readonly pair: OpenPair;
}

/** One side takes the place of the other; a rival takes the slot it claims. */
function replaced(engine: Engine, tx: WriteTx, asked: CheckedDecision, what: Replacement): Outcome {
  const { winner, loser, pair } = what;
  refuseBelow(asked, loser);
  const slot = pair.slotOf(winner, loser);
  if (slot !== undefined && slot !== winner.head.slot) refuseTaken(tx, asked, slot, loser);
  const head: Head = { ...winner.head, slot, status: acceptedStatus(asked, winner) };
  const own =
    asked.text === undefined
      ? changedHead(tx, asked, winner, head)
      : [mergedPart(engine, tx, asked, { side: winner, head, other: loser })];
  const archived = archivePart(tx, asked.by, loser);
  const kinds = slot !== undefined && slot === loser.head.slot ? SLOT_CHANGE : REPLACEMENT;
  const why = pair.reason === undefined ? {} : { reason: pair.reason };
  const edges = kinds.flatMap((kind) => {
    const draft = { from: winner.id, kind, to: loser.id, source: "derived" as const, ...why };
    const { outcome } = mintEdge(tx, engine, asked.by, draft);
    return "part" in outcome ? [outcome.part] : [];
  });
  return {
    parts: [...own, archived.part, ...pair.closing, ...edges],
    kept: [winner],
    archived: [loser],
  };
}

const REPLACEMENT = ["supersedes"] as const;
const SLOT_CHANGE = ["supersedes", "transition"] as const;

function refuseTaken(
  tx: WriteTx,
  asked: CheckedDecision,
  slot: string,
  loser: LocatedWithHead,
): void {
  ask(tx, [], { ranges: [slotRange(slot)] });
  for (const { key } of tx.view.range(slotRange(slot))) {
    const id = key.subarray(key.length - 16);
    if (keyString(id) === keyString(loser.id)) continue;
    throw new CortexError(
      "ERR_CONFLICT",
      `keep: ${asked.keep?.text} claims slot ${slot}, which now holds ${memoryId(id)}`,
      { field: "keep", subject: memoryId(id) },
    );
  }
}

/** A source decides nothing against the words of a more trusted one. */
function refuseBelow(asked: CheckedDecision, side: LocatedWithHead): void {
  if (mayChangeWord(asked.source, side.head)) return;
  const holder = wordOf(side.head);
  throw overruled(
    "source",
    `expected a source that may set aside what ${holder} said, got ${asked.source}`,
    { expected: holder, got: asked.source, id: side.id },
  );
}

/** What the status of an accepted memory becomes; the owner's word confirms. */
function acceptedStatus(asked: CheckedDecision, { head }: LocatedWithHead): Head["status"] {
  const unsure = head.status === "provisional" || head.status === "disputed";
  return unsure ? gatedStatus(head.type, asked.source, "confirmed") : head.status;
}

function accepted(tx: WriteTx, asked: CheckedDecision, side: LocatedWithHead): RecordDraft[] {
  const head = { ...side.head, status: acceptedStatus(asked, side) };
  return changedHead(tx, asked, side, head);
}

function changedHead(
  tx: WriteTx,
  asked: CheckedDecision,
  side: LocatedWithHead,
  head: Head,
): RecordDraft[] {
  const same = head.status === side.head.status && head.slot === side.head.slot;
  return same ? [] : [headPart(tx, asked.by, side, head)];
}

function retracted(tx: WriteTx, asked: CheckedDecision, side: LocatedWithHead): RecordDraft {
  refuseBelow(asked, side);
  const head: Head = { ...side.head, status: "retracted", lifecycle: "archived" };
  return headPart(tx, asked.by, side, head);
}

/** The side that stays, saying what was agreed on. */
function mergedPart(
  engine: Engine,
  tx: WriteTx,
  asked: CheckedDecision,
  what: { readonly side: LocatedWithHead; readonly head: Head; readonly other?: LocatedWithHead },
): RecordDraft {
  const { side, head } = what;
  refuseBelow(asked, side);
  const current = tx.fold.records.version(side.row);
  const data = nextData(engine, head, current, { text: asked.text ?? "" });
  const body = prepareVersion(head.type, data, {}, asked.source);
  const version = nextVersion(tx, asked.by, side, { ...body, data });
  const next: Head = {
    ...head,
    source: asked.source,
    version: version.number,
    siblings: [],
    ...nextFingerprint(engine, head, data),
  };
  askMoves(tx, [{ id: side.id, head: next }]);
  const record: MemoryRecord = { head: next, version };
  return memoryPart(tx, asked.by, side.id, record);
}

/** An item about one memory: its open versions, or its own standing. */
function settleMemory(engine: Engine, tx: WriteTx, asked: CheckedDecision, id: Bytes): Outcome {
  const [side] = liveSides(tx, asked, [id]);
  if (side === undefined) throw noLongerOpen(asked.item);
  const isOpen =
    asked.kind === "siblings" ? side.head.siblings.length > 0 : side.head.status === asked.kind;
  if (!isOpen) throw noLongerOpen(asked.item);
  const reason = {
    subject: subject(SUBJECT.attachment, id),
    record: encode(["settle", asked.decision, asked.reason]),
  };
  switch (asked.decision) {
    case "keep_both":
      throw invalid(
        "decision",
        "keep_one, merge or retract for an item with one memory",
        "keep_both",
      );
    case "retract":
      return { parts: [retracted(tx, asked, side), reason], kept: [], archived: [side] };
    case "merge": {
      const head = { ...side.head, status: acceptedStatus(asked, side) };
      const part = mergedPart(engine, tx, asked, { side, head });
      return { parts: [part, reason], kept: [side], archived: [] };
    }
    case "keep_one": {
      const parts =
        asked.kind === "siblings"
          ? [chosenVersion(engine, tx, asked, side)]
          : accepted(tx, asked, side);
      if (parts.length > 0) return { parts: [...parts, reason], kept: [side], archived: [] };
      throw overruled("source", `expected a source that may confirm it, got ${asked.source}`, {
        got: asked.source,
        id,
      });
    }
    default:
      return unreachable(asked.decision);
  }
}

/** The next version of a memory with open versions: the one that was chosen, said again. */
function chosenVersion(
  engine: Engine,
  tx: WriteTx,
  asked: CheckedDecision,
  side: LocatedWithHead,
): RecordDraft {
  refuseBelow(asked, side);
  const open = [side.head.version, ...side.head.siblings];
  const number = asked.keep?.version;
  const isThis = asked.keep?.id !== undefined && keyString(asked.keep.id) === keyString(side.id);
  if (number === undefined || !isThis || !open.includes(number)) {
    throw invalid("keep", `the URI of an open version: ${open.join(" or ")}`, asked.keep?.text);
  }
  const [chosen] = versionsOf(tx, side, [number]);
  if (chosen === undefined) throw noLongerOpen(asked.item);
  const version = nextVersion(tx, asked.by, side, chosen);
  const head: Head = {
    ...side.head,
    version: version.number,
    siblings: [],
    ...nextFingerprint(engine, side.head, chosen.data),
  };
  askMoves(tx, [{ id: side.id, head }]);
  return memoryPart(tx, asked.by, side.id, { head, version });
}
