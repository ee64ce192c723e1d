/**
 * What becomes of stores when a server is replaced by its standby, or has no room left, and when the
 * tables are made by several processes at once. With a synchronous standby nothing that was acknowledged
 * is lost; with an asynchronous one what is lost is told by the position, never passed over.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { type Cortex, open } from "../src/index.js";
import { LOCK_VERSION, VERSION_ROW, VERSION_TABLE } from "../src/kv/postgres-schema.js";
import { hubIn } from "../src/testing/fixtures.js";
import { isLacking, lacksSmallDisk, mountSmallDisk } from "../src/testing/lacking.js";
import {
  type PostgresServer,
  startPostgres,
  startStandby,
  whyNoPostgres,
} from "./postgres-server.js";

const missing = whyNoPostgres();
const endings: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function started(server: Promise<PostgresServer>): Promise<PostgresServer> {
  const running = await server;
  endings.push(() => running.stop());
  return running;
}

/** An address that leads to one server first and to another later, as a name in a network does. */
async function startGate(
  first: number,
): Promise<{ readonly port: number; lead(to: number): void }> {
  const sockets = new Set<Socket>();
  let target = first;
  const gate: Server = createServer((near) => {
    const far = connect(target, "127.0.0.1");
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on("data", (piece) => other.write(piece));
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  }).listen(0, "127.0.0.1");
  await once(gate, "listening");
  endings.push(() => {
    for (const socket of sockets) socket.destroy();
    gate.close();
  });
  const address = gate.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    port: address.port,
    lead(to) {
      target = to;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Writes one note after another until told to stop. */
function startWriter(memory: Cortex): {
  readonly acknowledged: string[];
  reach(count: number): Promise<void>;
  stop(): Promise<void>;
} {
  const acknowledged: string[] = [];
  let isDone = false;
  const writing = (async () => {
    for (let at = 0; !isDone; at += 1) {
      await memory.write({ type: "note", text: `note ${at}` });
      acknowledged.push(`note ${at}`);
    }
  })();
  return {
    acknowledged,
    async reach(count) {
      while (acknowledged.length < count) {
        await Promise.race([writing, new Promise((resolve) => setTimeout(resolve, 5))]);
      }
    },
    stop() {
      isDone = true;
      return writing;
    },
  };
}

async function textsOf(memory: Cortex): Promise<readonly string[]> {
  const { memories } = await memory.list({ type: "note", limit: 1000, order: "oldest" });
  return memories.map(({ text }) => text);
}

describe.skipIf(isLacking(missing === undefined, missing ?? ""))("servers", () => {
  test("a synchronous standby promoted while a writer runs: nothing acknowledged is lost", async () => {
    const primary = await started(startPostgres(["max_wal_senders = 4"]));
    const standby = await started(startStandby(primary));
    primary.psql("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    primary.psql("SELECT pg_reload_conf()");
    const gate = await startGate(primary.port);
    const url = primary.url.replace(`:${primary.port}/`, `:${gate.port}/`);
    const memory = await open(`${hubIn(url)}&retry=120&partitions=2`, { actor: "ada" });
    endings.push(() => memory.close());
    const writer = startWriter(memory);
    await writer.reach(10);
    await primary.kill();
    await standby.promote();
    gate.lead(standby.port);
    await writer.reach(writer.acknowledged.length + 3);
    await writer.stop();
    expect(await textsOf(memory)).toEqual(writer.acknowledged);
    expect(await memory.check()).toMatchObject({ ok: true });
  });

  test("an asynchronous standby that is behind: what is lost is told by the position", async () => {
    const primary = await started(startPostgres(["max_wal_senders = 4"]));
    const standby = await started(startStandby(primary));
    const gate = await startGate(primary.port);
    const url = primary.url.replace(`:${primary.port}/`, `:${gate.port}/`);
    const location = `${hubIn(url)}&retry=120&partitions=2`;
    const memory = await open(location, { actor: "ada" });
    endings.push(() => memory.close());
    await memory.write({ type: "note", text: "kept" });
    while (
      standby.psql("SELECT count(*) FROM cortex_rows") !==
      primary.psql("SELECT count(*) FROM cortex_rows")
    ) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    // From here on the standby hears nothing any more.
    standby.psql("SELECT pg_wal_replay_pause()");
    primary.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_replication");
    const { seq } = await memory.write({ type: "note", text: "lost" });
    await memory.write({ type: "note", text: "lost as well" });
    await primary.kill();
    standby.psql("ALTER SYSTEM SET primary_conninfo = ''");
    standby.psql("SELECT pg_reload_conf()");
    await standby.promote();
    gate.lead(standby.port);
    // Whoever has seen more is told so, in every call, until the store is opened again.
    const told = { code: "ERR_ROLLED_BACK", message: expect.stringContaining(`seq ${seq + 1}`) };
    await expect(memory.write({ type: "note", text: "too late" })).rejects.toMatchObject(told);
    await expect(memory.root()).rejects.toMatchObject(told);
    await expect(textsOf(memory)).rejects.toMatchObject(told);
    await memory.close();
    await using again = await open(location, { actor: "ada" });
    expect(await textsOf(again)).toEqual(["kept"]);
    expect(await again.check()).toMatchObject({ ok: true });
    await again.write({ type: "note", text: "from here on" });
    expect(await textsOf(again)).toEqual(["kept", "from here on"]);
  });

  // Not every place where tests run lets even root mount anything; then this one part is left out, unless all is required.
  test.skipIf(lacksSmallDisk())(
    "a full disk of the server: nothing is half written, and reads go on",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "cortex-small-disk-"));
      endings.push(() => rmSync(folder, { recursive: true, force: true }));
      const disk = mountSmallDisk(folder, "14m,mode=0777");
      endings.push(() => disk?.unmount());
      const server = await started(startPostgres());
      const space = join(folder, "space");
      mkdirSync(space);
      server.own(space);
      server.psql(`CREATE TABLESPACE small LOCATION '${space}'`);
      server.psql("CREATE DATABASE small TABLESPACE small");
      const location = `${server.address("small")}?partitions=2`;
      await using memory = await open(location, { actor: "ada" });
      const texts: string[] = [];
      let failure: unknown;
      for (let at = 0; failure === undefined; at += 1) {
        try {
          // Random text: the server would make little of anything else.
          const text = `${at} ${noise(at, 60_000)}`;
          await memory.write({ type: "note", text });
          texts.push(text);
        } catch (error) {
          failure = error;
        }
      }
      expect(failure).toMatchObject({ code: "ERR_DISK_FULL" });
      expect(texts.length).toBeGreaterThan(5);
      expect((await textsOf(memory)).length).toBe(texts.length);
      expect(await memory.check()).toMatchObject({ ok: true });
      disk?.resize("96m");
      await memory.write({ type: "note", text: "room again" });
      expect(await textsOf(memory)).toEqual([...texts, "room again"]);
    },
  );

  test("several that make the tables at once: one does, the others wait", async () => {
    const server = await started(startPostgres());
    server.psql("CREATE DATABASE fresh");
    // Pools of their own, as processes have.
    const opened = await Promise.all(
      [11, 12, 13, 14].map((pool) =>
        open(`${server.address("fresh")}?partitions=8&pool=${pool}`, { actor: `actor-${pool}` }),
      ),
    );
    for (const memory of opened) {
      await memory.write({ type: "note", text: "here" });
      await memory.close();
    }
    expect(server.psql("SELECT version, partitions FROM cortex_schema", "fresh")).toBe("1|8");
  });

  test("who meets a table that another is about to commit waits for it, and goes on", async () => {
    const server = await started(startPostgres());
    server.psql("CREATE DATABASE fresh");
    const holder = new pg.Client({ connectionString: server.address("fresh") });
    await holder.connect();
    await holder.query("BEGIN");
    await holder.query(VERSION_TABLE);
    const opening = open(server.address("fresh"), { actor: "ada" });
    const waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while (server.psql(waiting) !== "1") await new Promise((resolve) => setTimeout(resolve, 20));
    // The server tells the one that waited that the table is there, which is a failure to it.
    await holder.query("COMMIT");
    await holder.end();
    const memory = await opening;
    expect((await memory.write({ type: "note", text: "here" })).seq).toBe(1);
    await memory.close();
  });

  test("two processes make the tables at once: both wait for who is at it, one does it", async () => {
    const server = await started(startPostgres());
    server.psql("CREATE DATABASE fresh");
    for (const text of [VERSION_TABLE, VERSION_ROW]) server.psql(text, "fresh");
    const holder = new pg.Client({ connectionString: server.address("fresh") });
    await holder.connect();
    await holder.query("BEGIN");
    await holder.query(LOCK_VERSION.text);
    const ended = [0, 1].map((at) => openElsewhere(server.address("fresh"), `actor-${at}`));
    const waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while (server.psql(waiting) !== "2") await new Promise((resolve) => setTimeout(resolve, 20));
    expect(server.psql("SELECT version FROM cortex_schema", "fresh")).toBe("0");
    await holder.query("COMMIT");
    await holder.end();
    expect(await Promise.all(ended)).toEqual(["seq 1", "seq 1"]);
    expect(server.psql("SELECT version FROM cortex_schema", "fresh")).toBe("1");
  });
});

/** Opens a store in a process of its own and writes into it; what the process said. */
async function openElsewhere(location: string, actor: string): Promise<string> {
  const program = `const { open } = await import(process.argv[1]);
    const memory = await open(process.argv[2], { actor: process.argv[3] });
    const { seq } = await memory.write({ type: "note", text: "here" });
    console.log("seq " + seq);
    await memory.close();`;
  const core = new URL("../dist/index.js", import.meta.url).href;
  const words = ["--input-type=module", "-e", program, core, location, actor];
  const { stdout } = await promisify(execFile)(process.execPath, words);
  return stdout.trim();
}

/** Text that cannot be made smaller, the same for the same number. */
function noise(seed: number, length: number): string {
  let text = "";
  for (let at = 0; text.length < length; at += 1) {
    text += createHash("sha512").update(`${seed} ${at}`).digest("base64");
  }
  return text.slice(0, length);
}
