/**
 * What the Postgres backend does when the way to the server, or the server, fails: nothing that was
 * acknowledged is lost, nothing is written twice, and the outcome of the last write is known once the
 * server is there again. And what it says to whoever gave a wrong address.
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cortex, open, openHub } from "../src/index.js";
import { HEAD_KEY, isStateGone } from "../src/kv/kv.js";
import { openPostgresKv, postgresCounts } from "../src/kv/postgres-backend.js";
import { postgresError } from "../src/kv/postgres-wire.js";
import { hubIn } from "../src/testing/fixtures.js";
import { isLacking, lacksTools } from "../src/testing/lacking.js";
import { FAULTS, startProxy } from "./postgres-proxy.js";
import {
  type PostgresServer,
  startPgbouncer,
  startPostgres,
  whyNoPostgres,
} from "./postgres-server.js";

const missing = whyNoPostgres();

/** A certificate that nobody signed but itself, and its key, both readable to the server. */
interface Certificate {
  readonly file: string;
  readonly key: string;
}

function makeCertificate(
  server: PostgresServer,
  name: string,
  more: readonly string[],
): Certificate {
  const file = join(server.folder, `${name}.pem`);
  const key = join(server.folder, `${name}.key`);
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const written = ["-keyout", key, "-out", file];
  execFileSync("openssl", ["req", "-x509", ...kind, "-subj", `/CN=${name}`, ...written, ...more], {
    stdio: "ignore",
  });
  chmodSync(key, 0o600);
  server.own(key);
  return { file, key };
}

/** Switches TLS on, or to another certificate; connections that are new from here on get it. */
async function serveTls(server: PostgresServer, { file, key }: Certificate): Promise<void> {
  const settings = { ssl: "on", ssl_cert_file: file, ssl_key_file: key };
  for (const [name, value] of Object.entries(settings)) {
    server.psql(`ALTER SYSTEM SET ${name} = '${value}'`);
  }
  server.psql("SELECT pg_reload_conf()");
  const seen = (): string => server.psql("SHOW ssl_cert_file");
  await expect.poll(seen).toBe(file);
}

describe.skipIf(isLacking(missing === undefined, missing ?? ""))("a server that fails", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  test("a connection that breaks at any message of a write: made once, and known", async () => {
    const proxy = await startProxy(server.port);
    const url = server.url.replace(`:${server.port}/`, `:${proxy.port}/`);
    const location = `${hubIn(url)}&retry=60&partitions=2`;
    const memory: Cortex = await open(location, { actor: "ada" });
    const texts: string[] = [];
    for (const fault of FAULTS) {
      for (let after = 0; ; after += 1) {
        const text = `${fault} at ${after}`;
        await memory.write({ type: "note", text: `before ${text}` });
        proxy.arm(fault, after);
        await memory.write({ type: "note", text });
        texts.push(`before ${text}`, text);
        if (!proxy.isSpent()) break;
      }
    }
    // The first entry is the store's own.
    expect((await memory.stats()).entries).toBe(1 + texts.length);
    const { memories } = await memory.list({ type: "note", limit: 1000, order: "oldest" });
    expect(memories.map(({ text }) => text)).toEqual(texts);
    expect(await memory.check()).toMatchObject({ ok: true });
    expect(postgresCounts().some(({ lookedUp }) => lookedUp > 0)).toBe(true);
    await memory.close();
    proxy.stop();
  });

  /** A store with something to ask for, and every kind of question about it. */
  async function furnish(location: string): Promise<void> {
    const memory = await open(location, { actor: "ada" });
    const turns = [
      { role: "user", content: "I moved to Porto. Never book me a red-eye.", id: "1" },
      { role: "assistant", content: "Noted.", id: "2" },
    ] as const;
    await memory.remember(turns, { session: "chat" });
    await memory.write({
      type: "fact",
      slot: "home city",
      text: "Ada lives in Lyon",
      tags: ["home"],
    });
    const home = await memory.write({
      type: "fact",
      slot: "home city",
      text: "Ada lives in Porto",
      tags: ["home"],
    });
    const rule = await memory.write({
      type: "constraint",
      text: "No red-eye flights",
      externalId: "rule",
    });
    await memory.link(rule.id, "related_to", home.id, { reason: "both of one talk" });
    await memory.close();
  }

  const QUESTIONS: Readonly<Record<string, (memory: Cortex) => Promise<unknown>>> = {
    get: (memory) => memory.get("rule"),
    history: (memory) => memory.history("rule"),
    list: (memory) => memory.list({ tag: "home" }),
    find: (memory) => memory.find({ type: "fact", tags: ["home"], limit: 5 }),
    search: (memory) => memory.search("red-eye flights"),
    recall: (memory) => memory.recall("where does Ada live?", { now: 1_900_000_000_000 }),
    context: async (memory) => (await memory.context()).text,
    links: (memory) => memory.linksFrom("rule"),
    traverse: (memory) => memory.traverse("rule", { maxHops: 2 }),
    session: (memory) => memory.session("chat"),
    changes: (memory) => memory.changes(0, 3),
    check: (memory) => memory.check(),
    root: (memory) => memory.root(),
  };

  test.each(Object.entries(QUESTIONS))(
    "a connection that breaks at any message of %s: the question is answered all the same",
    async (_, ask) => {
      const proxy = await startProxy(server.port);
      const url = server.url.replace(`:${server.port}/`, `:${proxy.port}/`);
      const location = `${hubIn(url)}&retry=60&partitions=2`;
      await furnish(location);
      const memory = await open(location, { actor: "ada" });
      await ask(memory);
      const before = JSON.stringify(await ask(memory));
      let broken = 0;
      for (const fault of ["dropped", "halved", "unanswered"] as const) {
        for (let after = 0; ; after = later(after)) {
          proxy.arm(fault, after);
          expect(JSON.stringify(await ask(memory)), `${fault} at ${after}`).toBe(before);
          if (!proxy.isSpent()) break;
          broken += 1;
        }
      }
      expect(broken).toBeGreaterThanOrEqual(3);
      await memory.close();
      proxy.stop();
    },
  );

  test.each([
    ["vacuum", "dropped"],
    ["rebuild", "unanswered"],
  ] as const)(
    "a connection that breaks at a message of %s, %s: the store moves all the same",
    async (verb, fault) => {
      const proxy = await startProxy(server.port);
      const url = server.url.replace(`:${server.port}/`, `:${proxy.port}/`);
      const location = `${hubIn(url)}&retry=60&partitions=2`;
      await furnish(location);
      const memory = await open(location, { actor: "ada" });
      const { root } = await memory.root();
      let broken = 0;
      for (let isSpent = true, after = 0; isSpent; after = later(later(after))) {
        proxy.arm(fault, after);
        expect(await memory[verb](), `at ${after}`).toMatchObject({ root });
        isSpent = proxy.isSpent();
        broken += 1;
      }
      expect(broken).toBeGreaterThanOrEqual(5);
      expect(await memory.check()).toMatchObject({ ok: true });
      await memory.close();
      proxy.stop();
    },
  );

  test("a connection that breaks at any message while graphs are listed: they are listed all the same", async () => {
    const proxy = await startProxy(server.port);
    const url = server.url.replace(`:${server.port}/`, `:${proxy.port}/`);
    const hub = await openHub(`${hubIn(url)}&retry=60&partitions=2`);
    let made = 0;
    for (const fault of ["dropped", "halved", "unanswered"] as const) {
      for (let after = 0; ; after += 1) {
        // A new one, so that the catalogue has something to catch up with.
        await hub.createGraph({ name: `Graph ${made}`, id: `graph-${made}` });
        made += 1;
        proxy.arm(fault, after);
        const { graphs } = await hub.listGraphs();
        expect(graphs, `${fault} at ${after}`).toHaveLength(made);
        if (!proxy.isSpent()) break;
      }
    }
    expect(made).toBeGreaterThanOrEqual(6);
    await hub.close();
    proxy.stop();
  });

  test("a server that stays away: a write goes on trying no longer than the address says", async () => {
    const proxy = await startProxy(server.port);
    const url = server.url.replace(`:${server.port}/`, `:${proxy.port}/`);
    const memory = await open(`${hubIn(url)}&retry=0&partitions=2`, { actor: "ada" });
    await memory.write({ type: "note", text: "before" });
    proxy.stop();
    let knocks = 0;
    const closed = createServer((socket) => {
      knocks += 1;
      socket.destroy();
    });
    await once(closed.listen(proxy.port, "127.0.0.1"), "listening");
    const text = "while it is away";
    // The first presumes that nothing has changed; the next ones read first.
    for (let at = 0; at < 3; at += 1) {
      const told = { code: "ERR_UNREACHABLE" };
      await expect(memory.write({ type: "note", text })).rejects.toMatchObject(told);
    }
    // The first may have found its connection broken, and is not to try another one.
    expect(knocks).toBeLessThanOrEqual(3);
    closed.close();
    await memory.close();
  });

  /** The next message to do something to: one after the other, and of a long call not every late one. */
  function later(after: number): number {
    return after + 1 + (after >> 3);
  }

  /** Sizes of pools: each is a pool of its own, which gives names again. */
  let size = 10;

  test.each(Object.entries(QUESTIONS))(
    "names lost at any message of %s: the question is answered all the same, at once",
    async (_, ask) => {
      const proxy = await startProxy(server.port);
      const hub = hubIn(server.url.replace(`:${server.port}/`, `:${proxy.port}/`));
      await furnish(`${hub}&partitions=2`);
      let lost = 0;
      for (let isSpent = true; isSpent; lost = later(lost)) {
        // Nothing is tried again after a pause.
        const location = `${hub}&retry=0&partitions=2&pool=${size++}`;
        const memory = await open(location, { actor: "ada" });
        await ask(memory);
        const before = JSON.stringify(await ask(memory));
        proxy.arm("nameless", lost);
        expect(JSON.stringify(await ask(memory)), `at ${lost}`).toBe(before);
        isSpent = proxy.isSpent();
        await memory.close();
      }
      expect(lost).toBeGreaterThan(1);
      proxy.stop();
    },
  );

  test("a commit that was refused while others held the store, who let go before it asked why, is made", async () => {
    const proxy = await startProxy(server.port);
    const location = `${hubIn(server.url)}&partitions=2`;
    const near = await openPostgresKv(location, "ada");
    const far = await openPostgresKv(
      location.replace(`:${server.port}/`, `:${proxy.port}/`),
      "ada",
    );
    const [first, next] = [Uint8Array.of(1), Uint8Array.of(2)];
    await far.commit({ expectHead: undefined, head: first, puts: [], deletes: [] });
    const generation = await near.nextGeneration();
    await generation.hold?.();
    // The commit is refused; the question why comes late.
    proxy.arm("late", 1);
    const change = { expectHead: first, head: next, puts: [], deletes: [] };
    const committing = far.commit(change);
    await expect.poll(() => proxy.isSpent(), { interval: 2 }).toBe(true);
    await generation.abandon();
    expect(await committing).toEqual({ ok: true });
    // One that has lost is told so all the same.
    expect(await far.commit(change)).toEqual({ ok: false, head: next });
    await far.close();
    await near.close();
    proxy.stop();
  });

  test("names lost at any message of a write: it is made once, at once", async () => {
    const proxy = await startProxy(server.port);
    const hub = hubIn(server.url.replace(`:${server.port}/`, `:${proxy.port}/`));
    let written = 0;
    let lost = 0;
    for (let isSpent = true; isSpent; lost += 1) {
      const memory = await open(`${hub}&retry=0&partitions=2&pool=${size++}`, { actor: "ada" });
      const write = (): Promise<unknown> =>
        memory.write({ type: "note", text: `note ${written++}` });
      await write();
      await write();
      proxy.arm("nameless", lost);
      await write();
      isSpent = proxy.isSpent();
      await memory.close();
    }
    expect(lost).toBeGreaterThan(1);
    const memory = await open(`${hub}&partitions=2`, { actor: "ada" });
    const { memories } = await memory.list({ type: "note", limit: 1000, order: "oldest" });
    const texts = Array.from({ length: written }, (_, at) => `note ${at}`);
    expect(memories.map(({ text }) => text)).toEqual(texts);
    expect(await memory.check()).toMatchObject({ ok: true });
    await memory.close();
    proxy.stop();
  });

  test("a read that lost its connection is not answered from two states", async () => {
    const proxy = await startProxy(server.port);
    const hub = hubIn(server.url);
    const far = hub.replace(`:${server.port}/`, `:${proxy.port}/`);
    await furnish(`${hub}&partitions=2`);
    const near = await open(`${hub}&partitions=2`, { actor: "ada" });
    const kv = await openPostgresKv(`${far}&partitions=2`, "ada", { create: false });
    const snapshot = await kv.snapshot();
    const [first] = await snapshot.ranges([
      { gte: new Uint8Array([0]), lt: new Uint8Array([255]), limit: 3 },
    ]);
    expect(first).toHaveLength(3);
    const rest = { gte: first?.[2]?.key ?? new Uint8Array(), lt: new Uint8Array([255]), limit: 5 };
    proxy.arm("dropped", 0);
    expect((await snapshot.ranges([rest]))[0]).toHaveLength(5);
    await near.write({ type: "note", text: "meanwhile" });
    proxy.arm("dropped", 0);
    const again = { ...rest, limit: 6 };
    await expect(snapshot.ranges([again])).rejects.toMatchObject({ code: "ERR_UNREACHABLE" });
    snapshot.close();
    await kv.close();
    await near.close();
    proxy.stop();
  });

  test("a get holds no transaction, and one that has to read on sees one state", async () => {
    const location = `${hubIn(server.url)}&partitions=2&pool=3`;
    await using memory = await open(location, { actor: "ada" });
    const { id } = await memory.write({ type: "note", text: "first" });
    expect(await memory.get(id)).toMatchObject({ text: "first" });
    const inside = "FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'";
    await expect.poll(() => server.psql(`SELECT count(*) ${inside}`)).toBe("0");
    const kv = await openPostgresKv(location, "ada", { create: false });
    const brief = await kv.snapshot({ brief: true });
    const range = { gte: new Uint8Array([1]), lt: new Uint8Array([2]), limit: 9 };
    const [head] = await brief.getMany([HEAD_KEY]);
    expect(server.psql(`SELECT count(*) ${inside}`)).toBe("0");
    expect(await brief.getMany([HEAD_KEY])).toEqual([head]);
    expect((await brief.ranges([range]))[0]).toHaveLength(2);
    const late = await kv.snapshot({ brief: true });
    await late.getMany([HEAD_KEY]);
    await memory.update(id, { text: "second" });
    // The one that has begun a transaction goes on in it; the other has nothing to go on in.
    expect((await brief.ranges([{ ...range, limit: 10 }]))[0]).toHaveLength(2);
    const gone = await late.ranges([range]).catch((error: unknown) => error);
    expect(isStateGone(gone)).toBe(true);
    brief.close();
    late.close();
    await kv.close();
    // A process that has never met the memory reads twice, beside a writer that never rests.
    await using reader = await open(`${location}&retry=0`, { actor: "ada" });
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, at) => memory.write({ type: "note", text: `note ${at}` })),
    );
    let isDone = false;
    const writing = (async () => {
      while (!isDone) await memory.update(id, { text: `at ${performance.now()}` });
    })();
    for (const [at, written] of ids.entries()) {
      expect(await reader.get(written.id)).toMatchObject({ text: `note ${at}` });
    }
    isDone = true;
    await writing;
  });

  test("a server killed while writers run: what was acknowledged is there, once and in order", async () => {
    const location = `${hubIn(server.url)}&retry=120&partitions=2`;
    const memory = await open(location, { actor: "bob" });
    const acknowledged: string[] = [];
    let isDone = false;
    const write = async (): Promise<void> => {
      for (let at = 0; !isDone; at += 1) {
        await memory.write({ type: "note", text: `note ${at}` });
        acknowledged.push(`note ${at}`);
      }
    };
    const writing = write();
    for (let kill = 1; kill <= 2; kill += 1) {
      const before = acknowledged.length;
      while (acknowledged.length < before + 5) await new Promise((done) => setTimeout(done, 5));
      await server.kill();
      await server.start();
    }
    const before = acknowledged.length;
    while (acknowledged.length < before + 2) await new Promise((done) => setTimeout(done, 5));
    isDone = true;
    await writing;
    const { memories } = await memory.list({ type: "note", limit: 1000, order: "oldest" });
    expect(memories.map(({ text }) => text).slice(0, 1000)).toEqual(acknowledged.slice(0, 1000));
    expect(await memory.check()).toMatchObject({ ok: true });
    await memory.close();
  });

  test("a store removed while a connection breaks: its writer is told, and leaves nothing in its place", async () => {
    const location = `${hubIn(server.url)}&retry=60&partitions=2`;
    const actor = `${new URL(location).searchParams.get("hub")}/ada`;
    const memory = await open(location, { actor: "ada" });
    await memory.write({ type: "note", text: "before" });
    const other = new pg.Client({ connectionString: server.url });
    await other.connect();
    await other.query("BEGIN");
    await other.query("SELECT 1 FROM cortex_heads WHERE actor = $1 FOR UPDATE", [actor]);
    const told = memory.write({ type: "note", text: "lost" }).then(
      () => "written",
      (error) => error.code,
    );
    const waiting = "FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    await expect.poll(() => server.psql(`SELECT count(*) ${waiting}`)).not.toBe("0");
    server.psql(`SELECT pg_terminate_backend(pid) ${waiting}`);
    for (const table of ["cortex_heads", "cortex_rows"]) {
      await other.query(`DELETE FROM ${table} WHERE actor = $1`, [actor]);
    }
    await other.query("COMMIT");
    expect(await told).toBe("ERR_NOT_FOUND");
    const left = await other.query("SELECT actor FROM cortex_heads WHERE actor = $1", [actor]);
    expect(left.rows).toEqual([]);
    await other.end();
    await memory.close();
  });

  test("a pooler that takes settings and loses statements is found out: nothing is left on its connections", async () => {
    const settings = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"];
    const bouncer = await startPgbouncer(server, [
      `ignore_startup_parameters = ${settings.join(",")}`,
      "default_pool_size = 3",
    ]);
    const location = `${hubIn(bouncer.url)}&retry=60&partitions=2`;
    const names = ["ada", "bob", "eve", "zoe"];
    const memories = await Promise.all(names.map((actor) => open(location, { actor })));
    await Promise.all(
      memories.map(async (memory) => {
        for (let at = 0; at < 6; at += 1) await memory.write({ type: "note", text: `note ${at}` });
        expect((await memory.list({ type: "note" })).memories).toHaveLength(6);
        expect(await memory.check()).toMatchObject({ ok: true });
      }),
    );
    const { retries } =
      postgresCounts().find(({ address }) => address.includes(`:${new URL(bouncer.url).port}/`)) ??
      {};
    expect(retries).toBe(0);
    const client = new pg.Client({ connectionString: bouncer.url });
    await client.connect();
    const { rows } = await client.query(
      "SELECT count(*)::int AS named FROM pg_prepared_statements",
    );
    expect(rows).toEqual([{ named: 0 }]);
    expect((await client.query("SHOW plan_cache_mode")).rows).toEqual([
      { plan_cache_mode: "auto" },
    ]);
    await client.end();
    await Promise.all(memories.map((memory) => memory.close()));
    await bouncer.stop();
  });

  const at = (database: string, more = ""): string => `${server.address(database)}?retry=0${more}`;

  /** What somebody is told who opens an address. */
  async function told(location: string): Promise<string> {
    try {
      await (await open(location, { actor: "eve" })).close();
      return "opened";
    } catch (error) {
      const { code, message } = error as { readonly code: string; readonly message: string };
      expect(message).not.toContain("a%20password");
      return `${code}: ${message}`;
    }
  }

  test("an address that cannot be used says what to do", async () => {
    expect(await told(at("postgres").replace("a%20password", "another"))).toMatch(
      /^ERR_UNREACHABLE: .*password/,
    );
    expect(await told(at("postgres").replace(":a%20password", ""))).toMatch(
      /^ERR_UNREACHABLE: .*asks for a password .*PGPASSWORD/,
    );
    // Who was not let in for want of one has left no connection behind.
    const waiting = "SELECT count(*) FROM pg_stat_activity WHERE state IS NULL AND usename IS NULL";
    expect(server.psql(`${waiting} AND backend_type = 'client backend'`)).toBe("0");
    for (const wrong of ["postgres:cortex", "postgres:/cortex@host/cortex", "postgresql:"]) {
      expect(await told(wrong)).toMatch(/^ERR_INVALID: location: expected postgres:\/\/USER/);
      await expect(openHub(wrong)).rejects.toMatchObject({ code: "ERR_INVALID" });
    }
    expect(await told(at("nowhere"))).toMatch(/^ERR_UNREACHABLE: .*createdb/);
    expect(await told(at("postgres").replace("postgres:", "POSTGRES:"))).toBe("opened");
    expect(await told("postgres://cortex@127.0.0.1:1/postgres?retry=0")).toMatch(
      /^ERR_UNREACHABLE: .*is the server running/,
    );
    expect(await told(at("postgres", "&pool=0"))).toMatch(/^ERR_INVALID: .*pool/);
    expect(await told(at("postgres", "&prepare=maybe"))).toMatch(/^ERR_INVALID: .*prepare/);
    expect(await told(at("postgres", "&sslmode=full"))).toMatch(/^ERR_INVALID: .*verify-full/);

    server.psql("CREATE DATABASE asleep");
    server.psql("ALTER DATABASE asleep SET default_transaction_read_only = on");
    expect(await told(at("asleep"))).toMatch(/^ERR_READ_ONLY: .*primary/);

    server.psql("CREATE DATABASE newer");
    expect(await told(at("newer"))).toBe("opened");
    server.psql("UPDATE cortex_schema SET version = 99", "newer");
    expect(await told(at("newer", "&pool=11"))).toMatch(/^ERR_FORMAT_NEWER: .*newer release/);

    server.psql("CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 0");
    const few = at("postgres").replace(/cortex:a%20password/, "few:few");
    expect(await told(few)).toMatch(/^ERR_UNREACHABLE: .*\?pool=/);

    server.psql("CREATE DATABASE closed");
    server.psql("CREATE ROLE poor LOGIN PASSWORD 'poor'");
    const poor = at("closed").replace(/cortex:a%20password/, "poor:poor");
    expect(await told(poor)).toMatch(/^ERR_STORAGE: .*grant/);
  });

  test("a role that owns nothing does everything with the grants of the page, and is told what it lacks", async () => {
    const page = readFileSync(new URL("../../../docs/postgres.md", import.meta.url), "utf8");
    const grants = page.match(/^GRANT .* TO cortex_app;$/gm) ?? [];
    expect(grants).toHaveLength(2);
    server.psql("CREATE DATABASE lent");
    server.psql("CREATE ROLE cortex_app LOGIN PASSWORD 'app'");
    expect(await told(at("lent"))).toBe("opened");
    const lent = (more: string): string =>
      at("lent", more).replace(/cortex:a%20password/, "cortex_app:app");
    expect(await told(lent(""))).toMatch(/^ERR_STORAGE: .*grant/);
    // Nor is who only reads told that nothing is there.
    const onlyReading = openPostgresKv(lent(""), "eve", { create: false });
    await expect(onlyReading).rejects.toThrow(/cortex_schema; grant/);
    server.psql("GRANT SELECT ON cortex_schema TO cortex_app", "lent");
    expect(await told(lent(""))).toMatch(/^ERR_STORAGE: .*cortex_heads; grant/);
    for (const grant of grants) server.psql(grant, "lent");
    await using hub = await openHub(lent("&hub=app"));
    await hub.createGraph({ name: "First", id: "first" });
    await hub.use("first", async (memory) => {
      const { id } = await memory.write({ type: "note", text: "a note" });
      await memory.write({ type: "note", text: "another note" });
      await memory.forget(id, "asked");
      await memory.vacuum();
      await memory.rebuild();
      expect((await memory.search("note")).hits).toHaveLength(1);
    });
    expect(await hub.check({ graphs: true })).toMatchObject({ ok: true });
    await hub.remove("first", "asked");
    expect((await hub.listGraphs()).graphs).toEqual([]);
  });

  test.skipIf(lacksTools("openssl"))(
    "what is wrong with TLS is said, with what to do",
    async () => {
      const full = (more: string): string => at("postgres", `&sslmode=verify-full${more}`);
      expect(await told(full(""))).toMatch(/^ERR_UNREACHABLE: .*takes no TLS; switch ssl on/);

      const here = makeCertificate(server, "here", ["-addext", "subjectAltName=IP:127.0.0.1"]);
      const other = makeCertificate(server, "other", ["-addext", "subjectAltName=DNS:elsewhere"]);
      const trusting = (file: string): string => full(`&sslrootcert=${encodeURIComponent(file)}`);

      await serveTls(server, here);
      expect(await told(full(""))).toMatch(/^ERR_UNREACHABLE: .*not trusted.*sslrootcert=FILE/);
      expect(await told(trusting(other.file))).toMatch(/^ERR_UNREACHABLE: .*not trusted/);
      expect(await told(trusting(here.file))).toBe("opened");
      expect(await told(trusting(`${here.file}.none`))).toMatch(
        /^ERR_INVALID: .*sslrootcert.*none/,
      );

      await serveTls(server, other);
      expect(await told(trusting(other.file))).toMatch(
        /^ERR_UNREACHABLE: .*another name.*the name that it is for/,
      );
      // No tool makes one that has expired: what Node says of it is given by hand.
      const expired = Object.assign(new Error("it has expired"), { code: "CERT_HAS_EXPIRED" });
      expect(postgresError(expired, { shown: "here" }).message).toMatch(/renew it/);

      server.psql("CREATE ROLE guarded LOGIN PASSWORD 'guarded'");
      const rules = join(server.folder, "data", "pg_hba.conf");
      writeFileSync(rules, `hostnossl all guarded all reject\n${readFileSync(rules, "utf8")}`);
      server.psql("SELECT pg_reload_conf()");
      const guarded = at("postgres").replace(/cortex:a%20password/, "guarded:guarded");
      await expect
        .poll(() => told(guarded))
        .toMatch(/^ERR_UNREACHABLE: .*TLS.*sslmode=verify-full/);
    },
  );
});
