/**
 * Files of other programs, made the way those programs make them: databases of memgraph and kb with
 * the tables that they create, and files of JSON lines.
 */
import { copyFileSync, existsSync, writeFileSync } from "node:fs";
import sqlite from "node-sqlite3-wasm";

type Value = string | number | null;

/** The tables of memgraph. */
const MEMGRAPH = `
CREATE TABLE graphs (id TEXT PRIMARY KEY, name TEXT NOT NULL, conflict_policy TEXT NOT NULL DEFAULT 'lww',
  kind_whitelist TEXT, metadata TEXT, created_at TEXT NOT NULL);
CREATE TABLE nodes (id TEXT PRIMARY KEY, graph_id TEXT NOT NULL REFERENCES graphs(id),
  lineage_id TEXT NOT NULL, version INTEGER NOT NULL, kind TEXT NOT NULL, content TEXT NOT NULL,
  summary TEXT, tags TEXT, metadata TEXT, freshness_at TEXT, created_at TEXT NOT NULL,
  created_by TEXT NOT NULL, superseded_by TEXT, UNIQUE (lineage_id, version));
CREATE TABLE edges (id TEXT PRIMARY KEY, graph_id TEXT NOT NULL REFERENCES graphs(id),
  from_lineage TEXT NOT NULL, to_graph TEXT NOT NULL, to_lineage TEXT NOT NULL, kind TEXT NOT NULL,
  metadata TEXT, ordinal INTEGER, created_at TEXT NOT NULL, created_by TEXT NOT NULL);
CREATE INDEX idx_nodes_lineage_current ON nodes (lineage_id) WHERE superseded_by IS NULL;
CREATE INDEX idx_nodes_graph_kind ON nodes (graph_id, kind);
CREATE INDEX idx_edges_from ON edges (from_lineage, kind);
CREATE VIRTUAL TABLE nodes_fts USING fts5(content, summary, tags, node_id UNINDEXED, tokenize = 'porter unicode61');
`;

/** The table of kb. */
const KB = `CREATE TABLE notes (id TEXT, title TEXT, body TEXT, tags TEXT, source TEXT, context TEXT,
  workspace TEXT, links TEXT, created TEXT, modified TEXT, file_path TEXT);`;

/** A row by the names of its columns. */
export type Row = Readonly<Record<string, Value>>;

/** Rows by table, in the order in which they are put in. */
export type Tables = Readonly<Record<string, readonly Row[]>>;

/** Puts rows into a database that is there already. */
export function addRows(path: string, tables: Tables): void {
  const database = new sqlite.Database(path, { fileMustExist: true });
  try {
    insert(database, tables);
  } finally {
    database.close();
  }
}

/** Runs a statement on a database that is there already. */
export function runSql(path: string, sql: string): void {
  const database = new sqlite.Database(path, { fileMustExist: true });
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}

function insert(database: sqlite.Database, tables: Tables): void {
  database.exec("BEGIN");
  for (const [table, rows] of Object.entries(tables)) {
    for (const row of rows) {
      const columns = Object.keys(row);
      const marks = columns.map(() => "?").join(", ");
      database.run(
        `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${marks})`,
        Object.values(row),
      );
    }
  }
  database.exec("COMMIT");
}

/** Makes a memgraph database. */
export function makeMemgraph(path: string, tables: Tables): void {
  makeDatabase(path, MEMGRAPH, tables);
}

/** Makes an index of kb. */
export function makeKb(path: string, notes: readonly Row[]): void {
  makeDatabase(path, KB, { notes });
}

/** Makes a database of any tables. */
export function makeDatabase(path: string, sql: string, tables: Tables = {}): void {
  const database = new sqlite.Database(path);
  try {
    database.exec(sql);
    insert(database, tables);
  } finally {
    database.close();
  }
}

/**
 * Makes a memgraph database whose rows are in the write-ahead log alone, as they are while memgraph
 * runs or after it was killed.
 */
export function makeMemgraphWithLog(path: string, tables: Tables): void {
  const making = `${path}.making`;
  const database = new sqlite.Database(making);
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.all("PRAGMA journal_mode = WAL");
    database.exec(MEMGRAPH);
    insert(database, tables);
    copyFileSync(making, path);
    if (!existsSync(`${making}-wal`)) throw new Error("there is no log");
    copyFileSync(`${making}-wal`, `${path}-wal`);
  } finally {
    database.close();
  }
}

/** Makes a file of JSON lines; a text is a line as it is. */
export function makeLines(path: string, lines: readonly unknown[]): void {
  const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  writeFileSync(path, texts.map((text) => `${text}\n`).join(""));
}

/** A memgraph graph. */
export function graphRow(id: string, more: Row = {}): Row {
  return { id, name: `graph ${id}`, created_at: "2026-05-16T10:00:00Z", ...more };
}

/** A memgraph node; the lineage is current unless told otherwise. */
export function nodeRow(graph: string, lineage: string, version: number, more: Row = {}): Row {
  return {
    id: `${lineage}-v${version}`,
    graph_id: graph,
    lineage_id: lineage,
    version,
    kind: "fact",
    content: `${lineage} in version ${version}`,
    created_at: "2026-05-16T10:00:01.123456789Z",
    created_by: "claude",
    ...more,
  };
}

/** A memgraph edge. */
export function edgeRow(
  id: string,
  graph: string,
  ends: readonly [string, string],
  more: Row = {},
): Row {
  const [from, to] = ends;
  return {
    id,
    graph_id: graph,
    from_lineage: from,
    to_graph: graph,
    to_lineage: to,
    kind: "runs_on",
    created_at: "2026-05-16T10:00:02Z",
    created_by: "claude",
    ...more,
  };
}

/** A note of kb. */
export function noteRow(id: string, workspace: string | null, more: Row = {}): Row {
  return {
    id,
    title: `Title ${id}`,
    body: `Body of ${id}`,
    tags: "[]",
    source: "chat",
    context: null,
    workspace,
    links: "[]",
    created: `2026-01-0${id.at(-1)}T00:00:00Z`,
    modified: "2026-02-01T00:00:00Z",
    file_path: `/notes/${id}.md`,
    ...more,
  };
}
