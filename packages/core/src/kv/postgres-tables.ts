/**
 * Every statement of the Postgres backend about the tables that `postgres-schema.ts` makes.
 *
 * Promises: plain SQL of PostgreSQL's dialect, without extensions, advisory locks, functions or
 * triggers of our own, so that engines that speak the protocol can run it; nothing but these two files and
 * `postgres-commits.ts`, which has the statement of a commit, knows a table's name. Every statement names its actor, so that an engine which spreads actors over
 * machines sends it to one of them.
 *
 * One table holds the rows of all actors, keyed by actor, generation and key. One head row per actor
 * says which generation is the store and holds the bytes that a commit compares; a store under
 * construction has a head row of its own in another slot. Whoever changes anything takes the head row
 * first: `stamp` names the change that has it, and the statements behind it do nothing unless the
 * stamp is theirs. `fence` is raised by whoever lost a connection and asks what became of its change;
 * a change that is still on its way then comes too late for good.
 */

/** A value that a statement is given; lists become arrays. */
export type SqlValue =
  | string
  | number
  | Uint8Array
  | null
  | readonly (Uint8Array | undefined)[]
  | readonly number[]
  | readonly boolean[]
  | readonly string[];

/** How a column of an answer is read. */
export type Column = "int" | "bytes" | "bool" | "text";

/** One statement of a message. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly SqlValue[];
  /** What the columns of its answer are; none for one that gives no rows. */
  readonly columns?: readonly Column[];
}

/** Starts a transaction that sees one state. */
export const BEGIN_READ: Statement = { text: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" };
/** Starts a transaction that changes something: each statement sees what was committed before it. */
export const BEGIN_WRITE: Statement = { text: "BEGIN ISOLATION LEVEL READ COMMITTED" };
/**
 * What a connection is told once. A statement that is a transaction by itself is one that writes, as above; and those
 * that have names are the same each time: planned once, and never by what a server that has not counted its rows
 * for a while believes of them.
 */
export const CONNECTION_SETTINGS = `SET default_transaction_isolation = 'read committed';
  SET plan_cache_mode = force_generic_plan`;
/** Who serves a connection, as the server counts its processes. */
export const BACKEND = "SELECT pg_backend_pid() AS pid";
/** Ends a transaction. */
export const COMMIT: Statement = { text: "COMMIT" };
/** Ends a transaction that came to nothing. */
export const ROLLBACK: Statement = { text: "ROLLBACK" };

/** A setting for the rest of the transaction, for connections on which none can be made at the start. */
export function setLocal(name: string, value: string): Statement {
  return {
    text: "SELECT set_config($1::text, $2::text, true)",
    values: [name, value],
    columns: ["text"],
  };
}

/** Which head row is meant: an actor's store (slot 0), or one of its constructions. */
export interface Place {
  readonly actor: string;
  readonly slot: number;
}

/** The head row that is meant, by the first two values. */
export const HERE = "actor = $1::text AND slot = $2::int";
/** That nobody makes writers wait. */
export const NOT_HELD = "(held_until IS NULL OR held_until < statement_timestamp())";

/** A subquery with an offset is never turned into a join, whatever the statistics say. */
const VALUES_OF_KEYS = `FROM unnest($3::bytea[]) WITH ORDINALITY AS k(key, at)
  CROSS JOIN LATERAL (SELECT value FROM cortex_rows
    WHERE actor = $1::text AND generation = $2::int AND key = k.key OFFSET 0) AS r`;
/** Texts of statements that are sent all the time are made once: their names are found by them. */
const READ_KEYS = `SELECT k.at::int, r.value ${VALUES_OF_KEYS}`;
const READ_FIRST = `SELECT 0, head, generation, stamp FROM cortex_heads
  WHERE actor = $1::text AND slot = $4::int AND NOT retired
  UNION ALL SELECT k.at::int, r.value, NULL, NULL ${VALUES_OF_KEYS}`;

/** The values of keys: place in the list, from 1 on, and value; only of those that are there. */
export function readKeys(
  actor: string,
  generation: number,
  keys: readonly Uint8Array[],
): Statement {
  return { text: READ_KEYS, values: [actor, generation, keys], columns: ["int", "bytes"] };
}

/**
 * The same, and under 0 the head row of a place: its bytes, generation, and the stamp of the last change, whatever it
 * changed. One statement sees one state, in a transaction or by itself.
 */
export function readFirst(
  { actor, slot }: Place,
  generation: number,
  keys: readonly Uint8Array[],
): Statement {
  return {
    text: READ_FIRST,
    values: [actor, generation, keys, slot],
    columns: ["int", "bytes", "int", "bytes"],
  };
}

/** One of several ranges that are read in one direction. */
export interface RangeAsk {
  readonly at: number;
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
  readonly limit: number;
  readonly keysOnly: boolean;
}

/** The rows of ranges: place in the list, key, value. */
export function readRanges(
  actor: string,
  generation: number,
  asks: readonly RangeAsk[],
  direction: "ASC" | "DESC",
): Statement {
  return {
    text: `SELECT q.at, r.key, r.value
      FROM unnest($3::int[], $4::bytea[], $5::bytea[], $6::int[], $7::bool[]) AS q(at, gte, lt, most, bare)
      CROSS JOIN LATERAL (SELECT key, CASE WHEN q.bare THEN ''::bytea ELSE value END AS value
        FROM cortex_rows WHERE actor = $1::text AND generation = $2::int AND key >= q.gte AND key < q.lt
        ORDER BY key ${direction} LIMIT q.most) AS r`,
    values: [
      actor,
      generation,
      asks.map(({ at }) => at),
      asks.map(({ gte }) => gte),
      asks.map(({ lt }) => lt),
      asks.map(({ limit }) => limit),
      asks.map(({ keysOnly }) => keysOnly),
    ],
    columns: ["int", "bytes", "bytes"],
  };
}

/** A change that is about to be made: where, on top of what, under which stamp. */
export interface Claim extends Place {
  readonly generation: number;
  readonly fence: number;
  readonly stamp: Uint8Array;
  /** The stamp that the head row has to bear until then; without it, whichever it bears. */
  readonly after?: Uint8Array;
}

/** Takes the head row: on top of one head, or as it is for a change of caches. */
export function claimHead(claim: Claim, expectHead?: Uint8Array): Statement {
  const { actor, slot, generation, fence, stamp, after } = claim;
  const values: SqlValue[] = [actor, slot, generation, fence, stamp];
  const isThere =
    expectHead === undefined ? "head IS NOT NULL" : `head = $${values.push(expectHead)}::bytea`;
  const behind = after === undefined ? "" : ` AND stamp = $${values.push(after)}::bytea`;
  return {
    text: `UPDATE cortex_heads SET stamp = $5::bytea, held_by = NULL, held_until = NULL, touched_at = now()
      WHERE ${HERE} AND generation = $3::int AND fence = $4::bigint AND ${isThere} AND ${NOT_HELD}${behind}`,
    values,
  };
}

/** Moves the head to the next, if the claim holds; gives a row where it does. */
export function moveHead(claim: Claim, head: Uint8Array): Statement {
  const { actor, slot, generation, stamp } = claim;
  return {
    text: `UPDATE cortex_heads SET head = $5::bytea
      WHERE ${HERE} AND generation = $3::int AND stamp = $4::bytea RETURNING generation`,
    values: [actor, slot, generation, stamp, head],
    columns: ["int"],
  };
}

/** Gives the claim up where a row is not as it was read; sees what was committed before the claim. */
export function unclaimUnless(
  claim: Claim,
  keys: readonly Uint8Array[],
  values: readonly (Uint8Array | undefined)[],
): Statement {
  const { actor, slot, generation, stamp } = claim;
  return {
    text: `UPDATE cortex_heads SET stamp = stamp || '\\x00'::bytea WHERE ${HERE} AND stamp = $4::bytea AND EXISTS (
      SELECT 1 FROM unnest($5::bytea[], $6::bytea[]) AS e(key, value)
      LEFT JOIN LATERAL (SELECT value FROM cortex_rows
        WHERE actor = $1::text AND generation = $3::int AND key = e.key OFFSET 0) AS r ON true
      WHERE r.value IS DISTINCT FROM e.value)`,
    values: [actor, slot, generation, stamp, keys, values],
  };
}

const CLAIMED = `EXISTS (SELECT 1 FROM cortex_heads AS h
  WHERE h.actor = $1::text AND h.slot = $2::int AND h.stamp = $4::bytea)`;

const ADD_ROWS = `INSERT INTO cortex_rows (actor, generation, key, value)
  SELECT $1::text, $3::int, p.key, p.value FROM unnest($5::bytea[], $6::bytea[]) AS p(key, value)
  WHERE ${CLAIMED}`;

/** Puts rows, if the claim holds. */
export function putRows(claim: Claim, rows: PutRows): Statement {
  const { values, text } = addRows(claim, rows);
  return {
    text: `${text} ON CONFLICT (actor, generation, key) DO UPDATE SET value = excluded.value`,
    values,
  };
}

/** Adds rows, if the claim holds; fails where one of them is there. */
export function addRows(claim: Claim, rows: PutRows): Required<Pick<Statement, "text" | "values">> {
  const { actor, slot, generation, stamp } = claim;
  const values = [actor, slot, generation, stamp, rows.map(rowKey), rows.map(rowValue)];
  return { text: ADD_ROWS, values };
}

const rowKey = ({ key }: PutRows[number]): Uint8Array => key;
const rowValue = ({ value }: PutRows[number]): Uint8Array => value;

/** Rows that are put. */
export type PutRows = readonly { readonly key: Uint8Array; readonly value: Uint8Array }[];

/** Deletes rows, if the claim holds. */
export function deleteRows(claim: Claim, keys: readonly Uint8Array[]): Statement {
  return {
    text: `DELETE FROM cortex_rows WHERE actor = $1::text AND generation = $3::int
      AND key = ANY ($5::bytea[]) AND ${CLAIMED}`,
    values: [claim.actor, claim.slot, claim.generation, claim.stamp, keys],
  };
}

/** What became of a claim: generation, fence, head, whether it was had, whether others hold the store; and whose stamp is there. */
export function readClaim(place: Place, stamp: Uint8Array): Statement {
  return {
    text: `SELECT generation, fence, head, coalesce(stamp = $3::bytea, false), NOT ${NOT_HELD}, stamp
      FROM cortex_heads WHERE ${HERE}`,
    values: [place.actor, place.slot, stamp],
    columns: ["int", "int", "bytes", "bool", "bool", "bytes"],
  };
}

/**
 * Waits for a change that may be under way, and shuts out one that has not arrived. A change that begins a store is
 * shut out by a row as well; any other comes to nothing where there is none, and none may be left in its place.
 */
export function raiseFence(place: Place, generation: number, mayBegin: boolean): Statement {
  if (!mayBegin) {
    return {
      text: `UPDATE cortex_heads SET fence = fence + 1 WHERE ${HERE}`,
      values: [place.actor, place.slot],
    };
  }
  return {
    text: `INSERT INTO cortex_heads AS h (actor, slot, generation, fence)
      VALUES ($1::text, $2::int, $3::int, 1)
      ON CONFLICT (actor, slot) DO UPDATE SET fence = h.fence + 1`,
    values: [place.actor, place.slot, generation],
  };
}

/** The head row of a new construction; nothing where the number is taken. */
export function startConstruction(actor: string, generation: number): Statement {
  return {
    text: `INSERT INTO cortex_heads (actor, slot, generation) VALUES ($1::text, $2::int, $2::int)
      ON CONFLICT (actor, slot) DO NOTHING`,
    values: [actor, generation],
  };
}

/**
 * Makes the construction `next` the store, if the head is still the one expected, nobody else holds it, and the
 * construction is the one that its builder left: `built` is the stamp of the last change of it.
 */
export function promoteHead(
  claim: Claim,
  next: number,
  expectHead: Uint8Array | undefined,
  {
    holder,
    built,
  }: { readonly holder?: Uint8Array | undefined; readonly built?: Uint8Array | undefined },
): Statement {
  const { actor, slot, generation, fence, stamp } = claim;
  const place =
    "b.actor = $1::text AND b.slot = $6::int AND b.stamp IS NOT DISTINCT FROM $8::bytea";
  const head = `(SELECT b.head FROM cortex_heads AS b WHERE ${place})`;
  const isWhole = `EXISTS (SELECT 1 FROM cortex_heads AS b WHERE ${place})`;
  const named = [holder ?? null, built ?? null];
  const values: SqlValue[] = [actor, slot, generation, fence, stamp, next, ...named];
  const mayMove =
    "CASE WHEN $7::bytea IS NULL THEN (h.held_until IS NULL OR h.held_until < statement_timestamp()) ELSE coalesce(h.held_by = $7::bytea, false) END";
  if (expectHead === undefined) {
    return {
      text: `INSERT INTO cortex_heads AS h (actor, slot, generation, fence, stamp, head)
        SELECT $1::text, $2::int, $6::int, $4::bigint, $5::bytea, ${head} WHERE ${isWhole}
        ON CONFLICT (actor, slot) DO UPDATE
        SET generation = excluded.generation, stamp = excluded.stamp, head = excluded.head,
          held_by = NULL, held_until = NULL
        WHERE h.head IS NULL AND h.fence = excluded.fence AND $3::int IS NOT NULL AND ${mayMove}`,
      values,
    };
  }
  return {
    text: `UPDATE cortex_heads AS h SET generation = $6::int, stamp = $5::bytea, head = ${head},
        held_by = NULL, held_until = NULL, touched_at = now()
      WHERE h.actor = $1::text AND h.slot = $2::int AND h.generation = $3::int AND h.fence = $4::bigint
        AND h.head = $9::bytea AND ${mayMove} AND ${isWhole}`,
    values: [...values, expectHead],
  };
}

/** What a promotion leaves: no construction any more, and a generation whose rows may go. */
export function retireOld(claim: Claim, next: number): readonly Statement[] {
  const values = [claim.actor, claim.slot, claim.generation, claim.stamp, next];
  return [
    {
      text: `DELETE FROM cortex_heads WHERE actor = $1::text AND slot = $5::int AND $3::int IS NOT NULL AND ${CLAIMED}`,
      values,
    },
    {
      text: `INSERT INTO cortex_heads (actor, slot, generation, retired)
        SELECT $1::text, $3::int, $3::int, true WHERE $5::int IS NOT NULL AND ${CLAIMED}
        ON CONFLICT (actor, slot) DO UPDATE SET retired = true`,
      values,
    },
  ];
}

/** Makes writers wait, or makes them wait longer. */
export function holdHead(place: Place, holder: Uint8Array, ms: number): Statement {
  return {
    text: `UPDATE cortex_heads
      SET held_by = $3::bytea, held_until = statement_timestamp() + $4::int * interval '1 millisecond'
      WHERE ${HERE} AND (held_by = $3::bytea OR ${NOT_HELD})`,
    values: [place.actor, place.slot, holder, ms],
  };
}

/** Whether a holder has the store: true, false, or no row where there is no store. */
export function readHold(place: Place, holder: Uint8Array): Statement {
  return {
    text: `SELECT coalesce(held_by = $3::bytea, false) FROM cortex_heads WHERE ${HERE}`,
    values: [place.actor, place.slot, holder],
    columns: ["bool"],
  };
}

/** Ends a hold. */
export function endHold(place: Place, holder: Uint8Array): Statement {
  return {
    text: `UPDATE cortex_heads SET held_by = NULL, held_until = NULL WHERE ${HERE} AND held_by = $3::bytea`,
    values: [place.actor, place.slot, holder],
  };
}

/** Marks a construction as given up, so that its rows may go. */
export function retireConstruction(actor: string, generation: number): Statement {
  return {
    text: "UPDATE cortex_heads SET retired = true WHERE actor = $1::text AND slot = $2::int AND slot <> 0",
    values: [actor, generation],
  };
}

/** Generations of an actor whose rows may go: retired, or constructions nobody touched for long. */
export function findRetired(actor: string, idleMs: number): Statement {
  return {
    text: `SELECT slot FROM cortex_heads WHERE actor = $1::text AND slot <> 0
      AND (retired OR touched_at < statement_timestamp() - $2::bigint * interval '1 millisecond')`,
    values: [actor, idleMs],
    columns: ["int"],
  };
}

/** The last of the next rows of a generation: its key; no row where fewer than so many are left. */
export function findPage(
  actor: string,
  generation: number,
  from: Uint8Array,
  rows: number,
): Statement {
  return {
    text: `SELECT key FROM cortex_rows WHERE actor = $1::text AND generation = $2::int AND key >= $3::bytea
      ORDER BY key OFFSET $4::int LIMIT 1`,
    values: [actor, generation, from, rows - 1],
    columns: ["bytes"],
  };
}

/**
 * Deletes the rows of a generation from one key to another, or all from there on. Both ends are given as
 * values: asked to find them itself, the server may compare every row of its table with every one to go.
 */
export function deletePage(
  actor: string,
  generation: number,
  from: Uint8Array,
  to: Uint8Array | undefined,
): Statement {
  return {
    text: `DELETE FROM cortex_rows WHERE actor = $1::text AND generation = $2::int AND key >= $3::bytea${
      to === undefined ? "" : " AND key <= $4::bytea"
    }`,
    values: [actor, generation, from, ...(to === undefined ? [] : [to])],
  };
}

/** The construction that was touched last and has something: its number and its head. */
export function findLeft(actor: string): Statement {
  return {
    text: `SELECT slot, head FROM cortex_heads WHERE actor = $1::text AND slot <> 0
      AND NOT retired AND head IS NOT NULL ORDER BY touched_at DESC LIMIT 1`,
    values: [actor],
    columns: ["int", "bytes"],
  };
}

/** Copies rows of one generation to another: from one key to another, or all from there on. */
export function copyPage(
  actor: string,
  [from, to]: readonly [number, number],
  first: Uint8Array,
  last: Uint8Array | undefined,
): Statement {
  return {
    text: `INSERT INTO cortex_rows (actor, generation, key, value)
      SELECT actor, $3::int, key, value FROM cortex_rows
      WHERE actor = $1::text AND generation = $2::int AND key >= $4::bytea${
        last === undefined ? "" : " AND key <= $5::bytea"
      }`,
    values: [actor, from, to, first, ...(last === undefined ? [] : [last])],
  };
}

/** Gives a construction the head of another one, if that one still has it; gives a row where it does. */
export function takeLeft(
  actor: string,
  [from, to]: readonly [number, number],
  head: Uint8Array,
): Statement {
  return {
    text: `UPDATE cortex_heads SET head = $4::bytea WHERE actor = $1::text AND slot = $3::int
      AND EXISTS (SELECT 1 FROM cortex_heads AS b WHERE b.actor = $1::text AND b.slot = $2::int
        AND NOT b.retired AND b.head = $4::bytea) RETURNING generation`,
    values: [actor, from, to, head],
    columns: ["int"],
  };
}

/** Removes the head row of a generation that has no rows any more. */
export function forgetGeneration(actor: string, generation: number): Statement {
  return {
    text: "DELETE FROM cortex_heads WHERE actor = $1::text AND slot = $2::int AND slot <> 0",
    values: [actor, generation],
  };
}

/** About how many bytes an actor's rows take, index included. */
export function readSize(actor: string): Statement {
  return {
    text: `SELECT coalesce(sum(2 * (octet_length(key) + octet_length(actor)) + octet_length(value) + 64), 0)
      FROM cortex_rows WHERE actor = $1::text`,
    values: [actor],
    columns: ["int"],
  };
}

/** The stores between two names: actor, generation, head; only those of `actors` where given. */
export function readHeads(from: string, to: string, actors?: readonly string[]): Statement {
  const among = actors === undefined ? "" : " AND actor = ANY ($3::text[])";
  return {
    text: `SELECT actor, generation, head FROM cortex_heads
      WHERE actor >= $1::text AND actor < $2::text AND slot = 0 AND head IS NOT NULL${among}`,
    values: [from, to, ...(actors === undefined ? [] : [actors])],
    columns: ["text", "int", "bytes"],
  };
}

/**
 * How many of this database wait for a lock now, and how far the last standby is behind, in seconds. Who waits for a row
 * waits for a transaction, which is no database's: the connection says whose.
 */
export const READ_STATE: Statement = {
  text: `SELECT (SELECT count(*) FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid
      WHERE NOT l.granted AND a.datname = current_database()),
    (SELECT max(extract(epoch FROM replay_lag)) FROM pg_stat_replication)`,
  columns: ["int", "text"],
};

/** Removes all that an actor has, constructions included. */
export function removeActor(actor: string): readonly Statement[] {
  const values = [actor];
  return [
    // First the head row, which makes writers wait and then find nothing.
    { text: "DELETE FROM cortex_heads WHERE actor = $1::text", values },
    { text: "DELETE FROM cortex_rows WHERE actor = $1::text", values },
  ];
}
