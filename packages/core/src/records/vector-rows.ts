/**
 * The rows that keep vectors: their keys, their values, and what a model and a text are called there.
 *
 * All of them are caches, outside every root. A vector stands under the hash of the text it was made
 * from, so memories that say the same share one, and a rebuilt store finds its vectors again without
 * asking the model. Three rows say who owns what: the memory's row names the hash of its text and the
 * entry that brought it; the owner row stands the other way round, so that whoever takes a memory's
 * vector away sees whether another memory still needs it. A model is a tag of eight bytes, and vectors
 * of another model, or another width, stand in ranges of their own.
 *
 * The cursor row of a model says up to where the journal was looked at. Every commit that changes rows
 * of a model also changes its cursor row and expects it as it was read, so changes never cross.
 */
import { decode, encode } from "../codec/cbor.js";
import { readIntegerOr, readList, readText } from "../codec/cbor-value.js";
import { domainHash, type Sha256 } from "../codec/hash.js";
import { equalBytes, fromHex, keyOf, textInKey, toHex } from "../codec/keys.js";
import { utf8 } from "../codec/text.js";
import { CortexError } from "../errors.js";
import { KEYSPACE, prefixRange, textKey } from "../kv/keyspace.js";
import type { Bytes, KvRange, KvRow } from "../kv/kv.js";

/** Bytes of a model's tag. */
const TAG_BYTES = 8;
/** Bytes of a text's hash. */
const TEXT_HASH_BYTES = 16;
/** More models than a store ever had. */
const MODELS = 1000;
const CURSOR_NAME = "embed:";

/** The tag of a model: its name and width, hashed. */
export function modelTag(
  sha256: Sha256,
  { model, dimensions }: { readonly model: string; readonly dimensions: number },
): Bytes {
  return domainHash(sha256, "vectorModel", encode([model, dimensions])).slice(0, TAG_BYTES);
}

/** What a text is called among vectors. */
export function textHash(sha256: Sha256, embedded: string): Bytes {
  return domainHash(sha256, "vectorText", utf8(embedded)).slice(0, TEXT_HASH_BYTES);
}

const LITTLE_ENDIAN = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** The bytes of a vector: its numbers of 32 bits, little-endian on every machine. */
export function encodeVector(vector: Float32Array): Bytes {
  const bytes = new Uint8Array(4 * vector.length);
  new Float32Array(bytes.buffer).set(vector);
  return LITTLE_ENDIAN ? bytes : swapped(bytes);
}

/** Reads a vector into memory of its own; bytes of another width are `ERR_CORRUPT`. */
export function decodeVector(bytes: Bytes, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions);
  readVector(bytes, vector);
  return vector;
}

/** The same into a vector that is there already: who compares many needs none of them for long. */
export function readVector(bytes: Bytes, into: Float32Array): void {
  if (bytes.length !== into.byteLength) {
    throw new CortexError(
      "ERR_CORRUPT",
      `vector row: expected ${into.byteLength} bytes, got ${bytes.length}`,
    );
  }
  // Copied, because a row may start at any byte and numbers must be aligned.
  const own = new Uint8Array(into.buffer, into.byteOffset, into.byteLength);
  own.set(LITTLE_ENDIAN ? bytes : swapped(bytes));
}

function swapped(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const result = new Uint8Array(bytes.length);
  for (let at = 0; at < bytes.length; at += 1) result[at] = bytes[at ^ 3] as number;
  return result;
}

/** Which vector a memory has. */
export interface VectorMemory {
  readonly hash: Bytes;
  /** The entry that holds the version whose text it is. */
  readonly bodySeq: number;
}

/** The bytes of a memory's row among vectors. */
export function encodeVectorMemory({ hash, bodySeq }: VectorMemory): Bytes {
  return encode([hash, bodySeq]);
}

/** Reads a memory's row among vectors. */
export function decodeVectorMemory(bytes: Bytes): VectorMemory {
  const [hash, bodySeq] = readList(decode(bytes));
  if (!(hash instanceof Uint8Array) || hash.length !== TEXT_HASH_BYTES) {
    throw new CortexError("ERR_CORRUPT", "vector row of a memory: expected a hash of 16 bytes");
  }
  return { hash, bodySeq: readIntegerOr(bodySeq, 0) };
}

/** The id at the end of a memory's row, or of an owner row. */
export function idOfKey(key: Bytes): Bytes {
  return key.slice(-16);
}

/** Where the work on one model stands. */
export interface EmbedCursor {
  readonly model: string;
  readonly dimensions: number;
  /** The first entry that was not looked at yet. */
  readonly seq: number;
  /** Memories that have a vector. */
  readonly memories: number;
  /** Memories whose vectors were taken away because they were forgotten. */
  readonly purged: number;
  /** How often rows of the model were changed: any change makes another cursor row. */
  readonly changes: number;
}

/** The key of a model's cursor row. */
export function embedCursorKey(tag: Bytes): Bytes {
  return textKey("cursor", CURSOR_NAME + toHex(tag));
}

/** The bytes of a cursor row. */
export function encodeEmbedCursor(cursor: EmbedCursor): Bytes {
  const { seq, model, dimensions, memories, purged, changes } = cursor;
  return encode([seq, model, dimensions, memories, purged, changes]);
}

/** Reads a cursor row. */
export function decodeEmbedCursor(bytes: Bytes): EmbedCursor {
  const [seq, model, dimensions, memories, purged, changes] = readList(decode(bytes));
  return {
    seq: readIntegerOr(seq, 0),
    model: readText(model),
    dimensions: readIntegerOr(dimensions, 0),
    memories: readIntegerOr(memories, 0),
    purged: readIntegerOr(purged, 0),
    changes: readIntegerOr(changes, 0),
  };
}

/** A model that a store holds vectors of. */
export interface StoredModel {
  readonly tag: Bytes;
  readonly cursor: EmbedCursor;
  /** The cursor row as it was read: what a change expects. */
  readonly row: KvRow;
}

/** The range of the cursor rows of all models. */
export function storedModelsRange(): KvRange {
  return prefixRange(keyOf(KEYSPACE.cursor.byte).textStart(CURSOR_NAME).end(), MODELS);
}

/** The models behind the rows of that range. */
export function storedModels(rows: readonly KvRow[]): readonly StoredModel[] {
  return rows.flatMap((row): StoredModel[] => {
    const tag = fromHex(textInKey(row.key, 1).slice(CURSOR_NAME.length));
    return tag?.length === TAG_BYTES ? [{ tag, row, cursor: decodeEmbedCursor(row.value) }] : [];
  });
}

/** Whether a cursor row is one of these: a copy of vectors needs it as well. */
export function isEmbedCursorKey(key: Bytes): boolean {
  const { gte } = storedModelsRange();
  return key.length > gte.length && equalBytes(key.subarray(0, gte.length), gte);
}
