/**
 * The moves of an open store: out to a file, and the list of what was forgotten.
 * Moves into a store that is not open yet are in `../moves.ts`.
 */

import type { OnProgress } from "../contract/verb.js";
import { checkOptions, type Engine } from "../engine/engine.js";
import type { ErasureDocument } from "../journal/erasure-list.js";
import { type ExportReport, erasuresOf, exportChunks } from "./export-journal.js";
import { type ExportTarget, writeOut } from "./move-files.js";

/** How long work reports. */
export interface MoveOptions {
  readonly onProgress?: OnProgress;
}

/** How a backup is made. */
export interface BackupOptions extends MoveOptions {
  /** Only what came after this seq: the `seq` of the backup before. */
  readonly since?: number;
}

/** Writes the whole journal out as a portable file. */
export async function exportJournal(
  engine: Engine,
  target: ExportTarget,
  options: MoveOptions = {},
): Promise<ExportReport> {
  checkOptions(options, ["access", "onProgress"]);
  return writeOut(target, exportChunks({ ...engine, ...progressOf(options) }));
}

/** Makes a backup: full, or with `since` of what came after. */
export async function backup(
  engine: Engine,
  target: ExportTarget,
  options: BackupOptions = {},
): Promise<ExportReport> {
  checkOptions(options, ["access", "onProgress", "since"]);
  return writeOut(target, exportChunks({ ...engine, ...progressOf(options) }, options.since));
}

/** The places of everything that was ever erased: to be kept apart from the backups. */
export function erasures(engine: Engine): Promise<ErasureDocument> {
  return erasuresOf(engine.kv);
}

function progressOf({ onProgress }: MoveOptions): { readonly onProgress?: OnProgress } {
  return onProgress === undefined ? {} : { onProgress };
}
