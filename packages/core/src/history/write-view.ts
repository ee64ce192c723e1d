/**
 * What a group of operations sees while it is being folded: the store as read, under the changes the
 * group has made so far.
 *
 * Reading is synchronous. Where a read waits for nobody, a row that was not loaded is read when it is asked for. Elsewhere
 * reading never touches storage: asking for a row that was not loaded throws `Unread`, which names everything
 * missing; the writer loads it in one batch and runs the operation again. So an operation is a plain function of
 * this view, a group needs two or three batched reads whatever its size, and no transaction is held across an `await`.
 *
 * Every change can be taken back to a mark, so that a failing operation is rolled back alone.
 */
import { KEYSPACE, type KeyPrefix, keyString } from "../kv/keyspace.js";
import type { Bytes, KvCommit, KvRange, KvRow, KvSnapshot } from "../kv/kv.js";
import { KeyTable } from "./key-table.js";
import { RowCache } from "./row-cache.js";

/** Names the rows an operation needs and the view does not have yet. Caught by the writer alone. */
export class Unread {
  readonly keys: readonly Bytes[];
  readonly ranges: readonly KvRange[];
  constructor(keys: readonly Bytes[], ranges: readonly KvRange[]) {
    this.keys = keys;
    this.ranges = ranges;
  }
}

/** What reads rows of the store at once, and waits for nobody. */
type RowsAtHand = Required<Pick<KvSnapshot, "getNow" | "rangeNow">>;

/** The rows of a snapshot, where they are at hand. */
export function rowsAtHand(snapshot: KvSnapshot): RowsAtHand | undefined {
  const isAtHand = snapshot.getNow !== undefined && snapshot.rangeNow !== undefined;
  return isAtHand ? (snapshot as RowsAtHand) : undefined;
}

/** Nothing is known: neither read, nor changed. */
const NOTHING = Symbol("nothing");

type Known = Bytes | undefined | typeof NOTHING;

/** What is known of a row: what was read, and what the group makes of it. `undefined` is no row. */
interface ViewRow {
  readonly key: Bytes;
  known: Known;
  /** What it will be; `NOTHING` where the group leaves it alone. */
  value: Known;
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

/** A table by first byte: asked for every row of every commit. */
function byPrefix(prefixes: readonly KeyPrefix[]): readonly boolean[] {
  const table = new Array<boolean>(256).fill(false);
  for (const { byte } of prefixes) table[byte] = true;
  return table;
}

/** The view; see the file header. */
export class WriteView {
  readonly #cache: Pick<RowCache, "get">;
  readonly #rows: KeyTable<ViewRow>;
  readonly #knownRanges = new Map<string, readonly KvRow[]>();
  /** Ranges that had to be read further than asked for. */
  readonly #widened = new Map<string, KvRange>();
  /** Every change in order: of which row, and what it replaced. */
  readonly #undoRows: ViewRow[] = [];
  readonly #undoValues: Known[] = [];
  readonly #buckets = new Map<string, ViewRow[]>();
  /** Of how many rows it is known in which bucket they are: most commits read no range after a change. */
  #sorted = 0;
  readonly #kept: ViewRow[] = [];
  /** How many of these changes were looked at for `takeNew`, and what it gave of which row. */
  #taken = 0;
  readonly #given = new Map<ViewRow, KvRow>();

  /** Whether rows of the trees are read when they are wanted, so that nobody has to ask for them before. */
  readonly isNear: boolean;
  readonly #atHand: RowsAtHand | undefined;

  /**
   * `cache` holds rows that are known to be as in the store, by `keyString`; `atHand` reads those that are wanted; for
   * `keySeed` see `key-table.ts`.
   */
  constructor(
    cache: Pick<RowCache, "get"> = new RowCache(),
    atHand?: RowsAtHand,
    keySeed?: number,
  ) {
    this.#cache = cache;
    this.#rows = new KeyTable(keySeed);
    this.#atHand = atHand;
    this.isNear = atHand !== undefined;
  }

  /** The row as the group would leave it; throws `Unread` if it was never loaded. */
  get(key: Bytes): Bytes | undefined {
    const found = this.#find(key);
    if (found !== NOTHING) return found;
    // Whoever asks may use the key again.
    const kept = key.slice();
    if (this.#atHand === undefined) throw new Unread([kept], []);
    const value = this.#atHand.getNow(kept);
    this.#row(kept).known = value;
    return value;
  }

  /** Whether the row is loaded or written, so that `get` would answer. */
  has(key: Bytes): boolean {
    return this.#find(key) !== NOTHING;
  }

  #find(key: Bytes): Known {
    const row = this.#rows.find(key);
    if (row !== undefined) {
      if (row.value !== NOTHING) return row.value;
      if (row.known !== NOTHING) return row.known;
    }
    return this.#cached(key);
  }

  /** Only rows of the trees are kept from one commit to the next. */
  #cached(key: Bytes): Known {
    if (!KEPT[key[0] as number]) return NOTHING;
    return this.#cache.get(keyString(key)) ?? NOTHING;
  }

  /** Whether the group changes the row. */
  isChanged(key: Bytes): boolean {
    return (this.#rows.find(key)?.value ?? NOTHING) !== NOTHING;
  }

  /** Throws one `Unread` for all of `keys` and `ranges` that are not loaded, unless they are read when they are wanted. */
  need(keys: readonly Bytes[], ranges: readonly KvRange[] = []): void {
    if (this.isNear) return;
    const missing = keys.filter((key) => !this.has(key));
    const missingRanges = ranges.filter((range) => !this.#knownRanges.has(rangeName(range)));
    if (missing.length + missingRanges.length > 0) throw new Unread(missing, missingRanges);
  }

  /** The rows of a range as the group would leave them. */
  range(range: KvRange): readonly KvRow[] {
    const name = rangeName(range);
    const asked = this.#widened.get(name) ?? range;
    const rows = this.#knownRanges.get(asked === range ? name : rangeName(asked));
    if (rows === undefined) return this.#readRange(range, asked);
    if (this.#undoRows.length === 0) return asked === range ? rows : rows.slice(0, range.limit);
    const merged = this.#merge(asked, rows);
    // The group took so many rows out of a page that was cut off that others must take their place.
    if (merged.length < range.limit && rows.length === asked.limit) {
      const wider = { ...asked, limit: 4 * asked.limit };
      this.#widened.set(name, wider);
      return this.#readRange(range, wider);
    }
    return merged.slice(0, range.limit);
  }

  /** A range that is not loaded, or not far enough: read, or thrown as `Unread` where that would mean to wait. */
  #readRange(range: KvRange, asked: KvRange): readonly KvRow[] {
    if (this.#atHand === undefined) throw new Unread([], [asked]);
    this.loadRanges([asked], [this.#atHand.rangeNow(asked)]);
    return this.range(range);
  }

  put(key: Bytes, value: Bytes): void {
    this.#change(this.#row(key), value);
  }

  delete(key: Bytes): void {
    this.#change(this.#row(key), undefined);
  }

  /** Says that a row cannot be there, because its id was drawn just now: nothing to read. */
  assumeAbsent(key: Bytes): void {
    const row = this.#row(key);
    if (row.known === NOTHING) row.known = undefined;
  }

  /** Hands over what was read from the store. */
  load(keys: readonly Bytes[], values: readonly (Bytes | undefined)[]): void {
    for (let at = 0; at < keys.length; at += 1) {
      const key = keys[at];
      if (key !== undefined) this.#row(key).known = values[at];
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
    return this.#undoRows.length;
  }

  /** Takes back every change since `mark`. */
  rollback(mark: number): void {
    if (mark < this.#taken) this.#taken = Number.POSITIVE_INFINITY;
    while (this.#undoRows.length > mark) {
      const row = this.#undoRows.pop();
      const before = this.#undoValues.pop();
      if (row !== undefined) row.value = before;
    }
  }

  /**
   * New rows that were put since the last call, as `changes` will name them unless they are changed again. None any more
   * once one was taken back.
   */
  takeNew(): readonly KvRow[] {
    const rows: KvRow[] = [];
    for (; this.#taken < this.#undoRows.length; this.#taken += 1) {
      const row = this.#undoRows[this.#taken] as ViewRow;
      const isFirst = this.#undoValues[this.#taken] === NOTHING;
      if (!isFirst || !(row.value instanceof Uint8Array) || !this.#isNew(row.key)) continue;
      const given = { key: row.key, value: row.value };
      this.#given.set(row, given);
      rows.push(given);
    }
    return rows;
  }

  /** Everything the group changed, each key once. */
  changes(): Required<Pick<KvCommit, "puts" | "deletes" | "isNew">> {
    const puts: KvRow[] = [];
    const deletes: Bytes[] = [];
    for (const row of this.#rows.items) {
      if (row.value === NOTHING) continue;
      if (row.value !== undefined) puts.push(this.#putOf(row as KvRow & ViewRow));
      else if (row.known !== undefined) deletes.push(row.key);
    }
    return { puts, deletes, isNew: (key) => this.#isNew(key) };
  }

  /** What `takeNew` gave of a row, where it is the same still. */
  #putOf(row: KvRow & ViewRow): KvRow {
    const given = this.#given.size === 0 ? undefined : this.#given.get(row);
    return given?.value === row.value ? given : row;
  }

  /** What is replaced was read before; what was written without a look is named after its entry. */
  #isNew(key: Bytes): boolean {
    const known = this.#rows.find(key)?.known;
    return (known === undefined || known === NOTHING) && !(this.#cached(key) instanceof Uint8Array);
  }

  /** Tree rows as they will be after the commit, into a cache that lasts. */
  keepRows(cache: RowCache): void {
    for (const { key, known, value } of this.#kept) {
      const name = keyString(key);
      const now = value === NOTHING ? known : value;
      // Absent pages are not worth a place: a page above tells which ones exist.
      if (now instanceof Uint8Array) cache.keep(name, now);
      else cache.drop(name);
    }
  }

  /** What is known of a row, which may be nothing so far. */
  #row(key: Bytes): ViewRow {
    const found = this.#rows.find(key);
    if (found !== undefined) return found;
    const row = this.#rows.add({ key, known: NOTHING, value: NOTHING });
    if (KEPT[key[0] as number]) this.#kept.push(row);
    return row;
  }

  #change(row: ViewRow, value: Bytes | undefined): void {
    this.#undoRows.push(row);
    this.#undoValues.push(row.value);
    row.value = value;
  }

  #bucket(name: string): ViewRow[] {
    const start = bucketOf(name);
    const found = this.#buckets.get(start);
    if (found !== undefined) return found;
    const made: ViewRow[] = [];
    this.#buckets.set(start, made);
    return made;
  }

  /** Rows between two keys that may be changed. */
  #changedBetween(gte: string, lt: string): Iterable<ViewRow> {
    const start = bucketOf(gte);
    const { items } = this.#rows;
    const whole = start.length > 0 && gte.length >= start.length && isBelow(lt, start);
    if (!whole || !RANGED[gte.charCodeAt(0)]) return items;
    for (; this.#sorted < items.length; this.#sorted += 1) {
      const row = items[this.#sorted] as ViewRow;
      if (RANGED[row.key[0] as number]) this.#bucket(keyString(row.key)).push(row);
    }
    return this.#buckets.get(start) ?? [];
  }

  #merge(range: KvRange, rows: readonly KvRow[]): readonly KvRow[] {
    const gte = keyString(range.gte);
    const lt = keyString(range.lt);
    const merged = new Map<string, KvRow>();
    for (const row of rows) merged.set(keyString(row.key), row);
    for (const row of this.#changedBetween(gte, lt)) {
      if (row.value === NOTHING) continue;
      const name = keyString(row.key);
      if (name < gte || name >= lt) continue;
      if (row.value === undefined) merged.delete(name);
      else merged.set(name, row as KvRow);
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
