/** Streams: every entry once and in order, whoever wrote it; a client that returns misses nothing. */
import { open } from "@cortex-memory/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makePlace } from "./cortex-process.js";
import { type Client, follow } from "./event-client.js";
import { startTestServer, type TestServer } from "./http-server.js";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
  await server.post("/v1/write", { type: "fact", text: "the first" });
});
afterEach(() => server.close());

const write = (text: string, actor = "default") =>
  server.post(`/v1/actors/${actor}/write`, { type: "event", text });

describe("a stream", () => {
  test("tells what is written from now on, by id and without content", async () => {
    const client = await follow(`${server.url}/v1/subscribe`);
    await write("Ada moves to Porto");
    const [event] = await client.upTo(1);
    expect(event).toMatchObject({ id: 2, event: "entry", data: { seq: 2, kind: "write" } });
    expect(JSON.stringify(event)).not.toContain("Porto");
    client.leave();
  });

  test("goes on where a client left off, whatever its address says", async () => {
    const first = await follow(`${server.url}/v1/subscribe?from=0`);
    const seen = await first.upTo(2);
    first.leave();
    for (let at = 0; at < 20; at += 1) await write(`while nobody listens ${at}`);
    const last = String(seen.at(-1)?.id);
    const again = await follow(`${server.url}/v1/subscribe?from=0`, { "Last-Event-ID": last });
    const missed = await again.upTo(20);
    expect(missed.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, at) => at + 2));
    again.leave();
  });

  test("is one actor's, and may be narrowed to kinds", async () => {
    await write("to begin with", "grace");
    const grace = await follow(`${server.url}/v1/actors/grace/subscribe?from=0&kinds=tombstone`);
    await write("not for grace");
    const { json } = await write("to be hidden", "grace");
    await server.post("/v1/actors/grace/tombstone", { id: json.id, reason: "seen enough" });
    const [event] = await grace.upTo(1);
    expect(event?.data).toMatchObject({ kind: "tombstone", memories: [{ id: json.id }] });
    grace.leave();
  });

  test("tells what another process writes", async () => {
    const client = await follow(`${server.url}/v1/subscribe?pollMs=50`);
    const place = makePlace();
    try {
      const { exit, err } = place.process([
        "write",
        "fact",
        "from elsewhere",
        "--data",
        server.location,
      ]);
      expect(exit, err).toBe(0);
      const [event] = await client.upTo(1);
      expect(event?.data).toMatchObject({ seq: 2, kind: "write" });
    } finally {
      client.leave();
      place.remove();
    }
  });

  test.each([
    ["/v1/subscribe?from=99", {}, 409, "ERR_ROLLED_BACK"],
    ["/v1/subscribe", { "Last-Event-ID": "many" }, 400, "ERR_INVALID"],
    ["/v1/subscribe?kinds=nonsense", {}, 400, "ERR_INVALID"],
    ["/v1/actors/nobody/subscribe", {}, 404, "ERR_NOT_FOUND"],
  ])(
    "%s is refused with a status, so that no client comes back for ever",
    async (path, headers, status, code) => {
      const got = await server.get(path, headers as Record<string, string>);
      expect([got.status, got.json.code]).toEqual([status, code]);
    },
  );

  test("ends when the server ends, and the store is whole", async () => {
    const clients = await Promise.all(
      Array.from({ length: 5 }, () => follow(`${server.url}/v1/subscribe?from=0`)),
    );
    await Promise.all(clients.map((client) => client.upTo(2)));
    const other = await startTestServer({ location: server.location });
    const elsewhere = await follow(`${other.url}/v1/subscribe?from=0`);
    await other.close();
    await elsewhere.ended;
    await using memory = await open(server.location);
    expect((await memory.check()).ok).toBe(true);
    for (const client of clients) client.leave();
  });
});

test("many idle streams cost others nothing, and are counted", async () => {
  const COUNT = 1000;
  const clients: Client[] = [];
  for (let at = 0; at < COUNT; at += 100) {
    const some = Array.from({ length: 100 }, () => follow(`${server.url}/v1/subscribe`));
    clients.push(...(await Promise.all(some)));
  }
  expect((await server.get("/metrics")).text).toMatch(
    new RegExp(`^cortex_stream_clients ${COUNT}$`, "m"),
  );
  await write("for everybody");
  const heard = await Promise.all(clients.map((client) => client.upTo(1)));
  expect(new Set(heard.map(([event]) => event?.id))).toEqual(new Set([2]));
  for (const client of clients) client.leave();
  await Promise.all(clients.map((client) => client.ended));
  // The server hears of each departure from its own socket.
  for (;;) {
    const { text } = await server.get("/metrics");
    if (/^cortex_stream_clients 0$/m.test(text)) break;
  }
});
