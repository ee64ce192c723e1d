/**
 * The records of a memory, Head and Version, and their bytes inside a journal part.
 *
 * A part about a memory holds its Head and, when the entry brought one, its new Version; a part that
 * changes the Head alone names the hash of the part that holds the current Version instead, so every
 * body stays provable from the root. A field at its default is absent, which keeps a plain memory
 * near the size of its sentence; the defaults below are part of format 1.
 *
 * Pure. What the fields may hold is checked by `data.ts` and `frames.ts` before a record is built.
 */
import { type CborValue, decode, encode, type Fields, fields, isFields } from "../codec/cbor.js";
import { truncateUtf8, utf8Length } from "../codec/text.js";
import { CortexError } from "../errors.js";
import { LIMITS } from "../limits.js";
import { type Data, primaryText } from "./data.js";
import { truncateToTokens } from "./forms.js";
import type { Frame } from "./frames.js";
import {
  FRAME_VERBS,
  LIFECYCLES,
  type Lifecycle,
  MEMORY_TYPES,
  type MemoryType,
  nameOf,
  OBJECT_KINDS,
  SOURCES,
  type Source,
  STATUSES,
  type Status,
  VISIBILITIES,
  type Visibility,
} from "./types.js";

/** The importance of a memory whose writer gave none. */
export const IMPORTANCE_DEFAULT = 5;

/** Why, when and by whom a memory or an edge was hidden. */
export interface Tombstone {
  readonly reason: string;
  readonly at: number;
  readonly by: string;
}

/** A turn's place in its conversation. */
interface TurnPlace {
  readonly session: string;
  readonly index: number;
  /** Number of the chunk of a long turn; 0 for a turn in one piece. */
  readonly chunk: number;
}

/** The mutable side of a memory. A field that is `undefined` is absent. */
export interface Head {
  readonly type: MemoryType;
  /** Number of the current version. */
  readonly version: number;
  readonly lifecycle: Lifecycle;
  readonly visibility: Visibility;
  readonly importance: number;
  readonly tags: readonly string[];
  readonly frames: readonly Frame[];
  readonly status: Status;
  readonly source: Source;
  readonly createdAt: number;
  /** Version numbers of rival heads that an unsettled conflict left open. */
  readonly siblings: readonly number[];
  readonly slot?: string | undefined;
  readonly kind?: string | undefined;
  readonly externalId?: string | undefined;
  readonly freshnessAt?: number | undefined;
  readonly tombstone?: Tombstone | undefined;
  readonly turn?: TurnPlace | undefined;
  /** Marks text that says the same; absent for types that may repeat themselves. */
  readonly fingerprint?: Uint8Array | undefined;
  /** It was given its slot for a time to come, beside the value of today. */
  readonly waits?: true | undefined;
}

/** The two stored renderings of a version. */
export interface Forms {
  readonly short: string;
  readonly medium: string;
}

/** Where a version came from. */
export interface Provenance {
  readonly source: Source;
  readonly derivedFrom: readonly string[];
  readonly attestations: readonly string[];
  readonly session?: string;
  readonly turn?: number;
}

/**
 * What another program knew a version or an edge by before it was imported. The times of a record are
 * those of that program then; when it arrived is what its entry says.
 */
export interface Origin {
  readonly id: string;
  /** The graph it was in. */
  readonly graph: string;
  /** Of an edge, the graph of its far end. */
  readonly toGraph?: string;
  /** Billionths of a second that `createdAt` had beyond its milliseconds. */
  readonly nanos?: number;
  /** The same of `freshnessAt`. */
  readonly freshnessNanos?: number;
}

/** One immutable body of a memory. */
export interface Version {
  readonly number: number;
  readonly data: Data;
  readonly forms: Forms;
  readonly formsOverride: boolean;
  readonly confidence: number;
  readonly provenance: Provenance;
  readonly createdAt: number;
  readonly createdBy: string;
  /** Numbers of the versions this one replaced. */
  readonly supersedes: readonly number[];
  readonly validFrom?: number | undefined;
  readonly validTo?: number | undefined;
  readonly expiresAt?: number | undefined;
  /** Threats that the scanner saw in the text of a source that hands words on. */
  readonly flags?: readonly string[] | undefined;
  readonly origin?: Origin | undefined;
}

/** What one part says about a memory. */
export interface MemoryRecord {
  readonly head: Head;
  readonly version?: Version | undefined;
  /** Hash of the part that holds the current version, when `version` is not here. */
  readonly versionPart?: Uint8Array | undefined;
}

/** What an entry says for all its parts; record fields equal to these are absent. */
interface EntryContext {
  readonly at: number;
  readonly by: string;
}

/** The canonical bytes of a memory's record. */
export function encodeMemoryRecord(record: MemoryRecord, entry: EntryContext): Uint8Array {
  const { head, version } = record;
  return encode(
    fields([
      undefined,
      encodeHead(head, entry),
      version === undefined ? undefined : encodeVersion(version, head, entry),
      record.versionPart,
    ]),
  );
}

/** Reads a memory's record; bytes of another shape are `ERR_CORRUPT`. */
export function decodeMemoryRecord(bytes: Uint8Array, entry: EntryContext): MemoryRecord {
  const record = asFields(decode(bytes), "memory record").at;
  const head = decodeHead(asFields(record[1], "head").at, entry);
  const version = record[2];
  const versionPart = record[3];
  return {
    head,
    version:
      version === undefined
        ? undefined
        : decodeVersion(asFields(version, "version").at, head, entry),
    versionPart: versionPart instanceof Uint8Array ? versionPart : undefined,
  };
}

/** The record that stays of a forgotten memory. */
export function encodeErasedRecord(type: MemoryType): Uint8Array {
  return encode(
    fields([
      undefined,
      fields([undefined, MEMORY_TYPES[type].code, undefined, LIFECYCLES.erased.code]),
    ]),
  );
}

function encodeHead(head: Head, entry: EntryContext): Fields {
  const { tombstone, turn } = head;
  return fields([
    undefined,
    MEMORY_TYPES[head.type].code,
    head.version,
    head.lifecycle === "active" ? undefined : LIFECYCLES[head.lifecycle].code,
    head.visibility === "private" ? undefined : VISIBILITIES[head.visibility].code,
    head.importance === IMPORTANCE_DEFAULT ? undefined : head.importance,
    head.tags.length === 0 ? undefined : head.tags,
    head.frames.length === 0
      ? undefined
      : head.frames.map((f) => [FRAME_VERBS[f.verb].code, OBJECT_KINDS[f.object].code, f.ref]),
    head.slot,
    head.status === "asserted" ? undefined : STATUSES[head.status].code,
    head.source === "user_input" ? undefined : SOURCES[head.source].code,
    head.kind,
    head.externalId,
    head.createdAt === entry.at ? undefined : head.createdAt,
    head.freshnessAt,
    tombstone === undefined ? undefined : [tombstone.reason, tombstone.at, tombstone.by],
    head.siblings.length === 0 ? undefined : head.siblings,
    turn === undefined ? undefined : [turn.session, turn.index, turn.chunk],
    head.fingerprint,
    head.waits,
  ]);
}

function decodeHead(at: readonly (CborValue | undefined)[], entry: EntryContext): Head {
  const type = nameOf(MEMORY_TYPES, at[1], "type");
  const tombstone = at[15];
  const turn = at[17];
  const fingerprint = at[18];
  return {
    type,
    version: int(at[2], 0),
    lifecycle: at[3] === undefined ? "active" : nameOf(LIFECYCLES, at[3], "lifecycle"),
    visibility: at[4] === undefined ? "private" : nameOf(VISIBILITIES, at[4], "visibility"),
    importance: int(at[5], IMPORTANCE_DEFAULT),
    tags: texts(at[6]),
    frames: at[7] === undefined ? [] : list(at[7]).map(decodeFrame),
    status: at[9] === undefined ? "asserted" : nameOf(STATUSES, at[9], "status"),
    source: at[10] === undefined ? "user_input" : nameOf(SOURCES, at[10], "source"),
    createdAt: int(at[13], entry.at),
    siblings: at[16] === undefined ? [] : list(at[16]).map((n) => int(n, 0)),
    slot: maybeText(at[8]),
    kind: maybeText(at[11]),
    externalId: maybeText(at[12]),
    freshnessAt: maybeInt(at[14]),
    tombstone: tombstone === undefined ? undefined : decodeTombstone(tombstone),
    turn: turn === undefined ? undefined : decodeTurn(turn),
    fingerprint: fingerprint instanceof Uint8Array ? fingerprint : undefined,
    waits: at[19] === true ? true : undefined,
  };
}

function encodeVersion(version: Version, head: Head, entry: EntryContext): Fields {
  const { forms, provenance } = version;
  const sentence = primaryText(head.type, version.data);
  const [replaced] = version.supersedes;
  const usual = version.supersedes.length === 1 && replaced === version.number - 1;
  const first = version.supersedes.length === 0 && version.number === 1;
  const { data, rest } = inPieces(version.data);
  return fields([
    undefined,
    version.number,
    data as unknown as CborValue,
    forms.short === cutShort(sentence) ? undefined : forms.short,
    forms.medium === cutMedium(sentence) ? undefined : forms.medium,
    version.confidence === 1 ? undefined : version.confidence,
    provenance.source === head.source ? undefined : SOURCES[provenance.source].code,
    provenance.derivedFrom.length === 0 ? undefined : provenance.derivedFrom,
    provenance.attestations.length === 0 ? undefined : provenance.attestations,
    provenance.session,
    provenance.turn,
    version.validFrom,
    version.validTo,
    version.expiresAt,
    version.createdAt === entry.at ? undefined : version.createdAt,
    version.createdBy === entry.by ? undefined : version.createdBy,
    usual || first ? undefined : version.supersedes,
    version.formsOverride ? true : undefined,
    version.flags === undefined || version.flags.length === 0 ? undefined : version.flags,
    version.origin === undefined ? undefined : encodeOrigin(version.origin),
    rest,
  ]);
}

function decodeVersion(
  at: readonly (CborValue | undefined)[],
  head: Head,
  entry: EntryContext,
): Version {
  const number = int(at[1], 0);
  const data = at[20] === undefined ? (at[2] as unknown as Data) : inOne(at[2], at[20]);
  const sentence = primaryText(head.type, data);
  const supersedes =
    at[16] === undefined ? (number > 1 ? [number - 1] : []) : list(at[16]).map((n) => int(n, 0));
  return {
    number,
    data,
    forms: {
      short: at[3] === undefined ? cutShort(sentence) : text(at[3]),
      medium: at[4] === undefined ? cutMedium(sentence) : text(at[4]),
    },
    formsOverride: at[17] === true,
    confidence: typeof at[5] === "number" ? at[5] : 1,
    provenance: decodeProvenance(at, head),
    createdAt: int(at[14], entry.at),
    createdBy: at[15] === undefined ? entry.by : text(at[15]),
    supersedes,
    validFrom: maybeInt(at[11]),
    validTo: maybeInt(at[12]),
    expiresAt: maybeInt(at[13]),
    flags: at[18] === undefined ? undefined : texts(at[18]),
    origin: at[19] === undefined ? undefined : decodeOrigin(at[19]),
  };
}

function decodeProvenance(at: readonly (CborValue | undefined)[], head: Head): Provenance {
  const source = at[6] === undefined ? head.source : nameOf(SOURCES, at[6], "source");
  const plain = { source, derivedFrom: texts(at[7]), attestations: texts(at[8]) };
  // Spread and joined members cost more than all the rest of a version: see docs/performance.md.
  if (at[9] === undefined && at[10] === undefined) return plain;
  return {
    ...plain,
    ...(at[9] === undefined ? {} : { session: text(at[9]) }),
    ...(at[10] === undefined ? {} : { turn: int(at[10], 0) }),
  };
}

/** Data as it is stored: content that is longer than one text may be stands in pieces. */
function inPieces(data: Data): { readonly data: Data; readonly rest?: readonly string[] } {
  const { content } = data as { readonly content?: unknown };
  // A text of so many characters has no more bytes than the limit, whatever they are.
  if (typeof content !== "string" || content.length * 3 <= LIMITS.contentBytes) return { data };
  const [first = "", ...rest] = piecesOf(content);
  return rest.length === 0 ? { data } : { data: { ...data, content: first } as Data, rest };
}

/** Data as it was given, of the data and the pieces that were stored. */
function inOne(stored: CborValue | undefined, rest: CborValue): Data {
  const data = stored as { readonly content?: CborValue };
  return { ...data, content: [text(data.content), ...texts(rest)].join("") } as unknown as Data;
}

/** Cuts a long text into pieces that each are within the limit of one text. */
export function piecesOf(content: string): string[] {
  if (utf8Length(content) <= LIMITS.contentBytes) return [content];
  const pieces: string[] = [];
  for (let rest = content; rest !== ""; ) {
    const piece = truncateUtf8(rest, LIMITS.contentBytes);
    pieces.push(piece);
    rest = rest.slice(piece.length);
  }
  return pieces;
}

/** The bytes of an origin, as a part of a record. */
export function encodeOrigin(origin: Origin): Fields {
  const { id, graph, toGraph, nanos, freshnessNanos } = origin;
  return fields([id, graph, toGraph, nanos, freshnessNanos]);
}

/** Reads the origin of a version or an edge. */
export function decodeOrigin(value: CborValue): Origin {
  const [id, graph, toGraph, nanos, freshnessNanos] = asFields(value, "origin").at;
  return {
    id: text(id),
    graph: text(graph),
    ...(toGraph === undefined ? {} : { toGraph: text(toGraph) }),
    ...(nanos === undefined ? {} : { nanos: int(nanos, 0) }),
    ...(freshnessNanos === undefined ? {} : { freshnessNanos: int(freshnessNanos, 0) }),
  };
}

/** What a form is when it is absent: the sentence, cut to the form's budget. Fixed by format 1. */
function cutShort(sentence: string): string {
  return truncateToTokens(sentence, LIMITS.formShortTokens);
}

function cutMedium(sentence: string): string {
  return truncateToTokens(sentence, LIMITS.formMediumTokens);
}

function decodeFrame(value: CborValue): Frame {
  const [verb, object, ref] = list(value);
  return {
    verb: nameOf(FRAME_VERBS, verb, "verb"),
    object: nameOf(OBJECT_KINDS, object, "object kind"),
    ref: text(ref),
  };
}

/** Reads the tombstone of a memory or an edge. */
export function decodeTombstone(value: CborValue): Tombstone {
  const [reason, at, by] = list(value);
  return { reason: text(reason), at: int(at, 0), by: text(by) };
}

function decodeTurn(value: CborValue): TurnPlace {
  const [session, index, chunk] = list(value);
  return { session: text(session), index: int(index, 0), chunk: int(chunk, 0) };
}

/** The fields of an integer-keyed map, or `ERR_CORRUPT`. */
export function asFields(value: CborValue | undefined, what: string): Fields {
  if (value !== undefined && isFields(value)) return value;
  throw new CortexError("ERR_CORRUPT", `${what}: expected a map with integer keys`);
}

/** A stored integer, or the default where it is absent. */
export function int(value: CborValue | undefined, fallback: number): number {
  if (value === undefined) return fallback;
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  throw new CortexError("ERR_CORRUPT", "record: expected an integer");
}

/** A stored text. */
export function text(value: CborValue | undefined): string {
  if (typeof value === "string") return value;
  throw new CortexError("ERR_CORRUPT", "record: expected text");
}

/** A stored list. */
export function list(value: CborValue | undefined): readonly CborValue[] {
  if (Array.isArray(value)) return value as readonly CborValue[];
  throw new CortexError("ERR_CORRUPT", "record: expected a list");
}

function maybeText(value: CborValue | undefined): string | undefined {
  return value === undefined ? undefined : text(value);
}

function maybeInt(value: CborValue | undefined): number | undefined {
  return value === undefined ? undefined : int(value, 0);
}

function texts(value: CborValue | undefined): readonly string[] {
  return value === undefined ? [] : (list(value) as readonly string[]);
}
