/**
 * The root over everything, checking a store, building it again.
 */
import { toHex } from "../codec/keys.js";
import { Reader } from "../history/reader.js";
import {
  type CheckReport,
  checkStore,
  type RebuildReport,
  rebuildStore,
} from "../history/rebuild.js";
import { readRoots } from "../history/roots.js";
import type { Engine } from "./engine.js";

/** Called now and then by long work. */
export type OnProgress = (done: number, total: number) => void;

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

/** Checks journal, hashes, rows and roots against each other. */
export function check(
  engine: Engine,
  options: { readonly onProgress?: OnProgress } = {},
): Promise<CheckReport> {
  return checkStore({ ...engine, ...options });
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
