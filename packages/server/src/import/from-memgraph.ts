/**
 * The store of memgraph, a SQLite file or a Postgres database: graphs, nodes in all their versions, edges.
 *
 * Everything is kept as it was: ids, times to the billionth of a second, authors, and of every version its own
 * kind, tags, freshness and summary. A graph gets its id in small letters as its name here; a lineage becomes a
 * note under its id in the graph that has it now, each node a version of it; an edge is kept with the lineage
 * that it leaves. What does not fit is a bad record, or a piece that is left out of its record, or is reported
 * with the graph.
 */
import { LIMITS } from "@cortex-memory/core";
import type { ImportedVersion } from "@cortex-memory/core/contract";
import { importedName } from "@cortex-memory/core/memgraph";
import { isDatabaseAddress } from "../config.js";
import { fitting, Pieces } from "./memgraph-pieces.js";
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
  NO_LINEAGE,
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
    const found = rows.graphs.map((row) => attempt(placeOf("graph", row), () => graphOf(row)));
    const graphs = found.flatMap((one) => (isUnusable(one) ? [] : [one]));
    const known = new Set(graphs.map(({ id }) => id));
    return {
      graphs,
      unusable: found.filter(isUnusable),
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

/** A graph of the file. One whose id has no place here is left out with all that it holds. */
function graphOf(row: SqlRow): GraphPlan {
  const id = idIn(row.id, "id");
  const pieces = new Pieces(placeOf("graph", row));
  const given = pieces.take(() => needed(row.name, "name"), id, "it is called by its id");
  // A graph without a name is called by its id.
  const isNamed = given.trim() !== "";
  const policy = pieces.take(() => textOf(row.conflict_policy, "conflict_policy"), "") ?? "lww";
  const created = pieces.take(
    () => sinceEpoch(row.created_at, "created_at"),
    { ms: 0, nanos: 0 },
    "it is kept as one of 1970",
  );
  const kinds = pieces.take(() => listIn(row.kind_whitelist, "kind_whitelist"), []);
  const rule = { rule: "kind", column: "kind_whitelist", max: LIMITS.listItems } as const;
  const kindWhitelist = pieces.list(kinds, rule);
  const notes = [
    ...(policy === "lww" || policy === "manual"
      ? []
      : [`conflict_policy: ${policy} means the same as lww there, and is kept as lww`]),
    ...(importedName(id) === id || importedName(id) === id.toLowerCase()
      ? []
      : [`id: ${id} can be no name here; the graph is called ${importedName(id)}`]),
    ...(isNamed || given === ""
      ? []
      : ["name: a blank one can be none here; the graph is called by its id"]),
    ...(kinds.length > 0 && kindWhitelist.length === 0
      ? ["kind_whitelist: no kind of it can be one here, so every kind is allowed"]
      : []),
  ];
  return {
    id: importedName(id),
    name: isNamed
      ? pieces.take(() => fitting("graphName", given, "name"), id, "it is called by its id")
      : id,
    conflictPolicy: policy === "manual" ? "manual" : "lww",
    kindWhitelist,
    metadata: mapIn(pieces, row.metadata, "metadata") ?? {},
    origin: { id, createdAt: created.ms, ...(created.nanos === 0 ? {} : { nanos: created.nanos }) },
    ...(notes.length === 0 ? {} : { notes }),
    ...pieces.lacking,
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
  const pieces = new Pieces(placeOf("node", row));
  const ref = lineageIn(row.lineage_id, "lineage_id");
  const content = fitting("content", needed(row.content, "content"), "content");
  const summary = pieces.take(() => {
    const text = textOf(row.summary, "summary") ?? "";
    return fitting("summary", text, "summary");
  }, "");
  const metadata = mapIn(pieces, row.metadata, "metadata");
  const listed = pieces.take(() => listIn(row.tags, "tags"), []);
  const tags = pieces.list(listed, { rule: "tag", column: "tags", max: LIMITS.importedTags });
  const fresh =
    row.freshness_at === null
      ? undefined
      : pieces.take(() => timeOf(row.freshness_at, "freshness_at"), undefined);
  const isLong = Buffer.byteLength(content) > LIMITS.contentBytes;
  const isMany = tags.length > LIMITS.tags || new Set(tags).size < tags.length;
  return {
    at: placeOf("node", row),
    graph: graphIn(row.home, "graph_id", graphs),
    ref,
    input: {
      type: "note",
      externalId: ref,
      kind: fitting("kind", needed(row.kind, "kind"), "kind"),
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
      ...importedFrom(row, pieces),
      version: numberIn(row.version, "version"),
      beside: besideIn(row.beside),
      ...(isLong ? { content } : {}),
      ...(isMany ? { tags } : {}),
      ...(fresh === undefined || fresh.nanos === 0 ? {} : { freshnessNanos: fresh.nanos }),
    },
    isFirst: Number(row.is_first) === 1,
    isLast: Number(row.is_last) === 1,
    ...told(row),
    ...pieces.lacking,
  };
}

/** What becomes of a node that is not what it was there. */
function told(row: SqlRow): Pick<NodeRecord, "notes"> {
  const notes = [...elsewhere(row), ...cut(row)];
  return notes.length === 0 ? {} : { notes };
}

/** A fork may have a current version in each of two graphs there; here a lineage has one graph at a time. */
function elsewhere(row: SqlRow): readonly string[] {
  const [own, home] = [textOf(row.graph_id, "graph_id"), textOf(row.home, "graph_id")];
  if (row.superseded_by !== null || own === home) return [];
  return [
    `graph_id: a current version of a lineage that is in graph ${home}: it stays open there, and lists, searches and the schema of ${home} show it, not those of ${own}`,
  ];
}

/** A row that was taken out by hand: the version before it stands where nothing else took its place. */
function cut(row: SqlRow): readonly string[] {
  if (Number(row.is_cut) !== 1) return [];
  const instead =
    Number(row.is_last) === 1 ? "this version is current here" : "the next version took its place";
  return [
    `superseded_by: names ${textOf(row.superseded_by, "superseded_by")}, which is not there: ${instead}`,
  ];
}

/** What every row says of its origin. */
function importedFrom(
  row: SqlRow,
  pieces: Pieces,
): Pick<ImportedVersion, "id" | "graph" | "createdAt" | "createdBy" | "nanos"> {
  const { ms, nanos } = timeOf(row.created_at, "created_at");
  return {
    id: idIn(row.id, "id"),
    graph: idIn(row.graph_id, "graph_id"),
    createdAt: ms,
    ...(nanos === 0 ? {} : { nanos }),
    createdBy: pieces.take(() => {
      const author = textOf(row.created_by, "created_by") ?? "";
      return fitting("author", author, "created_by");
    }, ""),
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
  const [code, message] = ["ERR_UNKNOWN_ENDPOINT", NO_LINEAGE] as const;
  return { at: placeOf("edge", row), unusable: "skip", code, message };
}

function edgeOf(row: SqlRow, graphs: ReadonlySet<string>): LinkRecord {
  const pieces = new Pieces(placeOf("edge", row));
  const own = importedFrom(row, pieces);
  graphIn(row.graph_id, "graph_id", graphs);
  const toGraph = row.to_graph === null ? own.graph : idIn(row.to_graph, "to_graph");
  // It is kept where the lineage that it leaves is now; which graphs it named is kept beside it.
  const graph = importedName(textOf(row.from_home, "graph_id") ?? own.graph);
  const far = toGraph === own.graph ? graph : importedName(toGraph);
  const metadata = mapIn(pieces, row.metadata, "metadata");
  const ordinal =
    row.ordinal === null
      ? undefined
      : pieces.take(() => numberIn(row.ordinal, "ordinal"), undefined);
  return {
    at: placeOf("edge", row),
    graph,
    from: lineageIn(row.from_lineage, "from_lineage"),
    kind: needed(row.kind, "kind"),
    to: lineageIn(row.to_lineage, "to_lineage"),
    ...(far === graph ? {} : { toGraph: far }),
    ...(ordinal === undefined ? {} : { ordinal }),
    ...(metadata === undefined ? {} : { metadata }),
    imported: { ...own, toGraph },
    ...pieces.lacking,
  };
}

function graphIn(value: SqlValue | undefined, field: string, graphs: ReadonlySet<string>): string {
  const id = needed(value, field);
  const name = importedName(id);
  if (graphs.has(name)) return name;
  throw wrong(field, "a graph of the file that comes in", id);
}

/** A column with an id that is kept as it is. */
function idIn(value: SqlValue | undefined, field: string): string {
  return fitting("id", needed(value, field), field);
}

/** A column that names a lineage. */
function lineageIn(value: SqlValue | undefined, field: string): string {
  return fitting("lineage", needed(value, field), field);
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

/** The same of a graph, which is never older than 1970. */
function sinceEpoch(value: SqlValue | undefined, field: string): ReturnType<typeof timeOf> {
  const time = timeOf(value, field);
  if (time.ms >= 0) return time;
  throw wrong(field, "a time from 1970 on", value);
}

/** A column with a JSON list of texts; nothing is an empty one. */
function listIn(value: SqlValue | undefined, field: string): readonly string[] {
  const text = textOf(value, field) ?? "";
  return text === "" ? [] : textsIn(jsonIn(text, field) ?? [], field);
}

/** A column with a JSON object, without the members that have no place; an empty one is as good as none. */
function mapIn(
  pieces: Pieces,
  value: SqlValue | undefined,
  field: string,
): { readonly [key: string]: unknown } | undefined {
  const map = pieces.take(() => {
    const text = textOf(value, field) ?? "";
    return text === "" ? {} : objectIn(jsonIn(text, field) ?? {}, field);
  }, {});
  const kept = pieces.members("metadata", map, field);
  return Object.keys(kept).length === 0 ? undefined : kept;
}
