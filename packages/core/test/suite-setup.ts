/**
 * What runs before all tests where `CORTEX_TEST_ON` asks for a database: `postgres`, `pgbouncer` or
 * `pglite`. Stores of the fixtures then live there; see `testing/fixtures.ts`.
 */
import { startPglite } from "./pglite-server.js";
import { startPgbouncer, startPostgres } from "./postgres-server.js";

/** Starts the database; gives what stops it. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  const kind = process.env.CORTEX_TEST_ON ?? "";
  if (kind === "") return undefined;
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
