/** MCP at `/mcp` of `cortex serve`: the built server over HTTP, driven by the official client. */
import { request as httpRequest } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toolsOf } from "../src/mcp/tools.js";
import { STANDARD_TOOLS } from "../src/mcp/tools-standard.js";
import { makePlace, type Place } from "./cortex-process.js";
import { startServe } from "./serve-process.js";

const TOKEN = "a-token-for-tests";

interface Served {
  readonly url: string;
  readonly stop: () => Promise<number | string>;
}

let place: Place;
let open: Served;
let closed: Served;

/** Starts `cortex serve` on a free port. */
async function serve(data: string, env: Record<string, string> = {}): Promise<Served> {
  const { url, stop } = await startServe(data, [], env);
  return { url: `${url}/mcp`, stop: () => stop() };
}

beforeAll(async () => {
  place = makePlace();
  [open, closed] = await Promise.all([
    serve(place.data),
    serve(`${place.folder}/guarded`, { CORTEX_TOKEN: TOKEN }),
  ]);
});

afterAll(async () => {
  await Promise.all([open.stop(), closed.stop()]);
  place.remove();
});

interface How {
  readonly modern?: boolean;
  readonly token?: string;
}

async function connect(url: string, { modern, token }: How = {}): Promise<Client> {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const client = new Client(
    { name: "over http", version: "1" },
    modern === true ? { versionNegotiation: { mode: "auto" } } : {},
  );
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
  );
  return client;
}

describe.each([
  ["the newest revision", true, "2026-07-28", "mcp:over-http"],
  // Its name is told at the handshake, and a server without sessions keeps nothing of that.
  ["the handshake of today", false, "2025-11-25", "mcp"],
])("%s", (_, modern, version, by) => {
  test("has the tools and their answers", async () => {
    const client = await connect(open.url, { modern });
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect(client.getServerCapabilities()?.resources?.subscribe).toBe(modern);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(STANDARD_TOOLS.map(({ name }) => name));
    const text = `Said in ${version}`;
    const written = await client.callTool({ name: "memory_remember", arguments: { text } });
    const { id } = written.structuredContent as { readonly id: string };
    const found = await client.callTool({ name: "memory_get", arguments: { id } });
    expect(found.structuredContent).toMatchObject({ text, origin: { by } });
    const missing = await client.callTool({ name: "memory_get", arguments: { id: "nobody" } });
    expect(missing).toMatchObject({ isError: true });
    await client.close();
  });

  test("has every tool under ?profile=full, and other actors below their path", async () => {
    const full = await connect(`${open.url}?profile=full`, { modern });
    const { tools } = await full.listTools();
    expect(tools.map(({ name }) => name)).toEqual(toolsOf("full", true).map(({ name }) => name));
    await full.close();
    const other = await connect(open.url.replace("/mcp", "/v1/actors/grace/mcp"), { modern });
    expect((await other.listResources()).resources).toMatchObject([{ uri: "cortex://grace" }]);
    await other.close();
  });
});

test("subscribers hear of what REST writes", async () => {
  const client = await connect(open.url, { modern: true });
  const written = await client.callTool({ name: "memory_remember", arguments: { text: "Hear" } });
  const { id, uri } = written.structuredContent as { readonly id: string; readonly uri: string };
  const current = uri.replace(/#\d+$/, "");
  const heard = new Promise<string>((resolve) => {
    client.setNotificationHandler("notifications/resources/updated", ({ params }) =>
      resolve(params.uri),
    );
  });
  await client.listen({ resourceSubscriptions: [current] });
  const response = await fetch(open.url.replace("/mcp", "/v1/tombstone"), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ id, reason: "over REST" }),
  });
  expect(response.status).toBe(200);
  expect(await heard).toBe(current);
  await client.close();
});

test("a server that stops ends subscriptions and exits with 0", async () => {
  const short = await serve(`${place.folder}/short`);
  const client = await connect(short.url, { modern: true });
  const ended = new Promise<void>((resolve) => {
    client.onerror = () => resolve();
  });
  const subscription = await client.listen({ resourceSubscriptions: ["cortex://default"] });
  expect(subscription).toBeDefined();
  expect(await short.stop()).toBe(0);
  await Promise.race([ended, client.close()]);
});

/** A request as no browser and no client would send it. */
function raw(url: string, headers: Record<string, string>, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method: "POST", headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

describe("who may call", () => {
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const json = {
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
  };

  test("without a token, only callers of this machine, and no page of another origin", async () => {
    expect(await raw(open.url, json, ping)).toBe(200);
    expect(await raw(open.url, { ...json, Host: "evil.example" }, ping)).toBe(403);
    expect(await raw(open.url, { ...json, Origin: "https://evil.example" }, ping)).toBe(403);
    expect(await raw(open.url, { ...json, "Sec-Fetch-Site": "cross-site" }, ping)).toBe(403);
  });

  test("with a token, only whoever bears it", async () => {
    expect(await raw(closed.url, json, ping)).toBe(401);
    expect(await raw(closed.url, { ...json, Authorization: "Bearer wrong" }, ping)).toBe(401);
    const client = await connect(closed.url, { token: TOKEN });
    expect((await client.listTools()).tools).toHaveLength(STANDARD_TOOLS.length);
    await client.close();
  });

  test("misuse is refused, and the next request is served", async () => {
    expect(await raw(open.url, json, "{")).toBe(400);
    expect(await raw(open.url, { ...json, "Content-Type": "text/plain" }, ping)).toBe(415);
    expect(await raw(`${open.url}?profile=huge`, json, ping)).toBe(400);
    expect((await fetch(open.url, { headers: { Accept: "text/event-stream" } })).status).toBe(405);
    expect((await fetch(open.url, { method: "PUT" })).status).toBe(405);
    expect(await raw(open.url.replace("/mcp", "/v1/actors/NO/mcp"), json, ping)).toBe(400);
    expect(await raw(open.url, json, ping)).toBe(200);
  });
});
