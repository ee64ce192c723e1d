/**
 * The statement of a commit: which rows are new, and the text that follows from what it has to do.
 *
 * Promise: a commit is one statement, and so sees one state and takes effect whole or not at all. All other statements
 * are in `postgres-tables.ts`.
 */
import type { Bytes, KvCommit, KvRow } from "./kv.js";
import { nameOf } from "./postgres-snapshot.js";
import {
  type Claim,
  HERE,
  NOT_HELD,
  type PutRows,
  type SqlValue,
  type Statement,
} from "./postgres-tables.js";

const HAD = "EXISTS (SELECT 1 FROM claimed)";

/** What a commit changes: the head, rows that must not be there, rows that go, that are new, and that may be either. */
interface RowChanges {
  readonly expectHead: Uint8Array | undefined;
  readonly head: Uint8Array;
  readonly absent: readonly Uint8Array[];
  readonly deletes: readonly Uint8Array[];
  readonly fresh: PutRows;
  readonly rest: PutRows;
}

/**
 * A whole commit: takes the head row if it is still the one expected and no row of `absent` is there, writes the
 * next and changes rows; gives a row where it was had. All of it sees one state. That is enough: whoever changes
 * one of those rows moves the head as well, so a state in which the head is the expected one has them all.
 */
export function commitRows(claim: Claim, changes: RowChanges): Statement {
  const { expectHead, head, absent, deletes, fresh, rest } = changes;
  const { actor, slot, generation, fence, stamp, after } = claim;
  const shape = {
    isBirth: expectHead === undefined,
    hasAfter: expectHead !== undefined && after !== undefined,
    hasAbsent: expectHead !== undefined && absent.length > 0,
    hasDeletes: deletes.length > 0,
    hasFresh: fresh.length > 0,
    hasRest: rest.length > 0,
  };
  const values: SqlValue[] = [actor, slot, generation, fence, stamp, head];
  if (expectHead !== undefined) values.push(expectHead);
  if (shape.hasAfter) values.push(after ?? null);
  if (shape.hasAbsent) values.push(absent);
  if (shape.hasDeletes) values.push(deletes);
  if (shape.hasFresh) values.push(...columnsOf(fresh));
  if (shape.hasRest) values.push(...columnsOf(rest));
  return { text: COMMITS[placeOf(shape)] ?? "", values, columns: ["int"] };
}

/** What a commit has to do: the text of its statement follows from that. */
interface CommitShape {
  readonly isBirth: boolean;
  readonly hasAfter: boolean;
  readonly hasAbsent: boolean;
  readonly hasDeletes: boolean;
  readonly hasFresh: boolean;
  readonly hasRest: boolean;
}

function placeOf(shape: CommitShape): number {
  return (
    (shape.isBirth ? 1 : 0) |
    (shape.hasAbsent ? 2 : 0) |
    (shape.hasDeletes ? 4 : 0) |
    (shape.hasFresh ? 8 : 0) |
    (shape.hasRest ? 16 : 0) |
    (shape.hasAfter ? 32 : 0)
  );
}

/** Takes the head row of a store not yet born, which has no rows. */
const BEGIN_HEAD = `INSERT INTO cortex_heads AS h (actor, slot, generation, fence, stamp, head)
  VALUES ($1::text, $2::int, $3::int, $4::bigint, $5::bytea, $6::bytea)
  ON CONFLICT (actor, slot) DO UPDATE
  SET generation = excluded.generation, stamp = excluded.stamp, head = excluded.head, touched_at = now()
  WHERE h.head IS NULL AND h.fence = excluded.fence
    AND (h.held_until IS NULL OR h.held_until < statement_timestamp())
  RETURNING generation`;

/** Every text that a commit may have, by its place: made once, because the name of a statement is found by its text. */
const COMMITS: readonly string[] = Array.from({ length: 64 }, (_, place) =>
  commitText({
    isBirth: (place & 1) > 0,
    hasAbsent: (place & 2) > 0,
    hasDeletes: (place & 4) > 0,
    hasFresh: (place & 8) > 0,
    hasRest: (place & 16) > 0,
    hasAfter: (place & 32) > 0,
  }),
);

function commitText(shape: CommitShape): string {
  let last = 6;
  const next = (): string => {
    last += 1;
    return `$${last}`;
  };
  const steps = [`claimed AS (${shape.isBirth ? BEGIN_HEAD : takeHead(shape, next)})`];
  if (shape.hasDeletes) {
    steps.push(`gone AS (DELETE FROM cortex_rows WHERE actor = $1::text AND generation = $3::int
      AND key = ANY (${next()}::bytea[]) AND ${HAD})`);
  }
  if (shape.hasFresh) steps.push(`added AS (${insertRows(next)})`);
  if (shape.hasRest) {
    steps.push(`put AS (${insertRows(next)}
      ON CONFLICT (actor, generation, key) DO UPDATE SET value = excluded.value)`);
  }
  return `WITH ${steps.join(", ")} SELECT generation FROM claimed`;
}

function takeHead({ hasAbsent, hasAfter }: CommitShape, next: () => string): string {
  const expected = next();
  const behind = hasAfter ? ` AND stamp = ${next()}::bytea` : "";
  const unless = hasAbsent
    ? ` AND NOT EXISTS (SELECT 1 FROM unnest(${next()}::bytea[]) AS k(key)
        CROSS JOIN LATERAL (SELECT 1 FROM cortex_rows AS r
          WHERE r.actor = $1::text AND r.generation = $3::int AND r.key = k.key OFFSET 0) AS found)`
    : "";
  return `UPDATE cortex_heads
    SET stamp = $5::bytea, head = $6::bytea, held_by = NULL, held_until = NULL, touched_at = now()
    WHERE ${HERE} AND generation = $3::int AND fence = $4::bigint
      AND head = ${expected}::bytea AND ${NOT_HELD}${behind}${unless}
    RETURNING generation`;
}

function insertRows(next: () => string): string {
  return `INSERT INTO cortex_rows (actor, generation, key, value)
    SELECT $1::text, $3::int, p.key, p.value FROM unnest(${next()}::bytea[], ${next()}::bytea[]) AS p(key, value)
    WHERE ${HAD}`;
}

/** Keys and values of rows, as two lists. */
function columnsOf(rows: PutRows): readonly [readonly Uint8Array[], readonly Uint8Array[]] {
  return [rows.map(({ key }) => key), rows.map(({ value }) => value)];
}

/** Below so many rows that are likely new, sorting them out is not worth a statement. */
const MANY_NEW = 64;

/** What a commit changes, new rows apart from others: adding a row is half the work of replacing one that may be there. */
export function rowChanges(change: KvCommit): RowChanges {
  const { expectHead, head, deletes, puts, isNew, absent = [] } = change;
  if (isNew === undefined || puts.length < MANY_NEW) {
    return { expectHead, head, absent, deletes, fresh: [], rest: puts };
  }
  const fresh: KvRow[] = [];
  const rest: KvRow[] = [];
  for (const row of puts) (isNew(row.key) ? fresh : rest).push(row);
  return { expectHead, head, absent: notAmong(fresh, absent), deletes, fresh, rest };
}

/** Keys that no row of a list has. A row that is added and is there fails the commit by itself: nobody need look first. */
function notAmong(rows: readonly KvRow[], keys: readonly Bytes[]): readonly Bytes[] {
  if (keys.length === 0) return keys;
  const names = new Set(rows.map(({ key }) => nameOf(key)));
  return keys.filter((key) => !names.has(nameOf(key)));
}
