/**
 * What is served to whoever opens the address: a page that needs no token and holds nothing of any store.
 * What a browser loads is open, what a store holds is not.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isLacking } from "../../core/src/testing/lacking.js";
import { routesOf } from "../src/http/routes.js";
import { MEMGRAPH_ROUTES } from "../src/memgraph/table.js";
import { OPERATIONS } from "../src/operations.js";
import { readAll, startTestServer, type TestServer } from "./http-server.js";

const TOKEN = "correct-horse-battery-staple";

function lacksStudio(): boolean {
  const built = fileURLToPath(new URL("../dist/studio/index.html", import.meta.url));
  return isLacking(existsSync(built), "the studio is not built");
}

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

describe.skipIf(lacksStudio())("the page", () => {
  test.each([
    ["without a token", () => open],
    ["with a token", () => guarded],
  ])("%s is the studio, and holds nothing of any store", async (_, of) => {
    const { status, headers, text } = await of().get("/");
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(text).toContain('<div id="studio"></div>');
    expect(text).not.toMatch(/quokka|secret|default/);
    expect(text).not.toContain(of().folder);
    expect(text).not.toContain(TOKEN);
  });

  test("may load its own files, call its own server, and nothing else", async () => {
    const { headers, text } = await open.get("/");
    expect((headers.get("content-security-policy") ?? "").split("; ").sort()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src 'self'",
      "script-src 'self'",
      "style-src 'self'",
      "worker-src 'self'",
    ]);
    // Nothing in the page itself would need more than that.
    expect(text).not.toMatch(/<script(?![^>]*\ssrc=)|<style| on\w+=| style=|javascript:|https?:/i);
  });

  test("every file it names answers without a token, for good where its name holds its hash", async () => {
    const { text } = await guarded.get("/");
    const files = [...text.matchAll(/(?:href|src)="(\/studio\/[^"]+)"/g)].map(
      ([, path = ""]) => path,
    );
    expect(files.some((path) => path.endsWith(".js"))).toBe(true);
    for (const path of files) {
      const { status, headers } = await guarded.get(path);
      expect([path, status]).toEqual([path, 200]);
      const isHashed = !path.endsWith(".svg");
      expect((headers.get("cache-control") ?? "").includes("immutable"), path).toBe(isHashed);
    }
  });

  test.each(["/studio/nothing.js", "/studio/..%2findex.html", "/studio/package.json"])(
    "nothing else is served below it: %s",
    async (path) => {
      expect([400, 401, 404]).toContain((await guarded.get(path)).status);
    },
  );
});

describe("what else is at the address", () => {
  test("every door in the text is there, and those that are marked want the token", async () => {
    const { text } = await guarded.get("/llms.txt");
    const doors = [...text.matchAll(/^- \[[^\]]+\]\((\/[^)]*)\)( \(token\))?:/gm)];
    expect(doors.map(([, path]) => path)).toContain("/mcp");
    for (const [, path = "", token] of doors) {
      expect([path, (await guarded.get(path)).status]).toEqual([
        path,
        token === undefined ? 200 : 401,
      ]);
    }
  });

  test("agents get the doors as text", async () => {
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
    "/slow",
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
