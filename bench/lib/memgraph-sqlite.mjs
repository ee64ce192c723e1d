/**
 * The hand-rolled memgraph: its tables in one SQLite file (WAL, `synchronous=FULL`) behind a tiny MCP
 * server on stdin and stdout, with the six calls that are measured. Each call is one transaction, heads
 * are superseded and the full-text index is kept in it, as memgraph does; nothing is checked.
 *
 * Run as a program with the file it serves; `fillSqlite` makes one.
 */
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { loadDatabase } from "./sqlite.mjs";

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
  CREATE TABLE IF NOT EXISTS graphs (id TEXT PRIMARY KEY, name TEXT NOT NULL,
    conflict_policy TEXT NOT NULL DEFAULT 'lww', kind_whitelist TEXT, metadata TEXT,
    created_at TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS nodes (id TEXT PRIMARY KEY, graph_id TEXT NOT NULL REFERENCES graphs(id),
    lineage_id TEXT NOT NULL, version INTEGER NOT NULL, kind TEXT NOT NULL, content TEXT NOT NULL,
    summary TEXT, tags TEXT, metadata TEXT, freshness_at TEXT, created_at TEXT NOT NULL,
    created_by TEXT NOT NULL, superseded_by TEXT, UNIQUE (lineage_id, version));
  CREATE TABLE IF NOT EXISTS edges (id TEXT PRIMARY KEY, graph_id TEXT NOT NULL REFERENCES graphs(id),
    from_lineage TEXT NOT NULL, to_graph TEXT NOT NULL, to_lineage TEXT NOT NULL, kind TEXT NOT NULL,
    metadata TEXT, ordinal INTEGER, created_at TEXT NOT NULL, created_by TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS idx_nodes_lineage_current ON nodes (lineage_id) WHERE superseded_by IS NULL;
  CREATE INDEX IF NOT EXISTS idx_nodes_graph_kind ON nodes (graph_id, kind);
  CREATE INDEX IF NOT EXISTS idx_edges_from ON edges (from_lineage, kind);
  CREATE INDEX IF NOT EXISTS idx_edges_to ON edges (to_lineage, kind);
  CREATE INDEX IF NOT EXISTS idx_edges_graph_to ON edges (graph_id, to_graph);
  CREATE VIRTUAL TABLE IF NOT EXISTS nodes_fts USING fts5(content, summary, tags, node_id UNINDEXED,
    tokenize = 'porter unicode61');
`;

/** @typedef {Record<string, unknown>} Json */

/** An open file of memgraph's tables. */
class MemgraphFile {
  #db;
  /** @type {Map<string, ReturnType<import("./sqlite.mjs").Database["prepare"]>>} */
  #prepared = new Map();

  constructor(/** @type {import("./sqlite.mjs").Database} */ db) {
    this.#db = db;
    db.exec(SCHEMA);
  }

  #sql(/** @type {string} */ text) {
    const known = this.#prepared.get(text) ?? this.#db.prepare(text);
    this.#prepared.set(text, known);
    return known;
  }

  /** Runs work in one transaction. */
  all(/** @type {() => unknown} */ work) {
    this.#db.exec("BEGIN IMMEDIATE");
    const done = work();
    this.#db.exec("COMMIT");
    return done;
  }

  createGraph(/** @type {string} */ id) {
    this.#sql("INSERT OR IGNORE INTO graphs (id, name, created_at) VALUES (?, ?, ?)").run(
      id,
      id,
      now(),
    );
  }

  putNode(/** @type {Json} */ input) {
    const {
      graph_id,
      kind,
      content,
      summary = null,
      tags,
      metadata,
      created_by = "unknown",
    } = input;
    this.#sql("SELECT conflict_policy FROM graphs WHERE id = ?").get(graph_id);
    const lineage = input.lineage_id ?? newId();
    const heads = this.#sql(
      "SELECT id, version FROM nodes WHERE lineage_id = ? AND superseded_by IS NULL ORDER BY version DESC, id",
    ).all(lineage);
    const [id, version, at] = [newId(), Number(heads[0]?.version ?? 0) + 1, now()];
    const texts = [tags, metadata].map((value) =>
      value === undefined ? null : JSON.stringify(value),
    );
    this.#sql(
      "INSERT INTO nodes (id, graph_id, lineage_id, version, kind, content, summary, tags, metadata, created_at, created_by) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
    ).run(id, graph_id, lineage, version, kind, content, summary, ...texts, at, created_by);
    for (const head of heads) {
      this.#sql("UPDATE nodes SET superseded_by = ? WHERE id = ?").run(id, head.id);
      this.#sql("DELETE FROM nodes_fts WHERE node_id = ?").run(head.id);
    }
    this.#sql("INSERT INTO nodes_fts (content, summary, tags, node_id) VALUES (?,?,?,?)").run(
      content,
      summary ?? "",
      texts[0] ?? "",
      id,
    );
    return this.#node(this.#sql("SELECT * FROM nodes WHERE id = ?").get(id) ?? {});
  }

  putEdge(/** @type {Json} */ input) {
    const { graph_id, from_lineage, to_lineage, kind, to_graph = graph_id, ordinal = null } = input;
    this.#sql("SELECT 1 FROM graphs WHERE id = ?").get(graph_id);
    const [id, at] = [newId(), now()];
    this.#sql(
      "INSERT INTO edges (id, graph_id, from_lineage, to_graph, to_lineage, kind, ordinal, created_at, created_by) VALUES (?,?,?,?,?,?,?,?,?)",
    ).run(id, graph_id, from_lineage, to_graph, to_lineage, kind, ordinal, at, "");
    return {
      id,
      graph_id,
      from_lineage,
      to_graph,
      to_lineage,
      kind,
      created_at: at,
      created_by: "",
    };
  }

  getNode(/** @type {unknown} */ lineage) {
    const row = this.#head(lineage);
    return row === undefined ? {} : this.#node(row);
  }

  listNodes(/** @type {Json} */ { graph_id, limit = 50, offset = 0 }) {
    const rows = this.#sql(
      "SELECT * FROM nodes WHERE graph_id = ? AND superseded_by IS NULL ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?",
    ).all(graph_id, limit, offset);
    return { nodes: rows.map((row) => this.#node(row)), next_offset: Number(offset) + rows.length };
  }

  traverse(/** @type {Json} */ { from_lineage, max_depth = 2, max_nodes = 50 }) {
    /** @type {unknown[]} */
    const nodes = [];
    /** @type {unknown[]} */
    const edges = [];
    const seen = new Set([from_lineage]);
    const add = (/** @type {unknown} */ lineage) => {
      const row = this.#head(lineage);
      if (row !== undefined) nodes.push(this.#node(row));
    };
    add(from_lineage);
    let frontier = [from_lineage];
    for (let depth = 0; depth < Number(max_depth) && frontier.length > 0; depth += 1) {
      const next = [];
      for (const lineage of frontier) {
        const found = this.#sql(
          "SELECT * FROM edges WHERE from_lineage = ? ORDER BY ordinal IS NULL, ordinal, created_at",
        ).all(lineage);
        for (const edge of found.filter((one) => one.to_graph === one.graph_id)) {
          edges.push(edge);
          if (seen.has(edge.to_lineage)) continue;
          seen.add(edge.to_lineage);
          next.push(edge.to_lineage);
          add(edge.to_lineage);
          if (nodes.length >= Number(max_nodes)) return { nodes, edges };
        }
      }
      frontier = next;
    }
    return { nodes, edges };
  }

  #head(/** @type {unknown} */ lineage) {
    return this.#sql(
      "SELECT * FROM nodes WHERE lineage_id = ? AND superseded_by IS NULL ORDER BY version DESC, id LIMIT 1",
    ).get(lineage);
  }

  #node(/** @type {Json} */ row) {
    const others = this.#sql(
      "SELECT id FROM nodes WHERE lineage_id = ? AND superseded_by IS NULL AND id <> ?",
    ).all(row.lineage_id, row.id);
    const shown = Object.entries(row).filter(([, value]) => value !== null && value !== "");
    return {
      ...Object.fromEntries(shown),
      ...(row.tags == null ? {} : { tags: JSON.parse(String(row.tags)) }),
      ...(row.metadata == null ? {} : { metadata: JSON.parse(String(row.metadata)) }),
      is_current: row.superseded_by === null,
      is_stale: false,
      ...(others.length === 0 ? {} : { conflicts: others.map(({ id }) => id) }),
    };
  }
}

let last = 0;
function newId() {
  last += 1;
  return `${Date.now().toString(36)}-${last}-${randomBytes(6).toString("hex")}`;
}

function now() {
  return new Date().toISOString();
}

async function openFile(/** @type {string} */ path) {
  const DatabaseSync = await loadDatabase();
  return DatabaseSync === undefined ? undefined : new MemgraphFile(new DatabaseSync(path));
}

/**
 * Makes a file with a graph, nodes and edges; false where there is no SQLite.
 * @param {string} path
 * @param {{ readonly graph: string, readonly nodes: readonly Json[], readonly edges: readonly Json[] }} what
 */
export async function fillSqlite(path, { graph, nodes, edges }) {
  const file = await openFile(path);
  file?.all(() => {
    file.createGraph(graph);
    for (const node of nodes) file.putNode(node);
    for (const edge of edges) file.putEdge(edge);
  });
  return file !== undefined;
}

/** Answers lines of JSON-RPC until there are no more. */
async function serve(/** @type {string} */ path) {
  const file = await openFile(path);
  if (file === undefined) throw new Error("there is no SQLite");
  /** @type {Record<string, (input: Json) => unknown>} */
  const tools = {
    memgraph_put_node: (input) => file.all(() => file.putNode(input)),
    memgraph_put_edge: (input) => file.all(() => file.putEdge(input)),
    memgraph_get_node: ({ lineage_id }) => file.getNode(lineage_id),
    memgraph_list_nodes: (input) => file.listNodes(input),
    memgraph_traverse: (input) => file.traverse(input),
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, method, params } = JSON.parse(line);
    const structuredContent = method === "tools/call" ? tools[params.name]?.(params.arguments) : {};
    const text = JSON.stringify(structuredContent);
    const result = { content: [{ type: "text", text }], structuredContent };
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve(process.argv[2] ?? "");
