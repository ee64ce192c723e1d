/**
 * Three servers over one database, with nothing to keep a client on one of them: what one acknowledged
 * the others have, writers on one actor lose nothing, and followers of one see the writes of another.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPostgresKv } from "../../core/src/kv/postgres-backend.js";
import { isLacking } from "../../core/src/testing/lacking.js";
import { startPglite } from "../../core/test/pglite-server.js";
import {
  type PostgresServer,
  startPostgres,
  startStandby,
  whyNoPostgres,
} from "../../core/test/postgres-server.js";
import { OPERATIONS } from "../src/operations.js";
import { type Ended, MAIN, makePlace, NO_EMBEDDER, type Place } from "./cortex-process.js";
import { follow } from "./event-client.js";
import { startTestServer, type TestServer } from "./http-server.js";
import { type ServeProcess, startServe, whileServing } from "./serve-process.js";

const scratch = mkdtempSync(join(tmpdir(), "cortex-serve-"));
let database: { readonly url: string; stop(): Promise<void> };
let servers: readonly ServeProcess[];

beforeAll(async () => {
  database = await (whyNoPostgres() === undefined ? startPostgres() : startPglite());
  mkdirSync(join(scratch, "data"));
  servers = await Promise.all(
    [0, 1, 2].map(() => startServe(join(scratch, "data"), ["--data", database.url])),
  );
});
afterAll(async () => {
  await Promise.all((servers ?? []).map((server) => server.stop()));
  await database?.stop();
  rmSync(scratch, { recursive: true, force: true });
});

function server(at: number): ServeProcess {
  const found = servers[at % servers.length];
  if (found === undefined) throw new Error("no server");
  return found;
}

async function json(response: Response): Promise<Record<string, unknown>> {
  expect(response.status, await response.clone().text()).toBeLessThan(300);
  return (await response.json()) as Record<string, unknown>;
}

async function ask(at: number, verb: string, input: object = {}): Promise<Record<string, unknown>> {
  return json(await server(at).post(`/v1/${verb}`, input));
}

test("a read on any server sees what any other acknowledged", async () => {
  for (let at = 0; at < 6; at += 1) {
    const text = `spoken number ${at}`;
    const { id } = await json(await server(at).post("/v1/write", { type: "note", text }));
    expect(await ask(at + 1, "get", { id })).toMatchObject({ text });
    expect(JSON.stringify(await ask(at + 2, "search", { text }))).toContain(text);
  }
});

test("writers of all servers on one actor lose nothing, and followers of one see all", async () => {
  const { seq } = (await ask(0, "root")) as { seq: number };
  const client = await follow(`${server(2).url}/v1/subscribe?from=${seq + 1}`);
  const written = await Promise.all(
    Array.from({ length: 24 }, async (_, at) =>
      json(await server(at).post("/v1/write", { type: "note", text: `together ${at}` })),
    ),
  );
  expect(new Set(written.map((one) => one.id)).size).toBe(24);
  const events = await client.upTo(24);
  expect(events.map(({ id }) => id)).toEqual(Array.from({ length: 24 }, (_, at) => seq + 1 + at));
  client.leave();
  const roots = await Promise.all([0, 1, 2].map((at) => ask(at, "root")));
  expect(new Set(roots.map(({ root }) => root)).size).toBe(1);
});

test("a graph goes through a pipe from a folder to the database and back; what broke off leaves nothing", async () => {
  const place = makePlace();
  try {
    const of = (data: string): string => `--actor piped --data '${data}'`;
    const asked = async (verb: readonly string[], data: string): Promise<Ended> =>
      place.bare([...verb, "--actor", "piped", "--data", data]);
    const [first, last] = [join(place.folder, "first"), join(place.folder, "last")];
    expect(await asked(["note", "decision", "one way"], first)).toMatchObject({ exit: 0 });
    const { root } = JSON.parse((await asked(["root", "--json"], first)).out);
    const { url } = database;
    // The first try breaks off in the middle: no store is there, and the same line does it.
    const broken = `cortex export - ${of(first)} | head -c 300 | cortex import - ${of(url)}`;
    await expect(run(place, broken)).rejects.toMatchObject({ code: 1 });
    expect(await asked(["root"], url)).toMatchObject({ exit: 1 });
    for (const [from, to] of [
      [first, url],
      [url, last],
    ] as const) {
      const told = await run(
        place,
        `cortex export - ${of(from)} | cortex import - --json ${of(to)}`,
      );
      expect(JSON.parse(told)).toMatchObject({ root });
    }
    expect(await asked(["check"], last)).toMatchObject({ exit: 0 });
  } finally {
    place.remove();
  }
});

test("a dry run of an import counts what would come, and makes no store in the database", async () => {
  const place = makePlace();
  try {
    const file = join(place.folder, "lines.jsonl");
    writeFileSync(file, `${JSON.stringify({ type: "note", text: "would come" })}\n`);
    const where = ["--actor", "dry", "--data", database.url, "--json"];
    const dry = ["import", file, "--from", "jsonl", "--dry-run", ...where];
    const counted = await place.bare(dry);
    expect(JSON.parse(counted.out)).toMatchObject({
      ok: true,
      dryRun: true,
      memories: { added: 1 },
    });
    expect(await place.bare(["root", ...where])).toMatchObject({ exit: 1 });
    expect(await place.bare(["import", file, "--from", "jsonl", ...where])).toMatchObject({
      exit: 0,
    });
    expect(JSON.parse((await place.bare(dry)).out)).toMatchObject({
      ok: true,
      memories: { added: 0 },
    });
  } finally {
    place.remove();
  }
});

/** Runs a shell line while the test goes on; what it printed. */
async function run(place: Place, line: string): Promise<string> {
  const script = `cortex() { "${process.execPath}" "${MAIN}" "$@"; }; ${line}`;
  const env = { PATH: process.env.PATH, HOME: place.home, ...NO_EMBEDDER };
  return (await promisify(execFile)("sh", ["-c", script], { cwd: place.folder, env })).stdout;
}

test("the password is shown nowhere, and the metrics tell of the database", async () => {
  const metrics = await (await fetch(`${server(0).url}/metrics`)).text();
  for (const family of [
    "commits_total [1-9]",
    "commit_duration_seconds_sum [0-9]",
    'commit_duration_seconds_bucket{le="0.005"} [0-9]',
    'commit_duration_seconds_bucket{le="\\+Inf"} [1-9]',
    "lost_races_total [0-9]",
    "rebuild_waits_total [0-9]",
    "lock_timeouts_total [0-9]",
    "server_lock_waits [0-9]",
    "connections_busy [0-9]",
    "connections_most 10",
  ]) {
    expect(metrics).toMatch(new RegExp(`^cortex_postgres_${family}`, "m"));
  }
  const told = await ask(0, "stats");
  const stats = JSON.stringify(told);
  expect(told.database).toMatchObject({ commits: expect.any(Number), most: 10 });
  expect(stats).toContain("postgres://");
  const password = new URL(database.url).password;
  let announced = "";
  await whileServing(database.url, {}, async (said) => {
    announced = said;
  });
  expect(announced).toContain("cortex serves postgres://");
  for (const text of [metrics, stats, server(0).err(), announced]) {
    if (password !== "") expect(text).not.toContain(password);
  }
});

test("stats says whose counts it shows, leaves out what a short command has none of, and points to the servers", async () => {
  const place = makePlace();
  try {
    await ask(0, "write", { type: "note", text: "for the counts" });
    // In a process of its own: this one has commits of other tests.
    const told = (await run(place, `cortex stats --data '${database.url}'`)).replaceAll(
      /\s+/g,
      " ",
    );
    expect(told).toMatch(/the process that answers: \d of 10 connections in use;/);
    expect(told).toMatch(/the database: \d+ lock waits?;/);
    expect(told).toContain("servers tell their own counts at /metrics");
    expect(told).not.toMatch(/commits?,|lost race/);
    // A server has some, and they are its own.
    const there = await place.bare(["stats", "--data", server(0).url]);
    expect(there.out.replaceAll(/\s+/g, " ")).toMatch(/the process that answers: \d+ commits?, /);
  } finally {
    place.remove();
  }
});

test("no command shows a password, whatever becomes of it", async () => {
  const place = makePlace();
  // A fake each: they differ in where the password stands, and whether the address can be read at all.
  const addresses = [
    "postgres://ada:hunter2@127.0.0.1:1/none?retry=0",
    "postgres://ada:hunt@er2@127.0.0.1:1/none?retry=0",
    "postgres://127.0.0.1:1/none?user=ada&password=hunter2&retry=0",
    "postgres://ada:hunt/er2@127.0.0.1:1/none?retry=0",
    "postgres:/ada:hunter2@127.0.0.1:1/none",
    "https://ada:hunter2@127.0.0.1:1/",
  ];
  const commands = OPERATIONS.flatMap(({ cli, example = "" }) => {
    if (cli === undefined || !("command" in cli)) return [];
    const words = example.match(/'[^']*'|"[^"]*"|\S+/g) ?? ["cortex", cli.command];
    return [words.slice(1).map((word) => word.replaceAll(/['"]/g, ""))];
  });
  commands.push(["serve", "--port", "0"], ["mcp"], ["demo"], ["copy", place.folder]);
  expect(commands.length).toBeGreaterThan(50);
  try {
    for (const [at, words] of commands.entries()) {
      // Each command with one of them, and the first of each kind with all.
      const some = at % 10 === 0 ? addresses : [addresses[at % addresses.length] ?? ""];
      for (const address of some) {
        const to =
          words[0] === "copy" ? [...words.slice(0, 2), address] : [...words, "--data", address];
        const { out, err } = await place.bare(to, { input: "" });
        if (words[0] === "copy") {
          const { err: same } = await place.bare(["copy", address, address]);
          expect(same).not.toMatch(/hunter2|er2@|hunt@|hunt\//);
        }
        for (const part of ["hunter2", "er2@", "hunt@", "hunt/"]) {
          expect(out + err, to.join(" ")).not.toContain(part);
        }
      }
    }
  } finally {
    place.remove();
  }
});

test("a server whose database cannot be opened says so and ends", async () => {
  const place = makePlace();
  const { port } = new URL(database.url);
  const wrong = `postgres://cortex:wrong@127.0.0.1:${port}/nothere`;
  try {
    const { exit, out, err } = await place.bare(["serve", "--port", "0", "--data", wrong]);
    expect([exit, out]).toEqual([1, ""]);
    expect(err).toContain("ERR_UNREACHABLE");
  } finally {
    place.remove();
  }
});

const missing = whyNoPostgres();

describe.skipIf(isLacking(missing === undefined, missing ?? ""))("what is watched moves", () => {
  let primary: PostgresServer;
  let watched: TestServer;
  beforeAll(async () => {
    primary = await startPostgres(["max_wal_senders = 4"]);
    watched = await startTestServer({ location: `${primary.url}?partitions=2` });
    await watched.post("/v1/write", { type: "note", text: "first" });
  });
  afterAll(async () => {
    await watched?.close();
    await primary?.stop();
  });

  /** A family of the metrics; undefined where it is not shown. */
  async function metric(name: string): Promise<number | undefined> {
    const { text } = await watched.get("/metrics");
    const found = new RegExp(`^cortex_postgres_${name} (.*)$`, "m").exec(text)?.[1];
    return found === undefined ? undefined : Number(found);
  }

  /** What `cortex stats` shows of the database. */
  async function told(): Promise<Record<string, number>> {
    return (await watched.post("/v1/stats", {})).json.database as Record<string, number>;
  }

  /** Another handle on the same pool. */
  const another = (actor: string) => openPostgresKv(`${primary.url}?partitions=2`, actor);
  const row = Uint8Array.of(1);

  test("commits and the time that they take", async () => {
    const [commits, seconds, trips] = await Promise.all(
      ["commits_total", "commit_duration_seconds_sum", "round_trips_total"].map(metric),
    );
    // The metrics are those of every pool of the process, and there are others here.
    const before = await told();
    await watched.post("/v1/write", { type: "note", text: "second" });
    // At the least: jobs commit as well.
    expect(await metric("commits_total")).toBeGreaterThan(commits ?? 0);
    expect(await metric("commit_duration_seconds_sum")).toBeGreaterThan(seconds ?? 0);
    expect(await metric("round_trips_total")).toBeGreaterThan(trips ?? 0);
    const database = await told();
    expect(database.commits).toBeGreaterThan(before.commits ?? 0);
    expect(database.commitMs).toBeGreaterThan(0);
  });

  test("a lost race, and a writer that waits for a store being rebuilt", async () => {
    const kv = await another("raced");
    const change = { head: row, puts: [], deletes: [] };
    await kv.commit({ ...change, expectHead: undefined });
    const lost = await metric("lost_races_total");
    expect(await kv.commit({ ...change, expectHead: Uint8Array.of(9) })).toMatchObject({
      ok: false,
    });
    expect(await metric("lost_races_total")).toBeGreaterThan(lost ?? 0);
    expect((await told()).lostRaces).toBeGreaterThan(lost ?? 0);
    const generation = await kv.nextGeneration();
    await generation.hold?.();
    const waiting = kv.commit({ ...change, expectHead: row });
    await expect.poll(() => metric("rebuild_waits_total")).toBeGreaterThan(0);
    await expect.poll(async () => (await told()).heldWaits).toBeGreaterThan(0);
    await generation.abandon();
    expect(await waiting).toEqual({ ok: true });
    await kv.close();
  });

  test("locks that somebody waits for on the server, and connections in use", async () => {
    await expect.poll(() => metric("server_lock_waits")).toBe(0);
    const holder = new pg.Client({ connectionString: primary.url });
    await holder.connect();
    await holder.query("BEGIN");
    await holder.query("SELECT 1 FROM cortex_heads FOR UPDATE");
    const writing = watched.post("/v1/write", { type: "note", text: "waits" });
    await expect.poll(() => metric("server_lock_waits")).toBe(1);
    expect(await metric("connections_busy")).toBeGreaterThan(0);
    expect(await told()).toMatchObject({ lockWaits: 1 });
    await holder.query("COMMIT");
    await holder.end();
    expect((await writing).status).toBe(200);
    await expect.poll(() => metric("server_lock_waits")).toBe(0);
  });

  test("who waits in another database of the server is not counted", async () => {
    primary.psql("CREATE DATABASE other");
    const [holder, waiter] = [0, 1].map(
      () => new pg.Client({ connectionString: primary.address("other") }),
    );
    await holder?.connect();
    await waiter?.connect();
    await holder?.query("CREATE TABLE rows AS SELECT 1 AS one");
    await holder?.query("BEGIN");
    await holder?.query("SELECT 1 FROM rows FOR UPDATE");
    const waiting = waiter?.query("UPDATE rows SET one = 2");
    const locks = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    await expect.poll(() => primary.psql(locks)).toBe("1");
    expect(await metric("server_lock_waits")).toBe(0);
    await holder?.query("COMMIT");
    await waiting;
    await holder?.end();
    await waiter?.end();
  });

  test("commits are counted by how long they took, each once, and every family is on the page", async () => {
    await watched.post("/v1/write", { type: "note", text: "counted" });
    const { text } = await watched.get("/metrics");
    const found = text.matchAll(
      /^cortex_postgres_commit_duration_seconds_bucket{le="(.*)"} (.*)$/gm,
    );
    const buckets = [...found].map(([, bound, count]) => [Number(bound), Number(count)] as const);
    expect(buckets).toHaveLength(15);
    const counts = buckets.map(([, count]) => count);
    expect(counts).toEqual([...counts].sort((a, b) => a - b));
    expect(counts.at(-1)).toBe(await metric("commit_duration_seconds_count"));
    const page = readFileSync(new URL("../../../docs/postgres.md", import.meta.url), "utf8");
    const named = [...text.matchAll(/^# TYPE (cortex_postgres_\S+)/gm)].map(
      ([, name = ""]) => name,
    );
    expect(named.length).toBeGreaterThan(12);
    expect(named.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  test("calls that wait for a connection", async () => {
    const kv = await openPostgresKv(`${primary.url}?partitions=2&pool=2`, "crowded");
    const snapshots = await Promise.all([kv.snapshot(), kv.snapshot(), kv.snapshot()]);
    const [first, second, third] = snapshots.map((one) => one.getMany([row]));
    await Promise.all([first, second]);
    expect(await metric("connections_waited_for")).toBe(1);
    snapshots[0]?.close();
    expect(await third).toEqual([undefined]);
    expect(await metric("connections_waited_for")).toBe(0);
    for (const one of snapshots) one.close();
    await kv.close();
  });

  test("how far a standby is behind", async () => {
    expect(await metric("standby_lag_seconds")).toBeUndefined();
    const standby = await startStandby(primary);
    try {
      standby.psql("SELECT pg_wal_replay_pause()");
      const since = performance.now();
      await watched.post("/v1/write", { type: "note", text: "not yet there" });
      // It grows while the standby stands still, and the standby tells so now and then.
      await expect.poll(() => metric("standby_lag_seconds")).toBeGreaterThan(0);
      const { lagSeconds } = await told();
      expect(lagSeconds).toBeGreaterThan(0);
      expect(lagSeconds).toBeLessThan((performance.now() - since) / 1000 + 1);
    } finally {
      await standby.stop();
    }
  });
});
