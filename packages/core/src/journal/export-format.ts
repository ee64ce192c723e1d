/**
 * The bytes of an export: one portable file that holds a journal, or a stretch of one, and can be
 * checked without anything else. Backups have the same form.
 *
 *     cortex-journal 1\n                         magic line with the number of this format
 *     frame*                                     length u32 (big-endian) ‖ tag (1 byte) ‖ payload
 *
 *     H  once     CBOR map { actor, epoch, format, from, fromRoot, journalRoot, root, size, storeId }
 *     X  any      CBOR list of [seq, part], at most 4,096 a frame: every part of the first `size`
 *                 entries that is erased, ascending over all frames
 *     S  any      a stored snapshot, by ascending number and mark: the bytes of its row
 *     E  any      an entry: the bytes of its journal row; seqs `from` to `size` - 1, ascending
 *     T  once     CBOR list [number of entries in this file, root, SHA-256 of every byte before
 *                 this frame]; nothing follows
 *
 * `length` counts the payload alone. `size` is the number of entries of the whole journal at the
 * position of the export, `from` the number of those that this file leaves out (0 in a full one).
 * `fromRoot` and `journalRoot` are the RFC 9162 roots of the first `from` and the first `size`
 * entries, `root` is the root over everything at `size`. Hashes are 32 bytes, `storeId` is 16.
 *
 * Promises: reading holds one frame at a time, refuses anything that is not exactly this form with
 * `ERR_EXPORT_MALFORMED`, and gives the hash of what it read next to the hash the file names. What
 * the frames say is judged by `history/import-journal.ts`.
 */
import { type CborValue, decode, encode } from "../codec/cbor.js";
import { readBytesOf, readInteger, readList, readObject, readText } from "../codec/cbor-value.js";
import { HASH_BYTES, type Hasher } from "../codec/hash.js";
import { concatBytes, equalBytes, fromHex, readU32, toHex } from "../codec/keys.js";
import { utf8 } from "../codec/text.js";
import { CortexError } from "../errors.js";
import { LIMITS } from "../limits.js";
import { type ErasureList, type ErasureListBuilder, gatherErasures } from "./erasure-list.js";

/** The number of this format. */
const EXPORT_FORMAT = 1;

const MAGIC = "cortex-journal ";
const MAGIC_LINE = utf8(`${MAGIC}${EXPORT_FORMAT}\n`);

/** The tags of frames, in the order in which they appear. */
export const FRAME = {
  header: 0x48,
  erased: 0x58,
  snapshot: 0x53,
  entry: 0x45,
  trailer: 0x54,
} as const;

const PREFIX_BYTES = 5;
/** No row of a store is larger. */
const PAYLOAD_BYTES_MAX = LIMITS.batchBytes;
const STORE_ID_BYTES = 16;

/** Erased parts in one frame. */
const ERASED_PER_FRAME = 4096;

/** What the header frame says. */
export interface ExportHeader {
  readonly actor: string;
  /** In hex. */
  readonly storeId: string;
  readonly epoch: number;
  /** The format of the entries. */
  readonly format: number;
  readonly from: number;
  readonly fromRoot: Uint8Array;
  readonly size: number;
  readonly journalRoot: Uint8Array;
  readonly root: Uint8Array;
}

/** What the trailer frame says. */
interface ExportTrailer {
  readonly entries: number;
  readonly root: Uint8Array;
  readonly sum: Uint8Array;
}

/** One frame as read. */
export interface Frame {
  readonly tag: number;
  readonly payload: Uint8Array;
}

/** Gathers frames into chunks of a good size, hashing them on the way. */
interface FrameWriter {
  /** Adds a frame; gives a chunk to write out when enough has come together. */
  add(tag: number, payload: Uint8Array): Uint8Array | undefined;
  /** The last chunk: what was left, and the trailer. */
  end(trailer: Omit<ExportTrailer, "sum">): Uint8Array;
}

/** Frames are handed on in chunks of about this size. */
const CHUNK_BYTES = 128 * 1024;

/** Starts an export with its magic line. */
export function frameWriter(hasher: Hasher): FrameWriter {
  let pieces: Uint8Array[] = [MAGIC_LINE];
  let bytes = MAGIC_LINE.length;
  const flush = (): Uint8Array => {
    const chunk = concatBytes(...pieces);
    hasher.update(chunk);
    pieces = [];
    bytes = 0;
    return chunk;
  };
  return {
    add(tag, payload) {
      pieces.push(framePrefix(tag, payload.length), payload);
      bytes += PREFIX_BYTES + payload.length;
      return bytes < CHUNK_BYTES ? undefined : flush();
    },
    end({ entries, root }) {
      const rest = flush();
      const payload = encode([entries, root, hasher.digest()]);
      return concatBytes(rest, framePrefix(FRAME.trailer, payload.length), payload);
    },
  };
}

function framePrefix(tag: number, length: number): Uint8Array {
  return Uint8Array.of(length >>> 24, length >>> 16, length >>> 8, length, tag);
}

/** The payload of a header frame. */
export function encodeExportHeader(header: ExportHeader): Uint8Array {
  const storeId = fromHex(header.storeId);
  if (storeId === undefined) throw new Error("a store id is hex");
  return encode({ ...header, storeId } as { readonly [name: string]: CborValue });
}

/** Reads the payload of a header frame. */
export function decodeExportHeader(payload: Uint8Array): ExportHeader {
  return reading("the header", () => {
    const map = readObject(decode(payload), "header");
    const header = {
      actor: readText(map.actor, "actor"),
      storeId: toHex(readBytesOf(map.storeId, STORE_ID_BYTES, "storeId")),
      epoch: readInteger(map.epoch, "epoch"),
      format: readInteger(map.format, "format"),
      from: readInteger(map.from, "from"),
      fromRoot: readBytesOf(map.fromRoot, HASH_BYTES, "fromRoot"),
      size: readInteger(map.size, "size"),
      journalRoot: readBytesOf(map.journalRoot, HASH_BYTES, "journalRoot"),
      root: readBytesOf(map.root, HASH_BYTES, "root"),
    };
    const { from, size, epoch } = header;
    if (from < 0 || size < 1 || from > size || epoch < 0) {
      throw malformed(`its stretch of entries, ${from} to ${size}, cannot be`);
    }
    // One header has one text: members nobody reads would go unchecked.
    if (!equalBytes(encodeExportHeader(header), payload))
      throw malformed("the header is not plain");
    return header;
  });
}

/** The payloads of the frames that hold a list of erased parts. */
export function* encodeErased(list: ErasureList): Generator<Uint8Array> {
  let pairs: (readonly [number, number])[] = [];
  for (const { seq, part } of list) {
    pairs.push([seq, part]);
    if (pairs.length < ERASED_PER_FRAME) continue;
    yield encode(pairs);
    pairs = [];
  }
  if (pairs.length > 0) yield encode(pairs);
}

/** Reads the payload of one such frame into a list. */
export function decodeErased(payload: Uint8Array, size: number, list: ErasureListBuilder): void {
  reading("the list of erased parts", () => {
    for (const pair of readList(decode(payload), "erased")) {
      const [seq, part, ...rest] = readList(pair, "erased part");
      const place = [readInteger(seq, "seq"), readInteger(part, "part")] as const;
      if (rest.length === 0 && place[0] < size && list.add(...place)) continue;
      throw malformed(
        `its list of erased parts names ${place[0]}/${place[1]} out of order`,
        place[0],
      );
    }
  });
}

/** A list to read frames of erased parts into. */
export const startErased: () => ErasureListBuilder = gatherErasures;

/** Reads the payload of the trailer. */
export function decodeExportTrailer(payload: Uint8Array): ExportTrailer {
  return reading("the trailer", () => {
    const [entries, root, sum, ...rest] = readList(decode(payload), "trailer");
    if (rest.length > 0) throw malformed("the trailer has three members");
    return {
      entries: readInteger(entries, "entries"),
      root: readBytesOf(root, HASH_BYTES, "root"),
      sum: readBytesOf(sum, HASH_BYTES, "sum"),
    };
  });
}

/**
 * The frames of a file, in order, each a copy of its bytes. `hasher` is given everything before the
 * trailer; after the trailer the file must end.
 */
export async function* readFrames(
  source: AsyncIterable<Uint8Array>,
  hasher: Hasher,
): AsyncGenerator<Frame> {
  const input = byteInput(source);
  const magic = await input.take(MAGIC_LINE.length);
  if (magic === undefined || !equalBytes(magic, MAGIC_LINE)) throw notOurs(magic);
  hasher.update(magic);
  try {
    for (;;) {
      const prefix = await input.take(PREFIX_BYTES);
      if (prefix === undefined) throw malformed("it ends before its trailer");
      const length = readU32(prefix, 0);
      const tag = prefix[4] ?? 0;
      if (length > PAYLOAD_BYTES_MAX) throw malformed(`a frame claims ${length} bytes`);
      const payload = await input.take(length);
      if (payload === undefined) throw malformed("it ends inside a frame");
      if (tag === FRAME.trailer) {
        if ((await input.take(1)) !== undefined) throw malformed("something follows its trailer");
        yield { tag, payload };
        return;
      }
      hasher.update(prefix);
      hasher.update(payload);
      yield { tag, payload };
    }
  } finally {
    await input.close();
  }
}

interface ByteInput {
  /** The next bytes, all of them, as a copy; `undefined` when there are fewer. */
  take(count: number): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

function byteInput(source: AsyncIterable<Uint8Array>): ByteInput {
  const chunks = source[Symbol.asyncIterator]();
  let chunk: Uint8Array = new Uint8Array(0);
  let used = 0;
  const more = async (): Promise<boolean> => {
    for (;;) {
      const next = await chunks.next();
      if (next.done === true) return false;
      if (!(next.value instanceof Uint8Array)) throw malformed("a source gives bytes");
      if (next.value.length === 0) continue;
      chunk = next.value;
      used = 0;
      return true;
    }
  };
  return {
    async take(count) {
      if (chunk.length - used >= count) {
        used += count;
        return chunk.slice(used - count, used);
      }
      const bytes = new Uint8Array(count);
      let filled = 0;
      while (filled < count) {
        if (used === chunk.length && !(await more())) return undefined;
        const piece = chunk.subarray(used, used + count - filled);
        bytes.set(piece, filled);
        filled += piece.length;
        used += piece.length;
      }
      return bytes;
    },
    async close() {
      await chunks.return?.();
    },
  };
}

function notOurs(magic: Uint8Array | undefined): CortexError {
  const line = new TextDecoder().decode(magic ?? new Uint8Array(0));
  const number = line.startsWith(MAGIC) ? Number(line.slice(MAGIC.length)) : Number.NaN;
  if (number > EXPORT_FORMAT) {
    return new CortexError(
      "ERR_FORMAT_NEWER",
      `the export has format ${number}: expected at most ${EXPORT_FORMAT}; a newer release wrote it`,
      { expected: String(EXPORT_FORMAT), got: String(number) },
    );
  }
  return malformed("it does not begin as Cortex's exports do");
}

function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CortexError) || error.code === "ERR_EXPORT_MALFORMED") throw error;
    throw malformed(`${what} cannot be read: ${error.message}`, undefined, error);
  }
}

/** The failure of a file that is no complete export. */
export function malformed(what: string, seq?: number, cause?: unknown): CortexError {
  const details = seq === undefined ? {} : { seq };
  return new CortexError("ERR_EXPORT_MALFORMED", `not a complete export: ${what}`, details, cause);
}
