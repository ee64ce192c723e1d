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
 * The records are read here a second time, beside `records/memory-record.ts`: that file needs a schema
 * library and serves the engine, this one gives plain values and trusts no byte. A test holds the
 * two against each other.
 */
import { type CborValue, decode } from "./codec/cbor.js";
import {
  readBytesOf,
  readInteger,
  readList,
  readMap,
  readObject,
  readText,
  readTexts,
  stableText,
} from "./codec/cbor-read.js";
import { equalBytes, toHex } from "./codec/keys.js";
import { sha256Pure } from "./codec/sha256-pure.js";
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
} from "./journal/proof.js";
import { verifyConsistency, verifyInclusion } from "./merkle/log-proof.js";
import { edgeStateKey, memoryStateKey } from "./merkle/state-keys.js";
import {
  FRAME_VERBS,
  LIFECYCLES,
  type Lifecycle,
  MEMORY_TYPES,
  type MemoryType,
  nameOf,
  OBJECT_KINDS,
  SOURCES,
  STATUSES,
  VISIBILITIES,
} from "./records/types.js";

export type { Proof } from "./journal/proof.js";

/** A value as JSON has it; byte strings, which open data never holds, aside. */
export type PlainValue = CborValue;

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

/** The mutable side of a memory. */
export interface VerifiedHead {
  readonly lifecycle: Lifecycle;
  readonly status: string;
  readonly visibility: string;
  readonly importance: number;
  readonly source: string;
  readonly tags: readonly string[];
  readonly frames: readonly {
    readonly verb: string;
    readonly object: string;
    readonly ref: string;
  }[];
  readonly siblings: readonly number[];
  readonly slot?: string;
  readonly kind?: string;
  readonly externalId?: string;
  readonly freshnessAt?: number;
  readonly tombstone?: VerifiedTombstone;
  /** Known only when the proof also shows the entry, as is `updatedAt`; a record may leave it out. */
  readonly createdAt?: number;
  readonly updatedAt?: number;
}

/** Why, when and by whom something was hidden or removed. */
export interface VerifiedTombstone {
  readonly reason: string;
  readonly at: number;
  readonly by: string;
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
  readonly tombstone?: VerifiedTombstone;
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
  return settle(() => {
    const document = decodeProof(proofBytes(proof));
    const checkpoint = ownCheckpoint(document);
    const entries = (document.entries ?? []).map((entry) => checkEntry(entry, checkpoint));
    const memories = checkMemories(document, checkpoint, entries);
    const edges = checkEdges(document, checkpoint, entries);
    checkSince(document, checkpoint);
    const { since } = document;
    const anchor = anchorOf(sha256Pure, checkpoint, { trusted, since });
    return {
      ok: true,
      ...anchor,
      checkpoint: summary(checkpoint),
      memories,
      edges,
      entries: entries.map(showEntry),
      ...(since === undefined ? {} : { since: { size: since.size, root: toHex(since.root) } }),
    };
  });
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
  return settle(() => {
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
 * kind is the canonical name. `undefined` when an id is none.
 */
export function edgeKeyOf(edge: {
  readonly from: string;
  readonly kind: string;
  readonly to: string;
  readonly n?: number;
}): string | undefined {
  const [from, to] = [parseUlid(edge.from), parseUlid(edge.to)];
  if (from === undefined || to === undefined) return undefined;
  return toHex(edgeStateKey(sha256Pure, { from, kind: edge.kind, to, n: edge.n ?? 0 }));
}

function settle<T>(run: () => T): T | Refused {
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
  const [, head, version, named] = readMap(decode(partRecord(part.bytes)), what);
  const shown = readMap(head, `${what}: its head`);
  const type = nameOf(MEMORY_TYPES, shown[1], "type");
  const entry = entryOf(entries, SUBJECT.memory, item.id, part.hash);
  const place = entry === undefined ? {} : { seq: entry.seq };
  if (shown[3] === LIFECYCLES.erased.code) {
    if (version !== undefined || named !== undefined || item.versionPart !== undefined) {
      throw refused(`${what} was forgotten, yet a version of it is shown`);
    }
    return { id, status: "erased", type, ...place };
  }
  const body = version ?? namedVersion(what, named, item.versionPart);
  if (version !== undefined && (named !== undefined || item.versionPart !== undefined)) {
    throw malformed(`${what} has its version in two places`);
  }
  const fields = readMap(body, `${what}: its version`);
  const number = readInteger(fields[1], `${what}: its version number`);
  if (number !== shown[2]) throw refused(`${what}: the version shown is not the current one`);
  const data = readObject(fields[2], `${what}: its data`);
  const stored = fields[3] === undefined ? "" : readText(fields[3], `${what}: its short form`);
  return {
    id,
    status: "present",
    type,
    version: number,
    text: sentenceOf(type, data) || stored,
    data,
    head: readHead(shown, what, entry),
    ...place,
  };
}

/** The Version in the part that the Head's part names by its hash. */
function namedVersion(
  what: string,
  named: CborValue | undefined,
  part: Uint8Array | undefined,
): CborValue | undefined {
  if (!(named instanceof Uint8Array)) throw malformed(`${what} has neither version nor its hash`);
  if (part === undefined) throw malformed(`${what}: the part that holds its version is missing`);
  if (!equalBytes(partHash(sha256Pure, part), named)) {
    throw refused(`${what}: the version part is not the one its head names`);
  }
  return readMap(decode(partRecord(part)), `${what}: its version part`)[2];
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
  const at = readMap(decode(partRecord(part.bytes)), what);
  const near = readBytesOf(at[1], ULID_BYTES, `${what}: its source`);
  const kind = readText(at[2], `${what}: its kind`);
  const n = at[4] === undefined ? 0 : readInteger(at[4], `${what}: its number`);
  const to = farEnd(at[3], what);
  // The key commits to ends and kind by a hash; a record of another edge gives another key.
  const own = edgeStateKey(sha256Pure, { from: near, kind, to: at[3] ?? null, n });
  if (!equalBytes(own, item.key)) {
    throw refused(`${what}: its record is of another edge`);
  }
  const entry = entryOf(entries, SUBJECT.edge, item.key, part.hash);
  const number = (index: number, name: string) =>
    at[index] === undefined ? {} : { [name]: readInteger(at[index], `${what}: its ${name}`) };
  return {
    key,
    status: "present",
    from,
    id: ulidText(readBytesOf(at[0], ULID_BYTES, `${what}: its id`)),
    kind,
    ...to,
    n,
    source: at[10] === undefined ? "user_input" : nameOf(SOURCES, at[10], "source"),
    ...(typeof at[5] === "number" ? { weight: at[5] } : {}),
    ...(at[6] === undefined ? {} : { reason: readText(at[6], `${what}: its reason`) }),
    ...number(7, "strength"),
    ...number(8, "ordinal"),
    ...(at[9] === undefined ? {} : { metadata: readObject(at[9], `${what}: its metadata`) }),
    ...number(13, "validFrom"),
    ...number(14, "validTo"),
    ...(at[15] === undefined ? {} : { tombstone: readTombstone(at[15], what) }),
    ...(entry === undefined ? {} : { seq: entry.seq }),
  };
}

function farEnd(
  value: CborValue | undefined,
  what: string,
): { readonly to: string; readonly toGraph?: string } {
  if (value instanceof Uint8Array)
    return { to: ulidText(readBytesOf(value, ULID_BYTES, `${what}: its far end`)) };
  const [graph, name] = readList(value, `${what}: its far end`).map((item) =>
    readText(item, `${what}: its far end`),
  );
  if (graph === undefined || name === undefined) throw malformed(`${what}: its far end is no pair`);
  return { to: name, ...(graph === "" ? {} : { toGraph: graph }) };
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
  for (const header of entries.toReversed()) {
    const index = header.parts.findIndex(
      (part) =>
        part.subject[0] === tag &&
        equalBytes(part.subject.subarray(1), id) &&
        part.hash !== null &&
        equalBytes(part.hash, hash),
    );
    if (index < 0) continue;
    return { seq: header.seq, at: header.at, firstAt: partContext(header, index).at };
  }
  return undefined;
}

function readHead(
  at: readonly (CborValue | undefined)[],
  what: string,
  entry: HoldingEntry | undefined,
): VerifiedHead {
  const number = (index: number, name: string) =>
    at[index] === undefined ? {} : { [name]: readInteger(at[index], `${what}: its ${name}`) };
  const words = (index: number, name: string) =>
    at[index] === undefined ? {} : { [name]: readText(at[index], `${what}: its ${name}`) };
  const frames = at[7] === undefined ? [] : readList(at[7], `${what}: its frames`);
  const siblings = at[16] === undefined ? [] : readList(at[16], `${what}: its siblings`);
  const createdAt = at[13] ?? entry?.firstAt;
  return {
    lifecycle: at[3] === undefined ? "active" : nameOf(LIFECYCLES, at[3], "lifecycle"),
    status: at[9] === undefined ? "asserted" : nameOf(STATUSES, at[9], "status"),
    visibility: at[4] === undefined ? "private" : nameOf(VISIBILITIES, at[4], "visibility"),
    importance: at[5] === undefined ? 5 : readInteger(at[5], `${what}: its importance`),
    source: at[10] === undefined ? "user_input" : nameOf(SOURCES, at[10], "source"),
    tags: readTexts(at[6], `${what}: its tags`),
    frames: frames.map((frame) => {
      const [verb, object, ref] = readList(frame, `${what}: a frame`);
      return {
        verb: nameOf(FRAME_VERBS, verb, "verb"),
        object: nameOf(OBJECT_KINDS, object, "object kind"),
        ref: readText(ref, `${what}: a frame`),
      };
    }),
    siblings: siblings.map((sibling) => readInteger(sibling, `${what}: a sibling`)),
    ...words(8, "slot"),
    ...words(11, "kind"),
    ...words(12, "externalId"),
    ...number(14, "freshnessAt"),
    ...(at[15] === undefined ? {} : { tombstone: readTombstone(at[15], what) }),
    ...(createdAt === undefined ? {} : { createdAt: readInteger(createdAt, `${what}: its time`) }),
    ...(entry === undefined ? {} : { updatedAt: entry.at }),
  };
}

function readTombstone(value: CborValue, what: string): VerifiedTombstone {
  const name = `${what}: its tombstone`;
  const [reason, at, by] = readList(value, name);
  return { reason: readText(reason, name), at: readInteger(at, name), by: readText(by, name) };
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

/** The sentence or content that stands for a memory: a rule of the format, see `records/data.ts`. */
function sentenceOf(type: MemoryType, data: { readonly [name: string]: PlainValue }): string {
  if (type === "note") {
    const { content, summary } = data;
    return String((content === "" && summary !== undefined ? summary : content) ?? "");
  }
  for (const name of OWN_WORDS[type] ?? ["statement"]) {
    if (data[name] !== undefined) return String(data[name]);
  }
  return (SPEAKING_FIELDS[type] ?? [])
    .flatMap((name) => data[name] ?? [])
    .map((value) => (typeof value === "string" ? value : stableText(value)))
    .join(" ");
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
