/**
 * The steps that several verbs build their entries from: the part of a memory, closing a memory that
 * was replaced, minting an edge. Each reads the view and returns parts; none appends. The one entry that
 * is whole, because two verbs write it, is that of memories used: `journalUse`.
 */

import { encode } from "../codec/cbor.js";
import { domainHash } from "../codec/hash.js";
import { concatBytes } from "../codec/keys.js";
import { cutBytes } from "../codec/slab.js";
import { utf8 } from "../codec/text.js";
import { newUlid } from "../codec/ulid.js";
import { CortexError } from "../errors.js";
import { kindCode } from "../history/fold-edges.js";
import {
  decodeAdjacency,
  decodeMemoryRow,
  decodePointer,
  highestVersion,
  type MemoryRow,
  type PartPointer,
} from "../history/pointers.js";
import type { LeafRef } from "../history/trees.js";
import type { RecordDraft, WriteTx } from "../history/writer.js";
import { partRecord, SALT_BYTES, SUBJECT } from "../journal/entry.js";
import {
  EDGE_STATE,
  edgeKey,
  idKey,
  journalKey,
  ownedPrefix,
  prefixRange,
  textKey,
  versionKey,
} from "../kv/keyspace.js";
import type { Bytes } from "../kv/kv.js";
import { canonicalKind, isSymmetric } from "../records/edge-kinds.js";
import {
  type EdgeRecord,
  edgeTreeKey,
  encodeEdgeRecord,
  type FarName,
  farKey,
} from "../records/edge-record.js";
import {
  encodeMemoryRecord,
  type Head,
  type MemoryRecord,
  type Origin,
  type Version,
} from "../records/memory-record.js";
import type { Source } from "../records/types.js";
import { mayReplace } from "../trust/gate.js";
import { type Also, type Engine, type Located, ownSource } from "./engine.js";
import { ask, askEntries } from "./read-ahead.js";

/** The member of an edge's metadata that marks a rival: the slot it claims, or true. */
export const RIVAL = "rival";

/** Bytes of a subject: its tag and the id or key it names. */
export function subject(tag: number, id: Bytes): Uint8Array {
  const bytes = cutBytes(1 + id.length);
  bytes[0] = tag;
  for (let at = 0; at < id.length; at += 1) bytes[1 + at] = id[at] as number;
  return bytes;
}

/** The part that holds a memory's record. */
export function memoryPart(tx: WriteTx, by: string, id: Bytes, record: MemoryRecord): RecordDraft {
  return {
    subject: subject(SUBJECT.memory, id),
    record: encodeMemoryRecord(record, { at: tx.at, by }),
    decoded: record,
  };
}

/** The part of a memory whose Head alone changes. */
export function headPart(tx: WriteTx, by: string, found: Located, head: Head): RecordDraft {
  const versionPart = tx.fold.records.versionPart(found.row);
  return memoryPart(tx, by, found.id, { head, versionPart });
}

/** An earlier part of a memory or an edge, written again byte for byte, so that its leaf is the same. */
export function partAgain(
  tx: WriteTx,
  name: Uint8Array,
  pointer: PartPointer,
  decoded: MemoryRecord | EdgeRecord,
): RecordDraft {
  const again = tx.fold.records.part(pointer);
  return { subject: name, record: partRecord(again.bytes), decoded, again };
}

/** The next version of a memory: the given body under the next number that is free. */
export function nextVersion(
  tx: WriteTx,
  by: string,
  { head, row }: { readonly head: Head; readonly row: MemoryRow },
  body: Omit<Version, "number" | "createdAt" | "createdBy" | "supersedes">,
): Version {
  const open = [head.version, ...head.siblings];
  return {
    ...body,
    number: highestVersion(row) + 1,
    createdAt: tx.at,
    createdBy: by,
    supersedes: [...open].sort((a, b) => a - b),
  };
}

/** Since when a version holds; `undefined` when it had ended before it was written. */
export function heldSince(version: Version, end = version.validTo): number | undefined {
  const { validFrom, createdAt } = version;
  const isOver = end !== undefined && end < createdAt;
  return validFrom ?? (isOver ? undefined : createdAt);
}

/**
 * A memory that another one replaces: archived, its validity closed by a version of the same data, now or
 * when its turn was over.
 */
export function archivePart(
  tx: WriteTx,
  by: string,
  found: Located,
  until = tx.at,
): { readonly part: RecordDraft; readonly version: Version } {
  const head = tx.fold.records.head(found.row);
  const version = tx.fold.records.version(found.row);
  const { waits: _, ...kept } = head;
  const archived: Head = { ...kept, lifecycle: "archived" };
  if (version.validTo !== undefined && version.validTo <= tx.at) {
    return { part: headPart(tx, by, found, archived), version };
  }
  // Closing says when it stopped being true, not when it started: the start is kept.
  const validFrom = version.validFrom ?? version.createdAt;
  const closed = nextVersion(
    tx,
    by,
    { head, row: found.row },
    {
      ...version,
      validFrom,
      validTo: Math.max(until, validFrom),
    },
  );
  const record = { head: { ...archived, version: closed.number, siblings: [] }, version: closed };
  return { part: memoryPart(tx, by, found.id, record), version: closed };
}

/**
 * Versions of a memory by number, in the order asked for; those that are gone are left out. `also`
 * names rows to read in passing.
 */
export function versionsOf(
  tx: WriteTx,
  found: Located,
  numbers: readonly number[],
  also: readonly Bytes[] = [],
): Version[] {
  const { id, row } = found;
  const others = numbers.filter((number) => number !== row.version);
  // Version 1 has no row of its own: it lies where the memory's first row points.
  const first = prefixRange(ownedPrefix("history", id), 1);
  ask(
    tx,
    [...also, ...others.filter((number) => number > 1).map((number) => versionKey(id, number))],
    { ranges: others.includes(1) ? [first] : [] },
  );
  const pointers = numbers.flatMap((number) => {
    if (number === row.version) return [row.body ?? row];
    if (number === 1) return tx.view.range(first).map(({ value }) => decodeMemoryRow(value));
    const pointer = tx.view.get(versionKey(id, number));
    return pointer === undefined ? [] : [decodePointer(pointer)];
  });
  askEntries(tx, pointers);
  return pointers.flatMap((pointer) => tx.fold.records.memory(pointer).version ?? []);
}

/** What an edge is to be, before it has an id and a time. */
export interface EdgeDraft {
  readonly from: Bytes;
  /** The canonical name. */
  readonly kind: string;
  readonly to: Bytes | FarName;
  readonly n?: number;
  readonly source?: Source;
  readonly weight?: number;
  readonly reason?: string;
  readonly strength?: number;
  readonly ordinal?: number;
  readonly metadata?: NonNullable<EdgeRecord["metadata"]>;
  readonly validFrom?: number;
  readonly validTo?: number;
  /** Of an edge that another program made. */
  readonly origin?: Origin;
  readonly createdAt?: number;
  readonly createdBy?: string;
}

/** What became of an edge that was to be added. */
interface MintedEdge {
  readonly edge: EdgeRecord;
  /** What is to be appended, or the entry that left the edge as it is. */
  readonly outcome: { readonly part: RecordDraft } | { readonly seq: number };
}

/** The rows where an edge may stand, live or removed; `undefined` for a kind nobody registered. */
function edgePlaces(
  tx: WriteTx,
  draft: Pick<EdgeDraft, "from" | "kind" | "to" | "n">,
): readonly Bytes[] | undefined {
  const code = kindCode(tx.view, draft.kind);
  if (code === undefined) return undefined;
  const far = farKey(tx.fold.sha256, draft.to);
  const place = { from: draft.from, code, far, n: draft.n ?? 0 };
  return [EDGE_STATE.live, EDGE_STATE.removed].map((state) => edgeKey("out", place, state));
}

/** What tells one edge from others. */
type EdgeName = Pick<EdgeDraft, "from" | "kind" | "to" | "n">;

/** The ways round in which an edge may have been written: one that is symmetric is one edge. */
function waysOf(draft: EdgeName): readonly EdgeName[] {
  const { from, kind, to, n = 0 } = draft;
  const isOneWay = n > 0 || !(to instanceof Uint8Array) || !isSymmetric(kind);
  return isOneWay ? [draft] : [draft, { from: to, kind, to: from }];
}

/** What finding or changing an edge will read, as far as it is known. */
export function edgeNeeds(tx: WriteTx, draft: EdgeName): Also {
  const known = canonicalKind(draft.kind) !== undefined || tx.view.has(kindKey(draft.kind));
  const ways = waysOf(draft);
  const keys = known ? ways.flatMap((way) => edgePlaces(tx, way) ?? []) : [kindKey(draft.kind)];
  return { keys, leaves: [edgeLeaf(tx, draft)] };
}

/** Tells the view that the store holds no such edge, so that it is not read; the commit may hold one. */
export function assumeNoEdge(tx: WriteTx, draft: EdgeName): void {
  for (const way of waysOf(draft)) {
    for (const key of edgePlaces(tx, way) ?? []) tx.view.assumeAbsent(key);
  }
}

function kindKey(name: string): Bytes {
  return textKey("edgeKind", name);
}

/** The leaf of an edge. */
export function edgeLeaf(
  tx: WriteTx,
  draft: Pick<EdgeDraft, "from" | "kind" | "to" | "n">,
): LeafRef {
  return { tree: "edges", key: edgeTreeKey(tx.fold.sha256, { ...draft, n: draft.n ?? 0 }) };
}

/** An edge as it stands, and the entry that left it so. */
export interface FoundEdge {
  readonly edge: EdgeRecord;
  readonly seq: number;
}

/**
 * The edge as it stands, live or removed, whichever way round it was written; none when it never was.
 * Two are found where an older store holds a symmetric one both ways: live ones first.
 */
export function findEdges(tx: WriteTx, draft: EdgeName): readonly FoundEdge[] {
  const found = waysOf(draft).flatMap((way) => edgeAt(tx, way) ?? []);
  const isLive = ({ edge }: FoundEdge) => edge.tombstone === undefined;
  return [...found.filter(isLive), ...found.filter((one) => !isLive(one))];
}

/** The edge that stands exactly so. */
function edgeAt(tx: WriteTx, draft: EdgeName): FoundEdge | undefined {
  if (canonicalKind(draft.kind) === undefined) ask(tx, [kindKey(draft.kind)]);
  const keys = edgePlaces(tx, draft);
  if (keys === undefined) return undefined;
  ask(tx, keys, { leaves: [edgeLeaf(tx, draft)] });
  for (const key of keys) {
    const row = tx.view.get(key);
    if (row === undefined) continue;
    const pointer = decodeAdjacency(row);
    // The fold reads the edge's own row when the edge changes: let it come with the record.
    ask(tx, [
      idKey("edge", pointer.id),
      ...(pointer.seq < tx.head.size ? [journalKey(pointer.seq)] : []),
    ]);
    return { edge: tx.fold.records.edge(pointer), seq: pointer.seq };
  }
  return undefined;
}

/**
 * Adds an edge. A live one gets the reason and the strength that it lacks; a removed one is revived, and
 * so is one whose time in the world is over, where a caller says it anew.
 */
export function mintEdge(
  tx: WriteTx,
  engine: Engine,
  by: string,
  draft: EdgeDraft,
  options: { readonly fresh?: boolean; readonly renews?: boolean } = {},
): MintedEdge {
  // A memory that this entry brings has no edges yet: nothing to look up.
  const before = options.fresh === true ? undefined : standingEdge(tx, draft);
  const isOver = options.renews === true && hasEnded(before?.edge, tx.at);
  if (before !== undefined && before.edge.tombstone === undefined && !isOver) {
    const edge = withEvidence(before.edge, draft, sourceOf(engine, draft));
    if (edge === before.edge) return { edge, outcome: { seq: before.seq } };
    return { edge, outcome: { part: edgePart(tx, engine, by, edge) } };
  }
  const { from, kind, to, n } = before?.edge ?? { ...draft, n: draft.n ?? 0 };
  const edge: EdgeRecord = {
    ...draft,
    from,
    kind,
    to,
    n,
    ...(kind === TENSION && to instanceof Uint8Array ? { asksReview: true } : {}),
    id: before?.edge.id ?? newUlid(tx.at, engine.random),
    source: sourceOf(engine, draft),
    createdAt: draft.createdAt ?? tx.at,
    createdBy: draft.createdBy ?? by,
  };
  if (before === undefined) tx.view.assumeAbsent(idKey("edge", edge.id));
  return { edge, outcome: { part: edgePart(tx, engine, by, edge) } };
}

function hasEnded(edge: EdgeRecord | undefined, at: number): boolean {
  return edge?.validTo !== undefined && edge.validTo <= at;
}

/** Two memories that pull in different directions: worth a review, like a contradiction. */
const TENSION = "contrasts_with";

/** The edge that a draft would add again. A rival's mark has a direction, so its edge is its own. */
function standingEdge(tx: WriteTx, draft: EdgeDraft): FoundEdge | undefined {
  return draft.metadata?.[RIVAL] === undefined ? findEdges(tx, draft)[0] : edgeAt(tx, draft);
}

function sourceOf(engine: Engine, draft: EdgeDraft): Source {
  return draft.source ?? ownSource(engine);
}

/** A live edge with the reason and the strength it lacked; what it says already stays. */
function withEvidence(edge: EdgeRecord, draft: EdgeDraft, source: Source): EdgeRecord {
  const { reason, strength } = draft;
  const more = {
    ...(edge.reason === undefined && reason !== undefined ? { reason } : {}),
    ...(edge.strength === undefined && strength !== undefined ? { strength } : {}),
  };
  // A less trusted source adds no reasons to the edge of a more trusted one.
  const isFree = Object.keys(more).length > 0 && mayReplace(source, edge.source);
  return isFree ? { ...edge, ...more } : edge;
}

/** Adds edges of a memory that the entry brings: each is new, so each has a part. */
export function mintFresh(
  tx: WriteTx,
  engine: Engine,
  by: string,
  drafts: readonly EdgeDraft[],
): RecordDraft[] {
  return drafts.flatMap((draft) => {
    const { outcome } = mintEdge(tx, engine, by, draft, { fresh: true });
    return "part" in outcome ? [outcome.part] : [];
  });
}

/** The part that holds an edge's record. */
export function edgePart(tx: WriteTx, engine: Engine, by: string, edge: EdgeRecord): RecordDraft {
  return {
    subject: subject(SUBJECT.edge, edgeTreeKey(engine.sha256, edge)),
    record: encodeEdgeRecord(edge, { at: tx.at, by }),
    decoded: edge,
  };
}

/** The part that registers an open edge kind under the next free code. */
export function edgeKindPart(code: number, name: string): RecordDraft {
  return {
    subject: subject(SUBJECT.edgeKind, Uint8Array.of(code >> 8, code & 0xff)),
    record: encode([name]),
  };
}

/** Refuses a memory in a state the verb cannot change. */
export function refuseTombstoned(found: Located, field: string, text: string): void {
  if (found.row.lifecycle !== "tombstoned") return;
  throw new CortexError(
    "ERR_TOMBSTONED",
    `${field}: memory ${text} is tombstoned; restore it first`,
    {
      field,
      subject: text,
    },
  );
}

/**
 * Journals which memories were used: those of a late find, or those that an audited recall gave out.
 * Returns the seq, or `undefined` when there is nothing left to journal.
 *
 * Every memory gets a part of its own, which goes when the memory is forgotten. The question itself is
 * kept as a salted hash: whoever knows a question can check that it was asked, and nobody can read it.
 */
export async function journalUse(
  engine: Engine,
  kind: "find_late" | "recall_audit",
  ids: readonly Bytes[],
  question: string,
  by: string,
): Promise<number | undefined> {
  if (ids.length === 0) return undefined;
  const salt = engine.random(SALT_BYTES);
  const mark = concatBytes(salt, domainHash(engine.sha256, "query", salt, utf8(question)));
  const record = encode([kind, mark]);
  const keys = ids.flatMap((id) => [idKey("memory", id), idKey("counter", id)]);
  const { value } = await engine.writer.submit({
    hints: keys,
    bytes: 256 * ids.length,
    run: (tx) => {
      ask(tx, keys);
      // A memory may have been forgotten since it was read; it gets no new part.
      const living = ids.filter((id) => {
        const row = tx.view.get(idKey("memory", id));
        return row !== undefined && decodeMemoryRow(row).lifecycle !== "erased";
      });
      if (living.length === 0) return undefined;
      const parts = living.map((id) => ({ subject: subject(SUBJECT.attachment, id), record }));
      return tx.append({ kind, by, parts });
    },
  });
  return value;
}
