/**
 * Connections to a Postgres server: one pool for each address and process, however many stores are
 * open on it, and messages of many statements in one round trip.
 *
 * Promises: the tables are there and of a version that we may use before anybody gets a connection, and each new
 * connection looks again; every connection has its timeouts, set at the start or, behind a pooler that allows no
 * settings there, in every transaction. A statement is sent by name only to a server whose connection we hold
 * ourselves: a pooler, which may hand us one that does not know it, is found out at the start. A failure is a
 * `CortexError` that says what to do. `isPassing` says whether a failure may pass by itself; trying again is
 * left to `postgres-backend.ts`.
 *
 * The package `pg` is loaded when the first store is opened, never before.
 */
import type { Pool, PoolClient, PoolConfig } from "pg";
import { checkCertificates, type PostgresAddress } from "./postgres-address.js";
import { loadPg } from "./postgres-driver.js";
import { NumberTable } from "./postgres-numbers.js";
import { Patience } from "./postgres-patience.js";
import { Seats } from "./postgres-seats.js";
import {
  BACKEND,
  BEGIN_WRITE,
  COMMIT,
  CONNECTION_SETTINGS,
  type Statement,
  setLocal,
} from "./postgres-tables.js";
import { prepareTables, requireUsable } from "./postgres-versions.js";
import {
  type Answer,
  isLostName,
  isPassing,
  isUnsupportedSetting,
  Message,
  postgresError,
} from "./postgres-wire.js";

/** Milliseconds a server may take: for a connection, a statement, between two statements. */
const TIMEOUTS = { connect: 10_000, statement: 60_000, idle: 60_000 } as const;
/** How long a connection is used before it makes room for a new one, which looks at the version of the tables. */
const LIFETIME_SECONDS = 300;
/** How much longer than the server this side waits before it gives a connection up. */
const SILENCE_MS = TIMEOUTS.statement + 15_000;
/** How long a transaction that only read stays open where no further message comes to end it. */
const END_AFTER_MS = 5;
/** How long connections stay when nobody has a store open; they do not keep the process alive. */
const LINGER_MS = 2000;

/** A connection for one snapshot or one commit. */
export interface Session {
  /**
   * Sends the statements in one message and gives the answer of each. A message goes at once, also behind one whose answer
   * has not come yet; whoever has sent several gives the session back when all of them are answered.
   */
  run(statements: readonly Statement[]): Promise<Answer[]>;
  /** Gives the connection back; one that failed is thrown away. */
  release(): void;
  /** The same with a transaction that only read and is still open: the next message on it ends it. */
  releaseOpen(): void;
}

/** What the connections of a process to one address have done so far; see `docs/postgres.md`. */
export interface PostgresCounts {
  /** The address, without its password. */
  readonly address: string;
  /** Open connections, those in use, calls that wait for one, and how many there may be. */
  readonly connections: number;
  readonly busy: number;
  readonly waiting: number;
  readonly most: number;
  /** Round trips that somebody waited for. */
  readonly messages: number;
  /** Commits that were made, and how long they took together. */
  readonly commits: number;
  readonly commitMs: number;
  /** How many of them took how long: see `COMMIT_BOUNDS_MS`. */
  readonly commitCounts: readonly number[];
  /** Commits on top of a head that others had replaced. */
  readonly lostRaces: number;
  /** Times that a commit waited for a construction about to take over. */
  readonly heldWaits: number;
  /** Writes that gave up waiting for a lock. */
  readonly lockTimeouts: number;
  /** Tries after a broken connection, and commits whose outcome had to be looked up. */
  readonly retries: number;
  readonly lookedUp: number;
}

/** Upper bounds of the times by which commits are counted; behind them one more number, of those above all. */
export const COMMIT_BOUNDS_MS = [
  0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 10_000, 60_000,
] as const;

/** What is added up. */
type Tally = {
  -readonly [name in
    | "messages"
    | "commits"
    | "commitMs"
    | "lostRaces"
    | "heldWaits"
    | "lockTimeouts"
    | "retries"
    | "lookedUp"]: number;
};

const running = new Set<PostgresPool>();

/** What the connections of this process have done, address by address. */
export function postgresCounts(): readonly PostgresCounts[] {
  return [...running].map((pool) => pool.counts());
}

const pools = new Map<string, Promise<PostgresPool>>();

/** The pool of an address, shared by all who ask with the same settings; each gives it back with `leave`. */
export async function joinPool(address: PostgresAddress, create: boolean): Promise<PostgresPool> {
  const { url, connections, retryMs, lockMs, prepares } = address;
  const name = JSON.stringify([url, connections, retryMs, lockMs, prepares]);
  const found = pools.get(name);
  const joined = found ?? PostgresPool.start(address, () => pools.delete(name));
  if (found === undefined) {
    pools.set(name, joined);
    joined.catch(() => pools.delete(name));
  }
  const pool = await joined;
  // It may have ended while we waited for it.
  if (!pool.join()) return joinPool(address, create);
  try {
    await pool.prepare(create);
  } catch (error) {
    await pool.leave();
    throw error;
  }
  return pool;
}

/** Connections of one process to one address. */
export class PostgresPool {
  readonly address: PostgresAddress;
  readonly tally: Tally = {
    messages: 0,
    commits: 0,
    commitMs: 0,
    lostRaces: 0,
    heldWaits: 0,
    lockTimeouts: 0,
    retries: 0,
    lookedUp: 0,
  };
  readonly #commitCounts = [...COMMIT_BOUNDS_MS, Number.POSITIVE_INFINITY].map(() => 0);
  /** What the stores of this pool remember of what they read. */
  readonly shared = new NumberTable();
  readonly #pool: Pool;
  readonly #seats: Seats;
  readonly #forget: () => void;
  #members = 0;
  #ended = false;
  #ending: NodeJS.Timeout | undefined;
  #prepared: Promise<void> | undefined;
  #isPrepared = false;
  /** Connections that have seen tables of a version that may be used. */
  #looked = new WeakSet<PoolClient>();
  /** Behind a pooler settings go with each transaction. */
  #localSettings = false;
  /** Whether connections took the settings that they are told once. */
  #isSettled = true;
  /** Statements that each connection knows by name. */
  readonly #names = new WeakMap<PoolClient, Map<string, string>>();
  readonly #unended = new Unended();
  /** Whether statements are sent by name. */
  #prepares = false;

  private constructor(address: PostgresAddress, pool: Pool, forget: () => void) {
    this.address = address;
    this.#pool = pool;
    this.#seats = new Seats(address.connections);
    this.#forget = forget;
    // A connection that dies while nobody uses it is replaced when somebody needs one.
    pool.on("error", () => {});
    // One that knows no such settings goes on as is.
    pool.on("connect", (client) => {
      if (this.#prepares) this.#settle(client);
    });
  }

  static async start(address: PostgresAddress, forget: () => void): Promise<PostgresPool> {
    const { Client, Pool } = await loadPg();
    checkCertificates(address);
    const usual: PoolConfig = {
      Client,
      connectionString: address.url,
      max: address.connections,
      connectionTimeoutMillis: TIMEOUTS.connect,
      idleTimeoutMillis: 30_000,
      maxLifetimeSeconds: LIFETIME_SECONDS,
      allowExitOnIdle: true,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      application_name: "cortex",
    };
    const settings = {
      statement_timeout: TIMEOUTS.statement,
      lock_timeout: address.lockMs,
      idle_in_transaction_session_timeout: TIMEOUTS.idle,
    };
    const pool = new PostgresPool(address, new Pool({ ...usual, ...settings }), forget);
    try {
      await pool.#meet();
      return pool;
    } catch (error) {
      await pool.#pool.end();
      if (!isUnsupportedSetting(error)) throw error;
    }
    // A pooler that allows no settings hands statements to connections that do not know them.
    const plain = new PostgresPool(address, new Pool(usual), forget);
    plain.#localSettings = true;
    return plain;
  }

  /**
   * The first connection: is it the server that serves it, or a pooler? A pooler shows a process number of its own, and the
   * server behind it another one. There nothing may be left on a connection: no settings and no names.
   */
  async #meet(): Promise<void> {
    const client = await this.#connect();
    try {
      const { rows } = await client.query<{ readonly pid: number }>(BACKEND);
      const isServer = "processID" in client && client.processID === rows[0]?.pid;
      this.#localSettings = !isServer;
      this.#prepares = isServer && this.address.prepares;
      if (this.#prepares) this.#settle(client);
    } catch (error) {
      throw postgresError(error, this.address);
    } finally {
      client.release();
    }
  }

  /** Settings of a connection that stays ours; a server that knows no such settings goes on as is. */
  #settle(client: Pick<PoolClient, "query">): void {
    client.query(CONNECTION_SETTINGS).catch(() => {
      this.#isSettled = false;
    });
  }

  /** Takes part; false when the pool has ended. */
  join(): boolean {
    if (this.#ended) return false;
    running.add(this);
    this.#members += 1;
    return true;
  }

  /** Some time after the last one left the connections are closed; until then the next finds them. */
  async leave(): Promise<void> {
    this.#members -= 1;
    if (this.#members > 0 || this.#ended) return;
    clearTimeout(this.#ending);
    this.#ending = setTimeout(() => void this.#end(), LINGER_MS).unref();
  }

  async #end(): Promise<void> {
    if (this.#members > 0 || this.#ended) return;
    this.#ended = true;
    running.delete(this);
    this.#forget();
    await this.#pool.end();
  }

  /** Counts a commit that was made. */
  tellCommit(ms: number): void {
    this.tally.commits += 1;
    this.tally.commitMs += ms;
    const found = COMMIT_BOUNDS_MS.findIndex((bound) => ms <= bound);
    const at = found < 0 ? COMMIT_BOUNDS_MS.length : found;
    this.#commitCounts[at] = (this.#commitCounts[at] ?? 0) + 1;
  }

  counts(): PostgresCounts {
    const { totalCount, idleCount } = this.#pool;
    return {
      address: this.address.shown,
      connections: totalCount,
      busy: totalCount - idleCount,
      waiting: this.#seats.waiting,
      most: this.address.connections,
      ...this.tally,
      commitCounts: [...this.#commitCounts],
    };
  }

  /** Whether a statement by itself is a transaction with the settings of ours. */
  get mayBeAlone(): boolean {
    return this.#isSettled && this.#prepares;
  }

  /** A connection; waits for one while all are in use. */
  async acquire(): Promise<Session> {
    const leaveSeat = await this.#seats.take();
    try {
      const client = await this.#connect();
      const session = new PgSession(client, leaveSeat, {
        tally: this.tally,
        names: this.#namesOf(client),
        unended: this.#unended,
        loseNames: () => {
          this.#prepares = false;
        },
      });
      if (!this.#looked.has(client)) await this.#look(client, session);
      return session;
    } catch (error) {
      leaveSeat();
      throw error;
    }
  }

  /** A newer release may have changed the tables since; then every other connection has to look again as well. */
  async #look(client: PoolClient, session: PgSession): Promise<void> {
    try {
      // Whoever prepares looks himself.
      if (this.#isPrepared) await requireUsable(this.address, (version) => session.look(version));
      this.#looked.add(client);
    } catch (error) {
      this.#looked = new WeakSet();
      session.release();
      throw postgresError(error, this.address);
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw postgresError(error, this.address);
    }
  }

  #namesOf(client: PoolClient): Map<string, string> | undefined {
    if (!this.#prepares) return undefined;
    const names = this.#names.get(client) ?? new Map<string, string>();
    this.#names.set(client, names);
    return names;
  }

  /** What opens a transaction: its kind, and the settings that the connection could not be given. */
  opening(begin: Statement, more: readonly Statement[] = []): readonly Statement[] {
    if (!this.#localSettings) return [begin, ...more];
    return [
      begin,
      setLocal("statement_timeout", `${TIMEOUTS.statement}`),
      setLocal("lock_timeout", `${this.address.lockMs}`),
      setLocal("idle_in_transaction_session_timeout", `${TIMEOUTS.idle}`),
      ...more,
    ];
  }

  /**
   * Runs one message on a connection of its own, as one transaction; a statement alone is one by itself. Where a name was not
   * known the server has done nothing, and all of it is sent once more without names.
   */
  async transact(
    statements: readonly Statement[],
    more: readonly Statement[] = [],
  ): Promise<Answer[]> {
    for (;;) {
      const session = await this.acquire();
      try {
        const isOne = statements.length === 1 && more.length === 0;
        if (isOne && this.mayBeAlone) return await session.run(statements);
        const opening = this.opening(BEGIN_WRITE, more);
        const answers = await session.run([...opening, ...statements, COMMIT]);
        return answers.slice(opening.length, -1);
      } catch (error) {
        if (!isLostName(error)) throw postgresError(error, this.address);
      } finally {
        session.release();
      }
    }
  }

  /** The same for statements that may be made twice: where the server went away, for as long as the address says. */
  async insist(statements: readonly Statement[]): Promise<Answer[]> {
    const patience = new Patience(this.address.retryMs);
    for (;;) {
      try {
        return await this.transact(statements);
      } catch (error) {
        if (!isPassing(error)) throw error;
        this.tally.retries += 1;
        await patience.pause(error);
      }
    }
  }

  /** Sees to it that the tables are there, once. */
  prepare(create: boolean): Promise<void> {
    this.#prepared ??= this.#prepare(create).catch((error) => {
      this.#prepared = undefined;
      throw postgresError(error, this.address);
    });
    return this.#prepared;
  }

  async #prepare(create: boolean): Promise<void> {
    const session = await this.acquire();
    try {
      const opening = this.opening.bind(this);
      await prepareTables(session, { address: this.address, create, opening });
      this.#isPrepared = true;
    } finally {
      session.release();
    }
  }
}

/** What a connection has from its pool. */
interface SessionParts {
  readonly tally: Tally;
  readonly names: Map<string, string> | undefined;
  readonly unended: Unended;
  /** Statements are sent whole from now on. */
  readonly loseNames: () => void;
}

class PgSession implements Session {
  readonly #client: PoolClient;
  readonly #leaveSeat: () => void;
  readonly #with: SessionParts;
  #isBroken = false;
  /** What the server said last, when it ended the connection between two messages. */
  #failure: unknown;
  #isReleased = false;
  /** Messages whose answers are to come. `pg` is given one at a time, and those behind it were written already. */
  readonly #sent: Message[] = [];

  constructor(client: PoolClient, leaveSeat: () => void, parts: SessionParts) {
    this.#client = client;
    this.#with = parts;
    this.#leaveSeat = leaveSeat;
    // Without a listener, a connection that dies between two messages would end the process.
    client.on("error", this.#onError);
  }

  readonly #onError = (error: unknown): void => {
    this.#isBroken = true;
    this.#failure ??= error;
    // `pg` tells the first one itself, and knows of no other.
    for (const message of this.#sent.slice(1)) message.handleError(error);
  };

  run(statements: readonly Statement[]): Promise<Answer[]> {
    // What goes behind another message is not waited for by itself.
    if (this.#sent.length === 0 && this.#failure === undefined) this.#with.tally.messages += 1;
    return this.#exchange(statements);
  }

  /** Asks something before anybody has the connection: that is no call's round trip. */
  async look(statement: Statement): Promise<Answer> {
    const [answer = []] = await this.#exchange([statement]);
    return answer;
  }

  async #exchange(statements: readonly Statement[]): Promise<Answer[]> {
    if (this.#failure !== undefined) throw this.#failure;
    const before = this.#with.unended.take(this.#client) ? [COMMIT] : [];
    let silence: NodeJS.Timeout | undefined;
    try {
      const answers = await new Promise<Answer[]>((resolve, reject) => {
        silence = setTimeout(() => {
          this.#failure ??= new SilentServer();
          reject(this.#failure);
        }, SILENCE_MS);
        const all = [...before, ...statements];
        const answered = (answers: Answer[]): void => {
          this.#sendNext();
          resolve(answers);
        };
        const failed = (error: unknown): void => {
          this.#endFailed(error);
          reject(error);
        };
        this.#send(new Message(all, answered, failed, this.#with.names));
      });
      return answers.slice(before.length);
    } catch (error) {
      this.#isBroken = true;
      if (isLostName(error)) this.#with.loseNames();
      throw error;
    } finally {
      clearTimeout(silence);
    }
  }

  #send(message: Message): void {
    const last = this.#sent.at(-1);
    this.#sent.push(message);
    if (last === undefined) this.#client.query(message);
    else if (last.connection !== undefined) message.send(last.connection);
  }

  /** At the very moment when `pg` is done with one, or it would take the next answer for one that nobody asked for. */
  #sendNext(): void {
    this.#sent.shift();
    const [next] = this.#sent;
    if (next !== undefined) this.#client.query(next);
  }

  /**
   * `pg` itself waits until the server is ready again, and takes another message then. Where more were written behind the one
   * that failed, it has lost count of the answers, and nothing more can be asked here.
   */
  #endFailed(error: unknown): void {
    if (this.#sent.length > 1) this.#failure ??= error;
    else this.#sent.length = 0;
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#client.removeListener("error", this.#onError);
    if (this.#isBroken) this.#with.unended.take(this.#client);
    this.#client.release(this.#isBroken);
    this.#leaveSeat();
  }

  releaseOpen(): void {
    if (!this.#isReleased && !this.#isBroken) this.#with.unended.add(this.#client);
    this.release();
  }
}

/**
 * Connections that were given back with a transaction that only read. Its end travels with whatever
 * is sent next, mostly at once: a message for it alone costs both sides as much as a read. Where
 * nothing comes it is sent by itself, so that the server need not keep what the transaction sees.
 */
class Unended {
  readonly #clients = new Set<PoolClient>();
  #timer: NodeJS.Timeout | undefined;

  add(client: PoolClient): void {
    this.#clients.add(client);
    this.#timer ??= setTimeout(() => this.#endAll(), END_AFTER_MS).unref();
  }

  /** Whether a connection is one of them; whoever asks ends its transaction. */
  take(client: PoolClient): boolean {
    return this.#clients.delete(client);
  }

  #endAll(): void {
    this.#timer = undefined;
    for (const client of this.#clients) client.query(new Message([COMMIT], ignored, ignored));
    this.#clients.clear();
  }
}

/** That a transaction which read could not be ended in peace is nobody's loss: its connection is gone. */
function ignored(): void {}

/** The server answers nothing any more, not even that it gave up. */
class SilentServer extends Error {
  readonly code = "ETIMEDOUT";
}
