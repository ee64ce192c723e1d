/**
 * What a construction that was broken off has left in the database: its process was killed, say. It is copied on the
 * server into a construction of one's own, piece by piece; and what nobody wants any more is deleted so.
 *
 * Promises: the copy is the construction as it stood after one of its commits. Whoever began it and lives on all the same
 * is not disturbed: where it has changed meanwhile, nothing is taken over. The rows that it left go when the copy has become the
 * store, or by the usual sweep.
 */
import type { PostgresPool } from "./postgres-session.js";
import * as sql from "./postgres-tables.js";

/** A construction that nobody touched for so long is nobody's. */
const CONSTRUCTION_IDLE_MS = 6 * 3_600_000;
/** Rows of a retired generation deleted at a time. */
const RETIRED_ROWS = 5000;
/** Rows copied at a time: a fraction of a second each. */
const COPIED_ROWS = 10_000;

/** A construction that was left. */
interface Left {
  readonly generation: number;
  readonly head: Uint8Array;
}

/** The construction of an actor that was touched last; `undefined` where none has anything. */
export async function findLeft(pool: PostgresPool, actor: string): Promise<Left | undefined> {
  const [found] = await pool.insist([sql.findLeft(actor)]);
  const [generation, head] = found?.[0] ?? [];
  return typeof generation === "number" && head instanceof Uint8Array
    ? { generation, head }
    : undefined;
}

/** Copies it into a construction that is empty yet; false where it has changed meanwhile. */
export async function copyLeft(
  pool: PostgresPool,
  actor: string,
  left: Left,
  next: number,
): Promise<boolean> {
  let from: Uint8Array | undefined = new Uint8Array(0);
  while (from !== undefined) {
    const read = sql.findPage(actor, left.generation, from, COPIED_ROWS);
    const [page] = await pool.insist([read]);
    const last = page?.[0]?.[0];
    const to: Uint8Array | undefined = last instanceof Uint8Array ? last : undefined;
    await pool.transact([sql.copyPage(actor, [left.generation, next], from, to)]);
    from = to === undefined ? undefined : Uint8Array.of(...to, 0);
  }
  const [taken] = await pool.transact([sql.takeLeft(actor, [left.generation, next], left.head)]);
  return taken?.length === 1;
}

/** Deletes what promotions and dead constructions left, a piece at a time. */
export async function removeRetired(pool: PostgresPool, actor: string): Promise<void> {
  const [found = []] = await pool.insist([sql.findRetired(actor, CONSTRUCTION_IDLE_MS)]);
  for (const [slot] of found) {
    const generation = Number(slot);
    let from: Uint8Array | undefined = new Uint8Array(0);
    while (from !== undefined) {
      const read = sql.findPage(actor, generation, from, RETIRED_ROWS);
      const [page] = await pool.insist([read]);
      const to = page?.[0]?.[0] as Uint8Array | undefined;
      await pool.insist([sql.deletePage(actor, generation, from, to)]);
      from = to;
    }
    await pool.insist([sql.forgetGeneration(actor, generation)]);
  }
}
