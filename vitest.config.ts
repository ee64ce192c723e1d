/**
 * How the tests run. In-process tests see the sources through these aliases; tests that spawn a
 * process use the built output, which `npm test` builds first.
 */
import { fileURLToPath } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";
import {
  BaseSequencer,
  type TestSequencer,
  type TestSpecification,
  type Vitest,
} from "vitest/node";
import { databaseSuites } from "./packages/core/test/on-database.js";

const core = (file: string) => fileURLToPath(new URL(`packages/core/src/${file}`, import.meta.url));

const embed = fileURLToPath(new URL("packages/embed/src/index.ts", import.meta.url));

/** Names of files with a browser or with many processes, however short they are. */
const LONG =
  /studio\/test\/[^/]+$|(process|crash|simulation|operating|interrupted|serve|reliability|kills|new-verb|package)[^/]*$/;

/** What takes long begins first, so that in the end no worker waits for the other. */
class LongFirst implements TestSequencer {
  readonly #usual: BaseSequencer;

  constructor(run: Vitest) {
    this.#usual = new BaseSequencer(run);
  }

  shard(files: TestSpecification[]): Promise<TestSpecification[]> {
    return this.#usual.shard(files);
  }

  async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await this.#usual.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig(({ mode }) => ({
  resolve: {
    alias: [
      { find: /^@cortex-memory\/core$/, replacement: core("index.ts") },
      { find: /^@cortex-memory\/core\/contract$/, replacement: core("contract/entry.ts") },
      { find: /^@cortex-memory\/core\/doors$/, replacement: core("doors.ts") },
      { find: /^@cortex-memory\/core\/memgraph$/, replacement: core("memgraph/index.ts") },
      { find: /^@cortex-memory\/core\/postgres$/, replacement: core("kv/postgres-backend.ts") },
      { find: /^@cortex-memory\/core\/remote$/, replacement: core("remote/index.ts") },
      { find: /^@cortex-memory\/core\/testing$/, replacement: core("testing/index.ts") },
      { find: /^@cortex-memory\/embed$/, replacement: embed },
      { find: /^@cortex-memory\/core\/verify$/, replacement: core("verify.ts") },
    ],
  },
  test: {
    // `--mode database`: what is worth running once more where the stores are in a database.
    include:
      mode === "database"
        ? [...databaseSuites(fileURLToPath(new URL(".", import.meta.url)))]
        : ["packages/*/src/**/*.test.ts", "packages/*/test/**/*.test.ts", "tools/**/*.test.ts"],
    // Standbys and full disks take servers of their own: with the other tests that need one. A quick run of every
    // benchmark takes minutes: `npm run test:bench`.
    exclude: [
      ...configDefaults.exclude,
      ...(process.env.CORTEX_TEST_BENCH === "1" ? [] : ["tools/bench.test.ts"]),
      ...(process.env.CORTEX_TEST_ON === "postgres"
        ? []
        : ["packages/core/test/postgres-servers.test.ts"]),
    ],
    sequence: { sequencer: LongFirst },
    globalSetup: ["packages/core/test/suite-setup.ts"],
    pool: "forks",
    maxWorkers: 2,
    // Files of one worker share loaded modules, which halves the time; nothing below keeps state that
    // one file could leave to the next, but what is made to be shared by a process.
    isolate: false,
    // For what hangs: alone no test takes ten seconds, but the machine may have much else to do.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // What is waited for comes when it comes: a second, as it is without this line, is a race.
    expect: { poll: { timeout: 60_000 } },
  },
}));
