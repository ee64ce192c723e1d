/**
 * The store of memgraph, a SQLite file or a Postgres database: graphs, nodes in all their versions, edges.
 *
 * Everything is kept as it was: ids, times to the billionth of a second, authors, and of every version its
 * own kind, tags, freshness and summary. A graph gets its id in small letters as its name here; a lineage
 * becomes a note under its id in the graph that has it now, each node a version of it; an edge is kept with
 * the lineage that it leaves. What does not fit is a bad record, or is told beside the graph.
 */
import { CortexError, LIMITS } from "@cortex-memory/core";
import type { ImportedVersion } from "@cortex-memory/core/contract";
import { importedName } from "@cortex-memory/core/memgraph";
import { isDatabaseAddress } from "../config.js";
import { type MemgraphRows, openPostgresRows, openSqliteRows, textOf } from "./memgraph-rows.js";
import { IMPORTER } from "./memories.js";
import {
  attempt,
  type ForeignFile,
  fineTimeIn,
  type GraphPlan,
  isUnusable,
  jsonIn,
  type LinkRecord,
  type NodeRecord,
  objectIn,
  type Step,
  textIn,
  textsIn,
  type Unusable,
  wrong,
} from "./records.js";
import type { SqlRow, SqlValue } from "./sqlite-file.js";

/** Opens a memgraph database. */
export async function openMemgraph(place: string): Promise<ForeignFile> {
  const rows = isDatabaseAddress(place) ? await openPostgresRows(place) : openSqliteRows(place);
  try {
    const graphs = rows.graphs.map(namedGraph);
    const known = new Set(graphs.map(({ id }) => id));
    return {
      graphs,
      total: rows.nodeCount + rows.edgeCount,
      async *memories() {},
      nodes: () => nodes(rows, known),
      links: () => edges(rows, known),
      close: () => rows.close(),
    };
  } catch (error) {
    await rows.close();
    throw error;
  }
}

/** A graph of the file. No import goes past a bad one, because everything that it holds would be left out: it is named. */
function namedGraph(row: SqlRow): GraphPlan {
  const plan = attempt(placeOf("graph", row), () => graphOf(row));
  if (!isUnusable(plan)) return plan;
  throw new CortexError(plan.code, `${plan.at}: ${plan.message}`);
}

function graphOf(row: SqlRow): GraphPlan {
  const id = needed(row.id, "graphs.id");
  const name = needed(row.name, "graphs.name");
  const policy = textOf(row.conflict_policy, "graphs.conflict_policy") ?? "lww";
  const created = timeOf(row.created_at, "graphs.created_at");
  const notes = [
    ...(policy === "lww" || policy === "manual"
      ? []
      : [`conflict_policy: ${policy} means the same as lww there, and is kept as lww`]),
    ...(importedName(id) === id || importedName(id) === id.toLowerCase()
      ? []
      : [`id: ${id} can be no name here; the graph is called ${importedName(id)}`]),
  ];
  return {
    id: importedName(id),
    // A graph without a name is called by its id.
    name: name === "" ? id : name,
    conflictPolicy: policy === "manual" ? "manual" : "lww",
    kindWhitelist: listIn(row.kind_whitelist, "graphs.kind_whitelist"),
    metadata: mapIn(row.metadata, "graphs.metadata") ?? {},
    origin: { id, createdAt: created.ms, ...(created.nanos === 0 ? {} : { nanos: created.nanos }) },
    ...(notes.length === 0 ? {} : { notes }),
  };
}

async function* nodes(
  rows: MemgraphRows,
  graphs: ReadonlySet<string>,
): AsyncGenerator<Step<NodeRecord>> {
  let done = 0;
  for await (const row of rows.nodes()) {
    done += 1;
    yield { item: attempt(placeOf("node", row), () => nodeOf(row, graphs)), done };
  }
}

function placeOf(what: "graph" | "node" | "edge", row: SqlRow): string {
  const id = attempt(what, () => textOf(row.id, "id") ?? "");
  return typeof id === "string" ? `${what} ${id}` : what;
}

function nodeOf(row: SqlRow, graphs: ReadonlySet<string>): NodeRecord {
  const ref = needed(row.lineage_id, "lineage_id");
  const content = needed(row.content, "content");
  const summary = textOf(row.summary, "summary") ?? "";
  const metadata = mapIn(row.metadata, "metadata");
  const tags = listIn(row.tags, "tags");
  const fresh = row.freshness_at === null ? undefined : timeOf(row.freshness_at, "freshness_at");
  const isLong = Buffer.byteLength(content) > LIMITS.contentBytes;
  const isMany = tags.length > LIMITS.tags || new Set(tags).size < tags.length;
  return {
    at: placeOf("node", row),
    graph: graphIn(row.home, "graph_id", graphs),
    ref,
    input: {
      type: "note",
      externalId: ref,
      kind: needed(row.kind, "kind"),
      by: IMPORTER,
      source: "imported",
      data: {
        content: isLong ? "" : content,
        ...(summary === "" ? {} : { summary }),
        ...(metadata === undefined ? {} : { metadata }),
      },
      ...(isMany ? {} : { tags }),
      ...(fresh === undefined ? {} : { freshnessAt: fresh.ms }),
    },
    imported: {
      ...importedFrom(row),
      version: numberIn(row.version, "version"),
      beside: besideIn(row.beside),
      ...(isLong ? { content } : {}),
      ...(isMany ? { tags } : {}),
      ...(fresh === undefined || fresh.nanos === 0 ? {} : { freshnessNanos: fresh.nanos }),
    },
    isFirst: Number(row.is_first) === 1,
    isLast: Number(row.is_last) === 1,
  };
}

/** What every row says of its origin. */
function importedFrom(
  row: SqlRow,
): Pick<ImportedVersion, "id" | "graph" | "createdAt" | "createdBy" | "nanos"> {
  const { ms, nanos } = timeOf(row.created_at, "created_at");
  return {
    id: needed(row.id, "id"),
    graph: needed(row.graph_id, "graph_id"),
    createdAt: ms,
    ...(nanos === 0 ? {} : { nanos }),
    createdBy: textOf(row.created_by, "created_by") ?? "",
  };
}

function besideIn(value: SqlValue | undefined): readonly number[] {
  const text = textOf(value, "superseded_by") ?? "";
  return text === "" ? [] : text.split(",").map(Number);
}

async function* edges(
  rows: MemgraphRows,
  graphs: ReadonlySet<string>,
): AsyncGenerator<Step<LinkRecord>> {
  let done = rows.nodeCount;
  for await (const row of rows.edges()) {
    done += 1;
    const item = attempt(placeOf("edge", row), () => edgeOf(row, graphs));
    yield { item: isUnusable(item) ? item : (unfounded(row) ?? item), done };
  }
}

/** An edge that leaves a lineage which is not there; memgraph lets such edges be. */
function unfounded(row: SqlRow): Unusable | undefined {
  if (row.from_home !== null) return undefined;
  const message =
    "from_lineage: names a lineage that is not there, and an edge is kept with its lineage";
  return { at: placeOf("edge", row), unusable: "skip", code: "ERR_UNKNOWN_ENDPOINT", message };
}

function edgeOf(row: SqlRow, graphs: ReadonlySet<string>): LinkRecord {
  const own = importedFrom(row);
  graphIn(row.graph_id, "graph_id", graphs);
  const toGraph = textOf(row.to_graph, "to_graph") ?? own.graph;
  // It is kept where the lineage that it leaves is now; which graphs it named is kept beside it.
  const graph = importedName(textOf(row.from_home, "graph_id") ?? own.graph);
  const far = toGraph === own.graph ? graph : importedName(toGraph);
  const metadata = mapIn(row.metadata, "metadata");
  return {
    at: placeOf("edge", row),
    graph,
    from: needed(row.from_lineage, "from_lineage"),
    kind: needed(row.kind, "kind"),
    to: needed(row.to_lineage, "to_lineage"),
    ...(far === graph ? {} : { toGraph: far }),
    ...(row.ordinal === null ? {} : { ordinal: numberIn(row.ordinal, "ordinal") }),
    ...(metadata === undefined ? {} : { metadata }),
    imported: { ...own, toGraph },
  };
}

function graphIn(value: SqlValue | undefined, field: string, graphs: ReadonlySet<string>): string {
  const id = needed(value, field);
  const name = importedName(id);
  if (graphs.has(name)) return name;
  throw wrong(field, "a graph of the file", id);
}

/** A column that must hold a text. */
function needed(value: SqlValue | undefined, field: string): string {
  return textIn(textOf(value, field), field);
}

function numberIn(value: SqlValue | undefined, field: string): number {
  const number = Number(value);
  if (value !== null && Number.isSafeInteger(number)) return number;
  throw wrong(field, "a whole number", value);
}

function timeOf(
  value: SqlValue | undefined,
  field: string,
): { readonly ms: number; readonly nanos: number } {
  return fineTimeIn(textOf(value, field), field);
}

/** A column with a JSON list of texts; nothing is an empty one. */
function listIn(value: SqlValue | undefined, field: string): readonly string[] {
  const text = textOf(value, field) ?? "";
  return text === "" ? [] : textsIn(jsonIn(text, field) ?? [], field);
}

/** A column with a JSON object; an empty one is as good as none. */
function mapIn(
  value: SqlValue | undefined,
  field: string,
): { readonly [key: string]: unknown } | undefined {
  const text = textOf(value, field) ?? "";
  const map = text === "" ? {} : objectIn(jsonIn(text, field) ?? {}, field);
  return Object.keys(map).length === 0 ? undefined : map;
}
