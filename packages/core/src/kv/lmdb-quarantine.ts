/**
 * Which store ended a process, and keeping it apart from then on.
 *
 * The engine maps its files, and a page of nonsense can end the process that reads it, with every other store
 * that it served. A process of many stores therefore keeps the names of the two stores whose engines it entered
 * last in a file of its own beside them (`.in-use-…`). The engine runs on the one thread there is, so if it
 * ended the process, it was in one of them. A kill leaves such names too, so the file alone proves no damage.
 * Whoever starts next walks the pages of the stores that are named, by plain reads, and only those that are
 * damaged get under quarantine: a file in `.quarantine` that says what is wrong.
 *
 * Two, because a call to a graph of a hub goes from the catalogue to the graph and back. With one name
 * every call wrote the file twice, 20 microseconds each, and milliseconds while somebody else waited for
 * the disk; the catalogue and one graph in turn write it no more.
 *
 * Promises: a store under quarantine is refused (`ERR_CORRUPT`) by whoever wants to open it, before it is
 * mapped, and the others are served. As soon as its file is another one, repaired or restored, it is looked
 * at again, and the quarantine ends by itself when nothing is wrong. Nothing here waits for the disk:
 * what a process wrote survives its end.
 */
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { CortexError } from "../errors.js";
import { tellOfEntering } from "./lmdb-file.js";
import { examineFolder } from "./lmdb-folder.js";
import { isGone, PROCESS_TOKEN, removeFolder } from "./lmdb-openings.js";
import { takeStamp } from "./lmdb-stamp.js";

const IN_USE_NAME = /^\.in-use-(\d+)-([0-9a-f]{8})$/;
/** Names that a store may have; what stands in a file is believed no further. */
const STORE_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const QUARANTINE_FOLDER = ".quarantine";
/** Longer than the name of any store. */
const NAME_BYTES = 128;
/** Stores that are named at a time. */
const NAMES = 2;

/** A store that nobody may open. */
export interface Quarantined {
  readonly store: string;
  /** What is wrong with it, the first of all that was found. */
  readonly problem: string;
}

interface Kept {
  /** Marks the file that was damaged; another one is looked at again. */
  readonly stamp: string;
  readonly problem: string;
}

/** The files in which this process names stores, by the folder of the stores. */
const naming = new Map<string, Naming>();

/** Stores, by folder, that are under quarantine in this process alone, because it could not be written down. */
const unwritten = new Map<string, Kept>();

interface Naming {
  users: number;
  file: number | undefined;
  /** The names that stand in the file, the one whose store was entered last at the front. */
  names: readonly string[];
}

/**
 * Puts stores under quarantine that ended processes which are gone, and names the stores of a folder that
 * are in use from now on, until the result is called, as often as one likes. A damaged store of a name in `derived` is removed:
 * whoever keeps it can make it again.
 */
export async function watchStores(
  root: string,
  derived: readonly string[] = [],
): Promise<() => void> {
  for (const { path, stores } of leftNames(root)) {
    for (const store of stores) await lookAt(root, store, derived);
    rmSync(path, { force: true });
  }
  tellOfEntering(nameInUse);
  const shared = naming.get(root) ?? { users: 0, file: undefined, names: [] };
  shared.users += 1;
  naming.set(root, shared);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    shared.users -= 1;
    if (shared.users > 0) return;
    naming.delete(root);
    if (shared.file === undefined) return;
    closeSync(shared.file);
    rmSync(ownPath(root), { force: true });
  };
}

/** Looks at a store that may have ended a process. */
async function lookAt(root: string, store: string, derived: readonly string[]): Promise<void> {
  if (derived.includes(store)) {
    const problems = await examineFolder(join(root, store)).catch(() => []);
    if (problems.length > 0) removeFolder(join(root, store));
  } else if (STORE_NAME.test(store)) {
    await suspect(root, store);
  }
}

/** Notes that the engine of a store is about to be entered; called where the store differs from the last. */
function nameInUse(folder: string): void {
  const root = dirname(folder);
  const shared = naming.get(root);
  if (shared === undefined) return;
  const store = basename(folder);
  const isNamed = shared.names.includes(store);
  const others = shared.names.filter((name) => name !== store);
  shared.names = [store, ...others].slice(0, NAMES);
  if (isNamed) return;
  try {
    shared.file ??= openSync(ownPath(root), "w", 0o600);
    const said = shared.names.map((name) => name.padEnd(NAME_BYTES)).join("");
    writeSync(shared.file, said.padEnd(NAMES * NAME_BYTES), 0);
  } catch {
    // A folder that cannot be written to is served all the same.
  }
}

/** The stores of a folder that are under quarantine, in order. */
export function quarantinedIn(root: string): readonly Quarantined[] {
  const here = [...unwritten.keys()].filter((folder) => dirname(folder) === root);
  return [
    ...new Set([...namesIn(join(root, QUARANTINE_FOLDER)), ...here.map((one) => basename(one))]),
  ]
    .sort()
    .flatMap((store) => {
      const kept = keptOf(root, store);
      return kept === undefined ? [] : [{ store, problem: kept.problem }];
    });
}

/** Throws for a store that is under quarantine; ends it where the store has another file by now. */
export async function refuseQuarantined(folder: string): Promise<void> {
  const root = dirname(folder);
  const store = basename(folder);
  const kept = keptOf(root, store);
  if (kept === undefined) return;
  const stamp = takeStamp(folder) ?? "";
  if (stamp !== kept.stamp && !(await suspect(root, store))) {
    if (!unwritten.delete(folder)) rmSync(join(root, QUARANTINE_FOLDER, store), { force: true });
    return;
  }
  const way = "restore a backup or repair it; the quarantine ends when its file is sound";
  const message = `${folder} is under quarantine, because it is damaged: ${kept.problem}; ${way}`;
  throw new CortexError("ERR_CORRUPT", message, { subject: store });
}

/** Whether a store is damaged; one that is gets under quarantine. */
async function suspect(root: string, store: string): Promise<boolean> {
  const folder = join(root, store);
  const stamp = takeStamp(folder) ?? "";
  const [problem] = await examineFolder(folder).catch(() => []);
  if (problem === undefined) return false;
  const kept: Kept = { stamp, problem };
  try {
    mkdirSync(join(root, QUARANTINE_FOLDER), { recursive: true, mode: 0o700 });
    writeFileSync(join(root, QUARANTINE_FOLDER, store), JSON.stringify(kept), { mode: 0o600 });
  } catch {
    // On a disk that is full, say: the others are served all the same.
    unwritten.set(folder, kept);
  }
  return true;
}

function keptOf(root: string, store: string): Kept | undefined {
  try {
    const said: unknown = JSON.parse(readFileSync(join(root, QUARANTINE_FOLDER, store), "utf8"));
    const { stamp, problem } = said as Partial<Kept>;
    return { stamp: String(stamp), problem: String(problem) };
  } catch {
    // Not there, or half written by somebody who was ended: then it is found again.
    return unwritten.get(join(root, store));
  }
}

/** The files of processes that are gone, and the stores that each of them named last. */
function leftNames(
  root: string,
): readonly { readonly path: string; readonly stores: readonly string[] }[] {
  return namesIn(root).flatMap((name) => {
    const [, pid, token] = IN_USE_NAME.exec(name) ?? [];
    if (pid === undefined || token === undefined || !isGone(Number(pid), token)) return [];
    const path = join(root, name);
    try {
      return [{ path, stores: readFileSync(path, "latin1").trim().split(/ +/) }];
    } catch {
      // Another process that starts as well has looked at it meanwhile, or it is no file.
      return [];
    }
  });
}

function ownPath(root: string): string {
  return join(root, `.in-use-${process.pid}-${PROCESS_TOKEN}`);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
