/**
 * A server that is restored to a point in time brings back what was forgotten after it. The lists of erasures, which
 * are kept outside the database, erase it again, graph by graph, before anybody writes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ErasureDocument } from "../src/contract/entry.js";
import { eraseAgain, open } from "../src/index.js";
import { isLacking } from "../src/testing/lacking.js";
import {
  archiving,
  type PostgresServer,
  startAt,
  startPostgres,
  takeBase,
  whyNoPostgres,
} from "./postgres-server.js";

const missing = whyNoPostgres();
const ACTORS = ["ada", "bob"] as const;

describe.skipIf(isLacking(missing === undefined, missing ?? ""))("a point in time", () => {
  const archive = mkdtempSync(join(tmpdir(), "cortex-archive-"));
  let server: PostgresServer;
  let restored: PostgresServer | undefined;
  let base: string | undefined;
  beforeAll(async () => {
    server = await startPostgres(archiving(archive));
    server.own(archive);
  });
  afterAll(async () => {
    await restored?.stop();
    if (base !== undefined) rmSync(base, { recursive: true, force: true });
    await server?.stop();
    rmSync(archive, { recursive: true, force: true });
  });

  test("what was forgotten after it is back, and the lists erase it again", async () => {
    const before = `${server.url}?partitions=2`;
    const forgotten = new Map<string, string>();
    const roots = new Map<string, string>();
    for (const actor of ACTORS) {
      await using memory = await open(before, { actor });
      const { id } = await memory.write({ type: "fact", text: `the secret of ${actor}` });
      await memory.write({ type: "fact", text: "to be kept" });
      forgotten.set(actor, id);
      roots.set(actor, (await memory.root()).root);
    }
    base = await takeBase(server);
    server.psql("SELECT pg_create_restore_point('before')");
    const lists = new Map<string, ErasureDocument>();
    for (const actor of ACTORS) {
      await using memory = await open(before, { actor });
      await memory.forget(forgotten.get(actor) ?? "", "asked for");
      await memory.write({ type: "fact", text: "lost with the server" });
      lists.set(actor, await memory.erasures());
    }
    // The archive has all of it when the file that was written until now is in there.
    const file = server.psql("SELECT pg_walfile_name(pg_switch_wal())");
    const arrived = "SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver";
    await expect.poll(() => server.psql(arrived) >= file).toBe(true);
    await server.kill();

    restored = await startAt(base, archive, "before");
    await expect.poll(() => restored?.psql("SELECT pg_is_in_recovery()")).toBe("f");
    const location = `${restored.url}?partitions=2`;
    const held =
      "SELECT count(*) FROM cortex_rows WHERE position('the secret of'::bytea IN value) > 0";
    expect(restored.psql(held)).toBe("2");
    for (const actor of ACTORS) {
      await using back = await open(location, { actor });
      expect((await back.search("secret")).hits).toHaveLength(1);
      await back.close();
      const report = await eraseAgain(location, lists.get(actor) ?? "", { actor });
      expect(report).toEqual({
        ...{ entries: 3, seq: 2, root: roots.get(actor), epoch: 1, erasedAgain: 1 },
      });
      await using memory = await open(location, { actor });
      expect(await memory.get(forgotten.get(actor) ?? "")).toBeUndefined();
      expect((await memory.search("secret")).hits).toEqual([]);
      expect((await memory.search("kept")).hits).toHaveLength(1);
      await memory.write({ type: "note", text: "goes on" });
      expect(await memory.check()).toMatchObject({ ok: true });
    }
    // No row holds it any more, nor does a generation that was left behind.
    expect(restored.psql(held)).toBe("0");
    expect(restored.psql("SELECT count(*) FROM cortex_heads WHERE slot <> 0")).toBe("0");
  });
});
