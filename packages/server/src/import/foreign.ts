/**
 * Importing a file of another program: open it, find where it goes, memories first, links behind
 * them, and a report. The file is read, never written.
 */

import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { isAddress, shownLocation } from "../config.js";
import { openJsonl } from "./from-jsonl.js";
import { openKb } from "./from-kb.js";
import { openMcpMemory } from "./from-mcp-memory.js";
import { openMem0 } from "./from-mem0.js";
import { openMemgraph } from "./from-memgraph.js";
import { importLinks } from "./links.js";
import { type ImportWork, importMemories, KnownRefs } from "./memories.js";
import { importNodes } from "./nodes.js";
import type { ForeignFile } from "./records.js";
import { type ForeignReport, type LeftOut, Tally } from "./tally.js";
import { openTarget, type TargetPlace } from "./target.js";

/** The programs whose files can be read, and how each is opened. */
export const PROGRAMS = {
  memgraph: openMemgraph,
  "mcp-memory": openMcpMemory,
  kb: openKb,
  mem0: openMem0,
  jsonl: openJsonl,
} as const satisfies {
  readonly [program: string]: (path: string) => ForeignFile | Promise<ForeignFile>;
};

/** A program whose files can be read. */
export type Program = keyof typeof PROGRAMS;

/** How an import is done. */
export interface ForeignOptions extends TargetPlace {
  readonly from: Program;
  /** The path of the file, or the address of a database. */
  readonly file: string;
  /** Say what would be done; change nothing. */
  readonly dryRun?: boolean;
  /** Report bad records and go on behind them. */
  readonly skipBad?: boolean;
  /**
   * The file that names everything that is left out, line by line; `import-report.jsonl` in the folder of
   * the store unless told otherwise, and for a dry run none.
   */
  readonly report?: string;
  readonly onProgress?: (done: number, total: number) => void;
}

const REPORT_NAME = "import-report.jsonl";

/** Imports a file of another program. */
export async function importForeign(options: ForeignOptions): Promise<ForeignReport> {
  const { dryRun = false, onProgress } = options;
  const file = await PROGRAMS[options.from](options.file);
  const report = new ReportFile(reportPath(options));
  try {
    const target = await openTarget(options, { graphs: file.graphs !== undefined, dryRun });
    try {
      const skipBad = options.skipBad === true;
      const tally = new Tally({ skipBad, dryRun, tell: (line) => report.add(line) });
      const work: ImportWork = {
        file,
        target,
        tally,
        dryRun,
        known: new KnownRefs(),
        onProgress: (done) => onProgress?.(done, file.total),
      };
      for (const plan of file.graphs ?? []) tally.graph(plan, await target.prepare(plan));
      if (file.nodes === undefined) await importMemories(work);
      else await importNodes(work);
      if (!tally.hasStopped) await importLinks(work);
      const done = tally.report(report.written);
      if (done.stopped === undefined) noteImported(options);
      return done;
    } finally {
      await target.close();
    }
  } finally {
    await file.close();
  }
}

function reportPath({ report, location, dryRun }: ForeignOptions): string | undefined {
  if (report !== undefined) return report;
  return isKeptFolder(location) && dryRun !== true ? join(location, REPORT_NAME) : undefined;
}

function isKeptFolder(location: string): boolean {
  return location !== "memory:" && !isAddress(location);
}

/** The stores of memgraph that were brought into a folder whole: a JSON text each, line by line. */
const IMPORTED_NAME = "memgraph-imported.jsonl";

/** Whether a store of memgraph was brought into a folder whole, by whichever command. */
export function wasImported(folder: string, file: string): boolean {
  try {
    const lines = readFileSync(join(folder, IMPORTED_NAME), "utf8").split("\n");
    return lines.includes(JSON.stringify(nameOf(file)));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}

/** Written at the end of a whole import; a line that a crash cut short counts for nothing, and it is repeated. */
function noteImported({ from, file, location, dryRun }: ForeignOptions): void {
  if (from !== "memgraph" || dryRun === true || !isKeptFolder(location)) return;
  if (wasImported(location, file)) return;
  const line = `\n${JSON.stringify(nameOf(file))}\n`;
  appendFileSync(join(location, IMPORTED_NAME), line, { mode: 0o600, flush: true });
}

/** What a store is known by: its path, or its address without the password. */
function nameOf(file: string): string {
  return isAddress(file) ? shownLocation(file) : resolve(file);
}

/** The file that names what was left out; it is there only if something was. */
class ReportFile {
  readonly #path: string | undefined;
  #isBegun = false;

  constructor(path: string | undefined) {
    this.#path = path;
    // What an earlier import left out says nothing about this one.
    if (path !== undefined) rmSync(path, { force: true });
  }

  /** Where it is, if it is there. */
  get written(): string | undefined {
    return this.#isBegun ? this.#path : undefined;
  }

  add(line: LeftOut): void {
    if (this.#path === undefined) return;
    this.#isBegun = true;
    appendFileSync(this.#path, `${JSON.stringify(line)}\n`, { mode: 0o600 });
  }
}
