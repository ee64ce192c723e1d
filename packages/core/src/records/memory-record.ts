/**
 * The records of a memory, Head and Version, their bytes inside a journal part, and how callers see them.
 *
 * A part about a memory holds its Head and, when the entry brought one, its new Version; a part that
 * changes the Head alone names the hash of the part that holds the current Version instead, so every
 * body stays provable from the root. A field at its default is absent, which keeps a plain memory
 * near the size of its sentence: at a constant, or at what the entry says that first held the part. The defaults
 * below are part of format 1.
 *
 * Pure, and without a schema library: the verifier reads bytes with this file that nobody has vouched for, so
 * reading trusts none of them. What the fields may hold is checked by `data.ts` and `frames.ts` before a record is
 * built.
 */
import {
  type CborValue,
  decodeNext,
  encode,
  type Fields,
  fields,
  nextKey,
  openFields,
  readFieldsInto,
  readWithin,
  uintBytes,
} from "../codec/cbor.js";
import {
  readBytesOf,
  readInteger,
  readIntegerOr,
  readList,
  readMap,
  readObject,
  readText,
  readTexts,
  stableText,
} from "../codec/cbor-value.js";
import { HASH_BYTES } from "../codec/hash.js";
import { cutToBytes, truncateUtf8, utf8Length } from "../codec/text.js";
import { type CortexError, invalid } from "../errors.js";
import type { PartContext } from "../journal/entry.js";
import { LIMITS } from "../limits.js";
import type { Data } from "./data.js";
import type { Frame } from "./frames.js";
import {
  FRAME_VERBS,
  LIFECYCLES,
  type Lifecycle,
  MEMORY_TYPES,
  type MemoryType,
  nameOf,
  namesOf,
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

/** The canonical bytes of a memory's record. */
export function encodeMemoryRecord(record: MemoryRecord, entry: PartContext): Uint8Array {
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
export function decodeMemoryRecord(bytes: Uint8Array, entry: PartContext): MemoryRecord {
  return memoryRecordWithin(bytes, 0, bytes.length, entry);
}

/** The same of the bytes from `start` to `end`. */
export function memoryRecordWithin(
  bytes: Uint8Array,
  start: number,
  end: number,
  entry: PartContext,
): MemoryRecord {
  return readWithin(bytes, start, end, readMemoryRecord, entry);
}

/** Members of a head and of a version while they are read: lists of their own were a fifth of a read's garbage. */
const HEAD_MEMBERS: (CborValue | undefined)[] = new Array<undefined>(20).fill(undefined);
const VERSION_MEMBERS: (CborValue | undefined)[] = new Array<undefined>(21).fill(undefined);

function readMemoryRecord(entry: PartContext): MemoryRecord {
  let head: Head | undefined;
  let version: Version | undefined;
  let versionPart: Uint8Array | undefined;
  let key = -1;
  let left = openFields(0);
  if (left < 0) throw noFields("memory record");
  for (; left > 0; left -= 1) {
    key = nextKey(key);
    if (key === 1) {
      if (!readFieldsInto(HEAD_MEMBERS, 1)) throw noFields("head");
      head = decodeHead(HEAD_MEMBERS, entry);
    } else if (key === 2 && head !== undefined) {
      if (!readFieldsInto(VERSION_MEMBERS, 1)) throw noFields("version");
      version = decodeVersion(VERSION_MEMBERS, head, entry);
    } else if (key === 3) {
      versionPart = readBytesOf(decodeNext(1), HASH_BYTES, "the hash of a version's part");
    } else decodeNext(1);
  }
  if (head === undefined) throw noFields("head");
  return { head, version, versionPart };
}

function noFields(what: string): CortexError {
  return invalid(what, "a map with integer keys", "something else", "ERR_CORRUPT");
}

/**
 * Who may see the memory of a record that begins at `at`, read where it stands: whoever looks for what it may
 * see passes by all the rest. `undefined` where the bytes are not the usual ones.
 */
export function visibilityAt(bytes: Uint8Array, at: number): Visibility | undefined {
  // A record opens with its map, the key 1 and the map of the head.
  let left = (bytes[at + 2] ?? 0) - MAP;
  const isRecord = (bytes[at] ?? 0) - MAP <= 3 && bytes[at + 1] === 1 && left >= 2 && left <= 20;
  if (!isRecord || bytes[at + 3] !== 1) return undefined;
  let next = at + 3;
  // Type, version and, unless it is active, lifecycle stand before visibility.
  while (left > 0 && (bytes[next] ?? 0) < 4) {
    next += 1 + uintBytes(bytes, next + 1);
    left -= 1;
  }
  if (left === 0 || bytes[next] !== 4) return "private";
  const code = bytes[next + 1];
  return VISIBILITY_NAMES.find((name) => VISIBILITIES[name].code === code);
}

/** How CBOR opens a map of few. */
const MAP = 0xa0;
const VISIBILITY_NAMES = namesOf(VISIBILITIES);

/** The members of a record; an optional one is there or not, and never `undefined`. */
type Shown<T> = { readonly [K in keyof T]: Exclude<T[K], undefined> };
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A head as callers see it. */
export interface ShownHead extends Shown<Omit<Head, "type" | "turn" | "fingerprint">> {
  readonly updatedAt: number;
}

interface ShownVersion extends Shown<Omit<Version, "data" | "formsOverride">> {
  readonly seq: number;
}

/** A head as callers see it, with the time of the entry that left it so; what is absent is not there. */
export function shownHead(head: Head, updatedAt: number): ShownHead {
  const shown: Writable<ShownHead> = {
    lifecycle: head.lifecycle,
    status: head.status,
    visibility: head.visibility,
    importance: head.importance,
    source: head.source,
    tags: head.tags,
    frames: head.frames,
    createdAt: head.createdAt,
    updatedAt,
    version: head.version,
    siblings: head.siblings,
  };
  if (head.slot !== undefined) shown.slot = head.slot;
  if (head.kind !== undefined) shown.kind = head.kind;
  if (head.externalId !== undefined) shown.externalId = head.externalId;
  if (head.freshnessAt !== undefined) shown.freshnessAt = head.freshnessAt;
  if (head.tombstone !== undefined) shown.tombstone = head.tombstone;
  if (head.waits !== undefined) shown.waits = head.waits;
  return shown;
}

/** A version as callers see it, with the entry that brought it; what is absent is not there. */
export function shownVersion(version: Version, seq: number): ShownVersion {
  const shown: Writable<ShownVersion> = {
    number: version.number,
    createdAt: version.createdAt,
    createdBy: version.createdBy,
    confidence: version.confidence,
    provenance: version.provenance,
    forms: version.forms,
    supersedes: version.supersedes,
    seq,
  };
  if (version.validFrom !== undefined) shown.validFrom = version.validFrom;
  if (version.validTo !== undefined) shown.validTo = version.validTo;
  if (version.expiresAt !== undefined) shown.expiresAt = version.expiresAt;
  if (version.flags !== undefined) shown.flags = version.flags;
  if (version.origin !== undefined) shown.origin = version.origin;
  return shown;
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

function encodeHead(head: Head, entry: PartContext): Fields {
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

function decodeHead(at: readonly (CborValue | undefined)[], entry: PartContext): Head {
  const type = nameOf(MEMORY_TYPES, at[1], "type");
  const tombstone = at[15];
  const turn = at[17];
  const fingerprint = at[18];
  return {
    type,
    version: readIntegerOr(at[2], 0),
    lifecycle: at[3] === undefined ? "active" : nameOf(LIFECYCLES, at[3], "lifecycle"),
    visibility: at[4] === undefined ? "private" : nameOf(VISIBILITIES, at[4], "visibility"),
    importance: readIntegerOr(at[5], IMPORTANCE_DEFAULT),
    tags: readTexts(at[6]),
    frames: at[7] === undefined ? [] : readList(at[7]).map(decodeFrame),
    status: at[9] === undefined ? "asserted" : nameOf(STATUSES, at[9], "status"),
    source: at[10] === undefined ? "user_input" : nameOf(SOURCES, at[10], "source"),
    createdAt: readIntegerOr(at[13], entry.at),
    siblings: at[16] === undefined ? [] : readList(at[16]).map((n) => readInteger(n)),
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

function encodeVersion(version: Version, head: Head, entry: PartContext): Fields {
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
  entry: PartContext,
): Version {
  const number = readIntegerOr(at[1], 0);
  const given = readObject(at[2], "the data of a version");
  const data = (at[20] === undefined ? given : inOne(given, at[20])) as unknown as Data;
  const sentence = primaryText(head.type, data);
  const supersedes =
    at[16] === undefined
      ? number > 1
        ? [number - 1]
        : []
      : readList(at[16]).map((n) => readInteger(n));
  return {
    number,
    data,
    forms: {
      short: at[3] === undefined ? cutShort(sentence) : readText(at[3]),
      medium: at[4] === undefined ? cutMedium(sentence) : readText(at[4]),
    },
    formsOverride: at[17] === true,
    confidence: typeof at[5] === "number" ? at[5] : 1,
    provenance: decodeProvenance(at, head),
    createdAt: readIntegerOr(at[14], entry.at),
    createdBy: at[15] === undefined ? entry.by : readText(at[15]),
    supersedes,
    validFrom: maybeInt(at[11]),
    validTo: maybeInt(at[12]),
    expiresAt: maybeInt(at[13]),
    flags: at[18] === undefined ? undefined : readTexts(at[18]),
    origin: at[19] === undefined ? undefined : decodeOrigin(at[19]),
  };
}

function decodeProvenance(at: readonly (CborValue | undefined)[], head: Head): Provenance {
  const source = at[6] === undefined ? head.source : nameOf(SOURCES, at[6], "source");
  const plain = { source, derivedFrom: readTexts(at[7]), attestations: readTexts(at[8]) };
  // Spread and joined members cost more than all the rest of a version: see docs/performance.md.
  if (at[9] === undefined && at[10] === undefined) return plain;
  return {
    ...plain,
    ...(at[9] === undefined ? {} : { session: readText(at[9]) }),
    ...(at[10] === undefined ? {} : { turn: readIntegerOr(at[10], 0) }),
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
function inOne(data: { readonly [name: string]: CborValue }, rest: CborValue): object {
  return { ...data, content: [readText(data.content), ...readTexts(rest)].join("") };
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
  const [id, graph, toGraph, nanos, freshnessNanos] = readMap(value, "origin");
  return {
    id: readText(id),
    graph: readText(graph),
    ...(toGraph === undefined ? {} : { toGraph: readText(toGraph) }),
    ...(nanos === undefined ? {} : { nanos: readIntegerOr(nanos, 0) }),
    ...(freshnessNanos === undefined ? {} : { freshnessNanos: readIntegerOr(freshnessNanos, 0) }),
  };
}

/** Where a type keeps its own words, first choice first. */
const OWN_WORDS: { readonly [T in MemoryType]?: readonly string[] } = {
  identity: ["statement", "name"],
  event: ["statement", "summary"],
  artifact: ["title", "uri"],
};

/** What speaks for a memory without words of its own. */
const SPEAKING_FIELDS: { readonly [T in MemoryType]?: readonly string[] } = {
  fact: ["subject", "predicate", "object"],
  preference: ["polarity", "topic", "value"],
  event: ["kind", "counterparty", "outcome"],
  capability: ["subject", "capability"],
};

/**
 * What a memory is known by: its own sentence; where it has none, what stands for one (a name, a summary, an address),
 * or else its structured fields joined by spaces.
 *
 * Records leave out a form that equals this text, so it is part of the stored format: it may depend
 * on nothing but the data, and may never change.
 */
export function primaryText(type: MemoryType, of: object): string {
  const data = of as { readonly [name: string]: CborValue };
  if (type === "note") {
    const { content, summary } = data;
    return String((content === "" && summary !== undefined ? summary : content) ?? "");
  }
  for (const name of OWN_WORDS[type] ?? ["statement"]) {
    if (data[name] !== undefined) return String(data[name]);
  }
  return (SPEAKING_FIELDS[type] ?? [])
    .map((name) => data[name])
    .filter((value) => value !== undefined)
    .map((value) => (typeof value === "string" ? value : stableText(value)))
    .join(" ");
}

/** What the short form is when it is absent: the sentence, cut to the form's budget. Fixed by format 1. */
export function cutShort(sentence: string): string {
  return cutToBytes(sentence, LIMITS.formShortTokens * LIMITS.bytesPerToken);
}

/** The same of the medium form. */
export function cutMedium(sentence: string): string {
  return cutToBytes(sentence, LIMITS.formMediumTokens * LIMITS.bytesPerToken);
}

function decodeFrame(value: CborValue): Frame {
  const [verb, object, ref] = readList(value);
  return {
    verb: nameOf(FRAME_VERBS, verb, "verb"),
    object: nameOf(OBJECT_KINDS, object, "object kind"),
    ref: readText(ref),
  };
}

/** Reads the tombstone of a memory or an edge. */
export function decodeTombstone(value: CborValue): Tombstone {
  const [reason, at, by] = readList(value);
  return { reason: readText(reason), at: readIntegerOr(at, 0), by: readText(by) };
}

function decodeTurn(value: CborValue): TurnPlace {
  const [session, index, chunk] = readList(value);
  return {
    session: readText(session),
    index: readIntegerOr(index, 0),
    chunk: readIntegerOr(chunk, 0),
  };
}

function maybeText(value: CborValue | undefined): string | undefined {
  return value === undefined ? undefined : readText(value);
}

function maybeInt(value: CborValue | undefined): number | undefined {
  return value === undefined ? undefined : readInteger(value);
}
