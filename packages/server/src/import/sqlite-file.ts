/**
 * The one door to SQLite: a database file of another program, opened for reading.
 *
 * The file itself is never opened. It is copied, with its write-ahead log, into a private folder that
 * goes away with `close`: the build of SQLite used here shares no locks with other programs and cannot
 * read a write-ahead log in place, and a copy may be given the indexes that make reading in order cheap.
 * A file that changes while it is copied is refused, so that half of somebody's write is never read.
 * What a killed program left is removed a day later, by whoever opens a file then.
 */
import {
  constants,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CortexError } from "@cortex-memory/core";
import sqlite from "node-sqlite3-wasm";

/** One value of a row. */
export type SqlValue = number | bigint | string | Uint8Array | null;

/** A row by the names of its columns. */
export type SqlRow = { readonly [column: string]: SqlValue };

/** An open database file; close it. */
export class SqliteFile {
  readonly #folder: string;
  readonly #database: sqlite.Database;
  readonly #path: string;

  private constructor(path: string, folder: string, database: sqlite.Database) {
    this.#path = path;
    this.#folder = folder;
    this.#database = database;
    // An import that is told to end does not come back to close.
    process.on("exit", this.#remove);
  }

  readonly #remove = (): void => rmSync(this.#folder, { recursive: true, force: true });

  /** Opens a file; `ERR_INVALID` when it is no SQLite database. */
  static open(path: string): SqliteFile {
    sweep(tmpdir());
    const folder = mkdtempSync(join(tmpdir(), `${FOLDER}${process.pid}-`));
    let database: sqlite.Database | undefined;
    try {
      const copy = join(folder, "copy.db");
      copyWhole(path, copy);
      database = new sqlite.Database(copy, { fileMustExist: true });
      // Alone with the copy, SQLite keeps the index of the log in its own memory.
      database.exec("PRAGMA locking_mode = EXCLUSIVE");
      database.all("SELECT count(*) FROM sqlite_schema");
      return new SqliteFile(path, folder, database);
    } catch (error) {
      database?.close();
      rmSync(folder, { recursive: true, force: true });
      throw asFailure(path, error);
    }
  }

  /** Refuses a file without these columns: it is another program's. */
  requireTable(table: string, columns: readonly string[], program: string): void {
    const there = new Set(
      this.all("SELECT name FROM pragma_table_info(?)", [table]).map((row) => row.name),
    );
    const missing = columns.filter((column) => !there.has(column));
    if (missing.length === 0) return;
    const what = there.size === 0 ? `no table ${table}` : `no column ${missing[0]} in ${table}`;
    const message = `file: expected a database of ${program}, got one with ${what}`;
    throw new CortexError("ERR_INVALID", message, { field: "file" });
  }

  /** Runs a statement on the copy. */
  run(sql: string): void {
    this.#guard(() => this.#database.exec(sql));
  }

  /** Adds an index to the copy, so that reading in this order needs no memory. */
  order(table: string, columns: readonly string[]): void {
    const name = `cortex_${table}_${columns.join("_")}`;
    this.#guard(() =>
      this.#database.exec(`CREATE INDEX IF NOT EXISTS ${name} ON ${table} (${columns.join(", ")})`),
    );
  }

  /** The rows of a query, read one by one. */
  *rows(sql: string, values: readonly SqlValue[] = []): Generator<SqlRow> {
    const statement = this.#guard(() => this.#database.prepare(sql));
    try {
      const rows = statement.iterate([...values])[Symbol.iterator]();
      for (;;) {
        const next = this.#guard(() => rows.next());
        if (next.done === true) return;
        yield next.value as SqlRow;
      }
    } finally {
      statement.finalize();
    }
  }

  /** The rows of a query that has few. */
  all(sql: string, values: readonly SqlValue[] = []): readonly SqlRow[] {
    return [...this.rows(sql, values)];
  }

  /** How many rows a table has. */
  count(table: string): number {
    return Number(this.all(`SELECT count(*) AS n FROM ${table}`)[0]?.n ?? 0);
  }

  /** Closes the copy and removes it; idempotent. */
  close(): void {
    if (this.#database.isOpen) this.#database.close();
    process.off("exit", this.#remove);
    this.#remove();
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw asFailure(this.#path, error);
    }
  }
}

/** What the folders of copies are called; the number of their process comes next. */
const FOLDER = "cortex-import-";
const DAY_MS = 24 * 60 * 60 * 1000;

/** Removes copies of programs that are gone: a number may be that of another machine's program, whose copy is fresh. */
function sweep(place: string): void {
  for (const name of readdirSync(place)) {
    const [, pid] = /^cortex-import-(\d+)-/.exec(name) ?? [];
    const folder = join(place, name);
    const modified = pid === undefined ? undefined : statSync(folder, { throwIfNoEntry: false });
    if (pid === undefined || modified === undefined || isRunning(Number(pid))) continue;
    if (Date.now() - modified.mtimeMs < DAY_MS) continue;
    // Of somebody else it stays.
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {}
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Copies a database with its log; either may not change meanwhile. */
function copyWhole(path: string, copy: string): void {
  const names = [path, `${path}-wal`];
  const before = names.map(stampOf);
  if (before[0] === undefined) {
    throw new CortexError("ERR_STORAGE", `cannot read ${path}: there is no such file`, {
      field: "file",
    });
  }
  for (const [at, name] of names.entries()) {
    if (before[at] === undefined) continue;
    copyFileSync(name, at === 0 ? copy : `${copy}-wal`, constants.COPYFILE_FICLONE);
  }
  if (names.map(stampOf).join() === before.join()) return;
  const message = `file: ${path} is being written; stop the program that writes it and try again`;
  throw new CortexError("ERR_CONTENDED", message, { field: "file" });
}

/** Changes whenever the file does. */
function stampOf(path: string): string | undefined {
  const found: Stats | undefined = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.ino} ${found.size} ${found.mtimeMs}`;
}

/** What SQLite complains of, with a code of ours. */
function asFailure(path: string, error: unknown): unknown {
  if (error instanceof CortexError || !(error instanceof Error)) return error;
  if ("code" in error) {
    const isFull = error.code === "ENOSPC" || error.code === "EDQUOT";
    const code = isFull ? "ERR_DISK_FULL" : "ERR_STORAGE";
    return new CortexError(code, `cannot read ${path}: ${error.message}`, {}, error);
  }
  if (error.message.includes("not a database")) {
    const message = "file: expected a SQLite database, got something else";
    return new CortexError("ERR_INVALID", message, { field: "file" }, error);
  }
  return new CortexError(
    "ERR_CORRUPT",
    `file: SQLite says: ${error.message}`,
    { field: "file" },
    error,
  );
}
