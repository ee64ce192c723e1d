/**
 * Snapshots of the Postgres backend: one read-only transaction from the first read to the end, and
 * one message for everything that is asked at one moment.
 *
 * Promises: nothing goes over the wire before the first read, whose message also starts the
 * transaction and reads the head row. The first read of a brief snapshot is one statement without a transaction, which
 * sees one state all the same; a second one starts it, and holds only if that state is still the store's. What was named as wanted soon travels along, and what was read
 * is kept for as long as the snapshot lasts, up to some megabytes: no row is asked for twice. A broken connection is
 * replaced, and the read goes on if the head row says that nothing was changed since the first one; if something was, the
 * snapshot is lost with its connection, because no other one could see the same state.
 */
import { CortexError } from "../errors.js";
import {
  assertRange,
  type Bytes,
  compareBytes,
  HEAD_KEY,
  type KvRange,
  type KvRow,
  type KvSnapshot,
  type KvSoon,
  type OnEntry,
  sameBytes,
  showEntries,
  showFound,
  stateGone,
} from "./kv.js";
import { Patience } from "./postgres-patience.js";
import type { PostgresPool, Session } from "./postgres-session.js";
import * as sql from "./postgres-tables.js";
import { type Answer, isLostName, isPassing, postgresError } from "./postgres-wire.js";

const LIMIT_MAX = 0x7fff_ffff;
const EMPTY = new Uint8Array(0);

/** What one message reads. */
interface Wanted {
  readonly keys: readonly Bytes[];
  readonly ranges: readonly KvRange[];
}

/** Something that was asked of a snapshot and waits for its answer. */
interface Asked extends Wanted {
  readonly resolve: (found: Found) => void;
  readonly reject: (error: unknown) => void;
}

/** What a message brought: the values of keys, and the rows of ranges in the order asked for. */
interface Found {
  readonly values: ReadonlyMap<string, Bytes>;
  readonly rows: ReadonlyMap<KvRange, KvRow[]>;
}

/** Bytes that a snapshot keeps of what it has read: a call often comes back to the same few rows. */
const KEPT_BYTES = 4 * 1024 * 1024;
/** What a kept row takes beside its bytes, about. */
const KEPT_OVERHEAD = 100;

/** The head row as it is read: 0, its bytes, generation, stamp. */
type HeadCells = Answer[number];

/** What a snapshot knows of its store. */
interface SnapshotOwner {
  readonly isOpen: () => boolean;
  readonly onGeneration: (generation: number) => void;
  /** Called when there is no head row; may throw. */
  readonly onMissing: () => void;
  readonly siblings: Set<PostgresSnapshot>;
  /** Whether rows are kept to be given out again. */
  readonly keeps: boolean;
  /** Whether most likely nothing is read after the first time. */
  readonly isBrief: boolean;
  readonly onEntry: OnEntry | undefined;
}

/** See the file header. */
export class PostgresSnapshot implements KvSnapshot {
  readonly #pool: PostgresPool;
  readonly #place: sql.Place;
  readonly #owner: SnapshotOwner;
  #generation: number | undefined;
  #head: Bytes | undefined;
  #stamp: Bytes | undefined;
  #session: Session | undefined;
  #hasBegun = false;
  #waiting: Asked[] = [];
  #soonKeys = new Map<string, Bytes>();
  #soonRanges = new Map<string, KvRange>();
  /** Rows and ranges that were read; a state does not change, so they may be given out again. */
  readonly #values = new Map<string, Bytes | undefined>();
  readonly #ranges = new Map<string, { readonly range: KvRange; readonly rows: KvRow[] }>();
  #room: number;
  #working: Promise<void> | undefined;
  #isOpen = true;

  constructor(
    pool: PostgresPool,
    place: sql.Place,
    generation: number | undefined,
    owner: SnapshotOwner,
  ) {
    this.#pool = pool;
    this.#place = place;
    this.#generation = generation;
    this.#owner = owner;
    this.#room = owner.keeps ? KEPT_BYTES : 0;
    owner.siblings.add(this);
  }

  soon({ keys = [], ranges = [] }: KvSoon): void {
    if (this.#room <= 0) return;
    for (const key of keys) {
      const name = nameOf(key);
      if (!isHeadKey(key) && !this.#values.has(name)) this.#soonKeys.set(name, key);
    }
    for (const range of ranges) {
      assertRange(range);
      if (this.#kept(range) === undefined) this.#soonRanges.set(rangeName(range), range);
    }
  }

  async getMany(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    this.#assertOpen();
    const names = keys.map(nameOf);
    const missing = keys.filter((key, at) => !isHeadKey(key) && !this.#values.has(names[at] ?? ""));
    const isBare = missing.length === 0 && (this.#hasBegun || !keys.some(isHeadKey));
    const found = isBare ? undefined : await this.#ask({ keys: missing, ranges: [] });
    const values = keys.map((key, at) => {
      const name = names[at] ?? "";
      if (isHeadKey(key)) return this.#head;
      return found?.values.get(name) ?? this.#values.get(name);
    });
    showFound(this.#owner.onEntry, keys, values);
    return values;
  }

  async ranges(ranges: readonly KvRange[]): Promise<KvRow[][]> {
    this.#assertOpen();
    for (const range of ranges) assertRange(range);
    const kept = ranges.map((range) => this.#kept(range));
    const missing = ranges.filter((_, at) => kept[at] === undefined);
    const found = missing.length === 0 ? undefined : await this.#ask({ keys: [], ranges: missing });
    const rows = ranges.map((range, at) =>
      this.#whole(kept[at] ?? found?.rows.get(range) ?? [], range),
    );
    showEntries(this.#owner.onEntry, ranges, rows);
    return rows;
  }

  /** The rows of a range that was read already, at least as far as it is wanted now. */
  #kept(range: KvRange): KvRow[] | undefined {
    const known = this.#ranges.get(rangeName(range));
    if (known === undefined) return undefined;
    const isEnough = known.rows.length < known.range.limit || known.range.limit >= range.limit;
    return isEnough ? known.rows.slice(0, range.limit) : undefined;
  }

  close(): void {
    void this.end();
  }

  /** Closes, and waits for what is under way. */
  async end(): Promise<void> {
    if (!this.#isOpen) return this.#working;
    this.#isOpen = false;
    this.#owner.siblings.delete(this);
    const working = this.#working ?? Promise.resolve();
    this.#working = working.then(() => this.#finish());
    await this.#working;
  }

  /** Rows in their order, the head row among them where the range covers it. */
  #whole(rows: KvRow[], range: KvRange): KvRow[] {
    const coversHead =
      compareBytes(range.gte, HEAD_KEY) <= 0 && compareBytes(HEAD_KEY, range.lt) < 0;
    if (!coversHead || this.#head === undefined) return rows;
    const head = { key: HEAD_KEY, value: range.keysOnly === true ? EMPTY : this.#head };
    const all = range.reverse === true ? [...rows, head] : [head, ...rows];
    return all.slice(0, range.limit);
  }

  #assertOpen(): void {
    if (!this.#isOpen || !this.#owner.isOpen()) throw closedSnapshot();
  }

  #ask(wanted: Wanted): Promise<Found> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...wanted, resolve, reject });
      this.#working ??= allAsked().then(() => this.#work());
    });
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      const asked = this.#waiting;
      this.#waiting = [];
      try {
        const found = await this.#answer(this.#together(asked));
        for (const one of asked) one.resolve(found);
      } catch (error) {
        const failure = postgresError(error, this.#pool.address);
        for (const one of asked) one.reject(failure);
      }
    }
    if (this.#isOpen) this.#working = undefined;
  }

  /** Everything that was asked for, each key once, and what will be asked for soon. */
  #together(asked: readonly Asked[]): Wanted {
    const keys = new Map(
      asked.flatMap((one) => one.keys.map((key) => [nameOf(key), key] as const)),
    );
    const ranges = asked.flatMap((one) => one.ranges);
    for (const range of ranges) this.#soonRanges.delete(rangeName(range));
    for (const [name, key] of this.#soonKeys) keys.set(name, key);
    const soon = [...this.#soonRanges.values()];
    this.#soonKeys = new Map();
    this.#soonRanges = new Map();
    return { keys: [...keys.values()], ranges: [...ranges, ...soon] };
  }

  /** Reads, and keeps what there is room for. */
  async #answer(wanted: Wanted): Promise<Found> {
    const found = await this.#read(wanted);
    for (const key of wanted.keys) {
      const name = nameOf(key);
      const value = found.values.get(name);
      if (this.#hasRoomFor(name.length + (value?.length ?? 0))) this.#values.set(name, value);
    }
    for (const range of wanted.ranges) {
      const rows = found.rows.get(range) ?? [];
      const bytes = rows.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
      if (this.#hasRoomFor(bytes)) this.#ranges.set(rangeName(range), { range, rows });
    }
    return found;
  }

  #hasRoomFor(bytes: number): boolean {
    if (this.#room <= 0) return false;
    this.#room -= bytes + KEPT_OVERHEAD;
    return true;
  }

  async #read(wanted: Wanted): Promise<Found> {
    const patience = new Patience(this.#pool.address.retryMs);
    for (;;) {
      try {
        if (this.#session !== undefined) return await this.#readOn(this.#session, wanted);
        const isAlone = this.#owner.isBrief && !this.#hasBegun && wanted.ranges.length === 0;
        return isAlone && this.#pool.mayBeAlone
          ? await this.#glance(wanted)
          : await this.#begin(wanted);
      } catch (error) {
        this.#drop();
        // From now on statements are sent whole: no pause makes that any better.
        if (isLostName(error)) continue;
        if (!isPassing(error)) throw error;
        await patience.pause(postgresError(error, this.#pool.address));
      }
    }
  }

  #drop(): void {
    this.#session?.release();
    this.#session = undefined;
  }

  /**
   * The first read with the start of a transaction. Another one, after a broken connection or a glance, holds only if the
   * store has not changed meanwhile.
   */
  async #begin(wanted: Wanted): Promise<Found> {
    const session = await this.#pool.acquire();
    this.#session = session;
    const opening = this.#pool.opening(sql.BEGIN_READ);
    const guess = this.#generation ?? 0;
    const { head, found } = await this.#readFirst(session, opening, wanted);
    if (this.#hasBegun && !this.#isAsBefore(head)) {
      this.#finish();
      throw lostState();
    }
    this.#learn(head);
    if (head === undefined || head[2] === guess) return found;
    return this.#readOn(session, wanted);
  }

  /** The first read of keys by one statement alone: no transaction is left, and the connection goes back at once. */
  async #glance(wanted: Wanted): Promise<Found> {
    for (;;) {
      const session = await this.#pool.acquire();
      this.#session = session;
      const guess = this.#generation ?? 0;
      const { head, found } = await this.#readFirst(session, [], wanted);
      this.#drop();
      this.#learn(head);
      if (head === undefined || head[2] === guess) return found;
    }
  }

  /** Notes what the head row says, first of all which generation is the store. */
  #learn(head: HeadCells | undefined): void {
    this.#hasBegun = true;
    this.#head = head?.[1] as Bytes | undefined;
    this.#stamp = head?.[3] as Bytes | undefined;
    if (head === undefined) this.#tellMissing();
    else if (head[2] !== this.#generation) {
      this.#generation = Number(head[2]);
      this.#owner.onGeneration(this.#generation);
    }
  }

  /** Every change gives the head row another stamp, and every promotion another generation. */
  #isAsBefore(head: HeadCells | undefined): boolean {
    if (head === undefined) return this.#head === undefined && this.#stamp === undefined;
    const [, bytes, generation, stamp] = head;
    return (
      generation === (this.#generation ?? 0) &&
      sameBytes(bytes as Bytes | undefined, this.#head) &&
      sameBytes(stamp as Bytes | undefined, this.#stamp)
    );
  }

  /** A connection goes back with its transaction ended, also where the owner refuses to go on. */
  #tellMissing(): void {
    try {
      this.#owner.onMissing();
    } catch (error) {
      this.#finish();
      throw error;
    }
  }

  /** One message: what opens the transaction, the head row and keys together, and the ranges. */
  async #readFirst(
    session: Session,
    opening: readonly sql.Statement[],
    { keys, ranges }: Wanted,
  ): Promise<{ readonly head: HeadCells | undefined; readonly found: Found }> {
    const generation = this.#generation ?? 0;
    const first = sql.readFirst(this.#place, generation, keys);
    const message = [...opening, first, ...this.#rangeStatements(ranges, generation)];
    const [rows = [], ...more] = (await session.run(message)).slice(opening.length);
    const head = rows.find(([at]) => at === 0);
    return { head, found: { values: valuesIn(rows, keys), rows: rowsIn(more, ranges) } };
  }

  /** One message: at most a statement for keys and one for the ranges of each direction. */
  async #readOn(session: Session, { keys, ranges }: Wanted): Promise<Found> {
    const generation = this.#generation ?? 0;
    const ofKeys = keys.length === 0 ? [] : [sql.readKeys(this.#place.actor, generation, keys)];
    const message = [...ofKeys, ...this.#rangeStatements(ranges, generation)];
    const answers = message.length === 0 ? [] : await session.run(message);
    const [rows = []] = answers.slice(0, ofKeys.length);
    const more = answers.slice(ofKeys.length);
    return { values: valuesIn(rows, keys), rows: rowsIn(more, ranges) };
  }

  #rangeStatements(ranges: readonly KvRange[], generation: number): readonly sql.Statement[] {
    if (ranges.length === 0) return [];
    const { actor } = this.#place;
    const asks = ranges.map(({ gte, lt, limit, keysOnly, reverse }, at) => ({
      ...{ at, gte, lt, limit: Math.min(limit, LIMIT_MAX), keysOnly: keysOnly === true },
      reverse: reverse === true,
    }));
    const backwards = asks.filter(({ reverse }) => reverse);
    const forwards = asks.filter(({ reverse }) => !reverse);
    return [
      ...(forwards.length === 0 ? [] : [sql.readRanges(actor, generation, forwards, "ASC")]),
      ...(backwards.length === 0 ? [] : [sql.readRanges(actor, generation, backwards, "DESC")]),
    ];
  }

  #finish(): void {
    const session = this.#session;
    this.#session = undefined;
    // One that has not begun has no transaction to end.
    if (this.#hasBegun) session?.releaseOpen();
    else session?.release();
  }
}

/** Values by the names of their keys; rows name the place of a key in the list. */
function valuesIn(rows: Answer, keys: readonly Bytes[]): ReadonlyMap<string, Bytes> {
  const values = new Map<string, Bytes>();
  for (const [at, value] of rows) {
    const key = keys[Number(at) - 1];
    if (key !== undefined) values.set(nameOf(key), value as Bytes);
  }
  return values;
}

/** Rows by their ranges, in order; each names the place of its range in the list. */
function rowsIn(
  answers: readonly Answer[],
  ranges: readonly KvRange[],
): ReadonlyMap<KvRange, KvRow[]> {
  const rows = new Map(ranges.map((range) => [range, [] as KvRow[]]));
  for (const [at, key, value] of answers.flat()) {
    const range = ranges[Number(at)];
    if (range === undefined) continue;
    rows.get(range)?.push({ key: key as Bytes, value: value as Bytes });
  }
  for (const [range, found] of rows) sortRows(found, range.reverse === true ? -1 : 1);
  return rows;
}

/** When nobody has anything more to ask before an answer comes: what is asked in one moment goes together. */
function allAsked(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** The server may give the rows of a range in another order than it was asked to read them in. */
function sortRows(rows: KvRow[], sign: 1 | -1): void {
  const isSorted = rows.every(
    ({ key }, at) => at === 0 || sign * compareBytes(rows[at - 1]?.key ?? EMPTY, key) < 0,
  );
  if (!isSorted) rows.sort((a, b) => sign * compareBytes(a.key, b.key));
}

/** A key as a name, one character a byte; a `Buffer` around it first would cost more than the rest. */
export function nameOf(key: Bytes): string {
  return latin1Slice.call(key, 0, key.length);
}

const { latin1Slice } = Buffer.prototype as unknown as {
  readonly latin1Slice: (this: Uint8Array, start: number, end: number) => string;
};

/** Ranges of one name have the same rows, as far as they were read. */
function rangeName({ gte, lt, reverse, keysOnly }: KvRange): string {
  return `${reverse === true}${keysOnly === true}${gte.length} ${nameOf(gte)}${nameOf(lt)}`;
}

function isHeadKey(key: Bytes): boolean {
  return key.length === 1 && key[0] === HEAD_KEY[0];
}

/** The failure of a snapshot that cannot go on; whoever only reads may ask again. */
function lostState(): CortexError {
  return stateGone(
    "the connection was lost while rows were read, and the store has changed since; nothing was written: ask again",
  );
}

function closedSnapshot(): CortexError {
  return new CortexError("ERR_CLOSED", "the snapshot is closed, or was held for too long");
}
