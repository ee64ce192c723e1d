/**
 * `forget`: the bytes of a memory are gone, and everything that was ever proved about it still
 * verifies. What stays is its id, its type and the seq at which it was erased; the id is never used
 * again.
 *
 * The reason is kept for whoever administers the store, so it must not repeat the content. Bytes in
 * pages the engine has freed but not overwritten go with `vacuum`.
 */

import { encode } from "../codec/cbor.js";
import { parseUlid } from "../codec/ulid.js";
import type { Asked } from "../contract/index.js";
import type { ForgetResult } from "../contract/memory.js";
import type { MemoryId } from "../contract/shapes.js";
import { subject } from "../engine/drafts.js";
import {
  type Engine,
  type Located,
  locate,
  locateLiving,
  memoryId,
  parseRef,
} from "../engine/engine.js";
import { keptWhole } from "../engine/idempotency.js";
import { ownedRanges } from "../history/fold-erasure.js";
import { decodeAdjacency, decodeMemoryRow } from "../history/pointers.js";
import type { RecordDraft, WriteTx } from "../history/writer.js";
import { SUBJECT } from "../journal/entry.js";
import { EDGE_MEMBER_BYTES, EDGE_STATE, idKey, journalKey, keyString } from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { canonicalKind } from "../records/edge-kinds.js";
import { edgeTreeKey } from "../records/edge-record.js";
import { encodeErasedRecord } from "../records/memory-record.js";
import type { Analyser } from "../text/analyse.js";
import { documentsOf } from "../text/text-erasure.js";
import type { ErasedDocument } from "../text/text-purge.js";
import { memoryNeeds } from "./update.js";

/** Destroys a memory's content for good. */
export async function forget(
  engine: Engine,
  { id, reason: why, cascade = false, by = engine.principal }: Asked<"forget">,
): Promise<ForgetResult> {
  const parsed = parseRef(engine, id, "id");
  const analyser = await engine.text.analyser();
  let documents: ErasedDocument[] = [];
  const { value } = await engine.writer.submit({
    ...memoryNeeds(engine, parsed),
    ranges: parsed.id === undefined ? [] : Object.values(ownedRanges(parsed.id)),
    batch: true,
    again: keptWhole<ForgetResult>(),
    run: (tx) => {
      // It may run more than once: only what the last run saw was erased.
      documents = [];
      const known = locate(tx, parsed);
      if (known?.row.lifecycle === "erased") return alreadyErased(known);
      const found = locateLiving(tx, parsed, "id");
      return forgetAll(engine, tx, found, { why, by, cascade, analyser, documents });
    },
  });
  await engine.text.purge(documents);
  // Also for what was forgotten before: the process may have ended before its vectors were gone.
  const gone = [...new Set([value.id, ...value.erased])].flatMap((id) => parseUlid(id) ?? []);
  await engine.vectors.purge(gone);
  return value;
}

function alreadyErased(found: Located): ForgetResult {
  const { seq } = found.row;
  return { id: memoryId(found.id), seq, erased: [], derived: [], edges: 0 };
}

interface ForgetPlan {
  readonly why: string;
  readonly by: string;
  readonly cascade: boolean;
  readonly analyser: Analyser;
  /** Takes what the text index has to be rid of. */
  readonly documents: ErasedDocument[];
}

function forgetAll(engine: Engine, tx: WriteTx, found: Located, plan: ForgetPlan): ForgetResult {
  const waiting: Located[] = [found];
  const erased = new Map<string, MemoryId>();
  const derived = new Map<string, MemoryId>();
  let edges = 0;
  let seq = found.row.seq;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const name = keyString(next.id);
    if (erased.has(name)) continue;
    const children = derivedFrom(tx, next.id);
    for (const document of documentsOf(tx, plan.analyser, next)) plan.documents.push(document);
    const done = forgetOne(engine, tx, next, plan);
    erased.set(name, memoryId(next.id));
    derived.delete(name);
    edges += done.edges;
    seq = done.seq;
    for (const child of children) {
      if (plan.cascade) waiting.push(child);
      else derived.set(keyString(child.id), memoryId(child.id));
    }
  }
  return {
    id: memoryId(found.id),
    seq,
    erased: [...erased.values()],
    derived: [...derived.values()],
    edges,
  };
}

/** Memories that name this one as what they were made from. */
function derivedFrom(tx: WriteTx, id: Bytes): Located[] {
  const code = canonicalKind("derived_from")?.kind.code ?? 0;
  const rows = tx.view.range(ownedRanges(id).in);
  const ids = rows.flatMap(({ key }) => {
    const member = key.subarray(key.length - EDGE_MEMBER_BYTES);
    const kind = ((member[0] ?? 0) << 8) | (member[1] ?? 0);
    // The byte before the member says whether the edge is live; what was removed derives nothing.
    const isLive = key[key.length - EDGE_MEMBER_BYTES - 1] === EDGE_STATE.live;
    return kind === code && isLive ? [member.subarray(2, 18)] : [];
  });
  tx.view.need(ids.map((child) => idKey("memory", child)));
  return ids.flatMap((child): Located[] => {
    const row = tx.view.get(idKey("memory", child));
    const decoded = row === undefined ? undefined : decodeMemoryRow(row);
    return decoded === undefined || decoded.lifecycle === "erased"
      ? []
      : [{ id: child, row: decoded }];
  });
}

function forgetOne(
  engine: Engine,
  tx: WriteTx,
  found: Located,
  plan: ForgetPlan,
): { readonly seq: number; readonly edges: number } {
  const ranges = ownedRanges(found.id);
  tx.view.need([], Object.values(ranges));
  const adjacent = [...tx.view.range(ranges.out), ...tx.view.range(ranges.in)].map(({ value }) =>
    decodeAdjacency(value),
  );
  tx.view.need(adjacent.map(({ seq }) => journalKey(seq)));
  const keys = new Map<string, Bytes>();
  for (const pointer of adjacent) {
    const key = edgeTreeKey(engine.sha256, tx.fold.records.edge(pointer));
    keys.set(keyString(key), key);
  }
  const parts: RecordDraft[] = [
    {
      subject: subject(SUBJECT.memory, found.id),
      record: encodeErasedRecord(found.row.type),
    },
    ...[...keys.values()].map((key) => ({ subject: subject(SUBJECT.edge, key), record: null })),
    { subject: Uint8Array.of(SUBJECT.store), record: encode(["forget", plan.why]) },
  ];
  const seq = tx.append({ kind: "forget", by: plan.by, parts });
  return { seq, edges: keys.size };
}
