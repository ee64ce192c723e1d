/**
 * What a journal entry is, its bytes and its hash.
 *
 * An entry is one atomic operation: a header that is never erased, and ordered parts. A part holds
 * one resulting record of one subject, opens with 16 random bytes of salt, and can be erased alone:
 * the header keeps its hash, so nothing that was proved before stops being provable.
 *
 * Bytes (format 1):
 * - part    = salt (16) ‖ record, the record being canonical CBOR
 * - header  = CBOR map { 0 seq, 1 kind, 2 at, 3 by, 4 [part line, …],
 *             5 [first seq, length] of its batch, 6 idempotency key hash ‖ request hash }
 * - line    = [subject, part hash | null], or [subject, part hash, first at, first by]
 * - row     = CBOR [ header bytes, [part bytes | null, …] ]
 * A part hash of `null` removes the subject's leaf from its tree. A row's part of `null` next to a
 * hash is an erased part.
 *
 * A `revert` carries earlier parts again, byte for byte, so that a leaf is what it was. Records leave
 * out what their entry says already, so such a line names the time and the principal of the entry
 * that first held the part, unless they are this entry's own: `partContext` is what a record is read
 * with.
 *
 * Pure: verifiers import this file. What the records say is left to `memory/` and `edges/`, what an
 * entry changes to `history/fold.ts`.
 *
 * What entry 0 says: whose store this is, its random id, its format and hash suite. Pure; writing it
 * is left to `engine/engine.ts`.
 */
import { type CborValue, decode, encode, fields, isFields } from "../codec/cbor.js";
import { isCount } from "../codec/cbor-value.js";
import { domainHash, HASH_BYTES, logLeafHash, type Sha256 } from "../codec/hash.js";
import { toHex } from "../codec/keys.js";
import { CortexError, type ErrorDetails } from "../errors.js";

/** Every kind of entry, closed; a new one is a new format or a migration. */
export const ENTRY_KINDS = [
  "genesis",
  "config",
  "write",
  "update",
  "update_head",
  "reinforce",
  "tombstone",
  "restore",
  "forget",
  "add_edge",
  "remove_edge",
  "register_edge_kind",
  "goal_state",
  "revert",
  "find_late",
  "attest",
  "learn_weights",
  "context",
  "recall_audit",
  "settle",
  "maintain",
  "scope_violation",
  "revoke_scope",
  "propose",
  "migration",
] as const;

/** What an entry did. */
export type EntryKind = (typeof ENTRY_KINDS)[number];

const KINDS: ReadonlySet<string> = new Set(ENTRY_KINDS);

/** Length of a part's salt. */
export const SALT_BYTES = 16;

/** First byte of a subject: what the part is about, and who owns it. */
export const SUBJECT = {
  /** The store itself: genesis, reasons that administration keeps. Never erased. */
  store: 0x00,
  /** The state of a memory: its leaf in the `memories` tree. Owned by the memory. */
  memory: 0x01,
  /** The state of an edge: its leaf in the `edges` tree. Owned by both ends. */
  edge: 0x02,
  /** Something attached to a memory that is not its state. Owned by the memory. */
  attachment: 0x03,
  /** The registration of an open edge kind. */
  edgeKind: 0x04,
  /** The runtime state of a goal. Owned by the goal. */
  goalState: 0x05,
  /** The configuration of the graph. */
  config: 0x06,
} as const;

/** What an entry says for all its parts: when it was written, and by whom. */
export interface PartContext {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** An opaque principal. */
  readonly by: string;
}

/** One line of a header: whose part it is, and the part's hash (`null` removes the leaf). */
export interface PartRef {
  readonly subject: Uint8Array;
  readonly hash: Uint8Array | null;
  /** Of a part that is carried again: the entry that first held it, where it says something else. */
  readonly first?: PartContext;
}

/** Where an entry stands in a batch. */
export interface BatchSpan {
  readonly first: number;
  readonly length: number;
}

/** The part of an entry that is never erased. */
export interface EntryHeader {
  readonly seq: number;
  readonly kind: EntryKind;
  /** Milliseconds since the epoch, never less than the entry before. */
  readonly at: number;
  /** An opaque principal. */
  readonly by: string;
  readonly parts: readonly PartRef[];
  readonly batch?: BatchSpan;
  /** Hash of the idempotency key (16) ‖ hash of the request (16). */
  readonly request?: Uint8Array | undefined;
}

/** An entry as read: the header, its bytes, and the parts that still exist. */
export interface Entry {
  readonly header: EntryHeader;
  readonly headerBytes: Uint8Array;
  /** salt ‖ record for each part of the header; `undefined` where erased or never there. */
  readonly parts: readonly (Uint8Array | undefined)[];
}

/** A record on its way into an entry. */
export interface DraftPart {
  readonly subject: Uint8Array;
  /** Canonical record bytes; `null` removes the subject's leaf. */
  readonly record: Uint8Array | null;
}

/** An entry before it has a number and a time. */
export interface EntryDraft {
  readonly kind: EntryKind;
  readonly by: string;
  readonly parts: readonly DraftPart[];
  readonly request?: Uint8Array | undefined;
}

/** The salted hash that stands for a part in its header and, for state parts, in the tree. */
export function partHash(sha256: Sha256, part: Uint8Array): Uint8Array {
  return domainHash(sha256, "part", part);
}

/** The record inside a part. */
export function partRecord(part: Uint8Array): Uint8Array {
  return part.subarray(SALT_BYTES);
}

/** What the record of a part is read with: what the entry says that first held the part. */
export function partContext(
  entry: PartContext & { readonly parts: readonly PartRef[] },
  index: number,
): PartContext {
  return entry.parts[index]?.first ?? entry;
}

/** What the line of a part carried again says of its first entry; nothing when `entry` says it. */
export function firstContext(
  first: PartContext,
  entry: PartContext,
): { readonly first?: PartContext } {
  const { at, by } = first;
  return at === entry.at && by === entry.by ? {} : { first: { at, by } };
}

/** The leaf of an entry in the journal tree: its header under RFC 9162's leaf rule. */
export function entryLeaf(sha256: Sha256, headerBytes: Uint8Array): Uint8Array {
  return logLeafHash(sha256, headerBytes);
}

/** The canonical bytes of a header; `batch` is given apart, because it is known last. */
export function encodeHeader(
  header: Omit<EntryHeader, "batch">,
  batch: BatchSpan | undefined,
): Uint8Array {
  return encode(
    fields([
      header.seq,
      header.kind,
      header.at,
      header.by,
      header.parts.map(encodePartRef),
      batch === undefined ? undefined : [batch.first, batch.length],
      header.request,
    ]),
  );
}

/** Reads a header; anything but canonical bytes of a known shape is refused. */
export function decodeHeader(bytes: Uint8Array): EntryHeader {
  return headerOf(decode(bytes));
}

function headerOf(value: CborValue): EntryHeader {
  if (!isFields(value)) throw corruptEntry("an entry header is a map with integer keys");
  const found = value.at;
  const [seq, kind, at, by, parts] = [found[0], found[1], found[2], found[3], found[4]];
  const [batch, request] = [found[5], found[6]];
  if (found.length > 7) throw corruptEntry("an entry header has keys 0 to 6");
  if (!isCount(seq) || !isCount(at)) throw corruptEntry("seq and at are integers of at least 0");
  if (typeof kind !== "string" || !KINDS.has(kind)) {
    throw corruptEntry(`entry kind ${JSON.stringify(kind)} is unknown`, seq);
  }
  if (typeof by !== "string") throw corruptEntry("by is text", seq);
  if (!Array.isArray(parts)) throw corruptEntry("parts is a list", seq);
  return {
    seq,
    kind: kind as EntryKind,
    at,
    by,
    parts: parts.map((part: CborValue) => decodePartRef(part, { seq, kind, at, by })),
    ...(batch === undefined ? {} : { batch: decodeBatch(batch, seq) }),
    ...(request === undefined ? {} : { request: decodeRequest(request, seq) }),
  };
}

/** The stored row of an entry. */
export function encodeEntry(entry: Pick<Entry, "headerBytes" | "parts">): Uint8Array {
  return encode([entry.headerBytes, entry.parts.map((part) => part ?? null)]);
}

/** The same of parts that stand with other things. */
export function encodeEntryRow(
  headerBytes: Uint8Array,
  parts: readonly { readonly bytes: Uint8Array | undefined }[],
): Uint8Array {
  return encode([headerBytes, parts.map(({ bytes }) => bytes ?? null)]);
}

/** Reads a stored row. The parts are views of `row`. */
export function decodeEntry(row: Uint8Array): Entry {
  const { headerBytes, parts } = splitEntry(row);
  const header = decodeHeader(headerBytes);
  if (parts.length !== header.parts.length) {
    throw corruptEntry("a row has as many parts as its header names", header.seq);
  }
  for (const [index, ref] of header.parts.entries()) {
    if (ref.hash === null && parts[index] !== undefined) {
      throw corruptEntry("a part that removes a leaf has no bytes", header.seq);
    }
  }
  return { header, headerBytes, parts };
}

/** Splits a row into header bytes and parts without reading the header. */
export function splitEntry(row: Uint8Array): {
  readonly headerBytes: Uint8Array;
  readonly parts: readonly (Uint8Array | undefined)[];
} {
  const value = decode(row);
  if (!Array.isArray(value) || value.length !== 2) throw corruptEntry("an entry row is a pair");
  const [headerBytes, parts] = value as readonly CborValue[];
  if (!(headerBytes instanceof Uint8Array) || !Array.isArray(parts)) {
    throw corruptEntry("an entry row is header bytes and a list of parts");
  }
  return {
    headerBytes,
    parts: parts.map((part: CborValue) => {
      if (part === null) return undefined;
      if (part instanceof Uint8Array && part.length > SALT_BYTES) return part;
      throw corruptEntry("a part is salt and record");
    }),
  };
}

function encodePartRef({ subject, hash, first }: PartRef): CborValue {
  return first === undefined ? [subject, hash] : [subject, hash, first.at, first.by];
}

/** What decides whether a line of a header may be as it is. */
interface LineContext extends PartContext {
  readonly seq: number;
  readonly kind: string;
}

function decodePartRef(value: CborValue, entry: LineContext): PartRef {
  const { seq } = entry;
  if (!Array.isArray(value) || (value.length !== 2 && value.length !== 4)) {
    throw corruptEntry("a part is a pair, or a pair and its first time and principal", seq);
  }
  const [subject, hash, at, by] = value as readonly CborValue[];
  if (!(subject instanceof Uint8Array) || subject.length === 0) {
    throw corruptEntry("a subject is bytes", seq);
  }
  if (hash === null && value.length === 2) return { subject, hash: null };
  if (!(hash instanceof Uint8Array) || hash.length !== HASH_BYTES) {
    throw corruptEntry("a part hash is 32 bytes or null", seq);
  }
  return value.length === 2
    ? { subject, hash }
    : { subject, hash, first: decodeFirst(at, by, entry) };
}

/** Only a revert carries parts again, from before it; what it says itself is not said twice. */
function decodeFirst(
  at: CborValue | undefined,
  by: CborValue | undefined,
  entry: LineContext,
): PartContext {
  const { seq, kind } = entry;
  if (kind !== "revert") throw corruptEntry("only a revert carries a part again", seq);
  if (!isCount(at) || at > entry.at || typeof by !== "string") {
    throw corruptEntry("a part carried again has a time before its entry, and a principal", seq);
  }
  if (at === entry.at && by === entry.by) {
    throw corruptEntry(
      "a part carried again names its first entry only if it says something else",
      seq,
    );
  }
  return { at, by };
}

function decodeBatch(value: CborValue, seq: number): BatchSpan {
  const [first, length] = Array.isArray(value) ? (value as readonly CborValue[]) : [];
  if (!isCount(first) || !isCount(length) || seq < first || seq >= first + length) {
    throw corruptEntry("a batch is its first seq and its length, and holds this entry", seq);
  }
  return { first, length };
}

function decodeRequest(value: CborValue, seq: number): Uint8Array {
  if (value instanceof Uint8Array && value.length === 32) return value;
  throw corruptEntry("an idempotency mark is 32 bytes", seq);
}

/** The failure of an entry that contradicts itself, with its seq as far as that is known. */
export function corruptEntry(what: string, seq?: number, more: ErrorDetails = {}): CortexError {
  const where = seq === undefined ? "journal entry" : `journal entry ${seq}`;
  const place = seq === undefined ? {} : { seq };
  return new CortexError("ERR_CORRUPT", `${where}: ${what}`, { ...place, ...more });
}

/** What entry 0 says for good. */
export interface Genesis {
  readonly format: number;
  readonly actor: string;
  /** 16 random bytes in hex. */
  readonly storeId: string;
  readonly suite: string;
}

/** The hash suite of format 1. */
export const HASH_SUITE = "sha256";

/** Reads the row of entry 0. */
export function decodeGenesis(row: Uint8Array): Genesis {
  return genesisOf(decodeEntry(row));
}

/** What entry 0 says, once decoded. */
export function genesisOf({ header, parts }: Entry): Genesis {
  const [part] = parts;
  if (header.kind !== "genesis" || part === undefined) {
    throw new CortexError("ERR_CORRUPT", "journal entry 0 is not a genesis", { seq: 0 });
  }
  const record = decode(partRecord(part)) as { readonly [name: string]: CborValue };
  const { format, actor, storeId, suite } = record;
  if (
    typeof format !== "number" ||
    typeof actor !== "string" ||
    !(storeId instanceof Uint8Array) ||
    suite !== HASH_SUITE
  ) {
    throw new CortexError("ERR_CORRUPT", "journal entry 0 holds no readable genesis", { seq: 0 });
  }
  return { format, actor, storeId: toHex(storeId), suite };
}
