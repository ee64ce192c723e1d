/**
 * What a run of the tests has to do with. Tests that need more than Node: what they lack is said in one line and the
 * runner counts a skip, unless `CORTEX_REQUIRE_ALL=1` asks for a failure, as continuous integration does. And tests
 * that show the same again and again: `CORTEX_TEST_LONG=1`, likewise of continuous integration, asks for more of it.
 *
 * Promise: asked while a file of tests is loaded, so that `test.skipIf` can take the answer; a test never
 * passes because something is missing. Nothing here knows a test runner.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Whether tests must be skipped for want of something; throws where everything is required. */
export function isLacking(isThere: boolean, what: string): boolean {
  if (isThere) return false;
  if (process.env.CORTEX_REQUIRE_ALL === "1") throw new Error(`required, but ${what}`);
  console.log(`skipped: ${what}`);
  return true;
}

/** How often a test repeats what it shows: `few` times for people who wait, `many` under `CORTEX_TEST_LONG=1`. */
export function rounds(few: number, many: number): number {
  return process.env.CORTEX_TEST_LONG === "1" ? many : few;
}

/** Whether commands that tests type are not all there. */
export function lacksTools(...names: readonly string[]): boolean {
  const missing = names.filter((name) => spawnSync("which", [name]).status !== 0);
  return isLacking(missing.length === 0, `this machine has no ${missing.join(", no ")}`);
}

/** Whether no small disk can be mounted here, as root of a Linux machine may. */
export function lacksSmallDisk(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "cortex-mount-"));
  const disk = mountSmallDisk(folder, "1m");
  disk?.unmount();
  rmSync(folder, { recursive: true, force: true });
  return isLacking(disk !== undefined, "no small disk can be mounted here");
}

/** A mounted disk. */
export interface SmallDisk {
  /** From now on it takes no writes. */
  forbidWrites(): void;
  /** It has another size from now on. */
  resize(size: string): void;
  unmount(): void;
}

/** Mounts an empty disk of a size over a folder; `undefined` where that is not allowed. */
export function mountSmallDisk(folder: string, size: string): SmallDisk | undefined {
  const options = ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder];
  if (spawnSync("mount", options).status !== 0) return undefined;
  const again = (how: string): void => void spawnSync("mount", ["-o", `remount,${how}`, folder]);
  return {
    forbidWrites: () => again("ro"),
    resize: (next) => again(`size=${next}`),
    unmount: () => void spawnSync("umount", [folder]),
  };
}
