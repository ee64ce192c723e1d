/**
 * REST gives the library's answer and the library's failure, in HTTP's own terms: statuses, tags,
 * conditions, keys, pages, compression, files.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { ERROR_CODES, importJournal, open } from "@cortex-memory/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ERROR_STATUS } from "../src/error-status.js";
import { routesOf } from "../src/http/routes.js";
import { OPERATIONS } from "../src/operations.js";
import { CALL_CONTEXT } from "./call-context.js";
import { startTestServer, statusOf, type TestServer } from "./http-server.js";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  await server.post("/v1/write", { type: "fact", text: "Ada lives in Porto", externalId: "home" });
  await server.post("/v1/write", { type: "constraint", text: "No red-eyes", externalId: "rule" });
  await server.post("/v1/add-edge", { from: "rule", kind: "related_to", to: "home" });
});
afterAll(() => server.close());

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("operations", () => {
  test.each([
    ["/v1/get?id=home", "get", { id: "home" }],
    [
      "/v1/list?type=fact&type=constraint&limit=1",
      "list",
      { type: ["fact", "constraint"], limit: 1 },
    ],
    ["/v1/list-edges?id=home&direction=in", "edges", { id: "home", direction: "in" }],
    ["/v1/traverse?id=rule&direction=both", "traverse", { id: "rule", direction: "both" }],
    ["/v1/changes?from=0&to=3", "changes", { from: 0, to: 3 }],
    [
      "/v1/prove?memories=home&memories=rule&seqs=1",
      "prove",
      { memories: ["home", "rule"], seqs: [1] },
    ],
    [
      "/v1/get-edge?from=rule&kind=related_to&to=home&asOf=3",
      "getEdge",
      { from: "rule", kind: "related_to", to: "home", asOf: 3 },
    ],
    ["/v1/root", "root", {}],
  ])("GET %s is the operation's own answer, by POST as well", async (path, name, input) => {
    const operation = OPERATIONS.find((one) => one.name === name);
    await using memory = await open(server.location);
    const expected = plain(await operation?.run(memory, input, CALL_CONTEXT));
    const got = await server.get(path);
    expect([got.status, got.json]).toEqual([200, expected]);
    const posted = await server.post(path.replace(/\?.*/, ""), input);
    expect([posted.status, posted.json]).toEqual([200, expected]);
  });

  test("a connection stays for longer than clients and proxies keep theirs, which is a minute", async () => {
    const response = await fetch(`${server.url}/healthz`);
    await response.text();
    const [, seconds] = /timeout=(\d+)/.exec(response.headers.get("keep-alive") ?? "") ?? [];
    expect(Number(seconds)).toBeGreaterThan(60);
  });

  test("every row of the table has a route, and every route answers under an actor as well", async () => {
    const routes = routesOf(OPERATIONS);
    expect(routes.map(({ operation }) => operation)).toEqual(OPERATIONS);
    for (const { name, operation, unavailable, methods } of routes) {
      for (const path of [`/v1/${name}`, `/v1/actors/default/${name}`]) {
        // No operation has such a field; what refuses it says which operation was reached.
        const id = { "X-Request-Id": `${path.length}-${name}` };
        const got = methods.includes("POST")
          ? await server.post(path, { "no such field": 1 }, id)
          : await server.get(`${path}?nothing=1`, id);
        expect(got.status, path).toBe(unavailable === undefined ? 400 : 501);
        await new Promise((resolve) => setImmediate(resolve));
        const line = server.logged().find(({ requestId }) => requestId === id["X-Request-Id"]);
        expect(line?.operation).toBe(operation.name);
      }
    }
  });

  test("an actor's store is made by its first write, and is not there before", async () => {
    const missing = await server.get("/v1/actors/grace/stats");
    expect([missing.status, missing.json.code]).toEqual([404, "ERR_NOT_FOUND"]);
    const written = await server.post("/v1/actors/grace/note", {
      kind: "idea",
      text: "a compiler",
    });
    expect(written.status).toBe(200);
    expect((await server.get("/v1/actors/grace/stats")).json).toMatchObject({ entries: 2 });
    expect((await server.get("/v1/stats")).json).toMatchObject({ actor: "default", entries: 4 });
    const tricky = await server.get("/v1/actors/..%2f..%2fetc/stats");
    expect([tricky.status, tricky.json.code]).toEqual([400, "ERR_BAD_NAME"]);
  });
});

describe("failures", () => {
  test.each([
    ["GET", "/v1/get?id=nobody", 404, "ERR_NOT_FOUND"],
    ["GET", "/v1/get?id=home&asOf=99", 400, "ERR_AS_OF"],
    ["GET", "/v1/get?nope=1", 400, "ERR_UNKNOWN_FIELD"],
    ["GET", "/v1/get?id=home&id=rule", 400, "ERR_INVALID"],
    ["GET", "/v1/list?limit=many", 400, "ERR_INVALID"],
    ["GET", "/v1/list?limit=0", 400, "ERR_INVALID"],
    ["GET", "/v1/list?cursor=made-up", 400, "ERR_INVALID"],
    ["GET", "/v1/edges", 405, "ERR_UNSUPPORTED"],
    ["GET", "/v1/list-edges?id=home&includeTombstoned=yes", 400, "ERR_INVALID"],
    ["GET", "/nothing/here", 404, "ERR_NOT_FOUND"],
    ["GET", "/v1/write", 405, "ERR_UNSUPPORTED"],
    ["PUT", "/v1/get", 405, "ERR_UNSUPPORTED"],
    ["POST", "/v1/import", 501, "ERR_UNSUPPORTED"],
  ])("%s %s is %i %s", async (method, path, status, code) => {
    const response = await fetch(server.url + path, { method });
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    const problem = (await response.json()) as Record<string, unknown>;
    expect([response.status, problem.status, problem.code]).toEqual([status, status, code]);
    expect(problem.requestId).toBe(response.headers.get("x-request-id"));
    expect(problem.title).toBe(ERROR_CODES[code as keyof typeof ERROR_CODES]);
    const explained = await server.get(String(problem.type));
    expect(explained.json).toMatchObject({ code, title: problem.title });
  });

  test("the address of REST that a start prints says where its operations are", async () => {
    for (const path of ["/v1", "/v1/"]) {
      const { json } = await server.get(path);
      expect(json.detail).toBe(
        "path: nothing is served here; operations are at /v1/NAME, and /openapi.json lists them",
      );
    }
  });

  test("a problem names field, expectation and what came", async () => {
    const { json } = await server.post("/v1/write", { type: "fact", text: "x", importance: 11 });
    expect(json).toMatchObject({
      code: "ERR_INVALID",
      field: "importance",
      expected: "a whole number from 0 to 10",
      got: "11",
    });
  });

  test.each([
    ["text", "text/plain", "{}", 415],
    ["a form", "application/x-www-form-urlencoded", "type=fact", 415],
    ["another charset", "application/json; charset=latin1", "{}", 415],
    ["no JSON", "application/json", "{text: 1}", 400],
    ["an array", "application/json", "[]", 400],
    ["a number", "application/json", "7", 400],
    ["null", "application/json", "null", 400],
    ["JSON in UTF-8, said so", 'application/json; charset="utf-8"', "{}", 400],
  ])("a body that is %s is %s", async (_, type, body, status) => {
    const got = await server.post("/v1/write", body, { "Content-Type": type });
    expect(got.status).toBe(status);
    expect(got.headers.get("content-type")).toBe("application/problem+json");
  });

  test("ill-formed UTF-8 is refused, not mended", async () => {
    const head =
      "POST /v1/write HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n";
    const body = Buffer.concat([
      Buffer.from('{"type":"fact","text":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}'),
    ]);
    const text = await server.raw(
      Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), body]),
    );
    expect(statusOf(text)).toBe(400);
    expect(text).toContain("ERR_ILL_FORMED");
  });

  test("nesting, members of the prototype and numbers beyond bounds are refused", async () => {
    const deep = `{"type":"note","kind":"x","text":"x","metadata":{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`;
    expect((await server.post("/v1/write", deep)).json.code).toBe("ERR_TOO_LARGE");
    const proto = '{"type":"note","kind":"x","text":"x","__proto__":{"admin":true}}';
    expect((await server.post("/v1/write", proto)).status).toBe(400);
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
    const big = '{"type":"event","text":"x","validFrom":9007199254740993}';
    expect((await server.post("/v1/write", big)).status).toBe(400);
  });

  test("a body over the limit is 413, declared or not", async () => {
    const small = await startTestServer({ settings: { bodyLimitBytes: "2000" } });
    const body = JSON.stringify({ type: "note", kind: "x", text: "y".repeat(3000) });
    const declared = await small.post("/v1/write", body);
    expect([declared.status, declared.json.code]).toEqual([413, "ERR_TOO_LARGE"]);
    const chunks = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const part of body.match(/.{1,500}/g) ?? []) controller.enqueue(Buffer.from(part));
        controller.close();
      },
    });
    const response = await fetch(`${small.url}/v1/write`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: chunks,
      duplex: "half",
    } as RequestInit);
    expect(response.status).toBe(413);
    expect((await small.get("/healthz")).text).toBe("ok");
    await small.close();
  });

  test("every code has a status, and none of them passes for success", () => {
    for (const { http } of Object.values(ERROR_STATUS)) {
      expect(http >= 400 && http < 600).toBe(true);
    }
  });
});

describe("methods", () => {
  test("HEAD is GET without the body", async () => {
    const response = await fetch(`${server.url}/v1/get?id=home`, { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(response.headers.get("etag")).toBe('"1-1"');
    const missing = await fetch(`${server.url}/v1/get?id=nobody`, { method: "HEAD" });
    expect([missing.status, await missing.text()]).toEqual([404, ""]);
  });

  test.each([
    ["/v1/get", "GET, POST, HEAD, OPTIONS"],
    ["/v1/write", "POST, OPTIONS"],
    ["/v1/actors/ada/root", "GET, POST, HEAD, OPTIONS"],
    ["/healthz", "GET, HEAD, OPTIONS"],
  ])("OPTIONS %s says %s", async (path, allow) => {
    const response = await fetch(server.url + path, { method: "OPTIONS" });
    expect([response.status, response.headers.get("allow")]).toEqual([204, allow]);
    const refused = await fetch(server.url + path, { method: "DELETE" });
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, allow]);
  });
});

describe("tags and conditions", () => {
  test("a memory's tag holds until anything about it changes", async () => {
    const { json } = await server.post("/v1/write", { type: "fact", text: "Ada has a cat" });
    const path = `/v1/get?id=${json.id}`;
    const tag = String((await server.get(path)).headers.get("etag"));
    const same = await server.get(path, { "If-None-Match": `"other", ${tag}` });
    expect([same.status, same.text, same.headers.get("etag")]).toEqual([304, "", tag]);
    await server.post("/v1/write", { type: "fact", text: "Ada has a dog" });
    expect((await server.get(path, { "If-None-Match": tag })).status).toBe(304);
    await server.post("/v1/update-head", { id: json.id, tags: ["pets"] });
    const changed = await server.get(path, { "If-None-Match": tag });
    expect([changed.status, changed.json.version]).toEqual([200, 1]);
    expect(changed.headers.get("etag")).not.toBe(tag);
  });

  test("If-Match lets an update through once", async () => {
    const { json, headers } = await server.post("/v1/write", {
      type: "fact",
      text: "Ada has a bike",
    });
    const tag = String(headers.get("etag"));
    expect(tag).toBe((await server.get(`/v1/get?id=${json.id}`)).headers.get("etag"));
    const update = (text: string, match: string) =>
      server.post("/v1/update", { id: json.id, text }, { "If-Match": match });
    const first = await update("Ada has a blue bike", tag);
    expect([first.status, first.json.version]).toEqual([200, 2]);
    const second = await update("Ada has a red bike", tag);
    expect([second.status, second.json.code]).toEqual([412, "ERR_CONFLICT"]);
    expect((await update("Ada has a red bike", String(first.headers.get("etag")))).status).toBe(
      200,
    );
    expect((await update("x", "nonsense")).status).toBe(400);
    const both = await server.post(
      "/v1/update",
      { id: json.id, text: "x", basedOnVersion: 1 },
      { "If-Match": '"3"' },
    );
    expect([both.status, both.json.detail]).toEqual([
      409,
      "basedOnVersion: the header and the body differ",
    ]);
  });

  test("other reads have the hash of their bytes for a tag", async () => {
    const { headers } = await server.get("/v1/root");
    const tag = String(headers.get("etag"));
    expect((await server.get("/v1/root", { "If-None-Match": tag })).status).toBe(304);
    await server.post("/v1/write", { type: "fact", text: "Ada has a boat" });
    expect((await server.get("/v1/root", { "If-None-Match": tag })).status).toBe(200);
  });
});

test("Idempotency-Key makes a retry harmless, and refuses another request", async () => {
  const key = { "Idempotency-Key": '"retry-1"' };
  const body = { type: "event", text: "Ada took a train" };
  const first = await server.post("/v1/write", body, key);
  const again = await server.post("/v1/write", body, { "Idempotency-Key": "retry-1" });
  expect(again.json).toEqual(first.json);
  const other = await server.post("/v1/write", { ...body, text: "Ada took a bus" }, key);
  expect([other.status, other.json.code]).toEqual([422, "ERR_IDEMPOTENCY"]);
});

test("pages are joined by a cursor and a link, and the last has neither", async () => {
  for (let at = 0; at < 7; at += 1) {
    await server.post("/v1/note", { kind: "page", text: `page ${at}`, tags: ["paged"] });
  }
  const seen: string[] = [];
  let path: string | undefined = "/v1/list?tag=paged&limit=3&order=oldest";
  let pages = 0;
  while (path !== undefined) {
    const { json, headers } = await server.get(path);
    pages += 1;
    seen.push(...(json.memories as { readonly text: string }[]).map(({ text }) => text));
    const [, next] = /^<([^>]+)>; rel="next"$/.exec(headers.get("link") ?? "") ?? [];
    expect(json.cursor === undefined).toBe(next === undefined);
    path = next;
  }
  expect(pages).toBe(3);
  expect(seen).toEqual(Array.from({ length: 7 }, (_, at) => `page ${at}`));
});

describe("compression", () => {
  const ask = (encoding: string) =>
    server.raw(
      `GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAccept-Encoding: ${encoding}\r\n\r\n`,
    );

  test("large answers are compressed for those who take it", async () => {
    const text = await ask("br, gzip;q=0.5");
    const [head = ""] = text.split("\r\n\r\n");
    expect(head).toMatch(/content-encoding: gzip/i);
    expect(head).toMatch(/vary: accept-encoding/i);
    const body = Buffer.from(text.slice(head.length + 4), "latin1");
    expect(JSON.parse(gunzipSync(body).toString())).toMatchObject({ openapi: "3.1.0" });
  });

  test.each(["identity", "gzip;q=0", "br"])("and not for %s", async (encoding) => {
    const [head = ""] = (await ask(encoding)).split("\r\n\r\n");
    expect(head).not.toMatch(/content-encoding/i);
    expect(head).toMatch(/vary: accept-encoding/i);
  });
});

describe("files", () => {
  test("an export is a file that imports to the same root", async () => {
    const response = await fetch(`${server.url}/v1/export`);
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    const bytes = new Uint8Array(await response.arrayBuffer());
    const { root } = (await server.get("/v1/root")).json;
    const report = await importJournal("memory:", one(bytes), { actor: "default" });
    expect(report.root).toBe(root);
  });

  test("erasures are a document, and a name of a file is refused", async () => {
    expect((await server.get("/v1/erasures")).json).toMatchObject({ cortex: "erasures" });
    const named = await server.post("/v1/export", { file: "stolen.cortex" });
    expect([named.status, named.json.code]).toEqual([400, "ERR_INVALID"]);
    expect((await server.get("/v1/export?file=stolen.cortex")).status).toBe(400);
  });

  test("a backup after a position nobody wrote fails like any request", async () => {
    const got = await server.get("/v1/backup?since=99999");
    expect([got.status, got.headers.get("content-type")]).toEqual([
      400,
      "application/problem+json",
    ]);
  });

  async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
});

describe("about the server", () => {
  test("health, readiness and metrics", async () => {
    expect((await server.get("/healthz")).text).toBe("ok");
    expect((await server.get("/readyz")).text).toBe("ok");
    const { text, headers } = await server.get("/metrics");
    expect(headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toMatch(/^cortex_http_requests_total\{operation="write",status="200"\} \d+$/m);
    expect(text).toMatch(
      /^cortex_http_request_duration_seconds_bucket\{operation="get",le="\+Inf"\} \d+$/m,
    );
    expect(text).toMatch(/^cortex_stores_open [1-9]/m);
    expect(text).toMatch(/^cortex_journal_entries [1-9]/m);
    expect(text).not.toMatch(/grace|home|Porto/);
    const values = [...text.matchAll(/le="[^"]+"\} (\d+)/g)];
    expect(values.length).toBeGreaterThan(10);
  });

  test("readiness fails where the store cannot be read", async () => {
    const folder = await mkdtemp(join(tmpdir(), "cortex-broken-"));
    await mkdir(join(folder, "default"));
    await writeFile(join(folder, "default", "g000001.mdb"), Buffer.alloc(8192, 7));
    const broken = await startTestServer({ location: folder });
    const got = await broken.get("/readyz");
    expect(got.status).toBeGreaterThanOrEqual(500);
    expect((await broken.get("/healthz")).status).toBe(200);
    await broken.close();
    await rm(folder, { recursive: true });
  });

  test("the log has a line per request, and nothing of its content", async () => {
    const id = "trace-1234";
    await server.get("/v1/get?id=secret-name", { "X-Request-Id": id });
    await server.post(
      "/v1/write",
      { type: "fact", text: "Ada whispers" },
      { "X-Request-Id": "bad id" },
    );
    await new Promise((resolve) => setImmediate(resolve));
    const lines = server.logged();
    expect(lines.find(({ requestId }) => requestId === id)).toMatchObject({
      level: "info",
      operation: "get",
      method: "GET",
      status: 404,
      code: "ERR_NOT_FOUND",
    });
    expect(lines.every(({ time, ms }) => typeof time === "string" && typeof ms === "number")).toBe(
      true,
    );
    expect(JSON.stringify(lines)).not.toMatch(/secret-name|whispers|bad id|Porto/);
  });

  test("slow requests say so", async () => {
    const slow = await startTestServer({ settings: { slowMs: "0" } });
    await slow.get("/healthz");
    await new Promise((resolve) => setImmediate(resolve));
    expect(slow.logged()[0]).toMatchObject({ level: "warn", slow: true, operation: "healthz" });
    await slow.get("/v1/search?text=whisper");
    const { slowMs, requests } = (await slow.get("/slow")).json as Record<string, unknown>;
    expect(slowMs).toBe(0);
    expect(requests).toMatchObject([
      { operation: "search", ms: expect.any(Number) },
      { operation: "healthz" },
    ]);
    expect(JSON.stringify(requests)).not.toMatch(/whisper|fault/);
    await slow.close();
  });
});
