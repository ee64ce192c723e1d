/** Where and on what a run was made: figures without that are worth nothing. */
import { execFileSync } from "node:child_process";
import { readFileSync, realpathSync } from "node:fs";
import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";

/**
 * The machine, as far as the system tells.
 * @param {string} folder where the stores are made
 */
export function describeMachine(folder) {
  const processors = cpus();
  return {
    cpu: processors[0]?.model.trim() ?? "unknown",
    cores: processors.length,
    memoryGb: Math.round(totalmem() / 1e8) / 10,
    node: process.version,
    kernel: `${platform()} ${release()} ${arch()}`,
    filesystem: filesystemOf(folder),
    load: loadOf(),
  };
}

/** Load of the last minute; more than one on a machine of two cores bends every figure. */
export function loadOf() {
  return Math.round((loadavg()[0] ?? 0) * 100) / 100;
}

/**
 * The commit that is measured, and whether the tree holds more than it.
 * @param {string | URL} [folder] this tree when not given
 */
export function describeCommit(folder = new URL("../..", import.meta.url)) {
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync("git", args, {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  try {
    return { commit: git("rev-parse", "HEAD"), dirty: git("status", "--porcelain") !== "" };
  } catch {
    return { commit: "unknown", dirty: false };
  }
}

/**
 * The type of the file system below a folder: the mount with the longest matching path.
 * @param {string} folder
 */
function filesystemOf(folder) {
  let mounts = "";
  try {
    mounts = readFileSync("/proc/self/mounts", "utf8");
  } catch {
    return "unknown";
  }
  const path = `${realpathSync(folder)}/`;
  let best = { point: "", type: "unknown" };
  for (const line of mounts.split("\n")) {
    const [, point, type] = line.split(" ");
    if (point === undefined || type === undefined) continue;
    const prefix = point.endsWith("/") ? point : `${point}/`;
    if (path.startsWith(prefix) && prefix.length >= best.point.length)
      best = { point: prefix, type };
  }
  return best.type;
}
