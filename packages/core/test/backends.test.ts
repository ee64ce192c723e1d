/** The conformance suite on every backend; Postgres on PGlite, a real server is in `postgres.test.ts`. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { openLmdbKv } from "../src/kv/lmdb-backend.js";
import { MemoryStore, openMemoryKv } from "../src/kv/memory-backend.js";
import { openPostgresKv, removePostgresStore } from "../src/kv/postgres-backend.js";
import { hubIn } from "../src/testing/fixtures.js";
import { kvSuite } from "../src/testing/index.js";
import { type PgliteServer, startPglite } from "./pglite-server.js";

kvSuite({
  name: "memory",
  test,
  async open() {
    const store = new MemoryStore();
    const kv = openMemoryKv(store);
    return {
      kv,
      async reopen() {
        await kv.close();
        return openMemoryKv(store);
      },
      second: async () => openMemoryKv(store),
      cleanup: () => kv.close(),
    };
  },
});

for (const relaxed of [false, true]) {
  kvSuite({
    name: relaxed ? "lmdb, relaxed" : "lmdb",
    test,
    async open() {
      const folder = await mkdtemp(join(tmpdir(), "cortex-kv-"));
      let kv = await openLmdbKv(folder, { relaxed });
      return {
        kv,
        async reopen() {
          await kv.close();
          kv = await openLmdbKv(folder, { relaxed });
          return kv;
        },
        second: () => openLmdbKv(folder, { relaxed }),
        async cleanup() {
          await kv.close();
          await rm(folder, { recursive: true });
        },
      };
    },
  });
}

describe("postgres, on PGlite", () => {
  let server: PgliteServer;
  beforeAll(async () => {
    server = await startPglite();
  });
  afterAll(() => server.stop());

  kvSuite({
    name: "pglite",
    test,
    seeds: [1, 2],
    steps: 60,
    async open() {
      const location = `${hubIn(server.url)}&pool=60`;
      let kv = await openPostgresKv(location, "ada");
      return {
        kv,
        async reopen() {
          await kv.close();
          kv = await openPostgresKv(location, "ada");
          return kv;
        },
        second: () => openPostgresKv(location, "ada"),
        async cleanup() {
          await kv.close();
          await removePostgresStore(location, "ada");
        },
      };
    },
  });
});
