/**
 * A store that is built beside the living one in a database which loses the last commits on the way: a server that
 * ends and did not have them on its disk, as one without `synchronous_commit` may, or a standby that was behind.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Kv, KvGeneration } from "../src/kv/kv.js";
import { openPostgresKv } from "../src/kv/postgres-backend.js";
import { hubIn } from "../src/testing/fixtures.js";
import { isLacking } from "../src/testing/lacking.js";
import { type PostgresServer, startPostgres, whyNoPostgres } from "./postgres-server.js";

const missing = whyNoPostgres();
const bytes = (...all: number[]): Uint8Array => Uint8Array.of(...all);
const row = (at: number) => ({ key: bytes(2, at), value: bytes(at) });
const MOVED = bytes(0xff);

describe.skipIf(isLacking(missing === undefined, missing ?? ""))("a server that ends", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    // What nobody waits for stays in memory for as long as the server lets it.
    server = await startPostgres(["wal_writer_delay = '10s'"]);
    server.psql("CREATE DATABASE loose");
    server.psql("ALTER DATABASE loose SET synchronous_commit = off");
  });
  afterAll(() => server?.stop());

  /** A store with one row, and one that is built beside it and has another row. */
  async function building(database: string): Promise<{ kv: Kv; next: KvGeneration }> {
    const location = `${hubIn(server.address(database))}&partitions=2&retry=60`;
    const kv = await openPostgresKv(location, "ada");
    await kv.commit({ expectHead: undefined, head: bytes(1), puts: [row(1)], deletes: [] });
    const next = await kv.nextGeneration();
    await next.kv.commit({ expectHead: undefined, head: bytes(1), puts: [row(1)], deletes: [] });
    // Somebody else's commit takes all that came before it to the disk.
    server.psql("CREATE TABLE IF NOT EXISTS others (one int)");
    server.psql("INSERT INTO others VALUES (1)");
    await next.kv.commit({ expectHead: bytes(1), head: bytes(2), puts: [row(2)], deletes: [] });
    return { kv, next };
  }

  async function endAndStart(): Promise<void> {
    await server.kill();
    await server.start();
  }

  async function valuesOf(kv: Kv): Promise<readonly (Uint8Array | undefined)[]> {
    const snapshot = await kv.snapshot();
    const values = await snapshot.getMany([bytes(0), row(1).key, row(2).key]);
    snapshot.close();
    return values;
  }

  test("between the last commit of a building and its move: all of it is there", async () => {
    const { kv, next } = await building("postgres");
    await endAndStart();
    expect(await next.promote(bytes(1), MOVED)).toEqual({ ok: true });
    expect(await valuesOf(kv)).toEqual([bytes(2), bytes(1), bytes(2)]);
    await kv.close();
  });

  const goingOn: Record<string, (next: KvGeneration) => Promise<unknown>> = {
    "the move": (next) => next.promote(bytes(1), MOVED),
    "a commit on top of the head before": ({ kv }) =>
      kv.commit({ expectHead: bytes(1), head: bytes(3), puts: [], deletes: [] }),
    "a commit on top of the head that is lost": ({ kv }) =>
      kv.commit({ expectHead: bytes(2), head: bytes(3), puts: [], deletes: [] }),
    "a commit of caches": ({ kv }) => kv.commitCaches({ expect: [], puts: [row(3)], deletes: [] }),
  };
  test.each(Object.entries(goingOn))(
    "and has lost a commit of a building: %s is refused, and the store is as it was",
    async (_, go) => {
      const { kv, next } = await building("loose");
      await endAndStart();
      await expect(go(next)).rejects.toMatchObject({
        code: "ERR_UNREACHABLE",
        message: expect.stringMatching(/run it again/),
      });
      await next.abandon();
      expect(await valuesOf(kv)).toEqual([bytes(1), bytes(1), undefined]);
      await kv.close();
    },
  );

  test("a building whose caches were not as expected goes on", async () => {
    const { kv, next } = await building("postgres");
    const expect0 = [{ key: row(2).key, value: undefined }];
    expect(await next.kv.commitCaches({ expect: expect0, puts: [row(3)], deletes: [] })).toBe(
      false,
    );
    expect(await next.kv.commitCaches({ expect: [], puts: [row(3)], deletes: [] })).toBe(true);
    const both = [4, 5].map((at) =>
      next.kv.commit({ expectHead: bytes(2), head: bytes(at), puts: [row(at)], deletes: [] }),
    );
    expect((await Promise.all(both)).map(({ ok }) => ok)).toEqual([true, false]);
    expect(await next.promote(bytes(1), MOVED)).toEqual({ ok: true });
    expect(await valuesOf(kv)).toEqual([bytes(4), bytes(1), bytes(2)]);
    await kv.close();
  });
});
