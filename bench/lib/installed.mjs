/**
 * What a package weighs once installed: its own files and those of everything it depends on, as they lie
 * in the folders that Node would look in. Optional dependencies that are there count; development
 * dependencies do not.
 */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { folderBytes } from "./stores.mjs";

/**
 * @param {string} name
 * @param {string} from the folder that asks for it
 */
export function installedBytes(name, from) {
  /** @type {Set<string>} */
  const folders = new Set();
  gather(name, from, folders);
  let bytes = 0;
  for (const folder of folders) bytes += ownBytes(folder);
  return bytes;
}

/**
 * @param {string} name
 * @param {string} from
 * @param {Set<string>} folders
 */
function gather(name, from, folders) {
  const folder = folderOf(name, from);
  if (folder === undefined || folders.has(folder)) return;
  folders.add(folder);
  const { dependencies, optionalDependencies } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  );
  for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) {
    gather(needed, folder, folders);
  }
}

/**
 * @param {string} name
 * @param {string} from
 */
function folderOf(name, from) {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, "node_modules", name);
    if (existsSync(join(folder, "package.json"))) return realpathSync(folder);
    if (at === dirname(at)) return undefined;
  }
}

/**
 * A workspace holds sources and tests that a published package does not: then only what it publishes counts.
 * @param {string} folder
 */
function ownBytes(folder) {
  const nested = join(folder, "node_modules");
  const inside = existsSync(nested) ? folderBytes(nested) : 0;
  if (folder.includes("node_modules")) return folderBytes(folder) - inside;
  return ["dist", "bin", "model"]
    .map((name) => join(folder, name))
    .filter((path) => existsSync(path))
    .reduce((sum, path) => sum + folderBytes(path), 0);
}
