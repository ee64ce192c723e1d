/**
 * Reading at one journal position.
 *
 * A reader holds one snapshot of the store and one position in its journal: the end, or the past
 * that `asOf` names. Everything it answers is as it was at that position, head fields included:
 * a live row that is younger than the position is replaced by the one it closed. Every read is
 * batched; nothing here reads inside a loop over results.
 */
import { copyBytes } from "../codec/slab.js";
import { CortexError, describe, invalid } from "../errors.js";
import { decodeHeader, type PartContext, SUBJECT, splitEntry } from "../journal/entry.js";
import { isAbout, type OpenedPart, openPart, type ReadRecord } from "../journal/entry-part.js";
import {
  afterPrefix,
  getU64,
  historyKey,
  idKey,
  journalKey,
  passingJournalKey,
  passingMemoryKey,
  TIME_STRIDE,
  textKey,
  timeKey,
} from "../kv/keyspace.js";
import {
  type Bytes,
  HEAD_KEY,
  isStateGone,
  type Kv,
  type KvNow,
  type KvRange,
  type KvRow,
  type KvSnapshot,
  type KvSoon,
} from "../kv/kv.js";
import { decodeEdgeRecord, type EdgeRecord, edgeRecordWithin } from "../records/edge-record.js";
import { isoTimeMs } from "../records/fields.js";
import type { MemoryRecord, Version } from "../records/memory-record.js";
import { lentRecordWithin, plainRecordWithin, recordWithin } from "../records/plain-record.js";
import { decodeHeadRow, type HeadRow } from "./head-row.js";
import {
  decodeMemoryRow,
  lentMemoryRow,
  type MemoryRow,
  missingEntry,
  openEntry,
  type PartPointer,
  type Read,
  readingEntry,
  readRecords,
} from "./pointers.js";
import { seenIn } from "./seen-snapshot.js";
import type { Seen } from "./seen-view.js";

export type { Read } from "./pointers.js";

/** A place in the past: a seq (number), or a time (Date, or an ISO 8601 text). */
export type AsOf = number | Date | string;

/** A memory as it was at the reader's position. */
export interface FoundMemory {
  readonly id: Bytes;
  readonly row: MemoryRow;
  readonly head: Read<MemoryRecord>;
  readonly body: Read<MemoryRecord>;
}

/** The version a part holds; a part without one is a broken assumption here. */
export function bodyOf(read: Read<MemoryRecord>): Version {
  const { version } = read.record;
  if (version === undefined) throw new Error("a body pointer leads to a part without a version");
  return version;
}

const BRIEF = { brief: true } as const;

/** See the file header. */
export class Reader {
  readonly snapshot: KvSnapshot;
  readonly head: HeadRow;
  /** The position: the last seq this reader sees. */
  readonly seq: number;
  /** The position as answers give it: the seq for the owner, for others a time, see `seen-view.ts`. */
  readonly position: number;
  /** Whether the position is the end of the journal. */
  readonly live: boolean;

  /** Values of the keys that `with` was asked to read together with the head; the head's is last. */
  readonly first: readonly (Bytes | undefined)[];

  private constructor(
    snapshot: KvSnapshot,
    head: HeadRow,
    seq: number,
    first: readonly (Bytes | undefined)[],
    position = seq,
  ) {
    this.snapshot = snapshot;
    this.head = head;
    this.seq = seq;
    this.position = position;
    this.live = seq === head.size - 1;
    this.first = first;
  }

  /** Opens a reader, gives it to `use`, and closes it whatever happens. */
  static async with<T>(
    kv: Pick<Kv, "snapshot">,
    asOf: AsOf | undefined,
    use: (reader: Reader) => Promise<T>,
    firstKeys: readonly Bytes[] = [],
    soon?: () => KvSoon,
  ): Promise<T> {
    return await Reader.#over(await kv.snapshot(), asOf, use, firstKeys, soon);
  }

  /**
   * The same for a `use` that mostly wants `firstKeys` and nothing else, or what comes along with them: it is called once
   * more where it reads on and the storage has not held what was read first.
   */
  static async brief<T>(
    kv: Pick<Kv, "snapshot">,
    asOf: AsOf | undefined,
    use: (reader: Reader) => Promise<T>,
    firstKeys: readonly Bytes[],
  ): Promise<T> {
    try {
      return await Reader.#over(await kv.snapshot(BRIEF), asOf, use, firstKeys);
    } catch (error) {
      if (!isStateGone(error)) throw error;
    }
    return await Reader.with(kv, asOf, use, firstKeys);
  }

  static async #over<T>(
    snapshot: KvSnapshot,
    asOf: AsOf | undefined,
    use: (reader: Reader) => Promise<T>,
    firstKeys: readonly Bytes[],
    soon?: () => KvSoon,
  ): Promise<T> {
    try {
      if (soon !== undefined) snapshot.soon?.(soon());
      const first = await snapshot.getMany([...firstKeys, HEAD_KEY]);
      const head = decodeHeadRow(first[firstKeys.length]);
      if (asOf === undefined && seenIn(snapshot) === undefined) {
        return await use(new Reader(snapshot, head, head.size - 1, first));
      }
      const { seq, position } = await placeOf(snapshot, head, asOf);
      return await use(new Reader(snapshot, head, seq, first, position));
    } finally {
      snapshot.close();
    }
  }

  /** The same snapshot, read at an earlier position, which must be the end of a commit. */
  before(seq: number): Reader {
    return new Reader(this.snapshot, this.head, seq, this.first);
  }

  /** What the caller sees, where that is not everything. */
  get seen(): Seen | undefined {
    return seenIn(this.snapshot);
  }

  /** The same position with everything in it: for caches that serve all callers. */
  get whole(): Reader {
    const { seen } = this;
    return seen === undefined ? this : new Reader(seen.whole, this.head, this.seq, this.first);
  }

  /** Whether a read is a round trip, so that it pays to name what will be read. */
  get isFar(): boolean {
    return this.snapshot.soon !== undefined;
  }

  /** Names what will be read soon, where that spares a round trip; elsewhere nobody works it out. */
  soon(what: () => KvSoon): void {
    this.snapshot.soon?.(what());
  }

  getMany(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    return keys.length === 0 ? Promise.resolve([]) : this.snapshot.getMany(keys);
  }

  ranges(ranges: readonly KvRange[]): Promise<KvRow[][]> {
    return ranges.length === 0 ? Promise.resolve([]) : this.snapshot.ranges(ranges);
  }

  /**
   * The rows of memories at the position, in order; `undefined` for those that were not there.
   * `known` are their live rows, where the caller has read them already.
   */
  async memoryRows(
    ids: readonly Bytes[],
    known?: readonly (Bytes | undefined)[],
  ): Promise<(MemoryRow | undefined)[]> {
    const values = known ?? (await this.getMany(ids.map((id) => idKey("memory", id))));
    const rows = values.map((value) => (value === undefined ? undefined : decodeMemoryRow(value)));
    if (this.live) return rows;
    const late = rows.flatMap((row, at) => (row !== undefined && row.seq > this.seq ? [at] : []));
    if (late.length === 0) return rows;
    const found = await this.ranges(
      late.map((at) => {
        const id = ids[at] ?? new Uint8Array(16);
        const gte = historyKey(id, 0);
        return { gte, lt: historyKey(id, this.seq + 1), limit: 1, reverse: true };
      }),
    );
    for (const [index, at] of late.entries()) {
      const value = found[index]?.[0]?.value;
      const now = rows[at];
      rows[at] =
        value !== undefined
          ? decodeMemoryRow(value)
          : now?.lifecycle === "erased"
            ? now
            : undefined;
    }
    return rows;
  }

  /** The records at pointers, each journal row read once; `undefined` where erased. */
  records<T>(
    pointers: readonly PartPointer[],
    decode: (bytes: Bytes, context: PartContext) => T,
  ): Promise<(Read<T> | undefined)[]> {
    return readRecords(this.snapshot, pointers, decode);
  }

  /** One whole memory from its row: the short way for the most frequent read. */
  async memory(id: Bytes, row: MemoryRow): Promise<FoundMemory | undefined> {
    if (row.lifecycle === "erased") return undefined;
    const { body } = row;
    const keys = [journalKey(row.seq)];
    if (body !== undefined) keys.push(journalKey(body.seq));
    const [headEntry, bodyEntry] = await this.snapshot.getMany(keys);
    return wholeMemory(id, row, headEntry, bodyEntry);
  }

  /** Whole memories from their rows, with Head and current Version. Erased ones are left out. */
  async memories(
    ids: readonly Bytes[],
    rows: readonly (MemoryRow | undefined)[],
  ): Promise<(FoundMemory | undefined)[]> {
    const keys: Bytes[] = [];
    for (const row of rows) {
      if (row === undefined || row.lifecycle === "erased") continue;
      keys.push(journalKey(row.seq));
      if (row.body !== undefined) keys.push(journalKey(row.body.seq));
    }
    const entries = await this.getMany(keys);
    let next = 0;
    return rows.map((row, at) => {
      if (row === undefined || row.lifecycle === "erased") return undefined;
      const headEntry = entries[next++];
      const bodyEntry = row.body === undefined ? undefined : entries[next++];
      const id = ids[at];
      return id === undefined ? undefined : wholeMemory(id, row, headEntry, bodyEntry);
    });
  }

  /**
   * One whole memory by its id, at once: only where `isAtHand` says so. Page by page that is half the garbage of
   * reading all rows, then all entries, because what is read for one memory is gone before the next. `row` is its
   * row, where the caller has read it already.
   */
  memoryNow(id: Bytes, row = this.rowNow(id)): FoundMemory | undefined {
    return memoryOf(this.snapshot as KvNow, id, row);
  }

  /** The row of a memory, at once: only where `isAtHand` says so. Its fingerprint, which writers need, is left out. */
  rowNow(id: Bytes): MemoryRow | undefined {
    return rowOf(this.snapshot as KvNow, id);
  }

  /**
   * What `show` makes of the memory of an id, at once: only where `isAtHand` says so. The memory is lent to it, and there
   * until it returns; what it holds may be kept.
   */
  showNow<T>(id: Bytes, show: (memory: FoundMemory) => T): T | undefined {
    return shownOf(this.snapshot as KvNow, id, show);
  }

  /** One row, at once: only where `isAtHand` says so. */
  rowAt(key: Bytes): Bytes | undefined {
    return (this.snapshot as KvNow).getNow(key);
  }

  /**
   * What `show` makes of the record of an edge, at once: only where `isAtHand` says so. The record is lent to it, with
   * the bytes that its ids are; `undefined` where it is erased.
   */
  showEdgeNow<T>(pointer: PartPointer, show: (edge: EdgeRecord) => T): T | undefined {
    const { seq } = pointer;
    const shown = (this.snapshot as KvNow).lookNow(passingJournalKey(seq), (entry) => {
      const { record } = partAt(entry, pointer, edgeRecordWithin);
      return { value: record === undefined ? undefined : show(record) };
    });
    if (shown === undefined) throw missingEntry(seq);
    return shown.value;
  }

  /** Whether memories of the position are to be had without waiting for anybody. */
  get isAtHand(): boolean {
    return this.live && this.snapshot.getNow !== undefined;
  }

  /** The records of edges at pointers; an entry that holds one of them is read where it stands. */
  async edges(pointers: readonly PartPointer[]): Promise<(Read<EdgeRecord> | undefined)[]> {
    const seqs = new Set<number>();
    for (const { seq } of pointers) seqs.add(seq);
    if (seqs.size !== pointers.length) return this.records(pointers, decodeEdgeRecord);
    const rows = await this.getMany(pointers.map(({ seq }) => journalKey(seq)));
    return pointers.map((pointer, at) => readOf(partAt(rows[at], pointer, edgeRecordWithin)));
  }

  /** The id behind an external id, if any. */
  async externalId(name: string): Promise<Bytes | undefined> {
    const [id] = await this.getMany([textKey("externalId", name)]);
    return id;
  }
}

/**
 * What `show` makes of the memory of an id in the present, of rows that are at hand: the most frequent read, without a
 * promise or a reader of its own. `undefined` when absent or forgotten.
 */
export function showNow<T>(
  rows: KvNow,
  id: Bytes,
  show: (memory: FoundMemory) => T,
): T | undefined {
  // Refuses a store that this release cannot read.
  decodeHeadRow(rows.getNow(HEAD_KEY));
  return shownOf(rows, id, show);
}

/**
 * What `show` makes of the version at a pointer, and of the seq of its entry, of rows that are at hand. The version is lent
 * to it; what it holds may be kept. `undefined` where there is none, or where its record is not plain.
 */
export function showVersionNow<T>(
  rows: KvNow,
  pointer: PartPointer,
  show: (version: Version, seq: number) => T,
): T | undefined {
  return rows.lookNow(passingJournalKey(pointer.seq), (entry) => {
    const { record, header } = partAt(entry, pointer, lentRecordWithin);
    return record?.version === undefined ? undefined : show(record.version, header.seq);
  });
}

function shownOf<T>(rows: KvNow, id: Bytes, show: (memory: FoundMemory) => T): T | undefined {
  const memory = plainNow(rows, id) ?? memoryOf(rows, id, rowOf(rows, id));
  return memory === undefined ? undefined : show(memory);
}

/**
 * A memory that was written once and is plain, lent until the next one is read. Its row and its entry are read where they
 * stand, and whatever is unusual about them is nothing here: `memoryOf` reads it, or refuses it.
 */
function plainNow(rows: KvNow, id: Bytes): FoundMemory | undefined {
  const row = rows.lookNow(passingMemoryKey(id), lentMemoryRow);
  if (row === undefined || row.lifecycle === "erased") return undefined;
  return rows.lookNow(passingJournalKey(row.seq), (entry) =>
    plainMemory(id, row, entry, lentRecordWithin),
  );
}

/** The memory of a row and of the one entry that it was written by, where both are plain and say the same. */
function plainMemory(
  id: Bytes,
  row: MemoryRow,
  entry: Bytes,
  readRecord: ReadRecord<MemoryRecord | undefined>,
): FoundMemory | undefined {
  const opened = partAt(entry, row, readRecord);
  const read = readOf(opened);
  if (read === undefined || !isAbout(entry, opened, SUBJECT.memory, id)) return undefined;
  const found = { id, row, head: read, body: read };
  return agrees(found) ? found : undefined;
}

/** The row of a memory; without its fingerprint where it was written once. */
function rowOf(rows: KvNow, id: Bytes): MemoryRow | undefined {
  return rows.lookNow(passingMemoryKey(id), rowIn);
}

/** What is not plain may hold some of the bytes, which are lent. */
function rowIn(bytes: Bytes): MemoryRow {
  return lentMemoryRow(bytes) ?? decodeMemoryRow(copyBytes(bytes));
}

function memoryOf(rows: KvNow, id: Bytes, row: MemoryRow | undefined): FoundMemory | undefined {
  if (row === undefined || row.lifecycle === "erased") return undefined;
  if (row.body === undefined) {
    const found = rows.lookNow(
      passingJournalKey(row.seq),
      (entry) =>
        plainMemory(id, row, entry, plainRecordWithin) ??
        wholeMemory(id, row, copyBytes(entry), undefined),
    );
    if (found !== undefined) return found;
  }
  const headEntry = rows.getNow(journalKey(row.seq));
  const bodyEntry = row.body === undefined ? undefined : rows.getNow(journalKey(row.body.seq));
  return wholeMemory(id, row, headEntry, bodyEntry);
}

/** The memory of a row, from the entry of its Head and, where it is another, that of its Version. */
function wholeMemory(
  id: Bytes,
  row: MemoryRow,
  headEntry: Bytes | undefined,
  bodyEntry: Bytes | undefined,
): FoundMemory | undefined {
  const opened = partAt(headEntry, row, recordWithin);
  const head = readOf(opened);
  const body = row.body === undefined ? head : readOf(partAt(bodyEntry, row.body, recordWithin));
  if (head === undefined || body === undefined || headEntry === undefined) return undefined;
  const found = { id, row, head, body };
  if (agrees(found) && isAbout(headEntry, opened, SUBJECT.memory, id)) return found;
  const { seq } = row;
  const message = `journal entry ${seq}: the row of a memory points at it and says something else`;
  throw new CortexError("ERR_CORRUPT", message, { seq });
}

/**
 * Whether the row of a memory and the records that it points at say the same: which version is current, and in
 * which state. A row that was damaged would else give the words of another memory or of another time.
 */
function agrees({ row, head, body }: FoundMemory): boolean {
  const { type, version, lifecycle } = head.record.head;
  return (
    type === row.type &&
    version === row.version &&
    lifecycle === row.lifecycle &&
    body.record.version?.number === row.version
  );
}

/** The part at a pointer, of the entry that was found there. */
function partAt<T>(
  entry: Bytes | undefined,
  { seq, part }: PartPointer,
  readRecord: ReadRecord<T>,
): OpenedPart<T> {
  if (entry === undefined) throw missingEntry(seq);
  return readingEntry(seq, () => openPart(entry, part, readRecord));
}

function readOf<T>({ header, record }: OpenedPart<T | undefined>): Read<T> | undefined {
  return record === undefined ? undefined : { record, header };
}

/**
 * Where a reader stands, and what answers say of it. Whoever does not see everything names positions by
 * their time: the number of an entry would tell how many others there are.
 */
async function placeOf(
  snapshot: KvSnapshot,
  head: HeadRow,
  asOf: AsOf | undefined,
): Promise<{ readonly seq: number; readonly position: number }> {
  const last = head.size - 1;
  const seen = seenIn(snapshot);
  if (seen?.isOpaque !== true) {
    const seq = asOf === undefined ? last : await positionOf(snapshot, head, asOf);
    return { seq, position: seq };
  }
  if (asOf === undefined) return { seq: last, position: seen.position };
  const at = typeof asOf === "number" ? checkedTime(asOf) : asOf;
  const seq = await positionOf(snapshot, head, at);
  // Nothing that is seen came later: for this caller it is the present.
  if (seq >= seen.lastSeq) return { seq: last, position: seen.position };
  return { seq, position: msOf(at) };
}

function checkedTime(asOf: number): Date {
  const time = new Date(asOf);
  if (Number.isSafeInteger(asOf) && asOf >= 0 && !Number.isNaN(time.getTime())) return time;
  throw invalid(
    "asOf",
    "a position that an answer gave, a Date or an ISO 8601 time",
    asOf,
    "ERR_AS_OF",
  );
}

/** The seq that `asOf` names, never inside a batch; `field` is what the caller calls it. */
export async function positionOf(
  snapshot: KvSnapshot,
  head: HeadRow,
  asOf: AsOf,
  field = "asOf",
): Promise<number> {
  const last = head.size - 1;
  if (typeof asOf === "number") {
    if (!Number.isSafeInteger(asOf) || asOf < 0) {
      throw invalid(field, "a seq of at least 0, a Date or an ISO 8601 time", asOf, "ERR_AS_OF");
    }
    if (asOf > last) {
      const message = `${field}: expected a seq up to ${last}, got ${asOf}`;
      throw new CortexError("ERR_AS_OF", message, { field, seq: last });
    }
    return beforeBatch(snapshot, asOf);
  }
  const time = msOf(asOf);
  if (!Number.isFinite(time)) throw invalid(field, "a valid time", describe(asOf), "ERR_AS_OF");
  const seq = await lastSeqAt(snapshot, time);
  if (seq !== undefined) return beforeBatch(snapshot, seq);
  throw new CortexError("ERR_AS_OF", `${field}: the time lies before the first entry`, { field });
}

function msOf(time: Date | string): number {
  return time instanceof Date ? time.getTime() : (isoTimeMs(time) ?? Number.NaN);
}

/**
 * The last entry at or before a time, if there is one: a sparse row gives the block, the block the
 * entry. The entries of one commit share their time, so it is never inside a batch.
 */
export async function lastSeqAt(
  snapshot: Pick<KvSnapshot, "ranges">,
  time: number,
): Promise<number | undefined> {
  const gte = timeKey(0, 0);
  const lt = time < 0 ? gte : timeKey(Math.floor(time) + 1, 0);
  const [rows] = await snapshot.ranges([{ gte, lt, limit: 1, reverse: true }]);
  const row = rows?.[0];
  if (row === undefined) return undefined;
  const first = getU64(row.key, 9);
  const [block] = await snapshot.ranges([
    { gte: journalKey(first), lt: journalKey(first + TIME_STRIDE), limit: TIME_STRIDE },
  ]);
  let found = first;
  for (const { key, value } of block ?? []) {
    const header = decodeHeader(splitEntry(value).headerBytes);
    if (header.at <= time) found = getU64(key, 1);
  }
  return found;
}

/** The position itself, or the one before the batch that it would split. */
async function beforeBatch(snapshot: KvSnapshot, seq: number): Promise<number> {
  const [row] = await snapshot.getMany([journalKey(seq)]);
  const { batch } = openEntry(row, seq).header;
  if (batch === undefined || seq === batch.first + batch.length - 1) return seq;
  return batch.first - 1;
}

/** Every row of a prefix, for passes over a whole range. */
export async function* scan(
  snapshot: KvSnapshot,
  prefix: Bytes,
  pageRows = 1000,
): AsyncGenerator<KvRow> {
  for await (const rows of scanPages(snapshot, prefix, pageRows)) yield* rows;
}

/** The same by the page: waiting for each of many small rows takes longer than reading it. */
export async function* scanPages(
  snapshot: KvSnapshot,
  prefix: Bytes,
  pageRows: number,
): AsyncGenerator<readonly KvRow[]> {
  let gte = prefix;
  const lt = afterPrefix(prefix);
  for (;;) {
    const [rows = []] = await snapshot.ranges([{ gte, lt, limit: pageRows }]);
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    gte = Buffer.concat([last.key, Uint8Array.of(0)]);
  }
}
