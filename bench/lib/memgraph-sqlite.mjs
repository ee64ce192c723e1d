/**
 * The hand-rolled memgraph: its tables in one SQLite file (WAL, `synchronous=FULL`) behind an MCP server
 * made with the SDK of the protocol, as ours is, with the calls that are measured. Each call is one
 * transaction, heads are superseded and the full-text index is kept in it, as memgraph does; beyond the
 * types of the arguments nothing is checked.
 *
 * Run as a program with the file it serves; `fillSqlite` makes one.
 */
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";
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
export class MemgraphFile {
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

  close() {
    this.#db.close();
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

/** Opens a file, or makes it; `undefined` where there is no SQLite. @param {string} path */
export async function openMemgraphFile(path) {
  const DatabaseSync = await loadDatabase();
  return DatabaseSync === undefined ? undefined : new MemgraphFile(new DatabaseSync(path));
}

/**
 * Makes a file with a graph, nodes and edges; false where there is no SQLite.
 * @param {string} path
 * @param {{ readonly graph: string, readonly nodes: readonly Json[], readonly edges: readonly Json[] }} what
 */
export async function fillSqlite(path, { graph, nodes, edges }) {
  const file = await openMemgraphFile(path);
  file?.all(() => {
    file.createGraph(graph);
    for (const node of nodes) file.putNode(node);
    for (const edge of edges) file.putEdge(edge);
  });
  return file !== undefined;
}

const text = z.string();
const node = z.object({
  graph_id: text,
  kind: text,
  content: text.optional(),
  summary: text.optional(),
  tags: z.array(text).optional(),
  metadata: z.record(text, z.unknown()).optional(),
  created_by: text.optional(),
  lineage_id: text.optional(),
});
const edge = z.object({
  graph_id: text,
  from_lineage: text,
  to_lineage: text,
  kind: text,
  to_graph: text.optional(),
  ordinal: z.int().optional(),
});

/** Serves the file over stdin and stdout with the SDK of the protocol, as the tutorial of the SDK does. */
async function serve(/** @type {string} */ path) {
  const file = await openMemgraphFile(path);
  if (file === undefined) throw new Error("there is no SQLite");
  const listed = { graph_id: text, limit: z.int().optional(), offset: z.int().optional() };
  const walked = {
    from_lineage: text,
    max_depth: z.int().optional(),
    max_nodes: z.int().optional(),
  };
  /** @type {Record<string, { input: z.ZodObject, call: (input: Json) => unknown }>} */
  const tools = {
    put_node: { input: node, call: (input) => file.all(() => file.putNode(input)) },
    put_edge: { input: edge, call: (input) => file.all(() => file.putEdge(input)) },
    get_node: {
      input: z.object({ lineage_id: text }),
      call: (input) => file.getNode(input.lineage_id),
    },
    list_nodes: { input: z.object(listed), call: (input) => file.listNodes(input) },
    traverse: { input: z.object(walked), call: (input) => file.traverse(input) },
  };
  const server = new McpServer({ name: "memgraph", version: "1" });
  for (const [name, { input, call }] of Object.entries(tools)) {
    server.registerTool(`memgraph_${name}`, { description: name, inputSchema: input }, (given) => {
      const structuredContent = /** @type {Json} */ (call(given));
      const content = [
        { type: /** @type {const} */ ("text"), text: JSON.stringify(structuredContent) },
      ];
      return { content, structuredContent };
    });
  }
  await server.connect(new StdioServerTransport());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve(process.argv[2] ?? "");
