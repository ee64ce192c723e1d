/**
 * The reference backend: a sorted map in memory.
 *
 * Promises: everything `kv.ts` asks, with nothing shared between a snapshot and later commits: the
 * rows lie in sorted chunks that are never changed in place, a commit copies the chunks it touches
 * and the list of chunks, and a snapshot is simply the list it was given. A commit of r rows into n
 * rows costs about r copies of one chunk and one copy of n / 256 references.
 *
 * Not durable: the rows live as long as the `MemoryStore`. Handles opened on one `MemoryStore`
 * behave like processes on one disk. Rows are kept as handed over, not copied: `kv.ts` forbids
 * callers to change them.
 */
import { CortexError } from "../errors.js";
import {
  assertCommit,
  assertMovedHead,
  assertRange,
  assertRows,
  type Bytes,
  compareBytes,
  HEAD_KEY,
  type Kv,
  type KvAtOnce,
  type KvCacheCommit,
  type KvCommit,
  type KvCommitResult,
  type KvGeneration,
  type KvManifest,
  type KvRange,
  type KvRow,
  type KvSnapshot,
  type KvSnapshotOptions,
  type OnEntry,
  sameBytes,
  showEntries,
  showFound,
} from "./kv.js";

/** A chunk that grows past this many rows is cut in two. */
const CHUNK_ROWS_MAX = 512;

const MANIFEST: KvManifest = {
  name: "memory",
  durable: false,
  syncMode: "none: memory only",
  multiProcess: false,
  generations: true,
};

type Chunk = readonly KvRow[];

/** One committed state: chunks in key order, none empty. */
interface State {
  readonly chunks: readonly Chunk[];
  readonly bytes: number;
}

const EMPTY: State = { chunks: [], bytes: 0 };

/** What handles share: the committed state. Pass one to several `openMemoryKv` calls. */
export class MemoryStore {
  /** The committed state; replaced whole, never changed. */
  state: State = EMPTY;
  /** Set while a construction makes commits wait; resolves when they may go on. */
  hold: Promise<void> | undefined;
}

/** Opens a handle on a store of its own, or on the one given. */
export function openMemoryKv(store: MemoryStore = new MemoryStore()): Kv {
  return new MemoryKv(store, true);
}

class MemoryKv implements Kv {
  readonly manifest: KvManifest;
  readonly #store: MemoryStore;
  readonly #snapshots = new Set<MemorySnapshot>();
  #open = true;

  constructor(store: MemoryStore, generations: boolean) {
    this.#store = store;
    this.manifest = { ...MANIFEST, generations };
  }

  async snapshot(options: KvSnapshotOptions = {}): Promise<KvSnapshot> {
    this.#assertOpen();
    const snapshot = new MemorySnapshot(this.#store.state, this.#snapshots, options.onEntry);
    this.#snapshots.add(snapshot);
    return snapshot;
  }

  readNow<T>(read: (rows: KvAtOnce) => T, options?: Pick<KvSnapshotOptions, "onEntry">): T {
    this.#assertOpen();
    const snapshot = new MemorySnapshot(this.#store.state, this.#snapshots, options?.onEntry);
    try {
      return read(snapshot);
    } finally {
      snapshot.close();
    }
  }

  async commit(change: KvCommit): Promise<KvCommitResult> {
    this.#assertOpen();
    assertCommit(change);
    while (this.#store.hold !== undefined) await this.#store.hold;
    const { state } = this.#store;
    const head = findRow(state, HEAD_KEY)?.value;
    const isThere = change.absent?.some((key) => findRow(state, key) !== undefined) === true;
    if (isThere || !sameBytes(head, change.expectHead)) return { ok: false, head };
    this.#store.state = applied(state, change);
    return { ok: true };
  }

  async commitCaches(change: KvCacheCommit): Promise<boolean> {
    this.#assertOpen();
    assertRows(change);
    while (this.#store.hold !== undefined) await this.#store.hold;
    const { state } = this.#store;
    const held = change.expect.every(({ key, value }) =>
      sameBytes(findRow(state, key)?.value, value),
    );
    const head = findRow(state, HEAD_KEY)?.value;
    if (!held || head === undefined) return false;
    this.#store.state = applied(state, { ...change, expectHead: head, head });
    return true;
  }

  async nextGeneration(): Promise<KvGeneration> {
    this.#assertOpen();
    if (!this.manifest.generations) {
      throw new CortexError("ERR_UNSUPPORTED", "a store under construction has no generations");
    }
    const next = new MemoryStore();
    const kv = new MemoryKv(next, false);
    const held = new Hold(this.#store);
    const promote = async (
      expectHead: Bytes | undefined,
      movedHead: Bytes,
    ): Promise<KvCommitResult> => {
      this.#assertOpen();
      kv.#assertOpen();
      assertMovedHead(movedHead);
      const head = findRow(this.#store.state, HEAD_KEY)?.value;
      if (!sameBytes(head, expectHead)) return { ok: false, head };
      this.#store.state = next.state;
      held.end();
      await kv.close();
      return { ok: true };
    };
    const abandon = (): Promise<void> => {
      held.end();
      return kv.close();
    };
    return { kv, promote, abandon, hold: () => held.take() };
  }

  async sizeBytes(): Promise<number> {
    this.#assertOpen();
    return this.#store.state.bytes;
  }

  async close(): Promise<void> {
    this.#open = false;
    for (const snapshot of [...this.#snapshots]) snapshot.close();
  }

  #assertOpen(): void {
    if (!this.#open) throw new CortexError("ERR_CLOSED", "the store is closed");
  }
}

/** A construction's way of making commits wait. */
class Hold {
  readonly #store: MemoryStore;
  #mine: { readonly until: Promise<void>; readonly release: () => void } | undefined;

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  async take(): Promise<void> {
    if (this.#mine !== undefined) return;
    while (this.#store.hold !== undefined) await this.#store.hold;
    let release = (): void => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#mine = { until, release };
    this.#store.hold = until;
  }

  end(): void {
    if (this.#mine === undefined) return;
    if (this.#store.hold === this.#mine.until) this.#store.hold = undefined;
    this.#mine.release();
    this.#mine = undefined;
  }
}

class MemorySnapshot implements KvSnapshot {
  #state: State | undefined;
  readonly #siblings: Set<MemorySnapshot>;
  readonly #onEntry: OnEntry | undefined;

  constructor(state: State, siblings: Set<MemorySnapshot>, onEntry: OnEntry | undefined) {
    this.#state = state;
    this.#siblings = siblings;
    this.#onEntry = onEntry;
  }

  async getMany(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    const state = this.#read();
    const values = keys.map((key) => findRow(state, key)?.value);
    showFound(this.#onEntry, keys, values);
    return values;
  }

  getNow(key: Bytes): Bytes | undefined {
    const value = findRow(this.#read(), key)?.value;
    showFound(this.#onEntry, [key], [value]);
    return value;
  }

  lookNow<T>(key: Bytes, look: (value: Bytes) => T): T | undefined {
    const value = this.getNow(key);
    return value === undefined ? undefined : look(value);
  }

  async ranges(ranges: readonly KvRange[]): Promise<KvRow[][]> {
    return this.#rangesNow(ranges);
  }

  rangeNow(range: KvRange): readonly KvRow[] {
    return this.#rangesNow([range])[0] ?? [];
  }

  #rangesNow(ranges: readonly KvRange[]): KvRow[][] {
    const state = this.#read();
    const found = ranges.map((range) => rowsOf(state, range));
    showEntries(this.#onEntry, ranges, found);
    return found;
  }

  close(): void {
    this.#state = undefined;
    this.#siblings.delete(this);
  }

  #read(): State {
    if (this.#state === undefined) throw new CortexError("ERR_CLOSED", "the snapshot is closed");
    return this.#state;
  }
}

/** Index of the first row whose key is not below `key`. */
function lowerBound(rows: Chunk, key: Bytes): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = rows[middle];
    if (row !== undefined && compareBytes(row.key, key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of the last chunk that begins at or below `key`; 0 where none does. */
function chunkIndexOf(chunks: readonly Chunk[], key: Bytes): number {
  let low = 0;
  let high = chunks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const first = chunks[middle]?.[0];
    if (first !== undefined && compareBytes(first.key, key) <= 0) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

function findRow(state: State, key: Bytes): KvRow | undefined {
  const chunk = state.chunks[chunkIndexOf(state.chunks, key)];
  if (chunk === undefined) return undefined;
  const row = chunk[lowerBound(chunk, key)];
  return row !== undefined && sameBytes(row.key, key) ? row : undefined;
}

function rowsOf(state: State, range: KvRange): KvRow[] {
  assertRange(range);
  if (compareBytes(range.gte, range.lt) >= 0) return [];
  const rows: KvRow[] = [];
  const step = range.reverse === true ? -1 : 1;
  let chunkIndex = chunkIndexOf(state.chunks, step === 1 ? range.gte : range.lt);
  let chunk = state.chunks[chunkIndex];
  if (chunk === undefined) return rows;
  let rowIndex = step === 1 ? lowerBound(chunk, range.gte) : lowerBound(chunk, range.lt) - 1;
  while (chunk !== undefined && rows.length < range.limit) {
    const row: KvRow | undefined = chunk[rowIndex];
    if (row === undefined) {
      chunkIndex += step;
      chunk = state.chunks[chunkIndex];
      rowIndex = step === 1 || chunk === undefined ? 0 : chunk.length - 1;
      continue;
    }
    const beyond =
      step === 1 ? compareBytes(row.key, range.lt) >= 0 : compareBytes(row.key, range.gte) < 0;
    if (beyond) break;
    rows.push(range.keysOnly === true ? { key: row.key, value: new Uint8Array(0) } : row);
    rowIndex += step;
  }
  return rows;
}

/** The state after a change; the given one stays as it is. */
function applied(state: State, change: KvCommit): State {
  const edits: { readonly key: Bytes; readonly value: Bytes | undefined }[] = [
    { key: HEAD_KEY, value: change.head },
    ...change.puts,
    ...change.deletes.map((key) => ({ key, value: undefined })),
  ];
  const chunks: Chunk[] = [...state.chunks];
  /** Chunks copied by this very commit, which it may go on changing. */
  const owned = new Set<KvRow[]>();
  let bytes = state.bytes;
  for (const edit of edits) {
    const index = chunkIndexOf(chunks, edit.key);
    const chunk = ownedChunk(chunks, index, owned);
    const at = lowerBound(chunk, edit.key);
    const present = chunk[at];
    const old = present !== undefined && sameBytes(present.key, edit.key) ? present : undefined;
    if (old !== undefined) bytes -= old.key.length + old.value.length;
    if (edit.value === undefined) {
      if (old !== undefined) chunk.splice(at, 1);
    } else {
      bytes += edit.key.length + edit.value.length;
      chunk.splice(at, old === undefined ? 0 : 1, { key: edit.key, value: edit.value });
    }
    if (chunk.length === 0) chunks.splice(index, 1);
    else if (chunk.length > CHUNK_ROWS_MAX) cutInTwo(chunks, index, chunk, owned);
  }
  return { chunks, bytes };
}

function ownedChunk(chunks: Chunk[], index: number, owned: Set<KvRow[]>): KvRow[] {
  const chunk = chunks[index];
  if (chunk !== undefined && owned.has(chunk as KvRow[])) return chunk as KvRow[];
  const copy = chunk === undefined ? [] : [...chunk];
  owned.add(copy);
  chunks[index] = copy;
  return copy;
}

function cutInTwo(chunks: Chunk[], index: number, chunk: KvRow[], owned: Set<KvRow[]>): void {
  const upper = chunk.splice(chunk.length >>> 1);
  owned.add(upper);
  chunks.splice(index + 1, 0, upper);
}
