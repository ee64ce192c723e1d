/**
 * What runs before all tests, and what they leave to its end.
 *
 * Temporary folders lie in memory where the machine has a disk of memory with room enough, and where `TMPDIR` does
 * not say otherwise: every commit waits for the disk, of which nothing is read again after a power cut here.
 *
 * The programs of `programs/` are bundled with the built output that they import: of several hundred modules that
 * each of their many processes would open, a dozen are left.
 *
 * A database runs where `CORTEX_TEST_ON` asks for one: `postgres`, `pgbouncer` or `pglite`. Stores of the fixtures
 * then live there; see `testing/fixtures.ts`.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { startPglite } from "./pglite-server.js";
import { startPgbouncer, startPostgres } from "./postgres-server.js";

/** Linux keeps this folder in memory. */
const MEMORY_DISK = "/dev/shm";

/** A run's folders are called so, and by the number of its process. */
const OURS = "cortex-tests-";

/** What the tests of two workers leave lying at most, many times over. */
const ROOM_BYTES = 4 * 2 ** 30;

const PROGRAMS = fileURLToPath(new URL("programs/", import.meta.url));
const BUILT = fileURLToPath(new URL("../dist/index.js", import.meta.url));
/** What is bundled finds its libraries from here. */
const LIBRARIES = fileURLToPath(new URL("../../../node_modules/", import.meta.url));

/** Makes ready what tests share; gives what ends and removes it. */
export async function setup(): Promise<() => Promise<void>> {
  const ends: (() => unknown)[] = [];
  const end = async (): Promise<void> => {
    for (const one of ends.splice(0).reverse()) await one();
  };
  try {
    if (hasMemoryDisk()) {
      const folder = ownFolder(MEMORY_DISK, ends);
      // A server of PostgreSQL is another user.
      chmodSync(folder, 0o1777);
      process.env.TMPDIR = folder;
    }
    if (existsSync(BUILT)) await bundlePrograms(ownFolder(LIBRARIES, ends));
    ends.push(await startDatabase(process.env.CORTEX_TEST_ON ?? ""));
    return end;
  } catch (error) {
    await end();
    throw error;
  }
}

function hasMemoryDisk(): boolean {
  if (process.env.TMPDIR !== undefined || !existsSync(MEMORY_DISK)) return false;
  const { bavail, bsize } = statfsSync(MEMORY_DISK);
  return bavail * bsize >= ROOM_BYTES;
}

/** A folder for this run alone; those that killed runs left are removed, which nobody else would do. */
function ownFolder(parent: string, ends: (() => unknown)[]): string {
  for (const name of readdirSync(parent)) {
    const isLeft = name.startsWith(OURS) && !isRunning(Number(name.slice(OURS.length)));
    if (isLeft) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const folder = join(parent, `${OURS}${process.pid}`);
  mkdirSync(folder, { recursive: true });
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // One that is not ours to signal runs.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Writes the programs, and what they import but for libraries with binaries; `other-process.ts` starts them there. */
async function bundlePrograms(folder: string): Promise<void> {
  const bundle = await rolldown({
    input: readdirSync(PROGRAMS).map((name) => join(PROGRAMS, name)),
    platform: "node",
    external: /^(?![./]|zod(\/|$)|re2js$|@noble\/hashes|snowball-stemmers)/,
    logLevel: "warn",
  });
  await bundle.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "part-[name]-[hash].mjs",
  });
  await bundle.close();
  process.env.CORTEX_TEST_PROGRAMS = folder;
}

/** Starts a database of a kind, or none; gives what stops it. */
async function startDatabase(kind: string): Promise<() => Promise<void>> {
  if (kind === "") return async () => {};
  if (kind === "pglite") {
    const server = await startPglite();
    process.env.CORTEX_TEST_POSTGRES = server.url;
    return () => server.stop();
  }
  if (kind !== "postgres" && kind !== "pgbouncer") {
    throw new Error(`CORTEX_TEST_ON: expected postgres, pgbouncer or pglite, got ${kind}`);
  }
  // Nothing is read again after a power cut here; what is, has a server of its own.
  const server = await startPostgres(["fsync = off", "max_connections = 300"]);
  const pooler = kind === "pgbouncer" ? await startPgbouncer(server) : undefined;
  process.env.CORTEX_TEST_POSTGRES = `${(pooler ?? server).url}?partitions=4`;
  return async () => {
    await pooler?.stop();
    await server.stop();
  };
}
