/**
 * Removing the store of a folder for good, whatever is killed on the way.
 *
 * The folder is renamed first, to `.removing-<name>-<token>`: one step, after which there is no such
 * store for anybody who looks. Then the file is marked as removed inside a write transaction, so that a
 * process that has it open is refused from there on instead of writing into a file that is gone. Then
 * its files go, and last the empty folder. Whoever opens the hub next goes on from wherever this was
 * interrupted: the renamed folder is the note that there is something left to do.
 *
 * What was written between the renaming and the mark is gone with the rest, as if it had been written
 * just before. A new store of the same name may be made at any time; it is another folder.
 */
import { randomBytes } from "node:crypto";
import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CortexError } from "../errors.js";
import { REMOVED_HEAD } from "./kv.js";
import { fsyncFolder, fsyncPath, type LmdbFile, storageError } from "./lmdb-file.js";
import { completeNumbers, findStore } from "./lmdb-folder.js";

const REMOVAL_NAME = /^\.removing-(.+)-[0-9a-f]{8}$/;

/** Takes a store out of a folder of stores; the name of what is left to remove. */
export function takeAway(root: string, name: string): string | undefined {
  const removal = `.removing-${name}-${randomBytes(4).toString("hex")}`;
  // A folder of somebody else's that happens to stand here is none of ours to remove.
  if (!holdsStore(join(root, name))) return undefined;
  try {
    renameSync(join(root, name), join(root, removal));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw storageError(error, `${name} cannot be removed, and nothing was`);
  }
  fsyncFolder(root);
  return removal;
}

/** Removals that were begun in a folder of stores and are not over. */
export function removalsIn(root: string): string[] {
  try {
    return readdirSync(root)
      .filter((name) => REMOVAL_NAME.test(name))
      .sort();
  } catch {
    // No folder, nothing to remove.
    return [];
  }
}

/** The store that a removal is about. */
export function nameIn(removal: string): string {
  return REMOVAL_NAME.exec(removal)?.[1] ?? "";
}

/** Refuses whoever still has the store open, and deletes its files; the folder stays, empty. */
export async function destroy(root: string, removal: string): Promise<void> {
  const folder = join(root, removal);
  await markRemoved(folder);
  try {
    for (const name of readdirSync(folder)) {
      rmSync(join(folder, name), { recursive: true, force: true });
    }
    fsyncFolder(folder);
  } catch (error) {
    throw storageError(error, `${folder} could not be emptied; opening the hub tries again`);
  }
}

/** Ends a removal: nothing of it is left. */
export function endRemoval(root: string, removal: string): void {
  rmSync(join(root, removal), { recursive: true, force: true });
  fsyncFolder(root);
}

function holdsStore(folder: string): boolean {
  try {
    return completeNumbers(folder).length > 0;
  } catch {
    return false;
  }
}

async function markRemoved(folder: string): Promise<void> {
  // A file is open once in a process, and somebody here may have it open without waiting for the disk.
  for (const relaxed of [false, true]) {
    const file = storeIn(folder, relaxed);
    if (file === undefined) continue;
    file.write(() => file.putHead(REMOVED_HEAD));
    fsyncPath(file.path);
    await file.close();
    return;
  }
}

function storeIn(folder: string, relaxed: boolean): LmdbFile | undefined {
  try {
    return findStore({ folder, mode: { relaxed, readOnly: false }, create: false });
  } catch (error) {
    // Marked already, half deleted, or damaged: then nobody can be using it.
    if (error instanceof CortexError) return undefined;
    throw error;
  }
}
