/**
 * Who works at a job of a store: one owner at a time, by a lease that expires.
 *
 * A lease is a cache row, taken and renewed by compare-and-commit on the row as it was read, so of two that
 * reach for it one gets it. It holds until its time is over by the clock of this machine; whoever dies simply
 * stops renewing it. The same row keeps how the last run went, so that any process can show it. A lease saves
 * work, it protects nothing: every job commits against the rows it read, and two owners for a moment, after a
 * leap of the clock for instance, do the same work twice and no harm.
 */
import { decode, encode } from "../codec/cbor.js";
import { readIntegerOr, readList, readText } from "../codec/cbor-value.js";
import { textInKey, toHex } from "../codec/keys.js";
import { withSnapshot } from "../history/build-beside.js";
import type { Reader } from "../history/reader.js";
import { scan } from "../history/reader.js";
import { KEYSPACE, textKey } from "../kv/keyspace.js";
import { type Bytes, type Kv, sameBytes } from "../kv/kv.js";

/** What a run of a job did. */
export interface JobReport {
  /** How much it did, in what the job counts. */
  readonly done: number;
  /** The first entry that it has not seen to yet. */
  readonly cursor: number;
  /** Entries that it has not seen to yet. */
  readonly lag: number;
}

/** A failure, fit to be shown: no content, no secrets. */
interface JobFailure {
  readonly at: number;
  readonly code: string;
  readonly message: string;
  /** Failures since the last run that went well. */
  readonly count: number;
}

/** Where a job stands, as every process can see it. */
export interface JobStatus {
  readonly name: string;
  /** Who worked at it last, in hex. */
  readonly owner: string;
  /** Whether that owner may still work at it. */
  readonly leased: boolean;
  readonly expiresAt: number;
  readonly cursor: number;
  /** Entries of the journal, as it is now, that the job has not seen to. */
  readonly lag: number;
  /** How much the last run did. */
  readonly done: number;
  /** When the last run that went well ended; absent before the first. */
  readonly lastRunAt?: number;
  readonly lastError?: JobFailure;
}

interface LeaseRow {
  readonly owner: Bytes;
  readonly expiresAt: number;
  readonly run?: JobReport & { readonly at: number };
  readonly failure?: JobFailure;
}

/** Bytes of an owner's id. */
export const OWNER_BYTES = 16;

/** The longest lease. One that claims to last longer was written by a clock that went wrong. */
export const LEASE_MS_MAX = 10 * 60_000;

/** What a lease is made of. */
interface LeaseParts {
  readonly kv: Kv;
  readonly clock: () => number;
  readonly name: string;
  readonly owner: Bytes;
  readonly leaseMs: number;
}

/** The claim of one owner to one job. */
export class Lease {
  readonly #parts: LeaseParts;
  readonly #key: Bytes;
  /** The row as this owner wrote it last; absent while it is somebody else's. */
  #mine: { readonly row: LeaseRow; readonly bytes: Bytes } | undefined;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    this.#key = textKey("lease", parts.name);
  }

  /** Takes the lease if it is free, expired or held already; false when it is somebody else's. */
  async take(): Promise<boolean> {
    const now = this.#parts.clock();
    const { leaseMs } = this.#parts;
    if (this.#mine !== undefined && this.#mine.row.expiresAt - now > leaseMs / 2) return true;
    const { bytes, row } = await this.#read();
    if (row !== undefined && isAlive(row, now) && !sameBytes(row.owner, this.#parts.owner)) {
      this.#mine = undefined;
      return false;
    }
    return this.#write(bytes, { ...row, ...this.#claim() });
  }

  /** Makes a held lease last longer; false when it is lost. */
  async renew(): Promise<boolean> {
    const mine = this.#mine;
    return mine !== undefined && this.#write(mine.bytes, { ...mine.row, ...this.#claim() });
  }

  /** Keeps how a run went, and the lease with it; false when it is lost. */
  async record(outcome: JobReport | Pick<JobFailure, "code" | "message">): Promise<boolean> {
    const mine = this.#mine;
    if (mine === undefined) return false;
    const at = this.#parts.clock();
    const { run, failure } = mine.row;
    if ("done" in outcome) {
      const { done, cursor, lag } = outcome;
      return this.#write(mine.bytes, { ...this.#claim(), run: { done, cursor, lag, at } });
    }
    const { code, message } = outcome;
    const next = { at, code, message, count: (failure?.count ?? 0) + 1 };
    const kept = run === undefined ? {} : { run };
    return this.#write(mine.bytes, { ...this.#claim(), ...kept, failure: next });
  }

  /**
   * Keeps how a run went that was too small for a lease: one commit, where taking, keeping and giving back are three. A
   * row that another owner works under is left alone.
   */
  async note({ done, cursor, lag }: JobReport): Promise<void> {
    const { clock, owner } = this.#parts;
    const { bytes, row } = await this.#read();
    const at = clock();
    if (row !== undefined && isAlive(row, at)) return;
    await this.#write(bytes, { owner, expiresAt: 0, run: { done, cursor, lag, at } });
    this.#mine = undefined;
  }

  /** Gives a held lease back, so that others need not wait for its end. */
  async release(): Promise<void> {
    const mine = this.#mine;
    if (mine !== undefined) await this.#write(mine.bytes, { ...mine.row, expiresAt: 0 });
    this.#mine = undefined;
  }

  async #read(): Promise<{
    readonly bytes: Bytes | undefined;
    readonly row: LeaseRow | undefined;
  }> {
    const [bytes] = await withSnapshot(this.#parts.kv, (snapshot) => snapshot.getMany([this.#key]));
    return { bytes, row: bytes === undefined ? undefined : decodeLease(bytes) };
  }

  #claim(): Pick<LeaseRow, "owner" | "expiresAt"> {
    const { owner, clock, leaseMs } = this.#parts;
    return { owner, expiresAt: clock() + leaseMs };
  }

  async #write(expected: Bytes | undefined, row: LeaseRow): Promise<boolean> {
    const bytes = encodeLease(row);
    const key = this.#key;
    const held = await this.#parts.kv.commitCaches({
      expect: [{ key, value: expected }],
      puts: [{ key, value: bytes }],
      deletes: [],
    });
    this.#mine = held ? { row, bytes } : undefined;
    return held;
  }
}

/** Where every job of a store stands, by name. */
export async function readJobs(reader: Reader, now: number): Promise<readonly JobStatus[]> {
  const found: JobStatus[] = [];
  for await (const { key, value } of scan(reader.snapshot, Uint8Array.of(KEYSPACE.lease.byte))) {
    found.push(shapeJob(textInKey(key, 1), decodeLease(value), reader.head.size, now));
  }
  return found;
}

function shapeJob(name: string, row: LeaseRow, size: number, now: number): JobStatus {
  const { owner, expiresAt, run, failure } = row;
  const cursor = run?.cursor ?? 0;
  return {
    name,
    owner: toHex(owner),
    leased: isAlive(row, now),
    expiresAt,
    cursor,
    lag: Math.max(0, size - cursor),
    done: run?.done ?? 0,
    ...(run === undefined ? {} : { lastRunAt: run.at }),
    ...(failure === undefined ? {} : { lastError: failure }),
  };
}

function isAlive({ expiresAt }: LeaseRow, now: number): boolean {
  return expiresAt > now && expiresAt <= now + LEASE_MS_MAX;
}

function encodeLease({ owner, expiresAt, run, failure }: LeaseRow): Bytes {
  return encode([
    owner,
    expiresAt,
    run === undefined ? null : [run.at, run.done, run.cursor, run.lag],
    failure === undefined ? null : [failure.at, failure.code, failure.message, failure.count],
  ]);
}

function decodeLease(bytes: Bytes): LeaseRow {
  const [owner, expiresAt, run, failure] = readList(decode(bytes));
  const row = { owner: owner as Bytes, expiresAt: readIntegerOr(expiresAt, 0) };
  const [ranAt, done, cursor, lag] = run === null ? [] : readList(run);
  const [failedAt, code, message, count] = failure === null ? [] : readList(failure);
  return {
    ...row,
    ...(run === null
      ? {}
      : {
          run: {
            at: readIntegerOr(ranAt, 0),
            done: readIntegerOr(done, 0),
            cursor: readIntegerOr(cursor, 0),
            lag: readIntegerOr(lag, 0),
          },
        }),
    ...(failure === null
      ? {}
      : {
          failure: {
            at: readIntegerOr(failedAt, 0),
            code: readText(code),
            message: readText(message),
            count: readIntegerOr(count, 0),
          },
        }),
  };
}
