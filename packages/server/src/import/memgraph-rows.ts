/**
 * The tables of memgraph, from its SQLite file or from its Postgres database, in the order in which they
 * are brought in.
 *
 * Promises: rows of one moment, read one page at a time; nothing is written where they come from. Nodes
 * come graph by graph, by the time at which they were made, the versions of a lineage always one after the
 * other; so what is brought in later was made later, and lists go by age. A lineage that moved between
 * graphs comes with the graph that has it now. Texts are read byte for byte, whatever stands in them.
 */
import { CortexError } from "@cortex-memory/core";
import type { ForeignDatabase } from "@cortex-memory/core/postgres";
import { SqliteFile, type SqlRow, type SqlValue } from "./sqlite-file.js";

/** The rows of a memgraph database. */
export interface MemgraphRows {
  readonly graphs: readonly SqlRow[];
  readonly nodeCount: number;
  readonly edgeCount: number;
  /**
   * Nodes: their own columns, `home` (the graph that has the lineage now), `beside` (the earlier versions
   * that stayed current beside it, as numbers with commas), `is_first` and `is_last` of the lineage, and
   * `is_cut` where the node that took its place is not there.
   */
  nodes(): AsyncIterable<SqlRow>;
  /** Edges: their own columns, and `from_home`, the graph that has the lineage now that they leave. */
  edges(): AsyncIterable<SqlRow>;
  close(): Promise<void>;
}

const TABLES = {
  graphs: ["id", "name", "conflict_policy", "kind_whitelist", "metadata", "created_at"],
  nodes: [
    ...["id", "graph_id", "lineage_id", "version", "kind", "content", "summary", "tags"],
    ...["metadata", "freshness_at", "created_at", "created_by", "superseded_by"],
  ],
  edges: [
    ...["id", "graph_id", "from_lineage", "to_graph", "to_lineage", "kind", "metadata"],
    ...["ordinal", "created_at", "created_by"],
  ],
} as const;

type Table = keyof typeof TABLES;

/** Columns that hold numbers; all others hold text. */
const NUMBERS: ReadonlySet<string> = new Set(["version", "ordinal"]);
const TIMES: ReadonlySet<string> = new Set(["created_at", "freshness_at"]);

/** How a database says things. */
interface Dialect {
  /** A column as bytes or text, to the last character. */
  column(table: Table, name: string): string;
  /** A time as text that sorts by age. */
  readonly age: (column: string) => string;
  /** The versions of rows, in one text. */
  readonly versions: string;
  /** Compares texts by their bytes. */
  readonly bytewise: string;
}

const SQLITE: Dialect = {
  // A text with NUL ends there for the library, but not when it is asked for as bytes.
  column: (table, name) =>
    NUMBERS.has(name) ? `${table}.${name}` : `CAST(${table}.${name} AS BLOB) AS ${name}`,
  // Fractions are as long as they need to be: without the letter behind it, the shorter is the earlier.
  age: (column) => `replace(${column}, 'Z', '')`,
  versions: "group_concat(o.version)",
  bytewise: "",
};

const POSTGRES: Dialect = {
  column: (table, name) => {
    if (NUMBERS.has(name)) return `${table}.${name}`;
    if (TIMES.has(name)) return `${pgTime(`${table}.${name}`)} AS ${name}`;
    return `${table}.${name}::text AS ${name}`;
  },
  age: pgTime,
  versions: "string_agg(o.version::text, ',')",
  bytewise: 'COLLATE "C"',
};

function pgTime(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

function columns(dialect: Dialect, table: Table): string {
  return TABLES[table].map((name) => dialect.column(table, name)).join(", ");
}

/** The graph, the first and the last version of every lineage. */
const HOMES = `SELECT l.lineage_id, min(l.version) AS first, max(l.version) AS last,
  (SELECT n.graph_id FROM nodes n WHERE n.lineage_id = l.lineage_id
    ORDER BY CASE WHEN n.superseded_by IS NULL THEN 0 ELSE 1 END, n.version DESC LIMIT 1) AS graph_id
  FROM nodes l GROUP BY l.lineage_id`;

/** Every node with its place: by the time of its making, or of the version before it if that is later. */
function places({ age, bytewise }: Dialect): string {
  return `SELECT id, max((${age("created_at")} || ' ' || id) ${bytewise})
    OVER (PARTITION BY lineage_id ORDER BY version) AS place FROM nodes`;
}

function nodesSql(dialect: Dialect, homes: string, order: string): string {
  return `SELECT ${columns(dialect, "nodes")}, h.graph_id AS home,
    CASE WHEN nodes.version = h.first THEN 1 ELSE 0 END AS is_first,
    CASE WHEN nodes.version = h.last THEN 1 ELSE 0 END AS is_last,
    (SELECT ${dialect.versions} FROM nodes o LEFT JOIN nodes s ON s.id = o.superseded_by
      WHERE o.lineage_id = nodes.lineage_id AND o.version < nodes.version
      AND (o.superseded_by IS NULL OR s.version > nodes.version)) AS beside,
    CASE WHEN nodes.superseded_by IS NULL
      OR EXISTS (SELECT 1 FROM nodes s WHERE s.id = nodes.superseded_by) THEN 0 ELSE 1 END AS is_cut
    FROM nodes JOIN ${homes} h ON h.lineage_id = nodes.lineage_id ${order}`;
}

function edgesSql(dialect: Dialect, homes: string): string {
  const { age, bytewise } = dialect;
  return `SELECT ${columns(dialect, "edges")}, f.graph_id AS from_home
    FROM edges LEFT JOIN ${homes} f ON f.lineage_id = edges.from_lineage
    ORDER BY COALESCE(f.graph_id, edges.graph_id) ${bytewise}, ${age("edges.created_at")} ${bytewise},
    edges.id ${bytewise}`;
}

function graphsSql(dialect: Dialect): string {
  const { age, bytewise } = dialect;
  return `SELECT ${columns(dialect, "graphs")} FROM graphs
    ORDER BY ${age("graphs.created_at")} ${bytewise}, graphs.id ${bytewise}`;
}

/** Opens the SQLite file of memgraph. */
export function openSqliteRows(path: string): MemgraphRows {
  const file = SqliteFile.open(path);
  try {
    for (const [table, names] of Object.entries(TABLES)) {
      file.requireTable(table, names, "memgraph");
    }
    // On the copy, so that neither sorting nor joining takes memory.
    file.run(`CREATE TABLE cortex_homes AS ${HOMES}`);
    file.run("CREATE UNIQUE INDEX cortex_homes_lineage ON cortex_homes (lineage_id)");
    file.run(`CREATE TABLE cortex_places AS SELECT p.id FROM (${places(SQLITE)}) p
      JOIN nodes n ON n.id = p.id JOIN cortex_homes h ON h.lineage_id = n.lineage_id
      ORDER BY h.graph_id, p.place, n.version`);
    const order = "JOIN cortex_places p ON p.id = nodes.id ORDER BY p.rowid";
    return {
      graphs: file.all(graphsSql(SQLITE)),
      nodeCount: file.count("nodes"),
      edgeCount: file.count("edges"),
      nodes: () => later(file.rows(nodesSql(SQLITE, "cortex_homes", order))),
      edges: () => later(file.rows(edgesSql(SQLITE, "cortex_homes"))),
      close: async () => file.close(),
    };
  } catch (error) {
    file.close();
    throw error;
  }
}

async function* later(rows: Iterable<SqlRow>): AsyncGenerator<SqlRow> {
  yield* rows;
}

/** Rows fetched from a database at once. */
const PAGE_ROWS = 500;

/** Opens the Postgres database of memgraph. */
export async function openPostgresRows(address: string): Promise<MemgraphRows> {
  // Loaded for such an address alone, with the driver behind it.
  const { openForeignDatabase } = await import("@cortex-memory/core/postgres");
  const database = await openForeignDatabase(address);
  const { query } = database;
  try {
    await requireTables(query);
    const pages = async function* (name: string, sql: string): AsyncGenerator<SqlRow> {
      await query(`DECLARE ${name} NO SCROLL CURSOR FOR ${sql}`);
      for (;;) {
        const rows = await query(`FETCH ${PAGE_ROWS} FROM ${name}`);
        yield* rows;
        if (rows.length < PAGE_ROWS) break;
      }
      await query(`CLOSE ${name}`);
    };
    const homes = `(${HOMES})`;
    const order = `JOIN (${places(POSTGRES)}) p ON p.id = nodes.id
      ORDER BY h.graph_id COLLATE "C", p.place COLLATE "C", nodes.version`;
    return {
      graphs: await query(graphsSql(POSTGRES)),
      nodeCount: await countIn(query, "nodes"),
      edgeCount: await countIn(query, "edges"),
      nodes: () => pages("cortex_nodes", nodesSql(POSTGRES, homes, order)),
      edges: () => pages("cortex_edges", edgesSql(POSTGRES, homes)),
      close: () => database.close(),
    };
  } catch (error) {
    await database.close();
    throw error;
  }
}

type Query = ForeignDatabase["query"];

async function countIn(query: Query, table: Table): Promise<number> {
  const [row] = await query(`SELECT count(*)::text AS n FROM ${table}`);
  return Number(row?.n ?? 0);
}

async function requireTables(query: Query): Promise<void> {
  for (const [table, names] of Object.entries(TABLES)) {
    const rows = await query(
      `SELECT a.attname::text AS name FROM pg_attribute a
       WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped`,
      [table],
    );
    const there = new Set(rows.map(({ name }) => name));
    const missing = names.find((name) => !there.has(name));
    if (missing === undefined) continue;
    const what = there.size === 0 ? `no table ${table}` : `no column ${missing} in ${table}`;
    const message = `file: expected a database of memgraph, got one with ${what}`;
    throw new CortexError("ERR_INVALID", message, { field: "file" });
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text of a column, `undefined` where there is none; bytes that are no text are refused. */
export function textOf(value: SqlValue | undefined, field: string): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (!(value instanceof Uint8Array)) return String(value);
  try {
    return UTF8.decode(value);
  } catch (cause) {
    const message = `${field}: expected UTF-8, got bytes that are none`;
    throw new CortexError("ERR_ILL_FORMED", message, { field }, cause);
  }
}
