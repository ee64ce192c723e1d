/**
 * Which suites run once more on a database (`npm run test:postgres`): all of core and server whose stores come from the
 * fixtures, which put them there. Found by what a file names, so that a new suite is among them by itself.
 *
 * Suites that make their stores themselves, in memory or in files, would show nothing new and are not looked for.
 * Those that could run and do not are listed below, each with its reason.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDERS = [
  "packages/core/src",
  "packages/core/test",
  "packages/server/src",
  "packages/server/test",
];

/** What opens a store where the setting says. */
const FIXTURES =
  /openTestStore|openCountedStore|openTestHub|makePlace|temporaryStore|startTestServer|CORTEX_TEST_POSTGRES|other-process/;

/** Takes servers of its own, and long: it runs here alone. */
const SERVERS = "packages/core/test/postgres-servers.test.ts";

const OF_FILES = "is about the files of a store or the folder that they are in, in part at least";
const OF_PAGES =
  "types the commands of a page as they stand there, most of them with a folder of their own";
const OF_REPORTS =
  "reads the report that an import leaves in its folder; postgres-serve.test.ts imports into a database";
const OF_ITS_OWN = "starts a server of its own, whatever the setting";
const OF_TIMING = "counts the commits of a store that answers at once";
const OF_ROWS_AT_HAND = "is about rows that are read without waiting, which a database has none of";
const BY_HUNDREDS = "makes so many stores or calls that it takes minutes over a wire";

/** Suites that are left out, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  "packages/core/test/crash.test.ts": OF_FILES,
  "packages/core/test/damaged-files.test.ts": OF_FILES,
  "packages/core/test/durable-order.test.ts": OF_FILES,
  "packages/core/test/repair.test.ts": OF_FILES,
  // Beside it find-lanes.test.ts and find/find.test.ts run.
  "packages/core/test/find.test.ts": BY_HUNDREDS,
  "packages/core/src/links/plain-walk.test.ts": OF_ROWS_AT_HAND,
  "packages/server/test/openapi.test.ts": BY_HUNDREDS,
  "packages/server/test/bench.test.ts": OF_FILES,
  "packages/server/test/damaged-store.test.ts": OF_FILES,
  "packages/server/test/import-interrupted.test.ts": OF_FILES,
  "packages/server/test/memgraph-switch.test.ts": OF_FILES,
  "packages/server/test/moves.test.ts": OF_FILES,
  "packages/server/test/start.test.ts": OF_FILES,
  "packages/server/test/mcp-commits.test.ts": OF_FILES,
  "packages/server/src/http/perform.test.ts": OF_TIMING,
  "packages/server/test/docs-commands.test.ts": OF_PAGES,
  "packages/server/test/import-databases.test.ts": OF_REPORTS,
  "packages/server/test/import-left-out.test.ts": OF_REPORTS,
  "packages/server/test/import-lines.test.ts": OF_REPORTS,
  "packages/server/test/import-memgraph.test.ts": BY_HUNDREDS,
  "packages/server/test/operating-doc.test.ts": OF_PAGES,
  "packages/server/test/postgres-serve.test.ts": OF_ITS_OWN,
  "packages/server/test/copy-command.test.ts": OF_ITS_OWN,
  "packages/core/test/postgres-import.test.ts": OF_ITS_OWN,
};

/** The files to run, as the runner names them. */
export function databaseSuites(root: string): readonly string[] {
  const suites = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => `${folder}/${name}`),
  ).filter((file) => FIXTURES.test(readFileSync(join(root, file), "utf8")));
  const stale = Object.keys(LEFT_OUT).filter((file) => !suites.includes(file));
  if (stale.length > 0) throw new Error(`left out, but nothing to leave out: ${stale.join(", ")}`);
  return [...suites.filter((file) => LEFT_OUT[file] === undefined), SERVERS];
}
