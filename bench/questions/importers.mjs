/**
 * How fast do notes with links come in from files of other programs, and does the memory this needs
 * stay the same however far it has come? Two files of the same notes: lines of JSON into one store, and
 * a memgraph database into a graph of a hub. Each note but the first is linked to an earlier one. The
 * clock includes opening the file, every lookup, and closing the store.
 */
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { OWNER } from "@cortex-memory/core";
import { OPERATIONS } from "@cortex-memory/server";
import { answerPass } from "../lib/passes.mjs";
import { PREPARED_MEMORIES } from "../lib/prepared.mjs";
import { loadDatabase } from "../lib/sqlite.mjs";
import { startWorkload } from "../lib/workload.mjs";

/** @typedef {import("../lib/settings.mjs").Settings} Settings */
/** @typedef {import("../lib/settings.mjs").Answer} Answer */

const GRAPH = "01KRAB0000000000000000000A";
const TIME = "2026-05-16T10:00:00Z";

const TABLES = `
  CREATE TABLE graphs (id TEXT PRIMARY KEY, name TEXT, conflict_policy TEXT, kind_whitelist TEXT,
    metadata TEXT, created_at TEXT);
  CREATE TABLE nodes (id TEXT PRIMARY KEY, graph_id TEXT, lineage_id TEXT, version INTEGER, kind TEXT,
    content TEXT, summary TEXT, tags TEXT, metadata TEXT, freshness_at TEXT, created_at TEXT,
    created_by TEXT, superseded_by TEXT, UNIQUE (lineage_id, version));
  CREATE TABLE edges (id TEXT PRIMARY KEY, graph_id TEXT, from_lineage TEXT, to_graph TEXT,
    to_lineage TEXT, kind TEXT, metadata TEXT, ordinal INTEGER, created_at TEXT, created_by TEXT);
  INSERT INTO graphs VALUES ('${GRAPH}', 'notes', 'lww', NULL, NULL, '${TIME}');
`;

/**
 * Answers the question.
 * @param {Settings} settings
 * @returns {Promise<Answer>}
 */
export async function answer(settings) {
  const memories = Math.min(settings.size, PREPARED_MEMORIES);
  const lines = await writeLines(settings, memories);
  const fromLines = await passes(settings, { program: "jsonl", file: lines, memories });
  const database = await writeDatabase(settings, memories);
  if (database === undefined) {
    const note = "The import from memgraph is not measured: no SQLite binding can be loaded.";
    return { ...fromLines, notes: [...fromLines.notes, note] };
  }
  const fromDatabase = await passes(settings, { program: "memgraph", file: database, memories });
  return {
    rows: [...fromLines.rows, ...fromDatabase.rows],
    figures: { ...fromLines.figures, ...fromDatabase.figures },
    notes: [...fromLines.notes, ...fromDatabase.notes],
  };
}

/**
 * Runs the passes of one program's file.
 * @param {Settings} settings
 * @param {{ program: string, file: string, memories: number }} what
 * @returns {Promise<Answer>}
 */
async function passes(settings, { program, file, memories }) {
  const place = (/** @type {number} */ run) => join(settings.folder, `from-${program}-${run}`);
  const about = { question: "importers", sync: "every commit of 1,000", memories };
  const found = await answerPass(settings, about, {
    pass: async (run) => {
      const added = await importInto(place(run), program, file);
      if (added !== memories) throw new Error(`expected ${memories} notes, got ${added}`);
      return added;
    },
    after: (run) => rm(place(run), { recursive: true }),
  });
  // The same question twice: rows and figures say which file they are about.
  return {
    ...found,
    rows: found.rows.map((row) => ({ ...row, what: `${program}: ${row.what}` })),
    figures: Object.fromEntries(
      Object.entries(found.figures).map(([name, figure]) => [`${program} ${name}`, figure]),
    ),
  };
}

/**
 * Imports a file as the command line does; the result is how many notes came in.
 * @param {string} location
 * @param {string} from
 * @param {string} file
 * @returns {Promise<number>}
 */
async function importInto(location, from, file) {
  const operation = OPERATIONS.find(({ name }) => name === "importForeign");
  if (operation === undefined) throw new Error("there is no operation importForeign");
  const files = { source: (/** @type {string} */ name) => name };
  const context = { access: OWNER, location, actor: "default", files, settings: [], onProgress };
  // The operation opens its store by itself and leaves the one it is given alone.
  const report = await operation.run(
    /** @type {never} */ (undefined),
    { from, file },
    /** @type {never} */ (context),
  );
  return /** @type {{ memories: { added: number } }} */ (report).memories.added;
}

function onProgress() {}

/** @param {number} at */
function earlier(at) {
  return (at * 7919) % at;
}

/**
 * @param {Settings} settings
 * @param {number} memories
 * @returns {Promise<string>}
 */
async function writeLines({ folder, seed }, memories) {
  const path = join(folder, "notes.jsonl");
  const out = createWriteStream(path);
  for (const [at, { text, tag }] of startWorkload(seed).take(memories).entries()) {
    const note = { type: "note", kind: "fact", externalId: `n${at}`, text, tags: [tag] };
    out.write(`${JSON.stringify(note)}\n`);
    if (at === 0) continue;
    const link = { from: `n${at}`, kind: "related_to", to: `n${earlier(at)}` };
    out.write(`${JSON.stringify({ link })}\n`);
  }
  out.end();
  await finished(out);
  return path;
}

/**
 * @param {Settings} settings
 * @param {number} memories
 * @returns {Promise<string | undefined>}
 */
async function writeDatabase({ folder, seed }, memories) {
  const DatabaseSync = await loadDatabase();
  if (DatabaseSync === undefined) return undefined;
  const path = join(folder, "memgraph.db");
  const database = new DatabaseSync(path);
  database.exec(`PRAGMA synchronous = OFF; BEGIN; ${TABLES}`);
  const node = database.prepare(
    "INSERT INTO nodes VALUES (?, ?, ?, 1, 'fact', ?, NULL, ?, NULL, NULL, ?, 'claude', NULL)",
  );
  const edge = database.prepare(
    "INSERT INTO edges VALUES (?, ?, ?, ?, ?, 'related_to', NULL, NULL, ?, 'claude')",
  );
  for (const [at, { text, tag }] of startWorkload(seed).take(memories).entries()) {
    node.run(`v${at}`, GRAPH, `n${at}`, text, JSON.stringify([tag]), TIME);
    if (at > 0) edge.run(`e${at}`, GRAPH, `n${at}`, GRAPH, `n${earlier(at)}`, TIME);
  }
  database.exec("COMMIT");
  database.close();
  return path;
}
