/**
 * Importing a file of another program: open it, find where it goes, memories first, links behind
 * them, and a report. The file is read, never written.
 *
 * Where an import goes: one store, or the graphs of a folder; for a dry run, whatever of these is
 * there already, opened and left alone.
 */
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import {
  type Cortex,
  CortexError,
  type GraphConfig,
  type Hub,
  isCortexError,
  open,
  openHub,
} from "@cortex-memory/core";
import { isAddress, shownLocation } from "../config.js";
import { openJsonl, openMcpMemory, openMem0 } from "./from-json.js";
import { openKb } from "./from-kb.js";
import { openMemgraph } from "./from-memgraph.js";
import { importTurns, openTranscript } from "./from-transcript.js";
import { importLinks } from "./links.js";
import { type ImportWork, importMemories, KnownRefs } from "./memories.js";
import { importNodes } from "./nodes.js";
import type { ForeignFile, GraphPlan } from "./records.js";
import { type ForeignReport, type LeftOut, Tally } from "./tally.js";

/** A place for memories and links. */
export interface Target {
  /** Runs work in a graph, or in the store; without a memory when there is none in a dry run. */
  use<T>(graph: string | undefined, work: (memory: Cortex | undefined) => Promise<T>): Promise<T>;
  /** Whether this import made the graph or the store, so that it holds nothing else. */
  isNew(graph: string | undefined): boolean;
  /** Makes the graph unless it is there; says whether it was. */
  prepare(plan: GraphPlan): Promise<boolean>;
  close(): Promise<void>;
}

/** The place of a store or of graphs. */
interface TargetPlace {
  /** A folder, an address or `memory:`. */
  readonly location: string;
  readonly actor: string;
}

/** Opens where an import goes. */
async function openTarget(
  place: TargetPlace,
  how: { readonly graphs: boolean; readonly dryRun: boolean },
): Promise<Target> {
  if (how.dryRun) return dryTarget(place);
  if (how.graphs) return hubTarget(await openHub(place.location));
  const memory = await open(place.location, { actor: place.actor });
  const { entries } = await memory.stats();
  return {
    use: (_, work) => work(memory),
    isNew: () => entries === 1,
    prepare: async () => true,
    close: () => memory.close(),
  };
}

function hubTarget(hub: Hub): Target {
  const made = new Set<string>();
  return {
    // A graph stays open in the hub for a while, so asking for it batch by batch costs nothing.
    use: (graph = "", work) => hub.use(graph, work),
    isNew: (graph = "") => made.has(graph),
    async prepare({ id, notes: _, lacking: __, ...plan }) {
      const there = await hub.getGraph(id);
      // One with its first entry alone was left so by a crash, or is made by another import this moment.
      if (there !== undefined && there.seq > 0) {
        refuseEarlier(id, there, plan.origin);
        return true;
      }
      try {
        await hub.createGraph({ id, ...plan }, { idempotencyKey: `import of ${id}` });
      } catch (error) {
        if (isCortexError(error) && error.code === "ERR_EXISTS") return true;
        throw error;
      }
      made.add(id);
      return false;
    },
    close: () => hub.close(),
  };
}

/**
 * Refuses a graph of memgraph's that was imported before imports kept ids and times: it holds them in its
 * metadata, nothing of it would be known again, and every edge would come in a second time.
 */
function refuseEarlier(
  id: string,
  { metadata, origin }: Pick<GraphConfig, "metadata" | "origin">,
  source: GraphPlan["origin"],
): void {
  if (source === undefined || origin !== undefined || metadata?.memgraph_id !== source.id) return;
  throw new CortexError(
    "ERR_EXISTS",
    `${id}: was imported by an earlier version, which kept ids in metadata; import into another folder, ` +
      `or remove the graph first with: cortex graph rm ${id} --reason "imported again"`,
    { subject: id },
  );
}

/** Opens what there is and makes nothing. */
function dryTarget({ location, actor }: TargetPlace): Target {
  let current: { readonly name: string; readonly memory: Cortex | undefined } | undefined;
  const close = async (): Promise<void> => {
    await current?.memory?.close();
    current = undefined;
  };
  const use: Target["use"] = async (graph, work) => {
    const name = graph ?? actor;
    if (current?.name !== name) {
      await close();
      current = { name, memory: await openThere(location, name) };
    }
    return work(current.memory);
  };
  return {
    use,
    isNew: () => false,
    prepare: ({ id, origin }) =>
      use(id, async (memory) => {
        if (memory === undefined) return false;
        refuseEarlier(id, origin === undefined ? {} : await memory.config(), origin);
        return true;
      }),
    close,
  };
}

/** A store that is there; `undefined` where there is none. */
async function openThere(location: string, name: string): Promise<Cortex | undefined> {
  if (location === "memory:") return undefined;
  const isAsked = isAddress(location);
  const folder = isAsked ? undefined : statSync(join(location, name), { throwIfNoEntry: false });
  if (!isAsked && folder?.isDirectory() !== true) return undefined;
  try {
    return await open(location, { actor: name, create: false });
  } catch (error) {
    // Whether a database has a store is known by whoever opens it.
    if (isAsked && isCortexError(error, "ERR_FORMAT_UNKNOWN")) return undefined;
    throw error;
  }
}

/** The programs whose files can be read, and how each is opened. */
export const PROGRAMS = {
  memgraph: openMemgraph,
  "mcp-memory": openMcpMemory,
  kb: openKb,
  mem0: openMem0,
  jsonl: openJsonl,
  transcript: openTranscript,
} as const satisfies {
  readonly [program: string]: (path: string) => ForeignFile | Promise<ForeignFile>;
};

/** A program whose files can be read. */
export type Program = keyof typeof PROGRAMS;

/** How an import is done. */
interface ForeignOptions extends TargetPlace {
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
  /** What is done of how much; records unless a unit is given. */
  readonly onProgress?: (done: number, total: number, unit?: string) => void;
}

const REPORT_NAME = "import-report.jsonl";

/** Imports a file of another program. */
export async function importForeign(options: ForeignOptions): Promise<ForeignReport> {
  const { dryRun = false, onProgress } = options;
  const file = await PROGRAMS[options.from](options.file);
  try {
    const report = new ReportFile(reportPath(options), options.report !== undefined);
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
        // A file is read twice, for its memories and for its links: half of what is read is half of the file.
        onProgress: (done) => {
          if (file.unit === undefined) onProgress?.(done, file.total);
          else onProgress?.(Math.ceil(done / 2), file.total / 2, file.unit);
        },
      };
      await importGraphs(work);
      if (!tally.hasStopped) await importRecords(work);
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

/** Makes the graphs of a file, those that cannot be used aside. */
async function importGraphs({ file, target, tally }: ImportWork): Promise<void> {
  tally.lacking(file.unusable);
  for (const plan of file.graphs ?? []) {
    tally.lacking(plan.lacking);
    if (tally.hasStopped) return;
    tally.graph(plan, await target.prepare(plan));
  }
}

async function importRecords(work: ImportWork): Promise<void> {
  const { file } = work;
  if (file.turns !== undefined) await importTurns(work, file.turns);
  else if (file.nodes === undefined) await importMemories(work);
  else await importNodes(work);
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
  const path = join(location, IMPORTED_NAME);
  writing(path, () => {
    // A store of memgraph without a graph made nothing here, and is imported whole all the same.
    mkdirSync(location, { recursive: true, mode: 0o700 });
    appendFileSync(path, line, { mode: 0o600, flush: true });
  });
}

/** What a store is known by: its path, or its address without the password. */
function nameOf(file: string): string {
  return isAddress(file) ? shownLocation(file) : resolve(file);
}

/** The file that names what was left out; it is there only if something was. */
class ReportFile {
  readonly #path: string | undefined;
  #isBegun = false;

  /** `isGiven`: somebody chose the place, which is tried before anything is imported. */
  constructor(path: string | undefined, isGiven: boolean) {
    this.#path = path;
    if (path === undefined) return;
    writing(path, () => {
      if (isGiven) appendFileSync(path, "", { mode: 0o600 });
      // What an earlier import left out says nothing about this one.
      rmSync(path, { force: true });
    });
  }

  /** Where it is, if it is there. */
  get written(): string | undefined {
    return this.#isBegun ? this.#path : undefined;
  }

  add(line: LeftOut): void {
    const path = this.#path;
    if (path === undefined) return;
    writing(path, () => {
      // A graph that cannot be used is told before there is a folder.
      if (!this.#isBegun) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      appendFileSync(path, `${JSON.stringify(line)}\n`, { mode: 0o600 });
    });
    this.#isBegun = true;
  }
}

/** Writes to a file beside the store; what the system refuses is told with the file, and is no fault of ours. */
function writing(path: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    const isFull = error.code === "ENOSPC" || error.code === "EDQUOT";
    const code = isFull ? "ERR_DISK_FULL" : "ERR_STORAGE";
    throw new CortexError(code, `cannot write ${path}: ${error.message}`, {}, error);
  }
}
