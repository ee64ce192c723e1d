/**
 * What is served to whoever opens the address: a page that needs no token and holds nothing of any store.
 * What a browser loads is open, what a store holds is not.
 */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routesOf } from "../src/http/routes.js";
import { MEMGRAPH_ROUTES } from "../src/memgraph/routes.js";
import { OPERATIONS } from "../src/operations.js";
import { readAll, startTestServer, type TestServer } from "./http-server.js";

const TOKEN = "correct-horse-battery-staple";

let open: TestServer;
let guarded: TestServer;
beforeAll(async () => {
  [open, guarded] = await Promise.all([
    startTestServer(),
    startTestServer({ settings: { token: TOKEN } }),
  ]);
  const owner = { Authorization: `Bearer ${TOKEN}` };
  const secret = { type: "fact", text: "Ada keeps a quokka", externalId: "secret" };
  await open.post("/v1/write", secret);
  await guarded.post("/v1/write", secret, owner);
});
afterAll(() => Promise.all([open.close(), guarded.close()]));

describe("the page", () => {
  test.each([
    ["without a token", () => open],
    ["with a token", () => guarded],
  ])("%s says what runs here and where its doors are", async (_, of) => {
    const { status, headers, text } = await of().get("/");
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    for (const path of ["/mcp", "/v1", "/openapi.json", "/errors", "/healthz"]) {
      expect(text).toContain(`<code>${path}</code>`);
    }
    expect(text).toContain("npx -y @cortex-memory/server");
    expect(text).not.toMatch(/quokka|secret|default/);
    expect(text).not.toContain(of().folder);
    expect(text).not.toContain(TOKEN);
  });

  test("loads nothing, runs nothing, and its one style is the one its policy allows", async () => {
    const { headers, text } = await open.get("/");
    const policy = headers.get("content-security-policy") ?? "";
    expect(text).not.toMatch(
      /<script|<img|<link|<iframe|<form| on\w+=| style=|javascript:|https?:/i,
    );
    const [, style = ""] = /<style>([\s\S]*?)<\/style>/.exec(text) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    expect(policy.split("; ").sort()).toEqual([
      "base-uri 'none'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      `style-src 'sha256-${hash}'`,
    ]);
  });

  test("links to what a browser can open, and every link answers without a token", async () => {
    const { text } = await guarded.get("/");
    const links = [...text.matchAll(/href="([^"]+)"/g)].map(([, path = ""]) => path);
    expect(links).toContain("/openapi.json");
    for (const path of links) expect((await guarded.get(path)).status, path).toBe(200);
    // The others are marked, and are refused.
    for (const [, path = ""] of text.matchAll(/<code>(\/\w+)<\/code> \(token\)/g)) {
      expect((await guarded.get(path)).status, path).toBe(401);
    }
    expect(text).toContain("<code>/mcp</code> (token)");
  });

  test("agents get the same as text", async () => {
    const { status, headers, text } = await guarded.get("/llms.txt");
    expect([status, headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
    expect(text).toMatch(/^# Cortex \S+\n\n> /);
    expect(text).toContain("[OpenAPI](/openapi.json)");
    expect(text).not.toMatch(/quokka|secret|default/);
  });

  test("a name that was made to point here is refused this page too", async () => {
    const bytes = "GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    expect(await open.raw(bytes)).toMatch(/^HTTP\/1\.1 403 /);
  });
});

describe("with a token, nothing that a store holds is open", () => {
  const paths = [
    ...routesOf(OPERATIONS).flatMap(({ name }) => [`/v1/${name}`, `/v1/actors/default/${name}`]),
    ...MEMGRAPH_ROUTES.map(({ route }) => `/v1${route.path.replaceAll(/:\w+/g, "default")}`),
    "/mcp",
    "/v1/actors/default/mcp",
    "/metrics",
    "/v1",
    "/v1/",
    "/nothing",
  ];
  const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

  test("whatever the path and the method", async () => {
    // What a stranger may bring is a scope, which proves itself.
    const asked = [...new Set(paths)].filter((path) => !path.endsWith("/post-scope"));
    for (const [at, path] of asked.entries()) {
      const method = METHODS[at % METHODS.length] ?? "GET";
      const got = await readAll(await fetch(guarded.url + path, { method }));
      expect([got.status, got.json.code], `${method} ${path}`).toEqual([401, "ERR_DENIED"]);
      expect(got.text).not.toContain("quokka");
    }
  });

  test.each([
    "//v1/get?id=secret",
    "/./v1/get?id=secret",
    "/healthz/../v1/get?id=secret",
    "/healthz%2f..%2fv1/get?id=secret",
    "/errors/%2e%2e/v1/get?id=secret",
    "/errors/../v1/get?id=secret",
    "/?id=secret#/v1/get",
    "/V1/get?id=secret",
    "/v1/get;healthz?id=secret",
    "/healthz?/v1/get?id=secret",
  ])("nor by a trick in the path: %s", async (path) => {
    const bytes = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`;
    const text = await guarded.raw(bytes);
    expect(text).not.toContain("quokka");
    expect(text).toMatch(/^HTTP\/1\.1 (200|400|401|404) /);
  });
});
