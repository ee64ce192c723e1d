/**
 * `write`: one new memory, with everything that follows from it in the same entry: the value of a
 * slot replaces the one before, named memories are superseded, provenance becomes edges. Text that a
 * live memory of the same type, source and slot says already reinforces that memory instead. What a
 * source may do to the words of another is decided in `claims.ts`. A write that may go on from a memory
 * that is there is in `upsert.ts`.
 */

import { encode } from "../codec/cbor.js";
import { parseUlid } from "../codec/ulid.js";
import { checkKindAllowed } from "../config/config.js";
import type { Asked } from "../contract/index.js";
import type { Memory, MemoryRef, WriteResult } from "../contract/shapes.js";
import {
  archivePart,
  type EdgeDraft,
  edgeLeaf,
  heldSince,
  memoryPart,
  mintEdge,
  mintFresh,
  nextVersion,
  RIVAL,
  subject,
} from "../engine/drafts.js";
import {
  type Engine,
  type Located,
  type LocatedWithHead,
  locate,
  locateLiving,
  memoryId,
  type ParsedRef,
  refKeys,
} from "../engine/engine.js";
import { firstResult, idempotencyKeys, writeResultOf } from "../engine/idempotency.js";
import { ask, configEntry, memoryLeaf, recordKeys } from "../engine/read-ahead.js";
import { shapeParts, shapeRef } from "../engine/shapes.js";
import { CortexError, describe } from "../errors.js";
import type { LeafRef } from "../history/trees.js";
import type { RecordDraft, WriteOperation, WriteTx } from "../history/writer.js";
import { SUBJECT } from "../journal/entry.js";
import {
  INDEX,
  idKey,
  indexPrefix,
  passingMemoryKey,
  prefixRange,
  textKey,
} from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import { memoryStateKey } from "../merkle/state-keys.js";
import { jsonBytes } from "../records/fields.js";
import { type Head, type MemoryRecord, primaryText } from "../records/memory-record.js";
import { LIFECYCLES, type Status } from "../records/types.js";
import { buildUri } from "../records/uri.js";
import type { Access } from "../scope/access.js";
import {
  askGivingWay,
  claimantIds,
  judge,
  type Met,
  similarTo,
  UNOPPOSED,
  type Verdict,
} from "./claims.js";
import { get } from "./read.js";
import { applyUpsert, type PreparedUpsert, prepareUpsert } from "./upsert.js";
import { originOf, type PreparedWrite, prepareWrite } from "./write-input.js";

/** Writes one memory. */
export async function write(
  engine: Engine,
  { similar, access, upsert, memory, ...input }: Asked<"write">,
): Promise<WriteResult> {
  const prepared = prepareWrite(engine, input, upsert);
  const wantsMemory = memory === true;
  const going = prepareUpsert(engine, input, upsert);
  const operation = writeOperation(engine, prepared, { wantsMemory, upsert: going });
  const { value: written } = await engine.writer.submit(operation);
  // What repeats an earlier result does not have the memory at hand.
  const isBare = wantsMemory && written.memory === undefined;
  const value = isBare ? await withMemory(engine, written, access) : written;
  if (similar !== true || value.reinforced) return value;
  const text = primaryText(prepared.head.type, prepared.data);
  const except = value.replaced.flatMap(({ id }) => parseUlid(id) ?? []);
  // Under a key that was used before, the memory is the one that was written then.
  const query = { text, self: parseUlid(value.id) ?? prepared.id, except };
  return { ...value, similar: await similarTo(engine, query, access) };
}

async function withMemory(
  engine: Engine,
  result: WriteResult,
  access: Access,
): Promise<WriteResult> {
  const { id, version } = result;
  const memory = await get(engine, { id, version, access });
  return memory === undefined ? result : { ...result, memory };
}

/** How a write is done and answered. */
interface WriteHow {
  readonly upsert?: PreparedUpsert | undefined;
  readonly wantsMemory?: boolean;
}

/** The operation behind `write`. */
function writeOperation(
  engine: Engine,
  prepared: PreparedWrite,
  how: WriteHow = {},
): WriteOperation<WriteResult> {
  const needs = writeNeeds(prepared, how.upsert);
  return {
    ...needs,
    perhapsFresh: mayBeNew(prepared, how.upsert) ? needs.hints : undefined,
    leaves: () => [writeLeaf(engine, prepared)],
    again: { tell: (tx, first) => writeResultOf(engine, tx, first) },
    run: (tx) => runWrite(engine, tx, prepared, how),
  };
}

/** Whether an upsert says nothing that only what is there could have: then it may well be the first of its name. */
function mayBeNew(prepared: PreparedWrite, upsert: PreparedUpsert | undefined): boolean {
  if (upsert === undefined || upsert.mustExist === true) return false;
  return upsert.basedOnVersion === undefined && !namesOthers(prepared);
}

/** Does a prepared write, unless an earlier call under its key has done it. */
export function runWrite(
  engine: Engine,
  tx: WriteTx,
  prepared: PreparedWrite,
  { upsert, wantsMemory = false }: WriteHow,
): WriteResult {
  const first = firstResult(engine, tx, prepared.request);
  if (first !== undefined) return first;
  if (upsert === undefined) return applyWrite(engine, tx, prepared, wantsMemory);
  const next = applyUpsert(engine, tx, prepared, { upsert, wantsMemory });
  if (next !== undefined) return next;
  const { after } = upsert;
  const numbered = after === undefined ? prepared : { ...prepared, number: after + 1 };
  return applyWrite(engine, tx, numbered, wantsMemory);
}

/** The leaf that a new memory gets. */
export function writeLeaf(engine: Engine, { id }: PreparedWrite): LeafRef {
  return { tree: "memories", key: memoryStateKey(engine.sha256, id) };
}

/** What a write will surely read, and about how much it writes. */
export function writeNeeds(
  prepared: PreparedWrite,
  upsert: PreparedUpsert | undefined,
): Pick<WriteOperation<unknown>, "hints" | "fresh" | "ranges" | "bytes"> {
  const { head, id } = prepared;
  const { fingerprint } = head;
  // Lists of their length: one that a row is pushed to takes room for seventeen.
  const own =
    fingerprint === undefined
      ? [idKey("memory", id)]
      : [idKey("memory", id), idKey("fingerprint", fingerprint)];
  const isPlain =
    head.externalId === undefined && prepared.request === undefined && !namesOthers(prepared);
  const named = isPlain ? own : [...own, ...namedRows(prepared)];
  const hints = upsert === undefined ? named : [...named, ...refKeys(upsert.ref)];
  return {
    hints,
    // What it names is there, what it is to be called is not.
    fresh: upsert !== undefined || namesOthers(prepared) ? undefined : hints,
    ranges: head.slot === undefined ? NO_RANGES : [slotRange(head.slot)],
    bytes: 1024 + jsonBytes(prepared.data),
  };
}

const NO_RANGES: readonly KvRange[] = [];

/** Rows of the names that a write takes and gives. */
function namedRows(prepared: PreparedWrite): readonly Bytes[] {
  const { externalId } = prepared.head;
  return [
    ...(externalId === undefined ? [] : [textKey("externalId", externalId)]),
    ...(prepared.request === undefined ? [] : idempotencyKeys(prepared.request)),
    ...namedRefs(prepared).flatMap(refKeys),
  ];
}

/** Applies a prepared write inside a commit. */
function applyWrite(
  engine: Engine,
  tx: WriteTx,
  prepared: PreparedWrite,
  wantsMemory = false,
): WriteResult {
  const { head } = prepared;
  refuseExisting(tx, prepared);
  const met = askTargets(tx, prepared);
  if (prepared.imported === undefined) checkKindAllowed(tx, head.kind);
  const verdict = judgeAt(tx, prepared, met);
  if (verdict.repeats !== undefined) return reinforce(engine, tx, prepared, verdict.repeats);
  askGivingWay(tx, verdict);
  const memory = memoryToStore(tx, prepared, verdict);
  const { id, record, isTakenOver } = memory;
  const parts: RecordDraft[] = [memoryPart(tx, prepared.by, id, record)];
  const replaced: MemoryRef[] = [];
  for (const found of [...verdict.slot, ...verdict.named]) {
    const archived = archivePart(tx, prepared.by, found, turnEnd(tx, verdict, found));
    parts.push(archived.part);
    replaced.push(shapeRef(engine.actor, found.id, found.row.type, archived.version));
  }
  parts.push(...lifecycleEdges(engine, tx, prepared, { verdict, id }));
  const { version } = record.head;
  if (isTakenOver) parts.push(reinforcement(id, version));
  const seq = tx.append({
    kind: isTakenOver ? "reinforce" : "write",
    by: prepared.by,
    parts,
    ...(prepared.request === undefined ? {} : { request: prepared.request }),
  });
  const result: WriteResult = {
    id: memoryId(id),
    uri: buildUri({ actor: engine.actor, type: head.type, id, version }),
    version,
    seq,
    replaced,
    conflicts: verdict.rivals.map((rival) =>
      shapeRef(engine.actor, rival.id, rival.row.type, tx.fold.records.version(rival.row)),
    ),
    similar: [],
    reinforced: isTakenOver,
  };
  if (!wantsMemory || isTakenOver) return result;
  return { ...result, memory: shapeNew(engine.actor, tx.at, seq, memory) };
}

/** Whether a value is of the past by the time it is written: it joins the history of its slot. */
function isPast(tx: WriteTx, { head, version }: PreparedWrite): boolean {
  return head.slot !== undefined && version.validTo !== undefined && version.validTo <= tx.at;
}

/** What a write does with what it meets; what is over by now displaces nobody and backs nobody. */
function judgeAt(tx: WriteTx, prepared: PreparedWrite, met: Met): Verdict {
  if (!isPast(tx, prepared)) return judge(tx, prepared, met);
  const head = { ...prepared.head, fingerprint: undefined };
  return judge(tx, { ...prepared, head }, NOBODY);
}

/** When the turn of a former value ended: when that of the next one began, or now. */
function turnEnd(tx: WriteTx, verdict: Verdict, found: LocatedWithHead): number {
  const own = tx.fold.records.version(found.row);
  const starts = verdict.slot.flatMap((one) => {
    const { validFrom, createdAt } = tx.fold.records.version(one.row);
    return one.head.waits === true ? [validFrom ?? createdAt] : [];
  });
  const later = starts.filter((start) => start > (own.validFrom ?? own.createdAt));
  return Math.min(tx.at, ...later);
}

function shapeNew(actor: string, at: number, seq: number, memory: MemoryToStore): Memory {
  const { id, record } = memory;
  const { head, version } = record;
  if (version === undefined) throw new Error("a new memory has no version");
  // Copies of what has words: the text index will take those of the record itself.
  return shapeParts(actor, {
    id,
    at,
    seq,
    head: { ...head, tags: [...head.tags] },
    version: { ...version, data: structuredClone(version.data), forms: { ...version.forms } },
    versionSeq: seq,
  });
}

/** The memory that is to hold what was written: a new one, or one that becomes the writer's. */
interface MemoryToStore {
  readonly id: Bytes;
  readonly record: MemoryRecord;
  readonly isTakenOver: boolean;
}

function memoryToStore(tx: WriteTx, prepared: PreparedWrite, verdict: Verdict): MemoryToStore {
  const { takesOver } = verdict;
  if (takesOver === undefined) {
    return { id: prepared.id, record: newRecord(tx, prepared, verdict), isTakenOver: false };
  }
  const record = takenOverRecord(tx, prepared, verdict, takesOver);
  return { id: takesOver.id, record, isTakenOver: true };
}

/**
 * The record of a memory whose claim a more trusted source makes now: it becomes that source's, in a
 * version of the same words; the versions before keep saying whose they were.
 */
function takenOverRecord(
  tx: WriteTx,
  prepared: PreparedWrite,
  verdict: Verdict,
  found: LocatedWithHead,
): MemoryRecord {
  const before = tx.fold.records.version(found.row);
  const { provenance, confidence, flags } = prepared.version;
  const both = (a: readonly string[], b: readonly string[]) => [...new Set([...a, ...b])];
  const version = nextVersion(tx, prepared.by, found, {
    ...before,
    confidence: Math.max(confidence, before.confidence),
    provenance: {
      ...before.provenance,
      ...provenance,
      derivedFrom: both(before.provenance.derivedFrom, provenance.derivedFrom),
      attestations: both(before.provenance.attestations, provenance.attestations),
    },
    // Saying the same again does not move the time since when it is true.
    validFrom: heldSince(before),
    flags,
  });
  const { slot, status, source } = prepared.head;
  const head: Head = {
    ...found.head,
    source,
    status: statusOf(verdict, found.head.status === "confirmed" ? "confirmed" : status),
    slot: verdict.takesSlot ? slot : undefined,
    version: version.number,
    siblings: [],
  };
  return { head, version };
}

/** A rival awaits review, whatever its writer says of it. */
function statusOf(verdict: Verdict, status: Status): Status {
  return verdict.rivals.length > 0 ? "provisional" : status;
}

/** The record of a new memory. Spelled out: copying by spread cost a tenth of a batch. */
function newRecord(tx: WriteTx, prepared: PreparedWrite, verdict: Verdict): MemoryRecord {
  const { head, version, imported } = prepared;
  const number = imported?.version ?? prepared.number ?? 1;
  return {
    head: {
      type: head.type,
      version: number,
      lifecycle: isPast(tx, prepared) ? "archived" : head.lifecycle,
      visibility: head.visibility,
      importance: head.importance,
      tags: head.tags,
      frames: head.frames,
      status: statusOf(verdict, head.status),
      source: head.source,
      createdAt: imported?.createdAt ?? tx.at,
      siblings: head.siblings,
      slot: verdict.takesSlot ? head.slot : undefined,
      kind: head.kind,
      externalId: head.externalId,
      freshnessAt: head.freshnessAt,
      fingerprint: head.fingerprint,
      ...(verdict.takesSlot && isToCome(tx, prepared) ? { waits: true } : {}),
    },
    version: {
      number,
      data: prepared.data,
      forms: version.forms,
      formsOverride: version.formsOverride,
      confidence: version.confidence,
      provenance: version.provenance,
      createdAt: tx.at,
      createdBy: prepared.by,
      supersedes: [],
      validFrom: version.validFrom,
      validTo: version.validTo,
      expiresAt: version.expiresAt,
      flags: version.flags,
      ...(imported === undefined ? {} : originOf(imported)),
    },
  };
}

/** Whether a value of a slot is for a time to come. */
function isToCome(tx: WriteTx, { head, version }: PreparedWrite): boolean {
  return head.slot !== undefined && version.validFrom !== undefined && version.validFrom > tx.at;
}

function refuseExisting(tx: WriteTx, prepared: PreparedWrite): void {
  const { id, head } = prepared;
  if (tx.view.get(passingMemoryKey(id)) !== undefined) {
    throw new CortexError(
      "ERR_EXISTS",
      `id: expected a new id, got ${memoryId(id)}, which is a memory's`,
      {
        field: "id",
        subject: memoryId(id),
      },
    );
  }
  if (head.externalId === undefined) return;
  if (tx.view.get(textKey("externalId", head.externalId)) !== undefined) {
    throw new CortexError(
      "ERR_EXISTS",
      `externalId: expected a new name, got ${describe(head.externalId)}, which is a memory's`,
      { field: "externalId", subject: head.externalId },
    );
  }
}

function reinforce(
  engine: Engine,
  tx: WriteTx,
  prepared: PreparedWrite,
  found: Located,
): WriteResult {
  const seq = tx.append({
    kind: "reinforce",
    by: prepared.by,
    parts: [reinforcement(found.id, found.row.version)],
    ...(prepared.request === undefined ? {} : { request: prepared.request }),
  });
  const { type, version } = found.row;
  return {
    id: memoryId(found.id),
    uri: buildUri({ actor: engine.actor, type, id: found.id, version }),
    version,
    seq,
    replaced: [],
    conflicts: [],
    similar: [],
    reinforced: true,
  };
}

/** The part that counts a restatement. */
function reinforcement(id: Bytes, version: number): RecordDraft {
  return {
    subject: subject(SUBJECT.attachment, id),
    record: encode(["reinforce", version]),
  };
}

/** The range of live memories in a slot. */
export function slotRange(slot: string): KvRange {
  const term = Buffer.from(slot, "utf8");
  return prefixRange(indexPrefix("index", INDEX.slot, LIFECYCLES.active.code, term), 8);
}

const NOBODY: Met = { claimants: [], holders: [] };

/** Reads at once what the hints led to: who makes the claim already, who holds the slot, who is named. */
function askTargets(tx: WriteTx, prepared: PreparedWrite): Met {
  const { fingerprint, slot } = prepared.head;
  const claimants = claimantIds(tx, fingerprint);
  // Most writes lead nowhere: nothing to allocate for them.
  if (claimants.length === 0 && slot === undefined && !namesOthers(prepared)) {
    const config = configEntry(tx);
    if (config.length > 0) ask(tx, config);
    return NOBODY;
  }
  const holders = slot === undefined ? [] : slotHolders(tx, slot);
  const named = namedRefs(prepared).flatMap(
    (ref) => ref.id ?? tx.view.get(textKey("externalId", ref.externalId ?? "")) ?? [],
  );
  const targets = [...holders, ...named];
  const keys = [...configEntry(tx), ...targets.map((id) => idKey("memory", id))];
  for (const id of claimants) keys.push(idKey("memory", id), idKey("counter", id));
  for (const id of [...claimants, ...targets]) keys.push(...recordKeys(tx, id));
  const from = prepared.id;
  const edges = [
    ...holders.flatMap((to) => SLOT_KINDS.map((kind) => edgeLeaf(tx, { from, kind, to }))),
    ...named.flatMap((to) => NAMED_KINDS.map((kind) => edgeLeaf(tx, { from, kind, to }))),
  ];
  ask(tx, keys, { leaves: [...targets.map((id) => memoryLeaf(tx, id)), ...edges] });
  return { claimants, holders };
}

/** What a change of a slot mints. */
const SLOT_KINDS = ["contradicts", "transition"] as const;
/** What may be minted towards a memory the write names. */
const NAMED_KINDS = ["supersedes", "corrects", "derived_from"] as const;

function namesOthers({ supersedes, derivedFrom, corrects }: PreparedWrite): boolean {
  return supersedes.length + derivedFrom.length > 0 || corrects !== undefined;
}

function namedRefs(prepared: PreparedWrite): readonly ParsedRef[] {
  const { supersedes, derivedFrom, corrects } = prepared;
  return [...supersedes, ...derivedFrom, ...(corrects === undefined ? [] : [corrects])];
}

function slotHolders(tx: WriteTx, slot: string): Bytes[] {
  return tx.view.range(slotRange(slot)).map(({ key }) => key.subarray(key.length - 16));
}

/** The edges the store mints: change of a slot, replacement, dispute, backing, amendment, origin. */
function lifecycleEdges(
  engine: Engine,
  tx: WriteTx,
  prepared: PreparedWrite,
  { verdict, id }: { readonly verdict: Verdict; readonly id: Bytes },
): RecordDraft[] {
  const hasNone =
    verdict === UNOPPOSED && prepared.corrects === undefined && prepared.derivedFrom.length === 0;
  // Most writes bring no edges: nothing to allocate for them.
  if (hasNone) return [];
  const links: Omit<EdgeDraft, "from">[] = [];
  for (const { id: to } of verdict.slot) links.push(...SLOT_KINDS.map((kind) => ({ kind, to })));
  const { waits } = verdict;
  if (waits?.after !== undefined) {
    links.push({ kind: "transition", to: waits.after.id, validFrom: waits.from });
  }
  for (const { id: to, by, row } of verdict.rivals) {
    const claim = by === "slot" ? (prepared.head.slot ?? true) : true;
    const metadata = { [RIVAL]: claim, version: row.version };
    links.push({ kind: "contradicts", to, metadata });
  }
  const held = new Set(verdict.stays.map((one) => memoryId(one.id)));
  for (const [at, ref] of prepared.supersedes.entries()) {
    const { id: to } = locateLiving(tx, ref, `supersedes[${at}]`);
    if (!held.has(memoryId(to))) links.push({ kind: "supersedes", to });
  }
  if (verdict.supports !== undefined) links.push({ kind: "supports", to: verdict.supports.id });
  if (prepared.corrects !== undefined) {
    links.push({ kind: "corrects", to: locateLiving(tx, prepared.corrects, "corrects").id });
  }
  for (const ref of prepared.derivedFrom) {
    const found = locate(tx, ref);
    if (found !== undefined && found.row.lifecycle !== "erased") {
      links.push({ kind: "derived_from", to: found.id });
    }
  }
  const unique = new Map(links.map((link) => [`${link.kind} ${memoryId(link.to as Bytes)}`, link]));
  const drafts = [...unique.values()]
    // A memory that is taken over may be named as its own origin, and gets no edge to itself.
    .filter(({ to }) => memoryId(to as Bytes) !== memoryId(id))
    .map((link): EdgeDraft => ({ from: id, source: "derived", ...link }));
  if (verdict.takesOver === undefined) return mintFresh(tx, engine, prepared.by, drafts);
  return drafts.flatMap((draft) => {
    const { outcome } = mintEdge(tx, engine, prepared.by, draft);
    return "part" in outcome ? [outcome.part] : [];
  });
}
