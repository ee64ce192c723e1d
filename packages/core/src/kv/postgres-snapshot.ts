/**
 * Snapshots of the Postgres backend: one read-only transaction from the first read to the end, and
 * one message for everything that is asked at one moment.
 *
 * Promises: nothing goes over the wire before the first read, whose message also starts the
 * transaction and reads the head row. Until something was read a broken connection is replaced; after
 * that the snapshot is lost with its connection, because no other one could see the same state.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { CortexError } from "../errors.js";
import {
  assertRange,
  type Bytes,
  compareBytes,
  HEAD_KEY,
  type KvRange,
  type KvRow,
  type KvSnapshot,
} from "./kv.js";
import type { PostgresPool, Session } from "./postgres-session.js";
import * as sql from "./postgres-tables.js";
import { type Answer, isPassing, postgresError } from "./postgres-wire.js";

/** First and longest pause between two tries to reach the server. */
const PAUSE_MS = { first: 20, most: 1000 } as const;
const LIMIT_MAX = 0x7fff_ffff;
const EMPTY = new Uint8Array(0);

/** How long one goes on trying: pauses grow, and differ from one process to the next. */
export class Patience {
  readonly #untilMs: number;
  #pauseMs: number = PAUSE_MS.first;

  constructor(ms: number) {
    this.#untilMs = performance.now() + ms;
  }

  /** Waits a moment, or throws when there was time enough. */
  async pause(error: unknown, addition?: string): Promise<void> {
    if (performance.now() >= this.#untilMs) {
      if (!(error instanceof CortexError) || addition === undefined) throw error;
      throw new CortexError(error.code, `${error.message}; ${addition}`, {}, error);
    }
    await sleep(this.#pauseMs * (0.5 + Math.random()));
    this.#pauseMs = Math.min(PAUSE_MS.most, 2 * this.#pauseMs);
  }
}

/** Something that was asked of a snapshot and waits for its answer. */
interface Asked {
  readonly statements: (generation: number) => readonly sql.Statement[];
  readonly resolve: (answers: readonly Answer[]) => void;
  readonly reject: (error: unknown) => void;
}

/** What a snapshot knows of its store. */
export interface SnapshotOwner {
  readonly isOpen: () => boolean;
  readonly onGeneration: (generation: number) => void;
  /** Told that there is no head row; may throw. */
  readonly onMissing: () => void;
  readonly siblings: Set<PostgresSnapshot>;
}

/** See the file header. */
export class PostgresSnapshot implements KvSnapshot {
  readonly #pool: PostgresPool;
  readonly #place: sql.Place;
  readonly #owner: SnapshotOwner;
  #generation: number | undefined;
  #head: Bytes | undefined;
  #session: Session | undefined;
  #waiting: Asked[] = [];
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
    owner.siblings.add(this);
  }

  async getMany(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    const values: (Bytes | undefined)[] = keys.map(() => undefined);
    const stored = keys.filter((key) => !isHeadKey(key));
    const places = keys.flatMap((key, at) => (isHeadKey(key) ? [] : [at]));
    const [found = []] = await this.#ask((generation) =>
      stored.length === 0 ? [] : [sql.readKeys(this.#place.actor, generation, stored)],
    );
    for (const [at, value] of found) {
      const place = places[Number(at) - 1];
      if (place !== undefined) values[place] = value as Bytes;
    }
    for (const [at, key] of keys.entries()) if (isHeadKey(key)) values[at] = this.#head;
    return values;
  }

  async ranges(ranges: readonly KvRange[]): Promise<KvRow[][]> {
    for (const range of ranges) assertRange(range);
    const asks = ranges.map(({ gte, lt, limit, keysOnly, reverse }, at) => ({
      ...{ at, gte, lt, limit: Math.min(limit, LIMIT_MAX), keysOnly: keysOnly === true },
      reverse: reverse === true,
    }));
    const backwards = asks.filter(({ reverse }) => reverse);
    const forwards = asks.filter(({ reverse }) => !reverse);
    const { actor } = this.#place;
    const answers = await this.#ask((generation) => [
      ...(forwards.length === 0 ? [] : [sql.readRanges(actor, generation, forwards, "ASC")]),
      ...(backwards.length === 0 ? [] : [sql.readRanges(actor, generation, backwards, "DESC")]),
    ]);
    const found: KvRow[][] = ranges.map(() => []);
    for (const answer of answers) {
      for (const [at, key, value] of answer) {
        found[Number(at)]?.push({ key: key as Bytes, value: value as Bytes });
      }
    }
    return found.map((rows, at) => this.#whole(rows, ranges[at]));
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
  #whole(rows: KvRow[], range: KvRange | undefined): KvRow[] {
    if (range === undefined) return rows;
    const sign = range.reverse === true ? -1 : 1;
    const isSorted = rows.every(
      ({ key }, at) => at === 0 || sign * compareBytes(rows[at - 1]?.key ?? EMPTY, key) < 0,
    );
    if (!isSorted) rows.sort((a, b) => sign * compareBytes(a.key, b.key));
    const coversHead =
      compareBytes(range.gte, HEAD_KEY) <= 0 && compareBytes(HEAD_KEY, range.lt) < 0;
    if (!coversHead || this.#head === undefined) return rows;
    const head = { key: HEAD_KEY, value: range.keysOnly === true ? EMPTY : this.#head };
    const all = range.reverse === true ? [...rows, head] : [head, ...rows];
    return all.slice(0, range.limit);
  }

  #ask(statements: Asked["statements"]): Promise<readonly Answer[]> {
    if (!this.#isOpen || !this.#owner.isOpen()) return Promise.reject(closedSnapshot());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ statements, resolve, reject });
      // What is asked in the same moment goes along.
      this.#working ??= Promise.resolve().then(() => this.#work());
    });
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      const asked = this.#waiting;
      this.#waiting = [];
      try {
        const answers = await this.#answer(asked);
        for (const [at, one] of asked.entries()) one.resolve(answers[at] ?? []);
      } catch (error) {
        const failure = postgresError(error, this.#pool.address);
        for (const one of asked) one.reject(failure);
      }
    }
    if (this.#isOpen) this.#working = undefined;
  }

  async #answer(asked: readonly Asked[]): Promise<Answer[][]> {
    if (this.#session !== undefined) {
      return this.#read(this.#session, [], asked, this.#generation ?? 0);
    }
    const patience = new Patience(this.#pool.address.retryMs);
    for (;;) {
      try {
        return await this.#begin(asked);
      } catch (error) {
        this.#drop();
        // Nothing was read yet, so that it may as well be read from another connection.
        if (!isPassing(error)) throw error;
        await patience.pause(postgresError(error, this.#pool.address));
      }
    }
  }

  #drop(): void {
    this.#session?.release();
    this.#session = undefined;
  }

  /** The first read: it starts the transaction and learns which generation is the store. */
  async #begin(asked: readonly Asked[]): Promise<Answer[][]> {
    const session = await this.#pool.acquire();
    this.#session = session;
    const opening = this.#pool.opening(sql.BEGIN_READ, [sql.readHead(this.#place)]);
    const guess = this.#generation ?? 0;
    let head: readonly unknown[] | undefined;
    const answers = await this.#read(session, opening, asked, guess, (first) => {
      head = first.at(-1)?.[0];
    });
    this.#head = head?.[1] as Bytes | undefined;
    if (head === undefined) this.#owner.onMissing();
    if (head === undefined || head[0] === guess) return answers;
    this.#generation = Number(head[0]);
    this.#owner.onGeneration(this.#generation);
    return this.#read(session, [], asked, this.#generation);
  }

  async #read(
    session: Session,
    opening: readonly sql.Statement[],
    asked: readonly Asked[],
    generation: number,
    opened?: (answers: readonly Answer[]) => void,
  ): Promise<Answer[][]> {
    const lists = asked.map(({ statements }) => statements(generation));
    const message = [...opening, ...lists.flat()];
    if (message.length === 0) return asked.map(() => []);
    const answers = await session.run(message);
    opened?.(answers.slice(0, opening.length));
    let end = opening.length;
    return lists.map((list) => {
      end += list.length;
      return answers.slice(end - list.length, end);
    });
  }

  async #finish(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    try {
      await session?.run([sql.COMMIT]);
    } catch {
      // It was read from; that it could not be ended in peace is nobody's loss.
    } finally {
      session?.release();
    }
  }
}

function isHeadKey(key: Bytes): boolean {
  return key.length === 1 && key[0] === HEAD_KEY[0];
}

function closedSnapshot(): CortexError {
  return new CortexError("ERR_CLOSED", "the snapshot is closed, or was held for too long");
}
