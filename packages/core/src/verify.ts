/**
 * The verifier: checks proofs and checkpoints with nothing but the language itself. No storage,
 * nothing of Node, so that a browser, a server and the command line use this same file.
 *
 * Promises: what is returned with `ok: true` follows from the proof's own checkpoint; with
 * `anchored: true` that checkpoint is the trusted one, or extends its journal. Bad input is a
 * result, never an exception: `ok: false` with a code. Only a broken assumption in here throws.
 *
 * Without a trusted checkpoint the answer is `anchored: false`: a liar can make up memory, proof
 * and checkpoint together, and all of it will fit. What a proof does not show at all is said in
 * `docs/verification.md`. Signatures are not checked here: that takes the signer's public key.
 *
 * How a record is read is left to `records/`.
 */
import type { CborValue } from "./codec/cbor.js";
import { differenceOf } from "./codec/cbor-value.js";
import { equalBytes, toHex } from "./codec/keys.js";
import { sha256Pure } from "./codec/sha256-pure.js";
import { normaliseKind } from "./codec/text.js";
import { parseUlid, ULID_BYTES, ulidText } from "./codec/ulid.js";
import { type ErrorCode, isCortexError } from "./errors.js";
import {
  type Anchor,
  anchorOf,
  type Checkpoint,
  parseCheckpoint,
  stale,
} from "./journal/checkpoint.js";
import {
  decodeHeader,
  type EntryHeader,
  type EntryKind,
  entryLeaf,
  type PartContext,
  partContext,
  partHash,
  partRecord,
  SUBJECT,
} from "./journal/entry.js";
import {
  checkTree,
  decodeProof,
  malformed,
  type Proof,
  type ProofDocument,
  type ProofEdge,
  type ProofEntry,
  type ProofMemory,
  proofBytes,
  refused,
  type ShownPart,
  sliceMembers,
} from "./journal/proof.js";
import { verifyConsistency, verifyInclusion } from "./merkle/log-proof.js";
import { edgeStateKey, memoryStateKey } from "./merkle/state-keys.js";
import { decodeEdgeRecord, edgeTreeKey } from "./records/edge-record.js";
import {
  decodeMemoryRecord,
  type MemoryRecord,
  primaryText,
  type ShownHead,
  shownHead,
  shownVersion,
  type Tombstone,
  type Version,
} from "./records/memory-record.js";
import type { MemoryType } from "./records/types.js";
import { buildUri } from "./records/uri.js";

export type { Proof } from "./journal/proof.js";
export { type PathStep, type ProofPath, proofPath } from "./journal/proof-path.js";
export type { Tombstone as VerifiedTombstone } from "./records/memory-record.js";

/** A value as JSON has it; byte strings, which open data never holds, aside. */
export type PlainValue = CborValue;

/** The mutable side of a memory. Its times are known where the proof also shows the entry. */
export interface VerifiedHead
  extends Omit<ShownHead, "version" | HeadTimes>,
    Partial<Pick<ShownHead, HeadTimes>> {}

type HeadTimes = "createdAt" | "updatedAt";

/** What a checkpoint says, in brief. */
export interface CheckpointSummary {
  readonly origin: string;
  /** Number of entries; the last seq is one less. */
  readonly size: number;
  /** The root over everything, in hex. */
  readonly root: string;
  /** Time of the last entry, in milliseconds. */
  readonly at: number;
}

/** What a proof shows of one memory; everything but id and status only where it is present. */
export interface VerifiedMemory {
  readonly id: string;
  readonly status: "present" | "absent" | "erased";
  readonly type?: MemoryType;
  readonly version?: number;
  /** Its sentence or content in full. */
  readonly text?: string;
  readonly data?: { readonly [name: string]: PlainValue };
  readonly head?: VerifiedHead;
  /** The last entry that the proof shows to hold its part; a revert may hold an earlier part again. */
  readonly seq?: number;
}

/** What a proof shows of one edge; everything but key, status and from only where it is present. */
export interface VerifiedEdge {
  /** Its place in the tree, in hex; `edgeKeyOf` computes it from ends and kind. */
  readonly key: string;
  readonly status: "present" | "absent";
  readonly from: string;
  readonly id?: string;
  readonly kind?: string;
  readonly to?: string;
  readonly toGraph?: string;
  readonly n?: number;
  readonly source?: string;
  readonly weight?: number;
  readonly reason?: string;
  readonly strength?: number;
  readonly ordinal?: number;
  readonly metadata?: { readonly [name: string]: PlainValue };
  readonly validFrom?: number;
  readonly validTo?: number;
  /** Present when the edge was removed. */
  readonly tombstone?: Tombstone;
  readonly seq?: number;
}

/** What a proof shows of one journal entry: its header. */
export interface VerifiedEntry {
  readonly seq: number;
  readonly kind: EntryKind;
  readonly at: number;
  readonly by: string;
  readonly parts: readonly { readonly subject: string; readonly hash?: string }[];
  readonly batch?: { readonly first: number; readonly length: number };
}

/** Why something is not to be believed. */
export interface Refused {
  readonly ok: false;
  readonly anchored: false;
  readonly code: ErrorCode;
  readonly message: string;
}

/** A proof that holds. */
export interface Verified extends Anchor {
  readonly ok: true;
  readonly checkpoint: CheckpointSummary;
  readonly memories: readonly VerifiedMemory[];
  readonly edges: readonly VerifiedEdge[];
  readonly entries: readonly VerifiedEntry[];
  /** The older journal this one was shown to extend: its size, and its root in hex. */
  readonly since?: { readonly size: number; readonly root: string };
}

/** The outcome of `verify`. */
export type VerifyResult = Verified | Refused;

/** A checkpoint that holds together. */
export interface VerifiedCheckpoint extends Anchor {
  readonly ok: true;
  readonly checkpoint: CheckpointSummary;
  /** Who signed, by their own word: names and key hints in hex. The signatures are not checked. */
  readonly signatures: readonly { readonly name: string; readonly keyHint: string }[];
}

/** The outcome of `verifyCheckpoint`. */
export type VerifyCheckpointResult = VerifiedCheckpoint | Refused;

/** Checks a proof, against a checkpoint the caller trusts if there is one. */
export function verify(proof: Proof | Uint8Array | string, trusted?: string): VerifyResult {
  return asResult(() => checkDocument(decodeProof(proofBytes(proof)), trusted));
}

function checkDocument(document: ProofDocument, trusted: string | undefined): Verified {
  const checkpoint = ownCheckpoint(document);
  const entries = (document.entries ?? []).map((entry) => checkEntry(entry, checkpoint));
  const memories = checkMemories(document, checkpoint, entries);
  const edges = checkEdges(document, checkpoint, entries);
  checkSince(document, checkpoint);
  const { since } = document;
  return {
    ok: true,
    ...anchorOf(sha256Pure, checkpoint, { trusted, since }),
    checkpoint: summary(checkpoint),
    memories,
    edges,
    entries: entries.map(showEntry),
    ...(since === undefined ? {} : { since: { size: since.size, root: toHex(since.root) } }),
  };
}

/**
 * Checks a slice as `share` gives it, an object or its JSON: the proof, and that every member of the
 * document is what the proof commits to. Whatever was changed, added, left out or moved is named.
 */
export function verifySlice(slice: unknown, trusted?: string): VerifyResult {
  return asResult(() => {
    const { memories, proof, checkpoint, seq } = sliceMembers(slice);
    const document = decodeProof(proofBytes(proof));
    const verified = checkDocument(document, trusted);
    if (checkpoint !== document.checkpoint) throw refused("slice: checkpoint is not the proof's");
    const { size } = verified.checkpoint;
    if (seq !== size - 1) throw refused(`slice: seq is not ${size - 1}, the checkpoint's`);
    const shown = shownBySlice(document);
    if (memories.length !== shown.length) {
      const claims = `it holds ${memories.length} memories, its proof shows ${shown.length}`;
      throw refused(`slice: ${claims}`);
    }
    for (const [at, one] of shown.entries()) {
      const path = differenceOf(one, memories[at], `memories[${at}]`);
      if (path !== undefined) throw refused(`slice: ${path} is not what the proof shows`);
    }
    return verified;
  });
}

/** The memories that a proof shows whole, the newest id first: what its slice has to say. */
function shownBySlice(document: ProofDocument): readonly object[] {
  const { actor } = ownCheckpoint(document);
  const entries = (document.entries ?? []).map(({ header }) => decodeHeader(header));
  const needed = new Set<number>();
  if (document.edges !== undefined || document.since !== undefined) {
    throw refused("slice: its proof is about more than memories");
  }
  const items = document.memories?.items ?? [];
  const shown = items.map((item) => {
    const whole = wholeMemory(item, { actor, entries });
    for (const seq of whole.seqs) needed.add(seq);
    return whole.memory;
  });
  const other = entries.find(({ seq }) => !needed.has(seq));
  if (other !== undefined) throw refused(`slice: entry ${other.seq} is of no memory in it`);
  return shown.reverse();
}

/** A memory as callers get it, out of its parts and the entries that hold them. */
function wholeMemory(
  item: ProofMemory,
  { actor, entries }: { readonly actor: string; readonly entries: readonly EntryHeader[] },
): { readonly memory: object; readonly seqs: readonly number[] } {
  const what = memoryName(item);
  const hashOf = (part: Uint8Array): Uint8Array => partHash(sha256Pure, part);
  const { id, part } = item;
  if (part === undefined) throw refused(`slice: ${what} is not there`);
  const bodyPart = item.versionPart ?? part;
  const last = holdersOf(entries, SUBJECT.memory, id, hashOf(part)).at(-1);
  const first = holdersOf(entries, SUBJECT.memory, id, hashOf(bodyPart)).at(0);
  if (last === undefined || first === undefined) {
    throw refused(`slice: the entry that holds ${what} is not shown`);
  }
  const read = checkMemory(item, { bytes: part, hash: hashOf(part) }, [first.header, last.header]);
  const { type, data, text } = read;
  if (type === undefined) throw refused(`slice: ${what} was forgotten`);
  const { head } = decodeMemoryRecord(partRecord(part), last.context);
  const { version } = decodeMemoryRecord(partRecord(bodyPart), first.context);
  if (version === undefined) throw refused(`slice: ${what} was forgotten`);
  const memory = {
    id: read.id,
    uri: buildUri({ actor, type, id, version: version.number }),
    type,
    version: version.number,
    text,
    data,
    head: shownHead(head, last.header.at),
    versionRecord: shownVersion(version, first.header.seq),
    seq: last.header.seq,
  };
  return { memory, seqs: [first.header.seq, last.header.seq] };
}

/**
 * Checks a checkpoint's text, and that it is the trusted one or extends it. `consistency` is a
 * proof for this very checkpoint, made with `since` the trusted one.
 */
export function verifyCheckpoint(
  text: string,
  trusted?: string,
  consistency?: Proof | Uint8Array | string,
): VerifyCheckpointResult {
  return asResult(() => {
    const checkpoint = parseCheckpoint(sha256Pure, text);
    const document = consistency === undefined ? undefined : decodeProof(proofBytes(consistency));
    if (document !== undefined) {
      if (ownCheckpoint(document).note !== checkpoint.note) {
        throw stale("the consistency proof is for another checkpoint");
      }
      checkSince(document, checkpoint);
    }
    return {
      ok: true,
      ...anchorOf(sha256Pure, checkpoint, { trusted, since: document?.since }),
      checkpoint: summary(checkpoint),
      signatures: checkpoint.signatures.map(({ name, bytes }) => ({
        name,
        keyHint: toHex(bytes.subarray(0, 4)),
      })),
    };
  });
}

/**
 * The place of an edge in the tree, in hex: what `VerifiedEdge.key` is for these ends and kind. The
 * kind is the canonical name, in any spelling: `My own kind` is `my_own_kind`. With `exact` it is taken
 * as it is written, for an edge that keeps its kind so: a loose one, or one of an older store.
 * `undefined` when an id is none.
 */
export function edgeKeyOf(edge: {
  readonly from: string;
  readonly kind: string;
  readonly to: string;
  readonly n?: number;
  readonly exact?: boolean;
}): string | undefined {
  const [from, to] = [parseUlid(edge.from), parseUlid(edge.to)];
  if (from === undefined || to === undefined) return undefined;
  const kind = edge.exact === true ? edge.kind : normaliseKind(edge.kind);
  return toHex(edgeStateKey(sha256Pure, { from, kind, to, n: edge.n ?? 0 }));
}

function asResult<T>(run: () => T): T | Refused {
  try {
    return run();
  } catch (error) {
    if (!isCortexError(error)) throw error;
    const code: ErrorCode = OWN_CODES.has(error.code) ? error.code : "ERR_PROOF_MALFORMED";
    return { ok: false, anchored: false, code, message: error.message };
  }
}

/** Codes that say what happened; any other is how some piece said that it is no such piece. */
const OWN_CODES: ReadonlySet<ErrorCode> = new Set([
  "ERR_PROOF_INVALID",
  "ERR_CHECKPOINT_MALFORMED",
  "ERR_CHECKPOINT_STALE",
]);

function ownCheckpoint(document: ProofDocument): Checkpoint {
  const checkpoint = parseCheckpoint(sha256Pure, document.checkpoint);
  // Nothing in a proof vouches for signatures, so they have no place in it.
  if (checkpoint.signatures.length > 0) throw malformed("its checkpoint carries signatures");
  return checkpoint;
}

function summary({ origin, size, overall, at }: Checkpoint): CheckpointSummary {
  return { origin, size, root: toHex(overall), at };
}

function checkSince(document: ProofDocument, checkpoint: Checkpoint): void {
  const { since } = document;
  if (since === undefined) return;
  verifyConsistency(sha256Pure, {
    oldSize: since.size,
    oldRoot: since.root,
    newSize: checkpoint.size,
    newRoot: checkpoint.roots.journal,
    path: since.path,
  });
}

function checkEntry(entry: ProofEntry, checkpoint: Checkpoint): EntryHeader {
  verifyInclusion(sha256Pure, {
    leafHash: entryLeaf(sha256Pure, entry.header),
    index: entry.seq,
    size: checkpoint.size,
    path: entry.path,
    root: checkpoint.roots.journal,
  });
  const header = decodeHeader(entry.header);
  if (header.seq !== entry.seq) throw refused(`entry ${entry.seq} is numbered ${header.seq}`);
  return header;
}

function checkMemories(
  { memories }: ProofDocument,
  checkpoint: Checkpoint,
  entries: readonly EntryHeader[],
): readonly VerifiedMemory[] {
  if (memories === undefined) return [];
  const parts = checkTree(sha256Pure, memories, {
    root: checkpoint.roots.trees.memories,
    key: ({ id }) => memoryStateKey(sha256Pure, id),
    name: memoryName,
  });
  return memories.items.map((item, at) => checkMemory(item, parts[at], entries));
}

function memoryName({ id }: ProofMemory): string {
  return `memory ${ulidText(id)}`;
}

function checkMemory(
  item: ProofMemory,
  part: ShownPart | undefined,
  entries: readonly EntryHeader[],
): VerifiedMemory {
  const id = ulidText(item.id);
  const what = memoryName(item);
  if (part === undefined) return { id, status: "absent" };
  const entry = entryOf(entries, SUBJECT.memory, item.id, part.hash);
  const record = decodeMemoryRecord(partRecord(part.bytes), contextOf(entry));
  const { head, version: own, versionPart: named } = record;
  const { type } = head;
  const place = entry === undefined ? {} : { seq: entry.seq };
  if (head.lifecycle === "erased") {
    if (own !== undefined || named !== undefined || item.versionPart !== undefined) {
      throw refused(`${what} was forgotten, yet a version of it is shown`);
    }
    return { id, status: "erased", type, ...place };
  }
  if (own !== undefined && (named !== undefined || item.versionPart !== undefined)) {
    throw malformed(`${what} has its version in two places`);
  }
  const version = own ?? namedVersion(what, record, item.versionPart);
  if (version.number !== head.version) {
    throw refused(`${what}: the version shown is not the current one`);
  }
  return {
    id,
    status: "present",
    type,
    version: version.number,
    text: primaryText(type, version.data) || version.forms.short,
    data: version.data as unknown as { readonly [name: string]: PlainValue },
    head: verifiedHead(record, entry),
    ...place,
  };
}

/** What is read of a head without its entry: everything but the times that the entry alone says. */
function verifiedHead({ head }: MemoryRecord, entry: HoldingEntry | undefined): VerifiedHead {
  const { version: _, createdAt, updatedAt, ...rest } = shownHead(head, entry?.at ?? UNKNOWN);
  return {
    ...rest,
    ...(Number.isNaN(createdAt) ? {} : { createdAt }),
    ...(Number.isNaN(updatedAt) ? {} : { updatedAt }),
  };
}

/** A time that stands in an entry which the proof does not show. */
const UNKNOWN = Number.NaN;

/** What the record of a part is read with, as far as the proof shows it. */
function contextOf(entry: HoldingEntry | undefined): PartContext {
  return { at: entry?.firstAt ?? UNKNOWN, by: "" };
}

/** The Version in the part that the Head's part names by its hash. */
function namedVersion(
  what: string,
  { versionPart: named }: MemoryRecord,
  part: Uint8Array | undefined,
): Version {
  if (named === undefined) throw malformed(`${what} has neither version nor its hash`);
  if (part === undefined) throw malformed(`${what}: the part that holds its version is missing`);
  if (!equalBytes(partHash(sha256Pure, part), named)) {
    throw refused(`${what}: the version part is not the one its head names`);
  }
  const { version } = decodeMemoryRecord(partRecord(part), contextOf(undefined));
  if (version === undefined) throw malformed(`${what}: its version part holds no version`);
  return version;
}

function checkEdges(
  { edges }: ProofDocument,
  checkpoint: Checkpoint,
  entries: readonly EntryHeader[],
): readonly VerifiedEdge[] {
  if (edges === undefined) return [];
  const parts = checkTree(sha256Pure, edges, {
    root: checkpoint.roots.trees.edges,
    key: ({ key }) => key,
    name: edgeName,
  });
  return edges.items.map((item, at) => checkEdge(item, parts[at], entries));
}

function edgeName({ key }: ProofEdge): string {
  return `edge ${toHex(key)}`;
}

function checkEdge(
  item: ProofEdge,
  part: ShownPart | undefined,
  entries: readonly EntryHeader[],
): VerifiedEdge {
  const key = toHex(item.key);
  const what = edgeName(item);
  const from = ulidText(item.key.subarray(0, ULID_BYTES));
  if (part === undefined) return { key, status: "absent", from };
  const entry = entryOf(entries, SUBJECT.edge, item.key, part.hash);
  const record = decodeEdgeRecord(partRecord(part.bytes), contextOf(entry));
  // The key commits to ends and kind by a hash; a record of another edge gives another key.
  if (!equalBytes(edgeTreeKey(sha256Pure, record), item.key)) {
    throw refused(`${what}: its record is of another edge`);
  }
  const { id, from: _, kind, to, createdAt, createdBy, origin, asksReview, ...shown } = record;
  return {
    key,
    status: "present",
    from,
    id: ulidText(id),
    kind,
    ...(to instanceof Uint8Array
      ? { to: ulidText(to) }
      : { to: to.name, ...(to.graph === "" ? {} : { toGraph: to.graph }) }),
    ...shown,
    ...(entry === undefined ? {} : { seq: entry.seq }),
  };
}

/** A shown entry that holds a part. */
interface HoldingEntry extends Pick<EntryHeader, "seq" | "at"> {
  /** When the part was first written: earlier than the entry, if a revert carries it again. */
  readonly firstAt: number;
}

/** The last of the shown entries that holds a part. */
function entryOf(
  entries: readonly EntryHeader[],
  tag: number,
  id: Uint8Array,
  hash: Uint8Array,
): HoldingEntry | undefined {
  const last = holdersOf(entries, tag, id, hash).at(-1);
  if (last === undefined) return undefined;
  const { seq, at } = last.header;
  return { seq, at, firstAt: last.context.at };
}

/** The shown entries that hold a part, in their order, with what its record is read with. */
function holdersOf(
  entries: readonly EntryHeader[],
  tag: number,
  id: Uint8Array,
  hash: Uint8Array,
): readonly { readonly header: EntryHeader; readonly context: PartContext }[] {
  return entries.flatMap((header) => {
    const index = header.parts.findIndex(
      (part) =>
        part.subject[0] === tag &&
        equalBytes(part.subject.subarray(1), id) &&
        part.hash !== null &&
        equalBytes(part.hash, hash),
    );
    return index < 0 ? [] : [{ header, context: partContext(header, index) }];
  });
}

const SUBJECT_NAMES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(SUBJECT).map(([name, tag]) => [tag, name]),
);

function showEntry({ seq, kind, at, by, parts, batch }: EntryHeader): VerifiedEntry {
  return {
    seq,
    kind,
    at,
    by,
    parts: parts.map(({ subject, hash }) => {
      const name = SUBJECT_NAMES[subject[0] ?? -1] ?? "unknown";
      const id = subject.subarray(1);
      const shown = id.length === ULID_BYTES ? ulidText(id) : toHex(id);
      return {
        subject: id.length === 0 ? name : `${name}:${shown}`,
        ...(hash === null ? {} : { hash: toHex(hash) }),
      };
    }),
    ...(batch === undefined ? {} : { batch }),
  };
}
