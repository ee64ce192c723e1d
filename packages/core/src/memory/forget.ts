/**
 * `forget`: the bytes of a memory are gone, and everything that was ever proved about it still
 * verifies. What stays is its id, its type and the seq at which it was erased; the id is never used
 * again. A session, a slot or a tag names many at once: they go in one commit, or a dry run lists them.
 *
 * The reason is kept for whoever administers the store, so it must not repeat the content. Bytes in
 * pages the engine has freed but not overwritten go with `vacuum`.
 */
import { encode } from "../codec/cbor.js";
import { normaliseSlot } from "../codec/text.js";
import { parseUlid } from "../codec/ulid.js";
import { FORGET_BY, type ForgetResult } from "../contract/forget.js";
import type { Asked } from "../contract/index.js";
import type { MemoryId } from "../contract/shapes.js";
import { subject } from "../engine/drafts.js";
import {
  type Engine,
  type Located,
  locate,
  locateLiving,
  memoryId,
  type ParsedRef,
  parseRef,
} from "../engine/engine.js";
import { keptWhole } from "../engine/idempotency.js";
import { ask, memoryLeaf, recordKeys } from "../engine/read-ahead.js";
import { shapeMemory } from "../engine/shapes.js";
import { invalid } from "../errors.js";
import { ownedRanges } from "../history/fold-erasure.js";
import { bodyPointer, decodeAdjacency, decodeMemoryRow } from "../history/pointers.js";
import { Reader } from "../history/reader.js";
import type { RecordDraft, WriteTx } from "../history/writer.js";
import { SUBJECT } from "../journal/entry.js";
import {
  attachedPart,
  EDGE_MEMBER_BYTES,
  EDGE_STATE,
  INDEX,
  idKey,
  indexPrefix,
  journalKey,
  keyString,
  prefixRange,
} from "../kv/keyspace.js";
import type { Bytes, KvRange } from "../kv/kv.js";
import { canonicalKind } from "../records/edge-kinds.js";
import { edgeTreeKey } from "../records/edge-record.js";
import { encodeErasedRecord } from "../records/memory-record.js";
import { LIFECYCLES } from "../records/types.js";
import type { Analyser } from "../text/analyse.js";
import { documentsOf, type ErasedDocument } from "../text/text-purge.js";
import { memoryNeeds } from "./update.js";

/** Most memories that one call forgets by a name: they go in one commit. */
const GROUP_MAX = 1000;

/** What a forget is about: one memory, or all that stand under a name in an index. */
type Meant = { readonly ref: ParsedRef } | { readonly ranges: readonly KvRange[] };

/** Destroys the content of memories for good. */
export async function forget(engine: Engine, asked: Asked<"forget">): Promise<ForgetResult> {
  const { reason: why, cascade = false, dryRun = false, by = engine.principal } = asked;
  const meant = whatIsMeant(engine, asked);
  const analyser = await engine.text.analyser();
  let documents: ErasedDocument[] = [];
  const { value } = await engine.writer.submit({
    ...("ref" in meant ? refNeeds(engine, meant.ref) : { ranges: meant.ranges }),
    batch: true,
    again: keptWhole<ForgetResult>(),
    run: (tx): ForgetResult => {
      // It may run more than once: only what the last run saw was erased.
      documents = [];
      const { found, ...about } = located(tx, meant);
      const plan = { why, by, cascade, dryRun, analyser, documents };
      return { ...about, ...forgetAll(engine, tx, found, plan) };
    },
  });
  if (dryRun)
    return { ...value, erased: [], dryRun, memories: await shownAll(engine, value.erased) };
  await engine.text.purge(documents);
  // Also for what was forgotten before: the process may have ended before its vectors were gone.
  const named = value.id === undefined ? [] : [value.id];
  const gone = [...new Set([...named, ...value.erased])].flatMap((id) => parseUlid(id) ?? []);
  await engine.vectors.purge(gone);
  return value;
}

function whatIsMeant(engine: Engine, asked: Asked<"forget">): Meant {
  const { id, session, slot, tag } = asked;
  const given = FORGET_BY.filter((name) => asked[name] !== undefined);
  if (given.length !== 1) {
    const got = given.length === 0 ? undefined : given.join(", ");
    throw invalid(FORGET_BY.join(", "), "one of them", got);
  }
  if (id !== undefined) return { ref: parseRef(engine, id, "id") };
  if (session !== undefined) return { ranges: rangesOf(INDEX.session, session) };
  if (slot !== undefined) return { ranges: rangesOf(INDEX.slot, normaliseSlot(slot)) };
  return { ranges: rangesOf(INDEX.tag, tag ?? "") };
}

/** Where the members of an index stand under a term: those that show, those of the past, hidden ones. */
function rangesOf(index: number, term: string): readonly KvRange[] {
  return ([LIFECYCLES.active, LIFECYCLES.archived, LIFECYCLES.tombstoned] as const).map(
    ({ code }) =>
      prefixRange(indexPrefix("index", index, code, Buffer.from(term, "utf8")), GROUP_MAX + 1),
  );
}

function refNeeds(engine: Engine, ref: ParsedRef) {
  const ranges = ref.id === undefined ? [] : Object.values(ownedRanges(ref.id));
  return { ...memoryNeeds(engine, ref), ranges };
}

/** The memories that are meant and are still there, and what is to be said of them. */
function located(
  tx: WriteTx,
  meant: Meant,
): { readonly found: readonly Located[]; readonly id?: MemoryId; readonly more?: boolean } {
  if ("ref" in meant) {
    const known = locate(tx, meant.ref);
    const found = known?.row.lifecycle === "erased" ? known : locateLiving(tx, meant.ref, "id");
    return { found: [found], id: memoryId(found.id) };
  }
  const rows = meant.ranges.flatMap((range) => tx.view.range(range));
  // A long turn stands there once for each of its pieces, and each piece is a memory.
  const ids = [
    ...new Map(rows.map(({ key }) => key.subarray(-16)).map((id) => [keyString(id), id])),
  ];
  const taken = ids.slice(0, GROUP_MAX).map(([, id]) => id);
  return { found: living(tx, taken), ...(ids.length > GROUP_MAX ? { more: true } : {}) };
}

/** Of memories by their ids, those that were not forgotten. */
function living(tx: WriteTx, ids: readonly Bytes[]): Located[] {
  tx.view.need(ids.map((id) => idKey("memory", id)));
  return ids.flatMap((id): Located[] => {
    const row = tx.view.get(idKey("memory", id));
    const decoded = row === undefined ? undefined : decodeMemoryRow(row);
    return decoded === undefined || decoded.lifecycle === "erased" ? [] : [{ id, row: decoded }];
  });
}

/** What would be forgotten, as it reads now. */
function shownAll(
  engine: Engine,
  ids: readonly MemoryId[],
): Promise<NonNullable<ForgetResult["memories"]>> {
  const wanted = ids.flatMap((id) => parseUlid(id) ?? []);
  return Reader.with(engine.kv, undefined, async (reader) => {
    const found = await reader.memories(wanted, await reader.memoryRows(wanted));
    return found.flatMap((memory) => {
      if (memory === undefined) return [];
      const { id, type, text } = shapeMemory(engine.actor, memory);
      return [{ id, type, text }];
    });
  });
}

interface ForgetPlan {
  readonly why: string;
  readonly by: string;
  readonly cascade: boolean;
  readonly dryRun: boolean;
  readonly analyser: Analyser;
  /** Takes what the text index has to be rid of. */
  readonly documents: ErasedDocument[];
}

function forgetAll(
  engine: Engine,
  tx: WriteTx,
  found: readonly Located[],
  plan: ForgetPlan,
): Pick<ForgetResult, "seq" | "erased" | "derived" | "edges"> {
  const waiting = found.filter(({ row }) => row.lifecycle !== "erased");
  const erased = new Map<string, MemoryId>();
  const derived = new Map<string, MemoryId>();
  const edges = new Set<string>();
  let seq = found[0]?.row.seq ?? tx.nextSeq() - 1;
  while (waiting.length > 0) {
    // All that wait are read together: each read runs everything before it once more.
    needAll(tx, waiting);
    for (const next of waiting.splice(0)) {
      const name = keyString(next.id);
      if (erased.has(name)) continue;
      const children = derivedFrom(tx, next.id);
      for (const document of documentsOf(tx, plan.analyser, next)) plan.documents.push(document);
      const done = forgetOne(engine, tx, next, plan);
      erased.set(name, memoryId(next.id));
      derived.delete(name);
      for (const edge of done.edges) edges.add(edge);
      seq = done.seq;
      for (const child of children) {
        if (plan.cascade) waiting.push(child);
        else if (!erased.has(keyString(child.id))) {
          derived.set(keyString(child.id), memoryId(child.id));
        }
      }
    }
  }
  return { seq, erased: [...erased.values()], derived: [...derived.values()], edges: edges.size };
}

/** Asks for everything that forgetting memories will read. */
function needAll(tx: WriteTx, waiting: readonly Located[]): void {
  const ranges = waiting.map(({ id }) => ownedRanges(id));
  tx.view.need(
    [],
    ranges.flatMap((one) => Object.values(one)),
  );
  const rowsOf = (names: readonly (keyof ReturnType<typeof ownedRanges>)[]) =>
    ranges.flatMap((one) => names.flatMap((name) => tx.view.range(one[name])));
  const edges = rowsOf(["out", "in", "outClosed", "inClosed"]).map(({ value }) =>
    decodeAdjacency(value),
  );
  const states = [
    ...rowsOf(["history"]).map(({ value }) => decodeMemoryRow(value)),
    ...waiting.map(({ row }) => row),
  ];
  const pointers = [
    ...edges,
    ...states.flatMap((state) => [state, bodyPointer(state)]),
    ...rowsOf(["attachments"]).map(({ key }) => attachedPart(key)),
  ];
  const keys = [
    ...pointers.filter(({ seq }) => seq < tx.head.size).map(({ seq }) => journalKey(seq)),
    ...edges.map(({ id }) => idKey("edge", id)),
    ...waiting.flatMap(({ id }) => recordKeys(tx, id)),
  ];
  ask(tx, keys, { leaves: waiting.map(({ id }) => memoryLeaf(tx, id)) });
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
  return living(tx, ids);
}

function forgetOne(
  engine: Engine,
  tx: WriteTx,
  found: Located,
  plan: ForgetPlan,
): { readonly seq: number; readonly edges: Iterable<string> } {
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
  const seq = plan.dryRun ? tx.nextSeq() - 1 : tx.append({ kind: "forget", by: plan.by, parts });
  return { seq, edges: keys.keys() };
}
