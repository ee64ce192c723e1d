/**
 * Adding, removing and reading edges. Removal is soft: a removed edge stays readable, and adding it
 * again revives it under the same id.
 *
 * Two memories are joined once by each kind, by a symmetric one whichever way round, and both are there; a loose
 * edge stands beside others, may join a memory to itself, and may lead into another graph or to a name that no
 * memory has.
 */

import { parseUlid } from "../codec/ulid.js";
import { importedEdge } from "../contract/imported.js";
import type { Asked } from "../contract/index.js";
import type { EdgeFields, EdgeRemoved, LooseEnd } from "../contract/links.js";
import type { Edge, EdgeResult, Ref } from "../contract/shapes.js";
import {
  assumeNoEdge,
  type EdgeDraft,
  edgeKindPart,
  edgeLeaf,
  edgeNeeds,
  edgePart,
  type FoundEdge,
  findEdges,
  mintEdge,
} from "../engine/drafts.js";
import {
  type Engine,
  edgeId,
  findIds,
  type Located,
  locateAll,
  memoryId,
  type ParsedRef,
  parseRef,
  refKeys,
} from "../engine/engine.js";
import { edgeAgain, edgeResultOf } from "../engine/idempotency.js";
import { ask, askEntries } from "../engine/read-ahead.js";
import { shapeEdge } from "../engine/shapes.js";
import { CortexError, describe, invalid } from "../errors.js";
import { kindCode } from "../history/fold-edges.js";
import { decodeAdjacency, decodeEdgeRow, type PartPointer } from "../history/pointers.js";
import { Reader } from "../history/reader.js";
import type { LeafRef } from "../history/trees.js";
import type { Again, WriteOperation, WriteTx } from "../history/writer.js";
import {
  EDGE_STATE,
  type EdgePlace,
  edgeKey,
  edgePrefix,
  idKey,
  keyString,
  prefixRange,
  textKey,
} from "../kv/keyspace.js";
import { type Bytes, type KvRange, sameBytes } from "../kv/kv.js";
import { LIMITS } from "../limits.js";
import {
  askedKind,
  canonicalKind,
  checkKindText,
  checkOpenKindName,
  OPEN_KIND_CODE_MIN,
  strengthMax,
} from "../records/edge-kinds.js";
import { type EdgeRecord, edgeTreeKey, type FarName, farKey } from "../records/edge-record.js";
import { flatten } from "../records/fence.js";
import { parseWith } from "../records/fields.js";
import type { Source } from "../records/types.js";
import { checkActorName } from "../records/uri.js";
import { edgePointer, edgeRecords, kindCodes, readableIds } from "./adjacency.js";

/** An edge to be, checked. */
interface PreparedEdge {
  readonly from: ParsedRef;
  readonly to: ParsedRef;
  readonly kind: string;
  /** An inverse name was given: the ends are stored the other way round. */
  readonly swap: boolean;
  /** Of a kind of the graph's own, the name as it was given; `kind` is its normal form. */
  readonly open: string | undefined;
  readonly by: string;
  readonly attributes: EdgeAttributes;
  /** Set for a loose edge: the graph it leads to, unless it is this one. */
  readonly loose: LooseEnd | undefined;
}

/** What an edge carries, complete. */
type EdgeAttributes = Pick<
  EdgeRecord,
  "weight" | "reason" | "strength" | "ordinal" | "metadata" | "validFrom" | "validTo"
> & { readonly source?: Source };

/** Joins two memories; nothing happens when they are joined so already. */
export async function addEdge(
  engine: Engine,
  { access: _, ...edge }: Asked<"addEdge">,
): Promise<EdgeResult> {
  const prepared = prepareEdge(engine, edge);
  const { value } = await engine.writer.submit(edgeOperation(engine, prepared));
  return value;
}

/** The operation behind `addEdge`. */
export function edgeOperation(
  engine: Engine,
  prepared: PreparedEdge,
): WriteOperation<EdgeResult> & Required<Pick<WriteOperation<EdgeResult>, "hints" | "leaves">> {
  return {
    hints: [
      ...refKeys(prepared.from),
      ...(prepared.loose?.toGraph === undefined ? refKeys(prepared.to) : []),
      ...openNames(prepared).map((name) => textKey("edgeKind", name)),
      ...identityKeys(engine, prepared),
    ],
    leaves: () => edgeLeaves(engine, prepared),
    again: edgeAgain,
    run: (tx) => applyEdge(engine, tx, prepared),
  };
}

/** An edge as a caller asks for it, checked by its contract. */
interface EdgeRequest extends EdgeFields {
  readonly from: Ref;
  readonly kind: string;
  readonly to: Ref;
  readonly loose?: LooseEnd | undefined;
}

/** Finds out what an edge is to be: which way it is stored, and what it carries. */
export function prepareEdge(engine: Engine, request: EdgeRequest): PreparedEdge {
  const { from, kind: name, to, loose: given, by = engine.principal, ...fields } = request;
  const { kind, swap, open } = checkEdgeKind(name, given !== undefined);
  const loose = given === undefined ? undefined : checkLoose(engine, given);
  if (swap && loose !== undefined) {
    throw invalid("kind", "a kind that is stored with the near end", name, "ERR_EDGE_KIND");
  }
  const [first, second] = [parseRef(engine, from, "from"), parseRef(engine, to, "to")];
  return {
    from: swap ? second : first,
    to: swap ? first : second,
    kind,
    swap,
    open,
    by,
    attributes: attributesOf(kind, fields),
    loose,
  };
}

/** Where a loose edge leads; nothing is said for its own graph. */
function checkLoose(engine: Engine, { toGraph, imported }: LooseEnd): LooseEnd {
  const own =
    imported === undefined ? {} : { imported: parseWith(importedEdge, imported, "imported") };
  if (toGraph === undefined) return own;
  const other = checkActorName(toGraph, "toGraph");
  return other === engine.actor ? own : { ...own, toGraph: other };
}

/** What the record of an edge says that another program made. */
function originOf({ imported }: LooseEnd): Pick<EdgeDraft, "origin" | "createdAt" | "createdBy"> {
  if (imported === undefined) return {};
  const { id, graph, toGraph, nanos = 0, createdAt, createdBy } = imported;
  const fine = nanos === 0 ? {} : { nanos };
  return { origin: { id, graph, toGraph, ...fine }, createdAt, createdBy };
}

/** The kind that a name means; a loose edge keeps its kind as it was given. */
function checkEdgeKind(
  name: string,
  isLoose: boolean,
): Pick<PreparedEdge, "kind" | "swap" | "open"> {
  const canonical = isLoose ? canonicalKind(name) : askedKind(name);
  if (canonical === undefined) {
    const kind = isLoose ? checkKindText(name) : checkOpenKindName(name);
    return { kind, swap: false, open: name };
  }
  if (canonical.kind.mint === "store") {
    throw invalid("kind", "a kind that callers may mint", name, "ERR_EDGE_KIND");
  }
  return { kind: canonical.kind.name, swap: canonical.swap, open: undefined };
}

/** The names that an open kind may stand under: its normal form, and as older stores have it. */
function openNames({ kind, open }: Pick<PreparedEdge, "kind" | "open">): readonly string[] {
  return open === undefined ? [] : [...new Set([kind, open])];
}

/** An edge to be with its kind as the graph knows it: a spelling that stands there already stays. */
function withKnownKind(tx: WriteTx, prepared: PreparedEdge): PreparedEdge {
  const names = openNames(prepared);
  if (names.length < 2) return prepared;
  ask(
    tx,
    names.map((name) => textKey("edgeKind", name)),
  );
  const known = names.find((name) => kindCode(tx.view, name) !== undefined);
  return known === undefined ? prepared : { ...prepared, kind: known };
}

function attributesOf(kind: string, given: Omit<EdgeFields, "by">): EdgeAttributes {
  const { reason, strength, ...rest } = given;
  const fields = {
    ...rest,
    ...(reason === undefined ? {} : { reason: flatten(reason) }),
    ...(strength === undefined ? {} : { strength: Math.min(strength, strengthMax(kind)) }),
  };
  const { validFrom, validTo } = fields;
  if (validFrom !== undefined && validTo !== undefined && validTo < validFrom) {
    throw invalid("validTo", "a time not before validFrom", validTo);
  }
  const said = Object.entries(fields).filter(([, value]) => value !== undefined);
  // Minus zero is zero.
  return Object.fromEntries(
    said.map(([name, value]) => [name, typeof value === "number" ? value + 0 : value]),
  ) as EdgeAttributes;
}

/** Where the edge would stand, when both ends are given by id: its rows can be read ahead. */
function identityKeys(engine: Engine, prepared: PreparedEdge): Bytes[] {
  const { from, to, kind, open, loose } = prepared;
  if (loose !== undefined) return [];
  const known = open === undefined ? canonicalKind(kind)?.kind : undefined;
  if (known === undefined || from.id === undefined || to.id === undefined) return [];
  const ways = known.symmetric ? [[from.id, to.id] as const, [to.id, from.id] as const] : [];
  return (ways.length > 0 ? ways : [[from.id, to.id] as const]).flatMap(([near, far]) => {
    const place = { from: near, code: known.code, far: farKey(engine.sha256, far), n: 0 };
    return [edgeKey("out", place, EDGE_STATE.live), edgeKey("out", place, EDGE_STATE.removed)];
  });
}

function edgeLeaves(engine: Engine, prepared: PreparedEdge): readonly LeafRef[] {
  const { from, to, kind, loose } = prepared;
  if (loose !== undefined) return [];
  if (from.id === undefined || to.id === undefined) return [];
  return [
    { tree: "edges", key: edgeTreeKey(engine.sha256, { from: from.id, kind, to: to.id, n: 0 }) },
  ];
}

/** Applies an edge inside a commit; `newIds` are those of memories that the commit itself brings. */
export function applyEdge(
  engine: Engine,
  tx: WriteTx,
  given: PreparedEdge,
  newIds: ReadonlySet<string> = NO_IDS,
): EdgeResult {
  const prepared = withKnownKind(tx, given);
  const { kind, by } = prepared;
  const isLoose = prepared.loose !== undefined;
  const { from, to } = endpoints(tx, prepared);
  if (!isLoose && sameBytes(from, to as Bytes)) {
    throw new CortexError("ERR_SELF_EDGE", "to: expected another memory than from, got the same", {
      field: "to",
    });
  }
  const isNewKind = prepared.open !== undefined && registerKind(tx, by, kind);
  const beside = isLoose && !isNewKind ? edgesBeside(tx, { from, kind, to }, prepared.loose) : [];
  const known = edgeOfOrigin(tx, beside, prepared.loose?.imported?.id);
  if (known !== undefined) {
    const { edge, seq } = known;
    return { id: edgeId(edge.id), edge: shapeEdge(edge, seq), changed: false, seq };
  }
  const n = beside.reduce((next, one) => Math.max(next, one.n + 1), 0);
  const draft = { from, kind, to, n, ...prepared.attributes, ...originOf(prepared.loose ?? {}) };
  // No edge of a new kind or a new memory is in the store: there is nothing to read.
  const ends = [from, ...(to instanceof Uint8Array ? [to] : [])];
  if (isNewKind || ends.some((end) => newIds.has(memoryId(end)))) assumeNoEdge(tx, draft);
  const { edge, outcome } = mintEdge(tx, engine, by, draft, {
    fresh: isLoose,
    renews: draft.validTo === undefined || draft.validTo > tx.at,
  });
  if (kind === THEMATIC && !isLoose && "part" in outcome) refuseCrowd(tx, edge, ends);
  const id = edgeId(edge.id);
  if ("seq" in outcome) {
    return { id, edge: shapeEdge(edge, outcome.seq), changed: false, seq: outcome.seq };
  }
  const seq = tx.append({ kind: "add_edge", by, parts: [outcome.part] });
  return { id, edge: shapeEdge(edge, seq), changed: true, seq };
}

/** Edges of a kind between two ends among which one that another program made is looked for. */
const BESIDE_IMPORTED = 1000;

/** An edge that stands where another is to be. */
interface EdgeBeside extends PartPointer {
  readonly n: number;
}

/** Where the edges of a kind between two ends stand; nowhere for a kind that nobody used. */
function besideRanges(
  tx: WriteTx,
  draft: Pick<EdgeDraft, "from" | "kind" | "to">,
  loose: LooseEnd | undefined,
): readonly KvRange[] {
  const code = kindCode(tx.view, draft.kind);
  if (code === undefined) return [];
  const far = farKey(tx.fold.sha256, draft.to);
  const most = loose?.imported === undefined ? 1 : BESIDE_IMPORTED;
  return [EDGE_STATE.live, EDGE_STATE.removed].map((state) => {
    const prefix = Buffer.concat([edgePrefix("edgeOut", draft.from, state, code), far]);
    return prefixRange(prefix, most, true);
  });
}

/** The edges of a kind between two ends, removed ones counted: the last alone unless one is looked for. */
function edgesBeside(
  tx: WriteTx,
  draft: Pick<EdgeDraft, "from" | "kind" | "to">,
  loose: LooseEnd | undefined,
): readonly EdgeBeside[] {
  const ranges = besideRanges(tx, draft, loose);
  if (ranges.length === 0) return [];
  ask(tx, [], { ranges, leaves: [edgeLeaf(tx, draft)] });
  return ranges.flatMap((range) =>
    tx.view.range(range).map(({ key, value }) => ({
      ...decodeAdjacency(value),
      n: Buffer.from(key).readUInt32BE(key.length - 4),
    })),
  );
}

/** The edge that another program knew by an id: two imports at once bring it in once. */
function edgeOfOrigin(
  tx: WriteTx,
  beside: readonly EdgeBeside[],
  id: string | undefined,
): FoundEdge | undefined {
  if (id === undefined || beside.length === 0) return undefined;
  askEntries(tx, beside);
  return beside
    .map((pointer) => ({ edge: tx.fold.records.edge(pointer), seq: pointer.seq }))
    .find(({ edge }) => edge.origin?.id === id);
}

const NO_IDS: ReadonlySet<string> = new Set();

const THEMATIC = "same_topic";
const THEMATIC_CODE = canonicalKind(THEMATIC)?.kind.code ?? 0;

/** Refuses one thematic edge too many: a subject that many memories share says little about any. */
function refuseCrowd(tx: WriteTx, edge: EdgeRecord, ends: readonly Bytes[]): void {
  const most = LIMITS.sameTopicEdges;
  const rangesOf = (end: Bytes) =>
    (["edgeOut", "edgeIn"] as const).map((side) =>
      prefixRange(edgePrefix(side, end, EDGE_STATE.live, THEMATIC_CODE), most + 1),
    );
  ask(tx, [], { ranges: ends.flatMap(rangesOf) });
  for (const end of ends) {
    const others = rangesOf(end)
      .flatMap((range) => tx.view.range(range))
      .filter(({ value }) => keyString(decodeAdjacency(value).id) !== keyString(edge.id));
    if (others.length < most) continue;
    throw new CortexError(
      "ERR_EDGE_KIND",
      `kind: a memory may have ${most} edges of kind ${THEMATIC}, got one more at ${memoryId(end)}`,
      { field: "kind", subject: memoryId(end) },
    );
  }
}

/** Both ends of an edge to be, found in the same reads. */
function endpoints(
  tx: WriteTx,
  prepared: PreparedEdge,
): { readonly from: Bytes; readonly to: Bytes | FarName } {
  const { from, to, swap, loose } = prepared;
  const [near, far] = locateEnds(tx, prepared);
  const start = endpoint(near, from, swap ? "to" : "from");
  const isThere = far !== undefined && far.row.lifecycle !== "erased";
  if (loose !== undefined && !isThere) {
    return { from: start, to: { graph: loose.toGraph ?? "", name: to.text } };
  }
  return { from: start, to: endpoint(far, to, swap ? "from" : "to") };
}

function locateEnds(
  tx: WriteTx,
  { from, to, kind, loose }: PreparedEdge,
): readonly (Located | undefined)[] {
  const refs = loose?.toGraph === undefined ? [from, to] : [from];
  return locateAll(tx, refs, ([near, far]) => {
    if (near === undefined || (far === undefined && loose === undefined)) return NO_NEEDS;
    if (loose === undefined) return edgeNeeds(tx, { from: near, kind, to: far ?? near });
    // Most ends are there: one that was forgotten is a name again, and then this is asked for anew.
    const draft = { from: near, kind, to: far ?? { graph: loose.toGraph ?? "", name: to.text } };
    return { keys: [], leaves: [edgeLeaf(tx, draft)], ranges: besideRanges(tx, draft, loose) };
  });
}

const NO_NEEDS = { keys: [], leaves: [] } as const;

/** The id of an end that must be there. */
function endpoint(found: Located | undefined, ref: ParsedRef, field: string): Bytes {
  if (found === undefined || found.row.lifecycle === "erased") {
    throw new CortexError(
      "ERR_UNKNOWN_ENDPOINT",
      `${field}: expected a memory, got ${describe(ref.text)}, which names none`,
      { field, subject: ref.text },
    );
  }
  return found.id;
}

/** Journals the first use of an open kind; false when it is known already. */
function registerKind(tx: WriteTx, by: string, name: string): boolean {
  ask(tx, [textKey("edgeKind", name)]);
  if (kindCode(tx.view, name) !== undefined) return false;
  const count = tx.fold.counts.openEdgeKinds;
  if (count >= LIMITS.edgeKinds) {
    throw new CortexError(
      "ERR_EDGE_KIND",
      `kind: a graph may have ${LIMITS.edgeKinds} kinds of its own, got one more: ${JSON.stringify(name)}`,
      { field: "kind" },
    );
  }
  tx.append({
    kind: "register_edge_kind",
    by,
    parts: [edgeKindPart(OPEN_KIND_CODE_MIN + count, name)],
  });
  return true;
}

/** Removes an edge softly; a missing or removed one is left as it is. */
export async function removeEdge(
  engine: Engine,
  { from, kind, to, reason = "", by = engine.principal }: Asked<"removeEdge">,
): Promise<EdgeRemoved> {
  const given = prepareEdge(engine, { from, kind, to });
  const { hints, leaves } = edgeOperation(engine, given);
  const { value } = await engine.writer.submit({
    hints,
    leaves,
    again: removalAgain,
    run: (tx) => {
      const prepared = withKnownKind(tx, given);
      const [near, far] = locateEnds(tx, prepared);
      const found =
        near === undefined || far === undefined
          ? []
          : findEdges(tx, { from: near.id, kind: prepared.kind, to: far.id });
      return dropEdges(engine, tx, found, { reason, by });
    },
  });
  return value;
}

/** Removes an edge by its id; `ERR_NOT_FOUND` when there is none. */
export async function removeEdgeById(
  engine: Engine,
  { id, reason = "", by = engine.principal }: Asked<"removeEdgeById">,
): Promise<EdgeRemoved> {
  const bytes = parseEdgeId(id);
  const { value } = await engine.writer.submit({
    hints: [idKey("edge", bytes)],
    again: removalAgain,
    run: (tx) => {
      const row = tx.view.get(idKey("edge", bytes));
      if (row === undefined) {
        throw new CortexError("ERR_NOT_FOUND", `id: no edge ${id}`, { field: "id", subject: id });
      }
      const pointer = decodeEdgeRow(row);
      askEntries(tx, [pointer]);
      const found = { edge: tx.fold.records.edge(pointer), seq: pointer.seq };
      return dropEdges(engine, tx, [found], { reason, by });
    },
  });
  return value;
}

/** How a removal is told again; the edge itself only while it is there. */
const removalAgain: Again<EdgeRemoved> = {
  tell: (_tx, first) => {
    const { edge } = edgeResultOf(first) ?? {};
    return { changed: true, seq: first.header.seq, ...(edge === undefined ? {} : { edge }) };
  },
};

/** Removes what is still there of an edge; of a symmetric one, both ways that an older store may hold. */
function dropEdges(
  engine: Engine,
  tx: WriteTx,
  found: readonly FoundEdge[],
  why: { readonly reason: string; readonly by: string },
): EdgeRemoved {
  const [first] = found;
  if (first === undefined) return { changed: false, seq: tx.nextSeq() - 1 };
  if (first.edge.tombstone !== undefined) {
    return { changed: false, seq: first.seq, edge: shapeEdge(first.edge, first.seq) };
  }
  const { reason, by } = why;
  const tombstone = { reason: flatten(reason), at: tx.at, by };
  const live = found.filter(({ edge }) => edge.tombstone === undefined);
  const gone = live.map(({ edge }) => ({ ...edge, tombstone }));
  const parts = gone.map((edge) => edgePart(tx, engine, by, edge));
  const seq = tx.append({ kind: "remove_edge", by, parts });
  return { changed: true, seq, edge: shapeEdge(gone[0] ?? first.edge, seq) };
}

/** One edge by its ends and kind, removed ones included; `undefined` when it never was. */
export async function getEdge(
  engine: Engine,
  { from, kind, to, asOf, access }: Asked<"getEdge">,
): Promise<Edge | undefined> {
  const canonical = askedKind(kind);
  if (canonical === undefined) checkOpenKindName(kind);
  const refs = [parseRef(engine, from, "from"), parseRef(engine, to, "to")];
  return Reader.with(engine.kv, asOf, async (reader) => {
    const [near, far] = await findIds(reader, refs);
    if (near === undefined || far === undefined) return undefined;
    const visible = await readableIds(reader, [near, far], access);
    if (visible.size < 2) return undefined;
    const { plain, swapped } = await kindCodes(reader, [kind]);
    const backwards = canonical?.kind.symmetric === true ? plain : swapped;
    const place = (from: Bytes, code: number, to: Bytes) => ({
      ...{ from, code, n: 0 },
      far: farKey(engine.sha256, to),
    });
    return edgeAmong(reader, [
      ...plain.map((code) => place(near, code, far)),
      ...backwards.map((code) => place(far, code, near)),
    ]);
  });
}

/** The edge that stands at one of several places: a live one before a removed one. */
async function edgeAmong(reader: Reader, places: readonly EdgePlace[]): Promise<Edge | undefined> {
  const pointers = await Promise.all(places.map((place) => edgePointer(reader, place)));
  const found = await edgeRecords(
    reader,
    pointers.flatMap((pointer) => pointer ?? []),
  );
  const best = found.find(({ record }) => record.tombstone === undefined) ?? found[0];
  return best === undefined ? undefined : shapeEdge(best.record, best.header.seq);
}

/** The bytes of an edge's id. */
export function parseEdgeId(id: string, field = "id"): Bytes {
  const bytes = parseUlid(id);
  if (bytes === undefined) throw invalid(field, "an edge id of 26 characters", id, "ERR_BAD_ID");
  return bytes;
}
