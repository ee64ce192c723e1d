/**
 * A thin store on PGlite, for tests: it shows that the contract fits a SQL engine.
 *
 * PGlite has one connection, so a snapshot cannot be a transaction: rows are versioned instead. A
 * snapshot remembers a version and reads, of every key, the last row at or below it. A commit is
 * one transaction that locks and compares the head row. Nothing is ever cleaned up.
 */
import { PGlite, type Transaction } from "@electric-sql/pglite";
import { CortexError } from "../src/errors.js";
import {
  assertCommit,
  assertRange,
  assertRows,
  type Bytes,
  HEAD_KEY,
  type Kv,
  type KvCacheCommit,
  type KvCommit,
  type KvCommitResult,
  type KvGeneration,
  type KvManifest,
  type KvRange,
  type KvRow,
  type KvSnapshot,
  sameBytes,
} from "../src/kv/kv.js";

const SCHEMA = `
  create table if not exists head (one int primary key, version int not null, head bytea);
  insert into head values (1, 0, null) on conflict do nothing;
  create table if not exists rows (
    key bytea not null, version int not null, value bytea, primary key (key, version));
`;

const GET_MANY = `
  select r.value from unnest($1::text[]) with ordinality as k(key, at)
  left join lateral (
    select value from rows
    where rows.key = decode(k.key, 'hex') and version <= $2 order by version desc limit 1
  ) r on true order by k.at`;

const rangeSql = (direction: "asc" | "desc"): string => `
  select key, value from (
    select distinct on (key) key, value from rows
    where key >= decode($1, 'hex') and key < decode($2, 'hex') and version <= $3
    order by key, version desc
  ) latest where value is not null order by key ${direction} limit $4`;

const PUT = `
  insert into rows (key, version, value)
  select decode(key, 'hex'), $1, decode(value, 'hex')
  from unnest($2::text[], $3::text[]) as r(key, value)`;

interface HeadRow {
  readonly version: number;
  readonly head: Bytes | null;
}

/** Opens a database of its own, in memory. */
export async function openPgliteDatabase(): Promise<PGlite> {
  const database = await PGlite.create();
  await database.exec(SCHEMA);
  return database;
}

/** Opens a handle; closing it leaves the database open. */
export function openPgliteKv(database: PGlite): Kv {
  return new PgliteKv(database);
}

class PgliteKv implements Kv {
  readonly manifest: KvManifest = {
    name: "pglite",
    durable: false,
    syncMode: "none: memory only",
    multiProcess: false,
    generations: false,
  };
  readonly #database: PGlite;
  readonly #snapshots = new Set<KvSnapshot>();
  #open = true;

  constructor(database: PGlite) {
    this.#database = database;
  }

  async snapshot(): Promise<KvSnapshot> {
    this.#assertOpen();
    const { rows } = await this.#database.query<HeadRow>("select version, head from head");
    const snapshot = new PgliteSnapshot(this.#database, rows[0]?.version ?? 0);
    this.#snapshots.add(snapshot);
    return snapshot;
  }

  async commit(change: KvCommit): Promise<KvCommitResult> {
    this.#assertOpen();
    assertCommit(change);
    return this.#database.transaction(async (tx): Promise<KvCommitResult> => {
      const { head, version } = await lockHead(tx);
      if (!sameBytes(head, change.expectHead)) return { ok: false, head };
      await apply(tx, version + 1, change);
      return { ok: true };
    });
  }

  async commitCaches(change: KvCacheCommit): Promise<boolean> {
    this.#assertOpen();
    assertRows(change);
    return this.#database.transaction(async (tx): Promise<boolean> => {
      const { head, version } = await lockHead(tx);
      const keys = change.expect.map(({ key }) => hexOf(key));
      const { rows } = await tx.query<{ value: Bytes | null }>(GET_MANY, [keys, version]);
      const held = change.expect.every(({ value }, at) =>
        sameBytes(rows[at]?.value ?? undefined, value),
      );
      if (!held || head === undefined) return false;
      await apply(tx, version + 1, { ...change, head });
      return true;
    });
  }

  async nextGeneration(): Promise<KvGeneration> {
    this.#assertOpen();
    throw new CortexError("ERR_UNSUPPORTED", "pglite: no generations");
  }

  async sizeBytes(): Promise<number> {
    this.#assertOpen();
    const sql = "select coalesce(sum(length(key) + length(value)), 0)::int as size from rows";
    const { rows } = await this.#database.query<{ readonly size: number }>(sql);
    return rows[0]?.size ?? 0;
  }

  async close(): Promise<void> {
    this.#open = false;
    for (const snapshot of this.#snapshots) snapshot.close();
    this.#snapshots.clear();
  }

  #assertOpen(): void {
    if (!this.#open) throw new CortexError("ERR_CLOSED", "the store is closed");
  }
}

async function lockHead(
  tx: Transaction,
): Promise<{ readonly head: Bytes | undefined; readonly version: number }> {
  const locked = await tx.query<HeadRow>("select version, head from head for update");
  return { head: locked.rows[0]?.head ?? undefined, version: locked.rows[0]?.version ?? 0 };
}

async function apply(
  tx: Transaction,
  version: number,
  change: Pick<KvCommit, "head" | "puts" | "deletes">,
): Promise<void> {
  const rows = [
    { key: HEAD_KEY, value: change.head },
    ...change.puts,
    ...change.deletes.map((key) => ({ key, value: undefined })),
  ];
  await tx.query("update head set version = $1, head = $2", [version, change.head]);
  const values = rows.map(({ value }) => (value === undefined ? null : hexOf(value)));
  await tx.query(PUT, [version, rows.map(({ key }) => hexOf(key)), values]);
}

class PgliteSnapshot implements KvSnapshot {
  readonly #database: PGlite;
  readonly #version: number;
  #open = true;

  constructor(database: PGlite, version: number) {
    this.#database = database;
    this.#version = version;
  }

  async getMany(keys: readonly Bytes[]): Promise<(Bytes | undefined)[]> {
    this.#assertOpen();
    const parameters = [keys.map(hexOf), this.#version];
    const { rows } = await this.#database.query<{ value: Bytes | null }>(GET_MANY, parameters);
    return rows.map(({ value }) => value ?? undefined);
  }

  async ranges(ranges: readonly KvRange[]): Promise<KvRow[][]> {
    this.#assertOpen();
    ranges.forEach(assertRange);
    return Promise.all(
      ranges.map(async ({ gte, lt, reverse, limit, keysOnly }) => {
        const sql = rangeSql(reverse === true ? "desc" : "asc");
        const parameters = [hexOf(gte), hexOf(lt), this.#version, limit];
        const { rows } = await this.#database.query<KvRow>(sql, parameters);
        return keysOnly === true
          ? rows.map(({ key }) => ({ key, value: new Uint8Array(0) }))
          : rows;
      }),
    );
  }

  close(): void {
    this.#open = false;
  }

  #assertOpen(): void {
    if (!this.#open) throw new CortexError("ERR_CLOSED", "the snapshot is closed");
  }
}

function hexOf(value: Bytes): string {
  return Buffer.from(value).toString("hex");
}
