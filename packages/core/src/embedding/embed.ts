/**
 * The embedder as a job: follows the journal by its cursor and gives every memory the vector of its
 * current text. It resumes where the last process stopped; another model has another cursor and starts
 * at the first entry; several processes may run it at once, at the price of embedding some texts twice.
 *
 * `embedPending` runs it once, up to the present; `embedJob` is what the runner of jobs takes, which
 * starts it again, backs off after failures and keeps them to itself (`runner.ts`).
 */

import type { OnProgress } from "../engine/engine.js";
import { checkOptions, type Engine } from "../engine/engine.js";
import { headOf } from "../history/build-beside.js";
import { noEmbedder } from "../vector/vector-index.js";
import { type EmbedParts, EmbedPass, type PassReport } from "./embed-pass.js";

/** How pending texts are embedded. */
export interface EmbedOptions {
  readonly onProgress?: OnProgress;
  /** Ends the work after the batch at hand; what was embedded is kept. */
  readonly signal?: AbortSignal;
}

/** What embedding did. */
export interface EmbedReport extends Omit<PassReport, "size"> {
  readonly model: string;
  /** Entries that are left to look at. */
  readonly lag: number;
  /** The last entry of the journal. */
  readonly seq: number;
}

/** What a job says of itself. */
export interface EmbedJobReport {
  /** Memories that got a vector. */
  readonly done: number;
  readonly cursor: number;
  readonly lag: number;
}

/** Embeds every text that has no vector yet, up to the entries there are now. */
export async function embedPending(
  engine: Engine,
  options: EmbedOptions = {},
): Promise<EmbedReport> {
  checkOptions(options, ["access", "onProgress", "signal"]);
  const parts = partsOf(engine);
  const { signal, onProgress } = options;
  const total = { texts: 0, memories: 0, refused: 0, purged: 0 };
  const { size: target } = await headOf(engine.kv);
  for (let cursor = 0; cursor < target && signal?.aborted !== true; ) {
    const report = await nextPass(parts, signal);
    // Nothing left, perhaps because another process did the same work.
    if (report === undefined) break;
    total.texts += report.texts;
    total.memories += report.memories;
    total.refused += report.refused;
    total.purged += report.purged;
    cursor = report.cursor;
    onProgress?.(Math.min(cursor, target), target);
  }
  const { model } = parts.embedder;
  const { cursor, lag } = await engine.vectors.progress();
  return { model, ...total, cursor, lag, seq: cursor + lag - 1 };
}

/** A pass; `undefined` when there was nothing to do, or when it was stopped on the way. */
async function nextPass(
  parts: EmbedParts,
  signal: AbortSignal | undefined,
): Promise<PassReport | undefined> {
  try {
    return await new EmbedPass(parts, signal).run();
  } catch (error) {
    if (signal?.aborted === true) return undefined;
    throw error;
  }
}

function partsOf({ kv, sha256, vectors, embedder }: Engine): EmbedParts {
  if (embedder === undefined) throw noEmbedder();
  return { kv, sha256, vectors, embedder };
}

/** The job for a runner: one run embeds what is pending. Failures are the runner's to record. */
export function embedJob(engine: Engine): {
  readonly name: "embed";
  run(signal: AbortSignal): Promise<EmbedJobReport>;
} {
  return {
    name: "embed",
    async run(signal) {
      const { memories, cursor, lag } = await embedPending(engine, { signal });
      return { done: memories, cursor, lag };
    },
  };
}
