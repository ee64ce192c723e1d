/**
 * The hand-rolled alternative: what somebody writes who needs a memory by tomorrow. One SQLite file
 * in WAL mode with `synchronous=FULL`, a table, two indexes, a full-text index and the triggers that
 * feed it; links, and the versions that an update replaced. No proofs, no past state, no erasure.
 *
 * The library is loaded when asked for: the binding of the development dependencies, else the one
 * that newer releases of Node bring along. Without either the comparison is left out, and said so.
 */
import { randomUUID } from "node:crypto";

/** @typedef {import("./workload.mjs").Item} Item */

/** Where a `DatabaseSync` may come from, in order. */
const SOURCES = ["@photostructure/sqlite", "node:sqlite"];

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS memories (
    id TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    tag TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    text TEXT NOT NULL,
    meta TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS memories_by_tag ON memories (tag, created_at);
  CREATE INDEX IF NOT EXISTS memories_by_type ON memories (type, created_at);
  CREATE VIRTUAL TABLE IF NOT EXISTS memory_words USING fts5(text, content='memories', content_rowid='rowid');
  CREATE TRIGGER IF NOT EXISTS memories_inserted AFTER INSERT ON memories BEGIN
    INSERT INTO memory_words (rowid, text) VALUES (new.rowid, new.text);
  END;
  CREATE TABLE IF NOT EXISTS versions (
    id TEXT NOT NULL,
    replaced_at INTEGER NOT NULL,
    text TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS versions_by_id ON versions (id);
  CREATE TRIGGER IF NOT EXISTS memories_updated AFTER UPDATE OF text ON memories BEGIN
    INSERT INTO versions (id, replaced_at, text) VALUES (old.id, unixepoch(), old.text);
    INSERT INTO memory_words (memory_words, rowid, text) VALUES ('delete', old.rowid, old.text);
    INSERT INTO memory_words (rowid, text) VALUES (new.rowid, new.text);
  END;
  CREATE TABLE IF NOT EXISTS links (
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    kind TEXT NOT NULL,
    PRIMARY KEY (source, kind, target)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS links_by_target ON links (target);
`;
/** What is reached over one or two links, either way, with the row of each. */
const NEAR = `
  WITH RECURSIVE reached (id, hops) AS (
    VALUES (?, 0)
    UNION
    SELECT links.target, reached.hops + 1 FROM reached JOIN links ON links.source = reached.id
      WHERE reached.hops < 2
    UNION
    SELECT links.source, reached.hops + 1 FROM reached JOIN links ON links.target = reached.id
      WHERE reached.hops < 2
  )
  SELECT memories.*, min(hops) AS hops FROM reached JOIN memories USING (id)
    WHERE hops > 0 GROUP BY memories.id`;
const INSERT = "INSERT INTO memories (id, type, tag, created_at, text, meta) VALUES (?,?,?,?,?,?)";
const SYNCHRONOUS_FULL = 2;

/**
 * Opens a new database in a file, or says why there is none.
 * @param {string} path
 * @returns {Promise<SqliteStore | { missing: string }>}
 */
export async function openSqlite(path) {
  const DatabaseSync = await loadDatabase();
  if (DatabaseSync === undefined) {
    return { missing: `no SQLite binding: neither ${SOURCES.join(" nor ")} can be loaded` };
  }
  return new SqliteStore(new DatabaseSync(path));
}

/**
 * The little of a database that is used here.
 * @typedef {{
 *   exec(sql: string): void,
 *   prepare(sql: string): {
 *     run(...values: unknown[]): unknown,
 *     get(...values: unknown[]): Record<string, unknown> | undefined,
 *     all(...values: unknown[]): Record<string, unknown>[],
 *   },
 *   close(): void,
 * }} Database
 */

/**
 * The class of databases, if a library can be loaded.
 * @returns {Promise<(new (path: string) => Database) | undefined>}
 */
export async function loadDatabase() {
  for (const source of SOURCES) {
    try {
      const { DatabaseSync } = await import(source);
      return DatabaseSync;
    } catch {
      // Not installed, not built for this platform, or too old a Node: try the next.
    }
  }
  return undefined;
}

/** An open database of memories. */
export class SqliteStore {
  #database;
  #insert;
  #select;
  #list;
  #filter;
  #search;
  #link;
  #near;
  #update;
  #versions;

  constructor(/** @type {Database} */ database) {
    this.#database = database;
    database.exec("PRAGMA busy_timeout = 5000");
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = FULL");
    database.exec(SCHEMA);
    const mode = String(database.prepare("PRAGMA journal_mode").get()?.journal_mode);
    const synchronous = Number(database.prepare("PRAGMA synchronous").get()?.synchronous);
    if (mode !== "wal" || synchronous !== SYNCHRONOUS_FULL) {
      throw new Error(`SQLite runs in mode ${mode}, synchronous ${synchronous}: not comparable`);
    }
    this.name = `SQLite ${String(database.prepare("SELECT sqlite_version() AS v").get()?.v)}`;
    this.syncMode = "WAL, synchronous=FULL";
    this.#insert = database.prepare(INSERT);
    this.#select = database.prepare("SELECT * FROM memories WHERE id = ?");
    this.#list = database.prepare(
      "SELECT * FROM memories WHERE tag = ? ORDER BY created_at DESC LIMIT ?",
    );
    this.#filter = database.prepare(
      "SELECT * FROM memories WHERE tag = ? AND json_extract(meta, '$.importance') >= ? " +
        "ORDER BY created_at DESC LIMIT ?",
    );
    this.#search = database.prepare(
      "SELECT memories.*, bm25(memory_words) AS score FROM memory_words " +
        "JOIN memories ON memories.rowid = memory_words.rowid " +
        "WHERE memory_words MATCH ? ORDER BY score LIMIT ?",
    );
    this.#link = database.prepare(
      "INSERT OR IGNORE INTO links (source, target, kind) VALUES (?, ?, 'relates_to')",
    );
    this.#near = database.prepare(NEAR);
    this.#update = database.prepare("UPDATE memories SET text = ? WHERE id = ?");
    this.#versions = database.prepare("SELECT * FROM versions WHERE id = ? ORDER BY replaced_at");
  }

  /** Writes memories in one transaction; returns their ids. */
  write(/** @type {readonly (Item & { readonly level?: number })[]} */ items) {
    this.#database.exec("BEGIN IMMEDIATE");
    const ids = items.map((item) => this.#insertOne(item));
    this.#database.exec("COMMIT");
    return ids;
  }

  /** One memory by id. */
  get(/** @type {string} */ id) {
    const row = this.#select.get(id);
    return row === undefined ? undefined : shape(row);
  }

  /** The newest memories of a tag. */
  list(/** @type {string} */ tag, /** @type {number} */ limit) {
    return this.#list.all(tag, limit).map(shape);
  }

  /** The newest memories of a tag that are at least so important. */
  filter(/** @type {string} */ tag, /** @type {number} */ importance, /** @type {number} */ limit) {
    return this.#filter.all(tag, importance, limit).map(shape);
  }

  /** The memories that hold any of the words, the best first. */
  search(/** @type {readonly string[]} */ words, /** @type {number} */ limit) {
    const query = words.map((word) => `"${word}"`).join(" OR ");
    return this.#search.all(query, limit).map(shape);
  }

  /** Links two memories. */
  link(/** @type {string} */ from, /** @type {string} */ to) {
    this.#link.run(from, to);
  }

  /** The memories within two links, either way. */
  near(/** @type {string} */ id) {
    return this.#near.all(id).map(shape);
  }

  /** Gives a memory another text; the trigger keeps the one before. */
  update(/** @type {string} */ id, /** @type {string} */ text) {
    this.#update.run(text, id);
  }

  /** Every text that a memory had. */
  history(/** @type {string} */ id) {
    return [...this.#versions.all(id), this.get(id)];
  }

  /** Makes the indexes and the full-text index anew from the table. */
  rebuild() {
    this.#database.exec("BEGIN IMMEDIATE");
    this.#database.exec("INSERT INTO memory_words (memory_words) VALUES ('rebuild')");
    this.#database.exec("REINDEX memories");
    this.#database.exec("COMMIT");
  }

  close() {
    this.#database.close();
  }

  #insertOne(/** @type {Item & { readonly level?: number }} */ { text, tag, level = 5 }) {
    const at = Date.now();
    // Ids that ascend with time, as ours do: random ones would make every index write land elsewhere.
    const id = `${at.toString(16).padStart(12, "0")}-${randomUUID()}`;
    this.#insert.run(id, "fact", tag, at, text, JSON.stringify({ tags: [tag], importance: level }));
    return id;
  }
}

function shape(/** @type {Record<string, unknown>} */ row) {
  return { ...row, meta: JSON.parse(String(row.meta)) };
}
