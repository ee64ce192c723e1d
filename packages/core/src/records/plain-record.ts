/**
 * The record of a plain memory, read by hand where it stands: every read of a memory passes here, and going through a
 * list of decoded members took twice as long as all that is made of them.
 *
 * Promise: says what `memoryRecordWithin` says, and refuses what it refuses, in the same words: whatever is unusual, by
 * its shape or by its bytes, is left to it.
 *
 * Usual is a head with its version, both of few members, numbers that are not negative, texts, a turn's place, and data one
 * level deep. Frames, tombstones, rivals and fractions are not.
 */
import {
  byteStringAt,
  byteStringEnd,
  isKeyAfter,
  nameWithin,
  numberAt,
  textAt,
  textWithin,
  uintBytes,
} from "../codec/cbor.js";
import type { CborValue } from "../codec/cbor-value.js";
import type { PartContext } from "../journal/entry.js";
import type { Data } from "./data.js";
import {
  cutMedium,
  cutShort,
  type Head,
  IMPORTANCE_DEFAULT,
  type MemoryRecord,
  memoryRecordWithin,
  type Provenance,
  primaryText,
  type Version,
} from "./memory-record.js";
import { LIFECYCLES, MEMORY_TYPES, namesByCode, SOURCES, STATUSES, VISIBILITIES } from "./types.js";

type Writable<T> = { -readonly [member in keyof T]: T[member] };

/** A record while it is read: a name whose code nobody gave is `undefined`, and then it is not plain. */
interface PlainRecord extends MemoryRecord {
  readonly head: Writable<Head>;
  readonly version: Writable<Version>;
}

/** Reads a memory's record, as `memoryRecordWithin` does. */
export function recordWithin(
  bytes: Uint8Array,
  start: number,
  end: number,
  entry: PartContext,
): MemoryRecord {
  return (
    plainRecordWithin(bytes, start, end, entry) ?? memoryRecordWithin(bytes, start, end, entry)
  );
}

/** The record of a plain memory, which holds none of the bytes; `undefined` for any other record. */
export function plainRecordWithin(
  bytes: Uint8Array,
  start: number,
  end: number,
  entry: PartContext,
): MemoryRecord | undefined {
  const record = blankRecord();
  if (!isPlain(bytes, start, end, entry, record)) return undefined;
  if (fingerprintAt > 0) record.head.fingerprint = shortBytes(bytes, fingerprintAt);
  return record;
}

/**
 * The record of a plain memory, lent until the next one is read: for whoever makes something else of it at once. It
 * holds none of the bytes; its fingerprint, which only writers look at, is left out. `undefined` for any other record.
 */
export function lentRecordWithin(
  bytes: Uint8Array,
  start: number,
  end: number,
  entry: PartContext,
): MemoryRecord | undefined {
  return isPlain(bytes, start, end, entry, LENT) ? LENT : undefined;
}

function blankRecord(): PlainRecord {
  return {
    head: {
      type: "note",
      version: 0,
      lifecycle: "active",
      visibility: "private",
      importance: IMPORTANCE_DEFAULT,
      tags: [],
      frames: [],
      status: "asserted",
      source: "user_input",
      createdAt: 0,
      siblings: [],
      slot: undefined,
      kind: undefined,
      externalId: undefined,
      freshnessAt: undefined,
      tombstone: undefined,
      turn: undefined,
      fingerprint: undefined,
      waits: undefined,
    },
    version: {
      number: 0,
      data: NO_DATA,
      forms: NO_FORMS,
      formsOverride: false,
      confidence: 1,
      provenance: NO_PROVENANCE,
      createdAt: 0,
      createdBy: "",
      supersedes: [],
      validFrom: undefined,
      validTo: undefined,
      expiresAt: undefined,
      flags: undefined,
      origin: undefined,
    },
    versionPart: undefined,
  };
}

/** Where reading goes on; -1 once something was unusual, and then for good. */
let next = 0;
/** Where the fingerprint of the head stands that was read last; 0 where it has none. */
let fingerprintAt = 0;

/** Reads the record from `start` to `end` into another one; false where it is not a plain one. */
function isPlain(
  bytes: Uint8Array,
  start: number,
  end: number,
  entry: PartContext,
  { head, version }: PlainRecord,
): boolean {
  if (bytes[start] !== MAP + 2 || bytes[start + 1] !== 1) return false;
  next = start + 2;
  fingerprintAt = 0;
  if (!readHead(bytes, entry, head) || bytes[next] !== 2) return false;
  next += 1;
  // Reading only goes on: what ends at the end has read nothing beyond it.
  return readVersion(bytes, entry, head, version) && next === end;
}

function readHead(bytes: Uint8Array, entry: PartContext, into: Writable<Head>): boolean {
  let type: Head["type"] | undefined;
  let version = 0;
  let lifecycle: Head["lifecycle"] | undefined = "active";
  let visibility: Head["visibility"] | undefined = "private";
  let importance = IMPORTANCE_DEFAULT;
  let tags: readonly string[] | undefined;
  let status: Head["status"] | undefined = "asserted";
  let source: Head["source"] | undefined = "user_input";
  let createdAt = entry.at;
  let slot: string | undefined;
  let kind: string | undefined;
  let externalId: string | undefined;
  let freshnessAt: number | undefined;
  let turn: Head["turn"];
  let key = 0;
  for (let left = openMap(bytes); left > 0; left -= 1) {
    key = readKey(bytes, key);
    if (key === 1) type = TYPE_NAMES[readNumber(bytes)];
    else if (key === 2) version = readNumber(bytes);
    else if (key === 3) lifecycle = LIFECYCLE_NAMES[readNumber(bytes)];
    else if (key === 4) visibility = VISIBILITY_NAMES[readNumber(bytes)];
    else if (key === 5) importance = readNumber(bytes);
    else if (key === 6) tags = readTexts(bytes);
    else if (key === 8) slot = readText(bytes);
    else if (key === 9) status = STATUS_NAMES[readNumber(bytes)];
    else if (key === 10) source = SOURCE_NAMES[readNumber(bytes)];
    else if (key === 11) kind = readText(bytes);
    else if (key === 12) externalId = readText(bytes);
    else if (key === 13) createdAt = readNumber(bytes);
    else if (key === 14) freshnessAt = readNumber(bytes);
    else if (key === 17) turn = readTurn(bytes);
    else if (key === 18) fingerprintAt = passShortBytes(bytes);
    else return false;
  }
  if (next < 0 || type === undefined || lifecycle === undefined) return false;
  if (visibility === undefined || status === undefined || source === undefined) return false;
  into.type = type;
  into.version = version;
  into.lifecycle = lifecycle;
  into.visibility = visibility;
  into.importance = importance;
  into.tags = tags ?? [];
  into.frames = [];
  into.status = status;
  into.source = source;
  into.createdAt = createdAt;
  into.siblings = [];
  into.slot = slot;
  into.kind = kind;
  into.externalId = externalId;
  into.freshnessAt = freshnessAt;
  into.turn = turn;
  return true;
}

function readVersion(
  bytes: Uint8Array,
  entry: PartContext,
  head: Head,
  into: Writable<Version>,
): boolean {
  let number = 0;
  let data: Data | undefined;
  let short: string | undefined;
  let medium: string | undefined;
  let source: Head["source"] | undefined = head.source;
  let derivedFrom: readonly string[] | undefined;
  let attestations: readonly string[] | undefined;
  let session: string | undefined;
  let turn: number | undefined;
  let validFrom: number | undefined;
  let validTo: number | undefined;
  let expiresAt: number | undefined;
  let createdAt = entry.at;
  let createdBy: string | undefined = entry.by;
  let key = 0;
  for (let left = openMap(bytes); left > 0; left -= 1) {
    key = readKey(bytes, key);
    if (key === 1) number = readNumber(bytes);
    else if (key === 2) data = readData(bytes);
    else if (key === 3) short = readText(bytes);
    else if (key === 4) medium = readText(bytes);
    else if (key === 6) source = SOURCE_NAMES[readNumber(bytes)];
    else if (key === 7) derivedFrom = readTexts(bytes);
    else if (key === 8) attestations = readTexts(bytes);
    else if (key === 9) session = readText(bytes);
    else if (key === 10) turn = readNumber(bytes);
    else if (key === 11) validFrom = readNumber(bytes);
    else if (key === 12) validTo = readNumber(bytes);
    else if (key === 13) expiresAt = readNumber(bytes);
    else if (key === 14) createdAt = readNumber(bytes);
    else if (key === 15) createdBy = readText(bytes);
    else return false;
  }
  if (next < 0 || data === undefined || source === undefined) return false;
  const sentence = primaryText(head.type, data);
  const provenance: Writable<Provenance> = {
    source,
    derivedFrom: derivedFrom ?? [],
    attestations: attestations ?? [],
  };
  if (session !== undefined) provenance.session = session;
  if (turn !== undefined) provenance.turn = turn;
  into.number = number;
  into.data = data;
  into.forms = { short: short ?? cutShort(sentence), medium: medium ?? cutMedium(sentence) };
  into.provenance = provenance;
  into.createdAt = createdAt;
  into.createdBy = createdBy ?? "";
  into.supersedes = number > 1 ? [number - 1] : [];
  into.validFrom = validFrom;
  into.validTo = validTo;
  into.expiresAt = expiresAt;
  return true;
}

/** The data of a version; nothing where it is deeper than one level, or holds bytes. */
function readData(bytes: Uint8Array): Data | undefined {
  const count = openMap(bytes);
  const data = Object.create(null) as Record<string, CborValue>;
  let before = -1;
  for (let member = 0; member < count; member += 1) {
    const at = next;
    const from = next < 0 ? -1 : textAt(bytes, at);
    const to = from < 0 ? -1 : byteStringEnd(bytes, at, from);
    const isThere = from === at + 1 && to <= bytes.length;
    const name = isThere ? nameWithin(bytes, from, to) : undefined;
    if (name === undefined || (before >= 0 && !isKeyAfter(bytes, before, at))) return unusual();
    before = at;
    next = to;
    const first = bytes[to] ?? 0;
    if (first >>> 5 === 3) {
      const text = readText(bytes);
      if (text === undefined) return undefined;
      data[name] = text;
    } else if (first >>> 5 === 0) data[name] = readNumber(bytes);
    else if (first === TRUE || first === FALSE) {
      data[name] = first === TRUE;
      next += 1;
    } else return unusual();
  }
  return count < 0 ? undefined : (data as unknown as Data);
}

function unusual(): undefined {
  next = -1;
  return undefined;
}

/** How many members the map has that comes next; -1 for none, or for one of many. */
function openMap(bytes: Uint8Array): number {
  const count = next < 0 ? -1 : (bytes[next] ?? 0) - MAP;
  next = count < 0 || count > SHORT ? -1 : next + 1;
  return next < 0 ? -1 : count;
}

/** The key of the next member, which comes after the one before; 0 for anything else. */
function readKey(bytes: Uint8Array, before: number): number {
  const key = next < 0 ? 0 : (bytes[next] ?? 0);
  next = key <= before || key > SHORT ? -1 : next + 1;
  return next < 0 ? 0 : key;
}

function readNumber(bytes: Uint8Array): number {
  const value = next < 0 ? -1 : numberAt(bytes, next);
  next = value < 0 ? -1 : next + uintBytes(bytes, next);
  return value;
}

function readText(bytes: Uint8Array): string | undefined {
  const from = next < 0 ? -1 : textAt(bytes, next);
  const to = from < 0 ? -1 : byteStringEnd(bytes, next, from);
  const text = from < 0 || to > bytes.length ? undefined : textWithin(bytes, from, to);
  next = text === undefined ? -1 : to;
  return text;
}

/** The place of a turn: its conversation, its number there and that of its chunk. */
function readTurn(bytes: Uint8Array): Head["turn"] {
  next = next >= 0 && bytes[next] === LIST + 3 ? next + 1 : -1;
  const session = readText(bytes);
  const index = readNumber(bytes);
  const chunk = readNumber(bytes);
  return session === undefined || next < 0 ? undefined : { session, index, chunk };
}

/** A list of texts; one that is unusual is nobody's answer. */
function readTexts(bytes: Uint8Array): readonly string[] {
  const count = next < 0 ? -1 : (bytes[next] ?? 0) - LIST;
  next = count < 0 || count > SHORT ? -1 : next + 1;
  if (count <= 0) return [];
  // A list that is pushed to takes room for seventeen at once.
  const texts = [readText(bytes) ?? ""];
  for (let item = 1; item < count && next > 0; item += 1) texts.push(readText(bytes) ?? "");
  return texts;
}

/** Passes by a byte string of few bytes, and says where it is. */
function passShortBytes(bytes: Uint8Array): number {
  const at = next;
  const from = at < 0 ? -1 : byteStringAt(bytes, at);
  next = from === at + 1 ? byteStringEnd(bytes, at, from) : -1;
  return next < 0 ? 0 : at;
}

/** A copy of such a byte string: within the platform's own heap, it is cheaper than a view. */
function shortBytes(bytes: Uint8Array, at: number): Uint8Array {
  const copy = new Uint8Array((bytes[at] ?? 0) & SHORT_MASK);
  for (let i = 0; i < copy.length; i += 1) copy[i] = bytes[at + 1 + i] ?? 0;
  return copy;
}

const NO_DATA = {} as Data;
const NO_FORMS: Version["forms"] = { short: "", medium: "" };
const NO_PROVENANCE: Provenance = { source: "user_input", derivedFrom: [], attestations: [] };
const TYPE_NAMES = namesByCode(MEMORY_TYPES);
const LIFECYCLE_NAMES = namesByCode(LIFECYCLES);
const VISIBILITY_NAMES = namesByCode(VISIBILITIES);
const STATUS_NAMES = namesByCode(STATUSES);
const SOURCE_NAMES = namesByCode(SOURCES);

/** How CBOR opens lists and maps of up to 23, and says true and false. */
const LIST = 0x80;
const MAP = 0xa0;
const SHORT = 23;
const SHORT_MASK = 0x1f;
const FALSE = 0xf4;
const TRUE = 0xf5;

/** The record that is lent. */
const LENT = blankRecord();
