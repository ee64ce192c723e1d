/**
 * The tables of the Postgres backend: the statements that make them, and those that find out whether they are
 * there and of which version.
 *
 * Promise: plain SQL of PostgreSQL's dialect. The statements about rows are in `postgres-tables.ts`.
 */
import type { Statement } from "./postgres-tables.js";

/** A change of the tables from one version to the next. */
export interface TableStep {
  /** The version afterwards: one more than that of the step before. */
  readonly to: number;
  /**
   * The oldest version whose processes may go on beside it. Below `to` where the step only adds: what it adds, their
   * statements need not name. What nobody names any more is removed by a later step, whose `oldest` says so.
   */
  readonly oldest: number;
  readonly statements: (partitions: number) => readonly string[];
}

/** The table of versions: made first, and locked by whoever makes or changes the others. */
export const VERSION_TABLE = `
  CREATE TABLE IF NOT EXISTS cortex_schema (
    one int PRIMARY KEY, version int NOT NULL, partitions int NOT NULL)`;

/**
 * The first row of that table; version 0 until the others are made. A second one is there where processes of an older
 * version may use them as well, and says which is the oldest.
 */
export const VERSION_ROW =
  "INSERT INTO cortex_schema (one, version, partitions) VALUES (1, 0, 0) ON CONFLICT (one) DO NOTHING";

/** The version of the tables, and the oldest one whose processes may use them. */
export const READ_VERSION: Statement = {
  text: "SELECT max(version), min(version) FROM cortex_schema",
  columns: ["int", "int"],
};

/** The version of the tables, waiting for whoever is changing them. */
export const LOCK_VERSION: Statement = {
  text: "SELECT version FROM cortex_schema WHERE one = 1 FOR UPDATE",
  columns: ["int"],
};

/**
 * Whether the table of versions is there; asked without naming it, which would be an error. The standard's view of tables
 * shows none to a role that has no rights to them, who would be told that there is nothing.
 */
export const HAS_VERSION: Statement = {
  text: "SELECT count(*) FROM pg_catalog.pg_tables WHERE tablename = 'cortex_schema' AND schemaname = ANY (current_schemas(false))",
  columns: ["int"],
};

/** Whether the server takes writes at all. */
export const IS_READ_ONLY: Statement = {
  text: "SELECT current_setting('transaction_read_only') = 'on'",
  columns: ["bool"],
};

/** What says that a step was made. */
export function versionMoved({ to, oldest }: TableStep): readonly string[] {
  return [
    `UPDATE cortex_schema SET version = ${to} WHERE one = 1`,
    "DELETE FROM cortex_schema WHERE one = 2",
    ...(oldest === to
      ? []
      : [`INSERT INTO cortex_schema (one, version, partitions) VALUES (2, ${oldest}, 0)`]),
  ];
}

/** Everything from nothing to version 1. */
function makeTables(partitions: number): readonly string[] {
  const parts = Array.from(
    { length: partitions },
    (_, at) =>
      `CREATE TABLE cortex_rows_${at} PARTITION OF cortex_rows FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${at})`,
  );
  return [
    `CREATE TABLE cortex_heads (
      actor text COLLATE "C" NOT NULL,
      slot int NOT NULL,
      generation int NOT NULL,
      head bytea,
      stamp bytea,
      fence bigint NOT NULL DEFAULT 0,
      held_by bytea,
      held_until timestamptz,
      retired boolean NOT NULL DEFAULT false,
      touched_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (actor, slot)
    ) WITH (fillfactor = 50)`,
    `CREATE TABLE cortex_rows (
      actor text COLLATE "C" NOT NULL,
      generation int NOT NULL,
      key bytea NOT NULL,
      value bytea NOT NULL,
      PRIMARY KEY (actor, generation, key)
    ) PARTITION BY HASH (actor)`,
    ...parts,
    `UPDATE cortex_schema SET partitions = ${partitions} WHERE one = 1`,
  ];
}

/** All steps, from nothing to what the statements of this release expect. */
export const STEPS: readonly TableStep[] = [{ to: 1, oldest: 1, statements: makeTables }];
