/**
 * The root over everything, checking a store, building it again.
 */
import { toHex } from "../codec/keys.js";
import type { Engine, OnProgress } from "../engine/engine.js";
import { Reader } from "../history/reader.js";
import {
  type CheckReport,
  checkStore,
  type RebuildReport,
  rebuildStore,
} from "../history/rebuild.js";
import { readRoots } from "../history/roots.js";

/** The root over everything, in hex, and the position it stands for. */
export interface RootAt {
  readonly root: string;
  readonly seq: number;
}

/** The root at the current position. */
export function root(engine: Engine): Promise<RootAt> {
  return Reader.with(engine.kv, undefined, async (reader) => {
    const roots = await readRoots(engine.sha256, reader.snapshot, reader.head);
    return { root: toHex(roots.overall), seq: reader.seq };
  });
}

/** Checks journal, hashes, rows and roots against each other, and the text index against the journal. */
export async function check(
  engine: Engine,
  options: { readonly onProgress?: OnProgress } = {},
): Promise<CheckReport> {
  const report = await checkStore({ ...engine, ...options });
  // Where the journal itself is damaged, what was made of it cannot be judged.
  if (!report.ok) return report;
  const problems = await engine.text.check();
  return { ...report, ok: problems.length === 0, problems };
}

/** Builds every derived row again from the journal. */
export async function rebuild(
  engine: Engine,
  options: { readonly verifyOnly?: boolean; readonly onProgress?: OnProgress } = {},
): Promise<RebuildReport> {
  const { verifyOnly = false, ...progress } = options;
  const report = await rebuildStore({ ...engine, ...progress }, { verifyOnly });
  engine.writer.invalidate();
  return report;
}
