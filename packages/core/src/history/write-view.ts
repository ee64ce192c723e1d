/**
 * What a group of operations sees while it is being folded: the store as read, under the changes the
 * group has made so far.
 *
 * Reading is synchronous and never touches storage. Asking for a row that was not loaded throws
 * `Unread`, which names everything missing; the writer loads it in one batch and runs the operation
 * again. So an operation is a plain function of this view, a group needs two or three batched reads
 * whatever its size, and no transaction is held across an `await`.
 *
 * Every change can be taken back to a mark, so that a failing operation is rolled back alone.
 */
import { KEYSPACE, type KeyPrefix, keyString } from "../kv/keyspace.js";
import type { Bytes, KvCommit, KvRange, KvRow, KvSnapshot } from "../kv/kv.js";

/** Names the rows an operation needs and the view does not have yet. Caught by the writer alone. */
export class Unread {
  readonly keys: readonly Bytes[];
  readonly ranges: readonly KvRange[];
  constructor(keys: readonly Bytes[], ranges: readonly KvRange[]) {
    this.keys = keys;
    this.ranges = ranges;
  }
}

/** A change of one row, and what it replaced: enough to take it back. */
interface Pending {
  readonly name: string;
  readonly key: Bytes;
  /** `undefined` is a deletion. */
  readonly value: Bytes | undefined;
  readonly before: Pending | undefined;
}

/** Rows that ranges are read over; their changes are found by the first bytes of their keys. */
const RANGED = byPrefix([
  KEYSPACE.history,
  KEYSPACE.version,
  KEYSPACE.attachment,
  KEYSPACE.proposal,
  KEYSPACE.index,
  KEYSPACE.edgeOut,
  KEYSPACE.edgeIn,
  KEYSPACE.edgeOutClosed,
  KEYSPACE.edgeInClosed,
]);
/** Prefix and id: what all rows of one memory under one prefix share. */
const ID_CHARS = 17;

/** What tells which changed rows a range may hold: the rows of one memory, or of one index term. */
function bucketOf(name: string): string {
  if (name.charCodeAt(0) !== KEYSPACE.index.byte) return name.slice(0, ID_CHARS);
  return name.slice(0, name.indexOf("\0", 3) + 1);
}

/** Rows that the writer keeps between commits: tiles and pages of the trees. */
const KEPT = byPrefix([KEYSPACE.logTile, KEYSPACE.memoryPage, KEYSPACE.edgePage]);

/** Tiles and pages kept between commits: about 4 MB, and the slabs they were cut from. */
const CACHED_ROWS = 8192;
/**
 * So many more, before the oldest make room together: the way to the oldest row leads past all places that
 * others left, and to go it for a few rows at every commit took a sixteenth of a write.
 */
const CACHED_BEYOND = 1024;

/** A table by first byte: asked for every row of every commit. */
function byPrefix(prefixes: readonly KeyPrefix[]): readonly boolean[] {
  const table = new Array<boolean>(256).fill(false);
  for (const { byte } of prefixes) table[byte] = true;
  return table;
}

/** The view; see the file header. */
export class WriteView {
  readonly #cache: ReadonlyMap<string, Bytes | undefined>;
  readonly #known = new Map<string, Bytes | undefined>();
  readonly #knownRanges = new Map<string, readonly KvRow[]>();
  /** Ranges that had to be read further than asked for. */
  readonly #widened = new Map<string, KvRange>();
  readonly #pending = new Map<string, Pending>();
  readonly #undo: Pending[] = [];
  readonly #buckets = new Map<string, Set<string>>();
  /** Names that are not in their buckets yet: most commits read no range after a change. */
  #unsorted: string[] = [];
  readonly #kept = new Set<string>();

  /** Whether rows of the trees are read when they are wanted, so that nobody has to ask for them before. */
  readonly isNear: boolean;

  /** `cache` holds rows that are known to be as in the store, by `keyString`. */
  constructor(cache: ReadonlyMap<string, Bytes | undefined> = new Map(), isNear = false) {
    this.#cache = cache;
    this.isNear = isNear;
  }

  /** The row as the group would leave it; throws `Unread` if it was never loaded. */
  get(key: Bytes): Bytes | undefined {
    const name = keyString(key);
    const pending = this.#pending.get(name);
    if (pending !== undefined) return pending.value;
    const known = this.#known.get(name);
    if (known !== undefined || this.#known.has(name)) return known;
    const cached = this.#cache.get(name);
    if (cached !== undefined || this.#cache.has(name)) return cached;
    throw new Unread([key], []);
  }

  /** Whether the row is loaded or written, so that `get` would answer. */
  has(key: Bytes): boolean {
    const name = keyString(key);
    return this.#pending.has(name) || this.#known.has(name) || this.#cache.has(name);
  }

  /** Whether the group changes the row. */
  isChanged(key: Bytes): boolean {
    return this.#pending.has(keyString(key));
  }

  /** Throws one `Unread` for all of `keys` and `ranges` that are not loaded. */
  need(keys: readonly Bytes[], ranges: readonly KvRange[] = []): void {
    const missing = keys.filter((key) => !this.has(key));
    const missingRanges = ranges.filter((range) => !this.#knownRanges.has(rangeName(range)));
    if (missing.length + missingRanges.length > 0) throw new Unread(missing, missingRanges);
  }

  /** The rows of a range as the group would leave them. */
  range(range: KvRange): readonly KvRow[] {
    const name = rangeName(range);
    const asked = this.#widened.get(name) ?? range;
    const rows = this.#knownRanges.get(asked === range ? name : rangeName(asked));
    if (rows === undefined) throw new Unread([], [asked]);
    if (this.#pending.size === 0) return asked === range ? rows : rows.slice(0, range.limit);
    const merged = this.#merge(asked, rows);
    // The group took so many rows out of a page that was cut off that others must take their place.
    if (merged.length < range.limit && rows.length === asked.limit) {
      const wider = { ...asked, limit: 4 * asked.limit };
      this.#widened.set(name, wider);
      throw new Unread([], [wider]);
    }
    return merged.slice(0, range.limit);
  }

  put(key: Bytes, value: Bytes): void {
    this.#change(key, value);
  }

  delete(key: Bytes): void {
    this.#change(key, undefined);
  }

  /** Says that a row cannot be there, because its id was drawn just now: nothing to read. */
  assumeAbsent(key: Bytes): void {
    const name = keyString(key);
    if (!this.#known.has(name)) this.#known.set(name, undefined);
  }

  /** Hands over what was read from the store. */
  load(keys: readonly Bytes[], values: readonly (Bytes | undefined)[]): void {
    for (let at = 0; at < keys.length; at += 1) {
      const key = keys[at];
      if (key === undefined) continue;
      const name = keyString(key);
      this.#known.set(name, values[at]);
      if (KEPT[name.charCodeAt(0)]) this.#kept.add(name);
    }
  }

  /** Hands over the rows of ranges that were read from the store. */
  loadRanges(ranges: readonly KvRange[], rows: readonly (readonly KvRow[])[]): void {
    for (const [index, range] of ranges.entries()) {
      this.#knownRanges.set(rangeName(range), rows[index] ?? []);
    }
  }

  /** A place to roll back to. */
  mark(): number {
    return this.#undo.length;
  }

  /** Takes back every change since `mark`. */
  rollback(mark: number): void {
    while (this.#undo.length > mark) {
      const step = this.#undo.pop();
      if (step === undefined) continue;
      if (step.before === undefined) this.#pending.delete(step.name);
      else this.#pending.set(step.name, step.before);
    }
  }

  /** Everything the group changed, each key once. */
  changes(): Required<Pick<KvCommit, "puts" | "deletes" | "isNew">> {
    const puts: KvRow[] = [];
    const deletes: Bytes[] = [];
    for (const row of this.#pending.values()) {
      const { name, key, value } = row;
      if (value !== undefined) puts.push(row as KvRow);
      else if (this.#known.get(name) !== undefined || !this.#known.has(name)) deletes.push(key);
    }
    // What is replaced was read before; what was written without a look is named after its entry.
    const isNew = (key: Bytes): boolean => {
      const name = keyString(key);
      return this.#known.get(name) === undefined && this.#cache.get(name) === undefined;
    };
    return { puts, deletes, isNew };
  }

  /** Tree rows as they will be after the commit, into a cache that lasts; the oldest make room. */
  keepRows(cache: Map<string, Bytes | undefined>): void {
    for (const name of this.#kept) {
      const pending = this.#pending.get(name);
      const value = pending === undefined ? this.#known.get(name) : pending.value;
      // Set anew, so that the cache stays in order of use. Absent pages are not worth a place: a
      // page above tells which ones exist.
      cache.delete(name);
      if (value !== undefined) cache.set(name, value);
    }
    if (cache.size <= CACHED_ROWS + CACHED_BEYOND) return;
    for (const name of cache.keys()) {
      if (cache.size <= CACHED_ROWS) break;
      cache.delete(name);
    }
  }

  #change(key: Bytes, value: Bytes | undefined): void {
    const name = keyString(key);
    const pending = { name, key, value, before: this.#pending.get(name) };
    this.#undo.push(pending);
    this.#pending.set(name, pending);
    const prefix = name.charCodeAt(0);
    if (KEPT[prefix]) this.#kept.add(name);
    else if (RANGED[prefix]) this.#unsorted.push(name);
  }

  #bucket(name: string): Set<string> {
    const start = bucketOf(name);
    const found = this.#buckets.get(start);
    if (found !== undefined) return found;
    const made = new Set<string>();
    this.#buckets.set(start, made);
    return made;
  }

  /** Names of changed rows that may lie between two keys. */
  #changedBetween(gte: string, lt: string): Iterable<string> {
    const start = bucketOf(gte);
    const whole = start.length > 0 && gte.length >= start.length && isBelow(lt, start);
    if (!whole || !RANGED[gte.charCodeAt(0)]) return this.#pending.keys();
    for (const name of this.#unsorted) this.#bucket(name).add(name);
    this.#unsorted = [];
    return this.#buckets.get(start) ?? [];
  }

  #merge(range: KvRange, rows: readonly KvRow[]): readonly KvRow[] {
    const gte = keyString(range.gte);
    const lt = keyString(range.lt);
    const merged = new Map<string, KvRow>();
    for (const row of rows) merged.set(keyString(row.key), row);
    for (const name of this.#changedBetween(gte, lt)) {
      const pending = this.#pending.get(name);
      if (pending === undefined || name < gte || name >= lt) continue;
      if (pending.value === undefined) merged.delete(name);
      else merged.set(name, pending as KvRow);
    }
    const names = [...merged.keys()].sort();
    if (range.reverse === true) names.reverse();
    const last = rows.length === range.limit ? rows.at(-1) : undefined;
    // What lies beyond a page that was cut off is not known: it may not be shown as what follows.
    const end = last === undefined ? undefined : keyString(last.key);
    const isKnown = (name: string): boolean =>
      end === undefined || (range.reverse === true ? name >= end : name <= end);
    return names.filter(isKnown).flatMap((name) => merged.get(name) ?? []);
  }
}

/** Whether everything from a key with this start up to `lt` has the same start. */
function isBelow(lt: string, start: string): boolean {
  if (lt.startsWith(start)) return true;
  const last = start.charCodeAt(start.length - 1);
  return lt === start.slice(0, -1) + String.fromCharCode(last + 1);
}

function rangeName(range: KvRange): string {
  return `${keyString(range.gte)}\u0100${keyString(range.lt)}\u0100${range.limit}${range.reverse ? "r" : "f"}`;
}

/** Reads what was missing, in one batch, into the view. */
export async function loadUnread(
  snapshot: KvSnapshot,
  view: WriteView,
  unread: Unread,
): Promise<void> {
  const keys = [...new Map(unread.keys.map((key) => [keyString(key), key])).values()];
  const [values, rows] = await Promise.all([
    keys.length === 0 ? [] : snapshot.getMany(keys),
    unread.ranges.length === 0 ? [] : snapshot.ranges(unread.ranges),
  ]);
  view.load(keys, values);
  view.loadRanges(unread.ranges, rows);
}
