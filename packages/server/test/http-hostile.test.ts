/**
 * What a hostile caller may send to a real server: bodies of ten megabytes, nesting without end, cursors that
 * were made up or taken from elsewhere, names that are paths, headers that want to be two, scopes that
 * were tampered with, and questions about memories that are not theirs. Every one is refused in words, with
 * the same answer as for what is not there, and the server goes on.
 */
import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { issueScope, signerOf } from "@cortex-memory/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Got, startTestServer, statusOf, type TestServer } from "./http-server.js";
import { toolCall } from "./mcp-client.js";

const ACCEPT = { Accept: "application/json, text/event-stream" };

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
  for (let at = 0; at < 5; at += 1) {
    await server.post("/v1/note", { kind: "memo", text: `note ${at}`, tags: ["t"] });
    await server.post("/v1/write", { type: "fact", text: `fact ${at}`, tags: ["t"] });
  }
});
afterAll(() => server.close());

/** Refused in words by the caller's fault, and the server is well. */
async function expectRefusal(got: Got, statuses: readonly number[] = [400, 413]): Promise<void> {
  expect(statuses, got.text.slice(0, 200)).toContain(got.status);
  expect(got.headers.get("content-type")).toBe("application/problem+json");
  expect(got.text.length).toBeLessThan(2000);
  expect((await server.get("/healthz")).status).toBe(200);
}

describe("ten megabytes", () => {
  const MEGABYTES = "x".repeat(10_000_000);
  const FACT = { type: "fact", text: "x" };

  test.each([
    ["a text", "/v1/write", JSON.stringify({ type: "fact", text: MEGABYTES })],
    ["a question", "/v1/recall", JSON.stringify({ question: MEGABYTES })],
    ["a name", "/v1/get", JSON.stringify({ id: MEGABYTES })],
    ["a member nobody knows", "/v1/get", JSON.stringify({ id: "a", [MEGABYTES]: 1 })],
    ["an operator", "/v1/find", JSON.stringify({ limit: 1, where: { [MEGABYTES]: [] } })],
    ["a field", "/v1/find", JSON.stringify({ limit: 1, where: { eq: [MEGABYTES, 1] } })],
    ["an order", "/v1/find", JSON.stringify({ type: ["fact"], limit: 1, orderBy: [MEGABYTES] })],
    ["a tag", "/v1/find", JSON.stringify({ tags: [MEGABYTES], limit: 1 })],
    ["a cursor", "/v1/find", JSON.stringify({ type: ["fact"], limit: 1, cursor: MEGABYTES })],
    ["a member of data", "/v1/write", JSON.stringify({ type: "fact", data: { [MEGABYTES]: 1 } })],
    [
      "a member of metadata",
      "/v1/write",
      JSON.stringify({ ...FACT, metadata: { [MEGABYTES]: 1 } }),
    ],
    ["an edge kind", "/v1/add-edge", JSON.stringify({ from: "a", kind: MEGABYTES, to: "b" })],
    ["a key", "/v1/write", JSON.stringify({ ...FACT, idempotencyKey: MEGABYTES })],
    ["a scope", "/v1/post-scope", JSON.stringify({ scope: MEGABYTES })],
    ["no JSON", "/v1/write", MEGABYTES],
    ["a node", "/v1/nodes", JSON.stringify({ graph_id: "default", kind: MEGABYTES })],
    ["an edge", "/v1/edges", JSON.stringify({ graph_id: MEGABYTES })],
  ])("as %s are refused", async (_, path, body) => {
    await expectRefusal(await server.post(path, body), [400, 401, 404, 413]);
  });

  test("as arguments of a tool are refused by the tool", async () => {
    const call = toolCall(1, "memory_remember", { text: MEGABYTES });
    const { status, text } = await server.post("/mcp", call, ACCEPT);
    expect(status).toBe(200);
    expect(text).toContain("ERR_TOO_LARGE");
    expect(text.length).toBeLessThan(2000);
  });
});

describe("nesting without end", () => {
  const DEPTH = 100_000;
  const lists = `${"[".repeat(DEPTH)}${"]".repeat(DEPTH)}`;
  const objects = `${'{"and":['.repeat(DEPTH)}${"]}".repeat(DEPTH)}`;

  test.each([
    ["a body", "/v1/write", lists],
    ["a predicate", "/v1/find", `{"type":["fact"],"limit":1,"where":${objects}}`],
    ["an item", "/v1/batch", `{"items":${lists}}`],
    [
      "metadata of a node",
      "/v1/nodes",
      `{"graph_id":"default","kind":"k","metadata":{"a":${lists}}}`,
    ],
    ["metadata of a graph", "/v1/graphs", `{"name":"g","metadata":{"a":${lists}}}`],
    ["a parameter", `/v1/find?limit=1&where=${encodeURIComponent(objects.slice(0, 3000))}`, ""],
  ])("in %s is refused", async (_, path, body) => {
    const got = body === "" ? await server.get(path) : await server.post(path, body);
    await expectRefusal(got);
  });

  test("in arguments of a tool is refused", async () => {
    const head =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_find","arguments":';
    const { status, text } = await server.post("/mcp", `${head}${objects}}}`, ACCEPT);
    expect(status).toBeLessThan(500);
    expect(text).not.toMatch(/\n\s+at |node_modules/);
    expect((await server.get("/healthz")).status).toBe(200);
  });
});

describe("cursors", () => {
  const LISTS = [
    ["/v1/list?limit=2", "type=note", "type=fact"],
    ["/v1/find?limit=2", "type=note", "type=fact"],
    ["/v1/find?limit=2&orderBy=head.importance", "tags=t", "tags=u"],
  ] as const;

  test.each(LISTS)("of %s&%s serve no other question", async (base, own, other) => {
    const { json } = await server.get(`${base}&${own}`);
    const cursor = encodeURIComponent(String(json.cursor));
    expect((await server.get(`${base}&${own}&cursor=${cursor}`)).status).toBe(200);
    const got = await server.get(`${base}&${other}&cursor=${cursor}`);
    // The place in a plain list is the same for every filter; a query knows its own.
    if (base.startsWith("/v1/list")) expect(got.text).not.toMatch(/note \d/);
    else await expectRefusal(got);
    await server.post("/v1/actors/grace/write", { type: "note", kind: "k", text: "of grace" });
    const elsewhere = `/v1/actors/grace${base.slice(3)}&${own}&cursor=${cursor}`;
    const foreign = await server.get(elsewhere);
    // The same question may be asked of another store; it answers with what is there, and no more.
    expect([200, 400]).toContain(foreign.status);
    expect(foreign.text).not.toMatch(/note \d|fact \d/);
  });

  test.each(LISTS)(
    "of %s&%s that were changed are refused or lead nowhere else",
    async (base, own) => {
      const { json } = await server.get(`${base}&${own}`);
      const cursor = String(json.cursor);
      const changed = [
        "",
        "made-up",
        cursor.slice(0, -1),
        `${cursor}A`,
        cursor.split("").reverse().join(""),
        ...Array.from(cursor, (letter, at) =>
          at % 5 === 0
            ? `${cursor.slice(0, at)}${letter === "A" ? "B" : "A"}${cursor.slice(at + 1)}`
            : "",
        ).filter((text) => text !== "" && text !== cursor),
      ];
      expect(changed.length).toBeGreaterThan(8);
      for (const text of changed) {
        const got = await server.get(`${base}&${own}&cursor=${encodeURIComponent(text)}`);
        expect(got.status, text).toBeLessThan(500);
        if (got.status === 200)
          expect(got.text).not.toMatch(own === "type=note" ? /fact \d/ : /of grace/);
        else expect(got.json.code, text).toMatch(/^ERR_(INVALID|CURSOR\w*|ILL_FORMED)$/);
      }
    },
  );
});

describe("names that are paths", () => {
  const NAMES = [
    "..",
    ".",
    "%2e%2e",
    "..%2fdefault",
    "%2e%2e%2f%2e%2e%2fetc",
    "..%5cdefault",
    "..\\",
    "default/..\\..\\",
    "..#",
    "a%2fb",
    "%00",
    "default%00.mdb",
    "default%20",
    "DEFAULT",
    "-rf",
    "~root",
    "con",
    "x".repeat(300),
    "%e2%80%ae",
    "%ff",
  ];

  // Whoever asks for a graph has the catalogue of graphs looked into, which makes its file when it is not there.
  beforeAll(() =>
    server.raw("GET /v1/graphs/none HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"),
  );

  test.each(NAMES)("%s is no actor and no graph, and makes nothing", async (name) => {
    const before = [readdirSync(server.folder).sort(), readdirSync(dirname(server.folder)).length];
    const body = JSON.stringify({ type: "fact", text: "planted" });
    const json = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
    const asked = [
      `POST /v1/actors/${name}/write HTTP/1.1\r\nHost: 127.0.0.1\r\n${json}\r\nConnection: close\r\n\r\n${body}`,
      ...["stats", "export", "mcp"].map(
        (path) =>
          `GET /v1/actors/${name}/${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
      ),
      ...["", "/nodes", "/schema"].map(
        (path) =>
          `GET /v1/graphs/${name}${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
      ),
    ];
    for (const bytes of asked) {
      const text = await server.raw(bytes);
      const line = bytes.slice(0, bytes.indexOf("\r\n"));
      expect(statusOf(text), line).toBeLessThan(500);
      expect(text, line).not.toMatch(/note \d|fact \d|cortex-journal/);
    }
    expect(readdirSync(server.folder).sort()).toEqual(before[0]);
  });

  test("nor is one in a body", async () => {
    const before = readdirSync(server.folder).sort();
    for (const name of [
      "..",
      "../default",
      "a/b",
      "a\u0000b",
      "/etc",
      "C:\\x",
      "x".repeat(300),
      "",
    ]) {
      const node = await server.post("/v1/nodes", {
        graph_id: name,
        kind: "k",
        content: "planted",
      });
      expect([400, 404], name).toContain(node.status);
      const file = await server.post("/v1/export", { file: name });
      expect(file.status, name).toBe(400);
    }
    expect(readdirSync(server.folder).sort()).toEqual(before);
  });
});

describe("headers that want to be two", () => {
  const SPLIT = "x\r\nSet-Cookie: stolen=1";

  test.each([
    ["a tag that comes back in a link", `/v1/list?limit=1&tag=${encodeURIComponent(SPLIT)}`],
    ["a cursor", `/v1/list?limit=1&cursor=${encodeURIComponent(SPLIT)}`],
    ["a path", `/v1/${encodeURIComponent(SPLIT)}`],
    ["an actor", `/v1/actors/${encodeURIComponent(SPLIT)}/export`],
    ["a code", `/errors/${encodeURIComponent(SPLIT)}`],
  ])("%s stays one", async (_, path) => {
    const text = await server.raw(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
    );
    expect(statusOf(text)).toBeLessThan(500);
    expect(text).not.toMatch(/^set-cookie/im);
  });

  test.each(["X-Request-Id", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID"])(
    "bytes beyond text in %s are refused or dropped",
    async (name) => {
      for (const value of ["a\u0000b", "a\u0007b", "\u00ff".repeat(20), `"${"9".repeat(5000)}"`]) {
        const path =
          name === "Last-Event-ID" ? "/v1/subscribe?limit=1&from=0" : "/v1/get?id=nobody";
        const head = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n`;
        const text = await server.raw(Buffer.from(`${head}${name}: ${value}\r\n\r\n`, "latin1"));
        expect(statusOf(text), name).toBeLessThan(500);
        expect(text.slice(0, text.indexOf("\r\n\r\n"))).not.toContain("\u0007");
      }
    },
  );
});

describe("scopes", () => {
  const TOKEN = "an-admin-token-of-some-length-0123456789";
  const issuer = signerOf(new Uint8Array(32).fill(31));
  const key = Buffer.from(issuer.publicKey).toString("base64");
  const owner = { Authorization: `Bearer ${TOKEN}` };
  const ABSENT = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  let guarded: TestServer;
  let scope = "";
  const ids = { shown: "", hidden: "", other: "" };

  beforeAll(async () => {
    guarded = await startTestServer({ settings: { token: TOKEN } });
    await guarded.post("/v1/configure", { trustedIssuers: [key] }, owner);
    for (const [name, more] of [
      ["shown", { visibility: "scoped", tags: ["trip"] }],
      ["hidden", { visibility: "private", tags: ["trip"] }],
      ["other", { visibility: "scoped", tags: ["work"] }],
    ] as const) {
      const body = { type: "fact", text: `the ${name} one`, source: "agent", ...more };
      ids[name] = String((await guarded.post("/v1/write", body, owner)).json.id);
    }
    await guarded.post("/v1/add-edge", { from: ids.shown, kind: "relates", to: ids.hidden }, owner);
    scope = await issueScope(
      {
        actor: "default",
        include: { tags: ["trip"] },
        issuedAt: Date.now(),
        expiresAt: Date.now() + 3_600_000,
        grantedTo: "bearer:holder",
        writable: true,
      },
      issuer,
    );
  });
  afterAll(() => guarded.close());

  const ask = (path: string, body: object, presented = scope): Promise<Got> =>
    guarded.post(`/v1/${path}`, body, { Authorization: `Bearer ${presented}` });

  test("one that was tampered with opens nothing, wherever the change is", async () => {
    expect((await ask("get", { id: ids.shown })).status).toBe(200);
    for (let at = 0; at < scope.length; at += 9) {
      const letter = scope[at] === "A" ? "B" : "A";
      const got = await ask(
        "get",
        { id: ids.shown },
        scope.slice(0, at) + letter + scope.slice(at + 1),
      );
      expect([400, 401, 409], `at ${at}: ${got.text}`).toContain(got.status);
      expect(got.text).not.toContain("the shown one");
    }
    for (const text of [scope.slice(0, -1), `${scope}A`, scope.toUpperCase(), "cortex-scope-1."]) {
      expect([400, 401]).toContain((await ask("get", { id: ids.shown }, text)).status);
    }
  });

  const uri = (id: string): string => `cortex://default/Fact/${id}#1`;

  test.each<[string, (id: string) => object]>([
    ["get", (id) => ({ id })],
    ["resolve", (id) => ({ uri: uri(id) })],
    ["history", (id) => ({ id })],
    ["inspect", (id) => ({ id })],
    ["traverse", (id) => ({ id })],
    ["list-edges", (id) => ({ id })],
    ["links-from", (id) => ({ id })],
    ["backlinks-to", (id) => ({ id })],
    ["get-edge", (id) => ({ from: ids.shown, kind: "relates", to: id })],
    ["find", (id) => ({ where: { eq: ["head.id", id] }, limit: 5, countTotal: true })],
    ["find", (id) => ({ from: id, limit: 5 })],
    ["prove", (id) => ({ memories: [id] })],
    ["update", (id) => ({ id, text: "changed" })],
    ["update-head", (id) => ({ id, importance: 9 })],
    ["tombstone", (id) => ({ id, reason: "r" })],
    ["restore", (id) => ({ id })],
    ["add-edge", (id) => ({ from: id, kind: "relates", to: ids.shown })],
    ["add-edge", (id) => ({ from: ids.shown, kind: "relates", to: id })],
    ["attest", (id) => ({ intentId: "i", outcome: "success", cited: [id] })],
  ])("%s does not tell what is hidden from what is not there", async (path, body) => {
    /** The answer without what tells one request from another. */
    const answerFor = async (id: string): Promise<string> => {
      const { status, json } = await ask(path, body(id));
      const moving = ["requestId", "seq", "learnSeq", "checkpoint", "proof"];
      const kept = Object.entries(json).filter(([member]) => !moving.includes(member));
      return JSON.stringify([status, kept]).replaceAll(id, "ID");
    };
    const absent = await answerFor(ABSENT);
    expect(await answerFor(ids.hidden)).toBe(absent);
    expect(await answerFor(ids.other)).toBe(absent);
    expect(absent).not.toMatch(/the (hidden|other) one/);
  });
});
