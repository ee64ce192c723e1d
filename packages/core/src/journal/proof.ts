/**
 * The proof document: everything a verifier needs to believe some memories, edges and entries of a
 * store, given only a checkpoint that it trusts. This file is the bytes; `verify.ts` is the belief.
 *
 * Bytes (format 1), canonical CBOR, a map with integer keys:
 *   0  1, the format
 *   1  the checkpoint the proof is for: its nine lines, no signatures
 *   2  memories: [state proof, [[id 16], [id, part], [id, part, version part], …]], ascending by id
 *   3  edges: [state proof, [[tree key 32], [tree key, part], …]], ascending by key
 *   4  entries: [[seq, header, inclusion path], …], ascending by seq
 *   5  since: [older size, its journal root, consistency path]
 * 2 to 5 are absent when nothing was asked of them. A state proof is the bytes of
 * `merkle/state-proof.ts`, for a reader who knows the leaf of every item that has a part: its key
 * follows from the item, its value is the hash of the part. A path is its hashes in one string; a
 * part is salt and record, as `entry.ts` has it. An item without a part is absent from the tree. A
 * version part is there when the part holds the Head alone: the part that holds the Version, whose
 * hash the Head's part names.
 *
 * Promises: one document, one encoding; anything else is `ERR_PROOF_MALFORMED`. Nothing is decoded
 * before its size was bounded. What the parts say, and whether to believe the checkpoint, is left to
 * the verifier.
 */

import { type CborValue, decode, encode, fields, isFields } from "../codec/cbor.js";
import { HASH_BYTES, type Sha256 } from "../codec/hash.js";
import { compareBytes, concatBytes } from "../codec/keys.js";
import { base64Bytes, fromBase64, toBase64 } from "../codec/text.js";
import { ULID_BYTES } from "../codec/ulid.js";
import { CortexError, describe, isCortexError } from "../errors.js";
import { LIMITS } from "../limits.js";
import { checkStateProof, decodeStateProof, STATE_KEY_BYTES } from "../merkle/state-proof.js";
import { partHash, SALT_BYTES } from "./entry.js";

/** A proof as callers hold, store and send it. */
export interface Proof {
  readonly cortex: "proof/1";
  /** The document, in base64. */
  readonly bytes: string;
}

/** Largest document that is made or read: as much as one batch may write. */
export const PROOF_BYTES_MAX: number = LIMITS.batchBytes;

/** Most memories, edges and entries that one proof may be about, together. */
export const PROOF_ITEMS_MAX: number = LIMITS.batchItems;

/** A memory that was asked for. */
export interface ProofMemory {
  /** 16 bytes. */
  readonly id: Uint8Array;
  /** Salt and record; absent when there is no such memory. */
  readonly part?: Uint8Array;
  /** The part that holds the Version, when `part` holds the Head alone. */
  readonly versionPart?: Uint8Array;
}

/** An edge that was asked for. */
export interface ProofEdge {
  /** 32 bytes: the edge's place in the tree. */
  readonly key: Uint8Array;
  /** Salt and record; absent when there is no such edge. */
  readonly part?: Uint8Array;
}

/** An entry that was asked for. */
export interface ProofEntry {
  readonly seq: number;
  readonly header: Uint8Array;
  /** Sibling hashes, from the leaf upward. */
  readonly path: readonly Uint8Array[];
}

/** That an older journal is a prefix of this one. */
export interface ProofSince {
  readonly size: number;
  /** The journal root at that size. */
  readonly root: Uint8Array;
  readonly path: readonly Uint8Array[];
}

/** What was asked of one state tree, and the tree cut down to it. */
export interface ProofTree<T> {
  /** The bytes of a state proof, for a reader who knows the leaves of the items with a part. */
  readonly state: Uint8Array;
  /** At least one, ascending and without repeats. */
  readonly items: readonly T[];
}

/** A proof, taken apart. */
export interface ProofDocument {
  readonly checkpoint: string;
  readonly memories?: ProofTree<ProofMemory>;
  readonly edges?: ProofTree<ProofEdge>;
  readonly entries?: readonly ProofEntry[];
  readonly since?: ProofSince;
}

/** A document as callers hold it; `ERR_TOO_LARGE` when it is over `PROOF_BYTES_MAX`. */
export function sealProof(document: ProofDocument): Proof {
  const bytes = encodeProof(document);
  if (bytes.length <= PROOF_BYTES_MAX) return { cortex: "proof/1", bytes: toBase64(bytes) };
  throw new CortexError(
    "ERR_TOO_LARGE",
    `proof: expected at most ${PROOF_BYTES_MAX} bytes, got ${bytes.length}; ask for less at once`,
  );
}

/** The document's bytes in any form they are handed around: a `Proof`, its JSON, base64, bytes. */
export function proofBytes(proof: unknown): Uint8Array {
  if (proof instanceof Uint8Array) return bounded(proof.length, () => proof);
  if (typeof proof === "string") {
    return /^\s*\{/.test(proof) ? proofBytes(parseJson(proof)) : fromText(proof);
  }
  if (typeof proof !== "object" || proof === null) {
    throw malformed(`expected a proof, got ${describe(proof)}`);
  }
  const { cortex, bytes, ...rest } = proof as { readonly [name: string]: unknown };
  if (cortex !== "proof/1")
    throw malformed(`expected cortex to be proof/1, got ${describe(cortex)}`);
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw malformed(`it has an unknown member ${describe(unknown)}`);
  if (typeof bytes !== "string")
    throw malformed(`expected bytes in base64, got ${describe(bytes)}`);
  return fromText(bytes);
}

/** The one encoding of a document. */
export function encodeProof(document: ProofDocument): Uint8Array {
  const { memories, edges, entries, since } = document;
  return encode(
    fields([
      FORMAT,
      document.checkpoint,
      memories === undefined
        ? undefined
        : [memories.state, memories.items.map((item) => [item.id, ...present(item)])],
      edges === undefined
        ? undefined
        : [edges.state, edges.items.map((item) => [item.key, ...present(item)])],
      entries === undefined
        ? undefined
        : entries.map(({ seq, header, path }) => [seq, header, concatBytes(...path)]),
      since === undefined ? undefined : [since.size, since.root, concatBytes(...since.path)],
    ]),
  );
}

/** Reads a document; anything but the one encoding is `ERR_PROOF_MALFORMED`. */
export function decodeProof(bytes: Uint8Array): ProofDocument {
  const value = bounded(bytes.length, () => decodeCbor(bytes));
  if (!isFields(value)) throw malformed("expected a map with integer keys");
  const [format, checkpoint, memories, edges, entries, since, ...rest] = value.at;
  if (format !== FORMAT) throw malformed(`expected format ${FORMAT}, got ${describe(format)}`);
  if (typeof checkpoint !== "string") throw malformed("the checkpoint is missing");
  if (rest.length > 0) throw malformed("a document has keys 0 to 5");
  return {
    checkpoint,
    ...(memories === undefined ? {} : { memories: readTree(memories, MEMORIES) }),
    ...(edges === undefined ? {} : { edges: readTree(edges, EDGES) }),
    ...(entries === undefined ? {} : { entries: readEntries(entries) }),
    ...(since === undefined ? {} : { since: readSince(since) }),
  };
}

const SLICE_MEMBERS = ["memories", "proof", "checkpoint", "seq"] as const;

/** The members of a slice, an object or its JSON; one that is missing or unknown is refused by its name. */
export function sliceMembers(slice: unknown): {
  readonly memories: readonly unknown[];
  readonly proof: unknown;
  readonly checkpoint: unknown;
  readonly seq: unknown;
} {
  const given = typeof slice === "string" ? parseJson(slice) : slice;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw malformed("slice: expected an object");
  }
  const members = given as { readonly [name: string]: unknown };
  const missing = SLICE_MEMBERS.find((name) => members[name] === undefined);
  if (missing !== undefined) throw malformed(`slice: ${missing} is missing`);
  const unknown = Object.keys(members).find((name) => !SLICE_MEMBERS.some((own) => own === name));
  if (unknown !== undefined)
    throw malformed(`slice: it has an unknown member ${describe(unknown)}`);
  const { memories, proof, checkpoint, seq } = members;
  if (!Array.isArray(memories)) throw malformed("slice: memories is no list");
  return { memories, proof, checkpoint, seq };
}

/** The failure of everything that is no proof at all. */
export function malformed(what: string): CortexError {
  return new CortexError("ERR_PROOF_MALFORMED", `proof: ${what}`);
}

/** The failure of a proof of the right shape that does not hold. */
export function refused(what: string): CortexError {
  return new CortexError("ERR_PROOF_INVALID", `proof: ${what}`);
}

/** A part that a tree was seen to hold, and its hash. */
export interface ShownPart {
  readonly bytes: Uint8Array;
  readonly hash: Uint8Array;
}

/**
 * Checks what a document says of one tree against the tree's root, and gives the part of each item,
 * `undefined` for one that the tree does not have; `ERR_PROOF_INVALID` when the tree says otherwise.
 */
export function checkTree<T extends { readonly part?: Uint8Array }>(
  sha256: Sha256,
  { state, items }: ProofTree<T>,
  rules: {
    readonly root: Uint8Array;
    readonly key: (item: T) => Uint8Array;
    readonly name: (item: T) => string;
  },
): readonly (ShownPart | undefined)[] {
  const shown = items.map((item) => {
    const { part: bytes } = item;
    const part = bytes === undefined ? undefined : { bytes, hash: partHash(sha256, bytes) };
    return { item, key: rules.key(item), part };
  });
  // Items ascend by what their keys start with, so the known leaves ascend as well.
  const known = shown.flatMap(({ key, part }) =>
    part === undefined ? [] : [{ key, value: part.hash }],
  );
  const { lookup } = checkStateProof(sha256, decodeStateProof(state, known), rules.root);
  return shown.map(({ item, key, part }) => {
    const { kind } = lookup(key);
    if (kind === "uncovered") {
      throw refused(`${rules.name(item)}: the state proof does not reach it`);
    }
    // The leaf of a part has its place in the proof by now, and it is where its own search ends.
    if ((kind === "present") !== (part !== undefined)) {
      throw refused(`${rules.name(item)}: shown as absent, but the tree has it`);
    }
    return part;
  });
}

const FORMAT = 1;

function present(item: ProofMemory | ProofEdge): Uint8Array[] {
  if (item.part === undefined) return [];
  const versionPart = "versionPart" in item ? item.versionPart : undefined;
  return versionPart === undefined ? [item.part] : [item.part, versionPart];
}

function bounded<T>(byteCount: number, read: () => T): T {
  if (byteCount <= PROOF_BYTES_MAX) return read();
  throw malformed(`expected at most ${PROOF_BYTES_MAX} bytes, got ${byteCount}`);
}

function fromText(text: string): Uint8Array {
  const bytes = bounded(base64Bytes(text), () => fromBase64(text));
  if (bytes === undefined) throw malformed("its bytes are not base64");
  return bytes;
}

function parseJson(text: string): unknown {
  try {
    return bounded(base64Bytes(text), () => JSON.parse(text) as unknown);
  } catch (error) {
    if (isCortexError(error)) throw error;
    throw malformed("it is not JSON");
  }
}

function decodeCbor(bytes: Uint8Array): CborValue {
  try {
    return decode(bytes);
  } catch (error) {
    if (!isCortexError(error)) throw error;
    throw malformed(error.message);
  }
}

/** A list of exactly, or at least, so many values. */
function tuple(
  value: CborValue | undefined,
  what: string,
  least: number,
  most: number,
): CborValue[] {
  if (Array.isArray(value) && value.length >= least && value.length <= most) return value;
  throw malformed(`${what} is a list of ${least === most ? least : `${least} to ${most}`}`);
}

/** How the items of one tree are read. */
interface ItemRules<T> {
  readonly name: string;
  readonly read: (value: CborValue) => T;
  readonly key: (item: T) => Uint8Array;
}

const MEMORIES: ItemRules<ProofMemory> = {
  name: "memories",
  key: ({ id }) => id,
  read: (value) => {
    const [id, part, versionPart] = tuple(value, "a memory", 1, 3);
    return {
      id: fixed(id, ULID_BYTES, "the id of a memory"),
      ...(part === undefined ? {} : { part: readPart(part) }),
      ...(versionPart === undefined ? {} : { versionPart: readPart(versionPart) }),
    };
  },
};

const EDGES: ItemRules<ProofEdge> = {
  name: "edges",
  key: ({ key }) => key,
  read: (value) => {
    const [key, part] = tuple(value, "an edge", 1, 2);
    return {
      key: fixed(key, STATE_KEY_BYTES, "the key of an edge"),
      ...(part === undefined ? {} : { part: readPart(part) }),
    };
  },
};

function readTree<T>(value: CborValue, rules: ItemRules<T>): ProofTree<T> {
  const [state, list] = tuple(value, rules.name, 2, 2);
  if (!(state instanceof Uint8Array)) throw malformed(`${rules.name}: the state proof is missing`);
  const items = tuple(list, rules.name, 1, PROOF_ITEMS_MAX).map(rules.read);
  inOrder(rules.name, items, (a, b) => compareBytes(rules.key(a), rules.key(b)));
  return { state, items };
}

/** One set of items has one order, so that one proof has one encoding. */
function inOrder<T>(name: string, items: readonly T[], compare: (a: T, b: T) => number): void {
  for (const [at, item] of items.entries()) {
    const before = items[at - 1];
    if (before === undefined || compare(before, item) < 0) continue;
    throw malformed(`${name}: the items are not in ascending order without repeats`);
  }
}

function readEntries(value: CborValue): readonly ProofEntry[] {
  const entries = tuple(value, "entries", 1, PROOF_ITEMS_MAX).map((item) => {
    const [seq, header, path] = tuple(item, "an entry", 3, 3);
    if (!(header instanceof Uint8Array)) throw malformed("the header of an entry is bytes");
    return { seq: count(seq, "the seq of an entry"), header, path: hashes(path) };
  });
  inOrder("entries", entries, (a, b) => a.seq - b.seq);
  return entries;
}

function readSince(value: CborValue): ProofSince {
  const [size, root, path] = tuple(value, "since", 3, 3);
  return {
    size: count(size, "the size of since"),
    root: fixed(root, HASH_BYTES, "the root of since"),
    path: hashes(path),
  };
}

function readPart(value: CborValue): Uint8Array {
  if (value instanceof Uint8Array && value.length > SALT_BYTES) return value;
  throw malformed("a part is salt and record");
}

function fixed(value: CborValue | undefined, length: number, what: string): Uint8Array {
  if (value instanceof Uint8Array && value.length === length) return value;
  throw malformed(`${what} has ${length} bytes`);
}

function count(value: CborValue | undefined, what: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw malformed(`${what} is an integer of at least 0`);
}

function hashes(value: CborValue | undefined): readonly Uint8Array[] {
  if (!(value instanceof Uint8Array) || value.length % HASH_BYTES !== 0) {
    throw malformed(`a path is hashes of ${HASH_BYTES} bytes`);
  }
  const list: Uint8Array[] = [];
  for (let at = 0; at < value.length; at += HASH_BYTES) {
    list.push(value.subarray(at, at + HASH_BYTES));
  }
  return list;
}
