/**
 * An open hub for tests: over a chosen backend, with a clock that moves by a known step and a seeded
 * source of randomness. `dispose` runs the full check of the catalogue and of every graph, fails if it
 * finds anything, and leaves no handle and no folder behind.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hub } from "../hub/hub.js";
import { type HubSeams, type OpenHubOptions, openHubWith } from "../hub/open-hub.js";
import { type Memgraph, memgraph } from "../memgraph/index.js";
import { hubIn, TEST_EPOCH_MS, type TestClock, testClock } from "./fixtures.js";
import { seededRandom } from "./seeded-random.js";

/** How a test hub is opened. */
export interface TestHubOptions
  extends Pick<OpenHubOptions, "tenant" | "maxOpen" | "idleMs" | "principal">,
    HubSeams {
  /**
   * `lmdb` lives in a temporary folder; `memory`, the usual one, in the database at
   * `CORTEX_TEST_POSTGRES` where that is set.
   */
  readonly backend?: "memory" | "lmdb";
  /** The address of a database to put it in instead. */
  readonly database?: string | undefined;
  readonly seed?: number;
  /** False leaves the full check out. */
  readonly check?: boolean;
}

/** An open hub for one test. */
export interface TestHub extends AsyncDisposable {
  readonly hub: Hub;
  /** memgraph's store over the hub. */
  readonly store: Memgraph;
  readonly clock: TestClock;
  /** Where it is: a folder, or `memory:`. */
  readonly location: string;
  /** Another handle on the same folder, as another process would have; close it yourself. */
  another(options?: Partial<OpenHubOptions>): Promise<Hub>;
}

/** Opens an empty hub. */
export async function openTestHub(options: TestHubOptions = {}): Promise<TestHub> {
  const {
    backend = "memory",
    database = backend === "lmdb" ? "" : (process.env.CORTEX_TEST_POSTGRES ?? ""),
    seed = 1,
    check = true,
    wrapCatalogue,
    wrapGraph,
    ...shared
  } = options;
  const clock = testClock(TEST_EPOCH_MS, 1);
  const random = seededRandom(seed);
  const folder = backend === "lmdb" ? await mkdtemp(join(tmpdir(), "cortex-hub-")) : undefined;
  const location = folder ?? (database === "" ? "memory:" : hubIn(database));
  const all: OpenHubOptions = {
    ...shared,
    clock: clock.read,
    random: random.bytes,
    relaxedDurability: true,
  };
  const seams = {
    ...(wrapCatalogue === undefined ? {} : { wrapCatalogue }),
    ...(wrapGraph === undefined ? {} : { wrapGraph }),
  };
  const hub = await openHubWith(location, all, seams);
  const remove = async (): Promise<void> => {
    await hub.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  return {
    hub,
    store: memgraph(hub),
    clock,
    location,
    another: (more = {}) => openHubWith(location, { ...all, ...more }, {}),
    async [Symbol.asyncDispose]() {
      try {
        const report = check ? await hub.check({ graphs: true }) : { ok: true };
        if (!report.ok) throw new Error(`the hub fails its check: ${JSON.stringify(report)}`);
      } finally {
        await remove();
      }
    },
  };
}
