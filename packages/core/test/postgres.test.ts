/** The storage suite on the Postgres backend: on a real server, and through pgbouncer. */
import { afterAll, beforeAll, describe, test } from "vitest";
import { openPostgresKv } from "../src/kv/postgres-backend.js";
import { hubIn } from "../src/testing/fixtures.js";
import { kvSuite } from "../src/testing/index.js";
import { isLacking } from "../src/testing/lacking.js";
import {
  type Pgbouncer,
  type PostgresServer,
  startPgbouncer,
  startPostgres,
  whyNoPostgres,
} from "./postgres-server.js";

const missing = whyNoPostgres();

describe.skipIf(isLacking(missing === undefined, missing ?? ""))("a real server", () => {
  let server: PostgresServer;
  let bouncer: Pgbouncer;
  beforeAll(async () => {
    server = await startPostgres();
    bouncer = await startPgbouncer(server);
  });
  afterAll(async () => {
    await bouncer?.stop();
    await server?.stop();
  });

  for (const name of ["postgres", "pgbouncer"] as const) {
    kvSuite({
      name,
      test,
      seeds: name === "postgres" ? [1, 2, 3, 4] : [5, 6],
      async open() {
        const { url } = name === "postgres" ? server : bouncer;
        const location = `${hubIn(url)}&pool=60&partitions=4`;
        let kv = await openPostgresKv(location, "ada");
        return {
          kv,
          async reopen() {
            await kv.close();
            kv = await openPostgresKv(location, "ada");
            return kv;
          },
          second: () => openPostgresKv(location, "ada"),
          cleanup: () => kv.close(),
        };
      },
    });
  }
});
