/**
 * Moves into a store that is not open: importing a journal, restoring backups, upgrading what an
 * older release wrote. Each builds beside the store and takes its place at the end; until then the
 * store is what it was, and empty stores stay empty.
 */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasherNode, sha256Node } from "./codec/node-crypto.js";
import type { ExportTarget } from "./contract/move.js";
import type { OnProgress } from "./contract/verb.js";
import { checkOptions, checkPrincipal } from "./engine/engine.js";
import { CortexError, invalid, isCortexError } from "./errors.js";
import { verified } from "./history/guarded-reads.js";
import { type Checkpoint, parseCheckpoint } from "./journal/checkpoint.js";
import { type ErasureDocument, type ErasureList, parseErasures } from "./journal/erasure-list.js";
import type { Kv } from "./kv/kv.js";
import { eraseListedAgain } from "./move/erase-again.js";
import { type ImportParts, type ImportReport, importVolumes } from "./move/import-journal.js";
import { type ImportSource, readIn, writeOut } from "./move/move-files.js";
import {
  buildMended,
  isWanted,
  mendJournal,
  type Remains,
  remainsOf,
  withStanding,
} from "./move/repair.js";
import {
  CURRENT_FORM,
  formOf,
  isCurrent,
  type StoreForm,
  type UpgradedTo,
  upgradeStore,
} from "./move/upgrade.js";
import {
  examineStore,
  isPostgresLocation,
  type OpenKvOptions,
  open,
  openKv,
  storeFolders,
  storeRemoval,
  systemRandom,
} from "./open.js";
import { checkActorName } from "./records/uri.js";

/** Where a store is, whose it is, and how the work reports. */
export interface PlaceOptions {
  /** Whose memory it is; a safe name. */
  readonly actor?: string;
  readonly onProgress?: OnProgress;
  /** A storage engine of your own, instead of the location's; it stays open. */
  readonly kv?: Kv;
}

/** How a journal is imported. */
export interface ImportOptions extends PlaceOptions {
  /** The text of a checkpoint that was seen before: the history must reach it and agree with it. */
  readonly checkpoint?: string;
}

/** How backups are restored. */
export interface RestoreOptions extends ImportOptions {
  /** The newest list of erasures there is: what `erasures()` gave, or its JSON text. */
  readonly erasures?: ErasureDocument | string;
}

/** The outcome of a restore. */
export interface RestoreReport extends ImportReport {
  /** Present when forgotten content may have come back; to be shown to whoever asked. */
  readonly warning?: string;
}

/**
 * Erases again, in a store that is there, what a list names: for a database or a disk that was set back to an
 * earlier point, before anybody writes into it. The root stays the same; the store goes on under a new epoch.
 */
export async function eraseAgain(
  location: string,
  erasures: ErasureDocument | string,
  options: PlaceOptions = {},
): Promise<RestoreReport> {
  checkOptions(options, PLACE_OPTIONS);
  const document = parseErasures(erasures);
  return withStore(location, options, { create: false }, async (parts) => {
    const list = ownList(parts.actor, document);
    const report = await eraseListedAgain(parts, list, document.storeId);
    const { size } = document;
    if (size >= report.entries) return report;
    const warning =
      `the list of erasures ends at seq ${size - 1}, before the store does: ` +
      `if more was forgotten since, it is back; erase again with the newest list, or forget it again`;
    return { ...report, warning };
  });
}

/** How a store is upgraded. */
export interface UpgradeOptions extends PlaceOptions {
  /** Say what would be done, and touch nothing. */
  readonly dryRun?: boolean;
  /** Where the backup goes; beside the store unless given. */
  readonly backup?: ExportTarget;
  /** The principal that the entry about the upgrade names; the actor by default. */
  readonly principal?: string;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
}

/** The outcome of an upgrade. */
export interface UpgradeReport {
  readonly needed: boolean;
  readonly from: StoreForm;
  readonly to: StoreForm;
  /** What was done, or would be. */
  readonly steps: readonly string[];
  /** The file of the backup, where one was made by default. */
  readonly backup?: string;
  /** Where the store stands afterwards. */
  readonly upgraded?: UpgradedTo;
}

/** Builds an empty store from an export: same actor, same root, byte for byte the same journal. */
export async function importJournal(
  location: string,
  source: ImportSource,
  options: ImportOptions = {},
): Promise<ImportReport> {
  checkOptions(options, [...PLACE_OPTIONS, "checkpoint"]);
  const trusted = checkpointOf(options);
  const chunks = readIn(source);
  return withStore(location, options, {}, (parts) =>
    importVolumes(parts, [chunks], {
      newEpoch: false,
      ...(trusted === undefined ? {} : { trusted }),
    }),
  );
}

/**
 * Builds an empty store from a full backup and the increments that follow it, under a new epoch.
 * Everything that any of the files, or the list given, says is erased stays erased.
 */
export async function restoreBackup(
  location: string,
  sources: readonly ImportSource[],
  options: RestoreOptions = {},
): Promise<RestoreReport> {
  checkOptions(options, [...PLACE_OPTIONS, "checkpoint", "erasures"]);
  if (!Array.isArray(sources) || sources.length === 0) {
    throw invalid("sources", "a full backup, and increments in order", sources);
  }
  const trusted = checkpointOf(options);
  const document = options.erasures === undefined ? undefined : parseErasures(options.erasures);
  const chunks = sources.map(readIn);
  return withStore(location, options, {}, async (parts) => {
    const erasures = document === undefined ? undefined : ownList(parts.actor, document);
    const report = await importVolumes(parts, chunks, {
      newEpoch: true,
      ...(trusted === undefined ? {} : { trusted }),
      ...(erasures === undefined ? {} : { erasures }),
      ...(document === undefined ? {} : { storeId: document.storeId }),
    });
    const warning = warningOf(report, document);
    return warning === undefined ? report : { ...report, warning };
  });
}

/** Brings a store that an older release wrote to the form of this one, after a backup. */
export async function upgrade(
  location: string,
  options: UpgradeOptions = {},
): Promise<UpgradeReport> {
  const known = [...PLACE_OPTIONS, "dryRun", "backup", "principal", "clock"];
  checkOptions(options, known);
  const dryRun = options.dryRun === true;
  return withStore(location, options, { create: false, readOnly: dryRun }, async (parts) => {
    const { size, isReplica, ...from } = await formOf(parts.kv);
    if (isCurrent(from)) return { needed: false, from, to: CURRENT_FORM, steps: [] };
    const target = options.backup ?? backupPath(location, options, parts.actor, size - 1);
    const named = typeof target === "string" ? { backup: target } : {};
    const steps = stepsOf(from, target, { size, isReplica });
    const plan = { needed: true, from, to: CURRENT_FORM, steps };
    if (dryRun) return { ...plan, ...named };
    const upgraded = await upgradeStore({
      ...parts,
      clock: options.clock ?? Date.now,
      random: systemRandom,
      pause: async (ms) => void (await sleep(ms)),
      by: checkPrincipal(options.principal, parts.actor),
      // A run that was stopped before may have left one of the same position.
      keep: (chunks) => writeOut(target, chunks, { overwrite: true }),
    });
    return { ...plan, ...named, upgraded };
  });
}

/** How a store is repaired. */
export interface RepairOptions extends Pick<PlaceOptions, "actor" | "onProgress"> {
  /**
   * Where else the history may be had, in the order in which it is asked: the folder of another store of
   * the actor (a copy, a replica), or the files of one export or backup chain, in their order.
   */
  readonly from?: readonly string[];
  /** Say what would be done, and touch nothing. */
  readonly dryRun?: boolean;
  /**
   * What it was, for a store of which that cannot be read any more: one of its own, or a replica, which takes
   * no writes until it follows its source again or is promoted.
   */
  readonly was?: "store" | "replica";
}

/** The outcome of a repair. */
export interface RepairReport {
  /** Whether the store is sound now; of a dry run, whether it would be. */
  readonly ok: boolean;
  /** False where nothing was damaged, and so nothing done. */
  readonly needed: boolean;
  readonly dryRun: boolean;
  /** What was wrong, in the words of `check`. */
  readonly problems: readonly string[];
  /** Entries that the store has, or would have. */
  readonly entries: number;
  /** How many of them came from elsewhere. */
  readonly taken: number;
  /** How many entries nobody has; with one of them nothing is put in place. */
  readonly missing: number;
  /** The first of them. */
  readonly lost: readonly number[];
  /** Where the damaged store was put. */
  readonly aside?: string;
}

/** Entries that a repair names as lost. */
const LOST_NAMED = 100;

/**
 * Builds a damaged store of a folder again: everything derived from its journal, and what the journal lost
 * from other places, each entry compared with the store's own hashes. Nobody may have the store open. The
 * damaged folder is renamed, never removed. A repair that is killed leaves the damaged store or the new one.
 */
export async function repair(location: string, options: RepairOptions = {}): Promise<RepairReport> {
  checkOptions(options, ["actor", "onProgress", "from", "dryRun", "was"]);
  const actor = checkActorName(options.actor ?? "default");
  const dryRun = options.dryRun === true;
  if (isPostgresLocation(location)) throw noFolder();
  if (/^[a-z][a-z0-9+.-]+:/i.test(location)) throw invalid("location", "a folder", location);
  const root = resolve(location);
  const folders = await storeFolders();
  const isThere = existsSync(join(root, actor));
  if (!isThere || folders.completeNumbers(join(root, actor)).length === 0) {
    throw new CortexError("ERR_NOT_FOUND", `${root} holds no store of actor ${actor} to repair`);
  }
  const problems = await damageOf(location, actor);
  const nothing = { taken: 0, missing: 0, lost: [], problems, dryRun };
  if (problems.length === 0) return { ok: true, needed: false, entries: 0, ...nothing };
  const salvaged = await folders.salvageFolder(join(root, actor), isWanted);
  const remains = standing(remainsOf(sha256Node, salvaged), options);
  const mended = await withSources(actor, options.from ?? [], (sources) =>
    mendJournal(sha256Node, remains, sources),
  );
  const { rows, taken, lost } = mended;
  const ok = lost.length === 0 && rows.length > 0;
  const found = { ...nothing, taken, missing: lost.length, lost: lost.slice(0, LOST_NAMED) };
  const report = { ok, needed: true, entries: rows.length, ...found };
  if (!ok || dryRun) return report;
  const replacement = (await storeRemoval()).replaceStore(root, actor);
  try {
    const target = await openKv(replacement.beside, actor, {});
    try {
      await buildMended(sha256Node, target, remains, rows, options.onProgress);
    } finally {
      await target.close();
    }
    return { ...report, aside: replacement.take() };
  } finally {
    replacement.end();
  }
}

/** A replica that came back as a store of its own would take writes that its source knows nothing of. */
function standing(remains: Remains, { was }: RepairOptions): Remains {
  if (was !== undefined && was !== "store" && was !== "replica")
    throw invalid("was", "store or replica", was);
  if (remains.isReplica !== undefined || remains.size === 0) return remains;
  if (was !== undefined) return withStanding(remains, was);
  const why = "the page that tells whether the store followed another is gone";
  throw new CortexError("ERR_CORRUPT", `was: expected store or replica, because ${why}`, {
    field: "was",
    expected: "store or replica",
  });
}

/** What is wrong with a store: its pages first, which the engine must not meet when they are damaged. */
async function damageOf(location: string, actor: string): Promise<readonly string[]> {
  const found = await examineStore(location, actor);
  if (found.length > 0) return found;
  try {
    await using memory = await open(location, { actor, create: false });
    return (await memory.check()).problems.map(({ message }) => message);
  } catch (error) {
    if (!isCortexError(error, "ERR_CORRUPT") && !isCortexError(error, "ERR_JOURNAL_GAP"))
      throw error;
    return [error.message];
  }
}

/** Opens what entries may be taken from: folders as they are, files read in and checked. */
async function withSources<T>(
  actor: string,
  from: readonly string[],
  use: (sources: readonly Kv[]) => Promise<T>,
): Promise<T> {
  const opened: Kv[] = [];
  try {
    const isFolder = (path: string): boolean => statSync(resolve(path)).isDirectory();
    for (const path of from.filter(isFolder)) {
      opened.push(
        verified(await openKv(path, actor, { create: false, readOnly: true }), sha256Node),
      );
    }
    const files = from.filter((path) => !isFolder(path));
    if (files.length > 0) {
      const kv = await openKv("memory:", actor, {});
      opened.push(kv);
      const parts = { kv, actor, sha256: sha256Node, hasher: hasherNode };
      await importVolumes(parts, files.map(readIn), { newEpoch: false });
    }
    return await use(opened);
  } finally {
    for (const kv of opened) await kv.close();
  }
}

/** Names of the options that every function on a location takes. */
export const PLACE_OPTIONS = ["actor", "onProgress", "kv"] as const;

/** Runs work on the storage of a location, which it opens and closes. */
export async function withStore<T>(
  location: string,
  options: PlaceOptions,
  how: OpenKvOptions,
  use: (parts: ImportParts) => Promise<T>,
): Promise<T> {
  const actor = checkActorName(options.actor ?? "default");
  const kv = options.kv ?? (await openKv(location, actor, how));
  const { onProgress } = options;
  const progress = onProgress === undefined ? {} : { onProgress };
  try {
    return await use({ kv, actor, sha256: sha256Node, hasher: hasherNode, ...progress });
  } finally {
    if (options.kv === undefined) await kv.close();
  }
}

function checkpointOf({ checkpoint }: ImportOptions): Checkpoint | undefined {
  return checkpoint === undefined ? undefined : parseCheckpoint(sha256Node, checkpoint);
}

function ownList(
  actor: string,
  document: ErasureDocument & { readonly list: ErasureList },
): ErasureList {
  if (document.actor === actor) return document.list;
  throw new CortexError(
    "ERR_ACTOR_MISMATCH",
    `the list of erasures belongs to actor ${JSON.stringify(document.actor)}, expected ${actor}`,
    { expected: actor, got: document.actor },
  );
}

/** What a person must know who restores without a list, or with an old one. */
function warningOf(
  report: ImportReport,
  document: ErasureDocument | undefined,
): string | undefined {
  if (document !== undefined && document.size >= report.entries) return undefined;
  const after =
    document === undefined
      ? `no list of erasures was given: what was forgotten after these backups were made, ` +
        `at seq ${report.seq}, is back`
      : `the list of erasures ends at seq ${document.size - 1}, before the backups do: ` +
        `what was forgotten later than both is back`;
  return `${after}; restore again with the newest list, or forget it again`;
}

function noFolder(): CortexError {
  return new CortexError(
    "ERR_UNSUPPORTED",
    "repair mends the files of a folder; in a database, rebuild makes again what is derived, and a journal comes back from a backup of the server or by restore",
    { field: "location" },
  );
}

function backupPath(location: string, options: PlaceOptions, actor: string, seq: number): string {
  if (options.kv !== undefined || location === "memory:" || isPostgresLocation(location)) {
    throw invalid("backup", "where the backup goes, for a store that is no folder", undefined);
  }
  return join(resolve(location), `${actor}.before-upgrade-at-${seq}.cortex`);
}

function stepsOf(
  from: StoreForm,
  target: ExportTarget,
  { size, isReplica }: { readonly size: number; readonly isReplica: boolean },
): readonly string[] {
  const where = typeof target === "string" ? target : "the target given";
  return [
    `back up all ${size} entries to ${where}`,
    `build everything derived again: fold ${from.foldVersion} to ${CURRENT_FORM.foldVersion}`,
    ...(isReplica ? [] : ["journal a migration entry"]),
  ];
}
