/**
 * Stores that do not believe what lies below them: neither the bytes of an entry nor the place where the journal
 * ends. Both are done where rows are read, below every verb, so that none can forget them.
 *
 * `verified`: whoever reads the journal through it, one row or a range, gets an entry whose parts have the hashes
 * that its header names and which has the number under which it lies, or `ERR_CORRUPT` with the seq. Headers
 * themselves are leaves of the journal's tree: they are held against it by `check` and `scrub`, because the path to
 * a root takes several reads. An entry is verified when a store first reads it, and then at every sixteenth read:
 * hashing at each would cost a `get` a good part of its time, and in between the bytes come from the memory of the
 * same machine, where damage on the disk does not reach them.
 *
 * `guardPosition`: a standby that was behind became the server, or somebody restored the database to an earlier
 * time. Once a snapshot ends before a position that this handle had seen when it asked for it, in the same epoch, it
 * and every later call fail with `ERR_ROLLED_BACK`, which names both positions. Opening the store again accepts
 * where it stands. A restore of ours continues under a new epoch and is not held to be one.
 */

import { HASH_BYTES, type Sha256 } from "../codec/hash.js";
import { CortexError } from "../errors.js";
import { corruptEntry, partHash } from "../journal/entry.js";
import { getU64 } from "../kv/keyspace.js";
import {
  around,
  type Bytes,
  isHeadKey,
  isMovedHead,
  type Kv,
  type KvSnapshot,
  type KvSoon,
  type OnEntry,
} from "../kv/kv.js";
import { decodeHeadRow, type HeadRow } from "./head-row.js";

/** The same store; what is read of its journal is verified first. */
export function verified(kv: Kv, sha256: Sha256): Kv {
  const onEntry = entryVerifier(sha256);
  const always = { onEntry };
  return around(kv, {
    // Who looks at entries himself, a scrub, sees what others are refused.
    snapshot: (options) => kv.snapshot(options === undefined ? always : { onEntry, ...options }),
  });
}

/** Entries that are remembered as verified; a power of two. */
const MARKS = 1 << 16;
/** Of the reads of such entries, one in so many is verified again. */
const AGAIN_EVERY = 16;

function entryVerifier(sha256: Sha256): OnEntry {
  // Made at the first read: a hub has stores open that only write.
  let marks: Uint32Array | undefined;
  let passed = 0;
  return (key, row) => {
    marks ??= new Uint32Array(MARKS);
    const seq = getU64(key, 1);
    const mark = (seq + 1) >>> 0;
    if (marks[seq % MARKS] === mark) {
      passed = (passed + 1) % AGAIN_EVERY;
      if (passed !== 0) return;
    }
    verifyRow(sha256, seq, row);
    marks[seq % MARKS] = mark;
  };
}

/**
 * Throws unless the entry of a row is the one that its key names, with the parts that it names. Read by
 * hand, without an object made: every read of a memory passes here.
 */
function verifyRow(sha256: Sha256, seq: number, row: Bytes): void {
  const headerAt = row[0] === PAIR ? bytesAt(row, 1) : -1;
  const headerEnd = headerAt < 0 ? -1 : headerAt + lengthAt(row, 1);
  if (headerEnd < 0 || headerEnd >= row.length) throw corruptEntry("the row is no entry", seq);
  if (!saysSeq(row, headerAt, seq)) throw corruptEntry("the row holds another entry", seq);
  let at = headerEnd + headBytes(row, headerEnd);
  let line = headerAt;
  for (let part = 0; at < row.length; part += 1) {
    if (row[at] === NULL) {
      at += 1;
      continue;
    }
    const start = bytesAt(row, at);
    const end = start < 0 ? -1 : start + lengthAt(row, at);
    if (end < 0 || end > row.length) throw corruptEntry("the row is no entry", seq);
    const hash = partHash(sha256, new Uint8Array(row.buffer, row.byteOffset + start, end - start));
    // Parts stand in the order of their lines.
    line = afterHash(row, line, headerEnd, hash);
    if (line < 0) throw corruptEntry(`part ${part} does not have the hash its header names`, seq);
    at = end;
  }
}

/** How CBOR opens a list of two, a byte string and nothing. */
const PAIR = 0x82;
const BYTES = 0x40;
const NULL = 0xf6;

/** Where the bytes of a byte string begin; -1 where there is none. */
function bytesAt(row: Bytes, at: number): number {
  return ((row[at] ?? 0) & 0xe0) === BYTES ? at + headBytes(row, at) : -1;
}

/** Bytes that say what comes and how long it is. */
function headBytes(row: Bytes, at: number): number {
  const size = (row[at] ?? 0) & 0x1f;
  return size < LONG_UINT ? 1 : 1 + 2 ** (size - LONG_UINT);
}

/** How long it is, or the number itself. */
function lengthAt(row: Bytes, at: number): number {
  const size = (row[at] ?? 0) & 0x1f;
  if (size < LONG_UINT) return size;
  let value = 0;
  const end = at + headBytes(row, at);
  for (let next = at + 1; next < end; next += 1) value = value * 256 + (row[next] ?? 0);
  return value;
}

/** Where a hash ends that stands in the header from a place on; -1 where it does not. */
function afterHash(row: Bytes, from: number, to: number, hash: Bytes): number {
  const first = hash[0];
  for (let at = from; at <= to - HASH_BYTES; at += 1) {
    if (row[at] !== first) continue;
    let same = 1;
    while (same < HASH_BYTES && row[at + same] === hash[same]) same += 1;
    if (same === HASH_BYTES) return at + HASH_BYTES;
  }
  return -1;
}

/** First bytes below it are numbers themselves; from it on they say how many bytes follow. */
const LONG_UINT = 24;

/** Whether a header says this seq: it opens with its map, the key 0, and the seq. */
function saysSeq(row: Bytes, headerAt: number, seq: number): boolean {
  return row[headerAt + 1] === 0 && lengthAt(row, headerAt + 2) === seq;
}

/** Watches the positions of a store. */
export function guardPosition(kv: Kv): Kv {
  let seen: Position | undefined;
  let failure: CortexError | undefined;
  // A snapshot is of a state not older than its call: what was seen meanwhile says nothing about it.
  const note = (head: Bytes | undefined, before: Position | undefined): void => {
    if (head === undefined || isMovedHead(head)) return;
    const { size, epoch } = decodeHeadRow(head);
    if (isBehind({ size, epoch }, before)) {
      failure ??= setBack((before?.size ?? 0) - 1, size - 1);
      throw failure;
    }
    if (!isBehind({ size, epoch }, seen)) seen = { size, epoch };
  };
  const watched = (inner: KvSnapshot, before: Position | undefined): KvSnapshot => ({
    async getMany(keys) {
      const values = await inner.getMany(keys);
      const at = keys.findIndex(isHeadKey);
      if (at >= 0) note(values[at], before);
      return values;
    },
    ranges: (ranges) => inner.ranges(ranges),
    ...(inner.soon === undefined ? {} : { soon: (what: KvSoon) => inner.soon?.(what) }),
    close: () => inner.close(),
  });
  const refuse = (): void => {
    if (failure !== undefined) throw failure;
  };
  return around(kv, {
    async snapshot(options) {
      refuse();
      const before = seen;
      return watched(await kv.snapshot(options), before);
    },
    async commit(change) {
      refuse();
      const result = await kv.commit(change);
      // A commit that was overtaken starts over from a snapshot, which is looked at.
      if (result.ok) note(change.head, undefined);
      return result;
    },
  });
}

/** Where a store stands. */
type Position = Pick<HeadRow, "size" | "epoch">;

function isBehind({ size, epoch }: Position, before: Position | undefined): boolean {
  return before !== undefined && epoch <= before.epoch && size < before.size;
}

function setBack(seq: number, last: number): CortexError {
  return new CortexError(
    "ERR_ROLLED_BACK",
    `the store ends at seq ${last}, and seq ${seq} was there before: the database was set back. What came after seq ${last} is lost; open the store again to go on from there`,
    { expected: `seq ${seq} or later`, got: `seq ${last}`, seq: last },
  );
}
