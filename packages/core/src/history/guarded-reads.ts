/**
 * Two checks on what a backend returns: on the bytes of an entry, and on the place where the journal ends. Both
 * are made where rows are read, below every verb, so that no verb can leave them out.
 *
 * `verified`: whoever reads the journal through it, one row or a range, gets an entry whose parts have the
 * hashes that its header names and which has the number under which it lies, or `ERR_CORRUPT` with the seq.
 * Headers themselves are leaves of the journal's tree: `check` and `scrub` compare them with it, because the
 * path to a root takes several reads. An entry is verified when a store first reads it, and then at every
 * sixteenth read: hashing at each would cost a `get` a good part of its time, and in between the bytes come from
 * the memory of the same machine, where damage on the disk does not reach them.
 *
 * `guardPosition`: notices that the database was set back, because a standby that was behind became the server,
 * or because somebody restored it to an earlier time. Once a snapshot ends before a position that this handle
 * had seen when it asked for it, in the same epoch, it and every later call fail with `ERR_ROLLED_BACK`, which
 * names both positions. Others may have written since, so that the store is longer than before: so whenever it
 * has grown by entries that this handle did not write, the last entry that the handle knew is read again, and
 * has to be the same. That row travels with what a call reads anyway, and a commit waits for it; a call that
 * reads nothing more gets its answer, and the next call fails. Opening the store again accepts where it stands.
 * A restore by Cortex continues under a new epoch and is no failure.
 */

import { HASH_BYTES, type Sha256 } from "../codec/hash.js";
import { CortexError } from "../errors.js";
import { corruptEntry, decodeHeader, partHash } from "../journal/entry.js";
import { getU64, journalKey } from "../kv/keyspace.js";
import {
  around,
  type Bytes,
  isHeadKey,
  isMovedHead,
  type Kv,
  type KvAtOnce,
  type KvCommit,
  type KvSnapshot,
  type KvSoon,
  type OnEntry,
  sameBytes,
} from "../kv/kv.js";
import { decodeHeadRow, type HeadRow } from "./head-row.js";

/** The same store; what is read of its journal is verified first. */
export function verified(kv: Kv, sha256: Sha256): Kv {
  const onEntry = entryVerifier(sha256);
  const always = { onEntry };
  return around(kv, {
    // Who looks at entries himself, a scrub, sees what others are refused.
    snapshot: (options) => kv.snapshot(options === undefined ? always : { onEntry, ...options }),
    ...(kv.readNow === undefined
      ? {}
      : { readNow: <T>(read: (rows: KvAtOnce) => T) => kv.readNow?.(read, always) }),
  });
}

/** Entries of one page of marks: a page is made when an entry of it is first read, and has a bit for each. */
const PAGE_ENTRIES = 1 << 16;
/** Of the reads of entries that were verified, one in so many is verified again. */
const AGAIN_EVERY = 16;

function entryVerifier(sha256: Sha256): OnEntry {
  const pages = new Map<number, Uint8Array>();
  let passed = 0;
  return (key, row) => {
    const seq = getU64(key, 1);
    const page = Math.floor(seq / PAGE_ENTRIES);
    const marks = pages.get(page) ?? new Uint8Array(PAGE_ENTRIES / 8);
    const at = (seq % PAGE_ENTRIES) >>> 3;
    const bit = 1 << (seq & 7);
    if (((marks[at] as number) & bit) !== 0) {
      passed = (passed + 1) % AGAIN_EVERY;
      if (passed !== 0) return;
    }
    verifyRow(sha256, seq, row);
    marks[at] = (marks[at] as number) | bit;
    pages.set(page, marks);
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
  const guard = new PositionGuard();
  const watched = (inner: KvSnapshot, before: Position | undefined): KvSnapshot => ({
    async getMany(keys) {
      const values = await inner.getMany(keys);
      const at = keys.findIndex(isHeadKey);
      if (at >= 0) guard.look(values[at], before, inner);
      guard.refuse();
      return values;
    },
    async ranges(ranges) {
      const rows = await inner.ranges(ranges);
      guard.refuse();
      return rows;
    },
    ...(inner.soon === undefined ? {} : { soon: (what: KvSoon) => inner.soon?.(what) }),
    close: () => inner.close(),
  });
  return around(kv, {
    async snapshot(options) {
      guard.refuse();
      const before = guard.seen;
      const inner = await kv.snapshot(options);
      const last = guard.readsAhead > 0 ? before : undefined;
      if (last !== undefined) inner.soon?.({ keys: [journalKey(last.size - 1)] });
      return watched(inner, before);
    },
    // What a commit waits for, it waits for before it is begun: nobody else gets the head row then.
    ...(kv.begin === undefined
      ? {}
      : {
          begin: async (head) => {
            await guard.settled();
            return kv.begin?.(head);
          },
        }),
    async commit(change) {
      const isSure = await guard.settled();
      const result = await kv.commit(change);
      // A commit that was overtaken starts over from a snapshot, which is looked at.
      if (result.ok && isSure) guard.wrote(change);
      return result;
    },
  });
}

/** A call of a server that others write beside looks at the store some times. */
const READS_AHEAD = 16;

/** Where a store stands: entries, epoch, time of the last one, and its header where this handle wrote it. */
interface Position extends Pick<HeadRow, "size" | "epoch" | "at"> {
  readonly header?: Bytes;
}

/** What one handle has seen of its store, and whether it is there still. */
class PositionGuard {
  /** The last position that is known to follow from all before it. */
  seen: Position | undefined;
  /** In so many more snapshots the last known entry comes along: others have written, and most likely will again. */
  readsAhead = 0;
  #failure: CortexError | undefined;
  /** Whether what others wrote last came after what this handle had seen; false where it could not be read. */
  #looking: Promise<boolean> | undefined;

  refuse(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Waits until it is known whether the state that was seen last is one to build on; whether it is. */
  async settled(): Promise<boolean> {
    const isSure = (await this.#looking) ?? true;
    this.refuse();
    return isSure;
  }

  wrote({ head, puts }: KvCommit): void {
    const position = decodeHeadRow(head);
    if (isBehind(position, this.seen)) return;
    const last = journalKey(position.size - 1);
    // Journal rows come in order: of a large batch the last is near the end.
    const row = puts.findLast(({ key }) => key[0] === last[0] && sameBytes(key, last));
    this.seen = row === undefined ? position : { ...position, header: headerIn(row.value) };
  }

  /** Looks at the head of a snapshot; a state not older than `before`, which was seen when it was asked for. */
  look(head: Bytes | undefined, before: Position | undefined, snapshot: KvSnapshot): void {
    if (isMovedHead(head)) return;
    // Without a head the store is not begun yet: nothing, or less than was there before.
    const found = decodeHeadRow(head);
    if (isBehind(found, before)) this.#setBack(before, found);
    if (head === undefined) return;
    if (before === undefined || found.epoch > before.epoch) this.#advance(found);
    else if (isKnown(found, before) || isKnown(found, this.seen)) this.readsAhead -= 1;
    else {
      this.readsAhead = READS_AHEAD;
      const looking = this.#lookAt(before, found, snapshot).finally(() => {
        if (this.#looking === looking) this.#looking = undefined;
      });
      this.#looking = looking;
    }
  }

  async #lookAt(before: Position, found: Position, snapshot: KvSnapshot): Promise<boolean> {
    try {
      const [row] = await snapshot.getMany([journalKey(before.size - 1)]);
      if (row !== undefined && isLast(row, before)) this.#advance(found);
      else this.#failure ??= rewritten(before, found);
      return true;
    } catch {
      // The next read looks again, from where this one did.
      return false;
    }
  }

  #advance(found: Position): void {
    if (!isBehind(found, this.seen)) this.seen = found;
  }

  #setBack(before: Position | undefined, found: Position): never {
    this.#failure ??= setBack((before?.size ?? 0) - 1, found.size - 1);
    throw this.#failure;
  }
}

function isBehind({ size, epoch }: Position, before: Position | undefined): boolean {
  return before !== undefined && epoch <= before.epoch && size < before.size;
}

function isKnown({ size, epoch, at }: Position, known: Position | undefined): boolean {
  return known?.size === size && known.epoch === epoch && known.at === at;
}

/** Whether an entry is the last one of a position. */
function isLast(row: Bytes, { header, at }: Position): boolean {
  const found = headerIn(row);
  return header === undefined ? decodeHeader(found).at === at : sameBytes(found, header);
}

/** The bytes of an entry's header, by themselves. */
function headerIn(row: Bytes): Bytes {
  const start = bytesAt(row, 1);
  return row.slice(start, start + lengthAt(row, 1));
}

function setBack(seq: number, last: number): CortexError {
  const [where, what] =
    last < 0
      ? ["the store is not begun", "All of it is lost"]
      : [`the store ends at seq ${last}`, `What came after seq ${last} is lost`];
  return new CortexError(
    "ERR_ROLLED_BACK",
    `${where}, and seq ${seq} was there before: the database was set back. ${what}; open the store again to go on from there`,
    { expected: `seq ${seq} or later`, got: where, ...(last < 0 ? {} : { seq: last }) },
  );
}

function rewritten({ size }: Position, found: Position): CortexError {
  const seq = size - 1;
  return new CortexError(
    "ERR_ROLLED_BACK",
    `the entry at seq ${seq} is another one than before: the database was set back, and others have written since, up to seq ${found.size - 1}. Entries at seq ${seq} and before it that were acknowledged are lost; open the store again to go on from there`,
    { expected: `the same entry at seq ${seq}`, got: "another one", seq },
  );
}
