/**
 * PGlite behind a loopback port: the Postgres backend runs on it unchanged, on machines without a
 * server.
 *
 * PGlite has one connection; the backend wants many, and readers that see one state while others
 * write. So each message is run alone, from its start to its end, and read-only transactions are made
 * of copies: when somebody writes while readers are in the middle of theirs, the tables are copied
 * first, and those readers go on in the copies. For small stores that takes a few milliseconds.
 *
 * It knows three things of the backend: a read starts with BEGIN … READ ONLY and ends with a COMMIT that
 * opens the next message, and every other message is a transaction of its own. Locks and isolation of a real server are tested on
 * a real server.
 */

import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { PGlite } from "@electric-sql/pglite";

const SYNC = 0x53;
const QUERY = 0x51;
const TERMINATE = 0x58;
const PARSE = 0x50;
const ERROR = 0x45;
const SSL_REQUEST = 80877103;
/** The one database that there is. */
const DATABASE = "postgres";
/** How an answer ends: it is ready for the next message, with a transaction that failed. */
const READY = 0x5a;
const FAILED_TRANSACTION = 0x45;

/** A server of one database in memory. */
export interface PgliteServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts one on a free port. */
export async function startPglite(): Promise<PgliteServer> {
  const database = await PGlite.create();
  const engine = new Engine(database);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    new Client(socket, engine);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `postgres://pglite@127.0.0.1:${portOf(server)}/${DATABASE}?partitions=1&prepare=no`,
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await engine.end();
      await database.close();
    },
  };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** A read-only transaction: the copies it reads from, once somebody has written since it started. */
interface Reading {
  copy: string | undefined;
}

/** The one connection, and who reads from which copy. */
class Engine {
  readonly #database: PGlite;
  readonly #readings = new Set<Reading>();
  #last: Promise<unknown> = Promise.resolve();
  #copies = 0;
  #isEnded = false;

  constructor(database: PGlite) {
    this.#database = database;
  }

  /** Waits for what was asked; what a connection still leaves behind goes with the database. */
  end(): Promise<unknown> {
    this.#last = this.#last.then(() => {
      this.#isEnded = true;
    });
    return this.#last;
  }

  begin(): Reading {
    const reading = { copy: undefined };
    this.#readings.add(reading);
    return reading;
  }

  /** Runs one message of a client, after all before it. */
  run(message: Uint8Array, reading: Reading | undefined): Promise<Uint8Array> {
    const answer = this.#last.then(() => this.#run(message, reading));
    this.#last = answer.catch(() => {});
    return answer;
  }

  /** Ends a transaction; copies that nobody reads any more go. */
  endReading(reading: Reading): void {
    this.#readings.delete(reading);
    const { copy } = reading;
    if (copy === undefined || [...this.#readings].some((other) => other.copy === copy)) return;
    this.#last = this.#last.then(() =>
      this.#isEnded ? undefined : this.#database.exec(`DROP SCHEMA ${copy} CASCADE`),
    );
  }

  async #run(message: Uint8Array, reading: Reading | undefined): Promise<Uint8Array> {
    if (reading === undefined) await this.#copyForReaders();
    if (reading?.copy === undefined) return this.#perform(message);
    await this.#database.exec(`SET search_path TO ${reading.copy}`);
    try {
      return await this.#perform(message);
    } finally {
      await this.#database.exec("SET search_path TO public");
    }
  }

  /**
   * What failed inside a transaction is rolled back here at once: the client's own ROLLBACK comes with its next
   * message, and the one connection would refuse everybody else until then.
   */
  async #perform(message: Uint8Array): Promise<Uint8Array> {
    const answer = await this.#database.execProtocolRaw(message);
    if (answer.at(-1) === FAILED_TRANSACTION && answer.at(-6) === READY) {
      await this.#database.exec("ROLLBACK");
    }
    return answer;
  }

  async #copyForReaders(): Promise<void> {
    const waiting = [...this.#readings].filter(({ copy }) => copy === undefined);
    if (waiting.length === 0) return;
    this.#copies += 1;
    const copy = `copy_${this.#copies}`;
    await this.#database.exec(`CREATE SCHEMA ${copy};
      CREATE TABLE ${copy}.cortex_heads (LIKE public.cortex_heads INCLUDING ALL);
      INSERT INTO ${copy}.cortex_heads SELECT * FROM public.cortex_heads;
      CREATE TABLE ${copy}.cortex_rows (LIKE public.cortex_rows INCLUDING ALL);
      INSERT INTO ${copy}.cortex_rows SELECT * FROM public.cortex_rows`);
    for (const one of waiting) one.copy = copy;
  }
}

/** One connection of the backend. */
class Client {
  readonly #socket: Socket;
  readonly #engine: Engine;
  #bytes: Buffer = Buffer.alloc(0);
  #message: Buffer[] = [];
  #isStarted = false;
  #reading: Reading | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(socket: Socket, engine: Engine) {
    this.#socket = socket;
    this.#engine = engine;
    socket.on("data", (piece) => {
      this.#bytes = Buffer.concat([this.#bytes, piece as Buffer]);
      while (this.#takeOne());
    });
    socket.on("close", () => {
      this.#last = this.#last.then(() => this.#endReading());
    });
  }

  /** Takes the next whole piece of what has come; false when there is none. */
  #takeOne(): boolean {
    const start = this.#isStarted ? 1 : 0;
    if (this.#bytes.length < start + 4) return false;
    const length = start + this.#bytes.readInt32BE(start);
    if (this.#bytes.length < length) return false;
    const piece = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    if (this.#isStarted) this.#take(piece);
    else this.#greet(piece);
    return true;
  }

  #greet(piece: Buffer): void {
    if (piece.readInt32BE(4) === SSL_REQUEST) {
      this.#socket.write("N");
      return;
    }
    this.#isStarted = true;
    const database = parameterOf(piece, "database");
    if (database !== DATABASE) {
      this.#socket.end(refusalOf("3D000", `database "${database}" does not exist`));
      return;
    }
    // Authenticated; ready.
    this.#socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]));
  }

  #take(piece: Buffer): void {
    if (piece[0] === TERMINATE) return;
    this.#message.push(piece);
    if (piece[0] !== SYNC && piece[0] !== QUERY) return;
    const pieces = this.#message;
    this.#message = [];
    this.#last = this.#last.then(() => this.#answer(pieces));
  }

  async #answer(pieces: readonly Buffer[]): Promise<void> {
    const texts = pieces.map(textOf);
    // The end of a read comes with whatever is sent next, or by itself.
    const ended = this.#reading !== undefined && texts[0] === "COMMIT" ? 0 : -1;
    if (ended === 0) this.#endReading();
    if (texts.some((text) => text.endsWith("READ ONLY"))) this.#reading = this.#engine.begin();
    const isRead = this.#reading !== undefined;
    const message = Buffer.concat(
      pieces.map((piece, at) =>
        at === ended || (isRead && isBoundary(texts[at] ?? ""))
          ? parseOf("SET SESSION timezone TO DEFAULT")
          : piece,
      ),
    );
    // Nothing but an end changes nothing that somebody reads.
    const isBare = texts.every((text) => text === "" || text === "COMMIT");
    const reading = isBare ? { copy: undefined } : this.#reading;
    const answer = await this.#engine.run(message, reading);
    if (!this.#socket.destroyed) this.#socket.write(answer);
  }

  #endReading(): void {
    if (this.#reading !== undefined) this.#engine.endReading(this.#reading);
    this.#reading = undefined;
  }
}

function isBoundary(text: string): boolean {
  return text.startsWith("BEGIN") || text === "COMMIT";
}

/** What the first message of a connection says under a name: names and values in turn, each with a zero behind it. */
function parameterOf(piece: Buffer, name: string): string {
  const words = piece.toString("utf8", 8).split("\0");
  return words[words.indexOf(name) + 1] ?? "";
}

/** The message that refuses a connection: severity, code and sentence. */
function refusalOf(code: string, sentence: string): Buffer {
  const body = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${sentence}\0\0`);
  const head = Buffer.alloc(5);
  head[0] = ERROR;
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}

/** The statement of a piece that parses one: after the empty name, up to its end. */
function textOf(piece: Buffer): string {
  if (piece[0] !== PARSE) return "";
  const start = piece.indexOf(0, 5) + 1;
  return piece.toString("utf8", start, piece.indexOf(0, start));
}

/** The piece that parses a statement without a name and without parameters. */
function parseOf(text: string): Buffer {
  const body = Buffer.from(`\0${text}\0\0\0`);
  const head = Buffer.alloc(5);
  head[0] = PARSE;
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
}
