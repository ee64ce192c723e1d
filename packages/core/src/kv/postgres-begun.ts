/**
 * A commit that begins before all of its rows are known: the server adds the first rows of a large batch while
 * the process computes the others.
 *
 * Promises: it is one transaction, which takes the head row first, as every change does: one that does not get
 * the head row adds nothing. Only the last message commits, and it goes when all is known. Rows are added, never
 * replaced: where a row is there already, the transaction fails, and the commit is made in the usual way. Until
 * the last message nothing can have taken effect, so it may be given up at any time. A process that stands still
 * in the middle, and so keeps others waiting for the head row, loses the transaction after seconds.
 *
 * Statements are in `postgres-tables.ts`; what became of the last message when its connection broke is learned in
 * `postgres-backend.ts`, as of any commit.
 */
import type { Bytes, KvBegun, KvCommit, KvRow } from "./kv.js";
import type { PostgresPool, Session } from "./postgres-session.js";
import { nameOf } from "./postgres-snapshot.js";
import * as sql from "./postgres-tables.js";
import { type Answer, codeOf, postgresError } from "./postgres-wire.js";

/** How long the server waits for the next message before it ends the transaction; reckoning takes a tenth of a second. */
const STILL_MS = 5000;

/** What a commit brings beside the rows that were handed over. */
interface Rest extends Pick<KvCommit, "head" | "deletes"> {
  readonly fresh: readonly KvRow[];
  readonly rest: readonly KvRow[];
}

/** See the file header. */
export class BegunCommit implements KvBegun {
  readonly claim: sql.Claim;
  readonly #pool: PostgresPool;
  readonly #session: Session;
  readonly #rows: KvRow[] = [];
  readonly #answers: Promise<Answer[]>[] = [];
  #isOpen = true;

  private constructor(pool: PostgresPool, session: Session, claim: sql.Claim) {
    this.#pool = pool;
    this.#session = session;
    this.claim = claim;
  }

  /** Takes the head row, if it is the one expected; the answer to the last message says whether it was. */
  static async begin(
    pool: PostgresPool,
    claim: sql.Claim,
    expectHead: Bytes,
    settings: readonly sql.Statement[],
  ): Promise<BegunCommit> {
    const begun = new BegunCommit(pool, await pool.acquire(), claim);
    const still = sql.setLocal("idle_in_transaction_session_timeout", `${STILL_MS}`);
    const opening = pool.opening(sql.BEGIN_WRITE, [still, ...settings]);
    begun.#send([...opening, sql.claimHead(claim, expectHead)]);
    return begun;
  }

  add(rows: readonly KvRow[]): void {
    if (!this.#isOpen || rows.length === 0) return;
    for (const row of rows) this.#rows.push(row);
    this.#send([sql.addRows(this.claim, rows)]);
  }

  /** What a commit brings beside; `undefined` where it does not put all that was handed over, or wants other rows to be absent. */
  restOf({ head, deletes, puts, absent = [], isNew = () => false }: KvCommit): Rest | undefined {
    const fresh: KvRow[] = [];
    const rest: KvRow[] = [];
    const added = new Set(this.#rows);
    for (const row of puts) {
      if (!added.delete(row)) (isNew(row.key) ? fresh : rest).push(row);
    }
    if (added.size > 0 || !this.#adds(absent)) return undefined;
    return { head, deletes, fresh, rest };
  }

  /** Whether all of these rows were handed over: adding them says that they were not there. */
  #adds(keys: readonly Bytes[]): boolean {
    if (keys.length === 0) return true;
    const kinds = new Set(keys.map(([first]) => first));
    const names = new Set<string>();
    for (const { key } of this.#rows) if (kinds.has(key[0])) names.add(nameOf(key));
    return keys.every((key) => names.has(nameOf(key)));
  }

  /**
   * Commits: a row where the head row was had, none where it was not. `undefined` where the server ended the transaction
   * before, because this process stood still.
   */
  async finish({ head, deletes, fresh, rest }: Rest): Promise<Answer | undefined> {
    const { claim } = this;
    this.#isOpen = false;
    try {
      this.#send([
        sql.moveHead(claim, head),
        ...(deletes.length === 0 ? [] : [sql.deleteRows(claim, deletes)]),
        ...(fresh.length === 0 ? [] : [sql.addRows(claim, fresh)]),
        ...(rest.length === 0 ? [] : [sql.putRows(claim, rest)]),
        sql.COMMIT,
      ]);
      // The first that failed says why; those behind it only that it did.
      const answers = await Promise.all(this.#answers);
      return answers.at(-1)?.[0];
    } catch (error) {
      if (codeOf(error) === STOOD_STILL) return undefined;
      throw postgresError(error, this.#pool.address);
    } finally {
      await this.#leave();
    }
  }

  async end(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#send([sql.ROLLBACK]);
    await this.#leave();
  }

  #send(statements: readonly sql.Statement[]): void {
    const answer = this.#session.run(statements);
    // Whoever waits for all of them gets this failure.
    answer.catch(() => {});
    this.#answers.push(answer);
  }

  async #leave(): Promise<void> {
    await Promise.allSettled(this.#answers);
    this.#session.release();
  }
}

/** That a transaction was ended because nothing came for too long. */
const STOOD_STILL = "25P03";
