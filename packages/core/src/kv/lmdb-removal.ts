/**
 * Removing the store of a folder for good, or putting another in its place, whatever is killed on the way.
 *
 * To remove it, the folder is renamed first, to `.removing-<name>-<token>`: one step, after which there is no such
 * store for anybody who looks. Then the file is marked as removed inside a write transaction, so that a
 * process that has it open is refused from there on instead of writing into a file that is gone. Then
 * its files go, and last the empty folder. Whoever opens the hub next goes on from wherever this was
 * interrupted: the renamed folder is the note that there is something left to do.
 *
 * What was written between the renaming and the mark is gone with the rest, as if it had been written
 * just before. A new store of the same name may be made at any time; it is another folder.
 *
 * A store that takes another's place is built in `.repairing-<name>-<mark>` and, once it is whole, renamed to
 * `.repaired-<name>-<mark>`; then the old one becomes `.damaged-<name>-<mark>`, and then the new one gets the
 * name. Each renaming is on the disk before the next. So the name is free only while both of the others
 * are there, and whoever wants to open the store then does the last renaming. Killed before that, the old
 * store is what it was, and the next who builds one takes the leftovers away.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CortexError } from "../errors.js";
import { REMOVED_HEAD } from "./kv.js";
import { storageError } from "./lmdb-failures.js";
import { fsyncFolder, fsyncPath, type LmdbFile } from "./lmdb-file.js";
import { completeNumbers, findStore } from "./lmdb-folder.js";
import { isGone, PROCESS_TOKEN, whileRemoving } from "./lmdb-openings.js";

export { removeFolder } from "./lmdb-openings.js";

/** A store that is being built, is whole and waits for its name, or has lost it; the process that did it. */
const REPLACEMENT_NAME = /^\.(repairing|repaired|damaged)-(.+)-((\d+)-([0-9a-f]{8})-\d+)$/;
let replacementsBegun = 0;
const REMOVAL_NAME = /^\.removing-(.+)-[0-9a-f]{8}$/;

/** Takes a store out of a folder of stores; the name of what is left to remove. */
export function takeAway(root: string, name: string): string | undefined {
  const removal = `.removing-${name}-${randomBytes(4).toString("hex")}`;
  // A folder of somebody else's that happens to stand here is none of ours to remove.
  if (!holdsStore(join(root, name))) return undefined;
  const [store, taken] = [join(root, name), join(root, removal)];
  try {
    const isTaken = whileRemoving(store, () => {
      renameSync(store, taken);
      return taken;
    });
    if (!isTaken) throw heldOpen(name);
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
    const isEmptied = whileRemoving(folder, () => {
      for (const name of readdirSync(folder)) {
        rmSync(join(folder, name), { recursive: true, force: true });
      }
      return undefined;
    });
    if (!isEmptied) throw heldOpen(removal);
    fsyncFolder(folder);
  } catch (error) {
    throw storageError(error, `${folder} could not be emptied; opening the hub tries again`);
  }
}

/** Ends a removal: nothing of it is left, nor of what a repair kept of it. */
export function endRemoval(root: string, removal: string): void {
  for (const { path, store } of replacementsIn(root)) {
    if (store === nameIn(removal)) rmSync(path, { recursive: true, force: true });
  }
  rmSync(join(root, removal), { recursive: true, force: true });
  fsyncFolder(root);
}

/** A process is about to open the store, and stands still. */
function heldOpen(name: string): CortexError {
  return new CortexError(
    "ERR_CONTENDED",
    `${name} is being opened by a process that does not get on`,
  );
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

/** A store that is to take the place of another. */
export interface Replacement {
  /** The folder of stores in which it is built, under its own name. */
  readonly beside: string;
  /** Puts it in place; where the old one is from then on. */
  take(): string;
  /** Takes away what was not put in place. */
  end(): void;
}

/** Begins to replace a store; what processes that are gone left of doing so is taken away. */
export function replaceStore(root: string, name: string): Replacement {
  for (const { path, store, kind, isDead } of replacementsIn(root)) {
    const isWaste = store === name && isDead && kind !== "damaged";
    if (isWaste) rmSync(path, { recursive: true, force: true });
  }
  replacementsBegun += 1;
  const mark = `${name}-${process.pid}-${PROCESS_TOKEN}-${replacementsBegun}`;
  const [store, beside] = [join(root, name), join(root, `.repairing-${mark}`)];
  const [whole, aside] = [join(root, `.repaired-${mark}`), join(root, `.damaged-${mark}`)];
  const rename = (from: string, to: string): void => {
    renameSync(from, to);
    fsyncFolder(root);
  };
  return {
    beside,
    take() {
      rename(join(beside, name), whole);
      const isAside = whileRemoving(store, () => {
        rename(store, aside);
        return aside;
      });
      if (!isAside) throw heldOpen(name);
      try {
        rename(whole, store);
      } catch (error) {
        // Somebody who wanted to open the store may have been quicker.
        if (existsSync(store)) return aside;
        rename(aside, store);
        throw storageError(error, `${name} could not be replaced, and is what it was`);
      }
      return aside;
    },
    end() {
      for (const path of [beside, whole]) rmSync(path, { recursive: true, force: true });
    },
  };
}

/** Gives stores of a folder their names that were about to get them when a process was ended. */
export function finishReplacements(root: string): void {
  for (const { path, store, mark, kind } of replacementsIn(root)) {
    const hasLeft = existsSync(join(root, `.damaged-${store}-${mark}`));
    if (kind === "repaired" && hasLeft) finish(path, join(root, store));
  }
}

/** The same for one store that is about to be opened: looks only where it is not there. */
export function finishReplacementOf(folder: string): void {
  if (!existsSync(folder) && existsSync(dirname(folder))) finishReplacements(dirname(folder));
}

function finish(whole: string, store: string): void {
  if (existsSync(store)) return;
  try {
    renameSync(whole, store);
    fsyncFolder(dirname(store));
  } catch (error) {
    if (existsSync(store)) return;
    throw storageError(error, `${basename(store)} was repaired, and cannot be put in its place`);
  }
}

function replacementsIn(root: string): readonly {
  readonly path: string;
  readonly store: string;
  readonly mark: string;
  readonly kind: string;
  readonly isDead: boolean;
}[] {
  return listed(root).flatMap((found) => {
    const [, kind, store = "", mark = "", pid, token = ""] = REPLACEMENT_NAME.exec(found) ?? [];
    if (kind === undefined) return [];
    return [{ path: join(root, found), store, mark, kind, isDead: isGone(Number(pid), token) }];
  });
}

/** The names in a folder of stores that is there. */
function listed(root: string): readonly string[] {
  try {
    return readdirSync(root);
  } catch (error) {
    throw storageError(error, `cannot list ${root}`);
  }
}
