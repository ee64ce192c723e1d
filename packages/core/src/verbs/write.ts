/**
 * `write`: one new memory, with everything that follows from it in the same entry: the value of a
 * slot replaces the one before, named memories are superseded, provenance becomes edges. Text that a
 * live memory of the same type, source and slot says already reinforces that memory instead.
 */
import { encode } from "../codec/cbor.js";
import { memoryTreeKey } from "../edges/edge.js";
import { CortexError, describe } from "../errors.js";
import { splitIds } from "../history/fold-state.js";
import { decodeMemoryRow } from "../history/pointers.js";
import type { Operation, RecordDraft, WriteTx } from "../history/writer.js";
import { SUBJECT } from "../journal/entry.js";
import { INDEX, idKey, indexPrefix, prefixRange, textKey } from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import { jsonBytes } from "../memory/fields.js";
import type { MemoryRecord } from "../memory/record.js";
import { LIFECYCLES } from "../memory/types.js";
import { buildUri } from "../memory/uri.js";
import { checkKindAllowed } from "./config.js";
import { archivePart, edgeLeaf, memoryPart, mintFresh, subject } from "./drafts.js";
import {
  type Engine,
  type Located,
  locate,
  locateLiving,
  memoryId,
  type ParsedRef,
  refKeys,
} from "./engine.js";
import { firstResult, idempotencyKeys } from "./idempotency.js";
import { ask, askMoves, askRecords, configEntry, memoryLeaf, recordKeys } from "./read-ahead.js";
import { type MemoryRef, shapeRef, type WriteResult } from "./shapes.js";
import { type PreparedWrite, prepareWrite, type WriteInput } from "./write-input.js";

/** Writes one memory. */
export async function write(engine: Engine, input: WriteInput): Promise<WriteResult> {
  const prepared = prepareWrite(engine, input);
  const { value } = await engine.writer.submit(writeOperation(engine, prepared));
  return value;
}

/** The operation behind `write`. */
export function writeOperation(engine: Engine, prepared: PreparedWrite): Operation<WriteResult> {
  return {
    ...writeNeeds(engine, prepared),
    run: (tx) => firstResult(engine, tx, prepared.request) ?? applyWrite(engine, tx, prepared),
  };
}

/** What a write will surely read and change. */
export function writeNeeds(
  engine: Engine,
  prepared: PreparedWrite,
): Required<Pick<Operation<unknown>, "hints" | "ranges" | "leaves" | "bytes">> {
  const { head, id } = prepared;
  const hints: Bytes[] = [idKey("memory", id)];
  if (head.externalId !== undefined) hints.push(textKey("externalId", head.externalId));
  if (head.fingerprint !== undefined) hints.push(idKey("fingerprint", head.fingerprint));
  if (prepared.request !== undefined) hints.push(...idempotencyKeys(prepared.request));
  for (const ref of namedRefs(prepared)) hints.push(...refKeys(ref));
  return {
    hints,
    ranges: head.slot === undefined ? [] : [slotRange(head.slot)],
    leaves: () => [{ tree: "memories", key: memoryTreeKey(engine.sha256, id) }],
    bytes: 1024 + jsonBytes(prepared.data),
  };
}

/** Applies a prepared write inside a commit. */
export function applyWrite(engine: Engine, tx: WriteTx, prepared: PreparedWrite): WriteResult {
  const { id, head } = prepared;
  refuseExisting(tx, prepared);
  askTargets(tx, prepared);
  checkKindAllowed(tx, head.kind);
  const restated = restatement(tx, prepared);
  if (restated !== undefined) return reinforce(engine, tx, prepared, restated);
  const old = replacedMemories(tx, prepared);
  const record = newRecord(tx, prepared);
  const parts: RecordDraft[] = [memoryPart(tx, prepared.by, id, record)];
  const replaced: MemoryRef[] = [];
  for (const found of [...old.slot, ...old.named]) {
    const archived = archivePart(tx, prepared.by, found);
    parts.push(archived.part);
    replaced.push(shapeRef(engine.actor, found.id, found.row.type, archived.version));
  }
  parts.push(...lifecycleEdges(engine, tx, prepared, old));
  const seq = tx.append({
    kind: "write",
    by: prepared.by,
    parts,
    ...(prepared.request === undefined ? {} : { request: prepared.request }),
  });
  return {
    id: memoryId(id),
    uri: buildUri({ actor: engine.actor, type: head.type, id, version: 1 }),
    version: 1,
    seq,
    replaced,
    conflicts: [],
    similar: [],
    reinforced: false,
  };
}

/** The record of a memory being born. Spelled out: copying by spread cost a tenth of a batch. */
function newRecord(tx: WriteTx, prepared: PreparedWrite): MemoryRecord {
  const { head, version } = prepared;
  return {
    head: {
      type: head.type,
      version: 1,
      lifecycle: head.lifecycle,
      visibility: head.visibility,
      importance: head.importance,
      tags: head.tags,
      frames: head.frames,
      status: head.status,
      source: head.source,
      createdAt: tx.at,
      siblings: head.siblings,
      slot: head.slot,
      kind: head.kind,
      externalId: head.externalId,
      freshnessAt: head.freshnessAt,
      fingerprint: head.fingerprint,
    },
    version: {
      number: 1,
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
    },
  };
}

interface Replaced {
  /** Former holders of the slot. */
  readonly slot: readonly Located[];
  /** Memories the writer named in `supersedes`. */
  readonly named: readonly Located[];
}

function refuseExisting(tx: WriteTx, prepared: PreparedWrite): void {
  const { id, head } = prepared;
  if (tx.view.get(idKey("memory", id)) !== undefined) {
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

/** The live memory that says the same already, unless the write asks for more than saying it. */
function restatement(tx: WriteTx, prepared: PreparedWrite): Located | undefined {
  const { fingerprint, externalId } = prepared.head;
  const plain = prepared.supersedes.length === 0 && prepared.corrects === undefined;
  if (fingerprint === undefined || externalId !== undefined || !plain) return undefined;
  const [id] = splitIds(tx.view.get(idKey("fingerprint", fingerprint)));
  if (id === undefined) return undefined;
  const row = tx.view.get(idKey("memory", id));
  return row === undefined ? undefined : { id, row: decodeMemoryRow(row) };
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
    parts: [
      {
        subject: subject(SUBJECT.attachment, found.id),
        record: encode(["reinforce", found.row.version]),
      },
    ],
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

/** The range of live memories in a slot. */
export function slotRange(slot: string): KvRange {
  const term = Buffer.from(slot, "utf8");
  return prefixRange(indexPrefix("index", INDEX.slot, LIFECYCLES.active.code, term), 8);
}

const NOTHING_REPLACED: Replaced = { slot: [], named: [] };

/** Reads in one go what the hints led to: who said it already, who holds the slot, who is named. */
function askTargets(tx: WriteTx, prepared: PreparedWrite): void {
  const { fingerprint, slot } = prepared.head;
  const [restated] =
    fingerprint === undefined ? [] : splitIds(tx.view.get(idKey("fingerprint", fingerprint)));
  const holders = slot === undefined ? [] : slotHolders(tx, slot);
  const named = namedRefs(prepared).flatMap(
    (ref) => ref.id ?? tx.view.get(textKey("externalId", ref.externalId ?? "")) ?? [],
  );
  const targets = [...holders, ...named];
  const keys = [...configEntry(tx), ...targets.map((id) => idKey("memory", id))];
  if (restated !== undefined) keys.push(idKey("memory", restated), idKey("counter", restated));
  for (const id of targets) keys.push(...recordKeys(tx, id));
  // Most writes lead nowhere: nothing to allocate for them.
  if (keys.length === 0) return;
  const from = prepared.id;
  const edges = [
    ...holders.flatMap((to) => SLOT_KINDS.map((kind) => edgeLeaf(tx, { from, kind, to }))),
    ...named.flatMap((to) => NAMED_KINDS.map((kind) => edgeLeaf(tx, { from, kind, to }))),
  ];
  ask(tx, keys, { leaves: [...targets.map((id) => memoryLeaf(tx, id)), ...edges] });
}

/** What a change of a slot mints. */
const SLOT_KINDS = ["contradicts", "transition"] as const;
/** What may be minted towards a memory the write names. */
const NAMED_KINDS = ["supersedes", "corrects", "derived_from"] as const;

function namedRefs(prepared: PreparedWrite): readonly ParsedRef[] {
  const { supersedes, derivedFrom, corrects } = prepared;
  return [...supersedes, ...derivedFrom, ...(corrects === undefined ? [] : [corrects])];
}

function slotHolders(tx: WriteTx, slot: string): Bytes[] {
  return tx.view.range(slotRange(slot)).map(({ key }) => key.subarray(key.length - 16));
}

function replacedMemories(tx: WriteTx, prepared: PreparedWrite): Replaced {
  const { slot } = prepared.head;
  if (slot === undefined && prepared.supersedes.length === 0) return NOTHING_REPLACED;
  const named = prepared.supersedes.map((ref, at) => locateLiving(tx, ref, `supersedes[${at}]`));
  const inSlot = (slot === undefined ? [] : slotHolders(tx, slot)).flatMap((id): Located[] => {
    const row = tx.view.get(idKey("memory", id));
    return row === undefined ? [] : [{ id, row: decodeMemoryRow(row) }];
  });
  const slotIds = new Set(inSlot.map(({ id }) => memoryId(id)));
  const others = named.filter(
    ({ id, row }, at) =>
      row.lifecycle === "active" &&
      !slotIds.has(memoryId(id)) &&
      named.findIndex((other) => memoryId(other.id) === memoryId(id)) === at,
  );
  const replaced = [...inSlot, ...others];
  askRecords(tx, replaced);
  askMoves(
    tx,
    replaced.map(({ id, row }) => ({ id, head: tx.fold.records.head(row) })),
  );
  return { slot: inSlot, named: others };
}

/** The edges the store mints: change of a slot, replacement, amendment, derivation. */
function lifecycleEdges(
  engine: Engine,
  tx: WriteTx,
  prepared: PreparedWrite,
  old: Replaced,
): RecordDraft[] {
  const { id, by } = prepared;
  const mute =
    old === NOTHING_REPLACED &&
    prepared.corrects === undefined &&
    prepared.derivedFrom.length === 0;
  // Most writes bring no edges: nothing to allocate for them.
  if (mute) return [];
  const links: { readonly kind: string; readonly to: Bytes }[] = [];
  for (const found of old.slot) {
    links.push(...SLOT_KINDS.map((kind) => ({ kind, to: found.id })));
  }
  for (const [at, ref] of prepared.supersedes.entries()) {
    links.push({ kind: "supersedes", to: locateLiving(tx, ref, `supersedes[${at}]`).id });
  }
  if (prepared.corrects !== undefined) {
    links.push({ kind: "corrects", to: locateLiving(tx, prepared.corrects, "corrects").id });
  }
  for (const ref of prepared.derivedFrom) {
    const found = locate(tx, ref);
    if (found !== undefined && found.row.lifecycle !== "erased") {
      links.push({ kind: "derived_from", to: found.id });
    }
  }
  const unique = new Map(links.map((link) => [`${link.kind} ${memoryId(link.to)}`, link]));
  const drafts = [...unique.values()].map((link) => ({
    from: id,
    source: "derived" as const,
    ...link,
  }));
  return mintFresh(tx, engine, by, drafts);
}
