/**
 * Scopes at the REST door of a real server with an admin token: whoever bears a scope and signs with its
 * key gets what it grants, and nobody else gets anything. Requests are sent by fetch and signed as a
 * client would sign them.
 */
import { createHash, randomBytes } from "node:crypto";
import { issueScope, type ScopeInput, signerOf, signRequest } from "@cortex-memory/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pathsOf, routesOf } from "../src/http/routes.js";
import { MEMGRAPH_TOOLS } from "../src/mcp/tools-memgraph.js";
import { fieldOf, hasBody } from "../src/memgraph/call.js";
import { MEMGRAPH_ROUTES } from "../src/memgraph/table.js";
import { OPERATIONS } from "../src/operations.js";
import { type Got, readAll, startTestServer, statusOf, type TestServer } from "./http-server.js";

const TOKEN = "an-admin-token-of-some-length-0123456789";
const issuer = signerOf(new Uint8Array(32).fill(21));
const holder = signerOf(new Uint8Array(32).fill(22));
const thief = signerOf(new Uint8Array(32).fill(23));
const keyOf = (signer: typeof issuer): string => Buffer.from(signer.publicKey).toString("base64");
const sha256 = (data: Uint8Array): Uint8Array => createHash("sha256").update(data).digest();
const owner = { Authorization: `Bearer ${TOKEN}` };

const UNKNOWN_HANDLE = `cortex-handle-1.${Buffer.alloc(32).toString("base64")}`;

let server: TestServer;
const ids = { scoped: "", private: "" };

beforeAll(async () => {
  server = await startTestServer({ settings: { token: TOKEN } });
  await server.post("/v1/configure", { trustedIssuers: [keyOf(issuer)] }, owner);
  for (const visibility of ["scoped", "private"] as const) {
    const text = `a ${visibility} word`;
    const body = { type: "fact", text, tags: ["trip"], visibility, source: "agent" };
    ids[visibility] = String((await server.post("/v1/write", body, owner)).json.id);
  }
});
afterAll(() => server.close());

function issue(more: Partial<ScopeInput> = {}): Promise<string> {
  const issuedAt = Date.now();
  const usual = {
    actor: "default",
    include: { tags: ["trip"] },
    issuedAt,
    expiresAt: issuedAt + 3_600_000,
    grantedTo: keyOf(holder),
  };
  return issueScope({ ...usual, ...more }, issuer);
}

interface Sent {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly scope: string;
  readonly body?: unknown;
  readonly signer?: typeof holder;
  /** Changes the headers after they were signed. */
  readonly headers?: { readonly [name: string]: string };
}

async function signedHeaders(sent: Sent): Promise<{ readonly [name: string]: string }> {
  const { path, scope, body, signer } = sent;
  const authorization = `Bearer ${scope}`;
  const [plain = "", query = ""] = path.split("?");
  const bytes = body === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(body));
  const method = sent.method ?? (body === undefined ? "GET" : "POST");
  const line = { method, path: plain, query, authorization, body: bytes };
  const made = { nowMs: Date.now(), nonce: randomBytes(12), sha256 };
  const signature = signer === undefined ? {} : await signRequest(line, signer, made);
  return { Authorization: authorization, ...signature, ...sent.headers };
}

async function send(sent: Sent): Promise<Got> {
  const headers = await signedHeaders(sent);
  const { path, body } = sent;
  if (body === undefined) return server.get(path, headers);
  return server.post(path, body, headers);
}

describe("a scope that is bound to a key", () => {
  test("opens what it grants, to requests signed by the key", async () => {
    const scope = await issue();
    const found = await send({ path: `/v1/get?id=${ids.scoped}`, scope, signer: holder });
    expect(found.status).toBe(200);
    expect(found.json.text).toBe("a scoped word");
    const hidden = await send({ path: `/v1/get?id=${ids.private}`, scope, signer: holder });
    const absent = await send({
      path: "/v1/get?id=01ARZ3NDEKTSV4RRFFQ69G5FAV",
      scope,
      signer: holder,
    });
    expect([hidden.status, absent.status]).toEqual([404, 404]);
    expect(hidden.json.code).toBe(absent.json.code);
    const listed = await send({
      path: "/v1/find",
      body: { tags: ["trip"], limit: 9 },
      scope,
      signer: holder,
    });
    expect(JSON.stringify(listed.json)).toContain(ids.scoped);
    expect(JSON.stringify(listed.json)).not.toContain(ids.private);
  });

  test("is worth nothing without the key, with another, or with a request that was changed", async () => {
    const scope = await issue();
    const path = `/v1/get?id=${ids.scoped}`;
    const cases: readonly Sent[] = [
      { path, scope },
      { path, scope, signer: thief },
      {
        path: "/v1/find",
        scope,
        body: { limit: 1 },
        signer: holder,
        headers: { "Content-Digest": "" },
      },
      { path, scope, signer: holder, headers: { Signature: "cortex=:AAAA:" } },
    ];
    for (const one of cases) {
      const { status, json } = await send(one);
      expect([status, json.code]).toEqual([401, "ERR_SCOPE_HOLDER"]);
    }
  });

  test("a request that was overheard is not taken twice, nor for another question", async () => {
    const scope = await issue();
    const path = `/v1/get?id=${ids.scoped}`;
    const headers = await signedHeaders({ path, scope, signer: holder });
    expect((await server.get(path, headers)).status).toBe(200);
    const again = await server.get(path, headers);
    expect([again.status, again.json.code]).toEqual([401, "ERR_SCOPE_HOLDER"]);
    const fresh = await signedHeaders({ path, scope, signer: holder });
    expect((await server.get("/v1/find?limit=9", fresh)).status).toBe(401);
  });

  test("expires, is revoked, and belongs to one actor", async () => {
    const late = await issue({ expiresAt: Date.now() - 1 });
    const taken = await issue({ budgetTokens: 5 });
    await server.post("/v1/revoke-scope", { scope: taken }, owner);
    const foreign = await issue({ actor: "somebody" });
    const forged = await issueScope(
      {
        actor: "default",
        include: { tags: ["trip"] },
        issuedAt: 1,
        expiresAt: 1e14,
        grantedTo: keyOf(thief),
      },
      thief,
    );
    const path = `/v1/get?id=${ids.scoped}`;
    for (const [scope, status, code] of [
      [late, 401, "ERR_SCOPE_EXPIRED"],
      [taken, 401, "ERR_SCOPE_REVOKED"],
      [foreign, 409, "ERR_ACTOR_MISMATCH"],
      [forged, 401, "ERR_SCOPE_ISSUER"],
      ["cortex-scope-1.AAAA", 401, "ERR_SCOPE_MALFORMED"],
    ] as const) {
      const signer = scope === forged ? thief : holder;
      const got = await send({ path, scope, signer });
      expect([got.status, got.json.code], code).toEqual([status, code]);
    }
  });

  test("writes if it may, under its holder's name", async () => {
    const body = { type: "note", text: "from the holder", tags: ["trip"] };
    const reader = await send({ path: "/v1/write", body, scope: await issue(), signer: holder });
    expect([reader.status, reader.json.code]).toEqual([403, "ERR_DENIED"]);
    const scope = await issue({ writable: true });
    const written = await send({ path: "/v1/write", body, scope, signer: holder });
    expect(written.status).toBe(200);
    const { json } = await server.get(`/v1/get?id=${written.json.id}`, owner);
    expect(json).toMatchObject({ versionRecord: { createdBy: `key:${keyOf(holder)}` } });
  });
});

describe("before the caller is known", () => {
  /** The head of a request that promises a body, of which not a byte is sent. */
  async function promise(path: string, more: { readonly [name: string]: string }): Promise<number> {
    const headers = { "Content-Type": "application/json", Accept: "*/*", ...more };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join("")}`;
    const isAnswered = (text: string): boolean => text.includes("\r\n\r\n");
    const answer = await server.raw(`${head}Content-Length: 30000000\r\n\r\n`, isAnswered);
    return statusOf(answer);
  }

  test("no body is waited for, whatever is presented and wherever", async () => {
    const late = await issue({ expiresAt: Date.now() - 1, grantedTo: "bearer:me" });
    const bound = await issue();
    const presented = ["a-wrong-token", "cortex-scope-1.AAAA", UNKNOWN_HANDLE, late, bound];
    for (const path of ["/v1/write", "/v1/actors/nobody/batch", "/v1/graphs", "/mcp"]) {
      expect(await promise(path, {}), path).toBe(401);
      for (const one of presented) {
        const status = await promise(path, { Authorization: `Bearer ${one}` });
        // A scope of another actor is told so.
        expect([401, 409], `${path} ${one.slice(0, 20)}`).toContain(status);
      }
    }
    expect(await promise("/v1/post-scope", {})).toBe(413);
  });

  test("on no route: those of the operations, memgraph's, MCP's and the studio's", async () => {
    const paths = [
      ...routesOf(OPERATIONS).flatMap((route) => pathsOf(route)),
      ...MEMGRAPH_ROUTES.map(({ route }) => `/v1${route.path}`),
      "/mcp",
      "/v1/actors/:actor/mcp",
      "/metrics",
      "/slow",
      "/v1/nothing-of-the-kind",
      "/",
      "/studio/nothing.js",
      "/openapi.json",
    ].map((path) => path.replaceAll(/:\w+/g, "nobody"));
    expect(paths.length).toBeGreaterThan(150);
    const open = /^\/($|studio\/|openapi\.json)/;
    for (const path of paths.filter((one) => !one.endsWith("/post-scope"))) {
      const status = await promise(path, {});
      // Pages that are open take no body: they are not asked for by POST.
      expect(open.test(path) ? [404, 405] : [401], path).toContain(status);
    }
  });

  test("a scope that is handed in has 64 KiB, also where no length is declared", async () => {
    const body = JSON.stringify({ scope: `cortex-scope-1.${"A".repeat(65 * 1024)}` });
    const declared = await server.post("/v1/post-scope", body);
    expect(declared.status).toBe(413);
    const head =
      "POST /v1/post-scope HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";
    const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`;
    expect(statusOf(await server.raw(chunked, (text) => text.includes("\r\n\r\n")))).toBe(413);
    // The owner, who is known, may hand in a larger one; this one is none.
    const owners = await server.post("/v1/post-scope", body, owner);
    expect([owners.status, owners.json.code]).toEqual([401, "ERR_SCOPE_MALFORMED"]);
  });

  test("a signature is remembered only for a scope that holds", async () => {
    const terms = { actor: "default", include: { tags: ["t"] }, issuedAt: 1, expiresAt: 1e14 };
    const forged = await issueScope({ ...terms, grantedTo: keyOf(thief) }, thief);
    for (const scope of [forged, "cortex-scope-1.AAAA"]) {
      const path = "/v1/find?limit=1";
      const headers = await signedHeaders({ path, scope, signer: thief });
      const [first, second] = [await server.get(path, headers), await server.get(path, headers)];
      expect([second.status, second.json.code]).toEqual([first.status, first.json.code]);
      expect(first.json.code).not.toBe("ERR_SCOPE_HOLDER");
    }
  });

  test("a key or an entity tag cannot be added to a request that was overheard", async () => {
    const scope = await issue({ writable: true });
    const body = { id: ids.scoped, text: "changed" };
    for (const headers of [{ "If-Match": '"1"' }, { "Idempotency-Key": "again" }]) {
      const got = await send({ path: "/v1/update", scope, body, signer: holder, headers });
      expect([got.status, got.json.code]).toEqual([401, "ERR_SCOPE_HOLDER"]);
    }
  });
});

describe("what a scope does not open", () => {
  test.each([
    "/metrics",
    "/slow",
    "/v1/stream",
    "/v1/graphs",
    "/mcp",
    "/v1/actors/default/mcp",
    "/v1/subscribe?from=0",
    "/v1/nothing-of-the-kind",
  ])("%s", async (path) => {
    const scope = await issue({ grantedTo: "bearer:anybody", writable: true });
    const got = await send({ path, scope });
    expect([got.status, got.json.code]).toEqual([401, "ERR_DENIED"]);
  });

  test.each(["/v1/log", "/v1/stats", "/v1/config", "/v1/root", "/v1/export"])(
    "%s is the owner's",
    async (path) => {
      const scope = await issue({ grantedTo: "bearer:anybody", writable: true });
      const got = await send({ path, scope, ...(path === "/v1/export" ? { body: {} } : {}) });
      expect([got.status, got.json.code]).toEqual([403, "ERR_DENIED"]);
    },
  );

  const REFUSED = /: expected (no scope|the owner's access)[^"]*[^\n]*"isError":true/;

  /** Inputs of memgraph's calls that name what the scope shows, what it does not, and what nobody has. */
  const memgraphInputs = (lineage: string): Record<string, unknown> => ({
    graph_id: "default",
    name: "mine",
    lineage_id: lineage,
    from_lineage: lineage,
    to_lineage: lineage,
    edge_id: `${lineage}@default`,
    kind: "near",
    content: "x",
    text: "word",
    queries: [{ text: "word" }],
    nodes: [{ kind: "fact", content: "x", lineage_id: lineage }],
  });

  test.each([false, true])(
    "memgraph's routes and tools, to a scope with writable %s: nothing shows, nothing is written",
    async (writable) => {
      const scope = await issue({ grantedTo: "bearer:anybody", writable });
      const headers = { Authorization: `Bearer ${scope}`, "Content-Type": "application/json" };
      const before = (await server.get("/v1/root", owner)).text;
      const asked = { visible: ids.scoped, hidden: ids.private, nobody: UNKNOWN_HANDLE };
      for (const { name, route } of MEMGRAPH_ROUTES) {
        const answers = new Set<string>();
        for (const lineage of Object.values(asked)) {
          const input = memgraphInputs(lineage);
          const place = route.path.replaceAll(/:(\w+)/g, (_, part) =>
            encodeURIComponent(String(input[fieldOf(route, part)])),
          );
          const init = hasBody(route) ? { body: JSON.stringify(input) } : {};
          const response = await fetch(`${server.url}/v1${place}`, {
            method: route.method,
            headers,
            ...init,
          });
          const { code, detail } = (await response.json()) as { code: string; detail: string };
          answers.add(`${response.status} ${code} ${detail}`);
        }
        expect([name, [...answers]]).toEqual([name, [expect.stringMatching(/^401 ERR_DENIED /)]]);
      }
      for (const { name, inputSchema } of MEMGRAPH_TOOLS) {
        const fields = Object.keys((inputSchema().properties ?? {}) as object);
        const answers = new Set<string>();
        for (const lineage of Object.values(asked)) {
          const all = Object.entries(memgraphInputs(lineage));
          const args = Object.fromEntries(all.filter(([field]) => fields.includes(field)));
          const params = { name, arguments: args };
          const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
          const accept = { ...headers, Accept: "application/json, text/event-stream" };
          answers.add((await server.post("/mcp?profile=full", body, accept)).text);
        }
        expect([name, [...answers]]).toEqual([name, [expect.stringMatching(REFUSED)]]);
      }
      expect((await server.get("/v1/root", owner)).text).toBe(before);
    },
  );

  test("a stranger learns nothing of which stores there are, and makes none", async () => {
    const made = { include: { tags: ["t"] }, issuedAt: 1, grantedTo: "bearer:me" };
    for (const expiresAt of [1, 1e14]) {
      const answers: unknown[] = [];
      for (const actor of ["default", "nobody"]) {
        const scope = await issueScope({ ...made, actor, expiresAt }, thief);
        for (const text of [scope, UNKNOWN_HANDLE, "cortex-handle-1.AAAA", "cortex-scope-1.AAAA"]) {
          const got = await send({
            path: `/v1/actors/${actor}/write`,
            scope: text,
            body: { type: "note", text: "x" },
          });
          answers.push([got.status, got.json.code]);
        }
        const posted = await server.post(`/v1/actors/${actor}/post-scope`, { scope });
        answers.push([posted.status, posted.json.code]);
      }
      expect(answers.slice(5)).toEqual(answers.slice(0, 5));
    }
    const { status } = await server.get("/v1/actors/nobody/stats", owner);
    expect(status).toBe(404);
  });
});

describe("handles", () => {
  test("a scope is posted without a token, and its handle is signed for like the scope", async () => {
    const scope = await issue();
    const { status, json } = await server.post("/v1/post-scope", { scope });
    expect(status).toBe(200);
    const handle = String(json.handle);
    const path = `/v1/get?id=${ids.scoped}`;
    expect((await send({ path, scope: handle, signer: holder })).status).toBe(200);
    expect((await send({ path, scope: handle })).status).toBe(401);
    expect((await send({ path, scope: UNKNOWN_HANDLE })).json.code).toBe("ERR_SCOPE_HANDLE");
  });

  test("nothing else is open without a token", async () => {
    for (const path of ["/v1/show-scope", "/v1/revoke-scope", "/v1/write"]) {
      expect((await server.post(path, { scope: await issue() })).status).toBe(401);
    }
    const wrong = { Authorization: "Bearer not-the-token-but-as-long-as-one" };
    expect((await server.post("/v1/post-scope", { scope: await issue() }, wrong)).status).toBe(401);
  });
});

test("a bearer scope serves whoever has it", async () => {
  const scope = await issue({ grantedTo: "bearer:night shift" });
  const got = await readAll(
    await fetch(`${server.url}/v1/get?id=${ids.scoped}`, {
      headers: { Authorization: `Bearer ${scope}` },
    }),
  );
  expect(got.json.id).toBe(ids.scoped);
});

describe("MCP", () => {
  const call = (name: string, args: object) => ({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name, arguments: args },
  });
  const accept = { Accept: "application/json, text/event-stream" };

  /** What a tool answered, from a response that is JSON or one event. */
  async function tool(scope: string, name: string, args: object): Promise<string> {
    const got = await send({ path: "/mcp", scope, body: call(name, args), headers: accept });
    expect(got.status).toBe(200);
    return got.text;
  }

  test("a tool sees what the scope grants, and writes under its name", async () => {
    const scope = await issue({ grantedTo: "bearer:agent", writable: true });
    expect(await tool(scope, "memory_get", { id: ids.scoped })).toContain("a scoped word");
    expect(await tool(scope, "memory_get", { id: ids.private })).not.toContain("a private word");
    const said = await tool(scope, "memory_remember", { text: "noted over MCP", tags: ["trip"] });
    const [, id = ""] = /([0-9A-HJKMNP-TV-Z]{26})/.exec(said) ?? [];
    const { json } = await server.get(`/v1/get?id=${id}`, owner);
    expect(json).toMatchObject({
      text: "noted over MCP",
      head: { visibility: "scoped" },
      versionRecord: { createdBy: "bearer:agent" },
    });
  });

  test("a scope with a small budget can start, recall and find", async () => {
    const scope = await issue({ grantedTo: "bearer:agent", budgetTokens: 60 });
    expect(await tool(scope, "memory_start", {})).not.toContain("ERR_BUDGET");
    const recalled = await tool(scope, "memory_recall", { questions: ["a scoped word"] });
    expect(recalled).toContain("a scoped word");
    expect(await tool(scope, "memory_find", { tags: ["trip"] })).toContain("a scoped word");
    const more = await tool(scope, "memory_recall", { questions: ["word"], budgetTokens: 5000 });
    expect(more).toContain("ERR_BUDGET");
  });

  test("a scope does not hold, or does not follow changes, over MCP either", async () => {
    const body = call("memory_get", { id: ids.scoped });
    const bound = await send({ path: "/mcp", scope: await issue(), body, headers: accept });
    expect([bound.status, bound.json.code]).toEqual([401, "ERR_SCOPE_HOLDER"]);
    const scope = await issue({ grantedTo: "bearer:agent" });
    for (const method of ["subscriptions/listen", "resources/subscribe"]) {
      const listen = { jsonrpc: "2.0", id: 1, method, params: {} };
      const got = await send({ path: "/mcp", scope, body: listen, headers: accept });
      expect([got.status, got.json.code]).toEqual([401, "ERR_DENIED"]);
    }
    const nobody = await issueScope(
      {
        actor: "nobody",
        include: { tags: ["t"] },
        issuedAt: 1,
        expiresAt: 1e14,
        grantedTo: "bearer:me",
      },
      issuer,
    );
    const made = await send({
      path: "/v1/actors/nobody/mcp",
      scope: nobody,
      body,
      headers: accept,
    });
    expect([made.status, made.json.code]).toEqual([401, "ERR_SCOPE_ISSUER"]);
    expect((await server.get("/v1/actors/nobody/stats", owner)).status).toBe(404);
  });
});
