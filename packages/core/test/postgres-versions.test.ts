/**
 * Tables of a later release, played by steps that no release has yet: one process makes them while others wait,
 * processes of the release before go on where a step only adds, and are refused at their next connection where it does not.
 */
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Cortex, open } from "../src/index.js";
import { readAddress } from "../src/kv/postgres-address.js";
import { STEPS, type TableStep } from "../src/kv/postgres-schema.js";
import { joinPool } from "../src/kv/postgres-session.js";
import { prepareTables } from "../src/kv/postgres-versions.js";
import { isLacking } from "../src/testing/lacking.js";
import { type PostgresServer, startPostgres, whyNoPostgres } from "./postgres-server.js";

const missing = whyNoPostgres();

/** A step that only adds: processes of version 1 go on beside it. A second time it would fail. */
const ADDS: TableStep = {
  to: 2,
  oldest: 1,
  statements: () => [
    "ALTER TABLE cortex_heads ADD COLUMN note text NOT NULL DEFAULT 'none'",
    "CREATE TABLE cortex_notes (one int)",
  ],
};

/** A step after which a process of version 1 would write what nobody reads. */
const REMOVES: TableStep = {
  to: 3,
  oldest: 2,
  statements: () => ["ALTER TABLE cortex_heads ADD COLUMN more text NOT NULL DEFAULT 'none'"],
};

describe.skipIf(isLacking(missing === undefined, missing ?? ""))(
  "tables of a later release",
  () => {
    let server: PostgresServer;
    let memory: Cortex;
    let location: string;
    let count = 0;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server?.stop());

    const psql = (text: string): string => server.psql(text, `later_${count}`);

    /** A database of its own, in which a process of this release writes. */
    beforeEach(async () => {
      count += 1;
      server.psql(`CREATE DATABASE later_${count}`);
      location = `${server.address(`later_${count}`)}?partitions=2`;
      memory = await open(location, { actor: "ada" });
      await memory.write({ type: "note", text: "first" });
      return () => memory.close();
    });

    /** What a process of a later release does first; `pool` makes the connections its own. */
    async function prepareLater(steps: readonly TableStep[], pool = 20): Promise<void> {
      const address = readAddress(`${location}&pool=${pool}`);
      const joined = await joinPool(address, false);
      const session = await joined.acquire();
      try {
        const opening = joined.opening.bind(joined);
        await prepareTables(session, { address, create: true, opening, steps });
      } finally {
        session.release();
        await joined.leave();
      }
    }

    /** Ends the connections that processes have, as a restart of the server does. */
    function endConnections(): void {
      psql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cortex' AND datname = current_database()",
      );
    }

    const waiting = (): string =>
      psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
    const versions = (): string =>
      psql("SELECT max(version), min(version), count(*) FROM cortex_schema");

    test("one process makes a step while others wait and one of the release before writes", async () => {
      const holder = new pg.Client({ connectionString: server.address(`later_${count}`) });
      holder.on("error", () => {});
      await holder.connect();
      const { rows } = await holder.query("SELECT pg_backend_pid() AS pid");
      await holder.query("BEGIN");
      await holder.query("SELECT 1 FROM cortex_schema WHERE one = 1 FOR UPDATE");
      const steps = [...STEPS, ADDS];
      const made = [21, 22, 23].map((pool) => prepareLater(steps, pool));
      await expect.poll(waiting).toBe("3");
      await memory.write({ type: "note", text: "while they wait" });
      expect(versions()).toBe("1|1|1");
      // Who had the row dies: it goes with its connection, and one of those that wait makes the step.
      psql(`SELECT pg_terminate_backend(${rows[0].pid})`);
      await Promise.all(made);
      await holder.end();
      expect(versions()).toBe("2|1|2");
      expect(psql("SELECT count(*) FROM cortex_notes")).toBe("0");
      // With the connections that it has, with new ones, and by a process that starts now.
      await memory.write({ type: "note", text: "beside the later one" });
      endConnections();
      await memory.write({ type: "note", text: "on new connections" });
      await using other = await open(`${location}&pool=11`, { actor: "ada" });
      await other.write({ type: "note", text: "started later" });
      expect(await memory.check()).toMatchObject({ ok: true, entries: 6 });
    });

    test("a step after which the release before may not go on: new connections are refused", async () => {
      await prepareLater([...STEPS, ADDS, REMOVES]);
      expect(versions()).toBe("3|2|2");
      const rows = psql("SELECT count(*) FROM cortex_rows");
      endConnections();
      const told = {
        code: "ERR_FORMAT_NEWER",
        message: expect.stringMatching(/version 3, this release knows 1; use a newer release/),
      };
      for (let at = 0; at < 2; at += 1) {
        await expect(memory.write({ type: "note", text: "too late" })).rejects.toMatchObject(told);
        await expect(memory.list({})).rejects.toMatchObject(told);
      }
      await expect(open(location, { actor: "bob" })).rejects.toMatchObject(told);
      await expect(open(`${location}&pool=11`, { actor: "bob" })).rejects.toMatchObject(told);
      expect(psql("SELECT count(*) FROM cortex_rows")).toBe(rows);
      // The later release goes on, and a table set back to what this one knows is used again.
      await prepareLater([...STEPS, ADDS, REMOVES], 24).catch(() => undefined);
      psql("DELETE FROM cortex_schema WHERE one = 2");
      psql("UPDATE cortex_schema SET version = 1");
      await memory.write({ type: "note", text: "again" });
      expect(await memory.check()).toMatchObject({ ok: true, entries: 3 });
    });

    test("one connection that meets later tables makes all others look again", async () => {
      const kept = await Promise.all([memory.root(), memory.list({}), memory.search("first")]);
      expect(kept).toHaveLength(3);
      await prepareLater([...STEPS, ADDS, REMOVES]);
      // One of several connections is replaced by a new one; the others were never ended.
      psql(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = (SELECT min(pid) FROM pg_stat_activity
        WHERE application_name = 'cortex' AND datname = current_database())`,
      );
      const asked = async (): Promise<readonly string[]> => {
        const all = [1, 2, 3, 4, 5].map(() => memory.list({}));
        const settled = await Promise.allSettled(all);
        return settled.map((one) => (one.status === "rejected" ? one.reason.code : "answered"));
      };
      await asked();
      expect(new Set(await asked())).toEqual(new Set(["ERR_FORMAT_NEWER"]));
    });

    test("a step that fails leaves the tables as they were", async () => {
      const broken: TableStep = {
        to: 2,
        oldest: 1,
        statements: () => ["CREATE TABLE cortex_notes (one int)", "ALTER TABLE nowhere ADD x int"],
      };
      await expect(prepareLater([...STEPS, broken])).rejects.toThrow(/nowhere/);
      expect(versions()).toBe("1|1|1");
      expect(psql("SELECT count(*) FROM pg_tables WHERE tablename = 'cortex_notes'")).toBe("0");
      await memory.write({ type: "note", text: "goes on" });
    });
  },
);
