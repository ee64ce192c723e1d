/**
 * The SQLite file of memgraph: graphs, nodes in all their versions, edges.
 *
 * A graph becomes a graph of the same id in small letters, with its name, policy, whitelist and
 * metadata. A lineage becomes a note under its id, each node a version of it. Ids of graphs, nodes and
 * edges stay in metadata as `memgraph_id`; the time a node was made is the time its version holds from.
 */
import { actorFor, LIMITS } from "@cortex-memory/core";
import {
  attempt,
  type ForeignFile,
  type GraphPlan,
  isUnusable,
  jsonIn,
  type LinkRecord,
  type MemoryRecord,
  objectIn,
  type Step,
  textIn,
  textsIn,
  timeIn,
  type Unusable,
  type VersionDraft,
  wrong,
} from "./records.js";
import { SqliteFile, type SqlRow, type SqlValue } from "./sqlite-file.js";

/** The member of metadata that keeps an id of the file. */
const MARK = "memgraph_id";

const TABLES = {
  graphs: ["id", "name", "conflict_policy", "kind_whitelist", "metadata", "created_at"],
  nodes: [
    "id",
    "graph_id",
    "lineage_id",
    "version",
    "kind",
    "content",
    "summary",
    "tags",
    "metadata",
    "freshness_at",
    "created_at",
    "created_by",
    "superseded_by",
  ],
  edges: [
    "id",
    "graph_id",
    "from_lineage",
    "to_graph",
    "to_lineage",
    "kind",
    "metadata",
    "ordinal",
    "created_at",
    "created_by",
  ],
} as const;

/** Opens a memgraph database. */
export function openMemgraph(path: string): ForeignFile {
  const file = SqliteFile.open(path);
  try {
    for (const [table, columns] of Object.entries(TABLES)) {
      file.requireTable(table, columns, "memgraph");
    }
    file.order("nodes", ["graph_id", "lineage_id", "version"]);
    file.order("edges", ["graph_id", "from_lineage", "created_at", "id"]);
    const graphs = file.all("SELECT * FROM graphs ORDER BY created_at, id").map(graphOf);
    const policies = new Map(graphs.map(({ id, conflictPolicy }) => [id, conflictPolicy]));
    const nodes = file.count("nodes");
    return {
      graphs,
      total: nodes + file.count("edges"),
      memories: () => lineages(file, policies),
      links: () => edges(file, nodes, policies),
      close: async () => file.close(),
    };
  } catch (error) {
    file.close();
    throw error;
  }
}

type Policies = ReadonlyMap<string, GraphPlan["conflictPolicy"]>;

function graphOf(row: SqlRow): GraphPlan {
  const id = textIn(row.id, "graphs.id");
  const created = row.created_at;
  return {
    id: graphId(id),
    name: textIn(row.name, "graphs.name"),
    // Any other word behaves as lww there.
    conflictPolicy: row.conflict_policy === "manual" ? "manual" : "lww",
    kindWhitelist: listIn(row.kind_whitelist, "graphs.kind_whitelist"),
    metadata: {
      ...mapIn(row.metadata, "graphs.metadata"),
      [MARK]: id,
      ...(created === null ? {} : { memgraph_created_at: textIn(created, "graphs.created_at") }),
    },
  };
}

/** The id of a graph here: its own in small letters where that is a safe name. */
function graphId(id: string): string {
  return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(id) ? id.toLowerCase() : actorFor(id);
}

/** Lineages with all their nodes, graph by graph. */
async function* lineages(file: SqliteFile, policies: Policies): AsyncGenerator<Step<MemoryRecord>> {
  let group: SqlRow[] = [];
  let done = 0;
  const columns = TABLES.nodes.join(", ");
  const sql = `SELECT ${columns} FROM nodes ORDER BY graph_id, lineage_id, version`;
  for (const row of file.rows(sql)) {
    const [first] = group;
    const isSame = first?.graph_id === row.graph_id && first?.lineage_id === row.lineage_id;
    if (first !== undefined && !isSame) {
      for (const item of lineageOf(group, policies)) yield { item, done };
      group = [];
    }
    group.push(row);
    done += 1;
  }
  if (group.length > 0) for (const item of lineageOf(group, policies)) yield { item, done };
}

function lineageOf(
  rows: readonly SqlRow[],
  policies: Policies,
): readonly (MemoryRecord | Unusable)[] {
  const replaced = new Set(rows.map((row) => row.superseded_by));
  const versions: VersionDraft[] = [];
  for (const [at, row] of rows.entries()) {
    const place = `node ${String(row.id)}`;
    const draft = attempt(place, () => {
      const graph = graphId(textIn(row.graph_id, "graph_id"));
      const policy = policies.get(graph);
      if (policy === undefined) throw wrong("graph_id", "a graph of the file", row.graph_id);
      const stoodBeside = at > 0 && !replaced.has(row.id ?? null);
      return { input: versionOf(row), rival: stoodBeside && policy === "manual" };
    });
    if (isUnusable(draft)) return [draft];
    versions.push(draft);
  }
  const [first] = rows;
  const graph = graphId(String(first?.graph_id));
  const ref = String(first?.lineage_id);
  const at = `node ${String(first?.id)}`;
  const record: MemoryRecord = { at, graph, ref, versions, numbered: true };
  const open = rows.filter(({ superseded_by: by }) => by === null).length;
  if (open < 2 || policies.get(graph) === "manual") return [record];
  const message = `${open} nodes were current side by side; under policy lww the newest is`;
  return [record, { at, unusable: "skip", code: "ERR_CONFLICT", message }];
}

function versionOf(row: SqlRow): VersionDraft["input"] {
  const { by, metadata } = authorOf(row);
  const summary = row.summary === null ? "" : textIn(row.summary, "summary");
  return {
    type: "note",
    externalId: textIn(row.lineage_id, "lineage_id"),
    kind: textIn(row.kind, "kind"),
    tags: listIn(row.tags, "tags"),
    data: {
      content: textIn(row.content, "content"),
      ...(summary === "" ? {} : { summary }),
      metadata: { ...mapIn(row.metadata, "metadata"), ...metadata, [MARK]: textIn(row.id, "id") },
    },
    validFrom: timeIn(row.created_at, "created_at"),
    ...(row.freshness_at === null ? {} : { freshnessAt: timeIn(row.freshness_at, "freshness_at") }),
    ...by,
  };
}

/** Who made a row: a principal where it fits one, else a note in its metadata. */
function authorOf(row: SqlRow): {
  readonly by: { readonly by?: string };
  readonly metadata: { readonly [key: string]: unknown };
} {
  const author = row.created_by ?? "";
  if (typeof author !== "string") throw wrong("created_by", "a text", author);
  if (author === "") return { by: {}, metadata: {} };
  const fits = Buffer.byteLength(author) <= LIMITS.principalBytes;
  if (fits) return { by: { by: author }, metadata: {} };
  return { by: {}, metadata: { memgraph_created_by: author } };
}

/** Edges in the order in which memgraph lists them. */
async function* edges(
  file: SqliteFile,
  before: number,
  policies: Policies,
): AsyncGenerator<Step<LinkRecord>> {
  let done = before;
  const columns = TABLES.edges.join(", ");
  const sql = `SELECT ${columns} FROM edges ORDER BY graph_id, from_lineage, created_at, id`;
  for (const row of file.rows(sql)) {
    done += 1;
    yield { item: attempt(`edge ${String(row.id)}`, () => edgeOf(row, policies)), done };
  }
}

function edgeOf(row: SqlRow, policies: Policies): LinkRecord {
  const id = textIn(row.id, "id");
  const graph = graphId(textIn(row.graph_id, "graph_id"));
  if (!policies.has(graph)) throw wrong("graph_id", "a graph of the file", row.graph_id);
  const far = row.to_graph === null ? graph : graphId(textIn(row.to_graph, "to_graph"));
  const { by, metadata } = authorOf(row);
  return {
    at: `edge ${id}`,
    graph,
    from: textIn(row.from_lineage, "from_lineage"),
    kind: textIn(row.kind, "kind"),
    to: textIn(row.to_lineage, "to_lineage"),
    ...(far === graph ? {} : { toGraph: far }),
    ...(row.ordinal === null ? {} : { ordinal: Number(row.ordinal) }),
    metadata: {
      ...mapIn(row.metadata, "metadata"),
      ...metadata,
      ...(row.created_at === null
        ? {}
        : { memgraph_created_at: textIn(row.created_at, "created_at") }),
      [MARK]: id,
    },
    mark: MARK,
    ...by,
  };
}

/** A column with a JSON list of texts; nothing is an empty one. */
function listIn(value: SqlValue | undefined, field: string): readonly string[] {
  const text = jsonText(value, field);
  return text === undefined ? [] : textsIn(jsonIn(text, field) ?? [], field);
}

/** A column with a JSON object; nothing is an empty one. */
function mapIn(value: SqlValue | undefined, field: string): { readonly [key: string]: unknown } {
  const text = jsonText(value, field);
  return text === undefined ? {} : objectIn(jsonIn(text, field) ?? {}, field);
}

function jsonText(value: SqlValue | undefined, field: string): string | undefined {
  if (value === null || value === undefined || value === "") return undefined;
  return textIn(value, field);
}
