/**
 * Importing a file of another program: open it, find where it goes, memories first, links behind
 * them, and a report. The file is read, never written.
 */

import { openJsonl } from "./from-jsonl.js";
import { openKb } from "./from-kb.js";
import { openMcpMemory } from "./from-mcp-memory.js";
import { openMem0 } from "./from-mem0.js";
import { openMemgraph } from "./from-memgraph.js";
import { importLinks } from "./links.js";
import { type ImportWork, importMemories, KnownRefs } from "./memories.js";
import type { ForeignFile } from "./records.js";
import { type ForeignReport, Tally } from "./tally.js";
import { openTarget, type TargetPlace } from "./target.js";

/** The programs whose files can be read, and how each is opened. */
export const PROGRAMS = {
  memgraph: openMemgraph,
  "mcp-memory": openMcpMemory,
  kb: openKb,
  mem0: openMem0,
  jsonl: openJsonl,
} as const satisfies { readonly [program: string]: (path: string) => ForeignFile };

/** A program whose files can be read. */
export type Program = keyof typeof PROGRAMS;

/** How an import is done. */
export interface ForeignOptions extends TargetPlace {
  readonly from: Program;
  /** The path of the file. */
  readonly file: string;
  /** Say what would be done; change nothing. */
  readonly dryRun?: boolean;
  /** Report bad records and go on behind them. */
  readonly skipBad?: boolean;
  readonly onProgress?: (done: number, total: number) => void;
}

/** Imports a file of another program. */
export async function importForeign(options: ForeignOptions): Promise<ForeignReport> {
  const { dryRun = false, onProgress } = options;
  const file = PROGRAMS[options.from](options.file);
  try {
    const target = await openTarget(options, { graphs: file.graphs !== undefined, dryRun });
    try {
      const tally = new Tally(options.skipBad === true);
      const work: ImportWork = {
        file,
        target,
        tally,
        dryRun,
        known: new KnownRefs(),
        onProgress: (done) => onProgress?.(done, file.total),
      };
      for (const plan of file.graphs ?? []) tally.graph(plan, await target.prepare(plan));
      await importMemories(work);
      if (!tally.hasStopped) await importLinks(work);
      if (tally.isClean) for (const plan of file.graphs ?? []) await target.finish(plan);
      return tally.report(dryRun);
    } finally {
      await target.close();
    }
  } finally {
    await file.close();
  }
}
