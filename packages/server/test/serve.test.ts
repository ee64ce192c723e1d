/**
 * `cortex serve` as people run it: what it says, what it refuses to start with, how it ends, and that
 * nothing it said is lost when it is killed.
 */
import { chmodSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { open } from "@cortex-memory/core";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SERVE_SETTINGS } from "../src/config.js";
import { makePlace, type Place } from "./cortex-process.js";
import { statusOf } from "./http-server.js";
import { npmStart, type ServeProcess, startServe, whileServing } from "./serve-process.js";

let place: Place;
let running: ServeProcess[] = [];
beforeEach(() => {
  place = makePlace();
});
afterEach(async () => {
  await Promise.all(running.map((one) => one.stop("SIGKILL")));
  running = [];
  place.remove();
});

async function serve(args: readonly string[] = [], env: Record<string, string> = {}) {
  const server = await startServe(place.data, args, env);
  running.push(server);
  return server;
}

describe("starting", () => {
  test("serves, and another door sees what it wrote", async () => {
    const server = await serve();
    const body = { type: "fact", text: "Ada lives in Porto", externalId: "home" };
    expect((await server.post("/v1/write", body)).status).toBe(200);
    expect(await place.json(["get", "home"])).toMatchObject({ text: "Ada lives in Porto" });
    expect(await server.stop()).toBe(0);
    expect(JSON.parse(server.err().trim())).toMatchObject({ operation: "write", status: 200 });
  });

  test.each([
    ["an address that others reach", ["--host", "0.0.0.0"], {}, /needs an admin token/],
    ["the same in version 6", ["--host", "::"], {}, /needs an admin token/],
    ["a name for an address", ["--host", "example.com"], {}, /an IP address/],
    ["a short token", [], { CORTEX_TOKEN: "secret" }, /16 characters or more, got 6/],
    ["a token with a space", [], { CORTEX_TOKEN: "a b c d e f g h i j" }, /without spaces/],
    ["a port that is none", ["--port", "70000"], {}, /0 to 65535/],
    ["an origin that is none", ["--cors-origins", "example.com"], {}, /origins such as/],
    ["a limit that is none", [], { CORTEX_BODY_LIMIT_BYTES: "much" }, /CORTEX_BODY_LIMIT_BYTES/],
    ["a time that is none", [], { CORTEX_JOBS_MAINTAIN_EVERY_MS: "1h" }, /EVERY_MS: expected a wh/],
  ])("refuses %s", async (_, args, env, message) => {
    const words = ["serve", "--data", place.data, "--port", "0", ...args];
    const ended = await place.bare(words, { env });
    expect(ended.exit, ended.err).toBe(2);
    expect(ended.err).toMatch(message);
    expect(ended.err + ended.out).not.toMatch(/secret|a b c/);
  });

  test("and the process that refuses ends with the same", () => {
    const ended = place.process(["serve", "--data", place.data, "--port", "70000"]);
    expect([ended.exit, ended.out]).toEqual([2, ""]);
    expect(ended.err).toMatch(/0 to 65535/);
  });

  test("npm start serves the store in the user's data folder", async () => {
    const said = await npmStart(place.home, async (text) => {
      const [url = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
      const body = JSON.stringify({ type: "fact", text: "Ada lives in Porto", externalId: "home" });
      const headers = { "Content-Type": "application/json" };
      const written = await fetch(`${url}/v1/write`, { method: "POST", headers, body });
      expect(written.status).toBe(200);
    });
    const [, data = ""] = /serves (\S+), actor default/.exec(said) ?? [];
    expect(data.startsWith(place.home), said).toBe(true);
    const { out } = await place.bare(["get", "home", "--data", data, "--json"]);
    expect(JSON.parse(out)).toMatchObject({ text: "Ada lives in Porto" });
    expect(SERVE_SETTINGS).toMatchObject({
      port: { standard: "7777" },
      host: { standard: "127.0.0.1" },
    });
  });

  test.each([
    ["without a token", undefined],
    ["with a token, which it does not print", "a-token-of-the-owner-1"],
  ])("tells people what to paste into an agent, and that works, %s", async (_, token) => {
    const env = token === undefined ? {} : { CORTEX_TOKEN: token };
    await whileServing(place.data, env, async (said) => {
      const [line = "{}"] = /^ +\{.*\}$/m.exec(said) ?? [];
      const { mcpServers } = JSON.parse(line) as {
        readonly mcpServers: {
          readonly cortex: { readonly url: string; readonly headers?: Record<string, string> };
        };
      };
      const { url, headers = {} } = mcpServers.cortex;
      expect(said).not.toContain(token ?? "Authorization");
      const filled = Object.entries(headers).map(([name, value]) => [
        name,
        value.replace("<the admin token>", token ?? ""),
      ]);
      const client = new Client({ name: "pasted", version: "1.0.0" });
      const requestInit = { headers: Object.fromEntries(filled) };
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
      expect((await client.listTools()).tools).toHaveLength(12);
      await client.close();
    });
  });

  test("works in the background as the settings say, and its stats tell", async () => {
    const server = await serve([], { CORTEX_JOBS_SNAPSHOT_EVERY_MS: "1" });
    for (const source of ["agent", "extraction", "imported"]) {
      const body = { type: "fact", text: "The office is in Lisbon", source, by: `${source}-1` };
      expect((await server.post("/v1/write", body)).status).toBe(200);
    }
    type Job = { readonly name: string; readonly cursor: number; readonly lastRunAt?: number };
    const ran = async (): Promise<readonly string[]> => {
      const { jobs } = (await (await fetch(`${server.url}/v1/stats`)).json()) as {
        readonly jobs: readonly Job[];
      };
      return jobs.filter(({ lastRunAt }) => lastRunAt !== undefined).map(({ name }) => name);
    };
    // Jobs begin in a pause between calls, so it asks seldom. A test that waits in vain is ended by
    // its own time limit.
    while ((await ran()).length < 2) await new Promise((resolve) => setTimeout(resolve, 400));
    expect(await ran()).toEqual(["maintain", "snapshot"]);
    expect(await server.stop()).toBe(0);
    const shown = await place.cortex(["stats"]);
    expect(shown.out).toMatch(/job maintain +.*last ran at/);
    expect(shown.out).toMatch(/job snapshot +.*last ran at/);
    expect(shown.out).not.toContain("at work by");
  });

  test("takes a token from a file that nobody else can read", async () => {
    const file = join(place.folder, "token");
    writeFileSync(file, "a-token-of-some-length\n", { mode: 0o644 });
    const args = ["serve", "--data", place.data, "--port", "0", "--token-file", file];
    const refused = place.process(args);
    expect([refused.exit, refused.err]).toEqual([2, expect.stringMatching(/mode 0600, got 0644/)]);
    chmodSync(file, 0o600);
    const server = await serve(["--token-file", file, "--host", "0.0.0.0"]);
    expect((await fetch(`${server.url}/v1/config`)).status).toBe(401);
    const headers = { Authorization: "Bearer a-token-of-some-length" };
    const answer = await fetch(`${server.url}/v1/config`, { headers });
    expect(answer.status).toBe(200);
    expect(await answer.text()).not.toContain("a-token-of-some-length");
  });

  test("says so when the port is taken", async () => {
    const server = await serve();
    const args = ["serve", "--data", place.data, "--port", String(server.port)];
    const second = place.process(args);
    expect(second.exit).toBe(1);
    expect(second.err).toMatch(/something else listens there/);
  });
});

/** Sends a request whose body waits; the result finishes it and gives the answer. */
function halfRequest(port: number, body: string): Promise<() => Promise<string>> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect({ port, host: "127.0.0.1" }, () => {
      socket.write(
        `POST /v1/write HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
        () => resolve(finish),
      );
    });
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", () => {});
    const closed = new Promise<void>((done) => socket.once("close", () => done()));
    const finish = async (): Promise<string> => {
      if (socket.writable) socket.write(body);
      await closed;
      return text;
    };
  });
}

describe("ending", () => {
  test.each(["SIGTERM", "SIGINT"] as const)(
    "%s: what was accepted is answered, then it exits with 0",
    async (signal) => {
      const server = await serve();
      const before = await server.post("/v1/write", { type: "event", text: "before" });
      expect(before.status).toBe(200);
      const writes = Array.from({ length: 200 }, (_, at) =>
        server.post("/v1/write", { type: "event", text: `event ${at}` }).then(
          async (response) => ({ status: response.status, body: await response.json() }),
          () => ({ status: 0, body: undefined }),
        ),
      );
      // The first answers are there: the others are on their way.
      await Promise.race(writes);
      expect(await server.stop(signal)).toBe(0);
      const ended = await Promise.all(writes);
      const kept = ended.flatMap(({ status, body }) =>
        status === 200 ? [(body as { readonly id: string }).id] : [],
      );
      // Answered with success, told to come back, or never accepted; nothing in between.
      expect(ended.every(({ status }) => [200, 503, 0].includes(status))).toBe(true);
      expect(kept.length).toBeGreaterThan(0);
      await using memory = await open(place.data);
      for (const id of kept) expect(await memory.get(id)).toBeDefined();
      expect((await memory.check()).ok).toBe(true);
    },
  );

  test("a request that has not arrived does not keep it", async () => {
    const server = await serve(["--request-timeout-ms", "3600000"]);
    const finish = await halfRequest(server.port, JSON.stringify({ type: "event", text: "late" }));
    expect((await server.post("/v1/write", { type: "event", text: "early" })).status).toBe(200);
    expect(await server.stop()).toBe(0);
    const text = await finish();
    expect(text === "" || statusOf(text) === 503).toBe(true);
  });

  test("a second signal ends it at once", async () => {
    // An export that nobody reads keeps the first signal waiting: more than sockets hold, written before
    // the server starts and without waiting for the disk, which may be busy.
    const memory = await open(place.data, { relaxedDurability: true });
    for (let at = 0; at < 20; at += 1) {
      await memory.batch(
        Array.from({ length: 25 }, (_, n) => ({
          write: { type: "note", kind: "big", text: `${at} ${n} ${"zz ".repeat(10_000)}` } as const,
        })),
      );
    }
    await memory.close();
    const server = await serve();
    const socket = connect({ port: server.port, host: "127.0.0.1" });
    socket.on("error", () => {});
    await new Promise<void>((resolve) => {
      socket.once("readable", resolve);
      socket.write("GET /v1/export HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    });
    server.child.kill("SIGTERM");
    // It has heard the first signal when it no longer takes connections.
    for (;;) {
      const isOpen = await fetch(`${server.url}/healthz`).then(
        () => true,
        () => false,
      );
      if (!isOpen) break;
    }
    expect(await server.stop("SIGINT")).toBe(130);
    socket.destroy();
  });

  test("killed in the middle of writes, it loses nothing that it said", async () => {
    const server = await serve();
    const told: string[] = [];
    const writer = async (name: number): Promise<void> => {
      for (let at = 0; ; at += 1) {
        try {
          const body = { type: "event", text: `writer ${name} event ${at}` };
          const response = await server.post("/v1/write", body);
          told.push(((await response.json()) as { readonly id: string }).id);
          if (told.length === 60) server.child.kill("SIGKILL");
        } catch {
          return;
        }
      }
    };
    await Promise.all([0, 1, 2, 3].map(writer));
    expect(await server.ended).toBe("SIGKILL");
    expect(told.length).toBeGreaterThanOrEqual(60);
    const again = await serve();
    for (const id of told) expect((await fetch(`${again.url}/v1/get?id=${id}`)).status).toBe(200);
    const check = await fetch(`${again.url}/v1/check`);
    expect(await check.json()).toMatchObject({ ok: true });
  });
});

test("several servers and a command write one store, and no update is lost", async () => {
  const servers = await Promise.all([serve(), serve()]);
  const created = await servers[0]?.post("/v1/write", {
    type: "note",
    kind: "counter",
    text: "0",
    externalId: "counter",
  });
  expect(created?.status).toBe(200);
  const EACH = 15;
  /** Adds one by reading, and by writing only what was read; a conflict is tried again. */
  const add = async (server: ServeProcess): Promise<void> => {
    for (let done = 0; done < EACH; ) {
      const read = await fetch(`${server.url}/v1/get?id=counter`);
      const { text } = (await read.json()) as { readonly text: string };
      const response = await fetch(`${server.url}/v1/update`, {
        method: "POST",
        headers: {
          "Content-Type": "application/json",
          "If-Match": read.headers.get("etag") ?? "",
        },
        body: JSON.stringify({ id: "counter", text: String(Number(text) + 1) }),
      });
      expect([200, 412]).toContain(response.status);
      if (response.status === 200) done += 1;
    }
  };
  const command = place.process(["note", "aside", "from the command line", "--data", place.data]);
  await Promise.all(servers.flatMap((server) => [add(server), add(server)]));
  expect(command.exit).toBe(0);
  expect(await place.json(["get", "counter"])).toMatchObject({ text: String(EACH * 4) });
  expect(await place.json(["check"])).toMatchObject({ ok: true });
});
