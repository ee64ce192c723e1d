/**
 * The index of kb: a SQLite file with a table of notes.
 *
 * A workspace becomes a graph, a note a note of kind `fact` with the lineage id that memgraph's own
 * importer gives it, a link an edge `cites`. What kb knows beside the text stays in metadata under
 * `kb_` names. A link to a note that is not in the index is reported and left out.
 */
import { createHash } from "node:crypto";
import { actorFor, isCortexError } from "@cortex-memory/core";
import {
  attempt,
  type ForeignFile,
  type GraphPlan,
  isUnusable,
  jsonIn,
  type LinkRecord,
  type MemoryRecord,
  type Step,
  textIn,
  textsIn,
  timeIn,
  type Unusable,
} from "./records.js";
import { SqliteFile, type SqlRow, type SqlValue } from "./sqlite-file.js";

const COLUMNS = [
  "id",
  "title",
  "body",
  "tags",
  "source",
  "context",
  "workspace",
  "links",
  "created",
  "modified",
  "file_path",
] as const;

/** Who the nodes and edges say made them. */
const AUTHOR = "kb-migration";
const CITES = "cites";
/** The member of an edge's metadata that keeps the id of the note it leads to. */
const MARK = "kb_link";

/** Opens an index of kb. */
export function openKb(path: string): ForeignFile {
  const file = SqliteFile.open(path);
  try {
    file.requireTable("notes", COLUMNS, "kb");
    file.order("notes", ["workspace", "created", "id"]);
    file.order("notes", ["id", "created"]);
    file.order("notes", ["created", "id", "workspace"]);
    const workspaces = workspacesOf(file);
    const notes = file.count("notes");
    return {
      graphs: [...workspaces.keys()].map(graphOf),
      total: 2 * notes,
      async *memories(): AsyncGenerator<Step<MemoryRecord>> {
        let done = 0;
        for (const { row, workspace } of notesOf(file, workspaces)) {
          done += 1;
          yield { item: attempt(placeOf(row), () => noteOf(row, workspace)), done };
        }
      },
      async *links(): AsyncGenerator<Step<LinkRecord>> {
        let done = notes;
        for (const { row, workspace } of notesOf(file, workspaces)) {
          done += 1;
          for (const item of linksOf(file, row, workspace)) yield { item, done };
        }
      },
      close: async () => file.close(),
    };
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Workspaces in the order in which notes name them, each with what stands for it in the table. */
type Workspaces = ReadonlyMap<string, readonly SqlValue[]>;

function workspacesOf(file: SqliteFile): Workspaces {
  const found = new Map<string, SqlValue[]>();
  for (const { workspace = null } of file.rows(
    "SELECT workspace FROM notes ORDER BY created, id",
  )) {
    const name = workspaceName(workspace);
    const raw = found.get(name) ?? [];
    if (!raw.includes(workspace)) found.set(name, [...raw, workspace]);
  }
  return found;
}

function workspaceName(raw: SqlValue): string {
  return typeof raw !== "string" || raw.trim() === "" ? "default" : raw;
}

function graphOf(workspace: string): GraphPlan {
  return {
    id: graphId(workspace),
    name: workspace,
    conflictPolicy: "lww",
    kindWhitelist: [],
    metadata: { kb_managed: true, kb_workspace: workspace },
  };
}

function graphId(workspace: string): string {
  return actorFor(`kb ${workspace}`);
}

/** The lineage id of a note: the same wherever and whenever it is imported. */
function lineageId(workspace: string, note: string): string {
  return createHash("sha256").update(`${workspace}\0${note}`).digest("hex").slice(0, 26);
}

interface Note {
  readonly row: SqlRow;
  readonly workspace: string;
}

/** The notes, workspace by workspace, each in the order of its creation. */
function* notesOf(file: SqliteFile, workspaces: Workspaces): Generator<Note> {
  const sql = `SELECT ${COLUMNS.join(", ")} FROM notes WHERE workspace IS ? ORDER BY created, id`;
  for (const [workspace, values] of workspaces) {
    for (const raw of values) for (const row of file.rows(sql, [raw])) yield { row, workspace };
  }
}

function placeOf(row: SqlRow): string {
  return `note ${String(row.id)}`;
}

function noteOf(row: SqlRow, workspace: string): MemoryRecord {
  const id = textIn(row.id, "id");
  const ref = lineageId(workspace, id);
  const title = textOr(row.title, "title");
  const metadata = {
    kb_id: id,
    kb_source: row.source,
    kb_context: row.context,
    kb_workspace: row.workspace,
    kb_file_path: row.file_path,
    kb_created: row.created,
    kb_modified: row.modified,
  };
  return {
    at: placeOf(row),
    graph: graphId(workspace),
    ref,
    input: {
      type: "note",
      kind: "fact",
      externalId: ref,
      by: AUTHOR,
      tags: textList(row.tags, "tags"),
      data: {
        content: textOr(row.body, "body"),
        ...(title === "" ? {} : { summary: title }),
        metadata: Object.fromEntries(
          Object.entries(metadata).filter(([, value]) => value !== null && value !== ""),
        ),
      },
      ...createdAt(row),
    },
  };
}

/** When the note was made, where the index says so in a way that can be read. */
function createdAt({ created }: SqlRow): { readonly validFrom?: number } {
  try {
    return { validFrom: timeIn(created, "created") };
  } catch (error) {
    // The text itself is kept in metadata either way.
    if (isCortexError(error, "ERR_INVALID")) return {};
    throw error;
  }
}

function linksOf(
  file: SqliteFile,
  row: SqlRow,
  workspace: string,
): readonly (LinkRecord | Unusable)[] {
  const at = placeOf(row);
  const targets = attempt(at, () => [...new Set(textList(row.links, "links"))]);
  if (isUnusable(targets)) return [targets];
  const graph = graphId(workspace);
  const from = lineageId(workspace, String(row.id));
  return targets.map((target): LinkRecord | Unusable => {
    const found = workspaceOf(file, target, workspace);
    if (found === undefined) {
      const message = `links: note ${target} is not in the index`;
      return { at, unusable: "skip", code: "ERR_UNKNOWN_ENDPOINT", message };
    }
    const far = graphId(found);
    return {
      at,
      graph,
      from,
      kind: CITES,
      to: lineageId(found, target),
      ...(far === graph ? {} : { toGraph: far }),
      by: AUTHOR,
      metadata: { [MARK]: target },
      mark: MARK,
    };
  });
}

/** The workspace of a note that is linked to: the linking one where it has such a note. */
function workspaceOf(file: SqliteFile, note: string, near: string): string | undefined {
  const sql = "SELECT workspace FROM notes WHERE id = ? ORDER BY created";
  const names = file.all(sql, [note]).map(({ workspace = null }) => workspaceName(workspace));
  return names.includes(near) ? near : names[0];
}

function textOr(value: SqlValue | undefined, field: string): string {
  return value === null || value === undefined ? "" : textIn(value, field);
}

function textList(value: SqlValue | undefined, field: string): readonly string[] {
  const text = textOr(value, field);
  return text.trim() === "" ? [] : textsIn(jsonIn(text, field) ?? [], field);
}
