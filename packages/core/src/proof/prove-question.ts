/**
 * What a proof is asked to be about: checking the request, and finding what it names in the store.
 * Nothing is proved here. Lookups are batched: four reads at most, however much is asked.
 *
 * To a caller other than the owner, what it may not see and what does not exist are the same
 * failure. That includes things that could be proved absent or forgotten: if those were proved and
 * hidden ones refused, the refusal would tell.
 */

import { normaliseKind } from "../codec/text.js";
import type { Asked } from "../contract/index.js";
import type { EdgeRef } from "../contract/proof.js";
import { type Engine, findIds, memoryId, type ParsedRef, parseRef } from "../engine/engine.js";
import { CortexError, invalid } from "../errors.js";
import {
  decodeAdjacency,
  decodeEdgeRow,
  decodeMemoryRow,
  type MemoryRow,
  type PartPointer,
} from "../history/pointers.js";
import type { Reader } from "../history/reader.js";
import { type Checkpoint, parseCheckpoint } from "../journal/checkpoint.js";
import { PROOF_ITEMS_MAX } from "../journal/proof.js";
import { EDGE_STATE, edgeKey, idKey, journalKey, keyString, textKey } from "../kv/keyspace.js";
import { type Bytes, compareBytes } from "../kv/kv.js";
import { readableIds } from "../links/adjacency.js";
import { parseEdgeId } from "../links/edges.js";
import { askedKind, canonicalKind } from "../records/edge-kinds.js";
import { edgeTreeKey, farKey } from "../records/edge-record.js";
import { type Access, requireProofs } from "../scope/access.js";
import { type LoadedRows, partAt } from "./state-proofs.js";

/** A checked request. */
export interface ProofQuestion {
  readonly memories: readonly ParsedRef[];
  readonly edges: readonly AskedEdge[];
  /** Ascending, without repeats. */
  readonly seqs: readonly number[];
  readonly since: Checkpoint | undefined;
  readonly access: Access;
}

/** An edge by its id. */
interface EdgeById {
  readonly by: "id";
  readonly id: Bytes;
  readonly text: string;
}

/** An edge by what it joins. */
interface EdgeByEnds {
  readonly by: "ends";
  readonly from: ParsedRef;
  readonly to: ParsedRef;
  /** What the kind may stand under: as it was given, and last its canonical name. */
  readonly names: readonly KindName[];
  readonly n: number;
  readonly text: string;
}

/** A stored name of a kind; an inverse name was given where the ends are stored the other way round. */
interface KindName {
  readonly kind: string;
  readonly swap: boolean;
}

/** An edge that is asked for. */
type AskedEdge = EdgeById | EdgeByEnds;

/** A memory that was looked up: no row when there is none. */
interface FoundSubject {
  readonly id: Bytes;
  readonly row: MemoryRow | undefined;
}

/** An edge that was looked up: its tree key, and where its record lies, if there is one. */
interface FoundEdge {
  readonly key: Bytes;
  readonly pointer: PartPointer | undefined;
}

/** Everything asked for, ascending by id or key, without repeats. */
export interface FoundSubjects {
  readonly memories: readonly FoundSubject[];
  readonly edges: readonly FoundEdge[];
}

/** Checks a request before anything is looked up. */
export function checkRequest(
  engine: Engine,
  { memories = [], edges = [], seqs = [], since, access }: Asked<"prove">,
): ProofQuestion {
  requireProofs(access, "prove");
  const asked = memories.length + edges.length + seqs.length;
  if (asked > PROOF_ITEMS_MAX) {
    throw invalid(
      "memories, edges, seqs",
      `at most ${PROOF_ITEMS_MAX} together`,
      asked,
      "ERR_TOO_LARGE",
    );
  }
  if (asked === 0 && since === undefined) {
    throw invalid("memories, edges, seqs, since", "at least one of them", asked);
  }
  if (seqs.length > 0 && access.kind !== "owner") {
    throw new CortexError("ERR_DENIED", "seqs: expected the owner's access", { field: "seqs" });
  }
  return {
    memories: memories.map((ref, at) => parseRef(engine, ref, `memories[${at}]`)),
    edges: edges.map((edge, at) => askedEdge(engine, edge, `edges[${at}]`)),
    seqs: [...new Set(seqs)].sort((a, b) => a - b),
    since: since === undefined ? undefined : parseCheckpoint(engine.sha256, since),
    access,
  };
}

function askedEdge(engine: Engine, edge: EdgeRef | string, field: string): AskedEdge {
  if (typeof edge === "string") return { by: "id", id: parseEdgeId(edge, field), text: edge };
  const from = parseRef(engine, edge.from, `${field}.from`);
  const to = parseRef(engine, edge.to, `${field}.to`);
  const text = `${from.text} ${edge.kind} ${to.text}`;
  return { by: "ends", from, to, names: kindNames(edge.kind, edge.n), n: edge.n ?? 0, text };
}

/**
 * A loose edge and an edge of an older store keep their kind as it was given. A symmetric one is one edge,
 * whichever end it was written from.
 */
function kindNames(given: string, n = 0): readonly KindName[] {
  const known = askedKind(given);
  const kind = known?.kind.name ?? normaliseKind(given);
  const canonical = { kind, swap: known?.swap === true };
  const isOther = canonicalKind(given) === undefined && given !== kind;
  const isBothWays = known?.kind.symmetric === true && n === 0;
  return [
    ...(isOther ? [{ kind: given, swap: false }] : []),
    ...(isBothWays ? [{ kind, swap: !canonical.swap }] : []),
    canonical,
  ];
}

/** Finds everything a question names; the caller's access has been checked when it returns. */
export async function findSubjects(
  engine: Engine,
  reader: Reader,
  rows: LoadedRows,
  question: ProofQuestion,
): Promise<FoundSubjects> {
  const byEnds = question.edges.filter((edge) => edge.by === "ends");
  const byId = question.edges.filter((edge) => edge.by === "id");
  const refs = [...question.memories, ...byEnds.flatMap(({ from, to }) => [from, to])];
  const ids = await resolveAll(reader, refs);
  const openKinds = byEnds
    .flatMap(({ names }) => names)
    .filter(({ kind }) => canonicalKind(kind) === undefined);
  await rows.load([
    ...ids.map((id) => idKey("memory", id)),
    ...openKinds.map(({ kind }) => textKey("edgeKind", kind)),
    ...byId.map(({ id }) => idKey("edge", id)),
  ]);
  const ends = ids.slice(question.memories.length);
  const places = byEnds.map((edge, at) => placesOf(engine, rows, edge, ends.slice(2 * at)));
  const named = byId.map(({ id, text }) => {
    const row = rows.get(idKey("edge", id));
    if (row === undefined) throw notFound(`edge ${text}`, text);
    return { text, row: decodeEdgeRow(row) };
  });
  await rows.load([
    ...places.flat().flatMap(({ keys }) => keys),
    ...named.map(({ row }) => journalKey(row.seq)),
  ]);
  const memories = question.memories.map((ref, at) => foundMemory(rows, ref, ids[at]));
  const edges = [
    ...places.map((among) => standingAt(rows, among)),
    ...named.map(({ row }) => ({ key: partAt(rows, row).subject.subarray(1), pointer: row })),
  ];
  if (question.access.kind !== "owner") {
    const near = [...ends, ...named.flatMap(({ row }) => [row.from, row.far])];
    await checkVisible(reader, question.access, { memories, edges, near });
  }
  return {
    memories: ascending(memories, ({ id }) => id),
    edges: ascending(edges, ({ key }) => key),
  };
}

/** The ids behind references. One that names nobody is an id all the same, if it is one. */
async function resolveAll(reader: Reader, refs: readonly ParsedRef[]): Promise<readonly Bytes[]> {
  if (refs.length === 0) return [];
  const found = await findIds(reader, refs);
  return refs.map((ref, at) => {
    const id = found[at] ?? ref.id;
    // The tree knows ids only: that a name is unknown cannot be proved from it.
    if (id === undefined) throw notFound(`memory ${ref.text}`, ref.text);
    return id;
  });
}

function foundMemory(rows: LoadedRows, ref: ParsedRef, id: Bytes | undefined): FoundSubject {
  if (id === undefined) throw new Error("every reference has an id by now");
  const bytes = rows.get(idKey("memory", id));
  const row = bytes === undefined ? undefined : decodeMemoryRow(bytes);
  if (ref.version !== undefined && row !== undefined && row.version !== ref.version) {
    throw new CortexError(
      "ERR_CONFLICT",
      `memory ${ref.text} is at version ${row.version} by now; only the present can be proved`,
      { subject: ref.text, expected: String(row.version), got: String(ref.version) },
    );
  }
  return { id, row };
}

/** A tree key that an edge may have, and the rows one of which points at its record. */
interface Place {
  readonly key: Bytes;
  readonly keys: readonly Bytes[];
}

/** Where an edge may stand, by each name of its kind. */
function placesOf(
  engine: Engine,
  rows: LoadedRows,
  { names, n }: EdgeByEnds,
  [near, far]: readonly Bytes[],
): readonly Place[] {
  if (near === undefined || far === undefined) throw new Error("an edge has two ends");
  return names.map(({ kind, swap }) => {
    const [from, to] = swap ? [far, near] : [near, far];
    return placeOf(engine, rows, { from, kind, to, n });
  });
}

function placeOf(
  engine: Engine,
  rows: LoadedRows,
  {
    from,
    kind,
    to,
    n,
  }: { readonly from: Bytes; readonly kind: string; readonly to: Bytes; readonly n: number },
): Place {
  const key = edgeTreeKey(engine.sha256, { from, kind, to, n });
  const code = canonicalKind(kind)?.kind.code ?? openCode(rows, kind);
  if (code === undefined) return { key, keys: [] };
  const place = { from, code, far: farKey(engine.sha256, to), n };
  const states = [EDGE_STATE.live, EDGE_STATE.removed];
  return { key, keys: states.map((state) => edgeKey("out", place, state)) };
}

function openCode(rows: LoadedRows, kind: string): number | undefined {
  const row = rows.get(textKey("edgeKind", kind));
  return row === undefined ? undefined : ((row[0] ?? 0) << 8) | (row[1] ?? 0);
}

/** The edge at the first place where one stands; at the last, that of the canonical name, if none does. */
function standingAt(rows: LoadedRows, places: readonly Place[]): FoundEdge {
  const found = places.map(({ key, keys }) => ({ key, pointer: pointerOf(rows, keys) }));
  const edge = found.find(({ pointer }) => pointer !== undefined) ?? found.at(-1);
  if (edge === undefined) throw new Error("a kind has a name");
  return edge;
}

function pointerOf(rows: LoadedRows, keys: readonly Bytes[]): PartPointer | undefined {
  for (const key of keys) {
    const row = rows.get(key);
    if (row !== undefined) return decodeAdjacency(row);
  }
  return undefined;
}

async function checkVisible(
  reader: Reader,
  access: Access,
  found: FoundSubjects & { readonly near: readonly Bytes[] },
): Promise<void> {
  const ids = [...found.memories.map(({ id }) => id), ...found.near];
  const visible = await readableIds(reader, ids, access);
  const hidden = ids.find((id) => !visible.has(keyString(id)));
  if (hidden !== undefined) throw notFound(`memory ${memoryId(hidden)}`, memoryId(hidden));
  if (found.edges.every(({ pointer }) => pointer !== undefined)) return;
  throw notFound("an edge that was asked for", "edge");
}

function ascending<T>(items: readonly T[], keyOf: (item: T) => Bytes): readonly T[] {
  const unique = new Map(items.map((item) => [keyString(keyOf(item)), item]));
  return [...unique.values()].sort((a, b) => compareBytes(keyOf(a), keyOf(b)));
}

function notFound(what: string, subject: string): CortexError {
  return new CortexError("ERR_NOT_FOUND", `${what} was not found`, { subject });
}
