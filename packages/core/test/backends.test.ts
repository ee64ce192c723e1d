/** The conformance suite on every backend, and on a SQL engine through a test-only adapter. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, describe, test } from "vitest";
import { openLmdbKv } from "../src/kv/lmdb-backend.js";
import { MemoryStore, openMemoryKv } from "../src/kv/memory-backend.js";
import { kvSuite } from "../src/testing/index.js";
import { openPgliteDatabase, openPgliteKv } from "./pglite-kv.js";

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

describe("pglite", () => {
  let database: PGlite;
  beforeAll(async () => {
    database = await openPgliteDatabase();
  });
  afterAll(() => database.close());

  kvSuite({
    name: "pglite",
    test,
    seeds: [1, 2],
    steps: 60,
    async open() {
      await database.exec("truncate rows; update head set version = 0, head = null");
      const kv = openPgliteKv(database);
      return { kv, second: async () => openPgliteKv(database), cleanup: () => kv.close() };
    },
  });
});
