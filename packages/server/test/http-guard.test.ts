/**
 * Who may call: without a token, this machine and no page of a browser but the server's own; with one,
 * whoever bears it. Requests are sent as bytes, because no client lets a test say these things.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { open } from "@cortex-memory/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exchange, startTestServer, statusOf, type TestServer } from "./http-server.js";

const BODY = JSON.stringify({ type: "fact", text: "planted by a stranger" });

/** A request as bytes. */
function request(line: string, headers: readonly string[], body = ""): string {
  const length = body === "" ? [] : [`Content-Length: ${body.length}`];
  return `${[`${line} HTTP/1.1`, ...headers, ...length, "Connection: close"].join("\r\n")}\r\n\r\n${body}`;
}

describe("without a token", () => {
  let server: TestServer;
  let host: string;
  beforeAll(async () => {
    server = await startTestServer({ settings: { corsOrigins: "https://studio.example" } });
    host = `127.0.0.1:${server.port}`;
    await server.post("/v1/write", {
      type: "fact",
      text: "Ada lives in Porto",
      externalId: "home",
    });
  });
  afterAll(() => server.close());

  /** Everything that answers, of every kind. */
  const PATHS = [
    "/v1/get?id=home",
    "/v1/subscribe?from=0",
    "/v1/stream",
    "/v1/graphs",
    "/mcp",
    "/metrics",
    "/slow",
    "/healthz",
    "/openapi.json",
  ];

  test.each(["127.0.0.1", "localhost", "LOCALHOST", "127.9.9.9", "[::1]"])(
    "the host may be %s, with any port",
    async (name) => {
      for (const shown of [name, `${name}:1234`]) {
        const text = await server.raw(request("GET /v1/get?id=home", [`Host: ${shown}`]));
        expect(statusOf(text), shown).toBe(200);
      }
    },
  );

  test.each([
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "127.0.0.1@evil.example",
    "0.0.0.0",
    "10.0.0.1",
    "2130706433",
    "[::ffff:10.0.0.1]",
    "evil.example:7777",
  ])("a name that was made to point here is refused: %s", async (name) => {
    for (const path of PATHS) {
      const text = await server.raw(request(`GET ${path}`, [`Host: ${name}`]));
      expect([400, 403], `${path} ${text.slice(0, 80)}`).toContain(statusOf(text));
      expect(text).not.toContain("Porto");
    }
  });

  test("no host, two hosts, and a host in the request line are refused", async () => {
    expect(statusOf(await server.raw(request("GET /v1/root", [])))).toBe(400);
    const two = ["Host: 127.0.0.1", "Host: evil.example"];
    expect(statusOf(await server.raw(request("GET /v1/root", two)))).not.toBe(200);
    const line = "GET http://evil.example/v1/root";
    expect(statusOf(await server.raw(request(line, ["Host: 127.0.0.1"])))).toBe(403);
    const own = `GET http://${host}/v1/root`;
    expect(statusOf(await server.raw(request(own, [`Host: ${host}`])))).toBe(200);
  });

  test("a page of the server's own may call, and one of an origin that was named", async () => {
    for (const origin of [`http://${host}`, "https://studio.example"]) {
      const text = await server.raw(
        request("GET /v1/root", [
          `Host: ${host}`,
          `Origin: ${origin}`,
          "Sec-Fetch-Site: same-site",
        ]),
      );
      expect(statusOf(text), origin).toBe(200);
    }
  });

  test.each([
    "http://evil.example",
    "null",
    "http://localhost:3000",
    "https://studio.example.evil",
  ])("a page of another origin may not: %s", async (origin) => {
    for (const path of PATHS) {
      const text = await server.raw(request(`GET ${path}`, [`Host: ${host}`, `Origin: ${origin}`]));
      expect(statusOf(text), path).toBe(403);
      expect(text).not.toMatch(/Porto|access-control-allow-origin/i);
    }
  });

  test("what a page can send unasked changes nothing", async () => {
    const before = (await server.get("/v1/stats")).json.entries;
    const forged: readonly (readonly string[])[] = [
      ["Origin: http://evil.example", "Content-Type: text/plain"],
      ["Origin: http://evil.example", "Content-Type: application/json"],
      ["Content-Type: text/plain"],
      ["Content-Type: application/x-www-form-urlencoded"],
      ["Content-Type: multipart/form-data; boundary=x"],
      ["Sec-Fetch-Site: cross-site", "Content-Type: application/json"],
      ["Sec-Fetch-Site: same-site", "Content-Type: application/json"],
    ];
    for (const headers of forged) {
      const text = await server.raw(request("POST /v1/write", [`Host: ${host}`, ...headers], BODY));
      expect([403, 415], headers.join()).toContain(statusOf(text));
    }
    // An image or a script of another page asks without an origin; what it is, the browser says.
    for (const site of ["cross-site", "same-site"]) {
      const headers = [`Host: ${host}`, `Sec-Fetch-Site: ${site}`, "Sec-Fetch-Mode: no-cors"];
      expect(statusOf(await server.raw(request("GET /v1/check", headers)))).toBe(403);
    }
    expect((await server.get("/v1/stats")).json.entries).toBe(before);
  });

  test("a preflight is answered for origins that were named, and for no others", async () => {
    const ask = (origin: string) =>
      server.raw(
        request("OPTIONS /v1/write", [
          `Host: ${host}`,
          `Origin: ${origin}`,
          "Access-Control-Request-Method: POST",
          "Access-Control-Request-Headers: content-type",
        ]),
      );
    const named = await ask("https://studio.example");
    expect(statusOf(named)).toBe(204);
    expect(named).toMatch(/access-control-allow-origin: https:\/\/studio\.example\r\n/i);
    expect(await ask("https://evil.example")).not.toMatch(/access-control-allow-origin/i);
  });

  test("a header cannot be broken into two", async () => {
    const text = await server.raw(
      request("GET /v1/root", [`Host: ${host}`, "X-Request-Id: a%0d%0aSet-Cookie: x=1"]),
    );
    expect(statusOf(text)).toBe(200);
    expect(text).not.toMatch(/set-cookie/i);
    const cursor = encodeURIComponent("x\r\nSet-Cookie: x=1");
    const page = await server.raw(request(`GET /v1/list?cursor=${cursor}`, [`Host: ${host}`]));
    expect(page).not.toMatch(/^set-cookie/im);
  });
});

describe("with a token", () => {
  const TOKEN = "correct-horse-battery-staple";
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({
      settings: { token: TOKEN, corsOrigins: "https://studio.example" },
    });
  });
  afterAll(() => server.close());

  test.each([
    ["no header", {}],
    ["another token", { Authorization: "Bearer wrong-horse-battery-staple" }],
    ["a token that starts right", { Authorization: `Bearer ${TOKEN}r` }],
    ["another scheme", { Authorization: `Basic ${TOKEN}` }],
    ["nothing after the scheme", { Authorization: "Bearer " }],
  ])("%s is 401", async (_, headers) => {
    for (const path of [
      "/v1/root",
      "/v1/graphs",
      "/v1/stream",
      "/mcp",
      "/metrics",
      "/slow",
      "/v1/nothing",
    ]) {
      const got = await server.get(path, headers as Record<string, string>);
      expect([got.status, got.json.code], path).toEqual([401, "ERR_DENIED"]);
      expect(got.headers.get("www-authenticate")).toMatch(/^Bearer/);
    }
  });

  test("the token opens the door, whatever the host is called", async () => {
    const written = await server.post(
      "/v1/write",
      { type: "fact", text: "x" },
      { Authorization: `bearer ${TOKEN}` },
    );
    expect(written.status).toBe(200);
    const text = await server.raw(
      request("GET /v1/root", ["Host: memory.example", `Authorization: Bearer ${TOKEN}`]),
    );
    expect(statusOf(text)).toBe(200);
  });

  test("probes and the description of the interface need none", async () => {
    for (const path of ["/healthz", "/readyz", "/openapi.json", "/errors", "/errors/ERR_INVALID"]) {
      expect((await server.get(path)).status, path).toBe(200);
    }
  });

  test("a preflight bears no token and is answered, a refusal can be read by the page", async () => {
    const response = await fetch(`${server.url}/v1/root`, {
      method: "OPTIONS",
      headers: { Origin: "https://studio.example", "Access-Control-Request-Method": "GET" },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-headers")).toMatch(/authorization/i);
    const refused = await server.get("/v1/root", { Origin: "https://studio.example" });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("access-control-allow-origin")).toBe("https://studio.example");
  });

  test("the token is in no log, no answer and no setting", async () => {
    const { text } = await server.get("/v1/config", { Authorization: `Bearer ${TOKEN}` });
    await new Promise((resolve) => setImmediate(resolve));
    expect(text + JSON.stringify(server.logged())).not.toContain(TOKEN);
  });
});

describe("how often", () => {
  test("a caller over its rate is told when to come back, and probes are not counted", async () => {
    const server = await startTestServer({ settings: { ratePerSecond: "1", rateBurst: "5" } });
    // So many that a busy machine, on which all of them take seconds, refuses some as well.
    const got = await Promise.all(Array.from({ length: 60 }, () => server.get("/v1/config")));
    const refused = got.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(5);
    expect(got.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(5);
    for (const { headers, json } of refused) {
      expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      expect(json.code).toBe("ERR_RATE_LIMITED");
    }
    expect((await server.get("/healthz")).status).toBe(200);
    await server.close();
  });
});

/** More than the kernel holds for a client that does not read. */
const LONG_NOTES_BYTES = 16_000_000;

/** Fills the store of a server whose limit of time is too short for large requests. */
async function fillWithLongNotes(folder: string): Promise<void> {
  await using memory = await open(folder, { relaxedDurability: true });
  // Each text stands twice in an answer, and many short words are sooner indexed than a long one.
  const text = "zz ".repeat(LONG_NOTES_BYTES / 2 / 400 / 3 + 1);
  for (let from = 0; from < 400; from += 200) {
    const items = Array.from({ length: 200 }, (_, at) => ({
      write: { type: "note" as const, kind: "big", text: `${from + at} ${text}` },
    }));
    await memory.batch(items);
  }
}

describe("bytes that are no request", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({ settings: { requestTimeoutMs: "2000" } });
  });
  afterAll(() => server.close());

  test.each([
    ["nonsense", "hello\r\n\r\n", 400],
    ["an old version", "GET / HTTP/0.9\r\n\r\n", 400],
    [
      "a long head",
      `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
      431,
    ],
    [
      "a length and chunks",
      "POST /v1/write HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400,
    ],
  ])("%s is answered and closed", async (_, bytes, status) => {
    const text = await server.raw(bytes);
    expect(statusOf(text)).toBe(status);
    expect(text).toContain("application/problem+json");
  });

  test.each([
    ["a head", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow"],
    [
      "a body",
      `POST /v1/write HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"type"`,
    ],
  ])("%s that never ends is cut off, and nobody else waits", async (_, bytes) => {
    const slow = Array.from({ length: 50 }, () => server.raw(bytes));
    const meanwhile = await Promise.all(
      Array.from({ length: 20 }, () => server.get("/healthz").then(({ status }) => status)),
    );
    expect(new Set(meanwhile)).toEqual(new Set([200]));
    for (const text of await Promise.all(slow)) expect([408, 400]).toContain(statusOf(text));
  });

  test("a client that leaves in the middle of its body disturbs nobody", async () => {
    const head =
      "POST /v1/write HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{";
    await new Promise<void>((resolve) => {
      const socket = connect({ port: server.port, host: "127.0.0.1" }, () => {
        socket.write(head, () => {
          socket.destroy();
          resolve();
        });
      });
    });
    expect((await server.get("/healthz")).status).toBe(200);
  });

  test("a client that does not take its answer is cut off", async () => {
    const big = await startTestServer({ settings: { requestTimeoutMs: "300" } });
    await fillWithLongNotes(big.folder);
    let received = 0;
    const socket = connect({ port: big.port, host: "127.0.0.1" });
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      received += chunk.length;
    });
    const closed = once(socket, "close");
    await once(socket, "connect");
    socket.pause();
    socket.write("GET /v1/list?limit=1000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    const isAnswered = () => big.logged().some(({ operation }) => operation === "list");
    while (!isAnswered()) await wait(10);
    // The limit runs in this process as well: it has passed when a longer time has.
    await wait(1000);
    // What the kernel holds is read at last, so that the end is seen.
    socket.resume();
    await closed;
    expect(received).toBeLessThan(LONG_NOTES_BYTES);
    expect((await big.get("/healthz")).status).toBe(200);
    await big.close();
  });

  test("an upgrade to another protocol is not offered", async () => {
    const text = await exchange(
      server.port,
      "GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    expect(statusOf(text)).not.toBe(101);
  });
});
