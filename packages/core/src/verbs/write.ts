/**
 * `write`: one new memory, with everything that follows from it in the same entry: the value of a
 * slot replaces the one before, named memories are superseded, provenance becomes edges. Text that a
 * live memory of the same type, source and slot says already reinforces that memory instead.
 */
import { encode } from "../codec/cbor.js";
import { memoryTreeKey } from "../edges/edge.js";
import { CortexError } from "../errors.js";
import { decodeMemoryRow } from "../history/pointers.js";
import type { Operation, RecordDraft, WriteTx } from "../history/writer.js";
import { SUBJECT } from "../journal/entry.js";
import { INDEX, idKey, indexPrefix, prefixRange, textKey } from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import type { Version } from "../memory/record.js";
import { LIFECYCLES } from "../memory/types.js";
import { buildUri } from "../memory/uri.js";
import { checkKindAllowed, configKeys } from "./config.js";
import { archivePart, memoryPart, mintEdge, subject } from "./drafts.js";
import { type Engine, type Located, locate, locateLiving, memoryId, refKeys } from "./engine.js";
import { firstResult, idempotencyKeys } from "./idempotency.js";
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
    run: (tx) =>
      firstResult(engine, tx, prepared.request, ([first]) => first as WriteResult) ??
      applyWrite(engine, tx, prepared),
  };
}

/** What a write will surely read and change. */
export function writeNeeds(
  engine: Engine,
  prepared: PreparedWrite,
): Required<Pick<Operation<unknown>, "hints" | "ranges" | "leaves" | "bytes">> {
  const { head, id, corrects } = prepared;
  const hints: Bytes[] = [idKey("memory", id), ...configKeys()];
  if (head.externalId !== undefined) hints.push(textKey("externalId", head.externalId));
  if (head.fingerprint !== undefined) hints.push(idKey("fingerprint", head.fingerprint));
  if (prepared.request !== undefined) hints.push(...idempotencyKeys(prepared.request));
  const refs = [...prepared.supersedes, ...prepared.derivedFrom];
  for (const ref of corrects === undefined ? refs : [...refs, corrects])
    hints.push(...refKeys(ref));
  return {
    hints,
    ranges: head.slot === undefined ? [] : [slotRange(head.slot)],
    leaves: [{ tree: "memories", key: memoryTreeKey(engine.sha256, id) }],
    bytes: 1024 + 2 * prepared.version.forms.medium.length,
  };
}

/** Applies a prepared write inside a commit. */
export function applyWrite(engine: Engine, tx: WriteTx, prepared: PreparedWrite): WriteResult {
  const { id, head } = prepared;
  checkKindAllowed(tx, head.kind);
  refuseExisting(tx, prepared);
  const restated = restatement(tx, prepared);
  if (restated !== undefined) return reinforce(engine, tx, prepared, restated);
  const old = replacedMemories(tx, prepared);
  const version: Version = {
    ...prepared.version,
    number: 1,
    data: prepared.data,
    createdAt: tx.at,
    createdBy: prepared.by,
    supersedes: [],
  };
  const record = { head: { ...head, version: 1, createdAt: tx.at }, version };
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

interface Replaced {
  /** Former holders of the slot. */
  readonly slot: readonly Located[];
  /** Memories the writer named in `supersedes`. */
  readonly named: readonly Located[];
}

function refuseExisting(tx: WriteTx, prepared: PreparedWrite): void {
  const { id, head } = prepared;
  if (tx.view.get(idKey("memory", id)) !== undefined) {
    throw new CortexError("ERR_EXISTS", `id: a memory with id ${memoryId(id)} is already there`, {
      field: "id",
      subject: memoryId(id),
    });
  }
  if (head.externalId === undefined) return;
  if (tx.view.get(textKey("externalId", head.externalId)) !== undefined) {
    throw new CortexError(
      "ERR_EXISTS",
      `externalId: ${JSON.stringify(head.externalId)} names a memory already`,
      { field: "externalId", subject: head.externalId },
    );
  }
}

/** The live memory that says the same already, unless the write asks for more than saying it. */
function restatement(tx: WriteTx, prepared: PreparedWrite): Located | undefined {
  const { fingerprint, externalId } = prepared.head;
  const plain = prepared.supersedes.length === 0 && prepared.corrects === undefined;
  if (fingerprint === undefined || externalId !== undefined || !plain) return undefined;
  const id = tx.view.get(idKey("fingerprint", fingerprint));
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
  // The counter row is read by the fold; ask for it together with the rest.
  tx.view.need([idKey("counter", found.id)]);
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
  return prefixRange(indexPrefix(false, INDEX.slot, LIFECYCLES.active.code, term), 8);
}

function replacedMemories(tx: WriteTx, prepared: PreparedWrite): Replaced {
  const named = prepared.supersedes.map((ref, at) =>
    locateLiving(tx.view, ref, `supersedes[${at}]`),
  );
  const { slot } = prepared.head;
  const holders = slot === undefined ? [] : tx.view.range(slotRange(slot));
  const ids = holders.map(({ key }) => key.subarray(key.length - 16));
  tx.view.need(ids.map((id) => idKey("memory", id)));
  const inSlot = ids.flatMap((id): Located[] => {
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
  const links: { readonly kind: string; readonly to: Bytes }[] = [];
  for (const found of old.slot) {
    links.push({ kind: "contradicts", to: found.id }, { kind: "transition", to: found.id });
  }
  for (const [at, ref] of prepared.supersedes.entries()) {
    links.push({ kind: "supersedes", to: locateLiving(tx.view, ref, `supersedes[${at}]`).id });
  }
  if (prepared.corrects !== undefined) {
    const found = locateLiving(tx.view, prepared.corrects, "corrects");
    links.push({ kind: "corrects", to: found.id });
  }
  for (const ref of prepared.derivedFrom) {
    const found = locate(tx.view, ref);
    if (found !== undefined && found.row.lifecycle !== "erased") {
      links.push({ kind: "derived_from", to: found.id });
    }
  }
  const unique = new Map(links.map((link) => [`${link.kind} ${memoryId(link.to)}`, link]));
  return [...unique.values()].flatMap((link) => {
    const minted = mintEdge(
      tx,
      engine,
      by,
      { from: id, source: "derived", ...link },
      { fresh: true },
    );
    return minted.part === undefined ? [] : [minted.part];
  });
}
